"""COUNT and OBS with models: what a summary call uses is booked by itself, and hooks are called for what happens."""

from __future__ import annotations

from typing import Any

import pytest
from scenes import RAW, checked, pair, pairs_of
from tellers import honest, telling, told

from foldmark import BudgetExceeded, Policy, Reply, Usage
from foldmark.asking import Ask
from foldmark.checkpoint import Item
from foldmark.events import assistant, user
from foldmark.summarizer import Hooks
from foldmark.tokens import count
from foldmark.wire import WIRES, openai_chat

POLICY = Policy.coding(budget={"target_tokens": 3_000}, admission=RAW)


def costly(ask: Ask) -> Reply:
    """A summary call that reports 192,000 tokens of input."""
    return Reply(text=honest(ask).text, usage=Usage(input=192_000, output=900, cache_read=4_000))


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.NAME)
def test_an_unknown_window_is_learned_from_a_refusal(wire: Any) -> None:
    """S-COUNT-06: nobody says how large the window is: 128,000 with a warning, until a refusal names 32,768: then that
    is the window, of this model only, and every later request fits it."""
    policy = Policy.coding(admission=RAW, cleanup={"demote": False, "superseded": False, "duplicates": False})
    session, model = telling(honest, policy=policy)
    session.record(user("Go."), *pairs_of(50, 800))
    first = session.request(wire=wire, model="local-1")
    assert first.tokens.total > 32_768
    assert any("128,000 tokens are assumed" in warning for warning in first.report.warnings)
    report = session.overflowed(
        "This model's maximum context length is 32768 tokens, however you requested 41000 tokens."
    )
    assert report is not None
    assert report.outcome == "applied"
    assert model.asks == [], "the way out of an overflow waits for no model"
    for number in range(60, 66):
        request = checked(session, wire, model="local-1")
        assert request.ceiling <= 32_768
        session.record(*pair(number, 5_000))
    assert session.request(wire=wire, model="local-2").ceiling > 32_768


def test_the_usage_of_a_summary_never_feeds_the_trigger() -> None:
    """S-COUNT-11: a summary call reports 192,000 tokens on a small window: the run goes on, nothing else is due, and
    the meter of the running model learns nothing of it."""
    session, model = telling(costly, policy=POLICY)
    plain, _ = telling(honest, policy=POLICY)
    requests = []
    for one in (session, plain):
        one.record(user("Go."), *pairs_of(20, 300, say="I decided to go on."))
        requests.append(checked(one, window=12_000))
        one.record(assistant("Read."), user("And now?"))
        requests.append(checked(one, window=12_000))
    assert model.asks
    assert [request.report.outcome for request in requests] == ["applied", "not_due"] * 2
    assert requests[1].ceiling == requests[3].ceiling
    assert session.store.view(session.key).state.usages == {}
    assert requests[0].report.resume, "status: continue"


def test_internal_calls_are_in_the_notes_and_sum_up_to_the_providers_ledger() -> None:
    """S-OBS-03: twelve turns and summary calls that fail, succeed and are asked in parts: the notes and the reports
    hold what the provider's own ledger holds, to the token, apart from the turns' own usage."""
    ledger: list[Usage] = []
    answers = iter([costly, "", honest, honest, TimeoutError(), honest] * 20)

    def paid(ask: Ask) -> Any:
        answer = next(answers)
        if isinstance(answer, BaseException):
            raise answer
        made = answer(ask) if callable(answer) else Reply(text=answer, usage=Usage(input=ask.tokens, output=1))
        ledger.append(made.usage)
        return made

    session, _ = telling(paid, policy=POLICY, window=3_000)
    session.record(user("Go."))
    reports = []
    for turn in range(12):
        session.record(*pairs_of(10, 300, start=turn * 20, say=f"I decided on {turn}."))
        reports.append(session.compact(force=True, window=128_000))
        session.record(assistant("Done.", usage=Usage(input=150, output=3)), user(f"Next {turn}?"))
    assert len(ledger) >= 12
    for field in ("input", "output", "cache_read"):
        billed = sum(getattr(usage, field) for usage in ledger)
        assert billed == sum(getattr(call.usage, field) for report in reports for call in report.calls)
        assert billed == sum(getattr(note.usage, field) for note in session.control.attempts())
    assert all(note.mode == "standalone" for note in session.control.attempts() if note.calls)
    assert sum(note.calls for note in session.control.attempts()) == sum(len(report.calls) for report in reports)


