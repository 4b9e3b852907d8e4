"""Checks what a model told against the log: drops inventions, finds the evidence, marks what is proven. Knows nothing
of how the statements were asked for or where they will stand.

A statement stays when everything in it that can be invented stands in the source, and nothing that code knows says
otherwise; it is `verified` when the events it names hold all of that and at least half of its words, and deny none of
it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from foldmark.checkpoint import Item
from foldmark.narrative import FIELDS, MOST_ITEMS, MOST_REFS
from foldmark.render import escape
from foldmark.story.approvals import claims_an_approval, grants
from foldmark.story.claims import claims_of
from foldmark.story.cutting import clipped, says_a_whole
from foldmark.story.evidence import Evidence, Sources, content_of
from foldmark.story.exchange import is_exchanged
from foldmark.story.limits import contradicted
from foldmark.story.polarity import is_opposed
from foldmark.story.speakers import is_a_deed, is_of_others, order_of_others, speaks_for_the_user, taker
from foldmark.story.spellings import Claim
from foldmark.story.standing import against_the_state, gives_orders, is_to_the_reader
from foldmark.story.verdicts import against_a_verdict

PROVES = 0.5
"""Share of a statement's words that the events it names must hold."""
TRACE = 0.2
"""A statement of whose words less than this share stands anywhere in the source was made up."""
_WITNESSES = 3  # events that may prove a statement together, where its own refs do not
_CANDIDATES = 24  # best events that are tried together


class Checked(msgspec.Struct, frozen=True):
    """What is left of an answer. `dropped` says of each statement that went which and why; `repaired` counts those
    whose refs, reason or field had to be changed."""

    items: tuple[Item, ...]
    dropped: tuple[str, ...] = ()
    repaired: int = 0


def checked(items: Sequence[Item], sources: Sources, previous: Sequence[Item] = ()) -> Checked:
    """Items that the source bears out. `previous` is the narrative so far: its proofs are looked up as well."""
    evidence = sources.evidence
    for item in previous:
        for ref in item.refs[:_WITNESSES] if item.verified else ():
            evidence.knows(ref)
    kept: list[Item] = []
    dropped: list[str] = []
    repaired = 0
    for told in items:
        item = _presentable(told, sources)
        found = _judged(item, evidence)
        if isinstance(found, str):
            dropped.append(f"{item.field}: {item.text[:100]!r} {found}")
        else:
            kept.append(found)
            repaired += (found.field, found.why, found.refs) != (told.field, item.why, told.refs)
    return Checked(_bounded(kept), tuple(dropped), repaired)


def _presentable(item: Item, sources: Sources) -> Item:
    """Redacted as a whole, then bounded; our tags escaped. `verified` is never taken over from outside."""
    text, why = (clipped(escape(sources.redact(text))) for text in (item.text, item.why))
    return msgspec.structs.replace(item, text=text, why=why, verified=False)


def _judged(item: Item, evidence: Evidence) -> Item | str:
    """The item with its evidence, or why it goes."""
    state = evidence.sources.state
    told = tuple(ref for ref in item.refs if evidence.knows(ref))  # first: it brings older events in
    if not re.search(r"\w", item.text):
        return "says nothing"
    if reason := gives_orders(item) or against_the_state(item, state, evidence):
        return reason
    firm = _firm(claims_of(item.text)[0])
    for claim in firm:
        if not evidence.holders(claim):
            return f"names {claim.text!r}, which stands nowhere in the source"
    if not all(map(evidence.holders, _firm(claims_of(item.why)[0]))):
        item = msgspec.structs.replace(item, why="")
    claims, rest = claims_of(f"{item.text} {item.why}".rstrip())
    content = content_of(rest)
    traces = sum(map(evidence.has_word, content)) + sum(bool(evidence.holders(claim)) for claim in claims)
    if traces < TRACE * (len(content) + len(claims)):
        return "has no trace in the source"
    item = _witnessed(item, claims, content, evidence)
    if firm and not item.refs:
        return "names no event, and no event proves it"
    if allowed := claims_an_approval(item):
        given = grants(item, {*told, *item.refs}, evidence)
        if not given and (allowed == "strong" or not taker(item, evidence)):
            undone = contradicted(item, state) if allowed == "weak" else None
            return undone or "claims an approval that no user gave"
        refs = tuple(sorted({*item.refs, *given}))[:MOST_REFS]
        item = msgspec.structs.replace(item, refs=refs, verified=item.verified and bool(given))
    found = _attributed(item, evidence)
    if isinstance(found, str):
        return found
    item = found
    if reason := against_a_verdict(item, state):
        return reason
    if is_to_the_reader(item) or not says_a_whole(item.text) or _is_denied(item, evidence):
        item = msgspec.structs.replace(item, verified=False)
    return contradicted(item, state) or item


