"""Embedders ready to use. Knows nothing of sessions, of when something is embedded, or of how vectors are compared.

    embedders.minilm(…)             all-MiniLM-L6-v2 with int8 weights in this process: the extra `minilm`
    embedders.static()              a small model without a runtime: the extra `static`
    embedders.openai(client, "…")   OpenAI and every server that speaks its embeddings, by the official SDK

Or any function of yours: `foldmark.embedding.Embedder(id="mine-1", call=function, dimension=384)`.
"""

from __future__ import annotations

from foldmark.embedders.minilm import minilm
from foldmark.embedders.openai_embeddings import openai
from foldmark.embedders.static_model import static

__all__ = ["minilm", "openai", "static"]
