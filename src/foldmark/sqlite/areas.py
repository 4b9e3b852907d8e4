"""What one search of a SQLite store looks through: sessions whole, spans of sessions, all of a user's. Knows nothing of
pieces' texts and of filters.

In the index an area is a few expressions over the scope column, each with bounds of piece numbers: the numbers of a
session's pieces rise with its seqs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from foldmark.seeking import Sought
from foldmark.sqlite.rows import get, in_chunks, marks
from foldmark.sqlite.sessions import WHOLE, Known, below, children
from foldmark.store import Key, sees
from foldmark.store.ground import EVERYTHING, Child, ground

Visible = Callable[[int], bool]
Span = tuple[int, int]  # seqs behind the first, up to the last
SESSIONS_AT_ONCE = 200


class Stretch(NamedTuple):
    """A session's own pieces behind the seq `first` up to `last`; `name` is the session's, empty for the lineage."""

    session: int
    name: str
    first: int = 0
    last: int = WHOLE


class Scope(NamedTuple):
    """An expression over the scope column, and between which numbers (exclusive, inclusive) pieces count."""

    expression: str
    after: int = 0
    upto: int = WHOLE


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

    def matches(self, db: sqlite3.Connection, term: str) -> list[int]:
        """Pieces that hold a term, by the index."""
        out: list[int] = []
        for scope, after, upto in self._scopes(db):
            found = db.execute(
                "SELECT rowid FROM search WHERE search MATCH ? AND rowid > ? AND rowid <= ?",
                (f'({scope}) AND body : "{term}"', after, upto),
            )
            out += [number for (number,) in found.fetchall()]
        return out if self.visible is None else self._seen(db, out)

    def _scopes(self, db: sqlite3.Connection) -> Iterator[Scope]:
        if self.others and self.apart == set(self.whole):
            yield Scope(f'scope : "u{self.user}"')
            return
        if self.others:
            yield Scope(f'scope : "u{self.user}" NOT {_any(sorted(self.apart))}')
        for chunk in in_chunks(self.whole, SESSIONS_AT_ONCE):
            yield Scope(_any(chunk))
        for session, (first, last) in self.parts:
            yield Scope(_any([session]), _last_piece(db, session, first), _last_piece(db, session, last))

    def _seen(self, db: sqlite3.Connection, numbers: Sequence[int]) -> list[int]:
        """Those of the pieces whose events the scope sees."""
        out: list[int] = []
        for chunk in in_chunks(numbers, 500):
            rows = db.execute(f"SELECT id, session, seq FROM piece WHERE id IN ({marks(chunk)})", chunk).fetchall()
            out += [number for number, session, seq in rows if self.shows(session, seq)]
        return out

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

    def count(self, db: sqlite3.Connection) -> int:
        """How many pieces are searched."""
        total = 0
        if self.others:
            total += db.execute(
                "SELECT count(*) FROM session JOIN piece ON piece.session = session.id "
                f"WHERE session.user = ? AND session.id NOT IN ({_list(self.apart)})",
                (self.user,),
            ).fetchone()[0]
        return total + sum(self._size(db, session, *span) for session, span in self.spans.items())

    def _size(self, db: sqlite3.Connection, session: int, first: int, last: int) -> int:
        where = "FROM piece WHERE session = ? AND seq > ? AND seq <= ?"
        if self.visible is None or (first >= self.lineage.get(session, 0) and session not in self.hidden):
            return int(db.execute(f"SELECT count(*) {where}", (session, first, last)).fetchone()[0])
        seqs = db.execute(f"SELECT seq {where}", (session, first, last)).fetchall()
        return sum(self.shows(session, seq) for (seq,) in seqs)


class Kin:
    """The sessions round one, by their numbers."""

    def __init__(self, db: sqlite3.Connection, known: Known) -> None:
        self._db, self._known = db, known

    @property
    def lineage(self) -> Sequence[tuple[int, int]]:
        return [(one.session, one.last) for one in self._known.segments]

    def family(self) -> list[int]:
        root = (self._known.row.root,)
        return [session for (session,) in self._db.execute("SELECT id FROM session WHERE root = ?", root).fetchall()]

    def children(self, session: int) -> list[Child[int]]:
        return [Child(row.id, get(row.parent_call), row.parent_seq) for row in children(self._db, session)]

    def below(self, session: int) -> list[int]:
        return [row.id for row in below(self._db, session, children=True)]


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
    out: list[Stretch] = []
    for session, (first, last) in where.spans.items():
        inherited = where.lineage.get(session, 0)
        out += [Stretch(session, "", first, min(last, inherited))] if first < inherited else []
        out += [Stretch(session, _name(db, session), max(first, inherited), last)] if last > inherited else []
    if where.others:
        rows = db.execute("SELECT id, name FROM session WHERE user = ? ORDER BY id", (where.user,)).fetchall()
        out += [Stretch(session, get(name)) for session, name in rows if session not in where.apart]
    return out


def _name(db: sqlite3.Connection, session: int) -> str:
    return get(db.execute("SELECT name FROM session WHERE id = ?", (session,)).fetchone()[0])


def _list(sessions: Iterable[int]) -> str:
    return ", ".join(map(str, sessions))


def _any(sessions: Sequence[int]) -> str:
    return "scope : (" + " OR ".join(f'"s{session}"' for session in sessions) + ")"


def _last_piece(db: sqlite3.Connection, session: int, seq: int) -> int:
    """The number of a session's last piece up to a seq."""
    sql = "SELECT id FROM piece WHERE session = ? AND seq <= ? ORDER BY seq DESC, id DESC LIMIT 1"
    found = db.execute(sql, (session, seq)).fetchone()
    return int(found[0]) if found else 0
