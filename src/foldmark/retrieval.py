"""Recall: what search indexes, how matches are ranked, what a hit shows, what is loaded around a ref.

Knows nothing of where pieces are kept. Ranking needs the matches and their statistics alone, so every store
ranks alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from math import log

import msgspec

from foldmark.artifacts import Artifacts
from foldmark.errors import NotFound
from foldmark.events import Event, Reading, ToolCall
from foldmark.readings import call_text, with_calls
from foldmark.refs import Ref, event_ref
from foldmark.salience.names import trouble_lines
from foldmark.store import Finding, Found, Key, Piece, Store
from foldmark.words import telling, words

PIECE_CHARACTERS = 1_200
"""Smaller pieces lose the question's words, larger ones dilute them (measured: 1,200 beat 1,500 and whole
events)."""
HEAD_CHARACTERS = 300
"""How much of a call's arguments stands beside its result."""
SNIPPET_CHARACTERS = 400
PAGE_CHARACTERS = 8_000
INDEXED_CHARACTERS = 1_048_576
"""Of a larger text the first and last half of this much are indexed, and between them the lines of trouble."""
TROUBLE_CHARACTERS = 262_144

_K1, _B = 0.9, 0.4  # BM25 for short pieces (measured on dialogue: +.03 MRR over 1.2 / .75)
_RERANKED = 150
_NEIGHBOUR = 0.3
_NAME = re.compile(r"[\w][\w./:@#-]*\w")
_LINE_NUMBER = re.compile(r"^\s*\d+[\t→|:]\s?")


class Hit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer of a search: `ref` opens the event, `at` the very lines; `session` is empty inside the
    lineage."""

    ref: str
    date: str
    speaker: str
    snippet: str
    score: float
    session: str = ""
    at: str = ""


class Loaded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What stands behind a ref: events, or a page of text. `next` is the ref to go on with, empty at the end: the next
    page, or the whole body of an event that shows a preview."""

    ref: str
    events: tuple[Event, ...] = ()
    text: str = ""
    next: str = ""


class Ranked(msgspec.Struct, frozen=True):
    """A match with its score; `first` to `last` are the piece's lines (0-based) that earned it."""

    found: Found
    score: float
    first: int = 0
    last: int = 0


# What is indexed


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


# Ranking


def rank(finding: Finding, query: str) -> list[Ranked]:
    """Matches, best first; one per event, near-equal ones once, newer first among equals.

    First BM25 over pieces, then the best are judged by the pair of neighbouring lines that holds most of the
    query: a piece that holds two of its words far apart is a poorer answer than one that holds them together.
    """
    tokens = telling(words(query))
    weights = {term: _rarity(finding.frequencies.get(term, 0), finding.pieces) for term in tokens}
    names = [name.casefold() for name in dict.fromkeys(_NAME.findall(query[:10_000])) if _is_identifier(name)]
    judged = _with_neighbours([_judge(found, weights, names) for found in finding.found[:_RERANKED]])
    judged.sort(key=lambda ranked: (ranked.score, ranked.found.event.seq), reverse=True)
    out: list[Ranked] = []
    seen: set[object] = set()
    for ranked in judged:
        where = (ranked.found.event.session, ranked.found.event.seq)
        lines = _lines(ranked.found.piece)[ranked.first : ranked.last + 1]
        shown = frozenset(" ".join(_LINE_NUMBER.sub("", line).split()) for line in lines)
        if ranked.score <= 0 or where in seen or shown in seen:
            continue
        seen.update((where, shown))
        out.append(ranked)
    return out


