"""Generated sessions for the properties of the fault kinds: what happens, under which policy, and when it is compacted.

A story is a list of moves, plain data; `told` makes the events. So a case of the fault list is written as a short
story too, and stands as an example beside the generated ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st
from scenes import RAW, fresh, lines_of

from foldmark import BudgetExceeded, Policy, Price, Session
from foldmark.drafts import Request
from foldmark.events import Event, Image, Reasoning, Text, ToolCall, assistant, control, injected, result, user
from foldmark.wire import WIRES

Move = tuple[str, int]
"""(what happens, a size: tokens of a result, or how many calls)."""

MOVES = (
    "user", "say", "call", "call", "call", "batch", "late", "later", "lost", "half", "orphan", "twice", "again",
    "note", "control", "between", "approval", "silent", "image", "thought", "paste",
)  # fmt: skip
sizes = st.sampled_from([1, 3, 40, 150, 700, 2_000])
moves = st.lists(st.tuples(st.sampled_from(MOVES), sizes), min_size=8, max_size=32)


def told(story: Sequence[Move], start: int = 1) -> list[Event]:
    """The events of a story. Results that are late or missing belong to the calls that wait."""
    events: list[Event] = []
    waiting: list[ToolCall] = []
    for number, (what, size) in enumerate(story, start):
        more, waits = happens(what, size, number, waiting)
        events += more
        waiting += waits
    return events


def happens(what: str, size: int, number: int, waiting: list[ToolCall]) -> tuple[list[Event], list[ToolCall]]:
    """(events, calls that got no result yet). Takes the oldest waiting call where a result is late."""

    def call(at: int = 0, name: str = "read") -> ToolCall:
        return ToolCall(f"c{number}_{at}", name, json.dumps({"path": f"src/file_{number}_{at}.py"}))

    def answer(to: ToolCall, tokens: int = size) -> Event:
        return result(to.id, lines_of(tokens, f"r{number}"), name=to.name)

    one, many = call(), [call(at) for at in range(2 + size % 9)]
    step = assistant(f"Step {number}.", one)
    match what:
        case "user":
            return [user(f"Question {number}? {lines_of(min(size, 40), 'ask')}")], []
        case "say":
            return [assistant(f"Answer {number}. {lines_of(size, 'say')}")], []
        case "batch":
            return [assistant(f"Step {number}.", *many), *map(answer, reversed(many))], []
        case "half":
            return [assistant(f"Step {number}.", *many), *map(answer, many[: len(many) // 2])], many[len(many) // 2 :]
        case "lost":
            return [step], []
        case "late":
            return [step], [one]
        case "later":
            return ([answer(waiting.pop(0))] if waiting else []), []
        case "orphan":
            return [result(f"ghost{number}", lines_of(size, "ghost"))], []
        case "twice":
            return [step, answer(one), answer(one, size + 11)], []
        case "again":  # an id that was used before, in a step of its own
            old = ToolCall("again", "bash", '{"command":"ls"}')
            return [assistant(f"Step {number}.", old), result(old.id, lines_of(size, f"a{number}"), name="bash")], []
        case "note":
            return [injected(f"Note {number}.")], []
        case "control":
            return [control("setting", {"n": number})], []
        case "between":
            return [step, user(f"By the way {number}."), answer(one)], []
        case "approval":
            asked = call(0, "request_approval")
            return [assistant("May I?", asked)], [asked]
        case "silent":
            return [assistant("", *many), *map(answer, many)], []
        case "image":
            picture = Image(media_type="image/png", data="iVBORw0KGgo=")
            return [Event(role="user", origin="user", parts=(Text(f"Look {number}."), picture))], []
        case "paste":
            return [user(f"The log of {number} says:\n{lines_of(size * 8, 'log')}")], []
        case "thought":
            return [_thinking(number, size, one), answer(one, 60)], []
        case _:
            return [step, answer(one)], []


def _thinking(number: int, size: int, call: ToolCall) -> Event:
    """A step that thought first, signed as Anthropic signs it."""
    words = f"Thought {number}. " + "hm, so " * size
    signed = Reasoning(words, "anthropic", {"type": "thinking", "thinking": words, "signature": f"c2ln{number:04}"})
    hidden = Reasoning("", "anthropic", {"type": "redacted_thinking", "data": f"b3Bh{number:04}"})
    return Event(role="assistant", origin="agent", parts=(signed, hidden, Text(f"Step {number}."), call))


class Setting(NamedTuple):
    """Under what a story is lived: the policy's sizes, the wire, and after how many events a request is asked for."""

    target: int = 1_500
    window: int = 12_000
    share: float = 0.2
    place: str = "user"
    raw: bool = False
    demote: bool = True
    wire: int = 0
    every: int = 3
    force: int = 2
    """A compaction is forced before each request (1), each second one (2) and so on; 0 never."""
    pin: int = 0
    """The newest event is pinned before each so manieth request; 0 never."""
    bar: bool = False
    priced: bool = False

    @property
    def policy(self) -> Policy:
        return Policy.coding(
            window=self.window,
            budget={"target_tokens": self.target},
            tail={"share": self.share},
            layout={"checkpoint": self.place, "state_bar": self.bar},
            prices=Price(read=0.1, write=1.25) if self.priced else None,
            admission=RAW if self.raw else {"limit_tokens": 200, "inline_bytes": 300},
            cleanup={} if self.demote else {"demote": False, "superseded": False, "duplicates": False},
        )


settings_of = st.builds(
    Setting,
    target=st.sampled_from([900, 1_500, 4_000, 60_000]),
    window=st.sampled_from([4_000, 6_000, 12_000, 30_000]),
    share=st.sampled_from([0.0, 0.2, 0.9]),
    place=st.sampled_from(["user", "user", "system"]),
    raw=st.booleans(),
    demote=st.booleans(),
    wire=st.integers(0, len(WIRES) - 1),
    every=st.integers(1, 7),
    force=st.integers(0, 3),
    pin=st.sampled_from([0, 0, 3]),
    bar=st.booleans(),
    priced=st.booleans(),
)

SYSTEM = "Rules of the house: be careful."


def lived(
    events: Sequence[Event], setting: Setting, session: Session | None = None, **options: Any
) -> Iterator[tuple[Session, Request]]:
    """Record a story bit by bit, ask for a request after each bit, compact now and then. A request that cannot be made
    small enough is left out here: what holds for the error stands with the kind FIT."""
    session = session or fresh(setting.policy)
    chunks = [events[at : at + setting.every] for at in range(0, len(events), setting.every)] or [()]
    for number, chunk in enumerate(chunks, 1):
        recorded = session.record(*chunk)
        if setting.pin and number % setting.pin == 0 and recorded.ref:
            session.control.pin(recorded.ref)
        try:
            if setting.force and number % setting.force == 0:
                session.compact(force=True)
            yield session, session.request(wire=WIRES[setting.wire], **{"system": SYSTEM, **options})
        except BudgetExceeded:
            continue
