"""Finds what stands behind a ref: events, lines of a body, all that a compaction covers. Knows nothing of ranking."""

from __future__ import annotations

from typing import Any

import msgspec

from foldmark.artifacts import Artifacts, MemoryArtifacts
from foldmark.errors import NotFound
from foldmark.events import Artifact, Event, images_of
from foldmark.originals import whole
from foldmark.readings import with_calls, words_of
from foldmark.refs import Ref, artifact_ref, parse
from foldmark.store import Key, Store


class Place(msgspec.Struct, frozen=True):
    """A ref made definite: the key of its session, and what is there. Exactly one of the rest is filled:
    `seq` (an event as it is; `next` names the body whose preview it shows), `events` (a stretch of the log, with the
    ref of the next one), or `sha256` on `shelf` (a body; text that never left its event gets a shelf of its own)."""

    ref: Ref
    key: Key
    seq: int = 0
    events: tuple[Event, ...] = ()
    next: str = ""
    sha256: str = ""
    shelf: Any = None


def locate(store: Store, artifacts: Artifacts, key: Key, ref: str, limit: int) -> Place:
    """Resolve a ref inside the tenant and user of `key`. Raises NotFound with the reason."""
    address = parse(ref)
    if address.session:
        known = {info.session for info in store.sessions(key.tenant, key.user)}
        if address.session not in known:
            raise NotFound(ref, f"There is no session {address.session!r} here; `foldmark sessions` lists them.")
        key = msgspec.structs.replace(key, session=address.session, scope="", sees="all")
    if address.kind == "compaction":
        return _compaction(store, key, address, limit)
    if address.kind == "artifact" and address.name.startswith("sha256:"):
        sha256 = address.name.removeprefix("sha256:")
        if not artifacts.has(key.tenant, sha256):
            raise NotFound(ref)
        return Place(address, key, sha256=sha256, shelf=artifacts)
    event = store.event(key, address.name)
    if address.is_event and not (address.lines or address.bytes):
        bodies = [one for one in event.artifacts if one.kind != "image"]  # the event shows their previews
        return Place(address, key, seq=event.seq, next=artifact_ref(event.seq, bodies[0].number) if bodies else "")
    artifact = _artifact(event, address)
    if artifact and artifact.kind == "image" and not (address.lines or address.bytes):
        return Place(address, key, events=(_picture(whole(event, artifacts, key.tenant), event, artifact),))
    if artifact and (address.kind == "artifact" or len(event.parts) == 1):
        return Place(address, key, sha256=artifact.sha256, shelf=artifacts)
    if address.kind == "artifact" and address.number > 1:
        raise NotFound(ref, f"Event {event.seq} has no artifact number {address.number}.")
    shelf = MemoryArtifacts()
    sha256 = shelf.put(key.tenant, _whole_text(artifacts, key, event).encode("utf-8", "surrogatepass"))
    return Place(address, key, sha256=sha256, shelf=shelf)


def _whole_text(artifacts: Artifacts, key: Key, event: Event) -> str:
    """The event's words, pastes in full, then its calls: the very lines that a hit's address counts."""
    bodies = {
        (event.seq, one.number): artifacts.read(key.tenant, one.sha256).decode("utf-8", "surrogatepass")
        for one in event.artifacts
        if one.kind != "image"
    }
    return with_calls(words_of(event, bodies), event.calls)


def _artifact(event: Event, address: Ref) -> Artifact | None:
    return next((one for one in event.artifacts if one.number == address.number), None)


def _picture(filled: Event, event: Event, artifact: Artifact) -> Event:
    """The image of an artifact, as an event that shows it."""
    pairs = zip(images_of(event), images_of(filled), strict=True)
    image = next(shown for kept, shown in pairs if kept.artifact == artifact)
    return msgspec.structs.replace(event, role="user", origin="injected", parts=(image,), plain="", chain="")


def _compaction(store: Store, key: Key, address: Ref, limit: int) -> Place:
    """All events that a compaction covers; its `#L` range counts events. A page holds about `limit` characters."""
    versions = {str(one.version): one for one in store.checkpoints(key)}
    found = versions.get(address.name)
    if found is None:
        listed = ", ".join(f"compaction:{name}" for name in versions) or "none"
        raise NotFound(str(address), f"There is no {address}; this session has: {listed}.")
    if not found.boundary:
        raise NotFound(
            str(address), f"{address} is an undo of every compaction: it covers nothing, all events are raw."
        )
    first, last = address.lines or (1, found.boundary)
    events: list[Event] = []
    size = 0
    covered = store.log(key, first, min(last, found.boundary))
    for event in covered:
        size += len(event.text) + sum(len(call.arguments) for call in event.calls)
        if events and size > limit:
            break
        events.append(event)
    if not events:
        raise NotFound(
            str(address), f"compaction:{found.version} covers event:1-{found.boundary}; nothing is in {address}."
        )
    more = len(events) < len(covered)
    next_ = f"compaction:{found.version}#L{covered[len(events)].seq}-{min(last, found.boundary)}" if more else ""
    return Place(address, key, events=tuple(events), next=next_)
