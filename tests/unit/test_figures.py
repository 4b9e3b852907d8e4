"""Figures meet their values, and nothing that only looks like one gets another value."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark import Session, assistant, user
from foldmark.words import distinct, words
from foldmark.words.figures import FIGURE, MAY_BE_FIGURE, spellings


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234", "1234"), ("1,234,567", "1234567"), ("1,234.5", "1234_5"), ("1,234.567", "1234_567"),
        ("1.234,5", "1234_5"), ("1.234.567,89", "1234567_89"), ("1.234 €", "1234"), ("1.234.567 EUR", "1234567"),
        ("1 234", "1234"), ("1\u202f234\u202f567", "1234567"), ("1 234,50", "1234_50"), ("1'234", "1234"),
        ("1’234’567.5", "1234567_5"), ("1_000_000", "1000000"), ("10k", "10000"), ("1.5k", "1500"), ("2M", "2000000"),
        ("0.5k", "500"), ("٢٬٥٠٠", "2500"), ("٢٬٥٠٠٫٧٥", "2500_75"), ("(1,234)", "1234"), ("$1,234.", "1234"),
        ("1,234ms", "1234"), ("1,234-token", "1234"), ("3pm", "15_00"), ("3 p.m.", "15_00"), ("2:30 PM", "14_30"),
        ("12 am", "00_00"), ("12:05pm", "12_05"), ("14h30", "14_30"), ("14.30 Uhr", "14_30"), ("9 Uhr", "09_00"),
        ("14時30分", "14_30"), ("下午2点半", "14_30"), ("오후2시5분", "14_05"), ("0x1F", "1f"), ("0X001f", "1f"),
        ("0xf", "0xf"), ("0x0F", "0xf"),
    ],
)  # fmt: skip
def test_a_figure_gives_its_value_beside_its_pieces(text: str, value: str) -> None:
    assert value in words(f"see {text} there")
    assert value in words(text)


@pytest.mark.parametrize(
    "text",
    [
        "1.2.3", "1.234.567", "v10.200.300", "10.20.30.40", "192.168.100.200", "10.0.0.1:8080", "2026-05-03",
        "03.05.2026", "03/05/2026", "14:30", "14:30:05", "2026-05-03T14:30:00", "12,34", "1,2,3", "1,23,456", "0,123",
        "1,2345", "555 123 4567", "100 200 3000", "1 2 3", "run_1_234", "a/10k.txt", "10kB", "10km", "5 amps", "13pm",
        "25h30", "14h3", "4K8", "file1,234b_c", "1,234/5", "1,234.txt", "1,234abcd",
    ],
)  # fmt: skip
def test_what_is_no_figure_is_neither_torn_nor_merged(text: str) -> None:
    digits = re.sub(r"\D", "", text)
    pieces = re.findall(r"\d+", text)
    assert not {digits, f"{digits}000"} & (distinct(text) - set(pieces))
    assert not any(re.fullmatch(r"\d\d_\d\d", token) and token.replace("_", ":") not in text for token in words(text))


def test_dates_times_versions_and_addresses_stay_one_token_each() -> None:
    assert words("2026-05-03") == ["2026", "05", "03", "2026_05_03"]
    assert words("14:30") == ["14", "30", "14_30"]
    assert words("1.234.567") == ["1", "234", "567", "1_234_567"]
    assert words("10.200.30.4") == ["10", "200", "30", "4", "10_200_30_4"]


_SIGNS = "0123456789 ,.'’_:-/kKMhapmPMUhr€\u00a0\u202f\u066c٣"


@given(st.text(st.sampled_from(_SIGNS), max_size=24))
def test_every_figure_is_seen_at_once_and_is_found_where_it_is_looked_for(text: str) -> None:
    figures = re.findall(FIGURE, text)
    assert bool(MAY_BE_FIGURE.search(text)) or not figures
    assert set(words(text)) == distinct(text)


@pytest.mark.parametrize("text", ["1,234", "1 234", "1'234", "1_234", "1.234,5", "10k", "1.5k", "2M"])
def test_a_value_tells_how_texts_write_it(text: str) -> None:
    value = next(token for token in words(text) if token.isdigit() and len(token) > 3)
    assert any(text.lower().startswith(spelling.lower()) for spelling in spellings(value))


def test_no_other_token_has_other_spellings() -> None:
    for token in ("walrus", "12", "2026_05_03", "1_2", "", "_", "1f", "25_30"):
        assert spellings(token) == ()


@pytest.mark.parametrize("query", ["1,234 EUR", "€1,234", "1 234 €", "1’234 EUR"])
def test_a_hit_says_the_figure_as_it_was_asked_for_and_not_its_crumbs(query: str) -> None:
    session = Session("figures")
    session.record(
        user("The deposit is 1.234 EUR for Mrs Klein."), assistant("Noted."), user("I paid 234 EUR today."),
        assistant("ok, 1/1 done"),
    )  # fmt: skip
    first, *others = session.search(query)
    (figure,) = re.findall(FIGURE, query)
    assert first.ref == "event:1"
    assert f"words: {figure}" in first.why or f", {figure}" in first.why
    assert "234" not in first.why.replace(figure, "")
    assert all(hit.why for hit in others)
    assert "event:4" not in [hit.ref for hit in others if "words" in hit.why]
