"""Options are values: wrong ones are refused by name, unknown ones point to the nearest known."""

from __future__ import annotations

from typing import Any

import pytest

from foldmark.errors import PolicyError
from foldmark.options import Background, Keep, Retention, Tail
from foldmark.policy import PRESETS, Budget, Policy
from foldmark.prices import TABLE, Price, price_of


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_is_valid_and_knows_its_name(name: str) -> None:
    assert Policy.preset(name).name == name


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(PolicyError, match="'coding'"):
        Policy.preset("codng")


def test_an_unknown_option_names_the_nearest() -> None:
    with pytest.raises(PolicyError, match=r"cleanup\.keep_results"):
        Policy.coding(cleanup={"keep_result": 2})


@pytest.mark.parametrize(
    "changes",
    [
        {"tail": {"share": 1.5}},
        {"budget": {"landing_tokens": 10}},
        {"window": 12},
        {"cleanup": {"keep_rounds": 0}},
        {"admission": {"limit_tokens": "many"}},
    ],
)
def test_a_value_that_makes_no_sense_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(PolicyError):
        Policy.coding(**changes)


def test_toml_gives_the_same_policy_as_code() -> None:
    text = 'preset = "chat"\nwindow = 200000\n[tail]\nshare = 0.2\n[prices]\nread = 0.1\n'
    with pytest.raises(PolicyError):
        Policy.from_toml("preset = ")
    made = Policy.from_toml(text)
    assert (made.name, made.window, made.tail.share) == ("chat", 200_000, 0.2)
    assert made.prices is not None
    assert made.prices.read == 0.1


def test_a_policy_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Policy.coding().window = 5  # type: ignore[misc]


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_policy_survives_being_kept_with_a_session(name: str) -> None:
    made = Policy.preset(name).replace(window=64_000, prices={"read": 0.1}, cleanup={"keep_results": 7})
    assert Policy.from_json(made.to_json()) == made
    with pytest.raises(PolicyError, match="stored with the session"):
        Policy.from_json('{"surprise": 1}')


# -- what differs by model

BY_MODEL: dict[str, Any] = {
    "claude": {"budget": {"landing_tokens": 9_000}},
    "claude-haiku": {"budget": {"landing_tokens": 5_000}, "window": 64_000},
    "*-mini*": {"tail": {"share": 0.05}},
}


@pytest.mark.parametrize(
    ("model", "landing", "window", "tail"),
    [
        ("claude-opus-5", 9_000, None, 0.2),
        ("claude-haiku-4", 5_000, 64_000, 0.2),
        ("anthropic/claude-haiku-4", 5_000, 64_000, 0.2),
        ("Claude-Opus-5", 9_000, None, 0.2),
        ("gpt-5-mini-2026", None, None, 0.05),
        ("gpt-5", None, None, 0.2),
        ("", None, None, 0.2),
    ],
)
def test_the_longest_name_that_fits_a_model_changes_its_options(
    model: str, landing: int | None, window: int | None, tail: float
) -> None:
    made = Policy.coding(models=BY_MODEL, price_table={}).for_model(model)
    assert (made.budget.landing_tokens, made.window, made.tail.share) == (landing, window, tail)
    assert made.budget.landing_default == 16_000, "the rest stays"


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ({"gpt": {"budget": {"landing_token": 9_000}}}, r"models\['gpt'\].*budget\.landing_tokens\?"),
        ({"gpt": {"budgt": {}}}, r"models\['gpt'\].*budget\?"),
        ({"gpt": {"tail": {"share": 5}}}, r"models\['gpt'\].*tail\.share is 5"),
        ({"gpt": {"prices": {"write": 1}}}, r"models\['gpt'\].*prices\.read is needed"),
        ({"gpt": {"prices": {"read": 0.1, "wirte": 1}}}, r"prices\.write\?"),
        ({"gpt": {"models": {}}}, "cannot differ by model"),
        ({"gpt": {"budget": Budget()}}, "a mapping of the fields"),
        ({"gpt": 5}, "a mapping of options"),
        ({"": {}}, "a model's name"),
        ("gpt", "models is 'gpt'"),
    ],
)
def test_what_makes_no_sense_for_a_model_is_refused_when_the_policy_is_made(models: Any, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        Policy.coding(models=models)


ROW = {"model": "big-1", "input": 4.0, "read": 0.4, "output": 20.0, "writes": [[5.0, 300]], "as_of": "2026-11-30"}


def test_prices_come_from_the_table_when_the_policy_gives_none() -> None:
    policy = Policy.coding(price_table={"as_of": "2026-11-30", "model": [ROW]})
    assert policy.prices is None
    prices = policy.for_model("big-1").prices
    assert prices is not None
    assert (prices.read, prices.write, prices.dollars_per_million) == (0.1, 1.25, 4.0)
    assert policy.for_model("another") == policy, "never a guess"
    own = policy.replace(prices={"read": 0.5}).for_model("big-1").prices
    assert own is not None
    assert own.read == 0.5
    special = policy.replace(models={"big": {"prices": {"read": 0.2}}}).for_model("big-1").prices
    assert special is not None
    assert special.read == 0.2


def test_the_built_in_table_is_used_unless_it_is_switched_off() -> None:
    name = TABLE.rows[0].model
    assert Policy.coding().for_model(name).prices == price_of(name)
    assert Policy.coding(price_table={}).for_model(name).prices is None


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({}, None),
        ({"budget": {"trigger_tokens": 30_000}}, "size"),
        ({"budget": {"trigger_tokens": 30_000}, "pace": {"rule": "rent"}}, "rent"),
        ({"pace": {"rule": "size"}}, "size"),
    ],
)
def test_a_size_that_was_set_is_not_overruled_by_prices_of_the_table(changes: dict[str, Any], rule: str | None) -> None:
    made = Policy.coding(price_table={"model": [ROW]}, **changes).for_model("big-1")
    assert made.prices is not None
    assert made.pace.rule == rule


