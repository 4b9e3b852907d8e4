"""The size of an image in pixels, read from the head of its bytes. Knows nothing of prices, messages or providers.

Nothing is decoded but the few bytes that hold the size: base64 can be entered at any group of four characters, so a
JPEG is walked from segment to segment and five megabytes cost as little as five hundred bytes. What is cut off, broken
or made to mislead gives (0, 0), never an error.
"""

from __future__ import annotations

import re
import struct
from base64 import b64decode
from collections.abc import Callable

from foldmark.events import Image

_JPEG_SEGMENTS = 400
"""How many segments of a JPEG are walked: real files have a dozen, a colour profile in pieces up to 255."""

_MIXED_LINES = re.compile(r"\s")
_STANDARD = str.maketrans("-_", "+/")
_FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # SOF0-15 without DHT, JPG and DAC


def size_of(image: Image) -> tuple[int, int]:
    """(width, height) in pixels as the event says, else as the bytes say, else (0, 0)."""
    if image.width > 0 and image.height > 0:
        return image.width, image.height
    return size_of_data(image.data or payload_of_url(image.url))


def payload_of_url(url: str) -> str:
    """The base64 behind a `data:` address, "" for every other address."""
    return url.partition(",")[2] if url[:5].lower() == "data:" and ";base64," in url[:200].lower() else ""


def size_of_data(data: str) -> tuple[int, int]:
    """(width, height) of a base64 PNG, JPEG, GIF or WebP, (0, 0) when it is none or its head is broken."""
    data = one_line(data)
    head = bytes_at(data, 0, 32)
    for starts, read in _READERS:
        if starts(head):
            try:
                width, height = read(head, data)
            except (struct.error, IndexError):
                return 0, 0
            return (width, height) if width > 0 and height > 0 else (0, 0)
    return 0, 0


def is_picture(head: bytes) -> bool:
    """Whether bytes begin as one of the four formats that providers take."""
    return any(starts(head) for starts, _ in _READERS)


def one_line(data: str) -> str:
    """Base64 without the line breaks of mail (which would shift every place behind them)."""
    return _MIXED_LINES.sub("", data) if _MIXED_LINES.search(data, 0, 200) else data


def bytes_at(data: str, at: int, length: int) -> bytes:
    """`length` bytes from byte `at` of base64 text; fewer where it ends, none where it is broken."""
    first = at // 3 * 4
    text = data[first : first + (length + 2) // 3 * 4 + 4].translate(_STANDARD).rstrip("=")
    text = text[: len(text) - 1] if len(text) % 4 == 1 else text
    try:
        found = b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return b""
    return found[at % 3 : at % 3 + length]


def _png(head: bytes, _data: str) -> tuple[int, int]:
    return struct.unpack_from(">II", head, 16) if head[12:16] == b"IHDR" else (0, 0)


def _gif(head: bytes, _data: str) -> tuple[int, int]:
    return struct.unpack_from("<HH", head, 6)


def _webp(head: bytes, _data: str) -> tuple[int, int]:
    kind = head[12:16]
    if kind == b"VP8X":  # 24-bit sizes less one
        return _little(head[24:27]) + 1, _little(head[27:30]) + 1
    if kind == b"VP8L" and head[20] == 0x2F:  # 14 bits each, less one
        bits = _little(head[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and head[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", head, 26)
        return width & 0x3FFF, height & 0x3FFF
    return 0, 0


def _little(data: bytes) -> int:
    if len(data) < 3:
        raise IndexError
    return int.from_bytes(data, "little")


def _jpeg(_head: bytes, data: str) -> tuple[int, int]:
    """Walk the segments to the frame header, which may stand behind a preview and a colour profile."""
    at = 2
    for _ in range(_JPEG_SEGMENTS):
        segment = bytes_at(data, at, 9)
        mark, kind = segment[0], segment[1]
        if mark != 0xFF:
            return 0, 0
        if kind == 0xFF:  # a filler byte before the marker
            at += 1
        elif kind == 0x01 or 0xD0 <= kind <= 0xD8:  # markers without a body
            at += 2
        elif kind in _FRAME_MARKERS:
            height, width = struct.unpack_from(">HH", segment, 5)
            return width, height
        else:
            at += 2 + max(2, struct.unpack_from(">H", segment, 2)[0])
    return 0, 0


_Reader = Callable[[bytes, str], tuple[int, int]]
_READERS: tuple[tuple[Callable[[bytes], bool], _Reader], ...] = (
    (lambda head: head.startswith(b"\x89PNG\r\n\x1a\n"), _png),
    (lambda head: head.startswith(b"\xff\xd8\xff"), _jpeg),
    (lambda head: head.startswith((b"GIF87a", b"GIF89a")), _gif),
    (lambda head: head.startswith(b"RIFF") and head[8:12] == b"WEBP", _webp),
)
