"""Why a hit is one: what was said only beside it is told with the event that says it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark import MemoryStore
from foldmark.events import assistant, user
from foldmark.refs import parse
from foldmark.session import Session
from foldmark.tools import recall_tools
from foldmark.words import words

_RUN = re.compile(r"(?:^near: |, )([^:;]*?) in (event:\S+?)(?=,|$)")


def near_of(why: str) -> list[tuple[list[str], str]]:
    """What a reason tells of the events beside a hit: (words, ref of their event) of each."""
    near = next((told for told in why.split("; ") if told.startswith("near: ")), "")
    return [(run.split(", "), ref) for run, ref in _RUN.findall(near)]


def session_of(*texts: str) -> Session:
    session = Session("s", clock=lambda: 1.0)
    session.record(*((assistant if at % 2 else user)(text, time=60.0 * at) for at, text in enumerate(texts)))
    return session


def test_a_hit_that_holds_no_word_of_the_query_says_which_event_beside_it_does() -> None:
    session = session_of("Where does the walrus sleep these days?", "In the old bathtub, I think.")
    why = {hit.ref: hit.why for hit in session.search("where does the walrus sleep")}
    assert why["event:2"] == "near: walrus, sleep in event:1"


def test_words_of_several_events_stand_with_their_own() -> None:
    session = session_of("The walrus is here.", "It is a fine morning.", "He likes the harbour.", "I see it now.")
    why = {hit.ref: hit.why for hit in session.search("walrus harbour")}
    assert why["event:2"] == "near: walrus in event:1, harbour in event:3"


def test_of_two_events_that_say_a_word_the_nearer_one_is_told() -> None:
    session = session_of("The walrus ate.", "The walrus sleeps.", "It is a fine morning.", "The walrus swam.")
    why = {hit.ref: hit.why for hit in session.search("walrus sleeps", limit=9)}
    assert why["event:3"] == "near: walrus, sleeps in event:2"


def test_the_event_beside_a_hit_of_another_session_is_of_that_session() -> None:
    store = MemoryStore()
    theirs, mine = (Session(name, store=store, clock=lambda: 1.0) for name in ("theirs", "mine"))
    theirs.record(user("Where does the walrus sleep these days?"), assistant("In the old bathtub, I think."))
    mine.record(user("Hello."))
    found = {hit.ref: hit.why for hit in mine.search("where does the walrus sleep", where="others")}
    assert found["event:2@theirs"] == "near: walrus, sleep in event:1@theirs"


def test_a_tool_shows_the_ref_whole_however_many_words_are_told() -> None:
    names = [f"configuration{letter}setting" for letter in "abcdefgh"]
    session = session_of(f"Which of {' '.join(names)} is it now?", "The old one, I think.", "Thanks a lot.", "Well.")
    search, load = recall_tools(session)
    head = next(line for line in search({"query": " ".join(names)}).split("\n") if line.startswith("[event:2"))
    assert names[0] in load({"ref": re.findall(r" in (event:\d+)\]$", head)[0]})


SAID = st.lists(st.sampled_from(("walrus", "harbour", "bathtub", "morning", "kettle", "noon", "the")), max_size=6)


@given(st.lists(SAID, min_size=2, max_size=9))
def test_what_is_told_of_an_event_beside_a_hit_stands_there_and_not_in_the_hit(turns: list[list[str]]) -> None:
    texts = [" ".join([*turn, "so it went on"]) for turn in turns]
    session = session_of(*texts)
    for hit in session.search("walrus harbour bathtub", limit=20):
        own = parse(hit.ref).seq
        for told, ref in near_of(hit.why):
            there = parse(ref).seq
            assert 1 <= abs(there - own) <= 2
            for word in told:
                assert set(words(word)) <= set(words(texts[there - 1]))
                assert not set(words(word)) & set(words(texts[own - 1]))
        if hit.why.startswith("near: "):
            assert near_of(hit.why), "what only stands beside the words says where they are"


@pytest.mark.parametrize("text", ["The walrus sleeps.", "Walrus: sleeping again."])
def test_a_hit_that_holds_every_word_tells_of_no_other_event(text: str) -> None:
    session = session_of("The walrus sleeps today.", text, "The walrus slept, I say.")
    assert all("near: " not in hit.why for hit in session.search("walrus sleeps"))
