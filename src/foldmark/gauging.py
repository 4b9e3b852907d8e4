"""How large the next request is and how much room it has: what due, plan and announcements start from. Knows nothing of
what follows from it."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from foldmark.assembly import dressed, head_tokens
from foldmark.budget import Room, room_for
from foldmark.cleanup import clean, next_mark
from foldmark.drafts import cost
from foldmark.events import Event
from foldmark.overview import telling
from foldmark.policy import Policy
from foldmark.reports import Reason
from foldmark.store import Frame, View
from foldmark.triggers import Sizes, sizes


class Gauge(NamedTuple):
    """The events of a view as the agent has seen them (under its mark), the room of a frame, and the sizes of the next
    request in it."""

    shown: list[Event]
    room: Room
    sizes: Sizes

    def least(self, reason: Reason) -> int:
        """What a compaction has to come under. The rent rule weighs what would go out, so it must be less than that;
        else the past as it stands: a record of what cleanup would only name is worth its room."""
        return self.sizes.sent if reason.trigger == "rent" else self.sizes.whole

    def remarks(self, after: int) -> tuple[str, ...]:
        """What to say when a compaction made the next request larger than cleanup alone would have."""
        if after <= self.sizes.sent:
            return ()
        return (
            f"Cleanup alone would have brought the next request to {self.sizes.sent:,} tokens; it has {after:,}, with "
            "a record of what cleanup only names.",
        )


def gauge(view: View, frame: Frame, policy: Policy, now: float) -> Gauge:
    """Measure the next request of a view, as it stands and as it would go out. Raises PolicyError when the frame leaves
    no room."""
    cleaned, changes = clean(view.events, view.mark, policy, view.secret)
    room = room_for(view, frame, policy, cleaned)
    shown = dressed(cleaned, changes)
    head = head_tokens(view.checkpoint, view.kept, policy.layout, shown, room.static, telling(policy.recall, frame))
    measured = sizes(view, shown, head, policy, room, now)
    mark = next_mark(view, policy, frame, now, room=room)
    if mark is view.mark:
        return Gauge(shown, room, measured)
    coming = dressed(*clean(view.events, mark, policy, view.secret))
    same = next((at for at, pair in enumerate(zip(shown, coming, strict=False)) if pair[0] != pair[1]), len(coming))
    start = room.static + head
    alive = min(measured.alive, start + cost(coming[:same]))  # behind the first change the cache holds nothing
    return Gauge(shown, room, msgspec.structs.replace(measured, cleaned=start + cost(coming), alive=alive))
