"""The new history that a `compacted` line of a rollout holds, as rows of their own while they are looked at. Knows
nothing of what is wrong with them.

Codex goes on with this list when it resumes (it stands for everything before the line), so that it is mended like the
items of the file.
"""

from __future__ import annotations

from typing import Any

from foldmark.doctor.rows import Row
from foldmark.doctor.sheet import Sheet
from foldmark.wire.plain import compact_json

_HISTORY = "replacement_history"


def unfold(sheet: Sheet) -> None:
    """Put the items of each new history behind its line. Doing it again changes nothing."""
    for home in [row for row in sheet.rows if row not in sheet.unfolded and _history(row)]:
        before = home
        sheet.unfolded.add(home)
        for at, item in enumerate(_history(home)):
            value = {"type": "response_item", "payload": item}
            if "timestamp" in home.value:
                value["timestamp"] = home.value["timestamp"]
            row = Row(f"{home.path} payload.{_HISTORY}[{at}]", compact_json(item), value)
            row.home = home
            sheet.rows.put(row, before)
            before = row


def fold(sheet: Sheet) -> None:
    """Put the items back into the lines that hold them; a line none of whose items changed keeps its bytes."""
    held: dict[Row, list[Row]] = {home: [] for home in sheet.rows if home in sheet.unfolded}
    for row in list(sheet.rows):
        if row.home is not None:
            held[row.home].append(row)
            sheet.rows.remove(row)
    for home, rows in held.items():
        items, old = [row.value["payload"] for row in rows], _history(home)
        is_same = len(items) == len(old) and all(new is item for new, item in zip(items, old, strict=True))
        if not is_same or any(row.changed for row in rows):
            home.value["payload"][_HISTORY] = items
            home.changed = True
    sheet.unfolded.clear()


def _history(row: Row) -> list[Any]:
    value: Any = row.value
    payload = value.get("payload") if isinstance(value, dict) and value.get("type") == "compacted" else None
    history = payload.get(_HISTORY) if isinstance(payload, dict) else None
    return history if isinstance(history, list) else []
