"""Errors that a database answers with: the error, where in the statement, its hint. Knows nothing of result tables.

PostgreSQL, MySQL, SQLite, SQL Server, Oracle and ClickHouse, as their command lines print them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, profile
from foldmark.kinds.body import Body, Count, compose, edges
from foldmark.kinds.lines import Line, Signs, clipped, counted, ends_of, is_whole, not_yet, said_in, sort_lines, unlike

_ERROR = Signs(
    re.compile(
        r"(?:psql:\S{0,200} )?(?:ERROR|FATAL|PANIC): {1,2}\S|ERROR \d+ \(\w{5}\)"
        r"|[Ee]rror(?: near line \d+)?: (?:in prepare, |near |no such |stepping, |UNIQUE )|(?:Parse|Runtime) error\b"
        r"|Msg \d+, Level \d+, State \d+|Code: \d+\. DB::Exception"
        r"|(?:sqlite3\.|psycopg2?\.|\()?(?:\w+\.)?(?:Operational|Programming|Integrity)Error\b"
    ),
    re.compile(r"\bORA-\d{5}: "),
)
_MORE = re.compile(r"(?:LINE \d+: |DETAIL: |HINT: |CONTEXT: |QUERY: |SQLSTATE: |STATEMENT: | +\^)")
_WORDS = ("ERROR", "FATAL", "PANIC", "rror", "Msg ", "ORA-", "DB::", "LINE ", "DETAIL", "HINT", "CONTEXT", "QUERY", "^")
_TOOL = re.compile(
    r"\b(?:psql|mysql|mariadb|sqlite3|sqlcmd|sqlplus|clickhouse(?:-client)?|duckdb|cockroach)\b", re.IGNORECASE
)
_SQL = re.compile(r"\b(?:select|insert into|update|delete from|create table|alter table)\b", re.IGNORECASE)


def _meanings(line: str) -> Iterator[str]:
    if _ERROR.fit(line):
        yield "error"
    elif _MORE.match(line):
        yield "more"


def _recognise(text: str, call: ToolCall | None) -> float:
    said = said_in(ends_of(text), _meanings, _WORDS)
    if "error" not in said:
        return 0.0
    if _asks_database(call):
        return 0.79
    return 0.66 if "more" in said or any(sign in text[:2_000] for sign in ("ORA-", "Msg ", "DB::")) else 0.0


def _asks_database(call: ToolCall | None) -> bool:
    """Whether a call starts a database's command line, holds a statement, or has SQL in its name."""
    if call is None or profile(call).role in ("reads", "searches"):
        return False
    asked = call.arguments[:4_000]
    return bool(_TOOL.search(asked) or "sql" in call.name.lower() or _SQL.search(asked))


def _found(body: Body) -> tuple[dict[str, list[Line]], str]:
    found = sort_lines(body, _meanings, _WORDS)
    return found, counted(found.get("error", []), "error line") if is_whole(body) else ""


def outcome(text: str, call: ToolCall | None) -> str:
    found, counts = _found(Body(text))
    errors = clipped(unlike(found.get("error", []))[:3], 200)
    more = clipped(line for line in unlike(found.get("more", [])) if line[1].strip("^ "))
    return "; ".join(filter(None, [counts, " | ".join(errors), " | ".join(more[:3])]))


def _wanted(body: Body, found: dict[str, list[Line]]) -> Iterator[Line]:
    """Errors, each with its statement's line and hint, then both ends."""
    errors = [*found.get("error", []), *found.get("more", [])]
    yield from sorted(unlike(errors))[:60]
    yield from edges(body, 20, 40)


def preview(text: str, budget_tokens: int, count: Count) -> str:
    body = Body(text)
    found, counts = _found(body)
    return compose(body, not_yet(_wanted(body, found)), budget_tokens, count, f"database: {counts}" if counts else "")


SQL_ERROR = Kind("sql error", _recognise, outcome, preview)
