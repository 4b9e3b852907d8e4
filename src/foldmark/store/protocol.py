"""The protocol of a store, put together from its parts. Knows nothing of what they promise."""

from __future__ import annotations

from typing import Protocol

from foldmark.store.checkpoints import Checkpoints
from foldmark.store.events import Events
from foldmark.store.lists import Lists
from foldmark.store.recall import Recall
from foldmark.store.sessions import Sessions
from foldmark.store.work import Works

PARTS: tuple[type, ...] = (Sessions, Events, Checkpoints, Lists, Recall, Works)
"""What a store promises, one concern each."""


class Store(Sessions, Events, Checkpoints, Lists, Recall, Works, Protocol):
    """Everything foldmark needs from a place. Every method is safe from several threads."""


def promised() -> dict[str, object]:
    """The methods and properties of the protocol by name, in the order of its parts."""
    return {name: thing for part in PARTS for name, thing in vars(part).items() if not name.startswith("_")}
