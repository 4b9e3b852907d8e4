"""Texts as vectors: what an embedder is, how its vectors are kept small, how near one is to another.

Knows nothing of models, stores and words. Vectors are scaled to length 1, so the product of two is their cosine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import import_module
from math import isfinite, sqrt
from operator import mul
from typing import Any

import msgspec

from foldmark.asking import is_async
from foldmark.awaiting import unawaited
from foldmark.errors import EmbedderFailed, PolicyError

Call = Callable[[Sequence[str]], Sequence[Sequence[float]]]
CallAfter = Callable[[Sequence[str], Sequence[str]], Sequence[Sequence[float]]]

LONGEST_ID = 200
MOST_DIMENSIONS = 8_192
_STEPS = 127  # a component is kept as one of 2 x 127 + 1 steps


class Embedder(msgspec.Struct, frozen=True, kw_only=True):
    """Turns texts into vectors: `call` takes a list of texts and gives as many lists of `dimension` numbers; `ask` does
    the same for queries, where a model wants to know which is which (else `call` does). `call_after` takes the texts
    and as many of what was said right before each (empty where nothing was), and gives the vectors of the texts as they
    read there: for models that give a vector for every token. Without it every text is read alone.

    `id` names model and form: vectors are kept under it, and those of another id or dimension are never used. `weight`
    is what nearness counts beside words in a search (0: never; what helps is measured for each, and too much hurts).
    `batch` is how many texts are handed over at once; `timeout_seconds` is how long a search waits for the vector of
    its query.

    Raises PolicyError for values that make no sense, and for an async function: the event loop is the caller's.
    """

    id: str
    call: Call
    dimension: int
    weight: float = 0.4
    batch: int = 32
    timeout_seconds: float = 5.0
    ask: Call | None = None
    call_after: CallAfter | None = None

    def __post_init__(self) -> None:
        for which, function in (("call", self.call), ("ask", self.ask), ("call_after", self.call_after)):
            if callable(function) and is_async(function):
                raise PolicyError(
                    f"{which} of the embedder {self.id!r:.200} is async; it takes a plain function, for the event loop "
                    "is yours: ask a plain client, or call asyncio.run inside a thread of its own."
                )
        wrong = (
            (not self.id or len(self.id) > LONGEST_ID or not self.id.isprintable(), "id", self.id),
            (not callable(self.call), "call", self.call),
            (self.ask is not None and not callable(self.ask), "ask", self.ask),
            (self.call_after is not None and not callable(self.call_after), "call_after", self.call_after),
            (not 1 <= self.dimension <= MOST_DIMENSIONS, "dimension", self.dimension),
            (not isfinite(self.weight) or self.weight < 0, "weight", self.weight),
            (self.batch < 1, "batch", self.batch),
            (not self.timeout_seconds > 0, "timeout_seconds", self.timeout_seconds),
        )
        for is_wrong, name, value in wrong:
            if is_wrong:
                raise PolicyError(f"{name} of the embedder {self.id[:LONGEST_ID]!r} cannot be {value!r}.")

    @property
    def reads_before(self) -> bool:
        """Whether what was said right before a text counts for its vector."""
        return self.call_after is not None

    def of_texts(self, texts: Sequence[str], before: Sequence[str] = ()) -> list[Vector]:
        """Vectors of what is searched; `before` is what was said right before each, for those that read it. Raises
        EmbedderFailed."""
        after = self.call_after
        if after is None or not any(before):
            return self._vectors(self.call, texts)
        return self._vectors(lambda given: after(given, before), texts)

    def of_query(self, query: str) -> tuple[float, ...]:
        """The vector of what is asked, of length 1. Raises EmbedderFailed."""
        return self.of_queries([query])[0]

    def of_queries(self, queries: Sequence[str]) -> list[tuple[float, ...]]:
        """The same of several, `batch` of them in a call."""
        call, size = self.ask or self.call, self.batch
        parts = [queries[at : at + size] for at in range(0, len(queries), size)]
        return [unpacked(one) for part in parts for one in self._vectors(call, part)]

    def _vectors(self, call: Call, texts: Sequence[str]) -> list[Vector]:
        try:
            given = call(texts)
            if unawaited(given):
                raise EmbedderFailed(f"the embedder {self.id!r} gave something to await; its call must be plain")
            made = [packed(one) for one in given]
        except EmbedderFailed:
            raise
        except Exception as error:  # whatever a model or its server raises
            raise EmbedderFailed(f"the embedder {self.id!r} failed ({type(error).__name__})") from error
        if len(made) != len(texts):
            raise EmbedderFailed(f"the embedder {self.id!r} gave {len(made)} vectors for {len(texts)} texts")
        if odd := next((one for one in made if one.dimension != self.dimension), None):
            raise EmbedderFailed(f"the embedder {self.id!r} gave {odd.dimension} numbers in place of {self.dimension}")
        return made


class Vector(msgspec.Struct, frozen=True, array_like=True):
    """A vector of length 1 in one byte a component: `body` holds signed bytes, each times `scale` is a component. A
    text without a meaning (all zeros) keeps them."""

    scale: float
    body: bytes

    @property
    def dimension(self) -> int:
        return len(self.body)


def packed(numbers: Iterable[float]) -> Vector:
    """Numbers of any length as a vector. Raises ValueError where one is no number."""
    values = [float(number) for number in numbers]
    if not all(map(isfinite, values)):
        raise ValueError("a vector holds numbers that are none")
    largest = max(map(abs, values), default=0.0)
    if not largest:
        return Vector(0.0, bytes(len(values)))
    steps = [round(value / largest * _STEPS) for value in values]
    return Vector(1 / sqrt(sum(map(mul, steps, steps))), bytes(step & 0xFF for step in steps))


def unpacked(vector: Vector) -> tuple[float, ...]:
    """The components."""
    return tuple(vector.scale * step for step in memoryview(vector.body).cast("b"))


def cosines(asked: Sequence[float], vectors: Sequence[Vector]) -> list[float]:
    """How near each vector is to the one that is asked for, -1 to 1. With numpy when it is there."""
    if not vectors:
        return []
    if (numpy := _numpy()) is None:
        return [round(vector.scale * sum(map(mul, asked, memoryview(vector.body).cast("b"))), 6) for vector in vectors]
    bodies = numpy.frombuffer(b"".join(vector.body for vector in vectors), dtype=numpy.int8)
    products = bodies.reshape(len(vectors), -1).astype(numpy.float32) @ numpy.asarray(asked, dtype=numpy.float32)
    return [round(near, 6) for near in (products * numpy.asarray([vector.scale for vector in vectors])).tolist()]


@cache
def _numpy() -> Any:
    """numpy, or None. Looked for when the first vectors are compared: loading it takes longer than all of foldmark."""
    try:
        return import_module("numpy")
    except ImportError:
        return None
