"""How values become columns and back: text of any kind, packed structs, event rows, search rows.

Knows nothing of transactions or caches.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from math import isfinite
from typing import Any, TypeVar, cast

import msgspec
import zstandard

from foldmark.checkpoint import Fact, Unit
from foldmark.dates import stamp
from foldmark.events import Event, from_json, to_json
from foldmark.seeking import Piece
from foldmark.sqlite.damaged import Damaged
from foldmark.words import distinct

T = TypeVar("T")

COMPRESS_BYTES = 4_096
"""Bodies from this size on are compressed when that pays; below it the saving is smaller than the page."""

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"  # JSON never begins with these


def put(text: str) -> str | bytes:
    """A text as a column: TEXT, or a BLOB when it holds lone surrogates, which UTF-8 has no form for."""
    if text.isascii():
        return text
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def get(value: str | bytes) -> str:
    """The text of a column. Raises Damaged."""
    if isinstance(value, str):
        return value
    try:
        return value.decode("utf-8", "surrogatepass")
    except (UnicodeDecodeError, AttributeError) as error:
        raise Damaged(value, error) from error


_encoder = msgspec.json.Encoder()


def pack(value: Any) -> bytes:
    """A struct as JSON; lone surrogates are kept as escapes."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value), ensure_ascii=True).encode()


@cache
def _decoder(kind: Hashable) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(cast(Any, kind))


_UNREADABLE = (ValueError, TypeError, RecursionError, MemoryError, msgspec.MsgspecError, zstandard.ZstdError)
"""What decoders say of a damaged value; one that gives a wrong size asks for any amount of memory."""


def unpack(data: bytes, kind: type[T]) -> T:
    """The struct of a column. Raises Damaged."""
    try:
        found: T = _decoder(cast(Hashable, kind)).decode(data)
        return found
    except (msgspec.DecodeError, UnicodeError, TypeError):
        try:
            return msgspec.convert(json.loads(data), kind)
        except _UNREADABLE as error:
            raise Damaged(data, error) from error


def pack_event(event: Event) -> bytes:
    body = to_json(event)
    if len(body) >= COMPRESS_BYTES:
        small = zstandard.compress(body, 3)
        if len(small) < len(body) * 3 // 4:
            return small
    return body


def unpack_event(body: bytes, seq: int | None = None) -> Event:
    """The event of a column, which must be the event `seq` where that is said. Raises Damaged."""
    try:
        event = from_json(zstandard.decompress(body) if body[:4] == _ZSTD_MAGIC else body)
    except _UNREADABLE as error:
        raise Damaged(body, error) from error
    if event.seq != (event.seq if seq is None else seq):
        raise Damaged(body, ValueError(f"it says that it is event {event.seq}"))
    return event


def insert_events(db: sqlite3.Connection, session: int, events: Sequence[Event], now: float | None) -> None:
    """The time column holds `now` where the event itself does not say when it happened: None where nobody knows."""
    db.executemany(
        "INSERT INTO event (session, seq, id, scope, branch, time, origin, role, tokens, plain, chain, body) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (session, e.seq, put(e.id), put(e.scope), put(e.branch), now if e.time is None else e.time, e.origin,
             e.role, e.tokens, e.plain, e.chain or None, pack_event(e))
            for e in events
        ],
    )  # fmt: skip
    artifacts = [
        (session, event.seq, a.number, a.sha256, a.size, a.lines, a.kind) for event in events for a in event.artifacts
    ]
    if artifacts:
        db.executemany("INSERT INTO artifact VALUES (?, ?, ?, ?, ?, ?, ?)", artifacts)


def insert_facts(db: sqlite3.Connection, session: int, after: int, facts: Sequence[Fact]) -> None:
    """`after` is the number of the session's last fact."""
    db.executemany(
        "INSERT INTO fact (session, number, seq, scope, kind, key, version, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (session, number, fact.seq, put(fact.scope), fact.kind, put(fact.key), fact.version, pack(fact))
            for number, fact in enumerate(facts, after + 1)
        ],
    )


def insert_units(db: sqlite3.Connection, session: int, units: Sequence[Unit]) -> None:
    db.executemany(
        "INSERT INTO unit (session, seq, place, score, tokens, line, text) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(session, u.seq, u.order, u.score, u.tokens, u.line, put(u.text)) for u in units],
    )


