"""The names under which tools are given to a model. Knows nothing of what they do.

What they answer stands in the log already, and a policy knows it by the name: under a name that it does not know, text
that was recalled would be indexed and noted once more, as something new.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foldmark.errors import PolicyError
from foldmark.policy import Policy
from foldmark.recalls import recalls

SEARCH, LOAD = "session_search", "session_load"


def names_of(own: Mapping[str, str], given: Mapping[str, str] | None, policy: Policy) -> dict[str, str]:
    """The name of each tool, by its own: as `given`, else as in `own`. Raises PolicyError for tools that there are
    none of, for two tools of one name, and for a name that the policy does not know."""
    if given is not None and not isinstance(given, Mapping):
        raise PolicyError(f"names is {given!r:.80}; it takes a mapping such as {{{next(iter(own))!r}: 'look_up'}}.")
    called = {**own, **(given or {})}
    if unknown := [name for name in called if name not in own]:
        raise PolicyError(f"names has {unknown[0]!r:.80}, and there is no such tool here; name {', '.join(own)}.")
    for name, other in called.items():
        if not isinstance(other, str) or not other:
            raise PolicyError(f"names[{name!r}] is {other!r:.80}; it takes the name of a tool.")
    if twice := [name for name in called.values() if list(called.values()).count(name) > 1]:
        raise PolicyError(f"Two tools cannot have one name, {twice[0]!r}: a call would not say which is meant.")
    if strange := [name for name in called if not recalls(called[name], policy)]:
        raise PolicyError(_unknown(strange, called))
    return called


def _unknown(strange: Sequence[str], called: Mapping[str, str]) -> str:
    names = ", ".join(repr(called[name]) for name in strange)
    options = {SEARCH: "search_tool", LOAD: "load_tool"}
    if all(name in options for name in strange):
        line = f"Policy.coding(recall={{{', '.join(f'{options[name]!r}: {called[name]!r}' for name in strange)}}})"
    else:
        line = f"Policy.coding(profiles=(Profile(names=({names},), role='recalls', refetchable=True),))"
    return (
        f"The policy does not know {names} as recall, so what is answered under that name would be indexed as new. "
        f"Say it to the session's policy: {line}; the other presets take the same."
    )
