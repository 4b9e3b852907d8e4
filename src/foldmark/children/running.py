"""Runs a sub-agent for a call and records its report: plainly, within a time, or awaited. Knows nothing of what the
sub-agent does and of what a report says.

Only this module's caller writes into the parent. A thread cannot be ended from outside: one that outlives its time goes
on in its own session alone, is told to stop at its next step, and what it still says is kept there.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, Protocol

import msgspec

from foldmark.aio import AsyncSession
from foldmark.awaiting import unawaited
from foldmark.children.beginning import ChildSession, child_for, depth_of, known_child
from foldmark.children.calling import Call, call_of
from foldmark.children.checking import for_delegate, for_delegate_async, limited
from foldmark.children.limits import RunLimits
from foldmark.children.reporting import ChildReport, answered, ended_of, finish, refuse, settle, why_failed
from foldmark.children.telling import Ended
from foldmark.errors import ChildStopped, PolicyError
from foldmark.events import ToolCall
from foldmark.session import Session


class Said(Protocol):
    """Anything with words, such as a reply or an event."""

    @property
    def text(self) -> str: ...


Run = Callable[[ChildSession], "str | Said | None"]
"""A sub-agent's loop: gets its session, returns its last words (None: those of its newest reply)."""
AsyncRun = Callable[[AsyncSession], "Awaitable[str | Said | None]"]

GRACE_SECONDS = 5.0
"""How long a cancelled run may take to end before it is left behind."""


def delegate(
    session: Session, call: ToolCall | str, run: Run, *, limits: RunLimits = RunLimits(), **options: Any
) -> ChildReport:
    """Run a sub-agent for a call of this session, and answer the call with its report.

    `run` gets the sub-agent's session (new, or as an earlier process left it: then `child.info.head` is above 0). It is
    called in this thread, or with `timeout_seconds` in one of its own. `options` are those of `Session` for the
    sub-agent: a policy, a summarizer.

    What the run raises is told in the report (`failed`), as is a limit (`limit`) and the end of its time (`timeout`). A
    call that is answered already is not run again: its answer comes back. So does the report of a run that ended before
    a crash. Raises NotFound and PolicyError as `open_child`, and PolicyError for an AsyncSession; KeyboardInterrupt and
    the like pass and leave the call open.
    """
    for_delegate(session)
    limited(limits, options)
    limits = _within_those_above(session, limits)
    call_, report = _known(session, call, limits)
    if report:
        return report
    child = child_for(session, call_, limits, options)
    with _among_those_running(session, child):
        if limits.timeout_seconds is None:
            finish(child, *_outcome(child, run))
        else:
            _within(child, run, limits.timeout_seconds)
    return _settled(session, call_, limits)


async def delegate_async(
    session: AsyncSession, call: ToolCall | str, run: AsyncRun, *, limits: RunLimits = RunLimits(), **options: Any
) -> ChildReport:
    """As `delegate`, awaited: `run` gets an AsyncSession. When its time is over it is cancelled, and has five seconds
    to end. When this very call is cancelled, so is the run, and the call stays open: `delegate_async` again takes the
    sub-agent up where it stopped, and `conclude` reports what it had."""
    for_delegate_async(session)
    limited(limits, options)
    plain = session.session
    limits = _within_those_above(plain, limits)
    call_, report = await asyncio.to_thread(_known, plain, call, limits)
    if report:
        return report
    child = await asyncio.to_thread(child_for, plain, call_, limits, options)
    task = asyncio.ensure_future(_outcome_async(child, run))
    try:
        with _among_those_running(plain, child):
            await asyncio.wait([task], timeout=limits.timeout_seconds)
            over = not task.done()
            if over:
                await asyncio.to_thread(_time_is_over, child, limits.timeout_seconds or 0.0)
                await _closed(task)
            elif not task.cancelled():
                await asyncio.to_thread(finish, child, *task.result())
            else:
                await asyncio.to_thread(finish, child, Ended(outcome="failed", why="it was cancelled from inside"))
    except asyncio.CancelledError:
        child.stop("whoever started it was cancelled")
        await _closed(task)
        raise
    return await asyncio.to_thread(_settled, plain, call_, limits)


