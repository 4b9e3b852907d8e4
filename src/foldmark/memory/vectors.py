"""Vectors beside the pieces of sessions in memory, kept with the row of the session. Knows nothing of models."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import msgspec

from foldmark.embedding import Embedder, Vector, cosines
from foldmark.errors import NotFound
from foldmark.memory.rows import Row, time_of
from foldmark.memory.searching import Stretch
from foldmark.seeking import Found, Piece, Sought, Where
from foldmark.store import Key
from foldmark.vectors import READ_BEFORE, Nearest, Place, Unembedded, around, nearest_first, said_before


class MemoryVectors:
    """The vectors of one store: `find` gives the row of a key, `cover` the stretches that a search looks through."""

    def __init__(
        self, lock: threading.RLock, find: Callable[[Key], Row], cover: Callable[[Row, Key, Sought], list[Stretch]]
    ) -> None:
        self._lock, self._find, self._cover = lock, find, cover

    def missing(self, key: Key, embedder: Embedder, *, limit: int, where: Where = "session") -> list[Unembedded]:
        with self._lock:
            out: list[Unembedded] = []
            holder, earlier = None, deque[Found](maxlen=READ_BEFORE)  # first pieces of one row, the nearest first
            for row, place, piece in self._searched(key, Sought(where=where)):
                if len(out) >= limit:
                    break
                if row is not holder:
                    holder, earlier = row, deque[Found](maxlen=READ_BEFORE)
                one = _found(row, place, piece)
                if place[1:] not in _held(row, embedder):
                    before = said_before(one, earlier) if embedder.reads_before else ""
                    out.append(Unembedded(place, piece.text, piece.head, before))
                if not piece.order:
                    earlier.appendleft(one)
        return out

    def put(self, key: Key, embedder: Embedder, made: Sequence[tuple[Unembedded, Vector]]) -> int:
        with self._lock:
            holder, count = self._find(key), 0
            texts: dict[int, dict[tuple[int, int], str]] = {}
            for unembedded, vector in made:
                row = self._holder(holder, key, unembedded.place)
                if row is None:
                    continue
                if id(row) not in texts:
                    texts[id(row)] = {(piece.seq, piece.order): piece.text for piece in row.pieces}
                if texts[id(row)].get(unembedded.place[1:]) == unembedded.text:
                    row.vectors.setdefault(_named(embedder), {})[unembedded.place[1:]] = vector
                    count += 1
            return count

    def nearest(
        self, key: Key, embedder: Embedder, asked: Sequence[float], *, limit: int = 150, sought: Sought = Sought(),
        beside: Sequence[Place] = (),
    ) -> Nearest:  # fmt: skip
        with self._lock:
            searched = list(self._searched(key, sought))
            held = [
                (row, place, piece, vector)
                for row, place, piece in searched
                if (vector := _held(row, embedder).get(place[1:]))
            ]
            near = cosines(asked, [vector for *_, vector in held])
            scores = {place: score for (_, place, _, _), score in zip(held, near, strict=True)}
            found: list[Found] = []
            pieces = {place: (row, piece) for row, place, piece, _ in held}
            for place in nearest_first(scores):
                if len(found) >= limit:
                    break
                row, piece = pieces[place]
                one = _found(row, place, piece)
                if sought.allows(one):
                    found.append(one)
        beside = [*(one.place for one in found), *beside]
        return Nearest(tuple(found), around(scores, beside), len(searched) - len(held))

    def forget(self, key: Key, *, keep: Embedder | None = None) -> int:
        with self._lock:
            row = self._find(key)
            kept = {name: held for name, held in row.vectors.items() if keep and name == _named(keep)}
            gone = sum(map(len, row.vectors.values())) - sum(map(len, kept.values()))
            row.vectors = kept
            return gone

    def _searched(self, key: Key, sought: Sought) -> Iterator[tuple[Row, Place, Piece]]:
        """Every piece that a search looks at, with the row that holds it."""
        asked = self._find(key)
        lineage = {id(other): last for other, last, _ in asked.lineage()}
        for one in self._cover(asked, key, sought):
            for _, piece in one.pieces(key):
                name = "" if piece.seq <= lineage.get(id(one.row), 0) else one.row.name[2]
                yield one.row, (name, piece.seq, piece.order), piece

    def _holder(self, asked: Row, key: Key, place: Place) -> Row | None:
        """The row that holds a piece."""
        if not place[0]:
            return next((row for row, last, _ in asked.lineage() if row.limit < place[1] <= last), None)
        with suppress(NotFound):
            return self._find(msgspec.structs.replace(key, session=place[0]))
        return None


def _found(row: Row, place: Place, piece: Piece) -> Found:
    return Found(piece, row.log.events[piece.seq - 1], place[0], time_of(row, piece.seq))


def _named(embedder: Embedder) -> tuple[str, int]:
    return embedder.id, embedder.dimension


def _held(row: Row, embedder: Embedder) -> dict[tuple[int, int], Vector]:
    return row.vectors.get(_named(embedder), {})