def test_hooks_are_called_once_for_each_call_and_never_for_a_check() -> None:
    """S-OBS-01, S-OBS-02: below the threshold no hook runs; each call has one before and one after it, with its sizes;
    the hook behind it gets the items, and what it takes out is not in the record."""
    said: list[tuple[str, Any]] = []

    def after(items: Any) -> Any:
        said.append(("after", items))
        return [item for item in items if "part 3" not in item.text]

    hooks = Hooks(
        on_ask=lambda ask: said.append(("ask", ask.tokens)),
        on_reply=lambda ask, reply: said.append(("reply", reply.usage)),
        after=after,
    )
    session, model = telling(honest, policy=POLICY, hooks=hooks)
    session.record(user("Go."))
    for _ in range(3):
        checked(session, window=128_000)
        assert session.compact(window=128_000).outcome == "not_due"
    assert said == []
    for number in range(5):
        session.record(*pairs_of(5, 200, start=number * 9, say=f"I decided on part {number}."))
    report = session.compact(force=True, window=128_000)
    assert [name for name, _ in said] == ["ask", "reply", "after"]
    assert said[0][1] == report.calls[0].tokens == model.asks[0].tokens
    assert said[1][1] == report.calls[0].usage
    assert "part 3" not in repr(session.control.history()[-1].narrative)
    assert "part 2" in repr(session.control.history()[-1].narrative)


@pytest.mark.parametrize("answer", [TimeoutError(), "", Reply(text="x", finish="length")])
def test_hooks_run_for_a_call_that_fails_too(answer: Any) -> None:
    """S-OBS-01: one before each call; behind it only where there was an answer."""
    asked: list[Ask] = []
    replied: list[Reply] = []
    hooks = Hooks(on_ask=asked.append, on_reply=lambda ask, reply: replied.append(reply))
    session, model = telling(answer, policy=POLICY, hooks=hooks)
    session.record(user("Go."), *pairs_of(20, 300))
    report = session.compact(force=True, window=128_000)
    assert report.outcome == "degraded"
    assert len(asked) == len(model.asks) == len(report.calls)
    assert len(replied) == (0 if isinstance(answer, BaseException) else len(asked))


@pytest.mark.parametrize("kept", [[5], "abc", [None], [Item("decisions", "I decided to go on.", ("x",))], 7])  # type: ignore[arg-type]
def test_a_hook_that_returns_no_items_is_a_warning_and_not_the_models_fault(kept: Any) -> None:
    """S-OBS-01: what a hook gives back beside items is passed over by name; the answer that was paid for stands."""
    session, _ = telling(honest, policy=POLICY, hooks=Hooks(after=lambda items: kept))
    session.record(user("Go."), *pairs_of(20, 300, say="I decided to go on."))
    report = session.compact(force=True, window=128_000)
    assert report.outcome == "applied"
    assert any("hook after" in warning for warning in report.warnings)
    assert session.control.history()[-1].narrative


def test_a_hook_may_veto_a_call_and_the_session_is_as_it_was() -> None:
    """S-OBS-02: a hook that sees what would be told says no: nothing is asked, nothing is changed."""

    def veto(ask: Ask) -> None:
        if "payroll" in ask.prompt:
            raise PermissionError("payroll may not leave the house")

    session, model = telling(honest, policy=POLICY, hooks=Hooks(on_ask=veto, abort=True))
    session.record(user("Read the payroll."), *pairs_of(20, 300))
    before = session.peek(openai_chat).payload()
    report = session.compact(force=True, window=128_000)
    assert (report.outcome, model.asks, session.control.history()) == ("failed", [], [])
    assert "payroll may not leave" in report.text
    assert session.peek(openai_chat).payload() == before


def test_the_ledger_of_this_file_can_count() -> None:
    session, model = telling(lambda ask: told(ask, current_work=[("I decided to go on.", [2])]), policy=POLICY)
    session.record(user("Go."), *pairs_of(20, 300, say="I decided to go on."))
    report = session.compact(force=True, window=128_000)
    assert report.calls[0].usage.input == model.asks[0].tokens > count(model.asks[0].prompt) - 1
    session.record(user("word " * 7_500))
    with pytest.raises(BudgetExceeded):
        session.request(window=8_192)
