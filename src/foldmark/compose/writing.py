"""Writes a checkpoint by code alone: state, user messages, excerpts and names, landing on a given size.

Everything comes from facts and units of the whole log, never from an earlier checkpoint's text, so a hundred
compactions in a row cannot drift. Knows nothing of stores, of requests, or of where the text will stand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import msgspec

from foldmark.budget import Room
from foldmark.checkpoint import Checkpoint, Fact, Item, Line, Mark, Name, Section, Unit
from foldmark.compose.filling import Filling, Page
from foldmark.compose.focus import Focus
from foldmark.compose.sections import (
    CONSTRAINTS,
    CURRENT,
    USER_MESSAGES,
    Candidate,
    State,
    candidates,
    clip,
    common_root,
    heads,
    is_constraint,
    task_mark,
    user_messages,
)
from foldmark.compose.telling import STORY_SHARE, findable, is_told, told_sections
from foldmark.events import Event
from foldmark.policy import Policy
from foldmark.render import render_name
from foldmark.salience import Tally, plain_arguments, rank, rank_names
from foldmark.store import View
from foldmark.tokens import TokenCounter, count

_Matter = tuple[State, Sequence[int], Sequence[Item], Focus]  # state, kept seqs, narrative, focus

FIRST_CHARACTERS = 160
"""What an old user message falls to; its constraints stand in full in a section of their own."""

_SENTENCE_ENDS = re.compile(r"[.!?]\s")

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
    def tail(self) -> Sequence[Event]: ...
    @property
    def shortened(self) -> frozenset[int]: ...
    @property
    def room_tokens(self) -> int: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...


USER_WEIGHT = 0.4
"""What a unit of a user message is worth against a result's: the messages have a share of their own already."""

ANNOUNCED = 0.3
"""What a lone sentence that ends in a colon is worth: it only announces what came next ("Let me check the lock:")."""


def with_shortened(material: Material, further: Material, span: Covering) -> Material:
    """The material of a boundary, and from a later one the heads and units of results that the tail shows shortened."""
    state, facts, _ = material
    return (
        state,
        [*facts, *(fact for fact in further[1] if fact.seq in span.shortened)],
        [unit for unit in further[2] if unit.seq <= span.boundary or unit.seq in span.shortened],
    )


def unit_limit(room_tokens: int) -> int:
    """How many of the best units to gather for a room: about four times as many as will fit."""
    return 400 + room_tokens // 8


def name_limit(room_tokens: int, policy: Policy) -> int:
    """How many of the best working names to gather: those that stand in the text already are passed over."""
    return 100 + round(room_tokens * policy.shape.names_share)


def compose(
    span: Covering,
    material: Material,
    view: View,
    space: Room,
    policy: Policy,
    *,
    now: float,
    focus: str = "",
    names: Sequence[Name] = (),
    tally: Tally | None = None,
    narrative: Sequence[Item] = (),
    author: str = "code",
    counter: TokenCounter = count,
) -> Checkpoint:
    """The next checkpoint of a view: `write_checkpoint` for a span, with the numbers that the view and room
    give."""
    state, facts, units = material
    checkpoint = write_checkpoint(
        version=(view.checkpoint.version if view.checkpoint else 0) + 1,
        boundary=span.boundary,
        mark=span.mark,
        state=state,
        facts=facts,
        units=units,
        names=names,
        tally=tally,
        kept=tuple(event.seq for event in span.kept),
        raw=[words_of(event) for event in span.tail],
        landing_tokens=span.room_tokens,
        policy=policy,
        focus=focus,
        narrative=narrative,
        author=author,
        on_top=not space.forced,
        now=now,
        counter=counter,
    )
    return msgspec.structs.replace(
        checkpoint,
        compacted_size=space.static + space.landing,
        warnings=(*span.warnings, *checkpoint.warnings),
    )


