"""Every way in which a summary call can fail, as a drill: outcome, boundary, what the next request holds, what it cost.

The provider is a script; the session is real. A drill ends with a session that goes on.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from foldmark import MemoryStore, Policy, Reply, Session, SQLiteStore, Summarizer, SummarizerFailed, Usage, user
from foldmark.aio import AsyncSession
from foldmark.asking import Ask
from foldmark.errors import PolicyError
from foldmark.summarizer import Hooks, Limits
from foldmark.testing import AsyncScriptedModel, FixedClock, ScriptedModel, items_json
from foldmark.wire import openai_chat
from making import long_session
from waiting import LONG

RULE = "Fix the duplicate charges. Never touch the schema."
GOOD = items_json(
    current_work=[("src/file_7.py was read in step 7", [14])],
    decisions=[("Read the files one by one, beginning with src/file_1.py", [2])],
)
GROWN = 60  # rounds: some 60,000 tokens, so that a compaction is due without force


class Refused(Exception):
    """A provider's error as SDKs raise them: a status and a body."""

    def __init__(self, status: int, message: str, **body: object) -> None:
        super().__init__(message)
        self.status_code, self.body = status, {"error": {"message": message, **body}}


FAILURES: dict[str, tuple[BaseException | Reply | str, str]] = {
    "a timeout": (TimeoutError("timed out"), "timeout"),
    "a rate limit": (Refused(429, "Rate limit reached for requests"), "rate_limited"),
    "a rate limit with an empty body": (Refused(429, ""), "rate_limited"),
    "a spent quota": (Refused(429, "You exceeded your current quota", code="insufficient_quota"), "quota"),
    "a bad key": (Refused(401, "Incorrect API key provided"), "auth"),
    "a forbidden model": (Refused(403, "Your organization may not use this model"), "auth"),
    "a broken connection": (ConnectionResetError("connection reset by peer"), "network"),
    "an overloaded server": (Refused(529, "Overloaded"), "overloaded"),
    "a server error": (Refused(503, "Service unavailable"), "overloaded"),
    "a model that is not there": (Refused(404, "The model does not exist", code="model_not_found"), "missing_model"),
    "a too long request": (
        Refused(400, "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000"),
        "too_long",
    ),
    "an empty answer": ("", "empty"),
    "a blank answer": (" \n ", "empty"),
    "an answer cut by length": (Reply(text='{"decisions": [{"text": "half', finish="length"), "cut"),
    "a budget spent on thinking": (Reply(text="", finish="length", reasoning_tokens=1_024), "cut"),
    "a refusal": (Reply(text="I can't help with that.", finish="refusal"), "refused"),
    "a tool call": (Reply(text="", calls=("bash",), finish="tool_calls"), "rejected"),
    "markup of a tool call": ('<tool_call>{"name": "bash"}</tool_call>', "rejected"),
    "a chat answer": ("Sure! I have fixed the duplicate charges for you.", "rejected"),
    "a crash in the model's code": (ValueError("boom"), "error"),
}


def session(*script: object, rounds: int = GROWN, **options: object) -> tuple[Session, ScriptedModel]:
    """A session of many rounds whose summary model follows a script."""
    model = ScriptedModel(*script)  # type: ignore[arg-type]
    made = Session("s", model=model, **{"clock": FixedClock(), "policy": Policy.coding(), **options})  # type: ignore[arg-type]
    made.record(*long_session(rounds, ask=RULE))
    return made, model


def goes_on(made: Session) -> str:
    """The session after a drill: the next request is valid, fits and holds the user's rule; its text."""
    made.record(user("And now?"))
    request = made.request(window=128_000, wire=openai_chat)
    text = str(request.payload())
    assert request.tokens.total <= request.ceiling
    assert "Never touch the schema." in text
    assert made.load("event:1").events[0].text == RULE
    return text


@pytest.mark.parametrize("name", FAILURES)
def test_a_failed_call_leaves_a_checkpoint_made_by_code(name: str) -> None:
    failure, kind = FAILURES[name]
    made, model = session(failure)
    report = made.compact()
    assert report.outcome == "degraded"
    assert report.mode == "standalone"
    assert report.boundary > 0
    assert {call.failure for call in report.calls} == {kind}
    assert len(report.calls) == len(model.asks) <= 2, "one smaller or plain try at most"
    checkpoint = made.control.history()[-1]
    assert (checkpoint.author, checkpoint.narrative) == ("code", ())
    assert any("Degraded" in warning for warning in report.warnings)
    goes_on(made)


