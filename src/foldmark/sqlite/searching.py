"""Matching in a SQLite store: pieces by token, events by fingerprint. Knows nothing of ranking.

Every query names the sessions it may see; the search table's scope column finds them fast, and the joined
rows are checked against the same numbers again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from foldmark.checkpoint import Unit
from foldmark.events import Event
from foldmark.log import choose, holds_call, overlap
from foldmark.sqlite.rows import get, in_chunks, marks, unpack_event
from foldmark.sqlite.sessions import Known, Row, Segment, lineage
from foldmark.store import Finding, Found, Key, Match, Piece


class Searched:
    """The sessions that one search covers: some whole, the asked lineage perhaps up to a seq or in part."""

    def __init__(self, known: Known, whole: Sequence[Row], visible: Callable[[int], bool] | None) -> None:
        self.lineage = {segment.session: segment.last for segment in known.segments}
        self.names = {row.id: get(row.name) for row in whole}
        self.visible = visible
        own = [known.id] if visible is None else []
        self.whole = list(dict.fromkeys([*own, *self.names]))
        self.bounded = [session for session in self.lineage if session not in self.whole]

    def numbers(self, db: sqlite3.Connection) -> set[int]:
        """The pieces of sessions that are not searched whole."""
        out: set[int] = set()
        for session in self.bounded:
            rows = db.execute(
                "SELECT id, seq FROM piece WHERE session = ? AND seq <= ?", (session, self.lineage[session])
            )
            out.update(number for number, seq in rows if self.visible is None or self.visible(seq))
        return out

    def count(self, db: sqlite3.Connection) -> int:
        """How many pieces the sessions hold that are searched whole."""
        return sum(
            db.execute(f"SELECT count(*) FROM piece WHERE session IN ({marks(chunk)})", chunk).fetchone()[0]
            for chunk in in_chunks(self.whole, 500)
        )


def find(db: sqlite3.Connection, known: Known, searched: Searched, terms: Sequence[str], *, limit: int) -> Finding:
    """Matches of any term in the searched sessions, the rarest terms first."""
    allowed = searched.numbers(db)
    total = len(allowed) + searched.count(db)
    postings = {
        term: [
            *_matches(db, term, searched.whole),
            *(number for number in _matches(db, term, searched.bounded) if number in allowed),
        ]
        for term in terms
    }
    found = _load(db, known, searched, choose(postings, total, limit))
    return Finding(tuple(found), total, {term: len(numbers) for term, numbers in postings.items()})


def _matches(db: sqlite3.Connection, term: str, among: Sequence[int]) -> list[int]:
    """Pieces of these sessions that hold a term, by the scope column of the index."""
    out: list[int] = []
    for chunk in in_chunks(among, 200):
        scope = " OR ".join(f'"s{session}"' for session in chunk)
        rows = db.execute("SELECT rowid FROM search WHERE search MATCH ?", (f'scope : ({scope}) AND body : "{term}"',))
        out += [number for (number,) in rows]
    return out


def _load(db: sqlite3.Connection, known: Known, searched: Searched, chosen: Sequence[int]) -> list[Found]:
    """The chosen pieces with their events; whose they are is checked again by the joined rows."""
    covered = {*searched.whole, *searched.bounded}
    found: dict[int, Found] = {}
    for chunk in in_chunks(chosen, 500):
        for number, session, seq, place, line, end_line, artifact, head, text in db.execute(
            "SELECT piece.id, session, seq, place, line, end_line, number, piece.head, text FROM piece "
            f"JOIN session ON session.id = piece.session WHERE piece.id IN ({marks(chunk)}) AND user = ?",
            (*chunk, known.row.user),
        ).fetchall():
            piece = Piece(seq, place, get(text), line, end_line, artifact, get(head))
            if seq <= searched.lineage.get(session, 0) and seq <= known.log.head:
                found[number] = Found(piece, known.log.events[seq - 1])
            elif session in covered:
                found[number] = Found(piece, event_at(db, session, seq), searched.names[session])
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
