"""What callers hand to a session, checked with words that say what was meant. Knows nothing of what is done with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from math import isfinite
from typing import Any, get_args

from msgspec.structs import replace

from foldmark.embedding import Embedder
from foldmark.errors import PolicyError
from foldmark.events import Event, misfit
from foldmark.policy import Policy
from foldmark.retrieval import By
from foldmark.store import Sees
from foldmark.wire import WIRES, by_name

SEES = get_args(Sees)


def checked(session: Any, store: Any, policy: Any, hooks: Any, scope: Any, sees: Any, embedder: Any) -> None:
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
    if embedder is not None and not isinstance(embedder, Embedder):
        wrapped = f"Embedder(id='…', call={getattr(embedder, '__name__', '…')}, dimension=…)"
        raise PolicyError(
            f"embedder is {embedder!r:.80}; it takes a foldmark.embedding.Embedder: wrap what turns a list of texts "
            f"into vectors as {wrapped}, with a name for the model and the length of its vectors."
        )


def schemas_of(tools: Any) -> list[Mapping[str, Any]] | None:
    """Tool schemas as they are, and of a tool with a `schema` (`foldmark.tools.Tool`) that; None stays None. Raises
    PolicyError."""
    if tools is None:
        return None
    if not isinstance(tools, Iterable) or isinstance(tools, (str, bytes, Mapping)):
        raise PolicyError(f"tools is {tools!r:.80}; it takes a list of schemas or of tools.")
    return [_schema_of(tool) for tool in tools]


def _schema_of(tool: Any) -> Mapping[str, Any]:
    schema = tool if isinstance(tool, Mapping) else getattr(tool, "schema", None)
    if not isinstance(schema, Mapping):
        raise PolicyError(
            f"tools has {tool!r:.80}; each is a schema (a mapping with name, description and parameters, or a "
            "provider's form of one) or something whose `schema` is such a mapping."
        )
    return schema


def whole(name: str, value: Any, least: int, what: str) -> int:
    """A whole number, `least` at the least. Raises PolicyError."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise PolicyError(f"{name} is {value!r:.80}; it takes a whole number of {what}, {least} or more.")
    return value


def opening_of(before: Any, after: Any, by: Any, limit: Any) -> None:
    """Raises PolicyError for neighbours and pages that a load cannot have."""
    whole("before", before, 0, "events or rounds")
    whole("after", after, 0, "events or rounds")
    whole("limit", limit, 1, "characters")
    if by not in (ways := get_args(By)):
        raise PolicyError(f"by is {by!r:.80}; it takes one of {', '.join(ways)}.")


def events_of(events: Iterable[Any]) -> Iterable[Event]:
    """The events as they are, but for times that are no number: no store could keep those. Raises PolicyError for what
    is no event."""
    found = tuple(map(_timed, events))
    for one in found:
        if isinstance(one, Event):
            if wrong := _without_text(one) or misfit(one):
                raise PolicyError(f"An event of {one.role!r} cannot be recorded: {wrong}. Nothing was recorded.")
            continue
        said = "session.follow([...], wire=...) takes messages" if isinstance(one, Mapping | list | tuple) else ""
        made = "user(text), assistant(text, call) and result(call_id, text) make events"
        raise PolicyError(f"record takes events, and {one!r:.80} is none: {'; '.join(filter(None, (made, said)))}.")
    return found


def _without_text(event: Event) -> str:
    """What stands where the text of a part should; empty where text does."""
    for part in event.parts:
        if not isinstance(value := getattr(part, "text", ""), str):
            made = "json.dumps(value) makes one of a value" if value is not None else "'' is an empty one"
            return f"where its text should be stands a {type(value).__name__} ({value!r:.60}); {made}"
    return ""


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
