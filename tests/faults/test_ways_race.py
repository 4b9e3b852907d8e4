"""RACE in every way to run a compaction: what comes while one is made, by whomever it is made, is neither lost nor
doubled nor covered, and of two that make one, one is heard."""

from __future__ import annotations

import itertools
import json
import random
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from scenes import applied, checked, child, classes, pairs_of, released, text_of
from tellers import honest
from turns import turns
from ways import STEADY, TOLD, WAYS, Way, inside, lived, meanwhile, policy_for

from foldmark import Session, SQLiteStore, StaleBoundary, Summarizer
from foldmark.around import Around
from foldmark.driving import drive
from foldmark.events import Usage, assistant, injected, user
from foldmark.reports import Report
from foldmark.testing import ScriptedModel
from foldmark.worker import Worker
from waiting import LONG, until

PAST = pairs_of(40, 200, say="I decided to read on.")


def said_once_in_order(session: Session, words: list[str]) -> None:
    """Each of these messages stands once in the log and once in the request, in this order."""
    log = [event.text for event in session.store.log(session.key)]
    assert [text for text in log if text in words] == words
    text = text_of(checked(session).payload())
    places = [text.index(one) for one in words]
    assert places == sorted(places)
    assert [text.count(one) for one in words] == [1] * len(words)


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ends", ["before the commit", "behind it"])
def test_a_compaction_lets_a_streamed_answer_stand_behind_it_under_the_next_number(
    ends: str, way: str, told: str, store: Any
) -> None:
    """S-RACE-01: a request went out and its answer streams in; a compaction is made meanwhile; the answer is committed
    right before it or right behind it: it is raw, behind the boundary, and in no record. What it reports of its own
    request, which was built before the compaction, is not taken for the size of the one after it."""
    one, agent = lived(way, store, told), Session("s", store=store, policy=policy_for("caller"))
    one.record(user("Go."), *PAST)
    agent.request()
    stream = assistant("Half an answer about flamingo_rows, and its other half.", usage=Usage(input=9_100, output=20))
    if ends == "before the commit":
        inside(store, "commit", lambda: agent.record(stream))
    report = one.compacted()
    if ends == "behind it":
        agent.record(stream)
    assert (report.outcome, report.version) == ("applied", 1)
    log, late = store.log(one.session.key), 82
    assert [event.seq for event in log] == list(range(1, late + 1))
    assert report.boundary < late
    assert classes(one.session)[late] == "raw"
    assert "flamingo_rows" not in one.session.control.history()[-1].text
    assert store.view(one.session.key).state.reported == (0, 0), "it says nothing of what came of the compaction"
    again = checked(agent)
    assert turns(again.payload())[-1].text == stream.text
    assert again.tokens.total < 4_000
    assert checked(one.session).report.outcome == "not_due"
    agent.record(assistant("And so on.", usage=Usage(input=3_100, output=20)))
    assert store.view(one.session.key).state.reported == (1, 3_100), "this one does"


def test_a_worker_compacts_while_a_turn_is_streamed_and_the_turn_goes_on_from_the_new_record(store: Any) -> None:
    """S-RACE-01: a worker in a thread of its own, and an agent that streams ten answers meanwhile: every commit of the
    stream gets the next number, and each request goes on from what was there when it was built."""
    thinks, goes_on = threading.Event(), threading.Event()

    def slow(ask: Any) -> Any:
        thinks.set()
        assert goes_on.wait(LONG)
        return honest(ask)

    one = Way("worker", store, slow)
    one.record(user("Go."), *PAST)
    with Worker(store, policy=one.policy, summarizer=one.summarizer, clock=one.clock, workers=1, poll_seconds=0.01):
        assert thinks.wait(LONG), "nobody claimed the work"
        before = [checked(one.session).report.version]
        for number in range(10):
            one.record(assistant(f"Streamed {number}."), user(f"And {number}?"))
            before.append(checked(one.session).report.version)
            if number == 4:
                goes_on.set()
                until(lambda: applied(one.session) == 1)
    assert before[:5] == [0] * 5
    assert before[6:] == [1] * 5
    said_once_in_order(
        one.session, [f"{what} {n}{end}" for n in range(10) for what, end in (("Streamed", "."), ("And", "?"))]
    )
    (made,) = one.session.control.history()
    assert "Streamed" not in made.text
    assert made.boundary < 82


