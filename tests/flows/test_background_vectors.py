"""A worker with an embedder: the sessions of settled work get their vectors, and nothing that an embedder does, or does
not do, changes the work. The clock stands still; threads wait for each other by events, never for time.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foldmark import MemoryStore, NotFound, Policy, Session, SQLiteStore, user
from foldmark.embedding import Embedder
from foldmark.reports import Observation, Raised
from foldmark.store import Key, Store
from foldmark.store.forwarding import Forwarding
from foldmark.testing import FixedClock, ScriptedModel, items_json
from foldmark.vectors import embed, vectors_of
from foldmark.worker import Worker
from foldmark.worker.embedding import Embedding
from making import long_session, tool_round
from toy_embedder import numbers, toy
from waiting import LONG

POLICY = Policy.coding(
    run="background",
    window=128_000,
    budget={"landing_tokens": 2_000, "trigger_tokens": 4_000, "nothing_below": 1_000},
)
GOOD = items_json(decisions=[("Read the files one by one, beginning with src/file_1.py", [2])])


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "agent.db")
    yield made
    made.close()


def grown(store: Store, clock: Callable[[], float], name: str = "s", *, rounds: int = 6, **options: Any) -> Session:
    """A session whose work waits."""
    made = Session(name, store=store, clock=clock, policy=POLICY, **options)
    made.control.enlist()
    made.record(*long_session(rounds))
    return made


def lacking(store: Store, embedder: Embedder, name: str = "s", **whose: str) -> int:
    """How many pieces of a session have no vector."""
    vectors = vectors_of(store)
    assert vectors is not None
    return len(vectors.missing(Key(session=name, **whose), embedder, limit=10_000))


def calling(call: Callable[[Sequence[str]], Any], **options: Any) -> Embedder:
    return msgspec.structs.replace(toy(**options), call=call)


def worker(store: Store, clock: Callable[[], float], embedder: Embedder | None, **options: Any) -> Worker:
    return Worker(store, policy=POLICY, clock=clock, embedder=embedder, **options)


class Gate:
    """An embedder's function that waits inside a call until the test lets it go on."""

    def __init__(self) -> None:
        self.entered, self.opened, self.calls = threading.Event(), threading.Event(), 0

    def __call__(self, texts: Sequence[str]) -> list[Sequence[float]]:
        self.calls += 1
        self.entered.set()
        assert self.opened.wait(LONG)
        return [numbers(text) for text in texts]


# -- what is done


def test_the_session_of_a_settled_work_gets_its_vectors(store: Store, clock: FixedClock) -> None:
    embedder = toy()
    grown(store, clock)
    assert lacking(store, embedder) > 4
    reports = worker(store, clock, embedder, model=ScriptedModel(GOOD)).drain()
    assert [report.outcome for report in reports] == ["applied"]
    assert lacking(store, embedder) == 0


def test_a_search_then_finds_what_is_said_in_other_words(store: Store, clock: FixedClock) -> None:
    embedder = toy()
    session = grown(store, clock, embedder=embedder)
    session.record(user("The lorry is in the yard."))
    assert not session.search("truck")
    worker(store, clock, embedder).drain()
    assert [hit.snippet for hit in session.search("truck", limit=1)] == ["The lorry is in the yard."]


def test_work_that_was_not_due_brings_vectors_too_and_only_to_what_is_new(store: Store, clock: FixedClock) -> None:
    seen: list[str] = []

    def call(texts: Sequence[str]) -> list[Sequence[float]]:
        seen.extend(texts)
        return [numbers(text) for text in texts]

    embedder, session = calling(call), grown(store, clock, rounds=1)
    one = worker(store, clock, embedder)
    assert [report.outcome for report in one.drain()] == ["not_due"]
    assert lacking(store, embedder) == 0
    seen.clear()
    session.record(*tool_round(99))
    one.drain()
    assert lacking(store, embedder) == 0
    assert seen
    assert len(seen) == len(set(seen)) < 8


def test_what_was_said_before_a_text_is_handed_over_by_a_worker_too(store: Store, clock: FixedClock) -> None:
    seen: dict[str, str] = {}

    def after(texts: Sequence[str], before: Sequence[str]) -> list[Sequence[float]]:
        seen.update(zip(texts, before, strict=True))
        return [numbers(text) for text in texts]

    session = grown(store, clock, rounds=1)
    session.record(user("We sold the lorry."), user("It was red."))
    worker(store, clock, msgspec.structs.replace(toy(), call_after=after)).drain()
    assert seen["It was red."].endswith("We sold the lorry.")


