"""Limits of a sub-agent's run, its name, and the words of its report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foldmark import MemoryStore, NotFound, Policy, PolicyError, Session, SQLiteStore, ToolCall, Usage, assistant, user
from foldmark.checkpoint import Fact
from foldmark.children import ChildStopped, RunLimits, Spent, children_of, delegate, open_child
from foldmark.children.limits import limit_used, spent_with
from foldmark.children.telling import Ended, last_words, shortened, told_facts, written
from foldmark.events import Event, result
from foldmark.store import Key, SessionInfo
from foldmark.tokens import count
from making import numbered

POLICY = Policy.coding(run="manual")


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made: Any = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "a.db")
    yield made
    made.close()


def parent(store: Any, *calls: str, name: str = "main", **options: Any) -> Session:
    made = Session(name, store=store, policy=POLICY, **options)
    made.record(user("Do it."), assistant("I send them.", *(ToolCall(one, "task", "{}") for one in calls)))
    return made


# -- limits


@pytest.mark.parametrize(
    "wrong",
    [
        {"report_tokens": 10}, {"rounds": 0}, {"events": -1}, {"spent_tokens": 0}, {"timeout_seconds": 0},
        {"timeout_seconds": float("nan")}, {"timeout_seconds": float("inf")}, {"depth": -1},
    ],
)  # fmt: skip
def test_a_limit_that_makes_no_sense_is_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match=next(iter(wrong))):
        RunLimits(**wrong)


def test_a_limit_ends_a_step_that_begins_when_it_is_used_up_and_one_that_runs_when_it_is_passed() -> None:
    limits = RunLimits(rounds=2)
    assert limit_used(Spent(rounds=1), limits, begins=True) == ""
    assert limit_used(Spent(rounds=2), limits, begins=True) == "it has used 2 of 2 rounds"
    assert limit_used(Spent(rounds=2), limits, begins=False) == ""
    assert limit_used(Spent(rounds=3), limits, begins=False) == "it has used 3 of 2 rounds"


def test_tokens_are_what_replies_were_billed_for_with_those_of_sub_agents_below() -> None:
    events = [
        user("Go."),
        assistant("a", usage=Usage(input=100, output=7)),
        result("c1", "its report", meta={"child_tokens": "40"}),
        assistant("b", tokens=5),
    ]
    assert spent_with(Spent(), events) == Spent(rounds=2, events=4, tokens=152)


# -- the session of a sub-agent


def test_the_same_call_finds_the_same_session_after_a_restart_whatever_its_id(store: Any) -> None:
    odd = "call/with@odd#id\n" * 20
    opened = parent(store, "c1", odd)
    first, second = open_child(opened, "c1"), open_child(opened, odd)
    assert (first.name, second.name) == ("main/2", "main/2.2")
    first.record(user("Look."))
    again = open_child(Session("main", store=store), "c1")
    assert (again.name, again.info.head) == ("main/2", 1)
    assert opened.load("event:1@main/2").events[0].text == "Look."
    assert first.info.kind == "child"
    assert (first.info.parent, first.info.parent_call, first.info.parent_seq) == ("main", "c1", 2)


def test_an_id_that_comes_again_is_another_call_with_another_sub_agent(store: Any) -> None:
    opened = parent(store, "call_0")
    open_child(opened, "call_0").record(user("first"))
    opened.record(result("call_0", "done", name="task"), assistant("And again.", ToolCall("call_0", "task", "{}")))
    second = open_child(opened, "call_0")
    assert (second.name, second.info.head) == ("main/4", 0)


def test_a_call_that_the_session_has_not_is_refused_with_the_next_move(store: Any) -> None:
    opened, other = parent(store, "c1"), parent(store, "c2", name="other")
    for unknown in ("nowhere", "c2", ""):
        with pytest.raises(NotFound, match="record the step that makes it first"):
            open_child(opened, unknown)
    with pytest.raises(NotFound):
        open_child(other, "c1")
    assert {info.session for info in store.sessions("local", "local")} == {"main", "other"}


def test_a_call_that_the_scope_does_not_see_starts_nothing(store: Any) -> None:
    opened = Session("main", store=store, policy=POLICY)
    opened.record(assistant("I send.", ToolCall("c1", "task", "{}"), scope="app/a"))
    with pytest.raises(NotFound, match="does not see"):
        open_child(Session("main", store=store, scope="app/b", sees="subtree"), "c1")
    assert open_child(Session("main", store=store, scope="app/a", sees="exact"), "c1").name == "main/1"


def test_a_name_that_is_taken_by_another_session_is_refused_and_named(store: Any) -> None:
    opened = parent(store, "c1")
    Session("main/2", store=store).record(user("I was here before."))
    with pytest.raises(PolicyError, match=r"'main/2' of the sub-agent for call 'c1' is taken"):
        open_child(opened, "c1")


def test_a_sub_agent_that_was_imported_is_the_one_of_its_call(store: Any) -> None:
    opened = parent(store, "c1")
    info = SessionInfo(session="main/agent-7", kind="child", parent="main", parent_call="c1")
    store.open(Key(session="main/agent-7"), info=info)
    assert open_child(opened, "c1").name == "main/agent-7"


def test_who_begins_lists_or_opens_a_sub_agent_never_lists_all_sessions_of_the_user(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be thousands of them, and each step of an agent may begin a sub-agent."""
    opened = parent(store, "c1", "c2", "c3")
    store.open(Key(session="old"), info=SessionInfo(session="old", kind="child", parent="main", parent_call="c2"))
    store.open(Key(session="line"), info=SessionInfo(session="line", kind="fork", parent="main", parent_seq=2))

    def refused(*_: Any) -> Any:
        raise AssertionError("all sessions were listed")

    monkeypatch.setattr(store, "sessions", refused)
    assert open_child(opened, "c1").name == "main/2"
    assert open_child(opened, "c2").name == "old"
    assert open_child(Session("line", store=store, policy=POLICY), "c1").name == "main/2"
    delegate(opened, "c3", lambda child: "Done.")
    assert [child.session for child in children_of(opened)] == ["main/2", "main/2.3", "old"]
    assert opened.load("event:1@main/2.3", reach="children").events
    assert opened.load("event:1@main/2.3", reach="user").events
    with pytest.raises(NotFound):
        opened.load("event:1@line/9", reach="user")


