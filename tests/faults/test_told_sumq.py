"""SUMQ with models: empty, cut, refused, nested and overloaded answers, and what the session makes of them."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from typing import Any

import pytest
from scenes import RAW, checked, checked_on_all, child, pairs_of, text_of
from tellers import checked_ask, honest, quoting, telling, told
from ways import Way, policy_for

from foldmark import Policy, Reply, Session
from foldmark.aio import AsyncSession
from foldmark.asking import Ask
from foldmark.drafts import payload_bytes
from foldmark.events import assistant, control, user
from foldmark.summarizer import Limits
from foldmark.testing import FixedClock, ScriptedModel, items_json
from foldmark.wire import openai_chat
from foldmark.worker import Worker, running
from waiting import LONG

POLICY = Policy.coding(budget={"target_tokens": 5_000}, admission=RAW)
LAST = "The last words of the assistant before it happened."
EMPTY: dict[str, Any] = {
    "nothing": "", "blanks": "   ", "a line break": "\n", "an error": ValueError("boom"), "no fields": "{}",
    "a skeleton": items_json(current_work=[], next_steps=[], decisions=[], failed_approaches=[], open_questions=[]),
    "headings": "## current_work\n\n## decisions\n",
    "words that say nothing": items_json(current_work=["(none)", "-", "n/a", "…"]),
}  # fmt: skip


def begun(*script: Any, **options: Any) -> tuple[Session, ScriptedModel]:
    session, model = telling(*script, **options)
    session.record(user("Fix the duplicate charges. Never touch the schema."))
    session.record(*pairs_of(20, 300, say="I decided to read the file first."), assistant(LAST), user("And now?"))
    return session, model


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_answer_leaves_the_history_unchanged_and_is_told_from_success(name: str) -> None:
    """S-SUMQ-01, S-SUMQ-02: with `require_model` the session is as it was; without, code's record says degraded. The
    last chat line is never the summary."""
    strict, _ = begun(EMPTY[name], require_model=True)
    before = payload_bytes(strict.peek(openai_chat).payload())
    report = strict.compact(force=True, window=128_000)
    assert (report.outcome, report.boundary, strict.control.history()) == ("failed", 0, [])
    assert report.reasons, "it says why"
    assert payload_bytes(strict.peek(openai_chat).payload()) == before
    assert strict.store.view(strict.key).attempts[-1].calls >= 1, "what was paid is noted"
    lax, model = begun(EMPTY[name])
    outcomes = {lax.compact(force=True, window=128_000).outcome}
    assert lax.control.history()[-1].narrative == ()
    assert lax.control.history()[-1].author == "code"
    assert LAST not in [line.text for section in lax.control.history()[-1].sections for line in section.lines]
    model.script = [honest]
    lax.record(*pairs_of(20, 300, start=50, say="I decided to read on."), user("And then?"))
    outcomes.add(lax.compact(force=True, window=128_000).outcome)
    assert outcomes == {"degraded", "applied"}


def test_nothing_to_summarise_asks_no_model() -> None:
    """S-SUMQ-02: an empty input is a no-op that costs nothing, also when it is forced."""
    session, model = telling(honest)
    assert session.compact(force=True, window=128_000).outcome == "ineffective"
    session.record(control("setting", {"a": 1}), user("hi"))
    for _ in range(3):
        assert session.compact(force=True).outcome == "ineffective"
    assert (model.asks, session.control.history()) == ([], [])


@pytest.mark.parametrize("failure", ["", TimeoutError(), Reply(text='{"dec', finish="length"), EMPTY["a skeleton"]])
def test_the_previous_summary_is_carried_forward_when_the_next_call_brings_nothing(failure: Any) -> None:
    """S-SUMQ-02, S-SUMQ-08: decisions and failures that were told once stay when the next round fails or has nothing
    new to tell; work that was current then is not told as current now."""
    first = items_json(
        decisions=[("Parse with zebra_parser, since rows repeat", [2])],
        failed_approaches=[("flamingo_lock failed on row 7", [3])],
        current_work=[("The first file is being read", [4])],
    )
    session, _ = telling(first, failure)
    session.record(
        user("Fix it."),
        assistant("I decided to parse with zebra_parser, since rows repeat."),
        assistant("flamingo_lock failed on row 7."),
        assistant("The first file is being read."),
        *pairs_of(20, 300),
        user("Go on."),
    )
    assert session.compact(force=True, window=128_000).outcome == "applied"
    session.record(*pairs_of(20, 300, start=50), user("Go on."))
    outcome = session.compact(force=True, window=128_000).outcome
    assert outcome == ("applied" if failure == EMPTY["a skeleton"] else "degraded")
    newest = session.control.history()[-1]
    assert {item.field for item in newest.narrative} == {"decisions", "failed_approaches"}, "old work is overtaken"
    for word in ("zebra_parser", "flamingo_lock"):
        assert word in newest.text
    assert newest.author == "code and scripted"


def test_an_answer_that_was_cut_is_asked_for_once_more_with_less_and_never_stored() -> None:
    """S-SUMQ-03: finish=length in mid-word: one smaller try, then the record of code; not half a sentence is kept."""
    half = Reply(text=items_json(decisions=[("I decided to read the file fi", [2])])[:-6], finish="length")
    session, model = begun(half)
    report = session.compact(force=True, window=128_000)
    assert [call.failure for call in report.calls] == ["cut", "cut"]
    assert model.asks[1].tokens < model.asks[0].tokens
    assert (report.outcome, session.control.history()[-1].narrative) == ("degraded", ())
    assert "the file fi (" not in session.control.history()[-1].text
    whole, model = begun(half, honest)
    assert whole.compact(force=True, window=128_000).outcome == "applied"
    assert whole.control.history()[-1].narrative
    assert list(map(checked_ask, model.asks))


@pytest.mark.parametrize("text", ["", "<think>Let me think about the rows, one by one"])
def test_a_budget_spent_on_thinking_is_named(text: str) -> None:
    """S-SUMQ-04: 1,024 tokens of thought and no word: the reason is in the report, and the room can be set."""
    spent = Reply(text=text, finish="length", reasoning_tokens=1_024)
    session, model = begun(spent, limits=Limits(output_tokens=1_024))
    report = session.compact(force=True, window=128_000)
    assert report.outcome == "degraded"
    assert any("spent on reasoning" in reason for reason in report.reasons), report.reasons
    assert {ask.max_output for ask in model.asks} == {1_024}
    roomy, model = begun(honest, limits=Limits(output_tokens=9_000))
    roomy.compact(force=True, window=128_000)
    assert {ask.max_output for ask in model.asks} == {9_000}


MARKUP = '<tool_call>\n{"name": "bash", "arguments": {"command": "rm -rf build"}}\n</tool_call>'
GOES_ON: dict[str, Any] = {
    "only a tool call": Reply(text="", calls=("bash",), finish="tool_calls"),
    "a call beside notes": Reply(text=items_json(current_work=[("And now?", [43])]), calls=("bash",)),
    "markup": MARKUP,
    "markup behind notes": items_json(current_work=[("I decided to read the file first.", [2])]) + MARKUP,
    "markup inside notes": items_json(current_work=[(MARKUP, [2])], decisions=[('<invoke name="bash">', [2])]),
    "an answer to the user": "Now we should look at the ledger. First, open src/ledger.py and run the tests.",
    "code": "```python\nprint('fixed')\n```",
}


@pytest.mark.parametrize("name", GOES_ON)
def test_a_summariser_that_goes_on_with_the_task_is_not_heard(name: str) -> None:
    """S-SUMQ-05: tool calls, markup and answers are invalid; once more as plain text; nothing of it is stored or fed
    back."""
    session, model = begun(GOES_ON[name], GOES_ON[name], honest)
    report = session.compact(force=True, window=128_000)
    assert report.outcome == "degraded"
    assert [ask.schema is None for ask in model.asks] == [False, True], "the second try is plain"
    session.record(*pairs_of(20, 300, start=50, say="I decided to read on."), user("And then?"))
    assert session.compact(force=True, window=128_000).outcome == "applied"
    stored = repr((session.control.history(), session.store.view(session.key).state))
    for left in ("<tool_call>", "<invoke", "rm -rf build", "print('fixed')", "open src/ledger.py"):
        assert left not in stored
        assert left not in model.asks[-1].prompt
    assert list(map(checked_ask, model.asks))


def test_summaries_do_not_nest_over_thirty_one_compactions() -> None:
    """S-SUMQ-06: a model that quotes all it was shown, its previous summary too: size stays, the newest facts are
    there, and the requests to the model do not grow either."""
    session, model = telling(quoting, policy=Policy.coding(budget={"target_tokens": 2_500}, admission=RAW))
    session.record(user("Fix it. Never touch the schema."))
    sizes, told_sizes, asked = [], [], []
    for turn in range(31):
        session.record(*pairs_of(6, 400, start=turn * 10, say=f"Marker turn{turn}word."), user(f"Go on {turn}."))
        session.compact(force=True, window=128_000)
        request = checked(session)
        text = text_of(request.payload())
        assert text.count("<foldmark-checkpoint ") == 1
        assert f"turn{turn}word" in text
        assert "Never touch the schema." in text
        sizes.append(request.tokens.total)
        told_sizes.append(sum(len(item.text) + len(item.why) for item in session.control.history()[-1].narrative))
        asked.append(sum(ask.tokens for ask in model.asks))
        model.asks.clear()
    assert max(sizes) <= 2_500
    assert min(told_sizes[1:]) > 0, "its quotes are heard"
    assert max(told_sizes) <= 6 * 12 * 2 * 240
    assert max(told_sizes[20:]) <= 1.3 * max(told_sizes[3:20]) + 240, told_sizes
    assert max(asked[20:]) <= 1.5 * max(asked[3:20]), asked


def test_closing_cancels_a_summary_that_runs_and_waits_for_no_model() -> None:
    """S-SUMQ-07: the program ends while both models hang: nothing is waited for or raised but the cancellation."""

    async def drill() -> None:
        asked = asyncio.Event()

        async def hangs(ask: Ask) -> str:
            asked.set()
            await asyncio.sleep(600)
            return ""

        made = AsyncSession("s", model=[hangs, hangs], policy=POLICY)
        await made.record(user("Fix it."), *pairs_of(20, 300), user("And now?"))
        task = asyncio.create_task(made.compact(force=True, window=128_000))
        await asked.wait()
        task.cancel()
        async with asyncio.timeout(LONG):
            [outcome] = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(outcome, asyncio.CancelledError)
        assert made.control.history() == []

    asyncio.run(drill())


@pytest.mark.parametrize("error", [StopIteration(), StopAsyncIteration(), RuntimeError("x")], ids=repr)
def test_a_plain_model_that_raises_in_its_thread_is_heard_at_once(error: Exception) -> None:
    """S-SUMQ-07: no exception of a model's code hangs the event loop until the time of the call is up."""

    def breaks(ask: Ask) -> str:
        raise error

    async def drill() -> tuple[str, str]:
        made = AsyncSession("s", model=breaks, policy=POLICY)
        await made.record(user("Fix it."), *pairs_of(20, 300), user("And now?"))
        report = await asyncio.wait_for(made.compact(force=True, window=128_000), 20)
        return report.outcome, report.calls[0].failure

    assert asyncio.run(drill()) == ("degraded", "error")


