"""Tool definitions in the neutral form `{name, description, parameters}`. Knows nothing of messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from foldmark.errors import WireError
from foldmark.events import Event
from foldmark.wire.plain import as_mapping, as_name, as_text, clean_value, is_deep, items, safe_name, too_deep

_RESPONSES_OWN = frozenset(
    [
        *["apply_patch", "code_interpreter", "computer", "computer_use_preview", "custom", "file_search"],
        *["image_generation", "local_shell", "mcp", "namespace", "programmatic_tool_calling", "shell", "tool_search"],
        *["web_search", "web_search_preview"],
    ]
)
"""Types of tools that the Responses API brings along; Anthropic's carry the date of their version in the type."""

EMPTY_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


def neutral_tools(tools: Iterable[Any] | None) -> list[dict[str, Any]]:
    """Tools in neutral form, from neutral, OpenAI-shaped (chat or Responses) or Anthropic-shaped ones (dicts or SDK
    objects).

    A provider's own tool (web search and the like, which has no schema) is kept whole under `raw` with its
    `provider`, and is written to that provider only. Raises WireError with the path `tools[i]`.
    """
    return [_neutral(as_mapping(tool, f"tools[{at}]"), f"tools[{at}]") for at, tool in enumerate(items(tools, "tools"))]


def _neutral(tool: Mapping[str, Any], path: str) -> dict[str, Any]:
    if "raw" in tool and "provider" in tool:
        as_mapping(tool["raw"], f"{path}.raw")
        as_text(tool["provider"], f"{path}.provider")
        return dict(tool)
    kind = tool.get("type")
    if isinstance(tool.get("function"), Mapping):
        return _described(tool["function"], tool["function"].get("parameters"), f"{path}.function")
    if "input_schema" in tool:
        return _described(tool, tool["input_schema"], path)
    if kind == "function" and "name" in tool:
        neutral = _described(tool, tool.get("parameters"), path)
        return neutral if neutral.get("strict") else {key: neutral[key] for key in neutral if key != "strict"}
    if kind is None and "name" in tool:
        return _described(tool, tool.get("parameters"), path)
    kind = as_name(kind, f"{path}.type")
    provider = "openai" if kind == "custom" and "custom" in tool else _owner(kind)
    raw = {key: value for key, value in tool.items() if key != "cache_control"}
    return {"name": as_text(tool.get("name"), f"{path}.name") or kind, "provider": provider, "raw": raw}


def _owner(kind: str) -> str:
    """Whose own tool a type names. Responses tools may carry a date too, parted by `_` (`web_search_2025_08_26`)."""
    return "openai-responses" if re.sub(r"_\d{4}_\d\d_\d\d$", "", kind) in _RESPONSES_OWN else "anthropic"


def _described(tool: Mapping[str, Any], parameters: Any, path: str) -> dict[str, Any]:
    neutral = {
        "name": as_name(tool.get("name"), f"{path}.name"),
        "description": as_text(tool.get("description"), f"{path}.description"),
        "parameters": as_schema(parameters, f"{path}.parameters"),
    }
    strict = tool.get("strict")
    if strict is not None and not isinstance(strict, bool):
        raise WireError(f"{path}.strict", f"expected true or false, found {type(strict).__name__}.")
    return neutral if strict is None else {**neutral, "strict": strict}


def as_schema(value: Any, path: str) -> Mapping[str, Any]:
    """The value as a JSON schema, nothing as the empty one. Raises WireError at `path` when it is no object, or one
    that is too deep."""
    if not value:
        return dict(EMPTY_SCHEMA)
    schema = as_mapping(value, path)
    if is_deep(schema):
        raise too_deep(path)
    return schema


def _schema(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters as a schema of type object, which every provider demands to be said."""
    parameters: Mapping[str, Any] = tool["parameters"]
    return parameters if "type" in parameters else {"type": "object", **parameters}


def openai_tools(tools: Iterable[Any] | None) -> list[dict[str, Any]]:
    """Tools as chat completions takes them; another provider's own tools are left out."""
    out: list[dict[str, Any]] = []
    for tool in neutral_tools(tools):
        if "raw" in tool:
            if tool["provider"] == "openai":
                out.append(clean_value(tool["raw"]))
            continue
        function = {"name": tool["name"]}
        if tool["description"]:
            function["description"] = tool["description"]
        function["parameters"] = _schema(tool)
        if "strict" in tool:
            function["strict"] = tool["strict"]
        out.append({"type": "function", "function": clean_value(function)})
    return out


def responses_tools(tools: Iterable[Any] | None) -> list[dict[str, Any]]:
    """Tools as the Responses API takes them; another provider's own tools are left out. `strict` is always said: here
    the default is true, and a schema that was not written for it would be refused or changed."""
    out: list[dict[str, Any]] = []
    for tool in neutral_tools(tools):
        if "raw" in tool:
            if tool["provider"] == "openai-responses":
                out.append(clean_value(tool["raw"]))
            continue
        shaped = {"type": "function", "name": tool["name"]}
        if tool["description"]:
            shaped["description"] = tool["description"]
        out.append(clean_value({**shaped, "parameters": _schema(tool), "strict": bool(tool.get("strict"))}))
    return out


def anthropic_tools(tools: Iterable[Any] | None) -> list[dict[str, Any]]:
    """Tools as the Messages API takes them; another provider's own tools are left out."""
    out: list[dict[str, Any]] = []
    for tool in neutral_tools(tools):
        if "raw" in tool:
            if tool["provider"] == "anthropic":
                out.append(clean_value(tool["raw"]))
            continue
        shaped = {"name": tool["name"]}
        if tool["description"]:
            shaped["description"] = tool["description"]
        shaped["input_schema"] = _schema(tool)
        out.append(clean_value(shaped))
    return out


def tools_of_calls(events: Sequence[Event]) -> list[dict[str, Any]]:
    """A stub definition for every tool that the events call, in order of first use.

    For transcripts that come without schemas: some providers refuse tool blocks when no tool is defined.
    """
    names = dict.fromkeys(safe_name(call.name, 64) for event in events for call in event.calls)
    return [{"name": name, "description": "", "parameters": dict(EMPTY_SCHEMA)} for name in names]
