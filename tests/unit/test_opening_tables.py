"""Samples of tables: columns, counts, the rows that are shown."""

from __future__ import annotations

import csv
import io
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bodies import body_of, span_of
from foldmark.errors import PolicyError
from foldmark.opening import Sample, opened, sheets, stat, table, told
from foldmark.redact import redactor


def rows_of(count: int, delimiter: str = ",") -> str:
    lines = [delimiter.join(("id", "city", "status"))]
    lines += [delimiter.join((str(n), f"Town {n}", "failed" if n % 10 == 0 else "ok")) for n in range(1, count + 1)]
    return "\n".join(lines) + "\n"


def ids(found: Sample) -> list[str]:
    return [row.cells[0] for row in found.rows]


MARKDOWN = "| id | city |\n|----|------|\n" + "".join(f"| {n} | Town {n} |\n" for n in range(1, 41))
BOX = (
    "+----+---------+\n| id | city    |\n+----+---------+\n"
    + "".join(f"| {n:<2} | Town {n:<2} |\n" for n in range(1, 41))
    + "+----+---------+\n"
)
ALIGNED = "ID   CITY      STATUS\n" + "".join(f"{n:<4} Town{n:<5} ok\n" for n in range(1, 41))
OBJECTS = json.dumps([{"id": n, "city": f"Town {n}"} for n in range(1, 41)])
INSIDE = json.dumps({"page": 1, "few": [{"x": 1}], "items": [{"id": n, "city": f"Town {n}"} for n in range(1, 41)]})
LINES = "".join(json.dumps({"id": n, "city": f"Town {n}"}) + "\n" for n in range(1, 41))


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (rows_of(40), "CSV"),
        (rows_of(40, "\t"), "TSV"),
        (rows_of(40, ";"), "CSV with semicolons"),
        (rows_of(40, "|"), "table with bars"),
        (MARKDOWN, "Markdown table"),
        (BOX, "table in a box"),
        (ALIGNED, "table in columns"),
        (OBJECTS, "JSON list of objects"),
        (INSIDE, 'JSON list of objects in "items"'),
        (LINES, "JSON lines"),
    ],
)
def test_every_way_of_writing_a_table_gives_its_columns_its_count_and_rows(text: str, form: str) -> None:
    found = table(body_of(text), rows=5)
    assert (found.form, found.total, found.searched) == (form, 40, 40)
    assert [name.lower() for name in found.columns[:2]] == ["id", "city"]
    assert ids(found) == ["1", "10", "20", "30", "40"]
    assert found.told[0].lower() == "id integer 1…40"


@pytest.mark.parametrize("text", [rows_of(40), MARKDOWN, ALIGNED, LINES])
def test_the_line_of_a_row_is_the_line_that_holds_it(text: str) -> None:
    for row in table(body_of(text), rows=7).rows:
        number = int(span_of(row.ref).removeprefix("#L").partition("-")[0])
        assert f"Town{row.cells[0]}" in text.split("\n")[number - 1].replace(" ", "")


def test_the_first_and_the_last_rows_and_where_the_others_are() -> None:
    body = body_of(rows_of(100))
    first = table(body, rows=3, take="first")
    assert (ids(first), span_of(first.next)) == (["1", "2", "3"], "#L5-101")
    last = table(body, rows=3, take="last")
    assert (ids(last), span_of(last.next)) == (["98", "99", "100"], "#L1-98")
    assert table(body, rows=100).next == ""
    assert ids(table(body, rows=1)) == ["1"]


def test_lines_of_a_table_have_its_header_wherever_they_stand() -> None:
    text = rows_of(100)
    after = table(body_of(text, span=span_of(table(body_of(text), rows=3, take="first").next)), rows=3, take="first")
    assert (ids(after), after.columns) == (["4", "5", "6"], ("id", "city", "status"))
    inside = table(body_of(MARKDOWN, span="#L10-12"), rows=9)
    assert ids(inside) == ["8", "9", "10"]


