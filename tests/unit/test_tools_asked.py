"""Numbers and texts as models write them."""

from __future__ import annotations

import pytest

from foldmark.tools import asked


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
