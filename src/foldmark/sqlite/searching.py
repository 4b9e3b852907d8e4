"""Matching in a SQLite store: pieces by token, events by fingerprint. Knows nothing of ranking.

Every query names the sessions it may see; the search table's scope column finds them fast, and the joined
rows are checked against the same numbers again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from foldmark.checkpoint import Unit
from foldmark.events import Event
from foldmark.log import holds_call, ordered, overlap, started
from foldmark.seeking import Finding, Found, Piece, Sought, is_said, near_of
from foldmark.sqlite.rows import get, in_chunks, marks, unpack_event
from foldmark.sqlite.sessions import WHOLE, Known, Row, Segment, below, children, lineage, rows_of_user
from foldmark.store import Key, Match
from foldmark.words import telling


class Stretch(NamedTuple):
    """A session's own pieces behind the seq `first` up to `last`; `name` is the session's, empty for the lineage."""

    session: int
    name: str
    first: int = 0
    last: int = WHOLE

    @property
    def is_whole(self) -> bool:
        return self.first == 0 and self.last == WHOLE


def stretches(db: sqlite3.Connection, known: Known, key: Key, sought: Sought) -> list[Stretch]:
    """What a search looks through."""
    own = known.segments[-1]
    lineage = [Stretch(one.session, "", 0, one.last) for one in known.segments]
    if sought.where == "covered":
        return [one._replace(last=min(one.last, sought.upto)) for one in lineage]
    if sought.where == "children":
        made = [(row, one is own) for one in known.segments for row in children(db, one.session)]
        mine = [row for row, is_own in made if started(known.log, key, get(row.parent_call), own=is_own)]
        rows = [each for row in mine for each in (row, *below(db, row.id, children=True))]
        return [*lineage, *(Stretch(row.id, get(row.name)) for row in rows)]
    if sought.where == "session":
        return lineage
    inherited = {one.session: one.last for one in known.segments}
    others = [
        Stretch(row.id, get(row.name), inherited.get(row.id, 0))
        for row in rows_of_user(db, key.tenant, key.user)
        if row.id != known.id
    ]
    return [*others, *lineage] if sought.where == "user" else others


class Searched:
    """The pieces that one search covers: sessions whole, and of others the pieces of some events."""

    def __init__(self, known: Known, among: Sequence[Stretch], visible: Callable[[int], bool] | None) -> None:
        self.user = known.row.user
        self.lineage = {segment.session: segment.last for segment in known.segments}
        self.names = {one.session: one.name for one in among if one.name}
        self.visible = visible  # of events of the lineage; None: all
        self.parts = [one for one in among if not one.is_whole or (visible and one.session in self.lineage)]
        self.whole = [one.session for one in among if one not in self.parts]

    def shows(self, session: int, seq: int) -> bool:
        """Whether an event of a searched session is among what is searched."""
        if session in self.whole:
            return True
        is_in = any(one.session == session and one.first < seq <= one.last for one in self.parts)
        return is_in and (self.visible is None or seq > self.lineage.get(session, 0) or self.visible(seq))

    def numbers(self, db: sqlite3.Connection) -> set[int]:
        """The pieces of sessions that are not searched whole."""
        out: set[int] = set()
        for part in self.parts:
            rows = db.execute(
                "SELECT id, seq FROM piece WHERE session = ? AND seq > ? AND seq <= ?",
                (part.session, part.first, part.last),
            )
            out.update(number for number, seq in rows if self.shows(part.session, seq))
        return out

    def all(self, db: sqlite3.Connection, allowed: set[int]) -> list[int]:
        """Every piece that is searched, the newest first."""
        out = set(allowed)
        for chunk in in_chunks(self.whole, 500):
            out.update(n for (n,) in db.execute(f"SELECT id FROM piece WHERE session IN ({marks(chunk)})", chunk))
        return sorted(out, reverse=True)

    def count(self, db: sqlite3.Connection) -> int:
        """How many pieces the sessions hold that are searched whole."""
        return sum(
            db.execute(f"SELECT count(*) FROM piece WHERE session IN ({marks(chunk)})", chunk).fetchone()[0]
            for chunk in in_chunks(self.whole, 500)
        )


def find(
    db: sqlite3.Connection, known: Known, searched: Searched, terms: Sequence[str], *, limit: int, sought: Sought
) -> Finding:
    """Matches of any term in the searched sessions, the rarest terms first, and what was said beside them."""
    allowed = searched.numbers(db)
    total = len(allowed) + searched.count(db)
    bounded = list({part.session for part in searched.parts})
    postings = {
        term: [
            *_matches(db, term, searched.whole),
            *(number for number in _matches(db, term, bounded) if number in allowed),
        ]
        for term in telling(terms)
    }
    newest = searched.all(db, allowed) if sought.filters and not terms else []
    places = ordered(postings, total) if postings else newest
    found = list(_taken(db, known, searched, places, max(0, limit), sought))
    near = [one for one in _near(db, known, searched, found) if sought.allows(one)]
    return Finding(tuple(found), total, {term: len(numbers) for term, numbers in postings.items()}, tuple(near))


def _matches(db: sqlite3.Connection, term: str, among: Sequence[int]) -> list[int]:
    """Pieces of these sessions that hold a term, by the scope column of the index."""
    out: list[int] = []
    for chunk in in_chunks(among, 200):
        scope = " OR ".join(f'"s{session}"' for session in chunk)
        rows = db.execute("SELECT rowid FROM search WHERE search MATCH ?", (f'scope : ({scope}) AND body : "{term}"',))
        out += [number for (number,) in rows]
    return out


def _taken(
    db: sqlite3.Connection, known: Known, searched: Searched, places: Sequence[int], limit: int, sought: Sought
) -> Iterator[Found]:
    """The first `limit` pieces that may be brought; without filters these are the first ones."""
    left = limit
    for chunk in in_chunks(places[:limit] if not sought.filters else places, 500):
        if left <= 0:
            return
        for found in _load(db, known, searched, chunk):
            if left > 0 and sought.allows(found):
                left -= 1
                yield found


def _near(db: sqlite3.Connection, known: Known, searched: Searched, found: Sequence[Found]) -> list[Found]:
    """The first pieces of what was said beside what was found."""
    wanted = near_of(found)
    if not wanted:
        return []
    ids = {name: session for session, name in searched.names.items()}
    out: list[int] = []
    for session, seq in wanted:
        held = ids.get(session) if session else _segment_of(known, seq)
        if held is not None and searched.shows(held, seq):
            rows = db.execute("SELECT id FROM piece WHERE session = ? AND seq = ? AND place = 0", (held, seq))
            out += [number for (number,) in rows]
    near = [one for chunk in in_chunks(out, 500) for one in _load(db, known, searched, chunk)]
    return [one for one in near if is_said(one.event)]


def _segment_of(known: Known, seq: int) -> int | None:
    """The session that holds an event of the lineage."""
    return next((one.session for one in known.segments if seq <= one.last), None)


def _load(db: sqlite3.Connection, known: Known, searched: Searched, chosen: Sequence[int]) -> list[Found]:
    """The chosen pieces with their events; whose they are is checked again by the joined rows."""
    found: dict[int, Found] = {}
    for number, session, seq, place, line, end_line, artifact, head, text, time in db.execute(
        "SELECT piece.id, piece.session, piece.seq, place, line, end_line, number, piece.head, text, event.time "
        "FROM piece JOIN session ON session.id = piece.session "
        "JOIN event ON event.session = piece.session AND event.seq = piece.seq "
        f"WHERE piece.id IN ({marks(chosen)}) AND user = ?",
        (*chosen, searched.user),
    ).fetchall():
        piece = Piece(seq, place, get(text), line, end_line, artifact, get(head))
        if seq <= searched.lineage.get(session, 0) and seq <= known.log.head:
            found[number] = Found(piece, known.log.events[seq - 1], "", time)
        elif searched.shows(session, seq):
            found[number] = Found(piece, event_at(db, session, seq), searched.names[session], time)
    return [found[number] for number in chosen if number in found]


def best_units(db: sqlite3.Connection, known: Known, key: Key, upto: int, limit: int) -> list[Unit]:
    """The best units of a scope's log up to a seq."""
    out: list[Unit] = []
    for segment in known.segments:
        rows = db.execute(
            "SELECT seq, place, text, score, tokens, line FROM unit WHERE session = ? AND seq <= ? "
            "ORDER BY score DESC, seq, place LIMIT ?",
            (segment.session, min(segment.last, upto), max(0, limit) if key.sees == "all" else -1),
        )
        out += [
            Unit(seq, place, get(text), score, tokens, line)
            for seq, place, text, score, tokens, line in rows
            if key.sees == "all" or key.shows(known.log.events[seq - 1])
        ]
    out.sort(key=lambda unit: (-unit.score, unit.seq, unit.order))
    return out[: max(0, limit)]


