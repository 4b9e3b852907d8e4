"""Summaries by a model in a whole session: forks, long pasts, small windows, money, refusals, verbs awaited."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from foldmark import (
    MemoryStore,
    Occasion,
    Policy,
    PolicyError,
    Price,
    Reply,
    Session,
    SQLiteStore,
    Summarizer,
    SummarizerFailed,
    Usage,
    assistant,
    result,
    user,
)
from foldmark.aio import AsyncSession
from foldmark.asking import Ask
from foldmark.drafts import payload_bytes
from foldmark.reports import Report
from foldmark.store import Key, View
from foldmark.summarizer import Hooks, Limits, Prompt
from foldmark.testing import AsyncScriptedModel, FixedClock, ScriptedModel, items_json
from foldmark.wire import anthropic, by_name, openai_chat
from making import call, long_session, tool_round
from waiting import LONG

RULE = "Fix the duplicate charges. Never touch the schema."
GOOD = items_json(
    current_work=[("src/file_7.py was read in step 7", [14])],
    decisions=[("Read the files one by one, beginning with src/file_1.py", [2])],
)
PLAIN = (
    "## current_work\n- src/file_7.py was read in step 7\n## decisions\n- Read the files one by one from src/file_1.py"
)
PRICES = Price(read=0.1, write=1.25, dollars_per_million=3.0)


def grown(rounds: int = 60, **options: object) -> Session:
    policy = Policy.coding(budget={"landing_tokens": 4_000}) if rounds < 50 else Policy.coding()
    made = Session("s", **{"clock": FixedClock(), "policy": policy, **options})  # type: ignore[arg-type]
    made.record(*long_session(rounds, ask=RULE))
    return made


# -- forks


def marked(body: dict[str, object]) -> dict[str, object]:
    """What a caller of Anthropic does to each payload: a cache mark on the newest message."""
    last = body["messages"][-1]  # type: ignore[index]
    last["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return body


@pytest.mark.parametrize("wire", [openai_chat, anthropic], ids=lambda one: str(one.NAME))
def test_a_fork_begins_with_the_bytes_of_the_request_it_was_cloned_from(wire: object) -> None:
    decorate = marked if wire is anthropic else None
    model = ScriptedModel(PLAIN, name="big", window=200_000)
    made = grown(20, summarizer=Summarizer(models=(model,), fork=True, decorate=decorate))
    parent = made.request(window=200_000, wire=wire, model="big", system="You fix billing.", tools=[TOOL])
    sent = parent.payload(model="big")
    report = made.compact(force=True)
    assert (report.outcome, report.mode, len(model.asks)) == ("applied", "fork", 1)
    body = model.asks[0].payload()
    sent = decorate(sent) if decorate else sent
    assert {key: value for key, value in body.items() if key != "messages"} == {
        key: value for key, value in sent.items() if key != "messages"
    } | {key: body[key] for key in ("max_tokens", "max_completion_tokens") if key in body}
    before, after = json.dumps(sent["messages"]), json.dumps(body["messages"])
    shared = before.removesuffix("}]}]" if wire is anthropic else "}]")
    assert after.startswith(shared)
    assert len(body["messages"]) - len(sent["messages"]) == (wire is openai_chat)
    assert "src/file_7.py was read in step 7" in made.control.history()[-1].text


TOOL = {"name": "read", "description": "Read a file.", "parameters": {"type": "object", "properties": {}}}


def test_the_report_compares_what_parent_and_fork_read_from_the_cache() -> None:
    for cached, warned in ((20_000, False), (0, True)):
        model = ScriptedModel(
            Reply(text=PLAIN, usage=Usage(input=21_000, output=300, cache_read=cached)), name="big", window=200_000
        )
        made = grown(20, summarizer=Summarizer(models=(model,), fork=True))
        made.request(window=200_000, wire=openai_chat, model="big")
        made.record(assistant("Go on.", model="big", usage=Usage(input=20_500, output=5, cache_read=20_000)))
        report = made.compact(force=True)
        assert report.mode == "fork"
        assert "cache" in report.cache
        assert any("cache" in warning for warning in report.warnings) == warned


REASONS: dict[str, tuple[Callable[[Session], object], str]] = {
    "another model": (lambda made: made.request(window=200_000, model="huge"), "big"),
    "an open call": (lambda made: made.record(assistant("Wait.", call("bash", 99))), "call"),
}


@pytest.mark.parametrize("name", REASONS)
def test_where_a_fork_is_impossible_the_reason_is_said_and_the_model_is_asked_standalone(name: str) -> None:
    act, word = REASONS[name]
    model = ScriptedModel(GOOD, name="big", window=200_000)
    made = grown(30, summarizer=Summarizer(models=(model,), fork=True))
    made.request(window=200_000, model="big")
    act(made)
    report = made.compact(force=True)
    assert (report.outcome, report.mode) == ("applied", "standalone")
    assert any("as a fork" in warning and word in warning for warning in report.warnings)


def test_a_fork_that_goes_on_with_the_task_is_asked_again_standalone() -> None:
    model = ScriptedModel(Reply(calls=("read",), finish="tool_calls"), GOOD, name="big", window=200_000)
    made = grown(30, summarizer=Summarizer(models=(model,), fork=True))
    made.request(window=200_000, model="big")
    report = made.compact(force=True)
    assert [(one.mode, one.failure) for one in report.calls] == [("fork", "rejected"), ("standalone", "")]
    assert (report.outcome, report.mode) == ("applied", "standalone")


# -- long pasts and small windows


def test_a_past_larger_than_the_models_window_is_told_in_parts_and_none_is_left_out() -> None:
    model = ScriptedModel(GOOD, window=4_000)
    made = grown(60, model=model, policy=Policy.coding(cleanup={"demote": False, "duplicates": False}))
    report = made.compact()
    assert report.outcome == "applied"
    assert report.coverage == 1.0
    assert len(model.asks) > 2
    seen = "\n".join(ask.prompt for ask in model.asks)
    assert all(f"event:{seq} " in seen for seq in range(1, report.boundary + 1))
    assert all(ask.tokens + ask.max_output <= 4_000 for ask in model.asks)
    for ask in model.asks:
        for wire in ("openai-chat", "anthropic", "openai-responses", "gemini", "openai-chat-strict"):
            assert not by_name(wire).validate(ask.payload(by_name(wire)), suspected=True)


def test_a_second_summary_reads_only_what_came_since_and_the_narrative_so_far() -> None:
    model, sizes = ScriptedModel(GOOD), []
    made = grown(30, model=model)
    for turn in range(6):
        made.record(user(f"Turn {turn}."), *(e for n in range(20) for e in tool_round(100 * turn + n + 100)))
        made.compact(force=True)
        sizes.append(model.asks[-1].tokens)
        assert "src/file_1.py" not in model.asks[-1].prompt or turn == 0 or "Notes so far" in model.asks[-1].prompt
    assert max(sizes[2:]) < 1.5 * min(sizes[2:]), "linear in what is new, not in the whole past"
    assert "[event:3 " not in model.asks[-1].prompt


def test_a_switch_to_a_smaller_window_compacts_before_the_next_request() -> None:
    model = ScriptedModel(GOOD, window=8_000)
    made = grown(120, model=model, policy=Policy.coding(budget={"trigger_tokens": 900_000}))
    assert made.request(window=1_000_000).report.outcome == "not_due"
    small = made.request(window=16_000)
    assert small.report.outcome == "applied"
    assert small.tokens.total <= small.ceiling <= 16_000
    assert "Never touch the schema." in str(small.payload())


# -- what goes to the model


def test_no_secret_reaches_a_model_or_comes_back_from_it() -> None:
    secret = "sk-ant-api03-" + "Ab1" * 30
    model = ScriptedModel(lambda ask: items_json(decisions=[(f"Use the key {secret} for src/file_1.py", [2])]))
    made = grown(30, summarizer=Summarizer(models=(model,), hooks=Hooks(before=lambda text: f"{text}\n{secret}")))
    made.record(user(f"The key is {secret}."), *tool_round(200, f"ANTHROPIC_API_KEY={secret}"), *long_session(20)[1:])
    made.compact(force=True, focus=f"billing with {secret}")
    assert model.asks
    assert all(secret not in json.dumps(msgspec.to_builtins(ask.messages)) + ask.system for ask in model.asks)
    assert secret not in made.control.history()[-1].text


def test_a_model_reads_results_as_the_agent_saw_them_not_as_the_new_mark_will_show_them() -> None:
    model = ScriptedModel(GOOD, window=200_000)
    made = grown(40, model=model)
    report = made.compact(force=True)  # no request went out yet, so nothing was demoted
    covered = {number for number in range(1, 41) if 2 * number + 1 <= report.boundary}
    told = model.asks[0].prompt
    assert len(covered) > 20
    assert all(f"value_{number}_0 = charge" in told for number in covered)


def test_a_model_that_needs_a_person_is_passed_over_until_its_rest_is_over() -> None:
    class Unauthorized(Exception):
        status_code = 401

    clock = FixedClock()
    first, second = ScriptedModel(Unauthorized("bad key"), name="first"), ScriptedModel(GOOD, name="second")
    made = grown(model=[first, second], clock=clock)
    for turn in range(3):
        clock.advance(600)
        made.record(*long_session(55, ask=f"Turn {turn}. {RULE}"))
        assert made.compact().calls[-1].model == "second"
    assert len(first.asks) == 1
    clock.advance(3_600)
    made.record(*long_session(55, ask=f"Later. {RULE}"))
    made.compact()
    assert len(first.asks) == 2


def test_formatters_choose_what_a_model_reads_and_prompts_how_it_is_asked() -> None:
    model = ScriptedModel(GOOD)
    prompt = Prompt(
        system="Notes in {max_summary_words} words.", instructions="OLD {previous_summary} NEW {conversation_text}",
        words=77,
    )  # fmt: skip
    hooks = Hooks(
        call_text={"read": lambda made: f"READ {json.loads(made.arguments)['path']}"}, result_text=lambda event: ""
    )
    made = grown(30, summarizer=Summarizer(models=(model,), prompt=prompt, hooks=hooks))
    made.compact(force=True)
    text = model.asks[0].prompt
    assert "Notes in 77 words." in text
    assert "READ src/file_3.py" in text
    assert "value_3_1" not in text, "empty text leaves a result out"
    assert text.index("OLD") < text.index("NEW")


# -- money and refusals


def test_a_report_says_what_the_summary_cost_and_what_it_saves() -> None:
    model = ScriptedModel(Reply(text=GOOD, usage=Usage(input=40_000, output=400)), name="claude-haiku-4-5")
    made = grown(model=model, policy=Policy.coding(prices=PRICES, cleanup={"keep_results": 1_000}))
    report = made.compact(force=True)
    assert report.money
    assert report.money.call > 0
    assert report.money.saving > 0
    assert "$" in report.money.text
    assert made.store.view(made.key).attempts[-1].money == report.money
    unknown = grown(model=ScriptedModel(GOOD, name="nobody"), policy=Policy.coding(prices=PRICES)).compact(force=True)
    assert any("price of nobody is not known" in warning for warning in unknown.warnings)


def test_what_cleanup_alone_would_take_is_no_saving_of_a_compaction() -> None:
    made = grown(policy=Policy.coding(prices=PRICES))
    alone = made.peek().tokens.total
    report = made.compact(force=True)
    assert alone < report.after < report.before
    assert report.money
    assert report.money.saving < 0
    assert any(f"would have brought the next request to {alone:,} tokens" in warning for warning in report.warnings)


def test_a_too_long_refusal_is_learned_and_answered_once() -> None:
    refusal = "This model's maximum context length is 24000 tokens. However, your messages resulted in 61000 tokens."
    made = grown(40, policy=Policy.coding(budget={"trigger_tokens": 100_000}))
    assert made.request(window=128_000).report.outcome == "not_due"
    report = made.overflowed(ValueError(refusal))
    assert report
    assert (report.outcome, report.trigger) == ("applied", "overflow")
    request = made.request(window=128_000)
    assert request.tokens.total <= request.ceiling <= 24_000
    again = made.overflowed(ValueError(refusal))
    assert again
    assert again.outcome == "failed"
    assert "again" in again.text
    assert len(made.control.history()) == 1
    assert made.overflowed(ValueError("Rate limit reached")) is None


def test_what_the_cache_should_have_held_and_did_not_is_counted_by_cause() -> None:
    clock = FixedClock()
    made = grown(12, clock=clock, policy=Policy.coding(prices=PRICES))
    for wait, read in ((0, 0), (10, 9_000), (10, 0), (4_000, 0)):
        clock.advance(wait)
        made.request(window=200_000)
        made.record(assistant("Next.", model="m", usage=Usage(input=14_000, output=5, cache_read=read)), user("Go on."))
    text = made.cache_misses()
    assert "pause 1" in text
    assert "unknown 1" in text
    assert "tokens" in text


# -- awaited


def test_the_awaited_session_does_the_same() -> None:
    async def both() -> None:
        plain = grown(model=ScriptedModel(GOOD))
        awaited = AsyncSession("s", model=AsyncScriptedModel(GOOD), clock=FixedClock(), policy=Policy.coding())
        await awaited.record(*long_session(60, ask=RULE))
        assert (await awaited.compact()).boundary == plain.compact().boundary
        made, other = await awaited.request(window=128_000, wire=openai_chat), plain.request(window=128_000)
        assert payload_bytes(made.payload()) == payload_bytes(other.payload())
        assert (await awaited.search("duplicate charges"))[0].ref == plain.search("duplicate charges")[0].ref
        assert (await awaited.load("event:1")).events == plain.load("event:1").events
        assert [e.status for e in await awaited.explain()] == [e.status for e in plain.explain()]
        assert await awaited.next_compaction() == plain.next_compaction()
        assert (await awaited.peek()).tokens == plain.peek().tokens

    asyncio.run(both())


def test_many_awaited_sessions_summarise_at_the_same_time() -> None:
    async def drill() -> None:
        waiting, all_there = [], asyncio.Event()

        async def slow(ask: Ask) -> str:
            waiting.append(ask)
            if len(waiting) == 4:
                all_there.set()
            await all_there.wait()
            return GOOD

        made = [AsyncSession(f"s{n}", model=slow, clock=FixedClock(), policy=Policy.coding()) for n in range(4)]
        for one in made:
            await one.record(*long_session(55, ask=RULE))
        reports = await asyncio.gather(*(one.compact() for one in made))
        assert [report.outcome for report in reports] == ["applied"] * 4

    asyncio.run(asyncio.wait_for(drill(), LONG))


def test_a_report_says_whether_a_turn_was_in_progress() -> None:
    made = grown(30, model=ScriptedModel(TimeoutError()))
    assert made.compact(force=True).resume, "the newest event is a tool result"
    made.record(assistant("All done."))
    assert not made.compact(force=True).resume
    made.record(user("One more thing."), assistant("", call("bash", 77)), result("c77", "ok"))
    assert made.compact(force=True).resume


# -- one past is told once


def pair(kind: str, folder: Path, model: ScriptedModel) -> tuple[Session, Session]:
    """Two that ask for the same: one object twice, two over one store, two over one file."""
    stores = {
        "one session": [MemoryStore()] * 2,
        "two over one store": [MemoryStore()] * 2,
        "two over one file": [SQLiteStore(folder / "a.db"), SQLiteStore(folder / ".." / folder.name / "a.db")],
    }[kind]
    clock, limits = FixedClock(), Limits(cooldown_seconds=0)
    made = [
        Session(
            "s", store=store, summarizer=Summarizer(models=(model,), limits=limits), clock=clock, policy=Policy.coding()
        )
        for store in stores
    ]  # fmt: skip
    made[0].record(*long_session(60, ask=RULE))
    return made[0], made[0] if kind == "one session" else made[1]


KINDS = ["one session", "two over one store", "two over one file"]


@pytest.mark.parametrize("verb", ["request", "compact"])
@pytest.mark.parametrize("kind", KINDS)
def test_while_a_model_is_asked_nobody_asks_it_a_second_time(kind: str, verb: str, tmp_path: Path) -> None:
    reports: list[Report] = []

    def meanwhile(ask: Ask) -> Reply:
        if len(model.asks) == 1:
            rival = threading.Thread(target=lambda: reports.append(compacted(second)))
            rival.start()
            rival.join(LONG)
        return Reply(text=GOOD, usage=Usage(input=1_000, output=100))

    def compacted(made: Session) -> Report:
        return made.request(window=200_000, wire=openai_chat).report if verb == "request" else made.compact()

    model = ScriptedModel(meanwhile)
    first, second = pair(kind, tmp_path, model)
    report = compacted(first)
    assert (report.outcome, len(report.calls)) == ("applied", 1)
    assert [(other.outcome, other.calls) for other in reports] == [("deferred", ())]
    assert "told by a model already" in reports[0].text
    assert len(model.asks) == 1
    assert [one.outcome for one in first.control.attempts()] == ["applied"]
    first.record(*long_session(60, ask="And again."))
    assert compacted(second).outcome == "applied", "the next one may ask"
    assert len(model.asks) == 2


@pytest.mark.parametrize(("options", "asked"), [({"by_code": True}, 1), ({"force": True}, 2)], ids=["code", "force"])
@pytest.mark.parametrize("kind", KINDS)
def test_code_and_a_person_who_insists_go_on_while_a_model_is_asked(
    kind: str, options: dict[str, bool], asked: int, tmp_path: Path
) -> None:
    outcomes: list[str] = []

    def meanwhile(ask: Ask) -> str:
        if len(model.asks) == 1:
            outcomes.append(second.compact(**options).outcome)  # type: ignore[arg-type]
        return GOOD

    model = ScriptedModel(meanwhile)
    first, second = pair(kind, tmp_path, model)
    assert first.compact().outcome == "deferred", "the other one won"
    assert (outcomes, len(model.asks)) == (["applied"], asked)
    assert len(first.control.history()) == 1


def test_gathered_compactions_pay_once() -> None:
    async def drill() -> None:
        async def slow(ask: Ask) -> str:
            asks.append(ask)
            await asyncio.sleep(0.3)
            return GOOD

        asks: list[Ask] = []
        made = AsyncSession("s", model=slow, clock=FixedClock(), policy=Policy.coding())
        await made.record(*long_session(60, ask=RULE))
        reports = await asyncio.gather(*(made.compact() for _ in range(4)))
        assert sorted(one.outcome for one in reports) == ["applied", "deferred", "deferred", "deferred"]
        assert [ask.part for ask in asks] == list(range(1, len(asks) + 1)), "no part is asked for twice"

    asyncio.run(asyncio.wait_for(drill(), LONG))


@pytest.mark.parametrize("ends", ["cancelled", "interrupted", "refused"])
def test_whatever_ends_a_call_the_next_compaction_may_ask(ends: str) -> None:
    async def drill() -> None:
        asked = asyncio.Event()

        async def first(ask: Ask) -> str:
            asked.set()
            if ends == "refused":
                raise PolicyError("this model needs a key")
            await asyncio.sleep(30)
            return GOOD

        limits = Limits(cooldown_seconds=0)
        made = AsyncSession(
            "s", summarizer=Summarizer(models=(first,), limits=limits), clock=FixedClock(), policy=Policy.coding()
        )
        await made.record(*long_session(60, ask=RULE))
        task = asyncio.create_task(made.request(window=200_000) if ends == "cancelled" else made.compact())
        await asked.wait()
        if ends != "refused":
            task.cancel()
        with pytest.raises(PolicyError if ends == "refused" else asyncio.CancelledError):
            await task
        assert made.control.history() == []
        model = ScriptedModel(GOOD, name="another")
        made.session.summarizer = Summarizer(models=(model,), limits=limits)
        assert (await made.compact()).outcome == "applied"
        assert len(model.asks) == 1

    asyncio.run(asyncio.wait_for(drill(), LONG))


class SlowStore(MemoryStore):
    """A store whose next look takes until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.slow, self.inside, self.free = False, threading.Event(), threading.Event()

    def view(self, key: Key) -> View:
        if self.slow:
            self.inside.set()
            assert self.free.wait(LONG)
        return super().view(key)


