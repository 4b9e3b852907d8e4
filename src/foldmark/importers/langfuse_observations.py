"""Observations of a Langfuse trace: what each is, what it reports beside its messages, where it hangs. Knows nothing
of conversations.

Frameworks report through several conventions (Langfuse's own fields, OpenTelemetry's gen_ai, OpenInference,
pydantic-ai); the first that says something is taken. Inputs and outputs are JSON values or JSON as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from foldmark.errors import WireError
from foldmark.events import Usage
from foldmark.importers.parts import mappings
from foldmark.importers.values import seconds
from foldmark.wire import anthropic_reading, neutral_tools, openai_reading
from foldmark.wire.plain import as_count, parse_json

KINDS = frozenset(
    ["GENERATION", "SPAN", "EVENT", "TOOL", "AGENT", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"]
)


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One observation, decoded. `start` and `end` are Unix seconds, `at` its place in the file."""

    key: str
    at: int
    parent: str
    kind: str
    name: str
    start: float
    end: float
    input: Any
    output: Any
    attributes: Mapping[str, Any]
    raw: Mapping[str, Any]

    @property
    def path(self) -> str:
        return f"observations[{self.at}]"

    @property
    def span_kind(self) -> str:
        """The kind as OpenInference or gen_ai name it, in capitals: LLM, AGENT, TOOL, EXECUTE_TOOL, …"""
        attributes = self.attributes
        kind = attributes.get("openinference.span.kind") or attributes.get("gen_ai.operation.name") or ""
        return str(kind).upper()

    @property
    def is_generation(self) -> bool:
        return self.kind == "GENERATION"

    @property
    def is_tool(self) -> bool:
        return self.kind == "TOOL" or (not self.is_generation and self.span_kind in ("TOOL", "EXECUTE_TOOL"))

    @property
    def is_agent(self) -> bool:
        return self.kind == "AGENT" or (not self.is_generation and self.span_kind == "AGENT")

    @property
    def tool(self) -> str:
        """The name of the tool that ran."""
        named = self.attributes.get("gen_ai.tool.name") or self.attributes.get("tool.name")
        return str(named or self.name.removeprefix("running tool: "))


def rows_of(value: Any) -> Any:
    """What a file has as its observations: beside the trace, or in it. None when it has none."""
    if not isinstance(value, Mapping):
        return None
    trace = value.get("trace")
    return value.get("observations", trace.get("observations") if isinstance(trace, Mapping) else None)


def trace_of(value: Mapping[str, Any], found: list[Observation]) -> str:
    """The id of the trace: its own, else the one that its observations name."""
    trace = value.get("trace", value)
    own = trace.get("id") if isinstance(trace, Mapping) else None
    return str(own or found[0].raw.get("traceId") or found[0].key)


def observations(value: Any) -> list[Observation]:
    """All observations, in the order in which they began. Raises WireError with the path of one that is none."""
    rows = mappings(rows_of(value), "observations")
    found = [_observation(row, at) for at, (_, row) in enumerate(rows)]
    return sorted(found, key=lambda each: (each.start, each.at))


def _observation(row: Mapping[str, Any], at: int) -> Observation:
    key, path = row.get("id"), f"observations[{at}]"
    if not isinstance(key, str) or not key:
        raise WireError(f"{path}.id", "an observation needs an id.")
    start = seconds(row.get("startTime"))
    if start is None:
        raise WireError(f"{path}.startTime", "an observation needs the time when it began.")
    metadata = decoded(row.get("metadata"))
    metadata = metadata if isinstance(metadata, Mapping) else {}
    attributes = decoded(metadata.get("attributes"))
    return Observation(
        key=key,
        at=at,
        parent=str(row.get("parentObservationId") or ""),
        kind=str(row.get("type") or "").upper(),
        name=str(row.get("name") or ""),
        start=start,
        end=seconds(row.get("endTime")) or start,
        input=decoded(row.get("input")),
        output=decoded(row.get("output")),
        attributes=attributes if isinstance(attributes, Mapping) else metadata,
        raw=row,
    )


