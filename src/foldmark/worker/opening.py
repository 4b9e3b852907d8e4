"""Opens the session that a work is about, under its own policy, where it still exists. Knows nothing of leases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from foldmark.errors import NotFound, PolicyError
from foldmark.policy import Policy
from foldmark.reports import Run
from foldmark.store import Key, SessionInfo, Store

Rules = Policy | Callable[[Key, SessionInfo], Policy | None] | None
"""One policy for all, a function that chooses, or None: the one that is kept with the session."""


def existing(store: Store, key: Key) -> SessionInfo:
    """The session's row. Raises NotFound, and never makes one: a session that was deleted stays deleted.

    `open` makes what is not there, as the row says that it is handed; of a session that would be its own parent none
    can be made.
    """
    return store.open(key, info=SessionInfo(session=key.session, parent=key.session))


def is_there(store: Store, key: Key) -> bool:
    """Whether the session exists."""
    try:
        existing(store, key)
    except NotFound:
        return False
    return True


def rules_for(given: Rules, key: Key, info: SessionInfo) -> Policy | None:
    """The policy of a session; None: what a session chooses by its tools. Raises PolicyError."""
    if given is None:
        return kept_policy(info.meta)
    if isinstance(given, Policy):
        return given
    found: Any = given(key, info)
    if found is not None and not isinstance(found, Policy):
        raise PolicyError(f"The function that chooses the policy returned {type(found).__name__}; it returns a Policy.")
    return found if found is not None else kept_policy(info.meta)


def kept_policy(meta: Mapping[str, str]) -> Policy | None:
    """The policy that is kept with a session (`policy`, as `Policy.to_json` wrote it), aimed at the size that it was
    last compacted to (`target`), as the command line keeps them. None: none is kept."""
    found = Policy.from_json(meta["policy"]) if meta.get("policy") else None
    if found is None or not meta.get("target"):
        return found
    return found.replace(budget={"target_tokens": int(meta["target"])})


def run_of(policy: Policy) -> Run:
    """How a worker's compaction is called in reports."""
    return "background" if policy.background.idle_seconds is None else "idle"
