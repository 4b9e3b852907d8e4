"""Writes a checkpoint by code alone: state, user messages, excerpts and names, landing on a given size.

Everything comes from facts and units of the whole log, never from an earlier checkpoint's text, so a hundred
compactions in a row cannot drift. Knows nothing of stores, of requests, or of where the text will stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from foldmark.budget import Room
from foldmark.checkpoint import Checkpoint, Excerpt, Fact, Line, Mark, Name, Section, Unit
from foldmark.events import Event
from foldmark.policy import Policy
from foldmark.render import render, render_head, render_line, render_name, render_unit
from foldmark.salience import rank
from foldmark.sections import (
    CONSTRAINTS,
    USER_MESSAGES,
    Candidate,
    State,
    candidates,
    clip,
    common_root,
    heads,
    task_mark,
    user_messages,
)
from foldmark.store import View
from foldmark.tokens import count

Counter = Callable[[str], int]

FIRST_CHARACTERS = 160
"""What an old user message falls to; its constraints stand in full in a section of their own."""
_LOWEST = 0.985
"""Filling goes on while the true count is below this share of the room."""
_MISSES = 300  # units that may be too long for the rest of the room before the filling gives up
_ROUNDS = 6  # true counts at most


Material = tuple[State, Sequence[Fact], Sequence[Unit]]
"""What a store gives of the covered log: newest fact per (kind, key), all facts in order, best units."""


class Covering(Protocol):
    """What a compaction covers, as the selection gives it."""

    @property
    def boundary(self) -> int: ...
    @property
    def mark(self) -> Mark: ...
    @property
    def kept(self) -> tuple[Event, ...]: ...
    @property
    def room_tokens(self) -> int: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...


def unit_limit(room_tokens: int) -> int:
    """How many of the best units to gather for a room: about four times as many as will fit."""
    return 400 + room_tokens // 8


def name_limit(room_tokens: int, policy: Policy) -> int:
    """How many of the best working names to gather: those that stand in the text already are passed over."""
    return 100 + round(room_tokens * policy.shape.names_share)


def compose(
    span: Covering, material: Material, view: View, space: Room, policy: Policy, *, now: float, focus: str = "",
    names: Sequence[Name] = (), counter: Counter = count,
) -> Checkpoint:  # fmt: skip
    """The next checkpoint of a view: `write_checkpoint` for a span, with the numbers that the view and room give."""
    state, facts, units = material
    checkpoint = write_checkpoint(
        version=(view.checkpoint.version if view.checkpoint else 0) + 1, boundary=span.boundary, mark=span.mark,
        state=state, facts=facts, units=units, names=names, kept=tuple(event.seq for event in span.kept),
        landing_tokens=span.room_tokens, policy=policy, focus=focus, now=now, counter=counter,
    )  # fmt: skip
    return msgspec.structs.replace(
        checkpoint,
        compacted_size=space.static + space.landing,
        warnings=(*span.warnings, *checkpoint.warnings),
    )


def write_checkpoint(
    *, version: int, boundary: int, mark: Mark, state: State, facts: Sequence[Fact], units: Sequence[Unit],
    landing_tokens: int, policy: Policy, now: float, names: Sequence[Name] = (), kept: Sequence[int] = (),
    focus: str = "", counter: Counter = count,
) -> Checkpoint:  # fmt: skip
    """The checkpoint that covers the log up to `boundary`, from facts and units alone.

    `state` and `facts` are the newest fact per (kind, key) and all facts up to the boundary, `units` the stored ones,
    `names` the working names, best first. The text costs at most `landing_tokens` (o200k), and 97% of it or more
    when there is enough to say; what the user forbade is never left out, so a room smaller than that is passed, with
    a warning. The same arguments give the same text.
    """
    page = _Page(version, boundary, counter)
    shape = policy.shape
    room = max(0, landing_tokens - page.cost_of_frame())
    sections = _all_sections(page, state, kept, landing_tokens, policy)
    used = sum(page.cost_of_section(section) for section in sections)
    root = common_root(key for kind, key in state if kind == "file")
    filling = _Filling(page, sections, _ranked(units, sections, focus), facts, root)
    names_budget = round(shape.names_share * landing_tokens)
    filling.fill(room - used - names_budget)
    text_so_far = render(version, boundary, sections, filling.excerpts(), ())
    chosen_names = _fill_names(page, names, text_so_far, names_budget)
    text, tokens = filling.land(landing_tokens, chosen_names)
    warnings: tuple[str, ...] = ()
    if tokens > landing_tokens:
        warnings = (f"What is never left out costs {tokens:,} tokens, more than the room of {landing_tokens:,}.",)
    return Checkpoint(
        version=version, boundary=boundary, text=text, tokens=tokens, mark=mark, kept=tuple(kept),
        sections=tuple(sections), excerpts=tuple(filling.excerpts()), names=tuple(chosen_names),
        target=landing_tokens, time=now, author="code", warnings=warnings,
    )  # fmt: skip


def _all_sections(
    page: _Page, state: State, kept: Sequence[int], landing_tokens: int, policy: Policy
) -> list[Section]:
    shape = policy.shape
    sections = _fill_sections(page, candidates(state), round(shape.facts_share * landing_tokens))
    messages = _fill_messages(page, state, kept, round(shape.user_share * landing_tokens))
    if messages.lines:
        at = 1 + max((i for i, section in enumerate(sections) if section.title in ("Goal", CONSTRAINTS)), default=-1)
        sections.insert(at, messages)
    return sections


class _Page:
    """What lines cost. Lines are counted one by one: a line break ends a token, so their sum is nearly the truth."""

    def __init__(self, version: int, boundary: int, counter: Counter) -> None:
        self.version, self.boundary, self.counter = version, boundary, counter

    def cost_of_frame(self) -> int:
        return self.counter(render(self.version, self.boundary, (), (), ())) + 30  # and the headings of excerpts, names

    def cost_of_line(self, line: Line) -> int:
        return self.counter(render_line(line)) + 1

    def cost_of_section(self, section: Section) -> int:
        return self.counter(section.title) + 3 + sum(map(self.cost_of_line, section.lines))


def _fill_sections(page: _Page, found: Sequence[Candidate], budget: int) -> list[Section]:
    """What must be there, then round after round a few lines more of every section while the budget lasts."""
    taken = {number: list(candidate.lines[: candidate.must]) for number, candidate in enumerate(found)}
    left = budget - sum(page.cost_of_line(line) for lines in taken.values() for line in lines)
    left -= sum(page.counter(candidate.title) + 3 for candidate in found)
    open_numbers = list(taken)
    while open_numbers and left > 0:
        for number in list(open_numbers):
            candidate, have = found[number], taken[number]
            for line in candidate.lines[len(have) : len(have) + candidate.quota]:
                cost = page.cost_of_line(line)
                if cost > left:
                    open_numbers.remove(number)
                    break
                have.append(line)
                left -= cost
            if len(have) == len(candidate.lines) and number in open_numbers:
                open_numbers.remove(number)
    return [
        _section(candidate, taken[number], page.version) for number, candidate in enumerate(found) if taken[number]
    ]


def _section(candidate: Candidate, lines: list[Line], version: int) -> Section:
    shown = sorted(lines, key=lambda line: line.refs[:1]) if candidate.in_order else lines
    rest = len(candidate.lines) - len(lines)
    if rest > 0:
        shown = [*shown, Line(f"{rest} more {candidate.noun}: search, or load compaction:{version}")]
    return Section(candidate.title, tuple(shown))


def _fill_messages(page: _Page, state: State, kept: Sequence[int], budget: int) -> Section:
    """User messages, newest first within their share: verbatim while two thirds of it last (one message may take a
    third), else the first words; shown in the order of the log."""
    chosen: list[Line] = []
    rest: list[int] = []
    left, verbatim = budget - 8, budget * 2 // 3
    for fact in user_messages(state, kept):
        mark = task_mark(state, fact.seq)
        line = Line(f"{mark}{fact.value}", (fact.seq,))
        cost = page.cost_of_line(line)
        if cost > min(verbatim, left, max(budget // 3, 60)):
            line = Line(f"{mark}{clip(' '.join(fact.value.split()), FIRST_CHARACTERS)}", (fact.seq,))
            cost = page.cost_of_line(line)
        else:
            verbatim -= cost
        if cost > left:
            rest.append(fact.seq)
            continue
        chosen.append(line)
        left -= cost
    chosen.sort(key=lambda line: line.refs)
    if rest:
        more = f"{len(rest)} more between event:{min(rest)} and event:{max(rest)}" if len(rest) > 1 else f"1 more, event:{rest[0]}"
        chosen.insert(0, Line(f"{more}: search, or load compaction:{page.version}"))
    return Section(USER_MESSAGES, tuple(chosen))


def _ranked(units: Sequence[Unit], sections: Sequence[Section], focus: str) -> list[Unit]:
    """Units by worth, without what already stands in a section."""
    shown = [row for section in sections for line in section.lines for row in line.text.split("\n")]
    messages = next((section.lines for section in sections if section.title == USER_MESSAGES), ())
    spoken = {line.refs[0] for line in messages if line.refs and not line.text.endswith(" …")}
    return rank((unit for unit in units if unit.seq not in spoken), focus_words=focus.split(), shown=shown)


def _fill_names(page: _Page, names: Sequence[Name], text: str, budget: int) -> list[Name]:
    """Working names that do not stand in the text yet, best first."""
    chosen: list[Name] = []
    for name in names:
        if name.name in text:
            continue
        cost = page.counter(" " + render_name(name)) + 1
        if cost > budget:
            break
        chosen.append(name)
        budget -= cost
    return chosen


class _Filling:
    """Excerpts on their way: which units are in, what they cost, what may come next."""

    def __init__(
        self, page: _Page, sections: Sequence[Section], ranked: Sequence[Unit], facts: Sequence[Fact], root: str
    ) -> None:
        self.page, self.sections, self.ranked = page, sections, ranked
        self.heads = heads(facts, {unit.seq for unit in ranked}, root)
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
        """Count for real, then go on filling or take the last ones back until the text lands. Names go last."""
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
        text = render(self.page.version, self.page.boundary, self.sections, self.excerpts(), names)
        return text, self.page.counter(text)

    def _take_back(self, tokens: int) -> None:
        while tokens > 0 and self.chosen:
            unit, cost = self.chosen.pop()
            tokens -= cost
            self.per_event[unit.seq] -= 1
            if not self.per_event[unit.seq]:
                del self.per_event[unit.seq]

