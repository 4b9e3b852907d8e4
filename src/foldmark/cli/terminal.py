"""Text on its way to a terminal or a pipe: readable, harmless, encodable. Knows nothing of what it says.

Transcripts hold what web pages and tools wrote: sequences that rename the window, move the cursor or turn the direction
of writing. They are shown as what they are, never carried out. In JSON they are escapes: it says the same once it is
read.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from rich.console import Console

INTERRUPTED = 130
"""Exit code of a command that a signal ended before it was done; what a shell says of Ctrl-C."""
UNWRITTEN = 2
"""Exit code of a command whose output cannot be written (a full disk)."""
_CONTROLS = [*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0xA0)]
_TURNS = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_VISIBLE: dict[int, str] = {code: f"\\x{code:02x}" for code in _CONTROLS} | {code: f"\\u{code:04x}" for code in _TURNS}
_VISIBLE |= {0x0D: "\\r", **{code: f"\\u{code:04x}" for code in range(0xD800, 0xE000)}}


_ESCAPED = {code: f"\\u{code:04x}" for code in [*range(0x7F, 0xA0), *_TURNS, 0x2028, 0x2029, *range(0xD800, 0xE000)]}


def visible(text: str) -> str:
    """The text with controls, marks of direction and lone surrogates as escapes; line feeds and tabs stay."""
    return text.replace("\r\n", "\n").translate(_VISIBLE)


class Terminal(Console):
    """A console for lines of text that may hold anything: no markup, nothing is carried out."""

    def tell(self, text: str, style: str = "") -> None:
        self.print(visible(text), style=style or None, markup=False, emoji=False)

    def on_broken_pipe(self) -> None:
        """Leave it to whoever runs the command (rich would end with code 1)."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def terminal(*, errors: bool = False) -> Terminal:
    """Standard output (or standard error); wide when it is no terminal, so that ids in pipes stay whole."""
    plain = Terminal(highlight=False, soft_wrap=True, stderr=errors)
    return plain if plain.is_terminal else Terminal(highlight=False, soft_wrap=True, width=240, stderr=errors)


def say(text: str, end: str = "\n") -> None:
    """Print text as it is, but for what a terminal would carry out."""
    print(visible(text), end=end)


def say_json(value: Any) -> None:
    """Print one JSON value. What a terminal would carry out, lone surrogates and what the stream cannot encode become
    escapes: the value that is read again is the same."""
    text = json.dumps(value, ensure_ascii=False).translate(_ESCAPED)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value)
    print(text)


def whoever_reads(tell: Callable[[], None]) -> None:
    """Print by `tell`; when the reader has gone, what follows (an exit code) still counts."""
    with contextlib.suppress(BrokenPipeError):
        tell()


class Logged(logging.Handler):
    """What the package logs, on standard error. Where code that it called raised something to end a program (a model's
    code may), a sentence says so: a trace is for faults."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is None or isinstance(error, Exception):
            text = self.format(record)
        else:
            text = f"{record.getMessage()} What it called raised {error!r}, which is to end a program."
        with contextlib.suppress(OSError, ValueError):
            terminal(errors=True).tell(text, "yellow")


def run(command: Callable[[], None]) -> NoReturn:
    """Run a command and end with its exit code, so that no encoding and no closed pipe (`foldmark show | head`) ends in
    a traceback, nor an output that takes no more. A reader that closed the pipe read what was asked for: that is no
    failure."""
    _reopen()
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    logging.getLogger("foldmark").addHandler(Logged(logging.WARNING))
    code: Any = 0
    try:
        code = _code_of(command)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        _close_output()
    except OSError as error:
        _close_output()
        said = f"foldmark: standard output cannot be written: {error.strerror or error}."
        with contextlib.suppress(OSError):
            terminal(errors=True).tell(said, "red")
        code = UNWRITTEN
    _hear_no_more()
    sys.exit(code)


def _hear_no_more() -> None:
    """What the command did has its exit code; a signal that comes now would take its place."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if number := getattr(signal, name, None):
            signal.signal(number, signal.SIG_IGN)


def _code_of(command: Callable[[], None]) -> Any:
    """Run a command; its exit code. Raises OSError where it cannot print."""
    try:
        command()
    except SystemExit as done:
        # The command line makes code 1 of a closed pipe.
        if isinstance(done.__context__, BrokenPipeError):
            raise done.__context__ from None
        return done.code
    return 0


def _reopen() -> None:
    """Where a stream was closed before (`>&-`), what is told goes nowhere, and nothing is read."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open to the end


def _close_output() -> None:
    """Let what is still to be written go nowhere: the interpreter must not complain when it flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
