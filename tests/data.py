"""Finds the shared evaluation data beside the checkout; tests that need it skip with a clear word without it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_ROOT = Path(os.environ.get("FOLDMARK_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def shared(path: str) -> Path:
    """The file or folder under the shared data, or a skip that says what is missing."""
    found = _ROOT / path
    if not found.exists():
        pytest.skip(f"shared data {path!r} is not here (set FOLDMARK_SHARED to its folder)")
    return found


def has_shared(path: str) -> bool:
    return (_ROOT / path).exists()
