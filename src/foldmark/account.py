"""What came of asking models, and what of it stands. Knows nothing of how they were asked."""

from __future__ import annotations

import msgspec

from foldmark.authors import bare_author, editor_of, with_editor
from foldmark.checkpoint import Checkpoint, Item
from foldmark.errors import SummarizerFailed, SummaryError, SummaryRejected
from foldmark.reports import Spent
from foldmark.story import merged, phrase_of
from foldmark.story.standing import State
from foldmark.summarizer import Summarizer

FOR_A_PERSON = ("auth", "quota", "missing_model", "hook")
"""Failures that another try does not mend."""


class Account(Spent, frozen=True, kw_only=True):
    """What was told, with what it took. `narrative` is None when no model told anything, `author` who told it."""

    narrative: tuple[Item, ...] | None = None
    author: str = "code"


UNASKED = Account()
"""Nobody was asked."""


def paused(why: str, kind: str = "resting") -> Account:
    """A model is configured, and none was asked."""
    return Account(failure=why, kind=kind, coverage=0.0)


def refusal(account: Account, summarizer: Summarizer | None) -> SummaryError | None:
    """Why nothing may be committed: a hook asked to stop, or a model is required and none told the whole."""
    if account.kind == "hook":
        return SummarizerFailed(account.failure, retryable=False)
    if summarizer is None or not summarizer.require_model or not account.failure:
        return None
    if account.kind == "rejected" and account.reasons:
        return SummaryRejected(account.reasons)
    again = account.kind not in FOR_A_PERSON
    return SummarizerFailed(f"No model told it: {account.failure}. The session is unchanged.", retryable=again)


def without_narrative(account: Account, reasons: tuple[str, ...]) -> Account:
    """The account of a narrative that could not be used: what was paid stays."""
    why = f"rejected: {reasons[0] if reasons else 'it could not be used'}"
    return msgspec.structs.replace(
        account, narrative=None, author="code", failure=why, kind="rejected", reasons=(*account.reasons, *reasons)
    )


def lasting(account: Account, before: Checkpoint | None, state: State) -> tuple[tuple[Item, ...], str]:
    """(the narrative of the next checkpoint, its author): what was told now; when nothing was, what of the checkpoint
    `before` lasts and `state` does not overrule. One failed call must not forget a decision or an open question; work
    and steps that a model told of an older boundary are overtaken, those that a person wrote stay. What a person edited
    keeps that person's name beside the model's."""
    if before is None:
        return account.narrative or (), account.author
    if account.narrative is None:
        return merged(before.narrative, (), state), bare_author(before.author, keep_editor=True)
    lasts = editor_of(before.author) and not set(before.narrative).isdisjoint(account.narrative)
    return account.narrative, with_editor(account.author, editor_of(before.author)) if lasts else account.author


def unshown(before: Checkpoint | None, narrative: tuple[Item, ...], made: Checkpoint) -> tuple[str, ...]:
    """A warning when the record `made` of a `narrative` holds less than a person wrote `before`: nobody decided that it
    should go."""
    lost = [
        item for item in narrative if item.hand and before and item in before.narrative and item not in made.narrative
    ]
    if not lost:
        return ()
    named = "; ".join(phrase_of(item) for item in lost[:3])
    more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
    return (
        f"What a person wrote had no room, or code says it itself: {named}{more}. Edit it shorter, or let the policy "
        "land higher (budget.landing_tokens).",
    )
