"""Imports sessions of Google's Agent Development Kit (one JSON object, or events one a line). Knows nothing of other
agents.

Agents of one session share its context, so they are one line: the author of a step is in `meta["author"]`, the
branch is the event's. What a rewind took back is a fork; a compaction is an injected event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from foldmark.events import Event, Text, control
from foldmark.importers.gemini_parts import (
    PROVIDER,
    Piece,
    field,
    media_part,
    pieces,
    response_event,
    step_parts,
    stop_of,
    usage_metadata,
)
from foldmark.importers.parts import Told, Waiting, told
from foldmark.importers.values import (
    Document,
    Format,
    Imported,
    Notes,
    derived_id,
    has_messages,
    nothing_to_import,
    placed_rows,
    seconds,
)
from foldmark.wire.plain import as_mapping, items

NAME = "adk"
_WIRE = "gemini"


def sniff(document: Document) -> bool:
    rows = [row for _, row in islice(placed_rows(document, "events"), 5)]
    return bool(rows) and all(map(_is_event, rows))


def _is_event(row: Any) -> bool:
    return isinstance(row, Mapping) and "author" in row and ("invocation_id" in row or "invocationId" in row)


def read(document: Document, notes: Notes) -> list[Imported]:
    """The one session of the file, rewound invocations as forks. Raises WireError with the path in the file."""
    value = document.value
    about: Mapping[str, Any] = value if isinstance(value, Mapping) and "events" in value else {}
    line, waiting = Told(), Waiting()
    starts: dict[str, int] = {}
    for path, row in _rows(document, about):
        event = as_mapping(row, path)
        if rewound := field(as_mapping(event.get("actions") or {}, f"{path}.actions"), "rewind_before_invocation_id"):
            line.take_back(starts.get(str(rewound), len(line.events)), f"rewound-{rewound}", NAME, _WIRE)
        starts.setdefault(str(field(event, "invocation_id")), len(line.events))
        found = list(_events(event, path, waiting, notes))
        waiting.made(found)
        line.events += found
    if about.get("state"):
        notes.warn("state: what the tools stored for themselves is no part of the conversation, left out")
    if not has_messages(line.events) and not line.children:
        raise nothing_to_import(document)
    return [
        Imported(
            session=str(about.get("id") or derived_id(NAME, line.events)),
            format=NAME,
            wire=_WIRE,
            events=tuple(line.events),
            children=tuple(line.children),
            warnings=notes.lines(),
        )
    ]


def _rows(document: Document, about: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if about:
        yield from (
            (f"past_events[{at}]", row) for at, row in enumerate(items(about.get("past_events"), "past_events"))
        )
        yield from ((f"events[{at}]", row) for at, row in enumerate(items(about["events"], "events")))
    else:
        yield from placed_rows(document, "")


def _events(event: Mapping[str, Any], path: str, waiting: Waiting, notes: Notes) -> Iterator[Event]:
    time = seconds(event.get("timestamp"))
    shared = {"time": time, "branch": str(event.get("branch") or "").replace(".", "/")}
    actions = as_mapping(event.get("actions") or {}, f"{path}.actions")
    if isinstance(actions.get("compaction"), Mapping):
        yield _compaction(actions["compaction"], path, shared)
        return
    content = as_mapping(event.get("content") or {}, f"{path}.content")
    found = list(pieces(content.get("parts"), f"{path}.content.parts"))
    if not found or event.get("partial"):
        yield control(_kind(event), dict(event), provider=NAME, **shared)
        return
    for piece in found:
        if not piece.kind and not _is_carried(piece):
            kind = "part " + " ".join(sorted(piece.raw))
            yield notes.kept(kind, dict(piece.raw), piece.path, provider=NAME, **shared)
    yield from _spoken(event, found, path, waiting, shared)


def _kind(event: Mapping[str, Any]) -> str:
    if event.get("partial"):
        return "partial step"
    failed = field(event, "error_code") or field(event, "error_message")
    return f"failed step ({failed})" if failed else "event without content"


def _is_carried(piece: Piece) -> bool:
    return any(field(piece.raw, name) is not None for name in ("executable_code", "code_execution_result"))


def _spoken(
    event: Mapping[str, Any], found: list[Piece], path: str, waiting: Waiting, shared: dict[str, Any]
) -> Iterator[Event]:
    """A content's function responses as results, then the rest as what its author said."""
    for piece in found:
        if piece.kind == "function_response":
            yield response_event(piece, waiting, **shared)
    rest = [piece for piece in found if piece.kind != "function_response" and (piece.kind or _is_carried(piece))]
    if not rest:
        return
    author = str(event.get("author") or "")
    role = event["content"].get("role")
    if author == "user" or (role == "user" and not any(piece.kind == "function_call" for piece in rest)):
        yield told([media_part(piece) for piece in rest], is_user=author == "user", **shared)
        return
    stand = str(event.get("id") or path.replace("[", "").replace("]", ""))
    stop = stop_of(field(event, "finish_reason"))
    yield Event(
        role="assistant",
        origin="agent",
        parts=step_parts(rest, stand),
        usage=usage_metadata(field(event, "usage_metadata")),
        provider=PROVIDER,
        model=str(field(event, "model_version") or ""),
        meta={**({"author": author} if author else {}), **stop},
        **shared,
    )


def _compaction(compaction: Mapping[str, Any], path: str, shared: dict[str, Any]) -> Event:
    content = as_mapping(field(compaction, "compacted_content") or {}, f"{path}.actions.compaction")
    found = pieces(content.get("parts"), f"{path}.actions.compaction.parts")
    texts = [Text(str(piece.value)) for piece in found if piece.kind == "text" and piece.value]
    if not texts:
        return control("compaction", dict(compaction), provider=NAME, **shared)
    return told(texts, is_user=False, meta={"foreign": "compaction"}, **shared)


FORMAT = Format(NAME, sniff, read)
