"""Questions in many scripts find the event that answers them among the first five, in every store.

A sample holds questions (`? mark | question`) and the events of a session (`u: text` or `a: text`, with the mark of
the question that they answer as `u#mark: text`). Every session has 60 events or more; about half of them share words
with a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from foldmark import MemoryStore, Session, SQLiteStore
from foldmark.events import Event, assistant, user
from foldmark.words import telling, words

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "scripts"
SCRIPTS = sorted(path.stem for path in SAMPLES.glob("*.txt"))
_LINE = re.compile(r"([ua])(?:#(\w+))?: (.+)")


class Sample(NamedTuple):
    """`questions` are (question, seq of the event that answers it)."""

    events: list[Event]
    questions: list[tuple[str, int]]


def sample(script: str) -> Sample:
    asked: dict[str, str] = {}
    events: list[Event] = []
    gold: dict[str, int] = {}
    for line in (SAMPLES / f"{script}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("? "):
            mark, _, question = line[2:].partition(" | ")
            asked[mark] = question
        else:
            found = _LINE.fullmatch(line)
            assert found, f"{script}: {line!r} is neither a question nor an event"
            events.append(user(found[3]) if found[1] == "u" else assistant(found[3]))
            if found[2]:
                gold[found[2]] = len(events)
    assert asked.keys() == gold.keys(), f"{script}: questions and answers do not pair"
    return Sample(events, [(question, gold[mark]) for mark, question in asked.items()])


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore | SQLiteStore]:
    made = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "s.db")
    yield made
    made.close()


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_question_finds_its_answer_among_the_first_five(script: str, store: MemoryStore | SQLiteStore) -> None:
    told = sample(script)
    session = Session("s", store=store, clock=lambda: 1_000.0)
    session.record(*told.events)
    missed = []
    for question, seq in told.questions:
        found = [hit.ref for hit in session.search(question, limit=5)]
        if f"event:{seq}" not in found:
            missed.append(f"{question} wants event:{seq}, found {found}")
    assert not missed, "\n".join(missed)


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_sample_is_long_its_questions_copy_no_answer_and_half_of_it_shares_their_words(script: str) -> None:
    told = sample(script)
    asked = set().union(*(telling(words(question)) for question, _ in told.questions))
    answers = {seq for _, seq in told.questions}
    others = [event for seq, event in enumerate(told.events, 1) if seq not in answers]
    assert len(told.events) >= 60
    assert len(told.questions) >= 10
    assert 2 * sum(not asked.isdisjoint(words(event.text)) for event in others) >= len(others)
    for question, seq in told.questions:
        answer = told.events[seq - 1].text
        assert set(telling(words(question))) - set(words(answer)), question
        assert question.rstrip("?？؟ ") not in answer
