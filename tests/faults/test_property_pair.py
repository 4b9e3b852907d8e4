"""PAIR as one property: whatever the log, the policy and the wire, after any compactions the payload pairs."""

from __future__ import annotations

from collections import Counter

from hypothesis import example, given, settings
from scenes import lines_of, pair, pairs_of, text_of
from stories import SYSTEM, Setting, lived, moves, settings_of, told
from turns import errors, system_of, turns

from foldmark.events import Event, ToolCall, assistant, result, user
from foldmark.wire import WIRES

TEN_CALLS = [("user", 1), ("batch", 8), ("call", 150), ("call", 150), ("call", 150), ("batch", 8), ("call", 700)]
SLIDING = [("user", 1), ("call", 700), ("say", 1), ("user", 1), ("call", 700), ("say", 1), ("user", 1)] * 2
APPROVAL = [("user", 1), *[("call", 150)] * 6, ("approval", 1), *[("user", 1), ("say", 1)] * 6, ("later", 3)]
TWICE = [("user", 1), *[("call", 150)] * 8, ("twice", 40), ("half", 40), ("later", 3), ("later", 3), ("say", 1)]
DANGLING = [("user", 1), *[("call", 150)] * 8, ("late", 1)]
ACROSS = [("user", 1), *[("late", 1), ("later", 150)] * 12]
MIDDLE = [("user", 1), ("between", 700), ("say", 1), ("user", 1), ("call", 700)]
THREE_TURNS = [("user", 1), *[("call", 40)] * 12, ("say", 1)] * 3
FEW = [
    user("A"),
    assistant("", ToolCall("123", "read", "{}")),
    result("123", lines_of(2_600)),
    user("B"),
    assistant("Done."),
]
RUNNING = [user("Old talk."), *pairs_of(40, 1_000), user("Now read the big one."), *pair("big", 9_000)]


@settings(max_examples=45)
@given(story=moves.map(told), setting=settings_of)
@example(story=told(TEN_CALLS), setting=Setting(force=1)).via("S-PAIR-01: the tail begins inside a batch of ten")
@example(story=told(MIDDLE), setting=Setting(window=7_000, raw=True, force=0)).via("S-PAIR-02: two must go")
@example(story=FEW, setting=Setting(window=7_000, raw=True, every=9)).via("S-PAIR-03: cut to few messages")
@example(story=told(THREE_TURNS), setting=Setting(every=13, force=1)).via("S-PAIR-04: a pair across the border")
@example(story=FEW[:3], setting=Setting(target=90_000, raw=True)).via("S-PAIR-05, S-PAIR-06: it fits")
@example(story=told(SLIDING), setting=Setting(window=7_000, raw=True, every=1, force=0)).via("S-PAIR-07: sliding")
@example(story=RUNNING, setting=Setting(target=10_000, window=12_000, raw=True, every=83)).via("S-PAIR-09")
@example(story=told(TWICE), setting=Setting(every=5, force=1)).via("S-PAIR-10: two results carry one id")
@example(story=told(APPROVAL), setting=Setting(every=5)).via("S-PAIR-12: an approval comes late")
@example(story=told(ACROSS), setting=Setting(every=1, force=3)).via("S-PAIR-13: compacted between call and result")
@example(story=told(TEN_CALLS), setting=Setting(wire=3, every=1, force=1)).via("S-PAIR-15: responses are role user")
@example(story=told(TEN_CALLS), setting=Setting(wire=1, place="system", force=1)).via("S-PAIR-16: no conversation")
@example(story=told(THREE_TURNS), setting=Setting(wire=1, every=4, force=1)).via("S-PAIR-17: alternation")
@example(story=told(TEN_CALLS), setting=Setting(wire=2, every=11, force=1)).via("S-PAIR-18: a result triggers it")
@example(story=told(DANGLING), setting=Setting(wire=1, every=20, force=1)).via("S-PAIR-19: a call without a result")
@example(story=[user("")], setting=Setting(wire=1)).via("S-PAIR-22: nothing to trim")
def test_pairs_roles_and_ids_hold_for_any_story_policy_and_wire(story: list[Event], setting: Setting) -> None:
    wire = WIRES[setting.wire]
    for session, request in lived(story, setting):
        log = session.store.log(session.key)
        if not any(event.role != "control" and event.parts and event.text for event in log):
            continue
        payload = request.payload()
        assert errors(payload, wire.NAME) == []
        shown = Counter(event.seq for event in request.messages if event.seq)
        assert not [seq for seq, count in shown.items() if count > 1], "an event stands twice"
        assert system_of(payload).count(SYSTEM) == 1
        assert text_of(payload).count("<foldmark-checkpoint ") == min(1, request.report.version)
        assert not [turn for turn in turns(payload) if turn.role == "assistant" and "foldmark-checkpoint" in turn.text]


def test_the_checker_sees_what_is_wrong() -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "f", "arguments": "{}"}}]}
    answer = {"role": "tool", "tool_call_id": "x", "content": "y"}
    ask = {"role": "user", "content": "go"}
    assert errors({"messages": [ask, call, answer]}, "openai-chat") == []
    for broken in ([], [answer], [ask, answer], [ask, call], [ask, call, ask, answer], [ask, call, answer, answer]):
        assert errors({"messages": broken}, "openai-chat"), broken
    item = {"type": "function_call", "call_id": "x", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "x", "output": "y"}
    assert errors({"input": [ask, item, output]}, "openai-responses") == []
    assert errors({"input": [ask, item, output, item, output]}, "openai-responses")
    assert errors({"input": [ask, output]}, "openai-responses")
    words, made = {"role": "user", "parts": [{"text": "go"}]}, {"name": "f", "args": {}}
    asked = {"role": "model", "parts": [{"functionCall": made}, {"functionCall": made}]}
    one = {"functionResponse": {"name": "f", "response": {}}}
    assert errors({"contents": [words, asked, {"role": "user", "parts": [one, one]}]}, "gemini") == []
    assert errors({"contents": [words, asked, {"role": "user", "parts": [one]}]}, "gemini")
    assert errors({"contents": [asked, {"role": "user", "parts": [one, one]}]}, "gemini")
