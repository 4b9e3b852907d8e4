"""The client of a provider that an option names. Knows nothing of what is asked of it.

Keys and addresses come from the environment, as the SDKs read them (OPENAI_API_KEY, OPENAI_BASE_URL,
ANTHROPIC_API_KEY).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from foldmark.errors import PolicyError, needs_extra


def client(package: str, name: str, option: str = "--summarizer") -> Any:
    """A client as its environment variables say. Raises PolicyError, which names the option that wants it."""
    try:
        module = import_module(package)
    except ImportError as error:
        raise PolicyError(needs_extra(f"{option} {package}:… needs {package}'s SDK", package)) from error
    try:
        return getattr(module, name)()
    except Exception as error:
        said = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise PolicyError(f"{option} {package}:… cannot be used: {said}") from error
