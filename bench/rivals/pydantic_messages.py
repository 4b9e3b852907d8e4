"""OpenAI chat messages to pydantic-ai messages and back, as its agents would have recorded them. Knows no method.

The results of one step stand in one request, as in a run. Text, images by address, calls and results survive the way
there and back; nothing else is needed by the cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.methods import Message


def to_pydantic(messages: Sequence[Message]) -> list[Any]:
    from pydantic_ai.messages import ModelRequest, ModelResponse

    names = {call["id"]: call["function"]["name"] for m in messages for call in m.get("tool_calls") or ()}
    out: list[Any] = []
    waiting: list[Any] = []  # system text goes into the request of the user message behind it
    before = ""
    for message in messages:
        role = message["role"]
        if role == "assistant":
            if waiting:
                out.append(ModelRequest(parts=waiting))
                waiting = []
            out.append(ModelResponse(parts=_response_parts(message)))
        elif role == "tool" and before == "tool" and not waiting:
            out[-1] = ModelRequest(parts=[*out[-1].parts, _request_part(message, names)])
        else:
            waiting.append(_request_part(message, names))
            if role != "system":
                out.append(ModelRequest(parts=waiting))
                waiting = []
        before = role
    return [*out, ModelRequest(parts=waiting)] if waiting else out


def _response_parts(message: Message) -> list[Any]:
    from pydantic_ai.messages import TextPart, ToolCallPart

    calls = [
        ToolCallPart(call["function"]["name"], call["function"]["arguments"], tool_call_id=call["id"])
        for call in message.get("tool_calls") or ()
    ]
    return [TextPart(message["content"]), *calls] if message.get("content") else calls


def _request_part(message: Message, names: dict[str, str]) -> Any:
    from pydantic_ai.messages import SystemPromptPart, ToolReturnPart, UserPromptPart

    if message["role"] == "system":
        return SystemPromptPart(message["content"])
    if message["role"] == "tool":
        call_id = message["tool_call_id"]
        return ToolReturnPart(names.get(call_id, "unknown"), message["content"], tool_call_id=call_id)
    return UserPromptPart(_user_content(message["content"]))


def _user_content(content: Any) -> Any:
    from pydantic_ai.messages import ImageUrl

    if isinstance(content, str):
        return content
    return [part["text"] if part["type"] == "text" else ImageUrl(part["image_url"]["url"]) for part in content]


def from_pydantic(messages: Sequence[Any]) -> list[Message]:
    out: list[Message] = []
    for message in messages:
        if message.kind == "response":
            out.append(_assistant(message.parts))
        else:
            out += [_from_part(part) for part in message.parts]
    return out


def _assistant(parts: Sequence[Any]) -> Message:
    calls = [
        {
            "id": part.tool_call_id,
            "type": "function",
            "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
        }
        for part in parts
        if part.part_kind == "tool-call"
    ]
    text = "\n".join(part.content for part in parts if part.part_kind == "text")
    return {"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {})


def _from_part(part: Any) -> Message:
    if part.part_kind == "tool-return":
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}
    if part.part_kind == "system-prompt":
        return {"role": "system", "content": part.content}
    content = part.content
    if not isinstance(content, str):
        content = [
            {"type": "text", "text": one}
            if isinstance(one, str)
            else {"type": "image_url", "image_url": {"url": one.url}}
            for one in content
        ]
    return {"role": "user", "content": content}
