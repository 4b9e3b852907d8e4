"""DUR: crashes, interrupts, overwrites, resume and rewind never cost an event."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from scenes import EVERY_WIRE, RAW, SMALL, checked, child, classes, fresh, pair, pairs_of, text_of

from foldmark import MemoryStore, Policy, Session, SQLiteStore
from foldmark.errors import StoreError
from foldmark.events import Event, assistant, user
from foldmark.wire import openai_chat

TABLES = [
    "event",
    "fact",
    "unit",
    "piece",
    "checkpoint",
    "attempt",
    "scope_state",
    "written",
    "tally",
    "work",
    "artifact",
]


def state_of(session: Session) -> tuple[Any, ...]:
    """Everything a reader can see, but the notes of attempts."""
    view = msgspec.structs.replace(session.store.view(session.key), attempts=())
    return (
        view,
        session.store.log(session.key),
        session.control.history(),
        session.store.covered(session.key, 10**6, limit=50),
    )


class Spoiled:
    """A database in which every write to one table fails, as if the disk gave up there."""

    def __init__(self, path: Path, table: str) -> None:
        self.path, self.table = path, table

    def __enter__(self) -> bool:
        with sqlite3.connect(self.path) as db:
            names = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if self.table not in names:
                return False
            for verb in ("INSERT", "UPDATE", "DELETE"):
                db.execute(
                    f'CREATE TRIGGER boom_{verb} BEFORE {verb} ON "{self.table}" '
                    "BEGIN SELECT RAISE(ABORT, 'the disk gave up'); END"
                )
        db.close()
        return True

    def __exit__(self, *_: object) -> None:
        with sqlite3.connect(self.path) as db:
            for verb in ("INSERT", "UPDATE", "DELETE"):
                db.execute(f"DROP TRIGGER IF EXISTS boom_{verb}")
        db.close()


def failing(work: Any) -> bool:
    try:
        work()
    except StoreError:
        return True
    return False


@pytest.mark.parametrize("table", TABLES)
def test_a_failed_write_leaves_the_old_state_or_the_new_one(tmp_path: Path, table: str) -> None:
    """S-DUR-01, S-DUR-05, S-DUR-07: whichever table refuses, recording and compacting are all or nothing."""
    path = tmp_path / "agent.db"
    store = SQLiteStore(path)
    session = fresh(SMALL, store)
    session.record(user("Go. Never touch the schema."), *pairs_of(24, 150))
    with Spoiled(path, table) as there:
        assert there, f"there is no table {table}"
        before = state_of(session)
        recorded = not failing(lambda: session.record(*pair("new", 150), user("You must not push.")))
        assert recorded or state_of(session) == before
        before = state_of(session)
        compacted = not failing(lambda: session.compact(force=True))
        after = state_of(session)
        assert compacted == (len(after[2]) == len(before[2]) + 1)
        assert compacted or after == before
        assert state_of(fresh(SMALL, SQLiteStore(path))) == after, "what another process sees is the same"
    if not recorded:
        session.record(*pair("new", 150), user("You must not push."))
    assert len(session.store.log(session.key)) == 52
    assert session.compact(force=True).outcome in ("applied", "ineffective")
    assert len(session.control.history()) >= 1
    checked(session)
    store.close()


def test_a_spoiled_table_really_refuses(tmp_path: Path) -> None:
    """The saboteur of this file works: events cannot be written, and the error comes out."""
    session = fresh(SMALL, SQLiteStore(tmp_path / "agent.db"))
    session.record(user("Go."))
    with Spoiled(tmp_path / "agent.db", "event"), pytest.raises(StoreError, match="the disk gave up"):
        session.record(user("More."))
    assert len(session.store.log(session.key)) == 1


WRITER = """
from foldmark import Policy, Session, SQLiteStore
from scenes import SMALL, pairs_of
from foldmark.events import user
from foldmark.wire import openai_chat
session = Session("s", store=SQLiteStore({path!r}), policy=SMALL)
session.record(user("Go. Never touch the schema."))
for number in range(100_000):
    done = session.record(*pairs_of(2, 150, start=number * 2))
    print(done.seq, flush=True)
    session.request(wire=openai_chat)