def write_checkpoint(
    *,
    version: int,
    boundary: int,
    mark: Mark,
    state: State,
    facts: Sequence[Fact],
    units: Sequence[Unit],
    landing_tokens: int,
    policy: Policy,
    now: float,
    names: Sequence[Name] = (),
    tally: Tally | None = None,
    kept: Sequence[int] = (),
    raw: Sequence[str] = (),
    focus: str = "",
    narrative: Sequence[Item] = (),
    author: str = "code",
    on_top: bool = False,
    counter: TokenCounter = count,
) -> Checkpoint:
    """The checkpoint that covers the log up to `boundary`, from facts and units alone.

    `state` and `facts` are the newest fact per (kind, key) and all facts up to the boundary, `units` the
    stored ones, `names` the working names, best first, `raw` the texts that stand behind it in the request.
    The text costs at most `landing_tokens` (o200k), and 97% of it or more when there is enough to say; what
    the user forbade is never left out, so a room smaller than that is passed, with a warning. `narrative` is what
    `author` (`code and <model>`) told, already checked; it takes at most `STORY_SHARE` of the landing (`on_top` of it:
    the text grows by it, so that no fact makes room for a model), and without it the text is code's alone. `focus`
    raises what shares its words, and drops nothing that must be there. The same arguments give the same text.
    """
    page = Page(version, boundary, counter, author if narrative else "code")
    plain = Page(version, boundary, counter)
    aim = Focus(focus, (unit.text for unit in units))
    shape = policy.shape
    names_budget = round(shape.names_share * landing_tokens)
    material = (state, kept, narrative, aim)
    sections, left, more = _fitting_sections(page, plain, material, landing_tokens, policy, on_top)
    landing_tokens += more  # what a model tells takes no room from facts: the record grows by it
    if not any(map(is_told, sections)):  # code says all of it already: nobody else wrote this text
        page.author = "code"
    root = common_root(key for kind, key in state if kind == "file")
    told = () if on_top else [text for item in narrative for text in (item.text, item.why) if text]
    by_code = [section for section in sections if not (on_top and is_told(section))]
    ranked = _ranked(_weighed(units, state, aim), by_code, tally, boundary, raw, told)
    filling = Filling(page, sections, ranked, heads(facts, {unit.seq for unit in ranked}, root))
    filling.fill(left - names_budget)
    text_so_far = page.render(sections, filling.excerpts(), ())
    if tally and not names:
        names = rank_names(tally, boundary, name_limit(landing_tokens, policy))
    chosen_names = _fill_names(page, names, text_so_far, names_budget)
    text, tokens = filling.land(landing_tokens, chosen_names)
    warnings: tuple[str, ...] = ()
    if tokens > landing_tokens:
        warnings = (f"What is never left out costs {tokens:,} tokens, more than the room of {landing_tokens:,}.",)
    return Checkpoint(
        version=version,
        boundary=boundary,
        text=text,
        tokens=tokens,
        mark=mark,
        kept=tuple(kept),
        sections=tuple(sections),
        excerpts=tuple(filling.excerpts()),
        names=tuple(chosen_names),
        narrative=findable(narrative, sections, text),
        author=author if narrative else "code",
        target=landing_tokens,
        time=now,
        warnings=warnings,
    )


def _fitting_sections(
    page: Page, plain: Page, material: _Matter, landing_tokens: int, policy: Policy, on_top: bool
) -> tuple[list[Section], int, int]:
    """(the sections, tokens left for excerpts and names, tokens that the record grows by for a model's lines)."""
    for thrift in (1.0, 0.3, 0.0):  # a small room holds what must be there and little more
        sections, used = _all_sections(page, material, landing_tokens, policy, thrift)
        more = _of_the_model(page, plain, sections) if on_top else 0
        left = max(0, landing_tokens - page.cost_of_frame()) + more - used
        if left >= 0:
            break
    return sections, left, more


def _of_the_model(page: Page, plain: Page, sections: Sequence[Section]) -> int:
    """What the lines of a model cost, and the line that names it."""
    told = [section for section in sections if is_told(section)]
    named = page.cost_of_frame() - plain.cost_of_frame()
    seams = 8 + 4 * len(told)  # where lines are counted one by one, a whole text may cost a little more
    return sum(map(page.cost_of_section, told)) + (named + seams if told else 0)


def _all_sections(
    page: Page,
    material: _Matter,
    landing_tokens: int,
    policy: Policy,
    thrift: float = 1.0,
) -> tuple[list[Section], int]:
    """The state sections with the user messages after goal and constraints, what a model told after the place where the
    work stood, and what they cost together."""
    state, kept, narrative, aim = material
    shape = policy.shape
    facts_budget = round(shape.facts_share * landing_tokens * thrift)
    user_budget = round(shape.user_share * landing_tokens * thrift)
    sections = _fill_sections(page, aim.sorted(candidates(state, landing_tokens)), facts_budget)
    messages = _fill_messages(page, state, kept, user_budget)
    if messages.lines:
        first = ("Goal", CONSTRAINTS)
        at = 1 + max((i for i, section in enumerate(sections) if section.title in first), default=-1)
        sections.insert(at, messages)
    if narrative:
        told = told_sections(page, narrative, round(STORY_SHARE * landing_tokens * thrift), sections)
        before = ("Goal", CONSTRAINTS, USER_MESSAGES, CURRENT)
        at = 1 + max((i for i, section in enumerate(sections) if section.title in before), default=-1)
        sections[at:at] = told
    return sections, sum(page.cost_of_section(section) for section in sections)


