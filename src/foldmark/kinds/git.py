"""What git says of a repository: status and history. Knows nothing of diffs (`diffs`) and of what the paths hold.

A path or a commit that is missing here would be read as "it does not exist": counts are exact, names whole, and
what is left out is said in place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, clip, listed, plural, profile, sample
from foldmark.kinds.body import Body, Count, compose, edges
from foldmark.kinds.lines import Line, is_whole, lines
from foldmark.kinds.terminal import clean_text


class Status(msgspec.Struct, frozen=True):
    """The state of a work tree: `tracking` is the sentence on the other branch, `paths` (state, path, line number)."""

    branch: str = ""
    tracking: str = ""
    paths: tuple[tuple[str, str, int], ...] = ()


_BRANCH = re.compile(r"^(?:# )?(?:On branch|HEAD detached (?:at|from)) (\S+)$")
_SHORT_BRANCH = re.compile(r"^## (?:No commits yet on |Initial commit on )?(\S+)(?: (\[.*\]))?$")
_TRACKING = re.compile(r"^(?:# )?(?:Your branch .*|and have \d+ and \d+ different commits each.*)$")
_SECTIONS = {
    "Changes to be committed:": "staged",
    "Changes not staged for commit:": "changed",
    "Untracked files:": "untracked",
    "Unmerged paths:": "unmerged",
    "Ignored files:": "ignored",
}
_LONG = re.compile(r"^\t(?:(?:modified|new file|deleted|renamed|copied|typechange|both \w+|\w+ by \w+): +)?(\S.*)$")
_SHORT = re.compile(r"^([ MTADRCU?!][ MTADRCU?!]) (\S.*)$")


def parse_status(text_lines: Iterable[Line]) -> Status:
    """Read `git status`, long or short."""
    branch = tracking = section = ""
    paths: list[tuple[str, str, int]] = []
    for number, line in text_lines:
        if section and line.startswith("\t") and (match := _LONG.match(line)):
            paths.append((section, match[1], number))
        elif match := _BRANCH.match(line):
            branch = match[1]
        elif match := _SHORT_BRANCH.match(line):
            branch, tracking = match[1].partition("...")[0], match[2] or tracking
        elif _TRACKING.match(line):
            tracking = f"{tracking} {line.lstrip('# ')}".strip()
        elif line.rstrip() in _SECTIONS:
            section = _SECTIONS[line.rstrip()]
        elif not section and (match := _SHORT.match(line)) and match[1].strip():
            paths += [(state, match[2], number) for state in _short_states(match[1])]
    return Status(branch, tracking, tuple(paths))


def _short_states(code: str) -> list[str]:
    if code in ("??", "!!"):
        return ["untracked" if code == "??" else "ignored"]
    if "U" in code or code in ("AA", "DD"):
        return ["unmerged"]
    return [word for sign, word in zip(code, ("staged", "changed"), strict=True) if sign != " "]


def say_status(status: Status, limit: int = 6) -> str:
    """`on main, Your branch is ahead of …; 2 staged: a.py, b.py; 1 untracked: c.py`."""
    head = ", ".join(filter(None, [f"on {status.branch}" * bool(status.branch), status.tracking]))
    by_state: dict[str, list[str]] = {}
    for state, path, _ in status.paths:
        by_state.setdefault(state, []).append(path)
    said = [f"{len(paths):,} {state}: {listed(paths, limit)}" for state, paths in by_state.items()]
    return clean_text("; ".join(filter(None, [head, *said])))


_SAYS_STATUS = re.compile(
    r"^(?:# )?(?:On branch \S+|HEAD detached (?:at|from) \S+|Changes to be committed:|Changes not staged for commit:"
    r"|Untracked files:|Unmerged paths:|nothing to commit.*|no changes added to commit.*|## \S+(?: \[.*\])?)$"
)


def _recognise_status(text: str, call: ToolCall | None) -> float:
    found = sample(text, 12)
    if not found:
        return 0.0
    first, rest = found[0], found[1:]
    says = bool(_SAYS_STATUS.match(first))
    if says and ((first.startswith("##") and all(map(_SHORT.match, rest))) or any(map(_SAYS_STATUS.match, rest))):
        return 0.86
    looks = says or all(map(_SHORT.match, found))
    return 0.86 if looks and _is_git(call, "status") else 0.0


def _is_git(call: ToolCall | None, verb: str) -> bool:
    return (
        call is not None
        and profile(call).is_shell
        and re.search(rf"\bgit\b.{{0,60}}?\b{verb}\b", call.arguments[:2_000]) is not None
    )


def outcome_status(text: str, call: ToolCall | None) -> str:
    body = Body(text)
    status = parse_status(lines(body))
    last = (body.line(body.total) or "") if not status.paths else ""
    said = say_status(status, 6) if is_whole(body) else plural(body.total, "line") + " of git status"
    return "; ".join(filter(None, [said, clip(clean_text(last), 120)]))


def preview_status(text: str, budget_tokens: int, count: Count) -> str:
    body = Body(text)
    status = parse_status(lines(body))
    counts = Counter(state for state, _, _ in status.paths)
    top = ", ".join(f"{number:,} {state}" for state, number in counts.items()) if is_whole(body) else ""
    top = f"git status: {top}" if top else ""
    return compose(body, _wanted_status(body, status), budget_tokens, count, top)


def _wanted_status(body: Body, status: Status) -> Iterator[Line]:
    """Branch and its tracking, then paths in turn by state: untracked ones last, there may be thousands."""
    yield from edges(body, 3, 1)
    rank = {"unmerged": 0, "staged": 1, "changed": 2}
    seen: Counter[str] = Counter()
    order = []
    for state, _, number in status.paths:
        order.append((rank.get(state, 3), seen[state] // 8, number))
        seen[state] += 1
    texts = dict(lines(body))
    yield from ((number, texts[number]) for _, _, number in sorted(order, key=lambda one: (one[1], one[0], one[2])))
    yield from edges(body, 40, 10)


class Commit(msgspec.Struct, frozen=True):
    """One commit of a history as printed; `line` is the number of its first line, `says` that of its subject."""

    hash: str
    subject: str = ""
    author: str = ""
    date: str = ""
    line: int = 0
    says: int = 0


_COMMIT = re.compile(r"^[*|\\/_ ]*commit ([0-9a-f]{7,40})\b")
_FIELD = re.compile(r"^[*|\\/_ ]*(Author|AuthorDate|Date|CommitDate): +(\S.*)$")
_ONE_LINE = re.compile(r"^[*|\\/_ ]*([0-9a-f]{7,40}) (?:\([^()]*\) )?(\S.*)$")
_MESSAGE = re.compile(r"^[*|\\/_ ]* {4}(\S.*)$")


def parse_log(text_lines: Iterable[Line]) -> list[Commit]:
    """Read `git log`: the full format, else one line per commit."""
    full: list[Commit] = []
    short: list[Commit] = []
    for number, line in text_lines:
        if match := _COMMIT.match(line):
            full.append(Commit(match[1], line=number))
        elif full and (match := _FIELD.match(line)):
            name = "author" if match[1] == "Author" else "date"
            full[-1] = msgspec.structs.replace(full[-1], **{name: match[2].partition(" <")[0]})
        elif full and not full[-1].subject and (match := _MESSAGE.match(line)):
            full[-1] = msgspec.structs.replace(full[-1], subject=match[1], says=number)
        elif not full and (match := _ONE_LINE.match(line)):
            short.append(Commit(match[1], match[2], line=number, says=number))
    return full or short


def _recognise_log(text: str, call: ToolCall | None) -> float:
    found = sample(text, 12)
    if not found:
        return 0.0
    if _COMMIT.match(found[0]):
        # A commit with its diff is a diff.
        has_diff = "\ndiff --git " in text[:6_000] and text.count("\ncommit ", 0, 6_000) == 0
        return 0.0 if has_diff else 0.87
    commits = sum(map(bool, map(_ONE_LINE.match, found)))
    if commits * 2 >= len(found) and _is_git(call, "(?:log|reflog|shortlog|rev-list)"):
        return 0.87
    return 0.66 if commits == len(found) > 2 else 0.0


def say_log(commits: list[Commit]) -> str:
    """`12 commits, 1a2b3c4 to 9f8e7d6; by Ann (9), Bob (3); from <oldest date> to <newest date>`, dates as printed."""
    ends = f", {commits[0].hash[:12]} to {commits[-1].hash[:12]}" if len(commits) > 1 else ""
    authors = Counter(commit.author for commit in commits if commit.author).most_common()
    by = listed([f"{name} ({number:,})" for name, number in authors], 4)
    dates = [commit.date for commit in commits if commit.date]
    span = (f"from {dates[-1]} to {dates[0]}" if len(dates) > 1 else dates[0]) if dates else ""
    head = f"{plural(len(commits), 'commit')}{ends}"
    return clean_text("; ".join(filter(None, [head, f"by {by}" * bool(by), span])))


def outcome_log(text: str, call: ToolCall | None) -> str:
    body = Body(text)
    commits = parse_log(lines(body))
    if not commits or not is_whole(body):
        return f"{plural(body.total, 'line')} of git log"
    subjects = [clean_text(f"{commit.hash[:12]} {clip(commit.subject, 80)}".strip()) for commit in commits[:4]]
    more = f" (+{len(commits) - 4:,} more)" if len(commits) > 4 else ""
    return f"{say_log(commits)}; {' | '.join(subjects)}{more}"


def preview_log(text: str, budget_tokens: int, count: Count) -> str:
    body = Body(text)
    commits = parse_log(lines(body))
    top = f"git log: {say_log(commits)}" if is_whole(body) and commits else ""
    if count(top) > budget_tokens // 2:
        top = f"git log: {plural(len(commits), 'commit')}"
    return compose(body, _wanted_log(body, commits), budget_tokens, count, top)


def _wanted_log(body: Body, commits: list[Commit]) -> Iterator[Line]:
    """Every commit from its hash to its subject, newest first, the oldest among the first: a history has two ends."""
    texts = dict(lines(body))
    for commit in [*commits[:1], *commits[-1:], *commits[1:-1]]:
        yield from ((number, texts[number]) for number in range(commit.line, max(commit.line, commit.says) + 1))
    yield from edges(body, 60, 10)


GIT_STATUS = Kind("git status", _recognise_status, outcome_status, preview_status)
GIT_LOG = Kind("git log", _recognise_log, outcome_log, preview_log)
