"""Sessions with work for a worker, what goes wrong in it, and what was heard of it. Knows nothing of what is tested."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from foldmark import MemoryStore, Policy, Session, Summarizer, assistant
from foldmark.asking import Ask
from foldmark.reports import Observation, Raised, Report
from foldmark.store import Key, Store, View, Work
from foldmark.testing import FixedClock, ScriptedModel, items_json
from making import long_session

POLICY = Policy.coding(
    run="background",
    window=128_000,
    budget={"landing_tokens": 2_000, "trigger_tokens": 4_000, "nothing_below": 1_000},
)
GOOD = items_json(decisions=[("Read the files one by one, beginning with src/file_1.py", [2])])


def grown(store: Store, clock: Callable[[], float], name: str = "s", *, rounds: int = 12, **options: Any) -> Session:
    """A session with one long turn behind it, which is due for a compaction."""
    made = Session(name, store=store, clock=clock, policy=options.pop("policy", POLICY), **options)
    store.enlist(made.key)
    made.record(*long_session(rounds, lines=20), assistant("All done."))
    return made


def whats(seen: list[Observation]) -> list[str]:
    return [one.what if isinstance(one, Raised) else one.outcome for one in seen if isinstance(one, Raised | Report)]


def versions(session: Session) -> list[int]:
    return [made.version for made in session.control.history()]


def required(*script: Any) -> Summarizer:
    return Summarizer(models=(ScriptedModel(*script),), require_model=True)


async def hanging(ask: Ask) -> str:
    await asyncio.Event().wait()
    return "never"


class Ticks(FixedClock):
    """Seconds that only models let pass: however busy the machine is, a call is begun in time."""


class Hiccup(MemoryStore):
    """A store whose methods fail when their turn comes."""

    def __init__(self) -> None:
        super().__init__()
        self.failing: dict[str, int] = {}

    def _may_fail(self, name: str) -> None:
        if self.failing.get(name, 0) > 0:
            self.failing[name] -= 1
            raise OSError(f"{name}: disk")

    def claim(self, now: float, lease_seconds: float) -> Work | None:
        self._may_fail("claim")
        return super().claim(now, lease_seconds)

    def view(self, key: Key) -> View:
        self._may_fail("view")
        return super().view(key)

    def settle(self, work: Work, *, again: float | None = None, counts: bool = True) -> bool:
        self._may_fail("settle")
        return super().settle(work, again=again, counts=counts)


ENDS = {"done", "again", "given_up", "lost"}
"""How a claim ends, as those hear it who listen."""


def ended_once(seen: list[Observation]) -> bool:
    """Whether the observer heard of one end for each claim."""
    told = [one for one in whats(seen) if one == "claimed" or one in ENDS]
    return len(told) > 1 and told[::2] == ["claimed"] * (len(told) // 2) and set(told[1::2]) <= ENDS
