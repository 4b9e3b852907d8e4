"""The adapter and the scoring of `bench.conformance`, without the kit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from bench.conformance import Score, best, line, score
from bench.conformance_ours import Foldmark, cut
from bench.conformance_peers import Peer, keep_last

WEATHER = "Somebody talked about the weather of day {} again."
SAID = {7: "Never touch the table orders.", 20: "The staging host is at 10.4.77.3."}


def turns(*said: tuple[str, str]) -> list[Any]:
    return [SimpleNamespace(role=role, text=text) for role, text in said]


def chat(rounds: int = 60) -> list[Any]:
    """A long chat with one limit and one value in it."""
    out = turns(("system", "You are a helper."))
    for number in range(rounds):
        words = {7: "Never touch the table orders.", 20: "The staging host is at 10.4.77.3."}.get(
            number, WEATHER.format(number)
        )
        out += turns(("user", words), ("assistant", "I see, and I am going on."))
    return out


def run(*survived: bool, within: bool = True) -> Any:
    held = {f"fact-{number}": one for number, one in enumerate(survived)}
    return SimpleNamespace(
        rounds=[SimpleNamespace(survived=held, within_budget=within, output_chars=10, input_chars=100)]
    )


@pytest.mark.parametrize("budget", [400, 800, 1_600])
def test_a_budget_of_characters_is_kept_and_used(budget: int) -> None:
    text = Foldmark().compact(chat(), 1, budget).text
    assert budget // 3 < len(text) <= budget


def test_the_limit_and_the_newest_round_are_there_at_a_tenth() -> None:
    text = Foldmark().compact(chat(), 1, 500).text
    assert "Never touch the table orders." in text
    assert text.endswith(f"{WEATHER.format(59)}\nI see, and I am going on.")


def test_a_text_within_its_budget_is_not_compacted_again() -> None:
    first = Foldmark().compact(chat(), 1, 600).text
    assert Foldmark().compact(turns(("system", first)), 2, 600).text == first


def test_cutting_takes_whole_lines_from_the_top() -> None:
    assert cut("one\ntwo\nthree", 7) == "one\ntwo"
    assert cut("one\ntwo\nthree", 6) == "one"
    assert cut("one\ntwo", 100) == "one\ntwo"


def test_keep_last_takes_the_newest_whole_turns() -> None:
    given = turns(("user", "a" * 20), ("user", "b" * 20), ("user", "c" * 20))
    kept = keep_last(given, 60)
    assert kept.count("[user]") == 2
    assert "a" not in kept.replace("[user]", "")


def test_peers_do_not_carry_the_system_turn() -> None:
    text = Peer("keep-last", keep_last).compact(chat(), 1, 400).text
    assert "You are a helper" not in text
    assert len(text) <= 400


def test_survival_counts_facts_over_all_sessions_and_a_passed_budget_is_said() -> None:
    made = score([run(True, False), run(True, True, within=False)])
    assert made.survival == 0.75
    assert not made.fits
    assert made.lost == ("fact-1",)
    assert "75%*" in line("x", {"main": made})


def test_what_passes_the_budget_is_never_the_best() -> None:
    fits, fat = Score(0.4, True, 0.1), Score(0.9, False, 0.5)
    assert best([{"main": fits}, {"main": fat}])["main"] == fits
