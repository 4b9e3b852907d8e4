"""What every store promises of sessions: who makes one, who refuses one that is not there, what its row says, what goes
with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from test_stores import MAIN, add, checkpoint, child, fork, held, search, texts

from foldmark.checkpoint import Fact, Mark, Unit
from foldmark.errors import HasForks, HeadMoved, NotFound
from foldmark.events import assistant, injected, user
from foldmark.memory import MemoryStore
from foldmark.reports import Attempt
from foldmark.seeking import Piece
from foldmark.store import Backlog, Key, ScopeState, SessionInfo, Store, Work, promised

THEIRS = msgspec.structs.replace(MAIN, user="somebody")
ELSEWHERE = msgspec.structs.replace(MAIN, tenant="elsewhere")
FACT = Fact(seq=1, kind="goal", key="g", value="x")
NOTE = Attempt(time=1.0, outcome="ineffective")
WORK = Work(key=MAIN, wanted=1, done=0, token=1)

REFUSING: dict[str, Callable[[Store, Key], Any]] = {
    "info": lambda store, key: store.info(key),
    "delete": lambda store, key: store.delete(key),
    "facts": lambda store, key: store.facts(key, [FACT]),
    "log": lambda store, key: store.log(key),
    "times": lambda store, key: store.times(key),
    "event": lambda store, key: store.event(key, "1"),
    "tally": lambda store, key: store.tally(key),
    "view": lambda store, key: store.view(key),
    "sent": lambda store, key: store.sent(key, ScopeState(last_size=1), expected=Mark()),
    "covered": lambda store, key: store.covered(key, 1, limit=1),
    "commit": lambda store, key: store.commit(key, checkpoint(1, 0), expected=0),
    "checkpoints": lambda store, key: store.checkpoints(key),
    "note": lambda store, key: store.note(key, NOTE),
    "attempts": lambda store, key: store.attempts(key),
    "wrote": lambda store, key: store.wrote(key, {"h": ""}),
    "written": lambda store, key: store.written(key, ["h"]),
    "match": lambda store, key: store.match(key, ["c"]),
    "ends": lambda store, key: store.ends(key, ["p", "q"]),
    "find": lambda store, key: store.find(key, ["walrus"]),
    "scopes": lambda store, key: store.scopes(key),
    "want": lambda store, key: store.want(key, 1.0),
    "works": lambda store, key: store.works(key),
}
MAKING: dict[str, Callable[[Store, Key], Any]] = {
    "open": lambda store, key: store.open(key),
    "describe": lambda store, key: store.describe(key, {"wire": "gemini"}),
    "context": lambda store, key: store.context(key, []),
    "append": lambda store, key: store.append(key, MemoryStore().context(key, [user("hi")]).new, head=0, now=1.0),
    "enlist": lambda store, key: store.enlist(key),
}
ANSWERING: dict[str, tuple[Callable[[Store, Key], Any], Any]] = {
    "children": (lambda store, key: store.children(key), []),
    "extend": (lambda store, key: store.extend(msgspec.structs.replace(WORK, key=key), 9.0), False),
    "settle": (lambda store, key: store.settle(msgspec.structs.replace(WORK, key=key)), False),
    "sessions": (lambda store, key: store.sessions(key.tenant, key.user), []),
    "hashes": (lambda store, key: store.hashes(key.tenant), set()),
    "claim": (lambda store, key: store.claim(9.0, 5.0), None),
    "backlog": (lambda store, key: store.backlog(9.0), Backlog()),
}


def never(store: Store) -> Key:
    return MAIN


def erased(store: Store) -> Key:
    add(store, MAIN, user("gone"))
    store.delete(MAIN)
    return MAIN


def of_somebody_else(store: Store) -> Key:
    add(store, THEIRS, user("theirs"))
    return MAIN


def of_another_tenant(store: Store) -> Key:
    add(store, ELSEWHERE, user("theirs"))
    return MAIN


MISSING = [never, erased, of_somebody_else, of_another_tenant]


def rows(store: Store) -> dict[Key, list[SessionInfo]]:
    """All that anybody has here."""
    return {key: store.sessions(key.tenant, key.user) for key in (MAIN, THEIRS, ELSEWHERE)}


# Who makes a session


def test_of_every_method_it_is_said_what_it_does_with_a_session_that_is_not_there() -> None:
    assert sorted([*REFUSING, *MAKING, *ANSWERING, "artifacts", "close"]) == sorted(promised())


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("name", REFUSING)
def test_a_session_that_is_not_there_is_not_found_and_none_is_made(
    store: Store, name: str, missing: Callable[[Store], Key]
) -> None:
    key = missing(store)
    before = rows(store)
    with pytest.raises(NotFound):
        REFUSING[name](store, key)
    assert rows(store) == before
    store.open(key)
    view = store.view(key)
    assert (view.state, view.attempts, view.pins, store.scopes(key)) == (ScopeState(), (), frozenset(), [])
    assert (store.covered(key, 9, limit=9), store.written(key, ["h"])) == (({}, [], []), {})


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("name", MAKING)
def test_who_opens_describes_records_or_enlists_makes_the_session(
    store: Store, name: str, missing: Callable[[Store], Key]
) -> None:
    key = missing(store)
    before = rows(store)
    MAKING[name](store, key)
    made = store.info(key)
    assert (made.session, made.kind, made.parent, made.head) == (key.session, "root", "", int(name == "append"))
    assert made.meta == ({"wire": "gemini"} if name == "describe" else {})
    assert rows(store) == before | {MAIN: [made]}


@pytest.mark.parametrize("missing", [never, erased])
@pytest.mark.parametrize("name", ANSWERING)
def test_who_only_asks_round_is_answered_with_nothing(store: Store, name: str, missing: Callable[[Store], Key]) -> None:
    ask, nothing = ANSWERING[name]
    assert ask(store, missing(store)) == nothing
    assert rows(store) == {MAIN: [], THEIRS: [], ELSEWHERE: []}


@pytest.mark.parametrize("kind", ["fork", "child"])
@pytest.mark.parametrize(("parent", "at"), [("nobody", 0), ("theirs", 1), ("main", 2)])
def test_a_session_whose_parent_or_place_in_it_is_not_there_is_not_made(
    store: Store, kind: Any, parent: str, at: int
) -> None:
    add(store, MAIN, user("1"))
    add(store, msgspec.structs.replace(THEIRS, session="theirs"), user("1"))
    before = rows(store)
    key = Key(session="new")
    with pytest.raises(NotFound):
        store.open(key, info=SessionInfo(session="new", kind=kind, parent=parent, parent_seq=at))
    assert rows(store) == before
    store.delete(MAIN)  # nothing hangs on it


# What its row says


def test_to_open_it_again_writes_nothing_whatever_is_said(store: Store) -> None:
    add(store, MAIN, user("1"))
    key = fork(store, "other", 1)
    store.describe(key, {"a": "1"})
    add(store, key, user("2"), now=4.0)
    row = store.info(key)
    for info in (
        None,
        SessionInfo(session="other"),
        SessionInfo(session="other", title="said", created=9.0, updated=9.0, head=7, meta={"a": "2", "b": "3"}),
        SessionInfo(session="other", kind="child", parent="main", parent_seq=0, parent_call="c"),
        SessionInfo(session="other", kind="fork", parent="nobody", parent_seq=99),
    ):
        assert store.open(key, info=info) == store.info(key) == row
    assert texts(store.log(key)) == ["1", "2"]


def test_a_session_is_as_old_as_its_first_append_and_was_changed_by_its_last(store: Store) -> None:
    add(store, MAIN, user("1"), now=5.0)
    add(store, MAIN, user("2"), now=9.0)
    row = store.info(MAIN)
    assert (row.created, row.updated) == (5.0, 9.0)
    store.describe(MAIN, {"a": "1"})
    store.facts(MAIN, [FACT])
    store.sent(MAIN, ScopeState(last_size=1), expected=Mark())
    store.commit(MAIN, checkpoint(1, 1), expected=0, attempt=NOTE)
    store.note(MAIN, NOTE)
    store.wrote(MAIN, {"h": ""})
    store.want(MAIN, 99.0)
    assert store.info(MAIN) == msgspec.structs.replace(row, meta={"a": "1"})


def test_the_time_at_which_a_session_is_said_to_begin_stays(store: Store) -> None:
    store.open(MAIN, info=SessionInfo(session="main", created=3.0))
    add(store, MAIN, user("1"), now=5.0)
    assert (store.info(MAIN).created, store.info(MAIN).updated) == (3.0, 5.0)


def test_the_title_is_made_once_of_the_first_words_of_a_user_whenever_they_come(store: Store) -> None:
    add(store, MAIN, injected("reminder"), assistant("what is it?"))
    assert store.info(MAIN).title == ""
    add(store, MAIN, assistant("well?"), user("the first"), user("the second"))
    add(store, MAIN, user("the third"))
    assert store.info(MAIN).title == "the first"


def test_a_title_that_was_given_stays(store: Store) -> None:
    store.open(MAIN, info=SessionInfo(session="main", title="given"))
    add(store, MAIN, user("the first"))
    assert store.info(MAIN).title == "given"


def test_settings_are_of_one_session_alone(store: Store) -> None:
    for key in (MAIN, THEIRS, ELSEWHERE):
        store.open(key)
    add(store, MAIN, user("1"))
    other = fork(store, "other", 1)
    store.describe(MAIN, {"a": "1"})
    assert [store.info(key).meta for key in (MAIN, THEIRS, ELSEWHERE, other)] == [{"a": "1"}, {}, {}, {}]


# What goes with it


def full(store: Store, key: Key) -> None:
    """A session with something of every sort."""
    add(store, key, user("walrus"), assistant("done"), held("a", "body"), facts=(FACT,))
    (new,) = store.context(key, [user("walrus again")]).new
    store.append(key, [new], head=3, units=[Unit(4, 0, "u", 1.0, 1)], pieces=[Piece(4, 0, "walrus again")], now=2.0)
    store.sent(key, ScopeState(last_size=7), expected=Mark())
    store.commit(key, checkpoint(1, 2, mark=2), expected=0, attempt=NOTE)
    store.note(key, NOTE)
    store.wrote(key, {"h": "p"})
    store.describe(key, {"a": "1"})
    store.want(key, 3.0)


def all_of(store: Store, key: Key) -> Any:
    tally = store.tally(key)
    return (
        *(store.info(key), store.log(key), store.times(key), store.view(key), store.covered(key, 99, limit=99)),
        *(store.checkpoints(key), store.attempts(key), store.written(key, ["h"]), store.scopes(key)),
        *(store.works(key), search(store, key, "walrus", "user"), tally.events, tally.words, tally.names),
    )


def test_of_an_erased_session_nothing_comes_back_with_its_name(store: Store) -> None:
    full(store, MAIN)
    assert store.delete(MAIN) == ("body",)
    store.open(MAIN)
    view = store.view(MAIN)
    assert store.info(MAIN) == SessionInfo(session="main")
    assert (view.head, view.checkpoint, view.state, view.attempts) == (0, None, ScopeState(), ())
    assert (store.log(MAIN), store.times(MAIN), store.covered(MAIN, 99, limit=99)) == ([], {}, ({}, [], []))
    assert (store.checkpoints(MAIN), store.attempts(MAIN), store.written(MAIN, ["h"])) == ([], [], {})
    assert (store.scopes(MAIN), store.works(MAIN), store.backlog(9.0)) == ([], [], Backlog())
    assert (search(store, MAIN, "walrus", "user"), store.tally(MAIN).events, store.hashes("local")) == ([], 0, set())


def test_sessions_of_the_same_name_keep_all_they_have(store: Store) -> None:
    for key in (MAIN, THEIRS, ELSEWHERE):
        full(store, key)
    theirs, elsewhere = all_of(store, THEIRS), all_of(store, ELSEWHERE)
    assert store.delete(MAIN) == (), "the body is somebody else's too, of the same tenant"
    assert (all_of(store, THEIRS), all_of(store, ELSEWHERE)) == (theirs, elsewhere)
    assert store.delete(ELSEWHERE) == ("body",)


def test_a_refused_deletion_changes_nothing(store: Store) -> None:
    full(store, MAIN)
    sub, other = child(store, "sub", "c"), fork(store, "other", 1)
    full(store, sub)
    before = [all_of(store, key) for key in (MAIN, sub, other)]
    for refusal, named in (
        (HasForks, {}),
        (HasForks, {"descendants": True, "heads": {"main": 4, "other": 1}}),
        (HeadMoved, {"descendants": True, "heads": {"main": 4, "other": 1, "sub": 3}}),
    ):
        with pytest.raises(refusal):
            store.delete(MAIN, **named)  # type: ignore[arg-type]
        assert [all_of(store, key) for key in (MAIN, sub, other)] == before
    assert store.children(MAIN) == [store.info(sub)]


def test_a_fork_goes_alone_and_what_it_inherited_stays_with_its_parent(store: Store) -> None:
    add(store, MAIN, held("a", "inherited"))
    other = fork(store, "other", 1)
    add(store, other, held("b", "own"), user("walrus"))
    assert store.delete(other) == ("own",)
    assert (store.hashes("local"), search(store, MAIN, "walrus", "user")) == ({"inherited"}, [])
    assert [info.session for info in store.sessions("local", "local")] == ["main"]
    assert store.delete(MAIN) == ("inherited",)


def test_a_body_that_several_of_those_that_go_had_is_named_once(store: Store) -> None:
    add(store, MAIN, held("a", "body"), held("b", "body"))
    add(store, child(store, "sub", "c"), held("a", "body"))
    assert store.delete(MAIN) == ("body",)
