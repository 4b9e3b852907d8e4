"""Codex rollout files: each line wraps an event, a turn or a Responses item. Knows nothing of the items' own rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from foldmark.doctor.chain import new_uuid
from foldmark.doctor.items import ItemTalk
from foldmark.doctor.replaced import fold, unfold
from foldmark.doctor.rows import Row
from foldmark.doctor.shapes import shaped_item
from foldmark.doctor.sheet import Sheet
from foldmark.doctor.talk import Stage, Strand
from foldmark.doctor.values import Mend
from foldmark.wire.responses_items import KNOWN

_ID_IN_NAME = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl\Z", re.IGNORECASE)
_TIME_IN_NAME = re.compile(r"rollout-(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d)-")
_TYPES = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")


def codex_talk(sheet: Sheet) -> ItemTalk:
    """The Talk for a rollout of either form."""
    rows = [row.value for row in sheet.rows if isinstance(row.value, dict)][:50]
    is_wrapped = any(row.get("type") in _TYPES and isinstance(row.get("payload"), dict) for row in rows)
    return CodexTalk(sheet) if is_wrapped or not any("record_type" in row for row in rows) else OldCodexTalk(sheet)


def _is_sent(item: Any) -> bool:
    """Whether an item goes to the provider. Codex keeps others among them (snapshots of files) for itself."""
    if not isinstance(item, dict):
        return False
    kind = item.get("type") or ("message" if "role" in item else "")
    return isinstance(kind, str) and kind in KNOWN


def is_codex(sheet: Sheet) -> bool:
    """Whether the first rows are those of a rollout."""
    rows = [row.value for row in sheet.rows if isinstance(row.value, dict)][:50]
    if sheet.kind == "lines" and any("record_type" in row for row in rows[:5]):
        return True
    return any(row.get("type") in _TYPES and isinstance(row.get("payload"), dict) for row in rows)


class OldCodexTalk(ItemTalk):
    """The rollouts of the first versions: a head, and then the bare items, one a line."""

    format = "codex"

    def is_item(self, row: Row) -> bool:
        return not isinstance(row.value, dict) or _is_sent(row.value)


class CodexTalk(ItemTalk):
    """The items of a rollout. What stands before a `compacted` line was replaced by it, so each part is a conversation
    of its own."""

    format, inner = "codex", "payload"

    def __init__(self, sheet: Sheet) -> None:
        unfold(sheet)
        super().__init__(sheet)

    def finish(self) -> None:
        fold(self.sheet)

    def at(self, row: Row, rest: str = "") -> str:
        return row.path + rest if row.home is not None else super().at(row, rest)

    def read(self) -> Iterable[Strand]:
        parts: list[list[Row]] = [[]]
        for row in self.records():
            kind = row.value.get("type") if isinstance(row.value, dict) else None
            if kind == "compacted":
                parts.append([])
            elif kind == "response_item" and _is_sent(row.value.get("payload")):
                parts[-1].append(row)
        return [self.strand(part) for part in parts if part]

    def is_item(self, row: Row) -> bool:
        return isinstance(row.value, dict) and row.value.get("type") == "response_item"

    def new_row(self, after: Row | None, message: Any, like: Row | None = None) -> Row:
        near = like or after
        stamp = near.value.get("timestamp") if near is not None else None
        head = {"timestamp": stamp} if stamp is not None else {}
        value = {**head, "type": "response_item", "payload": message}
        return self.sheet.insert_after(after, value, near.path if near else "")

    def shape_mends(self) -> Iterator[Mend]:
        for row in self.records():
            if not isinstance(row.value, dict) or (
                self.is_item(row) and not isinstance(row.value.get("payload"), dict)
            ):
                said = "is no record of a rollout: it has no payload."
                yield Mend(row.path, "shape", said, "left out of the copy", partial(self._reject, row))
            elif self.is_item(row):
                yield from self._item_mends(row)

    def _item_mends(self, row: Row) -> Iterator[Mend]:
        item = self.message(row)
        shaped = shaped_item(item)
        if shaped is not item and shaped is not None:
            change = "brought into the shape that the API takes; nothing of its text is changed"
            apply = partial(self.set_message, row, shaped)
            yield Mend(self.at(row), "shape", "is not of the shape that the API takes.", change, apply)

    def _reject(self, row: Row) -> None:
        self.sheet.rejected.append(row.raw)
        self.sheet.drop(row)

    def stages(self) -> list[Stage]:
        return [type(self).head_mends, *super().stages()]

    def head_mends(self) -> Iterator[Mend]:
        """A rollout begins with its `session_meta`; what Codex needs to resume stands there."""
        metas = [
            row for row in self.records() if isinstance(row.value, dict) and row.value.get("type") == "session_meta"
        ]
        records = self.records()
        if metas and records[0] is not metas[0]:
            said = "session_meta is not the first line."
            apply = partial(self._to_front, metas[0])
            yield Mend(metas[0].path, "session_meta", said, "moved to the front", apply)
        elif not metas and records:
            yield self._no_head(records[0])

    def _no_head(self, first: Row) -> Mend:
        said = "the file has no session_meta line, without which Codex does not resume it"
        head = minimal_head(self.sheet)
        if head is None:
            said += "; a new one cannot be made, since no turn_context names the folder, or nothing tells the time."
            return Mend(first.path, "no_session_meta", said, "", _nothing)
        apply = partial(self._put_in_front, head, first)
        named = f"id {head['payload']['id']}, folder {head['payload']['cwd']!r}"
        change = f"a minimal one is put in front ({named}); what else it said is lost"
        return Mend(first.path, "session_meta", f"{said}.", change, apply)

    def _put_in_front(self, head: dict[str, Any], first: Row) -> None:
        self.sheet.insert_after(None, head, first.path)

    def _to_front(self, row: Row) -> None:
        self.sheet.move_after(row, None)


def _nothing() -> None:
    """Nobody can make up what the line said; the problem stays."""


def minimal_head(sheet: Sheet) -> dict[str, Any] | None:
    """The members of a `session_meta` that Codex's reader asks for (id, timestamp, cwd, originator, cli_version), from
    what the file and its name say; None when they do not say enough. The id is the one in the file's name, by which
    Codex finds a rollout; else it is made of the first record."""
    rows = [row for row in sheet.rows if isinstance(row.value, dict)]
    turns = (row.value for row in rows if row.value.get("type") == "turn_context")
    folders = (turn["payload"]["cwd"] for turn in turns if isinstance(turn.get("payload"), dict) and _has_cwd(turn))
    cwd = next(folders, "")
    time = next((row.value["timestamp"] for row in rows if isinstance(row.value.get("timestamp"), str)), "")
    time = time or _time_of(sheet.name)
    if not cwd or not time:
        return None
    named = _ID_IN_NAME.search(sheet.name)
    key = named[1].lower() if named else new_uuid("rollout", rows[0].raw)
    payload = {"id": key, "timestamp": time, "cwd": cwd, "originator": "foldmark doctor", "cli_version": "unknown"}
    return {"timestamp": time, "type": "session_meta", "payload": payload}


def _time_of(name: str) -> str:
    """The time that Codex writes into the name of a rollout, empty when there is none."""
    found = _TIME_IN_NAME.search(name)
    return f"{found[1]}{found[2]}:{found[3]}:{found[4]}.000Z" if found else ""


def _has_cwd(turn: dict[str, Any]) -> bool:
    cwd = turn["payload"].get("cwd")
    return isinstance(cwd, str) and bool(cwd)
