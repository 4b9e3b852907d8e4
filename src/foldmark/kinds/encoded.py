"""Encoded and binary bodies: base64, hex dumps, bytes that are no text. Knows nothing of where they came from."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator

from foldmark.events import ToolCall
from foldmark.kinds.base import Kind, clip, listed, plural, remembered
from foldmark.kinds.body import Body, Count, compose, count_lines, edges
from foldmark.kinds.cuts import without_controls
from foldmark.kinds.runs import RUN, decode_head, digest, is_base64, is_hex, signature

_LINE = re.compile(r"[A-Za-z0-9+/_\-]{40,200}={0,2}\Z")
_PEM = re.compile(r"-----BEGIN ([A-Z0-9 ]{1,40})-----")
_DUMP = re.compile(r"(?:0x)?[0-9a-f]{4,16}:? {1,3}(?:[0-9a-f]{2,8} {1,2}){4,}", re.IGNORECASE)
_DUMPED = re.compile(r"\A(?:0x)?[0-9a-f]{4,16}:? {1,3}((?:[0-9a-f]{2,8} ?){1,16})", re.IGNORECASE)
_BAD = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd\udc80-\udcff]")
_CONTROLS = bytes(code for code in range(128) if _BAD.match(chr(code)))
_PRINTABLE = re.compile(r"[\x20-\x7e]{8,}")
_COUNTED = 4_000_000
_LOOK = 100_000
"""Characters in which printable strings are sought; the top line says so."""


def is_binary(text: str) -> bool:
    """Whether more than one character in ten of the text's ends is none that text is made of."""
    ends = text[:2_000] + text[-2_000:] if len(text) > 4_000 else text
    return len(ends) >= 32 and count_bad(ends) * 10 > len(ends)


def count_bad(text: str) -> int:
    """Characters that text is not made of; in ASCII, which most results are, at the speed of memory."""
    return len(text) - len(text.encode().translate(None, _CONTROLS)) if text.isascii() else len(_BAD.findall(text))


def is_dump(text: str) -> bool:
    lines = _head_lines(text)
    return len(lines) > 3 and all(map(_DUMP.match, lines[:6]))


def _head_lines(text: str) -> list[str]:
    lines = text[:1_200].split("\n")
    return [line.rstrip("\r") for line in (lines[:-1] if len(text) > 1_200 else lines) if line]


def block(text: str) -> str:
    """`base64` or `hex` for a body that is nothing else (in one line or wrapped, with or without PEM lines), else
    ""."""
    if len(text) < RUN:
        return ""
    lines = _head_lines(text) or [text[:1_200]]
    if _PEM.match(lines[0]):
        lines = lines[1:]
    heads = [line[:200] for line in lines[:8]]
    is_wrapped = len({len(line) for line in lines[:-1]}) <= 1  # encoders end all lines but the last at one column
    if not heads or not is_wrapped or not all(map(_LINE.match, heads)):
        return ""
    body = "".join(heads)
    last = text[-400:].strip().split("\n")[-1]
    if not (re.fullmatch(r"[A-Za-z0-9+/_\-]+={0,2}", last) or last.startswith("-----END")):
        return ""
    return "hex" if is_hex(body) else "base64" if is_base64(body) or signature(decode_head(body)) else ""


def _recognise(text: str, call: ToolCall | None) -> float:
    if not text or text[:1].isspace():
        return 0.0
    if is_binary(text):
        return 0.85
    if block(text):
        return 0.85
    return 0.8 if is_dump(text) else 0.0


def _dump_head(text: str) -> bytes:
    match = _DUMPED.match(text[:120])
    try:
        return binascii.unhexlify(match[1].replace(" ", "")) if match else b""
    except (binascii.Error, ValueError):
        return b""


@remembered
def describe(text: str) -> str:
    """`base64 of 120,400 characters in 1,584 lines (PNG image), sha256 …`, `hex dump of …`, `binary of …`."""
    size = f"{len(text):,} characters in {plural(count_lines(text), 'line')}"
    if is_binary(text):
        form, held = "binary", _held(text[:64])
        odd = sum(1 for _ in _BAD.finditer(text, 0, _COUNTED))
        size += f", {odd:,} of {'them' if len(text) <= _COUNTED else f'the first {_COUNTED:,}'} no text"
    elif form := block(text):
        lines = _head_lines(text) or [text[:1_200]]
        start = 1 if _PEM.match(lines[0]) else 0
        held = (_PEM.match(lines[0]) or ("", ""))[1].lower() or signature(decode_head("".join(lines[start:])))
    else:
        form, held = "hex dump", signature(_dump_head(text))
    return f"{form} of {size}{f' ({held})' if held else ''}, sha256 {digest(text)}"


def _held(head: str) -> str:
    """What a head says, read as escaped bytes, as Latin-1, or with its high bytes replaced (`\ufffdPNG`)."""
    for encoding, errors in (("utf-8", "surrogateescape"), ("latin-1", "strict")):
        try:
            if found := signature(head.encode(encoding, errors)):
                return found
        except UnicodeEncodeError:
            continue
    return "PNG image" if head[:4] == "\ufffdPNG" else ""


def strings(text: str) -> list[str]:
    """Printable strings of eight characters and more from the first 100,000 characters, in order."""
    return _PRINTABLE.findall(text[:_LOOK])


class Strings:
    """The printable strings of a binary body as pieces of a preview."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._found = strings(text)
        self.total = len(self._found)

    def line(self, number: int) -> str | None:
        return self._found[number - 1] if 1 <= number <= self.total else None

    def gap(self, first: int, last: int) -> str:
        return f"… {plural(last - first + 1, 'printable string')} not shown …"

    def order(self) -> Iterator[tuple[int, str]]:
        yield from enumerate(self._found, 1)


def outcome(text: str, call: ToolCall | None) -> str:
    said = describe(text)
    if is_binary(text) and (found := strings(text)):
        said += f"; strings: {clip(without_controls(listed([clip(one, 60) for one in found], 4)), 200)}"
    return said


def preview(text: str, budget_tokens: int, count: Count) -> str:
    if is_binary(text):
        pieces = Strings(text)
        top = describe(text)
        if pieces.total:
            where = "" if len(text) <= _LOOK else f" of the first {_LOOK:,} characters"
            top += f"; printable strings{where}:"
        return compose(pieces, pieces.order(), budget_tokens, count, top)
    body = Body(text)
    keep = 3 if is_dump(text) else 1
    wanted = [(number, line) for number, line in edges(body, keep, keep) if len(line) < RUN]
    return compose(body, wanted, budget_tokens, count, describe(text))


ENCODED = Kind("encoded", _recognise, outcome, preview)
