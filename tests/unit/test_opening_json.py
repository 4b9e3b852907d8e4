"""Queries of JSON bodies: what they answer, where they stop, what they refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bodies import body_of, span_of
from foldmark.errors import PolicyError
from foldmark.opening import LARGEST_JSON, query
from foldmark.redact import redactor

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
USERS = json.dumps(
    {"users": [{"id": n, "name": f"user {n}", "tags": ["a"] * (n % 3)} for n in range(500)], "total": 500}
)


def test_a_query_answers_with_the_value_and_says_what_it_is() -> None:
    found = query(body_of(USERS), "users[?id==`7`].name | [0]")
    assert (found.text, found.count, found.shown, found.next) == ('"user 7"', 1, 1, "")
    assert query(body_of(USERS), "total").text == "500"
    assert "500 objects with id, name, tags" in query(body_of(USERS), "users").what


def test_of_a_long_array_whole_elements_are_shown_and_the_next_query_is_named() -> None:
    found = query(body_of(USERS), "users[].id", limit=200)
    shown = [json.loads(line) for line in found.text.splitlines()]
    assert shown == list(range(len(shown)))
    assert (found.count, found.shown) == (500, len(shown))
    assert found.next == f"users[].id | [{len(shown)}:]"
    after = query(body_of(USERS), found.next, limit=200)
    assert json.loads(after.text.splitlines()[0]) == len(shown)
    assert after.next == f"users[].id | [{len(shown) + after.shown}:]"


@settings(max_examples=60, deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=30), st.integers(20, 400))
def test_asking_on_by_the_next_query_gives_every_element_once(values: list[Any], limit: int) -> None:
    body = body_of(json.dumps(values))
    shown: list[Any] = []
    expression = "@"
    while expression:
        found = query(body, expression, limit=limit)
        lines = found.text.split("\n") if found.shown else []
        for at, line in enumerate(lines):
            cut = "is cut" in found.note and at == 0
            shown.append(values[len(shown)] if cut else json.loads(line))
        expression = found.next
    assert shown == values


def test_json_lines_are_the_array_of_their_values_and_stray_lines_are_told() -> None:
    text = "".join(f'{{"n": {n}}}\n' for n in range(50))
    assert query(body_of(text), "[-1].n").text == "49"
    found = query(body_of("warning: slow\n" + text + "\n"), "length(@)")
    assert found.text == "50"
    assert "1 line(s) are no JSON" in found.note
    assert query(body_of(text, span="#L10-12"), "[].n").text.split() == ["9", "10", "11"]


def test_numbers_keep_their_value_however_large_and_halves_of_characters_are_read() -> None:
    assert query(body_of('{"id": 123456789012345678901234567890}'), "id").text == "123456789012345678901234567890"
    assert query(body_of('{"x": NaN, "y": 1}'), "y").text == "1"
    assert query(body_of('{"x": "\\ud800", "y": 1}'), "y").text == "1"
    assert query(body_of("\ufeff[1, 2]"), "[1]").text == "2"


def test_where_nothing_is_the_keys_that_are_there_are_told() -> None:
    found = query(body_of(USERS), "user")
    assert found.text == "null"
    assert "users (array of 500 objects" in found.note


def test_a_value_that_is_too_long_is_cut_and_said_to_be() -> None:
    found = query(body_of(json.dumps({"text": "x" * 50_000})), "@", limit=300)
    assert len(found.text) <= 301
    assert found.text.endswith("…")
    assert "cut" in found.note
    found = query(body_of(json.dumps([{"text": "x" * 50_000, "id": 5}])), "@", limit=300)
    assert "text (text of 50,000 characters), id (number)" in found.note


@pytest.mark.parametrize(
    ("text", "expression", "said"),
    [
        ("no json at all\nnor here\n", "@", "no JSON and no JSON lines"),
        ('{"a": [1, 2}', "@", "no JSON"),
        ("", "@", "no JSON"),
        ("[" * 100_000 + "]" * 100_000, "@", "nested too deeply|no JSON"),
        (USERS, "users[", "no JMESPath query"),
        (USERS, "", "1 to 500 characters"),
        (USERS, "x" * 501, "1 to 500 characters"),
        (USERS, "(" * 400, "no JMESPath query"),
        (USERS, "nosuch(@)", "fails on this document"),
        (USERS, "abs(users)", "fails on this document"),
        (USERS, "users[?id < name]", "fails on this document"),
    ],
)
def test_what_cannot_be_asked_is_a_sentence(text: str, expression: str, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        query(body_of(text), expression)


@pytest.mark.parametrize(
    "expression",
    [
        " | ".join(["[@, @]"] * 30),
        " | ".join(["to_string([@, @])"] * 20),
        " | ".join(["[@, @, @][]"] * 20),
        "map(&[@, @, @, @, @], [[@, @, @, @, @], [@, @, @, @, @]]) | [@, @, @, @, @]",
        "join(to_string(@), users[].name)",
        "{p: @}" + " | {p: @} | {p: p, q: p.p}" * 18,
        "to_string([" + ", ".join(["@"] * 90) + "])",
        "{" + ", ".join(f"k{n}: @" for n in range(40)) + "}",
    ],
)
def test_a_query_that_multiplies_its_input_is_refused(expression: str) -> None:
    with pytest.raises(PolicyError, match=r"repeats its input|fails on this document"):
        query(body_of(USERS), expression)


def test_a_query_that_picks_many_fields_is_none_that_multiplies() -> None:
    fields = ", ".join(f"k{n}: field_{n}" for n in range(20))
    assert query(body_of(USERS), f"users[].{{{fields}}} | [0]").text.startswith('{"k0": null')
    many = ", ".join(f"k{n}: tags[{n}].more[0].x" for n in range(20))
    assert query(body_of(USERS), f"users[].{{{many}}} | [0]").text.startswith('{"k0": null')
    assert query(body_of(USERS), "users[].[id, name, tags[0]]").text.splitlines()[3] == '[3, "user 3", null]'


def test_a_query_that_takes_too_long_is_stopped() -> None:
    with pytest.raises(PolicyError, match="took longer than 0 s"):
        query(body_of(USERS), "users[?contains(name, '7')]", seconds=0)


def test_a_body_that_is_too_large_is_refused_with_what_to_do() -> None:
    body = body_of(b'{"n": 1}\n' * (LARGEST_JSON // 9 + 10))
    with pytest.raises(PolicyError, match=r"16,777,216 at once.*#L1-20000"):
        query(body)
    named = body_of(b'{"n": 1}\n' * (LARGEST_JSON // 9 + 10), span="#L5-1000")
    assert query(named, "length(@)").text == "996"
    assert span_of(query(named).ref) == "#L5-1000"


def test_secrets_are_labels_also_where_only_the_name_of_a_field_tells() -> None:
    text = json.dumps({"db": {"password": "Tr0ub4dor-and-3"}, "note": "fine", "n": [{"api_key": "k9ZQ81mmA0xx77pL"}]})
    body = body_of(text, redact=redactor(b"k" * 32))
    for expression in ("@", "db.password", "db", "n[0].api_key", "values(db)", "to_string(@)"):
        found = query(body, expression).text
        assert "Tr0ub4dor" not in found
        assert "k9ZQ81" not in found
    assert query(body_of(text), "db.password").text == '"Tr0ub4dor-and-3"'


# -- what people write as they know it from other languages


@pytest.mark.parametrize(
    ("wrong", "write"),
    [
        ("users[?id > 490].name", "users[?id > `490`].name"),
        ("users[?id==-1.5]", "users[?id==`-1.5`]"),
        ("$.users[0]", "users[0]"),
        ("$", "@"),
        ("$..total", "total"),
        (".total", "total"),
        ("users[?id=`3`]", "users[?id==`3`]"),
        ("users[?id=3 and name='$ = 3 and 4']", "users[?id==`3` && name=='$ = 3 and 4']"),
        ("users[?id>3 or id<1]", "users[?id>`3` || id<`1`]"),
    ],
)
def test_a_query_in_the_manner_of_other_languages_is_refused_with_the_one_to_write(wrong: str, write: str) -> None:
    with pytest.raises(PolicyError) as refused:
        query(body_of(USERS), wrong)
    assert str(refused.value).endswith(f": write {write}")
    query(body_of(USERS), write)


def test_a_query_that_cannot_be_mended_says_what_is_open() -> None:
    with pytest.raises(PolicyError, match=r"A \( is not closed\."):
        query(body_of(USERS), "length(users[0]")
    with pytest.raises(PolicyError, match=r"A \[ is not closed\."):
        query(body_of(USERS), "users[?id==`1`")


def test_an_order_of_texts_is_refused_with_the_query_of_numbers() -> None:
    with pytest.raises(PolicyError, match=r"stand in backticks: users\[\?id > `490`\]"):
        query(body_of(USERS), "users[?id > '490']")


def test_an_unknown_function_is_refused_with_those_there_are() -> None:
    with pytest.raises(PolicyError, match=r"The functions are .*length, .*sort_by"):
        query(body_of(USERS), "count(users)")


def test_a_query_that_finds_nothing_says_what_a_double_quote_means() -> None:
    found = query(body_of(USERS), 'users[?name == "user 7"]')
    assert found.text == ""
    assert found.note.endswith("write users[?name == 'user 7']")
    assert query(body_of(USERS), "users[?name == 'nobody']").note == ""
    assert query(body_of(USERS), "users[?name == 'user 7']").note == ""


@given(st.text(alphabet="ab[]()?=<>$.'\"`| 19&*@", max_size=20))
def test_every_query_is_answered_or_refused(expression: str) -> None:
    said = ""
    try:
        said = query(body_of(USERS), expression).note
    except PolicyError as refused:
        said = str(refused)
    assert len(said) < 1_500
