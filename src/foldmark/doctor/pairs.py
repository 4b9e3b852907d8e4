"""Mends of calls and results: orphans, missing and doubled results, results away from their calls, ids. Knows nothing
of formats; a Talk carries the edits out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial

from foldmark.doctor.pairing import Matched, match
from foldmark.doctor.talk import Strand, Talk, Unit
from foldmark.doctor.values import Mend
from foldmark.wire.plain import digest, safe_name

ORPHAN = "[A result was recorded here without its call ({id}). It said:]\n{text}"
DOUBLED = "[A second, different result of call {id} was recorded here. It said:]\n{text}"
PAIR_CODES = frozenset(
    ["orphan_result", "missing_result", "duplicate_result", "split_result", "duplicate_call_id", "call_id"]
)
"""Problems of calls and results: what a wire says about the same rows is the same news."""


def pair_mends(talk: Talk) -> Iterator[Mend]:
    """The mends of all conversations of a file."""
    for strand in talk.strands:
        units = [unit for unit in strand.units if unit.kind in ("call", "result")]
        if units:
            yield from _strand_mends(talk, strand, units)


def _strand_mends(talk: Talk, strand: Strand, units: list[Unit]) -> Iterator[Mend]:
    calls = [unit for unit in units if unit.kind == "call"]
    found = match(units, needs_place=talk.needs_place)
    copies = _copied_calls(talk, calls, found)
    yield from _id_mends(talk, calls, found, copies)
    yield from (_copy(talk, calls[at]) for at in sorted(copies))
    yield from (_orphan(talk, result) for result in found.orphans)
    yield from (_doubled(talk, result, calls[at], found.answers.get(at)) for result, at in found.doubled)
    yield from (_split(talk, strand, result, calls[at]) for result, at in found.split)
    yield from (_missing(talk, strand, calls[at]) for at in found.missing if at not in copies)


def _copy(talk: Talk, call: Unit) -> Mend:
    said = f"the same call {call.call_id!r} stands twice in one step."
    change = "the second of the two equal calls is left out"
    return Mend(talk.path(call), "duplicate_call_id", said, change, partial(talk.remove, call), _rows(call))


def _orphan(talk: Talk, result: Unit) -> Mend:
    said = f"no call {result.call_id!r} is there for this result."
    text = ORPHAN.format(id=result.call_id or "no id", text=talk.result_text(result))
    change = "written as text of the user's side that quotes the result and its id"
    return Mend(talk.path(result), "orphan_result", said, change, partial(talk.quote, result, text), _rows(result))


def _split(talk: Talk, strand: Strand, result: Unit, call: Unit) -> Mend:
    said = f"the result of call {call.call_id!r} stands away from its call ({talk.path(call)})."
    change = f"moved to the results of the step of {talk.path(call)}"
    apply = partial(talk.move, strand, result, call)
    return Mend(talk.path(result), "split_result", said, change, apply, (*_rows(result), *_rows(call)))


def _missing(talk: Talk, strand: Strand, call: Unit) -> Mend:
    said = f"call {call.call_id!r} has no result."
    change = "a result is added that says that none was recorded"
    return Mend(talk.path(call), "missing_result", said, change, partial(talk.add_marker, strand, call), _rows(call))


def _rows(unit: Unit) -> tuple[str, ...]:
    return (unit.row.path,)


def _doubled(talk: Talk, result: Unit, call: Unit, first: Unit | None) -> Mend:
    said = f"call {result.call_id!r} is answered again."
    text = talk.result_text(result)
    touches = (result.row.path, call.row.path)
    if first is not None and talk.result_text(first) == text:
        change = f"left out: it equals the first result (content {digest(text, 12)})"
        return Mend(talk.path(result), "duplicate_result", said, change, partial(talk.remove, result), touches)
    change = f"its content ({digest(text, 12)}) differs from the first result, so it is kept as text"
    quoted = DOUBLED.format(id=result.call_id, text=text)
    return Mend(talk.path(result), "duplicate_result", said, change, partial(talk.quote, result, quoted), touches)


def _copied_calls(talk: Talk, calls: list[Unit], found: Matched) -> set[int]:
    """Unanswered calls that equal another one of their step in everything, the id too."""
    by_key: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    for at, call in enumerate(calls):
        if call.call_id:
            by_key[call.step, call.call_id].append(at)
    copies: set[int] = set()
    if talk.id_scope == "none":
        return copies
    for group in by_key.values():
        texts = Counter(talk.call_text(calls[at]) for at in group) if len(group) > 1 else {}
        for at in group if texts else ():
            text = talk.call_text(calls[at])
            if at not in found.answers and texts[text] > 1:
                copies.add(at)
                texts[text] -= 1
    return copies


def _id_mends(talk: Talk, calls: list[Unit], found: Matched, copies: set[int]) -> Iterator[Mend]:
    """New ids for calls that have none, an ill-formed one, or one that is taken; their results follow."""
    free = _FreeIds({call.call_id for call in calls})
    seen: set[tuple[int, str]] = set()
    ever: set[str] = set()
    nameless = {at: result for result, at in found.nameless}
    for at, call in enumerate(calls):
        if at in copies or (talk.id_scope == "none" and not call.call_id):
            continue
        key = (call.step if talk.id_scope == "step" else 0, call.call_id)
        is_well_formed = bool(talk.id_pattern.match(call.call_id))
        is_taken = talk.id_scope != "none" and key in seen
        is_repeated = talk.warns_of_repeats and call.call_id in ever
        seen.add(key)
        ever.add(call.call_id)
        if is_well_formed and not is_taken and not is_repeated:
            if at in nameless:
                yield _named(talk, nameless[at], call)
            continue
        code = "call_id" if not is_well_formed else "duplicate_call_id" if is_taken else "repeated_call_id"
        yield _renamed(talk, [call, *([found.answers[at]] if at in found.answers else [])], code, free.new(call))


def _named(talk: Talk, result: Unit, call: Unit) -> Mend:
    said = "the result names no call."
    change = f"it gets the id of the one call of its step that was open, {call.call_id!r}"
    apply = partial(talk.rename, result, call.call_id)
    return Mend(talk.path(result), "call_id", said, change, apply, _rows(result))


def _renamed(talk: Talk, pair: list[Unit], code: str, new: str) -> Mend:
    said = f"id {pair[0].call_id!r} {'is not a valid id' if code == 'call_id' else 'is used before'}."
    change = f"call and result get the id {new!r}" if len(pair) == 2 else f"the call gets the id {new!r}"
    touches = tuple(unit.row.path for unit in pair)
    return Mend(talk.path(pair[0]), code, said, change, partial(_rename_all, talk, pair, new), touches)


def _rename_all(talk: Talk, units: list[Unit], new: str) -> None:
    for unit in units:
        talk.rename(unit, new)


class _FreeIds:
    """Ids that no call has: what was there with a number behind it. Numbers go on where they were, since a file may use
    one id for all its calls."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._numbers: dict[str, int] = {}

    def new(self, call: Unit) -> str:
        base = safe_name(call.call_id, 32) if call.call_id else f"call_{call.step + 1}"
        is_own = call.call_id in self._taken and base == call.call_id
        number = self._numbers.get(base, 2 if is_own else 1)
        while (new := base if number == 1 else f"{base}_{number}") in self._taken:
            number += 1
        self._numbers[base] = number + 1
        self._taken.add(new)
        return new
