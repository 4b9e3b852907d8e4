"""Why a hit is one, in a few words: read off the very piece, never off the query alone. Knows nothing of scores."""

from __future__ import annotations

from collections.abc import Iterable

from foldmark.dates import stamp
from foldmark.refs import event_ref
from foldmark.retrieval.asking import Question
from foldmark.retrieval.counting import speaker_of
from foldmark.retrieval.ranking import Ranked
from foldmark.words import distinct, words

_MOST = 8
"""So many words of a kind are told."""


def why(ranked: Ranked, asked: Question) -> str:
    """What matched, such as `words: refund, charge; name: app.py; day: 2023-05-07`. `call` are words of the call that a
    result answers, `near` words that were only said beside it, and where (`near: refund in event:6`); empty when no
    word did (the meaning, or a filter)."""
    found = ranked.found
    text, head = distinct(found.piece.text), distinct(found.piece.head)
    folded = found.piece.text.casefold()
    return "; ".join(
        f"{kind}: {', '.join(dict.fromkeys(told))}"
        for kind, told in (
            ("words", _spoken(asked, text)),
            ("call", _spoken(asked, head - text)),
            ("name", [name for name in asked.names if name in folded][:_MOST]),
            ("day", _days(ranked, asked)),
            ("speaker", _speakers(ranked, asked)),
            ("near", _near(asked, ranked, text | head)),
        )
        if told
    )


def _spoken(asked: Question, tokens: Iterable[str]) -> list[str]:
    """The words of the query that gave these tokens, in its order; of a word that does not stand there whole the parts
    that do."""
    held = set(tokens)
    told = (word if held.issuperset(words(word)) else token for token, word in asked.spoken.items() if token in held)
    return list(dict.fromkeys(told))[:_MOST]


def _near(asked: Question, ranked: Ranked, own: set[str]) -> list[str]:
    """The words that only the events beside it say, each run of them with the ref of its event, in the log's order."""
    by_event: dict[int, set[str]] = {}
    for token, seq in ranked.near.items():
        if token not in own:
            by_event.setdefault(seq, set()).add(token)
    told = ((seq, _spoken(asked, tokens)) for seq, tokens in sorted(by_event.items()))
    return [f"{', '.join(said)} in {event_ref(seq, ranked.found.session)}" for seq, said in told if said]


def _days(ranked: Ranked, asked: Question) -> list[str]:
    """The day of the event, where the query names it or words of it."""
    time = ranked.found.time
    said = stamp(time)
    named = any(span.holds(time) for span in asked.spans) or not distinct(said).isdisjoint(asked.spoken)
    day = said.rpartition(" ")[2]
    return [f"{day[:-4]}-{day[-4:-2]}-{day[-2:]}"] if named and day else []


def _speakers(ranked: Ranked, asked: Question) -> list[str]:
    event = ranked.found.event
    name = speaker_of(ranked.found)
    named = name if not distinct(name).isdisjoint(asked.spoken) else ""
    role = event.role if asked.role == event.role and event.origin in ("user", "agent") else ""
    return [said for said in (named, role) if said]
