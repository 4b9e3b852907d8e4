"""Agents that share a session and use the same call ids: the facts of each are what they would be if it were alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foldmark import MemoryStore, Session, SQLiteStore
from foldmark.checkpoint import Fact
from foldmark.events import Event, ToolCall, assistant, result, user
from foldmark.store import Key, Store
from foldmark.store.calls import Calls, answers

STEPS = {
    "a": ToolCall("call_0", "bash", '{"command": "pytest -q tests/test_lock.py"}'),
    "b": ToolCall("call_0", "read_file", '{"path": "src/secret_plan.py"}'),
    "": ToolCall("call_0", "write_file", '{"path": "src/charge.py", "content": "x = 1"}'),
}
OUTPUTS = {
    "a": "FAILED tests/test_lock.py::test_wait - assert 3 == 4\n1 failed, 3 passed in 0.1s",
    "b": "PLAN = 'leave'\n",
    "": "ok",
}


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "a.db")
    yield made
    made.close()


def asks(scope: str) -> Event:
    return assistant("I look.", STEPS[scope], scope=scope)


def hears(scope: str) -> Event:
    return result("call_0", OUTPUTS[scope], name=STEPS[scope].name, scope=scope)


def facts(store: Store, session: str, scope: str) -> list[tuple[str, str, str]]:
    """Kind, key and text of what the scope knows, without the places."""
    newest, _, _ = store.covered(Key(session=session, scope=scope, sees="exact"), 10_000, limit=0)
    return sorted(_told(fact) for fact in newest.values())


def _told(fact: Fact) -> tuple[str, str, str]:
    return fact.kind, fact.key, f"{fact.value} {fact.status}"


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "in one batch"])
def test_a_result_belongs_to_the_call_of_its_own_agent(store: Store, together: bool) -> None:
    alone = Session("alone", store=store)
    alone.record(user("Fix it.", scope="a"), asks("a"), hears("a"))
    events = [user("Fix it.", scope="a"), asks("a"), asks("b"), hears("a"), hears("b")]
    shared = Session("shared", store=store)
    for part in [events] if together else [[event] for event in events]:
        shared.record(*part)
    assert any(kind == "error" for kind, _, _ in facts(store, "alone", "a"))
    assert facts(store, "shared", "a") == facts(store, "alone", "a")
    assert "secret_plan" not in str(facts(store, "shared", "a"))


@given(
    order=st.lists(st.sampled_from(["a", "b", ""]), min_size=2, max_size=12),
    cuts=st.sets(st.integers(1, 11)),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_however_agents_take_turns_each_has_its_own_facts(order: list[str], cuts: set[int]) -> None:
    waiting, events = dict.fromkeys(STEPS, False), list[Event]()
    for scope in order:
        events.append(hears(scope) if waiting[scope] else asks(scope))
        waiting[scope] = not waiting[scope]
    store = MemoryStore()
    shared, bounds = Session("shared", store=store), [0, *sorted(cut for cut in cuts if cut < len(events)), len(events)]
    for first, last in pairwise(bounds):
        shared.record(*events[first:last])
    for scope in STEPS:
        alone = Session(f"alone {scope}", store=store)
        alone.record(*(event for event in events if event.key == scope))
        assert facts(store, "shared", scope) == facts(store, f"alone {scope}", scope)


def test_of_one_id_the_own_call_that_waits_is_answered_else_a_near_one_else_any() -> None:
    earlier = Calls()
    for seq, scope in enumerate(("a", "b"), 1):
        earlier.add(_at(asks(scope), seq))
    batch = [_at(hears("a"), 3), _at(asks("a"), 4), _at(hears("a"), 5), _at(hears("b"), 6), _at(hears("a"), 7)]
    assert [made.seq if made else 0 for made in answers(batch, earlier)] == [1, 0, 4, 2, 4]
    assert not any(one.answered for one in earlier.values()), "what the store holds is only read"
    above, below = (result("call_0", "ok", scope=scope) for scope in ("", "a/deep"))
    elsewhere = result("call_0", "ok", scope="c")
    assert [made.seq for one in (above, below, elsewhere) if (made := earlier.answered_by(one))] == [2, 1, 2]
    earlier.answer(batch[0], earlier.answered_by(batch[0]))
    assert (earlier.made["call_0"]["a"].answered, earlier["call_0"].answered) == (3, 0)
    assert earlier.answered_by(result("call_9", "ok")) is None


def _at(event: Event, seq: int) -> Event:
    return msgspec.structs.replace(event, seq=seq)


def test_work_is_due_once_the_agents_own_calls_are_answered(store: Store) -> None:
    session = Session("s", store=store)
    for scope in ("a", "b"):
        store.enlist(Key(session="s", scope=scope, sees="exact"))
    session.record(user("Go.", scope="a"), asks("a"), asks("b"))
    assert store.context(session.key, ()).calls.made["call_0"]["a"].answered == 0
    session.record(hears("b"))
    calls = store.context(session.key, ()).calls
    assert (calls.made["call_0"]["a"].answered, calls.made["call_0"]["b"].answered) == (0, 4)
    session.record(hears("a"))
    calls = store.context(session.key, ()).calls
    assert (calls.made["call_0"]["a"].answered, calls.made["call_0"]["b"].answered) == (5, 4)
