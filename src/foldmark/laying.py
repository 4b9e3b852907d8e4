"""Lays out a compaction before anything is written: cleanup, the span, the plan that hooks see. Knows nothing of how
the covered part is written down.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from foldmark.around import Planned, Protect
from foldmark.assembly import dressed
from foldmark.cleanup import clean, mark_at
from foldmark.drafts import cost
from foldmark.events import Event
from foldmark.outcomes import Trial
from foldmark.selection import Span, select


class Laid(NamedTuple):
    """The events of the view as the next mark shows them, and what of them goes."""

    events: list[Event]
    span: Span


def lay(trial: Trial) -> Laid | None:
    """Clean by the mark of the compaction and choose what goes, in whole rounds; None when nothing can."""
    view, policy = trial.view, trial.policy
    mark = mark_at(view.events, policy, "compaction", trial.now, view.mark, view.pins)
    events = dressed(*clean(view.events, mark, policy, view.secret))
    span = select(view, events, policy, trial.room, mark, now=trial.now, upto=trial.upto)
    return Laid(events, span) if span else None


def protecting(trial: Trial, said: Protect) -> Trial:
    """The trial with the events that a hook protects among its pins, for this once."""
    return trial._replace(view=msgspec.structs.replace(trial.view, pins=trial.view.pins | frozenset(said.seqs)))


def planned(trial: Trial, span: Span) -> Planned:
    """The plan, as hooks see it."""
    reason, was = trial.reason, trial.view.checkpoint.boundary if trial.view.checkpoint else 0
    return Planned(
        session=trial.key.session, scope=trial.key.scope, run=trial.run, trigger=reason.trigger, value=reason.value,
        threshold=reason.threshold, was=was, boundary=span.boundary, covered=_seqs(span.covered), kept=_seqs(span.kept),
        leaving=_leaving(trial, span), tail=_seqs(span.tail), covered_tokens=cost(span.covered),
        tail_tokens=span.tail_tokens, before=trial.before, target=trial.target,
    )  # fmt: skip


def _leaving(trial: Trial, span: Span) -> tuple[int, ...]:
    kept = set(_seqs(span.kept))
    return tuple(seq for seq in _seqs(trial.view.kept) if seq not in kept)


def _seqs(events: Sequence[Event]) -> tuple[int, ...]:
    return tuple(event.seq for event in events)
