"""Hooks round append and read, over random sessions: requests stay valid, prefixes stable, lists known."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark import Policy, Session
from foldmark.checkpoint import Fact
from foldmark.events import Event, Text, ToolResult, assistant, injected, result, user
from foldmark.hooked import EventHooks, Hold, hooked
from foldmark.memory import MemoryStore
from foldmark.store import Key
from foldmark.wire import anthropic, openai_chat
from making import call, tool_round
from pairs import pair_errors

texts = st.text(st.sampled_from("abc SECRET\n1"), min_size=1, max_size=12)
kinds = st.sampled_from(["user", "agent", "injected", "round", "batch"])
stories = st.lists(st.tuples(kinds, texts), min_size=1, max_size=16)
wires = st.sampled_from([openai_chat, anthropic])


def happened(number: int, kind: str, text: str) -> list[Event]:
    """Events of one move; every one says something of its own."""
    text = f"{number} {text}"
    if kind == "round":
        return tool_round(number, text)
    if kind == "batch":
        calls = [call(number=f"{number}{letter}", arguments=f'{{"path":"{letter}{number}"}}') for letter in "xyz"]
        return [assistant(text, *calls), *(result(one.id, f"{one.id} {text}") for one in calls)]
    return [{"user": user, "agent": assistant, "injected": injected}[kind](text)]


def by_chance(salt: int, share: int) -> Any:
    """A read hook that withholds one in `share` events and masks what remains: a function of what the event is."""

    def read(key: Key, event: Event) -> Event | None:
        said = f"{salt} {event.role} {event.text} {[call.id for call in event.calls]}"
        if event.text != "Begin." and hashlib.sha256(said.encode()).digest()[0] % share == 0:
            return None
        return masked(event)

    return read


def masked(event: Event) -> Event:
    parts = tuple(
        msgspec.structs.replace(part, text=part.text.replace("SECRET", "-"))
        if isinstance(part, Text | ToolResult) and "SECRET" in part.text
        else part
        for part in event.parts
    )
    return msgspec.structs.replace(event, parts=parts)


@given(story=stories, salt=st.integers(0, 999), share=st.integers(2, 5), wire=wires)
def test_requests_of_a_reader_who_sees_less_are_valid_and_their_prefix_stays(
    story: list[tuple[str, str]], salt: int, share: int, wire: Any
) -> None:
    store = MemoryStore()
    writer = Session("main", store=store)
    hooks = EventHooks(on_read=by_chance(salt, share))
    policy = Policy.coding()
    reader = Session("main", store=hooked(store, hooks), policy=policy, scope="guest", clock=lambda: 1.0)
    writer.record(user("Begin."))
    before: list[Any] = []
    for number, (kind, text) in enumerate(story):
        writer.record(*happened(number, kind, text))
        made = reader.request(wire=wire, window=32_000)
        messages = made.payload()["messages"]
        assert pair_errors(made.payload()) == []
        assert "SECRET" not in str(messages)
        stable = [m for m in made.messages[: made.stable] if m.seq]
        seqs = [(m.seq, m.text) for m in stable]
        assert seqs[: len(before)] == before
        before = seqs
    shown, stored = reader.store.log(reader.key), store.log(reader.key)
    calls = {one.id for event in shown for one in event.calls}
    assert all(event.result.call_id in calls for event in shown if event.result)
    again = Session("main", store=hooked(store, hooks), policy=policy, scope="guest")
    assert again.store.log(again.key) == shown
    assert {entry.ref for entry in reader.explain()} == {f"event:{event.seq}" for event in shown}
    by_seq = {event.seq: event for event in stored}
    assert all(msgspec.structs.replace(event, tokens=0) == msgspec.structs.replace(masked(by_seq[event.seq]), tokens=0)
               for event in shown)  # fmt: skip


def held_and_masked(key: Key, events: tuple[Event, ...]) -> list[Event | Hold]:
    return [Hold("a's") if event.text.endswith("a") else masked(event) for event in events]


@settings(max_examples=40)
@given(story=stories, wire=wires, every=st.integers(1, 4), cut=st.integers(0, 3))
def test_lists_taken_over_from_requests_and_lists_cut_in_front_bring_only_what_is_new(
    story: list[tuple[str, str]], wire: Any, every: int, cut: int
) -> None:
    """One caller goes on from the messages that we gave, another sends its own list without the first messages."""
    store = hooked(MemoryStore(), EventHooks(on_append=held_and_masked))
    taken, own = (Session(name, store=store, policy=Policy.coding()) for name in ("taken", "own"))
    first, count = [user("Begin."), assistant("Yes."), user("Go on.")], 3
    given_back: list[Any] = list(wire.write("", [], first)[wire.MESSAGES])
    mine = list(first)
    for number, (kind, text) in enumerate(story):
        new = happened(number, kind, text)
        mine += new
        given_back += list(wire.write("", [], [user("x"), assistant("y"), *new])[wire.MESSAGES])[2:]
        gone = {one.id for event in new if event.text.endswith("a") for one in event.calls}
        count += sum(
            not event.text.endswith("a") and not (event.result and event.result.call_id in gone) for event in new
        )
        if number % every == 0:
            assert own.follow(mine).forked_at is None
            assert len(store.log(own.key)) == count
            if wire is openai_chat:
                assert taken.follow(given_back, wire=wire).forked_at is None
                assert len(store.log(taken.key)) == count
                given_back = list(taken.request(wire=wire, window=32_000).payload()[wire.MESSAGES])
    assert own.follow(mine).forked_at is None
    held = {one.id for event in mine if event.text.endswith("a") for one in event.calls}
    kept = [e for e in mine[cut:] if not e.text.endswith("a") and not (e.result and e.result.call_id in held)]
    found = own.follow(mine[cut:] if len(kept) > 1 else mine)  # one message alone may stand anywhere
    assert found.new == ()
    assert found.forked_at is None
    assert own.name == "own"


refs = st.lists(st.integers(1, 9), max_size=3).map(tuple)
facts = st.lists(st.tuples(st.integers(1, 9), refs, st.booleans()), min_size=1, max_size=6)


@given(facts=facts, hidden=st.sets(st.integers(1, 9), max_size=4), keys=st.lists(st.sampled_from("ab"), min_size=9),
       sees=st.sampled_from(["all", "exact"]))  # fmt: skip
def test_a_fact_is_shown_exactly_where_every_event_that_it_rests_on_is(
    facts: list[tuple[int, tuple[int, ...], bool]], hidden: set[int], keys: list[str], sees: Any
) -> None:
    """Withheld by a hook or not seen by the scope, the event itself or one of `refs`: it is all one."""
    inner = MemoryStore()
    whole, key = Key(session="main"), Key(session="main", scope="a", sees=sees)
    events = [user(f"words {at}", scope=keys[at - 1]) for at in range(1, 10)]
    made = [
        Fact(seq=seq, kind="pin", key=str(refs[0] if refs else 1), value="", scope=keys[seq - 1]) if is_pin else
        Fact(seq=seq, kind="decision", key=f"{number}", value=f"fact {number}", refs=refs, scope=keys[seq - 1])
        for number, (seq, refs, is_pin) in enumerate(facts)
    ]  # fmt: skip
    inner.append(whole, inner.context(whole, events).new, head=0, facts=made, now=1.0)
    store = hooked(inner, EventHooks(on_read=lambda key, event: None if event.seq in hidden else event))
    shown = {event.seq for event in store.log(key)}
    by_scope = inner.covered(key, 9, limit=0)[1]
    rests = {id(one): {one.seq, *one.refs, *([int(one.key)] if one.kind == "pin" else [])} for one in by_scope}
    state, found, _ = store.covered(key, 9, limit=0)
    assert found == [one for one in by_scope if not rests[id(one)] & hidden]
    assert all({one.seq, *one.refs} <= shown for one in found)
    assert all(one in found for one in state.values())