def test_what_was_said_before_is_handed_over_no_more_once_a_worker_ends(store: Store, clock: FixedClock) -> None:
    given: list[str] = []

    def after(texts: Sequence[str], before: Sequence[str] = ()) -> list[Sequence[float]]:
        given.extend(texts)
        return [numbers(text) for text in texts]

    session = grown(store, clock, rounds=1)
    session.record(user("We sold the lorry."), user("It was red."), user("It was old."))
    reading = msgspec.structs.replace(toy(batch=1), call=after, call_after=after)
    Embedding(store, reading, 60.0).give(session.key, Future(), lambda: "It was red." not in given)
    assert given[-1] == "It was red."


def test_run_once_embeds_the_one_session_whose_work_it_did(store: Store, clock: FixedClock) -> None:
    embedder = toy()
    grown(store, clock, "first", rounds=1)
    clock.advance(1)
    grown(store, clock, "second", rounds=1)
    worker(store, clock, embedder).run_once()
    assert lacking(store, embedder, "first") == 0
    assert lacking(store, embedder, "second") > 0


def test_the_work_of_a_scope_brings_vectors_to_the_whole_session_of_its_owner(store: Store, clock: FixedClock) -> None:
    embedder, whose = toy(), {"tenant": "t", "user": "u"}
    grown(store, clock, **whose)
    branch = Session("s", store=store, clock=clock, policy=POLICY, scope="a/b", **whose)
    branch.control.enlist()
    branch.record(*tool_round(7))
    grown(store, clock)  # of another tenant, by the same name
    one = worker(store, clock, embedder)
    scopes = [one.run_once(), one.run_once()]
    assert all(scopes)
    assert lacking(store, embedder, tenant="t", user="u") == 0


def test_pieces_that_the_scope_of_a_work_does_not_see_get_vectors_too(store: Store, clock: FixedClock) -> None:
    embedder = toy()
    session = grown(store, clock)
    Session("s", store=store, clock=clock, policy=POLICY, scope="a").record(user("Only this branch says so."))
    of_branch = msgspec.structs.replace(session.key, scope="a", sees="exact")
    Embedding(store, embedder, 60.0).give(of_branch, Future(), lambda: True)
    assert lacking(store, embedder) == 0


def test_threads_that_are_stopped_with_draining_leave_no_piece_without_a_vector(
    store: Store, clock: FixedClock
) -> None:
    embedder = toy()
    for number in range(4):
        grown(store, clock, f"s{number}", rounds=2)
    assert worker(store, clock, embedder, workers=3).start().stop(timeout=LONG)
    assert [lacking(store, embedder, f"s{number}") for number in range(4)] == [0] * 4


def test_without_an_embedder_there_are_no_vectors(store: Store, clock: FixedClock) -> None:
    grown(store, clock)
    worker(store, clock, None).drain()
    assert lacking(store, toy()) > 4


def test_work_is_settled_and_told_before_its_session_is_embedded(store: Store, clock: FixedClock) -> None:
    """Nobody waits for vectors: the lease is free, and others may go on with the session."""
    told: list[Observation] = []
    waiting: list[tuple[int, list[str]]] = []

    def call(texts: Sequence[str]) -> list[Sequence[float]]:
        whats = [one.what for one in told if isinstance(one, Raised)]
        waiting.append((store.backlog(clock()).dirty, whats))
        return [numbers(text) for text in texts]

    grown(store, clock)
    worker(store, clock, calling(call), observer=told.append).drain()
    assert waiting[0] == (0, ["claimed", "done"])


def test_pieces_that_come_while_a_batch_is_made_get_vectors_in_the_same_go(store: Store, clock: FixedClock) -> None:
    session = grown(store, clock)
    late = [user("The bus is late.")]

    def call(texts: Sequence[str]) -> list[Sequence[float]]:
        session.record(*late)
        late.clear()
        return [numbers(text) for text in texts]

    embedder = calling(call)
    worker(store, clock, embedder).run_once()
    assert not late
    assert lacking(store, embedder) == 0


