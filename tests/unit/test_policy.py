"""Options are values: wrong ones are refused by name, unknown ones point to the nearest known."""

from __future__ import annotations

import pytest

from foldmark.errors import PolicyError
from foldmark.policy import PRESETS, Policy


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
