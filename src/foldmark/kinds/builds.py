"""Builds, compilers and checkers: what failed, where, and what the tool says at its end. Knows nothing of test runs
and packages.

Made for make, cmake, ninja, gcc, clang, cargo, rustc, go, javac, maven, gradle, kotlinc, dotnet, tsc, webpack, vite,
eslint, mypy, ruff and docker build. Counts are of lines, and of the whole body; verdicts are the tool's own lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, profile
from foldmark.kinds.body import Body, Count, compose, edges
from foldmark.kinds.lines import (
    Line,
    Signs,
    clipped,
    ends_of,
    is_whole,
    lines,
    not_yet,
    said_in,
    say_trouble,
    sort_lines,
    unlike,
)

_PLACE = r"(?:\[\w+\] |[ew]: )?(?:file://)?[^\s:(][^:(\n]{0,200}(?::\[?\d+(?:[:,]\d+\]?)?:?|\(\d+(?:,\d+)?\):)"
_ERROR = Signs(
    re.compile(
        rf"{_PLACE} (?:fatal |syntax )?error\b"
        r"|\s*(?:fatal )?error(?:\[\w+\])?: |error(?:\[\w+\]| TS\d+)|\[ERROR\] (?!\[Help|Re-run|To see|-> |$)"
        r"|ERROR(?: in |: | \[| )|✘ \[ERROR\]|CMake Error|e: |#\d+ (?:\d+\.\d+ )?ERROR\b|make(?:\[\d+\])?: \*\*\* "
        r"|FAILED: |> Task \S+ FAILED|Execution failed for task|\* What went wrong|collect2: |error during build"
        r"|\S+\.go:\d+:\d+: | {2,}\d+:\d+ {2,}error  |[^\s:]+:\d+:\d+: [A-Z]+\d{3,4} "
    ),
    re.compile(r": (?:fatal )?error(?:: | [A-Z]+\d+: )|undefined reference to|\bld(?:\.\w+)?: (?:cannot|symbol)"),
)
_WARNING = Signs(
    re.compile(
        rf"{_PLACE} warning\b"
        r"|\s*warning(?:\[\w+\])?: |\[WARN(?:ING)?\] \S|WARN(?:ING)?(?: in |: )|▲ \[WARNING\]|\(!\) "
        r"|CMake (?:\w+ )?Warning|w: | {2,}\d+:\d+ {2,}warning  "
    ),
    re.compile(r": warning(?:: | [A-Z]+\d+: )"),
)
_SUMMARY = Signs(
    re.compile(
        r"(?:\[\w+\] )?BUILD (?:SUCCESS|FAILURE|SUCCESSFUL|FAILED)\b|(?:\[INFO\] )?Total time: |Found \d+ \w+"
        r"|Success: no issues|All checks passed|error: (?:could not compile|aborting due to)"
        r"|warning: .* generated \d+ warnings?|\s*Finished .* in |✓ built in "
        r"|\d+ (?:warnings?|errors?)(?: and \d+ errors?)?(?: generated\.)?$|\s+\d+ (?:Warning|Error)\(s\)$"
        r"|Build (?:succeeded|FAILED|failed)\b|✖ \d+ problems?|ninja: (?:build stopped|no work to do)"
        r"|-- Configuring (?:incomplete|done)|-- Build files have been written|\[100%\] |Successfully (?:built|tagged) "
        r"|ERROR: failed to (?:solve|build)|\d+ actionable tasks?: |FAILURE: Build failed|make(?:\[\d+\])?: \*\*\* "
        r"|make(?:\[\d+\])?: .* is up to date|#\d+ (?:naming to|writing image) |Time Elapsed "
    ),
    re.compile(r"\bcompiled (?:successfully|with \d+ )"),
)
_WORDS = (
    *(
        "rror",
        "ERR",
        "arn",
        "WARN",
        "Warn",
        "undefined",
        "***",
        "FAIL",
        "went wrong",
        ".go:",
        "e: ",
        "ld:",
        "ld.",
        "(!)",
    ),
    *(
        "BUILD",
        "Build",
        "Found",
        "issues",
        "passed",
        "Finished",
        "ompiled",
        "built in",
        "problem",
        "ninja",
        "Configuring",
    ),
    *("built", "tagged", "[100%]", "actionable", "Total time", "up to date", "naming to", "writing image", "Elapsed"),
    *(": E", ": F", ": W"),
)
_TOOL = re.compile(
    r"\b(?:g?make|cmake|ninja|gcc|g\+\+|clang(?:\+\+)?|cc|rustc|javac|kotlinc|tsc|webpack|vite|rollup|esbuild|eslint"
    r"|mypy|pyright|ruff|flake8|pylint|bazel|msbuild|meson|scons|xcodebuild|swiftc?|next|turbo|nx)\b"
    r"|\bcargo (?:\+\w+ )?(?:build|b|check|clippy|run|install)\b|\bgo (?:build|vet|install|run)\b|\bmvnw?\b"
    r"|\bgradlew?\b|\bdotnet (?:build|publish|run)\b|\bdocker (?:compose |buildx )?build\b"
    r"|\b(?:npm|pnpm|yarn|bun) (?:run )?(?:build|lint|check|compile|typecheck)"
)


def _meanings(line: str) -> Iterator[str]:
    if _SUMMARY.fit(line):
        yield "summary"
    if _ERROR.fit(line):
        yield "error"
    elif _WARNING.fit(line):
        yield "warning"


def is_build_call(call: ToolCall | None) -> bool:
    """Whether a call's command line starts a build, a compiler or a checker."""
    return call is not None and profile(call).is_shell and bool(_TOOL.search(call.arguments[:4_000]))


