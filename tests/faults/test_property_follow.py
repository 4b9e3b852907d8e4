"""PAIR and LOOP for callers who own the list: what we wrote comes back each turn, and only what is new is recorded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scenes import EVERY_WIRE, RAW, applied, fresh
from stories import Move, happens
from turns import errors, strings

from foldmark import Policy
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
