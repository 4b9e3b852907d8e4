"""Vectors beside the pieces of a store: what a store that keeps them promises, and its values.

Knows nothing of how they are kept. It is no part of `Store`: a store without them is searched by words alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from foldmark.embedding import Embedder, Vector
from foldmark.seeking import Found, Sought, Where, is_one_sitting, is_said
from foldmark.store import Key, Store

Place = tuple[str, int, int]
"""Session (empty inside the lineage), seq, order: as `Found.place`."""


class Nearest(msgspec.Struct, frozen=True):
    """What stands nearest to a query, best first, and the nearness (`scores`, -1 to 1) of these places, of those asked
    for besides, and of what stands right before and after either. `missing` counts searched pieces without a vector of
    the embedder, or with one of another dimension."""

    found: tuple[Found, ...] = ()
    scores: dict[Place, float] = {}
    missing: int = 0


class Embedded(msgspec.Struct, frozen=True):
    """What one go came to: how many pieces got a vector (`done`), and whether there are more (`left`)."""

    done: int = 0
    left: bool = False


class Unembedded(msgspec.Struct, frozen=True):
    """A piece that has no vector yet: its place, its own `text`, the `head` that is indexed with it, and what was said
    right `before` it, for embedders that read it."""

    place: Place
    text: str
    head: str = ""
    before: str = ""

    @property
    def whole(self) -> str:
        """What is embedded: as with words, the call that a result answers stands in front."""
        return f"{self.head}\n{self.text}" if self.head else self.text


READ_BEFORE = 2
"""So many events before what was said are read with it (measured on dialogue: 1 brings less, 3 and 5 no more)."""
BEFORE_CHARACTERS = 500
"""And so much of them at most, the nearest."""


def said_before(one: Found, earlier: Sequence[Found]) -> str:
    """What was said right before what is said in a piece, in the same sitting and for the same scope; empty before
    anything else. `earlier` are the first pieces of the READ_BEFORE events before it, as far as the session holds
    them, the nearest first."""
    if one.piece.order or not is_said(one.event):
        return ""
    texts: list[str] = []
    for step, other in enumerate(earlier, 1):
        is_next = other.piece.seq == one.piece.seq - step and is_said(other.event)
        if not is_next or other.event.key != one.event.key or not is_one_sitting(one.time, other.time):
            break
        texts.append(other.piece.text)
    return "\n".join(reversed(texts))[-BEFORE_CHARACTERS:]


def nearest_first(scores: Mapping[Place, float]) -> list[Place]:
    """The places, the nearest first; equals by place, so that every store gives the same order."""
    return sorted(scores, key=lambda place: (-scores[place], place))


def around(scores: Mapping[Place, float], places: Iterable[Place]) -> dict[Place, float]:
    """The scores of these places and of all that belongs to the events right before and after them."""
    near = {(session, seq + step) for session, seq, _ in places for step in (-1, 0, 1)}
    return {place: score for place, score in scores.items() if place[:2] in near}


class Vectors(Protocol):
    """Vectors beside the pieces of a store. They belong to the session that holds the piece, and are erased with it."""

    def missing(self, key: Key, embedder: Embedder, *, limit: int, where: Where = "session") -> list[Unembedded]:
        """Pieces of what the key may search that have no vector of this embedder, by session the oldest first; for one
        that reads it with what was said right before (`said_before`), of what the key sees. Raises NotFound."""

    def put(self, key: Key, embedder: Embedder, made: Sequence[tuple[Unembedded, Vector]]) -> int:
        """Keep vectors; returns how many pieces were still there, with the same text, to get one. Raises NotFound."""

    def nearest(
        self, key: Key, embedder: Embedder, asked: Sequence[float], *, limit: int = 150, sought: Sought = Sought(),
        beside: Sequence[Place] = (),
    ) -> Nearest:  # fmt: skip
        """Every vector of what is searched is compared. What `sought` does not allow is not brought. Raises
        NotFound."""

    def forget(self, key: Key, *, keep: Embedder | None = None) -> int:
        """Drop the session's own vectors but those of `keep`; returns how many. Raises NotFound."""


def vectors_of(store: Store) -> Vectors | None:
    """Where the store keeps vectors; None for one that keeps none."""
    found: Vectors | None = getattr(store, "vectors", None)
    return found


def embed(store: Store, key: Key, embedder: Embedder, *, limit: int = 256, where: Where = "session") -> Embedded:
    """Give vectors to at most `limit` pieces of what the key may search (`where`), the oldest first. Each batch is kept
    before the next begins, so a go that breaks off loses one batch at most, and another one goes on from there.

    Raises EmbedderFailed (what was done is kept) and NotFound.
    """
    vectors = vectors_of(store)
    if vectors is None:
        return Embedded()
    where = "session" if where == "covered" else where  # what is covered moves on
    waiting = vectors.missing(key, embedder, limit=limit + 1, where=where)
    done = 0
    for start in range(0, min(limit, len(waiting)), embedder.batch):
        batch = waiting[start : min(limit, start + embedder.batch)]
        made = embedder.of_texts([one.whole for one in batch], [one.before for one in batch])
        done += vectors.put(key, embedder, list(zip(batch, made, strict=True)))
    return Embedded(done, len(waiting) > limit)


class Unwritten:
    """The vectors of another store, to read alone: what is put or forgotten changes nothing."""

    def __init__(self, inner: Vectors) -> None:
        self._inner = inner
        self.missing, self.nearest = inner.missing, inner.nearest

    def put(self, key: Key, embedder: Embedder, made: Sequence[tuple[Unembedded, Vector]]) -> int:
        return 0

    def forget(self, key: Key, *, keep: Embedder | None = None) -> int:
        return 0
