"""Your code round an attempt: it sees the plan, may protect events or stop it, and hears what came of it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from foldmark import Policy, PolicyError, Session, user
from foldmark.aio import AsyncSession
from foldmark.around import Around, Planned, Protect, Veto
from foldmark.driving import drive
from foldmark.reports import Report
from foldmark.testing import ScriptedModel, items_json
from making import long_session, tool_round
from waiting import LONG

POLICY = Policy.coding(budget={"landing_tokens": 3_000, "trigger_tokens": 8_000, "nothing_below": 3_000})


class Seen:
    """Counts its calls and gives a set answer."""

    def __init__(self, answer: Any = None) -> None:
        self.answer, self.plans, self.ends = answer, list[Planned](), list[tuple[Planned, Report]]()

    def before(self, planned: Planned) -> Any:
        self.plans.append(planned)
        return self.answer(planned) if callable(self.answer) else self.answer

    def after(self, planned: Planned, report: Report) -> None:
        self.ends.append((planned, report))

    @property
    def around(self) -> Around:
        return Around(before=self.before, after=self.after)


def session(seen: Seen, rounds: int = 40, **options: Any) -> Session:
    made = Session("s", policy=options.pop("policy", POLICY), around=seen.around, **options)
    made.record(*long_session(rounds, 20))
    return made


def test_a_hook_is_called_once_before_and_once_after_an_attempt_that_starts() -> None:
    """S-OBS-01"""
    seen = Seen()
    report = session(seen).compact()
    assert (len(seen.plans), len(seen.ends)) == (1, 1)
    assert seen.ends[0] == (seen.plans[0], report)
    assert report.outcome == "applied"


@pytest.mark.parametrize("by", ["request", "compact", "force", "overflow", "tool"])
def test_whatever_starts_an_attempt_the_hooks_are_called_once(by: str) -> None:
    """S-OBS-01"""
    seen = Seen()
    made = session(seen)
    if by == "request":
        made.request(window=100_000)
    elif by == "overflow":
        made.overflowed(ValueError("maximum context length is 20000 tokens, your messages resulted in 31000 tokens"))
    elif by == "tool":
        drive(made.compact_steps(run="tool"), made.lock)
    else:
        made.compact(force=by == "force")
    assert (len(seen.plans), len(seen.ends)) == (1, 1)


def test_below_a_threshold_nothing_is_called() -> None:
    """S-OBS-01"""
    seen = Seen()
    made = session(seen, 3)
    assert made.compact().outcome == "not_due"
    assert made.request(window=100_000).report.outcome == "not_due"
    made = Session("t", policy=POLICY, around=seen.around)
    made.record(user("only this"))
    assert made.compact(force=True).outcome == "ineffective", "nothing to cover: nothing has started"
    assert not seen.plans
    assert not seen.ends


def test_a_failed_attempt_and_a_cancelled_one_tell_the_hook_too() -> None:
    """S-OBS-01"""
    seen = Seen()
    made = session(seen, model=ScriptedModel(KeyboardInterrupt(), items_json()))
    with pytest.raises(KeyboardInterrupt):
        made.compact()
    assert [report.outcome for _, report in seen.ends] == ["failed"]
    assert made.compact(force=True).outcome in ("applied", "degraded")
    assert seen.ends[0][1].outcome == "failed"
    assert len(seen.plans) == len(seen.ends) == 2


def test_a_cancelled_awaited_attempt_tells_the_hook_once() -> None:
    """S-OBS-01"""
    seen = Seen()

    async def slow(ask: object) -> str:
        await asyncio.sleep(30)
        return items_json()

    async def scenario() -> None:
        made = AsyncSession("s", policy=POLICY, around=seen.around, model=slow)
        await made.record(*long_session(40, 20))
        running = asyncio.create_task(made.compact())
        while not seen.plans:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(scenario())
    assert [report.outcome for _, report in seen.ends] == ["failed"]


def test_the_plan_names_what_goes_and_what_stays() -> None:
    """S-OBS-02"""
    seen = Seen()
    made = session(seen)
    report = made.compact()
    plan = seen.plans[0]
    entries = {entry.seq: entry.status for entry in made.explain()}
    assert plan.boundary <= max(plan.covered)
    assert {seq for seq, status in entries.items() if status == "covered"} >= {*plan.covered} - {*plan.kept} - {
        seq for seq, status in entries.items() if status == "raw"
    }
    assert sorted((*plan.covered, *plan.tail)) == sorted(entries)
    assert (plan.was, plan.run, plan.trigger, plan.before) == (0, "caller", report.trigger, report.before)
    assert plan.covered_tokens > plan.tail_tokens


def test_what_a_hook_protects_stays_verbatim_this_once() -> None:
    """S-OBS-02"""
    seen = Seen(lambda plan: Protect(plan.covered[2:9:3]) if plan.was == 0 else None)
    made = session(seen)
    made.compact(force=True)
    first = seen.plans[0].covered[2:9:3]
    kept = [entry.seq for entry in made.explain() if entry.status == "kept"]
    assert set(first) <= set(kept)
    shown = str(made.request(window=100_000).payload())
    for seq in first:
        event = made.load(f"event:{seq}").events[0]
        assert event.text.splitlines()[-1].split("\t")[-1] in shown
    for number in range(100, 130):
        made.record(*tool_round(number, "words of a later result " * 60))
    made.compact(force=True)
    assert not set(first) & {entry.seq for entry in made.explain() if entry.status == "kept"}


def test_a_veto_leaves_everything_as_it_was_and_says_so() -> None:
    """S-OBS-02"""
    seen = Seen(Veto("the user is typing"))
    made = session(seen)
    before = made.peek().payload()
    report = made.compact()
    assert (report.outcome, report.text) == ("deferred", "Held back by a hook: the user is typing")
    assert made.peek().payload() == before
    assert made.control.history() == []
    assert [report.outcome for _, report in seen.ends] == ["deferred"]
    made.compact()
    assert len(made.control.attempts()) == 1, "said once, noted once"


def test_a_hook_that_fails_is_logged_and_the_attempt_goes_on_unless_it_may_stop_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """S-OBS-01"""

    def broken(*given: object) -> None:
        raise RuntimeError("no network")

    made = Session("s", policy=POLICY, around=Around(before=broken, after=broken))
    made.record(*long_session(40, 20))
    assert made.compact().outcome == "applied"
    assert "around.before failed (RuntimeError: no network)" in caplog.text
    assert "around.after failed" in caplog.text
    made = Session("s", policy=POLICY, around=Around(before=broken, abort=True))
    made.record(*long_session(40, 20))
    with pytest.raises(PolicyError, match=r"around\.before failed"):
        made.compact()
    assert made.control.history() == []


@pytest.mark.parametrize("answer", [True, [1], Protect((9_999,))])
def test_an_answer_that_means_nothing_is_refused_and_nothing_is_changed(answer: Any) -> None:
    made = session(Seen(answer))
    with pytest.raises(PolicyError, match=r"around\.before"):
        made.compact()
    assert made.control.history() == []


def test_the_plan_is_the_one_that_is_carried_out_and_the_report_counts_the_same() -> None:
    for rounds in (12, 40, 90):
        for lines in (3, 20, 60):
            seen = Seen()
            made = Session("s", policy=POLICY, around=seen.around)
            made.record(*long_session(rounds, lines))
            report = made.compact(force=True)
            if report.outcome != "applied":
                assert not seen.plans
                assert report.events == report.tokens == 0
                continue
            plan = seen.plans[0]
            assert (plan.boundary, len(plan.covered)) == (report.boundary, report.events)
            assert plan.covered_tokens == report.tokens


def test_what_was_protected_and_leaves_is_named_and_may_be_protected_again() -> None:
    """S-OBS-02"""
    seen = Seen(lambda plan: Protect((3,)))
    made = session(seen)
    for turn in range(3):
        assert made.compact(force=True).outcome == "applied"
        assert 3 in {entry.seq for entry in made.explain() if entry.status == "kept"}
        for number in range(100 + 30 * turn, 130 + 30 * turn):
            made.record(*tool_round(number, "words of a later result " * 60))
    assert [plan.leaving for plan in seen.plans] == [(), (3,), (3,)]


def test_a_hook_may_wait_for_another_thread_that_uses_the_session() -> None:
    """A person behind it looks at the session, or goes on talking, before the answer comes."""
    made: Session

    def before(planned: Planned) -> None:
        done = ThreadPoolExecutor(1).submit(lambda: (made.record(user("Wait.")), made.peek(), made.explain()))
        done.result(timeout=LONG)

    made = Session("s", policy=POLICY, around=Around(before=before))
    made.record(*long_session(40, 20))
    assert made.compact().outcome == "applied"
    assert made.load("event:82").events[0].text == "Wait."


def test_a_hook_that_asks_for_a_request_itself_does_not_go_round_in_circles() -> None:
    calls: list[str] = []

    def before(planned: Planned) -> None:
        calls.append(made.request(window=100_000).report.outcome)

    made = Session("s", policy=POLICY, around=Around(before=before))
    made.record(*long_session(40, 20))
    assert made.compact().outcome == "applied"
    assert calls == ["deferred"]


def test_while_a_model_is_asked_no_second_attempt_is_shown_to_a_hook() -> None:
    """S-OBS-01"""
    seen = Seen()
    made: Session

    def model(ask: object) -> str:
        assert made.compact().outcome == "deferred"
        return items_json()

    made = session(seen, model=model)
    made.compact()
    assert len(seen.plans) == 1


@pytest.mark.parametrize("seqs", [(at for at in (3, 5)), [3, 5], {3, 5}, frozenset({3, 5})])
def test_seqs_to_protect_may_come_in_any_collection(seqs: Any) -> None:
    made = session(Seen(Protect(seqs)))
    made.compact(force=True)
    assert {3, 5} <= {entry.seq for entry in made.explain() if entry.status == "kept"}


@pytest.mark.parametrize("seqs", [3, "35", ["event:3"], [True], [3.0], None])
def test_what_are_no_seqs_is_refused_when_it_is_said(seqs: Any) -> None:
    with pytest.raises(PolicyError, match="takes the seqs of events"):
        Protect(seqs)


def test_async_hooks_and_listeners_are_refused_when_they_are_given() -> None:
    async def late(*given: object) -> None: ...

    for options in ({"before": late}, {"after": late}):
        with pytest.raises(PolicyError, match="plain function"):
            Around(**options)
    for name in ("on_report", "observer"):
        with pytest.raises(PolicyError, match=f"{name} takes a plain function"):
            Session("s", **{name: late})  # type: ignore[arg-type]


def test_what_a_rule_had_no_room_for_is_said_also_when_the_attempt_ends_otherwise() -> None:
    policy = POLICY.replace(keep={"choose": lambda event: event.role == "tool", "share": 0.05})
    report = session(Seen(Veto("no")), policy=policy).compact()
    assert report.outcome == "deferred"
    assert any("policy.keep protects more" in warning for warning in report.warnings)


def test_a_veto_with_another_reason_each_time_is_noted_once() -> None:
    seen = Seen(lambda plan: Veto(f"{len(seen.plans)} people are typing"))
    made = session(seen)
    for _ in range(5):
        assert made.compact().outcome == "deferred"
    assert len(made.control.attempts()) == 1
