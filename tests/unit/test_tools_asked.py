"""Dates, numbers and texts as models write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from foldmark.tools import asked

INSTANT = 1e-6


@pytest.mark.parametrize(
    ("value", "first", "after"),
    [
        ("2026", (2026, 1, 1), (2027, 1, 1)),
        ("2026-03", (2026, 3, 1), (2026, 4, 1)),
        ("２０２６-０３", (2026, 3, 1), (2026, 4, 1)),
        ("2025-12", (2025, 12, 1), (2026, 1, 1)),
        ("2024-02", (2024, 2, 1), (2024, 3, 1)),
        ("2026-03-01", (2026, 3, 1), (2026, 3, 2)),
        ("20260301", (2026, 3, 1), (2026, 3, 2)),
        (" 2026-03-01 ", (2026, 3, 1), (2026, 3, 2)),
        ("2026-03-01T14", (2026, 3, 1, 14), (2026, 3, 1, 15)),
        ("2026-03-01T14:30", (2026, 3, 1, 14, 30), (2026, 3, 1, 14, 31)),
        ("2026-03-01 14:30", (2026, 3, 1, 14, 30), (2026, 3, 1, 14, 31)),
        ("2026-03-01T14:30Z", (2026, 3, 1, 14, 30), (2026, 3, 1, 14, 31)),
        ("2026-03-01T14:30+02:00", (2026, 3, 1, 12, 30), (2026, 3, 1, 12, 31)),
        ("2026-03-01T14:30-0530", (2026, 3, 1, 20), (2026, 3, 1, 20, 1)),
    ],
)
def test_a_date_or_time_lasts_as_long_as_it_is_exact(
    value: str, first: tuple[int, ...], after: tuple[int, ...]
) -> None:
    begin, end = asked.moment({"at": value}, "at"), asked.moment({"at": value}, "at", end=True)
    assert begin == datetime(*first, tzinfo=UTC).timestamp()
    assert end == pytest.approx(datetime(*after, tzinfo=UTC).timestamp() - INSTANT, abs=INSTANT)
    assert end < datetime(*after, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("value", ["2026-03-01T14:30:05", "2026-03-01T14:30:05.250+00:00", "2026-03-01 14:30:05Z"])
def test_a_second_is_a_moment(value: str) -> None:
    assert asked.moment({"at": value}, "at") == asked.moment({"at": value}, "at", end=True)


@pytest.mark.parametrize(
    "value",
    ["yesterday", "2026-13", "2026-02-30", "0000", "9999-12", "12:30", "1772442000", "x" * 9_000],
)
def test_what_is_no_date_is_told(value: str) -> None:
    with pytest.raises(asked.Unclear, match="at takes a date or time such as 2026-03-01"):
        asked.moment({"at": value}, "at", end=True)


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3), (3.9, 3), ("4", 4), (" -7 ", 1), (0, 1), (10**30, 20), (float("inf"), 20), ("9" * 18, 20)],
)
def test_a_number_is_cut_to_what_is_allowed(value: object, number: int) -> None:
    assert asked.number({"n": value}, "n", 8, 1, 20) == number


def test_null_is_not_given_and_a_long_text_is_cut() -> None:
    assert asked.read({"a": None, "b": "x"}, ["a", "b"]) == {"b": "x"}
    assert asked.text({"a": " " + "x" * 9_000}, "a") == "x" * (asked.WORDS - 1)
    assert asked.texts({"a": ["x", " ", "y"]}, "a") == ("x", "y")
    assert len(asked.texts({"a": ["x"] * 10_000}, "a")) == 20
