"""DUR in every way to run a compaction: whatever refuses, dies or is interrupted, and wherever, the session is as it
was or compacted, whole, and nobody was told otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scenes import applied, checked, child, classes, pairs_of, text_of
from tellers import honest
from test_dur import TABLES, Spoiled, failing, state_of
from ways import TOLD, WAYS, Way, lived, meanwhile, policy_for, refusing

from foldmark import Session, SQLiteStore
from foldmark.around import Around, Veto
from foldmark.errors import StoreError
from foldmark.events import assistant, user
from foldmark.reports import Raised, Report

PAST = pairs_of(40, 200, say="I decided to read on.")
BACKGROUND = ("worker", "idle")


# -- S-DUR-01, S-DUR-05: a write that fails


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("table", TABLES)
def test_with_workers_too_a_failed_write_leaves_the_old_state_or_the_new_one(
    tmp_path: Path, table: str, told: str
) -> None:
    """S-DUR-01, S-DUR-05: whichever table refuses: an event is there with its work or not at all, a compaction is made
    or not at all, and once the disk is well again the work is done."""
    one = lived("worker", SQLiteStore(tmp_path / "agent.db"), told)
    one.record(user("Go. Never touch the schema."), *PAST)
    with Spoiled(tmp_path / "agent.db", table) as there:
        assert there
        before, waits = state_of(one.session), one.worker.backlog()
        recorded = not failing(lambda: one.record(assistant("So far.")))
        assert recorded or (state_of(one.session), one.worker.backlog()) == (before, waits)
        before = state_of(one.session)
        failing(one.worker.run_once)
        after = state_of(one.session)
        assert after == before or len(after[2]) == len(before[2]) + 1
        assert state_of(Session("s", store=SQLiteStore(tmp_path / "agent.db"))) == after, "others see the same"
        assert not recorded or table != "work", "an event without its work"
    if not recorded:
        one.record(assistant("So far."))
    one.clock.advance(1_000.0)  # a lease that could not be given back is over
    one.worker.drain()
    assert len(one.store.log(one.session.key)) == 82
    assert applied(one.session) == 1
    assert one.worker.backlog().dirty == 0
    checked(one.session)


WRITES = {
    "append": "record", "claim": "run", "commit": "run", "settle": "run", "sent": "request", "wrote": "request",
    "note": "run",
}  # fmt: skip
"""A store's writes, and by what each is reached."""


@pytest.mark.parametrize("after", [False, True], ids=["before", "behind"])
@pytest.mark.parametrize("method", WRITES)
def test_whichever_write_of_a_store_fails_before_or_behind_its_work_the_state_is_old_or_new(
    method: str, after: bool, store: Any
) -> None:
    """S-DUR-01, S-DUR-05: also in memory, and when the write was done and its answer got lost."""
    model: list[Any] = [TimeoutError()] if method == "note" else [honest]
    one = Way("worker", store, *model, require_model=method == "note")
    one.record(user("Go. Never touch the schema."), *PAST)
    before = state_of(one.session)
    mend = refusing(store, method, StoreError("the disk gave up"), after=after)
    acts = {"record": lambda: one.record(assistant("So far.", id="once")), "run": one.worker.run_once}
    failing(acts.get(WRITES[method], one.session.request))
    mend()
    now = state_of(one.session)
    assert now[1] == before[1] or (len(now[1]), method, after) == (82, "append", True)
    assert now[2] == before[2] or len(now[2]) == 1
    one.record(assistant("So far.", id="once"))
    one.record(assistant("So far.", id="once"))
    one.clock.advance(1_000.0)
    one.model.script = [honest]
    one.worker.drain()
    assert [event.seq for event in store.log(one.session.key)] == list(range(1, 83))
    assert applied(one.session) == 1
    assert one.worker.backlog().dirty == 0
    checked(one.session)


