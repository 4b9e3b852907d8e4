"""What a terminal would show of an output: colours, cursor moves, titles and overwritten progress taken out, line
by line.

Knows nothing of kinds. Lines stay lines, so that line numbers of the body hold; the text only gets shorter. The
body in the artifact store keeps every byte as it came.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from foldmark.kinds.base import Kind
from foldmark.kinds.cuts import without_controls

_ESCAPE = "\x1b"
_SIGNS = ("\x1b", "\r", "\b", "\x9b", "\x9d", "\x90", "\x9e", "\x9f", "\x98")
"""Without one of these a text shows as it stands: finding none of them costs a few passes at memory speed."""

_STRING = re.compile(r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n\r]*(?:\x07|\x1b\\|\x9c)?")
"""Titles, hyperlinks, device strings. One that never ends hides the rest of its line, as in a terminal, not more."""
_TO_COLUMN_ONE = re.compile(r"(?:\x1b\[|\x9b)[01]?G")
_FORWARD = re.compile(r"(?:\x1b\[|\x9b)(\d{0,3})C")
_ERASE_LINE = re.compile(r"(?:\x1b\[|\x9b)[12]K")
_ERASE_AFTER_RETURN = re.compile(r"\r(?:(?:\x1b\[|\x9b)[0-9;?]{0,12}[mhl]){0,4}(?:\x1b\[|\x9b)0?[KJ]")
_CONTROL = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?")

_ERASED = "\x00\x08"  # stands for "everything before it on this line is gone"; a backspace over a NUL is in no output
RETURN_SIGN = "␍"
"""Between two unlike texts that a bare carriage return wrote over each other: nothing readable is dropped."""


def clean_text(text: str) -> str:
    """Text that may stand in a request: what a terminal would show, without NULs, lone surrogates and other
    control characters. As many lines as before, never longer."""
    return text if text.isascii() and text.isprintable() else without_controls(on_screen(text))


def on_screen(text: str) -> str:
    """The text as a terminal would show it, line by line. The last state of overwritten progress wins."""
    if not any(map(text.__contains__, _SIGNS)):
        return text
    return _on_screen(text)


def seen_on_screen(kind: Kind) -> Kind:
    """The kind, reading what a terminal would show: no escape sequence reaches a preview, or hides a word from it."""
    return replace(
        kind,
        preview=lambda text, budget_tokens, count: kind.preview(on_screen(text), budget_tokens, count),
        outcome=lambda text, call: kind.outcome(on_screen(text), call),
    )


@lru_cache(maxsize=1)  # the same text is recognised, previewed and named in a row
def _on_screen(text: str) -> str:
    if _ESCAPE in text or any(map(text.__contains__, _SIGNS[3:])):
        text = _STRING.sub("", text)
        text = _TO_COLUMN_ONE.sub("\r", text)
        text = _ERASE_AFTER_RETURN.sub(_ERASED, text)
        text = _ERASE_LINE.sub(_ERASED, text)
        text = _FORWARD.sub(_spaces, text)
        text = _CONTROL.sub("", text)
    if "\b" not in text and text.count("\r") == text.count("\r\n"):
        return text
    return "\n".join(_overwritten(line) if "\r" in line or "\b" in line else line for line in text.split("\n"))


def _spaces(match: re.Match[str]) -> str:
    """A cursor that steps forward leaves blanks; never more than the sequence was long."""
    return " " * min(int(match[1] or 1), len(match[0]))


def _overwritten(line: str) -> str:
    """One line after its carriage returns and backspaces; a carriage return at its end belongs to the line end."""
    end = "\r" if line.endswith("\r") else ""
    line = line.rpartition(_ERASED)[2] if _ERASED in line else line
    states = [_rubbed_out(state) for state in line.split("\r") if state.strip("\r\b \t")]
    if not states:
        return end
    shown = [state for state, later in pairwise(states) if not replaces(later, state)]
    return RETURN_SIGN.join([*shown, states[-1]]) + end


def _rubbed_out(state: str) -> str:
    if "\b" not in state:
        return state
    kept: list[str] = []
    for character in state:
        if character != "\b":
            kept.append(character)
        elif kept:
            kept.pop()
    return "".join(kept)


_WORD = re.compile(r"[^\W\d_]+")


def replaces(later: str, state: str) -> bool:
    """Whether a state of a line is only progress towards a later one: it says no word, or begins with the same
    word."""
    first = _WORD.search(state)
    then = _WORD.search(later)
    return first is None or (then is not None and first[0] == then[0])
