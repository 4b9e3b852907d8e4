"""Merges a checked answer into the narrative so far without drift: what is proven keeps its wording. Knows nothing of
how either was made.

A summary that is rewritten each round loses its exact words by the third. So an old statement is replaced only by a
better proven one, never by a paraphrase.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from foldmark.checkpoint import Fact, Field, Item
from foldmark.narrative import FIELDS, MOST_ITEMS, MOST_REFS
from foldmark.story.claims import claims_of
from foldmark.story.evidence import content_of
from foldmark.story.reading import shortened
from foldmark.story.spellings import Claim
from foldmark.story.standing import against_the_state, contradicted

ACCUMULATED: tuple[Field, ...] = ("decisions", "failed_approaches", "conflicts")
"""Fields whose items stay until they are too many; the others are what the newest answer says."""

ALIKE = 0.6
"""Share of a statement's words that an earlier one holds already when it only restates it."""
ALIKE_BY_REFS = 0.5
"""The same for two that name the same event; one event may hold several decisions."""


def merged(
    previous: Sequence[Item], new: Sequence[Item], state: Mapping[tuple[str, str], Fact] | None = None
) -> tuple[Item, ...]:
    """The next narrative. Work, steps and questions are those of `new`; decisions, failures and conflicts are added to
    those there were, the newest last, at most twelve a field. With `state`, an old item that takes up what is over
    goes, and one that the user has forbidden since becomes a conflict."""
    still = [item for item in (_standing(item, state or {}) for item in previous) if item is not None]
    out: dict[Field, list[Item]] = {field: [item for item in new if item.field == field] for field in FIELDS}
    found: list[Item] = []
    for field in ACCUMULATED:
        old = [item for item in still if item.field == field]
        out[field], differing = _added(old, out[field])
        found += differing
    out["conflicts"] = _added(out["conflicts"], found[-MOST_ITEMS:])[0]
    return tuple(item for field in FIELDS for item in _at_most(out[field]))


def _standing(item: Item, state: Mapping[tuple[str, str], Fact]) -> Item | None:
    return None if against_the_state(item, state) else contradicted(item, state) or item


def _added(old: Sequence[Item], new: Sequence[Item]) -> tuple[list[Item], list[Item]]:
    """Old items with the new ones behind them, and the conflicts between the two."""
    kept = list(old)
    conflicts: list[Item] = []
    for item in new:
        at = next((number for number, known in enumerate(kept) if restates(known, item)), None)
        if at is None:
            conflicts += [
                _conflict(known, item) for known in kept if item.field != "conflicts" and disagree(known, item)
            ]
            kept.append(item)
        elif item.verified and not kept[at].verified:
            kept[at] = item
    return kept, conflicts


def restates(known: Item, item: Item) -> bool:
    """Whether an item only says again what a known one says: most of its words, and no name or value of its own."""
    if known.text == item.text:
        return True
    mine, theirs = _words(known), _words(item)
    if (_names(item) | _values(item)) - (_names(known) | _values(known)):
        return False
    least = ALIKE_BY_REFS if set(known.refs) & set(item.refs) else ALIKE
    return bool(theirs) and len(mine & theirs) >= least * len(theirs)


def disagree(known: Item, item: Item) -> bool:
    """Whether two items say the same of the same thing, but for a value."""
    mine, theirs = _words(known), _words(item)
    if _overlap(mine, theirs) < ALIKE or not _values(known) or not _values(item):
        return False
    return _names(known) == _names(item) and _values(known).isdisjoint(_values(item))


def _overlap(mine: frozenset[str], theirs: frozenset[str]) -> float:
    return len(mine & theirs) / len(mine | theirs) if mine or theirs else 0.0


def _words(item: Item) -> frozenset[str]:
    return _read(f"{item.text} {item.why}")[1]


def _values(item: Item) -> frozenset[str]:
    """The numbers that are no part of a name, as they stand."""
    return frozenset(claim.text for claim in _claims(item) if _is_value(claim))


def _names(item: Item) -> frozenset[str]:
    return frozenset(claim.text for claim in _claims(item) if not _is_value(claim))


def _claims(item: Item) -> tuple[Claim, ...]:
    return _read(f"{item.text} {item.why}")[0]


@lru_cache(maxsize=4_096)
def _read(text: str) -> tuple[tuple[Claim, ...], frozenset[str]]:
    """(claims, plain words) of a text; every item is compared with every other of its field."""
    claims, rest = claims_of(text)
    return tuple(claims), frozenset(content_of(rest))


def _is_value(claim: Claim) -> bool:
    return bool(claim.near or claim.name) or bool(re.fullmatch(r"[\d.,:]+\s?%?", claim.text))


def _conflict(known: Item, item: Item) -> Item:
    """Both statements side by side, under the events of both."""
    first, second = shortened(known.text, 104), shortened(item.text, 104)
    refs = tuple(dict.fromkeys((*known.refs, *item.refs)))[:MOST_REFS]
    text = f"two values: {first} / later: {second}"
    return Item(field="conflicts", text=shortened(text), refs=refs, verified=known.verified and item.verified)


def _at_most(items: list[Item]) -> list[Item]:
    """The newest twelve; the oldest unproven one goes first, then the oldest."""
    left = list(items)
    while len(left) > MOST_ITEMS:
        left.pop(next((at for at, item in enumerate(left) if not item.verified), 0))
    return left
