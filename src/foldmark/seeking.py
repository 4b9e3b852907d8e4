"""What a search looks through and what it brings: pieces, filters, findings. Knows nothing of stores and ranking."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice
from typing import Literal, get_args

import msgspec

from foldmark.errors import PolicyError
from foldmark.events import Event

Where = Literal["covered", "session", "children", "others", "user"]
WHERE = get_args(Where)
Reach = Literal["session", "children", "user"]
"""How far somebody may go who looks from one session: it alone, with its sub-agents, all sessions of its user."""
ROLES = ("user", "assistant", "tool", "injected", "system")


class Piece(msgspec.Struct, frozen=True, omit_defaults=True):
    """What search indexes: about 1,200 characters of one event, redacted. `line` is where it starts
    (1-based); `number` > 0 says that the lines are those of artifact `seq.number`. `head` is indexed with
    the text and is no part of it: the name and arguments of the call that a result answers."""

    seq: int
    order: int
    text: str
    line: int = 1
    end_line: int = 1
    number: int = 0
    head: str = ""


class Found(msgspec.Struct, frozen=True):
    """A piece that matched, with the event it belongs to. `session` is empty when the event is of the lineage
    that was asked (its seq is address enough), else the session that holds it. `time` is the event's, else when it was
    recorded live, in Unix seconds; None where nobody knows."""

    piece: Piece
    event: Event
    session: str = ""
    time: float | None = None

    @property
    def place(self) -> tuple[str, int, int]:
        """Session, seq and order: what names a piece inside one search."""
        return self.session, self.piece.seq, self.piece.order


class Finding(msgspec.Struct, frozen=True):
    """What a search brought: pieces with the rarest and most of the terms first, how many pieces were
    searched, and in how many of them each term stands (statistics of the searched sessions alone). `near` are pieces of
    what was said up to NEAR events before and after the best of those found: they hold none of the terms, or were not
    chosen."""

    found: tuple[Found, ...] = ()
    pieces: int = 0
    frequencies: dict[str, int] = {}
    near: tuple[Found, ...] = ()


SITTING = 4 * 3_600.0
"""What was said after a longer pause, in seconds, does not belong to what was said before it."""
CANDIDATES = 150
"""So many matches are ranked in a search, or as many as are asked for."""
NEAR = 2
"""An answer seldom repeats its question's words: what stands two turns away still belongs to it (measured on dialogue,
1 to 3 tried)."""
NEAR_BEST = 60
"""So many of what was said bring what stands beside them, the best by their words: with all of them a search takes
longer and finds no more (measured on dialogue: 60 and all are alike, 40 a trace behind)."""


class Sought(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a search looks, and what it may bring; an empty field sets no limit.

    `where` is session (the lineage as the scope sees it), covered (of that, what a compaction covers: up to `upto`),
    children (the lineage and all sessions that calls of it started), others (the user's other sessions) or user (all of
    the user's). The lineage is always seen as its scope sees it, and so are other forks of the same session; what calls
    started there is searched only where the scope sees the call.

    `roles` are user (a real user's words), assistant, tool, injected or system; `tools` shell patterns of tool names,
    for results and for steps that call them; `files` paths, whole or their last parts, that the piece or the call it
    answers names (`*` and `?` stand for letters, as in `*.py`); `branches` keys of events, each with all below it.
    `since` and `until` are Unix seconds, inclusive; what has no time is not brought then. `without` are seqs of the
    lineage that are left out.

    Raises PolicyError for what is none of these.
    """

    where: Where = "session"
    upto: int = 0
    roles: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    without: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if self.where not in WHERE:  # never taken for a wider one
            raise PolicyError(f"where takes {', '.join(WHERE)}, not {self.where!r}.")
        for name in ("roles", "tools", "files", "branches"):
            if isinstance(value := getattr(self, name), str):
                raise PolicyError(f"{name} takes several texts, not {value!r}: write ({value!r},).")
        if unknown := [role for role in self.roles if role not in ROLES]:
            raise PolicyError(f"roles takes {', '.join(ROLES)}, not {unknown[0]!r}.")
        for name in ("since", "until"):
            if not _is_time(value := getattr(self, name)):
                raise PolicyError(f"{name} takes Unix seconds, not {value!r:.60}: datetime(…).timestamp() gives them.")

    @property
    def filters(self) -> bool:
        """Whether it limits more than where."""
        return any((self.roles, self.tools, self.files, self.branches, self.without)) or not (
            self.since is None and self.until is None
        )

    def allows(self, found: Found) -> bool:
        """Whether a piece may be brought, as far as its event says."""
        event = found.event
        return (
            (not self.roles or speaker_role(event) in self.roles)
            and (not self.tools or _is_of(self.tools, _tool_names(found)))
            and (not self.files or any(_names_file(path, found.piece) for path in self.files))
            and (not self.branches or any(_is_below(event.key, branch) for branch in self.branches))
            and (self.since is None or (found.time is not None and found.time >= self.since))
            and (self.until is None or (found.time is not None and found.time <= self.until))
            and (found.session != "" or event.seq not in self.without)
        )


