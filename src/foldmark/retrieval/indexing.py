"""What search indexes: events in pieces, with the call that a result answers. Knows nothing of ranking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foldmark.events import Event, Reading, ToolCall
from foldmark.readings import call_text, with_calls
from foldmark.salience.names import trouble_lines
from foldmark.seeking import Piece

PIECE_CHARACTERS = 1_200
"""Smaller pieces lose the question's words, larger ones dilute them (measured: 1,200 beat 1,500 and whole
events)."""
HEAD_CHARACTERS = 300
"""How much of a call's arguments stands beside its result."""
INDEXED_CHARACTERS = 1_048_576
"""Of a larger text the first and last half of this much are indexed, and between them the lines of trouble."""
TROUBLE_CHARACTERS = 262_144


def pieces(readings: Sequence[Reading]) -> list[Piece]:
    """Every event in pieces cut at line borders; joined, an event's pieces give its whole text again,
    followed by its calls. A result's pieces carry the call it answers."""
    out: list[Piece] = []
    for reading in readings:
        event = reading.event
        if event.role == "control":
            continue
        head = _call_head(reading.call) if reading.call else ""
        number = _artifact_number(event)
        for order, (line, text) in enumerate(_cut_whole(with_calls(reading.text, reading.calls))):
            end = line + text.count("\n", 0, len(text) - 1)
            out.append(Piece(event.seq, order, text, line, end, number, head))
    return out


def _call_head(call: ToolCall) -> str:
    return " ".join(call_text(call).split())[:HEAD_CHARACTERS]


def _artifact_number(event: Event) -> int:
    """The artifact whose lines the pieces count, when the event's text is that body alone."""
    return event.artifacts[0].number if len(event.artifacts) == 1 and len(event.parts) == 1 else 0


def _cut_whole(text: str) -> Iterator[tuple[int, str]]:
    half = INDEXED_CHARACTERS // 2
    if len(text) <= 2 * half:
        yield from _cut(text, 0, len(text), 1)
        return
    yield from _cut(text, 0, half, 1)
    start = text.find("\n", len(text) - half) + 1 or len(text) - half
    at, line, room = 0, 1, TROUBLE_CHARACTERS
    for place, trouble in trouble_lines(text, half, start):
        line, at, room = line + text.count("\n", at, place), place, room - len(trouble)
        if room < 0:
            break
        yield line, trouble
    yield from _cut(text, start, len(text), 1 + text.count("\n", 0, start))


def _cut(text: str, start: int, stop: int, line: int) -> Iterator[tuple[int, str]]:
    """(1-based line, piece): at the last line break within reach, else at a space, else anywhere."""
    while start < stop:
        end = start + PIECE_CHARACTERS
        if end >= stop:
            end = stop
        else:
            end = text.rfind("\n", start, end) + 1 or text.rfind(" ", start + PIECE_CHARACTERS // 2, end) + 1 or end
        yield line, text[start:end]
        line += text.count("\n", start, end)
        start = end
