"""What callers hand to a session, checked with words that say what was meant. Knows nothing of what is done with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from math import isfinite
from typing import Any, get_args

from msgspec.structs import replace

from foldmark.errors import PolicyError
from foldmark.events import Event, misfit
from foldmark.policy import Policy
from foldmark.store import Sees
from foldmark.wire import WIRES, by_name

SEES = get_args(Sees)


def checked(session: Any, store: Any, policy: Any, hooks: Any, scope: Any, sees: Any) -> None:
    """Raises PolicyError for options of a session that would fail later, in other words, or mean something else."""
    if not isinstance(session, str) or not session:
        raise PolicyError(f"A session's name is a text with at least one character, not {session!r}.")
    if store is not None and not hasattr(store, "append"):
        raise PolicyError(
            f"store is {store!r}; it takes a store, such as SQLiteStore({str(store)!r}) or MemoryStore()."
        )
    if policy is not None and not isinstance(policy, Policy):
        hint = f"Policy.preset({policy!r})" if isinstance(policy, str) else "Policy.coding()"
        raise PolicyError(f"policy is {policy!r}; it takes a Policy, such as {hint}.")
    if not isinstance(scope, str):
        raise PolicyError(f"scope is {scope!r}; it takes a key such as 'team/research', or '' for none.")
    if sees not in SEES:
        near = get_close_matches(str(sees), SEES, 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise PolicyError(f"sees is {sees!r}; it is one of {', '.join(SEES)}.{hint}")
    if not isinstance(hooks, Sequence) or isinstance(hooks, str) or not all(hasattr(one, "on_read") for one in hooks):
        raise PolicyError(f"hooks is {hooks!r}; it takes a list of EventHooks (foldmark.hooked).")


def events_of(events: Iterable[Any]) -> Iterable[Event]:
    """The events as they are, but for times that are no number: no store could keep those. Raises PolicyError for what
    is no event."""
    found = tuple(map(_timed, events))
    for one in found:
        if isinstance(one, Event):
            if wrong := misfit(one):
                raise PolicyError(f"An event of {one.role!r} cannot be recorded: {wrong}. Nothing was recorded.")
            continue
        said = "session.follow([...], wire=...) takes messages" if isinstance(one, Mapping | list | tuple) else ""
        made = "user(text), assistant(text, call) and result(call_id, text) make events"
        raise PolicyError(f"record takes events, and {one!r:.80} is none: {'; '.join(filter(None, (made, said)))}.")
    return found


def _timed(event: Any) -> Any:
    """An event that is at no time where it is at none that a calendar or a sort knows (NaN, infinity)."""
    time = event.time if isinstance(event, Event) else None
    return replace(event, time=None) if isinstance(time, float) and not isfinite(time) else event


def wire_of(wire: Any) -> Any:
    """A wire from itself or from its name; None stays None. Raises PolicyError."""
    if isinstance(wire, str):
        return by_name(wire)
    if wire is not None and not hasattr(wire, "NAME"):
        names = ", ".join(one.NAME for one in WIRES)
        raise PolicyError(f"wire is {wire!r}; it takes a module of foldmark.wire, or one of its names: {names}.")
    return wire


def size_of(name: str, value: Any, least: int = 1) -> int | None:
    """A number of tokens; None stays None. Raises PolicyError."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
        raise PolicyError(f"{name} is {value!r}; it takes a whole number of tokens, such as 200_000.")
    return value