@pytest.mark.parametrize("times", [1, 2, 5])
def test_a_session_that_is_cancelled_again_and_again_in_a_step_is_cancelled_and_goes_on(times: int) -> None:
    async def drill() -> None:
        store = SlowStore()
        made = AsyncSession(
            "s", store=store, model=AsyncScriptedModel(GOOD), clock=FixedClock(), policy=Policy.coding()
        )
        await made.record(*long_session(60, ask=RULE))
        store.slow = True
        task = asyncio.ensure_future(made.compact(force=True))
        assert await asyncio.to_thread(store.inside.wait, LONG)
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0.01)
        store.slow = False
        store.free.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert made.control.history() == []
        assert (await made.compact(force=True)).outcome == "applied"

    asyncio.run(asyncio.wait_for(drill(), LONG))


# -- late answers, other lines


def test_an_answer_after_its_time_is_paid_for_and_not_used_in_a_plain_session_too() -> None:
    def slow(ask: Ask) -> Reply:
        time.sleep(1.05)
        return Reply(text=GOOD, usage=Usage(input=900, output=90))

    made = grown(60, summarizer=Summarizer(models=(slow,), limits=Limits(timeout_seconds=0.001)))
    report = made.compact()
    assert (report.outcome, [one.failure for one in report.calls]) == ("degraded", ["timeout"])
    assert made.control.history()[-1].narrative == ()
    assert report.calls[0].usage == Usage(input=900, output=90)
    assert report.calls[0].seconds > 1


