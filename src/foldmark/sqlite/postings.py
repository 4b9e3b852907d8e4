"""Which pieces of an area hold a term, how many pieces there are, and the best of those that match.

Knows nothing of pieces' texts and events.

The numbers of a session's pieces rise with its seqs. Where no other session's stand between them, they alone tell whose
a piece is, and the index is read between two numbers; else through its scope column. What was counted once is kept with
the connection: rows of a session are never changed, and numbers never given again.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log
from typing import NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from foldmark.log import ordered
from foldmark.sqlite.areas import Area
from foldmark.sqlite.rows import in_chunks
from foldmark.store import ENDLESS
from foldmark.store.ground import Span

SESSIONS_AT_ONCE = 200
KEPT_COUNTS = 512
"""Spans of sessions whose pieces were counted; emptied when full."""
_CLOSE = 1e-9
"""Sums of the same weights in another order may differ by less."""
_numbers = msgspec.json.Decoder(list[int])


class Numbered(NamedTuple):
    """The pieces of a span of a session: how many, the numbers of the first and the last, the seq of the last."""

    pieces: int = 0
    first: int = 0
    last: int = 0
    seq: int = 0

    @property
    def stand_alone(self) -> bool:
        """Whether no other piece stands between them."""
        return self.pieces == self.last - self.first + 1


class Scope(NamedTuple):
    """An expression over the scope column (empty: the numbers tell), and between which numbers (exclusive, inclusive)
    pieces count."""

    expression: str
    after: int = 0
    upto: int = ENDLESS


class Postings:
    """The index as one search of an area sees it."""

    def __init__(self, db: sqlite3.Connection, area: Area) -> None:
        self.db, self.area = db, area
        spans = {session: numbered(db, session, span) for session, span in area.spans.items()}
        self.total = sum(self._shown(session, counted.pieces) for session, counted in spans.items())
        self.total += _others(db, area) if area.others else 0
        self._scopes = list(_scopes(area, {session: counted for session, counted in spans.items() if counted.pieces}))

    def matches(self, term: str) -> list[int]:
        """Pieces that hold a term, by the index. One row brings all their numbers: a row for each is most of the
        cost."""
        out: list[int] = []
        for expression, after, upto in self._scopes:
            asked = f'({expression}) AND body : "{term}"' if expression else f'body : "{term}"'
            sql = "SELECT json_group_array(rowid) FROM search WHERE search MATCH ? AND rowid > ? AND rowid <= ?"
            out += _numbers.decode(self.db.execute(sql, (asked, after, upto)).fetchone()[0])
        return out if self.area.visible is None else self._seen(out)

    def _seen(self, numbers: Sequence[int]) -> list[int]:
        """Those of the pieces whose events the scope sees."""
        out: list[int] = []
        sql = "SELECT id, session, seq FROM piece WHERE id IN (SELECT value FROM json_each(?))"
        for chunk in in_chunks(numbers, 5_000):
            rows = self.db.execute(sql, (listed(chunk),)).fetchall()
            out += [number for number, session, seq in rows if self.area.shows(session, seq)]
        return out

    def _shown(self, session: int, count: int) -> int:
        """How many of a span's pieces are of events that the scope sees."""
        first, last = self.area.spans[session]
        inherited = self.area.lineage.get(session, 0)
        if self.area.visible is None or (first >= inherited and session not in self.area.hidden):
            return count
        rows = self.db.execute(
            "SELECT seq FROM piece WHERE session = ? AND seq > ? AND seq <= ?", (session, first, last)
        )
        return sum(self.area.shows(session, seq) for (seq,) in rows.fetchall())


def numbered(db: sqlite3.Connection, session: int, span: Span) -> Numbered:
    """The pieces of a session behind a seq up to another; only those that came since the last time are counted."""
    known = _counted.setdefault(db, {})
    old = known.get((session, *span), Numbered(seq=span[0]))
    where, values = "FROM piece WHERE session = ? AND seq > ? AND seq <= ?", (session, old.seq, span[1])
    more = db.execute(f"SELECT count(*) {where}", values).fetchone()[0]
    if not more:
        return old
    (first,) = db.execute(f"SELECT id {where} ORDER BY seq, id LIMIT 1", values).fetchone()
    last, seq = db.execute(f"SELECT id, seq {where} ORDER BY seq DESC, id DESC LIMIT 1", values).fetchone()
    if len(known) >= KEPT_COUNTS:
        known.clear()
    found = known[session, *span] = Numbered(old.pieces + more, old.first or first, last, seq)
    return found


_counted: WeakKeyDictionary[sqlite3.Connection, dict[tuple[int, int, int], Numbered]] = WeakKeyDictionary()


