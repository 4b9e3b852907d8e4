"""Merges a checked answer into the narrative so far without drift: what is proven keeps its wording. Knows nothing of
how either was made.

A summary that is rewritten each round loses its exact words by the third. So an old statement is replaced only by a
better proven one, never by a paraphrase; and a question stays open until something answers it, not until an answer
forgets it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from foldmark.checkpoint import Fact, Field, Item
from foldmark.narrative import FIELDS, MOST_ITEMS, MOST_REFS
from foldmark.render import event_refs
from foldmark.story.claims import claims_of
from foldmark.story.cutting import clipped
from foldmark.story.evidence import content_of
from foldmark.story.limits import contradicted
from foldmark.story.polarity import opposite
from foldmark.story.spellings import Claim
from foldmark.story.standing import against_the_state

ACCUMULATED: tuple[Field, ...] = ("decisions", "failed_approaches", "open_questions", "conflicts")
"""Fields whose items stay until they are too many, or answered; the others are what the newest answer says."""

ALIKE = 0.6
"""Share of a statement's words that an earlier one holds already when it only restates it."""
ALIKE_BY_REFS = 0.5
"""The same for two that name the same event; one event may hold several decisions."""

ALIKE_QUESTIONS = 0.75
"""The same for questions: they are short, and one word more is another question."""


def merged(
    previous: Sequence[Item], new: Sequence[Item], state: Mapping[tuple[str, str], Fact] | None = None
) -> tuple[Item, ...]:
    """The next narrative. Work and steps are those of `new`, and where that tells nothing those that a person wrote
    (what a model told of an older boundary is overtaken); decisions, failures, questions and conflicts are added to
    those there were, the newest last, at most twelve a field. A question leaves when something newer answers it. With
    `state`, an old item that takes up what is over goes, and one that the user has forbidden since becomes a conflict.
    `given_up` says what found no room."""
    known = state or {}
    still = [item for item in (_standing(item, known) for item in previous) if item is not None]
    still = [item for item in still if not _is_answered(item, new, known)]
    by_hand = () if new else [item for item in still if item.hand and item.field not in ACCUMULATED]
    out: dict[Field, list[Item]] = {
        field: [item for item in (*by_hand, *new) if item.field == field] for field in FIELDS
    }  # fmt: skip
    found: list[Item] = []
    for field in ACCUMULATED:
        old = [item for item in still if item.field == field]
        out[field], differing = _added(old, out[field])
        found += differing
    out["conflicts"] = _added(out["conflicts"], found[-MOST_ITEMS:])[0]
    return tuple(item for field in FIELDS for item in _at_most(out[field]))


def given_up(
    previous: Sequence[Item], kept: Sequence[Item], state: Mapping[tuple[str, str], Fact] | None = None
) -> tuple[str, ...]:
    """What of the earlier decisions, failures, questions and conflicts is neither in the `kept` narrative, nor said
    there in other words, nor answered (by it, or by `state`): a phrase for each, for a report. Of work and steps, what
    a person wrote is told as well: a model that saw it has told anew."""
    return tuple(
        f"{'given up for room' if item.field in ACCUMULATED else 'no longer told'}: {phrase_of(item)}"
        for item in previous
        if (item.hand or item.field in ACCUMULATED)
        and not _is_kept(item, kept)
        and not _is_answered(item, kept, state or {})
    )


def phrase_of(item: Item) -> str:
    """`decisions: 'Keep the schema' (event:4)`: an item in a report."""
    return f"{item.field}: {item.text[:100]!r}{f' ({event_refs(item.refs)})' if item.refs else ''}"


def _is_kept(item: Item, kept: Sequence[Item]) -> bool:
    """Whether an item is there, in other words too, or as one side of a conflict."""
    return any(
        restates(one, item) or restates(item, one)
        if one.field == item.field
        else one.field == "conflicts" and one.text.startswith(item.text[:60])
        for one in kept
    )


def _is_answered(item: Item, told: Sequence[Item], state: Mapping[tuple[str, str], Fact]) -> bool:
    """Whether a question has its answer: a proven newer statement of the same words with a name or value of its own, a
    proven decision on them, or a newer fact by which the user or the agent settled it."""
    asked = _words(item)
    if item.field != "open_questions" or not asked:
        return False
    for one in told:
        if one.verified and one.field in _ANSWERS and _speaks_of(_words(one), asked) and one.text != item.text:
            own = _names(one) | _values(one)
            if one.field == "decisions" or own - _names(item) - _values(item):
                return True
    since = max(item.refs, default=0)
    settled = (fact for (kind, _), fact in state.items() if kind in ("question", "decision") and fact.seq > since)
    return any(_speaks_of(_read(fact.value[:2_000])[1], asked) for fact in settled)


_ANSWERS: tuple[Field, ...] = ("current_work", "decisions", "failed_approaches")


def _speaks_of(said: frozenset[str], asked: frozenset[str]) -> bool:
    """Whether something holds most of a question's words."""
    return len(said & asked) >= ALIKE * len(asked)


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
    if opposite(known.text, item.text):
        return False
    if (_names(item) | _values(item)) - (_names(known) | _values(known)):
        return False
    least = ALIKE_BY_REFS if set(known.refs) & set(item.refs) else ALIKE
    least = ALIKE_QUESTIONS if item.field == "open_questions" else least
    return bool(theirs) and len(mine & theirs) >= least * len(theirs)


def disagree(known: Item, item: Item) -> bool:
    """Whether two items say the same of the same thing, but for a value, or one denies what the other says."""
    if _overlap(_words(known), _words(item)) < ALIKE or _names(known) != _names(item):
        return False
    if opposite(known.text, item.text):
        return True
    return bool(_values(known) and _values(item)) and _values(known).isdisjoint(_values(item))


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
    first, second = clipped(known.text, 102), clipped(item.text, 102)
    refs = tuple(dict.fromkeys((*known.refs, *item.refs)))[:MOST_REFS]
    text = f"{'for and against' if opposite(known.text, item.text) else 'two values'}: {first} / later: {second}"
    return Item(field="conflicts", text=clipped(text), refs=refs, verified=known.verified and item.verified)


def _at_most(items: list[Item]) -> list[Item]:
    """The newest twelve; the oldest unproven one goes first, then the oldest."""
    left = list(items)
    while len(left) > MOST_ITEMS:
        left.pop(next((at for at, item in enumerate(left) if not item.verified), 0))
    return left
