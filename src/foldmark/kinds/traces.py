"""Stack traces: the error, its causes, and where in our own code it was raised. Knows nothing of commands; the forms
of the languages are in `frames_of`.

Python, JavaScript, Java and Kotlin, C#, Go, Rust, Ruby, PHP, Elixir, sanitizers and gdb, alone or in a log.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, clip, plural
from foldmark.kinds.body import Body, Count, compose, count_lines, edges
from foldmark.kinds.frames import Found, is_library
from foldmark.kinds.frames_of import READERS
from foldmark.kinds.lines import BOUND, shape
from foldmark.kinds.terminal import clean_text

_MOST = 2_000  # traces of one form that are read and counted
_MOST_TRIES = 5_000  # lines that look like the head of a trace and are none
_SIGNS = tuple(sign for sign, _ in READERS)
_AROUND = 200_000  # characters of a giant text that are read around the first sign of each form


class Trace(msgspec.Struct, frozen=True, omit_defaults=True):
    """The head of a stack trace: `error` as printed, `where` as `file:line` of the innermost frame in our own code
    (of the innermost frame when all are library code, "" unknown).

    `start` and `end` are character positions of the trace in its text. `causes` are the errors behind it, nearest
    first. `times` says how often the same error was raised at the same place; the positions are those of the first."""

    language: str
    error: str
    where: str = ""
    start: int = 0
    end: int = 0
    causes: tuple[str, ...] = ()
    times: int = 1


def traces(text: str, limit: int = 3) -> list[Trace]:
    """The first different traces of a text, in order. Of a giant text the 200,000 characters around each first sign
    are read."""
    return [trace for trace, _ in _different(text)[:limit]]


def _different(text: str) -> list[tuple[Trace, Found]]:
    known: dict[tuple[str, str, str], tuple[Trace, Found]] = {}
    before: Found | None = None
    for found in _all(text):
        causes = tuple(error for error, _ in found.causes)
        if before and before.language == found.language and _is_chained(text, before.end, found.start):
            causes = (*causes, before.error)
        before = found
        where = _where(found)
        key = (found.language, shape(found.error), where)
        if key in known:
            first, place = known[key]
            known[key] = msgspec.structs.replace(first, times=first.times + 1), place
        else:
            known[key] = Trace(found.language, found.error, where, found.start, found.end, causes), found
    return list(known.values())


def _all(text: str) -> list[Found]:
    """Every trace in order of position; none stands inside another."""
    found: list[Found] = []
    for sign, read in READERS:
        at = text.find(sign)
        last = len(text) if len(text) <= BOUND else at + _AROUND
        room, tries = _MOST, _MOST_TRIES
        while 0 <= at < last and room and tries:
            one = read(text, at)
            if one.error:
                found.append(one)
                room -= 1
            else:
                tries -= 1
            line_end = text.find("\n", at)
            at = text.find(sign, max(line_end if line_end >= 0 else len(text), one.end))
    found.sort(key=lambda one: (one.start, -one.end))
    out: list[Found] = []
    for one in found:
        if not out or one.start >= out[-1].end:
            out.append(one)
    return out


def _is_chained(text: str, start: int, end: int) -> bool:
    """Whether Python says between two tracebacks that the first led to the second."""
    between = text[start:end] if end - start < 400 else ""
    return "direct cause of the following exception" in between or "another exception occurred" in between


def _where(found: Found) -> str:
    ours = [place for place, _ in found.frames if not is_library(place)]
    return next(iter(ours or [place for place, _ in found.frames]), "")


def _recognise(text: str, call: ToolCall | None) -> float:
    ends = text if len(text) < 8_000 else text[:4_000] + text[-4_000:]
    if not any(map(ends.__contains__, _SIGNS)):
        return 0.0
    found = _all(ends)[:1]
    return 0.7 if found and found[0].end - found[0].start > len(ends) * 0.3 else 0.45 if found else 0.0


def say(trace: Trace) -> str:
    """`ValueError: bad at src/a.py:3; caused by KeyError: 'x'`, with `(4 times)` when it was raised again."""
    said = f"{trace.error} at {trace.where}" if trace.where else trace.error
    said += f" ({trace.times:,} times)" if trace.times > 1 else ""
    return "; caused by ".join([said, *trace.causes[:3]])


def outcome(text: str, call: ToolCall | None) -> str:
    found = [trace for trace, _ in _different(text)]
    said = [say(found[-1])] if found else []
    if len(found) > 1:
        said.append(f"{len(found):,} different traces")
    if not said and (last := text[-2_000:].rstrip().rpartition("\n")[2]):
        said = [clip(clean_text(last), 240)]
    return "; ".join([*said, plural(count_lines(text), "line")])


def _wanted(body: Body, found: list[tuple[Trace, Found]]) -> Iterator[tuple[int, str]]:
    """Of every different trace, the newest first: its error, causes, and the innermost frames in our own code."""
    for _, one in [*found[-1:], *found[:-1]][:12]:
        yield body.at(one.start)
        yield body.at(one.error_at)
        for _, place in one.causes[:3]:
            yield body.at(place)
        ours = [place for frame, place in one.frames if not is_library(frame)] or [place for _, place in one.frames]
        for place in ours[:3]:
            number, line = body.at(place)
            yield number, line
            if one.language == "python" and (source := body.text.find("\n", place)) >= 0:
                yield body.at(source + 1)
    yield from edges(body, 3, 8)
    yield from body.trouble().items()
    yield from edges(body, 30, 60)


def preview(text: str, budget_tokens: int, count: Count) -> str:
    body, found = Body(text), _different(text)
    times = sum(trace.times for trace, _ in found)
    is_counted = len(text) <= BOUND and times < _MOST
    top = f"{plural(times, 'trace')}, {len(found):,} different" if times > 1 and is_counted else ""
    return compose(body, _wanted(body, found), budget_tokens, count, top)


TRACE = Kind("trace", _recognise, outcome, preview)
