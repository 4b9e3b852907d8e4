"""Stack traces of Python, JavaScript, Java, Go and Rust: the error and where it was raised. Knows nothing
of commands."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, clip, plural
from foldmark.kinds.body import Body, Count, clean_text, compose, count_lines, edges


class Trace(msgspec.Struct, frozen=True, omit_defaults=True):
    """The head of a stack trace: `error` as printed, `where` as `file:line` of the innermost frame, ""
    unknown.

    `start` and `end` are character positions of the trace in its text."""

    language: str
    error: str
    where: str = ""
    start: int = 0
    end: int = 0


_PYTHON = re.compile(
    r"^(?P<in>[ \t]*)Traceback \(most recent call last\):\n(?P<frames>(?:(?P=in)[ \t].*\n|\n)+)"
    r"(?P=in)(?P<error>\S.*)$",
    re.MULTILINE,
)
_PYTHON_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_SCRIPT = re.compile(
    r"^(?P<error>(?:Uncaught )?[\w$.]*(?:Error|Exception)\b.*)$\n(?P<frames>(?:\s+at .*(?:\n|$))+)",
    re.MULTILINE,
)
_SCRIPT_FRAME = re.compile(r"\(?((?:file://)?[^\s()]+?):(\d+)(?::\d+)?\)?$", re.MULTILINE)
_JAVA = re.compile(
    r"^(?:Exception in thread \"[^\"]*\" )?(?P<error>[\w$]+(?:\.[\w$]+)+(?:Exception|Error)\b.*)$\n"
    r"(?P<frames>(?:\s+at .*(?:\n|$))+)",
    re.MULTILINE,
)
_JAVA_FRAME = re.compile(r"\(([\w$]+\.(?:java|kt|scala)):(\d+)\)")
_GO = re.compile(r"^(?P<error>panic: .*)$\n(?:.*\n){0,4}?goroutine \d+ .*:\n(?P<frames>(?:.+(?:\n|$))*)", re.MULTILINE)
_GO_FRAME = re.compile(r"^\s+(\S+\.go):(\d+)", re.MULTILINE)
_RUST = re.compile(r"^thread '.*' (?:\(\d+\) )?panicked at (?P<frames>\S+:\d+:\d+):?\n(?P<error>.*)$", re.MULTILINE)
_RUST_FRAME = re.compile(r"(\S+?):(\d+):\d+")

_FORMS = (
    ("python", "Traceback (most recent call last)", _PYTHON, _PYTHON_FRAME, -1),
    ("java", "\tat ", _JAVA, _JAVA_FRAME, 0),
    ("javascript", "    at ", _SCRIPT, _SCRIPT_FRAME, 0),
    ("go", "panic: ", _GO, _GO_FRAME, 0),
    ("rust", "panicked at", _RUST, _RUST_FRAME, 0),
)


def traces(text: str, limit: int = 3) -> list[Trace]:
    """The first traces of a text, in order. Of a giant text the 200,000 characters around each first sign
    are read."""
    found: list[Trace] = []
    for language, sign, form, frame, innermost in _FORMS:
        at = text.find(sign)
        if at < 0:
            continue
        start = max(0, at - 2_000)
        for match in form.finditer(text, start, min(len(text), at + 200_000)):
            frames = frame.findall(match["frames"])
            where = ":".join(frames[innermost]) if frames else ""
            found.append(Trace(language, clip(clean_text(match["error"]), 240), where, match.start(), match.end()))
            if len(found) >= limit * 2:
                break
    return sorted(found, key=lambda trace: trace.start)[:limit]


def _recognise(text: str, call: ToolCall | None) -> float:
    ends = text if len(text) < 8_000 else text[:4_000] + text[-4_000:]
    if not any(sign in ends for _, sign, *_ in _FORMS):
        return 0.0
    found = traces(ends, 1)
    return 0.7 if found and found[0].end - found[0].start > len(ends) * 0.3 else 0.45 if found else 0.0


def outcome(text: str, call: ToolCall | None) -> str:
    found = traces(text)
    said = [f"{trace.error} at {trace.where}" if trace.where else trace.error for trace in found[-1:]]
    if not said and (last := text[-2_000:].rstrip().rpartition("\n")[2]):
        said = [clip(clean_text(last), 240)]
    return "; ".join([*said, plural(count_lines(text), "line")])


def _wanted(body: Body) -> Iterator[tuple[int, str]]:
    for trace in traces(body.text):
        first, line = body.at(trace.start)
        yield first, line
        yield body.at(max(trace.start, trace.end - 1))
        if trace.where and (at := body.text.find(trace.where.rpartition(":")[0], trace.start)) >= 0:
            yield body.at(at)
    yield from edges(body, 3, 8)
    yield from body.trouble().items()
    yield from edges(body, 30, 60)


def preview(text: str, budget_tokens: int, count: Count) -> str:
    body = Body(text)
    return compose(body, _wanted(body), budget_tokens, count)


TRACE = Kind("trace", _recognise, outcome, preview)