# -- what goes wrong


def broken(texts: Sequence[str]) -> Any:
    raise ConnectionError("the server is down")


def interrupted(texts: Sequence[str]) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "call", [broken, interrupted, lambda texts: [], lambda texts: None, lambda texts: [[1.0]] * len(texts)]
)
def test_whatever_an_embedder_does_the_work_ends_as_without_it_and_it_is_said_once(
    store: Store, clock: FixedClock, call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    ends: list[list[str]] = []
    for embedder in (None, calling(call)):
        told: list[Observation] = []
        one = worker(store, clock, embedder, observer=told.append, model=ScriptedModel(GOOD, GOOD, GOOD))
        for number in range(3):
            grown(store, clock, f"{embedder is None}{number}")
        with caplog.at_level(logging.WARNING, "foldmark"):
            outcomes = [report.outcome for report in one.drain()]
        ends.append([*outcomes, *(seen.what for seen in told if isinstance(seen, Raised))])
    assert ends[0] == ends[1]
    assert len([record for record in caplog.records if "no vectors" in record.getMessage()]) == 1
    assert "toy" in caplog.text
    assert lacking(store, toy(), "False0") > 4


def test_each_kind_of_failure_is_said_once_and_what_works_again_is_done(
    store: Store, clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    errors = iter([ConnectionError("1"), ConnectionError("2"), ValueError("3"), ConnectionError("4")])

    def call(texts: Sequence[str]) -> list[Sequence[float]]:
        if error := next(errors, None):
            raise error
        return [numbers(text) for text in texts]

    embedder = calling(call)
    one = worker(store, clock, embedder)
    session = grown(store, clock)
    for number in range(5):
        session.record(*tool_round(50 + number))
        one.drain()
    said = [record.getMessage() for record in caplog.records if "no vectors" in record.getMessage()]
    assert [("ConnectionError" in line, "ValueError" in line) for line in said] == [(True, False), (False, True)]
    assert lacking(store, embedder) == 0


def test_batches_that_were_made_before_a_failure_are_kept(store: Store, clock: FixedClock) -> None:
    count: list[int] = []

    def call(texts: Sequence[str]) -> list[Sequence[float]]:
        count.append(len(texts))
        if len(count) > 1:
            raise ConnectionError
        return [numbers(text) for text in texts]

    embedder = calling(call, batch=3)
    grown(store, clock)
    before = lacking(store, embedder)
    worker(store, clock, embedder).drain()
    assert lacking(store, embedder) == before - 3


def test_a_store_without_vectors_is_compacted_all_the_same(clock: FixedClock, caplog: pytest.LogCaptureFixture) -> None:
    class Wordy(Forwarding):
        vectors = None

    store = Wordy(MemoryStore())
    grown(store, clock)
    (report,) = worker(store, clock, toy()).drain()
    assert report.outcome in ("applied", "degraded")
    assert "the store keeps no vectors" in caplog.text


def test_a_session_that_is_deleted_while_it_is_embedded_stays_deleted_and_nothing_is_logged(
    store: Store, clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    session = grown(store, clock)

    def call(texts: Sequence[str]) -> list[Sequence[float]]:
        session.control.delete()
        return [numbers(text) for text in texts]

    worker(store, clock, calling(call)).drain()
    with pytest.raises(NotFound):
        lacking(store, toy())
    assert not [record for record in caplog.records if "no vectors" in record.getMessage()]


def test_a_session_that_was_deleted_before_is_not_embedded(store: Store, clock: FixedClock) -> None:
    def model(ask: Any) -> str:
        session.control.delete()
        return GOOD

    session, gate = grown(store, clock), Gate()
    gate.opened.set()
    worker(store, clock, calling(gate), model=model).drain()
    assert gate.calls == 0


def test_a_session_that_comes_back_by_the_same_name_gets_no_vector_of_the_old_one(
    store: Store, clock: FixedClock
) -> None:
    session = grown(store, clock)

    def call(texts: Sequence[str]) -> list[Sequence[float]]:
        if "s" in {info.session for info in store.sessions("local", "local")} and not made:
            session.control.delete()
            made.append(Session("s", store=store, clock=clock, policy=POLICY))
            made[0].record(user("Another beginning."))
        return [numbers(text) for text in texts]

    made: list[Session] = []
    embedder = calling(call)
    worker(store, clock, embedder).run_once()
    assert lacking(store, embedder) == 1


# -- time, and the end of a worker


def test_no_batch_is_begun_when_the_time_is_over(store: Store, clock: FixedClock) -> None:
    ticks = iter(range(1_000))  # every look at the clock is a second later
    count: list[int] = []

    def call(texts: Sequence[str]) -> list[Sequence[float]]:
        count.append(len(texts))
        return [numbers(text) for text in texts]

    embedder = calling(call, batch=1)
    grown(store, clock, rounds=12)
    before = lacking(store, embedder)
    embedding = Embedding(store, embedder, 9.0, lambda: float(next(ticks)))
    embedding.give(Key(session="s"), Future(), lambda: True)
    assert 0 < len(count) < 9
    assert lacking(store, embedder) == before - len(count)
    again = Embedding(store, embedder, 1e6, lambda: 0.0)
    again.give(Key(session="s"), Future(), lambda: True)
    assert lacking(store, embedder) == 0


def test_an_embedder_that_hangs_is_left_and_rests_and_the_work_goes_on(
    store: Store, clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()
    grown(store, clock, "first")
    grown(store, clock, "second")
    one = worker(store, clock, calling(gate), job_timeout_seconds=0.05)
    try:
        assert len(one.drain()) == 2
        assert gate.entered.wait(LONG)
    finally:
        gate.opened.set()
    assert gate.calls == 1  # while it is late nobody asks it again
    assert "no vectors within 0.05 s" in str([record.exc_info for record in caplog.records])
    assert lacking(store, toy(), "first") > 4  # an answer that comes later is not kept


def test_a_failure_that_took_long_lets_the_embedder_rest(store: Store) -> None:
    now = [0.0]
    asked: list[int] = []

    def call(texts: Sequence[str]) -> list[Sequence[float]]:
        asked.append(len(texts))
        now[0] += 5.0
        if len(asked) == 1:
            raise ConnectionError
        return [numbers(text) for text in texts]

    embedder = calling(call, batch=1_000)
    grown(store, FixedClock())
    embedding = Embedding(store, embedder, 60.0, lambda: now[0])
    embedding.give(Key(session="s"), Future(), lambda: True)
    embedding.give(Key(session="s"), Future(), lambda: True)
    assert len(asked) == 1
    now[0] += 61.0
    embedding.give(Key(session="s"), Future(), lambda: True)
    assert len(asked) == 2
    assert lacking(store, embedder) == 0


def test_a_job_that_was_broken_off_begins_no_vectors(store: Store, clock: FixedClock) -> None:
    gate, stops = Gate(), Future[None]()
    session = grown(store, clock)
    stops.set_result(None)
    Embedding(store, calling(gate), 60.0).give(session.key, stops, lambda: True)
    assert gate.calls == 0


def test_a_stop_in_the_middle_of_a_long_batch_is_no_failure_that_the_embedder_has_to_rest_for(
    store: Store, clock: FixedClock
) -> None:
    now, gate, stops = [0.0], Gate(), Future[None]()
    embedder, session = calling(gate, batch=1_000), grown(store, clock)
    embedding = Embedding(store, embedder, 60.0, lambda: now[0])
    first = threading.Thread(target=lambda: embedding.give(session.key, stops, lambda: True))
    first.start()
    assert gate.entered.wait(LONG)
    now[0] += 30.0
    stops.set_result(None)
    first.join(LONG)
    assert lacking(store, embedder) > 4
    gate.opened.set()
    assert embedding._late is not None
    embedding._late.result(LONG)
    embedding.give(session.key, Future(), lambda: True)
    assert lacking(store, embedder) == 0


def test_a_stop_without_draining_waits_for_the_batch_and_begins_no_other(store: Store, clock: FixedClock) -> None:
    gate = Gate()
    embedder = calling(gate, batch=1)
    grown(store, clock)
    before = lacking(store, embedder)
    one = worker(store, clock, embedder, workers=1).start()
    assert gate.entered.wait(LONG)
    assert one.busy == 1
    ended: list[bool] = []
    stopping = threading.Thread(target=lambda: ended.append(one.stop(drain=False, timeout=LONG)))
    stopping.start()
    while one._shift is not None:
        time.sleep(0)
    gate.opened.set()
    stopping.join(LONG)
    assert ended == [True]
    assert (one.busy, gate.calls, lacking(store, embedder)) == (0, 1, before - 1)


def test_a_stop_whose_time_is_over_leaves_an_embedder_that_hangs(
    store: Store, clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()
    grown(store, clock)
    one = worker(store, clock, calling(gate)).start()
    try:
        assert gate.entered.wait(LONG)
        assert not one.stop(timeout=0)
    finally:
        gate.opened.set()
    waiting = store.backlog(clock())
    assert (waiting.dirty, waiting.leased) == (0, 0)
    assert not [record for record in caplog.records if "no vectors" in record.getMessage()]


def test_an_interrupt_of_the_caller_while_vectors_are_made_leaves_the_work_done_and_the_worker_usable(
    store: Store, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = toy()
    grown(store, clock)
    one = worker(store, clock, embedder)

    def interrupt(*given: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("foldmark.worker.embedding.embed", interrupt)
        with pytest.raises(KeyboardInterrupt):
            one.drain()
    assert store.backlog(clock()).dirty == 0
    grown(store, clock).record(*tool_round(70))
    one.drain()
    assert lacking(store, embedder) == 0


# -- several at once


def test_two_scopes_of_one_session_done_at_once_have_every_piece_embedded_once(store: Store, clock: FixedClock) -> None:
    counted: Counter[str] = Counter()
    gate = Gate()

    def call(texts: Sequence[str]) -> list[Sequence[float]]:
        counted.update(texts)
        return gate(texts)

    embedder = calling(call)
    grown(store, clock)
    branch = Session("s", store=store, clock=clock, policy=POLICY, scope="a")
    branch.control.enlist()
    branch.record(user("Only this branch says so."))
    one = worker(store, clock, embedder, workers=2).start()
    assert gate.entered.wait(LONG)
    while store.backlog(clock()).dirty:  # the other scope is done by the other thread meanwhile
        time.sleep(0)
    gate.opened.set()
    assert one.stop(timeout=LONG)
    assert lacking(store, embedder) == 0
    assert set(counted.values()) == {1}


def test_a_session_that_is_asked_for_while_it_is_embedded_is_looked_at_once_more(
    store: Store, clock: FixedClock
) -> None:
    """Else what came between the last look and the end of the go would wait for the session's next work."""
    gate = Gate()
    embedder = calling(gate, batch=1_000)
    session = grown(store, clock)
    embedding = Embedding(store, embedder, 60.0)
    first = threading.Thread(target=lambda: embedding.give(session.key, Future(), lambda: True))
    first.start()
    assert gate.entered.wait(LONG)
    session.record(user("It came while the others were made."))
    embedding.give(session.key, Future(), lambda: True)  # returns at once: the other thread has it in hand
    assert gate.calls == 1
    gate.opened.set()
    first.join(LONG)
    assert lacking(store, embedder) == 0


def test_a_session_that_is_asked_for_after_the_last_look_of_a_go_is_looked_at_once_more(
    store: Store, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder, session = toy(), grown(store, clock)
    embedding = Embedding(store, embedder, 60.0)

    def looked(*given: Any) -> Any:
        made = embed(*given)
        if not made.done and lacking(store, embedder) == 0 and not asked:
            asked.append(session.record(user("It came right after the last look.")))
            embedding.give(session.key, Future(), lambda: True)
        return made

    asked: list[Any] = []
    monkeypatch.setattr("foldmark.worker.embedding.embed", looked)
    embedding.give(session.key, Future(), lambda: True)
    assert asked
    assert lacking(store, embedder) == 0


def test_two_workers_on_one_file_do_no_harm(tmp_path: Path, clock: FixedClock) -> None:
    embedder = toy()
    stores = [SQLiteStore(tmp_path / "agent.db") for _ in range(2)]
    for number in range(6):
        grown(stores[0], clock, f"s{number}", rounds=2)
    workers = [worker(store, clock, embedder, workers=2).start() for store in stores]
    assert [one.stop(timeout=2 * LONG) for one in workers] == [True, True]
    assert [lacking(stores[0], embedder, f"s{number}") for number in range(6)] == [0] * 6
    assert stores[0].backlog(clock()).dirty == 0
