"""RACE: two workers, queued messages, threads and processes on one session."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from scenes import SMALL, checked, child, classes, fresh, pair, pairs_of, released

from foldmark import MemoryStore, SQLiteStore
from foldmark.events import assistant, user
from foldmark.wire import openai_chat


class Between(MemoryStore):
    """A store in which something happens just before a commit, as another worker would do it."""

    def __init__(self, happening: Any) -> None:
        super().__init__()
        self.happening = happening

    def commit(self, *arguments: Any, **options: Any) -> None:
        happening, self.happening = self.happening, None
        if happening:
            happening(self)
        super().commit(*arguments, **options)


def test_an_answer_that_arrives_during_a_compaction_is_neither_covered_nor_lost() -> None:
    """S-RACE-01: an event appended between reading and commit stands raw behind the boundary."""
    late = assistant("The late half of an answer.")
    store = Between(lambda place: fresh(SMALL, place).record(late))
    session = fresh(SMALL, store)
    session.record(user("Go."), *pairs_of(24, 150))
    report = session.compact(force=True)
    assert report.outcome == "applied"
    assert report.boundary < 50
    assert "late half" not in session.control.history()[-1].text
    assert classes(session)[50] == "raw"
    assert checked(session).payload()["messages"][-1] == {"role": "assistant", "content": "The late half of an answer."}


def test_losing_to_another_worker_is_deferred_and_not_an_error() -> None:
    """S-RACE-02: somebody else commits first: our compaction answers deferred, and theirs stands."""
    store = Between(lambda place: fresh(SMALL, place).compact(force=True))
    session = fresh(SMALL, store)
    session.record(user("Go."), *pairs_of(24, 150))
    report = session.compact(force=True)
    assert report.outcome == "deferred"
    assert [one.version for one in session.control.history()] == [1]
    checked(session)


COMPACTOR = """
from foldmark import Session, SQLiteStore
from foldmark.errors import StaleBoundary
from foldmark.events import user
from foldmark.wire import openai_chat
from scenes import SMALL, pairs_of
me = sys.argv[1]
session = Session("s", store=SQLiteStore({path!r}), policy=SMALL)
print("ready", flush=True)
sys.stdin.readline()
applied = []
for turn in range(20):
    session.record(user(f"{{me}} asks {{turn}}."), *pairs_of(3, 180, start=turn * 10 + 1000 * int(me)))
    try:
        report = session.compact(force=True)
    except StaleBoundary:
        continue
    if report.outcome == "applied":
        applied.append(report.version)
print(applied, flush=True)
"""


def test_two_processes_compact_one_session_and_one_wins_each_time(tmp_path: Path) -> None:
    """S-RACE-02: two processes, twenty turns each, one file: versions are given once, no event is lost."""
    path = tmp_path / "agent.db"
    SQLiteStore(path).close()
    program = COMPACTOR.format(path=str(path))
    said = released([child(program, me) for me in ("1", "2")])
    won = [version for line in said for version in json.loads(line)]
    session = fresh(SMALL, SQLiteStore(path))
    versions = [one.version for one in session.control.history()]
    assert sorted(won) == versions == list(range(1, len(versions) + 1))
    boundaries = [one.boundary for one in session.control.history()]
    assert boundaries == sorted(boundaries)
    log = session.store.log(session.key)
    assert [event.seq for event in log] == list(range(1, 281))
    for me in ("1", "2"):
        asked = [event.text for event in log if event.text.startswith(f"{me} asks")]
        assert asked == [f"{me} asks {turn}." for turn in range(20)], "each writer's order is kept"
    checked(session)


ONE = pytest.param(True, id="one-session")
EACH = pytest.param(False, id="a-session-each")


@pytest.mark.parametrize("shared", [ONE, EACH])
def test_eight_threads_record_into_one_session(store: Any, shared: bool) -> None:
    """S-RACE-03, S-RACE-04: one session object, or one for each thread: every event once, in its thread's order."""
    one = fresh(SMALL, store)
    failures: list[BaseException] = []

    def write(me: int) -> None:
        try:
            session = one if shared else fresh(SMALL, store)
            for turn in range(25):
                session.record(user(f"thread {me} says {turn}"), *pair(f"{me}_{turn}", 60))
                if shared and turn % 8 == me:
                    session.request(wire=openai_chat)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(me,)) for me in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    log = store.log(one.key)
    assert [event.seq for event in log] == list(range(1, 601))
    for me in range(8):
        mine = [event.text for event in log if event.text.startswith(f"thread {me} ")]
        assert mine == [f"thread {me} says {turn}" for turn in range(25)]
    checked(one)


def test_a_thread_may_compact_while_others_record_through_sessions_of_their_own(store: Any) -> None:
    """S-RACE-02, S-RACE-04: eight session objects on one store; requests compact while others write."""
    failures: list[BaseException] = []

    def write(me: int) -> None:
        try:
            session = fresh(SMALL, store)
            for turn in range(25):
                session.record(user(f"thread {me} says {turn}"), *pair(f"{me}_{turn}", 60))
                if turn % 8 == me:
                    session.request(wire=openai_chat)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(me,)) for me in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(store.log(fresh(SMALL, store).key)) == 600


def test_messages_queued_while_a_compaction_runs_are_delivered_once_and_in_order(store: Any) -> None:
    """S-RACE-03, S-RACE-04: follow-ups from another thread wait for nothing and cancel nothing."""
    session = fresh(SMALL, store)
    session.record(user("Go."), *pairs_of(30, 150))
    follow_ups = [f"Follow-up {n}." for n in range(3)]
    thread = threading.Thread(target=lambda: [session.record(user(words)) for words in follow_ups])
    thread.start()
    report = session.compact(force=True)
    thread.join()
    assert report.outcome == "applied"
    assert [event.text for event in store.log(session.key)][-3:] == follow_ups
    words = [message["content"] for message in checked(session).payload()["messages"] if message["role"] == "user"]
    flat = "\n".join(map(str, words))
    places = [flat.index(words) for words in follow_ups]
    assert places == sorted(places)
    assert all(flat.count(words) == 1 for words in follow_ups)
