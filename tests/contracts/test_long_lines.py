"""A session that was forked from a fork of a fork, and so on, a thousand times: whoever goes on in a copy of a copy
makes such a line. Nothing may recurse along it, and no question may look at all of it for each session again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from places import STORES
from test_stores import MAIN, add, search

from foldmark.embedding import Embedder
from foldmark.events import ToolCall, assistant, user
from foldmark.sqlite import SQLiteStore
from foldmark.store import Key, SessionInfo, Store
from foldmark.vectors import vectors_of

LONG = 1_200
"""Longer than Python goes into calls of calls."""
EMBEDDER = Embedder(id="e", call=lambda texts: [[1.0] for _ in texts], dimension=1)


def line(store: Store, length: int) -> Key:
    """A session, so many forks each of the one before, and a session that a call of the first one started; the key of
    the last fork."""
    made = add(store, MAIN, user("the owl is here"), assistant("", ToolCall("c1", "delegate", "{}")))
    key = MAIN
    for number in range(length):
        info = SessionInfo(session=f"f{number}", kind="fork", parent=key.session, parent_seq=len(made))
        key = msgspec.structs.replace(MAIN, session=f"f{number}")
        store.open(key, info=info)
    add(store, key, user("the fox is last"))
    child = msgspec.structs.replace(MAIN, session="child")
    store.open(child, info=SessionInfo(session="child", kind="child", parent="main", parent_seq=2, parent_call="c1"))
    add(store, child, user("the badger is found"))
    return key


def embedded(store: Store, key: Key, where: str) -> int:
    vectors = vectors_of(store)
    assert vectors is not None
    return len(vectors.missing(key, EMBEDDER, limit=50, where=where))  # type: ignore[arg-type]


ASKED: dict[str, tuple[Callable[[Store, Key], object], object]] = {
    "search the user's": (lambda store, key: search(store, MAIN, "fox", where="user"), ["the fox is last"]),
    "search the session": (lambda store, key: search(store, key, "owl"), ["the owl is here"]),
    "search sub-agents": (lambda store, key: search(store, key, "badger", where="children"), ["the badger is found"]),
    "what has no vector": (lambda store, key: embedded(store, key, "user"), 3),
    "list": (lambda store, key: len(store.sessions("local", "local")), None),
    "sub-agents": (lambda store, key: [one.session for one in store.children(MAIN)], ["child"]),
    "find a list": (lambda store, key: store.match(MAIN, [store.log(MAIN)[0].chain]), None),
}


@pytest.mark.parametrize("name", STORES)
def test_no_question_recurses_along_a_line_of_forks(name: str, tmp_path: Path) -> None:
    with closing(STORES[name](tmp_path)) as store:
        key = line(store, LONG)
        for asked, (question, answer) in ASKED.items():
            told = question(store, key)
            assert answer is None or told == answer, asked
        assert len(store.log(key)) == 3
        store.delete(MAIN, descendants=True)
        assert store.sessions("local", "local") == []


@pytest.mark.parametrize("asked", ASKED)
def test_no_question_looks_at_the_whole_line_for_each_session(asked: str, tmp_path: Path) -> None:
    counts = []
    for length in (40, 80):
        (tmp_path / str(length)).mkdir()
        with closing(SQLiteStore(tmp_path / str(length) / "a.db")) as store:
            key, lines = line(store, length), list[str]()
            question, _ = ASKED[asked]
            question(store, key)
            store._db.set_trace_callback(lines.append)
            question(store, key)
            store._db.set_trace_callback(None)
            counts.append(len(lines))
    assert counts[1] <= 2.2 * counts[0] + 10, "twice as long a line may cost twice as much"
