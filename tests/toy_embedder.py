"""An embedder for tests: every word is a direction of its own, words of one meaning share it. No model, no clock."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b

from foldmark.embedding import Embedder

SIZE = 64
MEANINGS = {"car": "vehicle", "lorry": "vehicle", "truck": "vehicle", "physician": "doctor", "medic": "doctor"}


def toy(id: str = "toy", size: int = SIZE, weight: float = 0.5, batch: int = 4) -> Embedder:
    """The embedder."""
    return Embedder(id=id, call=lambda texts: [numbers(text, size) for text in texts], dimension=size, weight=weight,
                    batch=batch)  # fmt: skip


def numbers(text: str, size: int = SIZE) -> Sequence[float]:
    """How often each direction is named."""
    out = [0.0] * size
    for word in re.findall(r"\w+", text.lower()):
        name = MEANINGS.get(word, word)
        out[int.from_bytes(blake2b(name.encode("utf-8", "replace"), digest_size=4).digest()) % size] += 1.0
    return out
