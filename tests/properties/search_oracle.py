"""What a search must bring, worked out by looking at everything. Knows nothing of foldmark's code.

A world is the sessions of one user. Sessions are forks (they begin with their parent's events up to a seq), children
(a call of the parent started them) or roots. Events hold bits: the pieces of their text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from math import log
from typing import Any, NamedTuple

from scope_oracle import sees

DAYS = {"2024"}
"""Words that no text here holds: what is found by them alone is of such a day. All bits of an event are, and the first
stands for them."""


class Bit(NamedTuple):
    """A piece: its place in its event, when it was written among all pieces, and the words it is found by."""

    order: int
    number: int
    words: frozenset[str]
    text: str
    head: str


class Said(NamedTuple):
    """An event. `speaker` is user, injected, assistant or tool; `tools` are the names of its calls or of the one it
    answers; `calls` the ids of its calls."""

    seq: int
    key: str
    speaker: str
    time: float
    tools: tuple[str, ...]
    calls: tuple[str, ...]
    bits: tuple[Bit, ...]


class Line:
    """A session: its own events alone."""

    def __init__(self, name: str, kind: str = "root", parent: Line | None = None, at: int = 0, call: str = "") -> None:
        self.name, self.kind, self.parent, self.at, self.call = name, kind, parent, at, call
        self.own: list[Said] = []

    @property
    def origin(self) -> Line:
        return self.parent.origin if self.kind == "fork" and self.parent else self

    def lineage(self, upto: int = 10**9) -> list[tuple[Line, Said]]:
        """Every event it has, inherited ones first, each with the session that holds it."""
        before = self.parent.lineage(min(upto, self.at)) if self.kind == "fork" and self.parent else []
        return [*before, *((self, said) for said in self.own if said.seq <= upto)]

    def ancestors(self) -> Iterator[tuple[Line, int]]:
        """The session and those it was forked from, each with the last seq that is seen of it."""
        line, last = self, 10**9
        while True:
            yield line, last
            if line.kind != "fork" or line.parent is None:
                return
            line, last = line.parent, min(last, line.at)

    def is_below(self, other: Line) -> bool:
        return self is other or (self.parent is not None and self.parent.is_below(other))


class Row(NamedTuple):
    """A bit with its event and how the search that brings it names its session."""

    session: str
    said: Said
    bit: Bit

    @property
    def place(self) -> tuple[str, int, int]:
        return self.session, self.said.seq, self.bit.order


class Brought(NamedTuple):
    """What a search brings."""

    found: list[tuple[str, int, int]]
    pieces: int
    frequencies: dict[str, int]
    near: list[tuple[str, int, int]]


class World:
    """The sessions of one user."""

    def __init__(self) -> None:
        self.lines: dict[str, Line] = {}

    def searched(self, line: Line, scope: tuple[str, str], where: str, upto: int) -> list[Row]:
        mine = line.lineage(upto if where == "covered" else 10**9)
        rows = [("", said) for _, said in mine if sees(scope, said.key)]
        if where in ("session", "covered"):
            return list(_bits(rows))
        started = [child for child in self.lines.values() if self._is_started(line, scope, child)]
        if where == "children":
            below = [other for other in self.lines.values() if any(other.is_below(child) for child in started)]
            return list(_bits([*rows, *((other.name, said) for other in below for said in other.own)]))
        inherited = {id(said) for _, said in line.lineage()}
        others = [
            (other.name, said)
            for other in self.lines.values()
            for said in other.own
            if id(said) not in inherited and other is not line and self._is_open(line, scope, other, said, started)
        ]
        return list(_bits([*others, *(rows if where == "user" else [])]))

    def _is_started(self, line: Line, scope: tuple[str, str], child: Line) -> bool:
        """Whether the child hangs on a call of the lineage that the scope sees."""
        for holder, last in line.ancestors():
            if child.kind == "child" and child.parent is holder and child.at <= last:
                events = [said for _, said in line.lineage()]
                if 0 < child.at <= len(events):
                    return sees(scope, events[child.at - 1].key)
                made = [said for said in events if child.call in said.calls]
                if not made:
                    return holder is line and scope[1] == "all"
                return made[-1].seq <= last and sees(scope, made[-1].key)
        return False

    def _is_open(self, line: Line, scope: tuple[str, str], other: Line, said: Said, started: list[Line]) -> bool:
        """Whether a scope may know an event of another session: of forks of the same session what it sees there, of
        what calls started there all where it sees the call, of all else everything."""
        if scope[1] == "all":
            return True
        if other.origin is line.origin:
            return sees(scope, said.key)
        family = [each for each in self.lines.values() if each.kind == "child" and each.parent
                  and each.parent.origin is line.origin]  # fmt: skip
        above = [child for child in family if other.is_below(child)]
        return all(child in started or self._is_started(child.parent, scope, child) for child in above if child.parent)

    def find(self, line: Line, scope: tuple[str, str], terms: list[str], limit: int, sought: dict[str, Any]) -> Brought:
        rows = self.searched(line, scope, sought["where"], sought.get("upto", 0))
        frequencies = {term: sum(term in row.bit.words for row in rows) for term in dict.fromkeys(terms)}
        scores: dict[int, float] = {}
        for term, count in frequencies.items():
            for row in rows:
                if term in row.bit.words:
                    weight = log(1 + (len(rows) - count + 0.5) / (count + 0.5))
                    scores[row.bit.number] = scores.get(row.bit.number, 0.0) + weight
        limits = {
            name: value for name, value in sought.items() if name not in ("where", "upto") and value not in (None, ())
        }
        by_number = {row.bit.number: row for row in rows}
        if not terms:
            scores = dict.fromkeys(by_number, 0.0) if limits else {}
        best = sorted(scores, key=lambda number: (scores[number], number), reverse=True)
        allowed = [by_number[number] for number in best if allows(limits, by_number[number])]
        found = [row for row in allowed if row.bit.order == 0 or row.bit.words & {*terms} != DAYS]
        found = (found if terms else one_each(allowed, limits.get("files", ())))[:limit]
        return Brought(
            [row.place for row in found], len(rows), frequencies, [r.place for r in near(rows, found, limits)]
        )


def one_each(rows: list[Row], files: Sequence[str]) -> list[Row]:
    """Of each event one bit, the events in the order in which they come: the first one that names a file which is
    sought in its text, else the first."""
    events: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        events.setdefault((row.session, row.said.seq), []).append(row)
    return [min(each, key=lambda row: (not names_one(files, row.bit.text), row.bit.order)) for each in events.values()]


def names_one(files: Sequence[str], text: str) -> bool:
    return any(word == path or word.endswith("/" + path) for word in text.split() for path in files)


def _bits(rows: list[tuple[str, Said]]) -> Iterator[Row]:
    return (Row(name, said, bit) for name, said in rows for bit in said.bits)


def near(rows: list[Row], found: list[Row], limits: dict[str, Any]) -> list[Row]:
    """The first bits of what was said up to two events beside the best 60 found, the nearest of the best first."""
    firsts = {(row.session, row.said.seq): row for row in rows if row.bit.order == 0}
    out: dict[tuple[str, int], Row] = {}
    taken = {(row.session, row.said.seq) for row in found}
    for row in [row for row in found if is_said(row.said)][:60]:
        for step in (-1, 1, -2, 2):
            place = row.session, row.said.seq + step
            beside = firsts.get(place)
            if beside and is_said(beside.said) and place not in taken and allows(limits, beside):
                out.setdefault(place, beside)
    return list(out.values())


def is_said(said: Said) -> bool:
    return said.speaker in ("user", "injected", "assistant") and not said.calls


def allows(limits: dict[str, Any], row: Row) -> bool:
    said = row.said
    checks = {
        "roles": lambda roles: said.speaker in roles,
        "tools": lambda names: any(fnmatch(tool.lower(), name.lower()) for tool in said.tools for name in names),
        "files": lambda paths: names_one(paths, f"{row.bit.head} {row.bit.text}"),
        "branches": lambda keys: any(f"{said.key}/".startswith(f"{key}/") for key in keys),
        "since": lambda time: said.time >= time,
        "until": lambda time: said.time <= time,
        "without": lambda seqs: row.session != "" or said.seq not in seqs,
    }
    return all(checks[name](value) for name, value in limits.items())
