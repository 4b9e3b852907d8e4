"""Jupyter notebooks: cells with their source, outputs, errors. Knows nothing of languages.

Outputs are slices of the text until one is shown: the images of a notebook cost nothing to pass over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, clip, plain_preview, plural
from foldmark.kinds.body import Count, compose, count_lines, hidden
from foldmark.kinds.cuts import shorten, without_controls
from foldmark.kinds.runs import name_of

_SOURCE_LINES = 6
_OUTPUT_LINES = 4
_FRAMES = 4


class Cell(msgspec.Struct, frozen=True):
    cell_type: str = "cell"
    source: str | list[str] = ""
    execution_count: int | None = None
    outputs: list[msgspec.Raw] = []

    @property
    def text(self) -> str:
        return joined(self.source)


class Notebook(msgspec.Struct, frozen=True):
    cells: list[Cell]
    nbformat: int
    metadata: dict[str, msgspec.Raw] = {}

    @property
    def kernel(self) -> str:
        """The kernel's display name, "" when the notebook names none."""
        spec = _value(self.metadata["kernelspec"]) if "kernelspec" in self.metadata else None
        name = spec.get("display_name") or spec.get("name") if isinstance(spec, dict) else ""
        return name if isinstance(name, str) else ""


class Output(msgspec.Struct, frozen=True):
    output_type: str = "output"
    text: str | list[str] = ""
    ename: str = ""
    evalue: str = ""
    traceback: list[str] = []
    data: dict[str, msgspec.Raw] = {}


_notebooks = msgspec.json.Decoder(Notebook)
_outputs = msgspec.json.Decoder(Output)


def joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def _value(raw: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return None


def read_notebook(text: str) -> Notebook | None:
    try:
        return _notebooks.decode(text.encode("utf-8", "replace"))
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None


_FORMAT = re.compile(r'"nbformat"\s*:\s*\d')


def _recognise(text: str, call: ToolCall | None) -> float:
    if text[:100].lstrip()[:1] != "{" or text[-100:].rstrip()[-1:] != "}":
        return 0.0
    ends = text[:4_000] + text[-4_000:] if len(text) > 8_000 else text
    return 0.95 if '"cells"' in ends and _FORMAT.search(ends) and read_notebook(text) is not None else 0.0


def _lines(text: str, limit: int, indent: str, from_end: bool = False) -> Iterator[str]:
    """The first (or last) lines of a text, each whole or cut at a word, and how many there are more."""
    lines = [line.rstrip("\r") for line in text.rstrip("\n").split("\n")]
    more = f"{indent}… {plural(len(lines) - limit, 'more line')} …"
    if from_end and len(lines) > limit:
        yield more
    for line in lines[-limit:] if from_end else lines[:limit]:
        yield indent + shorten(line, 240)
    if not from_end and len(lines) > limit:
        yield more


def _output_lines(raw: msgspec.Raw) -> Iterator[str]:
    try:
        output = _outputs.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        yield "  → output that cannot be read"
        return
    if output.ename:
        yield f"  → error {without_controls(output.ename)}: {shorten(' '.join(output.evalue.split()), 400)}"
        yield from _lines(without_controls("\n".join(output.traceback)), _FRAMES, "    ", from_end=True)
        return
    if text := joined(output.text):
        yield f"  → text, {plural(count_lines(text), 'line')}:"
        yield from _lines(text, _OUTPUT_LINES, "    ")
    for media, raw_value in output.data.items():
        value = _value(raw_value)
        held = "".join(value) if isinstance(value, list) and all(isinstance(one, str) for one in value) else value
        if media == "text/plain" and isinstance(held, str):
            yield f"  → text, {plural(count_lines(held), 'line')}:"
            yield from _lines(held, _OUTPUT_LINES, "    ")
        elif isinstance(held, str):
            form = name_of(held.strip()[:400].replace("\n", "")) if media.startswith(("image/", "application/")) else ""
            of = f" of {form}" if form else ""
            yield f"  → {without_controls(media)}, {len(held):,} characters{of} not shown"
        else:
            yield f"  → {without_controls(media)} not shown"


def _cell(number: int, cell: Cell) -> str:
    run = f" [{cell.execution_count}]" if cell.execution_count is not None else ""
    source = cell.text
    lines = [f"cell {number:,}: {without_controls(cell.cell_type)}{run}, {plural(count_lines(source), 'line')}"]
    if source.strip():
        lines += _lines(source, _SOURCE_LINES, "  ")
    for output in cell.outputs[:6]:
        lines += _output_lines(output)
    if len(cell.outputs) > 6:
        lines.append(f"  … {plural(len(cell.outputs) - 6, 'more output')} …")
    return "\n".join(lines)


def _errors(notebook: Notebook) -> list[tuple[int, str]]:
    """(cell number, `NameError: …`) of every cell whose output is an error."""
    found = []
    for number, cell in enumerate(notebook.cells, 1):
        for raw in cell.outputs:
            if b'"ename"' in memoryview(raw).tobytes():
                try:
                    output = _outputs.decode(raw)
                except (msgspec.MsgspecError, RecursionError):
                    continue
                if output.ename:
                    found.append((number, clip(without_controls(f"{output.ename}: {output.evalue}"), 160)))
                    break
    return found


class Cells:
    """The cells of a notebook as pieces of a preview."""

    def __init__(self, text: str, notebook: Notebook) -> None:
        self.text = text
        self.total = len(notebook.cells)
        self._cells = notebook.cells
        self._errors = [number for number, _ in _errors(notebook)]

    def line(self, number: int) -> str | None:
        return _cell(number, self._cells[number - 1]) if 1 <= number <= self.total else None

    def gap(self, first: int, last: int) -> str:
        return hidden(first, last, self.total, "cell")

    def order(self) -> Iterator[tuple[int, str]]:
        """Cells with errors, both ends, headings, then the rest."""
        headings = [
            number
            for number, cell in enumerate(self._cells, 1)
            if cell.cell_type == "markdown" and cell.text.startswith("#")
        ]
        for number in (1, *self._errors[:4], self.total, *headings[:20], *range(1, min(self.total, 200) + 1)):
            if piece := self.line(number):
                yield number, piece


def say(notebook: Notebook) -> str:
    kinds: dict[str, int] = {}
    for cell in notebook.cells:
        kinds[cell.cell_type] = kinds.get(cell.cell_type, 0) + 1
    parts = ", ".join(f"{number:,} {without_controls(kind)}" for kind, number in sorted(kinds.items())[:6])
    kernel = f", kernel {clip(without_controls(notebook.kernel), 60)}" if notebook.kernel else ""
    said = f"notebook, {plural(len(notebook.cells), 'cell')}{f' ({parts})' if parts else ''}{kernel}"
    errors = _errors(notebook)
    return f"{said}, {plural(len(errors), 'cell')} with errors" if errors else said


def outcome(text: str, call: ToolCall | None) -> str:
    notebook = read_notebook(text)
    if notebook is None:
        return ""
    errors = [f"cell {number:,}: {error}" for number, error in _errors(notebook)[:3]]
    return "; ".join([say(notebook), *errors])


def preview(text: str, budget_tokens: int, count: Count) -> str:
    notebook = read_notebook(text)
    if notebook is None:
        return plain_preview(text, budget_tokens, count)
    cells = Cells(text, notebook)
    return compose(cells, cells.order(), budget_tokens, count, say(notebook), cut=without_controls)


NOTEBOOK = Kind("notebook", _recognise, outcome, preview)
