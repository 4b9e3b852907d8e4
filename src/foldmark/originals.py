"""Puts back what was kept outside an event: bodies in place of previews, pictures in place of their hashes.

Knows nothing of why they left.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from threading import Lock

import msgspec

from foldmark.artifacts import Artifacts
from foldmark.errors import NotFound, StoreError
from foldmark.events import Artifact, Event, Image, Part, Paste, Text, ToolResult, images_of, with_images
from foldmark.refs import artifact_ref


def whole(event: Event, artifacts: Artifacts, tenant: str, *, plain: bool = False) -> Event:
    """The event with every body that is still there in full; with `plain` as it arrived, before admission: pastes are
    text again and nothing names an artifact."""
    if not event.artifacts:
        return event
    parts = tuple(_whole_part(part, artifacts, tenant, plain) for part in event.parts)
    return msgspec.structs.replace(event, parts=parts)


def _whole_part(part: Part, artifacts: Artifacts, tenant: str, plain: bool) -> Part:
    if isinstance(part, Image):
        return _filled(part, artifacts, tenant)
    if isinstance(part, ToolResult) and part.images:
        part = msgspec.structs.replace(part, images=tuple(_filled(one, artifacts, tenant) for one in part.images))
    if not isinstance(part, ToolResult | Paste) or not part.artifact:
        return part
    body = _text(part.artifact, artifacts, tenant)
    if body is None:
        return part
    if isinstance(part, ToolResult):
        return msgspec.structs.replace(part, text=body, artifact=None if plain else part.artifact)
    return Text(body) if plain else msgspec.structs.replace(part, text=body)


def _filled(image: Image, artifacts: Artifacts, tenant: str) -> Image:
    """The image with its data; one that is gone stays without."""
    if not image.artifact:
        return image
    data = _text(image.artifact, artifacts, tenant)
    return image if data is None else msgspec.structs.replace(image, data=data, artifact=None)


def _text(artifact: Artifact, artifacts: Artifacts, tenant: str) -> str | None:
    with suppress(NotFound):  # what was deleted stays named: nobody is told that it never was
        return artifacts.read(tenant, artifact.sha256).decode("utf-8", "surrogatepass")
    return None


def pictured(messages: Sequence[Event], artifacts: Artifacts, tenant: str) -> tuple[Event, ...]:
    """Messages as they go out: pictures have their data again, texts stay as they are shown. In place of a picture that
    is gone or damaged stand words that say so: one file must not stop a session.

    The same message gives the same object as long as it is remembered, so that a warm request stays warm.
    """
    waiting = {id(message) for message in with_images(messages) if _waiting(message)}
    if not waiting:
        return tuple(messages)
    return tuple(_shown(message, artifacts, tenant) if id(message) in waiting else message for message in messages)


def _waiting(message: Event) -> bool:
    return any(image.artifact for image in images_of(message))


def _shown(message: Event, artifacts: Artifacts, tenant: str) -> Event:
    known = _memory.of(message)
    if known is None:
        parts = tuple(_shown_part(part, message.seq, artifacts, tenant) for part in message.parts)
        known = msgspec.structs.replace(message, parts=parts)
        if sum(1 for _ in images_of(known)) == sum(1 for _ in images_of(message)):  # what is missing may come back
            _memory.keep(message, known)
    return known


def _shown_part(part: Part, seq: int, artifacts: Artifacts, tenant: str) -> Part:
    if isinstance(part, Image):
        shown = _filled_or_words(part, seq, artifacts, tenant)
        return Text(shown) if isinstance(shown, str) else shown
    if not isinstance(part, ToolResult) or not part.images:
        return part
    found = [_filled_or_words(image, seq, artifacts, tenant) for image in part.images]
    lines = [part.text] if part.text else []
    text = "\n".join([*lines, *(one for one in found if isinstance(one, str))])
    images = tuple(one for one in found if isinstance(one, Image))
    return msgspec.structs.replace(part, text=text, images=images)


def _filled_or_words(image: Image, seq: int, artifacts: Artifacts, tenant: str) -> Image | str:
    """The image with its data, or what is said in its place."""
    if not image.artifact:
        return image
    try:
        filled = _filled(image, artifacts, tenant)
    except StoreError:
        return _words(image, image.artifact, seq, "cannot be read")
    return filled if filled.data else _words(image, image.artifact, seq, "is gone")


def _words(image: Image, artifact: Artifact, seq: int, fate: str) -> str:
    what = f"{image.width}x{image.height}" if image.width and image.height else f"type {image.media_type or 'unknown'}"
    return f"[an image of {what}; its body {fate}: {artifact_ref(seq, artifact.number)}]"


class _Pictures:
    """Messages with their pictures, by the object they were made of; the oldest leave first when the data of all
    passes `limit` characters."""

    def __init__(self, limit: int = 64_000_000) -> None:
        self._limit, self._size = limit, 0
        self._known: dict[int, tuple[Event, Event, int]] = {}
        self._lock = Lock()

    def of(self, message: Event) -> Event | None:
        found = self._known.get(id(message))
        return found[1] if found and found[0] is message else None

    def keep(self, message: Event, shown: Event) -> None:
        size = sum(len(image.data) for image in images_of(shown))
        with self._lock:
            replaced = self._known.pop(id(message), None)
            self._known[id(message)] = (message, shown, size)
            self._size += size - (replaced[2] if replaced else 0)
            while self._size > self._limit and len(self._known) > 1:
                self._size -= self._known.pop(next(iter(self._known)))[2]


_memory = _Pictures()
