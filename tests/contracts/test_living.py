"""What a store gives is as it was when it was given, whatever is recorded meanwhile: whoever walks it needs no lock.

Three things alone are living, for a copy of them would cost more than the event that is recorded: the calls, the state
and the counts of a context. In those things are looked up, one by one, and nobody walks them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import pytest
from meanwhile import POLICY, round_of
from test_meanwhile import DONE, shown
from test_session_rows import ANSWERING, MAKING, NOTE, REFUSING
from test_stores import MAIN, checkpoint

from foldmark import Session
from foldmark.checkpoint import Fact, Unit
from foldmark.children import children_of, conclude, open_child
from foldmark.events import ToolCall, assistant, control, result, user
from foldmark.hooked import EventHooks, HookedStore
from foldmark.log import State
from foldmark.salience import Tally
from foldmark.seeking import Piece, Sought
from foldmark.store import Calls, Context, Key, OpenCall, ScopeState, SessionInfo, Store
from foldmark.store.forwarding import Forwarding
from foldmark.vectors import vectors_of
from foldmark.words import words
from toy_embedder import toy

TEAM = msgspec.structs.replace(MAIN, scope="team", sees="lineage")
LIVING = ("calls", "state", "tally")
ASKED: dict[str, Callable[[Store, Key], Any]] = {
    **REFUSING,
    **MAKING,
    **{name: ask for name, (ask, _) in ANSWERING.items()},
    "context of several": lambda store, key: store.context(key, [user("one more"), user("and one")]),
    "find anywhere": lambda store, key: store.find(key, words("port walrus"), sought=Sought(where="user")),
    "vectors missing": lambda store, key: vectors_of(store).missing(key, toy(), limit=99),  # type: ignore[union-attr]
    "vectors near": lambda store, key: vectors_of(store).nearest(key, toy(), [1.0] * 64),  # type: ignore[union-attr]
}
del ASKED["append"], ASKED["commit"], ASKED["delete"]  # once is enough, and they give nothing to walk
KINDS = {"": lambda store: store, "hooked": lambda store: HookedStore(store, [EventHooks(on_read=shown)])}


def still(value: Any) -> Any:
    """What stands in a value, all the way down, as it is now."""
    if isinstance(value, Tally):
        return value.to_bytes()
    if isinstance(value, msgspec.Struct):
        living = LIVING if isinstance(value, Context) else ()
        return [(name, still(getattr(value, name))) for name in value.__struct_fields__ if name not in living]
    if isinstance(value, Mapping):
        return [(still(name), still(each)) for name, each in value.items()]
    if isinstance(value, list | tuple):
        return list(map(still, value))
    return sorted(value) if isinstance(value, set | frozenset) else value


def begun(store: Store, key: Key) -> None:
    session = Session(key.session, store=store, policy=POLICY, scope=key.scope, sees=key.sees, embedder=toy())
    session.record(*(event for number in range(12) for event in round_of(number)))
    more(store, key)


def more(store: Store, key: Key) -> None:
    """Something of every sort comes to the session."""
    session = Session(key.session, store=store, policy=POLICY, scope=key.scope, sees=key.sees, embedder=toy())
    number = session.record(
        user("The walrus of ABC-7 again."), assistant("", ToolCall("c3", "bash", "{}")), result("c3", "walrus"),
        control("note", {}),
    ).seq  # fmt: skip
    session.remember({f"setting {number}": "on"})
    session.embed()
    (new,) = store.context(key, [user("port and walrus")]).new
    facts = [
        Fact(seq=1, kind="pin", key=str(number), value="x"),
        Fact(seq=number, kind="goal", key=f"g{number}", value="y"),
    ]
    units, pieces = [Unit(new.seq, 0, "walrus", 9.0, 1)], [Piece(new.seq, 0, "port and walrus")]
    store.append(key, [new], head=number, units=units, pieces=pieces, facts=facts, now=3.0)
    view = store.view(key)
    store.sent(key, ScopeState(last_size=number), expected=view.mark)
    version = view.checkpoint.version if view.checkpoint else 0
    store.commit(key, checkpoint(version + 1, number, mark=number), expected=version, attempt=NOTE)
    store.note(key, NOTE)
    store.wrote(key, {"h": str(number), f"h{number}": ""})
    store.enlist(msgspec.structs.replace(key, scope=f"scope {number}", sees="lineage"))
    store.want(key, 1.0)
    store.want(msgspec.structs.replace(key, scope=f"scope {number}", sees="lineage"), 2.0)
    for kind in ("fork", "child"):
        name = f"{kind} {number}"
        info = SessionInfo(session=name, kind=kind, parent=key.session, parent_seq=number, parent_call="c3")  # type: ignore[arg-type]
        store.open(msgspec.structs.replace(key, session=name), info=info)


@pytest.mark.parametrize("key", [MAIN, TEAM], ids=["whole", "scope"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ASKED)
def test_what_a_store_gave_stays_as_it_was_whatever_comes_then(store: Store, name: str, kind: str, key: Key) -> None:
    begun(store, key)
    asked = KINDS[kind](store)
    given = ASKED[name](asked, key)
    before = still(given)
    more(store, key)
    ASKED[name](asked, key)
    assert still(given) == before


def containers(value: Any) -> Iterator[Any]:
    """The lists, sets and mappings of a value that its caller may change, or of rows in it."""
    if isinstance(value, SessionInfo):
        yield value.meta
    if isinstance(value, list | dict | set):
        yield value
    if isinstance(value, list | tuple):
        for each in value:
            yield from containers(each)


@pytest.mark.parametrize("name", ASKED)
def test_what_a_caller_does_with_what_was_given_changes_nothing_in_the_store(store: Store, name: str) -> None:
    begun(store, MAIN)
    before = still(ASKED[name](store, MAIN))
    for each in list(containers(ASKED[name](store, MAIN))):
        each.clear()
    if name != "claim":  # which gives another one
        assert still(ASKED[name](store, MAIN)) == before


def test_what_a_caller_does_with_what_it_gave_changes_nothing_in_the_store(store: Store) -> None:
    meta = {"wire": "gemini"}
    store.open(MAIN, info=SessionInfo(session="main", meta=meta))
    meta["wire"] = "other"
    assert store.info(MAIN).meta == {"wire": "gemini"}
    told = {"wire": "anthropic"}
    store.describe(MAIN, told)
    told.clear()
    assert store.info(MAIN).meta == {"wire": "anthropic"}


# What is living is looked up


class Walked(AssertionError):
    """Somebody walked what another thread may change meanwhile."""


def refuse(*arguments: object) -> Any:
    raise Walked


class LookedUp(dict[Any, Any]):
    """A mapping in which things are looked up, one by one."""

    __iter__ = keys = values = items = copy = __or__ = __ror__ = __eq__ = __reversed__ = refuse  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class CallsLookedUp(Calls):
    """Calls of which the same holds; the calls with one id are walked as a copy."""

    def __init__(self, living: Calls) -> None:
        super().__init__()
        dict.update(self, living)
        self.made = LookedUp(living.made)

    __iter__ = keys = values = items = copy = __or__ = __ror__ = __eq__ = __reversed__ = refuse  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class StateLookedUp(State):
    """A state of which the same holds; keys of a kind are walked as a copy."""

    def __init__(self, living: Mapping[tuple[str, str], Fact]) -> None:
        super().__init__()
        for name, fact in living.items():
            self[name] = fact
        self._places, self._open = LookedUp(self._places), LookedUp(self._open)

    __iter__ = keys = values = items = copy = __or__ = __ror__ = __eq__ = __reversed__ = refuse  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class Watched(Forwarding):
    """A store whose contexts refuse to be walked. `given` counts them."""

    given = 0

    def context(self, key: Key, events: Any) -> Context:
        made = self.inner.context(key, events)
        assert isinstance(made.state, State)
        self.given += 1
        return msgspec.structs.replace(made, calls=CallsLookedUp(made.calls), state=StateLookedUp(made.state))


def sub_agents(session: Session) -> None:
    call = ToolCall("sub", "task", "{}")
    session.record(assistant("", call))
    open_child(session, call).record(user("Look for it."))
    children_of(session)
    conclude(session, call)


ALL_DONE: dict[str, Callable[[Session], object]] = {
    **DONE,
    "follow": lambda session: session.follow([*session.store.log(session.key), user("and now?")]),
    "sub-agents": sub_agents,
    "children": lambda session: session.search("walrus", where="children"),
    "load": lambda session: session.load("event:3", by="rounds", before=2, reach="children"),
    "overview": lambda session: session.overview(),
    "history": lambda session: session.control.history(),
    "pin": lambda session: session.control.pin("event:3"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", ALL_DONE)
def test_nobody_walks_what_is_living(store: Store, what: str, kind: str) -> None:
    begun(store, MAIN)
    watched = Watched(store)
    session = Session("main", store=KINDS[kind](watched), policy=POLICY)
    session.record(user("It begins."))
    ALL_DONE[what](session)
    assert watched.given > 0


def test_a_call_with_an_id_is_given_with_its_namesakes_as_a_copy() -> None:
    calls = Calls()
    calls.add(assistant("", ToolCall("c1", "bash", "{}"), scope="a"))
    mine = calls.of("c1")
    calls.add(assistant("", ToolCall("c1", "bash", "{}"), scope="b"))
    assert list(mine) == ["a"]
    assert sorted(calls.of("c1")) == ["a", "b"]
    assert calls.of("nobody") == {}
    assert isinstance(mine["a"], OpenCall)
    mine.clear()
    assert sorted(calls.of("c1")) == ["a", "b"]
