"""The summary model that a command names, as `openai:NAME`, `anthropic:NAME` or `gguf:FILE`. Knows nothing of sessions.

Keys and addresses come from the environment, as the SDKs read them (OPENAI_API_KEY, OPENAI_BASE_URL,
ANTHROPIC_API_KEY).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from foldmark import models
from foldmark.errors import PolicyError, needs_extra
from foldmark.summarizer import Summarizer

HELP = "Who writes the narrative: openai:NAME, anthropic:NAME or gguf:FILE; several with commas are a chain."


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


def client(package: str, name: str, option: str = "--summarizer") -> Any:
    """A client as its environment variables say. Raises PolicyError, which names the option that wants it."""
    try:
        module = import_module(package)
    except ImportError as error:
        raise PolicyError(needs_extra(f"{option} {package}:… needs {package}'s SDK", package)) from error
    try:
        return getattr(module, name)()
    except Exception as error:
        raise PolicyError(f"{option} {package}:… cannot be used: {str(error).splitlines()[0][:200]}") from error


_MAKERS: dict[str, Callable[[str, dict[str, Any]], Any]] = {"openai": _openai, "anthropic": _anthropic, "gguf": _gguf}
