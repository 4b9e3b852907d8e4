"""The judge of `bench.longmem`: what counts as evidence in the prompt. Histories are invented."""

from __future__ import annotations

from collections import Counter

import pytest
from bench.longmem import Room, holds, is_located, newest, report, snippets_and_loads, snippets_only
from bench.longmem_cases import Case, History, content_words

from foldmark.events import assistant, user
from foldmark.memory import MemoryStore
from foldmark.session import Session
from foldmark.tokens import count

TEXTS = ["My walrus is called Otto.", "Nice name!", *(f"Filler number {n} about bread and rivers." for n in range(40))]
EVENTS = tuple((user if at % 2 == 0 else assistant)(text) for at, text in enumerate(TEXTS))
NAME = Case("planted", "What is the walrus called?", turns=(1,))
HISTORY = History("invented", EVENTS, (NAME,), 1_000.0)


def session() -> Session:
    made = Session("s", store=MemoryStore(), clock=lambda: HISTORY.now)
    made.record(*EVENTS)
    return made


@pytest.mark.parametrize("way", [snippets_only, snippets_and_loads])
def test_recalled_evidence_counts_and_the_last_tokens_that_end_before_it_do_not(way) -> None:  # type: ignore[no-untyped-def]
    made = session()
    assert holds(HISTORY, NAME, way(made, made.search(NAME.question), 200))
    assert not holds(HISTORY, NAME, newest(HISTORY, 200))
    assert holds(HISTORY, NAME, newest(HISTORY, 5_000))


def test_all_turns_of_a_case_are_needed() -> None:
    both = NAME._replace(turns=(1, 3))
    assert not holds(HISTORY, both, {1: TEXTS[0]})
    assert holds(HISTORY, both, {1: TEXTS[0], 3: f"…\n{TEXTS[2]}"})
    assert not holds(HISTORY, both, {1: TEXTS[2], 3: TEXTS[0]})


def test_half_a_short_turn_is_no_evidence_and_half_the_words_of_a_long_one_are() -> None:
    long = " ".join(f"word{n}" for n in range(100))
    history = HISTORY._replace(events=(user(long), user("short words of a turn")))
    assert holds(history, Case("", "", turns=(1,)), {1: " ".join(long.split()[:50])})
    assert not holds(history, Case("", "", turns=(1,)), {1: " ".join(long.split()[:49])})
    assert not holds(history, Case("", "", turns=(2,)), {2: "short words of"})


def test_an_answer_is_looked_for_in_the_named_session_alone_and_must_stand_there() -> None:
    case = Case("", "", within=(1, 2), answer=content_words("walrus Otto"))
    assert is_located(HISTORY, case)
    assert holds(HISTORY, case, {1: "the walrus is called Otto"})
    assert not holds(HISTORY, case, {5: "the walrus is called Otto"})
    assert not holds(HISTORY, case, {1: "the walrus"})
    assert not is_located(HISTORY, case._replace(within=(3, 4)))


def test_no_more_is_put_into_the_prompt_than_there_is_room() -> None:
    room = Room(30)
    while room.put(1, "a fairly long line of quite ordinary words"):
        pass
    assert count(room.shown[1]) <= 31
    assert not room.put(2, "more")
    assert not room.shown[2].strip()


def test_fewer_than_a_hundred_cases_give_no_percentage(capsys: pytest.CaptureFixture[str]) -> None:
    report(Counter({("planted", "snippets", 1_000): 9}), Counter({"planted": 10}))
    assert "%" not in capsys.readouterr().out
    report(Counter({("planted", "snippets", 1_000): 90}), Counter({"planted": 100}))
    assert "90 (90%)" in capsys.readouterr().out
