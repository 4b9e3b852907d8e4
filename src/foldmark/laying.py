"""Lays out a compaction before anything is written: cleanup, the span, what hooks say. Knows nothing of how the
covered part is written down.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from foldmark.around import Consulted, Planned, Veto
from foldmark.assembly import dressed
from foldmark.cleanup import clean, mark_at
from foldmark.drafts import cost
from foldmark.events import Event
from foldmark.outcomes import Trial, held_back
from foldmark.reports import Report
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


def consulted(trial: Trial, laid: Laid, hooks: Consulted | None) -> tuple[Trial, Laid | None, Report | None]:
    """(the trial, what is laid out, a report when it ends here): hooks see the plan once, and may protect events, which
    lays it out anew with them among the pins. Raises PolicyError for what a hook may not say."""
    said = hooks.ask(_planned(trial, laid.span)) if hooks else None
    if said is None:
        return _covering(trial, laid.span), laid, None
    if isinstance(said, Veto):
        return trial, laid, held_back(trial, said.reason)
    view = msgspec.structs.replace(trial.view, pins=trial.view.pins | frozenset(said.seqs))
    trial = trial._replace(view=view)
    again = lay(trial)
    return (_covering(trial, again.span) if again else trial), again, None


def _covering(trial: Trial, span: Span) -> Trial:
    return trial._replace(covered=(len(span.covered), cost(span.covered)))


def _planned(trial: Trial, span: Span) -> Planned:
    reason, was = trial.reason, trial.view.checkpoint.boundary if trial.view.checkpoint else 0
    return Planned(
        session=trial.key.session, scope=trial.key.scope, run=trial.run, trigger=reason.trigger, value=reason.value,
        threshold=reason.threshold, was=was, boundary=span.boundary, covered=tuple(one.seq for one in span.covered),
        kept=tuple(one.seq for one in span.kept), tail=tuple(one.seq for one in span.tail),
        covered_tokens=cost(span.covered), tail_tokens=span.tail_tokens, before=trial.before, target=trial.target,
    )  # fmt: skip
