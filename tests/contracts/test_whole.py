"""What every store does whole or not at all, and who makes a session: the same in each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import pytest

from foldmark.checkpoint import Checkpoint, Fact, Mark, Unit
from foldmark.errors import FoldmarkError, HeadMoved, IdConflict, NotFound
from foldmark.events import Event, user
from foldmark.rehearsal import Rehearsal
from foldmark.reports import Attempt
from foldmark.seeking import Piece
from foldmark.store import Key, ScopeState, SessionInfo, Store, Work, promised

MAIN = Key(session="main")
NOBODY = Key(session="nobody")
LEFT = Key(session="main", scope="left", sees="exact")


def add(store: Store, key: Key, *events: Event, facts: Sequence[Fact] = ()) -> list[Event]:
    context = store.context(key, events)
    pieces = [Piece(event.seq, 0, event.text) for event in context.new]
    store.append(key, context.new, head=context.head, pieces=pieces, facts=facts, now=1.0)
    return list(context.new)


def names(store: Store) -> list[str]:
    return [one.session for one in store.sessions("local", "local")]


# An append is all or nothing


class Batch(NamedTuple):
    """What an append is given, and why it is refused."""

    why: str
    change: Callable[[list[Event]], dict[str, Any]]
    events: Callable[[list[Event]], list[Any]] = list


REFUSED = (
    Batch("a gap", lambda new: {}, lambda new: [new[0], msgspec.structs.replace(new[1], seq=new[1].seq + 3)]),
    Batch("a seq that was given", lambda new: {}, lambda new: [new[0], new[0]]),
    Batch("a seq before the head", lambda new: {}, lambda new: [msgspec.structs.replace(new[0], seq=1)]),
    Batch("no event", lambda new: {}, lambda new: [new[0], None]),
    Batch("no piece", lambda new: {"pieces": [Piece(new[0].seq, 0, "stray"), None]}),
    Batch("a piece of a later event", lambda new: {"pieces": [Piece(new[-1].seq + 1, 0, "stray")]}),
    Batch("a piece of an earlier event", lambda new: {"pieces": [Piece(new[0].seq - 1, 0, "stray")]}),
    Batch("no unit", lambda new: {"units": [None]}),
    Batch("a unit of a later event", lambda new: {"units": [Unit(new[-1].seq + 1, 0, "stray", 1.0, 1)]}),
    Batch("no fact", lambda new: {"facts": [None]}),
)


@pytest.mark.parametrize("batch", REFUSED, ids=[one.why for one in REFUSED])
@pytest.mark.parametrize("is_new", [False, True], ids=["there", "new"])
def test_an_append_that_is_refused_leaves_everything_as_it_was(store: Store, batch: Batch, is_new: bool) -> None:
    fact = Fact(seq=1, kind="goal", key="g", value="first")
    if not is_new:
        add(store, MAIN, user("first"), facts=[fact])
        store.covered(LEFT, 9, limit=9)
        store.context(LEFT, ())  # a fold of a scope of its own
    head = 0 if is_new else 1
    new = [
        msgspec.structs.replace(user(text, id=text), seq=head + place, session="main", plain=text, chain=text)
        for place, text in enumerate(("second", "third"), 1)
    ]
    pieces = [Piece(event.seq, 0, event.text) for event in new]
    given = {"pieces": pieces, "facts": [Fact(seq=1, kind="goal", key="g", value="other")], **batch.change(new)}
    with pytest.raises((ValueError, AttributeError, TypeError)):
        store.append(MAIN, batch.events(new), head=head, now=2.0, **given)
    if is_new:
        assert names(store) == []
        return
    assert [event.text for event in store.log(MAIN)] == ["first"]
    assert store.info(MAIN).updated == 1.0
    assert store.covered(MAIN, 9, limit=9)[1:] == ([fact], [])
    assert store.context(MAIN, ()).state == {("goal", "g"): fact}
    assert store.tally(MAIN).events == 1
    assert store.find(MAIN, ["stray", "second", "third"]).found == ()
    assert [event.seq for event in add(store, MAIN, user("second", id="second"))] == [2]


def test_an_append_against_a_head_of_a_session_that_is_not_there_makes_none(store: Store) -> None:
    with pytest.raises(HeadMoved) as caught:
        store.append(NOBODY, (), head=5, now=1.0)
    assert (caught.value.expected, caught.value.found) == (5, 0)
    assert names(store) == []


def test_a_context_that_is_refused_makes_no_session(store: Store) -> None:
    with pytest.raises(IdConflict):
        store.context(NOBODY, [user("one", id="a"), user("two", id="a")])
    assert names(store) == []
    assert [event.seq for event in add(store, NOBODY, user("one", id="a"))] == [1]


# A fact is known to who sees all that it rests on


def test_a_fact_that_rests_on_an_event_behind_the_head_is_not_known_to_a_scope(store: Store) -> None:
    add(store, MAIN, user("one", scope="left"))
    rests = Fact(seq=1, kind="file", key="k", value="secret of right", scope="left", refs=(1, 2))
    store.facts(MAIN, [rests])
    assert store.context(LEFT, ()).state == {}
    assert store.covered(LEFT, 9, limit=9)[1] == []
    assert store.context(MAIN, ()).state == {("file", "k"): rests}


# Limits


@pytest.mark.parametrize("limit", [-3, -1, 0, 1, 2, 3, 4, 10**6])
def test_so_many_notes_are_told_as_were_asked_for(store: Store, limit: int) -> None:
    store.open(MAIN)
    notes = [Attempt(outcome="failed", time=float(time)) for time in range(3)]
    for note in notes:
        store.note(MAIN, note)
    wanted = notes[3 - min(3, max(0, limit)) :]
    assert store.attempts(MAIN, limit=limit) == wanted
    assert Rehearsal(store).attempts(MAIN, limit=limit) == wanted


# Where a session may hang on another


@pytest.mark.parametrize("kind", ["fork", "child"])
@pytest.mark.parametrize("seq", [-(2**40), -1, 0, 1, 2, 3, 7, 2**40])
def test_a_session_hangs_on_an_event_that_is_there(store: Store, kind: Any, seq: int) -> None:
    add(store, MAIN, user("one", id="7"), user("two", id="-1"))
    key = Key(session="other")
    info = SessionInfo(session="other", kind=kind, parent="main", parent_seq=seq)
    if 0 <= seq <= 2:
        assert store.open(key, info=info).parent_seq == seq
        assert len(store.log(key)) == (seq if kind == "fork" else 0)
        return
    with pytest.raises(NotFound) as caught:
        store.open(key, info=info)
    assert str(caught.value) == f"Session 'main' has no event '{seq}'; it ends at 2."
    assert names(store) == ["main"]


# A commit is refused alike, also where it is only tried


@pytest.mark.parametrize("anchor", [None, "", "of another log", "its own"])
@pytest.mark.parametrize("expected", [0, 1, 7])
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("boundary", [-1, 0, 2, 99])
def test_a_rehearsal_refuses_a_commit_as_the_store_does(
    store: Store, boundary: int, version: int, expected: int, anchor: str | None
) -> None:
    chains = [event.chain for event in add(store, MAIN, user("one"), user("two"))]
    store.commit(MAIN, Checkpoint(version=1, boundary=1, text="x", tokens=1), expected=0)
    named: dict[str, Any] = {"expected": expected, "anchor": chains[1] if anchor == "its own" else anchor}

    def outcome(target: Store | Rehearsal) -> str:
        try:
            target.commit(MAIN, Checkpoint(version=version, boundary=boundary, text="x", tokens=1), **named)
        except FoldmarkError as error:
            return f"{type(error).__name__}: {error}"
        return "written"

    tried = outcome(Rehearsal(store))
    assert tried == outcome(store)
    fits = (version, expected) == (2, 1) and (boundary <= 2 if anchor is None else (boundary, anchor) == (2, "its own"))
    assert (tried == "written") == fits


# Who makes a session, and who says that there is none

Asked = Callable[[Store], Any]
MAKES: dict[str, Asked] = {
    "open": lambda store: store.open(NOBODY),
    "describe": lambda store: store.describe(NOBODY, {}),
    "context": lambda store: store.context(NOBODY, ()),
    "append": lambda store: store.append(NOBODY, (), head=0, now=1.0),
    "enlist": lambda store: store.enlist(NOBODY),
}
REFUSES: dict[str, Asked] = {
    "info": lambda store: store.info(NOBODY),
    "delete": lambda store: store.delete(NOBODY),
    "facts": lambda store: store.facts(NOBODY, ()),
    "log": lambda store: store.log(NOBODY),
    "times": lambda store: store.times(NOBODY),
    "event": lambda store: store.event(NOBODY, "1"),
    "tally": lambda store: store.tally(NOBODY),
    "view": lambda store: store.view(NOBODY),
    "sent": lambda store: store.sent(NOBODY, ScopeState(), expected=Mark()),
    "covered": lambda store: store.covered(NOBODY, 1, limit=1),
    "commit": lambda store: store.commit(NOBODY, Checkpoint(version=1, boundary=0, text="", tokens=0), expected=0),
    "checkpoints": lambda store: store.checkpoints(NOBODY),
    "note": lambda store: store.note(NOBODY, Attempt(time=1.0, outcome="failed")),
    "attempts": lambda store: store.attempts(NOBODY),
    "wrote": lambda store: store.wrote(NOBODY, {}),
    "written": lambda store: store.written(NOBODY, ()),
    "match": lambda store: store.match(NOBODY, ()),
    "ends": lambda store: store.ends(NOBODY, ()),
    "find": lambda store: store.find(NOBODY, ()),
    "scopes": lambda store: store.scopes(NOBODY),
    "want": lambda store: store.want(NOBODY, 1.0),
    "works": lambda store: store.works(NOBODY),
}
IDLE: dict[str, tuple[Asked, Any]] = {
    "children": (lambda store: store.children(NOBODY), []),
    "sessions": (lambda store: store.sessions("local", "local"), []),
    "hashes": (lambda store: store.hashes("local"), set()),
    "claim": (lambda store: store.claim(1.0, 1.0), None),
    "extend": (lambda store: store.extend(Work(key=NOBODY, wanted=1, done=0, token=1), 9.0), False),
    "settle": (lambda store: store.settle(Work(key=NOBODY, wanted=1, done=0, token=1)), False),
}
BESIDES = ("artifacts", "backlog", "close")
"""What asks for no session."""


def said(name: str) -> str:
    return " ".join(str(promised()[name].__doc__).split())


def test_this_file_asks_every_method_for_a_session_that_is_not_there() -> None:
    assert sorted([*MAKES, *REFUSES, *IDLE, *BESIDES]) == sorted(promised())


@pytest.mark.parametrize("name", MAKES)
def test_what_makes_a_session_says_so(store: Store, name: str) -> None:
    MAKES[name](store)
    assert names(store) == ["nobody"]
    assert "the session if needed" in said(name)


@pytest.mark.parametrize("name", REFUSES)
def test_what_needs_a_session_says_so_and_makes_none(store: Store, name: str) -> None:
    with pytest.raises(NotFound) as caught:
        REFUSES[name](store)
    assert str(caught.value) == "There is no session 'nobody'. `foldmark sessions` lists those there are."
    assert names(store) == []
    assert "NotFound" in said(name)


@pytest.mark.parametrize("name", IDLE)
def test_the_rest_does_nothing_without_a_session(store: Store, name: str) -> None:
    asked, answer = IDLE[name]
    assert asked(store) == answer
    assert names(store) == []
    assert "NotFound" not in said(name)
