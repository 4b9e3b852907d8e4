"""What every scope sees, shows and may know, by the design's table alone. Knows nothing of foldmark's code.

A key is a path; segments are parted by `/`, empty ones do not count. A scope is `(key, sees)`:
exact = the same key; subtree = equal or below; lineage = equal, below or above; all = everything.
"""

from __future__ import annotations

from typing import NamedTuple

Scope = tuple[str, str]
SEES = ("exact", "lineage", "subtree", "all")


class Said(NamedTuple):
    """An event: its key (its own, else its branch), the word that stands in it and nowhere else, whether it is sent."""

    key: str
    word: str
    is_control: bool


class Made(NamedTuple):
    """A checkpoint: its version, its boundary, the newest event it tells of, its text."""

    version: int
    boundary: int
    reach: int
    text: str


class Line:
    """A session's log and what was made of it."""

    def __init__(self) -> None:
        self.said: list[Said] = []
        self.made: dict[Scope, list[Made]] = {}
        self.pins: set[int] = set()
        self.systems: dict[Scope, str] = {}

    def fork(self, seq: int, systems: dict[Scope, str] | None = None) -> Line:
        """What a fork there begins with: events, pins, the checkpoints that tell of nothing behind it, and the system
        text of every scope (or others: whoever opens one through the store keeps what it says)."""
        other = Line()
        other.said = self.said[:seq]
        other.pins = {pin for pin in self.pins if pin <= seq}
        other.systems = dict(self.systems if systems is None else systems)
        other.made = {scope: [one for one in made if one.reach <= seq] for scope, made in self.made.items()}
        return other

    def seen(self, scope: Scope) -> list[int]:
        return [seq for seq, said in enumerate(self.said, 1) if sees(scope, said.key)]

    def words(self, scope: Scope, upto: int | None = None) -> set[str]:
        return {self.said[seq - 1].word for seq in self.seen(scope) if upto is None or seq <= upto}

    def newest(self, scope: Scope) -> Made | None:
        return made[-1] if (made := self.made.get(scope)) else None

    def commit(self, scope: Scope, new: Made, *, is_undo: bool = False) -> None:
        old = self.newest(scope) or Made(0, 0, 0, "")
        assert new.version == old.version + 1, "the version only rises"
        assert new.boundary >= old.boundary or is_undo, "the boundary never falls but by an undo"
        self.made.setdefault(scope, []).append(new)

    def may_be(self, scope: Scope, seq: int) -> set[str]:
        """Which of the five classes an event may be of."""
        made = self.newest(scope)
        if self.said[seq - 1].is_control:
            return {"left_out"}
        if made and seq <= made.boundary:
            return {"covered", "kept"}
        return {"raw", "demoted", "left_out"}


def sees(scope: Scope, key: str) -> bool:
    mine, theirs = _path(scope[0]), _path(key)
    match scope[1]:
        case "exact":
            return scope[0] == key
        case "subtree":
            return theirs.startswith(mine)
        case "lineage":
            return theirs.startswith(mine) or mine.startswith(theirs)
    return True


def _path(key: str) -> str:
    return "/" + "".join(f"{segment}/" for segment in key.split("/") if segment)