# -- before and after


def _within_those_above(session: Session, limits: RunLimits) -> RunLimits:
    """A sub-agent cannot allow more depth than it was given itself."""
    most = session.limits.depth if isinstance(session, ChildSession) else limits.depth
    return msgspec.structs.replace(limits, depth=min(limits.depth, most))


def _known(session: Session, call: ToolCall | str, limits: RunLimits) -> tuple[Call, ChildReport | None]:
    """(the call, its answer where nothing has to run for it)."""
    found = call_of(session, call)
    if report := answered(session, found):
        return found, report
    info = known_child(session, found)
    if info and ended_of(info):
        return found, settle(session, found, info, limits)
    if (depth := depth_of(session)) >= limits.depth:
        return found, refuse(session, found, f"at most {limits.depth} may stand below each other, and {depth} do")
    return found, None


def _settled(session: Session, call: Call, limits: RunLimits) -> ChildReport:
    info = known_child(session, call)
    if info is None:  # erased meanwhile
        return refuse(session, call, f"its session {call.name!r} was deleted while it ran")
    return settle(session, call, info, limits)


@contextmanager
def _among_those_running(session: Session, child: ChildSession) -> Iterator[None]:
    """What it spends counts for the sub-agent that started it, while it runs."""
    if not isinstance(session, ChildSession):
        yield
        return
    session.below.append(child)
    try:
        yield
    finally:
        session.below.remove(child)


# -- it runs


def _outcome(child: ChildSession, run: Run) -> tuple[Ended, str]:
    try:
        returned = run(child)
        if unawaited(returned):
            raise PolicyError("The run gave something to await: hand an async run to delegate_async.")
        return _ended(child, returned)
    except Exception as error:
        return _failed(child, error), ""


async def _outcome_async(child: ChildSession, run: AsyncRun) -> tuple[Ended, str]:
    try:
        returned: Any = run(AsyncSession.around(child))
        return _ended(child, await returned if inspect.isawaitable(returned) else returned)
    except Exception as error:
        return await asyncio.to_thread(_failed, child, error), ""


def _ended(child: ChildSession, returned: Any) -> tuple[Ended, str]:
    words = returned if isinstance(returned, str) else getattr(returned, "text", None if returned is not None else "")
    if not isinstance(words, str):
        raise TypeError(f"the run returned {type(returned).__name__}; it returns text, something with a text, or None")
    outcome = Ended(outcome="limit", why=child.stopped) if child.stopped else Ended(outcome="finished")
    return outcome, words


def _failed(child: ChildSession, error: Exception) -> Ended:
    if isinstance(error, ChildStopped):
        return Ended(outcome="limit", why=child.stopped or error.reason)
    return Ended(outcome="failed", why=why_failed(child, error))


def _within(child: ChildSession, run: Run, seconds: float) -> None:
    """Run it in a thread of its own and wait so long; whoever is first says how it ended."""
    done: Future[None] = Future()

    def work() -> None:
        try:
            finish(child, *_outcome(child, run))
        except BaseException as error:
            done.set_exception(error)
        else:
            done.set_result(None)

    name = f"foldmark {child.name}"
    threading.Thread(target=copy_context().run, args=(work,), name=name, daemon=True).start()
    try:
        done.result(timeout=seconds)
    except TimeoutError:
        if done.done():  # in the last moment
            done.result()
        else:
            _time_is_over(child, seconds)
    except BaseException:
        child.stop("whoever started it is gone")
        raise


def _time_is_over(child: ChildSession, seconds: float) -> None:
    why = f"its {seconds:g} seconds are over"
    finish(child, Ended(outcome="timeout", why=why))  # first: a run that ends in this moment has ended in time
    child.stop(why)


async def _closed(task: asyncio.Future[Any]) -> None:
    """Cancel it and wait until it has ended, or is left behind."""
    task.cancel()
    await asyncio.wait([task], timeout=GRACE_SECONDS)
    if task.done() and not task.cancelled():
        task.exception()  # so that the loop does not say it was never looked at
