"""Numbers in any digits or words and names that look like words have to stand in the source like all others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.checkpoint import Item
from foldmark.story import Sources, checked
from foldmark.story.claims import claims_of
from foldmark.story.figures import NUMBER_WORDS, folded, value_of, word_of

SOURCE = (
    "def charge(): timeout in charge is 30 seconds on host db-prod-one, gateway of billing, "
    "branch feature/late-refund\n"
    r"commit fedcbafe by @alice, run pytest with -X dev, config in C:\etc\pay\main.ini and the ledger fix"
)
SOURCES = Sources(shown={1: SOURCE}, boundary=1)


def dropped(text: str) -> str:
    found = checked([Item("decisions", text, (1,))], SOURCES)
    assert found.items == ()
    return found.dropped[0]


def kept(text: str) -> Item:
    found = checked([Item("decisions", text, (1,))], SOURCES)
    assert found.dropped == ()
    return found.items[0]


SIXTY = ["60", "６０", "٦٠", "⑥⓪", "𝟔𝟎", "६०", "sixty"]
THIRTY = ["30", "３０", "٣٠", "③⓪", "𝟑𝟎", "३०", "thirty"]


@pytest.mark.parametrize("number", SIXTY)
def test_an_invented_number_is_dropped_in_whatever_digits_it_stands(number: str) -> None:
    assert "stands nowhere" in dropped(f"The timeout in charge() is {number} seconds")


@pytest.mark.parametrize("number", THIRTY)
def test_a_true_number_is_found_in_whatever_digits_it_stands(number: str) -> None:
    assert kept(f"The timeout in charge() is {number} seconds").verified
    source = Sources(shown={1: f"the timeout is {number} seconds"}, boundary=1)
    assert checked([Item("decisions", "The timeout is 30 seconds", (1,))], source).items[0].verified


@given(st.integers(0, 100))
def test_a_number_in_words_says_what_its_digits_say(number: int) -> None:
    said = word_of(number).replace("[ -]", "-").replace("(?:a|one)", "one")
    match = NUMBER_WORDS.search(f"about {said} rows")
    assert match is not None
    assert value_of(match) == number


@given(st.text(max_size=80))
def test_folding_is_done_once_and_leaves_plain_text_alone(text: str) -> None:
    assert folded(folded(text)) == folded(text)
    assert not text.isascii() or folded(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "charge was fixed in commit abcdefab",
        "charge was fixed by abcdefab",
        "branch feature/double-charge holds the billing ledger fix",
        "merge branch topic/ledger for billing",
        "gateway host db-prod-x handles charge",
        r"The gateway config is in C:\etc\pay\other.ini",
        r"The gateway config is in \\srv\pay\main.ini",
        "@mallory owns billing",
        "run pytest with -X99 on charge",
    ],
)
def test_a_name_that_looks_like_words_and_stands_nowhere_takes_its_statement_with_it(text: str) -> None:
    assert "stands nowhere in the source" in dropped(text)


@pytest.mark.parametrize(
    "text",
    [
        "the ledger fix is commit fedcbafe",
        "branch feature/late-refund holds the ledger fix",
        "gateway of billing is on host db-prod-one",
        "gateway of billing is on host db prod one",
        r"The config is in C:\etc\pay\main.ini",
        "The config is in C:/etc/pay/main.ini",
        "@alice made the commit fedcbafe",
    ],
)
def test_such_a_name_that_stands_there_is_proven(text: str) -> None:
    assert kept(text).verified


@pytest.mark.parametrize(
    "text",
    [
        "A read-only follow-up, and/or an up-to-date end-to-end check of the well-known by-product on the x-axis",
        "client/server and read/write access, state-of-the-art step-by-step, css-only, one of the two-column pages",
        "The façade decade was added in one go, a hundred thousand times",
    ],
)
def test_plain_english_holds_no_firm_names(text: str) -> None:
    assert [claim.text for claim in claims_of(text)[0] if not claim.is_loose] == []


@pytest.mark.parametrize("sign", ["\u202e", "\u2066", "\u200b", "\u200f", "\ufeff", "\ud800", "\x9b", "\x00"])
def test_no_sign_that_nobody_sees_stays_in_a_statement_or_hides_an_invention(sign: str) -> None:
    item = kept(f"timeout in charge is {sign}30 seconds")
    assert sign not in item.text
    assert "stands nowhere" in dropped(f"timeout in charge() is {sign}60 seconds")
