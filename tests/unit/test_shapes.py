"""Shapes: what does not fit a table is named by its path, whatever the value; what is too deep is named and never gone
into."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.errors import WireError
from foldmark.wire.plain import DEEPEST, clean_value, input_of, is_deep, is_json, objects_in, parse_json
from foldmark.wire.shapes import Form, fits, misfits, misshapen, text_or
from foldmark.wire.strings import dirty_strings

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
BLOCK = {"type": str, "source": {"data": str}}


@pytest.mark.parametrize(
    ("value", "shape", "paths"),
    [
        ("x", str, []),
        (1, str, [""]),
        (None, str, [""]),
        ([], Mapping, [""]),
        ({}, {"a": str}, []),
        ({"a": None}, {"a": str}, []),
        ({"a": 1, "b": 2}, {"a": str}, [".a"]),
        ({"a": {"b": [1]}}, {"a": {"b": str}}, [".a.b"]),
        (["x", None, 1], [str], ["[1]", "[2]"]),
        ("xyz", [str], [""]),
        ({"x": 1}, [str], [""]),
        ([{"type": "t"}, {"source": []}, {"source": {"data": 1}}], [BLOCK], ["[1].source", "[2].source.data"]),
        ("x", text_or([BLOCK]), []),
        ([BLOCK], text_or([{}]), []),
        (1, text_or([BLOCK]), [""]),
    ],
)
def test_what_does_not_fit_is_named_by_its_path(value: Any, shape: Any, paths: list[str]) -> None:
    assert misfits(value, shape) == paths
    assert fits(value, shape) == (not paths)


@given(json_values)
def test_any_value_fits_a_shape_or_has_a_path(value: Any) -> None:
    form = Form(key="messages", head={"messages": list, "tools": [BLOCK]}, message={"content": text_or([BLOCK])})
    for payload in (value, {"messages": value}, {"messages": [value, {"content": value}]}, {"tools": value}):
        for path in misshapen(payload, form, 0):
            assert path or not isinstance(payload, dict)
        assert isinstance(misshapen(payload, form, 1), list)


def test_messages_in_front_of_the_start_are_not_looked_at() -> None:
    form = Form(key="messages", head={"messages": list}, message={"role": str})
    payload = {"messages": [1, {"role": 2}, {"role": "x"}, 3]}
    assert [misshapen(payload, form, start) for start in range(5)] == [
        ["messages[0]", "messages[1].role", "messages[3]"],
        ["messages[1].role", "messages[3]"],
        ["messages[3]"],
        ["messages[3]"],
        [],
    ]


# -- depth


def lists(levels: int) -> Any:
    value: Any = "\ud83d"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [0, 1, DEEPEST - 1, DEEPEST, DEEPEST + 1, 950, 2_000, 100_000])
def test_the_same_depth_is_too_much_for_all_that_goes_down(levels: int) -> None:
    text, value, is_taken = "[" * levels + "1" + "]" * levels, lists(levels), levels <= DEEPEST
    assert is_deep(value) == (not is_taken)
    assert is_json(text) == is_taken
    for work in (lambda: parse_json(text), lambda: clean_value(value)):
        try:
            work()
            went = True
        except (ValueError, WireError):
            went = False
        assert went == is_taken
    (place,) = dirty_strings(value, "x")
    assert place == ("x" + "[0]" * levels, "unencodable")


def test_a_shape_that_holds_itself_ends_where_a_value_is_too_deep() -> None:
    shape: dict[str, Any] = {"type": str}
    shape["items"] = shape
    value: dict[str, Any] = {}
    for _ in range(5_000):
        value = {"items": value}
    assert misfits(value, shape) == [".items" * DEEPEST]


def test_brackets_inside_words_are_no_depth() -> None:
    arguments = json.dumps({"text": "[{" * 5_000})
    assert input_of(arguments) == {"text": "[{" * 5_000}
    assert is_json(arguments)


@given(json_values)
def test_every_object_inside_a_value_is_found(value: Any) -> None:
    def count(one: Any) -> int:
        inside = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        return isinstance(one, dict) + sum(map(count, inside))

    assert len(list(objects_in(value))) == count(value)
