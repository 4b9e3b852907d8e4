from __future__ import annotations

import re

import pytest

from foldmark.words import LONGEST, STOP, distinct, fold, stem, telling, words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("walking", "walked"), ("running", "run"), ("failures", "failure"), ("connection", "connected"),
        ("studies", "studying"), ("boxes", "box"), ("classes", "class"), ("stopped", "stop"),
        ("charges", "charged"),
        ("configure", "configuration"), ("tried", "try"), ("quickly", "quick"), ("payments", "payment"),
    ],
)  # fmt: skip
def test_forms_of_one_english_word_meet(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("status", "state"), ("bus", "bu"), ("analysis", "analy"), ("sing", "s"), ("red", "r"),
     ("string", "str"),
     ("version", "vers"), ("port", "portal"), ("user", "use"), ("need", "ne")],
)  # fmt: skip
def test_different_words_stay_apart(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_names_give_their_whole_and_their_parts() -> None:
    assert words("getHTTPResponse") == ["gethttprespons", "get", "http", "respons"]
    assert words("max_retry_count") == ["max_retry_count", "max", "retri", "count"]
    assert words("src/billing/charge.py") == ["src", "bill", "charg", "py", "src_billing_charge_py"]
    assert words("v1.2.3")[-1] == "v1_2_3"


def test_a_part_of_a_name_and_its_whole_are_both_found_by_the_query_that_spells_it() -> None:
    index = distinct("error in src/billing/ChargeStore.py:88")
    for query in ("ChargeStore", "charge store", "billing/ChargeStore.py", "chargestore"):
        assert index & set(words(query))
    assert set(words("src/billing/ChargeStore.py:88")) <= index


def test_case_accents_and_width_are_folded() -> None:
    assert words("École ECOLE ecole") == ["ecol"] * 3
    assert words("ＡＢＣ１２") == words("abc12")
    assert words("İstanbul") == ["istanbul"]
    assert fold("Straße") == "strasse"


def test_scripts_without_spaces_are_cut_into_pairs_of_characters() -> None:
    assert words("東京都") == ["東京", "京都"]
    assert words("値段は300円") == ["値段", "段は", "300", "円"]
    assert set(words("京都")) <= set(words("東京都に行く"))


def test_tokens_hold_nothing_that_a_tokenizer_behind_them_could_split_or_fold() -> None:
    text = "a\"b c'd x*y (e) f^g -h +i NEAR/3 {j} k:l m\x00n o\u00a0p É q\ud800r ½ ﬁ ǅ"
    for token in words(text):
        assert re.fullmatch(r"(?:[a-z0-9_]|[^\x00-\x7f])+", token), token
        assert token == token.lower()
        token.encode()


def test_a_hash_is_one_token_and_leaves_no_crumbs() -> None:
    sha = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    assert words(sha) == [sha]


def test_very_long_names_are_cut_alike_in_index_and_query() -> None:
    blob = "aB3" * 5_000
    assert max(map(len, words(blob))) <= LONGEST
    assert words(blob) == words(blob)


def test_a_query_is_freed_of_common_words_unless_it_has_no_others() -> None:
    assert telling(words("what is the default timeout of the client")) == ["default", "timeout", "client"]
    assert telling(words("what is it")) == ["what", "is", "it"]
    assert telling([]) == []


def test_of_a_huge_query_the_longest_tokens_are_kept() -> None:
    query = [f"w{n:04d}" for n in range(1_000)]
    long = [f"{word}{'x' * 20}" for word in query[::20]]
    chosen = telling([*query, *long])
    assert len(chosen) == 64
    assert set(long) <= set(chosen)


def test_what_no_analyser_makes_is_no_token() -> None:
    assert telling(["ok", 'a"b', "UPPER", "two words", "", "nul\x00", "\ud800", "x" * 200]) == ["ok"]


def test_common_words_are_stemmed_as_a_query_is() -> None:
    assert set(words("where these does")) <= STOP
