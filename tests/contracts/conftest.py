"""The store of a contract test: each of them in turn, unless a file says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from places import STORES

from foldmark.store import Store


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made = STORES[request.param](tmp_path)
    yield made
    made.close()