def _with_neighbours(judged: list[Ranked]) -> list[Ranked]:
    """What was said raises what was said just before and after it: an answer seldom repeats its question's words.

    Only among words of users and agents. On dialogue it lifts the top ten from 64 to 72%; among tool results,
    whose neighbours are other things, it did harm.
    """
    said: dict[tuple[str, int], float] = {}
    for ranked in judged:
        event = ranked.found.event
        if event.role in ("user", "assistant") and not event.calls:
            where = (event.session, event.seq)
            said[where] = max(said.get(where, 0.0), ranked.score)
    out: list[Ranked] = []
    for ranked in judged:
        session, seq = ranked.found.event.session, ranked.found.event.seq
        near = sum(said.get((session, seq + step), 0.0) for step in (-2, -1, 1, 2))
        raised = round(ranked.score + _NEIGHBOUR * near, 4)
        out.append(msgspec.structs.replace(ranked, score=raised) if near and (session, seq) in said else ranked)
    return out


def _rarity(frequency: int, total: int) -> float:
    return log(1 + (max(total, frequency) - frequency + 0.5) / (frequency + 0.5))


def _is_identifier(name: str) -> bool:
    """A word of the query that stands for one thing: a path, an id, a number, a symbol."""
    return len(name) > 2 and (any(c.isdigit() or c in "_./:@#-" for c in name) or name[1:].lower() != name[1:])


def _judge(found: Found, weights: dict[str, float], names: Sequence[str]) -> Ranked:
    lines = [_hits(line, weights) for line in _lines(found.piece)]
    head = _hits(found.piece.head, weights)
    counts: dict[str, int] = {}
    for line in (*lines, head):
        for term, times in line.items():
            counts[term] = counts.get(term, 0) + times
    length = _K1 * (1 - _B + _B * len(found.piece.text) / PIECE_CHARACTERS)
    score = sum(weights[term] * times * (_K1 + 1) / (times + length) for term, times in counts.items())
    best, first = -1.0, 0
    for place in range(len(lines)):
        pair = {**lines[place], **(lines[place + 1] if place + 1 < len(lines) else {})}
        alone = sum(weights[term] for term in lines[place])
        both = sum(weights[term] for term in pair) + 0.5 * sum(weights[t] for t in head if t not in pair)
        if both + 0.1 * alone > best + 1e-9:
            best, first = both + 0.1 * alone, place
    text = found.piece.text.casefold()
    phrases = sum(1.0 for name in names if name in text) * max(weights.values(), default=0.0)
    last = min(first + 1, len(lines) - 1)
    return Ranked(found, round(best + 0.3 * score + 0.5 * phrases, 4), first, max(first, last))


def _hits(text: str, weights: dict[str, float]) -> dict[str, int]:
    out: dict[str, int] = {}
    tokens = words(text)
    if weights.keys().isdisjoint(tokens):  # most lines: answered without a loop
        return out
    for word in tokens:
        if word in weights:
            out[word] = out.get(word, 0) + 1
    return out


def _lines(piece: Piece) -> list[str]:
    return piece.text.split("\n")


# What a hit shows


def snippets(ranked: Sequence[Ranked], query: str) -> list[Hit]:
    """Hits with the lines that matched; `score` as ranked."""
    tokens = set(telling(words(query)))
    return [_hit(each, tokens) for each in ranked]


def _hit(ranked: Ranked, tokens: set[str]) -> Hit:
    found, event, piece = ranked.found, ranked.found.event, ranked.found.piece
    return Hit(
        ref=event_ref(event.seq, found.session),
        date=_date(event.time),
        speaker=_speaker(event, piece),
        snippet=_snippet(ranked, tokens),
        score=ranked.score,
        session=found.session,
        at=_address(ranked),
    )


def _address(ranked: Ranked) -> str:
    piece = ranked.found.piece
    span = (piece.line + ranked.first, piece.line + ranked.last)
    session, seq = ranked.found.session, str(piece.seq)
    if piece.number:
        return str(Ref("artifact", seq, session, piece.number, lines=span))
    return str(Ref("event", seq, session, lines=span))


