"""Anthropic as a model. Knows nothing of keys and addresses: those belong to the client, which is the caller's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldmark.asking import Ask, Finish, Reply
from foldmark.events import Usage
from foldmark.failures import ModelFailed, failure_in
from foldmark.models.calling import AsyncModel, SyncModel, described, model_of, split, takes, without_retries
from foldmark.models.openai_chat import forked
from foldmark.models.schemas import ANTHROPIC, bound
from foldmark.wire import anthropic as wire
from foldmark.wire.anthropic_reading import read_usage
from foldmark.wire.plain import as_count, as_mapping, items, plain

WINDOW = 200_000
"""The smallest window of a Claude model in use (2026-11): what one has whose name is not known."""
FACTOR = 1.6
"""Claude's tokens are smaller than ours: about a fifth more of them, and with the tokenizer that came with Opus 4.7 up
to 1.35 times as many again, as its release notes say."""
_FINISH: Mapping[Any, Finish] = {
    **{"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "refusal": "refusal"},
    **{"max_tokens": "length", "model_context_window_exceeded": "length"},
}
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_THOUGHTS = ("thinking", "redacted_thinking")


def anthropic(
    client: Any,
    model: str,
    *,
    window: int | None = None,
    schema: bool = True,
    effort: str | None = None,
    extra: Mapping[str, Any] | None = None,
    factor: float = FACTOR,
) -> SyncModel | AsyncModel:
    """A model behind `anthropic.Anthropic(…)`, or behind `anthropic.AsyncAnthropic(…)`, which gives an async model.

    `window` is its context window in tokens. None: as `foldmark.models.windows` knows it by the model's name (1,000,000
    from Opus 4.6 on), else 200,000. The answer is bound to a schema where the installed SDK knows
    `output_config`; `schema=False` for a model that does not. `effort` is sent as `output_config.effort`: a summary
    needs little. `extra` are further fields of the request; a fork is sent without them.
    """
    create = without_retries(client).messages.create
    schema = schema and takes(create, "output_config")

    def body(ask: Ask) -> dict[str, Any]:
        if ask.mode == "fork":
            return forked(ask, (wire.NAME,), model)
        config: dict[str, Any] = {"effort": effort} if effort else {}
        if schema and ask.schema is not None:
            config["format"] = {"type": "json_schema", "schema": bound(ask.schema, ANTHROPIC)}
        written = ask.payload(wire, model=model)
        return {**written, **({"output_config": config} if config else {}), **(extra or {})}

    def call(ask: Ask) -> Any:
        return create(**{**split(body(ask), create), "timeout": ask.timeout_seconds})

    info = described(model, window, WINDOW, schema=schema, factor=factor)
    return model_of(info, create, call, read_answer)


def read_answer(answer: Any) -> Reply:
    """A message of the assistant as a Reply. Raises ModelFailed for an error that came as an answer, WireError for
    anything that is no message."""
    answer = as_mapping(answer, "reply")
    if answer.get("error"):
        raise ModelFailed(failure_in(answer))
    blocks = [as_mapping(block, f"content[{at}]") for at, block in enumerate(items(answer.get("content"), "content"))]
    text = "".join(str(block.get("text") or "") for block in blocks if block.get("type") == "text")
    usage = read_usage(answer.get("usage")) or Usage()
    return Reply(
        text=text,
        usage=usage,
        finish=_FINISH.get(answer.get("stop_reason"), "unknown"),
        calls=tuple(str(block.get("name") or "?") for block in blocks if block.get("type") in _CALLS),
        reasoning_tokens=_reasoning(answer, blocks, text, usage),
        model=str(answer.get("model") or ""),
    )


def _reasoning(answer: Mapping[str, Any], blocks: list[Mapping[str, Any]], text: str, usage: Usage) -> int:
    """Tokens that went into thinking, as reported; everything, when thoughts came and not a word."""
    reported = plain(answer.get("usage"))
    details = plain(reported.get("output_tokens_details")) if isinstance(reported, Mapping) else None
    counted = as_count(details.get("thinking_tokens")) if isinstance(details, Mapping) else 0
    if counted or text or not any(block.get("type") in _THOUGHTS for block in blocks):
        return counted
    return usage.output