def telling_line(sought: Sought, found: Found) -> int | None:
    """The line of a piece (from 0) that names a file that is sought, else that calls a tool; None where none does: what
    a result's call names stands in no line of it."""
    piece = found.piece
    lines = [Piece(seq=piece.seq, order=0, text=line) for line in piece.text.split("\n")]
    named = (at for at, line in enumerate(lines) if any(_names_file(path, line) for path in sought.files))
    if sought.files and (at := next(named, None)) is not None:
        return at
    called = (at for at, line in enumerate(lines) if _is_of(sought.tools, [line.text.partition(" ")[0]]))
    return next(called, None) if sought.tools and found.event.calls else None


def _is_time(value: object) -> bool:
    """Whether a limit is none, or seconds that a store can compare."""
    if value is None or isinstance(value, float):
        return True
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63


def speaker_role(event: Event) -> str:
    """Who speaks: the event's role, but `injected` for what stands in role user and is no user's."""
    return "injected" if event.role == "user" and event.origin != "user" else event.role


def _tool_names(found: Found) -> list[str]:
    event = found.event
    if event.result:
        return [event.result.name or found.piece.head.partition(" ")[0]]
    return [call.name for call in event.calls]


def _is_of(patterns: Sequence[str], names: Iterable[str]) -> bool:
    return any(fnmatchcase(name.casefold(), pattern.casefold()) for name in names for pattern in patterns)


@lru_cache(maxsize=256)
def _file(path: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.-]){re.escape(path)}(?![\w-])(?!\.\w)")


_PATH = re.compile(r"[\w./@~+$%#:\[\]-]+")
_PLACE = re.compile(r"(?::\d+)+$")
"""What stands behind a path that names a line: `app.py:12:5`."""


def _names_file(path: str, piece: Piece) -> bool:
    path = path.replace("\\", "/").removeprefix("./")
    texts = [text.replace("\\", "/") for text in (piece.head, piece.text)]
    if not any(letter in path for letter in "*?"):
        wanted = _file(path)
        return any(wanted.search(text) for text in texts)
    pattern = path.casefold().replace("[", "[[]")  # a bracket is a letter of a path
    return any(_fits(name, pattern) for text in texts for name in _PATH.findall(text.casefold()))


def _fits(name: str, pattern: str) -> bool:
    """Whether a path, or its last parts, is what a pattern says; what encloses it in a text is none of it."""
    name = _PLACE.sub("", name.lstrip("[").rstrip("].:#"))
    return fnmatchcase(name, pattern) or fnmatchcase(name, f"*/{pattern}")


def _is_below(key: str, branch: str) -> bool:
    theirs = [segment for segment in branch.split("/") if segment]
    return [segment for segment in key.split("/") if segment][: len(theirs)] == theirs


def is_said(event: Event) -> bool:
    """Words of a user or an agent, without calls: what has neighbours that belong to it. Among tool results, whose
    neighbours are other things, neighbours did harm."""
    return event.role in ("user", "assistant") and not event.calls


def is_one_sitting(one: float | None, other: float | None) -> bool:
    """Whether two times are near enough for one talk; what has no time may be."""
    return one is None or other is None or abs(one - other) <= SITTING


def near_of(found: Sequence[Found]) -> list[tuple[str, int]]:
    """(session, seq) beside what was said among the found, the nearest of the best first, each once; of the best
    NEAR_BEST alone."""
    have = {(one.session, one.piece.seq) for one in found}
    out: dict[tuple[str, int], None] = {}
    for one in islice((one for one in found if is_said(one.event)), NEAR_BEST):
        for step in range(1, NEAR + 1):
            for seq in (one.piece.seq - step, one.piece.seq + step):
                if seq > 0 and (one.session, seq) not in have:
                    out[one.session, seq] = None
    return list(out)