def event_at(db: sqlite3.Connection, session: int, seq: int) -> Event:
    found = db.execute("SELECT body FROM event WHERE session = ? AND seq = ?", (session, seq)).fetchone()
    return unpack_event(found[0])


def match(db: sqlite3.Connection, known: Known, forks: Sequence[Row], chains: Sequence[str]) -> Match | None:
    """The longest chained match; looked for from the end in growing steps, since most lists end near a
    log's end."""
    names = {fork.id: get(fork.name) for fork in reversed(forks)}
    last = {segment.session: segment.last for segment in known.segments}
    order = [known.id, *(fork.id for fork in forks)]
    stop, step = len(chains), 16
    while stop > 0:
        start = max(0, stop - step)
        places = {chain: count for count, chain in enumerate(chains[start:stop], start + 1)}
        best: tuple[int, int, int] | None = None  # count, -place in order, seq
        for chunk in in_chunks([*last, *names], 100):
            rows = db.execute(
                f"SELECT session, seq, chain FROM event WHERE session IN ({marks(chunk)}) "
                f"AND chain IN ({marks(list(places))})",
                (*chunk, *places),
            )
            for session, seq, chain in rows:
                if session in last and seq > last[session]:
                    continue
                owner = known.id if session in last else session
                best = max(best or (0, 0, 0), (places[chain], -order.index(owner), seq))
        if best:
            owner = order[-best[1]]
            return Match(names.get(owner, known.name), best[2], best[0])
        stop, step = start, min(400, step * 4)
    return None


