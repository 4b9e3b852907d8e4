"""Times of transcripts become Unix seconds that are finite, or nothing."""

from __future__ import annotations

from math import isfinite
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.importers.values import seconds


@pytest.mark.parametrize(
    ("given_time", "found"),
    [
        (1_700_000_000, 1_700_000_000.0),
        (1_700_000_000_500, 1_700_000_000.5),
        ("2026-05-01T00:00:00Z", 1_777_593_600.0),
        ("2026-05-01T00:00:00", 1_777_593_600.0),
        ("yesterday", None),
        (True, None),
        (None, None),
        (10**400, None),
        (float("nan"), None),
        (float("inf"), None),
    ],
)
def test_a_time_is_read_in_every_spelling(given_time: Any, found: float | None) -> None:
    assert seconds(given_time) == found


@given(st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers()) | st.datetimes())
def test_whatever_stands_for_a_time_gives_a_finite_number_or_none(value: Any) -> None:
    found = seconds(value)
    assert found is None or isfinite(found)