def insert_pieces(
    db: sqlite3.Connection, session: int, scope: str, pieces: Sequence[Piece], times: Mapping[int, float | None]
) -> None:
    """Pieces with their search rows. `scope` is the session's scope column, `times` when each event happened, None
    where nobody knows."""
    used = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'piece'").fetchone()
    first = used[0] + 1 if used else 1  # never the number of an erased piece
    pieces = sorted(pieces, key=lambda piece: (piece.seq, piece.order))  # a session's numbers rise with its seqs
    db.executemany(
        "INSERT INTO piece (id, session, seq, place, line, end_line, number, head, text) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (number, session, p.seq, p.order, p.line, p.end_line, p.number, put(p.head), put(p.text))
            for number, p in enumerate(pieces, first)
        ],
    )
    db.executemany(
        "INSERT INTO search (rowid, scope, body) VALUES (?, ?, ?)",
        [(number, scope, indexed(p.head, p.text, times.get(p.seq))) for number, p in enumerate(pieces, first)],
    )


def piece_of(
    seq: int, place: int, text: str | bytes, line: int, end_line: int, number: int, head: str | bytes
) -> Piece:
    """A piece as its columns say. Raises Damaged."""
    return Piece(seq, _count(place), get(text), _count(line), _count(end_line), _count(number), get(head))


def unit_of(seq: int, place: int, text: str | bytes, score: float, tokens: int, line: int) -> Unit:
    """A unit as its columns say. Raises Damaged."""
    if not isinstance(score, float | int):
        raise Damaged(score, ValueError(f"it is {score!r:.40}, and no number"))
    return Unit(seq, _count(place), get(text), score, _count(tokens), _count(line))


def _count(value: object) -> int:
    if not isinstance(value, int):
        raise Damaged(value, ValueError(f"it is {value!r:.40}, and no whole number"))
    return value


def known_time(value: object) -> float | None:
    """The time of a row; one that is damaged nobody knows."""
    return float(value) if isinstance(value, float | int) and isfinite(value) else None


def indexed(head: str, text: str, time: float | None) -> str:
    """The body column of a search row: the distinct tokens of the piece and of its day. Erasing a row needs the same
    text again."""
    return " ".join(sorted(distinct(f"{head}\n{text}\n{stamp(time)}")))


_TIME = "CASE WHEN typeof(event.time) = 'text' THEN x'' ELSE event.time END"
"""The column of a time; a text there is none, and may be such as cannot be read."""


def erase_pieces(db: sqlite3.Connection, session: int, scope: str) -> bool:
    """Erase the search rows of a session. False where a piece was damaged: of its row words may be left, and the index
    has to be built again once the pieces are gone."""
    rows = db.execute(
        f"SELECT piece.id, CAST(head AS BLOB), CAST(text AS BLOB), {_TIME} FROM piece JOIN event USING (session, seq) "
        "WHERE session = ?",
        (session,),
    )
    is_whole = True

    def erased() -> Iterator[tuple[int, str, str]]:
        nonlocal is_whole
        for number, head, text, time in rows:
            is_whole = is_whole and _is_text(head) and _is_text(text) and (time is None or known_time(time) is not None)
            yield number, scope, indexed(_legible(head), _legible(text), known_time(time))

    db.executemany("INSERT INTO search (search, rowid, scope, body) VALUES ('delete', ?, ?, ?)", erased())
    return is_whole


def rebuild_search(db: sqlite3.Connection) -> None:
    """Index every piece anew, after the analyser changed; row by row, so that a large store needs no memory for it.
    What is damaged in a piece is left out, and the rest of it found."""
    db.execute("INSERT INTO search (search) VALUES ('delete-all')")
    rows = db.execute(
        "SELECT piece.id, user.tenant, user.id, session.id, CAST(piece.head AS BLOB), CAST(piece.text AS BLOB), "
        f"{_TIME} FROM piece CROSS JOIN event USING (session, seq) CROSS JOIN session ON session.id = piece.session "
        "CROSS JOIN user ON user.id = session.user ORDER BY piece.id"
    )
    db.executemany(
        "INSERT INTO search (rowid, scope, body) VALUES (?, ?, ?)",
        (
            (number, f"t{tenant} u{user} s{session}", indexed(_legible(head), _legible(text), known_time(time)))
            for number, tenant, user, session, head, text, time in rows
        ),
    )


def _is_text(column: bytes) -> bool:
    try:
        column.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def _legible(column: bytes) -> str:
    """What can be read of a text, whose damaged bytes part words."""
    return column.decode("utf-8", "surrogatepass") if _is_text(column) else column.decode("utf-8", "replace")


def in_chunks(values: Sequence[T], size: int) -> Iterable[Sequence[T]]:
    """SQLite takes a bounded number of parameters in one statement."""
    return (values[at : at + size] for at in range(0, len(values), size))


def marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