def test_a_chain_ends_with_the_record_of_code_and_there_is_an_off_switch() -> None:
    """S-SUMQ-07: weak model, main model, code; `by_code` asks nobody."""
    main = ScriptedModel(TimeoutError(), name="main")
    session, _weak = begun(RuntimeError("weak"), others=(main,))
    report = session.compact(force=True, window=128_000)
    assert [(call.model, call.failure) for call in report.calls] == [("scripted", "error"), ("main", "timeout")]
    assert (report.outcome, session.control.history()[-1].author) == ("degraded", "code")
    off, model = begun(honest)
    assert off.compact(force=True, window=128_000, by_code=True).outcome == "applied"
    assert model.asks == []


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_stopping_a_worker_waits_for_no_model_that_hangs(
    is_async: bool, store: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S-SUMQ-07: the job of a worker hangs with its weak model while the program quits: all is still at once, the
    session is as it was, its work waits for the next worker, and nothing was logged as an error."""
    monkeypatch.setattr(running, "ENDING_SECONDS", 600.0)  # it is the models that must not be waited for
    asked, over, stopped = threading.Event(), threading.Event(), list[bool]()

    def hangs(ask: Ask) -> str:
        asked.set()
        over.wait(600)
        return ""

    async def hangs_too(ask: Ask) -> str:
        asked.set()
        await asyncio.sleep(600)
        return ""

    one = Way("worker", store, honest)
    one.record(user("Fix it."), *pairs_of(40, 200))
    model = hangs_too if is_async else hangs
    worker = Worker(store, policy=one.policy, model=[model, model], clock=one.clock, poll_seconds=0.01).start()
    assert asked.wait(LONG)
    thread = threading.Thread(target=lambda: stopped.append(worker.stop(timeout=0.1)), daemon=True)
    thread.start()
    thread.join(LONG)
    assert stopped == [False], "not everything came to its end"
    over.set()
    assert one.session.control.history() == []
    assert store.backlog(one.clock()).leased == 0
    assert [record for record in caplog.records if record.levelno >= 40 or record.exc_info] == []
    one.clock.advance(60.0)  # a model was asked, so the next one waits as long as it cools down
    assert one.compacted().outcome == "applied"


QUITTING = """
import threading, time
from foldmark import MemoryStore, Session
from foldmark.events import user
from foldmark.worker import Worker
from scenes import pairs_of
from ways import policy_for
asked = threading.Event()
def hangs(ask):
    asked.set()
    time.sleep(600)
store, policy = MemoryStore(), policy_for("worker")
session = Session("s", store=store, policy=policy)
session.control.enlist()
session.record(user("Fix it."), *pairs_of(40, 200))
worker = Worker(store, policy=policy, model=[hangs, hangs], poll_seconds=0.01).start()
assert asked.wait(60)
print("quits", flush=True)
"""


def test_a_program_that_quits_under_a_summary_waits_for_no_model_and_says_nothing() -> None:
    """S-SUMQ-07: nobody stops the worker: the interpreter ends all the same, with status 0 and no traceback."""
    quitting = child(QUITTING, stderr=subprocess.PIPE)
    assert quitting.stdout
    assert quitting.stdout.readline() == "quits\n"
    said, errors = quitting.communicate(timeout=LONG)
    assert (quitting.returncode, said, errors) == (0, "", "")


def test_in_a_worker_too_the_chain_ends_with_code_and_there_is_an_off_switch(store: Any) -> None:
    """S-SUMQ-07: weak model, main model, code; with `run="manual"` no work is raised, so no worker asks anybody."""
    weak, main = ScriptedModel(RuntimeError("weak"), name="weak"), ScriptedModel(TimeoutError(), name="main")
    one = Way("worker", store)
    one.record(user("Fix it."), *pairs_of(40, 200))
    report = Worker(store, policy=one.policy, model=[weak, main], clock=one.clock).run_once()
    assert report
    assert [(call.model, call.failure) for call in report.calls] == [("weak", "error"), ("main", "timeout")]
    assert (report.outcome, one.session.control.history()[-1].author) == ("degraded", "code")
    off = Session("off", store=store, policy=policy_for("caller"), clock=one.clock)
    off.control.enlist()
    off.record(user("Fix it."), *pairs_of(40, 200))
    assert Worker(store, policy=one.policy, model=[weak, main], clock=one.clock).run_once() is None
    assert (len(weak.asks), len(main.asks)) == (1, 1)


def test_the_second_summary_holds_what_the_first_one_told(store: Any) -> None:
    """S-SUMQ-08: round two covers only new messages; the boundary is newer, and the marker words of round one are
    there, though the model does not repeat them."""
    session, model = telling(honest, store=store)
    session.record(user("Fix it. Do not use library zebra."), assistant("I decided to call the table flamingo_rows."))
    session.record(*pairs_of(20, 300), user("Go on."))
    first = session.compact(force=True, window=128_000)
    session.record(*pairs_of(20, 300, start=50, say="I decided to go on."), user("Go on."))
    second = session.compact(force=True, window=128_000)
    assert second.boundary > first.boundary
    assert "flamingo_rows" in model.asks[-1].prompt, "the notes so far are shown"
    assert "[event:2 agent]" not in model.asks[-1].prompt, "what is covered is not told again"
    assert any("flamingo_rows" in item.text for item in session.control.history()[-1].narrative)
    for request in checked_on_all(session):
        assert "flamingo_rows" in text_of(request.payload())
        assert "Do not use library zebra." in text_of(request.payload())


class Busy(Exception):
    status_code = 503
    response = type("Answer", (), {"status_code": 503, "headers": {"retry-after": "120"}})()


def test_an_endpoint_that_answers_with_no_items_or_is_busy_is_fallen_back_from_and_left_alone() -> None:
    """S-SUMQ-09, with the vendor's call behind a model function: no item in three outputs, then 503 five times: code
    makes the record each time, and the time that the endpoint asks for is kept."""
    clock = FixedClock()
    session, model = telling(ValueError("0 compaction items in 3 outputs"), *[Busy("busy")] * 5, clock=clock)
    session.record(user("Fix it. Never touch the schema."))
    asked = []
    for turn in range(8):
        session.record(*pairs_of(16, 300, start=turn * 20), user(f"Go on {turn}."))
        report = session.compact(window=128_000)
        assert report.outcome == "degraded"
        asked.append(len(model.asks))
        request = checked(session)
        assert "Never touch the schema." in text_of(request.payload())
        clock.advance(61)
    boundaries = [one.boundary for one in session.control.history()]
    assert boundaries == sorted(set(boundaries))
    assert asked[:4] == [1, 2, 2, 3], "120 s after the first 503 it is asked again, not before"
    assert asked[-1] <= 5


def test_the_tellers_of_this_file_are_heard_when_they_are_good() -> None:
    session, model = begun(lambda ask: told(ask, current_work=[("I decided to read the file first.", [2])]))
    assert session.compact(force=True, window=128_000).outcome == "applied"
    assert [item.verified for item in session.control.history()[-1].narrative] == [True]
    assert checked_ask(model.asks[0])
