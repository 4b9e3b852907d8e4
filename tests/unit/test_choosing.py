"""What is chosen of scored candidates, and that no more of them are looked at than are shown."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foldmark.events import assistant, user
from foldmark.retrieval.choosing import AS_GOOD, MOST_BESIDE, OFTEN, WORTH_BESIDE, in_turn
from foldmark.seeking import NEAR_BEST, Found, Piece, near_of
from foldmark.session import Session


class Candidate(NamedTuple):
    """A scored piece of one line."""

    found: Found
    score: float
    first: int = 0
    last: int = 0


def candidate(seq: int, score: float, text: str = "", session: str = "", time: float | None = None) -> Candidate:
    text = text or f"passage number {seq}"
    event = msgspec.structs.replace(user(text, time=time), seq=seq)
    return Candidate(Found(Piece(seq, 0, text), event, session, time), score)


def spread(ordered: list[Candidate]) -> list[Candidate]:
    """The rule by itself: time and again the one that is worth most, among equals the first."""
    left, out, taken = list(ordered), list[Candidate](), dict[str, int]()
    while left:
        first = {one.found.session: one for one in reversed(left)}
        at = {one.found.session: left.index(one) for one in first.values()}
        worth = {name: one.score * OFTEN ** min(taken.get(name, 0), AS_GOOD) for name, one in first.items()}
        session = min(first, key=lambda name: (-worth[name], at[name]))
        out.append(first[session])
        left.remove(first[session])
        taken[session] = taken.get(session, 0) + 1
    return out


TEXTS = ("the walrus sleeps", "the port is 8080", "the port is 8081", "a b c d e f g h i j", "a b c d e f g h i j k")
MADE = st.lists(
    st.tuples(st.sampled_from((1.0, 1.9, 1.95, 2.0, 2.05, 3.0)), st.sampled_from(("", "b", "c")), st.integers(0, 9)),
    max_size=40,
)  # fmt: skip


def made(drawn: list[tuple[float, str, int]]) -> list[Candidate]:
    return [
        candidate(seq, score, TEXTS[kind] if kind < len(TEXTS) else "", session)
        for seq, (score, session, kind) in enumerate(drawn, 1)
    ]


@given(MADE, st.integers(0, 20))
@settings(max_examples=200)
@example([(2.0, "", 9)] * 9 + [(1.95, "b", 9)] * 3, 4)
def test_a_limit_cuts_the_list_and_changes_nothing_before(drawn: list[tuple[float, str, int]], limit: int) -> None:
    whole = in_turn(made(drawn))
    assert in_turn(made(drawn), limit) == whole[:limit]
    assert in_turn(made(drawn), len(drawn)) == whole


@given(MADE)
@settings(max_examples=200)
def test_sessions_take_turns_by_what_their_next_hit_is_worth(drawn: list[tuple[float, str, int]]) -> None:
    candidates = [
        one._replace(found=msgspec.structs.replace(one.found, piece=Piece(seq, 0, f"all {seq} alone")))
        for seq, one in enumerate(made(drawn), 1)
    ]
    ordered = sorted(candidates, key=lambda one: (-one.score, -one.found.event.seq))
    assert in_turn(candidates) == spread(ordered)


class Watched(NamedTuple):
    """A candidate that notes when its passage is read."""

    found: Found
    score: float
    read: list[int]

    @property
    def first(self) -> int:
        self.read.append(self.found.piece.seq)
        return 0

    @property
    def last(self) -> int:
        return 0


@pytest.mark.parametrize("sessions", [("",), ("", "b", "c")])
def test_passages_behind_the_last_one_shown_are_not_read(sessions: tuple[str, ...]) -> None:
    read: list[int] = []
    many = [candidate(seq, 1_000.0 * 0.9**seq, session=sessions[seq % len(sessions)]) for seq in range(1, 301)]
    shown = in_turn([Watched(one.found, one.score, read) for one in many], 10)
    assert len(shown) == 10
    assert len(read) <= 16


def _odd(one: Candidate) -> bool:
    return one.found.event.seq % 2 == 1


@given(MADE)
@settings(max_examples=200)
def test_hits_that_hold_no_word_push_out_one_that_does_at_most(drawn: list[tuple[float, str, int]]) -> None:
    candidates = [
        candidate(seq, score + seq % 2, f"all {seq} alone", session) for seq, (score, session, _) in enumerate(drawn, 1)
    ]
    with_words = in_turn([one for one in candidates if not _odd(one)])
    both = in_turn(candidates, is_beside=_odd)
    for limit in range(len(both) + 1):
        shown = [one for one in both[:limit] if not _odd(one)]
        assert len(shown) >= min(limit - 1, len(with_words))
    assert sum(map(_odd, both)) <= MOST_BESIDE
    best = max((one.score for one in with_words), default=0.0)
    assert all(one.score >= WORTH_BESIDE * best for one in both if _odd(one))


def test_where_nothing_holds_a_word_a_few_are_shown_the_best_first() -> None:
    found = in_turn([candidate(seq, float(seq)) for seq in (1, 3, 5, 7, 9)], is_beside=_odd)
    assert [one.found.event.seq for one in found] == [9, 7, 5]


def test_the_best_that_holds_no_word_keeps_its_place_and_others_come_last() -> None:
    candidates = [candidate(seq, 10.0 - seq) for seq in (1, 2, 3, 4)]
    assert [one.found.event.seq for one in in_turn(candidates, is_beside=_odd)] == [1, 2, 4, 3]
    poor = candidate(5, WORTH_BESIDE * 8.0 - 0.1)
    assert [one.found.event.seq for one in in_turn([*candidates, poor], is_beside=_odd)] == [1, 2, 4, 3]
    closer = [candidate(seq, 10.0 - seq / 10) for seq in (1, 2, 3, 4, 5)]
    assert [one.found.event.seq for one in in_turn(closer, is_beside=_odd)] == [1, 2, 4, 3, 5]
    assert [one.found.event.seq for one in in_turn(closer, 4, is_beside=_odd)] == [1, 2, 4, 3]


def test_only_the_best_bring_what_was_said_beside_them() -> None:
    found: list[Any] = [candidate(10 * seq, 1.0).found for seq in range(1, 101)]
    near = near_of(found)
    assert near[:4] == [("", 9), ("", 11), ("", 8), ("", 12)]
    assert len(near) == 4 * NEAR_BEST
    assert max(seq for _, seq in near) == 10 * NEAR_BEST + 2


def test_an_answer_beside_the_best_match_of_hundreds_is_found() -> None:
    session = Session("s", clock=lambda: 1.0)
    session.record(*(user(f"The walrus has a filler of number {n}.") for n in range(200)))
    session.record(user("Where does the walrus sleep at night?"), assistant("In the bathtub."))
    session.record(*(user(f"The walrus has another filler of number {n}.") for n in range(200)))
    assert "In the bathtub." in " ".join(hit.snippet for hit in session.search("where does the walrus sleep", limit=3))
