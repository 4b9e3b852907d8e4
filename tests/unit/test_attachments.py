"""Blocks that we carry cost what they hold: recordings, files and sealed text are never counted as the text that
encodes them."""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.attachments import block_tokens, payload_tokens, reasoning_tokens, sealed_tokens
from foldmark.media_prices import IMAGE_TOKENS, PDF_PAGE_TOKENS
from foldmark.tokens import count


def base64(data: bytes) -> str:
    return b64encode(data).decode()


def noise(size: int) -> bytes:
    return Random(size).randbytes(size)


def wav(seconds: float, *, rate: int = 32_000) -> bytes:
    body = b"\0" * int(seconds * rate)
    fmt = struct.pack("<HHIIHH", 1, 1, rate // 2, rate, 2, 16)
    return b"RIFF" + struct.pack("<I", 36 + len(body)) + b"WAVEfmt " + struct.pack("<I", 16) + fmt + b"data" + body


def pdf(pages: int, filler: int = 100) -> bytes:
    tree = b"<< /Type /Pages /Kids [] >>\n"
    return b"%PDF-1.7\n" + tree + b"<< /Type /Page /Parent 1 0 R >>\n" * pages + b"%" * filler


PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 750, 500) + noise(600)


def openai_file(data: str) -> dict[str, Any]:
    return {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{data}"}}


def anthropic_document(data: str) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    return {"type": "document", "source": source, "title": "a"}


def gemini_part(data: str) -> dict[str, Any]:
    return {"inlineData": {"mimeType": "application/pdf", "data": data}}


@pytest.mark.parametrize("block", [openai_file, anthropic_document, gemini_part])
@pytest.mark.parametrize("filler", [600, 1_500_000])
def test_a_document_costs_its_pages_whatever_its_encoded_length(block: Any, filler: int) -> None:
    cost = block_tokens(block(base64(pdf(3, filler))), count)
    assert 3 * PDF_PAGE_TOKENS < cost < 3 * PDF_PAGE_TOKENS + 60


def test_a_document_whose_pages_are_packed_away_costs_by_its_bytes() -> None:
    packed = b"%PDF-1.7\n" + noise(499_000)
    assert payload_tokens(base64(packed), "", count) == 10 * PDF_PAGE_TOKENS


def test_a_document_that_claims_a_million_pages_is_bounded() -> None:
    assert payload_tokens(base64(pdf(200_000)), "", count) == 1_000 * PDF_PAGE_TOKENS


@pytest.mark.parametrize("rate", [16_000, 32_000, 176_400])
def test_a_recording_costs_its_seconds(rate: int) -> None:
    block = {"type": "input_audio", "input_audio": {"data": base64(wav(5, rate=rate)), "format": "wav"}}
    assert 160 <= block_tokens(block, count) <= 160 + 40


@pytest.mark.parametrize(
    ("data", "label", "tokens"),
    [
        (wav(0, rate=0) + bytes(39_956), "wav", 320),
        (noise(48_000), "pcm16", 32),
        (b"ID3" + noise(39_997), "", 320),
        (noise(40_000), "audio/mp4", 320),
        (noise(40_000), "mp3", 320),
        (noise(120_000), "application/zip", 3 * PDF_PAGE_TOKENS),
        (b"hello world " * 100, "text/plain", count("hello world " * 100)),
        (b'{"a": 1}' * 100, "application/json", count('{"a": 1}' * 100)),
        (PNG, "application/octet-stream", 500),
        (noise(600), "image/heic", IMAGE_TOKENS),
    ],
)
def test_a_payload_is_what_its_first_bytes_say_else_what_its_label_says(data: bytes, label: str, tokens: int) -> None:
    assert abs(payload_tokens(base64(data), label, count) - tokens) <= 1


@pytest.mark.parametrize(
    "block",
    [
        lambda text: {"type": "search_result", "content": [{"type": "text", "text": text}]},
        lambda text: {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}},
        lambda text: {"type": "mcp_tool_use", "input": {"query": text}},
    ],
)
def test_words_are_words_even_when_they_could_be_base64(block: Any) -> None:
    for text in ("word\n" * 400, base64(noise(3_000)), "AB" * 2_000):
        assert abs(block_tokens(block(text), count) - count(json.dumps(block(text)))) <= 3


def test_short_values_and_plain_blocks_count_as_their_json() -> None:
    block = {"type": "note", "data": "QUJD", "url": "https://example.org/a"}
    assert block_tokens(block, count) == count(json.dumps(block))


@pytest.mark.parametrize(
    ("block", "at_least"),
    [
        ({"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}}, PDF_PAGE_TOKENS),
        ({"type": "document", "source": {"type": "file", "file_id": "file_1"}}, PDF_PAGE_TOKENS),
        ({"type": "file", "file": {"file_id": "file_1"}}, PDF_PAGE_TOKENS),
        ({"type": "image", "source": {"type": "file", "file_id": "file_1"}}, IMAGE_TOKENS),
        ({"type": "input_image", "file_id": "file_1"}, IMAGE_TOKENS),
    ],
)
def test_what_is_only_named_costs_its_least(block: dict[str, Any], at_least: int) -> None:
    assert at_least < block_tokens(block, count) < at_least + 40


def test_a_link_in_a_search_result_costs_its_text_alone() -> None:
    block = {"type": "web_search_tool_result", "content": [{"type": "web_search_result", "url": "https://a.example"}]}
    assert block_tokens(block, count) == count(json.dumps(block))


SEALED = base64(noise(30_000))


@pytest.mark.parametrize(
    "raw",
    [
        {"type": "redacted_thinking", "data": SEALED},
        {"type": "reasoning", "summary": [], "encrypted_content": SEALED},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": SEALED}]},
        {"type": "thinking", "thinking": "", "signature": SEALED},
    ],
)
def test_sealed_reasoning_costs_what_it_can_hold_and_not_the_text_that_encodes_it(raw: dict[str, Any]) -> None:
    hidden = (30_000 - 650) // 4
    assert hidden <= reasoning_tokens("", raw, count) <= hidden + 40
    assert reasoning_tokens("a summary", raw, count) == hidden
    assert count(SEALED) > 3 * hidden


def test_open_reasoning_costs_its_words_and_its_short_signature_nothing() -> None:
    words = "First look at the failing test. " * 40
    raw = {"type": "thinking", "thinking": words, "signature": "EuYBCkQYAiJA" * 20}
    assert reasoning_tokens(words, raw, count) == count(words)
    assert reasoning_tokens("", None, count) == 0
    assert sealed_tokens(100) == 0


nested = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["type", "data", "url", "source", "signature", "file_id"]), nested))
def test_no_block_is_an_error(block: dict[str, Any]) -> None:
    assert block_tokens(block, len) >= 2
    assert reasoning_tokens("", block, len) >= 0


def test_a_block_of_hostile_depth_is_counted_and_no_error() -> None:
    block: dict[str, Any] = {}
    for _ in range(500):
        block = {"type": "document", "source": [block]}
    assert block_tokens(block, count) > 500
    assert reasoning_tokens("x", block, count) == 1


@given(st.text(max_size=40), st.text(max_size=20))
def test_no_payload_is_an_error(data: str, label: str) -> None:
    assert payload_tokens(data * 20, label, len) >= 0
