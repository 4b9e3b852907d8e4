"""The list of sub-agents where calls share an id: each is told with its own call and that one's answer, once."""

from __future__ import annotations

from typing import Any

import pytest
from sub_agents import POLICY

from foldmark import MemoryStore, Session, SQLiteStore, ToolCall, assistant, user
from foldmark.children import children_of, conclude, open_child
from foldmark.events import result
from foldmark.store import Key, SessionInfo, Store


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Any) -> Store:
    return MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "a.db")


def agents(store: Store, *keys: str) -> Session:
    """A session in which each of these makes a call of the same id, at event 1, 2 and so on."""
    made = Session("main", store=store, policy=POLICY)
    made.record(*(assistant("I send.", ToolCall("c1", "task", "{}"), scope=key) for key in keys))
    return made


def imported(store: Store, name: str, call: str = "c1") -> None:
    """A sub-agent of which only the id of its call is known."""
    info = SessionInfo(session=name, kind="child", parent="main", parent_call=call)
    store.open(Key(session=name), info=info)


def listed(session: Session) -> list[tuple[str, int, int]]:
    return [(child.session, child.made, child.answered) for child in children_of(session)]


def test_each_is_told_with_the_answer_of_its_own_call(store: Store) -> None:
    whole = agents(store, "a", "b", "c")
    scopes = [Session("main", store=store, policy=POLICY, scope=key, sees="exact") for key in "abc"]
    for scope in scopes:
        open_child(scope, "c1").record(user("Look."))
    assert listed(whole) == [("main/1", 1, 0), ("main/2", 2, 0), ("main/3", 3, 0)]
    conclude(scopes[0], "c1")
    assert listed(whole) == [("main/1", 1, 4), ("main/2", 2, 0), ("main/3", 3, 0)]
    whole.record(result("c1", "by hand", scope="b"))
    assert listed(whole) == [("main/1", 1, 4), ("main/2", 2, 5), ("main/3", 3, 0)]
    assert [listed(scope) for scope in scopes] == [[("main/1", 1, 4)], [("main/2", 2, 5)], [("main/3", 3, 0)]]


def test_a_call_that_was_made_again_under_its_key_keeps_its_answer(store: Store) -> None:
    whole = agents(store, "a")
    open_child(whole, "c1").record(user("Look."))
    whole.record(result("c1", "first", scope="a"), assistant("Again.", ToolCall("c1", "task", "{}"), scope="a"))
    open_child(whole, "c1").record(user("Look again."))
    assert listed(whole) == [("main/1", 1, 2), ("main/3", 3, 0)]
    whole.record(result("c1", "second", scope="a"))
    assert listed(whole) == [("main/1", 1, 2), ("main/3", 3, 4)]


def test_an_imported_one_is_of_the_only_call_with_its_id(store: Store) -> None:
    whole = agents(store, "a")
    imported(store, "old")
    assert listed(whole) == [("old", 1, 0)]
    whole.record(result("c1", "done", scope="a"))
    assert listed(whole) == [("old", 1, 2)]


@pytest.mark.parametrize("answered", [(), ("a",), ("b",), ("a", "b")])
def test_of_an_imported_one_whose_id_several_keys_use_nobody_says_whose_it_is(
    store: Store, answered: tuple[str, ...]
) -> None:
    whole = agents(store, "a", "b")
    imported(store, "old")
    whole.record(*(result("c1", f"done by {key}", scope=key) for key in answered))
    assert listed(whole) == [("old", 0, 0)]


def test_once_it_was_opened_for_a_call_it_is_told_with_that_one(store: Store) -> None:
    whole = agents(store, "a")
    imported(store, "old")
    open_child(Session("main", store=store, policy=POLICY, scope="a", sees="exact"), "c1")
    whole.record(assistant("I send, too.", ToolCall("c1", "task", "{}"), scope="b"), result("c1", "done", scope="b"))
    assert listed(whole) == [("old", 1, 0)]
    whole.record(result("c1", "done", scope="a"))
    assert listed(whole) == [("old", 1, 4)]


def test_the_call_of_a_step_with_several_is_told_by_its_own_answer(store: Store) -> None:
    whole = Session("main", store=store, policy=POLICY)
    whole.record(assistant("I send.", *(ToolCall(one, "task", "{}") for one in ("c1", "c2", "c3"))))
    for call in ("c1", "c2", "c3"):
        open_child(whole, call)
    whole.record(result("c2", "done"))
    assert listed(whole) == [("main/1", 1, 0), ("main/1.2", 1, 2), ("main/1.3", 1, 0)]
