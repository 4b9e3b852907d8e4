"""Deterministic shrinking behind the mark, and when the mark moves. Knows nothing of storage, wires or
checkpoints' making.

Between two epochs the mark stands still, and events after it neither change nor decide anything: the
request only grows at its end. (Deciding from all events broke the prefix at three of four appends.)
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from operator import attrgetter, is_

import msgspec

from foldmark.budget import Room
from foldmark.checkpoint import Mark
from foldmark.cleanup.epochs import pays
from foldmark.cleanup.hiding import hiding
from foldmark.cleanup.passes import BOUND, VERSION, shrink, unbound
from foldmark.drafts import MESSAGE_OVERHEAD
from foldmark.events import Event, Reasoning
from foldmark.policy import Cleanup, Policy
from foldmark.profiles import Profile, profile_of_call
from foldmark.recalls import tool_profiles
from foldmark.reports import Change
from foldmark.rounds import border, is_thinking
from foldmark.store import Frame, View

COLD_SECONDS = 300.0
"""How long an unused cache lives when no prices say otherwise: the shortest lifetime that providers
promise."""

_LOOK_BACK = 200
"""Events before the old mark in which the newest kept results and their calls are looked for."""

_seq = attrgetter("seq")


class _Cleaned(msgspec.Struct):
    """The marked events of one call and what became of them."""

    marked: tuple[Event, ...]
    events: list[Event]
    changes: list[Change]
    tokens: int


_memory: dict[tuple[str, int, int, str, tuple[int, ...], str], _Cleaned] = {}
_MEMORY_SIZE = 16
_lock = threading.Lock()


def clean(events: Sequence[Event], mark: Mark, policy: Policy, secret: bytes = b"") -> tuple[list[Event], list[Change]]:
    """The events (ordered by seq) with those up to the mark shrunk, and one change per event that looks
    different. `secret` is the store's key for the labels of redacted secrets (`View.secret`).

    Pure and idempotent. Calls keep their arguments byte for byte; events after the mark are untouched.
    """
    count = bisect_right(events, max(mark.seq, mark.head), key=_seq)
    if not count:
        return list(events), []
    done = _cleaned(tuple(events[:count]), mark, policy, secret)
    return [*done.events, *events[count:]], list(done.changes)


def _cleaned(marked: tuple[Event, ...], mark: Mark, policy: Policy, secret: bytes) -> _Cleaned:
    """Remembered for as long as the very same event objects stand at or before the mark (and the head of bound
    thinking)."""
    hide = hiding(secret, policy.redact)
    key = (marked[0].session, marked[0].seq, len(marked), options_of(policy), mark.pins, hide.name)
    known = _memory.get(key)
    if known and all(map(is_, known.marked, marked)):
        return known
    count = bisect_right(marked, mark.seq, key=_seq)
    shrunk, changes = shrink(marked[:count], policy.cleanup, _extra(policy), frozenset(mark.pins), hide)
    for event in marked[count:]:
        form = unbound(event)
        shrunk += [form] if form.parts else []
        if form is not event:
            changes.append(Change(event.seq, "demoted", BOUND, event.tokens, form.tokens))
    made = _Cleaned(marked, shrunk, changes, sum(event.tokens for event in shrunk))
    with _lock:
        _memory.pop(key, None)
        while len(_memory) >= _MEMORY_SIZE:
            _memory.pop(next(iter(_memory)))
        _memory[key] = made
    return made


def options_of(policy: Policy) -> str:
    """Fingerprint of everything that decides inside `clean`: options, tool profiles, whether secrets are hidden,
    versions of the passes."""
    return _options(policy.cleanup, _extra(policy), policy.redact)


def _extra(policy: Policy) -> tuple[Profile, ...]:
    return tool_profiles(policy)


@lru_cache(maxsize=64)
def _options(cleanup: Cleanup, profiles: tuple[Profile, ...], redact: bool) -> str:
    return blake2b(repr((VERSION, cleanup, profiles, redact)).encode(), digest_size=8).hexdigest()


def mark_at(
    events: Sequence[Event],
    policy: Policy,
    reason: str,
    now: float,
    old: Mark | None = None,
    pins: Iterable[int] = (),
) -> Mark:
    """A mark at the last round border before the newest `keep_rounds` rounds; never before `old`."""
    count = border(events, policy.cleanup.keep_rounds)
    seq = events[count - 1].seq if count else (events[0].seq - 1 if events else 0)
    head = events[-1].seq if events and policy.cleanup.bound_thinking else 0
    return Mark(max(seq, old.seq if old else 0), options_of(policy), reason, now, tuple(sorted(pins)), head)


def next_mark(
    view: View,
    policy: Policy,
    frame: Frame,
    now: float,
    *,
    floor_tokens: int | None = None,
    room: Room | None = None,
) -> Mark:
    """The mark of the next request: the view's own object, or a new one when an epoch begins.

    `floor_tokens` (above the static prefix; default that of the `room`) is X/2, or the landing where a target is set:
    up to there only changed options move the mark, because a small request is left as it is even when no cache is at
    stake. Above it, an epoch that breaks a living cache begins when it pays (`epochs.pays`). A run whose thinking is
    bound to its prefix is waited for up to the cap.
    """
    old = view.mark
    if old.seq and old.options != options_of(policy):
        return mark_at(view.events, policy, "cleanup options changed", now, old, view.pins)
    floor = floor_tokens if floor_tokens is not None else room.quiet if room else policy.budget.trigger_tokens // 2
    above = _size(view, old, policy)
    below_cap = room is None or above < room.cap
    waits = policy.cleanup.bound_thinking and room is not None and below_cap and is_thinking(view.events)
    held = below_cap and above < view.state.held  # an undo asked for what was there: no cleanup takes it away again
    if above <= floor or waits or held:
        return old
    reason = _reason(view, policy, frame, now)
    mark = mark_at(view.events, policy, reason or f"over {floor:,} tokens", now, old, view.pins)
    if mark.seq <= old.seq:
        return old
    # A free moment (no cache is broken) needs no minimum; else the saving must be worth a rewritten cache.
    needed = 1 if reason else max(1, round(policy.cleanup.minimum_share * (above + frame.static_tokens)))
    if _could_go(view.events, old, mark, policy) < needed:
        return old
    shed = above - _size(view, mark, policy)
    if shed < needed or (room and not reason and not _pays(view, old, mark, policy, room, above, shed)):
        return old
    return mark


def _pays(view: View, old: Mark, mark: Mark, policy: Policy, room: Room, above: int, shed: int) -> bool:
    """Whether an epoch that sheds so many tokens, and rewrites everything behind the first place that it changes, is
    cheaper than growing on."""
    shown, new = (clean(view.events, one, policy, view.secret)[0] for one in (old, mark))
    same = next((at for at, (a, b) in enumerate(zip(shown, new, strict=False)) if a != b), min(len(shown), len(new)))
    rewritten = sum(event.tokens + MESSAGE_OVERHEAD for event in new[same:])
    requests = sum(event.role == "assistant" for event in view.events)
    growth = sum(event.tokens + MESSAGE_OVERHEAD for event in view.events) / max(1, requests)
    return pays(room, policy.prices, after=above - shed, shed=shed, rewritten=rewritten, growth=growth)


def _reason(view: View, policy: Policy, frame: Frame, now: float) -> str:
    """Why the cached prefix is lost anyway, "" when it is alive."""
    state = view.state
    if state.frame and state.frame.static_hash != frame.static_hash:
        return "system text or tools changed"
    if not state.last_time:
        return "first request"
    lifetime = policy.prices.cache_seconds if policy.prices else COLD_SECONDS
    gap = now - state.last_time
    return f"the cache is cold after {gap:,.0f} s" if gap > lifetime else ""


def _size(view: View, mark: Mark, policy: Policy) -> int:
    """Tokens of the request above the static prefix, when cleaned up to a mark."""
    count = bisect_right(view.events, mark.seq, key=_seq)
    total = view.checkpoint.tokens if view.checkpoint else 0
    total += sum(event.tokens for event in view.kept)
    total += MESSAGE_OVERHEAD * (len(view.events) + len(view.kept))
    total += _cleaned(tuple(view.events[:count]), mark, policy, view.secret).tokens if count else 0
    return total + sum(event.tokens for event in view.events[count:])


def _could_go(events: Sequence[Event], old: Mark, new: Mark, policy: Policy) -> int:
    """The most that an epoch could save, without trying it: results, images and thinking that may leave.

    Looks back from the new mark to the old one, and on over the results that the old one had kept as newest.
    """
    first, last = (bisect_right(events, mark.seq, key=_seq) for mark in (old, new))
    total, kept = 0, policy.cleanup.keep_results
    waiting: dict[str, int] = {}
    for index in range(last - 1, -1, -1):
        if index < first and (not (kept > 0 or waiting) or index < first - _LOOK_BACK):
            break
        event = events[index]
        if event.role == "tool" and (result := event.result):
            if index >= first or kept > 0:
                waiting[result.call_id] = waiting.get(result.call_id, 0) + event.tokens
            kept -= index < first
        elif event.role == "assistant":
            for call in event.calls:
                if (size := waiting.pop(call.id, 0)) and not profile_of_call(call, _extra(policy)).one_shot:
                    total += size
            if index >= first and any(isinstance(part, Reasoning) for part in event.parts):
                total += event.tokens
        elif index >= first:
            total += event.tokens
    return total
