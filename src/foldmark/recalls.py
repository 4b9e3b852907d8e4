"""Which tools only bring back what stands in the log, as a policy knows them. Knows nothing of what they answer."""

from __future__ import annotations

from functools import lru_cache

from foldmark.policy import Policy
from foldmark.profiles import Profile, profile_of

BUILT_IN_NAMES = ("session_search", "session_load")


def tool_profiles(policy: Policy) -> tuple[Profile, ...]:
    """The policy's profiles, and one for recall tools that it gives names of their own."""
    named = _named(policy.recall.search_tool, policy.recall.load_tool)
    return (*policy.profiles, *named)


def recalls(name: str, policy: Policy) -> bool:
    """Whether a tool of that name is a recall tool, under whatever server's."""
    return profile_of(name, "{}", tool_profiles(policy)).role == "recalls"


@lru_cache(maxsize=64)
def _named(*names: str) -> tuple[Profile, ...]:
    own = tuple(name for name in names if name and name not in BUILT_IN_NAMES)
    return (Profile(names=own, role="recalls", refetchable=True),) if own else ()
