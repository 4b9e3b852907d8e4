"""Sub-agents of scopes that use the same call ids: each call has its own sub-agent and its own report."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sub_agents import POLICY

from foldmark import MemoryStore, NotFound, Session, SQLiteStore, ToolCall, assistant, user
from foldmark.aio import AsyncSession
from foldmark.children import ChildReport, children_of, conclude, delegate, delegate_async, open_child, report_of
from foldmark.events import Event, result
from foldmark.store import Key, SessionInfo
from foldmark.wire import WIRES

SEES = ["exact", "lineage", "subtree"]


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made: Any = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "a.db")
    yield made
    made.close()


def scoped(store: Any, scope: str, sees: Any = "lineage") -> Session:
    return Session("main", store=store, policy=POLICY, scope=scope, sees=sees)


def calls(session: Session, *ids: str) -> None:
    """The next step of the scope, which calls sub-agents."""
    who = session.key.scope
    made = [ToolCall(one, "task", f'{{"of": "{who}"}}') for one in ids or ("call_0",)]
    session.record(user(f"Task of {who}.", scope=who), assistant(f"{who} sends.", *made, scope=who))


def says(words: str) -> Any:
    def run(child: Session) -> str:
        child.record(user(words))
        return words

    return run


def results(session: Session) -> list[Event]:
    return [event for event in session.store.log(session.key) if event.role == "tool"]


def two(store: Any, sees: Any) -> tuple[Session, Session]:
    """Two scopes of a session; the first has made its call."""
    first, second = scoped(store, "w1", sees), scoped(store, "w2", sees)
    calls(first)
    return first, second


@pytest.mark.parametrize("sees", SEES)
def test_a_call_of_another_scope_with_the_same_id_takes_nothing_from_the_earlier_one(store: Any, sees: Any) -> None:
    first, second = two(store, sees)
    calls(second)
    with pytest.raises(NotFound, match="started no sub-agent"):
        report_of(first, "call_0")
    assert open_child(first, "call_0").name == "main/2"
    assert open_child(second, "call_0").name == "main/4"
    open_child(first, "call_0").record(assistant("half of w1"))
    assert "half of w1" in report_of(first, "call_0").text
    assert "half of w1" in conclude(first, "call_0").text
    assert "words of w2" in delegate(second, "call_0", says("words of w2")).text
    assert [event.key for event in results(first) + results(second)] == ["w1", "w2"]


@pytest.mark.parametrize("sees", SEES)
@pytest.mark.parametrize("awaited", [False, True])
def test_a_call_made_while_a_sub_agent_of_another_scope_runs_is_not_answered_by_it(
    store: Any, sees: Any, awaited: bool
) -> None:
    first, second = two(store, sees)

    def run(child: Any) -> str:
        calls(second)
        return "words of w1"

    async def run_async(child: AsyncSession) -> str:
        return run(child)

    if awaited:
        mine = asyncio.run(delegate_async(AsyncSession.around(first), "call_0", run_async))
    else:
        mine = delegate(first, "call_0", run)
    theirs = delegate(second, "call_0", says("words of w2"))
    assert (mine.session, mine.ref) == ("main/2", "event:5")
    assert (theirs.session, theirs.ref) == ("main/4", "event:6")
    assert "words of w1" in mine.text
    assert "words of w2" in theirs.text
    for session, report in ((first, mine), (second, theirs)):
        assert delegate(session, "call_0", says("again")) == report
        assert conclude(session, "call_0") == report
        assert report_of(session, "call_0") == report
        assert [event.text for event in results(session)] == [report.text]


@pytest.mark.parametrize("sees", SEES)
def test_an_answer_by_hand_is_one_of_its_own_scope_alone(store: Any, sees: Any) -> None:
    first, second = two(store, sees)
    calls(second)
    first.record(result("call_0", "w1 by hand", name="task"))
    report = delegate(second, "call_0", says("words of w2"))
    assert (report.session, report.ref) == ("main/4", "event:6")
    assert (delegate(first, "call_0", says("again")).text, len(results(first))) == ("w1 by hand", 1)
    calls(first)
    second.record(result("call_0", "late words of w2", name="task"))
    assert delegate(second, "call_0", says("again")) == report
    assert "second of w1" in delegate(first, "call_0", says("second of w1")).text


def test_of_two_answers_by_hand_the_first_stays_whoever_calls_later(store: Any) -> None:
    first, second = two(store, "exact")
    first.record(result("call_0", "first", name="task"), result("call_0", "second", name="task"))
    assert delegate(first, "call_0", says("again")).text == "first"
    calls(second)
    assert delegate(first, "call_0", says("again")).text == "first"


def test_an_answer_by_hand_goes_to_the_call_of_its_own_key_before_that_of_a_scope_above(store: Any) -> None:
    above, below = scoped(store, "app"), scoped(store, "app/a")
    calls(below)
    calls(above)
    below.record(result("call_0", "app/a by hand", name="task"))
    report = delegate(below, "call_0", says("words of app"))
    assert (report.session, "words of app" in report.text) == ("main/4", True), "the newest that app/a sees is app's"
    assert delegate(scoped(store, "app/a", "exact"), "call_0", says("again")).text == "app/a by hand"


def test_an_answer_by_hand_from_a_scope_below_answers_the_call_above_when_no_own_one_waits(store: Any) -> None:
    above, below = scoped(store, "app"), scoped(store, "app/a")
    calls(below)
    delegate(below, "call_0", says("words of app/a"))
    calls(above)
    below.record(result("call_0", "by hand for app", name="task"))
    assert delegate(above, "call_0", says("again")).text == "by hand for app"


def test_a_report_for_a_call_of_the_whole_session_is_seen_by_every_scope_that_sees_the_call(store: Any) -> None:
    calls(Session("main", store=store, policy=POLICY))
    report = delegate(scoped(store, "app/a"), "call_0", says("words for all"))
    assert report.ref == "event:3"
    assert [event.key for event in results(scoped(store, "", "exact"))] == [""]
    for scope, sees in (("app/b", "lineage"), ("", "exact"), ("", "all")):
        assert delegate(scoped(store, scope, sees), "call_0", says("again")) == report


def test_a_report_is_of_the_call_that_it_was_made_for_when_the_id_comes_again_meanwhile(store: Any) -> None:
    opened = Session("main", store=store, policy=POLICY)
    calls(opened)

    def run(child: Session) -> str:
        calls(opened)
        return "words of the first"

    first = delegate(opened, "call_0", run)
    second = delegate(opened, "call_0", says("words of the second"))
    assert (first.session, first.ref, second.session, second.ref) == ("main/2", "event:5", "main/4", "event:6")
    assert "words of the second" in second.text


def imported(store: Any) -> None:
    info = SessionInfo(session="main/agent-7", kind="child", parent="main", parent_call="call_0")
    store.open(Key(session="main/agent-7"), info=info)
    Session("main/agent-7", store=store).record(user("words of before"))


def test_an_imported_sub_agent_goes_to_no_call_when_its_id_is_used_under_several_keys(store: Any) -> None:
    first, second = two(store, "exact")
    imported(store)
    calls(second)
    for session, name in ((second, "main/4"), (first, "main/2")):
        assert (open_child(session, "call_0").name, open_child(session, "call_0").info.head) == (name, 0)


@pytest.mark.parametrize("again", ["w1", "w2"])
def test_an_imported_sub_agent_stays_with_the_call_that_it_was_opened_for(store: Any, again: str) -> None:
    first, second = two(store, "exact")
    imported(store)

    def run(child: Session) -> str:
        calls(first if again == "w1" else second)
        return "words of w1"

    report = delegate(first, "call_0", run)
    assert (report.session, report.outcome, report.ref) == ("main/agent-7", "finished", "event:5")
    newest = delegate(first if again == "w1" else second, "call_0", says("of the newest"))
    assert (newest.session, newest.ref) == ("main/4", "event:6")
    if again == "w2":
        assert delegate(first, "call_0", says("again")) == report


def test_a_call_made_between_finding_and_beginning_is_another_one(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Session("main", store=store, policy=POLICY)
    calls(opened)

    def meanwhile(session: Session) -> int:
        calls(session)
        return 0

    with monkeypatch.context() as patched:
        patched.setattr("foldmark.children.running.depth_of", meanwhile)
        report = delegate(opened, "call_0", says("words of the first"))
    assert (report.session, report.outcome, report.ref) == ("main/2", "finished", "event:5")
    assert "words of the second" in delegate(opened, "call_0", says("words of the second")).text


def test_a_result_of_a_scope_beside_is_no_answer_even_for_who_sees_both(store: Any) -> None:
    two(store, "exact")
    scoped(store, "w2").record(result("call_0", "of w2", name="task"))
    report = delegate(Session("main", store=store, policy=POLICY), "call_0", says("words of w1"))
    assert "words of w1" in report.text


def test_a_result_that_bears_the_name_of_a_report_and_is_not_seen_is_no_answer(store: Any) -> None:
    first, second = two(store, "exact")
    second.record(result("call_0", "of w2", name="task", id="report:main/2"))
    report = delegate(first, "call_0", says("words of w1"))
    assert ("words of w1" in report.text, report.ref) == (True, "")


# -- how much is read


def reading(store: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events of the session each look into its log brings."""
    read: list[int] = []
    real = store.log

    def counted(key: Key, *stretch: Any) -> Any:
        events = real(key, *stretch)
        if key.session == "main":
            read.append(len(events))
        return events

    monkeypatch.setattr(store, "log", counted)
    return read


