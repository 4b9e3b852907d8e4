"""What holds no word of a query and still answers it: the agent's words right behind the only line that holds any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foldmark.events import assistant, user
from foldmark.memory import MemoryStore
from foldmark.session import Session
from foldmark.sqlite import SQLiteStore

ANSWER = "I decided to use NATS JetStream, which needs no broker beside it."


@pytest.fixture(params=["memory", "sqlite"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Session:
    store: Any = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "agent.db")
    session = Session("s", store=store)
    session.record(*(user(f"note {number} about harvest of field {number}") for number in range(20)))
    return session


def test_where_one_word_of_a_question_stands_anywhere_the_answer_right_behind_it_comes_too(session: Session) -> None:
    session.record(user("Decide the queue."), assistant(ANSWER), user("Thank you very much for this."))
    first, second = session.search("which queue did we choose")
    assert (first.ref, second.ref) == ("event:21", "event:22")
    assert second.why == "near: queue in event:21"


def test_only_the_agents_words_right_behind_are_an_answer(session: Session) -> None:
    session.record(assistant(ANSWER), user("Decide the queue."), user("And the colour of the barn door."))
    assert [hit.ref for hit in session.search("which queue did we choose")] == ["event:22"]


def test_words_that_are_no_question_bring_what_holds_it(session: Session) -> None:
    session.record(user("Decide the queue."), assistant(ANSWER))
    for query in ("queue", "queue chosen"):
        assert [hit.ref for hit in session.search(query)] == ["event:21"]
