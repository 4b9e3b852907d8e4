"""OpenAI, and every server that speaks its chat completions, as a model. Knows nothing of keys and addresses: those
belong to the client, which is the caller's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from foldmark.asking import UNKNOWN_SUMMARY_WINDOW, Ask, Finish, ModelInfo, Reply
from foldmark.errors import WireError
from foldmark.events import Usage
from foldmark.failures import ModelFailed, failure_in
from foldmark.models.calling import AsyncModel, SyncModel, described, model_of, split, without_retries
from foldmark.models.schemas import OPENAI, bound
from foldmark.wire import openai_chat
from foldmark.wire.openai_reading import REASONING_KEYS, read_usage
from foldmark.wire.plain import as_count, as_mapping, items, plain

WIRES = ("openai-chat", "openai-strict")
"""Wires whose requests this API takes as they are."""
SCHEMA_NAME = "summary"
_STREAMING = ("stream", "stream_options")
_FINISH: Mapping[Any, Finish] = {
    **{"stop": "stop", "eos": "stop", "eos_token": "stop", "stop_sequence": "stop", "end_turn": "stop"},
    **{"length": "length", "max_tokens": "length", "model_length": "length"},
    **{"content_filter": "refusal", "refusal": "refusal", "safety": "refusal"},
    **{"tool_calls": "tool_calls", "function_call": "tool_calls", "tool_use": "tool_calls"},
}


def openai(
    client: Any,
    model: str,
    *,
    window: int | None = None,
    schema: bool = True,
    strict: bool = True,
    output_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens",
    effort: str | None = None,
    extra: Mapping[str, Any] | None = None,
    factor: float = ModelInfo().factor,
) -> SyncModel | AsyncModel:
    """A model behind `openai.OpenAI(…)`, or behind `openai.AsyncOpenAI(…)`, which gives an async model.

    `window` is its context window in tokens. None: as `foldmark.models.windows` knows it by the model's name; of any
    other name (a local server, a gateway of its own) 8,192, which no model refuses and which makes a long past many
    calls one after the other, so pass the true one. `schema=False` for a server without `response_format`;
    `strict=False` for one that takes any JSON schema as it is (llama.cpp, vLLM). Compatible servers often know the
    older `output_field="max_tokens"` only. `effort` is sent as `reasoning_effort`: take the lowest that the model has,
    a summary needs little thought. `extra` are further fields of the request (`{"temperature": 0}`); a fork is sent
    without them. Raises PolicyError for a window that is none.
    """
    create = without_retries(client).chat.completions.create
    form = ChatForm(model, schema=schema, strict=strict, output_field=output_field, effort=effort, extra=extra or {})

    def call(ask: Ask) -> Any:
        return create(**{**split(form.body(ask), create), "timeout": ask.timeout_seconds})

    info = described(model, window, UNKNOWN_SUMMARY_WINDOW, schema=schema, factor=factor)
    return model_of(info, create, call, read_answer)


class ChatForm:
    """How a request to one model is written."""

    def __init__(
        self, model: str, *, schema: bool, strict: bool, output_field: str, effort: str | None, extra: Mapping[str, Any]
    ) -> None:
        self.model, self.schema, self.strict = model, schema, strict
        self.output_field, self.effort, self.extra = output_field, effort, extra

    def body(self, ask: Ask) -> dict[str, Any]:
        """The request body. Raises WireError when it would be refused, or is a fork for another API."""
        if ask.mode == "fork":
            return forked(ask, WIRES, self.model)
        body = ask.payload(openai_chat, model=self.model)
        body[self.output_field] = body.pop("max_completion_tokens")
        if self.schema and ask.schema is not None:
            body["response_format"] = {"type": "json_schema", "json_schema": self._schema(ask.schema)}
        if self.effort:
            body["reasoning_effort"] = self.effort
        return {**body, **self.extra}

    def _schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        if not self.strict:
            return {"name": SCHEMA_NAME, "schema": schema}
        return {"name": SCHEMA_NAME, "strict": True, "schema": bound(schema, OPENAI, all_required=True)}


def forked(ask: Ask, wires: tuple[str, ...], model: str) -> dict[str, Any]:
    """The clone of a parent request, as it is, but never streamed (that is no part of the prompt). Raises WireError
    when it was written for another API."""
    if ask.wire not in wires:
        raise WireError("wire", f"the fork is a request of the wire {ask.wire!r}, which {model} does not take.")
    body = {field: value for field, value in ask.payload().items() if field not in _STREAMING}
    return {"model": model, **body}


def read_answer(answer: Any) -> Reply:
    """A chat completion as a Reply. Raises ModelFailed for an error that came as an answer, WireError for anything
    that is no chat completion."""
    answer = as_mapping(answer, "reply")
    choices = items(answer.get("choices"), "choices")
    choice = as_mapping(choices[0], "choices[0]") if choices else {}
    for held in (answer, choice):
        if held.get("error"):
            raise ModelFailed(failure_in(held))
    message = plain(choice.get("message")) or {}
    text = _text(message.get("content"))
    refusal = message.get("refusal") or ""
    usage = read_usage(answer.get("usage")) or Usage()
    return Reply(
        text=text or refusal,
        usage=usage,
        finish="refusal" if refusal else _FINISH.get(choice.get("finish_reason"), "unknown"),
        calls=_calls(message),
        reasoning_tokens=_reasoning(answer, message, text, usage),
        model=str(answer.get("model") or ""),
    )


def _text(content: Any) -> str:
    """The words of a message: some servers send them in parts, with the thinking in parts of its own."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    parts = [plain(part) for part in content]
    texts = (part.get("text") for part in parts if isinstance(part, Mapping) and part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))


def _calls(message: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the tools it tried to call; a call that is broken counts as well."""
    made = [plain(call) for call in message.get("tool_calls") or ()]
    made += [{"function": plain(message["function_call"])}] if message.get("function_call") else []
    kinds = [plain(call.get("function") or call.get("custom")) or {} for call in made if isinstance(call, Mapping)]
    return tuple(str(kind.get("name") or "?") for kind in kinds)


def _reasoning(answer: Mapping[str, Any], message: Mapping[str, Any], text: str, usage: Usage) -> int:
    """Tokens that went into thinking, as reported. A server that does not count them, and sends thoughts without a
    word, spent everything on them."""
    reported = plain(answer.get("usage"))
    details = plain(reported.get("completion_tokens_details")) if isinstance(reported, Mapping) else None
    counted = as_count(details.get("reasoning_tokens")) if isinstance(details, Mapping) else 0
    if counted or text or not any(message.get(key) for key in REASONING_KEYS):
        return counted
    return usage.output