def test_a_table_in_the_middle_of_a_text_is_read_by_its_lines() -> None:
    text = "Here is what we found.\n\nIt is long.\n" + MARKDOWN + "\nThat was it.\n" * 60
    with pytest.raises(PolicyError, match="Name the lines that are one"):
        table(body_of(text))
    assert table(body_of(text, span="#L4-45")).total == 40


def test_conditions_choose_rows_and_the_counts_say_of_how_many() -> None:
    body = body_of(rows_of(100))
    found = table(body, where=["status=FAILED", "id > 50"])
    assert (ids(found), found.total, found.searched) == (["60", "70", "80", "90", "100"], 5, 100)
    assert table(body, where=["city~town 9"]).total == 11
    assert table(body, where=["status!=ok"]).total == 10
    assert table(body, where=["id<=9", "id>=9.0"]).total == 1
    assert table(body, where=["id=07"]).total == 1
    nothing = table(body, where=["city=Nowhere"])
    assert (nothing.rows, nothing.total, nothing.next) == ((), 0, "")


def test_conditions_see_cells_and_not_how_they_are_written() -> None:
    text = 'id,says\n1,"a ""quoted"" word"\n2,"line\nend"\n3,STRASSE\n4,Straße\n5,"two, three"\n'
    for condition, expected in (
        ('says~"quoted"', ["1"]), ('says=a "quoted" word', ["1"]), ("says~line\nend", ["2"]),
        ("says=straße", ["3", "4"]),
        ("says=two, three", ["5"]), ("says~e", ["1", "2", "3", "4", "5"]), ("says=2", []),
    ):  # fmt: skip
        assert ids(table(body_of(text), where=[condition])) == expected, condition


def test_columns_may_be_chosen_by_name_or_number() -> None:
    found = table(body_of(rows_of(9)), columns=["Status", "1"], rows=1)
    assert (found.columns, found.rows[0].cells) == (("status", "id"), ("ok", "1"))
    assert found.told[0].startswith("status text")
    assert found.told[1].startswith("id integer")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"columns": ["town"]}, "no column 'town'; there are: id, city, status"),
        ({"where": ["town=1"]}, "no column 'town'"),
        ({"where": ["nonsense"]}, "is no condition"),
        ({"where": [""]}, "is no condition"),
        ({"columns": ["4"]}, "no column '4'"),
    ],
)
def test_a_column_or_condition_that_makes_no_sense_is_a_sentence(options: dict[str, Any], said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        table(body_of(rows_of(9)), **options)


@pytest.mark.parametrize("text", ["words and words\n" * 9, "", "{}", "[1, 2, 3]", '{"a": 1}', "one,line"])
def test_what_is_no_table_is_said_to_be_none(text: str) -> None:
    with pytest.raises(PolicyError, match="no table that can be read"):
        table(body_of(text))


CELLS = st.text(alphabet='ab ,"\n;|é漢', min_size=1, max_size=12).filter(lambda cell: cell.strip(' "\n') != "")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=3, max_size=30), st.integers(1, 40))
def test_quoted_cells_with_line_ends_are_read_as_the_csv_module_reads_them(
    rows: list[tuple[str, str]], span: int
) -> None:
    """However the body is cut into stretches."""
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([("first", "second"), *rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opened, "STRETCH_BYTES", span)
        found = table(body_of(written.getvalue()), rows=40)
    assert found.total == len(rows)
    assert [row.cells for row in found.rows] == [tuple(" ".join(cell.split()) for cell in row) for row in rows]
    for row, (first, _) in zip(found.rows, rows, strict=True):
        number = int(span_of(row.ref).removeprefix("#L").partition("-")[0])
        begun = '"' + first.replace('"', '""').partition("\n")[0]
        assert written.getvalue().split("\n")[number - 1].startswith(begun)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3_000), st.integers(1, 40))
