"""Cleanup: what shrinks behind the mark, and when the mark moves."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec
import pytest

from foldmark.checkpoint import Mark
from foldmark.cleanup import clean, mark_at, next_mark, options_of
from foldmark.events import (
    Artifact,
    Event,
    Image,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    assistant,
    chained,
    injected,
    result,
    user,
)
from foldmark.policy import Policy
from foldmark.prices import Price
from foldmark.reports import Change
from foldmark.store import Frame, Key, ScopeState, View
from foldmark.tokens import event_tokens

POLICY = Policy.coding(cleanup={"keep_results": 0, "keep_rounds": 1})
BODY = "".join(f"value_{n} = compute({n})\n" for n in range(60))
FRAME = Frame(window=200_000, static_hash="h")


def log(*events: Event) -> list[Event]:
    numbered = [msgspec.structs.replace(event, seq=n, tokens=event_tokens(event)) for n, event in enumerate(events, 1)]
    return chained(numbered)


def step(call_id: str, name: str, text: str, *, is_error: bool = False, **arguments: object) -> tuple[Event, Event]:
    call = ToolCall(call_id, name, json.dumps(arguments))
    return assistant("", call), result(call_id, text, name=name, is_error=is_error)


def cleaned(events: Sequence[Event], policy: Policy = POLICY) -> tuple[list[Event], dict[int, Change]]:
    """Everything marked, by seq."""
    found, changes = clean(events, Mark(seq=10_000), policy)
    return found, {change.seq: change for change in changes}


def test_an_old_read_becomes_one_line_with_its_outcome() -> None:
    events = log(user("go"), *step("a", "read", BODY, path="src/x.py"), assistant("ok"))
    found, changes = cleaned(events)
    assert found[2].text == "[read src/x.py: 60 lines]"
    assert changes[3] == Change(3, "demoted", "old result", events[2].tokens, found[2].tokens)
    assert found[2].tokens == event_tokens(found[2])
    assert [event for n, event in enumerate(found) if n != 2] == [event for n, event in enumerate(events) if n != 2]


def test_calls_keep_their_arguments_byte_for_byte() -> None:
    call = ToolCall("a", "write", '{ "path":"x.py",  "content": "' + "y" * 9_000 + '" }')
    events = log(assistant("", call), result("a", BODY))
    assert cleaned(events)[0][0] == events[0]


def test_a_failed_run_keeps_exit_code_and_error_lines() -> None:
    text = BODY + "src/x.c:3: error: no such thing\n\nCommand exited with code 2"
    found, _ = cleaned(log(*step("a", "bash", text, is_error=True, command="make all")))
    assert found[1].text.startswith("[ran make all: exit code 2; ")
    assert "src/x.c:3: error: no such thing" in found[1].text


def test_a_failed_read_keeps_what_it_said() -> None:
    text = "Could not open it, the disk is gone.\n" + BODY
    found, _ = cleaned(log(*step("a", "read", text, is_error=True, path="x.py")))
    assert "error: Could not open it, the disk is gone." in found[1].text


def test_failing_tests_keep_their_names() -> None:
    text = BODY + "FAILED tests/test_x.py::test_y - assert 1 == 2\n==== 1 failed, 3 passed in 0.1s ====\n"
    found, _ = cleaned(log(*step("a", "bash", text, command="pytest")))
    assert "1 failed, 3 passed; failing: tests/test_x.py::test_y (assert 1 == 2)" in found[1].text


@pytest.mark.parametrize(
    "name", ["book_flight", "AskUserQuestion", "get_price", "send_certificate", "mystery", "Task", "approve_plan"]
)
def test_one_shot_results_are_never_demoted(name: str) -> None:
    events = log(*step("a", name, BODY), user("x"), assistant("y"))
    assert cleaned(events) == (events, {})


def test_a_refusal_stays_whole() -> None:
    text = "The user doesn't want to proceed with this tool use. " + "Do something else instead, please. " * 15
    events = log(*step("a", "bash", text, command="rm -rf data"))
    assert cleaned(events)[0] == events


def test_results_whose_line_would_save_nothing_stay() -> None:
    events = log(*step("a", "read", "x = 1\n" * 5, path="x.py"))
    assert cleaned(events)[0] == events


def test_the_newest_results_stay() -> None:
    events = log(*(event for n in range(5) for event in step(str(n), "read", BODY + str(n), path=f"{n}.py")))
    _, changes = cleaned(events, POLICY.replace(cleanup={"keep_results": 3}))
    assert sorted(changes) == [2, 4]


def test_a_repeated_result_points_to_the_newest() -> None:
    events = log(*step("a", "get_price", BODY, item=1), *step("b", "get_price", BODY, item=1), user("x"))
    found, changes = cleaned(events)
    assert found[1].text.endswith("; same as event:4]")
    assert found[3] == events[3]
    assert changes[2].reason == "same as event:4"


def test_a_run_that_differs_only_in_times_is_a_repetition() -> None:
    first = BODY + "done at 2026-05-01 10:00:01 in 0.51s\n"
    second = BODY + "done at 2026-05-01 11:30:09 in 1.73s\n"
    events = log(*step("a", "bash", first, command="make"), *step("b", "bash", second, command="make"))
    assert cleaned(events, POLICY.replace(cleanup={"demote": False}))[1][2].reason.startswith("same but for times")


def test_a_run_that_differs_in_a_count_is_none() -> None:
    events = log(
        *step("a", "bash", BODY + "3 left\n", command="make"), *step("b", "bash", BODY + "4 left\n", command="make")
    )
    assert cleaned(events, POLICY.replace(cleanup={"demote": False}))[1] == {}


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        ("edit", {"path": "/r/x.py", "oldText": "a", "newText": "b"}, "changed in event:4"),
        ("bash", {"command": "cd /r && sed -i s/a/b/ x.py"}, "changed in event:4"),
        ("read", {"path": "/r/x.py"}, "read again in event:4"),
        ("bash", {"command": "cat /r/./x.py"}, "read again in event:4"),
    ],
)
def test_a_read_is_superseded_by_a_later_change_or_read(tool: str, arguments: dict[str, str], reason: str) -> None:
    policy = POLICY.replace(cleanup={"demote": False})
    events = log(*step("a", "read", BODY, path="/r/x.py"), *step("b", tool, BODY + "!", **arguments))
    assert cleaned(events, policy)[1][2].reason == reason


def test_a_read_is_not_superseded_by_a_failed_change_another_file_or_another_window() -> None:
    policy = POLICY.replace(cleanup={"demote": False})
    events = log(
        *step("a", "read", BODY, path="x.py", offset=1),
        *step("b", "edit", "no match " * 90, is_error=True, path="x.py"),
        *step("c", "read", BODY + "!", path="y.py"),
        *step("d", "read", BODY + "?", path="x.py", offset=900),
    )
    assert cleaned(events, policy)[1] == {}


def test_noise_goes_even_from_unknown_tools() -> None:
    text = "".join(f"{n % 100}% |{'#' * (n % 40)}{' ' * 40}|\n" for n in range(80))
    found, changes = cleaned(log(*step("a", "mystery", text)))
    assert found[1].text == "[no output but blanks and progress]"
    assert changes[2].reason == "noise"


def test_old_images_become_placeholders_that_say_where_they_are_and_the_newest_stays() -> None:
    picture = Image(media_type="image/png", data="aGk=", width=1000, height=750)
    shots = [
        Event(role="tool", origin="tool", parts=(ToolResult(str(n), "shot", images=(picture,)),)) for n in range(3)
    ]
    calls = [assistant("", ToolCall(str(n), "screenshot")) for n in range(3)]
    events = log(*(event for pair in zip(calls, shots, strict=True) for event in pair))
    found, changes = cleaned(events)
    assert sorted(changes) == [2, 4]
    assert found[1].text == "shot\n[an image of 1000x750, no longer shown: event:2]"
    assert found[1].tokens < 100 < events[1].tokens
    assert found[5] == events[5]


def test_thinking_leaves_whole_from_requests_before_the_newest_marked_one() -> None:
    thought = Reasoning("why", provider="anthropic", raw={"signature": "s"})
    step_one = Event(role="assistant", origin="agent", parts=(thought, Text("one")))
    step_two = Event(role="assistant", origin="agent", parts=(thought, Text("two")))
    events = log(user("a"), step_one, user("b"), step_two)
    found, changes = cleaned(events)
    assert found[1].parts == (Text("one"),)
    assert found[3] == events[3]
    assert changes[2].reason == "thinking of an earlier request"


def test_an_injected_reminder_does_not_end_the_current_request() -> None:
    thought = Event(role="assistant", origin="agent", parts=(Reasoning("why"), Text("one")))
    events = log(user("a"), thought, injected("reminder"), assistant("x"))
    assert cleaned(events)[0] == events


def test_with_everything_off_nothing_changes() -> None:
    off = POLICY.replace(cleanup={"demote": False, "duplicates": False, "superseded": False})
    events = log(*step("a", "read", BODY, path="x.py"), *step("b", "read", BODY, path="x.py"))
    assert cleaned(events, off) == (events, {})


def test_a_preview_is_demoted_to_the_outcome_of_its_whole_body() -> None:
    part = ToolResult("a", BODY, artifact=Artifact("f" * 64, 90_000, 5_231, "tests"))
    event = Event(role="tool", origin="tool", parts=(part,), meta={"outcome": "3 failed, 2 passed"})
    found, _ = cleaned(log(assistant("", ToolCall("a", "bash", '{"command":"pytest"}')), event))
    assert found[1].text == "[ran pytest: 3 failed, 2 passed]"
    assert found[1].artifacts == event.artifacts


def test_events_after_the_mark_are_untouched_and_decide_nothing() -> None:
    events = log(*(e for n in range(6) for e in step(str(n), "read", BODY, path="x.py")))
    short, _ = clean(events[:4], Mark(seq=4), POLICY)
    long, _ = clean(events, Mark(seq=4), POLICY)
    assert long[:4] == short
    assert long[4:] == events[4:]


def test_nothing_marked_means_nothing_changed() -> None:
    events = log(*step("a", "read", BODY, path="x.py"))
    assert clean(events, Mark(), POLICY) == (events, [])
    assert clean([], Mark(seq=5), POLICY) == ([], [])


def test_the_same_marked_events_give_the_same_objects_again() -> None:
    events = log(*step("a", "read", BODY, path="x.py"), *step("b", "read", BODY, path="y.py"))
    first, _ = clean(events, Mark(seq=2), POLICY)
    again, _ = clean([*events, *log(user("more"))], Mark(seq=2), POLICY)
    assert again[1] is first[1]


# When the mark moves.


def conversation(rounds: int, body: str = BODY * 4) -> list[Event]:
    return log(user("go"), *(e for n in range(rounds) for e in step(str(n), "read", body + str(n), path=f"{n}.py")))


def view(events: Sequence[Event], **state: object) -> View:
    values = {"frame": FRAME, "last_time": 1_000.0, **state}
    return View(
        key=Key(session="s"),
        checkpoint=None,
        kept=(),
        events=tuple(events),
        state=msgspec.convert(values, ScopeState, from_attributes=True),
    )


def test_the_mark_stands_before_the_newest_rounds() -> None:
    events = conversation(5)
    mark = mark_at(events, Policy.coding(), "compaction", 7.0)
    assert mark == Mark(events[6].seq, options_of(Policy.coding()), "compaction", 7.0)


def test_the_mark_never_moves_back() -> None:
    events = conversation(2)
    assert mark_at(events, Policy.coding(), "x", 0.0, Mark(seq=4)).seq == 4
    assert mark_at(events[2:], Policy.coding(), "x", 0.0).seq == events[2].seq - 1
    assert mark_at([], Policy.coding(), "x", 0.0).seq == 0


def test_a_warm_small_request_keeps_its_mark_object() -> None:
    now = view(conversation(30))
    assert next_mark(now, Policy.coding(), FRAME, 1_010.0, floor_tokens=10**9) is now.mark


def test_over_half_the_trigger_an_epoch_begins_when_enough_goes() -> None:
    now = view(conversation(30))
    mark = next_mark(now, Policy.coding(), FRAME, 1_010.0, floor_tokens=10_000)
    assert mark.seq == now.events[-5].seq
    assert mark.reason == "over 10,000 tokens"


def test_over_half_the_trigger_nothing_happens_when_too_little_would_go() -> None:
    events = log(user("go"), *(assistant("prose " * 900) for _ in range(30)), *conversation(1)[1:], assistant("a"))
    now = view([*events, *log(*([assistant("x")] * (len(events) + 3)))[len(events) :]])
    assert next_mark(now, Policy.coding(), FRAME, 1_010.0, floor_tokens=10_000) is now.mark


def test_after_an_epoch_the_next_one_waits_until_enough_has_gathered() -> None:
    events = conversation(60)
    policy = Policy.coding(cleanup={"minimum_share": 0.3})
    first = next_mark(view(events[:101]), policy, FRAME, 1_010.0, floor_tokens=10_000)
    soon = view(events[:103], mark=first)
    assert next_mark(soon, policy, FRAME, 1_020.0, floor_tokens=10_000) is soon.mark
    later = view(events, mark=first)
    assert next_mark(later, policy, FRAME, 1_030.0, floor_tokens=10_000).seq > first.seq


def test_a_cold_cache_is_a_free_moment() -> None:
    now = view(conversation(30))
    mark = next_mark(now, Policy.coding(), FRAME, 1_301.0, floor_tokens=10_000)
    assert mark.reason == "the cache is cold after 301 s"
    priced = Policy.coding(prices=Price(read=0.1, cache_seconds=3_600.0))
    assert next_mark(now, priced, FRAME, 1_301.0, floor_tokens=10_000).reason == "over 10,000 tokens"


def test_a_changed_static_prefix_is_a_free_moment() -> None:
    other = msgspec.structs.replace(FRAME, static_hash="other")
    mark = next_mark(view(conversation(30)), Policy.coding(), other, 1_010.0, floor_tokens=10_000)
    assert mark.reason == "system text or tools changed"


def test_changed_options_move_the_mark_at_once_and_never_back() -> None:
    old = mark_at(conversation(30), Policy.coding(), "x", 0.0)
    now = view(conversation(30), mark=old)
    policy = Policy.coding(cleanup={"keep_rounds": 9})
    mark = next_mark(now, policy, FRAME, 1_010.0, floor_tokens=10**9)
    assert (mark.seq, mark.reason, mark.options) == (old.seq, "cleanup options changed", options_of(policy))


def test_up_to_the_floor_no_epoch_begins_not_even_on_a_cold_cache() -> None:
    now = view(conversation(30))
    assert next_mark(now, Policy.coding(), FRAME, 9_999.0, floor_tokens=10**6) is now.mark


def test_nothing_to_shed_leaves_the_mark_even_when_cold() -> None:
    now = view(log(user("go"), *(assistant("prose " * 900) for _ in range(30))))
    assert next_mark(now, Policy.coding(), FRAME, 9_999.0, floor_tokens=50) is now.mark


def test_pinned_results_stay_as_they_are_from_the_next_mark_on() -> None:
    events = conversation(30)
    pinned = events[2]
    mark = mark_at(events, Policy.coding(), "x", 0.0, None, {pinned.seq})
    out, changes = clean(events, mark, Policy.coding())
    assert out[2] is pinned
    assert pinned.seq not in {change.seq for change in changes}
    out, _ = clean(events, mark_at(events, Policy.coding(), "x", 0.0), Policy.coding())
    assert out[2] is not pinned
