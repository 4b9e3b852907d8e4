"""Imports the samples of an Inspect run as Vivaria stores them: message files by name, or one alone. Knows nothing
of Inspect's messages, which the reader of its logs reads.

A sample is a session of its own, named after its first message, whose id is unique. Scores and target are about the
run and left out, with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from foldmark.errors import WireError
from foldmark.importers import inspect_log
from foldmark.importers.values import Document, Format, Imported, Notes, derived_id, nothing_to_import

NAME = "vivaria"


def sniff(document: Document) -> bool:
    value = document.value
    if not isinstance(value, Mapping) or not value:
        return False
    return _is_sample(value) or all(_is_sample(sample) for sample in list(value.values())[:5])


def _is_sample(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("messages"), list) and {"epoch", "input"} <= value.keys()


def read(document: Document, notes: Notes) -> list[Imported]:
    """One session a sample. Raises WireError with the name of the sample and the path in it."""
    value = document.value
    samples = {"sample": value} if _is_sample(value) else value
    found = [imported for key, sample in samples.items() for imported in _sample(str(key), sample, notes)]
    if not found:
        raise nothing_to_import(document)
    return found


def _sample(key: str, sample: Any, notes: Notes) -> list[Imported]:
    if not _is_sample(sample):
        raise WireError(key, "expected a sample: an object with input, epoch and messages.")
    if not sample["messages"]:
        notes.warn(f"{key} holds no message and is left out")
        return []
    alone = Document(name=key, value={"eval": {}, "samples": [sample]})
    try:
        found = inspect_log.read(alone, Notes(strict=notes.strict))
    except WireError as error:
        reason = str(error).removeprefix(f"{error.path}: ")
        raise WireError(error.path.replace("samples[0]", key), reason) from error
    first = sample["messages"][0]
    own = first.get("id") if isinstance(first, Mapping) else None
    return [
        msgspec.structs.replace(
            imported,
            session=f"{NAME}-{own}" if own else derived_id(NAME, imported.events),
            format=NAME,
            warnings=(*notes.lines(), *imported.warnings),
        )
        for imported in found
    ]


FORMAT = Format(NAME, sniff, read)
