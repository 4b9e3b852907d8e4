"""Cuts texts to a number of tokens and records into parts that fit. Knows nothing of prompts, models or events.

Nothing is dropped: every record is in exactly one part, in order, and what is left out of one is said in its place.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from foldmark import tokens
from foldmark.kinds.cuts import word_border
from foldmark.narrative import Record
from foldmark.refs import event_ref
from foldmark.tokens import TokenCounter

LEAST_RECORD = 32
"""Tokens that a record keeps however long the past is: its ref and the first line of most."""

WEIGHTS = {"user": 4, "agent": 2}
"""How much more of a record is kept than of a tool result when all must be shortened: what the user said is never said
again, and a result can be opened."""

_WIDEST = 16
"""Characters per token that no text but blanks reaches on average: longer texts are cut before they are counted."""
_GAP_TOKENS = 24
_LOOK = 200  # characters back from a cut in which a word's end is looked for


def fits(text: str, most: int, count: TokenCounter) -> bool:
    """Whether a text costs at most so many tokens; a text far too long is not counted."""
    return len(text) <= most * _WIDEST * 4 and count(text) <= most


def beginning(text: str, most: int, count: TokenCounter = tokens.count) -> str:
    """The longest beginning of a text within `most` tokens (nearly), cut where a word ends when one ends there."""
    if most < 1:
        return ""
    if fits(text, most, count):
        return text
    size = min(len(text), most * _WIDEST)
    while size:
        head = text[:size]
        border = word_border(text[max(0, size - _LOOK) : size + 1], min(_LOOK, size))
        whole_words = head[: max(0, size - _LOOK) + border].rstrip() if border else head
        cost = count(whole_words)
        if cost <= most:
            return whole_words
        size = min(size - 1, max(int(size * most / cost), size // 8))
    return ""


def ending(text: str, most: int, count: TokenCounter = tokens.count) -> str:
    """The end of a text within `most` tokens (nearly), begun where a word begins when one does there."""
    if most < 1:
        return ""
    if fits(text, most, count):
        return text
    size = min(len(text), most * _WIDEST)
    while size:
        tail = text[len(text) - size :]
        _, blank, rest = tail[:_LOOK].partition(" ")
        whole_words = tail[len(tail[:_LOOK]) - len(rest) :] if blank else tail
        cost = count(whole_words)
        if cost <= most:
            return whole_words
        size = min(size - 1, max(int(size * most / cost), size // 8))
    return ""


def both_ends(text: str, most: int, ref: str, count: TokenCounter = tokens.count) -> str:
    """A text within `most` tokens: itself, or two thirds of its beginning and a third of its end, and between them how
    much is not shown and where it is."""
    if fits(text, most, count):
        return text
    room = most - _GAP_TOKENS
    if room < _GAP_TOKENS:
        head = beginning(text, most - 2, count)
        return f"{head} …" if head else beginning("…", most, count)
    head, tail = beginning(text, room * 2 // 3, count), ending(text, room // 3, count)
    left = len(text) - len(head) - len(tail)
    shown = f"{head}\n… {left:,} characters not shown: load {ref} …\n{tail}"
    return shown if count(shown) <= most else beginning(shown, most, count)


def shortened(record: Record, most: int, count: TokenCounter = tokens.count) -> Record:
    """The record within `most` tokens: its first line, the first lines of its calls, then lines of both ends."""
    if record.tokens <= most:
        return record
    gap = f"… shortened: load {event_ref(record.seq)} …"
    lines = record.text.split("\n")
    room = most - count(gap) - 1
    if room < count(f"[{event_ref(record.seq)} ") + 2:
        text = beginning(record.text, most, count)
        return msgspec.structs.replace(record, text=text, tokens=count(text))
    chosen: dict[int, str] = {}
    tag = f"[{event_ref(record.seq)} "
    for at in _wanted(lines, tag):
        line = lines[at]
        cost = count(line) + 3 if len(line) <= room * _WIDEST else room + 1  # a line break, and `…` before a leap
        if cost > room:
            if not chosen or line.startswith(tag):
                line = beginning(line, min(room - 3, max(LEAST_RECORD, room // 2) if chosen else room - 3), count)
                cost = count(line) + 3
            if cost > room or not line:
                continue
        chosen[at] = line
        room -= cost
        if room < 6:
            break
    text = _shown(chosen, gap)
    if count(text) > most:
        text = beginning(text, most, count)
    return msgspec.structs.replace(record, text=text, tokens=count(text))


def _wanted(lines: Sequence[str], tag: str) -> list[int]:
    """Places of lines, most wanted first: the first, those of calls, then two of the beginning for one of the end."""
    heads = [at for at, line in enumerate(lines) if at == 0 or line.startswith(tag)]
    first, last, rest = 1, len(lines) - 1, list[int]()
    while first <= last:
        rest += [first] if first + 1 > last else [first, first + 1]
        first += 2
        if first <= last:
            rest.append(last)
            last -= 1
        if len(rest) > 4_000:  # no room is wider than that in lines
            break
    return list(dict.fromkeys([*heads, *rest]))


def _shown(chosen: dict[int, str], gap: str) -> str:
    out: list[str] = []
    last = -1
    for at in sorted(chosen):
        if at > last + 1:
            out.append("…")
        out.append(chosen[at])
        last = at
    return "\n".join([*out, gap])


def joined(part: Sequence[Record]) -> str:
    """The records of a part as one text, each from a line of its own on."""
    return "\n".join(record.text for record in part)


def parts_of(
    records: Sequence[Record], room_tokens: int, most: int, *, count: TokenCounter = tokens.count
) -> list[list[Record]]:
    """The records in order, whole, in as few parts as `room_tokens` each allow.

    When that would be more than `most` parts, all records are shortened harder, a user's words least, until they fit;
    none below 32 tokens: a past too long even so gives more parts than `most`. A record larger than the room alone is
    shortened to it. Raises ValueError when there is no room at all.
    """
    if not records:
        return []
    if room_tokens < 1:
        raise ValueError(f"There are {room_tokens} tokens for records; a part needs at least one.")
    cap = _cap(records, room_tokens, most)
    fitted = [shortened(record, _limit(record, cap, room_tokens), count) for record in records]
    return _packed(fitted, room_tokens)


def _limit(record: Record, cap: int, room: int) -> int:
    return min(room, cap * WEIGHTS.get(record.role, 1))


def _cap(records: Sequence[Record], room: int, most: int) -> int:
    """The most tokens of a plain record with which all records are in at most `most` parts; at least 32."""

    def parts(cap: int) -> int:
        return _number(records, cap, room)

    low, high = LEAST_RECORD, max([LEAST_RECORD, *(record.tokens for record in records)])
    if parts(high) <= most:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if parts(middle) <= most else (low, middle - 1)
    return low


def _number(records: Sequence[Record], cap: int, room: int) -> int:
    """How many parts records of at most these sizes take, filled in order."""
    number, left = 0, -1
    for record in records:
        size = min(record.tokens, _limit(record, cap, room))
        if left < size:
            number, left = number + 1, room
        left -= size + 1
    return number


def _packed(records: Sequence[Record], room: int) -> list[list[Record]]:
    parts: list[list[Record]] = []
    left = -1
    for record in records:
        if left < record.tokens:
            parts.append([])
            left = room
        parts[-1].append(record)
        left -= record.tokens + 1  # the line break in front of the next one
    return parts
