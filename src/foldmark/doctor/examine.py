"""The two flows: what is wrong with a transcript, and a working copy of it. Knows nothing of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from foldmark import importers
from foldmark.doctor.advice import advice_of, mend_of, severity_of
from foldmark.doctor.blocks import BlockTalk
from foldmark.doctor.chat import ChatTalk
from foldmark.doctor.claude_code import ClaudeTalk, is_claude_code
from foldmark.doctor.codex import codex_talk, is_codex
from foldmark.doctor.contents import ContentTalk
from foldmark.doctor.items import ItemTalk, is_item
from foldmark.doctor.neutral import EventTalk
from foldmark.doctor.pairs import PAIR_CODES, pair_mends
from foldmark.doctor.repeats import repeat_problems
from foldmark.doctor.sheet import Sheet, open_sheet
from foldmark.doctor.signs import sign_problems
from foldmark.doctor.sizes import size_problems
from foldmark.doctor.talk import Strand, Talk
from foldmark.doctor.thinking import thinking_mends
from foldmark.doctor.values import Change, Diagnosis, Mend, Problem, Repair
from foldmark.doctor.wire_shapes import wire_problems, wire_shape_mends
from foldmark.errors import PolicyError, WireError
from foldmark.importers.messages import wire_of

TALKS: dict[str, Callable[[Sheet], Talk]] = {
    "claude-code": ClaudeTalk,
    "codex": codex_talk,
    "anthropic-messages": BlockTalk,
    "openai-messages": ChatTalk,
    "openai-items": ItemTalk,
    "gemini-contents": ContentTalk,
}
"""The formats that can be repaired: each has a Talk over its rows."""

_OF_AN_END = frozenset(["prefill", "ends_with_assistant", "last_turn", "role_order", "no_messages"])
_OF_A_REQUEST = frozenset(["trailing_space", "tools_missing"])
"""What a wire says about a request and is no news about a conversation that goes on; the last two are, where the file
is a whole request."""

_LISTS = frozenset(["openai-json", "openai-responses-json", "gemini-json"])
"""The importer's names of formats that have a Talk under the name of their API."""

_ROUNDS = 4
_ROW = re.compile(r"line \d+(?: payload\.replacement_history\[\d+\])?|[^\]]*\]")


def examine(data: bytes, *, name: str = "", format: str = "auto", window: int | None = None) -> Diagnosis:
    """What is wrong with a transcript. `window` (tokens) measures the whole conversation too.

    Raises WireError when it is empty, binary or in no format we know, PolicyError for an unknown format.
    """
    sheet, chosen = _opened(data, name, format)
    if sheet is None or not chosen:
        return _examine_events(data, sheet, name, format, window)
    problems = [_problem(mend.path, mend.code, mend.problem, "") for mend in sheet.mends]
    talk, early = _shaped(TALKS[chosen], sheet)
    problems += [_of_mend(mend, talk.wire) for mend in early]
    problems += _found(talk, window)
    records = sum(row.home is None for row in talk.records())
    return Diagnosis(format=chosen, wire=talk.wire, records=records, problems=_unique(problems))


def repair(
    data: bytes,
    found: Diagnosis | None = None,
    *,
    name: str = "",
    format: str = "auto",
    window: int | None = None,
    without_thinking: bool = False,
) -> Repair:
    """A working copy in the same format. Rows that nothing is wrong with keep their bytes. `without_thinking` leaves
    all thinking out of it, the way out when a provider refuses a signature.

    `found` is what `examine` said of the same bytes, if it was asked. Raises what `examine` raises, and PolicyError
    when there is no writer for the format.
    """
    sheet, chosen = _opened(data, name, found.format if found else format)
    if sheet is None or not chosen:
        known = found.format if found else _examine_events(data, sheet, name, format, window).format
        raise PolicyError(
            f"There is no writer for {known}: --repair writes {', '.join(TALKS)}. "
            "`foldmark compact TRANSCRIPT --out next.json` writes a valid next request from any of them."
        )
    changes = _all_mended(TALKS[chosen], sheet, without_thinking=without_thinking)
    mended, is_empty, rejected = sheet.bytes(), not sheet.rows, "\n".join(sheet.rejected)
    del sheet  # the rows of the copy are read now, and a large file does not fit twice
    if mended == data and found:
        after = found
    else:
        after = _nothing_left(chosen) if is_empty else examine(mended, name=name, format=chosen, window=window)
    saved = rejected.encode("utf-8", "surrogateescape")
    return Repair(data=mended, changes=tuple(changes), rejected=saved, after=after)


def _nothing_left(chosen: str) -> Diagnosis:
    problem = _problem("file", "unreadable", "no record of the file could be kept.", "")
    return Diagnosis(format=chosen, wire="", records=0, problems=(problem,))


# -- which format


