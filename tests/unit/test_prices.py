"""Prices of models, the dated table, and bills."""

from __future__ import annotations

from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.errors import PolicyError
from foldmark.events import Usage
from foldmark.prices import TABLE, Price, PriceTable, Row, bill, dollars, money, price_of, prompt_cost, swing

A5M = Price(read=0.1, write=1.25, output=5.0, cache_seconds=300, dollars_per_million=3.0)
STEP = Price(read=0.05, write=1.25, output=5.0, long_from=272_000, long_input=2.0, long_output=1.5)
OWN = PriceTable.from_toml(
    """
    as_of = "2026-01-02"
    [[model]]
    model = "gpt-4"
    input = 30.0
    read = 30.0
    output = 60.0
    [[model]]
    model = "claude-opus-4"
    also = ["claude-opus-4-0"]
    input = 15.0
    read = 1.5
    output = 75.0
    writes = [[18.75, 300], [30.0, 3600]]
    as_of = "2026-01-01"
    source = "a page"
    """
)


# -- the bill of a call


def test_a_bill_takes_the_whole_prompt_once_with_the_cached_part_at_its_own_price() -> None:
    used = Usage(input=10_000, cache_read=6_000, cache_write=3_000, output=200)
    assert bill(used, A5M) == pytest.approx(0.1 * 6_000 + 1.25 * 3_000 + 1_000 + 5 * 200)


def test_cached_tokens_beyond_the_prompt_are_not_billed_twice() -> None:
    assert bill(Usage(input=100, cache_read=300, cache_write=300), A5M) == pytest.approx(10)


def test_above_the_step_the_whole_request_is_dearer_and_on_it_nothing_is() -> None:
    at, above = Usage(input=272_000, output=1_000), Usage(input=272_001, output=1_000)
    assert bill(at, STEP) == pytest.approx(272_000 + 5_000)
    assert bill(above, STEP) == pytest.approx(2 * 272_001 + 1.5 * 5_000)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**5))
def test_reading_more_from_the_cache_never_costs_more(size: int, read: int, more: int, output: int) -> None:
    less_read = Usage(input=size, cache_read=min(read, size), output=output)
    more_read = Usage(input=size, cache_read=min(read + more, size), output=output)
    for price in (A5M, STEP):
        assert bill(more_read, price) <= bill(less_read, price) + 1e-6


def test_a_prefix_below_the_minimum_is_paid_as_if_nothing_were_cached() -> None:
    assert prompt_cost(A5M, 5_000, 1_023) == pytest.approx(1.25 * 5_000)
    assert prompt_cost(A5M, 5_000, 1_024) == pytest.approx(0.1 * 1_024 + 1.25 * (5_000 - 1_024))


def test_dollars_are_shown_only_where_the_plain_price_is_known() -> None:
    assert dollars(2_000_000, A5M) == pytest.approx(6.0)
    assert dollars(2_000_000, Price(read=0.1)) is None


# -- the table


@pytest.mark.parametrize(
    "name",
    [
        "claude-opus-4-5",
        "claude-opus-4-5-20251101",
        "claude-opus-4.5",
        "Claude-Opus-4-5",
        "anthropic/claude-opus-4-5",
        "openrouter/anthropic/claude-opus-4.5:thinking",
        "us.anthropic.claude-opus-4-5-20251101-v1:0",
        "bedrock/eu.anthropic.claude-opus-4-5-20251101-v1:0",
        "vertex_ai/claude-opus-4-5@20251101",
    ],
)
def test_a_model_is_found_by_every_name_that_its_hosts_give_it(name: str) -> None:
    found = price_of(name)
    assert found is not None
    assert (found.model, found.read, found.write, found.output) == ("claude-opus-4-5", 0.1, 1.25, 5.0)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "claude",
        "claude-opus-45",
        "claude-opus-9",
        "claude-opus-4-5-fast",
        "gpt-5-pro",
        "gpt-4o-audio-preview",
        "ft:gpt-4o-mini:acme::1",
        "gpt-5.6:free",
        "somewhere-else/claude-opus-4-5",
        "my-claude-opus-4-5",
    ],
)
def test_a_name_that_is_only_like_a_known_one_is_unknown(name: str) -> None:
    assert price_of(name) is None


def test_a_version_or_a_size_is_another_model() -> None:
    assert price_of("gpt-4", OWN) is not None
    for other in ("gpt-4.1", "gpt-4-1", "gpt-4o", "gpt-4-32k", "gpt-4-turbo", "gpt-4.1-mini", "gpt-40"):
        assert price_of(other, OWN) is None
    assert price_of("claude-opus-4-5", OWN) is None
    found = price_of("gpt-4-0613", OWN)
    assert found is not None
    assert found.model == "gpt-4"


@given(st.sampled_from([row.model for row in TABLE.rows]), st.text("abcdefghij0123456789.-", min_size=1, max_size=6))
def test_only_a_date_or_a_number_of_a_release_may_stand_behind_a_known_name(name: str, behind: str) -> None:
    asked, found = (name + behind).replace(".", "-"), price_of(name + behind)
    if found is not None:
        rest = asked.removeprefix(found.model.replace(".", "-"))
        assert rest == "" or (rest[0] == "-" and not set(rest) & set("abcdefghij"))
        assert rest == "" or all(len(number) >= 2 for number in rest[1:].split("-"))


