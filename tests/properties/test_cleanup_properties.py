"""Random logs: rounds, admission and cleanup keep what they promise."""

from __future__ import annotations

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from foldmark import kinds
from foldmark.admission import admit, split_words
from foldmark.checkpoint import Mark
from foldmark.cleanup import clean, mark_at
from foldmark.events import Event, Reasoning, Text, ToolCall, assistant, chained, control, injected, result, user
from foldmark.policy import Policy
from foldmark.rounds import border, rounds
from foldmark.salience import Tally
from foldmark.store import Calls, Context, Key
from foldmark.tokens import count, event_tokens

TOOLS = ("read", "edit", "bash", "grep", "get_price", "book_flight", "mystery")
ARGUMENTS = ({"path": "a.py"}, {"path": "b.py", "offset": 3}, {"command": "cat a.py"}, {"command": "make"}, {})
BODIES = (
    "",
    "ok",
    "\n".join(f"row {n} of data" for n in range(40)),
    "\n".join(f"row {n} of data" for n in range(400)),
    "x = 1\n" * 200,
    "Error: it broke\n" + "more\n" * 120 + "Exit code 3",
    json.dumps([{"id": n} for n in range(90)]),
    "\x00\ud800" * 200,
    "took 3.2s\n" + "step\n" * 100,
    "took 9.9s\n" + "step\n" * 100,
)


@st.composite
def logs(draw: st.DrawFn) -> list[Event]:
    """Valid and broken logs: late, missing and doubled results, controls, thinking, several users."""
    events: list[Event] = []
    waiting: list[str] = []
    for number in range(draw(st.integers(0, 14))):
        what = draw(st.sampled_from(("user", "injected", "step", "step", "step", "result", "control", "say")))
        if what == "user":
            events.append(user(draw(st.sampled_from(("go", "stop", "again")))))
        elif what == "injected":
            events.append(injected("note"))
        elif what == "control":
            events.append(control("meta", {"n": number}))
        elif what == "say":
            events.append(Event(role="assistant", origin="agent", parts=(Reasoning("hm"), Text("so"))))
        elif what == "step":
            calls = [
                ToolCall(f"{number}.{i}", draw(st.sampled_from(TOOLS)), json.dumps(draw(st.sampled_from(ARGUMENTS))))
                for i in range(draw(st.integers(1, 2)))
            ]
            waiting = [call.id for call in calls]
            events.append(assistant("", *calls))
            for call in calls:
                if draw(st.booleans()):
                    body = draw(st.sampled_from(BODIES))
                    events.append(result(call.id, body, name=call.name, is_error=draw(st.booleans())))
        elif waiting:
            events.append(result(draw(st.sampled_from(waiting)), draw(st.sampled_from(BODIES))))
    numbered = [msgspec.structs.replace(event, seq=n, tokens=event_tokens(event)) for n, event in enumerate(events, 1)]
    return chained(numbered)


POLICIES = st.builds(
    lambda keep, rounds_kept, demote, superseded: Policy.coding(
        cleanup={"keep_results": keep, "keep_rounds": rounds_kept, "demote": demote, "superseded": superseded}
    ),
    st.integers(0, 3),
    st.integers(1, 3),
    st.booleans(),
    st.booleans(),
)


@given(logs(), st.integers(0, 4))
def test_rounds_cover_the_log_and_the_border_is_one_of_theirs(events: list[Event], keep: int) -> None:
    found = rounds(events)
    assert [event for one in found for event in one.events] == events
    assert all(one.is_finished for one in found[:-1])
    assert border(events, keep) == sum(len(one.events) for one in found[: max(0, len(found) - keep)])


@given(logs())
def test_no_border_parts_a_call_from_a_result_that_came_in_time(events: list[Event]) -> None:
    for one in rounds(events):
        steps = [event for event in one.events if event.role == "assistant"]
        assert len(steps) <= 1
        if steps and (index := events.index(steps[0])) + 1 < len(events):
            later = next((n for n in range(index + 1, len(events)) if events[n].role == "assistant"), len(events))
            assert all(event in one.events for event in events[index:later] if event.role == "tool")


@given(logs(), POLICIES, st.integers(0, 40))
def test_cleaning_twice_equals_cleaning_once(events: list[Event], policy: Policy, seq: int) -> None:
    once, _ = clean(events, Mark(seq=seq), policy)
    assert clean(once, Mark(seq=seq), policy)[0] == once