RIVALS = [("caller", way) for way in WAYS] + [("worker", way) for way in WAYS if way not in ("worker", "idle")]
"""Who wins, who loses; two workers are kept apart by the lease."""


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize(("winner", "loser"), RIVALS)
def test_of_two_who_compact_one_boundary_one_is_applied_and_the_other_is_deferred(
    winner: str, loser: str, told: str, store: Any
) -> None:
    """S-RACE-02: whoever commits second has not compacted, says so, and leaves the winner's record as it is."""
    first, second = lived(winner, store), lived(loser, store, told)
    first.record(user("Go."), *PAST)
    if loser in ("worker", "idle"):
        second.record(assistant("So far."))  # what raises its work
    events, won = len(store.log(first.session.key)), list[Report]()
    inside(store, "commit", lambda: won.append(first.compacted()))
    report = second.compacted()
    assert [one.outcome for one in won] == ["applied"]
    assert report.outcome == "deferred"
    (made,) = second.session.control.history()
    assert (made.author, made.boundary) == ("code", won[0].boundary)
    assert len(store.log(second.session.key)) == events
    checked(second.session)


@pytest.mark.parametrize("told", TOLD)
def test_a_lock_has_an_owner_and_an_end(told: str, store: Any) -> None:
    """S-RACE-02: a worker hangs in the middle: until its lease ends nobody takes the session, then another one does;
    what the first one would still write is refused."""
    dead, other = lived("worker", store, told), lived("worker", store, told)
    dead.record(user("Go."), *PAST)
    work = store.claim(dead.clock(), 120.0)
    assert work
    late = dead.session.compact_steps(lease=work.token, run="background", by_code=True)
    other.clock.advance(60.0)
    assert other.worker.run_once() is None
    other.clock.advance(61.0)
    took: list[Report | None] = []
    inside(store, "commit", lambda: took.append(other.worker.run_once()))
    report = drive(late, dead.session.lock)
    assert [one and one.outcome for one in took] == ["applied"]
    assert report.outcome == "deferred"
    (made,) = dead.session.control.history()
    later = msgspec.structs.replace(made, version=2)
    with pytest.raises(StaleBoundary):
        store.commit(dead.session.key, later, expected=1, token=work.token)
    store.commit(dead.session.key, later, expected=1)  # without the token it is one like any other


WORKER = """
import json, time
from foldmark import Session, SQLiteStore, Summarizer
from foldmark.events import assistant, user
from foldmark.testing import ScriptedModel
from foldmark.worker import Worker
from scenes import pairs_of
from tellers import honest
from ways import STEADY, policy_for
me = sys.argv[1]
store, policy = SQLiteStore({path!r}), policy_for("worker")
session, model = Session("s", store=store, policy=policy), ScriptedModel(honest, window=64_000)
session.control.enlist()
worker = Worker(store, policy=policy, summarizer=Summarizer(models=(model,), limits=STEADY))
print("ready", flush=True)
sys.stdin.readline()
reports, seen = [], []
for turn in range(20):
    session.record(user(f"{{me}} asks {{turn}}."), *pairs_of(6, 180, start=turn * 10 + 1000 * int(me)))
    session.record(assistant(f"{{me}} is done."))
    reports += worker.drain()
    seen.append(len(store.log(session.key)))
for _ in range(50):  # the last one of the other may still be leased
    reports += worker.drain()
    if not store.backlog(time.time()).dirty:
        break
    time.sleep(0.02)
print(json.dumps({{
    "reports": [[one.outcome, one.version, one.boundary, len(one.calls)] for one in reports],
    "asks": len(model.asks), "falls": seen != sorted(seen),
}}), flush=True)
"""


