"""A payload with one more instruction of the user behind it, so that its provider's cache is read. Knows nothing of
events, models or why one asks.

Everything that was there stays as it is, in its order: messages with their marks for caching, system text, tools,
model, limits. Only what makes the answer come as a stream (or later) is taken out, and none of that is part of a cached
prompt. `tool_choice` stays too, although no tool should be called:

- Anthropic: a changed `tool_choice` or thinking parameter drops the cached messages (prompt caching guide, table of
  what invalidates the cache, 2026-09).
- Servers of the chat completions format that honour `none` often leave the tools out of the prompt for it (vLLM before
  0.10 and behind `--exclude-tools-when-tool-choice-none`, others by default), which changes its very beginning.
- OpenAI and Google do not say.

So that no tool may be called is said in words. What forces a tool or a schema upon the answer would be part of the
cached prompt as well (OpenAI puts the schema in front of the system message; Anthropic: `output_config.format`
invalidates the whole conversation): there is no clone that is cheap *and* can answer in words, and WireError says so.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from foldmark.errors import WireError
from foldmark.wire import anthropic_rules, gemini_rules, openai_rules, responses_rules
from foldmark.wire.anthropic_blocks import THINKING, blocks_of
from foldmark.wire.plain import clean_text
from foldmark.wire.values import Problem

Body = dict[str, Any]
Validate = Callable[..., Sequence[Problem]]

_STREAMING = ("stream", "stream_options")

# Documented: "On Opus 4.5+ and Sonnet 4.6+, thinking blocks are preserved by default […]. On earlier Opus/Sonnet models
# and all Haiku models" they leave the prompt, with the cache behind them, once words follow (prompt caching guide).
_DROPS_THINKING = re.compile(
    r"claude-(?:[123](?!\d)|haiku|sonnet-4(?:[.-][0-5](?!\d)|-20|@|$)|opus-4(?:[.-][0-4](?!\d)|-20|@|$))"
)


def to_chat(body: Mapping[str, Any], text: str) -> Body:
    """A chat completions payload with a message of the user behind it. Without `stream` and `stream_options`. Raises
    WireError when there is none that the API takes and the cache serves, and when the payload is not valid itself."""
    out, messages = _clone(body, "messages", openai_rules.validate, _STREAMING)
    _refuse_chat_bounds(out)
    messages.append({"role": "user", "content": _said(text)})
    return _checked(out, openai_rules.validate, len(messages))


def to_strict_chat(body: Mapping[str, Any], text: str) -> Body:
    """The same for servers that want roles to take turns: words of the user at the end are gone on with."""
    out, messages = _clone(body, "messages", openai_rules.validate, _STREAMING)
    _refuse_chat_bounds(out)
    last = messages[-1] if messages[-1]["role"] == "user" else {}
    content = last.get("content")
    if isinstance(content, str):
        last["content"] = f"{content}\n\n{_said(text)}"
    elif isinstance(content, list):
        content.append({"type": "text", "text": _said(text)})
    else:
        messages.append({"role": "user", "content": _said(text)})
    return _checked(out, openai_rules.validate, len(messages))


def to_anthropic(body: Mapping[str, Any], text: str) -> Body:
    """A Messages payload with one more block: in the user's last message (behind its results), because gateways refuse
    two in a row, else in a message of its own. Without `stream`. Raises WireError as `to_chat` does, and when the
    model would drop the thinking of the running turn for it."""
    out, messages = _clone(body, "messages", anthropic_rules.validate, ("stream",))
    _refuse("tool_choice", _object(out, "tool_choice").get("type") in ("any", "tool"), _FORCED)
    _refuse("output_config.format", bool(_object(out, "output_config").get("format")), _BOUND)
    _refuse("output_format", bool(out.get("output_format")), _BOUND)
    _refuse("thinking", _loses_thinking(out, messages), _THOUGHT)
    block = {"type": "text", "text": _said(text)}
    if messages[-1]["role"] == "user" and isinstance(messages[-1]["content"], list):
        messages[-1]["content"].append(block)
    else:
        messages.append({"role": "user", "content": [block]})
    return _checked(out, anthropic_rules.validate, len(messages))


def to_responses(body: Mapping[str, Any], text: str) -> Body:
    """A Responses payload with a message of the user behind it. Without `stream`, `stream_options` and `background`
    (an answer that is not there yet). Raises WireError as `to_chat` does, and when the provider holds the conversation
    and would add the instruction to it."""
    if isinstance(body.get("input"), str):
        body = {**body, "input": [{"type": "message", "role": "user", "content": body["input"]}]}
    out, items = _clone(body, "input", responses_rules.validate, (*_STREAMING, "background"))
    _refuse("tool_choice", _is_forced(out.get("tool_choice")), _FORCED)
    _refuse("text.format", _is_schema(_object(out, "text").get("format")), _BOUND)
    _refuse("conversation", bool(out.get("conversation")), _HELD)
    items.append({"type": "message", "role": "user", "content": _said(text)})
    return _checked(out, responses_rules.validate, len(items))


def to_gemini(body: Mapping[str, Any], text: str) -> Body:
    """A `generateContent` body with one more part: in the user's last turn when that holds words, behind function
    responses in a turn of its own, because some models refuse other parts beside them. No field is taken out:
    streaming is an address of its own. Raises WireError as `to_chat` does."""
    out, contents = _clone(body, "contents", gemini_rules.validate, ())
    calling, form = _object(_object(out, "toolConfig"), "functionCallingConfig"), _object(out, "generationConfig")
    _refuse("toolConfig", str(calling.get("mode")).upper() == "ANY", _FORCED)
    for field in ("responseSchema", "responseJsonSchema"):
        _refuse(f"generationConfig.{field}", bool(form.get(field)), _BOUND)
    last = contents[-1] if contents[-1].get("role", "user") == "user" else {}
    parts = last.get("parts")
    if isinstance(parts, list) and not any("functionResponse" in part for part in parts):
        parts.append({"text": _said(text)})
    else:
        contents.append({"role": "user", "parts": [{"text": _said(text)}]})
    return _checked(out, gemini_rules.validate, len(contents))


_FORCED = "a tool is forced upon the answer, and without that the cached prompt would be another"
_BOUND = "the answer is bound to a schema, which is part of the cached prompt"
_THOUGHT = "the model drops the thinking of the running turn, and the cache behind it, once words follow"
_HELD = "the provider holds the conversation and would add the instruction to it"


def _clone(
    body: Mapping[str, Any], key: str, validate: Validate, without: Collection[str]
) -> tuple[Body, list[dict[str, Any]]]:
    """A deep copy without some fields, and the list of its messages."""
    for problem in validate(body)[:1]:
        raise WireError(problem.path or "payload", f"{problem.message} ({problem.code})")
    out = copy.deepcopy({field: value for field, value in body.items() if field not in without})
    out[key] = messages = list(out.get(key) or ())
    if not messages:
        raise WireError(key, "holds nothing that something could be put behind.")
    return out, messages


def _said(text: str) -> str:
    if not text.strip():
        raise WireError("text", "an instruction without words cannot be put behind a request.")
    return clean_text(text)


def _checked(out: Body, validate: Validate, count: int) -> Body:
    """The payload, when its provider takes the newest of its messages too."""
    for problem in validate(out, max(0, count - 2))[:1]:
        raise WireError(problem.path, f"{problem.message} ({problem.code}; behind an instruction)")
    return out


def _object(holder: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    """The value of a field that is an object; an empty one for anything else."""
    value = holder.get(field)
    return value if isinstance(value, Mapping) else {}


def _refuse(path: str, is_so: bool, why: str) -> None:
    if is_so:
        raise WireError(path, f"{why}.")


def _refuse_chat_bounds(out: Body) -> None:
    _refuse("tool_choice", _is_forced(out.get("tool_choice")), _FORCED)
    _refuse("response_format", _is_schema(out.get("response_format")), _BOUND)


def _is_forced(choice: Any) -> bool:
    """Whether OpenAI's `tool_choice` makes the model call something."""
    if not isinstance(choice, Mapping):
        return bool(choice == "required")
    allowed = _object(choice, "allowed_tools") or choice  # chat completions puts the mode one level down
    return bool(choice.get("type") != "allowed_tools" or allowed.get("mode") == "required")


def _is_schema(form: Any) -> bool:
    return isinstance(form, Mapping) and form.get("type") == "json_schema"


def _loses_thinking(out: Body, messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether Anthropic will show the model less of the running turn: what was thought between the user's newest words
    and the end, on models that keep it no longer."""
    is_on = _object(out, "thinking").get("type") in ("enabled", "adaptive")
    if not is_on or not _DROPS_THINKING.search(str(out.get("model") or "").lower()):
        return False
    for message in reversed(messages):
        kinds = {str(block.get("type")) for block in blocks_of(message)}
        if message["role"] == "user" and kinds != {"tool_result"}:
            return False
        if kinds & set(THINKING):
            return True
    return False
