"""Mends of the tree that the rows of a Claude Code session form by `uuid` and `parentUuid`. Knows nothing of
messages."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from functools import partial
from typing import Any

from foldmark.doctor.sheet import Row
from foldmark.doctor.talk import Talk
from foldmark.doctor.values import Mend
from foldmark.wire.plain import digest

_NAMESPACE = uuid.UUID("0b7f6f0c-51a3-5d0f-8a55-4a4c1f6c2f11")


def new_uuid(*seeds: Any) -> str:
    """A uuid made of what it stands for, so that the same file gets the same ones again."""
    return str(uuid.uuid5(_NAMESPACE, digest(" ".join(map(str, seeds)), 32)))


def chain_mends(talk: Talk) -> Iterator[Mend]:
    """Repeated records, ids that stand twice, parents that are not there, circles, and lines that mix."""
    rows = [row for row in talk.records() if isinstance(row.value, dict)]
    known, mends = _ids(talk, rows)
    if mends:
        yield from mends  # parents are looked at when the ids are right
        return
    linked = [row for row in rows if _id(row)]
    found = list(_parent_mends(linked, known))
    found = found or list(_circle_mends(linked, known))
    yield from found or _order_mends(talk, linked, known)


def _id(row: Row) -> str:
    key = row.value.get("uuid")
    return key if isinstance(key, str) else ""


def _parent(row: Row) -> str:
    key = row.value.get("parentUuid")
    return key if isinstance(key, str) else ""


def _is_side(row: Row) -> bool:
    return bool(row.value.get("isSidechain"))


def _ids(talk: Talk, rows: list[Row]) -> tuple[dict[str, Row], list[Mend]]:
    known: dict[str, Row] = {}
    mends: list[Mend] = []
    for at, row in enumerate(rows):
        key = _id(row)
        if not key:
            if row.value.get("type") in ("user", "assistant"):
                before = next((other for other in reversed(rows[:at]) if _id(other)), None)
                new = new_uuid(_id(before) if before else "", row.raw)
                said = "the record of a message has no uuid, so nothing can go on from it."
                apply = partial(_name, row, new, before)
                mends.append(Mend(row.path, "missing_uuid", said, f"it gets the uuid {new}", apply))
            continue
        if key not in known:
            known[key] = row
        elif known[key].value == row.value:
            said = f"repeats the record {key} of {known[key].path}."
            change = "the second of the two equal records is left out"
            mends.append(Mend(row.path, "duplicate_record", said, change, partial(talk.sheet.drop, row)))
        else:
            new = new_uuid(key, row.raw)
            said = f"has the uuid {key} of {known[key].path} and other content."
            apply = partial(_rename, row, key, new, rows[at + 1 :])
            mends.append(Mend(row.path, "duplicate_uuid", said, f"it gets the uuid {new}", apply))
    return known, mends


def _name(row: Row, new: str, before: Row | None) -> None:
    row.value["uuid"] = new
    if not _parent(row) and before is not None:
        row.value["parentUuid"] = _id(before)
    row.changed = True


def _rename(row: Row, old: str, new: str, later: list[Row]) -> None:
    row.value["uuid"] = new
    row.changed = True
    for other in later:
        if _parent(other) == old:
            other.value["parentUuid"] = new
            other.changed = True


def _parent_mends(rows: list[Row], known: dict[str, Row]) -> Iterator[Mend]:
    before: dict[bool, Row | None] = {False: None, True: None}
    for row in rows:
        parent, logical = _parent(row), row.value.get("logicalParentUuid")
        earlier = before[_is_side(row)]
        if parent and parent not in known:
            yield _lost_parent(row, parent, earlier)
        elif not parent and earlier is not None and _goes_on(row):
            said = "names no record that it goes on from, though it can only go on: all before it is lost on resume."
            yield _joined(row, "parent_missing", said, earlier)
        elif parent and not _is_side(row) and _is_side(known[parent]):
            said = f"goes on from a row of a sub-agent ({known[parent].path})."
            yield _joined(row, "sidechain", said, earlier)
        if isinstance(logical, str) and logical and logical not in known and earlier is not None:
            said = f"the compaction boundary says it follows {logical}, which is not in this file."
            change = f"it follows the row before, {earlier.path}"
            apply = partial(_set, row, "logicalParentUuid", _id(earlier))
            yield Mend(row.path, "boundary_parent", said, change, apply)
        before[_is_side(row)] = row


def _goes_on(row: Row) -> bool:
    """Whether a row of the main line can only go on from another one: a step of the assistant, or results."""
    message = row.value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else []
    has_result = any(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks)
    return not _is_side(row) and (row.value.get("type") == "assistant" or has_result)


def _lost_parent(row: Row, parent: str, earlier: Row | None) -> Mend:
    said = f"goes on from {parent}, which is not in this file: all before it is lost on resume."
    if _is_side(row):
        return _joined(row, "parent_missing", said, earlier if _same_agent(row, earlier) else None)
    return _joined(row, "parent_missing", said, earlier)


def _same_agent(row: Row, other: Row | None) -> bool:
    return other is not None and row.value.get("agentId") == other.value.get("agentId")


def _joined(row: Row, code: str, said: str, earlier: Row | None) -> Mend:
    change = f"it goes on from the row before, {earlier.path}" if earlier else "it becomes the first of its line"
    return Mend(row.path, code, said, change, partial(_set, row, "parentUuid", _id(earlier) if earlier else None))


def _set(row: Row, key: str, value: Any) -> None:
    row.value[key] = value
    row.changed = True


def _circle_mends(rows: list[Row], known: dict[str, Row]) -> Iterator[Mend]:
    """Circles are cut at their earliest row: it goes on from the row before it, when that leads to a beginning."""
    order = {id(row): at for at, row in enumerate(rows)}
    parents = {_id(row): _parent(row) for row in rows}
    ends: set[str] = set()
    for row in rows:
        trail: list[str] = []
        at = _id(row)
        while at and at in parents and at not in ends and at not in trail:
            trail.append(at)
            at = parents[at]
        if at in trail:
            circle = [known[key] for key in trail[trail.index(at) :]]
            first = min(circle, key=lambda held: order[id(held)])
            inside = {_id(held) for held in circle}
            before = [other for other in rows[: order[id(first)]] if _is_side(other) == _is_side(first)]
            earlier = next(
                (other for other in reversed(before) if _id(other) in ends and _id(other) not in inside), None
            )
            parents[_id(first)] = _id(earlier) if earlier else ""
            said = f"its chain of parents comes back to itself, over {len(circle)} row(s)."
            yield _joined(first, "parent_loop", said, earlier)
        ends.update(trail)


def _order_mends(talk: Talk, rows: list[Row], known: dict[str, Row]) -> Iterator[Mend]:
    """Rows that stand in front of their parent: who reads the file in its order reads another conversation."""
    place = {_id(row): at for at, row in enumerate(rows)}
    for row in rows:
        parent = _parent(row)
        if parent in place and place[parent] > place[_id(row)]:
            said = f"stands in front of the record that it goes on from ({known[parent].path})."
            yield Mend(row.path, "row_order", said, "moved behind it", partial(_sort, talk))


def _sort(talk: Talk) -> None:
    """Every row behind its parent; the order of the file is otherwise kept. Doing it again changes nothing."""
    rows, keys = list(talk.sheet.rows), set()
    known = {_id(row) for row in rows if isinstance(row.value, dict) and _id(row)}
    waiting: dict[str, list[Row]] = {}
    out: list[Row] = []
    for row in rows:
        due = [row]
        while due:
            now = due.pop()
            key = _id(now) if isinstance(now.value, dict) else ""
            parent = _parent(now) if key else ""
            if parent in known and parent not in keys:
                waiting.setdefault(parent, []).append(now)
                continue
            out.append(now)
            keys.add(key)
            due += reversed(waiting.pop(key, [])) if key else []
    for row in out:
        row.end = row.end or "\n"
    talk.sheet.rows[:] = out
