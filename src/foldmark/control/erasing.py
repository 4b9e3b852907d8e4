"""A session goes for good, with all that hangs on it and the bodies that nobody else has. One whose row is damaged,
which no Session opens, goes the same way. Knows nothing of what it held.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from foldmark.artifacts import Artifacts
from foldmark.store import Key, Store


def erase(
    store: Store, artifacts: Artifacts, key: Key, *, descendants: bool = False, heads: Mapping[str, int] | None = None
) -> int:
    """Erase a session; returns how many artifact bodies went. `heads` is as in `Store.delete`. Raises NotFound;
    HasForks when others inherit from it, unless `descendants` is True; HeadMoved."""
    started = time.time()  # not the session's clock: the shelf stamps its bodies by the time of the machine
    gone = store.delete(key, descendants=descendants, heads=heads)
    unshared = set(gone) - store.hashes(key.tenant)  # another session may have recorded one since
    return artifacts.delete(key.tenant, tuple(unshared), before=started)
