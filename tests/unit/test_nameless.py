"""A query without the names of those who speak."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from foldmark.events import Event, assistant, result, user
from foldmark.retrieval import question
from foldmark.retrieval.nameless import nameless
from foldmark.seeking import Found, Piece

TALK = (user("Ann: I sold the lorry."), assistant("Bob Ray: To whom?"), user("Zoë: 好"), assistant("李雷： 再见"))


def of(query: str, events: Sequence[Event] = TALK) -> str:
    found = [Found(Piece(seq, 0, event.text), event) for seq, event in enumerate(events, 1)]
    return nameless(question(query, 0.0), found)


@pytest.mark.parametrize(
    ("query", "rest"),
    [
        ("What did Ann sell?", "What did sell?"),
        ("Where is Ann's lorry?", "Where is lorry?"),
        ("Where is Ann’s lorry?", "Where is lorry?"),
        ("Did Bob Ray buy the lorry of Ann?", "Did buy the lorry of ?"),
        ("Ann, Ann and the lorry", ", and the lorry"),
        ("When did Zoë meet the driver?", "When did meet the driver?"),
        ("Where did 李雷 drive?", "Where did drive?"),
    ],
)
def test_speakers_are_taken_out_of_a_query_that_names_them(query: str, rest: str) -> None:
    assert of(query) == rest


@pytest.mark.parametrize(
    "query",
    [
        "What was sold?",  # nobody
        "What did Eve sell?",  # nobody who speaks
        "Annual sales of Annapolis", "xAnn_1 sold",  # part of another word
        "Where is the lorry of Bob?",  # part of a name
        "Who is Ann?", "Ann", "Ann and Bob Ray", "",  # nothing else
    ],
)  # fmt: skip
def test_a_query_that_names_no_speaker_or_nothing_else_has_no_other_wording(query: str) -> None:
    assert of(query) == ""


def test_what_no_person_said_is_no_speaker() -> None:
    assert of("Where does the Error come from?", [result("call-1", "Error: no such file")]) == ""
    later = Found(Piece(1, 1, "Error: a second page"), user("long"))
    assert nameless(question("Where does the Error come from?", 0.0), [later]) == ""


def test_names_that_look_like_patterns_are_taken_as_they_stand() -> None:
    assert of("Did A.B. call?", [user("A.B.: yes")]) == "Did call?"
    assert of("Did AXB. call?", [user("A.B.: yes")]) == ""
