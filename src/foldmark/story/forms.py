"""From the text of an answer to bare statements: JSON, JSON in a wrapping, or headings with a list. Knows nothing of
what makes a statement good, or of the events behind it.

Small models wrap, rename and half-follow: what can be understood without guessing is taken, the rest is named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from foldmark.checkpoint import Field
from foldmark.narrative import FIELDS, MOST_REFS, TITLES

_LONGEST_TEXT = 4_000  # characters of a statement that are looked at; it is cut to a tenth later
_MOST_STATEMENTS = 400  # of one answer that are looked at
_STARTS = 24  # places where JSON may begin that are tried

_ALIASES: dict[str, tuple[str, ...]] = {
    "current_work": ("current_state", "current_task", "current_status", "in_progress", "work_in_progress", "now"),
    "next_steps": ("next_step", "next", "next_actions", "next_action", "remaining_steps", "todo", "todos"),
    "decisions": ("decision", "key_decisions", "decisions_made", "decided"),
    "failed_approaches": (
        "failed_approach", "failed_attempts", "failed_attempt", "failed", "failures", "rejected_approaches",
        "what_failed", "approaches_that_failed",
    ),
    "open_questions": ("open_question", "questions", "unknown", "unknowns", "open_issues", "unanswered_questions"),
    "conflicts": ("conflict", "contradictions", "conflicting", "conflicting_statements"),
}  # fmt: skip
_TEXT_KEYS = ("text", "statement", "item", "description", "content", "summary", "decision", "step", "question", "what")
_WHY_KEYS = ("why", "reason", "because", "rationale")
_REF_KEYS = ("refs", "ref", "events", "event", "evidence", "sources", "source", "seq", "seqs")


class Statement(msgspec.Struct, frozen=True):
    """A statement as it was told: nothing in it is bounded or checked yet."""

    field: Field
    text: str
    why: str = ""
    refs: tuple[int, ...] = ()


class Found(msgspec.Struct, frozen=True):
    """What an answer holds. `is_readable` says whether it had a form at all, `rest` is its text outside the
    statements, `unknown` names fields that are not ours."""

    statements: tuple[Statement, ...] = ()
    is_readable: bool = False
    rest: str = ""
    unknown: tuple[str, ...] = ()


def field_of(name: str) -> Field | None:
    """Our field behind a key or a heading: its name, its title, or a usual other word for it."""
    return _FIELD_OF.get(_key(name))


def _key(name: str) -> str:
    return re.sub(r"[\W_]+", "_", re.sub(r"\([^)]*\)", "", name).lower()).strip("_")


_FIELD_OF: dict[str, Field] = {
    _key(word): field for field in FIELDS for word in (field, TITLES[field], *_ALIASES.get(field, ()))
}


_NAMES = frozenset(_key(word) for field in FIELDS for word in (field, TITLES[field]))


def find_statements(text: str) -> Found:
    """The statements of an answer, in whichever form they stand."""
    for candidate in (text, _COMMA_BEFORE_END.sub(r"\1", text)):
        best = max(_json_forms(candidate), key=lambda found: len(found.statements), default=None)
        if best:
            return best
    return _under_headings(text)


_COMMA_BEFORE_END = re.compile(r",(?=\s{0,40}[}\]])()")
_OURS = re.compile(r'\{\s{0,80}"(?:' + "|".join(FIELDS) + r')"', re.IGNORECASE)
_ANY_START = re.compile(r'[{\[]\s{0,80}["{]')


def _json_forms(text: str) -> Iterator[Found]:
    """Every JSON value in the text that has our fields. Where none of ours begins, any may."""
    starts = [match.start() for match, _ in zip(_OURS.finditer(text), range(_STARTS), strict=False)]
    starts += [match.start() for match, _ in zip(_ANY_START.finditer(text), range(_STARTS), strict=False)]
    after = -1
    for start in sorted(set(starts)):
        if start < after:
            continue
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        fields, unknown = _fields_of(value)
        if fields is not None:
            after = end
            statements = tuple(_from_fields(fields))
            yield Found(statements, True, f"{text[:start]}\n{text[end:]}", tuple(unknown))


_DECODER = json.JSONDecoder(strict=False)  # small models write real line breaks inside strings


def _fields_of(value: Any, depth: int = 0) -> tuple[list[tuple[Field, Any]] | None, list[str]]:
    """(field, what stands in it) pairs of a decoded value and the names that are not ours; None when it has no field
    of ours. Wrapped once or twice (`{"summary": {…}}`), or a list of items that name their field."""
    if isinstance(value, list) and depth < 3:
        rows = [row for row in value[:_MOST_STATEMENTS] if isinstance(row, dict) and isinstance(row.get("field"), str)]
        named = [(field_of(row["field"]), row) for row in rows]
        pairs = [(field, row) for field, row in named if field]
        return (pairs, []) if pairs else (None, [])
    if not isinstance(value, dict):
        return None, []
    ours = [(field, inside) for name, inside in value.items() if (field := field_of(str(name)))]
    if ours:
        return ours, [str(name)[:40] for name in value if not field_of(str(name))]
    for inside in value.values():
        if depth < 3 and isinstance(inside, dict | list):
            found, unknown = _fields_of(inside, depth + 1)
            if found:
                return found, unknown
    return None, []


def _from_fields(fields: list[tuple[Field, Any]]) -> Iterator[Statement]:
    left = _MOST_STATEMENTS
    for field, inside in fields:
        rows = inside if isinstance(inside, list) else inside.split("\n") if isinstance(inside, str) else [inside]
        for row in rows[:left]:
            left -= 1
            if statement := _statement(field, row):
                yield statement


def _statement(field: Field, row: Any) -> Statement | None:
    """A statement from a string, or from a mapping in which one key holds the words."""
    if isinstance(row, str):
        return from_line(field, row)
    if not isinstance(row, Mapping):
        return None
    names = {str(name).lower(): value for name, value in row.items()}
    text = next((names[key] for key in _TEXT_KEYS if isinstance(names.get(key), str)), "")
    if not text:
        others = (value for key, value in names.items() if key not in (*_WHY_KEYS, *_REF_KEYS, "field"))
        text = next((value for value in others if isinstance(value, str)), "")
    why = next((names[key] for key in _WHY_KEYS if isinstance(names.get(key), str)), "")
    refs = tuple(ref for key in _REF_KEYS if key in names for ref in refs_of(names[key]))
    told = from_line(field, text)
    if told is None:
        return None
    return Statement(field, told.text, why[:_LONGEST_TEXT] or told.why, _first((*refs, *told.refs)))


_NOTHING = re.compile(r"^\W*(?:none|nothing|n/?a|null|unknown|empty|no (?:items?|entries|data))?\W*$", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*•+–]|\d{1,3}[.)])\s+(?:\[[ xX~]\]\s+)?")
_REFS_BEHIND = re.compile(
    r"\s?(?:\(\s?(?:refs?|see|from)?[:\s]{0,2}(events?\b[^()]{1,120})\)"
    r"|\[\s?((?:events?\b[^\[\]]{1,120}|\d[\d ,;–-]{0,80}))\])"
    r"\s{0,4}\.?\s{0,4}$",
    re.IGNORECASE,
)
_MENTION = re.compile(r"\bevent:(\d{1,9})(?![\d@])")
_WHY = re.compile(r"(?<=[.;,)!?])\s{1,4}(?:why|reason|because)\s?:\s{0,4}", re.IGNORECASE)


def from_line(field: Field, line: str) -> Statement | None:
    """A statement from one line: its bullet goes, refs in brackets behind it are taken, `Why: …` is its reason. None
    for a line that only says there is nothing."""
    text = _BULLET.sub("", line[:_LONGEST_TEXT]).strip()
    refs: tuple[int, ...] = ()
    if behind := _REFS_BEHIND.search(text[-200:]):
        refs = refs_of(behind[1] or behind[2])
        text = text[: len(text) - len(behind[0])].rstrip() if refs else text
    refs += tuple(int(number) for number in _MENTION.findall(text)[:MOST_REFS])
    parted = _WHY.split(text, maxsplit=1)
    if _NOTHING.match(parted[0]):
        return None
    return Statement(field, parted[0].strip(), parted[1].strip() if len(parted) > 1 else "", _first(refs))


_RANGE = re.compile(r"(\d{1,12})(?:\s?[-–]\s?(?:event:)?(\d{1,12}))?(@[\w.-]+)?")
_NO_EVENT = re.compile(r"\b(?:compaction:\d+|artifact:sha256:\w+|sha256:\w+|event:\d+@[\w.-]+)")


def refs_of(value: Any, depth: int = 0) -> tuple[int, ...]:
    """Event numbers of whatever stands where refs are expected: 12, "12", "event:12", "event:12-14", [12], nested."""
    if isinstance(value, bool) or value is None:
        return ()
    if isinstance(value, int | float):
        return (int(value),) if 0 < value < 1e9 and value == int(value) else ()
    if isinstance(value, str):
        return _first(_from_text(value[:400]))
    if isinstance(value, list | tuple) and depth < 2:
        return _first(ref for one in value[:64] for ref in refs_of(one, depth + 1))
    if isinstance(value, Mapping) and depth < 2:
        return _first(ref for key in (*_REF_KEYS, "id") if key in value for ref in refs_of(value[key], depth + 1))
    return ()


def _from_text(text: str) -> Iterator[int]:
    for low, high, elsewhere in _RANGE.findall(_NO_EVENT.sub(" ", text)):
        first, last = int(low), int(high or low)
        if elsewhere or not 0 < first < 1e9 or not 0 < last < 1e9:
            continue
        yield from range(first, last + 1) if first <= last <= first + MOST_REFS else (first, last)


def _first(refs: Any) -> tuple[int, ...]:
    return tuple(dict.fromkeys(refs))[:MOST_REFS]


_HEADING = re.compile(r"^\s{0,3}(?:(#{1,6})\s{0,4}|\*\*)?([A-Za-z][\w /'&,-]{2,60}(?:\([^)\n]{0,80}\))?)[:*\s]{0,6}$")
_INLINE = re.compile(r"^\s{0,3}(?:[-*]\s{1,3})?(?:\*\*)?([A-Za-z][\w ]{2,30}?)(?:\*\*)?:(?:\*\*)?\s{1,4}(\S.*)$")


def _under_headings(text: str) -> Found:
    """`## decisions` and lines below it. A further line that is indented belongs to the statement before."""
    statements: list[Statement] = []
    rest: list[str] = []
    unknown: list[str] = []
    field: Field | None = None
    is_readable = False
    for line in text.split("\n"):
        if len(statements) >= _MOST_STATEMENTS:
            break
        heading = _HEADING.match(line[:200])
        named = field_of(heading[2]) if heading else None
        if named or (heading and (heading[1] or line.lstrip().startswith("**"))):
            field, is_readable = named, is_readable or bool(named)
            unknown += [] if named else [heading[2][:40]] if heading else []
        elif (inline := _INLINE.match(line[:_LONGEST_TEXT])) and _key(inline[1]) in _NAMES:
            field, is_readable = field_of(inline[1]), True
            statements += filter(None, [from_line(cast(Field, field), inline[2])])
        elif field is None or not line.strip():
            rest.append(line[:_LONGEST_TEXT])
        elif line.startswith(("  ", "\t")) and not _BULLET.match(line) and statements:
            statements[-1] = _continued(statements[-1], line)
        else:
            statements += filter(None, [from_line(field, line)])
    return Found(tuple(statements), is_readable, "\n".join(rest), tuple(unknown))


def _continued(statement: Statement, line: str) -> Statement:
    more = cast(Statement, from_line(statement.field, f"x. {line.strip()}"))  # never None: it has a letter
    text = f"{statement.text} {more.text[2:].strip()}".strip()
    return Statement(
        statement.field, text[:_LONGEST_TEXT], statement.why or more.why, _first(statement.refs + more.refs)
    )