def _others(db: sqlite3.Connection, area: Area) -> int:
    """How many pieces the user's sessions hold that are not apart."""
    sql = (
        "SELECT count(*) FROM session JOIN piece ON piece.session = session.id "
        f"WHERE session.user = ? AND session.id NOT IN ({', '.join(map(str, area.apart))})"
    )
    return int(db.execute(sql, (area.user,)).fetchone()[0])


def _scopes(area: Area, spans: Mapping[int, Numbered]) -> Iterator[Scope]:
    """Where in the index an area stands."""
    if area.others and area.apart == set(area.whole):
        yield Scope(f'scope : "u{area.user}"')
        return
    if area.others:
        yield Scope(f'scope : "u{area.user}" NOT {_any(sorted(area.apart))}')
    whole = []
    for session, counted in spans.items():
        if counted.stand_alone:
            yield Scope("", counted.first - 1, counted.last)
        elif session in area.whole:
            whole.append(session)
        else:
            yield Scope(_any([session]), counted.first - 1, counted.last)
    for chunk in in_chunks(whole, SESSIONS_AT_ONCE):
        yield Scope(_any(chunk))


def _any(sessions: Iterable[int]) -> str:
    return "scope : (" + " OR ".join(f'"s{session}"' for session in sessions) + ")"


def listed(values: Sequence[int]) -> str:
    """Numbers as one parameter, for `IN (SELECT value FROM json_each(?))`: a statement of as many marks as there are
    numbers is another one each time, and reading it takes longer than the rows."""
    return msgspec.json.encode(values).decode()


def best(postings: Mapping[str, Sequence[int]], total: int, limit: int) -> Iterator[int]:
    """What `log.ordered` gives, the same order to the last: the first `limit` without looking at what cannot be among
    them; all others only when they are asked for."""
    first = _first(postings, total, limit)
    yield from first
    if len(first) == limit:
        yield from ordered(postings, total)[limit:]


def _first(postings: Mapping[str, Sequence[int]], total: int, limit: int) -> list[int]:
    if limit <= 0:
        return []
    weights = {term: log(1 + (total - len(held) + 0.5) / (len(held) + 0.5)) for term, held in postings.items()}
    bits = {term: 1 << place for place, term in enumerate(postings)}
    alike: dict[int, list[int]] = {}
    for number, held in _candidates(postings, weights, bits, limit):
        alike.setdefault(held, []).append(number)
    worth: dict[float, list[int]] = {}
    for held, numbers in alike.items():
        worth.setdefault(_worth(held, weights, bits), []).extend(numbers)
    out: list[int] = []
    for score in sorted(worth, reverse=True):
        out += sorted(worth[score], reverse=True)
        if len(out) >= limit:
            break
    return out[:limit]


def _worth(held: int, weights: Mapping[str, float], bits: Mapping[str, int]) -> float:
    """What the terms in a set of bits are worth; added up in their order, so that equal sums are equal."""
    return sum((weights[term] for term, bit in bits.items() if held & bit), 0.0)


def _candidates(
    postings: Mapping[str, Sequence[int]], weights: Mapping[str, float], bits: Mapping[str, int], limit: int
) -> Iterable[tuple[int, int]]:
    """Pieces that may be among the first, each with the bits of its terms. The rarest terms come first; as soon as
    enough pieces hold more of them than all others are worth, what holds only the others is not looked at."""
    held: dict[int, int] = {}
    waiting = sorted(postings, key=weights.__getitem__, reverse=True)
    while waiting:
        left = sum(map(weights.__getitem__, waiting))
        chosen = {number: held[number] for number in _enough(held, left, weights, bits, limit)}
        if chosen:
            for term in waiting:
                for number in chosen.keys() & postings[term]:
                    chosen[number] |= bits[term]
            return chosen.items()
        term = waiting.pop(0)
        bit = bits[term]
        for number in postings[term]:
            held[number] = held.get(number, 0) | bit
    return held.items()


def _enough(
    held: Mapping[int, int], left: float, weights: Mapping[str, float], bits: Mapping[str, int], limit: int
) -> Iterable[int]:
    """Those of the pieces that may be among the first when terms worth `left` are added; none where others may too."""
    if len(held) < limit:
        return ()
    counts = Counter(held.values())
    worth = {each: _worth(each, weights, bits) for each in counts}
    better, least = 0, 0.0
    for each in sorted(counts, key=worth.__getitem__, reverse=True):
        better, least = better + counts[each], worth[each]
        if better >= limit:
            break
    if least <= left + _CLOSE:
        return ()
    among = {each for each in counts if worth[each] + left >= least - _CLOSE}
    return [number for number, each in held.items() if each in among]
