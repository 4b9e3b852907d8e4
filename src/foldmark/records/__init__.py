"""Turns covered events into the records that a summary model reads. Knows nothing of prompts, models or windows.

Every event that was part of the conversation gives one record, redacted whole before anything of it is cut; only a
formatter that returns empty text leaves one out. Thinking is not told: a narrative is made from what was said and done.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from foldmark import tokens
from foldmark.events import Event, ToolCall
from foldmark.narrative import Record
from foldmark.parting import LEAST_RECORD, shortened
from foldmark.records.formatting import Formats
from foldmark.records.telling import Telling, record_of, role_of
from foldmark.redact import Redactor
from foldmark.summarizer import Hooks, Style
from foldmark.tokens import TokenCounter

__all__ = ["Record", "records"]


def records(
    events: Sequence[Event],
    *,
    style: Style,
    hooks: Hooks,
    redact: Redactor,
    limit_tokens: int,
    focus: str = "",
    count: TokenCounter = tokens.count,
) -> tuple[list[Record], tuple[str, ...]]:
    """The records of events, in order, and warnings (of formatters that failed).

    `limit_tokens` is the most that a user's message may take; everything else takes less (`telling.SHARES`),
    and a step with all its calls twice as much. With a
    `focus`, lines that share its words are preferred where a result must be shortened. Raises SummarizerFailed when a
    formatter fails and `hooks.abort` is set.
    """
    formats = Formats(hooks, redact)
    meter = lru_cache(maxsize=64)(count)  # a text is asked for when it is cut, joined and put into its record
    telling = Telling(style, redact, limit_tokens, focus, meter, formats)
    calls: dict[str, ToolCall] = {}
    found: list[Record] = []
    for event in events:
        calls.update((call.id, call) for call in event.calls)
        answered = calls.get(event.result.call_id) if event.result else None
        if text := record_of(event, answered, telling):
            record = Record(event.seq, role_of(event), text, meter(text))
            found.append(shortened(record, max(LEAST_RECORD, 2 * limit_tokens), meter))
    return found, formats.warnings()