@pytest.mark.parametrize("name", FAILURES)
def test_the_next_model_of_the_chain_is_asked(name: str) -> None:
    failure, _kind = FAILURES[name]
    first, second = ScriptedModel(failure, name="first"), ScriptedModel(GOOD, name="second")
    made = Session("s", model=[first, second], clock=FixedClock(), policy=Policy.coding())
    made.record(*long_session(GROWN, ask=RULE))
    report = made.compact()
    assert report.outcome == "applied"
    assert report.calls[-1].model == "second"
    assert made.control.history()[-1].author == "code and second"
    assert "src/file_7.py was read in step 7" in goes_on(made)


@pytest.mark.parametrize("name", FAILURES)
def test_with_require_model_the_session_stays_as_it_was(name: str) -> None:
    failure, _ = FAILURES[name]
    model = ScriptedModel(failure)
    made = Session(
        "s", summarizer=Summarizer(models=(model,), require_model=True), clock=FixedClock(), policy=Policy.coding()
    )
    made.record(*long_session(GROWN, ask=RULE))
    report = made.compact()
    assert (report.outcome, report.boundary, report.version) == ("failed", 0, 0)
    assert made.control.history() == []
    goes_on(made)


def test_a_refused_request_is_never_sent_twice_in_the_same_form() -> None:
    made, model = session(FAILURES["a too long request"][0])
    made.compact()
    prompts = [ask.prompt for ask in model.asks]
    assert len(set(prompts)) == len(prompts) == 2
    assert model.asks[1].tokens < model.asks[0].tokens


def test_a_good_second_try_is_no_failure() -> None:
    made, _model = session(Reply(text='{"deci', finish="length"), GOOD)
    report = made.compact()
    assert report.outcome == "applied"
    assert [call.failure for call in report.calls][:2] == ["cut", ""]


def test_a_part_that_fails_does_not_undo_the_ones_before_it() -> None:
    model = ScriptedModel(GOOD, TimeoutError(), window=3_000)
    made = Session("s", model=model, clock=FixedClock(), policy=Policy.coding())
    made.record(*long_session(GROWN, ask=RULE))
    report = made.compact()
    assert report.outcome == "degraded"
    assert 0 < report.coverage < 1
    assert {item.field for item in made.control.history()[-1].narrative} == {"decisions"}, (
        "work in its middle is overtaken"
    )
    assert any("were told by no model" in warning for warning in report.warnings)
    goes_on(made)


def test_an_interrupt_in_mid_call_changes_nothing_and_is_raised() -> None:
    made, model = session(KeyboardInterrupt(), GOOD)
    with pytest.raises(KeyboardInterrupt):
        made.compact()
    assert made.control.history() == []
    assert len(made.store.view(made.key).attempts) == 1, "what was tried is noted"
    goes_on(made)
    assert len(model.asks) == 1, "it was paid: what is due in the cooldown is made by code"


def test_a_cancelled_call_changes_nothing_and_its_late_answer_is_discarded() -> None:
    async def drill() -> None:
        asked, answered = asyncio.Event(), asyncio.Event()

        async def slow(ask: Ask) -> str:
            asked.set()
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                answered.set()
                raise
            return GOOD

        made = AsyncSession("s", model=slow, clock=FixedClock(), policy=Policy.coding())
        await made.record(*long_session(GROWN, ask=RULE))
        task = asyncio.create_task(made.compact())
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert answered.is_set()
        assert made.control.history() == []
        made.session.summarizer = None
        goes_on(made.session)

    asyncio.run(drill())


def test_a_plain_model_that_answers_after_its_time_is_not_heard() -> None:
    async def drill() -> None:
        free = threading.Event()

        def slow(ask: Ask) -> str:
            free.wait(LONG)
            return GOOD

        summarizer = Summarizer(models=(slow,), limits=Limits(timeout_seconds=0.05))
        made = AsyncSession("s", summarizer=summarizer, clock=FixedClock(), policy=Policy.coding())
        await made.record(*long_session(GROWN, ask=RULE))
        report = await made.compact()
        free.set()
        assert (report.outcome, report.calls[0].failure) == ("degraded", "timeout")
        assert made.control.history()[-1].narrative == ()

    asyncio.run(drill())


