"""Previews of every kind: true, no longer than their body, the same each time, and never cut through anything."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass, field
from random import Random

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark import kinds
from foldmark.kinds import KINDS, Kind, clean_text, count_lines
from foldmark.kinds.cuts import shorten, word_border
from foldmark.tokens import count


@dataclass(frozen=True)
class Made:
    """A generated body, the kind that should claim it, how many units it has, and the counts that are true of it."""

    text: str
    kind: str
    total: int = 0
    truths: set[int] = field(default_factory=set)


WORDS = ["alpha", "beta", "gamma", "delta", "naïve", "漢字", "e\u0301tude", "👩\u200d💻", "ошибка", "total", "W-1042"]
ODD_CELLS = ["", "NULL", 'say "hi", friend', "two\nlines", "2026-05-01"]


def number(random: Random) -> str:
    return random.choice([str(random.randint(-10_000, 10**9)), f"{random.uniform(-999, 999):.2f}", "0.50", "1e9"])


def word_or_number(random: Random) -> str:
    return random.choice(WORDS) if random.random() < 0.5 else number(random)


def table_rows(random: Random, width: int, odd: bool) -> list[list[str]]:
    def cell() -> str:
        return random.choice(ODD_CELLS) if odd and random.random() < 0.2 else word_or_number(random)

    rows = [[cell() for _ in range(width)] for _ in range(random.randint(40, 90))]
    return [row if any(row) else ["x"] * width for row in rows]


def column_counts(rows: list[list[str]], width: int) -> set[int]:
    """How often each kind of cell and each cell stands in each column, and how many different ones there are."""
    found = {len(rows), width}
    for at in range(width):
        column = [row[at] for row in rows]
        held = [cell for cell in column if cell not in ("", "NULL")]
        integers = [cell for cell in held if re.fullmatch(r"-?\d+", cell)]
        numbers = [cell for cell in held if re.fullmatch(r"-?\d*\.\d+|1e9", cell)]
        dates = [cell for cell in held if cell == "2026-05-01"]
        texts = len(held) - len(integers) - len(numbers) - len(dates)
        found |= {column.count(cell) for cell in column} | {len(set(held)), len(column) - len(held)}
        found |= {len(integers), len(numbers), len(dates), texts}
    return found


def csv_body(random: Random) -> Made:
    width = random.randint(3, 6)
    rows = table_rows(random, width, odd=True)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([[f"column_{at}" for at in range(width)], *rows])
    return Made(out.getvalue(), "table", len(rows), column_counts(rows, width))


def drawn_table(random: Random) -> Made:
    width = random.randint(2, 5)
    rows = table_rows(random, width, odd=False)
    names = [f"name_{at}" for at in range(width)]
    form = random.choice(["markdown", "psql", "box"])
    body = [" | ".join(row) for row in rows]
    if form == "markdown":
        lines = [f"| {' | '.join(names)} |", "|" + "---|" * width, *(f"| {line} |" for line in body)]
    elif form == "psql":
        rule = "+".join(["-------"] * width)
        lines = [" " + " | ".join(names), rule, *(f" {line}" for line in body), f"({len(rows)} rows)", ""]
    else:
        border = "+" + "-------+" * width
        lines = [border, f"| {' | '.join(names)} |", border, *(f"| {line} |" for line in body), border]
    return Made("\n".join(lines), "table", len(rows), column_counts(rows, width))


def page(random: Random) -> Made:
    total, links, scripts, hidden = (
        random.randint(30, 80),
        random.randint(0, 20),
        random.randint(0, 4),
        random.randint(0, 3),
    )
    said = [random.choice(WORDS) for _ in range(total)]
    parts = [
        f"<p>{word} is number {at}, see <a href='/item/{at}'>item</a></p>" if at < links else f"<p>{word} {at}</p>"
        for at, word in enumerate(said)
    ]
    text = (
        "<!DOCTYPE html>\n<html><head><title>Page</title></head><body>\n"
        + "<script>evil(90210)</script>" * scripts
        + "<div style='display:none'>obey 90210</div>" * hidden
        + "\n".join(parts)
        + "</body></html>"
    )
    return Made(text, "html", total, {total, links, scripts, hidden})


def xml_body(random: Random) -> Made:
    items, inner = random.randint(30, 120), random.randint(0, 4)
    rows = [f'  <item id="{at}">' + f"<name>{random.choice(WORDS)}</name>" * inner + "</item>" for at in range(items)]
    text = "\n".join(['<?xml version="1.0"?>', "<list>", *rows, "</list>"])
    return Made(text, "xml", count_lines(text), {1 + items * (1 + inner), 3 if inner else 2, items, items * inner})


def listing(random: Random) -> Made:
    files = random.randint(40, 150)
    sizes = [random.randint(0, 10**7) for _ in range(files)]
    lines = [
        f"-rw-r--r-- 1 ann staff {size:>9} 2026-05-{at % 28 + 1:02} 10:00 "
        f"{random.choice(WORDS)}_{at}.{'py' if at % 3 else 'md'}"
        for at, size in enumerate(sizes)
    ]
    python = sum(1 for at in range(files) if at % 3)
    return Made(
        "\n".join(["total 12", *lines]), "listing", files, {files, sum(sizes), python, files - python, max(sizes)}
    )


def document(random: Random) -> Made:
    rows = [{"id": random.randint(0, 99_999), "name": random.choice(WORDS)} for _ in range(random.randint(40, 90))]
    text = json.dumps(rows, ensure_ascii=random.random() < 0.5)
    return Made(text, "json", len(rows), {len(rows), len(text)})


def notebook(random: Random) -> Made:
    total = random.randint(8, 30)
    cells = [
        {
            "cell_type": "code",
            "execution_count": at,
            "metadata": {},
            "source": f"x = {at}\n" * 12,
            "outputs": [{"output_type": "stream", "name": "stdout", "text": [f"said {at}\n"] * 9}],
        }
        for at in range(total)
    ]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    return Made(text, "notebook", total, {total, *range(1, total + 1), 12, 9})


def plain_text(random: Random) -> Made:
    lines = [
        " ".join(word_or_number(random) for _ in range(random.randint(3, 14))) for _ in range(random.randint(40, 90))
    ]
    return Made("\n".join(lines), "text", len(lines))


MAKERS = [csv_body, drawn_table, page, xml_body, listing, document, notebook, plain_text]
bodies = st.builds(lambda make, seed: make(Random(seed)), st.sampled_from(MAKERS), st.integers(0, 10**6))
budgets = st.sampled_from([80, 150, 300, 600])

_NUMBER = re.compile(r"\d(?:[\d,]*\d)?(?:\.\d+)?")
_MARK = re.compile(r"… .*? …|… .*$", re.DOTALL)
_SHA = re.compile(r"sha256 [0-9a-f]{12}")
_RANGE = re.compile(
    r"^ *… (?:row|line|block|item|cell|key|entr(?:y|ie))s? ([\d,]+)(?:-([\d,]+))? of ([\d,]+) not shown", re.MULTILINE
)


def spelled(text: str) -> set[str]:
    return {match.replace(",", "") for match in _NUMBER.findall(text)}


@settings(max_examples=100)
@given(bodies, budgets)
def test_every_number_of_a_preview_stands_in_the_body_or_counts_it(made: Made, budget: int) -> None:
    shown = kinds.preview(made.text, None, budget, count)
    if shown == clean_text(made.text):
        return
    known = (
        spelled(made.text)
        | {str(number) for number in made.truths}
        | {str(count_lines(made.text)), str(len(made.text))}
    )
    known |= {match for number in _NUMBER.findall(made.text) for match in re.findall(r"\d+", number)}
    said = spelled(_MARK.sub(" ", _SHA.sub(" ", shown)))
    assert said <= known, (sorted(said - known), shown)


@settings(max_examples=100)
@given(bodies, budgets)
def test_what_is_hidden_is_stated_in_order_and_within_the_whole(made: Made, budget: int) -> None:
    shown = kinds.preview(made.text, None, budget, count)
    last = 0
    for first, upto, of in _RANGE.findall(shown):
        low, high, total = (int(number.replace(",", "")) for number in (first, upto or first, of))
        assert last < low <= high <= total
        last = high
    if made.kind in ("table", "listing", "text") and shown != clean_text(made.text):
        assert _RANGE.search(shown) or "names alone, without" in shown, shown


@settings(max_examples=60)
@given(bodies)
def test_generated_bodies_are_recognised(made: Made) -> None:
    assert kinds.recognise(made.text).name == made.kind


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@settings(max_examples=25)
@given(st.one_of(bodies.map(lambda made: made.text), st.text(max_size=300).map(lambda text: text * 9)), budgets)
def test_a_preview_of_any_kind_is_bounded_and_the_same_each_time(kind: Kind, text: str, budget: int) -> None:
    shown = kind.preview(text, budget, count)
    assert shown == kind.preview(text, budget, count)
    assert len(shown) <= len(text)
    shown.encode("utf-8")
    assert count(shown) <= budget or len(text) < 600
    said = kind.outcome(text, None)
    assert "\n" not in said
    said.encode("utf-8")


CLUSTERS = ["👩‍👩‍👧", "🇩🇪", "e\u0301", "👍🏽", "한", "नि", "漢", "1️⃣", "a"]


@settings(max_examples=100)
@given(
    st.builds(lambda seed: "".join(Random(seed).choices([*CLUSTERS, " ", " "], k=500)), st.integers(0, 10**6)),
    st.integers(20, 600),
)
def test_no_grapheme_is_cut(line: str, limit: int) -> None:
    whole = set(regex.findall(r"\X", line))
    at = word_border(line, limit)
    assert at <= limit
    assert set(regex.findall(r"\X", line[:at])) | set(regex.findall(r"\X", line[at:])) <= whole
    shown = shorten(line, limit).partition("… ")[0]
    assert set(regex.findall(r"\X", shown)) <= whole | {" "}


TOKENS = [
    "https://example.com/a/b?q=1&r=2#part",
    "src/foldmark/kinds/body.py:120",
    r"C:\work\app\main.py",
    "/usr/share/doc/a-b_c.txt",
    "1,234,567.89",
    "12\u202f345\u202f678",
    "-3.5e-10",
    '"a key with words":1,',
    '"C:\\Program Files\\My App\\run.exe"',
    r"/home/ann/My\ Documents/notes.txt",
    "key_of_config=value",
    "word",
]


@settings(max_examples=100)
@given(st.lists(st.sampled_from(TOKENS), min_size=30, max_size=80), st.integers(40, 600))
def test_no_number_path_url_or_key_is_cut(tokens: list[str], limit: int) -> None:
    line = " ".join(tokens)
    at = word_border(line, limit)
    ends = {0, len(line)}
    place = 0
    for token in tokens:
        place += len(token) + 1
        ends |= {place, place - 1}
    assert at in ends, line[max(0, at - 30) : at + 30]


@given(
    st.lists(st.sampled_from(["12 345 678", "word", "1 000", "see"]), min_size=60, max_size=120), st.integers(60, 300)
)
def test_a_number_written_with_spaces_is_not_cut(tokens: list[str], limit: int) -> None:
    line = " and ".join(tokens)
    at = word_border(line, limit)
    assert not (line[:at].rstrip()[-1:].isdigit() and line[at:].lstrip()[:1].isdigit())


HOSTILE = [
    "<",
    "|",
    '"',
    "{",
    "[",
    ",",
    "<a ",
    '<a b="',
    "<!--",
    "</",
    'a,"',
    "\n",
    "\\",
    "'",
    "`",
    "- ",
    "├",
    "&",
    "=",
    '{"a":',
    "a/",
    "1 ",
    "\u0301",
    "👩\u200d",
    "\x00",
    "A",
    "\ud800",
]


@pytest.mark.parametrize("character", HOSTILE, ids=ascii)
def test_a_megabyte_of_one_hostile_thing_ends_in_every_kind(character: str) -> None:
    body = character * (1_000_000 // len(character))
    for kind in KINDS:
        assert 0 <= kind.recognise(body, None) <= 1
    shown = kinds.preview(body, None, 300, count)
    assert len(shown) <= len(body)
    assert kinds.outcome(body)


OPENINGS: list[tuple[str, str]] = [
    ("table", "a,b,c\n1,2,3\n4,5,6\n7,8,9\n"),
    ("html", "<!DOCTYPE html><html><body>"),
    ("xml", '<?xml version="1.0"?><a>'),
    ("listing", "-rw-r--r-- 1 a b 3 May 1 10:00 x.py\n" * 30),
]


@pytest.mark.parametrize("character", HOSTILE, ids=ascii)
@pytest.mark.parametrize(("name", "opening"), OPENINGS)
def test_a_hostile_rest_behind_a_good_beginning_ends_too(name: str, opening: str, character: str) -> None:
    kind = next(kind for kind in KINDS if kind.name == name)
    body = opening + character * (300_000 // len(character))
    assert len(kind.preview(body, 300, count)) <= len(body)
    kind.outcome(body, None)


def test_fifty_megabytes_in_one_line_end() -> None:
    for body in ("x" * 50_000_000, "word " * 10_000_000):
        assert len(kinds.preview(body, None, 300, count)) < 1_500
