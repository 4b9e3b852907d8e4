"""What SQLite refuses, as errors that say what to do. Knows nothing of tables."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

from foldmark.errors import StoreError

BUSY_SECONDS = 30.0
"""How long a writer waits for another process."""

_ADVICE = (
    (
        ("locked", "busy"),
        f"another process holds it for more than {BUSY_SECONDS:.0f} seconds. Try again, or end that process.",
    ),
    (("full",), "the disk is full. Free some space and try again."),
    (("readonly", "read-only"), "it cannot be written. Check the permissions of the file and of its folder."),
    (
        ("malformed", "not a database", "corrupt"),
        "the file is damaged. Copy it with its -wal and -shm files, then `sqlite3 FILE .recover` saves what is left.",
    ),
    (
        ("constraint failed",),
        "what stands in the file does not fit together: it is damaged. A backup of it has it as it was; "
        "`foldmark sessions` names sessions that are damaged.",
    ),
    (
        ("could not decode",),
        "a text in the file is damaged. A backup of the file has it as it was; `sqlite3 FILE .recover` saves the rest.",
    ),
    (("i/o error", "unable to open"), "the disk does not answer as it should. Check it, and that the folder exists."),
)


_TEXT = re.compile(r"(?<=Could not decode to UTF-8) column .*? with text .*", re.DOTALL)
"""What Python repeats of a text that it cannot decode."""


def refused(path: str, error: sqlite3.Error) -> StoreError:
    """What SQLite refused, in words that say what to do. A transaction that was open is rolled back: nothing of it was
    written."""
    said = _TEXT.sub(" what stands there", str(error))  # nobody knows whether that is a secret
    advice = next((words for signs, words in _ADVICE if any(sign in said.lower() for sign in signs)), "")
    return StoreError(f"{path}: {said}" + (f" ({advice} Nothing was written.)" if advice else "."))


class Connection(sqlite3.Connection):
    """A connection whose errors are StoreErrors that name the file."""

    path = ""

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        try:
            return super().execute(*arguments)
        except sqlite3.Error as error:
            raise refused(self.path, error) from error

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        try:
            return super().executemany(*arguments)
        except sqlite3.Error as error:
            raise refused(self.path, error) from error
