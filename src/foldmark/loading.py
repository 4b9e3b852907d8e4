"""Finds what stands behind a ref: events, lines of a body, all that a compaction covers. Knows nothing of ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from foldmark.artifacts import Artifacts, MemoryArtifacts
from foldmark.errors import NotFound
from foldmark.events import Artifact, Event, images_of
from foldmark.originals import whole
from foldmark.reach import reached
from foldmark.readings import with_calls, words_of
from foldmark.refs import Ref, artifact_ref, events_ref, parse
from foldmark.seeking import Reach
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


def locate(store: Store, artifacts: Artifacts, key: Key, ref: str, limit: int, reach: Reach | None = None) -> Place:
    """Resolve a ref inside the tenant and user of `key`. Raises NotFound with the reason.

    With a `reach` only what that allows, as the key's scope sees it: everything else is not found, in the same words as
    what does not exist. A body by its hash alone must then belong to an event that is seen.
    """
    address = parse(ref)
    if address.kind == "call":
        return _call(store, key, address, reach)
    if address.session:
        key = _key_of(store, key, address.session, ref, reach)
    if address.kind == "compaction":
        return _compaction(store, key, address, limit)
    if address.kind == "artifact" and address.name.startswith("sha256:"):
        return _body(store, artifacts, key, address, reach)
    if address.span and not _is_id(store, key, address.name):
        return _several(store, key, address, limit)
    event = store.event(key, address.name)
    if reach and not key.shows(event):
        raise NotFound(ref)
    if address.is_event and not (address.lines or address.bytes):
        return Place(address, key, seq=event.seq, next=_body_ref(event, address.session))
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


def page_of(events: Sequence[Event], limit: int, session: str, more: str) -> tuple[tuple[Event, ...], str]:
    """The first of the events, about `limit` characters of them, and the ref of the others; `more` when all fit."""
    count = how_many(events, limit)
    if count == len(events):
        return tuple(events), more
    return tuple(events[:count]), events_ref(events[count].seq, events[-1].seq, session)


def how_many(events: Sequence[Event], limit: int) -> int:
    """How many of the events, from the first on, hold at most `limit` characters; one at least."""
    size = 0
    for count, event in enumerate(events):
        size += len(event.text) + sum(len(call.arguments) for call in event.calls)
        if count and size > limit:
            return count
    return len(events)


def _key_of(store: Store, key: Key, session: str, ref: str, reach: Reach | None) -> Key:
    """The key of the session that a ref names."""
    if reach:
        if (found := reached(store, key, session, reach)) is None:
            raise NotFound(ref)
        return found
    if session not in {info.session for info in store.sessions(key.tenant, key.user)}:
        raise NotFound(ref, f"There is no session {session!r} here; `foldmark sessions` lists them.")
    return msgspec.structs.replace(key, session=session, scope="", sees="all")


def _is_id(store: Store, key: Key, name: str) -> bool:
    """Whether a client gave an event this id."""
    try:
        return bool(store.event(key, name))
    except NotFound:
        return False


def _body_ref(event: Event, session: str) -> str:
    """The first body of which the event shows a preview."""
    bodies = [one for one in event.artifacts if one.kind != "image"]
    return artifact_ref(event.seq, bodies[0].number, session) if bodies else ""


def _body(store: Store, artifacts: Artifacts, key: Key, address: Ref, reach: Reach | None) -> Place:
    """A body by its hash."""
    sha256 = address.name.removeprefix("sha256:")
    if reach and not any(one.sha256 == sha256 for event in store.log(key) for one in event.artifacts):
        raise NotFound(str(address))
    if not artifacts.has(key.tenant, sha256):
        raise NotFound(str(address))
    return Place(address, key, sha256=sha256, shelf=artifacts)


def _call(store: Store, key: Key, address: Ref, reach: Reach | None) -> Place:
    """The newest call of an id with its result. The id of a call in another session is followed by `@` and that
    session."""
    made, answer = _made(store, key, address.name)
    name, _, session = address.name.rpartition("@")
    if made is None and name:
        key = _key_of(store, key, session, str(address), reach)
        return _call(store, key, Ref("call", name, session), reach)
    if made is None:
        missing = f"No tool call with the id {address.name!r} was made here."
        raise NotFound(str(address), f"{missing} A search by the name of the tool brings those that were.")
    body = _body_ref(answer, address.session) if answer else ""
    return Place(address, key, events=(made, answer) if answer else (made,), next=body)


def _made(store: Store, key: Key, call_id: str) -> tuple[Event | None, Event | None]:
    """The newest step that makes a call of this id, and the first result of it behind that. Looked for from the end, in
    growing steps: what is asked for is seldom far back, and a long log is not read for it."""
    last, step = store.info(key).head, 256
    answer = None
    while last > 0:
        for event in reversed(store.log(key, max(1, last - step + 1), last)):
            if event.result and event.result.call_id == call_id:
                answer = event
            elif any(call.id == call_id for call in event.calls):
                return event, answer
        last, step = last - step, step * 4
    return None, None


def _several(store: Store, key: Key, address: Ref, limit: int) -> Place:
    """A stretch of the log, about `limit` characters of it."""
    first, last = address.span or (0, 0)
    if address.lines:
        raise NotFound(str(address), f"{address}: lines belong to one event; write event:{first}#L1-40, or no lines.")
    last = min(last, store.info(key).head)
    found = [event for event in _beginning(store, key, first, last, limit) if event.role != "control"]
    if not found:
        raise NotFound(str(address))
    count, more = how_many(found, limit), ""
    if count < len(found):
        more = events_ref(found[count].seq, _last_shown(store, key, found[-1].seq, last), address.session)
    return Place(address, key, events=tuple(found[:count]), next=more)


def _beginning(store: Store, key: Key, first: int, last: int, limit: int) -> list[Event]:
    """The first events of a stretch, more than fill a page where there are more: it may be the whole log."""
    out: list[Event] = []
    step = 64
    while first <= last:
        out += store.log(key, first, min(last, first + step - 1))
        shown = [event for event in out if event.role != "control"]
        if how_many(shown, limit) < len(shown):
            break
        first, step = first + step, step * 4
    return out


def _last_shown(store: Store, key: Key, known: int, last: int) -> int:
    """The seq of the last event of a stretch that is no control event; one of them is `known`."""
    step = 16
    while last > known:
        shown = [one.seq for one in store.log(key, max(known, last - step + 1), last) if one.role != "control"]
        if shown:
            return shown[-1]
        last, step = last - step, step * 4
    return known


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
    last = min(last, found.boundary)
    covered = _beginning(store, key, max(1, first), last, limit)
    if not covered:
        raise NotFound(
            str(address), f"compaction:{found.version} covers event:1-{found.boundary}; nothing is in {address}."
        )
    count = how_many(covered, limit)
    more = ""
    if count < len(covered):
        more = str(Ref("compaction", str(found.version), address.session, lines=(covered[count].seq, last)))
    return Place(address, key, events=tuple(covered[:count]), next=more)