def test_events_can_be_recorded_while_a_model_thinks() -> None:
    made, _ = session(lambda ask: recorded(made))

    def recorded(inner: Session) -> str:
        thread = threading.Thread(target=lambda: inner.record(user("By the way: port 8443.")))
        thread.start()
        thread.join(LONG)
        assert not thread.is_alive(), "the lock is held while a model thinks"
        return GOOD

    report = made.compact()
    assert report.outcome == "applied"
    assert "port 8443" in goes_on(made)


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_of_two_workers_one_wins_and_the_other_pays_nothing_further(store: str, tmp_path: Path) -> None:
    place = MemoryStore() if store == "memory" else SQLiteStore(tmp_path / "a.db")
    rival = Session("s", store=place, clock=FixedClock(), policy=Policy.coding())
    rival.record(*long_session(GROWN, ask=RULE))

    def beaten(ask: Ask) -> str:
        if len(model.asks) == 1:
            assert rival.compact().outcome == "applied"
        return GOOD

    model = ScriptedModel(beaten, window=3_000)
    slow = Session("s", store=place, model=model, clock=FixedClock(), policy=Policy.coding())
    report = slow.compact()
    assert report.outcome == "deferred"
    assert len(model.asks) == 1, "a beaten worker asks no second part"
    assert [one.author for one in slow.control.history()] == ["code"]
    goes_on(slow)


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.parametrize("again", [0, 3, 60])
def test_a_session_deleted_in_mid_call_gets_nothing_written_also_under_its_old_name(
    store: str, again: int, tmp_path: Path
) -> None:
    place = MemoryStore() if store == "memory" else SQLiteStore(tmp_path / "a.db")

    def deletes(ask: Ask) -> str:
        made.control.delete()
        if again:
            Session("s", store=place).record(*long_session(again, ask="Another user asks."))
        return GOOD

    made = Session("s", store=place, model=deletes, clock=FixedClock(), policy=Policy.coding())
    made.record(*long_session(GROWN, ask=RULE))
    assert made.compact().outcome == "deferred"
    if again:
        other = Session("s", store=place)
        assert other.control.history() == []
        assert "Never touch the schema" not in str(other.peek().payload())


def test_the_number_of_calls_is_bounded_however_long_the_past_and_small_the_model() -> None:
    model = ScriptedModel(GOOD, window=2_600)
    made = Session(
        "s", summarizer=Summarizer(models=(model,), limits=Limits(parts=3)), clock=FixedClock(), policy=Policy.coding()
    )
    made.record(*long_session(400, lines=6, ask=RULE))
    report = made.compact(force=True)
    assert len(model.asks) <= 3
    assert report.coverage is not None
    assert (report.outcome, report.coverage < 1) in (("degraded", True), ("applied", False))
    goes_on(made)


KILLED = """
import os, sys
from foldmark import Policy, Session, SQLiteStore
sys.path.insert(0, {tests!r})
from making import long_session

def dies(ask):
    os.kill(os.getpid(), 9)

made = Session("s", store=SQLiteStore({db!r}), model=dies, policy=Policy.coding())
made.record(*long_session({rounds}, ask={rule!r}))
made.compact()
"""


def test_a_process_killed_in_mid_call_leaves_the_session_as_it_was(tmp_path: Path) -> None:
    db, tests = str(tmp_path / "a.db"), str(Path(__file__).parents[1])
    code = KILLED.format(tests=tests, db=db, rounds=GROWN, rule=RULE)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == -9, done.stderr
    made = Session("s", store=SQLiteStore(db), model=ScriptedModel(GOOD), policy=Policy.coding())
    assert made.control.history() == []
    assert made.compact().outcome == "applied"
    goes_on(made)


