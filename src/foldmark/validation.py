"""Refuses a checkpoint that would lose or invent something. Knows nothing of how it was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foldmark.checkpoint import Checkpoint, Fact, Unit
from foldmark.errors import SummaryRejected
from foldmark.narrative import FIELDS, MOST_CHARACTERS, MOST_ITEMS
from foldmark.render import TAG, escape
from foldmark.store import View
from foldmark.tokens import count

State = Mapping[tuple[str, str], Fact]

_LANDS = 1.02
"""A text may pass its room by this much before it needs a warning that says why."""


def validate(checkpoint: Checkpoint, material: tuple[State, Sequence[Fact], Sequence[Unit]], view: View) -> Checkpoint:
    """The checkpoint itself, when everything holds. Raises SummaryRejected with every reason against it."""
    reasons = reasons_against(checkpoint, material[0], view.checkpoint, newest=view.head)
    if reasons:
        raise SummaryRejected(tuple(reasons))
    return checkpoint


def reasons_against(
    checkpoint: Checkpoint, state: State, previous: Checkpoint | None = None, *, newest: int = 0
) -> list[str]:
    """Why a checkpoint may not be committed; empty when it may. `newest` is the last event there is: excerpts may
    quote results after the boundary that the tail shows shortened."""
    return [
        *_boundary_reasons(checkpoint, previous),
        *_content_reasons(checkpoint, state),
        *_ref_reasons(checkpoint, newest),
        *_story_reasons(checkpoint),
        *_size_reasons(checkpoint),
    ]


def _boundary_reasons(checkpoint: Checkpoint, previous: Checkpoint | None) -> list[str]:
    found = []
    if checkpoint.boundary < 1:
        found.append(f"it covers nothing (boundary {checkpoint.boundary})")
    if previous and checkpoint.version <= previous.version:
        found.append(f"version {checkpoint.version} does not follow version {previous.version}")
    if previous and checkpoint.boundary < previous.boundary:
        found.append(f"the boundary moved back from event {previous.boundary} to {checkpoint.boundary}")
    late = [seq for seq in checkpoint.kept if seq > checkpoint.boundary]
    if late:
        found.append(f"kept events {late} stand after the boundary {checkpoint.boundary}")
    return found


def _content_reasons(checkpoint: Checkpoint, state: State) -> list[str]:
    """Nothing the user demanded may be missing, and a skeleton without content is no checkpoint."""
    text, found = checkpoint.text, []
    if not any(section.lines for section in checkpoint.sections) and not checkpoint.excerpts:
        found.append("it has no content")
    if not (text.startswith(f"<{TAG} ") and text.count(f"</{TAG}>") == 1):
        found.append("its head or foot is missing or doubled")
    for (kind, _), fact in state.items():
        if kind not in ("constraint", "correction") or fact.status == "gone" or fact.seq > checkpoint.boundary:
            continue
        if escape(fact.value) not in text:
            found.append(f"the user's words of event:{fact.seq} are not in it to the letter: {fact.value[:80]!r}")
    return found


def _ref_reasons(checkpoint: Checkpoint, newest: int) -> list[str]:
    refs = {ref for section in checkpoint.sections for line in section.lines for ref in line.refs}
    refs |= {name.where for name in checkpoint.names}
    wrong = sorted(ref for ref in refs if not 1 <= ref <= checkpoint.boundary)
    last = max(newest, checkpoint.boundary)
    wrong += [excerpt.seq for excerpt in checkpoint.excerpts if not 1 <= excerpt.seq <= last]
    return [f"it refers to events {wrong[:5]} outside 1 to {checkpoint.boundary}"] if wrong else []


def _story_reasons(checkpoint: Checkpoint) -> list[str]:
    """What a model told stays within its bounds, names covered events only, and stands in the text or has a line there
    that points to its events."""
    found = []
    pointed = {ref for section in checkpoint.sections for line in section.lines for ref in line.refs}
    for item in checkpoint.narrative:
        said = f"told line {item.text[:60]!r}"
        if wrong := [ref for ref in item.refs if not 1 <= ref <= checkpoint.boundary]:
            found.append(f"{said} refers to events {wrong[:5]} outside 1 to {checkpoint.boundary}")
        if (
            max(len(item.text), len(item.why)) > MOST_CHARACTERS
            or not item.text.strip()
            or "\n" in item.text + item.why
        ):
            found.append(f"{said} has {len(item.text)} characters; allowed is one line of 1 to {MOST_CHARACTERS}")
        if escape(item.text) != item.text or escape(item.why) != item.why:
            found.append(f"{said} holds a tag of a checkpoint")
        if item.text not in checkpoint.text and not pointed.intersection(item.refs):
            found.append(f"{said} is not in the text, and nothing points to its events")
    for field in FIELDS:
        if (number := sum(item.field == field for item in checkpoint.narrative)) > MOST_ITEMS:
            found.append(f"it tells {number} items in {field}; allowed are {MOST_ITEMS}")
    if checkpoint.narrative and checkpoint.author == "code":
        found.append("it holds told lines and does not say who told them")
    return found


def _size_reasons(checkpoint: Checkpoint) -> list[str]:
    true = count(checkpoint.text)
    found = []
    if true != checkpoint.tokens:
        found.append(f"it says {checkpoint.tokens:,} tokens and has {true:,}")
    if checkpoint.target and true > checkpoint.target * _LANDS and not checkpoint.warnings:
        found.append(f"it has {true:,} tokens, more than its room of {checkpoint.target:,}, and does not say why")
    return found
