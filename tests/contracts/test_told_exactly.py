"""What every store promises to the letter of events, checkpoints, lists and searches: what is told of an append, whose
a note is, what a scope hides and what it does not, what a refusal leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from test_session_rows import FACT, all_of, full
from test_stores import MAIN, add, chains, checkpoint, child, fork, search, texts

from foldmark.checkpoint import Fact, Mark, Unit
from foldmark.errors import HeadMoved, IdConflict, NotFound, StaleBoundary
from foldmark.events import ToolCall, assistant, control, injected, result, user
from foldmark.reports import Attempt
from foldmark.seeking import WHERE, Piece, Sought
from foldmark.store import Frame, Key, Raising, ScopeState, Store
from foldmark.words import words

LEFT = msgspec.structs.replace(MAIN, scope="left", sees="exact")
RIGHT = msgspec.structs.replace(MAIN, scope="right", sees="exact")


def append(store: Store, key: Key, *events: Any, now: float = 1.0, raising: Raising = Raising()) -> Any:
    context = store.context(key, events)
    return store.append(key, context.new, head=context.head, now=now, raising=raising)


def notes(*times: float) -> list[Attempt]:
    return [Attempt(time=time, outcome="ineffective") for time in times]


# What is told of an append


def test_an_append_tells_which_scopes_got_work_and_up_to_where(store: Store) -> None:
    for key in (MAIN, LEFT, RIGHT):
        store.enlist(key)
    raised = append(store, MAIN, user("go"), assistant("done", scope="left"), user("more", scope="left"))
    assert {work.key: work.wanted for work in raised} == {MAIN: 2, LEFT: 2}
    again = append(store, MAIN, assistant("done", scope="right"))
    assert {work.key: work.wanted for work in again} == {MAIN: 4, RIGHT: 4}
    assert len(raised) == len(again) == 2


def test_an_append_that_raises_no_work_tells_of_none(store: Store) -> None:
    assert append(store, MAIN, assistant("no scope exists yet")) == ()
    store.enlist(MAIN)
    assert append(store, MAIN, user("ends nothing")) == ()
    assert append(store, MAIN, assistant("done"), raising=Raising(after="nothing")) == ()
    assert append(store, MAIN, assistant("done"), raising=Raising(whole_session=False)) == ()
    assert append(store, MAIN, user("rests on"), raising=Raising(not_before=99.0)) == ()
    (raised,) = append(store, MAIN, assistant("done"), now=7.0)
    assert (raised.key, raised.wanted) == (MAIN, 6)


def test_a_refused_append_leaves_everything_as_it_was(store: Store) -> None:
    full(store, MAIN)
    before = all_of(store, MAIN)
    (late,) = store.context(MAIN, [user("elk", id="late")]).new
    for head in (0, 3, 5, 99):
        with pytest.raises(HeadMoved):
            store.append(
                MAIN,
                [msgspec.structs.replace(late, seq=head + 1)],
                head=head,
                units=[Unit(head + 1, 0, "late", 9.0, 1)],
                facts=[Fact(seq=1, kind="goal", key="late", value="x")],
                pieces=[Piece(head + 1, 0, "walrus elk")],
                now=50.0,
                raising=Raising(enlist=True, whole_session=True),
            )
        assert all_of(store, MAIN) == before
        assert search(store, MAIN, "elk") == []
        with pytest.raises(NotFound):
            store.event(MAIN, "late")


def test_a_conflict_of_ids_leaves_everything_as_it_was(store: Store) -> None:
    add(store, MAIN, user("hello", id="a"))
    before = all_of(store, MAIN)
    with pytest.raises(IdConflict):
        store.context(MAIN, [user("new", id="b"), user("goodbye", id="a")])
    assert all_of(store, MAIN) == before


# What a scope hides, and what it does not


def test_an_event_and_the_times_are_given_whatever_the_scope_sees(store: Store) -> None:
    add(store, MAIN, assistant("one", scope="left", id="a"), assistant("two", scope="right", id="b"), control("c", {}))
    assert texts(store.event(LEFT, name) for name in ("1", "2", "a", "b")) == ["one", "two", "one", "two"]
    assert store.event(LEFT, "3").role == "control"
    assert store.times(LEFT) == store.times(MAIN) == {1: 1.0, 2: 1.0, 3: 1.0}


def test_an_event_of_a_fork_is_its_own_or_inherited_and_never_a_later_one_of_the_parent(store: Store) -> None:
    add(store, MAIN, user("1", id="a"), user("2", id="b"), user("3", id="c"))
    other = fork(store, "other", 1)
    add(store, other, user("instead", id="d"))
    assert texts(store.event(other, name) for name in ("1", "a", "2", "d")) == ["1", "1", "instead", "instead"]
    for name in ("3", "b", "c"):
        with pytest.raises(NotFound):
            store.event(other, name)
    with pytest.raises(NotFound):
        store.event(MAIN, "d")


def test_a_number_that_is_no_seq_may_be_the_id_of_a_client(store: Store) -> None:
    add(store, MAIN, user("one", id="7"), user("two", id="1"))
    assert texts(store.event(MAIN, name) for name in ("7", "1")) == ["one", "one"]


def test_counts_are_those_of_what_the_scope_sees(store: Store) -> None:
    add(store, MAIN, assistant("walrus alpha", scope="left"), assistant("zebra alpha", scope="right"), user("alpha"))
    left, right, whole = (store.tally(key) for key in (LEFT, RIGHT, MAIN))
    assert (left.events, right.events, whole.events) == (1, 1, 3)
    assert (left.words["alpha"], right.words["alpha"], whole.words["alpha"]) == (1, 1, 3)
    assert (left.words["zebra"], right.words["walrus"]) == (0, 0)
    add(store, MAIN, assistant("alpha again", scope="left"))
    assert (store.tally(LEFT).words["alpha"], store.tally(RIGHT).words["alpha"]) == (2, 1)


def test_counts_of_a_fork_go_on_from_where_it_was_forked(store: Store) -> None:
    add(store, MAIN, user("alpha"), user("beta"))
    other = fork(store, "other", 1)
    add(store, other, user("alpha gamma"))
    add(store, MAIN, user("delta"))
    tally = store.tally(other)
    assert (tally.events, tally.words["alpha"]) == (2, 2)
    assert (tally.words["beta"], tally.words["delta"], tally.words["gamma"]) == (0, 0, 1)
    assert store.tally(MAIN).words["gamma"] == 0


@pytest.mark.parametrize(
    ("first", "last", "shown"),
    [(0, None, "1234"), (-5, 2, "12"), (2, 99, "234"), (3, 2, ""), (1, 0, ""), (1, -1, ""), (4, 4, "4"), (5, 5, "")],
)
def test_a_stretch_of_the_log_may_be_asked_for_beyond_both_ends(
    store: Store, first: int, last: int | None, shown: str
) -> None:
    add(store, MAIN, user("1"), user("2", scope="left"), user("3"))
    other = fork(store, "other", 3)
    add(store, MAIN, user("4", scope="left"))
    add(store, other, user("4", scope="left"))
    for key in (MAIN, other):
        assert "".join(texts(store.log(key, first, last))) == shown
        left = msgspec.structs.replace(key, scope="left", sees="exact")
        assert "".join(texts(store.log(left, first, last))) == shown.replace("1", "").replace("3", "")
        assert sorted(store.times(key, first, last)) == [int(each) for each in shown]


def test_context_is_that_of_the_scope_and_calls_are_the_newest_of_each_id(store: Store) -> None:
    first, second = ToolCall("c", "read", '{"n": 1}'), ToolCall("c", "read", '{"n": 2}')
    add(store, MAIN, assistant("", first, scope="left"), result("c", "1", scope="left"), assistant("", second))
    store.sent(LEFT, ScopeState(frame=Frame(window=8_000)), expected=Mark())
    store.facts(MAIN, [msgspec.structs.replace(FACT, scope="left"), msgspec.structs.replace(FACT, seq=3, value="all")])
    left, whole = store.context(LEFT, []), store.context(MAIN, [])
    assert (left.window, whole.window, left.head, whole.head) == (8_000, 0, 3, 3)
    assert (left.state["goal", "g"].value, whole.state["goal", "g"].value) == ("x", "all")
    assert left.calls == whole.calls
    assert (whole.calls["c"].seq, whole.calls["c"].call, whole.calls["c"].answered) == (3, second, 0)
    before = store.context(fork(store, "other", 2), []).calls["c"]
    assert (before.seq, before.call, before.answered, before.key) == (1, first, 2, "left")


# Facts


def test_facts_of_a_fork_and_of_its_parent_come_apart_where_it_was_forked(store: Store) -> None:
    add(store, MAIN, user("1"), user("2"))
    store.facts(MAIN, [FACT])
    other = fork(store, "other", 2)
    store.facts(other, [msgspec.structs.replace(FACT, value="the fork's")])
    store.facts(MAIN, [msgspec.structs.replace(FACT, value="the parent's")])
    for key, own in ((other, "the fork's"), (MAIN, "the parent's")):
        newest, every, _ = store.covered(key, 9, limit=0)
        assert [fact.value for fact in every] == ["x", own]
        assert newest["goal", "g"].value == store.context(key, []).state["goal", "g"].value == own


def test_facts_come_in_the_order_of_their_events_and_units_by_score_place_and_order(store: Store) -> None:
    context = store.context(MAIN, [user("1"), user("2"), user("3")])
    facts = [Fact(seq=seq, kind="goal", key=str(place), value="") for place, seq in enumerate((3, 1, 2, 1))]
    scores = {(3, 0): 5.0, (2, 1): 5.0, (2, 0): 5.0, (1, 0): 7.0, (1, 1): 1.0}
    units = [Unit(seq, order, "", score, 1) for (seq, order), score in scores.items()]
    store.append(MAIN, context.new, head=0, facts=facts, units=units, now=1.0)
    store.facts(MAIN, [Fact(seq=2, kind="goal", key="4", value="")])
    _, every, best = store.covered(MAIN, 3, limit=4)
    assert [(fact.seq, fact.key) for fact in every] == [(1, "1"), (1, "3"), (2, "2"), (2, "4"), (3, "0")]
    assert [(unit.seq, unit.order) for unit in best] == [(1, 0), (2, 0), (2, 1), (3, 0)]
    _, every, best = store.covered(MAIN, 2, limit=99)
    assert ([fact.seq for fact in every], [unit.seq for unit in best]) == ([1, 1, 2, 2], [1, 2, 2, 1])
    assert store.covered(MAIN, 0, limit=99) == ({}, [], [])
    assert store.covered(MAIN, 3, limit=0)[2] == []


# Notes of attempts


def test_the_newest_notes_are_given_oldest_first(store: Store) -> None:
    add(store, MAIN, user("x"))
    every = notes(*range(30))
    for each in every:
        store.note(MAIN, each)
    assert store.attempts(MAIN) == store.attempts(MAIN, limit=30) == every
    assert store.attempts(MAIN, limit=3) == every[-3:]
    assert store.attempts(MAIN, limit=1) == every[-1:]
    shown = store.view(MAIN).attempts
    assert 0 < len(shown) < 30
    assert list(shown) == every[-len(shown) :]


def test_notes_are_of_one_scope_of_one_session(store: Store) -> None:
    add(store, MAIN, user("x"), assistant("y", scope="left"))
    mine, left, forked = notes(1.0, 2.0, 3.0)
    store.note(MAIN, mine)
    store.commit(LEFT, checkpoint(1, 2), expected=0, attempt=left)
    other = fork(store, "other", 2)
    store.note(other, forked)
    for key, own in ((MAIN, [mine]), (LEFT, [left]), (RIGHT, []), (other, [forked])):
        assert store.attempts(key) == list(store.view(key).attempts) == own
    assert store.attempts(msgspec.structs.replace(other, scope="left", sees="exact")) == []


def test_a_note_makes_no_scope_exist(store: Store) -> None:
    add(store, MAIN, user("x"))
    store.note(LEFT, *notes(1.0))
    store.facts(LEFT, [FACT])
    store.wrote(LEFT, {"h": ""})
    assert store.scopes(MAIN) == []


# Checkpoints and states


def test_a_commit_is_refused_over_another_past_than_its_maker_saw(store: Store) -> None:
    old = add(store, MAIN, user("1"), user("2"))
    store.delete(MAIN)
    new = add(store, MAIN, user("other"), user("2"), user("3"))
    before = all_of(store, MAIN)
    for anchor in (old[1].chain, new[0].chain, new[2].chain, "", "nothing"):
        with pytest.raises(NotFound):
            store.commit(MAIN, checkpoint(1, 2, mark=2), expected=0, attempt=notes(1.0)[0], anchor=anchor)
        assert all_of(store, MAIN) == before
    store.commit(MAIN, checkpoint(1, 2, mark=2), expected=0, anchor=new[1].chain)
    assert [each.boundary for each in store.checkpoints(MAIN)] == [2]


def behind_the_end(store: Store) -> None:
    store.commit(MAIN, checkpoint(2, 5, mark=1), expected=1, attempt=notes(9.0)[0])


def over_another_version(store: Store) -> None:
    store.commit(MAIN, checkpoint(3, 3, mark=1), expected=2, attempt=notes(9.0)[0])


def over_nothing(store: Store) -> None:
    store.commit(MAIN, checkpoint(2, 3, mark=1), expected=0, attempt=notes(9.0)[0])


def with_an_old_version(store: Store) -> None:
    store.commit(MAIN, checkpoint(1, 3, mark=1), expected=1, attempt=notes(9.0)[0])


def without_its_lease(store: Store) -> None:
    store.commit(MAIN, checkpoint(2, 3, mark=1), expected=1, attempt=notes(9.0)[0], token=99)


@pytest.mark.parametrize(
    ("commit", "refusal"),
    [
        (behind_the_end, NotFound),
        *((each, StaleBoundary) for each in (over_another_version, over_nothing, with_an_old_version)),
        (without_its_lease, StaleBoundary),
    ],
)
def test_a_refused_commit_leaves_everything_as_it_was(
    store: Store, commit: Callable[[Store], None], refusal: type[Exception]
) -> None:
    full(store, MAIN)
    before = all_of(store, MAIN)
    with pytest.raises(refusal):
        commit(store)
    assert all_of(store, MAIN) == before


def test_versions_and_states_are_those_of_the_scope_alone(store: Store) -> None:
    add(store, MAIN, user("1", scope="left"), user("2", scope="right"), user("3"))
    store.commit(LEFT, checkpoint(1, 1, mark=1), expected=0)
    store.commit(LEFT, checkpoint(2, 1, mark=1), expected=1)
    store.commit(MAIN, checkpoint(1, 3, mark=2), expected=0)
    store.sent(RIGHT, ScopeState(last_size=7), expected=Mark())
    versions = {key: [(each.version, each.boundary) for each in store.checkpoints(key)] for key in (MAIN, LEFT, RIGHT)}
    assert versions == {MAIN: [(1, 3)], LEFT: [(1, 1), (2, 1)], RIGHT: []}
    states = {key: store.view(key).state for key in (MAIN, LEFT, RIGHT)}
    assert states == {
        MAIN: ScopeState(mark=Mark(2)), LEFT: ScopeState(mark=Mark(1)), RIGHT: ScopeState(last_size=7)
    }  # fmt: skip


def test_a_state_that_came_too_late_makes_no_scope_exist(store: Store) -> None:
    add(store, MAIN, user("1"))
    store.sent(LEFT, ScopeState(last_size=7), expected=Mark(1))
    assert (store.view(LEFT).state, store.scopes(MAIN)) == (ScopeState(), [])


def test_events_behind_a_boundary_are_shown_when_they_are_kept_and_told_of_when_they_are_pinned(store: Store) -> None:
    add(store, MAIN, injected("0"), *(user(str(n)) for n in range(1, 5)))
    store.facts(MAIN, [Fact(seq=5, kind="pin", key=str(seq), value="") for seq in (2, 5)])
    store.commit(MAIN, checkpoint(1, 3, kept=(1, 3)), expected=0)
    view = store.view(MAIN)
    assert (texts(view.kept), texts(view.events), texts(view.pinned)) == (["0", "2"], ["3", "4"], ["1"])
    assert (view.pins, view.first_request, view.all_events, view.head) == (frozenset({2, 5}), 2, 5, 5)
    assert view.secret == store.context(MAIN, []).secret


# Lists


def test_what_a_fingerprint_stands_for_is_what_was_said_last(store: Store) -> None:
    store.open(MAIN)
    store.wrote(MAIN, {"h1": "old", "h2": "kept"})
    store.wrote(MAIN, {"h1": "new", "h3": ""})
    store.wrote(MAIN, {})
    assert store.written(MAIN, ["h1", "h2", "h3", "h4"]) == {"h1": "new", "h2": "kept", "h3": ""}
    assert store.written(MAIN, []) == {}


def test_what_was_written_into_a_sub_agent_or_for_somebody_else_is_not_of_this_session(store: Store) -> None:
    add(store, MAIN, user("1"))
    sub, other = child(store, "sub", "c"), fork(store, "other", 1)
    deep = fork(store, "deep", 1, parent="other")
    theirs = msgspec.structs.replace(MAIN, user="somebody")
    store.open(theirs)
    for name, key in (("main", MAIN), ("sub", sub), ("deep", deep), ("theirs", theirs)):
        store.wrote(key, {name: name})
    asked = ["main", "sub", "deep", "theirs"]
    for key in (MAIN, other, deep):
        assert set(store.written(key, asked)) == {"main", "deep"}
    assert set(store.written(sub, asked)) == {"sub"}
    assert set(store.written(theirs, asked)) == {"theirs"}


def test_thousands_of_fingerprints_are_asked_for_at_once(store: Store) -> None:
    store.open(MAIN)
    every = {f"h{n}": str(n) for n in range(2_001)}
    store.wrote(MAIN, every)
    assert store.written(MAIN, [*every, "unknown"]) == every


def test_a_list_is_looked_for_in_the_session_and_its_forks_and_nowhere_else(store: Store) -> None:
    add(store, MAIN, user("1"), user("2"), user("3"))
    other = fork(store, "other", 1)
    add(store, other, user("2"))
    add(store, fork(store, "deep", 2, parent="other"), user("4"), user("5"))
    add(store, child(store, "sub", "c"), user("s1"), user("s2"))
    add(store, msgspec.structs.replace(MAIN, session="theirs", user="somebody"), user("t1"), user("t2"))

    def told(key: Key, *given: str) -> Any:
        found = store.match(key, chains(*map(user, given)))
        return found and (found.session, found.seq, found.count)

    assert told(MAIN, "1", "2", "3", "9") == ("main", 3, 3)
    assert told(other, "1", "2", "3", "9") == ("other", 2, 2), "its parent is not looked through"
    assert told(MAIN, "1", "2", "4", "5", "9") == told(other, "1", "2", "4", "5", "9") == ("deep", 4, 4)
    for key in (MAIN, other):
        assert told(key, "s1", "s2") is told(key, "t1", "t2") is None


def test_the_longest_head_that_ends_a_log_is_looked_for_in_the_session_and_its_forks(store: Store) -> None:
    add(store, MAIN, *map(user, "123"))
    other = fork(store, "other", 2)
    add(store, other, user("4"))
    add(store, child(store, "sub", "c"), *map(user, "78"))

    def told(key: Key, given: str) -> Any:
        offered = store.context(Key(session="any"), [user(text) for text in given]).new
        found = store.ends(key, [event.plain for event in offered])
        return found and (found.session, found.seq, found.count)

    assert told(MAIN, "239") == ("main", 3, 2)
    assert told(MAIN, "1239") == ("main", 3, 3)
    assert told(MAIN, "249") == told(other, "249") == ("other", 3, 2)
    assert told(other, "129") is told(other, "239") is None, "its log ends in the fork's own event"
    assert told(MAIN, "129") is told(MAIN, "789") is told(MAIN, "") is None
    assert told(MAIN, "923") is None, "a head begins with the list"


# Search


@pytest.mark.parametrize("where", WHERE)
def test_without_terms_and_without_filters_nothing_is_brought_wherever_it_looks(store: Store, where: Any) -> None:
    add(store, MAIN, user("walrus"), assistant("zebra"))
    add(store, Key(session="second"), user("owl"))
    for upto in (0, 9):
        finding = store.find(MAIN, [], sought=Sought(where=where, upto=upto))
        assert (finding.found, finding.near, finding.frequencies) == ((), (), {})


def test_filters_change_what_is_brought_and_no_count(store: Store) -> None:
    add(store, MAIN, user("walrus one"), assistant("walrus two"), user("zebra"))
    every = store.find(MAIN, words("walrus zebra"))
    for sought, brought in (
        (Sought(roles=("assistant",)), {"walrus two"}),
        (Sought(since=9.0), set()),
        (Sought(without=frozenset({1, 2})), {"zebra"}),
    ):
        finding = store.find(MAIN, words("walrus zebra"), sought=sought)
        assert {one.piece.text for one in finding.found} == brought
        assert (finding.pieces, finding.frequencies) == (every.pieces, every.frequencies) == (3, every.frequencies)
    assert every.frequencies == {"walrus": 2, "zebra": 1}


def test_counts_of_a_search_are_those_of_where_it_looked(store: Store) -> None:
    add(store, MAIN, user("walrus"), user("walrus", scope="left"))
    add(store, Key(session="second"), user("walrus"))
    add(store, Key(session="third", user="somebody"), user("walrus"))
    counted = {
        (key.scope, where): (found.pieces, found.frequencies["walrus"])
        for key, where in ((MAIN, "session"), (MAIN, "user"), (MAIN, "others"), (LEFT, "session"))
        for found in [store.find(key, words("walrus"), sought=Sought(where=where))]  # type: ignore[arg-type]
    }
    assert counted == {
        ("", "session"): (2, 2), ("", "user"): (3, 3), ("", "others"): (1, 1), ("left", "session"): (1, 1)
    }  # fmt: skip
