"""Chooses the summarizer of a compaction, now or at run time. Knows nothing of what it will be asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foldmark.asking import Model
from foldmark.driving import refuse_async
from foldmark.errors import PolicyError, SummarizerFailed
from foldmark.summarizer import Occasion, Resolver, Summarizer, summarizer_of


def chosen(
    model: Model | Sequence[Model] | None, summarizer: Summarizer | Resolver | None, *, sync: bool
) -> Summarizer | Resolver | None:
    """What a session was given, as one value. Raises PolicyError for both at once, and for an async model in a sync
    session."""
    if model is not None and summarizer is not None:
        raise PolicyError("Give a session either model= or summarizer= (which holds its models), not both.")
    found = summarizer if model is None else summarizer_of(model)
    if found is not None and not callable(found) and not isinstance(found, Summarizer):
        raise PolicyError(f"summarizer is {found!r}; it takes a Summarizer or a function of an Occasion.")
    if sync and isinstance(found, Summarizer):
        refuse_async(found.models)
    return found


def resolved(given: Summarizer | Resolver, occasion: Occasion) -> tuple[Summarizer | None, str]:
    """(the summarizer for this occasion, a warning). A resolver that finds none, or fails, leaves an automatic
    compaction to code; one that was asked for by force raises SummarizerFailed."""
    if isinstance(given, Summarizer):
        return given, ""
    try:
        found: Any = given(occasion)
        if found is not None:
            return summarizer_of(found), ""
        said = f"No summarizer is at hand for session {occasion.key.session!r}"
        cause = None
    except Exception as error:
        said = f"The summarizer for session {occasion.key.session!r} could not be chosen: {error!r}"
        cause = error
    if occasion.force:
        raise SummarizerFailed(
            f"{said}. The session is unchanged; choose another, or compact(by_code=True).", retryable=cause is not None
        ) from cause
    return None, f"{said}; the checkpoint is made by code." if cause else ""
