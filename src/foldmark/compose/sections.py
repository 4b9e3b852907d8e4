"""State as lines to choose from: one candidate section per field of a checkpoint. Knows nothing of budgets.

Every section puts its most wanted line first; the order on the page is the order a newcomer asks in: what is
wanted, what is forbidden, what was said, where we stand, what is left, what was touched, what failed.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from foldmark.checkpoint import Fact, Line

State = Mapping[tuple[str, str], Fact]

CONSTRAINTS = "Constraints and corrections, in the user's words"
USER_MESSAGES = "User messages"
CURRENT = "Where the work stood at the boundary"

HEAD = 32
"""Characters of a call in front of its excerpts: heads took a quarter of their tokens at twice the length."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A section to fill: `lines` by how much they are wanted, the first `must` of them whatever they cost,
    then `quota` more in every round of the filling. `noun` names what the pointer to the rest counts.
    `in_order` puts
    the chosen lines back in the order of the log."""

    title: str
    lines: tuple[Line, ...]
    must: int = 0
    quota: int = 2
    noun: str = "more"
    in_order: bool = False


def by_kind(state: State) -> dict[str, list[Fact]]:
    """Living facts of a state by kind, newest first."""
    groups: dict[str, list[Fact]] = {}
    for fact in state.values():
        if fact.status != "gone":
            groups.setdefault(fact.kind, []).append(fact)
    for group in groups.values():
        group.sort(key=lambda fact: (-fact.seq, fact.key))
    return groups


def candidates(state: State, room_tokens: int = 8_000) -> list[Candidate]:
    """The state sections but user messages, in the order of the page.

    A small room shortens the long values of lines that must be there: a goal takes at most `room_tokens / 2`
    characters, about an eighth of the room.
    """
    facts = by_kind(state)
    root = common_root(fact.key for fact in facts.get("file", ()))
    found = [
        _goal(facts, max(160, room_tokens // 2)),
        _constraints(facts),
        _current(facts, root, max(160, room_tokens // 3)),
        _todo(facts),
        *_files(facts, root),
        _verification(facts),
        _errors(facts, root),
        _commands(facts, root),
        _plain(facts, "rejected", "Rejected approaches and refusals", also_denied=True),
        _plain(facts, "approval", "Approvals", quota=1),
        _plain(facts, "decision", "Decisions", quota=3),
        _plain(facts, "question", "Questions answered"),
        _plain(facts, "skill", "Skills and tools loaded (load again before use)"),
        _identifiers(facts),
    ]
    return [candidate for candidate in found if candidate.lines]


def _goal(facts: Mapping[str, list[Fact]], longest: int) -> Candidate:
    lines: list[Line] = []
    for fact in facts.get("goal", ())[:1]:
        before = f"\nBefore that: {fact.meta['before']}" if "before" in fact.meta else ""
        lines.append(Line(clip(fact.value, longest) + before, (fact.seq, *fact.refs)))
    tasks = facts.get("task", [])
    active = [fact for fact in tasks if fact.status == "active"]
    first = facts["goal"][0].seq if facts.get("goal") else 0
    for fact in active[:3]:
        if int(fact.key) != first:
            lines.append(
                Line(
                    f"Open request: {clip(' '.join(fact.value.split()), max(160, longest // 4))}",
                    (int(fact.key),),
                )
            )
    if tasks and not active:
        last = max(tasks, key=lambda fact: int(fact.key))
        words = clip(" ".join(last.value.split()), 200)
        lines.append(Line(f"No request is open. The last one is {last.status}: {words}", (int(last.key), last.seq)))
    lines += [Line(f"Pinned: {fact.value}", (fact.seq,)) for fact in facts.get("pin", ())]
    return Candidate(title="Goal", lines=tuple(lines), must=len(lines))


def _constraints(facts: Mapping[str, list[Fact]]) -> Candidate:
    found = facts.get("constraint", []) + facts.get("correction", [])
    found.sort(key=lambda fact: (_said_at(fact), int(fact.meta.get("order", "0"))))
    lines = []
    for fact in found:
        mark = f"[superseded by event:{fact.seq}] " if fact.status == "superseded" else ""
        lines.append(Line(f"{mark}{fact.value}", (_said_at(fact),)))
    return Candidate(title=CONSTRAINTS, lines=tuple(lines), must=len(lines))


def _said_at(fact: Fact) -> int:
    """Where a limit was said: a superseded one carries the place of the newer word, and refers to its own."""
    return fact.refs[0] if fact.status == "superseded" and fact.refs else fact.seq


def _current(facts: Mapping[str, list[Fact]], root: str, longest: int) -> Candidate:
    lines: list[Line] = []
    if said := facts.get("statement"):
        lines.append(Line(f"The agent last said: {clip_middle(said[0].value, longest)}", (said[0].seq,)))
    ran = [fact for fact in facts.get("command", ()) if not fact.meta.get("looks")]
    if ran:
        lines.append(Line(f"Last command: {_command(ran[0])}", (ran[0].seq,)))
    if broken := [fact for fact in facts.get("error", ()) if fact.status == "open"]:
        lines.append(Line(f"Last failure, still open: {clip(broken[0].value, 300)}", (broken[0].seq,)))
    changed = [fact for fact in facts.get("file", ()) if fact.status != "read"]
    if changed:
        last = max(changed, key=_changed_at)
        lines.append(Line(f"Last file {last.status}: {short(last.key, root)}", (_changed_at(last),)))
    return Candidate(
        title=CURRENT,
        lines=tuple(lines),
        must=len(lines),
    )


_TODO_ORDER = {"active": 0, "pending": 1, "done": 2, "cancelled": 3}


def _todo(facts: Mapping[str, list[Fact]]) -> Candidate:
    found = sorted(
        facts.get("todo", []),
        key=lambda fact: (
            _TODO_ORDER.get(fact.status, 1),
            -fact.seq if fact.status == "done" else 0,
            int(fact.meta.get("order", "0")),
        ),
    )
    lines = tuple(Line(f"[{fact.status}] {fact.value}", (fact.seq,)) for fact in found)
    waiting = sum(fact.status in ("active", "pending") for fact in found)
    return Candidate(title="Todo", lines=lines, must=min(waiting, 12), quota=3, noun="todo items")


def _files(facts: Mapping[str, list[Fact]], root: str) -> list[Candidate]:
    files = facts.get("file", [])
    changed = sorted((fact for fact in files if fact.status != "read"), key=lambda fact: -_changed_at(fact))
    lines = tuple(Line(f"{fact.status} {short(fact.key, root)}", (_changed_at(fact),)) for fact in changed)
    read = [fact for fact in files if fact.status == "read"]
    seen = tuple(Line(short(fact.key, root), (fact.seq,)) for fact in read)
    where = f" (under {root})" if root else ""
    return [
        Candidate(title=f"Files changed{where}", lines=lines, quota=6, noun="changed files"),
        Candidate(title=f"Files read{where}", lines=seen, quota=2, noun="files that were read"),
    ]


def _verification(facts: Mapping[str, list[Fact]]) -> Candidate:
    found = sorted(facts.get("verification", []), key=lambda fact: (fact.status != "failed", -fact.seq))
    lines = tuple(Line(f"[{fact.status}] {clip(fact.value, 700)}", (fact.seq,)) for fact in found)
    return Candidate(
        title="Verification (the newest run of each command)",
        lines=lines,
        must=min(1, len(lines)),
        quota=2,
        noun="test commands",
    )


def _errors(facts: Mapping[str, list[Fact]], root: str) -> Candidate:
    found = sorted(facts.get("error", []), key=lambda fact: (fact.status != "open", -fact.seq))
    lines = []
    for fact in found:
        fix = f", after a change of {short(fact.meta['fix'], root)}" if fact.meta.get("fix") else ""
        how = f" -> fixed{fix}" if fact.status == "fixed" and fix else ""
        lines.append(Line(f"[{fact.status}] {clip(_bare(fact.value, root), 260)}{how}", (fact.seq, *fact.refs[:3])))
    return Candidate(title="Errors and what fixed them", lines=tuple(lines), quota=3, noun="errors")


def _commands(facts: Mapping[str, list[Fact]], root: str) -> Candidate:
    """Runs and calls that no other section tells: no looks, test runs, changes of files or failed edits."""
    tested = {fact.key for fact in facts.get("verification", ())}
    changes = {_changed_at(fact) for fact in facts.get("file", ()) if fact.status != "read"}
    ran = [
        fact
        for fact in facts.get("command", ())
        if not (fact.meta.get("looks") or fact.key in tested or fact.seq in changes)
        and not (fact.status == "failed" and "tool" in fact.meta)
    ]
    lines = tuple(Line(_bare(_command(fact), root), (fact.seq,)) for fact in ran)
    return Candidate(title="Commands and calls", lines=lines, quota=3, noun="commands")


def _command(fact: Fact) -> str:
    code = f", exit {fact.meta['exit']}" if fact.meta.get("exit") not in (None, "", "0") else ""
    tests = f", {fact.meta['tests']}" if fact.meta.get("tests") else ""
    error = f": {clip(fact.meta['error'], 160)}" if fact.meta.get("error") else ""
    return f"`{clip(fact.value, 180)}` {fact.status}{code}{tests}{error}"


def _plain(
    facts: Mapping[str, list[Fact]], kind: str, title: str, *, quota: int = 2, also_denied: bool = False
) -> Candidate:
    found = [fact for fact in facts.get(kind, ()) if fact.status != "denied"]
    if also_denied:
        denied = [fact for fact in facts.get("approval", ()) if fact.status == "denied"]
        found = sorted(found + denied, key=lambda fact: -fact.seq)
    lines = tuple(Line(clip(fact.value, 400), (fact.seq, *fact.refs[:2])) for fact in found)
    return Candidate(title=title, lines=lines, quota=quota, noun=title.partition(" (")[0].lower(), in_order=True)


def _identifiers(facts: Mapping[str, list[Fact]]) -> Candidate:
    groups: dict[tuple[int, str], list[str]] = {}
    for fact in facts.get("identifier", ()):
        if fact.status not in ("path", "constant", "time"):
            groups.setdefault((fact.seq, fact.status), []).append(fact.value)
    lines = tuple(Line(f"{kind}: {', '.join(values[:12])}", (seq,)) for (seq, kind), values in groups.items())
    return Candidate(title="Identifiers from user messages", lines=lines, quota=1, noun="identifiers")


def user_messages(state: State, skip: Iterable[int] = ()) -> list[Fact]:
    """User facts, newest first, without those shown elsewhere and without bare agreements."""
    left_out = set(skip)
    found = [fact for (kind, _), fact in state.items() if kind == "user" and fact.seq not in left_out]
    found.sort(key=lambda fact: -fact.seq)
    return [fact for number, fact in enumerate(found) if number == 0 or fact.status != "agrees"]


def task_mark(state: State, seq: int) -> str:
    """`[done] ` for a message whose task is not open any more."""
    task = state.get(("task", str(seq)))
    return f"[{task.status}] " if task and task.status not in ("active", "gone") else ""


def is_constraint(state: State, text: str) -> bool:
    """Whether a whole message is one sentence that stands among the constraints and corrections."""
    return ("constraint", text) in state or ("correction", text) in state


def heads(facts: Sequence[Fact], seqs: set[int], root: str = "") -> dict[int, str]:
    """A few words per event: what was called and how it ended, or who spoke. A call takes its words from what
    its result did."""
    found: dict[int, str] = {}
    calls: dict[int, str] = {}
    for fact in facts:
        if fact.seq in seqs and (words := _head(fact, root)):
            found.setdefault(fact.seq, words)
        if fact.kind in ("file", "command") and fact.refs and fact.refs[0] in seqs and "last" not in fact.meta:
            name = posixpath.basename(fact.key)  # its path stands in front of what the result did
            words = clip(fact.value, HEAD) if fact.kind == "command" else f"{_made(fact)} {name}"
            calls.setdefault(fact.refs[0], f"agent: {words}")
    return {**calls, **found}


def _head(fact: Fact, root: str) -> str:
    if fact.kind == "command":
        tests = f" ({fact.meta['tests']})" if fact.meta.get("tests") else ""
        failed = f" -> failed{', exit ' + fact.meta['exit'] if fact.meta.get('exit') else ''}"
        return f"{clip(_bare(fact.value, root), HEAD)}{failed if fact.status == 'failed' else ''}{tests}"
    if fact.kind == "file":
        return f"{fact.meta.get('last') or fact.status} {short(fact.key, root)}"
    return {"user": "user", "statement": "agent", "question": "the user's answer"}.get(fact.kind, "")


def _made(fact: Fact) -> str:
    return {"read": "reads", "changed": "changes", "created": "writes", "deleted": "deletes"}.get(fact.status, "uses")


def common_root(paths: Iterable[str]) -> str:
    """The folder that most absolute paths share, with its last slash; empty when none is worth naming."""
    folders: Counter[str] = Counter()
    number = 0
    for path in paths:
        if not path.startswith("/"):
            continue
        number += 1
        folder = posixpath.dirname(path)
        while len(folder) > 1:
            folders[folder] += 1
            folder = posixpath.dirname(folder)
    shared = [folder for folder, count in folders.items() if count * 10 >= number * 8 and number > 2]
    best = max(shared, key=len, default="")
    return best + "/" if len(best) > 8 else ""


def _bare(text: str, root: str) -> str:
    return text.replace(root, "") if root else text


def short(path: str, root: str) -> str:
    return path[len(root) :] if root and path.startswith(root) else path


def _changed_at(fact: Fact) -> int:
    return int(fact.meta.get("changed", fact.seq))


def clip(text: str, limit: int) -> str:
    """At most `limit` characters, cut at a word's end."""
    if len(text) <= limit:
        return text
    return (text[:limit].rpartition(" ")[0] or text[:limit]) + " …"


def clip_middle(text: str, limit: int) -> str:
    """At most `limit` characters, a third of them from the head: what comes next stands at the end."""
    if len(text) <= limit:
        return text
    tail = text[-(limit - limit // 3) :]
    return f"{clip(text, limit // 3)} {tail.partition(' ')[2] or tail}"
