"""Protect rules: which events stay verbatim because the policy says so. Knows nothing of pins that a person set, and of
how anything is covered."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import msgspec

from foldmark.budget import room
from foldmark.drafts import cost
from foldmark.errors import PolicyError, words_of_error
from foldmark.events import Event
from foldmark.options import Keep
from foldmark.policy import Policy
from foldmark.refs import event_ref
from foldmark.store import Frame, View

_NONE = Keep()


def ruled(view: View, frame: Frame, policy: Policy) -> tuple[View, tuple[str, ...]]:
    """The view with what `policy.keep` protects among its pins, and a warning for what its share has no room for. What
    was let go once stays covered: a rule that is new looks at what is still in the request. Raises PolicyError when
    `keep.choose` fails."""
    keep = policy.keep
    if keep == _NONE:
        return view, ()
    events = (*view.kept, *view.events)
    tools = {call.id: call.name for event in events for call in event.calls} if keep.tools else {}
    first = view.first_request if keep.first_request else 0
    wanted = [
        event
        for event in events
        if event.role != "control" and (event.seq == first or _is_kept(event, keep, tools, view.kept))
    ]
    limit = keep.share * room(frame, policy, view.state).landing
    chosen, crowded = _newest(wanted, limit, view.pins)
    if not chosen:
        return view, _warning(crowded, limit)
    return msgspec.structs.replace(view, pins=view.pins | chosen), _warning(crowded, limit)


def _is_kept(event: Event, keep: Keep, tools: dict[str, str], kept: Sequence[Event]) -> bool:
    if any(name in event.meta for name in keep.meta):
        return True
    if keep.tools and (result := event.result):
        name = result.name or tools.get(result.call_id, "")
        if any(fnmatchcase(name, pattern) for pattern in keep.tools):
            return True
        if not name and event in kept:  # its call is covered, so its name is known no more: it was kept for it
            return True
    return _is_chosen(event, keep)


def _is_chosen(event: Event, keep: Keep) -> bool:
    if keep.choose is None:
        return False
    try:
        found = keep.choose(event)
    except Exception as error:
        said = f"keep.choose failed at {event_ref(event.seq)} ({words_of_error(error)}). Nothing was changed."
        raise PolicyError(said) from error
    if not isinstance(found, bool):
        raise PolicyError(f"keep.choose returned {found!r} for {event_ref(event.seq)}; it says True or False.")
    return found


def _newest(wanted: Sequence[Event], limit: float, pins: frozenset[int]) -> tuple[frozenset[int], list[int]]:
    """The newest that fit the limit together, and the seqs of those that do not. One that is pinned costs nothing
    more."""
    chosen, crowded, used = set(), [], 0
    for event in reversed(wanted):
        size = 0 if event.seq in pins else cost((event,))
        if used + size > limit:
            crowded.append(event.seq)
            continue
        used += size
        chosen.add(event.seq)
    return frozenset(chosen), crowded[::-1]


def _warning(crowded: Sequence[int], limit: float) -> tuple[str, ...]:
    if not crowded:
        return ()
    refs = ", ".join(event_ref(seq) for seq in crowded[:5]) + (" …" if len(crowded) > 5 else "")
    return (
        f"policy.keep protects more than its {limit:,.0f} tokens (keep.share of the landing): {refs} may be covered. "
        "Pin what must stay, or raise keep.share.",
    )
