"""Fills a checkpoint with excerpts until the true token count lands. Knows nothing of facts or policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foldmark.checkpoint import Excerpt, Line, Name, Section, Unit
from foldmark.render import render, render_head, render_line, render_unit
from foldmark.tokens import TokenCounter

_LOWEST = 0.985
"""Filling goes on while the true count is below this share of the room."""
_MISSES = 300  # units that may be too long for the rest of the room before the filling gives up
_ROUNDS = 6  # true counts at most


class Page:
    """What lines cost. Lines are counted one by one: a line break ends a token, so their sum is nearly the
    truth."""

    def __init__(self, version: int, boundary: int, counter: TokenCounter, author: str = "code") -> None:
        self.version, self.boundary, self.counter, self.author = version, boundary, counter, author

    def render(self, sections: Sequence[Section], excerpts: Sequence[Excerpt], names: Sequence[Name]) -> str:
        return render(self.version, self.boundary, sections, excerpts, names, self.author)

    def cost_of_frame(self) -> int:
        return self.counter(self.render((), (), ())) + 30  # and the headings of excerpts, names

    def cost_of_line(self, line: Line) -> int:
        return self.counter(render_line(line)) + 1

    def cost_of_section(self, section: Section) -> int:
        return self.counter(section.title) + 3 + sum(map(self.cost_of_line, section.lines))


class Filling:
    """Excerpts on their way: which units are in, what they cost, what may come next."""

    def __init__(
        self,
        page: Page,
        sections: Sequence[Section],
        ranked: Sequence[Unit],
        heads: Mapping[int, str],
    ) -> None:
        self.page, self.sections, self.ranked = page, sections, ranked
        self.heads = heads
        self.chosen: list[tuple[Unit, int]] = []
        self.per_event: dict[int, int] = {}
        self.next = 0

    def fill(self, budget: int) -> None:
        """Take units by rank while they fit `budget` tokens; an event's first unit also pays for its head."""
        misses = 0
        skipped: list[Unit] = []
        while self.next < len(self.ranked) and budget > 8 and misses < _MISSES:
            unit = self.ranked[self.next]
            self.next += 1
            cost = self._cost(unit)
            if cost > budget:
                misses += 1
                skipped.append(unit)
                continue
            budget -= cost
            self.chosen.append((unit, cost))
            self.per_event[unit.seq] = self.per_event.get(unit.seq, 0) + 1
        self.ranked = [*skipped, *self.ranked[self.next :]]
        self.next = 0

    def _cost(self, unit: Unit) -> int:
        cost = self.page.counter(render_unit(unit.text)) + 1
        if unit.seq not in self.per_event:
            cost += self.page.counter(render_head(unit.seq, self.heads.get(unit.seq, ""))) + 1
        return cost

    def excerpts(self) -> list[Excerpt]:
        groups: dict[int, list[Unit]] = {}
        for unit, _ in self.chosen:
            groups.setdefault(unit.seq, []).append(unit)
        return [
            Excerpt(seq, self.heads.get(seq, ""), tuple(u.text for u in sorted(group, key=lambda u: u.order)))
            for seq, group in sorted(groups.items())
        ]

    def land(self, target: int, names: list[Name]) -> tuple[str, int]:
        """Count for real, then fill on or take the last ones back until the text lands. Names go last."""
        text, tokens = self._measure(names)
        for _ in range(_ROUNDS):
            if tokens > target and self.chosen:
                self._take_back(tokens - target)
            elif tokens < _LOWEST * target and self.next < len(self.ranked):
                before = len(self.chosen)
                self.fill(target - tokens)
                if len(self.chosen) == before:
                    break
            else:
                break
            text, tokens = self._measure(names)
        while tokens > target and (self.chosen or names):
            if self.chosen:
                self._take_back(tokens - target)
            else:
                del names[-max(1, len(names) // 4) :]
            text, tokens = self._measure(names)
        return text, tokens

    def _measure(self, names: Sequence[Name]) -> tuple[str, int]:
        text = self.page.render(self.sections, self.excerpts(), names)
        return text, self.page.counter(text)

    def _take_back(self, tokens: int) -> None:
        while tokens > 0 and self.chosen:
            unit, cost = self.chosen.pop()
            tokens -= cost
            self.per_event[unit.seq] -= 1
            if not self.per_event[unit.seq]:
                del self.per_event[unit.seq]
