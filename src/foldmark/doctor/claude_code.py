"""Claude Code session files: rows that form a tree by `uuid` and wrap Anthropic messages. Knows nothing of what a
message may hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from foldmark.doctor.blocks import BlockTalk
from foldmark.doctor.chain import chain_mends, new_uuid
from foldmark.doctor.live_line import live_line
from foldmark.doctor.rows import Row
from foldmark.doctor.sheet import Sheet
from foldmark.doctor.talk import NO_BEGINNING, Strand, Turn, Unit, put
from foldmark.doctor.values import Mend
from foldmark.importers import claude_code
from foldmark.importers.claude_code_rows import row_of
from foldmark.importers.values import Document, Notes

_COPIED = ("isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "slug", "agentId", "entrypoint")
"""What a new row takes over from its neighbour."""


def is_claude_code(sheet: Sheet) -> bool:
    """Whether the first rows are those of a Claude Code session."""
    if sheet.kind != "lines":
        return False
    records = [(at, row.value) for at, row in enumerate(sheet.rows, 1) if isinstance(row.value, dict)]
    return claude_code.sniff(Document(records=tuple(records[:50])))


def has_message(record: Any) -> bool:
    """Whether a record is of a type that wraps a message."""
    return isinstance(record, dict) and record.get("type") in ("user", "assistant")


class ClaudeTalk(BlockTalk):
    """The conversations of a session: the main line from its newest message back, cut at compactions (what stands
    before one is not sent any more), and each sub-agent's. Rows of one API message are one message, neighbours of one
    role are sent as one, and results are sent in front: none of this is a problem."""

    format, inner = "claude-code", "message"
    silent = frozenset(["thinking_order"])

    # -- reading

    def __init__(self, sheet: Sheet) -> None:
        self._by_parent: dict[Any, list[Row]] | None = None
        self._by_logical_parent: dict[str, list[Row]] | None = None
        self._order: dict[Row, int] = {}
        super().__init__(sheet)

    def read(self) -> Iterable[Strand]:
        rows = [row for row in self.records() if is_whole(row.value)]
        notes = Notes()
        self.known = {id(row): row_of(row.value, at, notes) for at, row in enumerate(rows)}
        aside = [row for row in rows if self.known[id(row)].is_side]
        main = [row for row in rows if not self.known[id(row)].is_side]
        strands = [self._sent(part) for part in self._parts(self._line(main))]
        strands += [self._sent(self._line(chain)) for chain in self._side_chains(aside)]
        return [strand for strand in strands if strand.turns]

    def is_message(self, row: Row) -> bool:
        return has_message(row.value)

    def _line(self, rows: list[Row]) -> list[Row]:
        """The rows that are sent when the session is resumed."""
        place = {self.known[id(row)].key: row for row in rows}
        return [place[known.key] for known in live_line([self.known[id(row)] for row in rows])]

    def _parts(self, line: list[Row]) -> list[list[Row]]:
        parts: list[list[Row]] = [[]]
        for row in line:
            if self.known[id(row)].is_boundary:
                parts.append([])
            parts[-1].append(row)
        return parts

    def _side_chains(self, aside: list[Row]) -> list[list[Row]]:
        groups: dict[str, list[Row]] = {}
        top: dict[str, str] = {}
        for row in aside:
            known = self.known[id(row)]
            top[known.key] = top.get(known.parent) or known.agent or known.key
            groups.setdefault(top[known.key], []).append(row)
        return list(groups.values())

    def _sent(self, rows: list[Row]) -> Strand:
        """The rows as they are sent: lines of one API message together, neighbours of one role as one message."""
        groups: list[list[Row]] = []
        of_message: dict[str, list[Row]] = {}
        for row in rows:
            known = self.known[id(row)]
            if not known.is_message or row.value.get("isApiErrorMessage"):
                continue
            if known.message_id in of_message:
                of_message[known.message_id].append(row)
                continue
            role = row.value["message"].get("role")
            if groups and groups[-1][0].value["message"].get("role") == role:
                groups[-1].append(row)
            else:
                groups.append([row])
            if known.message_id:
                of_message[known.message_id] = groups[-1]
        strand = self.strand(groups)
        for turn in strand.turns:
            turn.plain = False
            if turn.role == "user":
                turn.units.sort(key=lambda unit: unit.kind != "result")
        return strand

    # -- edits

    def set_plain(self, unit: Unit, value: Any) -> None:
        self.message(unit.row)["content"] = value if isinstance(value, str) else [value]

    def new_row(self, after: Row | None, message: Any, like: Row | None = None, *, adopts: bool = True) -> Row:
        """A user row behind `after` in the file and in the chain, with the fields of its neighbour."""
        near = like or after
        source: dict[str, Any] = near.value if near is not None else {}
        parent = after.value.get("uuid") if after is not None and isinstance(after.value, dict) else None
        named = {"parentUuid": parent, **{key: source[key] for key in _COPIED if key in source}}
        key = new_uuid(source.get("uuid"), parent, message["role"], message["content"])
        value = {**named, "type": "user", "message": message, "uuid": key}
        if "timestamp" in source:
            value["timestamp"] = source["timestamp"]
        row = self.sheet.insert_after(after, value, near.path if near else "")
        if adopts and isinstance(parent, str):
            self._adopt(row, parent)
        return row

    def _children(self) -> dict[Any, list[Row]]:
        """Rows by the parent they name, so that an edit does not read the whole file again."""
        if self._by_parent is None:
            self._by_parent = {}
            for row in self.sheet.rows:
                if isinstance(row.value, dict) and isinstance(row.value.get("parentUuid"), str):
                    self._by_parent.setdefault(row.value["parentUuid"], []).append(row)
        return self._by_parent

    def _adopt(self, row: Row, parent: str) -> None:
        """What went on from the parent goes on from the new row, so that the chain leads through it."""
        children, key = self._children(), row.value["uuid"]
        is_side = bool(row.value.get("isSidechain"))
        others = [child for child in children.get(parent, ()) if child is not row]
        mine = [child for child in others if bool(child.value.get("isSidechain")) == is_side]
        children[parent] = [row, *(child for child in others if bool(child.value.get("isSidechain")) != is_side)]
        children[key] = mine
        for child in mine:
            put(child, child.value, "parentUuid", key)

    def drop_row(self, row: Row) -> None:
        """Rows that went on from this one go on from its parent."""
        gone, parent = row.value.get("uuid"), row.value.get("parentUuid")
        self.sheet.drop(row)
        if not isinstance(gone, str) or not gone:
            return
        children = self._children()
        for child in children.pop(gone, []):
            if child is not row:
                put(child, child.value, "parentUuid", parent)
                children.setdefault(parent, []).append(child)
        followers = self._boundaries().pop(gone, [])
        for other in followers:
            put(other, other.value, "logicalParentUuid", parent)
        if followers and isinstance(parent, str):
            self._boundaries().setdefault(parent, []).extend(followers)

    def _boundaries(self) -> dict[str, list[Row]]:
        """Rows by the row that they say they follow behind a compaction."""
        if self._by_logical_parent is None:
            self._by_logical_parent = {}
            for row in self.sheet.rows:
                key = row.value.get("logicalParentUuid") if isinstance(row.value, dict) else None
                if isinstance(key, str):
                    self._by_logical_parent.setdefault(key, []).append(row)
        return self._by_logical_parent

    def place(self, strand: Strand, call: Unit, block: dict[str, Any], like: Row | None) -> None:
        """A result is a row of its own: behind the other results of its step, else behind the step."""
        turn = strand.turn_of(call)
        behind = strand.behind(turn)
        anchor = self._anchor(turn, behind)
        new = self.new_row(anchor, {"role": "user", "content": [block]}, like=like or call.row)
        if like is not None and "toolUseResult" in like.value:
            new.value["toolUseResult"] = like.value["toolUseResult"]
        unit = Unit("result", "user", block, new, holder=self.message(new)["content"], number=0)
        if behind is not None and behind.role == "user":
            behind.units.append(unit)
        else:
            strand.add_behind(turn, Turn("user", new, [unit]))

    def _anchor(self, turn: Turn, behind: Turn | None) -> Row:
        rows = self.sheet.rows
        results = (unit.row for unit in reversed(behind.units) if unit.kind == "result") if behind else iter(())
        last = next((row for row in results if row in rows), None)
        if last is not None:
            return last
        order = self._file_order()
        limit = order.get(behind.row, len(order)) if behind and behind.row in rows else len(order)
        own = [row for row in dict.fromkeys(unit.row for unit in reversed(turn.units)) if row in rows]
        return next((row for row in own if order.get(row, limit) < limit), own[0])

    def _file_order(self) -> dict[Row, int]:
        """Where the rows of the file stood when an order was first asked for; it does not change among them."""
        if not self._order:
            self._order = {row: at for at, row in enumerate(self.sheet.rows)}
        return self._order

    # -- mends

    def shape_mends(self) -> Iterator[Mend]:
        for row in self.records():
            value = row.value
            if not isinstance(value, dict) or (has_message(value) and not isinstance(value.get("message"), dict)):
                said = "is no record of a session: it has no message." if has_message(value) else "is no object."
                yield Mend(row.path, "shape", said, "left out of the copy", partial(self._reject, row))
            elif has_message(value) and value["message"].get("role") != value["type"]:
                apply = partial(self._set_role, row, value["type"])
                said = f"the role {value['message'].get('role')!r} is not that of the record."
                yield Mend(self.at(row, ".role"), "role", said, f"the role becomes {value['type']}", apply)
        rejected = {id(row) for row in self.records() if not is_whole(row.value)}
        yield from super().shape_mends() if not rejected else ()
        yield from chain_mends(self)

    def _reject(self, row: Row) -> None:
        self.sheet.rejected.append(row.raw)
        if isinstance(row.value, dict):
            self.drop_row(row)
        else:
            self.sheet.drop(row)

    def _open(self, row: Row) -> None:
        """The new first row stands in front of the row in the file and in the chain."""
        before, parent = self.sheet.rows.before(row), row.value.get("parentUuid")
        new = self.new_row(before, {"role": "user", "content": NO_BEGINNING}, like=row, adopts=False)
        new.value["parentUuid"] = parent
        row.value["parentUuid"] = new.value["uuid"]
        row.changed = True

    def _turn(self, rows: list[Row]) -> Turn:
        turn = super()._turn(rows)
        turn.plain = False
        return turn


def is_whole(record: Any) -> bool:
    """Whether a record can be read: an object, with its message where the type wants one."""
    return isinstance(record, dict) and (not has_message(record) or isinstance(record.get("message"), dict))