"""


@pytest.mark.parametrize("acks", [1, 3, 9, 20])
def test_killing_the_process_loses_nothing_that_was_acknowledged(tmp_path: Path, acks: int) -> None:
    """S-DUR-02: kill -9 in the middle of recording and compacting: every acknowledged event is in the log."""
    path = tmp_path / "agent.db"
    running = child(WRITER.format(path=str(path)))
    assert running.stdout
    last = 0
    for _ in range(acks):
        last = int(running.stdout.readline())
    running.kill()
    running.communicate()
    session = fresh(SMALL, SQLiteStore(path))
    log = session.store.log(session.key)
    assert len(log) >= last == 1 + 4 * acks
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    assert len(classes(session)) == len(log)
    checked(session)
    session.record(*pairs_of(2, 150, start=900_000))
    assert session.compact(force=True).outcome in ("applied", "ineffective")
    checked(session)
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()


def test_reopening_gives_the_compacted_request_and_the_full_log(tmp_path: Path) -> None:
    """S-DUR-03: compact, leave without closing anything, open again."""
    path = tmp_path / "agent.db"
    start, _, _ = WRITER.format(path=str(path)).partition("for number")
    end = "import os\nsession.record(*pairs_of(24, 150))\n"
    end += "print(session.compact(force=True).outcome, flush=True)\nos._exit(0)\n"
    assert child(start + end).communicate()[0] == "applied\n"
    session = fresh(SMALL, SQLiteStore(path))
    assert len(session.store.log(session.key)) == 49
    request = checked(session)
    assert request.report.outcome == "not_due"
    assert "<foldmark-checkpoint " in text_of(request.payload())


def test_the_log_is_never_rewritten_by_a_compaction(tmp_path: Path) -> None:
    """S-DUR-04: the rows of events are the same bytes after five compactions, and the export is complete."""
    path = tmp_path / "agent.db"
    session = fresh(SMALL, SQLiteStore(path))
    rows: list[tuple[Any, ...]] = []
    originals: list[Event] = []
    for turn in range(5):
        events = [user(f"Turn {turn}."), *pairs_of(12, 180, start=turn * 20)]
        originals += events
        session.record(*events)
        session.compact(force=True)
        db = sqlite3.connect(path)
        now = db.execute("SELECT * FROM event ORDER BY seq").fetchall()
        db.close()
        assert now[: len(rows)] == rows
        rows = now
    assert len(session.control.history()) >= 3
    log = session.store.log(session.key)
    assert [event.plain for event in log] == [event.plain for event in numbered_like(originals)]


def numbered_like(events: list[Event]) -> list[Event]:
    from making import numbered

    return numbered(*events)


def story(count: int = 20) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": f"Question {n}: " + "why does it charge twice? " * 30}
        if n % 2
        else {"role": "assistant", "content": f"Answer {n}: " + "because of the retry. " * 60}
        for n in range(1, count + 1)
    ]


@pytest.mark.parametrize("rewind", [4, 8, 10])
def test_a_rewind_to_before_a_compaction_gives_the_earlier_prompt_back(store: Any, rewind: int) -> None:
    """S-DUR-06: twenty messages, a compaction, then back: the fork's request is exactly the earlier list."""
    session = fresh(Policy.coding(budget={"target_tokens": 1_500}, admission=RAW, run="manual"), store)
    messages = story()
    session.follow(messages[:16], wire=openai_chat)
    assert session.compact(force=True, window=128_000).outcome == "applied"
    session.follow(messages, wire=openai_chat)
    followed = session.follow(messages[:rewind], wire=openai_chat)
    assert followed.forked_at == rewind
    assert checked(session, window=128_000).payload()["messages"] == messages[:rewind]
    session.follow([*messages[:rewind], {"role": "user", "content": "Something else."}], wire=openai_chat)
    assert checked(session).payload()["messages"] == [
        *messages[:rewind],
        {"role": "user", "content": "Something else."},
    ]


def test_editing_a_covered_message_leaves_the_record_above_it_behind(store: Any) -> None:
    """S-DUR-06: message 7 is edited: the new line shows the edit, nothing of the old record; the old line is whole."""
    session = fresh(Policy.coding(budget={"target_tokens": 1_500}, admission=RAW, run="manual"), store)
    messages = story()
    session.follow(messages, wire=openai_chat)
    session.compact(force=True, window=128_000)
    old = session.key
    edited = [*messages[:6], {"role": "user", "content": "Rather tell me about refunds."}]
    followed = session.follow(edited, wire=openai_chat)
    assert followed.forked_at == 6
    assert checked(session, window=128_000).payload()["messages"] == edited
    assert len(session.store.log(old)) == 20
    assert fresh(SMALL, store).control.history(), "the old line keeps its record"


def test_an_undo_to_before_a_compaction_gives_the_earlier_prompt_back(store: Any) -> None:
    """S-DUR-06: twenty messages, a compaction after sixteen, then undo: the request is exactly the list, on every
    wire."""
    session = fresh(Policy.coding(budget={"target_tokens": 1_500}, admission=RAW, run="manual"), store)
    messages = story()
    session.follow(messages[:16], wire=openai_chat)
    before = [session.peek(wire=each).payload() for each in EVERY_WIRE]
    assert session.compact(force=True, window=128_000).outcome == "applied"
    session.control.undo()
    assert [session.peek(wire=each).payload() for each in EVERY_WIRE] == before
    assert session.peek(wire=openai_chat).payload()["messages"] == messages[:16]
    session.follow(messages, wire=openai_chat)
    assert checked(session, window=128_000).payload()["messages"] == messages