def test_prices_that_were_given_leave_the_rule_to_rent() -> None:
    made = Policy.coding(prices={"read": 0.1}, budget={"trigger_tokens": 30_000}).for_model("big-1")
    assert made.pace.rule is None


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"rows": []}, r"price_table\.rows"),
        ({"model": [{"model": "a"}]}, "price_table"),
        ({"model": [{**ROW, "reed": 1}]}, "reed"),
        (5, "price_table is 5"),
    ],
)
def test_a_price_table_that_makes_no_sense_is_refused(table: Any, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        Policy.coding(price_table=table)


def test_toml_and_json_carry_models_prices_and_pace() -> None:
    made = Policy.from_toml("""
        preset = "chat"
        [pace]
        most_per_task = 3
        rule = "rent"
        [expected]
        burst_tokens = 20_000
        pause_chance = 0.25
        [models."claude-haiku".budget]
        landing_tokens = 5_000
        [models.gpt.prices]
        read = 0.25
        [price_table]
        as_of = "2026-11-30"
        [[price_table.model]]
        model = "big-1"
        input = 4.0
        read = 0.4
        output = 20.0
    """)
    assert (made.pace.most_per_task, made.expected.burst_tokens) == (3, 20_000)
    again = Policy.from_json(made.to_json())
    for model in ("claude-haiku-4", "gpt-5", "big-1", "other"):
        assert again.for_model(model).replace(price_table={}).prices == made.for_model(model).prices
        assert again.for_model(model).budget == made.for_model(model).budget
    assert again.models == made.models
    assert again.price_table is not None
    assert again.price_table.rows == made.price_table.rows  # type: ignore[union-attr]
    assert again.price_table.as_of == "2026-11-30"


def test_code_in_the_options_of_a_model_stays_out_of_json() -> None:
    made = Policy.coding(models={"gpt": {"triggers": lambda at: None, "window": 64_000, "prices": Price(read=0.3)}})
    assert made.for_model("gpt-5").triggers is not None
    again = Policy.from_json(made.to_json()).for_model("gpt-5")
    assert (again.triggers, again.window, again.prices) == (None, 64_000, Price(read=0.3))


def test_the_options_of_a_model_cannot_be_changed_from_outside() -> None:
    given: dict[str, Any] = {"gpt": {"budget": {"landing_tokens": 9_000}}}
    made = Policy.coding(models=given)
    given["gpt"]["budget"]["landing_tokens"] = 1
    assert made.for_model("gpt-5").budget.landing_tokens == 9_000


@pytest.mark.parametrize(
    "changes",
    [
        {"expected": {"pause_chance": 1.5}},
        {"expected": {"pause_chance": float("nan")}},
        {"expected": {"burst_tokens": -1}},
        {"expected": {"requests_left": "few"}},
        {"pace": {"most_per_task": -1}},
        {"pace": {"most_per_task": 21}},
        {"pace": {"rule": "mood"}},
    ],
)
def test_what_is_expected_and_the_pace_have_their_ranges(changes: dict[str, Any]) -> None:
    with pytest.raises(PolicyError):
        Policy.coding(**changes)


WRONG: list[tuple[type, dict[str, Any], str]] = [
    (Keep, {"tools": "read"}, "keep: .*tools"), (Background, {"scopes": "app"}, "background: .*scopes"),
    (Keep, {"share": "0.5"}, "keep: .*share"), (Retention, {"session_days": "x"}, "retention: .*session_days"),
    (Tail, {"share": None}, "tail: .*share"), (Background, {"idle_seconds": "x"}, "idle_seconds"),
    (Keep, {"meta": 5}, "keep: .*meta"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "fields", "word"), WRONG)
def test_a_group_that_was_built_directly_is_checked_like_one_from_a_file(kind: type, fields: Any, word: str) -> None:
    with pytest.raises(PolicyError, match=word):
        Policy(**{kind.__name__.lower(): kind(**fields)})
