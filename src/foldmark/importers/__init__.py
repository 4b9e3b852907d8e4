"""Imports transcripts of agents as sessions of events. Knows nothing of stores or of how requests are built.

    for imported in read(data, name="session.jsonl"):
        …

Formats: message lists of both APIs (`openai-json`), Claude Code and pi session files, SWE-agent `.traj`,
tau-bench results. The rules for all: a record type nobody knows becomes a control event, with one warning
for each type; a known type that cannot be read is a `WireError` that names the place in the file; nothing is
skipped in silence; `strict=True` makes errors of both. Foreign compaction records are injected events, never
boundaries.

To add a format: write a module with `sniff(document) -> bool` (cheap, looks at the first records and never
raises) and `read(document, notes) -> list[Imported]`, end it with `FORMAT = Format(name, sniff, read)`, and
name it in `FORMATS` before any format that could claim its files. Turn messages into events with the reading
functions of `foldmark.wire`, unknown records into events with `notes.kept(…)`, say everything else with
`notes.warn(…)`, and leave event ids empty. Add a small made-up sample under `tests/samples/` and its line in
`tests/contracts/test_importers.py`, which then checks it for determinism, pairs and growth.
"""

from __future__ import annotations

import msgspec

from foldmark.errors import PolicyError, WireError
from foldmark.importers import claude_code, messages, pi, swe_agent, tau_bench
from foldmark.importers.document import open_document
from foldmark.importers.values import Child, Document, Format, Imported, Notes

FORMATS: tuple[Format, ...] = (
    claude_code.FORMAT,
    pi.FORMAT,
    swe_agent.FORMAT,
    tau_bench.FORMAT,
    messages.FORMAT,
)


def read(data: bytes, *, format: str = "auto", name: str = "", strict: bool = False) -> list[Imported]:
    """The sessions of a transcript file, in file order.

    `name` is what errors call the file. Raises WireError when it cannot be read, PolicyError for an unknown
    format.
    """
    by_name = {known.name: known for known in FORMATS}
    if format != "auto" and format not in by_name:
        raise PolicyError(f"There is no format {format!r}; choose auto, {', '.join(by_name)}.")
    notes = Notes(strict=strict)
    document = open_document(data, name, notes)
    chosen = by_name.get(format) or next((known for known in FORMATS if known.sniff(document)), None)
    if chosen is None:
        raise WireError(name or "file", f"is in no format we know ({', '.join(by_name)}); name one with format=.")
    return _named_apart(chosen.read(document, notes))


def _named_apart(found: list[Imported]) -> list[Imported]:
    """Two sessions of one file never share an id: the second gets a number, and says so."""
    seen: dict[str, int] = {}
    return [_numbered(imported, seen) for imported in found]


def _numbered(imported: Imported, seen: dict[str, int]) -> Imported:
    count = seen[imported.session] = seen.get(imported.session, 0) + 1
    if count == 1:
        return imported
    warning = f"another session of this file is called {imported.session!r} too; this one got a number"
    session = f"{imported.session}-{count}"
    return msgspec.structs.replace(imported, session=session, warnings=(*imported.warnings, warning))


__all__ = ["FORMATS", "Child", "Document", "Format", "Imported", "Notes", "read"]
