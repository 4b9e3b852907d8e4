"""Tools between neutral form and Gemini's. Knows nothing of messages.

Definitions are written with `parametersJsonSchema`, which takes JSON Schema as it is: nothing of a schema is lost, and
what is read back is what was given. Two things differ from what came: local `$ref`s are put in place (Gemini refuses
a `$ref` beside other keywords, and some of those without), and a root without a type becomes an object. The older
`parameters` (a subset of OpenAPI) is read, never written: it refuses most schemas that tools really have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from foldmark.wire.gemini_spelling import as_sent, camel
from foldmark.wire.plain import as_mapping, as_name, as_text, clean_value, items, objects_in
from foldmark.wire.tools import as_schema, neutral_tools

PROVIDER = "gemini"
_NAMED = ("name", "function", "input_schema", "raw", "type")
"""Keys that tools of other shapes have and Gemini's never."""
_DEFINITIONS = ("$defs", "definitions")


def read_tools(tools: Iterable[Any] | None) -> list[dict[str, Any]]:
    """Tools in neutral form, from Gemini's shape or any that `neutral_tools` takes.

    Gemini's own tools (`googleSearch`, `codeExecution`) are kept whole under `raw`. Raises WireError with the path
    `tools[i]…`.
    """
    out: list[dict[str, Any]] = []
    for at, tool in enumerate(items(tools, "tools")):
        path = f"tools[{at}]"
        given = as_mapping(tool, path)
        if any(key in given for key in _NAMED):
            out += neutral_tools([given])
            continue
        for key, value in as_sent(given).items():
            if key == "functionDeclarations":
                where = f"{path}.{key}"
                out += [_neutral(one, f"{where}[{number}]") for number, one in enumerate(items(value, where))]
            else:
                out.append({"name": key, "provider": PROVIDER, "raw": {key: value}})
    return out


def gemini_tools(tools: Iterable[Any] | None) -> list[dict[str, Any]]:
    """Tools as Gemini takes them: all functions in one entry, its own tools behind; those of other providers are left
    out."""
    functions: list[dict[str, Any]] = []
    own: list[dict[str, Any]] = []
    for tool in read_tools(tools):
        if "raw" not in tool:
            functions.append(_declaration(tool))
        elif tool["provider"] == PROVIDER:
            own.append(clean_value(tool["raw"]))
    return [{"functionDeclarations": functions}, *own] if functions else own


def _neutral(declaration: Any, path: str) -> dict[str, Any]:
    declaration = as_mapping(declaration, path)
    schema = as_schema(declaration.get("parametersJsonSchema"), f"{path}.parametersJsonSchema")
    if declaration.get("parametersJsonSchema") is None and declaration.get("parameters") is not None:
        schema = json_schema(as_schema(declaration["parameters"], f"{path}.parameters"))
    return {
        "name": as_name(declaration.get("name"), f"{path}.name"),
        "description": as_text(declaration.get("description"), f"{path}.description"),
        "parameters": schema,
    }


def _declaration(tool: Mapping[str, Any]) -> dict[str, Any]:
    declaration = {"name": tool["name"]}
    if tool["description"]:
        declaration["description"] = tool["description"]
    declaration["parametersJsonSchema"] = _rooted(in_place(tool["parameters"]))
    cleaned: dict[str, Any] = clean_value(declaration)
    return cleaned


def _rooted(schema: Any) -> Any:
    """A schema that says that it is an object: Gemini refuses parameters that are anything else."""
    if isinstance(schema, Mapping) and not any(key in schema for key in ("type", "anyOf", "oneOf", "allOf", "$ref")):
        return {"type": "object", **schema}
    return schema


def json_schema(schema: Any) -> Any:
    """An OpenAPI schema of Gemini's as JSON Schema: types in small letters, `nullable` as the type null."""
    if not isinstance(schema, Mapping):
        return schema
    out: dict[str, Any] = {}
    for given, value in schema.items():
        key = camel(str(given))
        if key == "type":
            out[key] = str(as_sent(value)).lower()
        elif key == "properties" and isinstance(value, Mapping):
            out[key] = {name: json_schema(inner) for name, inner in value.items()}
        elif key in ("items", "additionalProperties"):
            out[key] = json_schema(value)
        elif key == "anyOf" and isinstance(value, (list, tuple)):
            out[key] = [json_schema(inner) for inner in value]
        elif key != "nullable":
            out[key] = value
    if schema.get("nullable") and "type" in out:
        out["type"] = [out["type"], "null"]
    return out


def in_place(schema: Any) -> Any:
    """The schema with every local `$ref` replaced by what it names. A `$ref` that leads back to itself or nowhere
    stays, and with it the definitions."""
    if not _refers(schema):
        return schema
    resolved = _resolved(schema, schema, ())
    if isinstance(resolved, dict) and not _refers({k: v for k, v in resolved.items() if k not in _DEFINITIONS}):
        return {key: value for key, value in resolved.items() if key not in _DEFINITIONS}
    return resolved


def _refers(schema: Any) -> bool:
    return any(isinstance(found.get("$ref"), str) for found in objects_in(schema))


def _resolved(schema: Any, root: Any, path: tuple[str, ...]) -> Any:
    if isinstance(schema, (list, tuple)):
        return [_resolved(item, root, path) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    ref = schema.get("$ref")
    beside = {key: value for key, value in schema.items() if key != "$ref"} if isinstance(ref, str) else schema
    rest = {key: _resolved(value, root, path) for key, value in beside.items()}
    if not isinstance(ref, str):
        return rest
    target = None if ref in path else _target(root, ref)
    if not isinstance(target, Mapping):
        return {"$ref": ref, **rest}
    return {**_resolved(target, root, (*path, ref)), **rest}


def _target(root: Any, ref: str) -> Any:
    if not ref.startswith("#/"):
        return None
    found = root
    for step in ref[2:].split("/"):
        if not isinstance(found, Mapping):
            return None
        found = found.get(step.replace("~1", "/").replace("~0", "~"))
    return found
