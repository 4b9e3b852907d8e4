"""What images, recordings and files cost in tokens, by provider and model. Knows nothing of messages or windows.

Every rule names where its numbers were read and when. Providers charge by what a model sees (pixels, seconds, pages),
never by encoded length. An image has two prices: the *neutral* one, stored with its event, so that choices inside a
request do not depend on who reads it; and the provider's own, by which totals are corrected (`difference`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import ceil, sqrt

from foldmark.events import Event, Image, images_of, with_images
from foldmark.pictures import size_of

IMAGE_TOKENS = 1_600
"""The neutral price of a full screenshot, and of an image of unknown size: 1.15 megapixels at 750 pixels a token, from
which Anthropic's vision guide scaled everything down until its high-resolution models came (read November 2026)."""

FULL_HD = (1_920, 1_080)
"""What an image of unknown size is taken for when its provider is known: the usual screenshot."""

AUDIO_TOKENS_PER_SECOND = 32
"""Gemini's audio guide says 32 tokens a second; people measured 10 for OpenAI's audio models (read November 2026)."""

PDF_PAGE_TOKENS = 2_500
"""A page is sent as its text and its picture: 1,500 to 3,000 tokens by Anthropic's PDF guide; measured in public for a
page of text or tables on Claude 5.5: 2,320 to 2,480, on Gemini 3: 560 (read November 2026)."""

BYTES_A_PAGE = 50_000
"""A page of a file whose pages cannot be counted, and of a kind that nobody documents."""


def image_tokens(image: Image, provider: str = "", model: str = "") -> int:
    """Price of an image. Without a provider the neutral one: width x height / 750, between 85 and IMAGE_TOKENS.

    `provider` is a provider's or a wire's name, `model` the model's as the provider writes it; a model that names its
    maker (`claude-…` behind an OpenAI-compatible gateway) is priced as that maker does. Unknown makers: neutral.
    """
    price = _PRICES.get(_maker(provider, model))
    width, height = size_of(image)
    if price is None:
        return max(85, min(IMAGE_TOKENS, round(width * height / 750))) if width else IMAGE_TOKENS
    name = _bare(model)
    return price(width, height, image.detail, name) if width else max(IMAGE_TOKENS, price(*FULL_HD, "", name))


def difference(events: Iterable[Event], provider: str, model: str = "") -> int:
    """What the images of these events cost at a provider above (or below) their neutral prices."""
    if not _maker(provider, model):
        return 0
    shown = (one for event in with_images(events) for one in images_of(event))
    return sum(image_tokens(one, provider, model) - image_tokens(one) for one in shown)


_MAKERS = (
    (re.compile(r"claude"), "anthropic"),
    (re.compile(r"gemini|gemma"), "google"),
    (re.compile(r"gpt|chatgpt|o[134]([-:@]|$)|computer-use"), "openai"),
)
_KNOWN = re.compile(
    r"(?<![a-z0-9])(?:claude|gemini|gemma|chatgpt|gpt|computer-use)"
    r"|(?<![^.:@])o[134](?![^-:@])"  # so short a name stands alone: others' models are called `marco-o1` too
)
_WIRES = (("anthropic", "anthropic"), ("gemini", "google"), ("google", "google"), ("vertex", "google"))


def _maker(provider: str, model: str) -> str:
    """Whose prices apply: the model's maker when its name tells, else the provider's or wire's owner, else nobody's."""
    name = _bare(model)
    for pattern, maker in _MAKERS:
        if pattern.match(name):
            return maker
    for start, maker in (*_WIRES, ("openai", "openai")):
        if provider.lower().startswith(start):
            return maker
    return ""


def _bare(model: str) -> str:
    """The model's name without what gateways and clouds put in front: `us.anthropic.claude-sonnet-4-…` on Bedrock,
    `vertex_ai/gemini-…` in LiteLLM, `ft:gpt-…` of one's own."""
    name = model.rpartition("/")[2].lower()
    known = _KNOWN.search(name)
    return name[known.start() :] if known else name


_STANDARD_CLAUDE = re.compile(r"claude-(?:instant|[123](?!\d)|(?:haiku|sonnet)-4|opus-4(?:[.-][0-6](?!\d)|-20|@|$))")