@given(logs(), POLICIES, st.integers(0, 40), st.integers(0, 40))
def test_events_after_the_mark_have_no_influence(events: list[Event], policy: Policy, seq: int, cut: int) -> None:
    whole, _ = clean(events, Mark(seq=seq), policy)
    part, _ = clean([event for event in events if event.seq <= max(seq, cut)], Mark(seq=seq), policy)
    assert whole[: len(part)] == part
    assert [event for event in whole if event.seq > seq] == [event for event in events if event.seq > seq]


@given(logs(), POLICIES)
def test_cleanup_shrinks_and_keeps_calls_order_and_accounts(events: list[Event], policy: Policy) -> None:
    mark = mark_at(events, policy, "test", 0.0)
    found, changes = clean(events, mark, policy)
    by_seq = {event.seq: event for event in found}
    changed = {change.seq: change for change in changes}
    assert [event.seq for event in found] == sorted(by_seq)
    for event in events:
        now = by_seq.get(event.seq)
        if event.seq not in changed:
            assert now == event
            continue
        assert event.seq <= mark.seq
        assert changed[event.seq].before == event.tokens > changed[event.seq].after
        if now is not None:
            assert now.calls == event.calls
            assert (now.plain, now.chain, now.role) == (event.plain, event.chain, event.role)
            assert now.tokens == event_tokens(now) == changed[event.seq].after


@given(logs(), POLICIES)
def test_one_shot_results_change_only_when_they_are_repeated_or_empty(events: list[Event], policy: Policy) -> None:
    names = {call.id: call.name for event in events for call in event.calls}
    _, changes = clean(events, Mark(seq=99), policy)
    for change in changes:
        found = events[change.seq - 1].result
        if found and names.get(found.call_id, "mystery") in ("get_price", "book_flight", "mystery"):
            assert change.reason == "noise" or change.reason.startswith("same as event:")


@given(logs(), st.integers(50, 400))
def test_admission_loses_nothing_and_is_the_same_every_time(events: list[Event], limit: int) -> None:
    policy = Policy.coding(admission={"limit_tokens": limit, "inline_bytes": 200, "preview_tokens": 60})
    context = Context(key=Key(session="s"), head=0, new=tuple(events), known=(), calls=Calls(), state={}, tally=Tally())
    found, bodies = admit(context, policy)
    assert (found, bodies) == admit(context, policy)
    whole = {(body.seq, body.number): body.text for body in bodies}
    for event, old in zip(found, events, strict=True):
        assert (event.plain, event.seq, event.role) == (old.plain, old.seq, old.role)
        assert event.tokens == event_tokens(event) <= old.tokens
        if event.result and old.result:
            artifact = event.result.artifact
            assert old.result.text == (whole[event.seq, artifact.number] if artifact else event.result.text)


@given(st.text(alphabet=st.sampled_from("ab .\n`~<>/p"), max_size=400), st.integers(1, 50))
def test_words_and_pastes_join_to_the_message(text: str, limit: int) -> None:
    assert "".join(piece for piece, _ in split_words(text, limit, count)) == text


@given(st.text(max_size=2_000), st.integers(20, 120))
def test_any_text_has_a_bounded_preview_and_a_one_line_outcome(text: str, budget: int) -> None:
    shown = kinds.preview(text, None, budget, count)
    assert len(shown) <= max(len(text), len(kinds.clean_text(text)))
    assert count(shown) <= budget or shown == kinds.clean_text(text)
    assert "\n" not in kinds.outcome(text)


HIT = st.builds(
    lambda folder, name, line, text: f"{folder}{name}:{line}:{text}",
    st.sampled_from(("logs/2026-05-01/", "C:\\work\\", "src/", "a-b/c.d/")),
    st.sampled_from(("app.log", "x.py", "10:20.txt", "README")),
    st.integers(1, 99_999),
    st.sampled_from(("at 10:30:00 it fell", "x = {1: 2}", "http://example.com:80/", "")),
)


@given(st.lists(HIT, min_size=30, max_size=200), st.integers(40, 200))
def test_every_hit_in_a_preview_stood_in_the_body(hits: list[str], budget: int) -> None:
    text = "\n".join(hits)
    shown = kinds.preview(text, None, budget, count).split("\n")
    told = [line for line in shown if not line.startswith("… line")]
    assert set(told[1:]) <= set(hits)
    assert told[0] in hits or told[0].startswith(f"{len(hits):,} lines of hits")