def test_nested_compactions_are_undone_one_by_one_and_to_the_very_start(store: Any) -> None:
    """S-DUR-06: nested compactions: nothing stays hidden behind a record that is not shown any more."""
    session = fresh(Policy.coding(budget={"target_tokens": 1_500}, admission=RAW, run="manual"), store)
    messages = story(40)
    shown = []
    for end in (14, 26, 40):
        session.follow(messages[:end], wire=openai_chat)
        shown.append(session.peek(wire=openai_chat).payload()["messages"])
        assert session.compact(force=True, window=128_000).outcome == "applied"
    for version, before in ((2, shown[2]), (1, shown[1]), (0, shown[0])):
        session.control.undo(version)
        made = session.peek(wire=openai_chat).payload()["messages"]
        assert made[: len(before)] == before
        assert made[-1] == messages[-1]
        assert set(classes(session)) == set(range(1, 41))
    assert made == messages
    assert [one.version for one in session.control.history()] == [1, 2, 3, 4, 5, 6]


def test_editing_a_record_by_hand_invalidates_it_and_loses_nothing(store: Any) -> None:
    """S-DUR-06: what a person edits is a new record above the same past; the one before it comes back by undo."""
    session = fresh(Policy.coding(budget={"target_tokens": 1_500}, admission=RAW, run="manual"), store)
    session.follow(story(), wire=openai_chat)
    session.compact(force=True, window=128_000)
    before = session.peek(wire=openai_chat).payload()
    session.control.edit({"decisions": ["The retry goes"]}, author="Ann")
    assert "The retry goes" in text_of(checked(session, window=128_000).payload())
    session.control.undo()
    assert session.peek(wire=openai_chat).payload() == before
    assert len(session.store.log(session.key)) == 20


@pytest.mark.parametrize("table", ["checkpoint", "scope_state"])
@pytest.mark.parametrize("verb", ["undo", "edit", "adopt"])
def test_a_failed_write_of_a_person_leaves_the_old_state(tmp_path: Path, verb: str, table: str) -> None:
    """S-DUR-01: what people do is all or nothing, too."""
    path = tmp_path / "agent.db"
    session = fresh(SMALL.replace(run="manual"), SQLiteStore(path))
    session.record(user("Go. Never touch the schema."), *pairs_of(24, 150))
    session.compact(force=True)
    session.record(*pairs_of(24, 150, start=30), user("And?"))
    newest = session.store.event(session.key, "90").id

    def change() -> None:
        hand = session.control
        {
            "undo": hand.undo,
            "edit": lambda: hand.edit({"decisions": ["Wait"]}, pin=["event:2"]),
            "adopt": lambda: hand.adopt("All is well.", event_id=newest),
        }[verb]()

    before = state_of(session)
    with Spoiled(path, table):
        assert failing(change)
        assert state_of(session) == before
        assert state_of(fresh(SMALL, SQLiteStore(path))) == before
    change()
    assert len(session.control.history()) == 2
    checked(session)


def test_success_is_said_only_after_the_commit(tmp_path: Path) -> None:
    """S-DUR-07: when the commit fails no attempt says that it was applied, and the next one is applied once."""
    path = tmp_path / "agent.db"
    session = fresh(SMALL, SQLiteStore(path))
    session.record(user("Go."), *pairs_of(24, 150))
    with Spoiled(path, "checkpoint"), pytest.raises(StoreError):
        session.compact(force=True)
    assert [attempt.outcome for attempt in session.store.view(session.key).attempts] == []
    assert session.compact(force=True).outcome == "applied"
    assert [attempt.outcome for attempt in session.store.view(session.key).attempts] == ["applied"]


def test_the_memory_store_keeps_the_old_state_when_a_batch_is_refused() -> None:
    """S-DUR-01: a batch with one conflicting id adds none of its events."""
    from foldmark import IdConflict

    session = fresh(SMALL, MemoryStore())
    session.record(user("Go.", id="one"), assistant("Ok.", id="two"))
    before = session.store.log(session.key)
    with pytest.raises(IdConflict):
        session.record(user("New.", id="three"), user("Other words.", id="one"))
    assert session.store.log(session.key) == before
    assert json.loads(json.dumps(session.record(user("New.", id="three")).seq)) == 3
