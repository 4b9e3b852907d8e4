"""Chooses the summarizer of a compaction, now or at run time. Knows nothing of what it will be asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foldmark.asking import Model, is_async
from foldmark.awaiting import unawaited
from foldmark.driving import refuse_async
from foldmark.errors import PolicyError, SummarizerFailed
from foldmark.summarizer import Occasion, Resolver, Summarizer, as_summarizer


def chosen(
    model: Model | Sequence[Model] | None, summarizer: Summarizer | Resolver | None, *, sync: bool
) -> Summarizer | Resolver | None:
    """What a session was given, as one value. Raises PolicyError for both at once, for an async function that would
    choose, and for an async model in a sync session."""
    if model is not None and summarizer is not None:
        raise PolicyError("Give a session either model= or summarizer= (which holds its models), not both.")
    found = summarizer if model is None else as_summarizer(model)
    if found is None:
        return None
    if isinstance(found, Summarizer):
        if sync:
            refuse_async(found.models)
        return found
    if not callable(found):
        raise PolicyError(f"summarizer is {found!r}; it takes a Summarizer or a function of an Occasion.")
    if is_async(found):
        raise PolicyError(_ASYNC_RESOLVER)
    return found


def resolved(given: Resolver, occasion: Occasion, *, sync: bool) -> tuple[Summarizer | None, str]:
    """(the summarizer for this occasion, why there is none although one should be).

    A function that finds none leaves an automatic compaction to code without a word; one that fails leaves it to code
    with the reason. Where a compaction is asked for by force, either raises SummarizerFailed. Raises PolicyError for an
    answer that is no summarizer, and for an async model in a sync session.
    """
    try:
        found: Any = given(occasion)
    except Exception as error:
        said = f"The summarizer for session {occasion.key.session!r} could not be chosen: {error!r:.300}"
        if occasion.force:
            raise _failed(said, retryable=True) from error
        return None, said
    if found is not None:
        return _usable(found, sync), ""
    if occasion.force:
        raise _failed(f"No summarizer is at hand for session {occasion.key.session!r}", retryable=False)
    return None, ""


def _usable(found: Any, sync: bool) -> Summarizer:
    if unawaited(found):
        raise PolicyError(_ASYNC_RESOLVER)
    try:
        summarizer = as_summarizer(found)
    except PolicyError as error:
        said = f"The function that chooses the summarizer returned {type(found).__name__}, which cannot be used"
        raise PolicyError(f"{said}; it returns a Summarizer, a model, a list of models, or None.") from error
    if sync:
        refuse_async(summarizer.models)
    return summarizer


def _failed(said: str, *, retryable: bool) -> SummarizerFailed:
    text = f"{said}. The session is unchanged; choose another, or compact(by_code=True)."
    return SummarizerFailed(text, retryable=retryable)


_ASYNC_RESOLVER = (
    "The function that chooses the summarizer is async, and it is called plainly, in a session and in an AsyncSession. "
    "Look up beforehand what it needs and hand it over as context=. (An async model goes into model=, or is what the "
    "function of an AsyncSession returns.)"
)
