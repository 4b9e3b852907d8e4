"""Summaries by a model in a whole session: forks, long pasts, small windows, money, refusals, verbs awaited."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import msgspec
import pytest

from foldmark import Policy, Price, Reply, Session, Summarizer, Usage, assistant, result, user
from foldmark.aio import AsyncSession
from foldmark.asking import Ask
from foldmark.drafts import payload_bytes
from foldmark.summarizer import Hooks, Prompt
from foldmark.testing import AsyncScriptedModel, FixedClock, ScriptedModel, items_json
from foldmark.wire import anthropic, by_name, openai_chat
from making import call, long_session, tool_round

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
    model = ScriptedModel(PLAIN, name="big")
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
        model = ScriptedModel(Reply(text=PLAIN, usage=Usage(input=21_000, output=300, cache_read=cached)), name="big")
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
    model = ScriptedModel(GOOD, name="big")
    made = grown(30, summarizer=Summarizer(models=(model,), fork=True))
    made.request(window=200_000, model="big")
    act(made)
    report = made.compact(force=True)
    assert (report.outcome, report.mode) == ("applied", "standalone")
    assert any("not as a fork" in warning and word in warning for warning in report.warnings)


def test_a_fork_that_goes_on_with_the_task_is_asked_again_standalone() -> None:
    model = ScriptedModel(Reply(calls=("read",), finish="tool_calls"), GOOD, name="big")
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
    made = grown(model=model, policy=Policy.coding(prices=PRICES))
    report = made.compact(force=True)
    assert report.money
    assert report.money.call > 0
    assert report.money.saving > 0
    assert "$" in report.money.text
    assert made.store.view(made.key).attempts[-1].money == report.money
    unknown = grown(model=ScriptedModel(GOOD, name="nobody"), policy=Policy.coding(prices=PRICES)).compact(force=True)
    assert any("price of nobody is not known" in warning for warning in unknown.warnings)


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

    asyncio.run(asyncio.wait_for(drill(), 60))


def test_a_report_says_whether_a_turn_was_in_progress() -> None:
    made = grown(30, model=ScriptedModel(TimeoutError()))
    assert made.compact(force=True).resume, "the newest event is a tool result"
    made.record(assistant("All done."))
    assert not made.compact(force=True).resume
    made.record(user("One more thing."), assistant("", call("bash", 77)), result("c77", "ok"))
    assert made.compact(force=True).resume
