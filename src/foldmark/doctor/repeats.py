"""Finds what comes again and again and grows: equal calls with equal results, texts put in each turn, summaries inside
summaries. Knows nothing of formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from foldmark.doctor.pairing import match
from foldmark.doctor.sizes import Found, unit_text
from foldmark.doctor.talk import Strand, Talk, Unit

CALLS, CALL_CHARACTERS = 4, 1_000
"""So many equal calls with equal results are a circle when they say anything; from twice as many on, always."""

TEXTS, TEXT_CHARACTERS = 3, 300
_NESTED, _COMPARED = 400, 200


class _Seen(NamedTuple):
    first: Unit
    units: list[Unit]


def repeat_problems(talk: Talk) -> Iterator[Found]:
    """What repeats in each conversation of the file."""
    for strand in talk.strands:
        yield from _calls(talk, strand)
        yield from _texts(talk, strand)
        yield from _nested(talk, strand)


def _calls(talk: Talk, strand: Strand) -> Iterator[Found]:
    units = [unit for unit in strand.units if unit.kind in ("call", "result")]
    calls = [unit for unit in units if unit.kind == "call"]
    answers = match(units, needs_place=talk.needs_place).answers if calls else {}
    seen: dict[tuple[str, str], list[Unit]] = {}
    for at, call in enumerate(calls):
        if at in answers:
            seen.setdefault((talk.call_text(call), talk.result_text(answers[at])), []).append(call)
    for (asked, answered), found in seen.items():
        size = (len(found) - 1) * (len(asked) + len(answered))
        if len(found) >= 2 * CALLS or (len(found) >= CALLS and size >= CALL_CHARACTERS):
            said = (
                f"the same call with the same result stands {len(found)} times, the first at {talk.path(found[0])}: "
                f"{shortened(asked)} ({size:,} characters say nothing new)."
            )
            yield talk.path(found[-1]), "repeated_call", said


def _texts(talk: Talk, strand: Strand) -> Iterator[Found]:
    seen: dict[str, list[Unit]] = {}
    for unit in strand.units:
        if unit.kind == "text":
            text = unit_text(talk, unit)
            if len(text) >= TEXT_CHARACTERS:
                seen.setdefault(text, []).append(unit)
    for text, found in seen.items():
        if len(found) >= TEXTS:
            said = (
                f"the same text stands {len(found)} times, the first at {talk.path(found[0])}: {shortened(text)} "
                f"({(len(found) - 1) * len(text):,} characters say nothing new)."
            )
            yield talk.path(found[-1]), "repeated_text", said


def _nested(talk: Talk, strand: Strand) -> Iterator[Found]:
    """A text that quotes an earlier one, which itself quotes an earlier one."""
    held = [(unit, unit_text(talk, unit)) for unit in strand.units if unit.kind == "text"]
    held = [(unit, text) for unit, text in held if len(text) >= _NESTED][-_COMPARED:]
    depth: dict[int, int] = {}
    deepest: tuple[int, Unit, Unit] | None = None
    for at, (unit, text) in enumerate(held):
        inner = [n for n in range(at) if len(held[n][1]) < len(text) and held[n][1] in text]
        if not inner:
            continue
        depth[at] = 1 + max(depth.get(n, 0) for n in inner)
        if depth[at] >= 2 and (deepest is None or depth[at] > deepest[0]):
            deepest = depth[at], unit, held[inner[0]][0]
    if deepest:
        levels, unit, first = deepest
        said = f"quotes an earlier text that quotes an earlier one, {levels} levels deep, down to {talk.path(first)}."
        yield talk.path(unit), "nested_summary", said


def shortened(text: str, limit: int = 60) -> str:
    """The beginning of a text on one line, quoted so that no control character gets through."""
    line = " ".join(text.split())
    return repr(line if len(line) <= limit else line[: limit - 1] + "…")
