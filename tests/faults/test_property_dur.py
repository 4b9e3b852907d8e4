"""DUR as one property: whatever fails and whenever, a session is in the old state or the new one, and no event goes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scenes import applied, fresh
from stories import Setting, moves, settings_of, told

from foldmark import BudgetExceeded, MemoryStore, Session, SQLiteStore
from foldmark.events import Event, user
from foldmark.wire import WIRES

WRITES = ("append", "commit", "sent", "wrote", "note", "describe", "put")
LOOP = [("call", 150), ("call", 700)] * 10


class Failure(OSError):
    """The power goes."""


class Spoiler:
    """Lets the n-th write to a store fail, before it or after it: what a kill between two instructions looks like."""

    def __init__(self, store: Any, at: int, is_after: bool) -> None:
        self.left, self.is_after = at, is_after
        for name in WRITES:
            owner = store.artifacts if name == "put" else store
            setattr(owner, name, self._spoiled(getattr(owner, name)))

    def _spoiled(self, real: Any) -> Any:
        def work(*arguments: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left == 0 and not self.is_after:
                raise Failure
            done = real(*arguments, **options)
            if self.left == 0:
                raise Failure
            return done

        return work


def state(session: Session) -> tuple[Any, ...]:
    """All that a reader can see but the notes of attempts, which are written apart."""
    view = msgspec.structs.replace(session.store.view(session.key), attempts=())
    return view, session.store.log(session.key), session.control.history()


def steps(session: Session, events: Sequence[Event], setting: Setting) -> list[Any]:
    """The session's life as separate acts."""
    acts: list[Any] = []
    for at in range(0, len(events), setting.every):
        chunk = events[at : at + setting.every]
        acts.append(lambda chunk=chunk: session.record(*chunk))
        acts.append(lambda: session.request(wire=WIRES[setting.wire]))
        acts.append(lambda: session.compact(force=True))
    return acts


@settings(max_examples=20)
@given(
    story=moves.map(told),
    setting=settings_of,
    at=st.integers(1, 40),
    is_after=st.booleans(),
    is_on_disk=st.booleans(),
)
@example(told(LOOP), Setting(every=8), 2, False, True).via("S-DUR-01: an add fails")
@example(told(LOOP), Setting(every=8), 4, True, True).via("S-DUR-02: killed behind a write")
@example(told(LOOP), Setting(every=40), 4, True, True).via("S-DUR-03: compacted and gone at once")
@example(told(LOOP), Setting(every=8), 40, False, True).via("S-DUR-04: nothing fails, the log is a prefix")
@example(told(LOOP), Setting(every=40), 4, False, False).via("S-DUR-05, S-DUR-07: the commit fails")
def test_after_any_failure_the_session_is_as_it_was_or_as_it_will_be(
    story: list[Event], setting: Setting, at: int, is_after: bool, is_on_disk: bool
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "agent.db"
        store: Any = SQLiteStore(path) if is_on_disk else MemoryStore()
        session = fresh(setting.policy, store)
        session.record(user("Begin."))
        Spoiler(store, at, is_after)
        for act in steps(session, story, setting):
            before, version = state(session), applied(session)
            try:
                report = act()
            except BudgetExceeded:
                continue
            except Failure:
                after = state(session)
                assert after[1][: len(before[1])] == before[1], "an event is gone"
                grew = len(after[1]) - len(before[1])
                assert grew in (0, min(setting.every, len(story) - len(before[1]) + 1)), "half a batch"
                assert after[2] == before[2] or len(after[2]) == version + 1
                assert after[2] != before[2] or after[0].checkpoint == before[0].checkpoint
                with suppress(BudgetExceeded):
                    act()  # the same again is no harm
            else:
                done = getattr(report, "outcome", "") == "applied"
                assert applied(session) >= version + done, "success was said and is not there"
        log = session.store.log(session.key)
        assert [event.seq for event in log] == list(range(1, len(log) + 1))
        for artifact in (artifact for event in log for artifact in event.artifacts):
            assert len(session.artifacts.read("local", artifact.sha256)) == artifact.size, "a body is gone"
        if is_on_disk:
            again = fresh(setting.policy, SQLiteStore(path))
            assert state(again) == state(session), "what another process sees is something else"
            again.store.close()
        store.close()


def test_the_spoiler_of_this_file_spoils() -> None:
    store = MemoryStore()
    session = fresh(store=store)
    spoiler = Spoiler(store, 1, False)
    with pytest.raises(Failure):
        session.record(user("Begin."))
    assert spoiler.left == 0
    assert session.store.log(session.key) == []
