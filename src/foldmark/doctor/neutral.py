"""Transcripts of formats that only the importers read: events are looked at, and there is no writer. Knows nothing of
the rows of a file."""

from __future__ import annotations

import re
from collections.abc import Iterable

from foldmark import importers
from foldmark.doctor.rows import Row
from foldmark.doctor.sheet import Sheet
from foldmark.doctor.talk import Kind, Stage, Strand, Talk, Turn, Unit
from foldmark.events import Event, Image, Opaque, Part, Reasoning, ToolCall, ToolResult

_KINDS: dict[type, Kind] = {
    ToolCall: "call",
    ToolResult: "result",
    Reasoning: "thinking",
    Image: "image",
    Opaque: "other",
}


class EventTalk(Talk):
    """The sessions of an imported file, children too; a place is `session name event 12`."""

    wire, needs_place = "", False
    id_scope = "step"
    id_pattern = re.compile(r".", re.DOTALL)

    def __init__(self, found: list[importers.Imported]) -> None:
        self.format = found[0].format if found else ""
        self.found = found
        super().__init__(Sheet("lines", []))

    def read(self) -> Iterable[Strand]:
        return [strand for one in self.found for strand in self._strands(one, name="")]

    def _strands(self, imported: importers.Imported, name: str) -> list[Strand]:
        is_only = len(self.found) == 1 and not name
        prefix = "" if is_only else f"session {imported.session} "
        out = [Strand([self._turn(event, f"{prefix}event {at}") for at, event in enumerate(imported.events, 1)])]
        for child in imported.children:
            if child.kind == "child":
                out += self._strands(child.imported, name=child.imported.session)
        for strand in out:
            step = -1
            for turn in strand.turns:
                step += turn.role == "assistant"
                for unit in turn.units:
                    unit.step = step
        return [strand for strand in out if strand.turns]

    def _turn(self, event: Event, path: str) -> Turn:
        row = Row(path, "event", event)
        units = [self._unit(part, event, row) for part in event.parts] if event.role != "control" else []
        return Turn(event.role, row, units)

    def _unit(self, part: Part, event: Event, row: Row) -> Unit:
        unit = Unit(_KINDS.get(type(part), "text"), event.role, part, row, holder=None, number=0)
        if isinstance(part, ToolCall):
            unit.call_id = part.id
        elif isinstance(part, ToolResult):
            unit.call_id = part.call_id
        return unit

    def stages(self) -> list[Stage]:
        return []

    def result_text(self, unit: Unit) -> str:
        return str(unit.value.text)

    def call_text(self, unit: Unit) -> str:
        return f"{unit.value.name} {unit.value.arguments}"
