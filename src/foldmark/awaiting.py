"""Finds out that a user's plain function was none. Knows nothing of event loops, and awaits nothing."""

from __future__ import annotations

import inspect


def unawaited(said: object) -> bool:
    """Whether a function that must be plain gave back something to await. A coroutine among it is closed, so that
    Python does not warn a second time that nobody awaited it: the caller says so in its own words."""
    if inspect.iscoroutine(said):
        said.close()
    return inspect.isawaitable(said)
