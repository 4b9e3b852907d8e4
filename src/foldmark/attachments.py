"""What a provider's own blocks cost: recordings, files, sealed reasoning, and the words around them. Knows nothing of
tokenizers: whoever asks hands in a counter of text.

A block is walked once. Base64 payloads are priced by what they are (their first bytes tell, whatever their label says)
and leave the block; sealed text is priced by its length; what remains counts as compact JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from foldmark.events import Image
from foldmark.media_prices import IMAGE_TOKENS, PDF_PAGE_TOKENS, audio_tokens, file_tokens, image_tokens
from foldmark.pictures import bytes_at, is_picture, one_line

PAYLOAD_CHARACTERS = 512
"""Shorter base64 is not looked into: it costs less as text than a wrong guess would."""

SEAL_BYTES = 650
"""What encryption and its envelope add to a sealed text, as OpenAI's own agent assumes when it estimates sealed
reasoning (openai/codex: three quarters of the encoded length, less 650, at four bytes a token)."""

_DEPTH = 60  # real blocks are five deep; what is deeper is not walked, and priced as a page
_READ_CHARACTERS = 12_000_000  # of base64: the largest file that providers take is about this long
_MOST_PAGES = 1_000  # providers take 100 to 1,000; a file that claims more is made to mislead
_PAYLOAD_KEYS = frozenset(["data", "file_data", "b64_json", "base64", "bytes", "image_url", "url", "result"])
_SEALED_KEYS = frozenset(["encrypted_content", "signature", "thought_signature", "thoughtSignature"])
_SEALED_BLOCKS = frozenset(["redacted_thinking", "reasoning.encrypted"])
_REFERENCES = frozenset(["file_id", "file_url", "fileUri", "file_uri"])
_MEDIA = re.compile("image|document|file|audio")
_SHOWN = re.compile("image|document")
_BASE64 = re.compile(r"[A-Za-z0-9+/_\r\n-]+={0,2}\s*")
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_TEXTUAL = re.compile(r"text/|.*(json|xml|csv|yaml|javascript|markdown)", re.IGNORECASE)
_AUDIO_HEADS = (b"ID3", b"OggS", b"fLaC", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"\xff\xf1", b"\xff\xf9")
_RAW_RATES = {"pcm16": 48_000, "pcm": 48_000, "l16": 48_000, "g711": 8_000, "mulaw": 8_000, "alaw": 8_000}
_SPEECH_BYTES_PER_SECOND = 4_000
"""Compressed audio of unknown length is taken for speech at 32 kilobit: a low rate, so that its length is not guessed
too short. (Music at 128 kilobit is priced four times too high.)"""

Count = Callable[[str], int]


def block_tokens(raw: Mapping[str, Any], count: Count) -> int:
    """Price of a block that we carry and do not read."""
    bill = _Bill(count)
    bare = bill.bare(raw)
    return count(json.dumps(bare, ensure_ascii=False, default=str)) + bill.total


def reasoning_tokens(text: str, raw: Mapping[str, Any] | None, count: Count) -> int:
    """Price of a model's thinking: the larger of its words and what is sealed beside them. (What is shown is often a
    summary, what is sealed the whole; the provider charges for the whole.)"""
    if not raw:
        return count(text) if text else 0
    if not text:
        return block_tokens(raw, count)
    return max(count(text), sealed_tokens(_sealed_length(raw)))


def sealed_tokens(characters: int) -> int:
    """Price of encrypted text by the length of its base64, at four bytes a token."""
    return max(0, characters * 3 // 4 - SEAL_BYTES) // 4


def payload_tokens(data: str, label: str, count: Count) -> int:
    """Price of a base64 payload by its first bytes, else by its `label` (media type, format or file name)."""
    data, label = one_line(data), label.lower()
    head, size = bytes_at(data, 0, 64), len(data) * 3 // 4
    if is_picture(head) or label.startswith("image/"):
        return image_tokens(Image(data=data))
    if head.startswith(b"%PDF"):
        return file_tokens(size, min(_MOST_PAGES, len(_PAGE.findall(_decoded(data)))))
    if head.startswith(b"RIFF") and head[8:12] == b"WAVE":
        rate = int.from_bytes(head[28:32], "little")
        return audio_tokens(size / rate if rate >= 1_000 else size / _SPEECH_BYTES_PER_SECOND)
    for name, rate in _RAW_RATES.items():
        if name in label:
            return audio_tokens(size / rate)
    if head.startswith(_AUDIO_HEADS) or label.startswith("audio") or label in ("mp3", "wav", "opus", "aac", "ogg"):
        return audio_tokens(size / _SPEECH_BYTES_PER_SECOND)
    if _TEXTUAL.match(label):
        return count(_decoded(data).decode("utf-8", "replace"))
    return file_tokens(size)


def _decoded(data: str) -> bytes:
    return bytes_at(data, 0, _READ_CHARACTERS * 3 // 4)


@dataclass
class _Bill:
    """Walks a block and adds up what leaves it. `kind` is the type of the block around a value."""

    count: Count
    total: int = 0

    def bare(self, value: Any, kind: str = "", depth: int = 0) -> Any:
        """The value without payloads and seals."""
        if depth > _DEPTH:
            return self._taken(PDF_PAGE_TOKENS)
        if isinstance(value, Mapping):
            own = str(value.get("type") or "")
            kind = own if own != "file" and _MEDIA.search(own) else kind or own
            return {str(key): self._field(str(key), one, value, kind, depth) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.bare(one, kind, depth + 1) for one in value]
        if isinstance(value, (bytes, bytearray)):
            return self._taken(file_tokens(len(value)))
        return value

    def _field(self, key: str, value: Any, block: Mapping[str, Any], kind: str, depth: int) -> Any:
        if not isinstance(value, str):
            return self.bare(value, kind, depth + 1)
        if _is_sealed(key, block):
            return self._taken(sealed_tokens(len(value)))
        if found := _payload(key, value, block):
            return self._taken(payload_tokens(*found, self.count))
        if value and (key in _REFERENCES or (key == "url" and _SHOWN.search(kind))):
            self._taken(IMAGE_TOKENS if "image" in kind else PDF_PAGE_TOKENS)
        return value

    def _taken(self, tokens: int) -> str:
        self.total += tokens
        return ""


def _is_sealed(key: str, block: Mapping[str, Any]) -> bool:
    return key in _SEALED_KEYS or (key == "data" and block.get("type") in _SEALED_BLOCKS)


def _sealed_length(value: Any, depth: int = 0) -> int:
    if depth > _DEPTH:
        return 0
    if isinstance(value, Mapping):
        return sum(
            len(inner) if isinstance(inner, str) and _is_sealed(key, value) else _sealed_length(inner, depth + 1)
            for key, inner in value.items()
        )
    if isinstance(value, (list, tuple)):
        return sum(_sealed_length(one, depth + 1) for one in value)
    return 0


def _payload(key: str, text: str, block: Mapping[str, Any]) -> tuple[str, str] | None:
    """(base64, label) when the text is a payload: a `data:` address, or base64 under a key that holds such."""
    if len(text) < PAYLOAD_CHARACTERS or block.get("type") == "text":
        return None
    if text[:5].lower() == "data:" and ";base64," in text[:200].lower():
        head, _, data = text.partition(",")
        return data, head[5:].partition(";")[0]
    looks = _BASE64.fullmatch(text[:4_096]) and _BASE64.fullmatch(text[-64:])
    return (text, _label(block)) if key in _PAYLOAD_KEYS and looks else None


def _label(block: Mapping[str, Any]) -> str:
    for key in ("media_type", "mime_type", "mimeType", "format", "filename", "name"):
        if isinstance(found := block.get(key), str) and found:
            return found
    return ""
