"""Facts from plans and questions: todo lists, checklists, answers and approvals that came through a tool.

Knows nothing of files, commands or users' messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from foldmark.events import Reading, ToolCall
from foldmark.facts.ledger import Ledger
from foldmark.profiles import decode

_DONE_WORDS = {
    "completed": "done",
    "complete": "done",
    "done": "done",
    "x": "done",
    "finished": "done",
    "closed": "done",
}
_ACTIVE_WORDS = {"in_progress": "active", "active": "active", "doing": "active", "started": "active"}
_CHECKBOX = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+\[([ xX~/-])\]\s+(\S.*)$", re.MULTILINE)


def note_plan(ledger: Ledger, reading: Reading, call: ToolCall) -> None:
    values = decode(call.arguments)
    items = values.get("todos") or values.get("plan") or values.get("items") or values.get("tasks")
    if isinstance(items, list):
        note_todos(ledger, reading, list(_plan_items(items)), source="plan")
    elif isinstance(items, str):
        note_todos(ledger, reading, list(checkboxes(items)), source="plan")
    else:
        _note_task(ledger, reading, values)


def _note_task(ledger: Ledger, reading: Reading, values: Mapping[str, Any]) -> None:
    """Tools that make and change one item at a time: the answer to the making names the item's number."""
    event, number = reading.event, str(values.get("taskId") or values.get("task_id") or "")
    subject = str(values.get("subject") or values.get("title") or "")
    known = next((fact for fact in ledger.all("todo") if number and fact.meta.get("id") == number), None)
    word = str(values.get("status") or "pending").lower()
    status = "gone" if word.startswith("delete") else _status(word)
    if known:
        ledger.add(
            event.seq,
            "todo",
            known.key,
            known.value,
            status=status,
            scope=event.key,
            refs=(known.seq, *known.refs),
            meta=known.meta,
        )
    elif subject and (made := re.search(r"#?(\d+)", reading.text[:200])):
        key = " ".join(subject.split())[:200]
        meta = {"id": made[1], "source": "task", "order": made[1]}
        ledger.add(event.seq, "todo", key, one_line(subject, 400), status=status, scope=event.key, meta=meta)


def _plan_items(items: list[Any]) -> Iterator[tuple[str, str]]:
    for item in items:
        if isinstance(item, str):
            yield item, "pending"
        elif isinstance(item, dict):
            text = next(
                (
                    str(item[name])
                    for name in ("content", "step", "title", "task", "text", "description", "subject")
                    if item.get(name)
                ),
                "",
            )
            word = str(item.get("status", "pending")).lower()
            if text:
                yield text, _status(word)


def _status(word: str) -> str:
    if word.startswith(("cancel", "skip", "delete")):
        return "cancelled"
    return _DONE_WORDS.get(word) or _ACTIVE_WORDS.get(word) or "pending"


def checkboxes(text: str) -> Iterator[tuple[str, str]]:
    """(item, status) of a markdown checklist."""
    for box, item in _CHECKBOX.findall(text):
        yield item.strip(), {" ": "pending", "x": "done", "X": "done"}.get(box, "active")


def note_todos(ledger: Ledger, reading: Reading, items: list[tuple[str, str]], *, source: str) -> None:
    """Take a whole list: changed items become facts, items that are not in it any more are withdrawn."""
    event, named = reading.event, set()
    for number, (text, status) in enumerate(items, 1):
        key = " ".join(text.split())[:200]
        named.add(key)
        known = ledger.said("todo", key, event.key)
        if known is None or known.status != status:
            ledger.add(
                event.seq,
                "todo",
                key,
                one_line(text, 400),
                status=status,
                scope=event.key,
                refs=(known.seq,) if known else (),
                meta={"source": source, "order": str(number)},
            )
    if items and source == "plan":
        for fact in ledger.all("todo"):
            if fact.key not in named and fact.meta.get("source") == source and fact.scope == event.key:
                ledger.add(
                    event.seq,
                    "todo",
                    fact.key,
                    fact.value,
                    status="gone",
                    scope=event.key,
                    refs=fact.refs,
                    meta=fact.meta,
                )


def note_answer(ledger: Ledger, reading: Reading, call: ToolCall) -> None:
    event, values = reading.event, decode(call.arguments)
    if "plan" in call.name.lower() or "approv" in call.name.lower():
        says_yes = bool(re.search(r"\bapproved?\b|\byes\b", reading.text[:400], re.IGNORECASE))
        ledger.add(
            event.seq,
            "approval",
            f"{call.name} {event.seq}",
            one_line(reading.text, 300),
            status="granted" if says_yes else "asked",
            scope=event.key,
            refs=(reading.call_seq,),
        )
        return
    question = one_line(_question(values), 240) or call.name
    ledger.add(
        event.seq,
        "question",
        question,
        f"{question} Answer: {one_line(reading.text, 400)}",
        status="answered",
        scope=event.key,
        refs=(reading.call_seq,),
    )


def _question(values: Mapping[str, Any]) -> str:
    found = values.get("questions") or values.get("question") or values.get("prompt") or values.get("message") or ""
    if isinstance(found, list):
        parts = [item.get("question", "") if isinstance(item, dict) else str(item) for item in found]
        return " / ".join(part for part in parts if part)
    return str(found)


def one_line(text: str, limit: int) -> str:
    """One line of at most `limit` characters, cut at a word."""
    line = " ".join(text[: limit * 4].split())
    if len(line) <= limit:
        return line
    return (line[:limit].rpartition(" ")[0] or line[:limit]) + " …"