def _snippet(ranked: Ranked, tokens: set[str]) -> str:
    """The lines that earned the score and what fits of their neighbours, line by line outwards."""
    lines = _lines(ranked.found.piece)
    first, last = ranked.first, ranked.last
    size = sum(len(line) + 1 for line in lines[first : last + 1])
    if size > SNIPPET_CHARACTERS:
        return _window("\n".join(lines[first : last + 1]), tokens)
    while True:
        grown = False
        if last + 1 < len(lines) and size + len(lines[last + 1]) < SNIPPET_CHARACTERS:
            last, grown = last + 1, True
            size += len(lines[last]) + 1
        if first and size + len(lines[first - 1]) < SNIPPET_CHARACTERS:
            first, grown = first - 1, True
            size += len(lines[first]) + 1
        if not grown:
            return "\n".join(lines[first : last + 1]).strip("\n")


def _window(text: str, tokens: set[str]) -> str:
    """The stretch of a long text that holds most of the query's tokens."""
    places = [found.start() for found in _NAME.finditer(text) if not tokens.isdisjoint(words(found[0]))]
    best, start = 0, 0
    for place in places:
        inside = sum(place <= other < place + SNIPPET_CHARACTERS - 80 for other in places)
        if inside > best:
            best, start = inside, max(0, place - 60)
    end = start + SNIPPET_CHARACTERS
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")


def _speaker(event: Event, piece: Piece) -> str:
    if event.role == "tool":
        name = (event.result.name if event.result else "") or piece.head.partition(" ")[0]
        return f"tool {name}".strip()
    return "injected" if event.role == "user" and event.origin != "user" else event.role


def _date(time: float | None) -> str:
    if time is None:
        return ""
    try:
        return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return ""


# Loading


def widen(store: Store, key: Key, seq: int, before: int = 0, after: int = 0) -> tuple[Event, ...]:
    """The event with so many shown events before and after it. Raises NotFound.

    Control events are passed over; an event that is one itself is given alone.
    """
    event = store.event(key, str(seq))
    out = [event]
    if event.role == "control":
        return (event,)
    place, head = seq - 1, store.view(key).head if after else seq
    while before > 0 and place > 0:
        found = [each for each in store.log(key, max(1, place - before + 1), place) if each.role != "control"]
        out[:0] = found[-before:]
        place, before = place - before, before - len(found[-before:])
    place = seq + 1
    while after > 0 and place <= head:
        found = [each for each in store.log(key, place, place + after - 1) if each.role != "control"]
        out += found
        place, after = place + after, after - len(found)
    return tuple(out)


def read_page(artifacts: Artifacts, tenant: str, sha256: str, ref: Ref, limit: int = PAGE_CHARACTERS) -> Loaded:
    """A page of a body: the ref's lines or bytes (or all), at most `limit` characters, cut at a line where
    there is one. Pages joined give the body again. Raises NotFound."""
    size, count = artifacts.size(tenant, sha256)
    if (ref.lines and ref.lines[0] > max(count, 1)) or (ref.bytes and ref.bytes[0] > size):
        raise NotFound(str(ref), f"{ref} is behind the end: there are {count:,} lines, {size:,} bytes.")
    start, stop = ref.bytes or (artifacts.span(tenant, sha256, *ref.lines) if ref.lines else (0, size))
    stop = min(stop, size)
    data = artifacts.read(tenant, sha256, start, min(stop, start + 4 * limit))
    more = start + len(data) < stop
    text, encoding = _decode(data, limit, more=more)
    if more or len(text.encode(encoding, "surrogatepass")) < len(data):
        text = text[: text.rfind("\n") + 1] or text
    used = len(text.encode(encoding, "surrogatepass"))
    end = start + used
    rest = msgspec.structs.replace(ref, lines=None, bytes=(end, stop))
    return Loaded(ref=str(ref), text=text, next=str(rest) if used and end < stop else "")


def _decode(data: bytes, limit: int, *, more: bool) -> tuple[str, str]:
    """(text of at most `limit` characters, its encoding); a character cut by the end of `data` waits."""
    for short in range(4 if more else 1):
        try:
            return data[: len(data) - short].decode("utf-8", "surrogatepass")[:limit], "utf-8"
        except UnicodeDecodeError:
            continue
    return data[:limit].decode("latin-1"), "latin-1"  # no UTF-8: a character a byte, so that nothing is lost