def test_two_processes_with_workers_apply_one_compaction_for_each_boundary_and_pay_for_it_once(tmp_path: Path) -> None:
    """S-RACE-02: two processes with a worker each, twenty runs on one session file from a barrier on, and a chat at the
    same time: versions are given once, boundaries rise, a model is asked once for each, no event is lost."""
    path = tmp_path / "agent.db"
    store = SQLiteStore(path)
    chat = Session("s", store=store, policy=policy_for("worker"))
    chat.control.enlist()
    stopped, lengths = threading.Event(), list[int]()

    def chats() -> None:
        for number in itertools.count():
            if stopped.is_set():
                return
            chat.record(user(f"chat {number}"), assistant("Yes."))
            chat.request()
            lengths.append(len(store.log(chat.key)))
            time.sleep(0.05)

    talker = threading.Thread(target=chats, daemon=True)
    two = [child(WORKER.format(path=str(path)), me) for me in ("1", "2")]
    talker.start()
    said = [json.loads(line) for line in released(two)]
    stopped.set()
    talker.join(LONG)
    reports = [report for one in said for report in one["reports"]]
    won = [report for report in reports if report[0] == "applied"]
    history = chat.control.history()
    assert sorted(version for _, version, _, _ in won) == [made.version for made in history]
    assert [made.version for made in history] == list(range(1, len(history) + 1))
    assert len(history) >= 3
    boundaries = [made.boundary for made in history]
    assert all(one < other for one, other in itertools.pairwise(boundaries)), "a boundary was compacted twice"
    assert {report[0] for report in reports} <= {"applied", "not_due", "ineffective", "deferred"}
    assert sum(one["asks"] for one in said) == len(won) == sum(report[3] for report in reports), "paid twice"
    assert not any(one["falls"] for one in said)
    assert lengths == sorted(lengths)
    log = store.log(chat.key)
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    assert len(log) == 2 * 20 * 14 + 2 * len(lengths)
    for me in ("1", "2"):
        asked = [event.text for event in log if event.text.startswith(f"{me} asks")]
        assert asked == [f"{me} asks {turn}." for turn in range(20)]
    Worker(store, policy=chat.policy).drain()  # what the chat said last
    assert store.backlog(time.time()).dirty == 0
    checked(chat)


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("way", WAYS)
def test_a_message_typed_during_a_compaction_is_delivered_after_it_and_cancels_nothing(
    way: str, told: str, store: Any
) -> None:
    """S-RACE-03: the compaction takes its time, a user types in the middle of it: the message is recorded at once, the
    compaction is applied, and the message stands behind it."""

    def type_() -> None:
        one.record(user("Wait: leave the invoices alone!"))

    def slow(ask: Any) -> Any:
        meanwhile(type_)
        return honest(ask)

    one = Way(way, store, slow) if told == "model" else Way(way, store)
    if told == "code":
        inside(store, "covered", type_)
    one.record(user("Go."), *PAST)
    report = one.compacted()
    assert (report.outcome, len(one.model.asks)) == ("applied", int(told == "model"))
    assert applied(one.session) == 1
    assert report.boundary < 82
    assert classes(one.session)[82] == "raw"
    request = checked(one.session)
    assert request.tokens.total < 4_000, "the run goes on without the whole context"
    assert turns(request.payload())[-1].text.endswith("Wait: leave the invoices alone!")
    said_once_in_order(one.session, ["Wait: leave the invoices alone!"])


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("way", WAYS)
def test_follow_ups_that_hooks_queue_during_a_compaction_are_delivered_once_and_in_order(
    way: str, told: str, store: Any
) -> None:
    """S-RACE-04: hooks before and behind the attempt, and the listener, each queue a follow-up in the session: all
    three are there once, in order, and every result has its call."""
    follow_ups = ["First: run the tests.", "Second: write the note.", "Third: tell Kim."]

    def queue(number: int) -> Any:
        Session("s", store=store, policy=one.policy).record(injected(follow_ups[number]))

    def heard(report: Report) -> None:
        if report.outcome == "applied":
            queue(2)

    around = Around(before=lambda plan: queue(0), after=lambda plan, report: queue(1))
    one = lived(way, store, told, around=around, on_report=heard)
    one.record(user("Go."), *PAST)
    assert one.compacted().outcome == "applied"
    assert applied(one.session) == 1
    said_once_in_order(one.session, follow_ups)


@pytest.mark.parametrize("seed", range(4))
def test_follow_ups_of_threads_are_delivered_once_and_in_order_whatever_their_delays(seed: int, store: Any) -> None:
    """S-RACE-04: the turn ends, a worker begins, and three follow-ups come from another thread at random moments,
    before, in and behind the compaction."""
    rng = random.Random(seed)
    follow_ups = [f"Follow-up {number}." for number in range(3)]
    delays = [rng.random() * 0.03 for _ in range(4)]

    def slow(ask: Any) -> Any:
        time.sleep(delays[3])
        return honest(ask)

    one = Way("worker", store, slow)
    summarizer = Summarizer(models=(ScriptedModel(slow, window=64_000),), limits=STEADY)

    def follow() -> None:
        for words, delay in zip(follow_ups, delays, strict=False):
            time.sleep(delay)
            one.record(injected(words))

    with Worker(store, policy=one.policy, summarizer=summarizer, workers=2, poll_seconds=0.005) as worker:
        one.record(user("Go."), *PAST)
        one.record(assistant("That is all for now."))
        worker.nudge()
        thread = threading.Thread(target=follow)
        thread.start()
        thread.join(LONG)
    assert applied(one.session) == 1
    said_once_in_order(one.session, follow_ups)
