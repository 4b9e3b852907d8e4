"""The summary model that a command names, as `openai:NAME`, `anthropic:NAME` or `gguf:FILE`.

Knows nothing of sessions.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from foldmark import models
from foldmark.cli.clients import client
from foldmark.errors import PolicyError
from foldmark.summarizer import Summarizer


def summarizer_of(text: str, window: int | None = None) -> Summarizer | None:
    """The summarizer of an option, None for an empty one. `window` is the context window of its models.

    Raises PolicyError for an unknown form, a package that is not installed, a missing key or file, a window of nobody.
    """
    if window is not None and not text:
        raise PolicyError("--summary-window is of a summary model: name one with --summarizer.")
    names = [name.strip() for name in text.split(",") if name.strip()]
    return Summarizer(models=tuple(_model(name, window) for name in names)) if names else None


def _model(name: str, window: int | None) -> Any:
    kind, _, which = name.partition(":")
    if kind not in _MAKERS or not which:
        raise PolicyError(f"--summarizer {name!r} is not known; it takes {', '.join(f'{one}:…' for one in _MAKERS)}.")
    return _MAKERS[kind](which, {"window": window} if window else {})


def _openai(which: str, options: dict[str, Any]) -> Any:
    return models.openai(client("openai", "OpenAI"), which, **options)


def _anthropic(which: str, options: dict[str, Any]) -> Any:
    return models.anthropic(client("anthropic", "Anthropic"), which, **options)


def _gguf(which: str, options: dict[str, Any]) -> Any:
    if not Path(which).is_file():
        raise PolicyError(f"--summarizer gguf:{which}: there is no such file.")
    return models.gguf(which, **options)


_MAKERS: dict[str, Callable[[str, dict[str, Any]], Any]] = {"openai": _openai, "anthropic": _anthropic, "gguf": _gguf}
