"""Hooks round append and read: a store that wraps another one. Knows nothing of flows and sessions."""

from foldmark.hooked.leaving import Left
from foldmark.hooked.store import HookedStore, as_recorded, hooked, unheld
from foldmark.hooked.values import EventHooks, HeldBack, Hold, Landed

__all__ = [
    "EventHooks",
    "HeldBack",
    "Hold",
    "HookedStore",
    "Landed",
    "Left",
    "as_recorded",
    "hooked",
    "unheld",
]
