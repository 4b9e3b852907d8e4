"""Text on its way to a terminal or a pipe: readable, harmless, encodable. Knows nothing of what it says.

Transcripts hold what web pages and tools wrote: sequences that rename the window, move the cursor or turn the direction
of writing. They are shown as what they are, never carried out. JSON keeps every character (as an escape where it must).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from rich.console import Console

_CONTROLS = [*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0xA0)]
_TURNS = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_VISIBLE: dict[int, str] = {code: f"\\x{code:02x}" for code in _CONTROLS} | {code: f"\\u{code:04x}" for code in _TURNS}
_VISIBLE |= {0x0D: "\\r", **{code: f"\\u{code:04x}" for code in range(0xD800, 0xE000)}}


def visible(text: str) -> str:
    """The text with controls, marks of direction and lone surrogates as escapes; line feeds and tabs stay."""
    return text.replace("\r\n", "\n").translate(_VISIBLE)


class Terminal(Console):
    """A console for lines of text that may hold anything: no markup, nothing is carried out."""

    def tell(self, text: str, style: str = "") -> None:
        self.print(visible(text), style=style or None, markup=False, emoji=False)


def terminal(*, errors: bool = False) -> Terminal:
    """Standard output (or standard error); wide when it is no terminal, so that ids in pipes stay whole."""
    plain = Terminal(highlight=False, soft_wrap=True, stderr=errors)
    return plain if plain.is_terminal else Terminal(highlight=False, soft_wrap=True, width=240, stderr=errors)


def say(text: str, end: str = "\n") -> None:
    """Print text as it is, but for what a terminal would carry out."""
    print(visible(text), end=end)


def say_json(value: Any) -> None:
    """Print one JSON value. Lone surrogates become escapes, so that no character is lost."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value)
    print(text)


def run(command: Callable[[], None]) -> None:
    """Run a command so that no encoding and no closed pipe (`foldmark show | head`) ends in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    try:
        command()
        sys.stdout.flush()
    except BrokenPipeError:
        # What was asked for was read; the interpreter must not complain when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