def test_a_request_of_another_line_does_not_report_the_compaction_of_the_one_that_was_left() -> None:
    edited = [*long_session(60, ask=RULE)[:10], user("Something else.")]

    def moves(ask: Ask) -> str:
        made.follow(edited, system="You do something else.")
        return GOOD

    made = Session("s", model=ScriptedModel(moves), clock=FixedClock(), policy=Policy.coding())
    made.follow(long_session(60, ask=RULE), system="You fix billing.")
    request = made.request(window=200_000, wire=openai_chat)
    assert made.name != "s"
    assert (request.messages[-1].text, request.system) == ("Something else.", "You do something else.")
    plain = Session(made.name, store=made.store, clock=FixedClock(), policy=Policy.coding()).peek(openai_chat)
    assert request.tokens == plain.tokens
    report = request.report
    assert (report.outcome, report.boundary, report.version, report.calls) == ("not_due", 0, 0, ())
    assert any("'s'" in warning and "applied" in warning for warning in report.warnings)
    left = Session("s", store=made.store, clock=FixedClock())
    assert [one.outcome for one in left.control.attempts()] == ["applied"]


# -- chosen at run time


def test_who_chooses_is_asked_once_and_only_when_a_compaction_is_due() -> None:
    asked: list[Occasion] = []

    def choose(occasion: Occasion) -> ScriptedModel:
        asked.append(occasion)
        return ScriptedModel(GOOD)

    made = grown(2, summarizer=choose)
    for _ in range(3):
        assert made.request(window=200_000, context={"request": 7}).report.outcome == "not_due"
        assert made.compact().outcome == "not_due"
        made.next_compaction()
    assert asked == []
    made.record(*long_session(60, ask="More."))
    assert made.request(window=200_000, focus="charges", context={"request": 7}).report.mode == "standalone"
    assert [(one.key.session, one.force, one.focus, one.context) for one in asked] == [
        ("s", False, "charges", {"request": 7})
    ]