def ends(db: sqlite3.Connection, known: Known, forks: Sequence[Row], plains: Sequence[str]) -> Match | None:
    """The longest head of the list that ends a log."""
    best: Match | None = None
    for name, segments in (
        (known.name, known.segments),
        *((get(fork.name), lineage(db, fork)) for fork in forks),
    ):
        tail = _tail(db, segments, len(plains))
        count = overlap(plains, [plain for plain, _, _ in tail])
        if count <= (best.count if best else 0):
            continue
        owner, seq = tail[-1][1:]
        if count > 1 or holds_call(event_at(db, owner, seq)):
            best = Match(name, seq, count)
    return best


def _tail(db: sqlite3.Connection, segments: Sequence[Segment], limit: int) -> list[tuple[str, int, int]]:
    """(plain, session, seq) of the last events that take part in the chain, in order."""
    out: list[tuple[str, int, int]] = []
    for segment in reversed(segments):
        if len(out) >= limit:
            break
        out += db.execute(
            "SELECT plain, session, seq FROM event WHERE session = ? AND seq <= ? AND chain IS NOT NULL "
            "ORDER BY seq DESC LIMIT ?",
            (segment.session, segment.last, limit - len(out)),
        ).fetchall()
    return out[::-1]


def artifact_hashes(db: sqlite3.Connection, tenant: str | bytes) -> set[str]:
    rows = db.execute(
        "SELECT DISTINCT sha256 FROM artifact JOIN session ON session.id = artifact.session "
        "JOIN user ON user.id = session.user JOIN tenant ON tenant.id = user.tenant WHERE tenant.name = ?",
        (tenant,),
    )
    return {sha for (sha,) in rows}
