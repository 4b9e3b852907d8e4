"""Tables: rows counted right, columns told as they are, whole rows only."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark import kinds
from foldmark.events import ToolCall
from foldmark.kinds.columns import kind_of, read
from foldmark.kinds.grids import delimited
from foldmark.kinds.tables import table_of
from foldmark.tokens import count


def written(rows: list[list[str]], delimiter: str = ",") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return out.getvalue()


ORDERS = written(
    [
        ["id", "name", "total", "state", "day"],
        *(
            [str(n), f"item, {n}\nsecond line", f"{n}.50" if n != 77 else "broken", "late" if n == 90 else "paid",
             f"2026-05-{n % 28 + 1:02}"]
            for n in range(1, 301)
        ),
    ]
)  # fmt: skip
NAMES = [f"n{number}" for number in range(1, 301)]
PSQL = (
    " id | name \n----+------\n" + "".join(f" {n:2} | {name} \n" for n, name in enumerate(NAMES, 1)) + "(300 rows)\n\n"
)
BORDER = "+-----+------+\n"
MYSQL = (
    f"{BORDER}| id  | name |\n{BORDER}"
    + "".join(f"| {n:3} | {name} |\n" for n, name in enumerate(NAMES, 1))
    + f"{BORDER}300 rows in set (0.00 sec)\n"
)
DUCK = (
    "┌─────┬──────┐\n│ id  │ name │\n├─────┼──────┤\n"
    + "".join(f"│ {n:3} │ {name} │\n" for n, name in enumerate(NAMES, 1))
    + "├─────┴──────┤\n│ 300 rows   2 columns │\n└────────────┘\n"
)
GRID = "+----+------+\n| id | name |\n+====+======+\n" + "".join(
    f"| {n} | {name} |\n|    | more |\n+----+------+\n" for n, name in enumerate(NAMES, 1)
)
MARKDOWN = "| id | name |\n|---:|:-----|\n" + "".join(f"| {n} | {name} |\n" for n, name in enumerate(NAMES, 1))
SQLITE = "id   name\n---  ----\n" + "".join(f"{n:<3}  {name}\n" for n, name in enumerate(NAMES, 1))
PODS = "NAME      READY   STATUS    AGE\n" + "".join(
    f"pod-{n:<4}  1/1     {'Failed' if n == 200 else 'Running'}   {n}d\n" for n in range(1, 301)
)
DISKS = "Filesystem  Size  Used Avail Use% Mounted on\n" + "".join(
    f"/dev/sd{n}   90G   {n}G   1G   9% /mnt/{n}\n" for n in range(1, 301)
)
PROCESSES = "USER         PID %CPU %MEM    VSZ COMMAND\n" + "".join(
    f"root  {n:10}  0.{n % 10}  0.1 {n * 10:6} /usr/bin/worker --number {n}\n" for n in range(1, 301)
)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (ORDERS, "CSV"),
        (ORDERS.replace("\n", "\r\n"), "CSV"),
        (written([["a", "b", "c"], *[[str(n), "x", "y"] for n in range(300)]], "\t"), "TSV"),
        (written([["a", "b", "c"], *[[str(n), "x", "y"] for n in range(300)]], ";"), "CSV with semicolons"),
        (PSQL, "psql table"),
        (MYSQL, "table in a box"),
        (DUCK, "table in a box"),
        (GRID, "table in a box"),
        (MARKDOWN, "Markdown table"),
        (SQLITE, "table in columns"),
        (PODS, "table in columns"),
        (DISKS, "table in columns"),
        (PROCESSES, "table in columns"),
    ],
)
def test_every_way_of_writing_a_table_has_its_three_hundred_rows(text: str, form: str) -> None:
    assert kinds.recognise(text).name == "table"
    assert kinds.outcome(text).startswith(f"{form}, 300 rows, ")
    shown = kinds.preview(text, None, 250, count)
    assert count(shown) <= 250
    header = text.split("\n")[1 if text[0] in "+┌" else 0].rstrip("\r")
    assert header in shown.split("\n")
    assert " of 300 not shown …" in shown


def test_a_row_with_a_lone_value_is_shown_before_ordinary_rows() -> None:
    shown = kinds.preview(ORDERS, None, 330, count)
    assert '77,"item, 77\nsecond line",broken,paid,2026-05-22' in shown
    assert '90,"item, 90\nsecond line",90.50,late,2026-05-07' in shown
    assert "pod-200   1/1     Failed   200d" in kinds.preview(PODS, None, 250, count)


def test_columns_tell_types_and_ranges_as_they_are_spelled() -> None:
    shown = kinds.preview(ORDERS, None, 400, count)
    assert "id integer 1…300; name text, 300 different; total mixed (number 299, text 1)" in shown
    assert "state text: paid ×299, late ×1; day date 2026-05-01…2026-05-28" in shown


def test_the_last_of_aligned_columns_takes_the_rest_of_its_line() -> None:
    table = table_of(PROCESSES)
    assert table is not None
    assert table.header == ["USER", "PID", "%CPU", "%MEM", "VSZ", "COMMAND"]
    assert table.cells(table.row(6)) == ["root", "7", "0.7", "0.1", "70", "/usr/bin/worker --number 7"]


def test_rows_with_another_number_of_cells_are_rows_of_trouble() -> None:
    rows = [["a", "b", "c"], *[["1", "2", "3"] for _ in range(200)]]
    rows[150] = ["short"]
    table = table_of(written(rows))
    assert table is not None
    _, trouble = read(table.header, [table.cells(table.row(at)) for at in range(table.total)])
    assert trouble == [149]


@given(
    st.lists(
        st.lists(st.text(alphabet='ab1,"\n |;', max_size=6), min_size=3, max_size=3).filter(any),
        min_size=4,
        max_size=40,
    )
)
def test_quoted_cells_with_line_ends_and_delimiters_count_as_the_csv_module_counts(rows: list[list[str]]) -> None:
    text = written([["one", "two", "three"], *rows])
    expected = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    table = delimited(text)
    if table is not None and table.form == "CSV":
        assert table.total == len(expected) - 1
        assert [table.cells(table.row(at)) for at in range(table.total)] == expected[1:]


def test_a_cell_over_the_csv_modules_limit_is_still_one_cell_of_one_row() -> None:
    giant = "word " * 40_000
    text = written([["a", "b", "c"], *[["1", "2", "3"] for _ in range(30)], ["4", giant, "5"], ["6", "7", "8"]])
    table = table_of(text)
    assert table is not None
    assert table.total == 32
    limit = csv.field_size_limit()
    kinds.preview(text, None, 300, count)
    assert csv.field_size_limit() == limit


def test_an_open_quote_takes_the_rest_as_one_row_and_ends() -> None:
    text = "a,b,c\n" + "1,2,3\n" * 40 + '4,"open,6\n' + "7,8,9\n" * 20_000
    table = table_of(text)
    assert table is not None
    assert table.total == 41


def test_a_wide_row_ends_between_cells() -> None:
    header = [f"column_{n}" for n in range(200)]
    text = written([header, *[[f"value {n} {k}" for k in range(200)] for n in range(50)]])
    shown = kinds.preview(text, None, 600, count)
    [first] = [line for line in shown.split("\n") if line.startswith("value 0 0 ")]
    *cells, told = first.split(" | ")
    assert all(cell == f"value 0 {at}" for at, cell in enumerate(cells))
    assert told.startswith(f"… {200 - len(cells)} more cells of this row, ")


def test_a_footer_that_says_another_number_is_shown_beside_ours() -> None:
    text = PSQL.replace("(300 rows)", "(301 rows)")
    assert kinds.preview(text, None, 200, count).startswith("psql table, 300 rows, 2 columns, footer: (301 rows)")


@pytest.mark.parametrize(
    "text",
    [
        "Dear Ann, hello, bye\n" * 9,
        "foo(a, b)\nbar(c, d)\nbaz(e, f)\nqux(g, h)\n",
        "WHAT. THE. DEUCE.\n\nIt is ignoring all values and rendering them the same.\nLet me check it now.\n" * 4,
        "import a, b\nimport c, d\nimport e, f\nimport g, h\n",
        "src/a.py, line 3, in f\nsrc/b.py, line 4, in g\nsrc/c.py, line 5, in h\nsrc/d.py, line 6, in i\n",
        "1,2,3\n4,5,6\n7,8,9\n1,2,4\n",
        "# Title\n\nSome | words\n\nmore\n" * 5,
        "-- a comment\n-- another\nselect 1;\n" * 4,
    ],
)
def test_prose_and_code_are_no_tables(text: str) -> None:
    assert kinds.recognise(text).name != "table"


def test_a_table_file_that_is_read_is_a_table() -> None:
    made = ToolCall("c", "read", json.dumps({"path": "orders.csv"}))
    assert kinds.recognise(ORDERS, made).name == "table"


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("12", "integer"),
        ("-12", "integer"),
        ("1.50", "number"),
        ("1e9", "number"),
        ("2026-05-01", "date"),
        ("2026-05-01 10:00:00+02", "date"),
        ("", "empty"),
        ("NULL", "empty"),
        ("true", "boolean"),
        ("1,000", "text"),
        ("٣", "text"),
        ("-", "text"),
    ],
)
def test_cells_have_kinds(cell: str, kind: str) -> None:
    assert kind_of(cell) == kind