def _attributed(item: Item, evidence: Evidence) -> Item | str:
    """The item, proven only by those whose words count for it; or why it goes. A page orders nothing, and nobody but
    the user says what the user wants."""
    if item.field == "next_steps" or (item.field == "current_work" and is_a_deed(item)):
        taken = taker(item, evidence)
        if not taken and (seq := order_of_others(item, evidence)):
            return f"repeats what event:{seq} orders, and neither the user nor the agent took it up"
        if item.verified and item.field == "next_steps" and is_of_others(item.refs, evidence):
            return _taken_up(item, taken)
    if item.verified and speaks_for_the_user(item) and is_of_others(item.refs, evidence):
        return msgspec.structs.replace(item, verified=False)
    return item


def _taken_up(item: Item, taken: int) -> Item:
    """A step that rests on results: with the event in which somebody took it up it is proven, without one it is not."""
    if not taken:
        return msgspec.structs.replace(item, verified=False)
    return msgspec.structs.replace(item, refs=tuple(sorted({*item.refs[: MOST_REFS - 1], taken})))


def _is_denied(item: Item, evidence: Evidence) -> bool:
    """Whether the events that hold an item's words say the opposite of it, or of its reason."""
    if not item.verified:
        return False
    said = [one for ref in item.refs for one in evidence.clauses(ref)]
    if is_opposed(item.text, said) or is_opposed(item.why, said):
        return True
    return is_exchanged(item.text, [evidence.text(ref) for ref in item.refs])


def _firm(claims: Sequence[Claim]) -> list[Claim]:
    return [claim for claim in claims if not claim.is_loose]


def _witnessed(item: Item, claims: Sequence[Claim], content: Sequence[str], evidence: Evidence) -> Item:
    """The item under events that prove it: its own, or the best ones there are. Where none do, those of its own that
    share a word with it."""
    own = tuple(dict.fromkeys(ref for ref in item.refs if evidence.knows(ref)))[:MOST_REFS]
    if own and _prove(own, claims, content, evidence):
        return msgspec.structs.replace(item, refs=_needed(own, claims, content, evidence), verified=True)
    best = evidence.ranked(content, claims)[:_CANDIDATES]
    for seq in best:
        if _prove((seq,), claims, content, evidence):
            return msgspec.structs.replace(item, refs=(seq,), verified=True)
    together = _needed((*own, *best), claims, content, evidence)[:_WITNESSES]
    if together and _prove(together, claims, content, evidence):
        return msgspec.structs.replace(item, refs=tuple(sorted(together)), verified=True)
    traced = tuple(ref for ref in own if _worth(ref, set(claims), set(content), evidence) > 0)
    return msgspec.structs.replace(item, refs=traced or _nearest((*best[:3], *together), claims, content, evidence))


def _prove(refs: Sequence[int], claims: Sequence[Claim], content: Sequence[str], evidence: Evidence) -> bool:
    """Whether events hold every claim, and together with the claims at least half of what a statement says."""
    if any(evidence.holders(claim).isdisjoint(refs) for claim in claims):
        return False
    held = sum(any(word in evidence.vocabulary(ref) for ref in refs) for word in content)
    return held + len(claims) >= PROVES * (len(content) + len(claims))


def _needed(
    refs: Sequence[int], claims: Sequence[Claim], content: Sequence[str], evidence: Evidence
) -> tuple[int, ...]:
    """The events of a list that add something, the one that adds most first; few are kept as they are."""
    if len(refs) <= 2:
        return tuple(refs)
    chosen: list[int] = []
    open_claims, open_words = set(claims), set(content)
    left = list(dict.fromkeys(refs))
    while left and len(chosen) < MOST_REFS:
        best = max(left, key=lambda ref: _worth(ref, open_claims, open_words, evidence))
        if chosen and not _worth(best, open_claims, open_words, evidence):
            break
        chosen.append(best)
        left.remove(best)
        open_claims -= {claim for claim in open_claims if best in evidence.holders(claim)}
        open_words -= evidence.vocabulary(best)
        if _prove(chosen, claims, content, evidence):
            break
    return tuple(sorted(chosen))


def _worth(ref: int, claims: set[Claim], content: set[str], evidence: Evidence) -> int:
    return 3 * sum(ref in evidence.holders(claim) for claim in claims) + len(content & evidence.vocabulary(ref))


def _nearest(
    best: Sequence[int], claims: Sequence[Claim], content: Sequence[str], evidence: Evidence
) -> tuple[int, ...]:
    """What comes closest to an item without refs of its own: an event that holds every firm claim and a third of what
    it says, or a few that hold the claims together. Something to open, no proof."""
    firm = set(_firm(claims))
    for seq in best:
        held = _worth(seq, set(), set(content), evidence) + sum(seq in evidence.holders(claim) for claim in claims)
        if held * 3 >= len(content) + len(claims) and all(seq in evidence.holders(claim) for claim in firm):
            return (seq,)
    several = _needed(best, list(firm), (), evidence)[:_WITNESSES]
    return several if firm and _prove(several, list(firm), (), evidence) else ()


def _bounded(items: Sequence[Item]) -> tuple[Item, ...]:
    """In the order of the fields, each statement once, at most twelve a field."""
    once = {(item.field, item.text): item for item in items}
    return tuple(item for field in FIELDS for item in [one for one in once.values() if one.field == field][:MOST_ITEMS])
