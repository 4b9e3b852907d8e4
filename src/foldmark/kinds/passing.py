"""The tests that a run names as passed, by the names under which their failures stand. Knows nothing of counts."""

from __future__ import annotations

import re

from foldmark.kinds.terminal import clean_text

_BOUND = 1_000_000  # characters looked at from either end of a giant run
_WORKER = r"(?:\[gw\d+\] \[ *\d+%\] )?"
_PASSED = tuple(
    (word, re.compile(f"^{form}$", re.MULTILINE))
    for word, form in (
        (" PASSED", rf"{_WORKER}(\S.*?) PASSED(?: +\[ *\d+%\])?[ \t]*"),  # pytest -v
        ("PASSED ", rf"{_WORKER}PASSED (\S.*)"),  # pytest -rA, and by workers
        (" ... ok", r"(?!test )(\S+ \(\S+\)) \.\.\. ok"),  # unittest -v
        (" ... ok", r"test (\S+) \.\.\. ok"),  # cargo
    )
)


def names_passed(text: str) -> set[str]:
    """The names that a run says passed; empty when it names none."""
    if len(text) > 2 * _BOUND:
        text = text[:_BOUND] + "\n" + text[-_BOUND:]
    text = clean_text(text)
    return {name.rstrip() for word, pattern in _PASSED if word in text for name in pattern.findall(text)}
