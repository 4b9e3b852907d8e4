"""How much of a log is covered, and of what: counts, stretches with their telling words, files, names. Knows nothing of
stores, of requests, or of how it is shown.

Everything comes from the whole log up to a seq, so it is the same whenever it is asked for. Words are taken from stored
units, which are redacted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import log

from foldmark.checkpoint import Extent, Fact, Name, Stretch, Unit
from foldmark.dates import written
from foldmark.events import Event
from foldmark.redact import LABEL
from foldmark.salience import Tally, rank_names
from foldmark.words import STOP, words

STRETCHES = 16
"""At most so many: a line of eight words each is what 500 tokens hold."""
STRETCH_EVENTS = 8
"""A stretch has at least so many events: a shorter one is opened faster than read about."""
WORDS = 12
LISTED = 30
"""Files and names that are kept, each: more than 500 tokens can show."""
WORD_CHARACTERS = 40
ONCE = 0.5
"""What is taken off the number of events: a word that was said once in passing is no topic."""

State = Mapping[tuple[str, str], Fact]

_WORD = re.compile(r"[^\W\d_]\w*(?:[-'’]\w+)*")


def extent_of(
    events: Sequence[Event], state: State, units: Iterable[Unit], tally: Tally, *, version: int = 0,
    compactions: int = 0, began: float | None = None,
) -> Extent:  # fmt: skip
    """The extent of these events, given the newest facts and the best units up to the last of them. `began` (Unix
    seconds) stands for the time of the first where that has none; with neither nothing says since when."""
    shown = [event for event in events if event.role != "control"]
    upto = events[-1].seq if events else 0
    files = _files(state)
    listed = {one.name for one in files}
    ranked = [one for one in rank_names(tally, upto, 4 * LISTED) if is_name(one)]
    names = [one for one in ranked if one.where <= upto and one.name not in listed]
    first = shown[0].time if shown else None
    return Extent(
        events=len(shown),
        version=version,
        artifacts=sum(len(event.artifacts) for event in shown),
        compactions=compactions,
        day=day(began if first is None else first),
        stretches=stretches(shown, units),
        files=tuple(files),
        names=tuple(names[:LISTED]),
    )


def is_name(name: Name) -> bool:
    """Whether it says something where it is listed: a number alone does not."""
    return any(map(str.isalpha, name.name))


def day(time: float | None) -> str:
    """`2026-05-01` (UTC); empty for no time or one that no calendar has."""
    return written(time, "%Y-%m-%d")


def _files(state: State) -> list[Name]:
    found = [fact for (kind, _), fact in state.items() if kind == "file" and fact.status != "gone"]
    return [Name(fact.key, 1, fact.seq) for fact in sorted(found, key=lambda fact: (-fact.seq, fact.key))[:LISTED]]


def stretches(events: Sequence[Event], units: Iterable[Unit]) -> tuple[Stretch, ...]:
    """The events in stretches of about the same number, each with the words that tell it from the others."""
    cuts = _cuts(events)
    bounds = [(events[a].seq, events[b - 1].seq) for a, b in pairwise(cuts)]
    told = _words_by_stretch(bounds, units)
    days = [day(events[at].time) for at in cuts[:-1]]
    return tuple(Stretch(first, last, found, on) for (first, last), found, on in zip(bounds, told, days, strict=True))


def _cuts(events: Sequence[Event]) -> list[int]:
    """Where stretches begin, and the end; at a real user's message where one is near."""
    number = min(STRETCHES, len(events) // STRETCH_EVENTS) or min(1, len(events))
    out = [0]
    for at in range(1, number):
        place = round(at * len(events) / number)
        near = range(place, min(place + STRETCH_EVENTS // 2, len(events)))
        out.append(next((one for one in near if events[one].is_user), place))
    return [*out, len(events)] if number else []


def _words_by_stretch(bounds: Sequence[tuple[int, int]], units: Iterable[Unit]) -> list[tuple[str, ...]]:
    """Of each stretch the words that stand in many of its events and in few other stretches."""
    seen: list[dict[str, set[int]]] = [{} for _ in bounds]  # token -> events of the stretch that say it
    spelled: dict[str, str] = {}
    for unit in sorted(units, key=lambda unit: (unit.seq, unit.order)):
        at = next((at for at, (first, last) in enumerate(bounds) if first <= unit.seq <= last), None)
        if at is not None:
            for token, word in _said(unit.text):
                seen[at].setdefault(token, set()).add(unit.seq)
                spelled.setdefault(token, word)
    spread: dict[str, int] = {}
    for tokens in seen:
        for token in tokens:
            spread[token] = spread.get(token, 0) + 1
    return [_best(tokens, spread, len(bounds), spelled) for tokens in seen]


def _best(
    tokens: Mapping[str, set[int]], spread: Mapping[str, int], number: int, spelled: Mapping[str, str]
) -> tuple[str, ...]:
    def worth(token: str) -> float:
        return (len(tokens[token]) - ONCE) * log((number + 1) / spread[token])

    ranked = sorted(tokens, key=lambda token: (-worth(token), min(tokens[token]), token))
    return tuple(spelled[token] for token in ranked[:WORDS])


def _said(text: str) -> Iterator[tuple[str, str]]:
    """(token, word as it is spelled); of a run without spaces its pairs of characters."""
    for word in _WORD.findall(LABEL.sub(" ", text)):
        tokens = words(word)
        if not word.isascii() and len(tokens) > 1:
            yield from ((token, token) for token in tokens if len(token) > 1)
        elif 2 < len(word) <= WORD_CHARACTERS and tokens and tokens[0] not in STOP:
            yield tokens[0], word
