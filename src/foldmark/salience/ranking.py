"""Which of the stored units go into a checkpoint, best first, and which working names. Knows nothing of budgets."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import log

from foldmark.checkpoint import Name, Unit
from foldmark.salience.names import Tally, names_in
from foldmark.salience.scoring import PRICE_POWER, use_of
from foldmark.salience.units import strip_number, template

FALL = 0.95  # what each further line of one event is worth of the one before
ALIKE, ALIKE_FREE = 0.25, 2
NAMES = 2.2  # worth of carrying a name that is about to be used
AGAIN = 0.15  # what a name's second carrier is worth of the first
AGING = 0.6
IN_THE_TAIL = 0.15  # the raw rounds hold the name with its words


def rank(
    units: Iterable[Unit],
    *,
    shown: Iterable[str] = (),
    raw: Iterable[str] = (),
    tally: Tally | None = None,
    upto: int = 0,
) -> list[Unit]:
    """Units from best to worst, each line once; `shown` are lines that stand elsewhere already, `raw` whole
    texts that do.

    Worth is the score, and the chance that a name which no better unit carries is used next, over a root of the
    price, with a mild fall for each further unit of one event. `tally` knows the names, `upto` is the newest seq.
    """
    chances = _chances(tally, upto) if tally else {}
    for name in {name for text in raw for name in names_in(text)} & chances.keys():
        chances[name] *= IN_THE_TAIL
    seen = {strip_number(line) for line in shown}
    rows: list[_Row] = []
    for unit in units:
        line = strip_number(unit.text)
        names = sorted(name for name in names_in(unit.text) if name in chances) if chances else []
        rows.append((unit, line, names, template(unit.text), unit.tokens**-PRICE_POWER))
    values = _values(rows, range(len(rows)), dict(chances), falling=False)
    for _ in range(2):  # the falls depend on the order, and the order on the falls: two rounds settle it
        order = sorted(range(len(rows)), key=values.__getitem__, reverse=True)
        values = _values(rows, order, dict(chances), falling=True)
    out: list[Unit] = []
    for at in sorted(range(len(rows)), key=values.__getitem__, reverse=True):
        unit, line, *_ = rows[at]
        if line not in seen:
            seen.add(line)
            out.append(unit)
    return out


_Row = tuple[Unit, str, list[str], str, float]


def _values(rows: list[_Row], order: Iterable[int], chances: dict[str, float], *, falling: bool) -> list[float]:
    """The worth of every unit when they are taken in this order."""
    values = [0.0] * len(rows)
    taken: Counter[int] = Counter()
    alike: Counter[str] = Counter()
    said: set[str] = set()
    often = Counter(line for _, line, *_ in rows)  # what is said again and again is no news
    for at in order:
        unit, line, names, form, share = rows[at]
        value = unit.score / often[line]
        for name in names:
            value += NAMES * chances[name]
        if not falling:
            values[at] = value * share
            continue
        if line in said:
            continue
        said.add(line)
        values[at] = value * share * FALL ** taken[unit.seq] / (1.0 + ALIKE * max(0, alike[form] - ALIKE_FREE))
        taken[unit.seq] += 1
        if form:
            alike[form] += 1
        for name in names:
            chances[name] *= AGAIN
    return values


def _chances(tally: Tally, upto: int) -> dict[str, float]:
    """name -> a figure in proportion to the chance that the session uses it next: future use follows past use."""
    return {
        name: use_of(by_agent) / (1.0 + max(0, upto - where)) ** AGING
        for name, (_, where, by_agent) in tally.names.items()
    }


def in_order(units: Iterable[Unit]) -> list[Unit]:
    """Units in the order of the log."""
    return sorted(units, key=lambda unit: (unit.seq, unit.order))


def choose(units: Iterable[Unit], budget_tokens: int) -> list[Unit]:
    """Those of ranked units that fit the budget by their estimated prices, in order of the log."""
    out: list[Unit] = []
    left = budget_tokens
    for unit in units:
        if unit.tokens <= left:
            out.append(unit)
            left -= unit.tokens
    return in_order(out)


def fill(ranked: Sequence[Unit], budget: int, count: Callable[[list[Unit]], int]) -> list[Unit]:
    """The longest head of ranked units, in order of the log, whose true `count` is within the budget."""
    low, high = 0, len(ranked)
    while low < high:
        middle = (low + high + 1) // 2
        if count(in_order(ranked[:middle])) <= budget:
            low = middle
        else:
            high = middle - 1
    return in_order(ranked[:low])


def rank_names(tally: Tally, upto: int, limit: int) -> list[Name]:
    """Names the agent itself used, by how often and how lately."""
    rows = []
    for name, (uses, where, by_agent) in tally.names.items():
        if by_agent:
            age = max(0, upto - where) / (upto or 1)
            rows.append(Name(name, uses, where, round((by_agent + 0.3 * log(1 + uses)) / (1 + 4 * age), 3)))
    return heapq.nlargest(limit, rows, key=lambda name: (name.score, name.where, name.name))