@pytest.mark.parametrize("verb", ["request", "compact"])
def test_a_choice_that_fails_is_a_degraded_compaction_with_its_reason(verb: str) -> None:
    secret = "sk-ant-api03-" + "Ab1" * 30

    def broken(occasion: Occasion) -> object:
        raise ConnectionError(f"no answer from the registry with {secret}")

    made = grown(60, summarizer=broken)
    report = made.request(window=200_000).report if verb == "request" else made.compact()
    (attempt,) = made.control.attempts()
    assert (report.outcome, report.mode, report.calls) == ("degraded", "code", ())
    assert attempt.outcome == "degraded"
    for said in (*report.warnings[:1], " ".join(attempt.reasons)):
        assert "no answer from the registry" in said
        assert "sk-ant" not in said
    assert made.control.history()[-1].narrative == ()
    with pytest.raises(SummarizerFailed, match="no answer from the registry"):
        grown(60, summarizer=broken).compact(force=True)


def test_a_choice_of_nobody_is_a_compaction_by_code_without_a_word() -> None:
    made, plain = grown(60, summarizer=lambda occasion: None), grown(60)
    assert made.compact() == plain.compact()
    assert made.control.attempts() == plain.control.attempts()


def in_disguise(ask: Ask) -> object:
    return AsyncScriptedModel(GOOD)(ask)


HIDDEN: dict[str, Callable[[Occasion], object]] = {
    "an async model": lambda occasion: AsyncScriptedModel(GOOD, name="later"),
    "one at the end of a chain": lambda occasion: [ScriptedModel(GOOD), AsyncScriptedModel(GOOD, name="later")],
    "a plain function around one": lambda occasion: in_disguise,
}


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("name", HIDDEN)
def test_an_async_model_that_is_chosen_in_a_plain_session_is_named_and_nothing_is_noted(name: str, force: bool) -> None:
    made = grown(60, summarizer=HIDDEN[name])
    with pytest.raises(PolicyError, match="AsyncSession"):
        made.compact(force=force)
    assert (made.control.attempts(), made.control.history()) == ([], [])

    async def drill() -> None:
        awaited = AsyncSession("s", summarizer=HIDDEN[name], clock=FixedClock(), policy=Policy.coding())
        await awaited.record(*long_session(60, ask=RULE))
        assert (await awaited.compact(force=force)).outcome == "applied"

    asyncio.run(asyncio.wait_for(drill(), LONG))
