"""What counts as the same result of two runs."""

from __future__ import annotations

import pytest

from foldmark.cleanup.passes import steady


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("done in 0.51s", "done in 12.7s"),
        ("at 2026-05-01T10:00:01Z", "at 2026-06-11T23:59:59.120Z"),
        ("[10:00:01] up", "[11:30:09] up"),
        ("pid=812 started", "pid=99 started"),
        ("<obj at 0x7f6eb03813b0>", "<obj at 0x7f6eb0094f50>"),
        ("id 1b4e28ba-2fa1-11d2-883f-0016d3cca427", "id 6fa459ea-ee8a-3ca4-894e-db77e160355e"),
    ],
)
def test_times_durations_and_ids_make_no_difference(one: str, other: str) -> None:
    assert steady(one) == steady(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3 passed", "4 passed"),
        ("port 8080", "port 8081"),
        ("commit 1a2b3c4", "commit 1a2b3c5"),
        ("price 10.50", "price 10.60"),
        ("version 1.2.3", "version 1.2.4"),
        ("line 12", "line 13"),
    ],
)
def test_counts_ports_hashes_and_prices_do(one: str, other: str) -> None:
    assert steady(one) != steady(other)
