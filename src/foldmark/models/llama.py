"""A local GGUF file as a model, by llama.cpp inside this process. Knows nothing of downloads and graphics cards."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

from foldmark.asking import UNKNOWN_SUMMARY_WINDOW, Ask, ModelInfo, Reply
from foldmark.errors import needs_extra
from foldmark.failures import MESSAGE_LIMIT, Failure, ModelFailed, failure_in
from foldmark.models.openai_chat import ChatForm, read_answer
from foldmark.wire.plain import as_mapping

BATCH = 256
"""Tokens of a prompt that are read in one go. Between two of them a call can be stopped, so a small number keeps a
timeout true on a slow machine; at 256 the reading is as fast as at llama.cpp's 2,048 on a processor."""
QUIET = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}
"""Waiting threads sleep. Without it they spin, which on a shared machine takes most of the processor from the work."""

Start = Callable[[], Any]


def gguf(
    path: str | Path,
    *,
    window: int = UNKNOWN_SUMMARY_WINDOW,
    threads: int | None = None,
    schema: bool = True,
    name: str | None = None,
    extra: Mapping[str, Any] | None = None,
    factor: float = ModelInfo().factor,
) -> LocalModel:
    """A GGUF file as a model; needs the extra `gguf`.

    It is loaded at the first call, and unloaded by `close()` or at the end of a `with`. `window` is the context that is
    held in memory for it, in its own tokens. `threads` is by default what llama.cpp takes. The answer is bound to the
    schema as it is, lengths included. `extra` are further fields of each request; the temperature is 0 if nothing else
    is said, because a summary should not differ from call to call.
    """
    form = ChatForm(
        name or Path(path).name,
        schema=schema,
        strict=False,
        output_field="max_tokens",
        effort=None,
        extra={"temperature": 0, **(extra or {})},
    )
    info = ModelInfo(name=form.model, window=window, schema=schema, factor=factor)
    return LocalModel(info, form, lambda: served(Path(path), window, threads))


class LocalModel:
    """A model inside this process. One call at a time; others wait for their turn, as long as they have time."""

    def __init__(self, info: ModelInfo, form: ChatForm, start: Start) -> None:
        self.info, self._form, self._start = info, form, start
        self._server: Any = None
        self._turn = threading.Lock()

    def __call__(self, ask: Ask) -> Reply:
        """Ask, and read the answer. Raises TimeoutError when it is not whole in time, ModelFailed when llama.cpp
        refuses, FileNotFoundError, and ImportError when xllamacpp is not installed."""
        body = self._form.body(ask)
        if not self._turn.acquire(timeout=ask.timeout_seconds):
            raise TimeoutError(f"another call kept {self.info.name} busy for {ask.timeout_seconds:g} s")
        try:
            if self._server is None:
                self._server = self._start()
            answer = _answer(self._server, body, ask.timeout_seconds)
        finally:
            self._turn.release()
        return read_answer({"model": self.info.name, **answer})

    def close(self) -> None:
        """Unload it, after the call that runs. The next call loads it again."""
        with self._turn:
            self._server = None  # llama.cpp stops its threads and frees the weights with the last reference

    def __enter__(self) -> LocalModel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"LocalModel({self.info.name!r}, window={self.info.window})"


def served(path: Path, window: int, threads: int | None) -> Any:
    """llama.cpp with the file loaded. Raises FileNotFoundError, ImportError, ModelFailed."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no model file {path}; give the path of a .gguf file.")
    for variable, value in QUIET.items():
        os.environ.setdefault(variable, value)  # read when the library is loaded, which is why it is imported here
    try:
        llama = import_module("xllamacpp")
    except ImportError as error:
        raise ImportError(needs_extra("A local model needs llama.cpp", "gguf")) from error
    options = llama.CommonParams()
    options.model.path = str(path)
    options.n_ctx, options.n_parallel, options.n_batch, options.warmup = window, 1, BATCH, False
    options.verbosity = -1
    # It listens on a port of this machine as well, which nobody here uses: a key that nobody has closes it.
    options.api_keys = [secrets.token_hex(16)]
    if threads:
        options.cpuparams.n_threads = options.cpuparams_batch.n_threads = threads
    try:
        return llama.Server(options)
    except RuntimeError as error:
        raise ModelFailed(Failure("missing_model", f"llama.cpp cannot load {path.name}: {error}")) from error


def _answer(server: Any, body: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
    """One chat completion, put together from its stream, because only a stream can be stopped in time."""
    stream = _Stream(time.monotonic() + timeout_seconds)
    streamed = {**body, "stream": True, "stream_options": {"include_usage": True}, "return_progress": True}
    try:
        server.handle_chat_completions(streamed, stream.take)
    except (ValueError, RuntimeError) as error:  # a schema or a template that it cannot work with
        raise ModelFailed(Failure("rejected", f"llama.cpp: {error}"[:MESSAGE_LIMIT])) from error
    return stream.whole(timeout_seconds)


class _Stream:
    """The pieces of one answer."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.late = False
        self.stopped: BaseException | None = None
        self.words: dict[str, str] = {"content": "", "reasoning_content": ""}
        self.calls: dict[int, dict[str, Any]] = {}
        self.finish: str | None = None
        self.usage: Any = None

    def take(self, piece: Any) -> bool:
        """Take a piece; True stops the stream. llama.cpp swallows what a callback raises, so it is kept for later."""
        try:
            for one in piece if isinstance(piece, list) else [piece]:
                self._add(as_mapping(one, "piece"))
        except BaseException as error:
            self.stopped = error
        self.late = time.monotonic() > self.deadline
        return self.late or self.stopped is not None

    def _add(self, piece: Mapping[str, Any]) -> None:
        if piece.get("error"):
            raise ModelFailed(failure_in(piece))
        self.usage = piece.get("usage") or self.usage
        for choice in piece.get("choices") or ():
            self.finish = choice.get("finish_reason") or self.finish
            delta = choice.get("delta") or {}
            for field in self.words:
                self.words[field] += delta.get(field) or ""
            for call in delta.get("tool_calls") or ():
                name = (call.get("function") or {}).get("name")
                known = self.calls.setdefault(call.get("index", 0), {"function": {"name": ""}})
                known["function"]["name"] = name or known["function"]["name"]

    def whole(self, timeout_seconds: float) -> dict[str, Any]:
        """The answer as a chat completion. Raises TimeoutError, and what stopped the stream."""
        if self.stopped is not None:
            raise self.stopped
        if self.late and self.finish is None:
            raise TimeoutError(f"no whole answer within {timeout_seconds:g} s")
        message = {"role": "assistant", **self.words, "tool_calls": list(self.calls.values())}
        return {"usage": self.usage, "choices": [{"message": message, "finish_reason": self.finish}]}
