"""Events on their way in: each passes the hooks, and it is remembered what they held back.

Fingerprints are those of the events as they arrived, whatever a hook makes of them: so a re-sent list matches. What a
hook held back is not in the log and takes no part in its chain; `written` remembers it together with the recorded
message in front of it. Knows nothing of stores beyond the protocol.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from hashlib import blake2b

import msgspec

from foldmark.errors import HookError, Vetoed, words_of_error
from foldmark.events import Event, named
from foldmark.hooked.checking import SEAL, checked, is_sealed, sealed, unsealed
from foldmark.hooked.values import EventHooks, HeldBack, Hold
from foldmark.log import UNCHAINED
from foldmark.sharing import newest_chained
from foldmark.store import Key, Store


def passed(
    hooks: Sequence[EventHooks], key: Key, events: Sequence[Event], secret: bytes, known: Container[str] = ()
) -> tuple[dict[int, Event], list[HeldBack]]:
    """(the event to record at each place that is left, those held back), in order; each hook sees what the one in
    front of it made. Events that went through the hooks already, or whose id is `known`, stay as they are.

    Raises Vetoed; HookError when a hook raises anything else or breaks its contract.
    """
    left = {at: named(event) for at, event in enumerate(events)}
    done = {
        at
        for at, event in left.items()
        if (event.id and event.id in known) or (SEAL in event.meta and is_sealed(event, secret))
    }
    left = {at: event if at in done or SEAL not in event.meta else unsealed(event) for at, event in left.items()}
    arrived, held = dict(left), list[HeldBack]()
    for hook in hooks:
        places = [at for at in left if at not in done]
        for at, said in zip(places, _asked(hook, key, [left[at] for at in places]), strict=True):
            if isinstance(said, Hold):
                held.append(_held(at, left.pop(at), said.reason, hook.called(hook.on_append or passed)))
            else:
                left[at] = said
    for at, event in left.items():
        if event is not arrived[at] and event != arrived[at]:
            left[at] = sealed(event, secret)
    _with_results(left, held)
    return left, sorted(held, key=lambda one: one.place)


def _asked(hook: EventHooks, key: Key, events: Sequence[Event]) -> list[Event | Hold]:
    """What one hook says of the events."""
    if hook.on_append is None or not events:
        return list(events)
    name = hook.called(hook.on_append)
    ids = tuple(event.id for event in events if event.id)
    try:
        said = hook.on_append(key, tuple(events))
        answers = list(events if said is None else said)
    except Vetoed as veto:
        raise Vetoed(veto.reason, session=key.session, ids=veto.ids or ids, hook=veto.hook or name) from veto
    except Exception as error:
        text = f"The hook {name} failed on events offered to session {key.session!r}: {words_of_error(error)}."
        raise HookError(f"{text} Nothing was recorded: mend the hook and record again.") from error
    if len(answers) != len(events):
        raise HookError(
            f"The hook {name} returned {len(answers)} for {len(events)} event(s) offered to session {key.session!r}. "
            "Nothing was recorded: return one for each, and Hold(reason) in the place of one that is not wanted."
        )
    return [
        one if isinstance(one, Hold) else checked(event, one, name) for event, one in zip(events, answers, strict=True)
    ]


def _held(at: int, event: Event, reason: str, hook: str) -> HeldBack:
    return HeldBack(place=at, reason=reason, hook=hook, id=event.id, plain=event.plain, calls=_calls(event))


def _calls(event: Event) -> tuple[str, ...]:
    return tuple(call.id for call in event.calls)


def _with_results(left: dict[int, Event], held: list[HeldBack]) -> None:
    """Hold back the results of calls that were held back in the same batch."""
    by_place = {one.place: one for one in held}
    gone: dict[str, HeldBack] = {}
    for at in sorted([*left, *by_place]):
        if at in by_place:
            gone.update((name, by_place[at]) for name in by_place[at].calls)
            continue
        event = left[at]
        for call in event.calls:
            gone.pop(call.id, None)  # made again
        if event.result and (made := gone.get(event.result.call_id)):
            held.append(with_its_call(at, event, made.reason, made.hook))
            del left[at]


def with_its_call(at: int, event: Event, reason: str, hook: str) -> HeldBack:
    """A result that is held back because its call was."""
    assert event.result
    return _held(at, event, f"its call {event.result.call_id!r} was held back: {reason}", hook)


# -- what was held back is remembered


def call_flag(name: str) -> str:
    """Under which name it is remembered that a call was held back."""
    return _digest(f"held call {name}")


def flags(events: Sequence[Event], held: Iterable[HeldBack], before: str) -> dict[str, str]:
    """What to remember of held events: that they were, behind which recorded message (`before` is the fingerprint of
    the one in front of the batch, empty for none), and their calls."""
    places = {one.place: one for one in held}
    out: dict[str, str] = {}
    for at, event in enumerate(events):
        if one := places.get(at):
            out |= {ever_flag(one.plain): "", behind_flag(before, one.plain): ""}
            out |= {call_flag(name): "" for name in one.calls}
        elif event.role not in UNCHAINED:
            before = named(event).plain
    return out


def newest_message(store: Store, key: Key, head: int) -> str:
    """The fingerprint of the newest message in the log of the whole session, empty when there is none."""
    newest = newest_chained(store, msgspec.structs.replace(key, scope="", sees="all"), head)
    return newest.plain if newest else ""


def ever_flag(plain: str) -> str:
    """Under which name it is remembered that a message was held back somewhere."""
    return _digest(f"held {plain}")


def behind_flag(before: str, plain: str) -> str:
    """Under which name it is remembered that one was held back behind that recorded message (empty: none)."""
    return _digest(f"held {plain} behind {before}")


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
