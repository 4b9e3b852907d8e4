"""PAIR: tool calls and results that a compaction, a cut or a repair tears apart."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import (
    EVERY_WIRE,
    RAW,
    SMALL,
    check,
    checked,
    checked_on_all,
    classes,
    fresh,
    lines_of,
    pair,
    pairs_of,
    result_ids,
    text_of,
    words_of,
)
from turns import conversation, errors, system_of, turns

from foldmark import BudgetExceeded, MemoryStore, Policy, Session, WireError
from foldmark.assembly import assemble
from foldmark.events import Event, ToolCall, assistant, injected, result, user
from foldmark.hooked import EventHooks
from foldmark.policy import Layout
from foldmark.wire import WIRES, anthropic, gemini, openai_chat
from making import numbered
from pairs import pair_errors


def parallel(count: int, tokens: int = 80) -> list[Event]:
    calls = [ToolCall(f"p{n}", "read", f'{{"path":"f{n}.py"}}') for n in range(1, count + 1)]
    return [
        assistant("Reading all.", *calls),
        *(result(call.id, lines_of(tokens, call.id), name="read") for call in calls),
    ]


def test_a_tail_never_starts_inside_a_batch_of_tool_results() -> None:
    """S-PAIR-01: a step with ten parallel calls is covered with all its results, or none of them."""
    session = fresh()
    session.record(user("Read all ten."), *parallel(10), *pairs_of(8, 120, start=20))
    for more in range(20, 30):
        assert session.compact(force=True).outcome in ("applied", "ineffective")
        checked_on_all(session)
        found = classes(session)
        batch = {found[seq] in ("covered", "kept") for seq in range(2, 13)}
        assert len(batch) == 1, f"the batch is torn: {found}"
        session.record(*pairs_of(1, 120, start=100 + more))
    assert classes(session)[2] == "covered"


def middle_note() -> list[Event]:
    return [
        user("Begin."),
        assistant("", ToolCall("a", "read", "{}")),
        user("By the way, also look at b."),
        result("a", lines_of(1_500, "a")),
        assistant("Seen a."),
        user("Go on."),
        assistant("", ToolCall("b", "read", "{}")),
        result("b", lines_of(1_200, "b")),
    ]


def test_removing_from_the_middle_of_the_list_breaks_no_pair() -> None:
    """S-PAIR-02: with a note between call and result and too little room, pairs hold over the whole list."""
    session = fresh(Policy.coding(window=3_600, admission=RAW, run="manual"))
    session.record(*middle_note())
    for request in checked_on_all(session, max_output=900):
        assert result_ids(request.payload())[-1] == "b"
        assert "Go on." in text_of(request.payload())
        assert [change.seq for change in request.report.changes], "something had to give way"


def test_cutting_to_few_messages_never_opens_with_a_tool_message() -> None:
    """S-PAIR-03: the system message stays first and no result stands first after it."""
    session = fresh(Policy.coding(window=3_600, admission=RAW, run="manual"))
    session.record(
        user("A"),
        assistant("", ToolCall("123", "read", "{}")),
        result("123", lines_of(2_600)),
        user("B"),
        assistant("Done."),
    )
    for request in checked_on_all(session, system="You are careful.", max_output=900):
        payload = request.payload()
        assert system_of(payload) == "You are careful."
        assert not turns(payload)[0].results
        assert turns(payload)[0].text.startswith("A")
    payload = checked(session, system="You are careful.", max_output=900).payload()
    assert payload["messages"][0] == {"role": "system", "content": "You are careful."}


def test_a_pair_across_the_border_of_the_covered_range_is_never_halved() -> None:
    """S-PAIR-04: no call id is covered as call and raw as result, or the other way round."""
    session = fresh()
    at = itertools.count(1)
    for turn in range(3):
        session.record(user(f"Turn {turn}: read on."))
        for _ in range(12):
            session.record(*pair(next(at), 70))
        session.record(assistant(f"Turn {turn} is finished."))
        session.compact(force=True)
        checked_on_all(session)
    found, log = classes(session), session.store.log(session.key)
    sides: dict[str, set[str]] = {}
    for event in log:
        side = "covered" if found[event.seq] in ("covered", "kept") else "shown"
        for call_id in [call.id for call in event.calls] + ([event.result.call_id] if event.result else []):
            sides.setdefault(call_id, set()).add(side)
    assert len(sides) == 36
    assert all(len(side) == 1 for side in sides.values())
    assert any(side == {"covered"} for side in sides.values())


@pytest.mark.parametrize("wire", EVERY_WIRE)
def test_under_the_threshold_the_list_stays_as_it_is_and_the_report_says_so(wire: Any) -> None:
    """S-PAIR-05, S-PAIR-06: what fits goes out unchanged, trailing tool result included."""
    events = [user("What is in a.py?"), *pair(1, 300)]
    session = fresh(Policy.coding())
    session.record(*events)
    report = session.compact(window=128_000)
    request = checked(session, wire, system="Be brief.", window=128_000, max_output=4_000)
    assert (report.outcome, request.report.outcome, request.report.changes) == ("not_due", "not_due", ())
    assert request.payload() == wire.write(
        "Be brief.", [], session.store.log(session.key), max_output=request.max_output
    )
    assert result_ids(request.payload()) == ["c1"]


def test_just_below_the_total_the_pair_still_holds() -> None:
    """S-PAIR-06: a budget one token short of the list gives a valid list, not one without its result."""
    session = fresh(Policy.coding(run="manual", admission=RAW))
    session.record(user("Read them."), *pairs_of(6, 700))
    whole = session.request(system="Be brief.", window=20_000, max_output=2_000, wire=openai_chat).tokens.total
    reserve = 20_000 - 600 - whole  # the margin is 3% of the window
    same = checked(session, window=20_000, max_output=reserve)
    assert (same.ceiling, same.tokens.total, same.report.changes) == (whole, whole, ())
    less = checked(session, window=20_000, max_output=reserve + 1)
    assert less.tokens.total < whole
    assert less.report.changes


def test_after_every_single_message_pairs_hold_and_the_list_opens_with_a_user() -> None:
    """S-PAIR-07: a window that slides one message at a time orphans nothing one turn later."""
    session = fresh(Policy.coding(window=4_000, admission=RAW))
    story = [
        user("One."),
        *pair(1, 900),
        assistant("Final."),
        user("Two."),
        *pair(2, 900),
        assistant("Final two."),
        user("Three."),
    ]
    for event in [*story, *pairs_of(6, 700, start=10)]:
        session.record(event)
        checked_on_all(session)


def test_a_prompt_that_holds_what_is_stored_is_not_doubled(store: Any) -> None:
    """S-PAIR-08: following the same list again brings nothing new, and every id stands once."""
    session = fresh(Policy.coding(), store)
    messages = [
        {"role": "user", "content": "Read a.py"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "x = 1"},
    ]
    assert len(session.follow(messages, wire=openai_chat).new) == 3
    assert session.follow(messages, wire=openai_chat).new == ()
    assert checked(session, window=128_000).payload()["messages"] == messages


def test_what_the_running_turn_fetched_is_kept_before_older_messages() -> None:
    """S-PAIR-09: the current call and result stay; if they alone are too much the result becomes a preview."""
    session = fresh(Policy.coding(window=12_000, admission=RAW))
    session.record(user("Old talk."), *pairs_of(40, 1_000))
    session.record(user("Now read the big one."), *pair("big", 9_000))
    for request in checked_on_all(session, max_output=1_500):
        assert result_ids(request.payload())[-1] == "cbig"
        assert "Now read the big one." in text_of(request.payload())
    assert classes(session)[len(session.store.log(session.key))] in ("raw", "demoted")


def test_the_same_result_is_sent_once_though_it_came_twice() -> None:
    """S-PAIR-10: one result per call id, in the order of the calls, also after a compaction in mid-turn."""
    session = fresh()
    session.record(user("Both."), *pairs_of(10, 120))
    session.record(
        assistant("", ToolCall("x", "read", "{}"), ToolCall("y", "bash", "{}")), result("y", "why"), result("x", "ex")
    )
    session.compact(force=True)
    session.record(result("y", "why again"), result("x", "ex again"))
    for request in checked_on_all(session):
        ids = result_ids(request.payload())
        assert ids[-2:] == ["x", "y"]
        assert len(ids) == len(set(ids))
        assert "why again" in text_of(request.payload())


def test_the_users_own_question_survives_a_tool_loop() -> None:
    """S-PAIR-11: a result larger than the limit never costs the question."""
    question = "Which of the two retries charged the card twice, and since which release?"
    session = fresh(Policy.coding(window=6_000, admission=RAW))
    session.record(user(question), *pair(1, 6_000))
    for request in checked_on_all(session, system="Rule. " * 60, max_output=1_000):
        assert question in text_of({"messages": conversation(request.payload())})


def test_a_call_that_waits_for_an_approval_is_never_covered() -> None:
    """S-PAIR-12: an approval that comes after twelve messages and a compaction still finds its call."""
    session = fresh()
    session.record(user("Refund it."), *pairs_of(10, 120))
    waiting = session.record(assistant("May I?", ToolCall("ok7", "request_approval", '{"what":"refund 30 EUR"}'))).seq
    session.compact(force=True)
    assert classes(session)[waiting] == "raw"
    session.record(result("ok7", "approved by Kim"))
    for request in checked_on_all(session):
        assert result_ids(request.payload())[-1] == "ok7"


def test_a_late_approval_behind_other_talk_is_shown_in_a_valid_place() -> None:
    """S-PAIR-12: twelve chat messages between call and result; pairs hold and the answer is read."""
    session = fresh()
    session.record(user("Refund it."), *pairs_of(10, 120))
    session.record(assistant("May I?", ToolCall("ok7", "request_approval", '{"what":"refund 30 EUR"}')))
    for number in range(6):
        session.record(user(f"Small talk {number}."), assistant(f"Yes, {number}."))
    session.compact(force=True)
    session.record(result("ok7", "approved by Kim on Tuesday"))
    for request in checked_on_all(session):
        assert "approved by Kim on Tuesday" in text_of(request.payload())


cuts = st.lists(st.integers(1, 12), min_size=1, max_size=5)


@given(cuts, st.sampled_from(EVERY_WIRE))
def test_after_any_number_of_compactions_at_any_point_pairs_hold(steps: list[int], wire: Any) -> None:
    """S-PAIR-13: rebuilding from the log after one to five compactions never shows a result without its call."""
    session = fresh()
    story = itertools.chain([user("Go.")], itertools.chain.from_iterable(map(parallel_at, itertools.count(1))))
    for step in steps:
        session.record(*itertools.islice(story, step * 4))
        session.compact(force=True)
        checked(session, wire)


def parallel_at(number: int) -> list[Event]:
    calls = [ToolCall(f"k{number}_{n}", "read", "{}") for n in range(1 + number % 3)]
    return [assistant(f"Step {number}.", *calls), *(result(call.id, lines_of(90, call.id)) for call in reversed(calls))]


def contents_of(steps: list[int], *, has_ids: bool) -> list[dict[str, Any]]:
    """A tool loop in the Gemini shape: a step with so many parallel calls each, all answered in one user turn."""
    out: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": "Read them all."}]}]
    for at, count in enumerate(steps):
        ids = [{"id": f"g{at}_{n}"} if has_ids else {} for n in range(count)]
        calls = [{"functionCall": {**one, "name": "read", "args": {"n": n}}} for n, one in enumerate(ids)]
        answers = [
            {"functionResponse": {**one, "name": "read", "response": {"output": lines_of(120, f"r{at}_{n}")}}}
            for n, one in enumerate(ids)
        ]
        out += [{"role": "model", "parts": [{"text": f"Step {at}."}, *calls]}]
        out += [{"role": "user", "parts": answers or [{"text": "Go on."}]}]
    return out


def turn_errors(contents: list[dict[str, Any]]) -> list[str]:
    """What breaks the rule of Gemini: a call turn stands behind a user turn, and the turn behind it answers each of its
    calls once, in order. Not our validator."""
    names = [
        [
            [part[key]["name"] for part in content["parts"] if key in part]
            for key in ("functionCall", "functionResponse")
        ]
        for content in contents
    ]
    errors = [] if contents[0]["role"] == "user" else ["0: the model begins"]
    for at, (calls, answers) in enumerate(names):
        before = names[at - 1][0] if at else []
        if answers != before:
            errors.append(f"{at}: {answers} answer {before}")
        if calls and (not at or contents[at - 1]["role"] != "user"):
            errors.append(f"{at}: calls stand behind no user turn")
    return errors + (["the end: unanswered calls"] if names[-1][0] else [])


@given(st.lists(st.integers(0, 3), min_size=9, max_size=10), st.integers(1, 10), st.booleans())
def test_a_gemini_conversation_is_never_cut_between_calls_and_their_responses(
    steps: list[int], cut: int, has_ids: bool
) -> None:
    """S-PAIR-15: twenty contents, compacted wherever it stands; responses are role user and are no place to cut."""
    session = fresh()
    events = gemini.read_messages(contents_of(steps, has_ids=has_ids)).events
    for part in (events[: cut * 3], events[cut * 3 :]):
        session.record(*part)
        session.compact(force=True)
        request = session.request(wire=gemini)
        contents = request.payload()["contents"]
        assert turn_errors(contents) == []
        assert gemini.validate(request.payload()) == []
        assert request.tokens.total <= request.ceiling
    assert turn_errors([{"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {}}}]}])


def test_a_gemini_tool_loop_that_is_followed_is_cut_into_whole_pairs() -> None:
    """S-PAIR-15: the client re-sends its contents; what goes out has as many responses as calls, in one turn."""
    session = fresh()
    talk = contents_of([1, 3, 2] * 6, has_ids=False)
    assert session.follow(talk, wire=gemini).forked_at is None
    assert session.compact(force=True).outcome == "applied"
    contents = session.request(wire=gemini).payload()["contents"]
    assert turn_errors(contents) == []
    assert len(contents) < len(talk)
    again = session.follow([*talk, {"role": "model", "parts": [{"text": "Done."}]}], wire=gemini)
    assert [event.text for event in again.new] == ["Done."]


@pytest.mark.parametrize("place", ["user", "system"])
def test_a_compacted_request_always_holds_a_conversation(place: str) -> None:
    """S-PAIR-16: with the checkpoint in the system text there still is a message to send, on every wire."""
    session = fresh(SMALL.replace(layout={"checkpoint": place}))
    session.record(user("Talk."), *pairs_of(12, 120))
    assert session.compact(force=True).outcome == "applied"
    for request in checked_on_all(session):
        assert turns(request.payload())
        assert ("foldmark-checkpoint" in system_of(request.payload())) == (place == "system")


@pytest.mark.parametrize("place", ["user", "system"])
@pytest.mark.parametrize("head", ["user", "assistant"])
@pytest.mark.parametrize("tail", ["user", "assistant"])
def test_a_checkpoint_is_never_the_assistants_and_roles_alternate(place: str, head: str, tail: str) -> None:
    """S-PAIR-17: four combinations of what stands before and after the cut; on Anthropic and Gemini roles alternate."""
    session = fresh(SMALL.replace(layout={"checkpoint": place}))
    session.record(user("Go."), *pairs_of(30, 150))
    session.record(
        *(
            [user("A last word."), assistant("Yes.")]
            if head == "assistant"
            else [assistant("Yes."), user("A last word.")]
        )
    )
    session.record(*([user("New."), *pair("z", 120)] if tail == "user" else pair("z", 120)))
    assert session.compact(force=True).outcome == "applied"
    for request in checked_on_all(session):
        payload = request.payload()
        for turn in turns(payload):
            assert turn.role != "assistant" or "foldmark-checkpoint" not in turn.text
        assert text_of(payload).count("</foldmark-checkpoint>") == 1


def test_a_compaction_triggered_by_a_tool_result_repairs_both_directions() -> None:
    """S-PAIR-18: the last message holds only results; what is covered leaves no half behind."""
    session = fresh(SMALL.replace(tail={"share": 0.0}))
    session.record(user("Go."))
    for number in range(60):
        session.record(*pair(number, 150))
        for request in checked_on_all(session):
            assert result_ids(request.payload())[-1] == f"c{number}"
    assert len(session.control.history()) >= 2


def test_a_call_that_never_got_a_result_leaves_the_session_usable() -> None:
    """S-PAIR-19: the dangling call is closed with a marker, and the talk goes on."""
    session = fresh()
    session.record(user("Go."), *pairs_of(10, 120), assistant("", ToolCall("z", "bash", '{"command":"make"}')))
    session.compact(force=True)
    request = checked(session)
    assert result_ids(request.payload())[-1] == "z"
    assert "interrupted" in words_of(request.payload()["messages"][-1])
    assert any("z" in warning for warning in request.report.warnings)
    session.record(user("Please continue."), *pair("next", 60))
    for request in checked_on_all(session):
        assert "Please continue." in text_of(request.payload())


@given(st.sets(st.integers(0, 40)), st.sampled_from(EVERY_WIRE))
def test_whatever_subset_a_hook_keeps_the_payload_is_valid(keep: set[int], wire: Any) -> None:
    """S-PAIR-21: assembly repairs any selection of a log, results without calls and calls without results alike."""
    log = numbered(
        user("Go."), *parallel(3), user("More."), *pairs_of(8), assistant("Done."), user("Next."), *parallel(4)
    )
    chosen = [event for event in log if event.seq in keep] or [log[0]]
    draft = assemble(None, (), chosen, "", (), Layout())
    payload = wire.write("", [], draft.messages)
    assert errors(payload, wire.NAME) == []
    assert [found for found in wire.validate(payload) if found.certainty == "known"] == []
    shown = {event.seq for event in draft.messages if event.seq}
    assert shown == {event.seq for event in chosen}
    torn = any(
        event.result and not any(event.result.call_id in [c.id for c in e.calls] for e in chosen) for event in chosen
    )
    assert not torn or draft.warnings


@settings(max_examples=40)
@given(keep=st.sets(st.integers(1, 40)), compacts=st.booleans())
def test_whatever_a_read_hook_withholds_the_request_is_valid_on_every_wire(keep: set[int], compacts: bool) -> None:
    """S-PAIR-21: a hook shows any subset of a session, in the middle of a run too: results go with their calls, and a
    call whose result is withheld gets a marker, with a warning."""
    store = MemoryStore()
    events = [user("Go."), *parallel(3), user("More."), *pairs_of(8, 300), user("Next."), *parallel(4, 300)]
    fresh(SMALL, store).record(*events)
    shown = EventHooks(on_read=lambda key, event: event if event.seq in keep or event.seq == 1 else None)
    session = fresh(SMALL, store, hooks=[shown])
    if compacts:
        session.compact(force=True)
    for request in checked_on_all(session):
        assert {event.seq for event in request.messages if event.seq} <= keep | {1}
    log = session.store.log(session.key)
    dangling = {call.id for event in log for call in event.calls} - {
        event.result.call_id for event in log if event.result
    }
    warnings = "\n".join(session.peek().report.warnings)
    raw = {call.id for event in session.peek().messages for call in event.calls}
    assert all(f"Call {name} " in warnings for name in dangling & raw)


@pytest.mark.parametrize("wire", EVERY_WIRE, ids=lambda wire: wire.NAME)
def test_a_hook_that_keeps_only_the_latest_message_sends_no_result_without_its_call(wire: Any) -> None:
    """S-PAIR-21: one tool, and the second model call of the same run: of [user, call, result] the hook keeps one. Alone
    a call gets its marker; a result is never sent without its call, and a request of nothing says so."""
    store = MemoryStore()
    fresh(SMALL, store).record(user("Read a.py."), *pair(1, 60))
    for latest in (1, 2, 3):
        hook = EventHooks(on_read=lambda key, event, latest=latest: event if event.seq == latest else None)
        request = fresh(SMALL, store, hooks=[hook]).request(wire=wire)
        if latest == 3:
            with pytest.raises(WireError, match=r"no_messages|empty"):
                request.payload()
            continue
        said = turns(request.payload())
        assert [turn.calls for turn in said if turn.calls] == [turn.results for turn in said if turn.results]
        assert (latest == 2) == any("a marker stands in its place" in one for one in request.report.warnings)


@pytest.mark.parametrize("system", ["", "You are careful."])
@pytest.mark.parametrize(
    "events", [[], [user("")], [user(""), assistant("")], [user("hi")], [assistant("hi")], [injected("note")]]
)
def test_empty_and_tiny_sessions_crash_nothing(events: list[Event], system: str) -> None:
    """S-PAIR-22: lists of nought to two messages compact, build and explain without an exception."""
    session = fresh(Policy.coding())
    session.record(*events)
    assert session.compact(window=128_000).outcome == "not_due"
    assert session.compact(force=True, window=128_000).outcome == "ineffective"
    request = session.request(system=system, window=128_000)
    assert len(request.messages) == len(events)
    assert len(session.explain()) == len(events)
    assert session.search("hi") == [] or events
    if request.messages and any(event.text for event in events):
        check_opening = request.payload()["messages"]
        assert check_opening[-1]["content"] in ("hi", "note", [{"type": "text", "text": "note"}])


def test_an_interrupted_run_that_cannot_fit_says_so_and_changes_nothing() -> None:
    """S-PAIR-09: never a silent removal: what cannot be shown raises, with the arithmetic."""
    session = fresh(Policy.coding(window=6_000))
    session.record(user("word " * 5_800))
    before = session.store.log(session.key)
    with pytest.raises(BudgetExceeded) as raised:
        session.request(max_output=900)
    assert ("context window", 6_000) in raised.value.lines
    assert session.store.log(session.key) == before


def test_check_notices_a_broken_list() -> None:
    """The checker of this file can fail."""
    bad = {"messages": [{"role": "tool", "tool_call_id": "x", "content": "y"}]}
    assert pair_errors(bad)
    session = fresh()
    session.record(user("Go."), *pairs_of(2))
    check(session.request(wire=anthropic))


@pytest.mark.parametrize("how", ["pin", "keep"])
def test_a_call_that_must_stay_keeps_its_result_when_rounds_are_dropped(how: str) -> None:
    """S-PAIR-02: the pair stays whole from both of its sides."""
    policy = Policy.coding(run="manual", window=4_000)
    if how == "keep":
        policy = policy.replace(keep={"choose": lambda event: event.seq == 2, "share": 1.0})
    made = Session("s", policy=policy)
    made.record(user("go"))
    for at in range(1, 150):
        made.record(assistant(f"step {at}", ToolCall(f"c{at}", "ask", "{}")))
        made.record(result(f"c{at}", "words " * 250, name="ask"))
    if how == "pin":
        made.control.pin("event:2")
    for wire in WIRES:
        made.request(wire=wire).payload()
    status = {entry.seq: entry.status for entry in made.explain()}
    assert "left_out" in status.values()
    assert status[2] != "left_out"
    assert status[3] != "left_out"


def test_a_pinned_record_that_is_never_sent_is_not_shown_behind_a_boundary() -> None:
    """S-PAIR-16: what is no message does not become one by being pinned."""
    made = Session("s", policy=Policy.coding(run="manual", budget={"landing_tokens": 2_000}))
    made.record(user("go"), Event(role="control", meta={"control": "note"}))
    for at in range(1, 60):
        made.record(assistant(f"step {at}", ToolCall(f"c{at}", "ask", "{}")))
        made.record(result(f"c{at}", "words " * 90, name="ask"))
    made.control.pin("event:2")
    assert made.compact(force=True).outcome == "applied"
    assert 2 not in made.control.history()[-1].kept
    assert "Pinned, from control" not in str(made.request(window=32_000).payload())
