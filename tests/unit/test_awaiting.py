"""A plain function that gave something to await: found out, and closed without a second complaint."""

from __future__ import annotations

import asyncio
import warnings

from foldmark.awaiting import unawaited


async def later() -> int:
    return 1


def test_a_coroutine_is_found_and_closed_in_silence() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = later()
        assert unawaited(one)
        assert one.cr_frame is None  # closed: nothing of it can run
        del one


def test_anything_else_that_could_be_awaited_is_found_and_values_are_not() -> None:
    async def look() -> list[bool]:
        task = asyncio.ensure_future(later())
        found = [unawaited(task), unawaited(None), unawaited("text"), unawaited(later)]
        await task
        return found

    assert asyncio.run(look()) == [True, False, False, False]
