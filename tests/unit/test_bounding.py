"""Where a boundary that came from elsewhere stands."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from foldmark.bounding import Ending, boundary_of
from foldmark.events import Event, assistant, control, user
from foldmark.rounds import rounds
from making import numbered, tool_round


def talk(*times: float | None) -> list[Event]:
    """Turns of a question and an answer, so many seconds apart; each event is named e1, e2, …"""
    return numbered(
        *(
            msgspec.structs.replace(user(f"Q{at}") if at % 2 == 0 else assistant(f"A{at}"), time=time)
            for at, time in enumerate(times)
        )
    )


FOUR_TURNS = talk(10, 11, 20, 21, 30, 31, 40, 41)


def test_the_event_that_a_summary_ends_with_is_the_last_one_covered() -> None:
    assert boundary_of(FOUR_TURNS, event_id="e4") == 4


def test_a_known_id_wins_over_any_time() -> None:
    for cutoff in (1.0, 35.0, 1e9, float("nan"), -5.0):
        assert boundary_of(FOUR_TURNS, event_id="e4", cutoff=cutoff) == 4


def test_an_unknown_id_is_decided_by_the_time() -> None:
    assert boundary_of(FOUR_TURNS, event_id="trimmed away", cutoff=30) == 4
    assert boundary_of(FOUR_TURNS, event_id="trimmed away") == 0


def test_events_at_the_very_instant_stay_raw() -> None:
    same = talk(10, 10, 20, 20, 20, 20, 30, 30)
    assert boundary_of(same, cutoff=20) == 2
    assert boundary_of(same, cutoff=20.5) == 6


def test_with_a_known_id_the_same_instant_is_parted_exactly_there() -> None:
    same = talk(10, 10, 20, 20, 20, 20, 30, 30)
    assert boundary_of(same, event_id="e4", cutoff=20) == 4


def test_without_a_usable_time_everything_stays_raw() -> None:
    for cutoff in (None, 0.0, -1.0, float("nan"), float("inf"), float("-inf")):
        assert boundary_of(FOUR_TURNS, cutoff=cutoff) == 0
    assert boundary_of(FOUR_TURNS) == 0
    assert boundary_of([], event_id="e1", cutoff=99) == 0


def test_a_log_without_times_is_decided_by_id_alone() -> None:
    silent = talk(None, None, None, None, 0.0, float("nan"))
    assert boundary_of(silent, cutoff=99) == 0
    assert boundary_of(silent, event_id="e2", cutoff=99) == 2


def test_an_ending_inside_a_tool_round_moves_back_to_the_round_before() -> None:
    events = numbered(user("Go."), *tool_round(1), *tool_round(2), *tool_round(3))
    timed = [msgspec.structs.replace(event, time=float(event.seq)) for event in events]
    assert [event.role for event in events[3:5]] == ["assistant", "tool"]
    assert boundary_of(events, event_id="e4") == 3
    assert boundary_of(timed, cutoff=5.0) == 3
    assert boundary_of(events, event_id="e5") == 5


def test_an_ending_inside_the_first_round_covers_nothing() -> None:
    events = numbered(user("Go."), *tool_round(1), *tool_round(2))
    assert boundary_of(events, event_id="e1") == 0
    assert boundary_of(events, event_id="e2") == 0


def test_an_event_without_a_time_is_as_old_as_the_one_before_it() -> None:
    assert boundary_of(talk(10, None, 20, None, 30, 31), cutoff=20) == 2
    assert boundary_of(talk(10, 11, 20, None, 30, 31), cutoff=30) == 4


def test_the_first_events_without_a_time_are_as_old_as_the_next_one() -> None:
    assert boundary_of(talk(None, None, 20, 21, 30, 31), cutoff=20) == 0
    assert boundary_of(talk(None, None, 20, 21, 30, 31), cutoff=25) == 4


def test_a_time_in_the_future_never_covers_the_newest_round() -> None:
    assert boundary_of(FOUR_TURNS, cutoff=1e12) == 6
    assert boundary_of(FOUR_TURNS, event_id="e8") == 6


def test_an_unanswered_question_is_the_newest_round() -> None:
    events = numbered(user("Q"), assistant("A"), user("And?"))
    assert boundary_of(events, event_id="e3") == 2


def test_where_times_jump_back_the_first_event_not_before_the_cutoff_ends_the_covered_part() -> None:
    jumping = talk(10, 11, 90, 91, 12, 13, 14, 15)
    assert boundary_of(jumping, cutoff=50) == 2


def test_of_several_summaries_the_one_that_ends_first_counts() -> None:
    assert boundary_of(FOUR_TURNS, event_id="e6", others=[Ending(event_id="e2"), Ending(cutoff=30)]) == 2
    assert boundary_of(FOUR_TURNS, cutoff=30, others=[Ending(event_id="e6")]) == 4


def test_one_of_several_summaries_that_ends_nowhere_leaves_everything_raw() -> None:
    assert boundary_of(FOUR_TURNS, event_id="e6", others=[Ending()]) == 0


def test_a_control_record_at_the_end_of_a_round_goes_with_it() -> None:
    events = numbered(user("Q"), assistant("A"), control("note", {}), user("Q2"), assistant("A2"))
    assert boundary_of(events, event_id="e2") == 3
    assert boundary_of(events, event_id="e3") == 3
    assert boundary_of(events, event_id="e4") == 3


times = st.one_of(st.none(), st.sampled_from([0.0, 5.0, 10.0, 10.0, 20.0, float("nan")]))
logs = st.lists(st.tuples(st.sampled_from(["ask", "say", "call"]), times), max_size=12)
endings = st.builds(
    Ending, event_id=st.sampled_from(["", "e1", "e4", "e9", "gone"]), cutoff=st.sampled_from([None, 0.0, 10.0, 99.0])
)


def told(log: list[tuple[str, float | None]]) -> list[Event]:
    events: list[Event] = []
    for number, (what, time) in enumerate(log):
        made = [user("Q")] if what == "ask" else [assistant("A")] if what == "say" else tool_round(number)
        events += [msgspec.structs.replace(event, time=time) for event in made]
    return numbered(*events)


@given(logs, st.lists(endings, min_size=1, max_size=3))
def test_whatever_it_is_given_it_ends_on_a_border_before_the_newest_round(
    log: list[tuple[str, float | None]], given_: list[Ending]
) -> None:
    events = told(log)
    first, *others = given_
    found = boundary_of(events, event_id=first.event_id, cutoff=first.cutoff, others=others)
    ends = [one.last for one in rounds(events)]
    assert found == 0 or found in ends[:-1]
    for ending in given_:
        alone = boundary_of(events, event_id=ending.event_id, cutoff=ending.cutoff)
        assert found <= alone
        by_id = {event.id: event.seq for event in events}
        if ending.event_id in by_id:
            assert alone <= by_id[ending.event_id]
        elif ending.cutoff:
            # No event with a time of its own at or behind the cutoff is ever covered, nor one behind it.
            late = [event.seq for event in events if event.time is not None and event.time >= ending.cutoff]
            assert alone < min(late, default=len(events) + 1)