def decoded(value: Any) -> Any:
    """JSON text as its value where it is an object, a list or a quoted text; everything else as it is."""
    if isinstance(value, str) and value[:1] in ("{", "[", '"'):
        try:
            return parse_json(value)
        except ValueError:
            return value
    return value


def model_of(found: Observation) -> str:
    return str(found.raw.get("model") or found.attributes.get("gen_ai.response.model") or "")


def provider_of(found: Observation) -> str:
    """The provider by the names we use, else as the trace has it, else the empty text."""
    names = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ls_provider")
    named = next((str(found.attributes[name]).lower() for name in names if found.attributes.get(name)), "")
    return next((known for known in ("anthropic", "openai") if known in named), named)


def usage_of(found: Observation) -> Usage | None:
    """Usage as the reply has it, else as Langfuse counted it (every sort of input is part of the prompt)."""
    reported = found.output.get("usage") if isinstance(found.output, Mapping) else None
    if isinstance(reported, Mapping):
        is_chat = "prompt_tokens" in reported
        return openai_reading.read_usage(reported) if is_chat else _reply_usage(reported)
    details = found.raw.get("usageDetails") or found.raw.get("usage")
    if not isinstance(details, Mapping):
        return None
    whole = sum(as_count(count) for name, count in details.items() if "input" in name)
    output = sum(as_count(count) for name, count in details.items() if "output" in name)
    read = next((as_count(count) for name, count in details.items() if re.search("cache.*read|cached", name)), 0)
    write = next((as_count(count) for name, count in details.items() if re.search("cache.*(creat|writ)", name)), 0)
    usage = Usage(whole, output, read, write)
    return usage if usage != Usage() else None


def _reply_usage(reported: Mapping[str, Any]) -> Usage | None:
    """Usage of the Responses API, whose input holds cached tokens, or of Anthropic, whose input does not."""
    details = reported.get("input_tokens_details")
    if not isinstance(details, Mapping):
        return anthropic_reading.read_usage(reported)
    whole, output = as_count(reported.get("input_tokens")), as_count(reported.get("output_tokens"))
    return Usage(whole, output, as_count(details.get("cached_tokens")))


def tools_of(found: Observation) -> tuple[dict[str, Any], ...]:
    """The tool schemas that a generation was given, in the neutral form."""
    for value in _tool_lists(found):
        if isinstance(value, list) and value and all(isinstance(tool, Mapping) for tool in value):
            return tuple(neutral_tools([_shaped(tool) for tool in value]))
    return ()


def _tool_lists(found: Observation) -> Iterator[Any]:
    attributes = found.attributes
    for side in (found.output, found.input):
        yield side.get("tools") if isinstance(side, Mapping) else None
    yield decoded(attributes.get("gen_ai.tool.definitions"))
    asked = decoded(attributes.get("model_request_parameters"))
    if isinstance(asked, Mapping):
        yield [*(asked.get("function_tools") or ()), *(asked.get("output_tools") or ())]
    yield [
        decoded(value) for key, value in attributes.items() if re.fullmatch(r"llm\.tools\.\d+\.tool\.json_schema", key)
    ]


def _shaped(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool with its schema where the neutral form looks for it."""
    schema = tool.get("parameters_json_schema") or tool.get("inputSchema")
    return {**tool, "parameters": schema} if schema and "parameters" not in tool else tool


def instructions_of(found: Observation) -> Any:
    """System text that stands beside the messages, in whatever shape; None when there is none."""
    beside = decoded(found.attributes.get("gen_ai.system_instructions"))
    if beside:
        return beside
    if isinstance(found.output, Mapping) and found.output.get("object") == "response":
        return found.output.get("instructions")
    is_prompt = isinstance(found.input, Mapping) and "prompt" in found.input
    return found.input.get("system") if is_prompt else None
