"""Tells where a kind of character next stands in a text. Knows nothing of secrets."""

from __future__ import annotations

import re

_STEP = 4_096


class Ahead:
    """Where a character of a kind next stands. Asked for places in order it looks at every character about once,
    however far each question reaches: what was looked through for one place is known for the next."""

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        """`pattern` matches one character."""
        self._pattern, self._text = pattern, text
        self._start = self._clear = 0  # none stands between the two
        self._is_there = False  # one stands at the second

    def within(self, start: int, stop: int) -> int:
        """The first place of one from `start` on, before `stop`; `stop` where there is none."""
        if not self._start <= start <= self._clear:
            self._start, self._clear, self._is_there = start, start, False
        if not self._is_there and self._clear < stop:
            end = min(len(self._text), stop + _STEP)
            match = self._pattern.search(self._text, self._clear, end)
            self._clear, self._is_there = (match.start(), True) if match else (end, False)
        return min(self._clear, stop)

    def stands_within(self, start: int, stop: int) -> bool:
        """Whether one stands from `start` on, before `stop`."""
        return self.within(start, stop) < stop