def test_of_several_that_were_imported_for_one_call_the_newest_is_taken(store: Any) -> None:
    opened = parent(store, "c1")
    for name in ("main/agent-8", "main/agent-7", "main/agent-9"):
        store.open(Key(session=name), info=SessionInfo(session=name, kind="child", parent="main", parent_call="c1"))
    assert open_child(opened, "c1").name == "main/agent-9", "made last"
    Session("main/agent-8", store=store, clock=lambda: 5.0).record(user("updated last"))
    Session("main/agent-7", store=store, clock=lambda: 4.0).record(user("updated before"))
    assert open_child(opened, "c1").name == "main/agent-8"


def test_a_fork_that_inherits_the_call_finds_the_sub_agent_of_it(store: Any) -> None:
    opened = parent(store, "c1")
    open_child(opened, "c1").record(user("Look."))
    store.open(Key(session="line"), info=SessionInfo(session="line", kind="fork", parent="main", parent_seq=2))
    store.open(Key(session="early"), info=SessionInfo(session="early", kind="fork", parent="main", parent_seq=1))
    line, early = Session("line", store=store), Session("early", store=store)
    assert open_child(line, "c1").info.head == 1
    assert [child.session for child in children_of(line)] == ["main/2"]
    assert children_of(early) == []
    with pytest.raises(NotFound):
        open_child(early, "c1")


