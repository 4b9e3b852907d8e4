"""CACHE: the stable part of a request stays where it is, byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from scenes import EVERY_WIRE, RAW, checked, fresh, pair, pairs_of
from turns import conversation, goes_on, system_of

from foldmark import Policy, Price, Session
from foldmark.drafts import payload_bytes
from foldmark.events import Event, assistant, user


@pytest.mark.parametrize("prices", [None, Price(read=0.1, write=1.25)])
@pytest.mark.parametrize("wire", EVERY_WIRE, ids=lambda wire: wire.NAME)
def test_old_results_are_not_cleared_at_every_turn(prices: Price | None, wire: Any) -> None:
    """S-CACHE-01: a hundred turns: each payload extends the one before or names its epoch; breaks are rare."""
    session = fresh(Policy.coding(admission=RAW, prices=prices))
    session.record(user("Begin."))
    last: dict[str, Any] = {}
    breaks = sent = cached = 0
    for number in range(100):
        session.record(*pair(number, 1_200))
        request = checked(session, wire, window=200_000, system="Be careful.")
        now = request.payload()
        if last and not goes_on(last, now):
            assert request.report.epoch, f"turn {number} broke the prefix and names no epoch"
            breaks += 1
        else:
            cached += len(payload_bytes(last)) if last else 0
        sent, last = sent + len(payload_bytes(now)), now
    assert 1 <= breaks <= 15
    assert cached > 0.6 * sent, "most of what is sent was sent before"


@pytest.mark.parametrize("preset", [Policy.coding, Policy.chat])
@pytest.mark.parametrize("wire", EVERY_WIRE, ids=lambda wire: wire.NAME)
def test_the_static_prefix_is_the_same_before_and_after_ten_compactions(preset: Any, wire: Any) -> None:
    """S-CACHE-03: static blocks, then the record, then the tail."""
    system = "Static block. " * 500
    tools = [
        {
            "name": "read",
            "description": "Reads a file.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        }
    ]
    session = fresh(preset(admission=RAW, budget={"target_tokens": 6_000}))
    session.record(user("Begin."))
    heads = set()
    for turn in range(10):
        session.record(
            *pairs_of(12, 500, start=turn * 20), assistant(f"Part {turn} is done."), user(f"Part {turn + 1}.")
        )
        session.compact(force=True, window=128_000)
        payload = checked(session, wire, system=system, tools=tools, window=128_000).payload()
        flat = system_of(payload)
        assert flat.startswith(system)
        heads.add((flat[: len(system)], str(payload["tools"])))
        if not session.control.history():
            continue
        rest = flat[len(system) :] + str(conversation(payload))
        assert rest.index("foldmark-checkpoint") < rest.index(f"Part {turn + 1}.")
    assert len(heads) == 1
    assert len(session.control.history()) >= 8


def bill(session: Session, events: Sequence[Event], window: int) -> tuple[float, int]:
    """What the requests of a growing log cost at a cache that reads at 0.1 and writes at 1.25, and the epochs between
    compactions."""
    cost, epochs, last = 0.0, 0, list[Event]()
    for event in events:
        session.record(event)
        if event.role not in ("user", "tool"):
            continue
        request = session.request(window=window)
        epochs += request.report.epoch.startswith("over ")
        shown = list(request.messages)
        same = next((at for at, (a, b) in enumerate(zip(last, shown, strict=False)) if a.parts != b.parts), len(last))
        sizes = [message.tokens + 4 for message in shown]
        cost += 0.1 * sum(sizes[:same]) + 1.25 * sum(sizes[same:])
        last = shown
    return cost, epochs


def reads(count: int) -> list[Event]:
    """Nothing but reads of other files."""
    return [user("Read all."), *pairs_of(count, 700)]


def mixed(count: int) -> list[Event]:
    """Prose that nobody can open again between results that may leave."""
    events: list[Event] = [user("Do it.")]
    for number in range(count):
        events += pair(number, (60, 900, 200)[number % 3], say=f"I think about {number}: " + "so and so, " * 40)
        if number % 7 == 6:
            events.append(user(f"Go on with part {number}. " + "It matters. " * 20))
    return events


@pytest.mark.parametrize(("trigger", "landing"), [(6_000, 2_000), (20_000, 6_000), (48_000, 16_000)])
@pytest.mark.parametrize("work", [reads, mixed])
def test_cleanup_between_compactions_never_costs_more_cache_than_it_saves(
    work: Callable[[int], list[Event]], trigger: int, landing: int
) -> None:
    """S-CACHE-01: pruning happens only when the simulated cost says that it pays: the bill with it is at most 2% above
    the bill without."""
    budget = {"trigger_tokens": trigger, "landing_tokens": landing, "nothing_below": 0}
    events = work(110)
    on, epochs = bill(fresh(Policy.coding(budget=budget, admission=RAW)), events, 200_000)
    without = Policy.coding(budget=budget, admission=RAW, cleanup={"minimum_share": 1.0})
    off, none = bill(fresh(without), events, 200_000)
    assert on <= 1.02 * off
    assert none == 0
    assert epochs or trigger < 48_000, "where there is room for an epoch to pay, one begins"
