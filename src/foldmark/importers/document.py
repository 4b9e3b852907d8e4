"""Bytes of a transcript file as JSON, JSON lines or plain text. Knows nothing of what they mean."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from foldmark.errors import WireError
from foldmark.importers.values import Document, Notes
from foldmark.wire.plain import TooDeep, is_deep_text


def open_document(data: bytes, name: str, notes: Notes) -> Document:
    """Decode a file: as JSON, else as JSON lines when its first line is a JSON object or list, else as text.
    Raises WireError when it is empty or binary, and for a broken line of JSON lines.

    A last line that is cut (somebody is still writing) is left for the next import and gives a warning: kept
    as it is, it would be another event than the one that the whole line will be.
    """
    text = _text(data, name, notes)
    if not text.strip():
        raise WireError(name or "file", "is empty; there is nothing to import.")
    try:
        value = _decode(text)
    except ValueError as error:
        if not _is_record(next(line for line in text.split("\n") if line.strip())):
            return Document(name=name, text=_unified(text), reason=str(error))
        return Document(name=name, records=tuple(_lines(text, notes)))
    return Document(name=name, value=value, records=((1, value),) if isinstance(value, dict) else ())


def _text(data: bytes, name: str, notes: Notes) -> str:
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    if encoding == "utf-8-sig" and b"\x00" in data:
        raise WireError(name or "file", "is binary, not a transcript in JSON or JSON lines.")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        if notes.strict:
            raise WireError(f"{name or 'file'} byte {error.start}", "is not UTF-8.") from error
        notes.warn(f"bytes that are not UTF-8 (the first at {error.start}) were read as U+FFFD")
        return data.decode(encoding, "replace")


def _decode(text: str) -> Any:
    try:
        value = _loaded(text)
    except RecursionError as error:
        raise TooDeep from error
    if is_deep_text(text, value):
        raise TooDeep
    return value


def _loaded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        # The standard decoder takes escaped lone surrogates, which real tool output holds.
        return json.loads(text)


def _is_record(line: str) -> bool:
    """Whether a first line makes its file JSON lines. A number or a quoted word alone may begin any text."""
    try:
        return isinstance(_decode(line), (dict, list))
    except ValueError:
        return False


def _unified(text: str) -> str:
    """Text with one sort of line end, so that a file saved on another system gives the same events."""
    return text.replace("\r\n", "\n")


def _lines(text: str, notes: Notes) -> list[tuple[int, Any]]:
    records: list[tuple[int, Any]] = []
    lines = text.split("\n")
    filled = [number for number, line in enumerate(lines, 1) if line.strip()]
    for number in filled:
        try:
            records.append((number, _decode(lines[number - 1])))
        except ValueError as broken:
            if number != filled[-1] or notes.strict or isinstance(broken, TooDeep):
                raise WireError(f"line {number}", f"is not JSON that can be read ({broken}).") from broken
            notes.warn(f"the last line ({number}) is cut (still being written?); the next import takes it")
    return records