def _anthropic(width: int, height: int, _detail: str, model: str) -> int:
    """28-pixel patches. Scaled down to a long edge of 1,568 and 1,568 tokens, on high-resolution models (Opus 4.7 and
    everything newer; taken when the model is not known) to 2,576 and 4,784. Source: Anthropic's vision guide; the
    patches agree to the token with a public measurement of ten sizes on Claude 4.5 and 5.5 (October 2026)."""
    edge, limit = (1_568, 1_568) if _STANDARD_CLAUDE.match(model) else (2_576, 4_784)
    scale = min(1.0, edge / max(width, height))
    return min(limit, max(1, _ceil(width * scale / 28)) * max(1, _ceil(height * scale / 28)))


_TILES = (
    ("gpt-4o-mini", 2_833, 5_667),
    ("gpt-4o", 85, 170),
    ("chatgpt-4o", 85, 170),
    ("gpt-4.1", 85, 170),
    ("gpt-4.5", 85, 170),
    ("gpt-4", 85, 170),
    ("o1", 75, 150),
    ("o3", 75, 150),
    ("gpt-5.1", 70, 140),
    ("gpt-5-", 70, 140),
    ("gpt-5", 70, 140),
    ("computer-use", 65, 129),
)
_PATCHES = (
    ("gpt-4.1-mini", 1.62),
    ("gpt-4.1-nano", 2.46),
    ("gpt-5-mini", 1.62),
    ("gpt-5-nano", 2.46),
    ("o4-mini", 1.72),
)
_NEWER = re.compile(r"gpt-5\.[2-9]")  # no tiles: `gpt-5` above is the first of its line
_PATCH_FACTOR, _HIGH_PATCHES, _MOST_PATCHES = 1.2, 2_500, 12_000


def _openai(width: int, height: int, detail: str, model: str) -> int:
    """Three rules by model family (OpenAI's images guide, read November 2026).

    Tiles: base + tile x tiles of 512 pixels, scaled to fit 2,048 and then to a short side of 768; `low` is the base.
    Patches: 32-pixel patches, at most 1,536 of them, times a factor. Newer models (and unknown ones): patches x 1.2,
    `high` at most 2,500 of them, `auto` and `original` as they are. The last rule agrees to the token with a public
    measurement of ten sizes on GPT-6 and GPT-5.5 (October 2026); 10,000 and more patches were the most that was seen.
    """
    for name, factor in _PATCHES:
        if model.startswith(name):
            return _ceil(factor * _patches(width, height, 1_536))
    for name, base, tile in _TILES:
        if model.startswith(name) and not _NEWER.match(model):
            return base if detail == "low" else base + tile * _tiles(width, height)
    limit = {"low": 256, "high": _HIGH_PATCHES}.get(detail, _MOST_PATCHES)
    return _ceil(_PATCH_FACTOR * _patches(width, height, limit))


def _tiles(width: int, height: int) -> int:
    scale = min(1.0, 2_048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    return _ceil(width * scale / 512) * _ceil(height * scale / 512)


def _patches(width: int, height: int, limit: int) -> int:
    """32-pixel patches that cover the image, scaled down so that whole patches stay within the limit."""
    across, down = width / 32, height / 32
    if _ceil(across) * _ceil(down) > limit:
        scale = sqrt(limit / (across * down))
        whole = [max(1, int(side * scale)) / (side * scale) for side in (across, down)]
        across, down = across * scale * min(whole), down * scale * min(whole)
    return min(limit, max(1, _ceil(across)) * max(1, _ceil(down)))


def _google(width: int, height: int, _detail: str, model: str) -> int:
    """1,120 an image on Gemini 3 and later (the default media resolution; a public measurement found 1,065 to 1,101 in
    ten sizes, October 2026). Before: 258 up to 384 pixels a side, else 258 for each tile, whose side is two thirds of
    the short side within 256 to 768 (Vertex guide on image understanding)."""
    if not re.match(r"gemini-[12](?!\d)|gemma", model):
        return 1_120
    if width <= 384 and height <= 384:
        return 258
    side = max(256, min(768, int(min(width, height) / 1.5)))
    return 258 * min(64, _ceil(width / side) * _ceil(height / side))


def _ceil(value: float) -> int:
    return ceil(round(value, 6))  # 57.0000001 patches are 57


_PRICES = {"anthropic": _anthropic, "openai": _openai, "google": _google}


def audio_tokens(seconds: float) -> int:
    """Price of a recording by its length."""
    return max(1, ceil(seconds * AUDIO_TOKENS_PER_SECOND))


def file_tokens(size_bytes: int, pages: int = 0) -> int:
    """Price of a file by its pages, else by its size in bytes, at least one page."""
    return PDF_PAGE_TOKENS * max(1, pages or ceil(size_bytes / BYTES_A_PAGE))
