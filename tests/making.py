"""Small made-up conversations for tests, recorded with sizes as the store would give them."""

from __future__ import annotations

import msgspec

from foldmark.drafts import priced
from foldmark.events import Event, ToolCall, assistant, chained, result, user


def numbered(*events: Event) -> list[Event]:
    """Events as a store returns them: seq, session, fingerprints, tokens."""
    return [
        priced(msgspec.structs.replace(event, seq=event.seq or at, session="s", id=event.id or f"e{at}"))
        for at, event in enumerate(chained(events), 1)
    ]


def call(name: str = "read", number: int | str = 1, arguments: str = '{"path":"a.py"}') -> ToolCall:
    return ToolCall(f"c{number}", name, arguments)


def tool_round(number: int, text: str = "some output", *, say: str = "", name: str = "read") -> list[Event]:
    """An assistant step with one call and its result."""
    made = call(name, number, f'{{"path":"src/file_{number}.py"}}')
    return [assistant(say or f"Step {number}.", made), result(made.id, text, name=name)]


def long_session(rounds: int = 60, lines: int = 40, *, ask: str = "Fix the duplicate charges.") -> list[Event]:
    """One user turn with many tool rounds, each result with `lines` lines of its own words."""
    events: list[Event] = [user(ask)]
    for number in range(1, rounds + 1):
        body = "\n".join(
            f"{line:4}\tvalue_{number}_{line} = charge({number * 100 + line})  # ledger row {line} of file {number}"
            for line in range(lines)
        )
        events += tool_round(number, body)
    return events
