"""Package managers: what was installed, with versions, what conflicts, what is deprecated or vulnerable. Knows nothing
of compilers.

Made for pip, uv, poetry, npm, yarn, pnpm, apt, cargo, go, gem, bundler and composer. Names and versions are the
output's own spelling; counts are the tool's own lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, listed, plural, profile
from foldmark.kinds.body import Body, Count, compose, edges
from foldmark.kinds.lines import (
    Line,
    Signs,
    clipped,
    ends_of,
    is_whole,
    not_yet,
    said_in,
    say_trouble,
    sort_lines,
    unlike,
)
from foldmark.kinds.terminal import clean_text


class Package(msgspec.Struct, frozen=True):
    """One change: `what` is installed, removed, updated or added; `version` "" when the line names none."""

    what: str
    name: str
    version: str = ""


_PIP = re.compile(r"^\s*Successfully (installed|uninstalled) (.+)$")
_CHANGES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("installed", re.compile(r"^Setting up (\S+?)(?::\w+)? \((\S+)\)")),  # apt
    ("removed", re.compile(r"^Removing (\S+?)(?::\w+)? \((\S+)\)")),
    ("added", re.compile(r"^ ?\+ (@?[\w./-]+)(?:==| |@)(v?\d[^\s@]*)$")),  # uv, pnpm
    ("removed", re.compile(r"^ ?- (@?[\w./-]+)(?:==| |@)(v?\d[^\s@]*)$")),
    ("added", re.compile(r"^go: added (\S+) (\S+)$")),
    ("updated", re.compile(r"^go: (?:up|down)graded (\S+) (\S+ => \S+)$")),
    ("added", re.compile(r"^ {2,}Adding (\S+) (v\S+) to ")),  # cargo
    ("updated", re.compile(r"^ {2,}Updating (\S+) (v\S+ -> v\S+)")),
    (
        "installed",
        re.compile(r"^\s*(?:- )?Installing ([\w./-]+) (?:v|\()?(\d[\w.+-]*)\)?$"),
    ),  # bundler, composer, poetry
    ("installed", re.compile(r"^ {2}- Installing ([\w./-]+) \((v?\d[^\s()]*)\)")),
    ("updated", re.compile(r"^ {2}- Upgrading ([\w./-]+) \((\S+ => \S+)\)")),
)
_SUMMARY = re.compile(
    r"\s*Successfully (?:un)?installed |(?:added|removed|changed|up to date|audited)\b.*(?:packages?|in \d)"
    r"|(?:found )?\d+ (?:\w+ severity )?vulnerabilit|(?:Resolved|Prepared|Installed|Uninstalled|Audited) \d+ packages? "
    r"|\d+ upgraded, \d+ newly installed|Packages: [+-]\d|Done in [\d.]+m?s|success |Already up to date"
    r"|Bundle complete!|\d+ gems? installed|Package operations: |➤ YN0000: (?:·|└|Done)|Lock file operations: "
)
_ERROR = Signs(
    re.compile(
        r"\s*ERROR: |npm (?:ERR!|error) |E: |error[: ]|\s*×|\s*╰─▶|➤ YN\d{4}: .*(?:Error|conflict)|Error: "
        r"|Could not (?:find|fetch)|dpkg: error|go: .*(?:not found|unknown|invalid)|Err:\d+ "
        r"| \S+ : (?:Depends|Conflicts|Breaks): "
    ),
    re.compile(r"ERR_PNPM|which is incompatible\.?$|ResolutionImpossible|have unmet dependencies"),
)
_WARNING = Signs(
    re.compile(r"\s*WARNING: |npm (?:WARN|warn) |warning[: ]|W: |\[notice\]| WARN "),
    re.compile(r"\bDEPRECATION: |\bdeprecated\b|\b(?:low|moderate|high|critical) severity\b|\bvulnerabilit"),
)
_WORDS = (
    *("uccess", "rror", "ERR", "arning", "WARN", "npm warn", "eprecat", "DEPREC", "vulnerab", "severity", "E: ", "W: "),
    *(
        "package",
        "installed",
        "nstalling",
        "Setting up",
        "Removing",
        " + ",
        "+ ",
        " - ",
        "- ",
        "go: ",
        "Adding",
        "pdating",
    ),
    *("up to date", "audited", "Done in", "Bundle", "operations", "YN0000", "×", "╰─▶", "incompatible", "Could not"),
    *("ResolutionImp", "unmet", "Packages: ", "Depends: ", "Conflicts: ", "Breaks: ", "Err:", "[notice]", "pgrading"),
)
_TOOL = re.compile(
    r"\b(?:pip3?|uv|poetry|pdm|conda|mamba|npm|pnpm|yarn|bun|apt|apt-get|apk|dnf|yum|brew|gem|bundle|composer)\b[^|;&]{0,60}?"
    r"\b(?:install|add|remove|uninstall|upgrade|update|sync|ci|lock|audit|outdated|require|i)\b"
    r"|\bcargo (?:add|update|remove)\b|\bgo (?:get|mod)\b"
)


def packages(line: str) -> list[Package]:
    """The changes that one line tells of; pip (like gem) names them all in one line."""
    if pip := _PIP.match(line):
        found = (word.rpartition("-") for word in pip[2].split())
        return [Package(pip[1], name, version) for name, _, version in found if name]
    for what, form in _CHANGES:
        if match := form.match(line):
            return [Package(what, match[1], match[2])]
    return []


def _meanings(line: str) -> Iterator[str]:
    if _SUMMARY.match(line):
        yield "summary"
    if _ERROR.fit(line):
        yield "error"
    elif _WARNING.fit(line):
        yield "warning"
    if packages(line):
        yield "change"


def _recognise(text: str, call: ToolCall | None) -> float:
    if call is not None and profile(call).role in ("reads", "searches"):
        return 0.0
    said = set(said_in(ends_of(text), _meanings, _WORDS))
    if not said:  # before the call's words are looked at: most results say nothing of packages
        return 0.0
    if call is not None and profile(call).is_shell and _TOOL.search(call.arguments[:4_000]):
        return 0.83
    return 0.65 if "summary" in said and ("change" in said or said & {"error", "warning"}) else 0.0


def _say(found: dict[str, list[Line]]) -> str:
    """The tool's own closing lines, shortened."""
    ends = (line for line in found.get("summary", [])[-4:] if not _PIP.match(line[1]))
    return "; ".join(dict.fromkeys(clipped(ends)))


