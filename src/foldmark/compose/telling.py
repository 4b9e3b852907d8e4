"""The lines that a model told, as sections of a checkpoint: titled as such, bounded, none that code says already.
Knows nothing of how they were checked.
"""

from __future__ import annotations

from collections.abc import Sequence

from foldmark.authors import editor_of
from foldmark.checkpoint import Field, Item, Line, Section
from foldmark.compose.filling import Page
from foldmark.narrative import FIELDS, TITLES
from foldmark.render import render_line
from foldmark.tokens import TokenCounter, count
from foldmark.words import telling, words

STORY_SHARE = 0.15
"""Share of the landing that a narrative may take: six fields of a few lines each at 8,000 tokens."""

TOLD = " (told by a model, checked against the log)"
EDITED = " (told by a model or a person, checked against the log)"
UNVERIFIED = "[unverified] "
"""Before a line whose events do not hold most of its words."""

MOST_POINTED = 12
"""Events that a pointer names at most: each costs three tokens."""

LEFT_OUT = "Told by a model and left out for room"

SAID = 0.8
"""Share of an item's words that a line of code's own sections must hold before the item says nothing new."""

_MARKS: dict[Field, str] = {"open_questions": "Unknown: ", "conflicts": "Conflicting: "}
_NOUNS: dict[Field, str] = {
    "current_work": "lines on current work",
    "next_steps": "next steps",
    "decisions": "decisions",
    "failed_approaches": "failed approaches",
    "open_questions": "open questions",
    "conflicts": "conflicts",
}


def title_of(field: Field, author: str = "") -> str:
    """`Decisions and why (told by a model, checked against the log)`; what is unknown or conflicting says so first, and
    where a person is among the authors of the record, the title says that."""
    return f"{_MARKS.get(field, '')}{TITLES[field]}{EDITED if editor_of(author) else TOLD}"


def is_told(section: Section) -> bool:
    """Whether a section holds lines of a model or a person, or points to some."""
    return section.title.endswith((TOLD, EDITED)) or section.title == LEFT_OUT


def line_of(item: Item) -> Line:
    """`text. Why: … (event:12)`, marked when it is not proven."""
    end = "" if not item.why or item.text.endswith((".", "!", "?", "…", "。")) else "."
    why = f"{end} Why: {item.why}" if item.why else ""
    return Line(f"{'' if item.verified else UNVERIFIED}{item.text}{why}", item.refs)


def told_sections(page: Page, narrative: Sequence[Item], budget: int, by_code: Sequence[Section]) -> list[Section]:
    """The sections of a narrative within a budget of tokens. A line over it falls out, and its events are pointed to;
    one that code's own sections say is left out."""
    lines_by_code = _lines(by_code)
    fresh = [item for item in narrative if not _is_said(item, lines_by_code)]
    shown = _fitting(page, fresh, budget)
    sections: list[Section] = []
    left: list[Item] = []  # of fields that show nothing
    for field in FIELDS:
        lines = [line_of(item) for item in fresh if item.field == field and item in shown]
        rest = [item for item in fresh if item.field == field and item not in shown]
        if lines:
            lines += [_pointer(rest, _NOUNS[field])] if rest else []
            sections.append(Section(title_of(field, page.author), tuple(lines)))
        else:
            left += rest
    if left:
        sections.append(Section(LEFT_OUT, (_pointer(left, "lines"),)))
    return sections


def _pointer(rest: Sequence[Item], noun: str) -> Line:
    """Where the rest can be read: one event for each, the most wanted first."""
    refs = dict.fromkeys(item.refs[0] for item in by_want(rest) if item.refs)
    return Line(f"{len(rest)} more {noun}: load their events", tuple(refs)[:MOST_POINTED])


def findable(narrative: Sequence[Item], sections: Sequence[Section], text: str) -> tuple[Item, ...]:
    """The items that stand in the text, or to whose events a line refers: what is not even pointed to is given up."""
    pointed = {ref for section in sections for line in section.lines for ref in line.refs}
    return tuple(item for item in narrative if item.text in text or pointed.intersection(item.refs))


def by_want(narrative: Sequence[Item]) -> list[Item]:
    """The most wanted first: round after round the next of every field, the proven before the others, of decisions,
    failures and conflicts the newest first."""
    queues = []
    for field in FIELDS:
        own = [item for item in narrative if item.field == field]
        newest_first = own if field in ("current_work", "next_steps") else own[::-1]
        queues.append(sorted(newest_first, key=lambda item: not item.verified))
    longest = max(map(len, queues), default=0)
    return [queue[at] for at in range(longest) for queue in queues if at < len(queue)]


def _fitting(page: Page, items: Sequence[Item], budget: int) -> set[Item]:
    """The items that fit, by want; the first of a field also pays for its heading and a pointer."""
    shown: set[Item] = set()
    headed: set[Field] = set()
    for item in by_want(items):
        heading = 0 if item.field in headed else page.counter(title_of(item.field)) + 20
        cost = page.cost_of_line(line_of(item)) + heading
        if cost <= budget:
            shown.add(item)
            headed.add(item.field)
            budget -= cost
    return shown


def trimmed(narrative: Sequence[Item], limit_tokens: int, counter: TokenCounter = count) -> tuple[Item, ...]:
    """The most wanted items of a narrative that cost no more than `limit_tokens` together: a narrative must never be
    longer than the records it replaces."""
    left, kept = limit_tokens, set[Item]()
    for item in by_want(narrative):
        cost = counter(render_line(line_of(item))) + 1
        if cost <= left:
            kept.add(item)
            left -= cost
    return tuple(item for item in narrative if item in kept)


def _is_said(item: Item, by_code: Sequence[tuple[frozenset[str], Line]]) -> bool:
    """Whether one line of code's sections holds nearly every word of an item, its names and numbers too, and one of its
    events."""
    own = frozenset(telling(words(f"{item.text} {item.why}"), 200))
    exact = frozenset(filter(_is_exact, own))
    return any(
        exact <= there and len(own & there) >= SAID * len(own) and (not item.refs or set(item.refs) & set(line.refs))
        for there, line in by_code
    )


def _is_exact(word: str) -> bool:
    return any(character.isdigit() or character == "_" for character in word)


def _lines(sections: Sequence[Section]) -> list[tuple[frozenset[str], Line]]:
    return [(frozenset(words(line.text)), line) for section in sections for line in section.lines if line.refs]