def test_after_three_failures_the_model_rests_and_a_restart_does_not_wake_it(tmp_path: Path) -> None:
    clock, calls = FixedClock(), 0
    for turn in range(12):
        model = ScriptedModel(Refused(503, "down"))
        made = Session(
            "s", store=SQLiteStore(tmp_path / "a.db"), model=model, clock=clock, policy=Policy.coding()
        )  # a new process each turn
        made.record(*long_session(GROWN, ask=f"Turn {turn}: {RULE}"))
        clock.advance(61)
        assert made.compact().outcome == "degraded"
        calls += len(model.asks)
        if turn < 3:
            assert calls == turn + 1
    assert calls <= 3 + 12 * 61 // 300, "one probe per five minutes"


def test_force_asks_a_resting_model_again() -> None:
    clock = FixedClock()
    made, model = session(Refused(503, "down"), Refused(503, "down"), Refused(503, "down"), GOOD, clock=clock)
    for _ in range(3):
        made.compact(force=True)
        made.record(*long_session(GROWN, ask=RULE))
        clock.advance(61)
    asked = len(model.asks)
    assert made.compact(force=True).outcome == "applied"
    assert len(model.asks) == asked + 1


def test_an_async_model_in_a_sync_session_is_named() -> None:
    with pytest.raises(PolicyError, match="AsyncSession"):
        Session("s", model=AsyncScriptedModel(GOOD, name="later"))

    def hidden(ask: Ask) -> object:
        return AsyncScriptedModel(GOOD)(ask)

    made, _ = session()
    made.summarizer = Summarizer(models=(hidden,))
    with pytest.raises(PolicyError, match="AsyncSession"):
        made.compact()
    assert made.control.history() == []


def test_a_hook_that_fails_is_a_warning_or_ends_the_attempt() -> None:
    def broken(*arguments: object) -> None:
        raise RuntimeError("broken hook")

    for abort in (False, True):
        hooks = Hooks(on_ask=broken, on_reply=broken, abort=abort)
        made = Session(
            "s", summarizer=Summarizer(models=(ScriptedModel(GOOD),), hooks=hooks), clock=FixedClock(),
            policy=Policy.coding(),
        )  # fmt: skip
        made.record(*long_session(GROWN, ask=RULE))
        report = made.compact()
        assert report.outcome == ("failed" if abort else "applied")
        assert any("broken hook" in warning for warning in report.warnings)
        assert len(made.control.history()) == (not abort)


def test_a_hook_may_answer_in_place_of_the_model() -> None:
    model = ScriptedModel(GOOD)
    hooks = Hooks(on_ask=lambda ask: Reply(text=GOOD, model="from the cache", usage=Usage(input=5, output=5)))
    made = Session("s", summarizer=Summarizer(models=(model,), hooks=hooks), clock=FixedClock(), policy=Policy.coding())
    made.record(*long_session(GROWN, ask=RULE))
    report = made.compact()
    assert (report.outcome, model.asks) == ("applied", [])
    assert made.control.history()[-1].author == "code and from the cache"


RESOLVERS: dict[str, Callable[[object], object]] = {
    "none is at hand": lambda occasion: None,
    "it fails": lambda occasion: 1 / 0,
}


@pytest.mark.parametrize("name", RESOLVERS)
def test_a_summarizer_chosen_at_run_time_may_be_missing(name: str) -> None:
    made = Session("s", summarizer=RESOLVERS[name], clock=FixedClock(), policy=Policy.coding())  # type: ignore[arg-type]
    made.record(*long_session(GROWN, ask=RULE))
    with pytest.raises(SummarizerFailed, match="session 's'"):
        made.compact(force=True)
    assert made.control.history() == []
    report = made.compact()
    assert (report.outcome, report.mode) == ("applied" if name == "none is at hand" else "degraded", "code")
    goes_on(made)


def test_a_summarizer_is_chosen_by_tenant_and_context() -> None:
    models = {"acme": ScriptedModel(GOOD, name="large"), "other": ScriptedModel(GOOD, name="small")}
    seen: list[object] = []

    def choose(occasion: object) -> object:
        seen.append(occasion.context)  # type: ignore[attr-defined]
        return models[occasion.key.tenant]  # type: ignore[attr-defined]

    for tenant, model in models.items():
        made = Session("s", tenant=tenant, summarizer=choose, clock=FixedClock(), policy=Policy.coding())  # type: ignore[arg-type]
        made.record(*long_session(GROWN, ask=RULE))
        assert made.compact(context={"request": 7}).calls[0].model == model.info.name
    assert seen == [{"request": 7}, {"request": 7}]
