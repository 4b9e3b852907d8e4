"""CACHE: the stable part of a request stays where it is, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest
from scenes import RAW, checked, fresh, pair, pairs_of

from foldmark import Policy, Price
from foldmark.drafts import payload_bytes
from foldmark.events import assistant, user
from foldmark.wire import anthropic, openai_chat


@pytest.mark.parametrize("prices", [None, Price(read=0.1, write=1.25)])
def test_old_results_are_not_cleared_at_every_turn(prices: Price | None) -> None:
    """S-CACHE-01: a hundred turns: each payload extends the one before or names its epoch; breaks are rare."""
    session = fresh(Policy.coding(admission=RAW, prices=prices))
    session.record(user("Begin."))
    last, breaks, sent, cached = b"", 0, 0, 0
    for number in range(100):
        session.record(*pair(number, 1_200))
        request = checked(session, window=200_000, system="Be careful.")
        now = payload_bytes(request.payload())
        if last and not now.startswith(last.removesuffix(b"]}")):
            assert request.report.epoch, f"turn {number} broke the prefix and names no epoch"
            breaks += 1
        else:
            cached += len(last)
        sent, last = sent + len(now), now
    assert 1 <= breaks <= 15
    assert cached > 0.6 * sent, "most of what is sent was sent before"


@pytest.mark.parametrize("preset", [Policy.coding, Policy.chat])
@pytest.mark.parametrize("wire", [openai_chat, anthropic])
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
        static = payload["system"] if wire is anthropic else payload["messages"][0]["content"]
        flat = static if isinstance(static, str) else "".join(block["text"] for block in static)
        assert flat.startswith(system)
        heads.add((flat[: len(system)], str(payload["tools"])))
        if not session.control.history():
            continue
        rest = flat[len(system) :] + str(payload["messages"])
        assert rest.index("foldmark-checkpoint") < rest.index(f"Part {turn + 1}.")
    assert len(heads) == 1
    assert len(session.control.history()) >= 8
