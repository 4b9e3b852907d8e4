"""Cache misses: what should have been read, what was, and why not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.events import Usage
from foldmark.prices import Price
from foldmark.store import Awaited, Frame, Miss, ScopeState
from foldmark.watching import awaited, miss, misses_text, watched

A5M = Price(read=0.1, write=1.25, cache_seconds=300, minimum_prefix=1_024, dollars_per_million=3.0)
FRAME = Frame(window=200_000, static_tokens=3_000, static_hash="a", wire="anthropic", model="claude-x")


def before(size: int = 20_000, time: float = 1_000.0, frame: Frame = FRAME, **more: Any) -> ScopeState:
    return ScopeState(
        frame=frame, last_size=size, last_time=time, last_usage=Usage(input=size, cache_write=size), **more
    )


def sent(state: ScopeState, size: int, *, now: float, epoch: str = "", frame: Frame = FRAME) -> ScopeState:
    """The state once a request was built, as a session stores it."""
    due = awaited(state, frame, size=size, now=now, epoch=epoch, prices=A5M)
    return msgspec.structs.replace(state, frame=frame, last_size=size, last_time=now, awaited=due)


def cause(state: ScopeState, size: int, read: int, **more: Any) -> tuple[str, int] | None:
    return miss(sent(state, size, now=more.pop("now", 1_060.0), **more), Usage(input=size, cache_read=read), A5M)


def test_a_request_that_reads_the_last_one_from_the_cache_is_no_miss() -> None:
    assert cause(before(), 22_000, 20_000) is None
    assert cause(before(), 22_000, 19_968) is None, "in steps of 128"


def test_a_read_of_nothing_within_the_lifetime_has_no_cause_that_we_see() -> None:
    assert cause(before(), 22_000, 0) == ("unknown", 20_000)


def test_a_pause_longer_than_the_cache_lives_is_the_cause() -> None:
    assert cause(before(), 22_000, 0, now=1_300.0) == ("unknown", 20_000)
    assert cause(before(), 22_000, 0, now=1_301.0) == ("pause", 20_000)
    assert cause(before(), 22_000, 0, now=1_301.0, epoch="compaction") == ("pause", 20_000), "it was cold anyway"


@pytest.mark.parametrize(
    "more",
    [
        {"epoch": "compaction"},
        {"epoch": "the shown past changed"},
        {"frame": msgspec.structs.replace(FRAME, static_hash="b")},
        {"frame": msgspec.structs.replace(FRAME, model="claude-y")},
        {"frame": msgspec.structs.replace(FRAME, wire="openai-chat")},
    ],
)
def test_a_changed_prefix_is_the_cause(more: dict[str, Any]) -> None:
    assert cause(before(), 22_000, 0, **more) == ("changed prefix", 20_000)


def test_a_smaller_request_cannot_read_more_than_it_has() -> None:
    assert cause(before(48_000), 19_000, 3_000, epoch="compaction") == ("changed prefix", 16_000)


@pytest.mark.parametrize(("read", "missed"), [(11_999, 8_001), (12_000, None)])
def test_much_less_than_the_prefix_is_a_miss_in_part(read: int, missed: int | None) -> None:
    found = cause(before(), 22_000, read)
    assert (found[1] if found else None) == missed


def test_sizes_are_compared_as_the_provider_counts() -> None:
    state = sent(before(20_000), 22_000, now=1_060.0)
    assert miss(state, Usage(input=33_000, cache_read=30_000), A5M) is None
    assert miss(state, Usage(input=33_000, cache_read=0, cache_write=33_000), A5M) == ("unknown", 30_000)


def test_a_first_request_and_a_small_prefix_cannot_miss() -> None:
    assert cause(ScopeState(last_usage=Usage(cache_write=5)), 22_000, 0) is None
    assert cause(before(1_000), 22_000, 0) is None


def test_a_provider_that_never_tells_of_its_cache_is_not_blamed() -> None:
    silent = msgspec.structs.replace(before(), last_usage=Usage(input=20_000))
    assert cause(silent, 22_000, 0) is None
    written = sent(silent, 22_000, now=1_060.0)
    assert miss(written, Usage(input=22_000, cache_write=22_000), A5M) == ("unknown", 20_000)
    known = msgspec.structs.replace(silent, watched={"anthropic claude-x": 3})
    assert cause(known, 22_000, 0) == ("unknown", 20_000)


def test_misses_are_counted_by_cause_among_all_that_were_watched() -> None:
    state, size = before(), 20_000
    for number, (gap, read) in enumerate([(10, 1.0), (10, 0.0), (400, 0.0), (10, 1.0), (10, 0.0)], 1):
        old, size = size, size + 1_000
        state = sent(state, size, now=state.last_time + gap)
        state = watched(state, Usage(input=size, cache_read=round(read * old)), A5M)
        assert state.watched == {"anthropic claude-x": number}
    assert state.misses == {"unknown": Miss(2, 21_000 + 24_000), "pause": Miss(1, 22_000)}
    assert misses_text(state, A5M) == (
        "3 of 5 requests missed the cache (pause 1, unknown 2): 67,000 tokens were paid in full, "
        "77,050 tokens of plain input ($0.23) too much."
    )
    assert misses_text(state).endswith("67,000 tokens were paid in full.")


def test_no_miss_needs_no_words() -> None:
    assert misses_text(before(), A5M) == ""


def test_a_reply_is_counted_once() -> None:
    state = watched(sent(before(), 22_000, now=1_010.0), Usage(input=22_000, cache_read=0), A5M)
    again = watched(state, Usage(input=22_000, cache_read=0), A5M)
    assert again.misses == state.misses == {"unknown": Miss(1, 20_000)}
    assert again.awaited == Awaited()


@given(st.integers(0, 300_000), st.integers(1, 300_000), st.integers(0, 10**7), st.integers(0, 10**7))
def test_what_was_missed_is_never_more_than_the_request(old: int, size: int, reported: int, read: int) -> None:
    state = sent(before(old), size, now=1_010.0)
    found = miss(state, Usage(input=reported, cache_read=min(read, reported)), A5M)
    assert found is None or 0 < found[1] <= reported


def test_the_counts_survive_being_stored() -> None:
    state = watched(sent(before(), 22_000, now=1_010.0), Usage(input=22_000, cache_read=0), A5M)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=ScopeState) == state
