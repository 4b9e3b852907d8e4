"""Encoded runs inside a text: base64, hex, data URLs, and what their first bytes say they hold. Knows nothing of
budgets or lines.

A run costs about a token for every three characters and tells a reader nothing; its length, kind and hash do.
"""

from __future__ import annotations

import binascii
import hashlib
import re
from dataclasses import dataclass

RUN = 512
"""Characters from which a run without a break is folded: a hash of 512 bits is 128 characters in hex, a key of 4,096
bits wrapped in one line about 3,200; between them lies nothing that is read by eye."""

_WRAPPED = 60
"""Characters at which encoders wrap their lines are 64 and 76; the last line is shorter."""

_CLASS = r"A-Za-z0-9+/_\-"
# One attempt per run (the look-behind) and no way back into it (possessive): linear for every text.
_RUN = re.compile(rf"(?<![{_CLASS}])[{_CLASS}]{{{RUN},}}+={{0,2}}")
_LONG = re.compile(rf"[{_CLASS}]++={{0,2}}")
_DATA_URL = re.compile(r"data:[\w.+/;=-]{0,160},\Z")
_BEFORE = frozenset(" \t\"'`([{<>,;:=|\\\n")
_AFTER = frozenset(" \t\"'`)]}<>,;&|\\\n\r")

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF-", "PDF"),
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"\x7fELF", "ELF program"),
    (b"MZ", "Windows program"),
    (b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
    (b"\xcf\xfa\xed\xfe", "Mach-O program"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"\x00asm", "WebAssembly"),
    (b"OggS", "Ogg"),
    (b"ID3", "MP3 audio"),
    (b"fLaC", "FLAC audio"),
    (b"wOF2", "WOFF2 font"),
    (b"PAR1", "Parquet"),
    (b"<svg", "SVG image"),
    (b"<?xml", "XML"),
    (b"-----BEGIN", "PEM"),
    (b"{", "JSON"),
)
"""First bytes of common formats, from the list of file signatures that `file(1)` uses."""


@dataclass(frozen=True)
class Run:
    """An encoded run: character positions in its text, and the words that stand for it."""

    start: int
    end: int
    mark: str


def signature(head: bytes) -> str:
    """What the first bytes say a file is, "" when they say nothing known."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WebP image"
    if head[4:8] == b"ftyp":
        return "MP4 or HEIF media"
    return next((name for magic, name in _SIGNATURES if head.startswith(magic)), "")


def decode_head(run: str, size: int = 32) -> bytes:
    """The first bytes behind an encoded run, b"" when it is neither hex nor base64."""
    head = run[: size * 2 - size * 2 % 4]
    try:
        if is_hex(head):
            return binascii.unhexlify(head)
        return binascii.a2b_base64(head.replace("-", "+").replace("_", "/"))
    except (binascii.Error, ValueError):
        return b""


_HEX = re.compile(r"[0-9a-fA-F]+\Z")
_MIXED = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[^0-9]*[0-9])")


def is_hex(text: str) -> bool:
    return bool(_HEX.match(text))


def is_base64(text: str) -> bool:
    """Whether small and capital letters and digits stand side by side, as in encoded bytes and in few words, in one of
    the two alphabets, with slashes as rare as there (one in 64) and not as in paths."""
    head = text[:RUN]
    has_both = ("/" in head or "+" in head) and ("_" in head or "-" in head)
    return bool(_MIXED.match(head)) and not has_both and head.count("/") * 12 <= len(head)


def is_encoded_line(line: str) -> bool:
    """Whether a line is one of wrapped base64, as of a key or a mail attachment."""
    return len(line) >= _WRAPPED and bool(_LONG.fullmatch(line)) and (is_base64(line) or is_hex(line))


def name_of(run: str) -> str:
    """`hex (ELF program)`, `base64 (PNG image)`, `base64`, or "" when a run may be anything."""
    if is_hex(run):
        form = "hex"
    elif is_base64(run) or signature(decode_head(run)):
        form = "base64"
    else:
        return ""
    held = signature(decode_head(run))
    return f"{form} ({held})" if held else form


def digest(text: str) -> str:
    """The first twelve characters of the sha256 of a text's characters as they stand."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def next_run(text: str, at: int, before: int) -> Run | None:
    """The first encoded run that starts at or after `at` and before `before`; None when there is none.

    A run that is a piece of a longer word (a URL, a path) is none: half a URL is worse than no URL.
    """
    while at < before:
        found = _RUN.search(text, at, min(len(text), before + RUN))
        if not found or found.start() >= before:
            return None
        whole = _LONG.match(text, found.start()) or found
        if run := _as_run(text, whole.start(), whole.end()):
            return run
        at = whole.end()
    return None


def _as_run(text: str, start: int, end: int) -> Run | None:
    if start and text[start - 1] not in _BEFORE and not _DATA_URL.search(text, max(0, start - 200), start):
        return None
    if end < len(text) and text[end] not in _AFTER:
        return None
    lead = text[max(0, start - 200) : start]
    url = _DATA_URL.search(lead)
    if "://" in re.split(r"[\s\"'<>()`]", lead)[-1]:
        return None
    run = text[start:end]
    if not (name := name_of(run)):
        return Run(start, end, f"… {len(run):,} characters without a space not shown …")
    begin = start - len(url[0]) if url else start
    media = f"{url[0][:-1]}: " if url else ""
    return Run(begin, end, f"… {media}{len(run):,} characters of {name} not shown, sha256 {digest(run)} …")
