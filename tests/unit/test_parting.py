"""Parting: texts cut to a number of tokens, records put into parts that fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.narrative import Record
from foldmark.parting import LEAST_RECORD, WEIGHTS, beginning, both_ends, ending, joined, parts_of, shortened
from foldmark.tokens import count

WORDS = "some words of a line that goes on for a while "


def record(seq: int, text: str, role: str = "result") -> Record:
    whole = f"[event:{seq} {role}] {text}"
    return Record(seq, role, whole, count(whole))


def flat(parts: list[list[Record]]) -> list[Record]:
    return [one for part in parts for one in part]


def test_a_beginning_is_cut_where_a_word_ends() -> None:
    head = beginning(WORDS * 50, 40)
    assert 30 <= count(head) <= 40
    assert (WORDS * 50).startswith(head + " ")


def test_an_ending_begins_where_a_word_begins() -> None:
    tail = ending(WORDS * 50, 40)
    assert 25 <= count(tail) <= 40
    assert (WORDS * 50).endswith(" " + tail)


def test_a_text_cut_in_the_middle_says_how_much_is_gone_and_where_it_is() -> None:
    shown = both_ends("start " + WORDS * 500 + "stop", 100, "event:7")
    assert shown.startswith("start some words")
    assert shown.endswith("stop")
    assert "characters not shown: load event:7 …" in shown
    assert 70 <= count(shown) <= 100


texts = st.text(max_size=400) | st.builds(
    lambda piece, times: piece * times,
    st.sampled_from([WORDS, "\n", " ", "漢字", "x", "🙂", "a\n", "1234567890", "\r\n\t", "-=", "é"]),
    st.integers(1, 900),
)


@given(texts, st.integers(0, 60))
def test_cut_texts_never_cost_more_than_they_may(text: str, most: int) -> None:
    assert count(beginning(text, most)) <= most
    assert text.startswith(beginning(text, most))
    assert count(ending(text, most)) <= most
    assert text.endswith(ending(text, most))
    assert count(both_ends(text, most, "event:1")) <= most


def test_a_shortened_record_keeps_its_first_line_the_heads_of_its_calls_and_both_ends() -> None:
    lines = "\n".join(f"line {n} of the words" for n in range(400))
    made = record(9, f"first words\n{lines}\n[event:9 call] bash command: make\n{lines}\nlast line", "agent")
    short = shortened(made, 120)
    assert short.tokens == count(short.text) <= 120
    assert short.text.startswith("[event:9 agent] first words\n")
    assert "[event:9 call] bash command: make" in short.text
    assert "line 0 of the words" in short.text
    assert "last line" in short.text
    assert short.text.endswith("… shortened: load event:9 …")


def test_whole_records_share_parts_in_order() -> None:
    records = [record(n, WORDS * 3) for n in range(1, 21)]
    parts = parts_of(records, 150, 16)
    assert flat(parts) == records
    assert all(count(joined(part)) <= 150 for part in parts)
    assert len(parts) < len(records)


def test_when_parts_would_be_too_many_records_are_shortened_and_users_least() -> None:
    records = [record(n, (WORDS * 9 + "\n") * 9, "user" if n % 10 == 0 else "result") for n in range(1, 101)]
    parts = parts_of(records, 2_000, 4)
    assert len(parts) == 4
    short = flat(parts)
    assert [one.seq for one in short] == list(range(1, 101))
    mine, bulk = (
        sum(one.tokens for one in short if (one.role == "user") is is_user) / number
        for is_user, number in ((True, 10), (False, 90))
    )
    assert mine > 3 * bulk
    assert all(one.text.startswith(f"[event:{one.seq} ") for one in short)


def test_the_room_of_the_parts_is_used() -> None:
    records = [record(n, (WORDS * 2 + "\n") * 30) for n in range(1, 201)]
    parts = parts_of(records, 3_000, 5)
    assert sum(one.tokens for one in flat(parts)) > 0.75 * 5 * 3_000


def test_a_past_too_long_for_that_gets_more_parts_and_loses_nothing() -> None:
    records = [record(n, WORDS * 20) for n in range(1, 501)]
    parts = parts_of(records, 200, 4)
    assert len(parts) > 4
    assert [one.seq for one in flat(parts)] == list(range(1, 501))
    assert all(one.tokens <= LEAST_RECORD for one in flat(parts))


def test_nothing_to_tell_needs_no_part_and_no_room_is_refused() -> None:
    assert parts_of([], 0, 4) == []
    with pytest.raises(ValueError, match="There are 0 tokens for records"):
        parts_of([record(1, "x")], 0, 4)


@given(
    st.lists(st.tuples(texts, st.sampled_from(["user", "agent", "result", "injected"])), min_size=1, max_size=12),
    st.integers(1, 300),
    st.integers(1, 5),
)
def test_every_record_is_in_exactly_one_part_in_order_and_every_part_fits(
    told: list[tuple[str, str]], room: int, most: int
) -> None:
    records = [record(n, text, role) for n, (text, role) in enumerate(told, 1)]
    parts = parts_of(records, room, most)
    assert [one.seq for one in flat(parts)] == [one.seq for one in records]
    assert all(part for part in parts)
    for part in parts:
        assert sum(one.tokens for one in part) + len(part) - 1 <= room
    least = [min(one.tokens, LEAST_RECORD * WEIGHTS.get(one.role, 1)) for one in records]
    if sum(least) + len(least) <= room:  # all of it could stand in one part
        assert len(parts) <= most


def test_ten_thousand_records_are_parted_in_time() -> None:
    records = [record(n, WORDS * 8) for n in range(1, 10_001)]
    assert len(parts_of(records, 30_000, 16)) <= 16
