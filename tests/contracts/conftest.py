"""The store of a contract test: each of them in turn, unless a file says otherwise; and two handles on one place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from places import SHARED, STORES, opened_again

from foldmark.store import Store


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made = STORES[request.param](tmp_path)
    yield made
    made.close()


@pytest.fixture(params=SHARED)
def place(request: pytest.FixtureRequest) -> str:
    """The name of a place that can be opened twice."""
    return str(request.param)


@pytest.fixture
def handles(place: str, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    """Two stores that are the same place, as two processes have them."""
    one, two = STORES[place](tmp_path), opened_again(place, tmp_path)
    yield one, two
    one.close()
    two.close()
