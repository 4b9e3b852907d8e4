"""Command output: exit codes, error lines, refusals. Knows nothing of what the command was for."""

from __future__ import annotations

import re
from itertools import islice

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, clip, plural, profile, sample
from foldmark.kinds.body import Body, count_lines
from foldmark.kinds.terminal import clean_text, on_screen

_EXIT = re.compile(
    r"^\W*exit code[: ]+(-?\d+)\b"
    r"|^\W*(?:the )?(?:command|process|program|script)\b.{0,60}?\bcode:? (-?\d+)\b"
    r"|<returncode>(-?\d+)</returncode>"
    r"|\"exit_?code\": ?(-?\d+)\b"
    r"|\bexit status (\d+)$"
    r"|^make(?:\[\d+\])?: \*\*\* .* Error (\d+)$",
    re.IGNORECASE,
)
_EXIT_WORDS = ("xit", "returncode", "Error ", "code")
_DENIED = re.compile(
    r"user (?:doesn't|does not|did not|didn't) want"
    r"|user (?:has )?(?:rejected|denied|declined|refused|cancelled|interrupted)"
    r"|(?:rejected|denied|declined|interrupted) by (?:the )?user"
    r"|(?:tool use|request|action|approval) (?:was |has been )?(?:rejected|denied|declined)"
    r"|permission (?:was|has been) (?:denied|refused)|permission to use .{1,80} (?:denied|rejected)"
    r"|not approved|requires approval",
    re.IGNORECASE,
)
_COMMIT = re.compile(r"^\[[\w./ ()-]+ [0-9a-f]{7,40}\] .*$", re.MULTILINE)


def exit_code(text: str) -> int | None:
    """The exit code that a harness wrote at the start or the end of a result; None when it says none."""
    ends = text if len(text) <= 600 else f"{text[:300]}\n{text[-300:]}"
    if not any(map(ends.__contains__, _EXIT_WORDS)):
        return None
    codes = [match for line in ends.split("\n") if (match := _EXIT.search(line))]
    return int(next(group for group in codes[-1].groups() if group)) if codes else None


def denial(text: str) -> str:
    """The sentence of a refusal by the user or a guard, "" when there is none. Only short results are
    refusals."""
    if len(text) > 1_500 or not any(
        word in text for word in ("eject", "enied", "eclin", "pprov", "efus", "want", "cancel", "interr")
    ):
        return ""
    found = _DENIED.search(text)
    if not found:
        return ""
    start, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
    return clip(clean_text(text[start : end if end >= 0 else len(text)]), 240)


def error_lines(text: str, limit: int = 3) -> list[str]:
    """The first lines of trouble, each cut at a word's end; bare headings like `ERRORS:` are none."""
    found = (line for line in Body(on_screen(text)).trouble(12).values() if len(line.strip()) > 8)
    return [clip(clean_text(line), 200) for line in islice(found, limit)]


def outcome(text: str, call: ToolCall | None) -> str:
    code, said = exit_code(text), []
    if code is not None:
        said.append(f"exit code {code}")
    lines = count_lines(text)
    if lines <= 1 and len(text) <= 160:
        said.append(clip(clean_text(text)) if text.strip() else "no output")
        return "; ".join(said)
    said.append(plural(lines, "line"))
    if "[" in text and (commit := _COMMIT.search(text[-4_000:])):
        said.append(f"commit {clip(clean_text(commit[0]), 120)}")
    if found := error_lines(text):
        said.append("errors: " + " | ".join(found))
    elif call is not None and profile(call).role in ("searches", "reads"):
        said += [f"first line: {clip(clean_text(line), 120)}" for line in sample(text, 1) if len(line) < 1_900]
    elif last := _last_line(text):
        said.append(f"last line: {last}")
    return "; ".join(said)


def _last_line(text: str) -> str:
    for line in reversed(text[-2_000:].split("\n")):
        if line.strip() and not _EXIT.search(line):
            return clip(clean_text(line), 120) if len(line) < 1_900 else ""
    return ""


def _recognise(text: str, call: ToolCall | None) -> float:
    if call is not None and profile(call).is_shell:
        return 0.4
    return 0.35 if exit_code(text) is not None else 0.0


COMMAND = Kind("command", _recognise, outcome)