def _opened(data: bytes, name: str, format: str) -> tuple[Sheet | None, str]:
    """The rows of a file and the name of its Talk; no rows when only an importer can read it."""
    try:
        sheet = open_sheet(data, name or "file")
    except WireError:
        if not data.strip() or format in TALKS:
            raise
        return None, ""
    return sheet, _chosen(sheet, format)


def _chosen(sheet: Sheet, format: str) -> str:
    """The name of the Talk for a file, empty when only an importer can read it. Raises PolicyError."""
    if format in TALKS:
        return format
    imported = {known.name for known in importers.FORMATS}
    if format != "auto" and format not in imported:
        names = ", ".join(dict.fromkeys([*TALKS, *sorted(imported)]))
        raise PolicyError(f"There is no format {format!r}; choose auto, {names}.")
    if format != "auto" and format not in _LISTS:
        return ""
    if is_claude_code(sheet):
        return "claude-code"
    if is_codex(sheet):
        return "codex"
    return "" if format == "auto" and _is_of_an_importer(sheet) else _of_rows(sheet)


def _is_of_an_importer(sheet: Sheet) -> bool:
    """Whether a format that only an importer reads claims the file. Some of them hold messages of a known shape beside
    what is theirs, which a repair must not touch."""
    values = [row.value for row in sheet.rows if row.raw.strip()]
    if sheet.kind == "list":
        value: Any = {**sheet.fields, sheet.key: values} if sheet.key else values
        records = ((1, value),) if sheet.key else ()
        document = importers.Document(value=value, records=records)
    else:
        document = importers.Document(
            value=values[0] if len(values) == 1 else None, records=tuple(enumerate(values, 1))
        )
    first = next((known.name for known in importers.FORMATS if known.sniff(document)), "")
    return first not in ("", *TALKS, *_LISTS)


def _of_rows(sheet: Sheet) -> str:
    rows = [row.value for row in sheet.rows]
    objects = [row for row in rows[:200] if isinstance(row, dict)]
    if sheet.key == "contents" or any(isinstance(row.get("parts"), list) and "role" in row for row in objects):
        return "gemini-contents"
    if any(is_item(row) for row in objects) or (sheet.key == "input" and objects):
        return "openai-items"
    if sheet.key == "messages" or any("role" in row for row in objects):
        wire = wire_of((row for row in rows if isinstance(row, dict)), sheet.fields.get("tools"))
        return "anthropic-messages" if wire == "anthropic" else "openai-messages"
    return ""


# -- what is wrong


def _shaped(make: Callable[[Sheet], Talk], sheet: Sheet) -> tuple[Talk, list[Mend]]:
    """The Talk over rows of a shape that can be looked at, and the mends that brought them there."""
    found: list[Mend] = []
    talk = make(sheet)
    for _ in range(_ROUNDS):
        mends = list(talk.shape_mends()) or list(wire_shape_mends(talk))
        if not mends:
            break
        for mend in mends:
            mend.apply()
        found += mends
        talk = make(sheet)
    return talk, found


def _found(talk: Talk, window: int | None) -> Iterator[Problem]:
    mends = [mend for stage in talk.stages() for mend in stage(talk)]
    for mend in mends:
        yield _of_mend(mend, talk.wire)
    if not any(strand.turns for strand in talk.strands):
        yield _problem("file", "no_messages", "there is no message in it.", talk.wire)
    explained = _explained(mends)
    for strand in talk.strands:
        for path, code, said, row in _of_wire(talk, strand):
            group = "pair" if code in PAIR_CODES else code
            if (group, row) not in explained:
                yield _problem(path, code, said, talk.wire)
    for look in (sign_problems, repeat_problems):
        for path, code, said in look(talk):
            yield _problem(path, code, said, talk.wire)
    for path, code, said in size_problems(talk, window):
        yield _problem(path, code, said, talk.wire, window)


def _explained(mends: list[Mend]) -> set[tuple[str, str]]:
    """(code, row) that a mend speaks of already; all problems of calls and results count as one."""
    found: set[tuple[str, str]] = set()
    for mend in mends:
        group = "pair" if mend.code in PAIR_CODES else mend.code
        rows = mend.touches or (_row(mend.path),)
        found.update((group, row) for row in rows)
    return found


def _row(path: str) -> str:
    """The row of a path: `line 12`, `line 12 payload.replacement_history[4]` or `messages[3]`."""
    found = _ROW.match(path)
    return found[0] if found else path


def _of_wire(talk: Talk, strand: Strand) -> Iterator[tuple[str, str, str, str]]:
    """What the provider's rules say of a conversation, in places of the file."""
    for problem in wire_problems(talk, strand):
        is_silent = problem.code in _OF_AN_END or problem.code in talk.silent
        if is_silent or (problem.code in _OF_A_REQUEST and not talk.is_request()):
            continue
        yield (
            talk.where(strand, problem.path),
            problem.code,
            problem.message,
            _row(talk.row_of(strand, problem.path)),
        )


