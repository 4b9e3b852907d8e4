"""What every place that keeps vectors promises: one suite, run over each of them.

Vectors are no part of the protocol: a store without any is skipped here, and is searched by words alone.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import STORES

from foldmark.embedding import Embedder
from foldmark.errors import EmbedderFailed, NotFound
from foldmark.events import Event, ToolCall, assistant, result, user
from foldmark.hooked import EventHooks, hooked
from foldmark.memory import MemoryStore
from foldmark.rehearsal import Rehearsal
from foldmark.seeking import Piece, Sought
from foldmark.sqlite import SQLiteStore
from foldmark.store import Key, SessionInfo, Store
from foldmark.vectors import Vectors, embed, vectors_of
from toy_embedder import numbers, toy

MAIN = Key(session="main")
TOY = toy()


@pytest.fixture(params=[*STORES, "hooked"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made = keeping(STORES.get(request.param, STORES["memory"])(tmp_path))
    yield hooked(made, EventHooks(on_read=lambda key, event: event)) if request.param == "hooked" else made
    made.close()


def add(store: Store, key: Key, *events: Event, heads: dict[int, str] | None = None, now: float = 1.0) -> None:
    context = store.context(key, events)
    pieces = [Piece(e.seq, 0, e.text, head=(heads or {}).get(e.seq, "")) for e in context.new if e.text]
    store.append(key, context.new, head=context.head, pieces=pieces, now=now)


def keeping(store: Store) -> Store:
    """The store, when it keeps vectors; else the test is skipped."""
    if vectors_of(store) is None:
        store.close()
        pytest.skip(f"{type(store).__name__} keeps no vectors (`vectors_of` gives None): search goes by words alone")
    return store


def vectors(store: Store) -> Vectors:
    found = vectors_of(store)
    assert found is not None
    return found


def nearest(store: Store, key: Key, query: str, limit: int = 150, embedder: Embedder = TOY, **sought: Any) -> list[str]:
    """Texts that hold something of the query, the nearest first."""
    near = vectors(store).nearest(key, embedder, embedder.of_query(query), limit=limit, sought=Sought(**sought))
    return [one.piece.text for one in near.found if near.scores[one.place] > 0]


def waiting(store: Store, key: Key, where: str = "session", embedder: Embedder = TOY) -> list[str]:
    return [one.text for one in vectors(store).missing(key, embedder, limit=100, where=where)]  # type: ignore[arg-type]


def opened(store: Store, name: str, kind: str, at: int = 0, call: str = "", parent: str = "main") -> Key:
    key = msgspec.structs.replace(MAIN, session=name)
    info = SessionInfo(session=name, kind=kind, parent=parent, parent_seq=at, parent_call=call)  # type: ignore[arg-type]
    store.open(key, info=info)
    return key


# -- what has no vector yet, and what gets one


def test_pieces_wait_oldest_first_until_they_have_a_vector(store: Store) -> None:
    add(store, MAIN, user("a red car"), assistant("a blue boat"), user("a green hill"))
    assert waiting(store, MAIN) == ["a red car", "a blue boat", "a green hill"]
    assert embed(store, MAIN, TOY, limit=2).done == 2
    assert waiting(store, MAIN) == ["a green hill"]


def test_embedding_goes_on_where_it_ended_and_says_whether_anything_is_left(store: Store) -> None:
    add(store, MAIN, *(user(f"note number {number}") for number in range(7)))
    goes = [embed(store, MAIN, TOY, limit=3) for _ in range(4)]
    assert [(go.done, go.left) for go in goes] == [(3, True), (3, True), (1, False), (0, False)]


def test_a_go_that_breaks_off_keeps_what_was_done_and_the_next_one_goes_on(store: Store) -> None:
    add(store, MAIN, *(user(f"note number {number}") for number in range(6)))
    asked: list[str] = []

    def call(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        asked.extend(texts)
        if len(asked) > 4:
            raise ConnectionError("down")
        return [numbers(text) for text in texts]

    weak = Embedder(id="weak", call=call, dimension=64, batch=2)
    with pytest.raises(EmbedderFailed):
        embed(store, MAIN, weak)
    assert waiting(store, MAIN, embedder=weak) == ["note number 4", "note number 5"]
    asked.clear()
    assert embed(store, MAIN, weak).done == 2


def test_the_call_that_a_result_answers_is_embedded_in_front_of_it(store: Store) -> None:
    add(
        store,
        MAIN,
        assistant("", ToolCall("c", "read", '{"path": "x"}')),
        result("c", "blue"),
        heads={2: "read garage"},
    )
    texts: list[str] = []
    spy = Embedder(id="spy", call=lambda given: [texts.append(t) or numbers(t) for t in given], dimension=64)  # type: ignore[func-returns-value]
    embed(store, MAIN, spy)
    assert texts == ["read garage\nblue"]


def test_a_text_that_is_another_one_by_now_gets_no_vector(store: Store) -> None:
    add(store, MAIN, user("the first life"))
    (old,) = vectors(store).missing(MAIN, TOY, limit=9)
    store.delete(MAIN)
    add(store, MAIN, user("the second life"))
    assert vectors(store).put(MAIN, TOY, [(old, TOY.of_texts([old.whole])[0])]) == 0
    assert waiting(store, MAIN) == ["the second life"]


def test_an_unknown_session_is_said_to_be_unknown(store: Store) -> None:
    calls = (
        lambda: vectors(store).missing(MAIN, TOY, limit=1),
        lambda: vectors(store).nearest(MAIN, TOY, TOY.of_query("x")),
        lambda: vectors(store).put(MAIN, TOY, []),
        lambda: vectors(store).forget(MAIN),
    )
    for call in calls:
        with pytest.raises(NotFound):
            call()


def test_two_workers_at_the_same_pieces_leave_one_vector_each(store: Store) -> None:
    add(store, MAIN, user("a red car"), user("a blue car"))
    both = vectors(store).missing(MAIN, TOY, limit=9)
    made = list(zip(both, TOY.of_texts([one.whole for one in both]), strict=True))
    assert [vectors(store).put(MAIN, TOY, made) for _ in range(2)] == [2, 2]
    assert sorted(nearest(store, MAIN, "car")) == ["a blue car", "a red car"]
    assert vectors(store).forget(MAIN) == 2


def test_what_a_compaction_covers_is_embedded_with_the_rest_of_the_session(store: Store) -> None:
    add(store, MAIN, user("a red car"))
    assert embed(store, MAIN, TOY, where="covered").done == 1


# -- what is near


def test_another_word_of_the_same_meaning_is_near(store: Store) -> None:
    add(store, MAIN, user("we sold the lorry"), assistant("we bought apples"))
    embed(store, MAIN, TOY)
    assert nearest(store, MAIN, "vehicle") == ["we sold the lorry"]


def test_the_limit_takes_the_nearest_and_scores_tell_of_neighbours_and_of_what_was_asked_for(store: Store) -> None:
    add(store, MAIN, *(user(text) for text in ("car", "car hill", "boat", "sea", "sun", "rain")))
    embed(store, MAIN, TOY)
    near = vectors(store).nearest(MAIN, TOY, TOY.of_query("car"), limit=1, beside=[("", 5, 0)])
    assert [one.piece.text for one in near.found] == ["car"]
    assert sorted(near.scores) == [("", seq, 0) for seq in (1, 2, 4, 5, 6)]
    assert near.scores["", 1, 0] == pytest.approx(1.0, abs=0.01)
    assert near.scores["", 2, 0] == pytest.approx(0.5**0.5, abs=0.01)


def test_what_has_no_vector_is_counted_and_not_brought(store: Store) -> None:
    add(store, MAIN, user("a red car"), user("a blue car"), user("a black car"))
    embed(store, MAIN, TOY, limit=1)
    near = vectors(store).nearest(MAIN, TOY, TOY.of_query("car"))
    assert ([one.piece.text for one in near.found], near.missing) == (["a red car"], 2)


def test_vectors_of_another_embedder_or_another_dimension_are_not_used_and_made_anew(store: Store) -> None:
    add(store, MAIN, user("a red car"))
    embed(store, MAIN, TOY)
    for other in (toy("other"), toy(size=32)):
        assert nearest(store, MAIN, "car", embedder=other) == []
        assert embed(store, MAIN, other).done == 1
        assert nearest(store, MAIN, "car", embedder=other) == ["a red car"]
    assert nearest(store, MAIN, "car") == ["a red car"]


def test_forgetting_drops_all_vectors_of_the_session_but_those_that_are_kept(store: Store) -> None:
    add(store, MAIN, user("a red car"), user("a blue car"))
    other = toy("other")
    embed(store, MAIN, TOY)
    embed(store, MAIN, other)
    assert vectors(store).forget(MAIN, keep=other) == 2
    assert (waiting(store, MAIN), waiting(store, MAIN, embedder=other)) == (["a red car", "a blue car"], [])
    assert vectors(store).forget(MAIN) == 2


def test_the_filters_of_a_search_hold_and_its_limit_is_filled_from_what_they_allow(store: Store) -> None:
    add(store, MAIN, user("car", time=10.0), assistant("car two", time=20.0), user("car three", time=30.0))
    embed(store, MAIN, TOY)
    assert nearest(store, MAIN, "car", roles=("assistant",), limit=1) == ["car two"]
    assert nearest(store, MAIN, "car", since=25.0, limit=1) == ["car three"]
    assert nearest(store, MAIN, "car", without=frozenset({1, 3}), limit=1) == ["car two"]
    assert nearest(store, MAIN, "car", where="covered", upto=1) == ["car"]


# -- whose vectors they are


def test_a_fork_finds_what_it_inherits_by_the_vectors_of_its_parent_and_nothing_later(store: Store) -> None:
    add(store, MAIN, user("an old car"), user("a later car"))
    embed(store, MAIN, TOY)
    fork = opened(store, "fork", "fork", at=1)
    add(store, fork, user("a car of the fork"))
    assert waiting(store, fork) == ["a car of the fork"]
    assert nearest(store, fork, "car") == ["an old car"]
    embed(store, fork, TOY)
    assert sorted(nearest(store, fork, "car")) == ["a car of the fork", "an old car"]
    assert nearest(store, fork, "later", where="others") == ["a later car"]
    assert sorted(nearest(store, MAIN, "car")) == ["a later car", "an old car"]


def test_a_fork_can_embed_what_it_inherits_once_for_all(store: Store) -> None:
    add(store, MAIN, user("an old car"))
    fork = opened(store, "fork", "fork", at=1)
    assert embed(store, fork, TOY).done == 1
    assert nearest(store, MAIN, "car") == ["an old car"]


def test_children_and_the_other_sessions_of_the_user_are_searched_where_it_is_asked_for(store: Store) -> None:
    add(store, MAIN, user("main car"), assistant("", ToolCall("c1", "task", "{}")))
    child = opened(store, "child", "child", at=2, call="c1")
    add(store, child, user("child car"))
    other = msgspec.structs.replace(MAIN, session="other")
    add(store, other, user("other car"))
    assert embed(store, MAIN, TOY, where="user").done == 3
    found = {
        where: sorted(nearest(store, MAIN, "car", where=where)) for where in ("session", "children", "others", "user")
    }
    assert found == {
        "session": ["main car"],
        "children": ["child car", "main car"],
        "others": ["child car", "other car"],
        "user": ["child car", "main car", "other car"],
    }


@pytest.mark.parametrize("stranger", [{"user": "eve"}, {"tenant": "evil"}])
def test_no_other_user_or_tenant_ever_meets_a_vector(store: Store, stranger: dict[str, str]) -> None:
    add(store, MAIN, user("a secret car"))
    embed(store, MAIN, TOY)
    theirs = msgspec.structs.replace(MAIN, **stranger)
    add(store, theirs, user("their boat"))
    for where in ("session", "children", "others", "user"):
        assert waiting(store, theirs, where) == ([] if where == "others" else ["their boat"])
        near = vectors(store).nearest(theirs, TOY, TOY.of_query("car"), sought=Sought(where=where))  # type: ignore[arg-type]
        assert (near.found, near.scores) == ((), {})


def test_a_scope_neither_embeds_nor_finds_nor_compares_what_it_does_not_see(store: Store) -> None:
    add(store, MAIN, user("a car", scope="a"), user("b car", scope="b"), user("a hill", scope="a"))
    mine = msgspec.structs.replace(MAIN, scope="a", sees="exact")
    assert waiting(store, mine) == ["a car", "a hill"]
    embed(store, MAIN, TOY)
    near = vectors(store).nearest(mine, TOY, TOY.of_query("car"), beside=[("", 2, 0)])
    assert {one.piece.seq for one in near.found} == {1, 3}
    assert ("", 2, 0) not in near.scores


def test_a_deleted_session_leaves_no_vector_behind(store: Store) -> None:
    add(store, MAIN, user("a red car"))
    other = msgspec.structs.replace(MAIN, session="other")
    add(store, other, user("a boat"))
    embed(store, MAIN, TOY, where="user")
    store.delete(MAIN)
    assert nearest(store, other, "car", where="user") == []
    add(store, MAIN, user("a red car"))
    assert waiting(store, MAIN) == ["a red car"]


def test_no_row_of_a_deleted_session_stays_in_the_file(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "a.db")
    add(store, MAIN, user("a red car"))
    embed(store, MAIN, TOY)
    count = "SELECT count(*) FROM vector"
    with sqlite3.connect(tmp_path / "a.db") as db:
        assert db.execute(count).fetchone()[0] == 1
        store.delete(MAIN)
        assert db.execute(count).fetchone()[0] == 0
    store.close()


@pytest.mark.parametrize("text", ["a\x00car", "\ud800 car", "'; DROP TABLE vector; -- car", "car" * 2_000, " \n car"])
def test_hostile_texts_are_kept_and_found(store: Store, text: str) -> None:
    add(store, MAIN, user(text))
    assert embed(store, MAIN, TOY).done == 1
    near = vectors(store).nearest(MAIN, TOY, TOY.of_query(text))
    assert [one.piece.text for one in near.found] == [text]
    assert near.scores["", 1, 0] == pytest.approx(1.0, abs=0.01)


# -- what a hook hides, what a rehearsal leaves alone


def hiding(key: Key, event: Event) -> Event | None:
    if "hidden" in event.text:
        return None
    changes = "changed" in event.text and event.result is None
    return msgspec.structs.replace(event, parts=user("something else").parts) if changes else event


@pytest.mark.parametrize("kind", STORES)
def test_what_a_read_hook_hides_or_changes_is_neither_embedded_nor_found_nor_compared(
    kind: str, tmp_path: Path
) -> None:
    inner = keeping(STORES[kind](tmp_path))
    add(inner, MAIN, user("plain car"), user("hidden car"), user("changed car"), user("plain hill"))
    shown = hooked(inner, EventHooks(on_read=hiding))
    assert waiting(shown, MAIN) == ["plain car", "plain hill"]
    assert [one.text for one in vectors(shown).missing(MAIN, TOY, limit=2)] == ["plain car", "plain hill"]
    embed(inner, MAIN, TOY)  # a reader who sees all
    near = vectors(shown).nearest(MAIN, TOY, TOY.of_query("car"), limit=2, beside=[("", 2, 0), ("", 3, 0)])
    assert [one.piece.text for one in near.found] == ["plain car", "plain hill"]
    assert sorted(near.scores) == [("", 1, 0), ("", 4, 0)]
    inner.close()


def test_the_result_of_a_call_that_is_not_shown_is_not_embedded_by_that_reader() -> None:
    inner = MemoryStore()
    add(inner, MAIN, assistant("hidden", ToolCall("c", "read", "{}")), result("c", "its answer"), user("car"))
    assert waiting(hooked(inner, EventHooks(on_read=hiding)), MAIN) == ["car"]


def test_a_rehearsal_reads_vectors_and_writes_none(store: Store) -> None:
    add(store, MAIN, user("a red car"), user("a blue car"))
    embed(store, MAIN, TOY, limit=1)
    trial = Rehearsal(store)
    assert nearest(trial, MAIN, "car") == ["a red car"]
    assert embed(trial, MAIN, TOY).done == 0
    assert vectors(trial).forget(MAIN) == 0
    assert waiting(store, MAIN) == ["a blue car"]


def test_a_store_without_vectors_says_so_and_embedding_does_nothing() -> None:
    class Plain(MemoryStore):
        vectors = None  # type: ignore[assignment]

        def __init__(self) -> None:
            super().__init__()
            self.vectors = None

    store = Plain()
    add(store, MAIN, user("a car"))
    assert vectors_of(store) is None
    assert vectors_of(hooked(store, EventHooks(on_read=hiding))) is None
    assert vectors_of(Rehearsal(store)) is None
    assert embed(store, MAIN, TOY).done == 0


# -- old files, and the stores against each other


def test_a_file_of_the_schema_before_vectors_is_opened_and_takes_them(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "old.db")
    add(store, MAIN, user("a red car"))
    store.close()
    with sqlite3.connect(tmp_path / "old.db") as db:
        db.execute("DROP TABLE vector")
        db.execute("DROP TABLE embedder")
        db.execute("UPDATE meta SET value = 2 WHERE key = 'schema_version'")
    again = SQLiteStore(tmp_path / "old.db")
    embed(again, MAIN, TOY)
    assert nearest(again, MAIN, "car") == ["a red car"]
    again.close()


WORD = st.sampled_from(["car", "hill", "boat", "sun", "truck", "rain"])
TEXTS = st.lists(st.lists(WORD, min_size=1, max_size=4).map(" ".join), min_size=1, max_size=8)


@given(TEXTS, st.integers(0, 8), TEXTS, st.integers(1, 6), st.sampled_from(["session", "others", "user"]))
def test_all_stores_bring_the_same_in_the_same_order(
    texts: list[str], at: int, more: list[str], limit: int, where: str
) -> None:
    brought = []
    for make in STORES.values():
        with tempfile.TemporaryDirectory() as folder, closing(make(Path(folder))) as store:
            if vectors_of(store) is None:
                continue
            add(store, MAIN, *map(user, texts))
            fork = opened(store, "fork", "fork", at=min(at, len(texts)))
            add(store, fork, *map(assistant, more))
            embed(store, fork, TOY, limit=limit * 2)
            embed(store, MAIN, TOY)
            near = vectors(store).nearest(fork, TOY, TOY.of_query("car rain"), limit=limit, sought=Sought(where=where))  # type: ignore[arg-type]
            brought.append(([(one.place, one.piece.text) for one in near.found], near.scores, near.missing))
    assert all(each == brought[0] for each in brought)