def test_a_spread_has_both_ends_and_is_even(count: int, wanted: int) -> None:
    found = table(body_of(rows_of(count) if count > 2 else rows_of(3)), rows=wanted, limit=100_000)
    total = max(count, 3)
    numbers = [int(cell) for cell in ids(found)]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 1
    assert len(numbers) == min(wanted, total)
    if wanted > 1:
        assert numbers[-1] == total
        gaps = [after - before for before, after in pairwise(numbers)]
        assert max(gaps) <= 2 * max(1, total // (wanted - 1)) + 1


def test_a_large_table_is_counted_whole_and_says_what_its_columns_are_told_by() -> None:
    text = rows_of(60_000)
    found = table(body_of(text), rows=3, seconds=600)
    assert (found.total, ids(found)[-1]) == (60_000, "60000")
    assert "by the first 5,000 rows" in stat(body_of(text)).what


@pytest.mark.parametrize("place", [10, 30_000])
def test_a_stray_quote_swallows_no_more_than_its_line(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "LONGEST_RECORD", 20_000)
    monkeypatch.setattr(opened, "STRETCH_BYTES", 8_192)
    lines = rows_of(60_000).split("\n")
    lines[place] = f'{place},"Town {place},ok'
    found = table(body_of("\n".join(lines)), rows=60, seconds=600, where=[f"id>={place - 2}", f"id<={place + 2}"])
    assert found.searched == 60_000
    assert ids(found) == [str(number) for number in range(place - 2, place + 3)]
    assert [span_of(row.ref) for row in found.rows] == [f"#L{n + 1}-{n + 1}" for n in range(place - 2, place + 3)]


def test_a_line_without_end_is_cut_and_memory_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "LONGEST_RECORD", 20_000)
    monkeypatch.setattr(opened, "STRETCH_BYTES", 8_192)
    text = rows_of(2_000) + '9,"' + "x" * 100_000 + "\n" + "2001,Town,ok\n"
    found = table(body_of(text), rows=3, take="last")
    assert ids(found)[-1] == "2001"
    assert span_of(found.rows[-1].ref) == "#L2003-2003"


def test_time_that_runs_out_is_said_and_where_to_go_on() -> None:
    found = table(body_of(rows_of(5_000)), seconds=0)
    assert "Time ran out" in found.note
    assert found.searched < 5_000
    assert span_of(found.next) == f"#L{found.searched + 1}-5001"


def test_rows_that_are_too_wide_are_cut_and_fewer_are_shown() -> None:
    text = "id,text\n" + "".join(f"{n},{'x' * 900}\n" for n in range(100))
    found = table(body_of(text), rows=100, limit=2_000)
    assert 0 < len(found.rows) < 12
    assert all(len(cell) <= 201 for row in found.rows for cell in row.cells)
    assert "Fewer rows" in found.note
    assert ids(found)[0] == "0"
    assert ids(found)[-1] == "99"


def test_cells_under_the_name_of_a_secret_are_labels_where_that_is_asked_for() -> None:
    text = "id,password,city\n" + "".join(f"{n},Tr0ub4dor{n}x,Town\n" for n in range(9))
    shown = told(table(body_of(text, redact=redactor(b"k" * 32)))).text
    assert "Tr0ub4dor" not in shown
    assert "[secret:" in shown
    assert "Tr0ub4dor1x" in told(table(body_of(text))).text


# -- conditions that compare nothing


@pytest.mark.parametrize("text", [rows_of(40), MARKDOWN, LINES, OBJECTS])
@pytest.mark.parametrize("sign", ["<", ">", "<=", ">="])
def test_numbers_are_not_compared_with_words_and_it_is_said(text: str, sign: str) -> None:
    found = table(body_of(text), where=[f"id{sign}abc"])
    assert found.total == 0
    assert "id holds numbers and 'abc' is none: nothing compares with it." in found.note


def test_no_such_thing_is_said_of_conditions_that_could_hold() -> None:
    assert table(body_of(rows_of(40)), where=["id>100"]).note == ""
    assert table(body_of(rows_of(40)), where=["city>Zoo"]).note == ""
    assert table(body_of(rows_of(40)), where=["id=abc"]).note == ""
    assert table(body_of("day,n\n2026-03-01,1\n2026-03-02,2\n2026-04-01,3\n"), where=["day>=2026-03-02"]).total == 2
