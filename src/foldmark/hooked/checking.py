"""Holds what a hook made of an event to what an event is: who it was and which calls it belongs to stay as they are.

Pure. Knows nothing of why a hook changes anything.
"""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from foldmark.errors import HookError
from foldmark.events import CONTINUES, Event, Text, fingerprint, misfit

SEAL = "hooked"
"""`meta` key of an event that a hook changed. Its value is a keyed hash of what it became: when it is offered
again as it is stored (a fork takes the original), it does not pass the hooks a second time."""


def checked(before: Event, after: object, hook: str) -> Event:
    """What a hook returned for the event `before`. Its identity is kept: id, seq, session, fingerprints, usage.

    Raises HookError when it is no event, has another role, or makes or answers other calls: a pair that is torn
    makes a request that providers refuse.
    """
    if not isinstance(after, Event):
        raise HookError(_said(before, hook, f"returned {type(after).__name__} in place of an event"))
    if after is before:
        return before
    if wrong := misfit(after):
        raise HookError(_said(before, hook, f"made an event that cannot be kept: {wrong}"))
    if after.role != before.role:
        raise HookError(
            _said(before, hook, f"turned role {before.role} into {after.role}; hold the event back instead")
        )
    if _ids(after) != _ids(before):
        raise HookError(_said(before, hook, "changed the ids of calls or results; hold the event back instead"))
    meta = {name: value for name, value in after.meta.items() if name not in (SEAL, CONTINUES)}
    meta |= {name: before.meta[name] for name in (SEAL, CONTINUES) if name in before.meta}
    return msgspec.structs.replace(
        after,
        id=before.id,
        seq=before.seq,
        session=before.session,
        plain=before.plain,
        chain=before.chain,
        usage=before.usage,
        meta=meta,
    )


def _ids(event: Event) -> tuple[str, ...]:
    return (*(call.id for call in event.calls), *((event.result.call_id,) if event.result else ()))


def _said(event: Event, hook: str, what: str) -> str:
    return f"The hook {hook} {what} ({name_of(event)}). Nothing was done: mend the hook and try again."


def name_of(event: Event) -> str:
    """An event for a message: its seq where it has one, else its id, else its role."""
    return f"event:{event.seq}" if event.seq else f"event {event.id!r}" if event.id else f"an event of {event.role}"


def sealed(event: Event, secret: bytes) -> Event:
    """The event with the seal of its present parts."""
    return msgspec.structs.replace(event, meta={**event.meta, SEAL: _seal(event, secret)})


def unsealed(event: Event) -> Event:
    """The event without a seal: one that does not fit was copied or made up."""
    meta = {name: value for name, value in event.meta.items() if name != SEAL}
    return msgspec.structs.replace(event, meta=meta)


def is_sealed(event: Event, secret: bytes) -> bool:
    """Whether the event carries the seal of the very parts that it has."""
    return event.meta.get(SEAL) == _seal(event, secret)


def _seal(event: Event, secret: bytes) -> str:
    """Over fingerprint, role and parts. Texts are joined: admission may have cut a long one into several."""
    said = "".join(part.text for part in event.parts if isinstance(part, Text))
    rest = tuple(part for part in event.parts if not isinstance(part, Text))
    content = fingerprint(msgspec.structs.replace(event, parts=(Text(said), *rest), plain=""))
    return blake2b(f"{event.plain} {content}".encode(), key=secret[:64], digest_size=12).hexdigest()
