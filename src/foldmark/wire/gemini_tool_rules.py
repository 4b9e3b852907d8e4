"""What the Gemini API refuses in tool definitions. Knows nothing of conversations.

`parametersJsonSchema` takes JSON Schema; the older `parameters` is a protobuf message that refuses every keyword it
has no field for, and checks the schema beside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foldmark.wire.values import Problem, Rule, RuleBook

TOOL_RULES = (
    Rule(
        "tool_name",
        "known",
        "Names begin with a letter or _ and go on with those, digits and . : - up to 128.",
        "2026-09",
    ),
    Rule("tool_name_style", "suspected", "Older endpoints take at most 64 characters and no colons.", "2025-11"),
    Rule("duplicate_tool", "known", "Function names are unique (Duplicate function declaration found).", "2026-09"),
    Rule("tool_mix", "suspected", "Most models take functions or Gemini's own tools, not both at once.", "2026-03"),
    Rule("two_schemas", "known", "Documented: parameters and parametersJsonSchema exclude each other.", "2026-06"),
    Rule("schema_object", "known", "The schema of a function is of type object.", "2026-08"),
    Rule("schema_field", "known", "In `parameters`, keywords it has no field for are unknown names.", "2026-05"),
    Rule("schema_type", "known", "In `parameters`, a type is one name; null is said with nullable.", "2026-09"),
    Rule("schema_enum", "known", "In `parameters`, an enum is of strings.", "2025-12"),
    Rule(
        "schema_items", "known", "In `parameters`, an array says what its items are (items: missing field).", "2026-07"
    ),
    Rule("schema_properties", "known", "In `parameters`, only objects have properties and required.", "2026-09"),
    Rule("schema_required", "known", "In `parameters`, what is required is one of the properties.", "2026-07"),
    Rule("schema_ref", "known", "Beside $ref stand only a description and a default.", "2026-05"),
)

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}\Z")
NAME_EVERYWHERE = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,63}\Z")
_FIELDS = frozenset(
    [
        "type", "format", "title", "description", "nullable", "enum", "items", "maxItems", "minItems", "properties",
        "required", "minProperties", "maxProperties", "minimum", "maximum", "minLength", "maxLength", "pattern",
        "example", "anyOf", "propertyOrdering", "default",
    ]
)  # fmt: skip


def _properties(value: Any) -> Any:
    """The shape of properties: every one of them is a schema."""
    return dict.fromkeys(value, _SCHEMA) if isinstance(value, Mapping) else Mapping


_SCHEMA: dict[str, Any] = {"type": (str, list), "required": [str], "enum": (list, tuple), "properties": _properties}
_SCHEMA |= {"items": _SCHEMA, "anyOf": [_SCHEMA]}
TOOL_SHAPES = {"tools": [{"functionDeclarations": [{"name": str, "parameters": _SCHEMA}]}]}
"""Of what shape the tools of a payload are, for `misfits`."""

Schema = Mapping[str, Any]


def tool_problems(tools: Sequence[Mapping[str, Any]], book: RuleBook) -> Iterator[Problem]:
    """What is refused in the tools of a payload."""
    seen: set[str] = set()
    kinds: set[str] = set()
    for at, tool in enumerate(tools):
        kinds.update(tool)
        for number, declaration in enumerate(tool.get("functionDeclarations") or ()):
            path = f"tools[{at}].functionDeclarations[{number}]"
            yield from _declaration_problems(declaration, path, seen, book)
    if "functionDeclarations" in kinds and len(kinds) > 1:
        yield book.problem("tools", "tool_mix", f"functions stand beside {', '.join(sorted(kinds))}.")


def _declaration_problems(
    declaration: Mapping[str, Any], path: str, seen: set[str], book: RuleBook
) -> Iterator[Problem]:
    name = str(declaration.get("name") or "")
    if not NAME.match(name):
        yield book.problem(f"{path}.name", "tool_name", f"{name!r} does not match the pattern.")
    elif not NAME_EVERYWHERE.match(name):
        yield book.problem(f"{path}.name", "tool_name_style", f"{name!r} is not taken everywhere.")
    if name in seen:
        yield book.problem(f"{path}.name", "duplicate_tool", f"{name!r} is defined twice.")
    seen.add(name)
    older, newer = declaration.get("parameters"), declaration.get("parametersJsonSchema")
    if older is not None and newer is not None:
        yield book.problem(path, "two_schemas", "both schemas are given.")
    for key, schema in (("parameters", older), ("parametersJsonSchema", newer)):
        if isinstance(schema, Mapping) and not _is_object(schema):
            yield book.problem(f"{path}.{key}.type", "schema_object", "the schema is not of type object.")
    yield from _ref_problems(newer, f"{path}.parametersJsonSchema", book)
    if isinstance(older, Mapping):
        yield from _schema_problems(older, f"{path}.parameters", book)


def _is_object(schema: Schema) -> bool:
    if any(key in schema for key in ("$ref", "anyOf", "oneOf", "allOf")):
        return True
    kinds = schema.get("type")
    return "object" in [
        kind.lower() for kind in (kinds if isinstance(kinds, list) else [kinds]) if isinstance(kind, str)
    ]


def _ref_problems(schema: Any, path: str, book: RuleBook) -> Iterator[Problem]:
    waiting = [(schema, path)]
    while waiting:
        one, where = waiting.pop()
        if isinstance(one, (list, tuple)):
            waiting += reversed([(item, f"{where}[{at}]") for at, item in enumerate(one)])
        elif isinstance(one, Mapping):
            if isinstance(one.get("$ref"), str) and set(one) - {"$ref", "description", "default", "$defs"}:
                yield book.problem(where, "schema_ref", "other keywords stand beside $ref.")
            waiting += reversed([(item, f"{where}.{key}") for key, item in one.items()])


def _schema_problems(schema: Schema, path: str, book: RuleBook) -> Iterator[Problem]:
    """What the older `parameters` refuses in a schema and those inside it."""
    for key in schema:
        if key not in _FIELDS:
            yield book.problem(f"{path}.{key}", "schema_field", f"{key!r} is no field of a schema here.")
    kind = schema.get("type")
    if isinstance(kind, list):
        yield book.problem(f"{path}.type", "schema_type", "the type is a list.")
        return
    kind = str(kind or "").lower()
    if kind not in ("string", "") and "enum" in schema:
        yield book.problem(f"{path}.enum", "schema_enum", f"an enum of type {kind}.")
    if kind == "array" and "items" not in schema:
        yield book.problem(f"{path}.items", "schema_items", "the array does not say what its items are.")
    if kind not in ("object", "") and ("properties" in schema or "required" in schema):
        yield book.problem(f"{path}.properties", "schema_properties", f"properties of type {kind}.")
    properties = schema.get("properties") or {}
    for name in schema.get("required") or ():
        if name not in properties:
            yield book.problem(f"{path}.required", "schema_required", f"property {name!r} is not defined.")
    for where, value in _inner(schema, path):
        yield from _schema_problems(value, where, book)


def _inner(schema: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    """The schemas that stand directly inside one, with their paths."""
    found = [(f"{path}.properties.{name}", value) for name, value in (schema.get("properties") or {}).items()]
    found.append((f"{path}.items", schema.get("items")))
    found += [(f"{path}.anyOf[{at}]", value) for at, value in enumerate(schema.get("anyOf") or ())]
    yield from ((where, value) for where, value in found if isinstance(value, Mapping))