def test_a_sub_agent_has_store_artifacts_policy_user_and_tenant_of_its_parent_unless_given(store: Any) -> None:
    opened = parent(store, "c1", "c2", tenant="acme", user="ada")
    child = open_child(opened, "c1")
    assert child.store is opened.store
    assert child.artifacts is opened.artifacts
    assert child.policy == opened.policy
    assert (child.key.tenant, child.key.user, child.key.sees) == ("acme", "ada", "all")
    own = open_child(opened, "c2", policy=Policy.chat(run="manual"))
    assert own.policy == Policy.chat(run="manual")


def test_the_rounds_end_at_the_next_request_and_what_came_is_kept(store: Any) -> None:
    child = open_child(parent(store, "c1"), "c1", limits=RunLimits(rounds=2))
    child.record(user("Look."))
    for step in range(2):
        child.request(window=50_000)
        child.record(assistant(f"step {step}"))
    with pytest.raises(ChildStopped, match="2 of 2 rounds"):
        child.request(window=50_000)
    assert store.info(child.key).head == 3


def test_a_loop_that_builds_its_own_requests_is_ended_behind_what_passed_the_limit(store: Any) -> None:
    child = open_child(parent(store, "c1"), "c1", limits=RunLimits(rounds=1))
    child.record(user("Look."), assistant("one"))
    with pytest.raises(ChildStopped, match="2 of 1 rounds"):
        child.record(assistant("two"))
    with pytest.raises(ChildStopped):
        child.check_limits()
    assert [event.text for event in store.log(child.key)] == ["Look.", "one", "two"]


def test_a_followed_list_is_held_to_the_limits_too(store: Any) -> None:
    child = open_child(parent(store, "c1"), "c1", limits=RunLimits(events=3))
    messages = [{"role": "user", "content": "Look."}, {"role": "assistant", "content": "one"}]
    child.follow(messages)
    with pytest.raises(ChildStopped, match="4 of 3 events"):
        child.follow([*messages, {"role": "user", "content": "On."}, {"role": "assistant", "content": "two"}])
    assert store.info(child.key).head == 4


def test_tokens_of_a_sub_agent_below_count_for_the_one_above_while_it_runs(store: Any) -> None:
    child = open_child(parent(store, "c1"), "c1", limits=RunLimits(spent_tokens=500))
    child.record(user("Look."), assistant("I ask.", ToolCall("n1", "task", "{}"), usage=Usage(input=200, output=20)))
    below = open_child(child, "n1")
    child.below.append(below)
    below.record(user("Deeper."), assistant("a", usage=Usage(input=200, output=20)))
    assert child.spent.tokens == 440
    with pytest.raises(ChildStopped, match=r"main/2 above it has to stop: it has used 660 of 500 tokens"):
        below.record(assistant("b", usage=Usage(input=200, output=20)))


# -- the words of a report


def facts(number: int) -> list[Fact]:
    return [
        Fact(seq=at, kind="file", key=f"src/module_{at}.py", value="", status="changed", meta={"changed": str(at)})
        for at in range(3, 3 + number)
    ]


LOG = numbered(
    user("Find it."),
    assistant("I look.", ToolCall("x1", "bash", "{}")),
    result("x1", "out"),
    assistant("The lock times out after 4711 ms."),
    assistant("", ToolCall("x2", "bash", "{}")),
)
FINISHED = Ended(outcome="finished")


def test_the_last_words_are_those_of_the_newest_reply_without_calls() -> None:
    def said(events: list[Event]) -> str:
        found = last_words(events)
        return found.text if found else ""

    assert said(LOG) == "The lock times out after 4711 ms."
    assert said(LOG[:3]) == "I look."
    assert said(LOG[:1]) == ""


def test_a_report_says_how_it_ended_what_was_said_what_is_known_and_where_all_of_it_is() -> None:
    text = written("main/2", FINISHED, LOG, facts(2), Spent(rounds=3, events=5, tokens=1234), 1_000)
    assert text.splitlines() == [
        "Sub-agent main/2: finished after 3 replies, 5 events, 1,234 tokens.",
        "Its answer (event:4@main/2):",
        "The lock times out after 4711 ms.",
        "- changed src/module_3.py event:3@main/2",
        "- changed src/module_4.py event:4@main/2",
        "All its steps: search with where=children, or load refs such as event:1@main/2.",
    ]


