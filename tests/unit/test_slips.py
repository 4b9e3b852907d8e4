"""A word that nothing holds is looked for as the known words one slip away; every other word stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark import MemoryStore, Session, SQLiteStore
from foldmark.events import user
from foldmark.retrieval.asking import question
from foldmark.retrieval.slips import MOST_LETTERS, MOST_MEANT, _spellings, mended
from foldmark.seeking import Finding
from foldmark.words import fold, words
from foldmark.words.folding import other_spelling

KNOWN = {"checkpoint": 9, "timeout": 4, "boundary": 2, "retries": 3, "database": 5, "сервера": 3, "сообщение": 2}


def meant(query: str, held: str = "", known: Mapping[str, int] = KNOWN) -> set[str]:
    """The terms that are looked for beside those that were asked for."""
    asked = question(query, 0.0)
    frequencies = {term: int(term in words(held)) for term in asked.terms}
    return set(mended(asked, Finding((), 10, frequencies), lambda: known).terms) - set(asked.terms)


@pytest.mark.parametrize(
    ("slip", "word"),
    [
        ("chekpoint", "checkpoint"), ("checkpiont", "checkpoint"), ("checkkpoint", "checkpoint"),
        ("checkpount", "checkpoint"), ("Chekpoints", "checkpoint"), ("timout", "timeout"), ("TIMEUOT", "timeout"),
        ("bounadry", "boundary"), ("dattabase", "database"), ("databse", "database"), ("сообшение", "сообщение"),
    ],
)  # fmt: skip
def test_one_slip_is_mended(slip: str, word: str) -> None:
    assert meant(f"where is the {slip}") == set(words(word))


@pytest.mark.parametrize(
    ("slip", "word"),
    [
        ("Grünwlad", "grünwald"), ("Grunwlad", "grünwald"), ("Größmnan", "größmann"), ("Schlüsel", "schlüssel"),
        ("Königsstrase", "königsstraße"), ("Ibáñze", "ibáñez"), ("proprietiare", "propriétaire"),
        ("Özdemri", "özdemir"), ("Pruefnug", "prüfung"), ("Schluesel", "schlüssel"), ("Gruenwlad", "grünwald"),
    ],
)  # fmt: skip
def test_a_word_with_accents_is_meant_too(slip: str, word: str) -> None:
    known = dict.fromkeys(
        ("grünwald", "größmann", "schlüssel", "königsstraße", "ibáñez", "propriétaire", "özdemir", "prüfung"), 2
    )
    assert set(words(word)) & meant(slip, known=known)


NAMES = ("JetStream", "RabbitMQ", "GitHub", "maxRetryCount", "PostgreSQL", "RabbitMQ-Cluster", "snake_cased_name")


@pytest.mark.parametrize(
    ("slip", "name"),
    [
        ("jetsream", "JetStream"), ("jetsteram", "JetStream"), ("JetStreem", "JetStream"), ("jtestream", "JetStream"),
        ("rabbtmq", "RabbitMQ"), ("RabitMQ", "RabbitMQ"), ("rabbitmqq", "RabbitMQ"), ("githbu", "GitHub"),
        ("maxretrycuont", "maxRetryCount"), ("postgersql", "PostgreSQL"), ("snakecasdname", "snake_cased_name"),
    ],
)  # fmt: skip
def test_a_name_of_several_words_is_meant_by_its_whole(slip: str, name: str) -> None:
    session = Session("s", clock=lambda: 1.0)
    session.record(user("The stream of the rabbit counts."), *(user(f"Here is {name} now.") for name in NAMES))
    assert session.search(slip)[0].ref == f"event:{NAMES.index(name) + 2}"


def test_words_that_join_to_no_name_of_the_session_are_none() -> None:
    session = Session("s", clock=lambda: 1.0)
    session.record(user("The jet flies."), user("A stream of water."))
    assert session.search("jetsream") == []


@pytest.mark.parametrize(
    "word", ["dimeout", "chckpint", "time", "timed", "tymoat", "src/chekpoint.py", "chek_point", "12345678", "東京都庁"]
)
def test_what_is_no_slip_stays_as_it_is(word: str) -> None:
    assert meant(word) == set()


@given(st.text("aäöüßéñøåæœłđıižŒÄÖÜẞčêйиж", min_size=1, max_size=12))
def test_words_with_accents_have_the_spellings_of_search(word: str) -> None:
    usual = fold(word)
    other = other_spelling(word, usual)
    assert _spellings(word) == ((usual, other) if other else (usual,))


def test_a_long_run_of_letters_is_no_slip() -> None:
    known = {"ab" * (MOST_LETTERS // 2): 1, "ab" * 5_000: 1}
    assert meant("ab" * (MOST_LETTERS // 2 - 1) + "a", known=known) == set(words("ab" * (MOST_LETTERS // 2)))
    assert meant("ab" * 4_999 + "a", known=known) == set()


def test_a_word_that_something_holds_is_no_slip() -> None:
    assert meant("chekpoint", held="the chekpoint of old") == set()
    asked = question("the timeout of a checkpoint", 0.0)
    held = Finding((), 10, dict.fromkeys(asked.terms, 1))
    assert mended(asked, held, lambda: pytest.fail("nobody needs the words of the session")) is asked


def test_of_many_that_may_be_meant_those_that_came_most_often_are() -> None:
    known = {"letter": 1, "better": 8, "lettar": 3, "lettor": 3, "letters": 2}
    assert meant("lettxr", known=known) == {*words("lettar"), *words("lettor")}
    assert len({"lettar", "lettor"}) == MOST_MEANT


def test_a_mended_word_is_told_as_it_stands_there() -> None:
    asked = question("chekpoint", 0.0)
    after = mended(asked, Finding((), 10, {"chekpoint": 0}), lambda: KNOWN)
    assert after.spoken == {"chekpoint": "chekpoint", "checkpoint": "checkpoint"}
    assert (after.text, after.names) == (asked.text, asked.names)


@pytest.mark.parametrize("make", [lambda path: MemoryStore(), lambda path: SQLiteStore(path / "s.db")])
def test_a_search_finds_what_was_meant_and_says_what_stands_there(
    make: Callable[[Path], MemoryStore | SQLiteStore], tmp_path: Path
) -> None:
    session = Session("s", store=make(tmp_path), clock=lambda: 1_000.0)
    session.record(user("The checkpoint has a timeout of 30 s."), user("Soup at noon."), user("No word of it."))
    first = session.search("chekpoint timout")[0]
    assert (first.ref, first.why) == ("event:1", "words: checkpoint, timeout")
    assert session.search("chckpint") == []


@given(st.text(max_size=60), st.dictionaries(st.text(min_size=1, max_size=9), st.integers(1, 5), max_size=6))
def test_no_query_and_no_words_break_it(query: str, known: dict[str, int]) -> None:
    asked = question(query, 0.0)
    after = mended(asked, Finding(), lambda: known)
    assert after.terms[: len(asked.terms)] == asked.terms
