"""A lineage folded up to its head: what a scope may know of it."""

from __future__ import annotations

import msgspec
import pytest

from foldmark.checkpoint import Checkpoint, Fact, Mark
from foldmark.events import Event, ToolCall, assistant, result, user
from foldmark.facts import facts_of
from foldmark.log import Log, inherit
from foldmark.readings import read
from foldmark.salience import Tally
from foldmark.store import Calls, Key, OpenCall, ScopeState
from foldmark.store.calls import answers

A, B = Key(session="s", scope="a", sees="exact"), Key(session="s", scope="b", sees="exact")
BOTH, ALL = Key(session="s", scope="", sees="subtree"), Key(session="s")


def log_of(*events: Event) -> Log:
    log = Log("s")
    log.extend(log.number(events)[0])
    return log


def known(log: Log, facts: list[Fact]) -> dict[str, list[str]]:
    """What each scope is told of facts: their kinds."""
    scopes = {"a": A, "b": B, "both": BOTH}
    return {name: [fact.kind for fact in facts if log.shows(key, fact)] for name, key in scopes.items()}


def test_a_fact_is_known_to_who_sees_the_event_and_all_that_it_rests_on() -> None:
    log = log_of(user("one", scope="a"), user("two", scope="b"))
    alone = Fact(seq=2, kind="goal", key="g", value="", scope="b")
    resting = msgspec.structs.replace(alone, refs=(1,))
    assert [log.shows(key, alone) for key in (A, B, BOTH, ALL)] == [False, True, True, True]
    assert [log.shows(key, resting) for key in (A, B, BOTH, ALL)] == [False, False, True, True]


def test_a_fold_that_was_made_before_learns_by_the_same_rule_as_one_made_after() -> None:
    log = log_of(user("one", scope="a"), user("two", scope="b"))
    facts = [
        Fact(seq=1, kind="goal", key="g", value="one", scope="a"),
        Fact(seq=2, kind="goal", key="g", value="two", scope="b", refs=(1,)),
    ]
    before = {key.scope: log.scope(key, list) for key in (A, B)}
    log.learn(facts)
    other = log_of(user("one", scope="a"), user("two", scope="b"))
    for key in (A, B):
        assert before[key.scope].state == other.scope(key, lambda: facts).state
    assert before["a"].state["goal", "g"].value == "one"
    assert before["b"].state == {}


def test_a_call_remembers_under_which_key_it_was_made() -> None:
    call = ToolCall("c1", "read")
    log = log_of(assistant("", call, scope="a"), result("c1", "x", scope="b"))
    assert log.calls["c1"] == OpenCall(1, call, answered=2, key="a")


@pytest.mark.parametrize("command", ["make ledger", "cat ledger.txt"])
def test_what_a_result_tells_of_a_call_under_another_key_is_for_those_who_see_both(command: str) -> None:
    call = ToolCall("c1", "bash", f'{{"command":"{command}"}}')
    answer = result("c1", "Error: no rule\nexit code 2", is_error=True)
    for key, other, shown in (("a", "a", {"a", "both"}), ("a", "b", {"both"})):
        log = log_of(assistant("", call, scope=key), msgspec.structs.replace(answer, scope=other))
        facts = facts_of(read(log.events, (), answers(log.events, Calls()), str), {})
        assert facts
        assert {name for name, kinds in known(log, facts).items() if kinds} == shown


def test_what_was_said_elsewhere_is_noted_again_and_what_was_said_here_is_not() -> None:
    said = "Never push to main."
    log = log_of(user(said, scope="a"), user(said, scope="b"), user(said, scope="b"))
    facts = facts_of(read(log.events, (), answers(log.events, Calls()), str), {})
    limits = [fact.seq for fact in facts if fact.kind == "constraint"]
    assert limits == [1, 2]
    for key in (A, B):
        state = {fact.kind for fact in facts if log.shows(key, fact)}
        assert "constraint" in state


def test_counts_within_some_events_know_their_names_alone_and_no_secret() -> None:
    events = log_of(
        assistant("use pay_alpha and tok_secret9", scope="a"), assistant("use pay_beta and pay_alpha", scope="b")
    ).events
    whole = Tally()
    for event in events:
        whole.add(event, text=event.text.replace("tok_secret9", "[secret]"))
    assert set(whole.names) == {"pay_alpha", "pay_beta"}
    assert whole.names["pay_alpha"] == [2, 2, 2]
    mine = whole.within(events[:1])
    assert mine.names == {"pay_alpha": [1, 1, 1]}
    assert (mine.events, whole.events) == (1, 2)


def test_a_scope_counts_what_it_sees_once_and_goes_on_with_what_comes() -> None:
    log = log_of(assistant("use pay_alpha and tok_secret9", scope="a"), assistant("use pay_beta", scope="b"))
    whole = Tally()

    def counted(key: Key) -> Tally:
        while whole.events < log.head:
            event = log.events[whole.events]
            whole.add(event, text=event.text.replace("tok_secret9", "[secret]"))
        return log.scope(key, list).tally(whole)

    for _ in range(2):
        assert counted(A).names == whole.within(log.seen(log.scope(A, list))).names == {"pay_alpha": [1, 1, 1]}
    log.extend(log.number([assistant("use pay_alpha and pay_gamma", scope="a")])[0])
    mine, same = counted(A), whole.within(log.seen(log.scope(A, list)))
    assert (mine.names, mine.words, mine.events) == (same.names, same.words, 2)
    assert set(counted(B).names) == {"pay_beta"}
    assert counted(ALL) is not whole
    assert counted(ALL).to_bytes() == whole.to_bytes()


@pytest.mark.parametrize(("seq", "held"), [(9, 5_000), (8, 5_000), (7, 0), (2, 0)])
def test_the_hold_of_an_undo_goes_into_forks_behind_it_alone(seq: int, held: int) -> None:
    """It is counted from the size of the log where it was undone."""
    made = Checkpoint(version=1, boundary=5, text="v1", tokens=1, mark=Mark(5), head=6)
    undone = Checkpoint(version=2, boundary=0, text="", tokens=0, mark=Mark(), kind="undo", held=5_000, head=8)
    state = ScopeState(held=5_000, last_size=900)
    assert inherit(state, [made, undone], seq).held == held
    later = ScopeState(held=5_000, mark=Mark(8), last_size=900)  # a request that went out since moved the mark
    assert inherit(later, [made, undone], seq).held == held
    assert inherit(state, [made, undone], seq).last_size == 900
