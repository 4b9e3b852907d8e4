"""Image sizes are read from the head of the bytes; broken and hostile heads give no size and no error."""

from __future__ import annotations

import struct
from base64 import b64encode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.events import Image
from foldmark.pictures import bytes_at, size_of, size_of_data


def text(data: bytes) -> str:
    return b64encode(data).decode()


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x06\0\0\0"


def segment(kind: int, body: bytes) -> bytes:
    return bytes([0xFF, kind]) + struct.pack(">H", len(body) + 2) + body


def jpeg(width: int, height: int, *, before: tuple[bytes, ...] = (), frame: int = 0xC0) -> bytes:
    head = b"\xff\xd8" + b"".join(before)
    return head + segment(frame, struct.pack(">BHHB", 8, height, width, 3) + b"\0" * 9) + b"\xff\xda"


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0"


def webp(kind: bytes, body: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", 4 + 8 + len(body)) + b"WEBP" + kind + struct.pack("<I", len(body)) + body


def lossy(width: int, height: int) -> bytes:
    return webp(b"VP8 ", b"\x30\x01\x00\x9d\x01\x2a" + struct.pack("<HH", width | 0x4000, height) + b"\0" * 8)


def lossless(width: int, height: int) -> bytes:
    return webp(b"VP8L", b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14) + b"\0" * 8)


def extended(width: int, height: int) -> bytes:
    sizes = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return webp(b"VP8X", b"\x10\0\0\0" + sizes + b"\0" * 8)


PREVIEW = segment(0xE1, b"Exif\0\0" + jpeg(160, 120) + b"\0" * 60_000)
PROFILE = tuple(segment(0xE2, b"ICC_PROFILE\0" + bytes([n, 9]) + b"\0" * 65_000) for n in range(1, 10))

CASES = {
    "png": png(1920, 1080),
    "gif": gif(1920, 1080),
    "jpeg": jpeg(1920, 1080),
    "progressive jpeg": jpeg(1920, 1080, frame=0xC2),
    "jpeg behind a preview and a colour profile": jpeg(1920, 1080, before=(PREVIEW, *PROFILE)),
    "jpeg with tables and filler bytes first": jpeg(1920, 1080, before=(segment(0xC4, b"\0" * 30), b"\xff\xff\xff")),
    "lossy webp": lossy(1920, 1080),
    "lossless webp": lossless(1920, 1080),
    "extended webp": extended(1920, 1080),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("tail", [0, 1, 2, 100_000])
def test_every_format_says_its_size(name: str, tail: int) -> None:
    assert size_of_data(text(CASES[name] + b"\0" * tail)) == (1920, 1080)


@pytest.mark.parametrize("name", CASES)
def test_the_alphabet_of_addresses_and_the_line_breaks_of_mail_change_nothing(name: str) -> None:
    data = CASES[name]
    wrapped = "\r\n".join(text(data)[at : at + 76] for at in range(0, len(text(data)), 76))
    assert size_of_data(urlsafe_b64encode(data).decode().rstrip("=")) == (1920, 1080)
    assert size_of_data(wrapped) == (1920, 1080)
    assert size_of(Image(url="data:image/x;base64," + text(data))) == (1920, 1080)


def test_what_the_event_says_goes_before_what_the_bytes_say() -> None:
    assert size_of(Image(data=text(png(10, 20)), width=300, height=200)) == (300, 200)
    assert size_of(Image(data=text(png(10, 20)), width=300)) == (10, 20)
    assert size_of(Image(url="https://example.org/a.png")) == (0, 0)


@pytest.mark.parametrize("name", CASES)
@given(cut=st.integers(0, 40), flip=st.binary(max_size=12), at=st.integers(0, 40))
def test_a_head_that_is_cut_off_or_broken_gives_a_size_or_none_and_never_an_error(
    name: str, cut: int, flip: bytes, at: int
) -> None:
    broken = CASES[name][:cut]
    broken = broken[:at] + flip + broken[at + len(flip) :]
    width, height = size_of_data(text(broken))
    assert width >= 0 <= height
    assert bool(width) == bool(height)


@given(st.text(max_size=300))
def test_text_that_is_no_base64_has_no_size(junk: str) -> None:
    assert size_of_data("=" + junk) == (0, 0)


@pytest.mark.parametrize(
    "data",
    [png(0, 5), png(5, 0), gif(0, 0), b"\xff\xd8" + b"\xff" * 5_000, b"\xff\xd8" + segment(0xE0, b"") * 5_000, b""],
)
def test_a_head_made_to_mislead_has_no_size(data: bytes) -> None:
    assert size_of_data(text(data)) == (0, 0)


@given(st.binary(max_size=60), st.integers(0, 70), st.integers(0, 70))
def test_bytes_are_read_from_any_place(data: bytes, at: int, length: int) -> None:
    assert bytes_at(text(data), at, length) == data[at : at + length]
