"""The state of a scope tells its open facts without walking all of them; it says what a walk would say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foldmark.checkpoint import OPEN, Fact
from foldmark.facts.ledger import Ledger
from foldmark.log import State, learn, newest

KINDS = ("task", "error")
FACTS = st.lists(
    st.builds(
        Fact,
        seq=st.integers(1, 9),
        kind=st.sampled_from(KINDS),
        key=st.sampled_from("abcd"),
        value=st.just("x"),
        status=st.sampled_from(["active", "open", "done", "gone", ""]),
    ),
    max_size=14,
)


def walked(state: dict[tuple[str, str], Fact], kind: str) -> list[Fact]:
    return [fact for (known, _), fact in state.items() if known == kind and fact.status != "gone"]


@given(FACTS)
def test_keys_by_kind_are_those_of_a_walk(facts: list[Fact]) -> None:
    state, plain = State(), dict[tuple[str, str], Fact]()
    for fact in facts:
        learn(state, fact)
        known = plain.get((fact.kind, fact.key))
        if known is None or known.seq <= fact.seq:
            plain[fact.kind, fact.key] = fact
    assert state == plain
    for kind in KINDS:
        assert state.keys_of(kind) == [key for known, key in plain if known == kind]
        assert state.open_keys(kind) == [fact.key for fact in walked(plain, kind) if fact.status in OPEN]


@given(before=FACTS, asked=st.sampled_from(["first", "last", "always"]), now=FACTS)
def test_a_ledger_tells_the_same_whenever_it_is_asked(before: list[Fact], asked: str, now: list[Fact]) -> None:
    state = newest(before)
    ledger, plain = Ledger(state), dict(state)
    if asked in ("first", "always"):
        assert [ledger.open(kind) for kind in KINDS] == [
            [fact for fact in walked(plain, kind) if fact.status in OPEN] for kind in KINDS
        ]
    for fact in now:
        plain[fact.kind, fact.key] = ledger.add(fact.seq, fact.kind, fact.key, fact.value, status=fact.status)
        if asked == "always":
            assert {f.key for f in ledger.open(fact.kind)} == {
                f.key for f in walked(plain, fact.kind) if f.status in OPEN
            }
    for kind in KINDS:
        assert ledger.all(kind) == walked(plain, kind)
        told = ledger.open(kind)
        assert {fact.key for fact in told} == {fact.key for fact in walked(plain, kind) if fact.status in OPEN}
        if asked == "last":
            assert told == [fact for fact in walked(plain, kind) if fact.status in OPEN]
    assert dict(state) == dict(newest(before)), "the state of the store is only read"


def test_a_state_walks_nothing_to_tell_what_is_open() -> None:
    looked: list[object] = []

    class Watched(State):
        def __iter__(self):  # type: ignore[no-untyped-def]
            looked.append("walked")
            return super().__iter__()

    state = Watched()
    for seq in range(1, 1_000):
        learn(state, Fact(seq=seq, kind="task", key=str(seq), value="x", status="done" if seq < 998 else "active"))
    ledger = Ledger(state)
    assert [fact.key for fact in ledger.open("task")] == ["998", "999"]
    assert not looked
