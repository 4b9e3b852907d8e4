"""OpenAI, and every server that speaks its embeddings, as an embedder. Knows nothing of keys and addresses: those
belong to the client, which is the caller's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foldmark.asking import is_async
from foldmark.embedding import Call, Embedder
from foldmark.errors import PolicyError

SIZES: Mapping[str, int] = {"text-embedding-3-small": 1_536, "text-embedding-3-large": 3_072}
"""Dimensions of models that are known by name."""
WEIGHT = 0.4
"""As measured with MiniLM: no endpoint was."""
MOST_TEXTS = 2_048
"""As many texts OpenAI takes in one request."""


def openai(
    client: Any, model: str, *, dimension: int | None = None, shorten: bool = False, weight: float = WEIGHT,
    batch: int = 64, timeout_seconds: float = 5.0, indexing_timeout_seconds: float = 60.0,
    before_query: str = "", before_text: str = "", id: str = "",
) -> Embedder:  # fmt: skip
    """An embeddings endpoint as an embedder; `client` is an `openai.OpenAI` (any object with `embeddings.create` will
    do). Texts, redacted as the policy says, and queries as they are asked go to that server.

    `dimension` is what the model gives (known for OpenAI's own by name); with `shorten` it is asked for. A search waits
    `timeout_seconds` for the vector of its query, then goes on by words; a batch of texts has
    `indexing_timeout_seconds`. The client's retries are off: what failed is tried again at the next call.
    `before_query` and `before_text` are put in front of what is asked and of what is searched, for models that want it.
    `id` is the model's name and dimension if nothing else is said: say another one when the model behind it changes.

    Raises PolicyError for an async client, a batch that is too large and a dimension that nobody knows.
    """
    if is_async(client.embeddings.create):
        raise PolicyError("An embedder takes a plain client: openai.OpenAI in place of AsyncOpenAI.")
    size = dimension or SIZES.get(model)
    if size is None:
        raise PolicyError(f"How many numbers {model} gives is not known: say dimension=….")
    if batch > MOST_TEXTS:
        raise PolicyError(f"batch cannot be {batch}: an endpoint takes at most {MOST_TEXTS:,} texts at once.")
    options = getattr(client, "with_options", None)
    asked: Any = options(max_retries=0) if callable(options) else client
    extra: dict[str, Any] = {"dimensions": size} if shorten else {}

    def called(before: str, seconds: float) -> Call:
        def call(texts: Sequence[str]) -> Sequence[Sequence[float]]:
            answer = asked.embeddings.create(
                model=model, input=[_sendable(before + text) for text in texts], encoding_format="float",
                timeout=seconds, **extra,
            )  # fmt: skip
            return [row.embedding for row in sorted(answer.data, key=lambda row: row.index)]

        return call

    return Embedder(
        id=id or f"{model}-{size}", call=called(before_text, indexing_timeout_seconds), dimension=size, weight=weight,
        batch=batch, timeout_seconds=timeout_seconds, ask=called(before_query, timeout_seconds),
    )  # fmt: skip


def _sendable(text: str) -> str:
    """The text without what UTF-8 has no form for; endpoints refuse an empty one."""
    return text.encode("utf-8", "replace").decode() or " "
