"""A plan is the compaction itself on a store that writes nothing: it cannot say anything else, and costs nothing."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark import MemoryStore, Policy, SQLiteStore
from foldmark.aio import AsyncSession
from foldmark.asking import Ask
from foldmark.control import Plan
from foldmark.drafts import payload_bytes
from foldmark.errors import NotFound
from foldmark.events import control, user
from foldmark.prices import Price
from foldmark.rounds import rounds
from foldmark.summarizer import Hooks, Summarizer
from foldmark.testing import AsyncScriptedModel, ScriptedModel, items_json
from telltale import STEERED, compacted, dump, steered, talk

PRICES = Price(read=0.1, write=1.25, dollars_per_million=3.0, as_of="made up")
TOLD = items_json(decisions=[("Invoice 6 is compared with ledger_6.csv", [14])])


def priced() -> Policy:
    return Policy.coding(run="manual", budget={"landing_tokens": 4_000}, window=64_000, prices=PRICES)


def seqs(listed: tuple[object, ...]) -> list[int]:
    return [one.seq for one in listed]  # type: ignore[attr-defined]


@given(
    st.integers(3, 40), st.booleans(), st.booleans(), st.sampled_from(["", "invoice 7"]), st.sampled_from([0, 1, 9, 30])
)
def test_a_plan_says_what_the_compaction_then_does(
    length: int, again: bool, force: bool, focus: str, upto: int
) -> None:
    session = steered()
    session.record(*talk(1, length))
    if again:
        session.compact(force=True)
        session.record(*talk(length + 1, length + 12))
    upto = min(upto, session.store.view(session.key).head)
    ref = f"event:{upto}" if upto else ""
    plan = session.control.preview(force=force, focus=focus, upto=ref)
    before = session.store.view(session.key)
    steps = session.control.plan(force=force, focus=focus, upto=ref)
    assert steps == Plan(**{name: getattr(plan, name) for name in Plan.__struct_fields__})
    assert session.store.view(session.key) == before
    report = compacted(session, force=force, focus=focus, upto=upto or None)
    said = (plan.outcome, plan.trigger, plan.before, plan.boundary, plan.version)
    newest = session.control.history()[-1:]
    version = report.version if report.outcome == "applied" else 0
    assert said == (report.outcome, report.trigger, report.before, report.boundary, version)
    view = session.store.view(session.key)
    if report.outcome == "applied":
        assert (plan.after, plan.target) == (report.after, report.target)
        assert seqs(plan.kept) == [event.seq for event in view.kept]
        assert plan.checkpoint == newest[0].text
    assert seqs(plan.stays) == [event.seq for event in view.events if event.role != "control"]
    assert payload_bytes(session.peek().payload()) == payload_bytes(plan.request.payload())


def test_every_event_goes_stays_or_is_kept() -> None:
    session = steered()
    session.record(*talk(1, 30), control("change", {"n": 1}))
    session.control.pin("event:5")
    first = session.control.plan(force=True)
    listed = [*seqs(first.goes), *seqs(first.stays), *seqs(first.kept)]
    log = session.store.log(session.key)
    assert sorted(listed) == [event.seq for event in log if event.role != "control"]
    assert 5 in seqs(first.kept)
    assert first.was == 0
    assert max(seqs(first.goes)) <= first.boundary < min(seqs(first.stays))
    session.compact(force=True)
    session.record(*talk(31, 50))
    second = session.control.plan(force=True)
    assert second.was == first.boundary
    assert min(seqs(second.goes)) > first.boundary
    assert 5 in seqs(second.kept)
    roles = {one.ref: one.role for one in second.goes}
    assert all(roles[f"event:{event.seq}"] == event.role for event in log if f"event:{event.seq}" in roles)


def test_a_plan_writes_nothing_and_the_next_request_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    store = SQLiteStore(path)
    session = steered(store, priced(), model=ScriptedModel(TOLD))
    session.record(*talk(1, 40))
    session.request(window=64_000)
    session.record(*talk(41, 60))
    before, held, state = session.peek(), dump(path), session.store.view(session.key)
    for arguments in ({}, {"force": True}, {"focus": "invoice 3"}, {"force": True, "upto": "event:20"}):
        session.control.plan(**arguments)  # type: ignore[arg-type]
        session.control.preview(**arguments)  # type: ignore[arg-type]
    session.control.plan(force=True, window=900_000, max_output=77, policy=Policy.chat())
    assert dump(path) == held
    assert session.store.view(session.key) == state
    after = session.peek()
    assert payload_bytes(after.payload()) == payload_bytes(before.payload())
    assert after.ceiling == before.ceiling, "another window was only looked at"
    store.close()


def test_no_model_and_no_hook_that_stands_in_for_one_is_called() -> None:
    heard: list[object] = []

    def on_ask(ask: Ask) -> None:
        heard.append(ask)

    model = ScriptedModel(TOLD)
    hooks = Hooks(on_ask=on_ask, on_reply=lambda ask, reply: heard.append(reply), after=lambda items: items)
    session = steered(summarizer=Summarizer(models=(model,), hooks=hooks))
    session.record(*talk(1, 40))
    plan = session.control.plan(force=True)
    assert plan.outcome == "applied"
    assert plan.asks is not None
    assert (model.asks, heard) == ([], [])
    session.compact(force=True)
    assert (len(model.asks), len(heard)) == (1, 2), "the compaction itself does call them"


@pytest.mark.parametrize("window", [6_000, 12_000, 64_000])
def test_a_plan_knows_what_the_model_would_be_asked(window: int) -> None:
    session = steered(model=ScriptedModel(TOLD, window=window), policy=priced())
    session.record(*talk(1, 40))
    plan = session.control.plan(force=True)
    report = session.compact(force=True)
    assert plan.asks is not None
    assert plan.asks.first == report.calls[0].tokens
    assert plan.asks.calls == report.calls[0].parts
    assert plan.asks.tokens == pytest.approx(sum(call.tokens for call in report.calls), rel=0.25)
    assert 0.97 * plan.after <= report.after <= plan.after + plan.told
    assert not [one for one in plan.warnings if "asks nobody" in one or "Degraded" in one]


def test_a_plan_of_a_fork_asks_by_the_next_request() -> None:
    said = "## decisions\n- Invoice 6 is compared with ledger_6.csv"
    session = steered(summarizer=Summarizer(models=(ScriptedModel(said),), fork=True), policy=priced())
    session.record(*talk(1, 40))
    session.request(window=64_000)
    plan = session.control.plan(force=True)
    report = session.compact(force=True)
    assert plan.asks is not None
    assert (plan.asks.mode, plan.asks.calls, plan.asks.first) == ("fork", 1, report.calls[0].tokens)
    assert report.calls[0].mode == "fork"
    assert "by a fork of the next request" in str(plan)
    assert plan.warnings == tuple(one for one in report.warnings if one in plan.warnings)


def test_a_plan_of_a_chain_that_must_answer_takes_it_that_it_does() -> None:
    session = steered(summarizer=Summarizer(models=(ScriptedModel(TOLD),), require_model=True))
    session.record(*talk(1, 40))
    plan = session.control.plan(force=True)
    assert plan.outcome == "applied"
    assert plan.asks is not None
    assert plan.boundary


def test_a_model_that_is_chosen_at_run_time_is_chosen_for_a_plan() -> None:
    model, asked = ScriptedModel(TOLD), []

    def choose(occasion: object) -> ScriptedModel:
        asked.append(occasion)
        return model

    session = steered(summarizer=choose)
    session.record(*talk(1, 40))
    plan = session.control.plan(force=True)
    assert (plan.asks.model if plan.asks else "", len(asked), model.asks) == ("scripted", 1, [])


def test_the_price_is_what_the_bill_then_is() -> None:
    session = steered(policy=priced())
    session.record(*talk(1, 40))
    session.request(window=64_000)
    plan = session.control.plan(force=True)
    report = session.compact(force=True)
    assert plan.money == report.money
    assert plan.money is not None
    assert plan.pays_after == plan.money.pays_after
    assert "paid back after" in str(plan)
    assert (plan.alive, plan.cached) == (plan.before, 0), "no static prefix: nothing stays valid"
    assert plan.written == plan.after


def test_the_static_prefix_stays_in_the_cache() -> None:
    session = steered(policy=priced())
    session.record(*talk(1, 40))
    session.request(window=64_000, system="You mend ledgers. " * 600)
    plan = session.control.plan(force=True)
    assert plan.cached > 1_500
    assert plan.cached + plan.written == plan.after


def test_a_session_without_prices_says_so() -> None:
    session = steered()
    session.record(*talk(1, 40))
    plan = session.control.plan(force=True)
    assert plan.money is None
    assert "no prices" in str(plan)


def test_a_plan_that_is_not_due_says_why_and_lists_what_stays() -> None:
    session = steered()
    session.record(*talk(1, 3))
    plan = session.control.plan()
    assert (plan.outcome, plan.goes, plan.version) == ("not_due", (), 0)
    assert "too short" in str(plan)
    assert len(plan.stays) == len(session.store.log(session.key))
    empty = steered().control.plan(force=True)
    assert (empty.outcome, empty.stays) == ("ineffective", ())
    assert str(empty)


def test_a_plan_reads_well_on_a_terminal() -> None:
    session = steered(model=ScriptedModel(TOLD), policy=priced())
    session.record(*talk(1, 60))
    session.control.pin("event:2")
    lines = str(session.control.plan(force=True)).split("\n")
    assert [line.split()[0] for line in lines[:9]] == [
        "plan", "goes", "kept", "stays", "size", "boundary", "asks", "price", "cache",
    ]  # fmt: skip
    assert len(lines) <= 11
    assert max(map(len, lines)) < 160


def test_a_focus_never_selects_and_upto_does() -> None:
    """S-OBS-05: what (`upto`) and how (`focus`) are two parameters, and the dry run lists the affected ids first."""
    session = steered()
    session.record(*talk(1, 40))
    plain = session.control.plan(force=True)
    focused = session.control.plan(force=True, focus="only the shell results of event:1 to event:10")
    assert seqs(focused.goes) == seqs(plain.goes)
    chosen = session.control.plan(force=True, upto="event:40")
    ends = [one.last for one in rounds(session.store.log(session.key)) if one.last <= 40]
    assert chosen.boundary == ends[-1]
    assert seqs(chosen.goes) == [seq for seq in seqs(plain.goes) if seq <= ends[-1]]
    with pytest.raises(NotFound):
        session.control.plan(force=True, upto="event:4000")
    with pytest.raises(NotFound, match="no event of this session"):
        session.control.plan(force=True, upto="compaction:1")


def test_upto_may_go_further_than_the_tail_but_keeps_the_newest_round() -> None:
    session = steered(policy=msgspec.structs.replace(STEERED, tail=msgspec.structs.replace(STEERED.tail, share=0.6)))
    session.record(*talk(1, 30), user("And now?"))
    head = session.store.view(session.key).head
    plain, far = session.control.plan(force=True), session.control.plan(force=True, upto=f"event:{head}")
    assert far.boundary > plain.boundary
    found = rounds(session.store.log(session.key))
    assert far.boundary == found[-3].last, "the last answer and the open question stay"


def test_nothing_before_the_record_can_be_chosen_again() -> None:
    session = steered()
    session.record(*talk(1, 40))
    session.compact(force=True)
    session.record(*talk(41, 60))
    plan = session.control.plan(force=True, upto="event:3")
    assert (plan.outcome, plan.goes) == ("ineffective", ())


def test_a_plan_of_an_async_session_awaits_nobody() -> None:
    model = AsyncScriptedModel(TOLD)
    session = AsyncSession("s", policy=STEERED, model=model)
    session.session.record(*talk(1, 40))
    plan = session.control.plan(force=True)
    assert (plan.outcome, plan.asks.model if plan.asks else "", model.asks) == ("applied", "scripted", [])


def test_a_scope_plans_and_undoes_its_own_past_alone() -> None:
    store = MemoryStore()
    whole, part = steered(store), steered(store, scope="team/left", sees="subtree")
    whole.record(*(msgspec.structs.replace(one, branch="team/left") for one in talk(1, 40)), *talk(41, 80))
    plan = part.control.plan(force=True)
    log = part.store.log(part.key)
    assert {one.seq for one in (*plan.goes, *plan.kept, *plan.stays)} == {event.seq for event in log}
    assert len(log) < len(whole.store.log(whole.key))
    part.compact(force=True)
    whole.compact(force=True)
    before = whole.peek().payload()
    part.control.undo()
    assert whole.peek().payload() == before
    assert [one.version for one in whole.control.history()] == [1]
    outside = whole.store.log(whole.key)[-1].seq
    with pytest.raises(NotFound, match="does not see"):
        part.control.plan(force=True, upto=f"event:{outside}")
