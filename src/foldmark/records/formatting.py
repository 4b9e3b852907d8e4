"""The caller's own words for calls and results: which formatter is meant, and what happens when it fails. Knows nothing
of the built-in words.

A formatter is handed redacted values, so that whatever it cuts holds no half of a secret, and its text is redacted
again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from foldmark.errors import SummarizerFailed, words_of_error
from foldmark.events import Event, ToolCall
from foldmark.kinds import clean_text
from foldmark.kinds.base import clip
from foldmark.redact import Redactor
from foldmark.summarizer import Hooks


class Formats:
    """The formatters of one run and the warnings they gave, each sort once with its number."""

    def __init__(self, hooks: Hooks, redact: Redactor) -> None:
        self.hooks, self.redact = hooks, redact
        self._failed: dict[tuple[str, str], list[int]] = {}

    def call(self, call: ToolCall, seq: int) -> str | None:
        """The caller's text for a redacted call: empty leaves it out, None takes the built-in words."""
        return self._asked("call_text", self.hooks.call_text, call.name, call, seq)

    def result(self, event: Event, name: str) -> str | None:
        """The caller's text for a redacted tool event, likewise."""
        return self._asked("result_text", self.hooks.result_text, name, event, event.seq)

    def _asked(self, hook: str, given: Any, name: str, subject: Any, seq: int) -> str | None:
        formatter: Callable[[Any], str] | None = given.get(name) if isinstance(given, Mapping) else given
        if formatter is None:
            return None
        try:
            said = formatter(subject)
            if not isinstance(said, str):
                raise TypeError(f"it returned {type(said).__name__}, not text")
        except Exception as error:
            reason = self.redact(clean_text(words_of_error(error)))
            if self.hooks.abort:
                raise SummarizerFailed(
                    f"hooks.{hook} failed at event:{seq} ({clip(reason)}). Nothing was changed.", retryable=False
                ) from error
            self._failed.setdefault((f"hooks.{hook} of {name}", clip(reason)), []).append(seq)
            return None
        return self.redact(clean_text(said)).strip()

    def warnings(self) -> tuple[str, ...]:
        return tuple(
            f"{hook} failed at event:{seqs[0]}{f' and {len(seqs) - 1} more' if len(seqs) > 1 else ''} ({reason}); "
            "the built-in words were used."
            for (hook, reason), seqs in self._failed.items()
        )
