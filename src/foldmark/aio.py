"""The same session, awaited: steps run in threads, models are awaited. Knows nothing of what the steps do.

A cancelled call leaves the session as it was and its late answer is discarded; a step that runs already (a commit) is
waited for, so that it is either done or not.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from foldmark.asking import Ask, Model, is_async
from foldmark.control import Control
from foldmark.drafts import Request
from foldmark.driving import advance, throw, with_seconds
from foldmark.errors import PolicyError
from foldmark.events import Event
from foldmark.following import Followed
from foldmark.policy import Policy
from foldmark.reports import Entry, Report
from foldmark.resolving import chosen
from foldmark.retrieval import Hit, Loaded
from foldmark.session import Recorded, Session
from foldmark.store import Where
from foldmark.summarizer import Resolver, Summarizer

Result = TypeVar("Result")


class AsyncSession:
    """A `Session` whose verbs are awaited; `session` is the plain one inside. Takes the same options, and models that
    are async or plain (those run in a thread)."""

    def __init__(
        self, session: str, *, model: Model | Sequence[Model] | None = None,
        summarizer: Summarizer | Resolver | None = None, **options: Any,
    ) -> None:  # fmt: skip
        self.session = Session(session, **options)
        self.session.summarizer = chosen(model, summarizer, sync=False)

    @property
    def name(self) -> str:
        """The session's id; `follow` may move on to a fork with another one."""
        return self.session.name

    @property
    def policy(self) -> Policy:
        return self.session.policy

    @property
    def control(self) -> Control:
        """What people do: pin, unpin, history, delete (not awaited)."""
        return self.session.control

    async def record(self, *events: Event) -> Recorded:
        """As `Session.record`."""
        return await asyncio.to_thread(self.session.record, *events)

    async def follow(self, messages: Sequence[Any], **options: Any) -> Followed:
        """As `Session.follow`."""
        return await asyncio.to_thread(self.session.follow, messages, **options)

    async def request(
        self, *, system: str | None = None, tools: Sequence[Mapping[str, Any]] | None = None,
        window: int | None = None, max_output: int | None = None, wire: Any = None, model: str = "",
        focus: str = "", context: Mapping[str, Any] | None = None,
    ) -> Request:  # fmt: skip
        """As `Session.request`."""
        inner = self.session
        frame = await asyncio.to_thread(inner.frame, system, tools, window, max_output, wire, model)
        report = None
        if inner.policy.run == "inline":
            report = await drive(inner.compaction(frame, focus=focus, context=context or {}), inner.lock)
        return await asyncio.to_thread(inner.build, frame, report)

    async def compact(
        self, *, force: bool = False, focus: str = "", window: int | None = None, max_output: int | None = None,
        context: Mapping[str, Any] | None = None, by_code: bool = False,
    ) -> Report:  # fmt: skip
        """As `Session.compact`. Cancelled, it leaves the session as it was."""
        inner = self.session
        frame = await asyncio.to_thread(inner.frame, None, None, window, max_output, None, "")
        steps = inner.compaction(frame, force=force, focus=focus, context=context or {}, by_code=by_code)
        return await drive(steps, inner.lock)

    async def overflowed(self, error: Any) -> Report | None:
        """As `Session.overflowed`."""
        return await asyncio.to_thread(self.session.overflowed, error)

    async def search(self, query: str, *, limit: int = 10, where: Where = "session") -> list[Hit]:
        """As `Session.search`."""
        return await asyncio.to_thread(self.session.search, query, limit=limit, where=where)

    async def load(self, ref: str, *, before: int = 0, after: int = 0, limit: int = 8_000) -> Loaded:
        """As `Session.load`."""
        return await asyncio.to_thread(self.session.load, ref, before=before, after=after, limit=limit)

    async def peek(self, wire: Any = None) -> Request:
        """As `Session.peek`."""
        return await asyncio.to_thread(self.session.peek, wire)

    async def explain(self) -> list[Entry]:
        """As `Session.explain`."""
        return await asyncio.to_thread(self.session.explain)

    async def next_compaction(self) -> tuple[int, str]:
        """As `Session.next_compaction`."""
        return await asyncio.to_thread(self.session.next_compaction)


async def drive(steps: Generator[Ask, Any, Result], lock: AbstractContextManager[Any]) -> Result:
    """Run the steps of a compaction to their end; a cancellation closes them."""
    try:
        done, value = await _step(lock, advance, steps)
        while not done:
            try:
                answer = await _call(value)
            except PolicyError:
                raise  # the caller's mistake is the caller's to hear of
            except Exception as error:
                done, value = await _step(lock, throw, steps, error)
            else:
                done, value = await _step(lock, advance, steps, answer)
        return value  # type: ignore[no-any-return]
    finally:
        steps.close()


async def _step(lock: AbstractContextManager[Any], move: Callable[..., tuple[bool, Any]], *arguments: Any) -> Any:
    """One step in a thread, to its end also when we are cancelled meanwhile: a generator that runs cannot be closed.
    What is raised inside never meets the future: a StopIteration would hang it, so `move` returns (done, value)."""

    def locked() -> tuple[bool, Any]:
        with lock:
            return move(*arguments)

    running = asyncio.ensure_future(asyncio.to_thread(locked))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


async def _call(ask: Ask) -> Any:
    """One call of a model within its time; TimeoutError after it."""
    started = time.monotonic()
    call = ask.model(ask) if is_async(ask.model) else asyncio.to_thread(_plainly, ask)
    answer = await asyncio.wait_for(call, ask.timeout_seconds)
    return with_seconds(answer, time.monotonic() - started)


def _plainly(ask: Ask) -> Any:
    """The answer of a plain model. A StopIteration (a `next` in its code that found nothing) would hang the future that
    waits for its thread until the time is up."""
    try:
        return ask.model(ask)
    except StopIteration as error:
        raise RuntimeError("the model's code raised StopIteration") from error
