"""Opens the session that a work is about, under its own policy, where it still exists. Knows nothing of leases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from foldmark.errors import NotFound, PolicyError
from foldmark.policy import Policy
from foldmark.reports import Run
from foldmark.store import Frame, Key, SessionInfo, Store

Rules = Policy | Callable[[Key, SessionInfo], Policy | None] | None
"""One policy for all, a function that chooses, or None: the one that is kept with the session."""


def is_there(store: Store, key: Key) -> bool:
    """Whether the session exists."""
    try:
        store.info(key)
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


def sizes_of(last: Frame | None) -> tuple[int | None, int | None]:
    """(window, most output) of the requests that a compaction makes room for: of the scope's last one, as whoever runs
    the model said them there. None: nobody did, and the policy says."""
    if last is None:
        return None, None
    return None if last.assumed else last.window, last.max_output


def run_of(policy: Policy) -> Run:
    """How a worker's compaction is called in reports."""
    return "idle" if policy.background.idle_seconds else "background"
