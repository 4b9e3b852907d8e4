"""What a hit shows: ref, date, speaker, the lines that matched and why. Knows nothing of stores."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from foldmark.dates import written
from foldmark.events import Event
from foldmark.refs import Ref, event_ref
from foldmark.retrieval.asking import Question
from foldmark.retrieval.ranking import Ranked
from foldmark.retrieval.reasons import why
from foldmark.seeking import Piece, speaker_role
from foldmark.words import places

SNIPPET_CHARACTERS = 400
_BEFORE, _BEHIND = 60, 20
"""What is shown of a long line at least before the first and behind the last word that matched."""


class Hit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer of a search: `ref` opens the event, `at` the very lines; `session` is empty inside the lineage. `date`
    is when it happened, else when it was recorded live (UTC), empty where nobody knows; `why` says in a few words what
    matched."""

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


def _hit(ranked: Ranked, tokens: set[str], asked: Question) -> Hit:
    found, event, piece = ranked.found, ranked.found.event, ranked.found.piece
    return Hit(
        ref=event_ref(event.seq, found.session),
        date=_date(found.time),
        speaker=_speaker(event, piece),
        snippet=_snippet(ranked, tokens),
        score=ranked.score,
        session=found.session,
        at=_address(ranked),
        why=why(ranked, asked),
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
    lines = ranked.found.piece.text.split("\n")
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
    """The stretch of a long text that holds most of the query's tokens; of several the one where they stand nearest
    together."""
    found = places(text, tokens)
    spans = [_span(found[at:]) for at in range(len(found))]
    _, _, place = max(spans, default=(0, 0, 0), key=lambda span: span[:2])
    start = max(0, place - _BEFORE)
    end = start + SNIPPET_CHARACTERS
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")


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
