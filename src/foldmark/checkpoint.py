"""The values a checkpoint is made of: facts, units, sections, excerpts, names, extent, and the checkpoint itself.

Knows nothing of how they are chosen. A checkpoint is frozen at commit: its `text` is what goes out, byte for
byte, until the next one.
"""

from __future__ import annotations

from typing import Literal

import msgspec

OPEN = frozenset(("active", "open"))
"""The statuses of facts that wait for something."""
FactKind = Literal[
    "goal", "task", "user", "constraint", "correction", "todo", "file", "command", "verification", "error",
    "rejected", "approval", "question", "decision", "identifier", "skill", "pin",
    "statement",
]  # fmt: skip


class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing our code knows. The newest per (kind, key) up to a seq is the state there.

    `seq` is the event that established it, `refs` further events it rests on. `status` is the kind's own word:
    todo pending/active/done/cancelled, file read/changed/created/deleted, command ok/failed, verification
    passed/failed, error open/fixed, task active/done/cancelled/superseded; "gone" withdraws a fact. `value` is
    redacted text, `meta` small details (exit, path, first error …).
    """

    seq: int
    kind: FactKind
    key: str
    value: str
    status: str = ""
    scope: str = ""
    refs: tuple[int, ...] = ()
    meta: dict[str, str] = {}
    version: int = 1


class Unit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line, sentence or small object of an event, about 160 characters, redacted; the higher `score` the better.

    `line` is the 1-based line in the event's whole text (the artifact's when there is one), `order` its place."""

    seq: int
    order: int
    text: str
    score: float
    tokens: int
    line: int = 0


class Name(msgspec.Struct, frozen=True, omit_defaults=True):
    """A working name: a path, symbol, id, hash, URL or number that the session uses. `where` is its last event."""

    name: str
    uses: int
    where: int
    score: float = 0.0


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a section, with the seqs that prove it."""

    text: str
    refs: tuple[int, ...] = ()


class Section(msgspec.Struct, frozen=True, omit_defaults=True):
    """A titled part of the checkpoint: state, user messages, narrative."""

    title: str
    lines: tuple[Line, ...]


Field = Literal["current_work", "next_steps", "decisions", "failed_approaches", "open_questions", "conflicts"]
"""What a model may tell of: what is known (work, steps, decisions, failures), unknown (questions), conflicting."""


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """One statement of a narrative that a model wrote. `refs` are the seqs that prove it, `why` its reason where the
    field has one. `verified` is set by code: its identifiers and most of its words stand in the events it names. `hand`
    says that a person edited its field: it stays until a model that has seen it tells anew, or a person does."""

    field: Field
    text: str
    refs: tuple[int, ...] = ()
    why: str = ""
    verified: bool = False
    hand: bool = False


class Excerpt(msgspec.Struct, frozen=True, omit_defaults=True):
    """The chosen units of one covered event, in order, under its ref. `head` names the event: role, call, outcome."""

    seq: int
    head: str
    units: tuple[str, ...]


class Mark(msgspec.Struct, frozen=True, omit_defaults=True):
    """Up to which seq cleanup decisions hold, made under which options and pins, why and when. Moves only in an
    epoch; a pin set later takes force with the next mark. `head` is the newest seq there was then, where thinking
    that is bound to its prefix has to leave (`Cleanup.bound_thinking`), else 0."""

    seq: int = 0
    options: str = ""
    reason: str = ""
    time: float = 0.0
    pins: tuple[int, ...] = ()
    head: int = 0


class Stretch(msgspec.Struct, frozen=True, omit_defaults=True):
    """Covered events `first` to `last` (seqs), the day of the first (`2026-05-01`, empty: not known), and the words
    that tell them from the others, best first."""

    first: int
    last: int
    words: tuple[str, ...] = ()
    day: str = ""


class Extent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How much a checkpoint covers, and of what: counts of events, artifacts and compactions (with this one), the
    `day` of the first event (empty: not known), stretches in order, files and names with the event that they were last
    seen in, best first. `version` is the compaction that it was made with: an undo brings it back as it was."""

    events: int
    version: int = 0
    artifacts: int = 0
    compactions: int = 0
    day: str = ""
    stretches: tuple[Stretch, ...] = ()
    files: tuple[Name, ...] = ()
    names: tuple[Name, ...] = ()


CheckpointKind = Literal["compaction", "undo", "edit", "adopted"]
"""What made a version: a compaction, or a person who took one back, edited its narrative, or brought a summary in."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Frozen state + narrative + excerpts + names, with its boundary (a seq; covers everything up to it).

    `kept` are seqs at or before the boundary that are shown all the same. `compacted_size` is C' of the rent
    rule: the size aimed at, static prefix included; `head` the newest seq when it was made. `narrative` is what a
    model told, already checked; `author` is `code`, or `code and <model>`, with `, adopted from …` and `, edited by …`
    behind it where people had a hand in it.

    An `undo` restores the version `source` (0: none, so `boundary` is 0 and the text empty) and holds every trigger but
    the cap while the request is smaller than `held` (tokens above the static prefix). Any other version is made from
    `source`, too. `replaced` is the mark in force before this version: what an undo of it restores. `trigger` says why
    it was made, `sizes` are tokens of the next request before and after. `extent` is what an overview tells of, where
    the policy asks for one.
    """

    version: int
    boundary: int
    text: str
    tokens: int
    mark: Mark = Mark()
    kept: tuple[int, ...] = ()
    sections: tuple[Section, ...] = ()
    excerpts: tuple[Excerpt, ...] = ()
    names: tuple[Name, ...] = ()
    narrative: tuple[Item, ...] = ()
    compacted_size: int = 0
    head: int = 0
    target: int = 0
    time: float = 0.0
    author: str = "code"
    warnings: tuple[str, ...] = ()
    kind: CheckpointKind = "compaction"
    source: int = 0
    held: int = 0
    replaced: Mark = Mark()
    trigger: str = ""
    sizes: tuple[int, int] = (0, 0)
    extent: Extent | None = None

    @property
    def reach(self) -> int:
        """The newest event it tells of: the boundary, or a later result quoted because the tail shows it shortened.
        A fork in front of it cannot inherit the checkpoint."""
        return max([self.boundary, *(excerpt.seq for excerpt in self.excerpts[-1:])])