def test_a_longer_lifetime_is_another_price_of_the_same_model() -> None:
    short, long, longest = (price_of("claude-opus-4", OWN, lifetime=one) for one in (0.0, 301.0, 10**6))
    assert short
    assert long
    assert (short.write, short.cache_seconds) == (1.25, 300)
    assert (long.write, long.cache_seconds) == (2.0, 3_600)
    assert longest == long


def test_every_row_of_the_shipped_table_has_a_date_and_a_source_and_prices_in_order() -> None:
    assert TABLE.as_of
    for row in TABLE.rows:
        assert row.as_of[:3] == "202", row.model
        assert "." in row.source, row.model
        price = row.price()
        assert price.as_of == f"{row.as_of}, {row.source}"
        assert 0 < price.read < 1 <= price.write < price.output, row.model
        assert (row.long_from is None) == (row.long_input == row.long_output == 1.0), row.model
        assert list(row.writes) == sorted(row.writes, key=lambda one: one[1]), row.model


def test_the_table_is_package_data() -> None:
    assert files("foldmark.prices").joinpath("prices.toml").is_file()


def test_no_name_stands_in_two_rows() -> None:
    names = [name.replace(".", "-") for row in TABLE.rows for name in (row.model, *row.also)]
    assert len(names) == len(set(names))


def test_own_rows_take_the_place_of_the_tables_and_leave_the_rest() -> None:
    mine = Row(model="gpt-5.2", input=9.0, read=9.0, output=9.0)
    mixed = TABLE.replace([mine])
    for name, input_price in (("gpt-5.2", 9.0), ("gpt-5.3-codex", 1.75), ("gpt-5.2-codex", 1.75)):
        found = price_of(name, mixed)
        assert found is not None
        assert found.dollars_per_million == input_price
    assert mixed.as_of == TABLE.as_of
    assert TABLE.replace(OWN).as_of == "2026-01-02"
    before = price_of("gpt-5.2")
    assert before is not None
    assert before.dollars_per_million == 1.75


def test_an_unknown_model_is_answered_with_names_that_look_like_it() -> None:
    assert "claude-opus-4" in OWN.near("claude-opus-5")
    assert OWN.near("zzz") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[model", "not TOML"),
        ("[[model]]\nmodel = 'x'\ninput = 1.0\nread = 0.1", "row of x"),
        ("[[model]]\nmodel = 'x'\ninput = 1.0\nread = 0.1\noutput = 1.0\ncached = 1.0", "cached"),
        ("[[model]]\nmodel = 'x'\ninput = 0.0\nread = 0.1\noutput = 1.0", "input above 0"),
        ("[[model]]\nmodel = 'x'\ninput = 1.0\nread = -0.1\noutput = 1.0", "below 0"),
        ("[[models]]\nmodel = 'x'", "'models'"),
        ("[model]\nmodel = 'x'", "two brackets"),
    ],
)
def test_a_table_that_cannot_be_read_says_where(text: str, said: str) -> None:
    with pytest.raises(PolicyError, match="(?s).*" + said.replace("[", r"\[")):
        PriceTable.from_toml(text)


# -- what a compaction costs and saves


def test_a_compaction_of_a_warm_cache_costs_its_rewriting_and_saves_its_reads() -> None:
    found = money(A5M, before=60_000, after=20_000, static=2_000, call=5_000)
    assert found.rewrite == pytest.approx(0.1 * 2_000 + 1.25 * 18_000 - 0.1 * 60_000)
    assert found.saving == pytest.approx(0.1 * 40_000)
    assert found.cost == pytest.approx(found.rewrite + 5_000)
    assert found.pays_after == 6
    assert not found.is_loss
    assert "$" in found.text
    assert "6 requests" in found.text


def test_on_a_cold_cache_a_compaction_by_code_pays_at_once() -> None:
    found = money(A5M, before=60_000, after=20_000, static=2_000, alive=0)
    assert found.rewrite == pytest.approx(1.25 * (20_000 - 60_000))
    assert found.pays_after == 0
    assert "at once" in found.text


def test_a_compaction_that_made_the_request_larger_is_shown_as_a_loss() -> None:
    found = money(A5M, before=20_000, after=21_000, static=2_000, call=100)
    assert found.is_loss
    assert found.pays_after is None
    assert "dearer" in found.text


def test_a_call_that_saves_nothing_is_never_paid_back() -> None:
    found = money(Price(read=0.1), before=20_000, after=20_000, alive=0, call=100)
    assert found.is_loss
    assert "nothing pays it back" in found.text
    assert "tokens of plain input" in found.text


def test_what_leaves_the_long_step_saves_its_surcharge_too() -> None:
    found = money(STEP, before=300_000, after=20_000)
    assert found.saving == pytest.approx(2 * 0.05 * 300_000 - 0.05 * 20_000)


@given(st.integers(1, 400_000), st.integers(1, 400_000), st.integers(0, 5_000), st.integers(0, 10**6))
def test_after_the_requests_it_names_a_compaction_is_paid_back_and_not_before(
    before: int, after: int, static: int, call: int
) -> None:
    found = money(A5M, before=before, after=after, static=static, call=call)
    if (requests := found.pays_after) is None:
        assert found.is_loss
    else:
        assert requests * found.saving >= found.cost - 1e-6
        assert requests == 0 or (requests - 1) * found.saving < found.cost + 1e-6


def test_the_swing_halves_when_reads_are_four_times_dearer() -> None:
    cheap = swing(Price(read=0.01, write=1.0), landing=16_000, growth=1_000)
    dear = swing(Price(read=0.04, write=1.03), landing=16_000, growth=1_000)
    assert cheap == pytest.approx(2 * dear)
