"""What a hook may make of an event, what of a batch is left, and what is remembered of what is not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from foldmark.checkpoint import Fact, Unit
from foldmark.errors import HookError
from foldmark.events import (
    CONTINUES,
    Artifact,
    Event,
    Paste,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    assistant,
    named,
    result,
    user,
)
from foldmark.hooked import EventHooks, HeldBack, Hold, Left
from foldmark.hooked.checking import SEAL, checked, is_sealed, sealed, unsealed
from foldmark.hooked.entering import call_flag, flags, passed
from foldmark.hooked.leaving import without_held
from foldmark.hooked.showing import Reader, through
from foldmark.memory import MemoryStore
from foldmark.store import Key
from foldmark.tokens import event_tokens
from making import call, numbered, tool_round

KEY = Key(session="s")
SECRET = b"s" * 32


def test_a_changed_event_keeps_its_identity_and_loses_nothing_it_must_have() -> None:
    before = named(assistant("one", call(), id="m1", usage=Usage(input=9), meta={CONTINUES: "3", "a": "1"}))
    made = Event(role="assistant", parts=(Text("two"), call()), scope="x", meta={"b": "2", SEAL: "forged"}, id="other")
    after = checked(before, made, "h")
    assert (after.id, after.plain, after.usage) == ("m1", before.plain, Usage(input=9))
    assert after.meta == {"b": "2", CONTINUES: "3"}
    assert (after.text, after.scope) == ("two", "x")
    assert checked(before, before, "h") is before


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (user("a"), None, "returned NoneType in place of an event .an event of user."),
        (
            user("a", id="m1"),
            assistant("a"),
            "turned role user into assistant; hold the event back instead .event 'm1'",
        ),
        (assistant("", call()), assistant("x"), "changed the ids of calls or results"),
        (result("c1", "x", seq=4), result("c2", "x"), "changed the ids of calls or results.*event:4"),
    ],
)
def test_what_a_hook_may_not_do_is_said_with_the_next_move(before: Event, after: Any, said: str) -> None:
    with pytest.raises(HookError, match=f"The hook h {said}.*mend the hook"):
        checked(before, after, "h")


def test_a_seal_holds_for_the_parts_it_was_made_of_however_they_are_cut() -> None:
    event = sealed(named(user("a long text", id="m1")), SECRET)
    assert is_sealed(event, SECRET)
    cut = msgspec.structs.replace(event, parts=(Text("a long"), Text(" text")))
    assert is_sealed(cut, SECRET)
    assert not is_sealed(msgspec.structs.replace(event, parts=(Text("another text"),)), SECRET)
    assert not is_sealed(msgspec.structs.replace(event, plain="other"), SECRET)
    assert not is_sealed(event, b"t" * 32)
    assert SEAL not in unsealed(event).meta


def test_what_is_left_and_what_is_held_are_told_by_place() -> None:
    def hook(key: Key, events: tuple[Event, ...]) -> list[Event | Hold]:
        return [Hold("no") if event.text == "b" else event for event in events]

    events = [user("a"), user("b", id="m2"), user("c")]
    left, held = passed([EventHooks(on_append=hook, name="h")], KEY, events, SECRET)
    assert [left[at].text for at in sorted(left)] == ["a", "c"]
    assert held == [HeldBack(place=1, reason="no", hook="h", id="m2", plain=named(events[1]).plain)]
    assert all(SEAL not in event.meta for event in left.values())
    left, held = passed([EventHooks(on_append=hook)], KEY, events, SECRET, {"m2"})
    assert (len(left), held) == (3, [])  # known already: no hook is asked


def test_a_call_made_again_behind_a_held_one_gets_its_result() -> None:
    def hook(key: Key, events: tuple[Event, ...]) -> list[Event | Hold]:
        return [Hold("no") if event.text == "first" else event for event in events]

    events = [assistant("first", call()), result("c1", "x"), assistant("second", call()), result("c1", "y")]
    left, held = passed([EventHooks(on_append=hook)], KEY, events, SECRET)
    assert sorted(left) == [2, 3]
    assert [one.place for one in held] == [0, 1]


def test_a_hook_without_a_name_is_called_by_that_of_its_function() -> None:
    def mask(key: Key, events: tuple[Event, ...]) -> None:
        raise ValueError("no")

    with pytest.raises(HookError, match=r"mask failed on events offered to session 's': ValueError: no\. Nothing was"):
        passed([EventHooks(on_append=mask)], KEY, [user("a")], SECRET)


def test_held_events_are_known_behind_the_message_they_stood_behind_alone() -> None:
    store = MemoryStore()
    store.open(KEY)
    events = [user("a"), user("held"), assistant("b", call("x", 9)), user("held")]
    held = [HeldBack(place=1, reason="", hook="", plain=named(events[1]).plain)]
    store.wrote(KEY, flags(events, held, ""))
    assert without_held(store, KEY, events).held == 0  # nothing of it is recorded: the hooks are asked about all
    assert without_held(store, KEY, events[1:]).held == 0  # nobody knows what stood in front: nothing is lost
    recorded = [events[0], events[2], events[3]]
    store.append(KEY, store.context(KEY, recorded).new, head=0, now=1.0)
    found = without_held(store, KEY, events)
    assert found.places == (0, 2, 3)
    assert (found.held, found.seqs([5, 6, 7])) == (1, (5, 0, 6, 7))
    assert without_held(store, KEY, [user("held"), user("a")]).held == 0
    assert without_held(store, KEY, events[:2]).held == 1  # an older copy
    assert without_held(store, KEY, [*events, user("held")]).places == (0, 2, 3, 4)  # said again: the hooks are asked
    assert without_held(store, KEY, events[1:]).places == (1, 2)  # the rest ends the log
    assert call_flag("c1") != call_flag("c2")
    assert Left((), (), 0).seqs([]) == ()


def reader(events: list[Event], hook: Any) -> Reader:
    store = MemoryStore()
    store.append(KEY, store.context(KEY, events).new, head=0, now=1.0)
    return Reader(KEY, [EventHooks(on_read=hook)]).catch_up(store)


def test_a_withheld_call_takes_its_results_along_and_one_made_again_does_not() -> None:
    events = [*tool_round(1, say="hide"), *tool_round(2), assistant("again", call(number=1)), result("c1", "x")]
    found = reader(events, lambda key, event: None if event.text == "hide" else event)
    assert sorted(found.withheld) == [1, 2]
    assert found.unseen() == 2


def test_the_rest_of_a_withheld_step_is_withheld_too() -> None:
    events = [assistant("hide"), assistant("rest", meta={CONTINUES: "1"}), user("on")]
    found = reader(events, lambda key, event: None if event.text == "hide" else event)
    assert sorted(found.withheld) == [1, 2]


def test_the_outcome_of_a_result_is_not_named_where_its_call_is_shown_otherwise() -> None:
    def hook(key: Key, event: Event) -> Event:
        parts = tuple(
            msgspec.structs.replace(part, arguments="{}") if isinstance(part, ToolCall) else part
            for part in event.parts
        )
        return msgspec.structs.replace(event, parts=parts)

    events = [assistant("", call()), result("c1", "text", meta={"outcome": "a.py was read", "a": "1"})]
    assert reader(events, hook).changed[2].meta == {"a": "1"}
    assert reader(events, lambda key, event: event).changed == {}


def test_what_is_derived_is_shown_only_where_it_still_stands() -> None:
    def hook(key: Key, event: Event) -> Event | None:
        if event.seq == 1:
            return None
        return msgspec.structs.replace(event, parts=(Text("kept words"),)) if event.seq == 2 else event

    found = reader([user("gone"), user("kept words and secret"), user("as it was")], hook)
    units = [Unit(1, 0, "gone", 1.0, 1), Unit(2, 0, "kept words", 1.0, 1), Unit(2, 1, "secret", 1.0, 1)]
    assert [unit.text for unit in found.units([*units, Unit(3, 0, "anything", 1.0, 1)])] == ["kept words", "anything"]
    facts = [
        Fact(seq=1, kind="goal", key="goal", value="gone"),
        Fact(seq=2, kind="goal", key="goal", value="kept words"),
        Fact(seq=2, kind="user", key="2", value="kept words and secret"),
        Fact(seq=2, kind="user", key="2", value="kept words", meta={"path": "secret"}),
        Fact(seq=3, kind="todo", key="t", value="any", refs=(1,)),
        Fact(seq=3, kind="todo", key="t", value="any"),
    ]
    assert found.facts(facts) == [facts[1], facts[5]]


def test_a_changed_event_names_no_body_and_no_outcome_and_is_counted_anew() -> None:
    body = Artifact("a" * 64, 9, 1, "log")
    stored = numbered(
        Event(
            role="tool", origin="tool", parts=(ToolResult("c1", "long words", artifact=body),), meta={"outcome": "o"}
        ),
        Event(role="user", origin="user", parts=(Text("see"), Paste("long words", body)), scope="a"),
        assistant("same", call()),
    )

    def hook(key: Key, event: Event) -> Event:
        parts = tuple(
            msgspec.structs.replace(part, text="short") if isinstance(part, ToolResult | Paste) else part
            for part in event.parts
        )
        return msgspec.structs.replace(event, parts=parts, scope="b")

    hooks = [EventHooks(on_read=hook)]
    first, second, third = (through(hooks, KEY, event) for event in stored)
    assert first
    assert second
    assert first.parts == (ToolResult("c1", "short"),)
    assert first.meta == {}
    assert second.parts == (Text("see"), Text("short"))
    assert second.scope == "a"  # who sees an event is decided where it is stored
    assert second.tokens == event_tokens(second)
    assert third
    assert third.parts == stored[2].parts


def test_an_event_that_is_shown_as_it_is_stays_the_very_object() -> None:
    (stored,) = numbered(Event(role="assistant", origin="agent", parts=(Reasoning("thought"), Text("said"))))
    copy = EventHooks(on_read=lambda key, event: msgspec.structs.replace(event))
    assert through([copy, EventHooks()], KEY, stored) is stored
