"""Small made-up sessions for tests: numbered events, their readings, their facts."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from foldmark.checkpoint import Checkpoint, Fact, Mark, Unit
from foldmark.compose import write_checkpoint
from foldmark.events import Event, Reading, ToolCall, assistant, result
from foldmark.facts import facts_of
from foldmark.policy import Policy
from foldmark.readings import read
from foldmark.redact import redactor
from foldmark.salience import Tally, rank_names, units_and_counts
from foldmark.store import Calls
from foldmark.store.calls import answers

State = dict[tuple[str, str], Fact]
SECRET = b"a key for tests"


def numbered(events: Sequence[Event], start: int = 1) -> list[Event]:
    return [msgspec.structs.replace(event, seq=start + i) for i, event in enumerate(events)]


def best_units(readings: Sequence[Reading], tally: Tally) -> list[Unit]:
    """The units worth storing; the given counts stay as they are."""
    return units_and_counts(readings, tally.copy())[0]


def call(name: str, number: int = 1, **arguments: object) -> ToolCall:
    return ToolCall(f"call-{name}-{number}", name, json.dumps(arguments, ensure_ascii=False))


def used(
    name: str, text: str, *, number: int = 1, says: str = "", error: bool = False, **arguments: object
) -> list[Event]:
    """An assistant step with one call, and its result."""
    made = call(name, number, **arguments)
    return [assistant(says, made), result(made.id, text, name=name, is_error=error)]


def readings(events: Sequence[Event], start: int = 1) -> list[Reading]:
    told = numbered(events, start)
    return read(told, [], answers(told, Calls()), redactor(SECRET))


def facts_from(events: Sequence[Event]) -> tuple[list[Fact], State]:
    facts = facts_of(readings(events), {})
    return facts, state_of(facts)


def state_of(facts: Sequence[Fact], upto: int | None = None) -> State:
    return {(fact.kind, fact.key): fact for fact in facts if upto is None or fact.seq <= upto}


def checkpoint_of(events: Sequence[Event], tokens: int = 4_000, *, version: int = 1, focus: str = "") -> Checkpoint:
    """A checkpoint over all events, with units and names as recording would have stored them."""
    read_events, tally, units = readings(events), Tally(), list[Unit]()
    for reading in read_events:
        units += best_units([reading], tally)
        tally.add(reading.event, reading.text, reading.calls)
    facts = facts_of(read_events, {})
    return write_checkpoint(
        version=version, boundary=len(events), mark=Mark(), state=state_of(facts), facts=facts, units=units,
        names=rank_names(tally, len(events), 200), landing_tokens=tokens, policy=Policy.coding(), focus=focus,
        now=0.0,
    )  # fmt: skip
