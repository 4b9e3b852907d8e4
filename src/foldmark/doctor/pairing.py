"""Which result belongs to which call, in any order and with any damage. Knows nothing of formats."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import NamedTuple

from foldmark.doctor.talk import Unit


class Matched(NamedTuple):
    """Calls with their results (`answers`: place of the call in the list → result), calls without one, results that
    were moved away from their call, further results of an answered call, results of no call, and results that name no
    call and stand where the only open one wants its own."""

    answers: dict[int, Unit]
    missing: list[int]
    split: list[tuple[Unit, int]]
    doubled: list[tuple[Unit, int]]
    orphans: list[Unit]
    nameless: list[tuple[Unit, int]]


def match(units: Sequence[Unit], *, needs_place: bool) -> Matched:
    """Match the calls and results of one conversation, given in order.

    A result that stands in its due place takes its call first; then each one left takes the nearest open call before
    it, then the nearest behind it. `needs_place` is False where a provider takes a result anywhere behind its call.
    """
    places = {id(unit): place for place, unit in enumerate(units)}
    calls = [unit for unit in units if unit.kind == "call"]
    found = Matched({}, [], [], [], [], [])
    left = _take_due([unit for unit in units if unit.kind == "result"], calls, found.answers)
    open_calls, all_calls = _Places(), _Places()
    for at, call in enumerate(calls):
        all_calls.add(call.call_id, places[id(call)], at)
        if at not in found.answers:
            open_calls.add(call.call_id, places[id(call)], at)
    left = [one for one in left if not _take_near(one, places[id(one)], open_calls, found, needs_place=needs_place)]
    for result in _take_nameless(left, calls, found):
        answered = all_calls.nearest(result.call_id, places[id(result)]) if result.call_id else None
        if answered is None:
            found.orphans.append(result)
        else:
            found.doubled.append((result, answered))
    found.missing.extend(at for at in range(len(calls)) if at not in found.answers)
    return found


class _Places:
    """Calls by id with the place of each among all calls and results. A broken file may give all of them one id, so
    that nothing here walks over all calls of an id."""

    def __init__(self) -> None:
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        self._call_at: dict[int, int] = {}

    def add(self, call_id: str, place: int, at: int) -> None:
        """Add a call; they come in order."""
        self._places[call_id].append(place)
        self._call_at[place] = at

    def nearest(self, call_id: str, place: int) -> int | None:
        """The last call of an id before a place, else the first."""
        held = self._places.get(call_id)
        return self._call_at[held[max(0, bisect(held, place) - 1)]] if held else None

    def take(self, call_id: str, place: int, *, is_last: bool) -> tuple[int, bool] | None:
        """Take out the last call of an id before a place (or the first there is), and whether it stands before it."""
        held = self._places.get(call_id)
        if not held:
            return None
        number = max(0, bisect(held, place) - 1) if is_last else 0
        taken = held.pop(number)
        return self._call_at[taken], taken < place


def _take_due(results: list[Unit], calls: list[Unit], answers: dict[int, Unit]) -> list[Unit]:
    """Give the results that stand in their due place to their calls; the others come back."""
    waiting: defaultdict[tuple[int, str], deque[int]] = defaultdict(deque)
    for at, call in enumerate(calls):
        waiting[call.step, call.call_id].append(at)
    left: list[Unit] = []
    for result in results:
        due = waiting.get((result.step, result.call_id)) if result.is_due else None
        if due:
            answers[due.popleft()] = result
        else:
            left.append(result)
    return left


def _take_near(result: Unit, place: int, open_calls: _Places, found: Matched, *, needs_place: bool) -> bool:
    taken = open_calls.take(result.call_id, place, is_last=needs_place) if result.call_id else None
    if taken is None:
        return False
    at, is_before = taken
    found.answers[at] = result
    if needs_place or not is_before:
        found.split.append((result, at))
    return True


def _take_nameless(left: list[Unit], calls: list[Unit], found: Matched) -> list[Unit]:
    """A result without an id in the place of the one open call of its step is that call's; the others come back."""
    nameless: defaultdict[int, list[Unit]] = defaultdict(list)
    for result in left:
        if not result.call_id and result.is_due:
            nameless[result.step].append(result)
    waiting: defaultdict[int, list[int]] = defaultdict(list)
    for at, call in enumerate(calls if nameless else ()):
        if at not in found.answers:
            waiting[call.step].append(at)
    for step, results in nameless.items():
        if len(results) == len(waiting[step]) == 1:
            found.answers[waiting[step][0]] = results[0]
            found.nameless.append((results[0], waiting[step][0]))
    named = {id(result) for result, _ in found.nameless}
    return [result for result in left if id(result) not in named]
