"""A call of a summary model in the words of OpenTelemetry's GenAI conventions. Knows nothing of the article's metrics.

Attribute names as of the conventions 1.37 to 1.41 (opentelemetry.io/docs/specs/semconv/gen-ai), which are not stable
yet; `gen_ai.task_type` is the tag by which tRPC-Agent-Go tells calls for a summary from those of the agent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from foldmark.reports import Call
from foldmark.telemetry.naming import FAILURES, MODES, is_number, listed, named

OPERATION = "chat"
TASK = "summarize"
Provider = Callable[[str], str]
"""Which provider (`openai`, `anthropic`, `aws.bedrock` …) serves the model of this name; empty: not known."""


def who(call: Call, provider: Provider) -> dict[str, str]:
    """What a metric and a span both say of a call: operation, task, models, provider, error."""
    said = {
        "gen_ai.operation.name": OPERATION,
        "gen_ai.task_type": TASK,
        "gen_ai.provider.name": named(provider(call.asked or call.model)),
        "gen_ai.request.model": named(call.asked or call.model),
        "gen_ai.response.model": named(call.model) if call.usage.input or not call.failure else "",
        "error.type": listed(call.failure, FAILURES),
    }
    return {name: value for name, value in said.items() if value}


def tokens_by_type(call: Call) -> Mapping[str, int]:
    """Billed tokens of a call; nothing where the provider reported no usage."""
    return {"input": call.usage.input, "output": call.usage.output} if call.usage.input else {}


def spent(call: Call) -> dict[str, str | int]:
    """What a span says of a call besides `who`: its usage, our own count, which part of the past it told."""
    usage = call.usage
    told = {"foldmark.part": call.part, "foldmark.parts": call.parts, "foldmark.estimated_tokens": call.tokens}
    billed = {
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
    }
    numbers = {**told, **(billed if usage.input else {})}
    mode = listed(call.mode, MODES)
    return {"foldmark.mode": mode, **{name: value for name, value in numbers.items() if is_number(value)}}
