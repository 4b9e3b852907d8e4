"""What a Claude Code screen shows of a call, as a call, and what it shows below as its result. Knows nothing of
sessions.

The screen names some tools by what they do; the calls have the names of the tools behind these words. Arguments
are what is shown, which may be shortened; nothing is added.
"""

from __future__ import annotations

import re
from typing import Any

from foldmark.wire.plain import compact_json

WAITING = ("Waiting…", "Running…", "Waiting...", "Running...")
"""Shown until there is a result: never one itself."""

_TOOLS = {
    "Update": "Edit",
    "Search": "Grep",
    "List": "LS",
    "Fetch": "WebFetch",
    "Web Search": "WebSearch",
}
_ARGUMENT = {
    "Bash": "command",
    "Read": "file_path",
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "LS": "path",
    "Grep": "pattern",
    "Glob": "pattern",
    "Task": "description",
    "WebFetch": "url",
    "WebSearch": "query",
}
_CALL = re.compile(r"([A-Z][A-Za-z]*|Web Search|\S+ - .+? \(MCP\))\((.*)\)", re.DOTALL)
_TODOS = re.compile(r"(Update|Read) Todos")
_TODO = re.compile(r"\s*([☐☒☑])\s+(.*)")
_PAIRS = re.compile(r'(\w+): ("(?:[^"\\]|\\.)*"|[^,]+)(?:, |$)', re.DOTALL)
_STOPPED = re.compile(r"Interrupted by user|\[Request interrupted|No \(tell Claude|User (?:rejected|declined)")
_PLAN = re.compile(r"User (rejected|approved) Claude's plan:?")


def call_of(shown: str) -> tuple[str, str] | None:
    """(name, arguments) of a shown call, None when the words are no call."""
    if match := _TODOS.fullmatch(shown.strip()):
        return ("TodoWrite" if match[1] == "Update" else "TodoRead"), "{}"
    match = _CALL.fullmatch(shown.rstrip())
    if not match:
        return None
    name = _TOOLS.get(match[1], match[1].removesuffix(" (MCP)").replace(" - ", "__"))
    return name, compact_json(_arguments(name, match[2]))


def _arguments(name: str, shown: str) -> dict[str, Any]:
    pairs = _PAIRS.findall(shown)
    if pairs and "".join(f"{key}: {value}, " for key, value in pairs).removesuffix(", ") == shown:
        return {key: value.strip('"') for key, value in pairs}
    return {_ARGUMENT.get(name, "input"): shown} if shown else {}


def todos_of(shown: str) -> str | None:
    """The arguments of a todo update, read from the list below it; None when that is no list of todos. What is
    in progress looks like what is still to do, and is given as that."""
    found = [match for line in shown.split("\n") if (match := _TODO.fullmatch(line))]
    if not found:
        return None
    todos = [{"content": match[2].rstrip(), "status": "pending" if match[1] == "☐" else "completed"} for match in found]
    return compact_json({"todos": todos})


def is_stop(shown: str) -> bool:
    """Whether a result says that the user stopped or refused something."""
    return bool(_STOPPED.match(shown))


def is_error(shown: str) -> bool:
    """Whether a result is shown as an error, or as refused or interrupted."""
    return is_stop(shown) or shown.startswith("Error:") or shown == "Error"


def is_plan(shown: str) -> bool:
    """Whether words are the verdict on a plan, which stands below."""
    return bool(_PLAN.fullmatch(shown.strip()))


def plan_of(shown: str) -> tuple[str, str] | None:
    """(the program's verdict, the plan) where a plan was put to the user, else None. The frame goes."""
    head, _, body = shown.partition("\n")
    if not is_plan(head):
        return None
    rows = [line.strip() for line in body.split("\n")]
    inside = [row.removeprefix("│ ").removesuffix("│").rstrip() for row in rows if not row.startswith(("╭", "╰"))]
    return head.strip(), "\n".join(inside).strip("\n")
