"""Imports InterCode logs: episodes of actions and observations by number. Knows nothing of other agents.

An episode is a session of its own, named after its environment and task. Each action is a call with a derived
id, its observation the result; an action that the environment could not execute is an error. What is *about*
an episode (rewards, evaluation, summary) is no part of the conversation and is left out, with a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from foldmark.errors import WireError
from foldmark.events import Event, ToolCall, assistant, result, user
from foldmark.importers.values import Document, Format, Imported, Notes, derived_id
from foldmark.wire.plain import as_mapping, as_text, compact_json, items

NAME = "intercode"

_TOOLS = {"ic_bash": "bash", "ic_ctf": "bash", "ic_swe": "bash", "ic_sql": "sql", "ic_python": "python"}
_ARGUMENT = {"bash": "command", "sql": "query", "python": "code"}
_SPOKEN = ("environment", "task_id", "query", "turn_history")
_TURNS = ("actions", "observations", "thoughts", "valid_action")


def sniff(document: Document) -> bool:
    value = document.value
    if not isinstance(value, Mapping) or not value:
        return False
    heads = list(value.values())[:5]
    return all(
        isinstance(head, Mapping) and "query" in head and isinstance(head.get("turn_history"), Mapping)
        for head in heads
    )


def read(document: Document, notes: Notes) -> list[Imported]:
    """One session an episode. Raises WireError with the path `episode.turn_history…`."""
    return [_episode(str(key), as_mapping(value, str(key)), notes) for key, value in document.value.items()]


def _episode(key: str, episode: Mapping[str, Any], notes: Notes) -> Imported:
    about = Notes(strict=notes.strict)
    turns = as_mapping(episode.get("turn_history"), f"{key}.turn_history")
    left_out = [name for name in episode if name not in _SPOKEN]
    left_out += [f"turn_history.{name}" for name in turns if name not in _TURNS]
    if left_out:
        about.warn(f"{', '.join(sorted(left_out))}: about the episode and no part of it, left out")
    environment = as_text(episode.get("environment"), f"{key}.environment")
    events = [user(as_text(episode.get("query"), f"{key}.query"))]
    events += _turns(turns, _TOOLS.get(environment, "execute"), f"{key}.turn_history")
    named = f"{NAME}-{environment}-{episode.get('task_id', key)}" if environment else derived_id(NAME, events)
    return Imported(
        session=named,
        format=NAME,
        wire="openai-chat",
        events=tuple(events),
        warnings=(*notes.lines(), *about.lines()),
    )


def _turns(turns: Mapping[str, Any], tool: str, path: str) -> Iterator[Event]:
    actions, observations, thoughts, valid = (items(turns.get(name), f"{path}.{name}") for name in _TURNS)
    if len(observations) > len(actions):
        raise WireError(f"{path}.observations[{len(actions)}]", "an observation without its action.")
    for at, action in enumerate(actions):
        command = as_text(action, f"{path}.actions[{at}]")
        thought = as_text(thoughts[at], f"{path}.thoughts[{at}]") if at < len(thoughts) else ""
        call = ToolCall(f"action_{at}", tool, compact_json({_ARGUMENT.get(tool, "input"): command}))
        yield assistant(thought, call)
        if at < len(observations):
            seen = observations[at]
            words = seen if isinstance(seen, str) else compact_json(seen)
            yield result(call.id, words, name=tool, is_error=at < len(valid) and valid[at] is False)


FORMAT = Format(NAME, sniff, read)
