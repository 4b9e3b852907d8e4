"""Mends of the tree that the rows of a Claude Code session form by `uuid` and `parentUuid`. Knows nothing of
messages."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from foldmark.doctor.joining import Joining
from foldmark.doctor.rows import Row
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
    """Rows by uuid, and the mends of those that have none or one that is taken."""
    known: dict[str, Row] = {}
    mends: list[Mend] = []
    heirs: dict[str, list[Row]] = {}
    before: Row | None = None
    for row in rows:
        if _parent(row) in heirs:
            heirs[_parent(row)].append(row)
        key = _id(row)
        if not key:
            mends += [_nameless(row, before)] if row.value.get("type") in ("user", "assistant") else []
            continue
        if key in known:
            mends.append(_taken(talk, row, known[key], heirs))
        before = row
        known.setdefault(key, row)
    return known, mends


def _nameless(row: Row, before: Row | None) -> Mend:
    new = new_uuid(_id(before) if before else "", row.raw)
    said = "the record of a message has no uuid, so nothing can go on from it."
    return Mend(row.path, "missing_uuid", said, f"it gets the uuid {new}", partial(_name, row, new, before))


def _taken(talk: Talk, row: Row, first: Row, heirs: dict[str, list[Row]]) -> Mend:
    """What to do about a uuid that stands twice. Rows behind that name it as their parent go with the nearest."""
    key = _id(row)
    if first.value == row.value:
        said = f"repeats the record {key} of {first.path}."
        change = "the second of the two equal records is left out"
        return Mend(row.path, "duplicate_record", said, change, partial(talk.sheet.drop, row))
    new = new_uuid(key, row.raw)
    said = f"has the uuid {key} of {first.path} and other content."
    heirs[key] = []
    return Mend(row.path, "duplicate_uuid", said, f"it gets the uuid {new}", partial(_rename, row, new, heirs[key]))


def _name(row: Row, new: str, before: Row | None) -> None:
    row.value["uuid"] = new
    if not _parent(row) and before is not None:
        row.value["parentUuid"] = _id(before)
    row.changed = True


def _rename(row: Row, new: str, heirs: list[Row]) -> None:
    _set(row, "uuid", new)
    for other in heirs:
        _set(other, "parentUuid", new)


def _parent_mends(rows: list[Row], known: dict[str, Row]) -> Iterator[Mend]:
    before: dict[bool, list[Row]] = {False: [], True: []}
    lines = Joining({_id(row): _parent(row) for row in rows if not _is_to_join(row, known)})
    for row in rows:
        logical, earlier = row.value.get("logicalParentUuid"), next(iter(before[_is_side(row)][-1:]), None)
        if _is_to_join(row, known):
            yield from _join_mends(row, known, _not_behind(row, before[_is_side(row)], lines), lines)
        if isinstance(logical, str) and logical and logical not in known and earlier is not None:
            said = f"the compaction boundary says it follows {logical}, which is not in this file."
            change = f"it follows the row before, {earlier.path}"
            apply = partial(_set, row, "logicalParentUuid", _id(earlier))
            yield Mend(row.path, "boundary_parent", said, change, apply)
        before[_is_side(row)].append(row)


def _is_to_join(row: Row, known: dict[str, Row]) -> bool:
    """Whether the parent of a row is none that it can go on from."""
    parent = _parent(row)
    return parent not in known or (not _is_side(row) and _is_side(known[parent]))


def _not_behind(row: Row, before: list[Row], lines: Joining) -> Row | None:
    """The nearest row in front that does not itself come from this one: rows of a file may be swapped."""
    return next((other for other in reversed(before) if lines.beginning_of(_id(other)) != _id(row)), None)


def _join_mends(row: Row, known: dict[str, Row], earlier: Row | None, lines: Joining) -> Iterator[Mend]:
    parent = _parent(row)
    if not parent and (earlier is None or not _goes_on(row)):
        return
    if not parent:
        said = "names no record that it goes on from, though it can only go on: all before it is lost on resume."
        code = "parent_missing"
    elif parent in known:
        said, code = f"goes on from a row of a sub-agent ({known[parent].path}).", "sidechain"
    else:
        said = f"goes on from {parent}, which is not in this file: all before it is lost on resume."
        code = "parent_missing"
        earlier = earlier if not _is_side(row) or _same_agent(row, earlier) else None
    if earlier is not None:
        lines.join(_id(row), _id(earlier))
    yield _joined(row, code, said, earlier)


def _goes_on(row: Row) -> bool:
    """Whether a row of the main line can only go on from another one: a step of the assistant, or results."""
    has_result = bool(_linked_ids(row, "tool_result", "tool_use_id"))
    return not _is_side(row) and (row.value.get("type") == "assistant" or has_result)


def _call_behind(row: Row, place: dict[str, int], calls: dict[str, Row]) -> Row | None:
    """The row of a call that a row answers though it stands in front of it."""
    called = (calls.get(key) for key in _linked_ids(row, "tool_result", "tool_use_id"))
    return next((call for call in called if call is not None and place[_id(call)] > place[_id(row)]), None)


def _linked_ids(row: Row, kind: str, key: str) -> list[str]:
    message = row.value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else []
    named = (block.get(key) for block in blocks if isinstance(block, dict) and block.get("type") == kind)
    return [name for name in named if isinstance(name, str)]


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
    order = {_id(row): at for at, row in enumerate(rows)}
    parents = {_id(row): _parent(row) for row in rows}
    ends: set[str] = set()
    for row in rows:
        trail: dict[str, None] = {}
        at = _id(row)
        while at and at in parents and at not in ends and at not in trail:
            trail[at] = None
            at = parents[at]
        if at in trail:
            circle = [*trail][[*trail].index(at) :]
            first = known[min(circle, key=lambda key: order[key])]
            earlier = _leads_on(rows, order[_id(first)], ends, is_side=_is_side(first))
            parents[_id(first)] = _id(earlier) if earlier else ""
            said = f"its chain of parents comes back to itself, over {len(circle)} row(s)."
            yield _joined(first, "parent_loop", said, earlier)
        ends.update(trail)


def _leads_on(rows: list[Row], at: int, ends: set[str], *, is_side: bool) -> Row | None:
    """The nearest row before a place, on the same side, whose chain is known to have a beginning."""
    before = (rows[place] for place in range(at - 1, -1, -1))
    return next((row for row in before if _is_side(row) == is_side and _id(row) in ends), None)


def _order_mends(talk: Talk, rows: list[Row], known: dict[str, Row]) -> Iterator[Mend]:
    """Rows that stand in front of their parent: who reads the file in its order reads another conversation."""
    place = {_id(row): at for at, row in enumerate(rows)}
    calls = {key: row for row in rows for key in _linked_ids(row, "tool_use", "id")}
    apply: Callable[[], None] = partial(_sort, talk)
    for row in rows:
        parent = _parent(row)
        if parent in place and place[parent] > place[_id(row)]:
            first, call = known[parent].path, _call_behind(row, place, calls)
            said = f"stands in front of the record that it goes on from ({first})."
            if call is not None:
                said = f"stands in front of the call that it answers ({call.path})."
            code = "row_order" if call is None else "result_before_call"
            yield Mend(row.path, code, said, f"moved behind {first}", apply)
            apply = _nothing


def _nothing() -> None:
    """The first of these mends put all rows in order."""


def _sort(talk: Talk) -> None:
    """Every row behind its parent; the order of the file is otherwise kept."""
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
    talk.sheet.arrange(out)