def _changes(found: dict[str, list[Line]], limit: int) -> str:
    """`installed: requests 2.34.2, idna 3.7 (+10 more)`, by what happened."""
    by_what: dict[str, list[str]] = {}
    for _, line in found.get("change", []):
        for one in packages(line):
            by_what.setdefault(one.what, []).append(f"{one.name} {one.version}".strip())
    return "; ".join(
        f"{what} {plural(len(names), 'package')}: {clean_text(listed(names, limit))}" for what, names in by_what.items()
    )


def outcome(text: str, call: ToolCall | None) -> str:
    body = Body(text)
    found = sort_lines(body, _meanings, _WORDS)
    errors = clipped(unlike(found.get("error", []))[:3])
    said = [_say(found)]
    if is_whole(body):
        said += [_changes(found, 8), say_trouble(found)]
    return "; ".join(filter(None, [*said, "errors: " * bool(errors) + " | ".join(errors)]))


def _wanted(body: Body, found: dict[str, list[Line]]) -> Iterator[Line]:
    yield from edges(body, 1, 1)
    yield from reversed(found.get("summary", [])[-6:])
    yield from unlike(found.get("error", []))[:40]
    yield from found.get("change", [])[:40]
    yield from unlike(found.get("warning", []))
    yield from edges(body, 10, 60)


def preview(text: str, budget_tokens: int, count: Count) -> str:
    body = Body(text)
    found = sort_lines(body, _meanings, _WORDS)
    top = "; ".join(filter(None, [_changes(found, 12), say_trouble(found)])) if is_whole(body) else ""
    top = f"packages: {top}" if top else ""
    if count(top) > budget_tokens // 2:
        top = f"packages: {say_trouble(found)}" if say_trouble(found) else ""
    return compose(body, not_yet(_wanted(body, found)), budget_tokens, count, top)


PACKAGES = Kind("packages", _recognise, outcome, preview)