def test_a_run_without_an_end_of_its_own_does_not_call_its_words_an_answer() -> None:
    text = written("main/2", Ended(outcome="timeout", why="its 2 seconds are over"), LOG, [], Spent(), 1_000)
    assert "timeout (its 2 seconds are over)" in text
    assert "Not finished. Its last words (event:4@main/2):" in text
    assert "It said nothing." in written("main/2", Ended(outcome="failed"), [], [], Spent(), 1_000)


@pytest.mark.parametrize("limit", [200, 300, 1_000, 4_000])
@pytest.mark.parametrize("words", [0, 40, 3_000])
@pytest.mark.parametrize("known", [0, 3, 400])
def test_a_report_stays_within_its_tokens_and_keeps_outcome_and_ref_of_the_answer(
    limit: int, words: int, known: int
) -> None:
    log = numbered(user("Find it."), assistant(" ".join(f"word{at}" for at in range(words)) or "ok"))
    text = written("main/2", FINISHED, log, facts(known), Spent(rounds=1, events=2), limit)
    assert count(text) <= limit
    assert text.startswith("Sub-agent main/2: finished")
    assert "event:2@main/2" in text
    if known:
        assert "src/module_3.py" in text or f"- {known} more in its log" in text


def test_of_a_long_answer_head_and_end_are_shown_with_the_ref_of_the_whole() -> None:
    log = numbered(user("Find it."), assistant(f"FIRST {'middle ' * 3_000}LAST"))
    text = written("main/2", FINISHED, log, [], Spent(), 400)
    assert "FIRST" in text
    assert "LAST" in text
    assert "(shortened here; whole: event:2@main/2)" in text


def test_shortening_ends_for_any_text_and_room() -> None:
    for text in ("", "x" * 50_000, "字" * 20_000, "a b " * 9_000):
        for room in (-5, 0, 1, 7, 60):
            assert count(shortened(text, room)) <= max(room, 1)


def test_facts_come_with_failures_first_and_looks_not_at_all() -> None:
    state = [
        Fact(seq=2, kind="command", key="ls", value="ls", status="ok", meta={"looks": "yes"}),
        Fact(seq=3, kind="file", key="a.py", value="", status="read"),
        Fact(seq=4, kind="file", key="b.py", value="", status="created"),
        Fact(seq=5, kind="todo", key="t", value="write docs", status="pending"),
        Fact(seq=6, kind="todo", key="u", value="write code", status="done"),
        Fact(seq=7, kind="verification", key="pytest", value="`pytest`: 9 passed", status="passed"),
        Fact(seq=8, kind="verification", key="mypy", value="`mypy`: 1 error", status="failed"),
        Fact(seq=8, kind="error", key="mypy", value="`mypy`: 1 error", status="open"),
        Fact(seq=9, kind="command", key="make", value="make", status="failed", meta={"exit": "2"}),
    ]
    found = [(fact.kind, fact.key) for fact in told_facts(state)]
    assert found == [
        ("verification", "mypy"), ("verification", "pytest"), ("error", "mypy"), ("file", "b.py"), ("todo", "t"),
        ("command", "make"),
    ]  # fmt: skip
    text = written("m/2", FINISHED, LOG, told_facts(state), Spent(), 1_000)
    assert text.count("mypy") == 1
    assert "- ran [failed, exit 2] make event:9@m/2" in text


@pytest.mark.parametrize("option", ["store", "tenant", "user"])
def test_a_sub_agent_cannot_be_kept_where_its_parent_would_not_find_it(store: Any, option: str) -> None:
    opened = parent(store, "c1")
    with pytest.raises(PolicyError, match=option):
        open_child(opened, "c1", **{option: MemoryStore() if option == "store" else "other"})
    assert children_of(opened) == []
