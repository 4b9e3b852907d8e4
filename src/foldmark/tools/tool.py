"""What a tool for a model is: name, description, schema, and what runs it. Knows nothing of any one tool."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from foldmark.aio import AsyncSession
from foldmark.session import Session
from foldmark.wire.gemini_schema import gemini_tools
from foldmark.wire.tools import anthropic_tools, openai_tools, responses_tools


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool for a model: its `name`, what it is for, a JSON Schema of its `parameters`, and what runs it
    with its arguments (None: they could not be read)."""

    name: str
    description: str
    parameters: dict[str, Any]
    run: Callable[[Mapping[str, Any] | None], Any]

    @property
    def schema(self) -> dict[str, Any]:
        """Name, description and parameters, as `Session.request(tools=…)` takes them for any wire."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}

    def openai(self, *, strict: bool = False) -> dict[str, Any]:
        """As chat completions takes it. `strict` asks for arguments that follow the schema to the letter: every
        parameter is required then, and one that may be left out may be null."""
        return openai_tools([self._strict() if strict else self.schema])[0]

    def responses(self, *, strict: bool = False) -> dict[str, Any]:
        """As the Responses API takes it; `strict` as in `openai`."""
        return responses_tools([self._strict() if strict else self.schema])[0]

    def anthropic(self) -> dict[str, Any]:
        """As the Messages API takes it."""
        return anthropic_tools([self.schema])[0]

    def gemini(self) -> dict[str, Any]:
        """As one of the `functionDeclarations` that `generateContent` takes."""
        declared: dict[str, Any] = gemini_tools([self.schema])[0]["functionDeclarations"][0]
        return declared

    def __call__(self, arguments: Mapping[str, Any] | str = "") -> Any:
        """Run it with a call's arguments (a mapping, or JSON text as models write it); the answer is text for the model
        (to be awaited, for a tool of an AsyncSession). Arguments that cannot be read are answered as such."""
        return self.run(read_arguments(arguments))

    def _strict(self) -> dict[str, Any]:
        return {**self.schema, "parameters": strict_schema(self.parameters), "strict": True}


def tool_of(
    session: Session | AsyncSession, name: str, description: str, parameters: dict[str, Any],
    answer: Callable[[Session, Mapping[str, Any] | None], str],
) -> Tool:  # fmt: skip
    """A tool that answers from a session; that of an AsyncSession answers in a thread and is awaited."""
    if isinstance(session, AsyncSession):
        inner = session.session

        async def awaited(arguments: Mapping[str, Any] | None) -> str:
            return await asyncio.to_thread(answer, inner, arguments)

        return Tool(name=name, description=description, parameters=parameters, run=awaited)
    plain = session
    return Tool(
        name=name, description=description, parameters=parameters, run=lambda arguments: answer(plain, arguments)
    )


def strict_schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The schema as OpenAI's strict mode wants it: nothing is optional, and what was takes null."""
    needed = parameters.get("required", ())
    properties = {
        name: each if name in needed else _or_null(each) for name, each in parameters.get("properties", {}).items()
    }
    return {**parameters, "properties": properties, "required": list(properties), "additionalProperties": False}


def _or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    out = {**schema, "type": [schema["type"], "null"]}
    return {**out, "enum": [*schema["enum"], None]} if "enum" in schema else out


def read_arguments(given: Mapping[str, Any] | str) -> Mapping[str, Any] | None:
    """A call's arguments as a mapping; None when they are no JSON object. Nothing, and null, are no arguments."""
    if isinstance(given, Mapping):
        return given
    if given is None or not isinstance(given, str):
        return None if given is not None else {}
    try:
        found = json.loads(given) if given.strip() else {}
    except (ValueError, RecursionError):
        return None
    return {} if found is None else found if isinstance(found, Mapping) else None
