"""The same session, awaited: steps run in threads, models are awaited. Knows nothing of what the steps do.

A cancelled call leaves the session as it was and its late answer is discarded; a step that runs already (a commit) is
waited for, so that it is either done or not.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import copy_context
from typing import Any, TypeVar

from foldmark.asking import Ask, Chore, Model, is_async
from foldmark.control import Control
from foldmark.drafts import Request
from foldmark.driving import advance, close, in_time, is_open, throw
from foldmark.events import Event
from foldmark.following import Followed
from foldmark.moments import Moment
from foldmark.opening import Opened
from foldmark.policy import Policy
from foldmark.prices.saved import Saved
from foldmark.reports import Entry, Report
from foldmark.resolving import chosen
from foldmark.retrieval import By, Hit, Loaded
from foldmark.seeking import Reach, Where
from foldmark.session import Recorded, Session
from foldmark.store import Key, SessionInfo
from foldmark.summarizer import Resolver, Summarizer
from foldmark.vectors import Embedded

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
        self.session.awaits = True

    @classmethod
    def around(cls, session: Session) -> AsyncSession:
        """That very session, awaited; from now on it takes async models."""
        made = cls.__new__(cls)
        made.session = session
        session.awaits = True
        return made

    @property
    def name(self) -> str:
        """The session's id; `follow` may move on to a fork with another one."""
        return self.session.name

    @property
    def key(self) -> Key:
        """As `Session.key`."""
        return self.session.key

    @property
    def info(self) -> SessionInfo:
        """As `Session.info` (not awaited: a row is read)."""
        return self.session.info

    @property
    def alike(self) -> dict[str, Any]:
        """As `Session.alike`."""
        return self.session.alike

    @property
    def policy(self) -> Policy:
        """As `Session.policy`."""
        return self.session.policy

    @property
    def system(self) -> str:
        """As `Session.system`."""
        return self.session.system

    @property
    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """As `Session.tools`."""
        return self.session.tools

    @property
    def control(self) -> Control:
        """What people do, as `Session.control` (not awaited: no model is asked there)."""
        return self.session.control

    async def record(self, *events: Event) -> Recorded:
        """As `Session.record`."""
        return await asyncio.to_thread(self.session.record, *events)

    async def follow(
        self, messages: Sequence[Any], *, wire: Any = None, system: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None, retry: bool = True,
        progress: Callable[[int, int], Any] = lambda done, total: None, live: bool = True,
    ) -> Followed:  # fmt: skip
        """As `Session.follow`. `progress` is told in a thread."""
        return await asyncio.to_thread(
            self.session.follow, messages, wire=wire, system=system, tools=tools, retry=retry, progress=progress,
            live=live,
        )  # fmt: skip

    async def locate(self, events: Sequence[Event], *, retry: bool = True, told: bool = False) -> Followed:
        """As `Session.locate`."""
        return await asyncio.to_thread(self.session.locate, events, retry=retry, told=told)

    async def describe(self, *, system: str | None = None, tools: Sequence[Mapping[str, Any]] | None = None) -> None:
        """As `Session.describe`."""
        await asyncio.to_thread(self.session.describe, system=system, tools=tools)

    async def remember(self, meta: Mapping[str, str]) -> None:
        """As `Session.remember`."""
        await asyncio.to_thread(self.session.remember, meta)

    async def request(
        self, *, system: str | None = None, tools: Sequence[Mapping[str, Any]] | None = None,
        window: int | None = None, max_output: int | None = None, wire: Any = None, model: str = "",
        focus: str = "", context: Mapping[str, Any] | None = None, policy: Policy | None = None,
    ) -> Request:  # fmt: skip
        """As `Session.request`. Cancelled before the compaction is committed, it leaves the session as it was."""
        steps = self.session.request_steps(
            system=system, tools=tools, window=window, max_output=max_output, wire=wire, model=model, focus=focus,
            context=context, policy=policy,
        )  # fmt: skip
        return await drive(steps, self.session.lock)

    async def compact(
        self, *, force: bool = False, focus: str = "", window: int | None = None, max_output: int | None = None,
        context: Mapping[str, Any] | None = None, by_code: bool = False, policy: Policy | None = None,
        upto: str = "",
    ) -> Report:  # fmt: skip
        """As `Session.compact`. Cancelled, it leaves the session as it was."""
        steps = self.session.compact_steps(
            force=force, focus=focus, window=window, max_output=max_output, context=context, by_code=by_code,
            policy=policy, upto=upto,
        )  # fmt: skip
        return await drive(steps, self.session.lock)

    async def overflowed(self, error: Any) -> Report | None:
        """As `Session.overflowed`."""
        return await asyncio.to_thread(self.session.overflowed, error)

    async def search(
        self, query: str, *, limit: int = 10, where: Where = "session", roles: tuple[str, ...] = (),
        tools: tuple[str, ...] = (), files: tuple[str, ...] = (), branches: tuple[str, ...] = (),
        since: Moment | None = None, until: Moment | None = None, without: frozenset[int] = frozenset(),
    ) -> list[Hit]:  # fmt: skip
        """As `Session.search`."""
        return await asyncio.to_thread(
            self.session.search, query, limit=limit, where=where, roles=roles, tools=tools, files=files,
            branches=branches, since=since, until=until, without=without,
        )  # fmt: skip

    async def embed(self, *, limit: int = 256, where: Where = "session") -> Embedded:
        """As `Session.embed`."""
        return await asyncio.to_thread(self.session.embed, limit=limit, where=where)

    async def load(
        self, ref: str | int, *, before: int = 0, after: int = 0, by: By = "events", limit: int = 8_000,
        reach: Reach | None = None, redact: bool = False,
    ) -> Loaded:  # fmt: skip
        """As `Session.load`."""
        return await asyncio.to_thread(
            self.session.load, ref, before=before, after=after, by=by, limit=limit, reach=reach, redact=redact
        )

    async def overview(self, tokens: int = 500, *, search: str | None = None, load: str | None = None) -> str:
        """As `Session.overview`."""
        return await asyncio.to_thread(self.session.overview, tokens, search=search, load=load)

    async def open(self, ref: str | int, *, reach: Reach | None = None, redact: bool = False) -> Opened:
        """As `Session.open`. The functions of `foldmark.opening` read files: call them in a thread."""
        return await asyncio.to_thread(self.session.open, ref, reach=reach, redact=redact)

    async def peek(self, wire: Any = None) -> Request:
        """As `Session.peek`."""
        return await asyncio.to_thread(self.session.peek, wire)

    async def explain(self) -> list[Entry]:
        """As `Session.explain`."""
        return await asyncio.to_thread(self.session.explain)

    async def cache_misses(self) -> str:
        """As `Session.cache_misses`."""
        return await asyncio.to_thread(self.session.cache_misses)

    async def saved(self) -> Saved:
        """As `Session.saved`."""
        return await asyncio.to_thread(self.session.saved)

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
            except Exception as error:
                done, value = await _step(lock, throw, steps, error)
            else:
                done, value = await _step(lock, advance, steps, answer)
    except GeneratorExit:
        raise  # the event loop is gone, and with it whoever could wait: the steps end with the last that holds them
    except BaseException as error:
        if is_open(steps):
            await _step(lock, close, steps, error)
        raise
    return value  # type: ignore[no-any-return]


