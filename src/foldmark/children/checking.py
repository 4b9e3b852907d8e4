"""What callers hand to sub-agents, checked in words that say what was meant. Knows nothing of what is done with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from foldmark.aio import AsyncSession
from foldmark.children.limits import RunLimits
from foldmark.errors import PolicyError
from foldmark.session import Session


def inner(session: Any) -> Session:
    """The session, and that inside of an AsyncSession. Raises PolicyError for what is neither."""
    found = session.session if isinstance(session, AsyncSession) else session
    if not isinstance(found, Session):
        raise PolicyError(f"A sub-agent belongs to a Session or AsyncSession, not to {session!r:.80}.")
    return found


def for_delegate(session: Any) -> None:
    """Raises PolicyError for what `delegate` cannot run beside."""
    if isinstance(session, AsyncSession):
        raise PolicyError("delegate takes a Session, and this is an AsyncSession: await delegate_async(…) with it.")
    inner(session)


def for_delegate_async(session: Any) -> None:
    """Raises PolicyError for what `delegate_async` cannot run beside."""
    if not isinstance(session, AsyncSession):
        inner(session)
        raise PolicyError(
            "delegate_async takes an AsyncSession, and this is a plain one: hand it AsyncSession.around(session), or "
            "call delegate(…)."
        )


def limited(limits: Any, options: Iterable[str]) -> None:
    """Raises PolicyError for limits that are none, and for such that stand among the options of a session."""
    if not isinstance(limits, RunLimits):
        raise PolicyError(f"limits is {limits!r:.80}; it takes RunLimits(rounds=…, timeout_seconds=…).")
    if astray := [name for name in options if name in RunLimits.__struct_fields__]:
        told = ", ".join(f"{name}=…" for name in astray)
        raise PolicyError(f"{' and '.join(astray)} belongs to the limits of a run: write limits=RunLimits({told}).")
