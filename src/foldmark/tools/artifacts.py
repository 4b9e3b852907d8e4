"""The tools by which an agent looks into a big result without loading it. Knows nothing of how bodies are read.

Whose bodies they are is said by the session that they are made from, never by a model. What is answered is bounded,
marked as evidence, and says where to go on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from foldmark.aio import AsyncSession
from foldmark.errors import FoldmarkError
from foldmark.evidence import joined, one_line, opening, quoted
from foldmark.opening import Opened, Told, grep, head, query, read_lines, stat, table, tail, told
from foldmark.reach import within
from foldmark.seeking import Reach
from foldmark.session import Session
from foldmark.tools import asked
from foldmark.tools.asked import Unclear
from foldmark.tools.naming import names_of
from foldmark.tools.tool import Tool, tool_of

STAT, LINES, GREP, JSON, TABLE = ARTIFACT_TOOLS = (
    *("artifact_stat", "artifact_lines", "artifact_grep", "artifact_json", "artifact_table"),
)
ANSWER_CHARACTERS = 8_000
"""The most that a tool answers."""
_LIMITS = (6_500, 3_000, 1_200)
"""Characters of stored text that are asked for: fewer where its many lines take much room to mark."""
_MOST_LINES = 500
_SENTENCE = 600

Look = Callable[[Opened, Mapping[str, Any], int], Told]


def artifact_tools(
    session: Session | AsyncSession, *, reach: Reach = "children", names: Mapping[str, str] | None = None,
    redact: bool = True,
) -> list[Tool]:  # fmt: skip
    """`artifact_stat`, `artifact_lines`, `artifact_grep`, `artifact_json` and `artifact_table` for a model: what a body
    is, its lines, a search in it, a JMESPath query, a sample of a table.

    `reach` is how far a ref may lead, `names` gives tools other names, by their own, and `redact` shows labels for
    secrets; all three as in `recall_tools`, with its errors.
    """
    within(reach)
    called = names_of({name: name for name in ARTIFACT_TOOLS}, names, session.policy)
    looks: dict[str, tuple[str, dict[str, Any], Look]] = {
        STAT: (_STAT, {}, _stat), LINES: (_LINES, _LINES_SCHEMA, _lines), GREP: (_GREP, _GREP_SCHEMA, _grep),
        JSON: (_JSON, _JSON_SCHEMA, _json), TABLE: (_TABLE, _TABLE_SCHEMA, _table),
    }  # fmt: skip

    def made(name: str) -> Tool:
        said, schema, look = looks[name]
        answer = partial(_answer, schema=_schema(schema), look=look, reach=reach, redact=redact)
        return tool_of(session, called[name], said, _schema(schema), answer)

    return [made(name) for name in ARTIFACT_TOOLS]


def _answer(
    session: Session, arguments: Mapping[str, Any] | None, *, schema: Mapping[str, Any], look: Look, reach: Reach,
    redact: bool,
) -> str:  # fmt: skip
    """What a look found, or the sentence that says what to write."""
    try:
        given = asked.read(arguments, list(schema["properties"]))
        ref = asked.text(given, "ref")
        if not ref:
            raise Unclear("write in ref what to look into, such as artifact:12 or event:12.")
        body = session.open(ref, reach=reach, redact=redact)
        answers = (_marked(look(body, given, limit)) for limit in _LIMITS)
        return next((text for text in answers if len(text) <= ANSWER_CHARACTERS), _TOO_LONG)
    except (Unclear, FoldmarkError) as error:
        return f"Nothing was looked up: {_flat(str(error))}"


def _marked(found: Told) -> str:
    """A look, marked as evidence: every line of what was stored behind a bar."""
    return joined(
        [
            opening(f"recalled {found.ref}, {found.head}"),
            quoted(found.text.rstrip("\n")) if found.text else "",
            f"[{one_line(found.note, _SENTENCE)}]" if found.note else "",
            f"[next: {_flat(found.next)}]" if found.next else "",
        ]
    )


def _flat(text: str) -> str:
    """A sentence or query in one line; its brackets stay, a query needs them."""
    return " ".join(text[:_SENTENCE].split())


_TOO_LONG = "Nothing is shown: what was found is too long. Ask for fewer lines, rows or columns."


# -- the looks


def _stat(body: Opened, given: Mapping[str, Any], limit: int) -> Told:
    found = told(stat(body))
    return msgspec.structs.replace(found, text=found.text[:limit])


def _lines(body: Opened, given: Mapping[str, Any], limit: int) -> Told:
    wanted = asked.text(given, "lines") or "40"
    found = re.fullmatch(r"(?P<end>-?)(?P<first>[0-9]{1,9})(?:\s*-\s*(?P<last>[0-9]{1,9}))?", wanted)
    if not found or (found["end"] and found["last"]) or not int(found["first"]):
        raise Unclear(f"lines takes 40 (the first), -40 (the last) or 120-160, not {wanted[:60]!r}.")
    first, last = int(found["first"]), int(found["last"] or 0)
    if found["end"]:
        return told(tail(body, min(first, _MOST_LINES), limit=limit))
    if not last:
        return told(head(body, min(first, _MOST_LINES), limit=limit))
    return told(read_lines(body, first, min(last, first + _MOST_LINES - 1), limit=limit))


def _grep(body: Opened, given: Mapping[str, Any], limit: int) -> Told:
    pattern = asked.text(given, "pattern")
    if not pattern:
        raise Unclear("write in pattern what the lines must hold: plain text, or a regular expression.")
    context, most = asked.number(given, "context", 0, 0, 10), asked.number(given, "limit", 30, 1, 200)
    ignore_case = asked.choice(given, "case", ("exact", "ignore"), "exact") == "ignore"
    return told(grep(body, pattern, ignore_case=ignore_case, context=context, limit=most, characters=limit))


def _json(body: Opened, given: Mapping[str, Any], limit: int) -> Told:
    return told(query(body, asked.text(given, "query") or "@", limit=limit))


def _table(body: Opened, given: Mapping[str, Any], limit: int) -> Told:
    take: Any = asked.choice(given, "take", ("spread", "first", "last"), "spread")
    rows = asked.number(given, "rows", 12, 1, 100)
    where, columns = asked.texts(given, "where"), asked.texts(given, "columns")
    return told(table(body, rows=rows, take=take, where=where, columns=columns, limit=limit))


# -- what a model is told of them


def _schema(own: Mapping[str, Any]) -> dict[str, Any]:
    properties = {"ref": {"type": "string", "description": _REF}, **own}
    needed = ["ref", *(name for name in own if name == "pattern")]
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def _text(description: str, allowed: Sequence[str] = ()) -> dict[str, Any]:
    return {"type": "string", "description": description, **({"enum": list(allowed)} if allowed else {})}


def _several(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _number(description: str) -> dict[str, Any]:
    return {"type": "integer", "description": description}


_REF = "artifact:12, event:12, call:<id>, or a range of one: artifact:12#L200-900."
_STAT = "What a stored result is, before reading it: size, lines, tokens, kind, JSON keys or table columns."
_LINES = "Lines of a stored result: the first, the last, or a range. Names the ref to go on with."
_GREP = "Search inside one stored result, line by line, with a regular expression. Gives line numbers."
_JSON = "Ask a stored JSON or JSON lines result a JMESPath query, e.g. items[?status=='failed'].id | [0:10]."
_TABLE = "Sample of a stored table (CSV, TSV, Markdown, JSON objects): columns, row count, some rows."
_LINES_SCHEMA = {"lines": _text("40 for the first 40 (default), -40 for the last 40, or a range: 120-160.")}
_GREP_SCHEMA = {
    "pattern": _text("Plain text or a regular expression."),
    "case": _text("exact (default) or ignore.", ("exact", "ignore")),
    "context": _number("Lines shown before and after each match, 0 to 10; 0 by default."),
    "limit": _number("Matching lines at most, 1 to 200; 30 by default."),
}
_JSON_SCHEMA = {"query": _text("JMESPath; @ (all of it) by default. Of JSON lines the document is their array.")}
_TABLE_SCHEMA = {
    "rows": _number("Rows at most, 1 to 100; 12 by default."),
    "take": _text("spread (evenly over the table, default), first or last.", ("spread", "first", "last")),
    "where": _several("Conditions that all must hold: status=failed, name~smith, price>=10."),
    "columns": _several("Columns to show; all by default."),
}
