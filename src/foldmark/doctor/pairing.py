"""Which result belongs to which call, in any order and with any damage. Knows nothing of formats."""

from __future__ import annotations

from collections import defaultdict
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
    calls = [unit for unit in units if unit.kind == "call"]
    results = [unit for unit in units if unit.kind == "result"]
    order = {id(unit): at for at, unit in enumerate(units)}
    by_id: defaultdict[str, list[int]] = defaultdict(list)
    for at, call in enumerate(calls):
        by_id[call.call_id].append(at)
    found = Matched({}, [], [], [], [], [])
    left = [result for result in results if not _take_due(result, calls, by_id, found.answers)]
    left = [result for result in left if not _take_near(result, calls, by_id, order, found, needs_place=needs_place)]
    _take_nameless(left, calls, found)
    named = {id(result) for result, _ in found.nameless}
    for result in left:
        if id(result) in named:
            continue
        if by_id.get(result.call_id) and result.call_id:
            found.doubled.append((result, _nearest(by_id[result.call_id], calls, order, result)))
        else:
            found.orphans.append(result)
    found.missing.extend(at for at in range(len(calls)) if at not in found.answers)
    return found


def _take_due(result: Unit, calls: list[Unit], by_id: dict[str, list[int]], answers: dict[int, Unit]) -> bool:
    if not result.is_due:
        return False
    for at in by_id.get(result.call_id, ()):
        if at not in answers and calls[at].step == result.step:
            answers[at] = result
            return True
    return False


def _take_near(
    result: Unit,
    calls: list[Unit],
    by_id: dict[str, list[int]],
    order: dict[int, int],
    found: Matched,
    *,
    needs_place: bool,
) -> bool:
    open_calls = [at for at in by_id.get(result.call_id, ()) if at not in found.answers]
    if not open_calls or not result.call_id:
        return False
    here = order[id(result)]
    before = [at for at in open_calls if order[id(calls[at])] < here]
    at = (before[-1] if needs_place else before[0]) if before else open_calls[0]
    found.answers[at] = result
    if needs_place or not before:
        found.split.append((result, at))
    return True


def _take_nameless(left: list[Unit], calls: list[Unit], found: Matched) -> None:
    """A result without an id in the place of the one open call of its step is that call's."""
    for result in left:
        if result.call_id or not result.is_due:
            continue
        waiting = [at for at, call in enumerate(calls) if call.step == result.step and at not in found.answers]
        peers = [other for other in left if not other.call_id and other.is_due and other.step == result.step]
        if len(waiting) == 1 and len(peers) == 1:
            found.answers[waiting[0]] = result
            found.nameless.append((result, waiting[0]))


def _nearest(found: list[int], calls: list[Unit], order: dict[int, int], result: Unit) -> int:
    before = [at for at in found if order[id(calls[at])] < order[id(result)]]
    return before[-1] if before else found[0]
