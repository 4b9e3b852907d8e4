"""A function or client as a model: the call itself, waiting or awaited. Knows nothing of what is sent and read."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal

from foldmark.asking import UNKNOWN_SUMMARY_WINDOW, Ask, ModelInfo, Reply, as_reply, is_async
from foldmark.errors import PolicyError, WireError
from foldmark.models.windows import sizes_of

Call = Callable[[Ask], Any]
Read = Callable[[Any], Reply]


class SyncModel:
    """A model whose call waits. It has the time that `Ask.timeout_seconds` gives; how that is counted is up to the call
    (an HTTP client counts from byte to byte)."""

    def __init__(self, info: ModelInfo, call: Call, read: Read) -> None:
        self.info, self._call, self._read = info, call, read

    def __call__(self, ask: Ask) -> Reply:
        """Ask, and read the answer. Raises what the call raises."""
        return self._read(self._call(ask))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.info.name!r}, window={self.info.window})"


class AsyncModel:
    """A model whose call is awaited. The whole answer must be there within `Ask.timeout_seconds`."""

    def __init__(self, info: ModelInfo, call: Call, read: Read) -> None:
        self.info, self._call, self._read = info, call, read

    async def __call__(self, ask: Ask) -> Reply:
        """Ask, and read the answer. Raises TimeoutError, and what the call raises."""
        try:
            async with asyncio.timeout(ask.timeout_seconds) as limit:
                answer = await self._call(ask)
        except TimeoutError as error:
            if limit.expired():
                raise TimeoutError(f"no whole answer within {ask.timeout_seconds:g} s") from error
            raise
        return self._read(answer)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.info.name!r}, window={self.info.window})"


def model_of(info: ModelInfo, called: Callable[..., Any], call: Call, read: Read) -> SyncModel | AsyncModel:
    """The model that `called` makes, when `call` calls it: awaited when it is a coroutine function."""
    return (AsyncModel if is_async(called) else SyncModel)(info, call, read)


def described(model: str, window: int | None, otherwise: int, *, schema: bool, factor: float) -> ModelInfo:
    """What is known of a hosted model: its window as the caller says, else by its name, else `otherwise`. Raises
    PolicyError for a window that is none."""
    if window is not None and (isinstance(window, bool) or not isinstance(window, int) or window < 1):
        raise PolicyError(
            f"window of {model} is {window!r}; it takes a whole number of tokens, or None: what is known."
        )
    known = sizes_of(model)
    size = window if window is not None else known.window if known else otherwise
    return ModelInfo(name=model, window=size, schema=schema, factor=factor, output=known.output if known else 0)


def takes(called: Callable[..., Any], name: str) -> bool:
    """Whether a function has a parameter of that name, or takes any."""
    parameters = inspect.signature(called).parameters
    return name in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())


def without_retries(client: Any) -> Any:
    """The client with its own retries off. They would spend the time and the money of the next model in the chain, and
    hide what went wrong. An object that only has the shape of a client stays as it is."""
    options = getattr(client, "with_options", None)
    return options(max_retries=0) if callable(options) else client


def function(
    called: Callable[..., Any],
    *,
    gets: Literal["ask", "prompt"] = "ask",
    name: str | None = None,
    window: int = UNKNOWN_SUMMARY_WINDOW,
    schema: bool = False,
    factor: float = ModelInfo().factor,
) -> SyncModel | AsyncModel:
    """Any function as a model. It gets the whole `Ask`, or with `gets="prompt"` one plain text, and returns text or a
    `Reply`. `window` is what its model takes, in that model's tokens; say `schema=True` when it obeys `Ask.schema`;
    `factor` is how many of its tokens one of ours (o200k) takes at most. An `async def` gives an async model."""
    info = ModelInfo(
        name=name or str(getattr(called, "__name__", type(called).__name__)),
        window=window,
        schema=schema,
        factor=factor,
    )
    return model_of(info, called, called if gets == "ask" else lambda ask: called(_prompt(ask)), as_reply)


def _prompt(ask: Ask) -> str:
    if ask.mode == "fork":
        raise WireError("mode", "a fork is a request body, and this function takes plain text; ask it standalone.")
    return ask.prompt


def split(body: Mapping[str, Any], called: Callable[..., Any]) -> dict[str, Any]:
    """The fields of a request body as arguments of an SDK's method: those that it has no parameter for go into its
    `extra_body`, so that they reach the wire all the same."""
    out: dict[str, Any] = {}
    extra: dict[str, Any] = dict(body.get("extra_body") or {})
    for field, value in body.items():
        if field == "extra_body":
            continue
        if takes(called, field):
            out[field] = value
        else:
            extra[field] = value
    return {**out, "extra_body": extra} if extra else out
