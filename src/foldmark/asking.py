"""A call of a summary model as values: what is asked, what came back, what a model is. Knows nothing of when or why.

A model is any callable that takes an `Ask` and returns a `Reply` or plain text; an `async def` one is for
`AsyncSession`. What is known of it stands in its attribute `info` (a `ModelInfo`); without one it is taken for a
small model that writes plain text.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Awaitable, Callable, Mapping
from math import isfinite
from typing import Any, Literal, Protocol

import msgspec

from foldmark.errors import PolicyError, WireError
from foldmark.events import Event, Usage
from foldmark.wire import by_name

Mode = Literal["standalone", "fork"]
Finish = Literal["stop", "length", "refusal", "tool_calls", "unknown"]

UNKNOWN_SUMMARY_WINDOW = 8_192
"""Window of a summary model that nobody described: the smallest in use, so that a request never overflows it. It makes
a long past many small calls, one after the other: say the true window where you know it."""


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a model. `window` is its context window in tokens, `schema` says whether it can be bound to a
    JSON schema, `factor` how many of its tokens one of ours (o200k) takes at most, `output` how many tokens an answer
    has at most (0: not known). Raises PolicyError for what cannot be true of a model."""

    name: str = "model"
    window: int = UNKNOWN_SUMMARY_WINDOW
    schema: bool = False
    factor: float = 1.15
    output: int = 0

    def __post_init__(self) -> None:
        _need("name", self.name, _is_name(self.name), "text that can be printed")
        _need("window", self.window, _is_whole(self.window) and self.window > 0, "a whole number of tokens above 0")
        _need("schema", self.schema, isinstance(self.schema, bool), "True or False")
        _need("factor", self.factor, _is_finite(self.factor) and self.factor > 0, "a number above 0")
        _need("output", self.output, _is_whole(self.output) and self.output >= 0, "a whole number of tokens, 0 or more")


def _need(option: str, value: object, is_right: bool, takes: str) -> None:
    if not is_right:
        raise PolicyError(f"ModelInfo.{option} is {ascii(value)[:80]}; it takes {takes}.")


def _is_name(value: object) -> bool:
    """A name stands in reports and is stored: no lone surrogates, no control characters."""
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a model.

    `standalone`: `system` and `messages` (plain text in role user, no tool blocks). `fork`: `body` is a clone of the
    parent request for the wire `wire` with one instruction behind it; send it as it is. `tokens` is what the prompt
    costs by our count, `part` of `parts` says which piece of a long past it is. `schema` is the JSON schema that the
    answer should obey (None: plain text). `model` is who should be called.
    """

    model: Any
    system: str = ""
    messages: tuple[Event, ...] = ()
    schema: dict[str, Any] | None = None
    max_output: int = 2_000
    timeout_seconds: float = 120.0
    mode: Mode = "standalone"
    wire: str = "openai-chat"
    body: dict[str, Any] | None = None
    tokens: int = 0
    part: int = 1
    parts: int = 1

    @property
    def prompt(self) -> str:
        """System text and messages as one plain text, for functions that take a string."""
        return "\n\n".join(text for text in (self.system, *(event.text for event in self.messages)) if text)

    def payload(self, wire: Any = None, *, model: str | None = None) -> dict[str, Any]:
        """The request as the provider's API takes it, validated. A fork is its own body, whatever `wire` says.

        Raises WireError with the path and the reason.
        """
        if self.body is not None:
            return copy.deepcopy(self.body)
        used = wire if wire is not None else by_name(self.wire)
        out: dict[str, Any] = used.write(self.system, (), self.messages, model=model, max_output=self.max_output)
        if problems := used.validate(out):
            raise WireError(problems[0].path, f"{problems[0].message} ({problems[0].code}, in a summary request)")
        return out


class Chore(msgspec.Struct, frozen=True):
    """Work of a step that takes long and touches nothing of the session: the driver does it without the lock, and hands
    back what came of it. (To check a long answer against a long past takes seconds.)"""

    run: Callable[[], Any]


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What a model answered. `finish` is why it stopped; `calls` are names of tools it tried to call; `seconds` how
    long it took (filled in by the driver when it is 0)."""

    text: str = ""
    usage: Usage = Usage()
    finish: Finish = "stop"
    calls: tuple[str, ...] = ()
    reasoning_tokens: int = 0
    model: str = ""
    seconds: float = 0.0


class Model(Protocol):
    """A summary model: any callable of this shape."""

    def __call__(self, ask: Ask) -> Reply | str | Awaitable[Reply | str]: ...


def info_of(model: Any) -> ModelInfo:
    """What is known of a model; its function's name where nothing is said."""
    found = getattr(model, "info", None)
    if isinstance(found, ModelInfo):
        return found
    return ModelInfo(name=str(getattr(model, "__name__", type(model).__name__)))


def is_async(called: Any) -> bool:
    """Whether calling it gives something to await. Sees through wrappers, partials and callable objects."""
    inner = inspect.unwrap(called)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(getattr(inner, "__call__", None))  # noqa: B004


def as_reply(answer: Any) -> Reply:
    """A model's answer as a Reply: text and mappings (`{"text": …}`) are taken too. Raises TypeError."""
    if isinstance(answer, Reply):
        return answer
    if isinstance(answer, str):
        return Reply(text=answer)
    if isinstance(answer, Mapping):
        return msgspec.convert(answer, Reply)
    raise TypeError(
        f"A summary model returned {type(answer).__name__}; return text or foldmark.Reply. (An async model belongs to "
        "foldmark.aio.AsyncSession.)"
    )
