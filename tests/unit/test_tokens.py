"""The meter counts as tiktoken does, prices images by pixels, and survives dirty text."""

from __future__ import annotations

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark import tokens
from foldmark.errors import PolicyError
from foldmark.events import Image, ToolCall, ToolResult, assistant, control, user


@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [("hello world", 2, 2), ("", 0, 0), ("src/foldmark/events.py:12", 8, 8), ("東京都に住んでいます", 6, 10)],
)
def test_known_texts_cost_their_known_tokens(text: str, o200k: int, cl100k: int) -> None:
    assert tokens.count(text) == o200k
    assert tokens.count(text, "cl100k_base") == cl100k


@given(st.text(max_size=400))
def test_the_fast_counter_equals_tiktoken(text: str) -> None:
    plain = tokens._tiktoken("o200k_base")
    assert tokens.count(text) == plain(text.encode("utf-8", "replace").decode())


def test_a_lone_surrogate_counts_like_the_replacement_character() -> None:
    assert tokens.count("a \ud800 b") == tokens.count("a ? b")


def test_a_giant_text_without_spaces_is_counted() -> None:
    assert 20_000 <= tokens.count("A" * 200_000) <= 200_000


def test_an_unknown_encoding_names_the_known_ones() -> None:
    with pytest.raises(PolicyError, match="o200k_base"):
        tokens.count("x" * 300, "r50k")


def test_the_price_of_an_image_depends_on_pixels_not_on_encoded_length() -> None:
    def png(width: int, height: int, filler: int) -> Image:
        head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)
        return Image(media_type="image/png", data=base64.b64encode(head + b"\0" * filler).decode())

    assert tokens.image_tokens(png(300, 300, 100)) == tokens.image_tokens(png(300, 300, 100_000)) == 120
    assert tokens.image_tokens(Image(url="https://example.org/a.png")) == tokens.IMAGE_TOKENS
    assert tokens.image_tokens(png(10, 10, 10)) == 85


def test_an_event_costs_its_parts_and_a_control_record_nothing() -> None:
    call = ToolCall("c1", "read", '{"path":"a.py"}')
    event = assistant("hello world", call)
    assert tokens.event_tokens(event) == 2 + tokens.count("read") + tokens.count('{"path":"a.py"}')
    assert tokens.event_tokens(control("meta", {"a": "long text " * 50})) == 0
    assert tokens.part_tokens(ToolResult("c1", "hello world", images=(Image(url="u"),))) == 2 + tokens.IMAGE_TOKENS
    assert tokens.event_tokens(user("hello world")) == 2


def test_calibration_is_bounded() -> None:
    assert tokens.calibrated(1_000, 1.2) == 1_200
    assert tokens.calibrated(1_000, 90.0) == 4_000
    assert tokens.calibrated(1_000, 1.0, 250) == 1_250
