"""What a hit shows: ref, date, speaker, the lines that matched and why. Knows nothing of stores."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec

from foldmark.dates import written
from foldmark.events import Event
from foldmark.refs import Ref, event_ref, parse
from foldmark.retrieval.asking import Question
from foldmark.retrieval.ranking import Ranked
from foldmark.retrieval.reasons import why
from foldmark.seeking import Piece, speaker_role
from foldmark.words import places

SNIPPET_CHARACTERS = 400
_BEFORE, _BEHIND = 60, 20
"""What is shown of a long line at least before the first and behind the last word that matched."""


class Hit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer of a search: `ref` opens the event, `at` the very lines that the snippet is of; `session` is empty
    inside the lineage. `date` is when it happened, else when it was recorded live (UTC), empty where nobody knows;
    `why` says in a few words what matched."""

    ref: str
    date: str
    speaker: str
    snippet: str
    score: float
    session: str = ""
    at: str = ""
    why: str = ""


def snippets(ranked: Sequence[Ranked], asked: Question, also: Collection[str] = ()) -> list[Hit]:
    """Hits with the lines that matched; `score` as ranked. Of a long line the stretch with most tokens of the query, or
    of those `also` looked for, is shown."""
    tokens = {*asked.terms, *also}
    return [_hit(each, tokens, asked) for each in ranked]


def shortened(hit: Hit, characters: int) -> Hit:
    """A hit with so many characters of its snippet, under the range of what is left."""
    shown = hit.snippet[:characters].rstrip("\n")
    address = parse(hit.at)
    first = address.lines[0] if address.lines else 1
    lines = (first, first + shown.count("\n"))
    return msgspec.structs.replace(hit, snippet=f"{shown}…", at=str(msgspec.structs.replace(address, lines=lines)))


class _Shown(NamedTuple):
    """What is quoted of a piece, from its line `first` to `last` (0-based)."""

    text: str
    first: int
    last: int


def _hit(ranked: Ranked, tokens: set[str], asked: Question) -> Hit:
    found, event, piece = ranked.found, ranked.found.event, ranked.found.piece
    shown = _shown(ranked, tokens)
    return Hit(
        ref=event_ref(event.seq, found.session),
        date=_date(found.time),
        speaker=_speaker(event, piece),
        snippet=shown.text,
        score=ranked.score,
        session=found.session,
        at=_address(piece, found.session, shown),
        why=why(ranked, asked),
    )


def _address(piece: Piece, session: str, shown: _Shown) -> str:
    span = (piece.line + shown.first, piece.line + shown.last)
    if piece.number:
        return str(Ref("artifact", str(piece.seq), session, piece.number, lines=span))
    return str(Ref("event", str(piece.seq), session, lines=span))


def _shown(ranked: Ranked, tokens: set[str]) -> _Shown:
    """The lines that earned the score and what fits of their neighbours, line by line outwards."""
    lines = ranked.found.piece.text.split("\n")
    first, last = ranked.first, ranked.last
    size = sum(len(line) + 1 for line in lines[first : last + 1])
    if size > SNIPPET_CHARACTERS:
        return _window(lines, first, last, tokens)
    while True:
        grown = False
        if last + 1 < len(lines) and size + len(lines[last + 1]) < SNIPPET_CHARACTERS:
            last, grown = last + 1, True
            size += len(lines[last]) + 1
        if first and size + len(lines[first - 1]) < SNIPPET_CHARACTERS:
            first, grown = first - 1, True
            size += len(lines[first]) + 1
        if not grown:
            return _without_empty(lines, first, last)


def _without_empty(lines: Sequence[str], first: int, last: int) -> _Shown:
    """Lines without the empty ones at both ends."""
    while first < last and not lines[last]:
        last -= 1
    while first < last and not lines[first]:
        first += 1
    return _Shown("\n".join(lines[first : last + 1]), first, last)


def _window(lines: Sequence[str], first: int, last: int, tokens: set[str]) -> _Shown:
    """The stretch of long lines that holds most of the query's tokens; of several the one where they stand nearest
    together."""
    text = "\n".join(lines[first : last + 1])
    found = places(text, tokens)
    spans = [_span(found[at:]) for at in range(len(found))]
    _, _, place = max(spans, default=(0, 0, 0), key=lambda span: span[:2])
    start = max(0, place - _BEFORE)
    end = start + SNIPPET_CHARACTERS
    stretch = text[start:end]
    begin = first + text.count("\n", 0, start + len(stretch) - len(stretch.lstrip()))
    shown = stretch.strip()
    told = ("…" if start else "") + shown + ("…" if end < len(text) else "")
    return _Shown(told, begin, begin + shown.count("\n"))


def _span(found: Sequence[tuple[int, set[str]]]) -> tuple[int, int, int]:
    """(how many tokens stand in one snippet from the first place on, the characters to the last of them, negative; that
    first place)."""
    first, held, far = found[0][0], set[str](), 0
    for place, tokens in found:
        if place >= first + SNIPPET_CHARACTERS - _BEFORE - _BEHIND:
            break
        if not tokens <= held:
            held, far = held | tokens, place - first
    return len(held), -far, first


def _speaker(event: Event, piece: Piece) -> str:
    if event.role == "tool":
        name = (event.result.name if event.result else "") or piece.head.partition(" ")[0]
        return f"tool {name}".strip()
    return speaker_role(event)


def _date(time: float | None) -> str:
    return written(time, "%Y-%m-%dT%H:%M:%SZ")
