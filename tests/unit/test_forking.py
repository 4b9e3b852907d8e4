"""The fork begins with the very bytes of its parent, or says why there is none; and a missed cache is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import shared
from foldmark import Policy, Session
from foldmark.asking import Ask, ModelInfo, Reply
from foldmark.drafts import Request, Sizes, cost, payload_bytes, static_tokens
from foldmark.events import Event, Image, Reasoning, Text, ToolCall, Usage, assistant, injected, result, user
from foldmark.forking import Prints, cache_report, causes, fork_of, prints_of, what_changed
from foldmark.importers import read
from foldmark.reports import Report
from foldmark.store import Frame
from foldmark.summarizer import Limits, Summarizer
from foldmark.wire import VARIANTS, WIRES, anthropic, gemini, openai_chat, openai_responses, tools_of_calls
from making import long_session, numbered

EVERY_WIRE = (*WIRES, *VARIANTS)
every_wire = pytest.mark.parametrize("wire", EVERY_WIRE, ids=lambda wire: wire.NAME)
WORDS = "Say where the work stands. Call no tool."
SYSTEM = "You are careful."
FRAME = Frame(window=100_000, model="a-model")
MARK = {"type": "ephemeral"}


def model(ask: Ask) -> str:
    return "summary"


ASKED = Summarizer(models=(model,))

THOUGHT = {
    "anthropic": Reasoning("hm", "anthropic", {"type": "thinking", "thinking": "hm", "signature": "c2ln"}),
    "openai-responses": Reasoning(
        "hm", "openai-responses", {"type": "reasoning", "summary": [], "encrypted_content": "eHh4"}
    ),
    "openai-chat": Reasoning("hm", "openai", {"reasoning_content": "hm"}),
    "openai-chat-strict": Reasoning("hm", "openai", {"reasoning_content": "hm"}),
    "gemini": Reasoning("", "gemini", {"thoughtSignature": "c2ln"}),
}


def rich(wire: Any) -> list[Event]:
    """A picture, thinking, a round with two calls, words, and another round."""
    shown = Event(
        role="user", origin="user", parts=(Text("What is wrong here?"), Image(media_type="image/png", data="AAAA"))
    )
    step = assistant("I look.", ToolCall("c1", "read", '{"path":"a.py"}'), ToolCall("c2", "read", '{"path":"b.py"}'))
    step = msgspec.structs.replace(step, parts=(THOUGHT[wire.NAME], *step.parts))
    return [
        *(shown, step, result("c1", "alpha", name="read"), result("c2", "beta", name="read")),
        *(assistant("It is the cache."), user("Mend it.")),
        *(assistant("", ToolCall("c3", "write", "{}")), result("c3", "written", name="write")),
    ]


def asked(
    events: Sequence[Event], wire: Any = openai_chat, *, ceiling: int = 80_000, max_output: int | None = None
) -> Request:
    """A request as `fit` leaves it."""
    messages, tools = tuple(numbered(*events)), tuple(tools_of_calls(events))
    return Request(
        system=SYSTEM,
        messages=messages,
        tools=tools,
        tokens=Sizes(static=static_tokens(SYSTEM, tools), tail=cost(messages)),
        report=Report(outcome="not_due"),
        wire=wire,
        ceiling=ceiling,
        stable=len(messages),
        max_output=max_output,
    )


def forked(parent: Request, summarizer: Summarizer = ASKED, frame: Frame = FRAME) -> Ask:
    made = fork_of(parent, model, summarizer, WORDS, frame=frame)
    assert isinstance(made, Ask), made
    return made


def why_not(parent: Request | None, summarizer: Summarizer = ASKED, **said: Any) -> str:
    said = {"frame": FRAME, **said}
    made = fork_of(parent, said.pop("model", model), summarizer, WORDS, **said)
    assert isinstance(made, str), made
    assert not made.endswith(".")
    return made


def on_the_wire(wire: Any, body: Mapping[str, Any]) -> bytes:
    """The bytes of a body up to the end of its messages, without what is no part of a prompt: a stream, and how long
    the answer may be."""
    apart = ("stream", "stream_options", "max_completion_tokens", "max_tokens", "max_output_tokens", "generationConfig")
    names = [name for name in body if name not in apart]
    return payload_bytes({name: body[name] for name in names[: names.index(wire.MESSAGES) + 1]})


def begins(wire: Any, fork: Mapping[str, Any], parent: Mapping[str, Any]) -> bool:
    """Whether the fork's bytes begin with the parent's: up to the end of the last message, or of the last block or
    text in it where the instruction stands in the same message."""
    before, after = on_the_wire(wire, parent), on_the_wire(wire, fork)
    closings = (b"]}", b"]}]}", b'"}]}')
    return any(before.endswith(one) and after.startswith(before.removesuffix(one)) for one in closings)


def marked(body: dict[str, Any]) -> dict[str, Any]:
    """What a caller of Anthropic does: marks on system text, the last tool and the last two messages, and a stream."""
    body["system"] = [{"type": "text", "text": body["system"], "cache_control": MARK}]
    if body.get("tools"):
        body["tools"][-1]["cache_control"] = MARK
    for message in body["messages"][-2:]:
        message["content"][-1]["cache_control"] = MARK
    return {**body, "stream": True}


def streaming(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "stream": True, "stream_options": {"include_usage": True}, "temperature": 0.2}


# -- the same bytes


@every_wire
def test_a_fork_begins_with_the_bytes_of_its_parent_after_every_step(wire: Any) -> None:
    events = rich(wire)
    for length in (1, 4, 5, 6, 8):
        parent = asked(events[:length], wire, max_output=900)
        body = forked(parent).body
        assert body is not None
        assert begins(wire, body, parent.payload(model="a-model"))
        assert wire.validate(body) == []
        assert WORDS in json.dumps(body[wire.MESSAGES][-1])


def test_openai_messages_of_the_parent_are_the_first_messages_of_the_fork() -> None:
    parent = asked(rich(openai_chat))
    body = forked(parent, Summarizer(models=(model,), decorate=streaming)).body
    assert body is not None
    sent = parent.payload(model="a-model")
    assert body["messages"][:-1] == sent["messages"]
    assert body["messages"][-1] == {"role": "user", "content": WORDS}
    assert list(body) == ["model", "tools", "messages", "temperature"]
    assert payload_bytes(body["tools"]) == payload_bytes(sent["tools"])


def test_anthropic_marks_for_caching_stand_in_the_fork_where_the_caller_put_them() -> None:
    parent = asked(rich(anthropic), anthropic)
    sent = marked(parent.payload(model="a-model"))
    body = forked(parent, Summarizer(models=(model,), decorate=marked)).body
    assert body is not None
    assert begins(anthropic, body, sent)
    assert json.dumps(body).count("ephemeral") == json.dumps(sent).count("ephemeral") == 4
    assert body["messages"][-1]["content"][:-1] == sent["messages"][-1]["content"]
    assert body["messages"][-1]["content"][-1] == {"type": "text", "text": WORDS}
    assert "stream" not in body


@every_wire
def test_a_fork_is_a_copy_and_its_parent_stays_as_it_was(wire: Any) -> None:
    parent = asked(rich(wire), wire)
    before = payload_bytes(parent.payload(model="a-model"))
    body = forked(parent).body
    assert body is not None
    body[wire.MESSAGES].clear()
    assert payload_bytes(parent.payload(model="a-model")) == before


def test_a_fork_says_what_it_costs_and_who_is_called() -> None:
    parent = asked(rich(openai_chat))
    made = forked(parent, Summarizer(models=(model,), limits=Limits(output_tokens=700, timeout_seconds=9)))
    assert (made.mode, made.wire, made.model, made.schema) == ("fork", "openai-chat", model, None)
    assert (made.max_output, made.timeout_seconds) == (700, 9)
    assert parent.tokens.total < made.tokens < parent.tokens.total + 40
    assert made.payload() == made.body


speech = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30)


@st.composite
def talks(draw: st.DrawFn) -> list[Event]:
    """Turns of words and rounds with up to three calls; ends wherever a request may end."""
    events: list[Event] = []
    for number in range(draw(st.integers(1, 4))):
        said = draw(st.sampled_from([user, injected]))(draw(speech) + "!")
        if draw(st.booleans()):
            picture = Image(media_type="image/png", data="AAAA")
            said = msgspec.structs.replace(said, parts=(*said.parts, picture))
        events.append(said)
        for at in range(draw(st.integers(0, 2))):
            ids = [f"c{number}_{at}_{one}" for one in range(draw(st.integers(0, 3)))]
            arguments = json.dumps({"path": draw(speech)})
            events.append(assistant(draw(speech) + ".", *(ToolCall(one, "read", arguments) for one in ids)))
            events += [result(one, draw(speech), name="read", is_error=draw(st.booleans())) for one in ids]
    return events


def thoughtful(events: Sequence[Event], wire: Any) -> list[Event]:
    """The same talk of a model that thinks before its calls."""
    return [
        msgspec.structs.replace(event, parts=(THOUGHT[wire.NAME], *event.parts)) if event.calls else event
        for event in events
    ]


@every_wire
@given(talk=talks(), thinks=st.booleans(), words=speech.map(lambda text: f"Sum up: {text}"))
def test_whatever_was_said_the_fork_begins_with_it_and_is_valid(
    wire: Any, talk: list[Event], thinks: bool, words: str
) -> None:
    parent = asked(thoughtful(talk, wire) if thinks else talk, wire)
    sent = parent.payload(model="a-model")
    whole = payload_bytes(sent)
    made = fork_of(parent, model, ASKED, words, frame=FRAME)
    assert isinstance(made, Ask)
    assert made.body is not None
    assert begins(wire, made.body, sent)
    assert wire.validate(made.body) == []
    assert {key: made.body[key] for key in sent if key != wire.MESSAGES} == {
        key: sent[key] for key in sent if key != wire.MESSAGES
    }
    assert payload_bytes(parent.payload(model="a-model")) == whole
    assert what_changed(prints_of(sent, wire), prints_of(made.body, wire)) == ()


@every_wire
def test_in_a_session_the_last_request_is_the_beginning_of_the_fork_of_the_next(wire: Any) -> None:
    session = Session("s", policy=Policy.coding(run="manual"))
    events = long_session(8)
    said = {"system": SYSTEM, "tools": tools_of_calls(events), "window": 200_000, "wire": wire}
    session.record(*events[:5])
    last = session.request(**said).payload(model="a-model")
    for at in range(5, len(events), 2):
        session.record(*events[at : at + 2])
        parent = session.request(**said)
        body = forked(parent, frame=Frame(window=200_000, wire=wire.NAME, model="a-model")).body
        assert body is not None
        assert begins(wire, body, last)
        assert what_changed(prints_of(last, wire), prints_of(body, wire)) == ()
        last = parent.payload(model="a-model")


@every_wire
def test_in_recorded_sessions_every_fork_begins_with_the_last_request(wire: Any) -> None:
    data = shared("data/trajectories/tau-bench/gpt-4o-airline.subset.json")
    for recorded in read(data.read_bytes(), name=data.name)[:3]:
        session = Session("s", policy=Policy.chat(run="manual"))
        tools, last, start, compared = tools_of_calls(recorded.events), None, 0, 0
        for at in [at for at, event in enumerate(recorded.events) if event.role == "assistant" and at]:
            session.record(*recorded.events[start:at])
            start = at
            parent = session.request(tools=tools, window=200_000, wire=wire)
            sent = parent.payload(model="a-model")
            if not parent.report.epoch:
                body = forked(parent, frame=Frame(window=200_000, wire=wire.NAME, model="a-model")).body
                assert body is not None
                assert begins(wire, body, sent)
                assert last is None or begins(wire, body, last)
                compared += 1
            last = sent
        assert compared > 5


# -- why there is none


def test_without_a_parent_there_is_no_fork() -> None:
    assert why_not(None) == "there is no parent request"


class Named:
    """A model that says who it is."""

    def __init__(self, name: str) -> None:
        self.info = ModelInfo(name=name)

    def __call__(self, ask: Ask) -> str:
        return "summary"


def test_another_model_has_another_cache() -> None:
    parent = asked(rich(openai_chat))
    frame = Frame(window=100_000, model="gpt-5.2")
    why = why_not(parent, model=Named("gpt-5.2-mini"), frame=frame)
    assert why == "the summary model is gpt-5.2-mini and the running one gpt-5.2: another model has another cache"


@pytest.mark.parametrize(
    ("name", "running"),
    [
        *(("gpt-5.2", "gpt-5.2-2025-12-11"), ("openai/gpt-5.2", "gpt-5.2"), ("GPT-5.2", "gpt-5.2")),
        *(("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"), ("claude-sonnet-4-5", "claude-sonnet-4-5@20250929")),
        *(("claude-3-7-sonnet-latest", "claude-3-7-sonnet"), ("model", "gpt-5.2"), ("gpt-5.2", "")),
    ],
)
def test_one_model_under_two_names_is_one_model(name: str, running: str) -> None:
    made = fork_of(asked(rich(openai_chat)), Named(name), ASKED, WORDS, frame=Frame(window=100_000, model=running))
    assert isinstance(made, Ask), made
    assert made.body is not None
    assert made.body.get("model") == (running or name)


def test_a_function_without_a_name_of_its_own_is_taken_for_the_running_model() -> None:
    assert forked(asked(rich(openai_chat)), frame=Frame(window=100_000)).body is not None


@every_wire
def test_a_call_that_waits_for_its_result_or_for_an_approval_is_not_asked_past(wire: Any) -> None:
    session = Session("s", policy=Policy.coding(run="manual"))
    session.record(user("Go."), assistant("", ToolCall("c1", "pay", "{}"), ToolCall("c2", "read", "{}")))
    session.record(result("c2", "done", name="read"))
    parent = session.request(window=100_000, wire=wire, tools=tools_of_calls([assistant("", ToolCall("c", "pay"))]))
    assert why_not(parent) == "call c1 (pay) still waits for its result"


def test_a_call_that_was_never_answered_and_passed_over_is_no_reason() -> None:
    session = Session("s", policy=Policy.coding(run="manual"))
    session.record(user("Go."), assistant("", ToolCall("c1", "pay", "{}")), user("Stop."), assistant("I stopped."))
    assert forked(session.request(window=100_000, wire=openai_chat)).body is not None


def test_a_parent_that_does_not_go_on_from_the_last_request_reads_no_cache() -> None:
    parent = asked(rich(openai_chat))
    parent = parent.with_report(msgspec.structs.replace(parent.report, epoch="cache cold"))
    assert why_not(parent).endswith("does not go on from the last one (cache cold), so no cache would be read")


def test_a_fork_that_would_not_fit_is_none() -> None:
    parent = asked(rich(openai_chat)[4:6])
    full = parent.tokens.total + 5
    assert why_not(asked(rich(openai_chat)[4:6], ceiling=full)).startswith("it would not fit: ")
    assert forked(asked(rich(openai_chat)[4:6], ceiling=full + 40)).body is not None
    assert "2,000 for the answer" in why_not(parent, window=2_010)


@every_wire
def test_a_limit_too_small_for_a_summary_is_raised_and_a_larger_one_stays(wire: Any) -> None:
    for said, wanted in ((300, 2_000), (9_000, 9_000), (None, None)):
        parent = asked(rich(wire), wire, max_output=said)
        made = forked(parent)
        assert made.body is not None
        sent = parent.payload(model="a-model")
        expected = wire.write("", [], [user("x")], max_output=wanted or sent.get("max_tokens"))
        expected.pop(wire.MESSAGES)
        assert {key: made.body.get(key) for key in expected} == expected
        assert begins(wire, {**sent, wire.MESSAGES: made.body[wire.MESSAGES]}, sent)
        assert made.max_output == (wanted or sent.get("max_tokens") or 2_000)


def test_a_longer_answer_than_the_parent_reserved_takes_its_room_from_the_prompt() -> None:
    parent = asked(rich(openai_chat)[4:], ceiling=900)  # with 4,096 reserved
    assert forked(parent).body is not None
    long = Summarizer(models=(model,), limits=Limits(output_tokens=5_000))
    assert "5,000 for the answer" in why_not(parent, long)
    decorated = Summarizer(models=(model,), decorate=lambda body: {**body, "max_completion_tokens": 32_000})
    assert "32,000 for the answer" in why_not(parent, decorated)


def test_pictures_count_at_the_price_of_who_reads_them() -> None:
    large = Event(role="user", origin="user", parts=(Text("?"), Image(url="https://x/a.png", width=2000, height=2000)))
    parent = asked([large], anthropic, ceiling=asked([large], anthropic).tokens.total + 100)
    dear, neutral = (
        Frame(window=100_000, wire=wire, model=name) for wire, name in (("anthropic", "claude-5"), ("x", ""))
    )
    assert why_not(parent, frame=dear).startswith("it would not fit: ")
    assert forked(parent, frame=neutral).body is not None


def _raises(body: dict[str, Any]) -> dict[str, Any]:
    raise KeyError("region")


def _nothing(body: dict[str, Any]) -> Any:
    body["messages"] = []


@pytest.mark.parametrize(
    ("decorate", "why"),
    [
        (_raises, "decorate raised KeyError: 'region'"),
        (_nothing, "decorate returned NoneType, where it takes a payload"),
        (lambda body: {**body, "messages": []}, "messages: there is no message to send. (no_messages)"),
        (lambda body: {**body, "tool_choice": "required"}, "tool_choice: a tool is forced upon the answer"),
        (lambda body: {**body, "response_format": {"type": "json_schema"}}, "response_format: the answer is bound"),
    ],
)
def test_what_the_caller_does_to_a_payload_may_leave_no_fork(
    decorate: Callable[[dict[str, Any]], Any], why: str
) -> None:
    summarizer = Summarizer(models=(model,), decorate=decorate)
    assert why_not(asked(rich(openai_chat)), summarizer).startswith(why)


def test_a_parent_that_its_provider_would_refuse_has_no_fork() -> None:
    orphan = asked([user("go"), result("c9", "nobody asked", name="read")])
    assert why_not(orphan).startswith("the parent request is not valid: messages[1]: ")


def test_thinking_that_the_model_would_drop_for_the_instruction_leaves_no_fork() -> None:
    events = rich(anthropic)[:4]
    on = Summarizer(
        models=(model,), decorate=lambda body: {**body, "thinking": {"type": "enabled", "budget_tokens": 1_024}}
    )
    older, newer = (Frame(window=100_000, model=name) for name in ("claude-sonnet-4-5", "claude-opus-4-5"))
    parent = asked(events, anthropic, max_output=3_000)
    assert why_not(parent, on, frame=older).startswith("thinking: the model drops the thinking of the running turn")
    assert forked(parent, on, newer).body is not None


def test_a_wire_of_somebody_else_may_not_know_how_to_append() -> None:
    class Morse:
        NAME = "morse"

    assert why_not(asked(rich(openai_chat), Morse())) == "the wire morse cannot put an instruction behind a request"


# -- what changed


def body_of(wire: Any, events: Sequence[Event], **fields: Any) -> dict[str, Any]:
    return {**wire.write(SYSTEM, tools_of_calls(rich(wire)), events, model="a-model", max_output=900), **fields}


def changed(wire: Any, before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    return what_changed(prints_of(before, wire), prints_of(after, wire))


@every_wire
def test_a_body_that_goes_on_has_changed_nothing(wire: Any) -> None:
    events = rich(wire)
    for length in (1, 4, 5, 6):
        before, after = (body_of(wire, events[:end]) for end in (length, length + 1))
        assert changed(wire, before, before) == ()
        if wire.validate(after) == []:
            assert changed(wire, before, after) == ()


@every_wire
def test_each_change_is_named(wire: Any) -> None:
    events = rich(wire)
    before = body_of(wire, events)
    tools = tools_of_calls(events)

    def written(system: str = SYSTEM, using: Sequence[Any] = tools, shown: Sequence[Event] = events) -> dict[str, Any]:
        out: dict[str, Any] = wire.write(system, using, shown, model="a-model", max_output=900)
        return out

    assert changed(wire, before, written()) == ()
    assert changed(wire, before, written(system="You are quick.")) == ("system",)
    assert changed(wire, before, written(using=tools[:1])) == ("tools",) or wire is gemini
    assert changed(wire, before, {**before, "model": "another"}) == ("model",)
    (what,) = changed(wire, before, written(shown=[user("Something else."), *events[1:]]))
    assert what == "message 1"
    (what,) = changed(wire, before, written(shown=events[:-3]))
    assert what.startswith("message ")


def test_tools_and_messages_in_another_order_are_named_as_that() -> None:
    before = body_of(openai_chat, rich(openai_chat))
    assert changed(openai_chat, before, {**before, "tools": before["tools"][::-1]}) == ("order of tools",)
    first, *rest = before["messages"]
    assert changed(openai_chat, before, {**before, "messages": [first, *rest[::-1]]}) == ("order of messages",)


def test_changes_are_named_in_the_order_of_the_prompt() -> None:
    for wire, order in ((anthropic, ("tools", "system")), (openai_chat, ("system", "tools"))):
        events = rich(wire)
        before, after = body_of(wire, events), wire.write("Other.", [], events, model="another", max_output=900)
        assert changed(wire, before, after) == ("model", *order)


def test_settings_that_are_part_of_the_prompt_are_named_and_others_are_not() -> None:
    before = body_of(anthropic, rich(anthropic), tool_choice={"type": "auto"})
    after = {**before, "tool_choice": {"type": "none"}, "temperature": 1, "stream": True, "max_tokens": 5}
    assert changed(anthropic, before, after) == ("tool_choice",)
    before = body_of(openai_chat, rich(openai_chat))
    assert changed(openai_chat, before, {**before, "tool_choice": "none", "seed": 1}) == ()
    assert changed(openai_chat, before, {**before, "response_format": {"type": "json_object"}}) == ("response_format",)


def test_marks_for_caching_may_move_and_texts_may_become_blocks_for_them() -> None:
    events = rich(anthropic)
    before, after = marked(body_of(anthropic, events[:6])), marked(body_of(anthropic, events))
    assert changed(anthropic, before, after) == ()
    assert changed(anthropic, body_of(anthropic, events[:6]), after) == ()
    talk = body_of(openai_chat, [user("Hello"), assistant("Yes?"), user("Go.")])
    blocks = json.loads(json.dumps(talk))
    blocks["messages"][1]["content"] = [{"type": "text", "text": "Hello", "cache_control": MARK}]
    assert changed(openai_chat, talk, blocks) == ()


def test_a_mark_inside_a_result_is_a_mark_too() -> None:
    picture = Image(media_type="image/png", data="AAAA")
    shown = result("c1", "seen", name="read", images=[picture])
    before = body_of(anthropic, [user("go"), assistant("", ToolCall("c1", "read")), shown])
    after = json.loads(json.dumps(before))
    after["messages"][-1]["content"][0]["content"][-1]["cache_control"] = MARK
    assert changed(anthropic, before, after) == ()


def test_what_is_no_mark_is_no_mark_though_it_has_the_name_of_one() -> None:
    def step(value: str) -> dict[str, Any]:
        call = ToolCall("c1", "read", json.dumps({"cache_control": value}))
        return body_of(anthropic, [user("go"), assistant("", call), result("c1", "x", name="read")])

    assert changed(anthropic, step("a"), step("b")) == ("message 2",)


def test_prints_are_small_values() -> None:
    prints = prints_of(body_of(openai_responses, rich(openai_responses)), openai_responses)
    assert msgspec.json.decode(msgspec.json.encode(prints), type=Prints) == prints
    assert prints_of({"input": "Hello"}, openai_responses) == prints_of(
        {"input": [{"role": "user", "content": "Hello"}]}, openai_responses
    )


# -- was the cache read?


def replied(**usage: int) -> Reply:
    return Reply(text="summary", usage=Usage(**usage))


def test_a_fork_that_reads_what_its_parent_read_and_wrote_is_fine() -> None:
    parent = Usage(input=50_000, cache_read=45_000, cache_write=4_000)
    text, warning = cache_report(parent, 50_000, replied(input=50_300, cache_read=49_000))
    assert text == (
        "49,000 of the fork's 50,300 prompt tokens came from the cache, 45,000 of 50,000 of the request before it"
    )
    assert warning == ""
    assert cache_report(parent, 50_000, replied(input=50_300, cache_read=48_900)).warning == ""  # less than a step
    assert "4,000 cached tokens fewer" in cache_report(parent, 50_000, replied(input=50_300, cache_read=45_000)).warning


def test_a_drop_is_a_warning_that_names_what_changed() -> None:
    parent = Usage(input=50_000, cache_read=45_000)
    assert cache_report(parent, 50_000, replied(input=50_300), ["tools", "message 7"]).warning == (
        "The fork read 45,000 cached tokens fewer than it should have (changed: tools, message 7)."
    )
    assert cache_report(parent, 50_000, replied(input=50_300, cache_read=1_000)).warning == (
        "The fork read 44,000 cached tokens fewer than it should have (unknown cause)."
    )


def test_where_nothing_was_cached_at_all_the_fork_is_no_use_and_that_is_said() -> None:
    warning = cache_report(Usage(input=50_000), 50_000, replied(input=50_300)).warning
    assert warning.startswith("Neither the fork nor the request before it was served from a cache")
    assert cache_report(Usage(input=50_000), 50_000, replied(input=50_300, cache_read=49_920)).warning == ""


def test_what_was_not_reported_is_not_guessed() -> None:
    text, warning = cache_report(Usage(input=50_000, cache_read=40_000), 50_000, replied())
    assert "not known" in text
    assert warning == ""
    text, warning = cache_report(None, 48_000, replied(input=50_300, cache_read=47_000))
    assert "about 48,000 tokens, reported nothing to compare with" in text
    assert warning == ""
    assert cache_report(None, 48_000, replied(input=50_300)).warning == (
        "Nothing of the fork came from the cache (unknown cause)."
    )


def test_what_may_be_to_blame_is_found_by_comparing_with_the_last_request() -> None:
    events = rich(anthropic)
    parent = asked(events, anthropic)
    last = replace(asked(events[:6], anthropic), tools=parent.tools)
    as_caller = Summarizer(models=(model,), decorate=marked)
    assert causes(None, forked(parent), ASKED) == ()
    assert causes(last, forked(parent), ASKED) == ()
    assert causes(last, forked(parent, as_caller), as_caller) == ()
    other = replace(parent, system="You are quick.", tools=parent.tools[:1])
    assert causes(last, forked(other), ASKED) == ("tools", "system")
    assert causes(last, forked(parent, frame=Frame(window=100_000, model="a-model")), ASKED) == ()
    edited = parent.with_messages((*numbered(user("Something else.")), *parent.messages[1:]))
    assert causes(last, forked(edited), ASKED) == ("message 1",)
    barred = replace(last, messages=(*last.messages, injected("State: tests fail.")))  # an ephemeral suffix
    assert causes(barred, forked(parent), ASKED) == ()


def test_thinking_of_the_running_turn_may_be_to_blame() -> None:
    events = rich(openai_chat)
    running, over = asked(events[:4]), asked(events)
    assert causes(running, forked(running), ASKED) == ("thinking of the running turn",)
    assert causes(over, forked(over), ASKED) == ()  # it thought before the user's newest words
