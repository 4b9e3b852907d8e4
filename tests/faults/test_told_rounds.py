"""Ten compactions in a row with a rolling narrative: what is exact stays exact, what is over stays over."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import pytest
from scenes import RAW, checked_on_all, fresh, pairs_of, text_of
from tellers import adds, checked_ask, honest, quoting, telling

from foldmark import Policy, Session
from foldmark.checkpoint import Checkpoint, Field
from foldmark.events import Event, ToolCall, assistant, result, user

FIRST = "Never touch the schema of ledger_v2, and keep every date in ISO form."
HASHES = ["9f2c41ab77d0e1f2a3b4c5d6e7f8091a2b3c4d5e", "0d3ae71"]
PATHS = ["src/pay/refund_idempotency.py", "/app/migrations/0042_add_key.sql"]
DAY = "2026-03-14"
DECIDED = f"I decided to build on commit {HASHES[1]} in {PATHS[0]}, since {DAY} is the deadline."
FAILED = f"The lock in {PATHS[1]} failed: deadlock on row 4711."
ROUNDS = 10


def todo(number: int, **states: str) -> list[Event]:
    """A todo list as the agent writes it."""
    names = {
        "lock": "Add the row lock",
        "report": "Write the weekly report",
        "migrate": "Migrate ledger_v2 to ledger_v3",
    }
    items = [{"content": names[name], "status": status} for name, status in states.items()]
    call = ToolCall(f"todo{number}", "TodoWrite", json.dumps({"todos": items}))
    return [assistant("", call), result(call.id, "ok")]


def began(teller: Any, target: int = 3_000) -> Session:
    session, _ = telling(teller, policy=Policy.coding(budget={"target_tokens": target}, admission=RAW))
    session.record(
        user(f"Make refunds idempotent by {DAY}. {FIRST}"),
        assistant("", ToolCall("log", "bash", '{"command":"git log -1"}')),
        result("log", f"commit {HASHES[0]}\nAuthor: A\nDate: {DAY}"),
        assistant(DECIDED),
        assistant(FAILED),
        *todo(0, lock="in_progress", report="pending", migrate="pending"),
    )
    return session


@lru_cache(maxsize=8)
def life(name: str) -> tuple[Session, list[Checkpoint]]:
    """A session of ten rounds with one of the tellers, and its records; tests only read it."""
    session = began(TELLERS[name])
    return session, lived(session)


def lived(session: Session) -> list[Checkpoint]:
    """Ten rounds of work, a compaction behind each. The lock is finished in round 3, the migration cancelled in 5."""
    for number in range(1, ROUNDS + 1):
        states = {
            "lock": "completed" if number >= 3 else "in_progress",
            "report": "pending",
            "migrate": "cancelled" if number >= 5 else "pending",
        }
        session.record(*pairs_of(14, 240, start=number * 20, say=f"I read part {number} now."), *todo(number, **states))
        if number == 5:
            session.record(
                user("Cancel the migration of ledger_v2 to ledger_v3, we do not need it."), assistant("Cancelled.")
            )
        session.record(user(f"Go on with part {number}."))
        assert session.compact(force=True, window=128_000).outcome in ("applied", "degraded")
    return session.control.history()


LIES = adds(
    next_steps=["Migrate ledger_v2 to ledger_v3", "Add the row lock"],
    current_work=["Migrating ledger_v2 to ledger_v3"],
    decisions=["Build on commit 0d3ae72 in src/pay/refund_idempotencies.py", "The deadline is 2026-03-15"],
)


TELLERS = {"honest": honest, "quoting": quoting, "lying": LIES}


@pytest.mark.parametrize("teller", TELLERS)
def test_ten_compactions_keep_hashes_paths_and_the_first_constraint_to_the_letter(teller: str) -> None:
    """S-SUMQ-06, S-LOSS-04: byte-equal in each of ten records and in the requests of every wire, and nothing that looks
    nearly the same stands beside them."""
    session, records = life(teller)
    assert len(records) == ROUNDS
    for record in records:
        assert FIRST in record.text
        for exact in (HASHES[1], PATHS[0], DAY):
            assert exact in record.text, (record.version, exact)
        for wrong in ("0d3ae72", "refund_idempotencies", "2026-03-15"):
            assert wrong not in record.text
    for request in checked_on_all(session):
        text = text_of(request.payload())
        for exact in (FIRST, HASHES[1], PATHS[0], DAY):
            assert exact in text
    assert session.search(HASHES[0])[0].ref.startswith("event:")
    boundaries = [record.boundary for record in records]
    assert boundaries == sorted(set(boundaries))
    assert max(record.tokens for record in records) <= 3_000


@pytest.mark.parametrize("teller", ["honest", "lying"])
def test_a_decision_and_a_failure_keep_their_wording_and_their_events_for_ten_rounds(teller: str) -> None:
    """S-SUMQ-08: told once, in the first round, and never again by the model: the same words and refs in the tenth."""
    _, records = life(teller)
    for field, words in (("decisions", DECIDED), ("failed_approaches", FAILED)):
        first = [item for item in records[0].narrative if item.text == words]
        assert [item.field for item in first] == [field]
        assert first[0].verified
        for record in records:
            assert [item for item in record.narrative if item.text == words] == first, record.version


@pytest.mark.parametrize("teller", ["honest", "lying"])
def test_finished_work_moves_and_cancelled_tasks_stay_cancelled(teller: str) -> None:
    """S-LOSS-03, S-LOSS-06: from the round on in which the lock was done and the migration cancelled, no record has
    either as a step or as work, and what is open stays open."""
    _, records = life(teller)
    open_fields: tuple[Field, ...] = ("next_steps", "current_work")
    for record in records:
        told = [item.text for item in record.narrative if item.field in open_fields]
        todos = "\n".join(line.text for section in record.sections if section.title == "Todo" for line in section.lines)
        assert "Write the weekly report" in todos
        if record.version > 4:
            assert not [text for text in told if "lock" in text], record.version
            assert "Add the row lock" not in [line[4:] for line in todos.split("\n") if line.startswith("[ ] ")]
        if record.version > 6:
            assert not [text for text in told if "igrat" in text], record.version
    if teller == "lying":
        assert any("igrat" in item.text for item in records[0].narrative), "before it was cancelled it was a step"


def test_work_and_steps_are_those_of_the_newest_answer() -> None:
    """S-SUMQ-08: current work of round one is not current in round ten; the notes are shown to the model each time."""
    session, records = life("honest")
    works = [[item.text for item in record.narrative if item.field == "current_work"] for record in records]
    assert all(len(work) <= 1 for work in works)
    assert works[0] != works[-1]
    model = session.summarizer.models[0]  # type: ignore[union-attr]
    assert all(HASHES[1] in checked_ask(ask) for ask in model.asks)
    assert sum("[event:5 agent]" in ask.prompt or DECIDED in ask.prompt for ask in model.asks) == len(model.asks)


def test_ten_rounds_without_a_model_hold_the_same_constraint() -> None:
    """The floor under this file: what code keeps alone."""
    session = fresh(Policy.coding(budget={"target_tokens": 3_000}, admission=RAW))
    session.record(user(f"Make refunds idempotent. {FIRST}"), *pairs_of(20, 200))
    assert session.compact(force=True, window=128_000).outcome == "applied"
    assert FIRST in session.control.history()[-1].text
