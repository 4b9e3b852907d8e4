"""Who sees a sub-agent: scopes, users, forks, and a model with its tools; one rule, whoever asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sub_agents import POLICY, asks, nested, parent, two_scopes, works

from foldmark import MemoryStore, NotFound, Session, SQLiteStore, ToolCall, assistant, user
from foldmark.children import children_of, conclude, delegate, report_of
from foldmark.events import result
from foldmark.store import Key, SessionInfo


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made: Any = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "a.db")
    yield made
    made.close()


# -- who sees it


def test_a_scope_finds_the_sub_agents_of_calls_that_it_sees_and_no_others(store: Any) -> None:
    first, second = two_scopes(store)
    assert {hit.session for hit in first.search("SECRET", where="children") if hit.session} == {"main/2"}
    assert {hit.session for hit in second.search("SECRET", where="children") if hit.session} == {"main/5"}
    whole = Session("main", store=store)
    assert {hit.session for hit in whole.search("SECRET", where="children") if hit.session} == {"main/2", "main/5"}
    assert [child.session for child in children_of(first)] == ["main/2"]
    assert [child.session for child in children_of(whole)] == ["main/2", "main/5"]


def test_a_report_is_an_event_of_the_scope_that_made_the_call(store: Any) -> None:
    two_scopes(store)
    assert [event.key for event in store.log(Session("main", store=store).key) if event.role == "tool"] == [
        "app/a", "app/b",
    ]  # fmt: skip


def test_a_scope_that_does_not_see_the_call_gets_no_report_of_it(store: Any) -> None:
    _, second = two_scopes(store)
    for ask in (report_of, conclude):
        with pytest.raises(NotFound, match="does not see"):
            ask(second, "a1")


def test_another_user_has_neither_the_call_nor_the_sub_agent(store: Any) -> None:
    delegate(parent(store), "c1", works)
    stranger = Session("main", store=store, user="eve")
    with pytest.raises(NotFound):
        report_of(stranger, "c1")
    assert stranger.search("LOCK_WAIT", where="children") == []
    with pytest.raises(NotFound):
        stranger.load("event:4@main/2")


def test_an_id_that_comes_again_under_another_key_gives_no_way_to_the_sub_agent_of_the_first(store: Any) -> None:
    first, second = two_scopes(store, "call_0", "call_0")
    assert {hit.session for hit in first.search("SECRET", where="children") if hit.session} == {"main/2"}
    assert {hit.session for hit in second.search("SECRET", where="children") if hit.session} == {"main/5"}


# -- by a model's tools


def test_a_model_finds_and_opens_what_a_sub_agent_did_with_the_words_of_the_report(store: Any) -> None:
    opened = parent(store)
    delegate(opened, "c1", nested)
    assert "event:4@main/2/2" in asks(opened, "session_search", query="LOCK_WAIT 4711", where="children")
    assert "LOCK_WAIT = 4711" in asks(opened, "session_load", ref="event:4@main/2/2")
    assert "Below said" in asks(opened, "session_load", ref="event:4@main/2")


def test_a_model_of_one_scope_opens_no_ref_into_the_sub_agents_of_another(store: Any) -> None:
    first, second = two_scopes(store)
    assert "SECRET of app/a" in asks(first, "session_load", ref="event:1@main/2")
    assert "SECRET of" not in asks(second, "session_load", ref="event:1@main/2")
    assert "SECRET of app/a" not in asks(second, "session_search", query="SECRET", where="children")


def test_a_model_opens_no_sub_agent_of_another_with_an_id_that_came_again(store: Any) -> None:
    first, second = two_scopes(store, "call_0", "call_0")
    assert "SECRET of app/a" in asks(first, "session_load", ref="event:1@main/2")
    assert "SECRET of" not in asks(second, "session_load", ref="event:1@main/2")


def test_a_sub_agent_reaches_neither_its_parent_nor_its_siblings(store: Any) -> None:
    opened = parent(store, "c1", "c2")
    delegate(opened, "c1", works)
    found: list[str] = []

    def looks(child: Session) -> str:
        child.record(user("Look round."))
        found.append(asks(child, "session_search", query="LOCK_WAIT 4711", where="children"))
        found.extend(asks(child, "session_load", ref=ref) for ref in ("event:1@main", "event:4@main/2"))
        return "done"

    delegate(opened, "c2", looks)
    assert len(found) == 3
    assert not any("LOCK_WAIT =" in each or "Fix the lock" in each for each in found)


def test_a_fork_whose_own_call_stands_where_the_other_line_made_one_has_no_part_in_its_sub_agent(store: Any) -> None:
    opened = parent(store, "call_0")
    delegate(opened, "call_0", works)
    store.open(Key(session="line"), info=SessionInfo(session="line", kind="fork", parent="main", parent_seq=1))
    line = Session("line", store=store, policy=POLICY)
    line.record(assistant("I send another.", ToolCall("call_0", "task", "{}")))
    assert report_refused(line, "call_0")
    assert children_of(line) == []
    assert [hit for hit in line.search("LOCK_WAIT 4711", where="children") if hit.session] == []
    assert "LOCK_WAIT =" not in asks(line, "session_load", ref="event:4@main/2")
    assert delegate(line, "call_0", works).session == "line/2"


def report_refused(session: Session, call: str) -> bool:
    try:
        report_of(session, call)
    except NotFound:
        return True
    return False


# -- one rule, whoever asks


def family_of_calls(store: Any) -> dict[str, Session]:
    """A session, two scopes of it and two forks, and sub-agents that hang on calls in every way that importers know."""
    whole = Session("main", store=store, policy=POLICY)
    left, right = (Session("main", store=store, policy=POLICY, scope=one, sees="subtree") for one in ("left", "right"))
    for at, by in enumerate((left, right, whole)):  # events 1-3, 4-6, 7-9
        by.record(user(f"go {at}"), assistant("", ToolCall(f"c{at}", "task")), result(f"c{at}", "ok", name="task"))
    for by in (left, right):  # 10-12, 13-15: an id that comes again under another key
        by.record(user("again"), assistant("", ToolCall("twice", "task")), result("twice", "ok", name="task"))
    forks = {}
    for name, upto in (("late", 15), ("early", 6)):
        store.open(Key(session=name), info=SessionInfo(session=name, kind="fork", parent="main", parent_seq=upto))
        forks[name] = Session(name, store=store, policy=POLICY)
    forks["early"].record(user("mine"), assistant("", ToolCall("c9", "task")), result("c9", "ok", name="task"))
    hang = {
        "k-left": ("main", 2, "c0"), "k-right": ("main", 5, "c1"), "k-whole": ("main", 8, "c2"),
        "k-left-id": ("main", 0, "c0"), "k-whole-id": ("main", 0, "c2"), "k-twice": ("main", 0, "twice"),
        "k-first": ("main", 11, "twice"), "k-second": ("main", 14, "twice"), "k-unknown": ("main", 0, "nobody"),
        "k-early": ("early", 8, "c9"), "k-below": ("k-left", 0, "nobody"),
    }  # fmt: skip
    for name, (above, seq, call) in hang.items():
        info = SessionInfo(session=name, kind="child", parent=above, parent_seq=seq, parent_call=call)
        store.open(Key(session=name), info=info)
        Session(name, store=store).record(user(f"walrus of {name}"))
    return {"whole": whole, "left": left, "right": right, **forks}


@pytest.mark.parametrize("who", ["whole", "left", "right", "late", "early"])
def test_the_same_sub_agents_are_listed_found_and_opened(store: Any, who: str) -> None:
    """Four places ask whose a sub-agent is; where they differ, a hit cannot be opened or a ref leads too far."""
    asks = family_of_calls(store)[who]
    names = [info.session for info in store.sessions("local", "local") if info.session.startswith("k-")]
    found = {hit.session for hit in asks.search("walrus", where="children", limit=50)} - {""}
    opened = {name for name in names if opens(asks, f"event:1@{name}")}
    listed = {child.session for child in children_of(asks)}
    assert opened == found
    assert listed == found - {"k-below"}, "those of sub-agents are theirs"


def opens(session: Session, ref: str) -> bool:
    try:
        return bool(session.load(ref, reach="children").events)
    except NotFound:
        return False
