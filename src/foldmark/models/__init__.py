"""Summary models ready to use. Knows nothing of sessions, of when a model is asked, or of what its answer is good for.

    models.function(fn)             any function of yours
    models.openai(client, "…")      OpenAI and every server that speaks its chat completions, by the official SDK
    models.anthropic(client, "…")   Anthropic, by its SDK
    models.gguf("model.gguf")       a local model inside this process, by llama.cpp: the extra `gguf`

Each is a callable that takes an `Ask` and returns a `Reply`, with what is known of it in `.info`. A client or function
that is async gives an async model, for `AsyncSession`. The client is yours: keys, addresses and proxies are set there;
only its retries are off, because a failed call goes to the next model of the chain instead (`foldmark.failures`).
"""

from __future__ import annotations

from foldmark.models.anthropic_messages import anthropic
from foldmark.models.calling import AsyncModel, SyncModel, function
from foldmark.models.llama import LocalModel, gguf
from foldmark.models.openai_chat import openai

__all__ = ["AsyncModel", "LocalModel", "SyncModel", "anthropic", "function", "gguf", "openai"]