def _recognise(text: str, call: ToolCall | None) -> float:
    if call is not None and profile(call).role in ("reads", "searches"):
        return 0.0
    ends = ends_of(text)
    said = said_in(ends, _meanings, _WORDS)
    if not said:  # before the call's words are looked at: most results say nothing of a build
        return 0.0
    if "summary" in said:
        return 0.82 if is_build_call(call) or said.count("summary") > 1 or "error" in said else 0.6
    if is_build_call(call):
        return 0.82 if "error" in said or "warning" in said else 0.0
    return 0.77 if (said.count("error") + said.count("warning")) * 4 >= len(ends.lines) else 0.0


def _say(body: Body, found: dict[str, list[Line]]) -> str:
    """Its lines of trouble; "" when there are none, or the body is too long to count."""
    return say_trouble(found) if is_whole(body) else ""


def outcome(text: str, call: ToolCall | None) -> str:
    body = Body(text)
    found = sort_lines(body, _meanings, _WORDS)
    if not found:
        return ""
    ends = clipped(found.get("summary", [])[-3:])
    errors = clipped(unlike(found.get("error", []))[:3])
    return "; ".join(
        filter(None, [*dict.fromkeys(ends), _say(body, found), "errors: " * bool(errors) + " | ".join(errors)])
    )


_HAS_PLACE = re.compile(r":\d+|\(\d+,|\d+:\d+")


def _wanted(body: Body, found: dict[str, list[Line]]) -> Iterator[Line]:
    """The end, every different error with its place, the tool's own summary, warnings, then both ends."""
    yield from edges(body, 1, 1)
    errors = unlike(found.get("error", []))
    after = _after(body, [number for number, line in errors if not _HAS_PLACE.search(line)])
    for number, line in errors[:1]:
        yield number, line
        yield from after.get(number, [])
    yield from reversed(found.get("summary", [])[-6:])
    for number, line in errors[1:]:
        yield number, line
        yield from after.get(number, [])
    yield from unlike(found.get("warning", []))
    yield from edges(body, 10, 60)


def _after(body: Body, numbers: list[int]) -> dict[int, list[Line]]:
    """The first line with words behind each error that names no place itself: rustc, webpack and cmake put it there."""
    wanted = {number + step: number for number in numbers for step in (3, 2, 1)}
    found: dict[int, list[Line]] = {}
    for number, line in lines(body) if wanted else ():
        if (error := wanted.get(number)) and line.strip() and len(found.get(error, [])) < 1:
            found.setdefault(error, []).append((number, line))
    return found


def preview(text: str, budget_tokens: int, count: Count) -> str:
    body = Body(text)
    found = sort_lines(body, _meanings, _WORDS)
    said = _say(body, found)
    return compose(body, not_yet(_wanted(body, found)), budget_tokens, count, f"build: {said}" if said else "")


BUILD = Kind("build", _recognise, outcome, preview)
