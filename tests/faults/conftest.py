"""Both stores for the fault tests that care where things are kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foldmark import MemoryStore, SQLiteStore


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    made: Any = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "agent.db")
    yield made
    made.close()
