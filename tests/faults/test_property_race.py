"""RACE as one property: whoever comes in between, of two compactions one wins, and nothing is lost."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from scenes import SMALL, fresh, pair
from turns import errors

from foldmark import MemoryStore, SQLiteStore
from foldmark.events import assistant, user
from foldmark.wire import WIRES

Act = tuple[int, str]
"""(which worker, what it does)."""

DOES = ("record", "record", "request", "compact", "say")
acts = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(DOES)), min_size=4, max_size=24)
inside = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(DOES)), max_size=6)
FULL: list[Act] = [(0, "record")] * 5


class Crowd:
    """Three workers with session objects of their own on one store; what one does may happen inside another's write."""

    def __init__(self, store: Any, between: list[Act]) -> None:
        self.store, self.between, self.number = store, between, 0
        self.said: list[list[str]] = [[], [], []]
        self.won = 0
        for name in ("commit", "append", "sent"):
            setattr(store, name, self._crowded(getattr(store, name)))
        self.workers = [fresh(SMALL, store) for _ in range(3)]

    def _crowded(self, real: Any) -> Any:
        def work(*arguments: Any, **options: Any) -> Any:
            if self.between:
                self.act(*self.between.pop())
            return real(*arguments, **options)

        return work

    def act(self, who: int, what: str) -> None:
        session, self.number = self.workers[who], self.number + 1
        words = f"{who} says {self.number}"
        if what in ("record", "say"):
            self.said[who].append(words)
            session.record(
                user(words), *(pair(f"{who}_{self.number}", 150) if what == "record" else [assistant("Yes.")])
            )
        elif what == "compact":
            report = session.compact(force=True)
            assert report.outcome in ("applied", "ineffective", "deferred")
            self.won += report.outcome == "applied"
        else:
            report = session.request(wire=WIRES[who]).report  # others may win meanwhile
            self.won += report.outcome == "applied"


@settings(max_examples=30)
@given(story=acts, between=inside, is_on_disk=st.booleans())
@example([*FULL, (1, "compact")], [(0, "say")], True).via("S-RACE-01: an answer arrives before the commit")
@example([*FULL, *FULL, (1, "compact")], [(2, "compact")], True).via("S-RACE-02: two workers compact")
@example([*FULL, *FULL, (1, "compact")], [(2, "compact")], False).via("S-RACE-02, in memory")
@example([*FULL, (0, "compact"), (1, "request")], [(2, "say")] * 3, False).via("S-RACE-03, S-RACE-04: three are queued")
def test_workers_in_any_order_and_inside_each_other_lose_nothing(
    story: list[Act], between: list[Act], is_on_disk: bool
) -> None:
    with TemporaryDirectory() as folder:
        store: Any = SQLiteStore(Path(folder) / "agent.db") if is_on_disk else MemoryStore()
        crowd = Crowd(store, [])
        crowd.act(0, "record")
        for number, act in enumerate(story):
            crowd.between = between[:] if number == len(story) - 1 else []
            crowd.act(*act)
        session = crowd.workers[0]
        log = store.log(session.key)
        assert [event.seq for event in log] == list(range(1, len(log) + 1))
        for who, said in enumerate(crowd.said):
            found = [event.text for event in log if event.text.startswith(f"{who} says ")]
            assert sorted(found) == sorted(said), "a message is lost or doubled"
        history = session.control.history()
        assert [one.version for one in history] == list(range(1, crowd.won + 1)), "who won is not who is there"
        assert [one.boundary for one in history] == sorted(one.boundary for one in history)
        for wire in WIRES:
            assert errors(session.request(wire=wire).payload(), wire.NAME) == []
        store.close()
