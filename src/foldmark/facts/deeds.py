"""Facts from tool results: files, commands, test runs, errors and their fixes, refusals, answers, plans.

Knows nothing of users' words, storage or requests. What a result says of itself (exit code, counts, a
refusal) is read by `kinds`; what a call does, by `profiles`.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

from foldmark.checkpoint import Fact
from foldmark.events import Reading, ToolCall
from foldmark.facts.ledger import Ledger
from foldmark.facts.lines import Said, command_key, is_filtered, place_of, placed, shown
from foldmark.facts.plans import note_answer, note_plan, one_line
from foldmark.facts.settling import MOST_FAILING, details, is_same_place, passes_again, proves
from foldmark.kinds.commands import denial, error_lines, exit_code
from foldmark.kinds.tests import TestRun, parse_tests, say
from foldmark.profiles import Profile, command_of, decode, headline, paths_of, profile_of_call, shell_of

_EDGE = 16_000  # characters of head and tail in which a long output is asked for errors
_REFUSAL_WORDS = ("reject", "denied", "declin", "refus", "cancelled", "interrupted", "approv", " want")
_PRINTS = re.compile(r"(?:awk|sed|cat|echo|printf|diff|jq|for|while) ")  # what they print is somebody else's trouble
_WATCHES = re.compile(r"output|kill|stdin", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z_]+>")


def note_result(ledger: Ledger, reading: Reading, profiles: tuple[Profile, ...]) -> None:
    """Take the facts of one tool result."""
    event, call = reading.event, reading.call
    result = event.result
    if result is None or call is None:
        return
    profile = profile_of_call(call, profiles)
    refused = _refusal(reading.text)
    if refused:
        _note_refusal(ledger, reading, call, refused, profiles)
    elif profile.role == "plans":
        note_plan(ledger, reading, call)
    elif profile.role == "asks":
        note_answer(ledger, reading, call)
    elif profile.is_shell or profile.role == "runs":
        _note_command(ledger, reading, call, profile)
    else:
        _note_use(ledger, reading, call, profile, profiles)


def _refusal(text: str) -> str:
    """`denial`, asked only where one of its words stands: most results hold none."""
    if len(text) > 4_000:
        return ""
    low = text.lower()
    return denial(text) if any(map(low.__contains__, _REFUSAL_WORDS)) else ""


def _note_refusal(
    ledger: Ledger, reading: Reading, call: ToolCall, refused: str, profiles: tuple[Profile, ...]
) -> None:
    event = reading.event
    what = headline(call, profiles, 200)
    ledger.add(
        event.seq,
        "approval",
        what,
        f"refused: {what} ({refused})",
        status="denied",
        scope=event.key,
        refs=(reading.call_seq,),
    )


def _note_command(ledger: Ledger, reading: Reading, call: ToolCall, profile: Profile) -> None:
    event, result = reading.event, reading.event.result
    command = command_of(call, profile) or headline(call, (), 240)
    line, code = command_key(command), exit_code(reading.text)
    said = Said(line, place_of(command, call), command_of(call, profile) or call.arguments)
    key, home = placed(ledger, line, said.place)
    run = None if profile.role in ("reads", "searches") else parse_tests(reading.text)
    looks = profile.role in ("reads", "searches") or bool(_WATCHES.search(call.name))
    failed = bool(result and result.is_error) or bool(code and not looks) or bool(run and not run.is_green)
    if not (failed or looks or run) and is_filtered(command) and not _PRINTS.match(key):
        failed = bool(_trouble(reading.text))  # the exit code is the filter's: only the output can tell
    error = _first_error(reading.text, run) if failed else ""
    meta = {"exit": "" if code is None else str(code), "looks": "yes" if looks else "", "error": error}
    if run:
        meta["tests"] = say(run, 0).partition(";")[0]
    meta["in"] = home
    ledger.add(
        event.seq,
        "command",
        key,
        one_line(shown(command), 240),
        status="failed" if failed else "ok",
        scope=event.key,
        refs=(reading.call_seq,),
        meta=meta,
    )
    if run:
        _note_tests(ledger, reading, key, run)
    if failed and not looks:
        value = f"`{one_line(key, 120)}`: {error or f'exit code {code}'}"
        _open_error(ledger, reading, key, value, {**said.details(key), **details(run)})
    elif not looks:
        _fix_again(ledger, reading, key, said, run, hides=is_filtered(command))
        if run:
            _fix_others(ledger, reading, key, said, run)
    _note_shell_files(ledger, reading, call, profile, failed)


def _note_tests(ledger: Ledger, reading: Reading, key: str, run: TestRun) -> None:
    names = "\n".join(failure.name for failure in run.failing[:MOST_FAILING])
    ledger.add(
        reading.event.seq,
        "verification",
        key,
        f"`{one_line(key, 120)}`: {say(run, MOST_FAILING)}",
        status="passed" if run.is_green else "failed",
        scope=reading.event.key,
        refs=(reading.call_seq,),
        meta={"failing": names, "passed": str(run.passed), "framework": run.framework},
    )


def _fix_again(
    ledger: Ledger, reading: Reading, key: str, said: Said, run: TestRun | None, *, hides: bool = False
) -> None:
    """The same call went well: its own error is fixed, when it is the same in all that its key does not hold."""
    error = ledger.get("error", key)
    if error is None or error.status != "open":
        return
    before = error.meta
    is_same = is_same_place(before.get("in", ""), said.place) and before.get("mark", "") == said.mark
    if is_same and passes_again(before, run, hides):
        _fix_error(ledger, reading, key)


def _fix_others(ledger: Ledger, reading: Reading, key: str, said: Said, run: TestRun) -> None:
    """A green run settles the failures of other commands whose tests it ran."""
    for error in ledger.open("error"):
        before = error.meta
        is_near = run.framework == "go test" or is_same_place(before.get("in", ""), said.place)
        line = before.get("line") or error.key
        if error.key != key and is_near and proves(before, line, said.line, run, reading.text):
            _fix_error(ledger, reading, error.key)


def _trouble(text: str) -> str:
    """The first line of trouble near the ends of an output; empty when there is none."""
    ends = text if len(text) <= 2 * _EDGE else f"{text[:_EDGE]}\n{text[-_EDGE:]}"
    found = error_lines(ends, 1)
    return _TAG.sub("", found[0]).strip() if found else ""


def _first_error(text: str, run: TestRun | None) -> str:
    if run and run.failing:
        return say(run, 3)
    if found := _trouble(text):
        return found
    last = next((line for line in reversed(text[-_EDGE:].split("\n")) if line.strip() and exit_code(line) is None), "")
    return _TAG.sub("", one_line(last, 200))


def _open_error(ledger: Ledger, reading: Reading, key: str, value: str, meta: dict[str, str] | None = None) -> None:
    """Note an error; one that is open already rests on where it showed first. That is noted by itself: the refs may
    hold the call, too."""
    seq = reading.event.seq
    known = ledger.said("error", key, reading.event.key)
    first = _first_of(known) if known and known.status == "open" else seq
    ledger.add(
        seq,
        "error",
        key,
        value,
        status="open",
        scope=reading.event.key,
        refs=(first,),
        meta={**(meta or {}), "first": str(first)},
    )


def _first_of(error: Fact) -> int:
    """Where an open error showed first; files of before this was noted have it in front of the refs."""
    return int(error.meta.get("first", 0)) or next(iter(error.refs), error.seq)


def _fix_error(ledger: Ledger, reading: Reading, key: str) -> None:
    """Mark an open error as fixed, by the newest change of a file since it showed. It says again what both say, so it
    rests on all that they rest on."""
    error = ledger.get("error", key)
    if error is None or error.status != "open":
        return
    seq = reading.event.seq
    changes = [fact for fact in ledger.all("file") if fact.status in ("changed", "created", "deleted")]
    change = max(changes, key=_changed_at, default=None)
    fixed = change if change and error.seq < _changed_at(change) < seq else None
    by = (_changed_at(fixed), fixed.seq, *fixed.refs) if fixed else ()
    ledger.add(
        seq,
        "error",
        key,
        error.value,
        status="fixed",
        scope=reading.event.key,
        refs=(error.seq, *by[:1], *error.refs, *by[1:]),
        meta={"fix": fixed.key if fixed else ""},
    )


def _changed_at(fact: Any) -> int:
    return int(fact.meta.get("changed", fact.seq))


def _note_shell_files(ledger: Ledger, reading: Reading, call: ToolCall, profile: Profile, failed: bool) -> None:
    command = shell_of(call, profile)
    if command is None or failed or not command.paths or command.one_shot:
        return
    line = command_of(call, profile)
    for path in command.paths[:8]:
        if not _is_file_name(path):
            continue
        action = "read" if command.role in ("reads", "searches") else "changed"
        if action == "changed" and re.search(r"\b(?:rm|unlink|git rm)\b", line) and not re.search(r">|\btee\b", line):
            action = "deleted"
        if action == "changed" and command.role != "writes":
            continue
        note_file(ledger, reading, path, action)


def _is_file_name(path: str) -> bool:
    name = posixpath.basename(path)
    return (
        len(path) < 200
        and bool(re.fullmatch(r"[\w@+./~-]*\.[A-Za-z]\w{0,9}|[A-Z][a-z]+file|\.\w+", name))
        and "*" not in path
    )


def note_file(ledger: Ledger, reading: Reading, path: str, action: str) -> None:
    """Note what happened to a file. A file that was changed stays changed when it is read again."""
    event, known = reading.event, ledger.get("file", path)
    if action == "read" and known and known.status in ("changed", "created"):
        ledger.add(
            event.seq,
            "file",
            path,
            "",
            status=known.status,
            scope=event.key,
            refs=(_changed_at(known),),
            meta={"changed": str(_changed_at(known)), "last": "read"},
        )
        return
    if action == "changed" and known and known.status == "created":
        action = "created"
    ledger.add(
        event.seq,
        "file",
        path,
        "",
        status=action,
        scope=event.key,
        refs=(reading.call_seq,),
        meta={"changed": str(event.seq)} if action != "read" else None,
    )


def _note_use(
    ledger: Ledger, reading: Reading, call: ToolCall, profile: Profile, profiles: tuple[Profile, ...]
) -> None:
    """Everything that is no shell: reads, edits, searches, fetches, other tools."""
    event, result = reading.event, reading.event.result
    failed = bool(result and result.is_error)
    paths = paths_of(call, profile) if profile.role in ("reads", "writes") else ()
    what = f"{call.name} {paths[0]}" if failed and paths else headline(call, profiles, 160)
    if not failed:
        action = "read" if profile.role == "reads" else _edit_action(call)
        for path in paths:
            note_file(ledger, reading, path, action)
    if "skill" in call.name.lower() or any(path.endswith("SKILL.md") for path in paths):
        name = next((str(value) for value in decode(call.arguments).values() if isinstance(value, str)), call.name)
        ledger.add(event.seq, "skill", name, name, status="loaded", scope=event.key, refs=(reading.call_seq,))
    if failed or not paths:
        error = _first_error(reading.text, None) if failed else ""
        ledger.add(
            event.seq,
            "command",
            what,
            what,
            status="failed" if failed else "ok",
            scope=event.key,
            refs=(reading.call_seq,),
            meta={"tool": call.name, "error": error, "looks": "yes" if profile.refetchable else ""},
        )
    key = f"{profile.role} {paths[0]}" if paths else what
    said = Said(key, "", key if paths else call.arguments)  # of a file: the next change that succeeds may be another
    if failed and profile.role not in ("reads", "searches"):
        _open_error(ledger, reading, key, f"{what}: {_first_error(reading.text, None)}", said.details(key))
    elif not failed:
        _fix_again(ledger, reading, key, said, None)


def _edit_action(call: ToolCall) -> str:
    name = call.name.lower()
    values = decode(call.arguments)
    if "delete" in name or name == "del" or values.get("command") == "delete":
        return "deleted"
    if name.startswith(("write", "create")) or values.get("command") == "create":
        return "created"
    return "changed"
