"""Tells whoever listens what happened: reports, searches and loads, work. Knows nothing of what is done with it.

A listener never changes what happens: what it raises is logged. It is called outside the session's lock.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from foldmark.asking import is_async
from foldmark.errors import PolicyError, words_of_error
from foldmark.reports import Looked, Observation, Observer, Raised, Report
from foldmark.store import Key

LOG = logging.getLogger("foldmark")


class Notices:
    """`on_report` gets the report of every attempt at a compaction, due or not; `observer` gets everything."""

    def __init__(self, on_report: Callable[[Report], Any] | None = None, observer: Observer | None = None) -> None:
        for name, listener in (("on_report", on_report), ("observer", observer)):
            if listener is not None and (not callable(listener) or is_async(listener)):
                raise PolicyError(f"{name} takes a plain function; hand what is async to your loop from there.")
        self.on_report, self.observer = on_report, observer

    def __bool__(self) -> bool:
        return self.on_report is not None or self.observer is not None

    def report(self, report: Report) -> None:
        """An attempt ended."""
        _tell(self.on_report, report, "on_report")
        _tell(self.observer, report, "observer")

    def raised(self, work: Raised) -> None:
        """Work was raised, taken or done."""
        _tell(self.observer, work, "observer")

    @contextmanager
    def looking(self, what: Literal["search", "load"], key: Key, now: float) -> Iterator[Callable[..., None]]:
        """A search or load; call what it gives with how many hits or events it brought, their characters, and what is
        to be said of it."""
        found, started, failed, said = (0, 0), time.monotonic(), True, ""

        def brought(count: int, characters: int, remark: str = "") -> None:
            nonlocal found, failed, said
            found, failed, said = (count, characters), False, remark

        try:
            yield brought
        finally:
            if self.observer is not None:
                looked = Looked(
                    what=what, session=key.session, scope=key.scope, found=found[0], characters=found[1], time=now,
                    seconds=time.monotonic() - started, failed=failed, remark=said,
                )  # fmt: skip
                _tell(self.observer, looked, "observer")


def _tell(listener: Callable[[Any], Any] | None, what: Observation, name: str) -> None:
    if listener is None:
        return
    try:
        listener(what)
    except Exception as error:
        LOG.warning(
            "%s failed (%s) at session %s; nothing else is changed by it", name, words_of_error(error), what.session
        )
