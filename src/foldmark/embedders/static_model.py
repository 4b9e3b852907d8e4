"""A small static model (one vector a token, 64 dimensions) by the package tokenlearn-static-model. Knows nothing of
what it is good for.

Measured: it finds less than words alone do and, added to them, does not help (docs/results.md). So its weight is 0, and
search does not use it unless you say otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from foldmark.embedding import Embedder
from foldmark.errors import needs_extra

ID = "tokenlearn-static-64"
DIMENSION = 64
WEIGHT = 0.0


def static(*, weight: float = WEIGHT) -> Embedder:
    """The static model as an embedder; needs the extra `static`. `weight` is 0 by default: measure on your
    own questions before you raise it. Raises ImportError."""
    if find_spec("static_model") is None:
        raise ImportError(needs_extra("The static model is not installed", "static"))
    return Embedder(id=ID, call=_embed, dimension=DIMENSION, weight=weight, batch=256)


def _embed(texts: Sequence[str]) -> Sequence[Sequence[float]]:
    model: Any = import_module("static_model")
    found: Sequence[Sequence[float]] = model.get_embeddings(
        [text.encode("utf-8", "replace").decode() for text in texts]
    )
    return found
