"""Looks for what stands near a query, in time or not at all: whatever an embedder does, a search by words goes on.

Knows nothing of what a score means.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextvars import copy_context
from math import sqrt

from foldmark.embedding import Embedder
from foldmark.errors import EmbedderFailed
from foldmark.reports import BY_WORDS
from foldmark.retrieval.asking import Question
from foldmark.retrieval.fusing import NEIGHBOUR, fused, widened
from foldmark.retrieval.nameless import nameless
from foldmark.retrieval.ranking import Ranked, judged
from foldmark.seeking import Finding, Sought
from foldmark.store import Key, Store
from foldmark.vectors import Nearest, vectors_of

KEPT_QUERIES = 64
CANDIDATES = 50
"""How many pieces nearness alone may bring (measured: 20 to 300 rank alike)."""


SLOW_SECONDS = 1.0
REST_SECONDS = 60.0
"""After a failure that took longer than SLOW_SECONDS an embedder is not asked for so long: a server that is down must
not make every search wait."""


class Meaning:
    """The nearness side of searches, by one embedder; safe from several threads. `clock` gives seconds that only
    rise."""

    def __init__(self, embedder: Embedder, clock: Callable[[], float] = time.monotonic) -> None:
        self.embedder, self._clock = embedder, clock
        self._rests_until = float("-inf")
        self._asked: OrderedDict[tuple[str, ...], tuple[float, ...]] = OrderedDict()
        self._late: threading.Thread | None = None
        self._lock = threading.Lock()

    def nearest(
        self, store: Store, key: Key, asked: Question, finding: Finding, sought: Sought
    ) -> tuple[Nearest | None, str]:
        """(what stands near, None where words are all there is; why it is missing, empty where nothing is wrong)."""
        vectors = vectors_of(store)
        if not self.embedder.weight or not asked.terms or asked.ways:
            return None, ""
        if vectors is None:
            return None, f"{BY_WORDS}: the store keeps no vectors"
        candidates = (*finding.found, *finding.near)
        try:
            query = self.vector(asked.text, nameless(asked, candidates))
        except EmbedderFailed as failure:
            return None, f"{BY_WORDS}: {failure}"
        beside = [one.place for one in candidates]
        found = vectors.nearest(key, self.embedder, query, limit=CANDIDATES, sought=sought, beside=beside)
        return found, f"{found.missing} pieces have no vector yet" if found.missing else ""

    def judged(
        self, store: Store, key: Key, asked: Question, finding: Finding, sought: Sought
    ) -> tuple[list[Ranked], str]:
        """Every candidate by words and by what it means, as `ranking.judged`, and what is to be said of it."""
        nearest, remark = self.nearest(store, key, asked, finding, sought)
        if nearest is None:
            return judged(finding, asked), remark
        whole = widened(finding, nearest)
        neighbour = 0.0 if self.embedder.reads_before else NEIGHBOUR
        return fused(judged(whole, asked), whole, nearest, self.embedder.weight, neighbour), remark

    def vector(self, query: str, other: str = "") -> tuple[float, ...]:
        """The vector of a query, of the last few without asking again; with its `other` wording what lies between
        both. Raises EmbedderFailed."""
        texts = (query, other) if other else (query,)
        with self._lock:
            if texts in self._asked:
                self._asked.move_to_end(texts)
                return self._asked[texts]
        vector = self._patiently(texts)
        with self._lock:
            self._asked[texts] = vector
            while len(self._asked) > KEPT_QUERIES:
                self._asked.popitem(last=False)
        return vector

    def _patiently(self, texts: Sequence[str]) -> tuple[float, ...]:
        started = self._clock()
        if started < self._rests_until:
            raise EmbedderFailed(f"the embedder {self.embedder.id!r} rests after it was slow to fail")
        try:
            return self._in_time(texts)
        except EmbedderFailed:
            if (now := self._clock()) - started > SLOW_SECONDS:
                self._rests_until = now + REST_SECONDS
            raise

    def _in_time(self, texts: Sequence[str]) -> tuple[float, ...]:
        """A function cannot be stopped, so it runs in a thread of its own; while one is late, nobody waits again."""
        if self._late is not None and self._late.is_alive():
            raise EmbedderFailed(f"the embedder {self.embedder.id!r} is still busy with an earlier query")
        done: list[tuple[float, ...]] = []
        failed: list[EmbedderFailed] = []

        def ask() -> None:
            try:
                done.append(_between(self.embedder.of_queries(texts)))
            except EmbedderFailed as failure:
                failed.append(failure)
            except BaseException as error:
                failed.append(EmbedderFailed(f"the embedder {self.embedder.id!r} failed ({type(error).__name__})"))

        thread = threading.Thread(target=copy_context().run, args=(ask,), name="foldmark-query", daemon=True)
        thread.start()
        thread.join(self.embedder.timeout_seconds)
        if done:
            return done[0]
        if failed:
            raise failed[0]
        self._late = thread
        seconds = self.embedder.timeout_seconds
        raise EmbedderFailed(f"the embedder {self.embedder.id!r} gave no vector within {seconds:g} s")


def _between(vectors: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """The direction that is as near to each, of length 1."""
    if len(vectors) == 1:
        return vectors[0]
    added = [sum(parts) for parts in zip(*vectors, strict=True)]
    length = sqrt(sum(value * value for value in added)) or 1.0
    return tuple(value / length for value in added)