def _fill_sections(page: Page, found: Sequence[Candidate], budget: int) -> list[Section]:
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
    return [_section(candidate, taken[number], page.version) for number, candidate in enumerate(found) if taken[number]]


def _section(candidate: Candidate, lines: list[Line], version: int) -> Section:
    shown = sorted(lines, key=lambda line: line.refs[:1]) if candidate.in_order else lines
    rest = len(candidate.lines) - len(lines)
    if rest > 0:
        shown = [*shown, Line(f"{rest} more {candidate.noun}: search, or load compaction:{version}")]
    return Section(candidate.title, tuple(shown))


def _fill_messages(page: Page, state: State, kept: Sequence[int], budget: int) -> Section:
    """User messages, newest first within their share, shown in the order of the log.

    Verbatim while two thirds of the share last (one message may take a third, an open request all of it),
    else the first words. A message that is one sentence among the constraints is not said twice, nor is one that the
    user repeated: its newest place counts.
    """
    chosen: list[Line] = []
    rest: list[int] = []
    said: set[str] = set()
    left, verbatim = budget - 8, budget * 2 // 3
    for number, fact in enumerate(user_messages(state, kept)):
        if number and (fact.value in said or is_constraint(state, fact.value)):
            continue
        said.add(fact.value)
        mark = task_mark(state, fact.seq)
        line = Line(f"{mark}{fact.value}", (fact.seq,))
        cost = page.cost_of_line(line)
        limit = left if not mark else min(verbatim, left, max(budget // 3, 60))
        if cost <= limit:
            verbatim -= cost
        else:
            line = Line(f"{mark}{clip(' '.join(fact.value.split()), FIRST_CHARACTERS)}", (fact.seq,))
            cost = page.cost_of_line(line)
        if cost > left:
            rest.append(fact.seq)
            continue
        chosen.append(line)
        left -= cost
    chosen.sort(key=lambda line: line.refs)
    if rest:
        where = f"between event:{min(rest)} and event:{max(rest)}" if len(rest) > 1 else f"at event:{rest[0]}"
        chosen.insert(0, Line(f"{len(rest)} more {where}: search, or load compaction:{page.version}"))
    return Section(USER_MESSAGES, tuple(chosen))


def words_of(event: Event) -> str:
    """Text and arguments of an event, as words."""
    return "\n".join([event.text, *(plain_arguments(call.arguments) for call in event.calls)])


def _ranked(
    units: Sequence[Unit],
    sections: Sequence[Section],
    tally: Tally | None,
    upto: int,
    raw: Sequence[str],
    told: Sequence[str] = (),
) -> list[Unit]:
    """Units by worth, without what already stands in a section or was `told`."""
    shown = [row for section in sections for line in section.lines for row in line.text.split("\n")] + list(told)
    messages = next((section.lines for section in sections if section.title == USER_MESSAGES), ())
    spoken = {line.refs[0] for line in messages if line.refs and not line.text.endswith(" …")}
    open_units = [unit for unit in units if unit.seq not in spoken]
    return rank(open_units, shown=shown, raw=raw, tally=tally, upto=upto)


def _weighed(units: Sequence[Unit], state: State, aim: Focus) -> list[Unit]:
    """Units with words of the focus weigh more, those of user messages and announcements less."""
    spoken = {fact.seq for (kind, _), fact in state.items() if kind == "user"}
    out: list[Unit] = []
    for unit in units:
        weight = USER_WEIGHT if unit.seq in spoken else 1.0
        if unit.text.endswith(":") and not _SENTENCE_ENDS.search(unit.text):
            weight *= ANNOUNCED
        weight *= aim.weight(unit.text)
        out.append(msgspec.structs.replace(unit, score=unit.score * weight) if weight != 1.0 else unit)
    return out


def _fill_names(page: Page, names: Sequence[Name], text: str, budget: int) -> list[Name]:
    """Working names that do not stand in the text yet, best first."""
    chosen: list[Name] = []
    for name in names:
        if name.where > page.boundary or name.name in text:  # the raw tail holds it, or the text does
            continue
        cost = page.counter(" " + render_name(name)) + 1
        if cost > budget:
            break
        chosen.append(name)
        budget -= cost
    return chosen