def talks(session: Session, times: int = 700) -> None:
    session.record(*(user(f"{session.key.scope} says {at} of {session.info.head}.") for at in range(times)))


def test_a_call_is_found_behind_many_events_of_its_scope_and_of_others(store: Any) -> None:
    first, second = two(store, "exact")
    talks(first)
    talks(second)
    calls(second)
    assert open_child(first, "call_0").name == "main/2"
    assert "words of w1" in delegate(first, "call_0", says("words of w1")).text


@pytest.mark.parametrize("sees", ["all", "exact"])
def test_for_the_newest_call_the_log_is_not_read_before_it_is_answered_nor_after_its_report(
    store: Any, monkeypatch: pytest.MonkeyPatch, sees: Any
) -> None:
    session = scoped(store, "w1", sees)
    talks(session)
    calls(session)
    talks(session)
    read = reading(store, monkeypatch)
    report = delegate(session, "call_0", says("words"))
    talks(session)
    assert delegate(session, "call_0", says("again")) == report
    assert read == []


def test_for_an_answer_by_hand_nothing_in_front_of_the_call_is_read(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = scoped(store, "w1")
    talks(session)
    calls(session)
    session.record(result("call_0", "by hand", name="task"))
    read = reading(store, monkeypatch)
    assert delegate(session, "call_0", says("again")).text == "by hand"
    assert read == [2]


# -- as one property


class Played:
    """Scopes of one session at work by chance: each makes steps that call sub-agents under the same few ids and hands
    its calls over, also while sub-agents of others run."""

    def __init__(self, store: Any, scopes: list[str], sees: Any, seed: int) -> None:
        self.chance = random.Random(seed)
        self.sessions = {scope: scoped(store, scope, sees) for scope in scopes}
        self.open: dict[str, list[str]] = {scope: [] for scope in scopes}
        self.done: dict[str, dict[str, ChildReport]] = {scope: {} for scope in scopes}
        self.ran: Counter[str] = Counter()
        self.busy: set[str] = set()
        for scope in scopes:
            self.sessions[scope].record(user(f"Begin, {scope}."))

    def move(self, depth: int = 0) -> None:
        free = [scope for scope in self.sessions if scope not in self.busy]
        if not free:
            return
        scope = self.chance.choice(free)
        session, waiting = self.sessions[scope], self.open[scope]
        if waiting:
            self.hand_over(scope, waiting.pop(self.chance.randrange(len(waiting))), depth)
            return
        ids = self.chance.sample(["call_0", "call_1", "call_2"], self.chance.randint(1, 2))
        self.done[scope] = {}
        calls(session, *ids)
        self.open[scope] += ids

    def hand_over(self, scope: str, call: str, depth: int) -> None:
        session, names = self.sessions[scope], list[str]()

        def run(child: Session) -> str:
            names.append(child.name)
            self.ran[child.name] += 1
            for _ in range(self.chance.randint(0, 3) if depth < 3 else 0):
                self.move(depth + 1)
            return f"words of {child.name} for {scope} {call}."

        self.busy.add(scope)
        report = delegate(session, call, run)
        self.busy.discard(scope)
        assert names == [report.session], "it ran once, for this call"
        assert f"words of {report.session} for {scope} {call}." in report.text
        event = session.load(report.ref, before=0, after=0).events[0]
        assert (event.key, event.text) == (scope, report.text)
        self.done[scope][call] = report

    def check(self) -> None:
        """Everything that was handed over stays so, and every scope's request is one that providers take."""
        assert set(self.ran.values()) <= {1}
        for scope, session in self.sessions.items():
            for call, report in self.done[scope].items():
                assert delegate(session, call, says("again")) == report
                assert conclude(session, call) == report_of(session, call) == report
            made = {child.session for child in children_of(session)}
            assert {report.session for report in self.done[scope].values()} <= made
            answers = Counter(event.text for event in results(session))
            assert set(answers.values()) <= {1}
            for wire in WIRES:
                session.peek(wire=wire).payload()  # validated


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6), moves=st.integers(5, 40), place=st.sampled_from(["memory", "sqlite"]),
    world=st.sampled_from([(["w1", "w2"], sees) for sees in SEES] + [(["w1", "w2", "w3"], sees) for sees in SEES]
                          + [(["app", "app/a", "app/b"], "exact"), (["app/a", "app/b"], "lineage")]),
)  # fmt: skip
@example(seed=1, moves=40, place="memory", world=(["w1", "w2"], "exact"))
@example(seed=2, moves=40, place="sqlite", world=(["app", "app/a", "app/b"], "exact"))
def test_every_call_of_every_scope_runs_once_and_gets_its_own_report(
    tmp_path_factory: pytest.TempPathFactory, seed: int, moves: int, place: str, world: tuple[list[str], Any]
) -> None:
    store: Any = MemoryStore() if place == "memory" else SQLiteStore(tmp_path_factory.mktemp("db") / "a.db")
    played = Played(store, *world, seed)
    for _ in range(moves):
        played.move()
    played.check()
    store.close()
