"""Counting looks at few words of a text, and finds what looking at every word finds."""

from __future__ import annotations

from collections import Counter as Tally

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark.events import user
from foldmark.retrieval.asking import question
from foldmark.retrieval.counting import LONG_LINE, Counted, Counter
from foldmark.seeking import Found, Piece
from foldmark.words import words

PARTS = (
    "walrus", "Walruses", "maxRetryCount", "max_retry-count", "src/a/b.py", "8080", "naïve", "don’t", "“Ärger”", "—",
    "…", "É", "’", "東京", "にある", "서버", "น้ำ", "हिन्दी", "\u212a", "İ", "ﬁ", "ß", "ẞ", "\u0301", "\u200d",
    "1,234", "1.234,5", "234", "10k", "1.5", "k", "3", "pm", "14h30", "Uhr", "€", "'", ",", "\u202f", "\u066c", "٢",
    "資料庫", "午後3時", "30分", "0x001f", " ", " ", " ", "\n", ".", "-", "_", "/", ":", "@", "\\", "(", "\t", "\r",
    "\u2028", "\U0001f600",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PARTS), max_size=40).map("".join)


def counted(text: str, *terms: str) -> Counted:
    asked = msgspec.structs.replace(question("x", 0.0), terms=terms)
    return Counter(asked).count(Found(Piece(1, 0, text), msgspec.structs.replace(user(text), seq=1)))


@given(TEXTS, st.data())
@settings(max_examples=400)
def test_every_line_has_the_terms_that_all_its_words_give(text: str, data: st.DataObject) -> None:
    whole = words(text)
    terms = data.draw(st.lists(st.sampled_from(whole), max_size=4, unique=True)) if whole else []
    piece = counted(text, *terms, "absent")
    lines = text.split("\n")
    expected = {number: Tally(word for word in words(line) if word in terms) for number, line in enumerate(lines)}
    assert all(len(line) <= LONG_LINE for line in lines)
    assert {unit.line: unit.counts for unit in piece.units if unit.counts} == {n: c for n, c in expected.items() if c}
    assert piece.whole == sum(expected.values(), Tally())


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("’émigré", "emigre"), ("“東京”", "東京"), ("5 \u212aelvin", "kelvin"), ("İ" * 12 + " x walrus", "walrus"),
        ("the…naïve—one", "naive"), ("a\u2028walrus", "walrus"), ("MaxRetryCount’s", "max_retry_count"),
    ],
)  # fmt: skip
def test_signs_beside_a_word_do_not_hide_it(text: str, query: str) -> None:
    terms = words(query)
    assert counted(text, *terms).whole.keys() == set(terms)


def test_of_a_piece_without_any_term_the_first_two_units_are_kept() -> None:
    piece = counted("one\ntwo\nthree", "walrus")
    assert ([unit.text for unit in piece.units], piece.hits) == (["one", "two"], ())
    assert len(counted("one\ntwo\nthree walrus", *words("walrus")).units) == 3


def test_a_word_of_a_long_line_counts_in_its_sentence() -> None:
    line = "Nothing of note. " * 30 + "The walrus sleeps. " + "Nothing of note. " * 30
    piece = counted(line, *words("walrus"))
    assert [("walrus" in piece.units[number].text, piece.units[number].line) for number in piece.hits] == [(True, 0)]