@pytest.mark.parametrize("way", WAYS)
def test_a_summariser_that_overflows_deletes_nothing(way: str, store: Any) -> None:
    """S-DUR-05: the summary call is refused as too long, again and again: with a model that is required the session is
    as it was; with one that is not, code's record stands, and the chat behind it."""
    overflow = ValueError("prompt is too long: 212,000 tokens > 200,000 maximum")
    strict = Way(way, store, overflow, require_model=True)
    strict.record(user("Go. Never touch the schema."), *PAST)
    before = state_of(strict.session)
    assert strict.compacted().outcome == "failed"
    assert state_of(strict.session)[1:] == before[1:]
    lenient = Way(way, store, overflow)
    lenient.record(assistant("So far."))
    lenient.clock.advance(1_000.0)
    report = lenient.compacted()
    assert report.outcome == "degraded" or (way in ("request", "intra_run") and report.outcome == "not_due")
    text = text_of(checked(lenient.session).payload())
    assert "Never touch the schema." in text
    assert len(store.log(lenient.session.key)) == 82


# -- S-DUR-02: interrupts


@pytest.mark.parametrize(
    ("way", "interrupt"), [*((way, KeyboardInterrupt) for way in WAYS), ("caller", SystemExit), ("worker", SystemExit)]
)
def test_an_interrupt_during_a_summary_loses_no_event_and_no_earlier_compaction(
    way: str, interrupt: type[BaseException], store: Any
) -> None:
    """S-DUR-02: 640 messages with two good compactions, then an interrupt while the model of a third one thinks, at its
    first call, its second and so on: the log, both records and the request are as they were, the lease is free again,
    and the next attempt goes through."""
    one = Way(way, store, honest, window=2_500)
    for part in range(2):
        one.record(user(f"Part {part}."), *pairs_of(110, 50, start=part * 200, say="I decided to read on."))
        assert one.compacted().outcome == "applied"
    one.record(user("And now?"), *pairs_of(98, 50, start=900, say="I decided to go on."), assistant("So far."))
    one.record(*pairs_of(1, 50, start=1_100))
    log = store.log(one.session.key)
    assert len(log) == 642
    records, before = one.session.control.history(), one.session.peek().payload()
    points = 0
    while points < 3:
        one.model.asks.clear()
        one.model.script = [*[honest] * points, interrupt()]
        try:
            one.compacted()
        except interrupt:
            points += 1
        else:
            break
        assert store.log(one.session.key) == log
        assert one.session.control.history() == records
        assert one.session.peek().payload() == before
        assert one.worker.backlog().leased == 0
    assert points >= 2
    one.model.script = [honest]
    if applied(one.session) == 2:
        assert one.compacted().outcome == "applied"
    assert one.session.control.history()[:2] == records
    assert store.log(one.session.key) == log


