"""How large the next request is and how much room it has: what due, plan and announcements start from. Knows nothing of
what follows from it."""

from __future__ import annotations

from typing import NamedTuple

from foldmark.assembly import dressed, head_tokens
from foldmark.budget import Room, room_for
from foldmark.cleanup import clean
from foldmark.events import Event
from foldmark.policy import Policy
from foldmark.store import Frame, View
from foldmark.triggers import Sizes, sizes


class Gauge(NamedTuple):
    """The events of a view as its mark shows them, the room of a frame, and the sizes of the next request in it."""

    shown: list[Event]
    room: Room
    sizes: Sizes


def gauge(view: View, frame: Frame, policy: Policy, now: float) -> Gauge:
    """Measure the next request of a view. Raises PolicyError when the frame leaves no room."""
    cleaned, changes = clean(view.events, view.mark, policy, view.secret)
    room = room_for(view, frame, policy, cleaned)
    shown = dressed(cleaned, changes)
    head = head_tokens(view.checkpoint, view.kept, policy.layout)
    return Gauge(shown, room, sizes(view, shown, head, policy, room, now))
