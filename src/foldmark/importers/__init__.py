"""Imports transcripts of agents as sessions of events. Knows nothing of stores or of how requests are built.

    for imported in read(data, name="session.jsonl"):
        …

Formats: message lists of both APIs (`openai-json`), Claude Code and pi session files, SWE-agent `.traj`,
tau-bench results, Codex rollouts, mini-swe-agent trajectories, OpenHands events, ADK sessions, Gemini CLI sessions
and recordings, Inspect logs, AutoGen recordings, message dumps of pydantic-ai and LangChain, Langfuse traces, Vivaria
message files, InterCode logs, and as plain text aider chat histories, what Claude Code showed on the screen, and
ReAct logs. The rules for all: a record type nobody knows becomes a control event, with one warning for each type; a
known type that cannot be read is a `WireError` that names the place in the file; nothing is skipped in silence;
`strict=True` makes errors of both. Foreign compaction records are injected events, never boundaries.

To add a format: write a module with `sniff(document) -> bool` (cheap, looks at the first records and never
raises) and `read(document, notes) -> list[Imported]`, end it with `FORMAT = Format(name, sniff, read)`, and
name it in `FORMATS` before any format that could claim its files. Turn messages into events with the reading
functions of `foldmark.wire`, unknown records into events with `notes.kept(…)`, say everything else with
`notes.warn(…)`, and leave event ids empty. A format of plain text reads `document.text` and says `is_text=True`; its
look must leave prose about such files alone. Add a small made-up sample under `tests/samples/` and its line in
`tests/contracts/test_importers.py`, which then checks it for determinism, pairs and growth.
"""

from __future__ import annotations

import msgspec

from foldmark.errors import PolicyError, WireError
from foldmark.importers import (
    adk,
    aider,
    autogen,
    claude_code,
    codex,
    console,
    gemini_cli,
    inspect_log,
    intercode,
    langchain_dump,
    langfuse,
    messages,
    mini_swe_agent,
    openhands,
    payloads,
    pi,
    pydantic_ai_dump,
    react,
    swe_agent,
    tau_bench,
    vivaria,
)
from foldmark.importers.document import open_document
from foldmark.importers.values import Child, Document, Format, Imported, Notes

FORMATS: tuple[Format, ...] = (
    claude_code.FORMAT,
    pi.FORMAT,
    swe_agent.FORMAT,
    tau_bench.FORMAT,
    codex.FORMAT,
    mini_swe_agent.FORMAT,
    openhands.FORMAT,
    adk.FORMAT,
    gemini_cli.FORMAT,
    inspect_log.FORMAT,
    autogen.FORMAT,
    pydantic_ai_dump.FORMAT,
    langchain_dump.FORMAT,
    langfuse.FORMAT,
    vivaria.FORMAT,
    intercode.FORMAT,
    aider.FORMAT,
    console.FORMAT,
    react.FORMAT,
    *payloads.FORMATS,
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
    able = [known for known in FORMATS if known.is_text == bool(document.text)]
    chosen = by_name.get(format) or next((known for known in able if known.sniff(document)), None)
    if chosen is None or chosen not in able:
        raise WireError(name or "file", _refusal(document, chosen))
    return _named_apart(chosen.read(document, notes))


def _refusal(document: Document, chosen: Format | None) -> str:
    names = ", ".join(known.name for known in FORMATS)
    if chosen is not None and chosen.is_text:
        return f"is JSON, and {chosen.name} files are plain text; choose another format."
    if not document.text:
        return f"is in no format we know ({names}); name one with format= (on the command line --format)."
    found = f"is neither JSON nor JSON lines ({document.reason})"
    if chosen is not None:
        return f"{found}, and {chosen.name} files are one of these."
    return f"{found}, nor text in a format we know ({names}); name one with format= (on the command line --format)."


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
