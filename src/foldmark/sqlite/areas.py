"""What one search of a SQLite store looks through: sessions whole, spans of sessions, all of a user's. Knows nothing of
pieces' texts, of filters and of the index.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

import msgspec

from foldmark.log import Log
from foldmark.seeking import Sought
from foldmark.sqlite.damaged import Damaged
from foldmark.sqlite.rows import get, unpack_event
from foldmark.sqlite.session_rows import call_of, row_of, told_name
from foldmark.sqlite.sessions import Known, Segment, below, children, lineage
from foldmark.store import ENDLESS, Key, OpenCall, sees
from foldmark.store.ground import EVERYTHING, Child, Span, ground

Visible = Callable[[int], bool]


class Stretch(NamedTuple):
    """A session's own pieces behind the seq `first` up to `last`; `name` is the session's, empty for the lineage."""

    session: int
    name: str
    first: int = 0
    last: int = ENDLESS


class Area:
    """Spans of sessions by their numbers; with `others` also every session of the user that is not `apart`.

    `visible` tells which events of the lineage are seen; None: all of them. `hidden` are seqs that the scope does not
    see in other sessions of the same root.
    """

    def __init__(
        self, known: Known, spans: Mapping[int, Span], visible: Visible | None, *, others: bool = False,
        apart: Iterable[int] = (), hidden: Mapping[int, frozenset[int]] | None = None,
    ) -> None:  # fmt: skip
        self.user, self.segments = known.row.user, known.segments
        self.lineage = {segment.session: segment.last for segment in known.segments}
        self.others, self.visible, self.hidden = others, visible, hidden or {}
        self.spans = {session: span for session, span in spans.items() if span[0] < span[1]}
        self.whole = [session for session, span in self.spans.items() if span == EVERYTHING]
        self.parts = [(session, span) for session, span in self.spans.items() if span != EVERYTHING]
        self.apart = {*self.lineage, *self.spans, *apart}  # searched by spans, or not at all

    def inherits(self, session: int, seq: int) -> bool:
        """Whether an event is of the lineage, so that its seq is address enough."""
        return seq <= self.lineage.get(session, 0)

    def shows(self, session: int, seq: int) -> bool:
        """Whether an event of the user's is searched."""
        if session not in self.spans:
            return self.others and session not in self.apart
        first, last = self.spans[session]
        return first < seq <= last and self._sees(session, seq)

    def _sees(self, session: int, seq: int) -> bool:
        if self.visible is None:
            return True
        return self.visible(seq) if self.inherits(session, seq) else seq not in self.hidden.get(session, ())

    def holder(self, seq: int) -> int | None:
        """The session that holds an event of the lineage."""
        return next((one.session for one in self.segments if seq <= one.last), None)

    @property
    def rows(self) -> str:
        """A condition on rows of pieces and sessions: all that is searched, and what the scope does not see of it."""
        some = [
            f"(piece.session = {session} AND piece.seq > {first} AND piece.seq <= {last})"
            for session, (first, last) in self.parts
        ]
        if self.whole:
            some.append(f"piece.session IN ({_list(self.whole)})")
        if self.others:
            some.append(f"piece.session NOT IN ({_list(self.apart)})")
        return f"({' OR '.join(some) or '0'})"


class Kin:
    """The sessions round one, by their numbers."""

    def __init__(self, db: sqlite3.Connection, known: Known) -> None:
        self._db, self._known, self._told = db, known, dict[int, bool]()

    @property
    def lineage(self) -> Sequence[tuple[int, int]]:
        return [(one.session, one.last) for one in self._known.segments]

    def family(self) -> list[int]:
        root = (self._known.row.root,)
        return [session for (session,) in self._db.execute("SELECT id FROM session WHERE root = ?", root).fetchall()]

    def children(self, session: int) -> list[Child[int]]:
        """Of a session whose lineage is damaged none: nobody could say which of them are seen, and a search brings
        nothing of what hangs on it."""
        if told_name(self._db, session, self._told) is None:
            return []
        return [Child(row.id, call_of(row), row.parent_seq) for row in children(self._db, session)]

    def calls(self, session: int) -> Made:
        return Made(self._db, session)

    def below(self, session: int) -> list[int]:
        return [row.id for row in below(self._db, session)]


class Made:
    """Where the calls of a session's lineage were made, read from its rows when somebody asks."""

    def __init__(self, db: sqlite3.Connection, session: int) -> None:
        self._db, self._session = db, session

    @cached_property
    def _segments(self) -> Sequence[Segment]:
        return _segments(self._db, self._session)

    @cached_property
    def calls(self) -> Mapping[str, OpenCall]:
        log = Log("")
        for one in self._segments:
            bodies = self._db.execute(
                "SELECT body FROM event WHERE session = ? AND seq <= ? ORDER BY seq", (one.session, one.last)
            )
            log.extend(unpack_event(body) for (body,) in bodies)
        return log.calls

    def key_at(self, seq: int) -> str | None:
        holder = next((one.session for one in self._segments if seq <= one.last), None)
        where = "SELECT scope, branch FROM event WHERE session = ? AND seq = ?"
        found = self._db.execute(where, (holder, seq)).fetchone()
        return (get(found[0]) or get(found[1])) if found else None


def _segments(db: sqlite3.Connection, session: int) -> Sequence[Segment]:
    """The lineage of a session; empty for one whose rows are damaged."""
    with suppress(Damaged):
        return lineage(db, row) if (row := row_of(db, session)) else ()
    return ()


def area(db: sqlite3.Connection, known: Known, key: Key, sought: Sought, visible: Callable[[int], bool] | None) -> Area:
    """Where a search looks. `known.log` must be folded where a call decides: for a fork's children, and for scopes that
    do not see all (`visible` says which events of the lineage they see)."""
    found = ground(key, known.log, Kin(db, known), sought)
    hidden = {session: _hidden(db, session, key) for session in found.scoped}
    return Area(known, found.spans, visible, others=found.others, apart=found.apart, hidden=hidden)


def _hidden(db: sqlite3.Connection, session: int, key: Key) -> frozenset[int]:
    """Seqs of a session's own events that the scope does not see."""
    rows = db.execute("SELECT seq, scope, branch FROM event WHERE session = ?", (session,)).fetchall()
    return frozenset(seq for seq, scope, branch in rows if not sees(key.scope, get(scope) or get(branch), key.sees))


def stretches(db: sqlite3.Connection, known: Known, key: Key, sought: Sought) -> list[Stretch]:
    """The same as a list, of whatever scope: what one does not see of it is for `Area.shows` to say."""
    where = area(db, known, msgspec.structs.replace(key, scope="", sees="all"), sought, None)
    out, told = list[Stretch](), dict[int, bool]()
    for session, (first, last) in where.spans.items():
        inherited = where.lineage.get(session, 0)
        out += [Stretch(session, "", first, min(last, inherited))] if first < inherited else []
        out += _named(db, session, told, max(first, inherited), last) if last > inherited else []
    if where.others:
        rows = db.execute("SELECT id FROM session WHERE user = ? ORDER BY id", (where.user,)).fetchall()
        out += [one for (session,) in rows if session not in where.apart for one in _named(db, session, told)]
    return out


def _named(
    db: sqlite3.Connection, session: int, told: dict[int, bool], first: int = 0, last: int = ENDLESS
) -> list[Stretch]:
    """The stretch of another session under its name; none of one that cannot be opened."""
    name = told_name(db, session, told)
    return [] if name is None else [Stretch(session, name, first, last)]


def _list(sessions: Iterable[int]) -> str:
    return ", ".join(map(str, sessions))
