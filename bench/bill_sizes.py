"""What a session costs under a strategy, by sizes alone, and what it would have cost with the future known.

Knows nothing of foldmark's steps: it moves numbers. A request is a size, the part of it that the request before left
in the cache, and a time; a strategy decides what is sent. `bench.bill_sessions` makes the numbers of real sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

from foldmark.prices import Price, prompt_cost

SUMMARY, INSTRUCTION = 1_500, 500
"""Tokens of a summary and of the instruction that asks for it (the economics study, section 3)."""
PLACEHOLDER = 20
"""What is left of a cleared result."""

Call = Literal["code", "fork", "fresh"]
"""Who writes the summary: code (free), the model on the cached prefix, or the model in a request of its own."""


class Item(NamedTuple):
    """A message: its tokens, whether it is a tool result, and the round it belongs to."""

    tokens: int
    is_result: bool
    round: int


class Ask(NamedTuple):
    """A request: it shows the first `upto` items, starts at `time` (seconds) and is answered with `output` tokens."""

    upto: int
    time: float
    output: int


class Run(NamedTuple):
    """A session. `head` is the static prefix in tokens."""

    name: str
    head: int
    items: tuple[Item, ...]
    asks: tuple[Ask, ...]

    def contents(self) -> list[int]:
        """Tokens above the static prefix that each request shows when everything is sent."""
        sums = [0]
        for item in self.items:
            sums.append(sums[-1] + item.tokens)
        return [sums[ask.upto] for ask in self.asks]

    def cut(self, requests: int) -> Run:
        """The same session, ended after so many requests."""
        return self.piece(0, requests)

    def piece(self, first: int, requests: int) -> Run:
        """So many requests from the middle, as a session that began there."""
        asks = self.asks[first : first + requests]
        start = self.asks[first - 1].upto if first else 0
        moved = tuple(ask._replace(upto=ask.upto - start) for ask in asks)
        return self._replace(items=self.items[start:], asks=moved)


class Sent(NamedTuple):
    """A request as it went out: `kept` tokens of it are a prefix of the one before, `call` was paid beside it."""

    size: int
    kept: int
    call: float = 0.0
    compacted: bool = False


class Bill(NamedTuple):
    """In plain input tokens; `compactions` counts compactions or rewritings."""

    units: float
    compactions: int
    calls: float = 0.0


def alive(run: Run, price: Price, at: int, kept: int) -> int:
    """The part of `kept` that the cache still holds when request `at` starts."""
    warm = at > 0 and run.asks[at].time - run.asks[at - 1].time <= price.cache_seconds
    return kept if warm else 0


def answer(price: Price, size: int, output: int) -> float:
    return price.steps(size)[1] * price.output * output


def bill(run: Run, price: Price, sent: Iterable[Sent]) -> Bill:
    """Add up what was sent."""
    units, calls, compactions = 0.0, 0.0, 0
    for at, (ask, one) in enumerate(zip(run.asks, sent, strict=True)):
        units += prompt_cost(price, one.size, alive(run, price, at, one.kept)) + answer(price, one.size, ask.output)
        calls += one.call
        compactions += one.compacted
    return Bill(units + calls, compactions, calls)


def call_price(kind: Call, price: Price, size: int, held: int, head: int, told: float = 1.0) -> float:
    """What the summary call costs when a request of `size` would go out of which the cache holds `held`. A fresh call
    is shown the share `told` of what stands above the static prefix."""
    if kind == "code":
        return 0.0
    if kind == "fork":
        whole, read = size + INSTRUCTION, held if held >= price.minimum_prefix else 0
        return price.steps(whole)[0] * (price.read * read + whole - read) + answer(price, whole, SUMMARY)
    whole = round(told * (size - head)) + INSTRUCTION
    return price.steps(whole)[0] * whole + answer(price, whole, SUMMARY)


# -- strategies


def send_all(run: Run) -> Iterator[Sent]:
    last = 0
    for content in run.contents():
        yield Sent(run.head + content, last)
        last = run.head + content


Due = Callable[[int, int, int, int], bool]
"""(index of the request, its size as it would go out, its part that is alive, size after a compaction) -> now?"""


def compacting(run: Run, price: Price, landing: int, due: Due, kind: Call = "code") -> Iterator[Sent]:
    """Send everything since the last compaction; when due, land at `landing` above the static prefix."""
    removed, last, landed = 0, 0, run.head + landing
    for at, content in enumerate(run.contents()):
        size = run.head + content - removed
        held = alive(run, price, at, last)
        if size > landed and due(at, size, held, landed):
            removed += size - landed
            yield Sent(landed, run.head, call_price(kind, price, size, held, run.head), compacted=True)
            last = landed
        else:
            yield Sent(size, last)
            last = size


def fixed(run: Run, price: Price, trigger: int, landing: int, kind: Call = "code") -> Iterator[Sent]:
    """At a size above the static prefix."""
    return compacting(run, price, landing, lambda at, size, held, landed: size - run.head >= trigger, kind)


def rent(
    run: Run, price: Price, landing: int, kind: Call = "code", *, nothing_below: int = 15_000, guard: float = 0.25
) -> Iterator[Sent]:
    """The rent rule of docs/explanation/when.md."""
    paid = 0.0

    def due(at: int, size: int, held: int, landed: int) -> bool:
        nonlocal paid
        cost = prompt_cost(price, landed, run.head if held else 0) - prompt_cost(price, size, held)
        cost += call_price(kind, price, size, held, run.head)
        if kind == "fresh":
            cost -= size - landed  # paid once per token whenever one compacts
        now = paid >= cost and size - landed >= guard * landing and size - run.head >= nothing_below
        paid = 0.0 if now else paid + price.read * (size - landed)
        return now

    return compacting(run, price, landing, due, kind)


def sliding(run: Run, rounds: int) -> Iterator[Sent]:
    """The newest rounds only."""
    last = start = 0
    for ask in run.asks:
        newest = run.items[ask.upto - 1].round if ask.upto else 0
        first = next((at for at, item in enumerate(run.items) if item.round > newest - rounds), ask.upto)
        size = run.head + sum(item.tokens for item in run.items[first : ask.upto])
        moved = first != start
        yield Sent(size, run.head if moved else last, compacted=moved)
        start, last = first, size


def clearing(run: Run, *, keep: int = 3, above: int = 0, share: float = 0.0) -> Iterator[Sent]:
    """Old results become placeholders: at every request, or in epochs (above a size, when a share of it goes)."""
    shown = [item.tokens for item in run.items]
    done = last = 0
    for ask in run.asks:
        results = [at for at in range(ask.upto) if run.items[at].is_result]
        old = [at for at in results[: max(0, len(results) - keep)] if at >= done and shown[at] > PLACEHOLDER]
        size = run.head + sum(shown[: ask.upto])
        shed = sum(shown[at] - PLACEHOLDER for at in old)
        if old and size - run.head >= above and shed >= share * size:
            kept = run.head + sum(shown[: old[0]])
            for at in old:
                shown[at] = PLACEHOLDER
            done = old[-1] + 1
            yield Sent(size - shed, min(kept, last), compacted=True)
            last = size - shed
        else:
            yield Sent(size, last)
            last = size


# -- the optimum


def oracle(run: Run, price: Price, landing: int, kind: Call = "code", *, guard: float = 0.0, told: float = 1.0) -> Bill:
    """The cheapest bill of all choices of compaction points for this landing, by dynamic programming; with a `guard`
    only of those at which so large a share of the landing goes.

    State: the request before which the last compaction was made (none at first). The bill of a request depends on that
    and on its predecessor's size only, so the best way to each state is enough.
    """
    contents, none = run.contents(), -1
    removed = {none: 0}
    best: dict[int, tuple[float, int, float]] = {none: (0.0, 0, 0.0)}
    landed = run.head + landing
    for at, (ask, content) in enumerate(zip(run.asks, contents, strict=True)):
        fresh: tuple[float, int, float] | None = None
        following: dict[int, tuple[float, int, float]] = {}
        compacted = prompt_cost(price, landed, alive(run, price, at, run.head)) + answer(price, landed, ask.output)
        for state, (units, count, calls) in best.items():
            size = run.head + content - removed[state]
            held = alive(run, price, at, run.head + contents[at - 1] - removed[state] if at else 0)
            stay = prompt_cost(price, size, held) + answer(price, size, ask.output)
            following[state] = (units + stay, count, calls)
            if size > landed and size - landed >= guard * landing:
                call = call_price(kind, price, size, held, run.head, told)
                if fresh is None or units + compacted + call < fresh[0]:
                    fresh = (units + compacted + call, count + 1, calls + call)
        if fresh is not None:
            removed[at] = content - landing
            following[at] = fresh
        best = following
    units, count, calls = min(best.values())
    return Bill(units, count, calls)
