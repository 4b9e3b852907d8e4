"""The source of a narrative, made searchable: which events hold a claim, which share the words of a statement. Knows
nothing of items, or of what follows when nothing is found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from heapq import nsmallest
from math import log

import msgspec

from foldmark.checkpoint import Fact
from foldmark.render import quoted
from foldmark.story.figures import folded
from foldmark.story.index import Index
from foldmark.story.places import Text, holds
from foldmark.story.polarity import Clause
from foldmark.story.spellings import Claim
from foldmark.words import telling, words

State = Mapping[tuple[str, str], Fact]

_MOST_RANKED = 64
_ENOUGH = 400
"""Events with the rarest words of a statement after which those that hold only its common ones are not ranked."""
_NO_WITNESS = ("task", "pin", "skill")  # facts whose seq is not where their words stand


class Sources(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What may prove a statement.

    `shown` is the redacted text of every covered event, `earlier` the redacted text of an older one ("" when there is
    none), `state` the newest facts, `known` the checkpoint that code wrote (what it quotes of an event proves as that
    event does), `boundary` the last event that may be named. `spoken_by` says whose words an event holds: user, agent,
    result or injected; one that it does not name may be anybody's. `redact` hides secrets.
    """

    shown: Mapping[int, str]
    boundary: int
    earlier: Callable[[int], str] = lambda seq: ""
    state: State = {}
    known: str = ""
    spoken_by: Mapping[int, str] = {}
    redact: Callable[[str], str] = lambda text: text

    @cached_property
    def evidence(self) -> Evidence:
        """Their texts made searchable, once for all parts and tries of a compaction; it goes with them."""
        return Evidence(self)


class Evidence:
    """Texts by event. An older event is added when a ref names it; 0 is what is known without one."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.texts: dict[int, Text] = {}
        for seq, text in sources.shown.items():
            self._add(seq, text)
        for fact in sources.state.values():
            if fact.kind not in _NO_WITNESS:
                self._add(fact.seq, f"{fact.value}\n{fact.key}" if fact.kind in ("file", "command") else fact.value)
        for seq, text in quoted(sources.known).items():
            self._add(seq, text)
        self.texts[0] = Text(folded(sources.known))
        self._held: dict[Claim, frozenset[int]] = {}
        self._missing: set[int] = set()

    def _add(self, seq: int, text: str) -> None:
        if 1 <= seq <= self.sources.boundary and text:
            known = self.texts[seq].text if seq in self.texts else ""
            if folded(text) not in known:
                self.texts[seq] = Text(f"{known}\n{folded(text)}" if known else folded(text))

    @cached_property
    def _index(self) -> Index:
        return Index(self.texts)

    def knows(self, seq: int) -> bool:
        """Whether an event can be a witness: it lies at or before the boundary and has words."""
        if seq in self.texts:
            return seq > 0
        if seq in self._missing or not 1 <= seq <= self.sources.boundary:
            return False
        if text := self.sources.earlier(seq):
            self.texts[seq] = Text(folded(text))
            self._index.add(seq, self.texts[seq])
            self._held.clear()
        else:
            self._missing.add(seq)
        return bool(text)

    def holders(self, claim: Claim) -> frozenset[int]:
        """The events that hold a claim; 0 among them when it is known without an event."""
        if claim not in self._held:
            self._held[claim] = frozenset(seq for seq in self._index.may_hold(claim) if holds(self.texts[seq], claim))
        return self._held[claim]

    def vocabulary(self, seq: int) -> frozenset[str]:
        return self.texts[seq].vocabulary

    def words_at(self, seq: int) -> frozenset[str]:
        """The words of an event; none for one that is not known."""
        return self.texts[seq].vocabulary if seq in self.texts else frozenset()

    def sharing(self, content: Iterable[str], share: float) -> list[int]:
        """The events that hold at least this share of some words; none for no words."""
        asked = frozenset(content)
        held = Counter(seq for word in asked for seq in self._index.words.get(word, ()))
        return [seq for seq, number in held.items() if number >= share * len(asked)]

    def text(self, seq: int) -> str:
        return self.texts[seq].text

    def clauses(self, seq: int) -> tuple[Clause, ...]:
        return self.texts[seq].clauses

    def has_word(self, word: str) -> bool:
        return word in self._index.words

    def ranked(self, content: Sequence[str], claims: Sequence[Claim]) -> list[int]:
        """Events by the rare words and claims they share with a statement, best first; the newest on a tie."""
        held: list[tuple[frozenset[int] | set[int], int]] = [
            *((self._index.words.get(word, set()), 1) for word in content),
            *((self.holders(claim), 2) for claim in claims),
        ]
        scores: dict[int, float] = {}
        for found, weight in sorted(held, key=lambda one: len(one[0])):
            rarity = log(1 + len(self.texts) / max(1, len(found))) * weight
            for seq in found if len(scores) < _ENOUGH else found & scores.keys():
                scores[seq] = scores.get(seq, 0.0) + rarity
        scores.pop(0, None)
        return nsmallest(_MOST_RANKED, scores, key=lambda seq: (-round(scores[seq], 6), -seq))


def content_of(text: str) -> list[str]:
    """The words of a text that say something: no numbers, none of the very common ones."""
    return [word for word in telling(words(text), 200) if not word.isdigit()]