def _problem(path: str, code: str, said: str, wire: str, window: int | None = None) -> Problem:
    severity = severity_of(code, wire)
    return Problem(path=path, code=code, message=said, severity=severity, advice=advice_of(code, severity, window))


def _of_mend(mend: Mend, wire: str) -> Problem:
    """A problem with what the repair does about it, when it does something."""
    severity = severity_of(mend.code, wire)
    advice = mend_of(mend.code, mend.change) or advice_of(mend.code, severity)
    return Problem(path=mend.path, code=mend.code, message=mend.problem, severity=severity, advice=advice)


def _unique(problems: list[Problem]) -> tuple[Problem, ...]:
    return tuple({(problem.path, problem.code): problem for problem in reversed(problems)}.values())[::-1]


# -- a working copy


def _all_mended(make: Callable[[Sheet], Talk], sheet: Sheet, *, without_thinking: bool) -> list[Change]:
    """Rounds of all mends, until one finds nothing; then what is to be done to whole rows."""
    changes = [Change(path=mend.path, code=mend.code, message=mend.change) for mend in sheet.mends]
    if without_thinking:
        changes += _without_thinking(make, sheet)
    for _ in range(_ROUNDS):
        done = _mended(make, sheet)
        changes += done
        if not done:
            break
    make(sheet).finish()
    for mend in sheet.mends:
        mend.apply()
    return changes


def _without_thinking(make: Callable[[Sheet], Talk], sheet: Sheet) -> list[Change]:
    talk, done = _shaped(make, sheet)
    done += _applied(list(thinking_mends(talk)))
    return _changes(done) + _emptied(sheet)


def _applied(mends: list[Mend]) -> list[Mend]:
    """Carry out the mends of one stage that change something."""
    for mend in mends:
        if mend.change:
            mend.apply()
    return mends


def _changes(mends: list[Mend]) -> list[Change]:
    return [Change(path=mend.path, code=mend.code, message=mend.change) for mend in mends if mend.change]


def _emptied(sheet: Sheet) -> list[Change]:
    """Messages that went with the last thing they held, each once."""
    said = "the message is left out: nothing else was in it"
    paths, sheet.emptied = dict.fromkeys(sheet.emptied), []
    return [Change(path=path, code="empty_content", message=said) for path in paths]


def _mended(make: Callable[[Sheet], Talk], sheet: Sheet) -> list[Change]:
    """One round of all mends, each stage on the rows as the one before left them."""
    talk, done = _shaped(make, sheet)
    for stage in talk.stages():
        mends = _applied(list(stage(talk)))
        done += mends
        if mends:
            talk = make(sheet)
    return _changes(done) + _emptied(sheet)


# -- formats without a writer


def _examine_events(data: bytes, sheet: Sheet | None, name: str, format: str, window: int | None) -> Diagnosis:
    problems = [_problem(mend.path, mend.code, mend.problem, "") for mend in (sheet.mends if sheet else ())]
    try:
        found = _imported(data, sheet, name, format)
    except WireError as error:
        place = error.path
        if place == (name or "file"):
            raise
        said = str(error).removeprefix(f"{place}: ")
        problems.append(_problem(place, "unreadable", said, ""))
        return Diagnosis(format=format, wire="", records=len(sheet.rows) if sheet else 0, problems=_unique(problems))
    texts = {known.name for known in importers.FORMATS if known.is_text}
    problems = [] if found[0].format in texts else problems  # lines of text need not be JSON
    talk = EventTalk(found)
    problems += [_of_event(mend) for mend in pair_mends(talk)]
    for look in (repeat_problems, _sizes(window)):
        problems += [_problem(path, code, said, "", window) for path, code, said in look(talk)]
    events = sum(len(one.events) for one in talk.found)
    return Diagnosis(format=talk.format, wire="", records=events, problems=_unique(problems))


def _imported(data: bytes, sheet: Sheet | None, name: str, format: str) -> list[importers.Imported]:
    """The sessions of a file. An importer stops at a line that is broken; then it gets the others."""
    try:
        return importers.read(data, format=format, name=name)
    except WireError:
        if sheet is None or not sheet.mends or not sheet.rows:
            raise
        return importers.read(sheet.bytes(), format=format, name=name)


def _of_event(mend: Mend) -> Problem:
    """A run that is over ends in a call that nothing answers, and nobody sends these files as they are."""
    problem = _problem(mend.path, mend.code, mend.problem, "")
    return msgspec.structs.replace(problem, severity="warning") if mend.code == "missing_result" else problem


def _sizes(window: int | None) -> Callable[[Talk], Iterator[Any]]:
    return lambda talk: size_problems(talk, window)
