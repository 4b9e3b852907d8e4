"""A compaction covers whole rounds; the newest stay raw, and the current request stays verbatim."""

from __future__ import annotations

import msgspec
import pytest

from foldmark.budget import Room, room
from foldmark.checkpoint import Checkpoint, Mark
from foldmark.drafts import cost
from foldmark.errors import PolicyError
from foldmark.events import Event, ToolCall, assistant, result, user
from foldmark.policy import Policy, Tail
from foldmark.selection import Span, held_from, select
from foldmark.store import Frame, Key, ScopeState, View
from making import long_session, numbered, tool_round

SPACE = room(Frame(window=128_000), Policy.coding())


def span(events: list[Event], *, space: Room = SPACE, policy: Policy | None = None, **fields: object) -> Span | None:
    values: dict[str, object] = {"checkpoint": None, "kept": (), "pins": frozenset(), **fields}
    view = View(key=Key(session="s"), events=tuple(events), state=ScopeState(), **values)  # type: ignore[arg-type]
    return select(view, events, policy or Policy.coding(), space, Mark())


def _view(events: list[Event]) -> View:
    return View(
        key=Key(session="s"), events=tuple(events), state=ScopeState(), checkpoint=None, kept=(), pins=frozenset()
    )


def test_covered_and_tail_are_everything_once() -> None:
    events = numbered(*long_session(60))
    found = span(events)
    assert found
    assert [*found.covered, *found.tail] == events
    assert found.boundary == found.covered[-1].seq


def test_the_tail_is_at_most_its_share_and_at_least_the_newest_whole_round() -> None:
    events = numbered(*long_session(60))
    found = span(events)
    assert found
    assert cost(found.tail) <= 16_000 * 0.20
    assert cost(found.tail) + cost(found.covered[-2:]) > 16_000 * 0.20
    huge = numbered(*long_session(3), *tool_round(9, "giant " * 20_000))
    found = span(huge)
    assert found
    assert [event.seq for event in found.tail] == [8, 9]


def test_a_tail_begins_with_a_round_never_inside_a_batch() -> None:
    calls = [ToolCall(f"p{n}", "read", "{}") for n in range(10)]
    batch: list[Event] = [assistant("", *calls), *(result(c.id, "x " * 700) for c in calls)]
    found = span(numbered(*long_session(10), *batch, *tool_round(2)), policy=Policy(tail=Tail(share=0.3)))
    assert found
    assert found.tail[0].role == "assistant"
    inside = {c.id for event in found.tail for c in event.calls}
    assert all(event.result.call_id in inside for event in found.tail if event.result)


def test_the_request_of_a_long_tool_loop_is_kept() -> None:
    found = span(numbered(*long_session(60, ask="My question")))
    assert found
    assert [event.text for event in found.kept] == ["My question"]


def test_a_newer_request_in_the_tail_needs_no_keeping() -> None:
    found = span(numbered(*long_session(60), user("And now this")))
    assert found
    assert found.kept == ()
    assert found.tail[-1].text == "And now this"


def test_pins_are_kept_from_the_next_compaction_on() -> None:
    events = numbered(*long_session(60), user("next"))
    found = span(events, pins=frozenset({4}))
    assert found
    assert [event.seq for event in found.kept] == [4]


def test_an_approval_that_is_awaited_holds_the_boundary_before_its_round() -> None:
    waiting = assistant("May I?", ToolCall("ask", "approve", "{}"))
    events = numbered(*long_session(60), waiting)
    found = span(events)
    assert found
    assert events[-1] in found.tail


def test_one_round_alone_leaves_nothing_to_cover() -> None:
    assert span(numbered(user("hi"), assistant("hello"))) is None


def test_a_newest_round_that_passes_the_landing_is_named() -> None:
    found = span(numbered(*long_session(3), *tool_round(9, "giant " * 20_000)))
    assert found
    assert "newest whole round" in found.warnings[0]
    assert found.room_tokens == 2_000


def test_a_second_compaction_goes_on_from_the_first_boundary() -> None:
    events = numbered(*long_session(60))
    old = Checkpoint(version=1, boundary=20, text="", tokens=0)
    found = span(events[20:], checkpoint=old, kept=(events[0],))
    assert found
    assert found.boundary > 20
    assert [event.seq for event in found.kept] == [1]


