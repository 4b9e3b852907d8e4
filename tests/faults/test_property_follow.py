"""PAIR and LOOP for callers who own the list: what we wrote comes back each turn, and only what is new is recorded."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scenes import EVERY_WIRE, RAW, applied, fresh
from stories import MOVES, Move, happens, sizes, told
from turns import errors, strings

from foldmark import BudgetExceeded, Policy
from foldmark.events import Event, assistant, user

steps = st.lists(
    st.tuples(st.sampled_from(["call", "call", "batch", "say"]), st.sampled_from([3, 150, 700])),
    min_size=2,
    max_size=14,
)


def written(wire: Any, events: list[Event]) -> list[Any]:
    """New events as a client of that wire would append them: never melted into the message in front."""
    return list(wire.write("", [], events)[wire.MESSAGES])


@settings(max_examples=20)
@given(
    story=steps,
    wire=st.sampled_from(EVERY_WIRE),
    target=st.sampled_from([1_500, 6_000]),
    place=st.sampled_from(["user", "system"]),
    force=st.integers(0, 3),
    is_raw=st.booleans(),
)
@example([("call", 3)] * 3, EVERY_WIRE[0], 6_000, "user", 0, False).via("S-PAIR-08: stored and sent again")
@example([("call", 700)] * 12, EVERY_WIRE[1], 6_000, "user", 1, True).via("S-LOOP-10: our own text comes back")
def test_a_list_that_holds_what_we_wrote_brings_only_what_is_new(
    story: list[Move], wire: Any, target: int, place: str, force: int, is_raw: bool
) -> None:
    admission = RAW if is_raw else {"limit_tokens": 200, "inline_bytes": 300}
    policy = Policy.coding(budget={"target_tokens": target}, layout={"checkpoint": place}, admission=admission)
    session = fresh(policy)
    session.follow(written(wire, [user("Fix the duplicate charges.")]), wire=wire)
    count = 1
    for number, (what, size) in enumerate(story, 1):
        messages = session.request(wire=wire, window=32_000).payload()[wire.MESSAGES]
        events, _ = happens(what, size, number, [])
        events = [*events, *([user(f"And {number}?")] if what == "say" else [])]
        followed = session.follow([*messages, *written(wire, [user("x"), *events])[1:]], wire=wire)
        count += len(events)
        assert followed.forked_at is None
        assert [event.role for event in followed.new] == [event.role for event in events]
        assert len(session.store.log(session.key)) == count, "something of ours was recorded"
        if force and number % force == 0:
            session.compact(force=True, window=32_000)
        assert errors(session.request(wire=wire).payload(), wire.NAME) == []
    log = session.store.log(session.key)
    assert not [event for event in log if "foldmark-checkpoint" in event.text]


SINGLE = [what for what in MOVES if what != "twice"]
"""Moves that say nothing again: of the same words on both sides of a silent event the list alone tells nothing."""
EMPTY = (assistant(""), user(""))


@settings(max_examples=30)
@given(
    story=st.lists(st.tuples(st.sampled_from(SINGLE), sizes), min_size=4, max_size=20),
    silent=st.lists(st.tuples(st.integers(1, 60), st.sampled_from(EMPTY)), max_size=3),
    wire=st.sampled_from(EVERY_WIRE),
    window=st.sampled_from([3_500, 5_000, 128_000]),
    scope=st.sampled_from(["", "a"]),
)
@example([("batch", 1)], [(60, EMPTY[0])], EVERY_WIRE[0], 128_000, "").via("results out of order, then an empty step")
@example([("call", 3), ("between", 1)], [(5, EMPTY[1])], EVERY_WIRE[1], 128_000, "").via("empty words inside a round")
@example([("call", 150), ("user", 3)] * 20, [], EVERY_WIRE[0], 3_500, "").via("older rounds did not fit")
@example([("call", 150), ("user", 3)] * 20, [], EVERY_WIRE[1], 3_500, "a").via("nor those of a scope")
def test_any_request_that_is_sent_back_brings_nothing_whatever_was_left_out_of_it(
    story: list[Move], silent: list[tuple[int, Event]], wire: Any, window: int, scope: str
) -> None:
    events = [user("Fix the duplicate charges."), *told(story)]
    for at, event in silent:
        events.insert(at, event)
    policy = Policy.coding(run="manual", window=window, admission=RAW)
    session = fresh(policy, scope=scope, sees="exact") if scope else fresh(policy)
    for event in events:
        session.record(msgspec.structs.replace(event, scope=scope))
        if scope:
            session.record(user("Somebody else.", scope="b"))
    head = session.store.open(session.key).head
    for text in ("And then?", "And more?"):
        try:
            messages = session.request(wire=wire).payload()[wire.MESSAGES]
        except BudgetExceeded:
            return
        assert session.follow(messages, wire=wire, retry=False).new == ()
        followed = session.follow([*messages, *written(wire, [user(text)])], wire=wire)
        assert ([event.text for event in followed.new], followed.forked_at) == ([text], None)
    assert session.store.open(session.key).head == head + 2


@pytest.mark.parametrize("wire", EVERY_WIRE, ids=lambda wire: wire.NAME)
def test_compactions_come_between(wire: Any) -> None:
    """The property meets what it is about: a checkpoint of ours is in the list that comes back."""
    session = fresh(Policy.coding(budget={"target_tokens": 1_500}, admission=RAW))
    session.follow(written(wire, [user("Go."), assistant("Yes. " * 2_000), user("On."), assistant("Ok.")]), wire=wire)
    session.compact(force=True)
    messages = session.request(wire=wire, window=32_000).payload()[wire.MESSAGES]
    assert applied(session) == 1
    assert "<foldmark-checkpoint " in "\n".join(strings(messages))
    assert session.follow(messages, wire=wire).new == ()
