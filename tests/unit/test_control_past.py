"""The history of a scope: every version with what made it, and between them what came to nothing."""

from __future__ import annotations

from typing import Any

from foldmark import Policy, Session
from foldmark.asking import Reply
from foldmark.events import Usage, assistant
from foldmark.prices import Price
from foldmark.reports import summed
from foldmark.testing import ScriptedModel, items_json
from telltale import steered, talk

TOLD = items_json(decisions=[("Invoice 6 is compared with ledger_6.csv", [14])])


def told(session: Session) -> list[tuple[str, int, int, int]]:
    return [(one.kind, one.version, one.source, one.boundary) for one in session.control.compactions()]


def test_every_version_says_what_made_it_and_from_which_it_was_made() -> None:
    session = steered()
    session.record(*talk(1, 40))
    session.compact(force=True)
    session.control.edit({"decisions": ["Refunds wait for the bank"]}, author="Ann")
    session.record(*talk(41, 80))
    session.compact(force=True)
    session.control.undo("compaction:1")
    session.control.undo(0)
    first, second = (session.control.history()[at].boundary for at in (0, 2))
    assert told(session) == [
        ("compaction", 1, 0, first), ("edit", 2, 1, first), ("compaction", 3, 2, second), ("undo", 4, 1, first),
        ("undo", 5, 0, 0),
    ]  # fmt: skip
    made = session.control.compactions()
    assert [one.ref for one in made] == [f"compaction:{n}" for n in range(1, 6)]
    assert [one.author for one in made] == ["code", "code, edited by Ann", "code, edited by Ann", "code", "code"]
    assert all(one.outcome == "applied" and one.before and one.after and one.time for one in made)
    assert [one.trigger for one in made] == ["manual", "edit", "manual", "undo", "undo"]


def test_what_a_compaction_took_stands_with_it() -> None:
    policy = Policy.coding(
        run="manual", budget={"landing_tokens": 4_000}, window=64_000, prices=Price(read=0.1, write=1.25)
    )
    session = steered(policy=policy, model=ScriptedModel(TOLD))
    session.record(*talk(1, 40))
    report = session.compact(force=True)
    only = session.control.compactions()[0]
    assert (only.outcome, only.before, only.after, only.target) == (
        "applied",
        report.before,
        report.after,
        report.target,
    )
    assert (only.calls, only.model, only.mode, only.noted) == (1, "scripted", "standalone", True)
    assert only.money == report.money
    assert only.tokens == session.control.history()[0].tokens


def test_attempts_that_came_to_nothing_stand_between() -> None:
    session = steered(model=ScriptedModel(TimeoutError("timed out")))
    session.record(*talk(1, 2))
    session.compact(force=True)
    session.record(*talk(3, 40))
    session.compact(force=True)
    session.record(assistant("Wait."))
    made = session.control.compactions()
    assert [(one.kind, one.outcome, one.version, one.ref) for one in made] == [
        ("attempt", "ineffective", 0, ""), ("compaction", "degraded", 1, "compaction:1"),
    ]  # fmt: skip
    assert made[0].reasons
    assert made[1].calls


def test_a_fork_tells_what_it_inherited_and_from_whom() -> None:
    session = steered()
    session.record(*talk(1, 40))
    session.compact(force=True)
    fork = steered(session.store)
    fork.follow([*session.store.log(session.key)[:-1], assistant("Invoice 40 is open.")])
    fork.record(*talk(41, 80))
    fork.compact(force=True)
    grandchild = steered(session.store)
    grandchild.follow([*fork.store.log(fork.key)[:-1], assistant("Invoice 80 is open.")])
    grandchild.control.undo()
    assert [(one.version, one.inherited) for one in fork.control.compactions()] == [(1, "s"), (2, "")]
    made = grandchild.control.compactions()
    assert [(one.version, one.kind, one.inherited) for one in made] == [
        (1, "compaction", "s"), (2, "compaction", fork.name), (3, "undo", ""),
    ]  # fmt: skip
    assert all(one.noted for one in made[:2]), "their notes come from where they were made"
    session.record(*talk(41, 80))
    session.compact(force=True)
    assert [one.inherited for one in session.control.compactions()] == ["", ""]


def test_the_whole_history_is_noted_however_few_notes_a_view_shows() -> None:
    session = steered()
    for turn in range(25):
        session.record(*talk(12 * turn + 1, 12 * turn + 12))
        session.compact(force=True)
    made = session.control.compactions()
    assert [one.version for one in made] == list(range(1, len(made) + 1))
    assert len(made) > 20
    assert all(one.noted for one in made)
    assert (made[0].trigger, made[0].before > made[0].after > 0) == ("manual", True)
    assert len(session.control.attempts()) < len(made)


def test_totals_hold_every_call_of_the_session_also_the_failed_ones_to_the_token() -> None:
    """S-OBS-03: the calls of compactions are in a total of their own, and it equals the provider's ledger."""
    answers: list[Any] = [
        Reply(text=items_json(), usage=Usage(input=1_000 + at, output=50, cache_read=100)) for at in range(4)
    ]
    answers += [TimeoutError("late"), Reply(text="I cannot.", usage=Usage(input=7, output=3))]
    model, price = (
        ScriptedModel(*answers, name="claude-haiku-4-5"),
        Price(read=0.1, write=1.25, dollars_per_million=3.0),
    )
    session = Session("s", policy=Policy.coding(prices=price), model=model)
    for turn in range(25):
        session.record(*talk(12 * turn + 1, 12 * turn + 12))
        session.compact(force=True, by_code=turn > 6)
    said = [answers[min(at, len(answers) - 1)] for at in range(len(model.asks))]
    ledger = [one for one in said if isinstance(one, Reply)]
    found = session.control.totals()
    assert found.calls == len(model.asks) > 6
    assert found.usage == summed(one.usage for one in ledger)
    assert found.attempts >= found.moved > 20
    assert found.dollars
    assert found.dollars > 0


def test_an_empty_history_is_empty() -> None:
    assert steered().control.compactions() == []
