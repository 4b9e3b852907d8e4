"""What was billed against what would have been: both bills can be checked by hand."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from bench import bill_sessions
from bench.bill_sizes import bill as bill_of
from bench.bill_sizes import send_all
from bench.bills import LISTS
from hypothesis import given
from hypothesis import strategies as st

from foldmark import Policy, Session
from foldmark.aio import AsyncSession
from foldmark.checkpoint import Checkpoint
from foldmark.drafts import MESSAGE_OVERHEAD
from foldmark.events import CONTINUES, Event, Reasoning, Usage, assistant, user
from foldmark.prices import Money, Price, bill
from foldmark.prices.saved import Called, Replied, Saved, saved, whole_sizes
from foldmark.reports import Attempt
from foldmark.saving import called, replied
from making import numbered

A5M = Price(read=0.1, write=1.25, output=5.0, cache_seconds=300, dollars_per_million=3.0)
STEP = Price(read=0.05, write=1.25, output=5.0, cache_seconds=300, long_from=50_000, long_input=2.0, long_output=1.5)


def talk(*asked: tuple[int, int], pauses: tuple[int, ...] = (), factor: float = 1.0, static: int = 0) -> list[Replied]:
    """Replies to requests: (tokens that came in, tokens that a compaction took out before it; 0 for none). The provider
    reads what the request before left, but for a request behind a compaction, of which it reads the static prefix."""
    out: list[Replied] = []
    size, clock = float(static), 0.0
    for at, (came, gone) in enumerate(asked):
        read = size if out else 0.0
        size += factor * (came - gone)
        clock += 3_600 if at in pauses else 10
        read = 0.0 if at in pauses else factor * static if gone else read
        whole, alive = round(size), round(read)
        usage = Usage(input=whole, output=100, cache_read=alive, cache_write=whole - alive)
        out.append(Replied(seq=2 * at + 2, usage=usage, tokens=came, changed=bool(gone), asked=clock, model="m"))
    return out


# -- the sizes of whole requests


def test_a_whole_request_grows_by_what_the_provider_counted_and_over_a_compaction_by_what_came_in() -> None:
    assert whole_sizes(talk((10_000, 0), (2_000, 0), (2_000, 9_000), (2_000, 0))) == [10_000, 12_000, 14_000, 16_000]


def test_the_providers_factor_is_read_off_requests_that_only_grew() -> None:
    sizes = whole_sizes(talk((10_000, 0), (2_000, 0), (2_000, 9_000), (2_000, 0), factor=1.3))
    assert sizes == pytest.approx([13_000, 15_600, 18_200, 20_800], abs=2)


@given(
    st.lists(st.tuples(st.integers(100, 4_000), st.booleans()), min_size=3, max_size=40),
    st.floats(0.8, 1.6),
    st.integers(0, 20_000),
)
def test_compactions_change_what_is_sent_and_never_what_the_whole_would_have_been(
    steps: list[tuple[int, bool]], factor: float, static: int
) -> None:
    begin = ((5_000, 0), (500, 0))
    plain = talk(*begin, *((came, 0) for came, _ in steps), factor=factor, static=static)
    shorter = talk(*begin, *((came, 2_000 * gone) for came, gone in steps), factor=factor, static=static)
    assert whole_sizes(shorter) == pytest.approx([one.usage.input for one in plain], rel=0.01)


def test_cleanup_without_a_checkpoint_is_seen_by_a_request_that_did_not_grow() -> None:
    made = talk((10_000, 0), (1_000, 0), (1_000, 5_000))
    made[-1] = msgspec.structs.replace(made[-1], changed=False)
    assert whole_sizes(made)[-1] == 12_000


def test_what_an_undo_brings_back_is_not_counted_twice() -> None:
    made = talk((10_000, 0), (1_000, 8_000), (1_000, -8_000))
    assert whole_sizes(made) == [10_000, 11_000, 12_000]


def test_thinking_of_earlier_turns_that_leaves_by_itself_is_no_saving() -> None:
    made = talk((10_000, 0), (1_000, 0), (1_000, 3_000))
    made[1] = msgspec.structs.replace(made[1], tokens=1_000, thinking=4_000, usage=Usage(input=15_000))
    made[2] = msgspec.structs.replace(made[2], changed=False, usage=Usage(input=12_000))
    assert whole_sizes(made) == [10_000, 15_000, 12_000]


def test_a_log_that_begins_behind_a_compaction_is_counted_from_its_beginning() -> None:
    first = Replied(seq=9, usage=Usage(input=5_000), tokens=30_000, changed=True)
    assert whole_sizes([first], static=1_000, factor=1.5) == [46_500]


# -- the bills


@given(
    st.lists(st.integers(1, 9_000), min_size=1, max_size=30),
    st.sets(st.integers(1, 20), max_size=3),
    st.sampled_from([A5M, STEP, Price(read=1.0)]),
    st.booleans(),
)
def test_a_session_without_a_compaction_saved_nothing(
    growth: list[int], pauses: set[int], price: Price, changes: bool
) -> None:
    found = saved(talk(*((one, 0) for one in growth), pauses=tuple(pauses)), price, changes=changes)
    assert found.saving == found.not_sent == 0
    assert found.requests == len(growth)
    assert "nothing was saved" in str(found)


def test_misses_before_anything_was_left_out_are_on_both_sides() -> None:
    made = talk((10_000, 0), (1_000, 0), (1_000, 0))
    made[1] = msgspec.structs.replace(made[1], usage=Usage(input=11_000, output=100))
    found = saved(made, A5M)
    assert (found.saving, found.unread) == (0, 0)


def test_the_shares_of_foreign_compactions_in_a_log_that_we_never_shortened_are_not_ours() -> None:
    made = talk((10_000, 0), (1_000, 8_000), (1_000, 0))
    assert saved(made, A5M, changes=False).saving == 0
    assert (saved(made, A5M).saving or 0) != 0


def test_both_bills_by_hand() -> None:
    made = talk((20_000, 0), (1_000, 16_000), (1_000, 0), static=2_000)
    found = saved(made, A5M, called=Called(calls=1, usage=Usage(input=18_000, output=500), units=4_300.0))
    sent = 1.25 * 22_000 + (0.1 * 2_000 + 1.25 * 5_000) + (0.1 * 7_000 + 1.25 * 1_000) + 3 * 500
    whole = 1.25 * 22_000 + (0.1 * 22_000 + 1.25 * 1_000) + (0.1 * 23_000 + 1.25 * 1_000) + 3 * 500
    assert found.billed == pytest.approx(sent + 4_300)
    assert found.would == pytest.approx(whole)
    assert found.saving == pytest.approx(whole - sent - 4_300)
    assert found.not_sent == 2 * 16_000
    assert found.dollars == pytest.approx((whole - sent - 4_300) * 3e-6)


def test_a_compaction_that_cost_more_than_it_saved_says_so() -> None:
    found = saved(talk((20_000, 0), *[(100, 90)] * 10), A5M)
    assert found.saving is not None
    assert found.saving < 0
    assert "compaction has cost $" in str(found)
    assert "%" not in str(found)


def test_after_a_pause_both_sides_are_written_again_unless_the_provider_read_all_the_same() -> None:
    made = talk((20_000, 0), (1_000, 16_000), (1_000, 0), pauses=(2,))
    assert saved(made, A5M).original.cache_read == 20_000
    made[2] = msgspec.structs.replace(made[2], usage=Usage(input=6_000, output=100, cache_read=5_000))
    assert saved(made, A5M).original.cache_read == 20_000 + 21_000


def test_a_pause_is_seen_by_when_it_was_asked_or_by_when_it_was_answered() -> None:
    made = talk((20_000, 0), (1_000, 16_000), (1_000, 0))
    made[2] = msgspec.structs.replace(made[2], usage=Usage(input=6_000, output=100, cache_write=6_000))
    late = [msgspec.structs.replace(one, answered=3_600.0 * (at == 2)) for at, one in enumerate(made)]
    assert saved(made, A5M).original.cache_read == 20_000 + 21_000
    assert saved(late, A5M).original.cache_read == 20_000


def test_a_cache_that_nobody_tells_of_counts_on_neither_side() -> None:
    made = [
        msgspec.structs.replace(one, usage=msgspec.structs.replace(one.usage, cache_read=0, cache_write=0))
        for one in talk((20_000, 0), (1_000, 16_000), (1_000, 0))
    ]
    found = saved(made, A5M)
    assert found.original == Usage(input=20_000 + 21_000 + 22_000, output=300)
    assert found.saving == pytest.approx(found.not_sent)


def test_requests_that_read_nothing_are_billed_as_they_were_and_named() -> None:
    made = talk((20_000, 0), (1_000, 16_000), (1_000, 0), static=2_000)
    missed = msgspec.structs.replace(made[2], usage=Usage(input=8_000, output=100, cache_write=8_000))
    better, worse = saved(made, A5M), saved([*made[:2], missed], A5M)
    assert (better.unread, worse.unread) == (0, 1)
    assert better.would == worse.would
    assert (better.billed or 0) < (worse.billed or 0)
    assert "1 read nothing from the cache" in str(worse)


def test_another_model_does_not_read_what_the_last_one_left() -> None:
    made = talk((20_000, 0), (1_000, 16_000), (1_000, 0))
    made[2] = msgspec.structs.replace(made[2], model="other")
    assert saved(made, A5M).original.cache_read == 20_000


def test_a_prefix_below_the_providers_minimum_is_read_by_neither() -> None:
    made = talk((800, 0), (100, 700), (100, 0))
    assert saved(made, A5M).original.cache_read == 0


def test_the_surcharge_on_long_requests_is_in_the_bill_of_the_whole() -> None:
    made = talk((49_000, 0), (2_000, 40_000))
    whole = 1.25 * 49_000 + 500 + 2 * (0.05 * 49_000 + 1.25 * 2_000) + 1.5 * 500
    assert saved(made, STEP).would == pytest.approx(whole)


def test_without_prices_there_are_tokens_and_no_word_of_money() -> None:
    found = saved(talk((20_000, 0), (1_000, 16_000)))
    assert (found.saving, found.share, found.dollars) == (None, None, None)
    assert found.not_sent == 16_000
    assert "25,000 prompt tokens" in str(found)
    assert "nothing is said of money" in str(found)
    assert "$" not in str(found)


def test_it_says_from_where_on_the_whole_could_not_have_been_sent() -> None:
    found = saved(talk((20_000, 0), (1_000, 16_000), (1_000, 0)), A5M, window=20_500)
    assert found.beyond == 4
    assert "from event:4 on the whole log would not have fitted the window of 20,500 tokens" in str(found)
    assert saved(talk((20_000, 0), (1_000, 16_000)), A5M).beyond == 0


def test_what_a_fork_inherits_is_on_neither_bill() -> None:
    made = talk((20_000, 0), (1_000, 16_000), (1_000, 0), (1_000, 0))
    forked = [msgspec.structs.replace(one, inherited=at < 2) for at, one in enumerate(made)]
    found = saved(forked, A5M)
    assert found.requests == 2
    assert found.original.input == 22_000 + 23_000
    assert found.sent.input == 6_000 + 7_000


def test_of_no_reply_with_a_usage_nothing_is_said() -> None:
    assert "Nothing can be said" in str(saved([], A5M, uncounted=3))
    assert Saved().saving is None


@given(st.lists(st.tuples(st.integers(1, 5_000), st.integers(0, 6_000)), min_size=1, max_size=20))
def test_the_bill_of_what_was_sent_is_that_of_the_reported_usages(steps: list[tuple[int, int]]) -> None:
    made = talk((50_000, 0), *((came, min(gone, 2_000)) for came, gone in steps))
    found = saved(made, A5M, called=Called(units=7.0))
    assert found.billed == pytest.approx(sum(bill(one.usage, A5M) for one in made) + 7)
    assert found.sent.input == sum(one.usage.input for one in made)
    assert str(found).count(". ") <= 1


# -- read off a log


def answered(text: str, size: int, **fields: object) -> Event:
    return assistant(text, usage=Usage(input=size, output=5), **fields)  # type: ignore[arg-type]


def test_a_reply_counts_what_came_in_since_the_last_one() -> None:
    log = numbered(user("Do it."), answered("One.", 50), user("More."), assistant("No usage."), answered("Two.", 90))
    one, two = replied(log, "", session="s")
    assert (one.seq, two.seq) == (2, 5)
    assert one.tokens == log[0].tokens + MESSAGE_OVERHEAD
    assert two.tokens == sum(event.tokens + MESSAGE_OVERHEAD for event in log[1:4])


def test_thinking_is_counted_apart() -> None:
    log = numbered(user("Do it."), answered("One.", 50), user("More."), answered("Two.", 90))
    thought = Reasoning("word " * 300)
    log[1] = msgspec.structs.replace(log[1], parts=(thought, *log[1].parts), tokens=log[1].tokens + 300)
    _, two = replied(log, "", session="s")
    assert two.thinking == pytest.approx(300, abs=10)


def test_a_checkpoint_changes_the_request_behind_it_and_no_other() -> None:
    log = numbered(*(event for at in range(4) for event in (user(f"Do {at}."), answered("Done.", 50 * at + 50))))
    for head, changed in ((3, [2]), (4, [3]), (8, []), (1, [1])):
        made = replied(log, "", [Checkpoint(version=1, boundary=1, text="", tokens=0, head=head)], "s")
        assert [at for at, one in enumerate(made, 1) if one.changed] == changed


def test_the_rest_of_a_step_is_no_second_request() -> None:
    log = numbered(user("Do it."), answered("One", 50), answered("One, whole.", 52, meta={CONTINUES: "2"}))
    (only,) = replied(log, "", session="s")
    assert only.usage.input == 52


def test_replies_of_other_agents_are_no_requests_of_this_one() -> None:
    log = numbered(user("Do it."), answered("Sub.", 9_000, branch="sub"), answered("Main.", 60))
    assert [one.usage.input for one in replied(log, "", session="s")] == [60]


# -- what summaries took


def test_calls_are_taken_as_noted_else_by_their_usage_and_model() -> None:
    usage = Usage(input=1_000, output=100)
    notes = [
        Attempt(time=1.0, outcome="applied", calls=1, usage=usage, money=Money(price=A5M, call=40.0)),
        Attempt(time=2.0, outcome="failed", calls=1, usage=usage, mode="fork"),
        Attempt(time=3.0, outcome="failed", calls=2, usage=usage, model="nobody-knows-it"),
        Attempt(time=4.0, outcome="applied"),
    ]
    found = called(notes, A5M)
    assert (found.calls, found.unpriced) == (4, 2)
    assert found.units == pytest.approx(40 + 1_500)
    assert found.usage == Usage(input=3_000, output=300)
    assert called(notes, None).units == 0


def test_calls_at_the_prices_of_another_model_are_turned_by_their_dollars() -> None:
    dear = msgspec.structs.replace(A5M, dollars_per_million=6.0, model="big")
    note = Attempt(time=1.0, outcome="applied", calls=1, usage=Usage(input=9), money=Money(price=dear, call=40.0))
    assert called([note], A5M).units == pytest.approx(80)


# -- of a session


def test_the_awaited_report_is_that_of_the_session_inside() -> None:
    async def drill() -> None:
        made = AsyncSession("s", policy=Policy.coding(prices=A5M))
        await made.record(user("Do it."), answered("Done.", 50))
        found = await made.saved()
        assert found == made.session.saved()
        assert (found.requests, found.saving) == (1, 0)

    asyncio.run(drill())


def test_replies_that_all_have_one_branch_are_those_of_the_whole_session() -> None:
    made = Session("s", policy=Policy.coding(prices=A5M))
    made.record(
        user("Do it."), answered("Done.", 50, branch="root"), user("And?"), answered("Done.", 60, branch="root")
    )
    assert (made.saved().requests, made.saved().uncounted) == (2, 0)
    made.record(user("And?"), answered("Done.", 70, branch="sub"), assistant("Done.", branch="sub"))
    assert (made.saved().requests, made.saved().uncounted) == (0, 4)


def test_the_window_is_that_of_the_last_request_and_an_assumed_one_says_nothing() -> None:
    for window in (12_000, None):
        made = Session("s", policy=Policy.coding(prices=A5M))
        made.record(user("Do it."))
        for number in range(30):
            if number == 10:
                made.compact(force=True, window=window)
            size = made.request(window=window).tokens.total
            made.record(answered(f"Step {number}. " + "word " * 600, size))
        found = made.saved()
        assert found.original.input > found.sent.input
        assert (found.window, found.beyond > 0) == ((12_000, True) if window else (0, False))


def test_a_fork_counts_its_own_replies_from_where_its_parent_had_come_to() -> None:
    made = Session("s", policy=Policy.coding(prices=A5M))
    events = [event for at in range(6) for event in (user(f"Do {at}."), answered(f"Done {at}.", 5_000 + 20 * at))]
    made.follow(events)
    made.follow([*events[:6], user("Something else."), answered("Done.", 5_070)])
    assert made.name != "s"
    found = made.saved()
    assert (found.requests, found.sent.input, found.uncounted) == (1, 5_070, 0)


# -- beside the replay of a real session


@pytest.mark.data
@pytest.mark.parametrize(("factor", "many"), [(1.0, 480), (1.25, 300)])
def test_it_agrees_with_the_replayed_bills_of_a_real_session(
    monkeypatch: pytest.MonkeyPatch, factor: float, many: int
) -> None:
    """The replay keeps its own books of what was sent and of what sending everything would have cost."""
    if not (bill_sessions.DATA / bill_sessions.FILES["pi-large"][0]).exists():
        pytest.skip("the shared sessions are not here")
    made: list[Session] = []
    monkeypatch.setattr(bill_sessions, "Session", lambda *a, **k: made.append(Session(*a, **k)) or made[-1])
    story, price = bill_sessions.pi("pi-large"), LISTS["A-5m"]
    replay = bill_sessions.replay(story._replace(events=story.events[:many]), price, factor=factor)
    mine, whole = (bill_of(replay.stored, price, one).units for one in (replay.sent, send_all(replay.stored)))
    found = made[0].saved()
    assert replay.landings, "a session without a compaction shows nothing"
    assert (found.billed or 0) / factor == pytest.approx(mine, rel=0.01)
    assert (found.would or 0) / factor == pytest.approx(whole, rel=0.02)
    assert (found.saving or 0) / factor == pytest.approx(whole - mine, rel=0.05)