def test_results_that_the_tail_shows_shortened_are_named_so_that_they_can_be_quoted() -> None:
    whole = numbered(*long_session(60))
    demoted = {118: msgspec.structs.replace(whole[118], parts=result("c58", "[read: 900 tokens]").parts)}
    cleaned = [demoted.get(at, event) for at, event in enumerate(whole)]
    view = View(key=Key(session="s"), checkpoint=None, kept=(), events=tuple(whole), state=ScopeState())
    found = select(view, cleaned, Policy.coding(), SPACE, Mark())
    assert found
    assert found.shortened == {119}


# -- what is held back


HELD = {
    "events": ({"minimum_events": 7}, 7),
    "tokens": ({"minimum_tokens": 3_000}, None),
    "seconds": ({"minimum_seconds": 60.0}, 5),
    "a function": ({"choose": lambda events: 9}, 9),
}


@pytest.mark.parametrize("name", HELD)
def test_what_the_tail_holds_back_stays_raw_in_whole_rounds(name: str) -> None:
    options, least = HELD[name]
    events = [
        msgspec.structs.replace(event, time=10_000.0 - 15 * (41 - event.seq)) for event in numbered(*long_session(20))
    ]
    policy = Policy.coding(tail={"share": 0.0, **options}, budget={"landing_tokens": 4_000})
    space = room(Frame(window=128_000), policy)
    held = held_from(events, policy.tail, now=10_000.0)
    assert least is None or held == events[-least].seq
    span = select(_view(events), events, policy, space, Mark(), now=10_000.0)
    assert span
    assert span.tail[0].seq <= held, "never later than asked for"
    assert span.tail[0].role == "assistant", "whole rounds"
    assert (span.tail[0].seq, span.boundary) == (span.boundary + 1, span.covered[-1].seq)
    if name == "tokens":
        assert sum(event.tokens for event in span.tail) >= 3_000 - 200


def test_holding_back_more_than_half_the_cap_is_said_and_not_done() -> None:
    events = numbered(*long_session(60))
    policy = Policy.coding(tail={"minimum_events": 10_000})
    space = room(Frame(window=32_000), policy)
    span = select(_view(events), events, policy, space, Mark())
    assert span
    assert span.tail_tokens <= space.cap // 2
    assert any("half of the cap" in warning for warning in span.warnings)


def test_a_function_that_gives_no_count_is_named() -> None:
    with pytest.raises(PolicyError, match=r"tail\.choose returned None"):
        held_from(numbered(*long_session(2)), Policy.coding(tail={"choose": lambda events: None}).tail, 0.0)


def test_an_error_in_a_function_for_the_tail_is_the_callers_and_names_the_option() -> None:
    def broken(events: object) -> int:
        raise KeyError("tenant")

    with pytest.raises(PolicyError, match=r"tail\.choose failed \(KeyError: 'tenant'\)") as caught:
        held_from(numbered(*long_session(2)), Policy.coding(tail={"choose": broken}).tail, 0.0)
    assert isinstance(caught.value.__cause__, KeyError)


def test_whoever_says_up_to_where_all_goes_gets_whole_rounds_up_to_there() -> None:
    events = numbered(*long_session(60))
    view = _view(events)
    for upto in (1, 2, 3, 40, 41, 80, 119, 120, 121, 500):
        found = select(view, events, Policy.coding(), SPACE, Mark(), upto=upto)
        if upto < 3:
            assert found is None, "no whole round ends there"
            continue
        assert found is not None
        assert [*found.covered, *found.tail] == events
        assert found.boundary == min(upto - (upto % 2 == 0), 119), "rounds end on odd seqs; the newest one stays"


def test_more_room_does_not_move_a_chosen_boundary() -> None:
    events = numbered(*long_session(60))
    found = [select(_view(events), events, Policy.coding(), SPACE, Mark(), upto=61, more=more) for more in (0, 9_000)]
    assert [one.boundary for one in found if one] == [61, 61]


def test_a_record_that_covers_nothing_is_as_good_as_none() -> None:
    events = numbered(user("Hello."))
    empty = Checkpoint(version=4, boundary=0, text="", tokens=0, kind="undo")
    assert span(events, checkpoint=empty) is None