async def _step(lock: AbstractContextManager[Any], move: Callable[..., tuple[bool, Any]], *arguments: Any) -> Any:
    """One step in a thread, to its end however often we are cancelled meanwhile: a generator that runs cannot be
    closed, and a commit is done or not. The cancellation is raised then.

    What is raised inside never meets the future: a StopIteration would hang it, so `move` returns (done, value).
    """

    def locked() -> tuple[bool, Any]:
        with lock:
            return move(*arguments)

    # A bare future and no task: when a loop shuts down it cancels all tasks, and a thread cannot be cancelled.
    running = asyncio.get_running_loop().run_in_executor(None, copy_context().run, locked)
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        running.exception()  # so that the loop does not say it was never looked at
        raise cancelled
    return running.result()


async def _call(ask: Ask | Chore) -> Any:
    """One call of a model within its time; TimeoutError after it. A chore is done in a thread."""
    if isinstance(ask, Chore):
        return await asyncio.to_thread(ask.run)
    started = time.monotonic()
    async with asyncio.timeout(ask.timeout_seconds):
        answer = ask.model(ask) if is_async(ask.model) else await asyncio.to_thread(_plainly, ask)
        if inspect.isawaitable(answer):
            answer = await answer
    return in_time(ask, answer, time.monotonic() - started)


def _plainly(ask: Ask) -> Any:
    """The answer of a plain model. A StopIteration (a `next` in its code that found nothing) would hang the future that
    waits for its thread until the time is up."""
    try:
        return ask.model(ask)
    except StopIteration as error:
        raise RuntimeError("the model's code raised StopIteration") from error
