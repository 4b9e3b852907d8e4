"""Images: data addresses, sizes, and which kinds the providers take. Knows nothing of messages."""

from __future__ import annotations

import re

from foldmark.events import Image

SUPPORTED = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Both providers document these four and refuse others."""

_DATA_URL = re.compile(r"data:([^;,]*)((?:;[^;,]*)*?)(;base64)?,", re.IGNORECASE)


def image_of_url(url: str, detail: str = "") -> Image:
    """An image from its address; `data:` addresses are taken apart into media type and base64 data."""
    head = _DATA_URL.match(url)
    if head and head[3]:
        return Image(media_type=head[1].lower(), data=url[head.end() :], detail=detail)
    return Image(url=url, detail=detail)


def url_of_image(image: Image) -> str:
    """The address of an image, a `data:` one when it carries its data."""
    return f"data:{image.media_type};base64,{image.data}" if image.data else image.url


def is_supported(image: Image) -> bool:
    """Whether the providers take it: data of a supported media type, or any address."""
    return bool(image.url) if not image.data else image.media_type in SUPPORTED


def left_out(image: Image) -> str:
    """What is written in place of an image that no provider takes, or whose data is not here."""
    kind = image.media_type or "unknown"
    if image.artifact and not (image.data or image.url):
        return f"[an image of type {kind} whose data is not at hand]"
    return f"[an image of type {kind} cannot be sent here]"
