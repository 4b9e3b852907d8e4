"""Which pieces match, counted once and then only what came since; and the best of them without looking at the rest."""

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.events import user
from foldmark.log import ordered
from foldmark.memory import MemoryStore
from foldmark.seeking import Finding, Piece, Sought, Where
from foldmark.sqlite import SQLiteStore
from foldmark.sqlite.postings import best
from foldmark.store import Key, SessionInfo, Store

WORDS = ["walrus", "lantern", "quartz", "meadow"]
KEYS = [Key(session=name) for name in ("one", "two", "fork")]
_numbers = st.lists(st.integers(1, 60), unique=True).map(sorted)


@given(st.lists(_numbers, max_size=7), st.integers(0, 70), st.integers(0, 40))
def test_the_best_are_those_of_the_whole_order_and_all_others_follow(
    lists: list[list[int]], limit: int, more: int
) -> None:
    postings = {f"t{place}": numbers for place, numbers in enumerate(lists)}
    whole = ordered(postings, 60 + more)
    assert list(islice(best(postings, 60 + more, limit), limit)) == whole[:limit]
    assert list(best(postings, 60 + more, limit)) == whole


@pytest.mark.parametrize("common", [0, 1, 5])
def test_pieces_that_hold_only_common_words_are_left_out_only_where_they_cannot_be_among_the_best(common: int) -> None:
    """Many pieces of one rare word each fill all places, but for those that hold several common ones."""
    postings = {"rare": list(range(1, 200))} | {
        f"c{n}": sorted({*range(200, 3_000), *range(1, 200, n + 2)}) for n in range(common)
    }
    assert list(islice(best(postings, 5_000, 150), 150)) == ordered(postings, 5_000)[:150]


def say(store: Store, key: Key, *texts: str) -> None:
    context = store.context(key, [user(text) for text in texts])
    pieces = [Piece(event.seq, order, event.text) for event in context.new for order in range(len(event.text) % 3)]
    store.append(key, context.new, head=context.head, pieces=pieces, now=1.0)


def look(store: Store, key: Key, where: Where, upto: int) -> tuple[int, dict[str, int], list[tuple[str, int, int]]]:
    found: Finding = store.find(key, WORDS, limit=9, sought=Sought(where=where, upto=upto))
    return found.pieces, found.frequencies, [one.place for one in found.found]


@pytest.mark.parametrize("seed", range(6))
def test_what_was_counted_stays_right_while_sessions_grow_side_by_side(tmp_path: Path, seed: int) -> None:
    """Two stores of one file write in turn: each must count what the other wrote. Sessions stand alone in the index at
    first, then between each other; one is erased and made anew."""
    rng, path = random.Random(seed), tmp_path / "store.db"
    memory, stores = MemoryStore(), [SQLiteStore(path), SQLiteStore(path)]

    def both(written: str, *told: object) -> None:
        for store in (memory, stores[rng.randrange(2)]):
            getattr(store, written)(*told) if written != "say" else say(store, *told)  # type: ignore[arg-type]

    both("say", KEYS[0], "walrus lantern", "quartz")
    both("say", KEYS[1], "meadow", "quartz walrus")
    for store in (memory, stores[0]):
        store.open(KEYS[2], info=SessionInfo(session="fork", kind="fork", parent="one", parent_seq=1))
    for step in range(30):
        key = KEYS[0] if step < 6 else rng.choice(KEYS)
        both("say", key, *(" ".join(rng.sample(WORDS, rng.randint(1, 3))) + "." * rng.randint(0, 2) for _ in range(2)))
        if step == 20:
            both("delete", KEYS[1])
            both("say", KEYS[1], "lantern")
        for asked in KEYS:
            where, upto = rng.choice(("session", "covered", "user", "others")), rng.randint(0, 20)
            expected = look(memory, asked, where, upto)  # type: ignore[arg-type]
            assert [look(store, asked, where, upto) for store in stores] == [expected] * 2, (step, asked, where, upto)  # type: ignore[arg-type]
    for store in stores:
        store.close()


def test_a_scope_counts_what_it_sees(tmp_path: Path) -> None:
    memory, sqlite = MemoryStore(), SQLiteStore(tmp_path / "store.db")
    key = Key(session="one", scope="a", sees="exact")
    for store in (memory, sqlite):
        for name in ("a", "b", "a"):
            context = store.context(KEYS[0], [msgspec.structs.replace(user(f"walrus {name}"), scope=name)])
            pieces = [Piece(event.seq, 0, event.text) for event in context.new]
            store.append(KEYS[0], context.new, head=context.head, pieces=pieces, now=1.0)
    assert look(sqlite, key, "session", 0) == look(memory, key, "session", 0)
    assert look(sqlite, key, "session", 0)[0] == 2
    sqlite.close()
