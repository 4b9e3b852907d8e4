"""Looking in a SQLite store for events by their fingerprints, for the best units, for bodies that events name.

Knows nothing of full text.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from foldmark.checkpoint import Unit
from foldmark.events import Event
from foldmark.log import holds_call, overlap
from foldmark.sqlite.rows import get, in_chunks, marks, unit_of, unpack_event
from foldmark.sqlite.session_rows import Row
from foldmark.sqlite.sessions import Known, Segment, lineage
from foldmark.store import Key, Match


def best_units(db: sqlite3.Connection, known: Known, key: Key, upto: int, limit: int) -> list[Unit]:
    """The best units of a scope's log up to a seq."""
    out: list[Unit] = []
    for segment in known.segments:
        rows = db.execute(
            "SELECT seq, place, CAST(text AS BLOB), score, tokens, line FROM unit WHERE session = ? AND seq <= ? "
            "ORDER BY score DESC, seq, place LIMIT ?",
            (segment.session, min(segment.last, upto), max(0, limit) if key.sees == "all" else -1),
        )
        out += [
            unit_of(seq, place, text, score, tokens, line)
            for seq, place, text, score, tokens, line in rows
            if key.sees == "all" or key.shows(known.log.events[seq - 1])
        ]
    out.sort(key=lambda unit: (-unit.score, unit.seq, unit.order))
    return out[: max(0, limit)]


def event_at(db: sqlite3.Connection, session: int, seq: int) -> Event:
    found = db.execute("SELECT body FROM event WHERE session = ? AND seq = ?", (session, seq)).fetchone()
    return unpack_event(found[0], seq)


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
