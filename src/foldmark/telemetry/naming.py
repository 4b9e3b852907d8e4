"""Which words may leave: those of closed lists, and names that pass a check. Knows nothing of metrics and spans.

A report holds text that may quote a user. Of all its strings only these go out, and each through a function of this
module, so that a field that holds text by mistake brings out `other` and no word of it.
"""

from __future__ import annotations

import re
from math import isfinite
from threading import Lock
from typing import get_args

from foldmark.failures import FailureKind
from foldmark.reports import Outcome, Run

OTHER = "other"
"""Stands for every word that may not go out."""

OUTCOMES = frozenset(get_args(Outcome))
RUNS = frozenset(get_args(Run))
MODES = frozenset({"code", "standalone", "fork"})
FAILURES = frozenset({*get_args(FailureKind), "hook", "cancelled", "resting", "invalid"})
WORK = frozenset({"raised", "claimed", "done", "again", "given_up", "lost"})
LABELS = ("outcome", "trigger", "run", "mode", "model", "failure", "vectors", "scope")
"""Attributes that a metric may carry, where they apply to it. `scope` only when it is asked for."""

LONGEST = 80
"""Characters of a name. The name of a model in a reply is cut there as well."""
MOST_NAMES = 50
"""Different names of one sort that one observer lets out; later ones are `other`. A metric keeps one series for each of
them, for ever, so a name that somebody builds from data must not make a new one each time."""
_BETWEEN = re.compile(r", | and ")  # how `any_of` and `all_of` join the names of triggers


def listed(word: str, words: frozenset[str]) -> str:
    """The word when it is one of the list, else `other`; empty stays empty."""
    return word if not word or word in words else OTHER


def is_name(text: str) -> bool:
    """Whether it is a name: 1 to 80 printable characters without a blank. Prose has blanks."""
    return 0 < len(text) <= LONGEST and text.isprintable() and not any(character.isspace() for character in text)


def is_number(value: object) -> bool:
    """Whether it is a finite number: not every format knows infinity, and a field of a report that holds a number by
    its type may hold anything when the caller's code filled it."""
    return isinstance(value, int | float) and isfinite(value)


def named(text: str) -> str:
    """A name of a model or a scope as it is, else `other`; empty stays empty."""
    return text if not text or is_name(text) else OTHER


def trigger(text: str) -> str:
    """The name of a trigger, or several joined by `any_of` and `all_of`, else `other`; empty stays empty."""
    fits = len(text) <= LONGEST and all(map(is_name, _BETWEEN.split(text)))
    return text if not text or fits else OTHER


class Names:
    """The names that were let out so far, by sort: at most `most` of each, whoever asks."""

    def __init__(self, most: int = MOST_NAMES) -> None:
        self._most, self._lock = most, Lock()
        self._seen: dict[str, set[str]] = {}

    def __call__(self, sort: str, name: str) -> str:
        """The name, or `other` when there are too many of its sort."""
        with self._lock:
            seen = self._seen.setdefault(sort, set())
            if name not in seen and len(seen) >= self._most:
                return OTHER
            seen.add(name)
            return name
