"""A made-up session of about 60,000 tokens with five facts in its first tenth. Knows nothing of who asks for them."""

from __future__ import annotations

import json
import random
from typing import Any, NamedTuple

from foldmark.events import Event, ToolCall, assistant, result, user
from foldmark.policy import Policy
from foldmark.session import Session

PLACES = ["harbour", "meadow", "orchard", "quarry", "station", "market", "bridge", "garden", "tower", "mill"]
THINGS = ["invoice", "parcel", "ledger", "ticket", "shipment", "contract", "sensor", "gateway", "backup", "report"]
DOINGS = ["checked", "moved", "counted", "renamed", "reviewed", "archived", "measured", "painted", "repaired", "sorted"]


class Fact(NamedTuple):
    """What was said once, early; the question holds none of the `answer`."""

    said: Event
    question: str
    answer: str


def facts() -> list[Fact]:
    """One of every sort: a user's word, a decision, a line in a tool's result, a value in JSON, a failed attempt."""
    return [
        Fact(
            user("By the way, Ines Okafor signs for the harbour contract."), "Who signs the harbour contract?", "Okafor"
        ),
        Fact(
            assistant("I settle on a pool of 37 connections for the orchard gateway."),
            "How large is the pool that we settled on for the orchard gateway?",
            "37 connections",
        ),
        Fact(
            result("f1", "mill.cfg\nretry_limit = 6\nquarry_port = 48213\nlog = quiet\n", name="read_file"),
            "Which port does the quarry have in mill.cfg?",
            "48213",
        ),
        Fact(
            result("f2", json.dumps({"tower": {"sensor": {"serial": "TX-90417-B", "ok": True}}}), name="get_sensor"),
            "What is the serial of the tower sensor?",
            "TX-90417-B",
        ),
        Fact(
            assistant("Restarting the market backup did not help: it dies with exit code 137, out of memory."),
            "Why did restarting the market backup not help?",
            "out of memory",
        ),
    ]


def lived(store: Any) -> Session:
    """A session of about 60,000 tokens whose facts stand in its first tenth."""
    rng = random.Random(11)
    session = Session("long", store=store, policy=Policy.coding(run="manual"))

    def filler(words: int) -> str:
        return " ".join(f"{rng.choice(DOINGS)} {rng.choice(THINGS)} {rng.randrange(100)}" for _ in range(words))

    told = facts()
    for step in range(260):
        call = ToolCall(f"c{step}", "read_file", json.dumps({"path": f"{rng.choice(PLACES)}/{step}.txt"}))
        session.record(user(f"Step {step}: {filler(4)}"), assistant(filler(3), call))
        session.record(result(f"c{step}", filler(45), name="read_file"))
        if step % 5 == 4 and told:
            fact = told.pop(0)
            if fact.said.result:
                session.record(assistant("", ToolCall(fact.said.result.call_id, fact.said.result.name, "{}")))
            session.record(fact.said)
    assert not told
    return session
