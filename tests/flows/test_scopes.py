"""Scopes by name: what each of them sees, compacts and shows, where agents share a session."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foldmark import MemoryStore, Policy, PolicyError, Session, SQLiteStore
from foldmark.events import Event, ToolCall, assistant, named, result, user
from foldmark.salience import Tally
from foldmark.store import Key, Sees
from foldmark.wire import WIRES
from foldmark.worker import Worker
from wire_pairs import broken_pairs

SMALL = Policy.coding(budget={"target_tokens": 1_500}, admission={"limit_tokens": 1_000_000}, window=12_000)
WIDE = SMALL.replace(budget={"target_tokens": 4_000})
LOG = ["", "app", "app/a", "app/a/b", "app/ab", "other"]


def session_of(store: Any, scope: str = "", sees: Sees = "all", policy: Policy = SMALL) -> Session:
    clock = itertools.count(1_000, 5)
    return Session("s", store=store, policy=policy, scope=scope, sees=sees, clock=lambda: float(next(clock)))


def work(key: str, number: int, lines: int = 25) -> list[Event]:
    """A call and its result under a key, about 300 tokens."""
    call = ToolCall(f"c{key}{number}", "read", f'{{"path":"src/file_{number}.py"}}')
    text = "\n".join(f"row {line} of {number} holds value_{line} of the ledger" for line in range(lines))
    return [assistant(f"Step {number}.", call, scope=key), result(call.id, text, name="read", scope=key)]


def turn(key: str, number: int, rounds: int = 4) -> list[Event]:
    """A question, a few rounds of work and an answer, all under one key."""
    steps = [event for at in range(rounds) for event in work(key, 100 * number + at)]
    ask = user(f"Look at part {number} for {key or 'us'}.", scope=key)
    return [ask, *steps, assistant(f"Part {number} is done.", scope=key)]


def texts(events: Any) -> list[str]:
    return [event.text for event in events]


def whole(session: Session) -> str:
    return "\n".join(texts(session.peek().messages))


# -- the table


@pytest.mark.parametrize(
    ("scope", "sees", "shown"),
    [
        ("app/a", "exact", ["app/a"]),
        ("app/a", "subtree", ["app/a", "app/a/b"]),
        ("app/a", "lineage", ["", "app", "app/a", "app/a/b"]),
        ("app/a", "all", LOG),
        ("app", "exact", ["app"]),
        ("app", "subtree", ["app", "app/a", "app/a/b", "app/ab"]),
        ("app", "lineage", ["", "app", "app/a", "app/a/b", "app/ab"]),
        ("", "exact", [""]),
        ("", "subtree", LOG),
        ("", "lineage", LOG),
        ("", "all", LOG),
    ],
)
def test_a_scope_sees_what_the_table_says(scope: str, sees: Sees, shown: list[str]) -> None:
    store = MemoryStore()
    session_of(store).record(*(user(f"under {key!r}", scope=key) for key in LOG))
    assert texts(session_of(store, scope, sees).peek().messages) == [f"under {key!r}" for key in shown]


def test_a_sibling_whose_name_begins_alike_is_not_below() -> None:
    store = MemoryStore()
    session_of(store).record(user("mine", scope="app/a"), user("its", scope="app/ab"), user("below", scope="app/a/x"))
    for sees in ("subtree", "lineage"):
        assert texts(session_of(store, "app/a", sees).peek().messages) == ["mine", "below"]  # type: ignore[arg-type]


def test_an_event_without_a_key_takes_its_branch() -> None:
    store = MemoryStore()
    events = [user("by branch", branch="app/a"), user("by key", scope="app/b", branch="app/a"), user("by none")]
    session_of(store).record(*events)
    assert texts(session_of(store, "app/a", "exact").peek().messages) == ["by branch"]
    assert texts(session_of(store, "app/b", "exact").peek().messages) == ["by key"]
    assert texts(session_of(store, "", "exact").peek().messages) == ["by none"]


# -- which scope is due


def test_what_only_a_child_does_does_not_make_the_parents_own_scope_due() -> None:
    store = MemoryStore()
    parent, tree = session_of(store, "app", "exact"), session_of(store, "app", "subtree")
    parent.record(user("Ask the child.", scope="app"))
    for session in (parent, tree):
        session.request()
    parent.record(*(event for number in range(4) for event in turn("app/child", number)))
    assert parent.compact().outcome == "not_due"
    assert texts(parent.request().messages) == ["Ask the child."]
    assert tree.compact().outcome == "applied"


def test_only_scopes_that_see_the_end_of_a_step_get_work() -> None:
    policy = msgspec.structs.replace(SMALL, run="background")
    store = MemoryStore()
    sessions = [session_of(store, scope, sees, policy) for scope, sees in (("app", "exact"), ("app/a", "lineage"))]  # type: ignore[arg-type]
    sessions[0].record(user("Go.", scope="app"))
    for session in (*sessions, session_of(store, policy=policy)):
        session.request()
    sessions[1].record(*work("app/a", 1), assistant("Done.", scope="app/a"))
    claimed: list[tuple[str, str]] = []
    while taken := store.claim(9_999.0, 60.0):
        claimed.append((taken.key.scope, taken.key.sees))
        store.settle(taken)
    assert sorted(claimed) == [("", "all"), ("app/a", "lineage")]


def test_the_whole_session_is_compacted_beside_a_branch_of_its_own() -> None:
    store = MemoryStore()
    branch, everything = session_of(store, "app/a", "exact"), session_of(store)
    everything.record(*(event for number in range(6) for event in turn(f"app/{'ab'[number % 2]}", number)))
    assert branch.compact(force=True).outcome == "applied"
    assert everything.control.history() == []
    assert everything.compact(force=True).outcome == "applied"
    (own,), (all_,) = branch.control.history(), everything.control.history()
    assert (own.version, all_.version) == (1, 1)
    assert own.text != all_.text
    for session, made in ((branch, own), (everything, all_)):
        assert made.text in whole(session)
        assert whole(session).count("<foldmark-checkpoint ") == 1


def test_a_scope_that_is_requested_late_begins_with_its_whole_log_and_no_other_checkpoint() -> None:
    store = MemoryStore()
    everything = session_of(store)
    everything.record(*(event for number in range(6) for event in turn(f"app/{'ab'[number % 2]}", number)))
    everything.compact(force=True)
    late = session_of(store, "app/b", "exact")
    assert "<foldmark-checkpoint" not in whole(late)
    assert {entry.status for entry in late.explain()} <= {"raw", "demoted"}
    assert late.compact(force=True).outcome == "applied"
    covered = late.load("compaction:1", limit=10**6).events
    assert {event.key for event in covered} == {"app/b"}
    assert covered[0].text == "Look at part 1 for app/b."


# -- boundaries that come from elsewhere, and from before


def imported() -> tuple[Session, list[Event]]:
    """A session whose turns were imported with their times, several of them in one instant."""
    session = session_of(MemoryStore())
    events: list[Event] = []
    for number, time in enumerate((100.0, 200.0, 200.0, 200.0, 300.0)):
        events += [
            msgspec.structs.replace(event, time=time, id=f"m{number}.{at}")
            for at, event in enumerate(turn("", number, rounds=1))
        ]
    session.record(*events)
    return session, events


def test_an_imported_summary_without_an_event_id_ends_before_its_instant() -> None:
    session, events = imported()
    report = session.control.adopt("They looked at part 0.", cutoff=200.0, author="the old system")
    assert report.boundary == len(turn("", 0, rounds=1))
    assert "They looked at part 0." in whole(session)
    raw = [entry.seq for entry in session.explain() if entry.status == "raw"]
    assert raw == list(range(report.boundary + 1, len(events) + 1))


def test_with_an_event_id_the_same_instant_is_parted_at_the_event() -> None:
    session, events = imported()
    last = next(at for at, event in enumerate(events, 1) if event.id == "m2.3")
    assert session.control.adopt("Parts 0 to 2.", event_id="m2.3", cutoff=200.0).boundary == last
    assert events[last].time == events[last - 1].time == 200.0
    assert f"event:{last + 1}" in [entry.ref for entry in session.explain() if entry.status == "raw"]


def test_an_imported_summary_without_a_usable_place_changes_nothing() -> None:
    session, _ = imported()
    for place in ({}, {"cutoff": 0.0}, {"event_id": "gone"}, {"cutoff": 50.0}):
        with pytest.raises(PolicyError):
            session.control.adopt("Somewhere.", **place)  # type: ignore[arg-type]
    assert session.control.history() == []
    assert "covered" not in {entry.status for entry in session.explain()}


@pytest.mark.parametrize(("scope", "sees"), [("app/a", "exact"), ("app", "subtree"), ("", "all")])
def test_after_a_restart_every_scope_goes_on_from_its_stored_boundary(tmp_path: Path, scope: str, sees: Sees) -> None:
    store = SQLiteStore(tmp_path / "agent.db")
    session = session_of(store, scope, sees)
    session.record(*(event for number in range(6) for event in turn(f"app/{'ab'[number % 2]}", number)))
    session.compact(force=True)
    before, boundary = session.request().payload(), session.control.history()[-1].boundary
    store.close()
    again = session_of(SQLiteStore(tmp_path / "agent.db"), scope, sees)
    assert again.request().payload() == before
    again.record(*turn("app/a", 9))
    assert again.compact(force=True).boundary > boundary
    assert [made.version for made in again.control.history()] == [1, 2]
    again.store.close()


# -- tool rounds of one agent, and words of another between them


@pytest.mark.parametrize("sees", ["exact", "subtree", "lineage", "all"])
def test_words_of_an_ancestor_inside_a_childs_tool_round_leave_every_pair_whole(sees: Sees) -> None:
    store = MemoryStore()
    session = session_of(store, "app/a", sees)
    for number in range(8):
        call, answer = work("app/a", number)
        session.record(user(f"Q{number}", scope="app/a"), call, user(f"By the way {number}.", scope="app"))
        session.record(assistant("Noted.", scope="app/b"), answer, assistant(f"A{number}.", scope="app/a"))
        if number % 3 == 2:
            session.compact(force=True)
        for wire in WIRES:
            assert broken_pairs(wire, session.request(wire=wire).payload()) == []
    assert session.control.history()
    for made in session.control.history():
        # No boundary parts a call from the result that answers it, as the scope sees them.
        log = store.log(session.key)
        made_at = {call.id: event.seq for event in log for call in event.calls}
        for event in log:
            if (answer_of := event.result) and sees != "all":  # in `all`, the other's step comes in between
                assert (made_at[answer_of.call_id] <= made.boundary) == (event.seq <= made.boundary)


@pytest.mark.parametrize("sees", ["exact", "subtree", "lineage", "all"])
@pytest.mark.parametrize("scope", ["app/a", "app/b", "app"])
def test_a_result_under_another_key_than_its_call_is_valid_for_every_scope(scope: str, sees: Sees) -> None:
    store = MemoryStore()
    session = session_of(store, scope, sees)
    session.record(*(user(f"Go {key}.", scope=key) for key in ("app/a", "app/b", "app")))
    for number in range(8):
        call, answer = work("app/a", number)
        answer = msgspec.structs.replace(answer, scope="app/b")
        session.record(call, answer, *(assistant(f"Say {number}.", scope=key) for key in ("app/a", "app/b")))
        if number % 3 == 2:
            session.compact(force=True)
        for wire in WIRES:
            assert broken_pairs(wire, session.request(wire=wire).payload()) == []


def test_who_sees_only_the_result_gets_it_as_text_and_who_sees_only_the_call_a_marker() -> None:
    store = MemoryStore()
    call, answer = work("app/a", 1, lines=1)
    session_of(store).record(user("Go.", scope="app/a"), call, user("Go.", scope="app/b"))
    session_of(store).record(msgspec.structs.replace(answer, scope="app/b"), assistant("Thanks.", scope="app/a"))
    caller, receiver = session_of(store, "app/a", "exact"), session_of(store, "app/b", "exact")
    assert "No result was recorded for this call" in whole(caller)
    assert "row 0" not in whole(caller)
    assert "stands elsewhere in the log]\nrow 0 of 1" in whole(receiver)
    assert "Step 1." not in whole(receiver)


# -- lists of agents that share a session


def shared(sees: Sees) -> tuple[Session, list[Event]]:
    """An agent that offers its whole list each turn, while another one records between its turns; (it, its list)."""
    store = MemoryStore()
    agent, other = session_of(store, "app/a", sees), session_of(store, "app/b", "exact")
    said: list[Event] = []
    for number in range(4):
        said += [user(f"q{number}"), assistant(f"a{number}")]
        found = agent.follow(said)
        assert (len(found.new), found.forked_at) == (2, None)
        other.record(assistant(f"other {number}", scope="app/b"))
    return agent, said


PARTS: list[Sees] = ["exact", "subtree", "lineage"]


@pytest.mark.parametrize("sees", PARTS)
def test_an_agents_list_goes_on_in_the_shared_session_whatever_others_recorded_between(sees: Sees) -> None:
    agent, said = shared(sees)
    assert agent.name == "s"
    assert texts(agent.store.log(agent.key)) == texts(said)
    assert len(agent.store.log(session_of(agent.store).key)) == len(said) + 4


@pytest.mark.parametrize("sees", PARTS)
def test_messages_without_a_key_get_that_of_the_scope_that_offers_them(sees: Sees) -> None:
    agent, _ = shared(sees)
    assert {event.key for event in agent.store.log(agent.key)} == {"app/a"}
    whole_session = session_of(MemoryStore())
    whole_session.follow([{"role": "user", "content": "Hello."}])
    assert [event.key for event in whole_session.store.log(whole_session.key)] == [""]


@pytest.mark.parametrize("sees", PARTS)
def test_an_edit_in_an_agents_list_forks_where_it_differs_and_is_found_there_again(sees: Sees) -> None:
    agent, said = shared(sees)
    edited = [*said[:3], user("edited")]
    found = agent.follow(edited)
    assert (found.forked_at, found.session) == (4, agent.name)  # q1; the other one's first word stands before it
    again = session_of(agent.store, "app/a", sees)
    found = again.follow([*edited, assistant("better")])
    assert (found.forked_at, texts(found.new), again.name) == (None, ["better"], agent.name)
    back = again.follow([*said, user("back")])
    assert (back.forked_at, texts(back.new), again.name) == (None, ["back"], "s")


@pytest.mark.parametrize("sees", PARTS)
def test_a_list_that_was_cut_in_front_goes_on_at_the_end_of_what_its_scope_sees(sees: Sees) -> None:
    agent, said = shared(sees)
    found = agent.follow([*said[4:], user("on")])
    assert (found.forked_at, texts(found.new), found.known) == (None, ["on"], 4)
    assert agent.name == "s"


@pytest.mark.parametrize("sees", PARTS)
def test_a_checkpoint_of_a_scope_that_comes_back_in_its_list_is_no_new_event(sees: Sees) -> None:
    store = MemoryStore()
    agent, other = session_of(store, "app/a", sees), session_of(store, "app/b", "exact")
    for number in range(5):
        agent.record(*turn("app/a", number))
        other.record(assistant(f"other {number}", scope="app/b"))
    agent.compact(force=True)
    messages = agent.request().payload()["messages"]
    before = len(store.log(agent.key))
    other.record(assistant("other again", scope="app/b"))
    found = agent.follow([*messages, {"role": "user", "content": "Go on."}])
    assert (found.forked_at, texts(found.new)) == (None, ["Go on."])
    assert len(store.log(agent.key)) == before + 1


# -- nothing crosses


def told_apart() -> tuple[Session, Session, Session]:
    """Two agents that talk of other things, each in a branch; (first, second, whoever sees both)."""
    store = MemoryStore()
    both = session_of(store)
    for number in range(6):
        for key, word in (("app/a", "alpha"), ("app/b", "beta")):
            both.record(
                user(f"Never touch {word}_ledger_{number}. Shall we use {word}_index_{number} then?", scope=key),
                *work(key, number),
                assistant(f"I propose to use {word}_index_{number} because it is right.", scope=key),
                user("Yes, go ahead.", scope=key),
                assistant(f"{word}_index_{number} is in place.", scope=key),
            )
    return session_of(store, "app/a", "exact"), session_of(store, "app/b", "exact"), both


def test_a_checkpoint_holds_no_name_task_rule_or_approval_of_another_branch() -> None:
    first, second, both = told_apart()
    for session, mine, theirs in ((first, "alpha", "beta"), (second, "beta", "alpha")):
        assert session.compact(force=True).outcome == "applied"
        text = session.control.history()[-1].text
        assert f"Never touch {mine}_ledger_0." in text
        assert theirs not in text
    both.compact(force=True)
    text = both.control.history()[-1].text
    assert "alpha" in text
    assert "beta" in text


def test_a_rule_that_is_said_in_two_branches_stands_in_the_checkpoint_of_each() -> None:
    store = MemoryStore()
    both = session_of(store)
    for number in range(8):
        key = f"app/{'ab'[number % 2]}"
        both.record(user(f"Never push to main. This is part {number}.", scope=key), *turn(key, number)[1:])
    for scope in ("app/a", "app/b"):
        session = session_of(store, scope, "exact")
        session.compact(force=True)
        assert "- Never push to main." in session.control.history()[-1].text


def test_a_task_is_done_for_those_who_see_who_did_it() -> None:
    store = MemoryStore()
    both = session_of(store)
    both.record(user("Please repair the ledger of March.", scope="app"))
    both.record(*work("app/a", 1), assistant("It is repaired.", scope="app/a"))
    status = {}
    for scope, sees in (("app", "exact"), ("app", "subtree"), ("app/a", "lineage"), ("app/b", "lineage")):
        key = Key(session="s", scope=scope, sees=sees)  # type: ignore[arg-type]
        status[scope, sees] = store.context(key, []).state["task", "1"].status
    assert status == {
        ("app", "exact"): "active",
        ("app", "subtree"): "done",
        ("app/a", "lineage"): "done",
        ("app/b", "lineage"): "active",
    }
    alone = store.context(Key(session="s", scope="app/a", sees="exact"), []).state
    assert ("task", "1") not in alone, "the words of a task are known to those who see who asked"


def test_a_search_finds_nothing_of_another_branch() -> None:
    first, _, both = told_apart()
    found = {session: "\n".join(hit.snippet for hit in session.search("beta_index_3")) for session in (first, both)}
    assert "beta" in found[both]
    assert "beta" not in found[first]


# -- lists in which agents say the same words


@pytest.mark.parametrize("sees", PARTS)
def test_the_words_of_another_agent_are_not_the_messages_of_this_one(sees: Sees) -> None:
    store = MemoryStore()
    agents = [session_of(store, f"team/{name}", sees) for name in "ab"]
    lists: list[list[Event]] = [[], []]
    for said in (user("Find a train."), assistant("On it."), user("Yes."), assistant("Done.")):
        for agent, mine in zip(agents, lists, strict=True):
            mine.append(said)
            found = agent.follow(mine)
            assert (texts(found.new), found.forked_at, agent.name) == ([said.text], None, "s")
            assert texts(store.log(agent.key)) == texts(mine)
    assert len(store.log(session_of(store).key)) == 8


def test_the_same_call_and_answer_of_another_agent_are_not_those_of_this_one() -> None:
    store = MemoryStore()
    first, second = (session_of(store, f"team/{name}", "exact") for name in "ab")
    call = ToolCall("c1", "read", '{"path":"a.py"}')
    round_ = [assistant("Look.", call), result("c1", "x = 1", name="read")]
    first.follow([user("The task of a."), *round_])
    second.follow([user("The task of b.")])
    found = second.follow([user("The task of b."), *round_])
    assert (len(found.new), found.known, found.forked_at) == (2, 1, None)
    assert texts(store.log(second.key)) == ["The task of b.", "Look.", "x = 1"]


@pytest.mark.parametrize("sees", PARTS)
def test_a_turn_that_is_taken_again_behind_a_checkpoint_forks_at_its_place_in_the_scope(sees: Sees) -> None:
    store = MemoryStore()
    agent, other = session_of(store, "app/a", sees), session_of(store, "app/b", "exact")
    for number in range(6):
        agent.record(*turn("app/a", number))
        other.record(assistant(f"other {number}", scope="app/b"))
    agent.compact(force=True)
    for number in range(3):
        agent.record(user(f"And {number}?", scope="app/a"), assistant(f"It is {number}.", scope="app/a"))
        other.record(assistant(f"other again {number}", scope="app/b"))
    mine = store.log(agent.key)
    boundary = agent.control.history()[-1].boundary
    raw = [event for event in mine if event.seq > boundary]
    messages = agent.request().payload()["messages"]
    found = agent.follow([*messages[:-1], {"role": "user", "content": "Look again."}])
    assert found.forked_at == raw[-2].seq
    assert texts(store.log(agent.key)) == [*texts(mine[:-1]), "Look again."]


# -- system text and tools belong to the scope that says them


def prompted(store: Any, policy: Policy = WIDE) -> list[Session]:
    """Three scopes of a session, each with a system text and tools of its own; the whole session says its last."""
    places: list[tuple[str, Sees]] = [("app/a", "exact"), ("app/a", "lineage"), ("", "all")]
    sessions = [session_of(store, scope, sees, policy) for scope, sees in places]
    sessions[0].record(*(event for number in range(3) for event in turn("app/a", number)))
    for number, session in enumerate(sessions):
        tool = {"name": f"tool_{number}", "description": "x", "parameters": {"type": "object"}}
        session.request(system=f"You are agent {number}. " * (1 + 200 * (not number)), tools=[tool])
    return sessions


def test_after_a_restart_every_scope_sends_its_own_system_text_and_tools_to_the_byte(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "agent.db")
    sessions = prompted(store)
    before = [(session.key.scope, session.key.sees, session.request()) for session in sessions]
    store.close()
    again = SQLiteStore(tmp_path / "agent.db")
    for number, (scope, sees, made) in enumerate(before):
        session = session_of(again, scope, sees, WIDE)
        assert (session.peek().payload(), session.peek().tokens) == (made.payload(), made.tokens)
        assert session.system.startswith(f"You are agent {number}. ")
        assert session.request().report.epoch == ""
    again.close()


def test_a_scope_that_said_nothing_sends_no_system_text_of_another() -> None:
    store = MemoryStore()
    prompted(store)
    for scope, sees in (("app/a", "subtree"), ("", "subtree"), ("app", "all")):
        late = session_of(store, scope, sees)  # type: ignore[arg-type]
        assert (late.system, late.tools) == ("", ())
        assert "agent" not in str(late.peek().payload())


def test_system_texts_go_along_into_a_fork_each_to_its_scope() -> None:
    store = MemoryStore()
    sessions = prompted(store)
    early = session_of(store)  # it was opened before the other scope says something else
    sessions[0].request(system="You are new.")
    log = [msgspec.structs.replace(event, id="", seq=0, chain="", plain="") for event in store.log(early.key)]
    early.follow([*log[:3], user("Another way.")])
    assert early.name != "s"
    fork = msgspec.structs.replace(sessions[0].key, session=early.name)
    assert Session(fork.session, store=store, scope=fork.scope, sees=fork.sees).system == "You are new."
    assert early.system == "You are agent 2. "


def test_a_worker_measures_a_scope_with_the_system_text_of_that_scope() -> None:
    policy = msgspec.structs.replace(WIDE, run="background")
    store = MemoryStore()
    own = prompted(store, policy)[0]
    heard: list[Any] = []
    own.record(assistant("Done.", scope="app/a"))
    worker = Worker(store, policy=policy, clock=lambda: 2_000.0, on_report=heard.append)
    size = own.peek().tokens.total
    worker.drain()
    measured = [report.before for report in heard if report.scope == "app/a"]
    assert size in measured
    assert size > 1_200, "its system text alone is a large part of it"


# -- which scopes exist


def test_whoever_writes_down_what_branches_say_gets_no_context_of_the_whole_session_by_it() -> None:
    policy = msgspec.structs.replace(SMALL, run="background")
    store = MemoryStore()
    recorder = session_of(store, policy=policy)
    recorder.record(user("Go.", scope="app/a"), assistant("Done.", scope="app/a"))
    assert store.scopes(recorder.key) == []
    session_of(store, "app/a", "exact", policy).record(assistant("More.", scope="app/a"))
    recorder.record(assistant("Done again.", scope="app/a"))
    assert [(key.scope, key.sees) for key in store.scopes(recorder.key)] == [("app/a", "exact")]
    assert [work.key.scope for work in store.works(recorder.key)] == ["app/a"]
    alone = session_of(MemoryStore(), policy=policy)
    alone.record(user("Go."))
    assert [(key.scope, key.sees) for key in alone.store.scopes(alone.key)] == [("", "all")]


# -- what a scope costs


def test_a_compaction_of_a_scope_counts_every_event_of_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    session = session_of(store, "app/a", "exact")
    session.record(*(event for number in range(8) for event in turn(f"app/{'ab'[number % 2]}", number)))
    store.tally(session_of(store).key)
    counted: list[int] = []
    real = Tally.count

    def counting(tally: Tally, event: Event, tokens: set[str], characters: int) -> None:
        counted.append(event.seq)
        real(tally, event, tokens, characters)

    monkeypatch.setattr(Tally, "count", counting)
    assert session.compact(force=True).outcome == "applied"
    assert counted == [event.seq for event in store.log(session.key)]
    more = turn("app/a", 9)
    session.record(*more)
    store.tally(session_of(store).key)
    counted.clear()
    assert session.compact(force=True).outcome == "applied"
    session.control.plan(force=True)
    assert counted == [event.seq for event in store.log(session.key)[-len(more) :]]


def test_words_that_stand_for_an_event_of_another_scope_come_in_as_they_came() -> None:
    store = MemoryStore()
    first, second = (session_of(store, f"team/{name}", "exact") for name in "ab")
    call, answer = work("team/a", 1)
    first.record(user("Go.", scope="team/a"), call, answer)
    hidden = store.log(first.key)[-1]
    short = result(call.calls[0].id, "[25 rows]", name="read")
    store.wrote(first.key, {named(short).plain: hidden.plain})  # a request of the first one showed it so
    bare = msgspec.structs.replace(call, scope="")
    second.follow([user("Go on."), bare, short])
    assert texts(store.log(second.key)) == ["Go on.", "Step 1.", "[25 rows]"]


def test_a_scope_whose_system_text_was_not_kept_is_measured_as_its_last_request() -> None:
    """Files of before every scope had a text of its own hold the text of whoever spoke last."""
    store = MemoryStore()
    own = prompted(store)[0]
    size = own.peek().tokens.total
    store.describe(own.key, {"system exact app/a": "", "tools exact app/a": ""})
    again = session_of(store, "app/a", "exact", WIDE)
    assert (again.system, again.tools) == ("", ())
    assert again.compact().before == size
    assert again.request(system="Short.").tokens.total < size - 1_000
    assert again.compact().before < size - 1_000
