"""OBS in every way to run a compaction: hooks, switches and reports say what happened, each once, by whomever it was
made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from scenes import applied, checked, classes, pairs_of, text_of
from tellers import honest
from ways import REPORTED, TOLD, WAYS, Way, lived, policy_for

from foldmark import Policy, PolicyError, Reply, Session, Usage
from foldmark.around import Around, Planned, Protect, Veto
from foldmark.asking import Ask
from foldmark.events import assistant, user
from foldmark.reports import Attempt, Report, summed

PAST = pairs_of(40, 200, say="I decided to read on.")


class Counters:
    """Counts what the hooks are called for."""

    def __init__(self, answer: Any = None) -> None:
        self.answer, self.plans, self.ends = answer, list[Planned](), list[tuple[Planned, Report]]()

    def before(self, planned: Planned) -> Any:
        self.plans.append(planned)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def after(self, planned: Planned, report: Report) -> None:
        self.ends.append((planned, report))
        if isinstance(self.answer, Exception):
            raise self.answer

    def around(self, *, abort: bool = False) -> Around:
        return Around(before=self.before, after=self.after, abort=abort)


ENDS: dict[str, tuple[Sequence[Any], str]] = {
    "applied": ([honest], "applied"),
    "by code": ([], "applied"),
    "degraded": ([TimeoutError()], "degraded"),
    "failed": ([TimeoutError()], "failed"),
    "cancelled": ([KeyboardInterrupt()], "failed"),
}
"""What a model does, and how the attempt ends."""


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("way", WAYS)
def test_one_call_before_and_one_after_every_attempt_that_starts_and_none_below_a_threshold(
    way: str, end: str, store: Any
) -> None:
    """S-OBS-01: counters on both hooks, in every way to run and for every end: nothing below the threshold; one before
    and one after an attempt that starts, with its trigger, its sizes and its ids."""
    script, outcome = ENDS[end]
    counters = Counters()
    one = Way(way, store, *script, around=counters.around(), require_model=end == "failed")
    one.record(user("Go."), *pairs_of(2, 60))
    assert one.compacted().outcome == "not_due"
    assert (counters.plans, counters.ends) == ([], [])
    one.record(*pairs_of(40, 200, start=10, say="I decided to read on."))
    try:
        one.compacted()
    except KeyboardInterrupt:
        assert end == "cancelled"
    [plan], [(shown, report)] = counters.plans, counters.ends
    assert shown is plan
    assert report.outcome == outcome
    assert (plan.session, plan.run) == ("s", REPORTED.get(way, way))
    assert plan.trigger == ("agent" if way == "tool" else "size")
    assert plan.before == report.before > plan.target
    assert sorted((*plan.covered, *plan.tail)) == list(range(1, 86))
    assert plan.boundary == plan.covered[-1]
    assert plan.covered_tokens + plan.tail_tokens <= plan.before
    before = list(counters.plans)
    one.session.control.plan(force=True)
    one.session.peek()
    assert counters.plans == before, "a look is no attempt"


@pytest.mark.parametrize("abort", [False, True], ids=["goes on", "abort"])
@pytest.mark.parametrize("way", WAYS)
def test_a_hook_that_raises_follows_the_policy_that_was_set_for_it(way: str, abort: bool, store: Any) -> None:
    """S-OBS-01: passed over, or with `abort` the end of the attempt, with nothing changed and nothing lost."""
    counters, reports = Counters(RuntimeError("no network")), list[Report]()
    one = lived(way, store, "model", around=counters.around(abort=abort), on_report=reports.append)
    one.record(user("Go."), *PAST)
    before = one.session.peek().payload()
    if abort and way not in ("worker", "idle"):
        with pytest.raises(PolicyError, match="no network"):
            one.compacted()
    else:
        one.compacted()
    assert [report.outcome for report in reports] == ["failed" if abort else "applied"]
    assert applied(one.session) == int(not abort)
    assert len(counters.plans) == len(counters.ends) == 1
    if abort:
        assert one.model.asks == []
        assert one.session.peek().payload() == before


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("way", WAYS)
def test_a_hook_gets_the_plan_protects_three_messages_and_hears_what_became_of_it(
    way: str, told: str, store: Any
) -> None:
    """S-OBS-02: the hook sees what is covered, kept and stays, with sizes, and protects three messages: they stand
    verbatim in the request, once, and what it hears afterwards is what happened."""
    saved = (9, 33, 57)
    counters = Counters(Protect(saved))
    one = lived(way, store, told, around=counters.around())
    one.record(user("Go."), *PAST)
    report = one.compacted()
    [plan], [(_, heard)] = counters.plans, counters.ends
    assert report.outcome == heard.outcome == "applied"
    assert set(saved) <= set(plan.covered)
    assert (heard.boundary, heard.version, heard.before) == (report.boundary, 1, plan.before)
    found = classes(one.session)
    assert {seq for seq, status in found.items() if status == "kept"} >= set(saved)
    gone = {seq for seq, status in found.items() if status == "covered"}
    assert gone == {*range(1, heard.boundary + 1)} - {seq for seq, status in found.items() if status == "kept"}
    assert heard.events == heard.boundary, "newly covered, the protected ones among them"
    text = text_of(checked(one.session).payload())
    for seq in saved:
        (event,) = one.session.load(f"event:{seq}").events
        assert event.result
        assert text.count(event.result.text) == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_veto_holds_back_whoever_compacts_and_leaves_the_request_as_it_was(way: str, store: Any) -> None:
    """S-OBS-02: the hook says no: nothing is asked or changed, and the report says who held it back."""
    counters = Counters(Veto("the user is typing"))
    one = lived(way, store, "model", around=counters.around())
    one.record(user("Go."), *PAST)
    before = one.session.peek().payload()
    report = one.compacted()
    assert (report.outcome, report.text) == ("deferred", "Held back by a hook: the user is typing")
    assert (one.model.asks, applied(one.session)) == ([], 0)
    assert one.session.peek().payload() == before
    assert [heard.outcome for _, heard in counters.ends] == ["deferred"]


@pytest.mark.parametrize("way", WAYS)
def test_the_totals_of_a_session_and_the_reports_of_all_are_the_providers_ledger(way: str, store: Any) -> None:
    """S-OBS-03: twelve turns whose replies report 150 tokens, and summary calls of 192,000: the turns come to 1,800,
    and the totals of the compactions, and what listeners heard of them, are the provider's own ledger, to the token,
    each under the run it was made by."""
    ledger, reports = list[Usage](), list[Report]()

    def costly(ask: Ask) -> Reply:
        made = Reply(text=honest(ask).text, usage=Usage(input=192_000, output=900, cache_read=4_000))
        ledger.append(made.usage)
        return made

    one = Way(way, store, costly, on_report=reports.append)
    for turn in range(12):
        one.record(user(f"Go {turn}."), *pairs_of(5, 200, start=turn * 40, say=f"I decided on {turn}."))
        one.compacted()
        one.record(assistant("Done.", usage=Usage(input=150, output=3)))
        one.worker.drain()
    turns = [event.usage.input for event in store.log(one.session.key) if event.usage]
    assert sum(turns) == 1_800, "the calls of compactions are no turns"
    assert len(ledger) == applied(one.session) >= 2
    told = one.session.control.totals()
    assert (told.calls, told.moved) == (len(ledger), len(ledger))
    assert told.usage.input == 192_000 * len(ledger)
    assert told.usage == summed(ledger) == summed(report.usage for report in reports)
    assert told.usage == summed(done.usage for done in one.session.control.compactions())
    assert {report.run for report in reports if report.calls} == {REPORTED.get(way, way)}
    assert {done.run for done in one.session.control.compactions()} == {REPORTED.get(way, way)}
    assert Session("s", store=store).control.totals() == told, "and so says another object, and a later one"


def test_totals_hold_the_calls_that_failed_and_those_of_long_ago(store: Any) -> None:
    """S-OBS-03: calls that were billed and brought nothing are in the totals, and so is what stands too far back for a
    look at the session to show it."""
    ledger = list[Usage]()

    def unsteady(ask: Ask) -> Reply:
        usage = Usage(input=1_000 + len(ledger), output=7, cache_read=len(ledger), cache_write=3)
        ledger.append(usage)
        return Reply(text=honest(ask).text if len(ledger) % 2 else "", usage=usage)

    one = Way("worker", store, unsteady)
    for turn in range(4):
        one.record(*pairs_of(30, 150, start=turn * 40, say=f"I decided on {turn}."))
        assert one.compacted().outcome in ("applied", "degraded")
    told = one.session.control.totals()
    assert (told.attempts, told.calls) == (4, len(ledger))
    assert len(ledger) > 4, "one was asked twice"
    assert told.usage == summed(ledger)
    for _ in range(60):
        ledger.append(Usage(input=5, output=1))
        note = Attempt(time=one.clock.advance(60.0), outcome="failed", calls=1, model="scripted", usage=ledger[-1])
        store.note(one.session.key, note)
    told = one.session.control.totals()
    assert len(store.view(one.session.key).attempts) < told.attempts == 64
    assert (told.calls, told.moved, told.usage) == (len(ledger), 4, summed(ledger))


def test_off_means_the_same_list_whoever_else_is_there(store: Any) -> None:
    """S-OBS-04: with `run="manual"` nothing is compacted, no work is raised, and a worker that runs finds none; of what
    `fit` takes away at the limit every event is listed with its id."""
    off = Policy.coding(run="manual", window=6_000, admission={"limit_tokens": 1_000_000}, cleanup={"demote": False})
    one = Way("worker", store, policy=off)
    one.record(user("Go."))
    forced = 0
    for number in range(40):
        one.record(*pairs_of(1, 200, start=number), assistant(f"Step {number} is done."))
        request = checked(one.session, max_output=1_000)
        listed = {change.seq for change in request.report.changes}
        log = store.log(one.session.key)
        shown = {event.seq: event for event in request.messages if event.seq}
        different = {event.seq for event in log if event.seq not in shown or shown[event.seq].parts != event.parts}
        assert different <= listed
        assert {seq for seq, status in classes(one.session).items() if status != "raw"} == listed
        forced += bool(listed)
        assert one.worker.run_once() is None
    assert forced > 10, "it never came to the limit"
    assert (applied(one.session), store.backlog(one.clock()).dirty) == (0, 0)


def test_off_in_one_session_is_off_for_a_worker_that_serves_many(store: Any) -> None:
    """S-OBS-04: a worker and two sessions of one store: what comes into the one that is off is no work for it."""
    one = lived("worker", store)
    off = Session("off", store=store, policy=policy_for("caller"), clock=one.clock)
    for session in (one.session, off):
        session.control.enlist()
        session.record(user("Go."), *PAST, assistant("That is all for now."))
    assert [report.session for report in one.worker.drain()] == ["s"]
    assert off.control.history() == []
    assert off.peek().report.changes == ()


@pytest.mark.parametrize("way", ["caller", "worker"])
def test_a_dry_run_lists_what_the_compaction_then_covers_and_undo_restores_it(way: str, store: Any) -> None:
    """S-OBS-05: first the plan with the ids, then the same compaction, by hand or by a worker, then undo: the exact
    earlier prompt."""
    one = lived(way, store)
    one.record(user("Go."), *PAST)
    one.session.request()
    before = one.session.peek().payload()
    one.clock.advance(60.0)
    plan = one.session.control.plan()
    report = one.run()
    assert report
    assert (plan.boundary, plan.version, plan.after) == (report.boundary, 1, report.after)
    found = classes(one.session)
    assert [event.seq for event in plan.goes] == [seq for seq, status in found.items() if status == "covered"]
    assert [event.seq for event in plan.kept] == [seq for seq, status in found.items() if status == "kept"]
    assert [event.seq for event in plan.stays] == [seq for seq in found if seq > report.boundary]
    one.session.control.undo()
    assert one.session.peek().payload() == before


@pytest.mark.parametrize("focus", ["", "only the shell results", "event:70"])
@pytest.mark.parametrize("told", TOLD)
def test_what_is_selected_goes_and_the_focus_has_no_say_in_it(focus: str, told: str, store: Any) -> None:
    """S-OBS-05: `upto` selects, `focus` says how: the plan lists the ids, the compaction covers just those, and undo
    restores the prompt."""
    one = lived("caller", store, told)
    one.record(user("Go."), *PAST)
    one.session.request()
    before = one.session.peek().payload()
    plan = one.session.control.plan(force=True, focus=focus, upto="event:41")
    report = one.session.compact(force=True, focus=focus, upto="event:41")
    assert (report.outcome, report.boundary, plan.boundary) == ("applied", 41, 41)
    found = classes(one.session)
    assert [event.seq for event in plan.goes] == [seq for seq, status in found.items() if status == "covered"]
    assert all(found[seq] == "raw" for seq in range(42, 82))
    one.session.control.undo()
    assert one.session.peek().payload() == before