class Interrupted:
    """Lets the n-th of all calls of a store end in an interrupt, before its work or behind it."""

    def __init__(self, store: Any, at: int, *, after: bool) -> None:
        self.left, self.after, self.store = at, after, store
        self.names = [name for name in dir(type(store)) if name[0] != "_" and callable(getattr(type(store), name))]

    def __enter__(self) -> Interrupted:
        for name in self.names:
            setattr(self.store, name, self._spoiled(getattr(self.store, name)))
        return self

    def _spoiled(self, real: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left == 0 and not self.after:
                raise KeyboardInterrupt
            done = real(*arguments, **options)
            if self.left == 0:
                raise KeyboardInterrupt
            return done

        return call

    def __exit__(self, *_: object) -> None:
        for name in self.names:
            delattr(self.store, name)


@pytest.mark.parametrize("after", [False, True], ids=["before", "behind"])
@pytest.mark.parametrize("way", WAYS)
def test_an_interrupt_at_any_call_of_the_store_leaves_the_old_state_or_the_new_one(
    way: str, after: bool, store: Any
) -> None:
    """S-DUR-02: an interrupt at each point at which a compaction reads or writes: no event is lost, there is no half of
    a record, and the next attempt is applied."""
    one = lived(way, store, "model")
    one.record(user("Go. Never touch the schema."), *PAST)
    log, before = store.log(one.session.key), one.session.peek().payload()
    points = 0
    while applied(one.session) == 0:
        points += 1
        assert points < 200
        assert one.session.peek().payload() == before
        try:
            with Interrupted(store, points, after=after):
                one.compacted()
        except KeyboardInterrupt:
            assert store.log(one.session.key) == log
            one.clock.advance(1_000.0)  # a lease that could not be given back is over
            if applied(one.session) == 0 and one.worker.backlog().dirty == 0 and way in BACKGROUND:
                store.want(one.session.key, one.clock())
    assert points >= 5
    one.clock.advance(1_000.0)
    one.worker.drain()
    assert applied(one.session) == 1
    assert one.worker.backlog().dirty == 0
    assert set(classes(one.session)) == set(range(1, len(log) + 1))
    checked(one.session)


LIVING = """
import itertools
from foldmark import Session, SQLiteStore
from foldmark.events import assistant, user
from foldmark.worker import Worker
from scenes import pairs_of
from ways import policy_for
store, policy = SQLiteStore({path!r}), policy_for("worker")
session = Session("s", store=store, policy=policy)
session.control.enlist()
"""
RUNNING = """
worker = Worker(store, policy=policy, workers=2, poll_seconds=0.002).start()
session.record(user("Go. Never touch the schema."))
for number in itertools.count():
    done = session.record(*pairs_of(3, 150, start=number * 3))
    print(done.seq, flush=True)
"""


@pytest.mark.parametrize("acks", [2, 7, 15, 30])
def test_killing_a_process_with_a_worker_in_it_loses_nothing_that_was_acknowledged(tmp_path: Path, acks: int) -> None:
    """S-DUR-02: kill -9 while events come in and a worker compacts beside them: every acknowledged event is there, and
    after the lease the next worker goes on."""
    path = tmp_path / "agent.db"
    running = child((LIVING + RUNNING).format(path=str(path)))
    assert running.stdout
    last = [int(running.stdout.readline()) for _ in range(acks)][-1]
    running.kill()
    running.communicate()
    one = lived("worker", SQLiteStore(path))
    log = one.store.log(one.session.key)
    assert len(log) >= last == 1 + 6 * acks
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    made = one.session.control.history()
    assert [record.version for record in made] == list(range(1, len(made) + 1))
    checked(one.session)
    one.record(*pairs_of(40, 150, start=900_000))
    one.clock.now = 4e9  # long after every lease
    assert one.worker.drain()[-1].outcome == "applied"
    assert one.worker.backlog().dirty == 0
    checked(one.session)


# -- S-DUR-03: leave at once, and come back


LEAVING = """
import os
def said(report):
    print(report.outcome, report.version, report.boundary, flush=True)
    os._exit(0)
session.record(user("Go. Never touch the schema."), *pairs_of(40, 200))
worker = Worker(store, policy=policy, on_report=said)
if {threads}:
    worker.start()
    import time
    time.sleep(30)
worker.drain()
"""


@pytest.mark.parametrize("threads", [False, True], ids=["in the caller", "in threads"])
def test_after_a_worker_said_applied_and_the_process_was_gone_the_request_is_compacted_and_the_log_whole(
    tmp_path: Path, threads: bool
) -> None:
    """S-DUR-03, S-DUR-07: the process is gone in the very moment in which success is reported: what was reported is
    there, with the full log, and nothing is left to do."""
    path = tmp_path / "agent.db"
    said = child((LIVING + LEAVING).format(path=str(path), threads=threads)).communicate(timeout=60)[0].split()
    assert said[:2] == ["applied", "1"]
    one = lived("worker", SQLiteStore(path))
    assert len(one.store.log(one.session.key)) == 81
    (made,) = one.session.control.history()
    assert made.boundary == int(said[2])
    request = checked(one.session)
    assert (request.report.outcome, request.report.version) == ("not_due", 1)
    assert "<foldmark-checkpoint " in text_of(request.payload())
    assert "Never touch the schema." in text_of(request.payload())
    one.clock.now = 4e9
    assert one.worker.run_once() is None, "the commit has settled the work"


# -- S-DUR-06: undo and workers


@pytest.mark.parametrize("told", TOLD)
def test_what_a_person_undoes_no_worker_does_again_at_once(told: str, store: Any) -> None:
    """S-DUR-06: back to before a compaction: the exact earlier prompt, also when work waits and workers run; they come
    again when a landing of new events is there."""
    one = lived("worker", store, told)
    one.record(user("Go. Never touch the schema."), *PAST)
    before = one.session.peek().payload()
    assert one.compacted().outcome == "applied"
    one.session.control.undo()
    store.want(one.session.key, one.clock())
    assert one.compacted().outcome == "not_due"
    assert one.session.peek().payload() == before
    one.record(*pairs_of(20, 200, start=100), assistant("So far."))
    assert one.compacted().outcome == "applied"
    assert [made.kind for made in one.session.control.history()] == ["compaction", "undo", "compaction"]


# -- S-DUR-07: what is said, and when


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("way", WAYS)
def test_success_is_said_once_and_only_behind_the_commit(way: str, told: str, store: Any) -> None:
    """S-DUR-07: when the report of an applied compaction comes, every reader sees it; one attempt has one report, and
    so has one whose commit fails: it never says that it was applied."""
    seen: list[tuple[str, int]] = []

    def heard(report: Report) -> None:
        if report.outcome != "not_due":
            seen.append((report.outcome, len(store.checkpoints(one.session.key))))

    observed: list[Any] = []
    one = lived(way, store, told, on_report=heard, observer=observed.append)
    one.record(user("Go."), *PAST)
    mend = refusing(store, "commit", StoreError("the disk gave up"))
    failing(one.compacted)
    assert seen == [("failed", 0)]
    assert [note.outcome for note in store.view(one.session.key).attempts if note.outcome == "applied"] == []
    mend()
    one.clock.advance(1_000.0)
    assert one.compacted().outcome == "applied"
    assert seen == [("failed", 0), ("applied", 1)]
    told_of = [each.outcome for each in observed if isinstance(each, Report) and each.outcome != "not_due"]
    assert told_of == ["failed", "applied"]
    works = [each.what for each in observed if isinstance(each, Raised) and each.what != "raised"]
    assert works == (["claimed", "again", "claimed", "done"] if way in BACKGROUND else [])


@pytest.mark.parametrize("way", ["caller", "worker"])
def test_a_commit_whose_answer_got_lost_is_not_told_as_if_nothing_had_been_written(way: str, store: Any) -> None:
    """S-DUR-07, turned round: the store has it, and the line to the store broke behind that."""
    reports: list[Report] = []
    one = lived(way, store, on_report=reports.append)
    one.record(user("Go."), *PAST)
    refusing(store, "commit", StoreError("the line broke"), after=True)
    failing(one.compacted)
    assert (applied(one.session), len(reports)) == (1, 1)
    assert "is as it was" not in reports[0].text


@pytest.mark.parametrize("end", ["beaten", "vetoed", "refused", "gone", "in vain"])
def test_every_end_of_a_workers_attempt_is_said_once_and_is_true(end: str, store: Any) -> None:
    """S-DUR-07: whatever becomes of an attempt, it has one report."""
    reports: list[Report] = []
    around = Around(before=lambda plan: Veto("not now")) if end == "vetoed" else None

    def think(ask: Any) -> Any:
        if end == "beaten":
            meanwhile(lambda: Session("s", store=store, policy=policy_for("caller")).compact(force=True))
        if end == "refused":
            raise TimeoutError
        if end == "gone":
            one.session.control.delete()
        return honest(ask)

    one = Way("worker", store, think, around=around, on_report=reports.append, require_model=True)
    one.record(user("Go."), *([assistant("word " * 9_000)] if end == "in vain" else PAST))
    one.worker.run_once()
    expected = {"refused": "failed", "in vain": "ineffective"}.get(end, "deferred")
    assert [report.outcome for report in reports] == [expected]
    if end != "gone":
        assert len(store.checkpoints(one.session.key)) == int(end == "beaten")


def test_these_saboteurs_can_fail(store: Any) -> None:
    """An interrupt at the third call comes out, and what is mended works again."""
    one = lived("worker", store)
    with pytest.raises(KeyboardInterrupt), Interrupted(store, 3, after=False):
        one.session.request()
    mend = refusing(store, "append", StoreError("the disk gave up"))
    with pytest.raises(StoreError):
        one.record(user("More."))
    mend()
    one.record(user("More."))
    assert "append" not in vars(store)
