"""What was said right before a text is read with it by embedders that can, the same from every store: whenever it is
embedded, and never what belongs to another scope, another sitting or another reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from places import STORES

from foldmark.embedding import Embedder
from foldmark.events import Event, ToolCall, assistant, result, user
from foldmark.hooked import EventHooks, hooked
from foldmark.seeking import SITTING, Piece
from foldmark.store import Key, SessionInfo, Store
from foldmark.vectors import BEFORE_CHARACTERS, Vectors, embed, vectors_of
from toy_embedder import numbers, toy

MAIN = Key(session="main")


class Reading:
    """What an embedder that reads what was before was given: text -> what stood before it."""

    def __init__(self) -> None:
        self.given: dict[str, str] = {}
        self.embedder: Embedder = msgspec.structs.replace(toy("reading"), call=self.call, call_after=self.after)

    def call(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return self.after(texts, [""] * len(texts))

    def after(self, texts: Sequence[str], before: Sequence[str]) -> Sequence[Sequence[float]]:
        self.given |= dict(zip(texts, before, strict=True))
        return [numbers(text) for text in texts]


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made = STORES[request.param](tmp_path)
    if vectors_of(made) is None:
        made.close()
        pytest.skip(f"{type(made).__name__} keeps no vectors")
    yield made
    made.close()


def add(store: Store, *events: Event, key: Key = MAIN) -> None:
    context = store.context(key, events)
    pieces = [Piece(event.seq, 0, event.text) for event in context.new if event.text]
    store.append(key, context.new, head=context.head, pieces=pieces, now=1.0)


def kept(store: Store) -> Vectors:
    found = vectors_of(store)
    assert found is not None
    return found


def read(store: Store, *events: Event, key: Key = MAIN) -> dict[str, str]:
    """What is read before each text when all of them are embedded at once."""
    add(store, *events, key=key)
    reading = Reading()
    while embed(store, key, reading.embedder).left:
        pass
    return reading.given


TALK = (user("one"), assistant("two"), user("three"), assistant("four"), user("five"))
READ = {"one": "", "two": "one", "three": "one\ntwo", "four": "two\nthree", "five": "three\nfour"}


def test_what_is_said_is_read_with_the_two_events_before_it(store: Store) -> None:
    assert read(store, *TALK) == READ


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_what_is_read_before_a_text_does_not_depend_on_when_it_is_embedded(store: Store, limit: int) -> None:
    reading = Reading()
    for event in TALK:
        add(store, event)
        if event.text != "three":
            embed(store, MAIN, reading.embedder, limit=limit)
    while embed(store, MAIN, reading.embedder, limit=limit).left:
        pass
    assert reading.given == READ


@pytest.mark.parametrize(
    "between",
    [
        (assistant("a step", ToolCall("c", "read", "{}")), result("c", "what a tool says")),
        (user("of another scope", scope="b"),),
        (user("two\nthree", time=1.0), user("much later", time=2.0 + SITTING)),
    ],
    ids=["tool", "scope", "pause"],
)
def test_what_does_not_belong_to_a_text_is_not_read_before_it(store: Store, between: tuple[Event, ...]) -> None:
    last = user("the last", time=between[-1].time)
    given = read(store, user("the first", time=1.0 if last.time else None), *between, last)
    assert given["the last"] == ("much later" if last.time else "")
    assert given[between[0].text] == ("the first" if last.time else "")
    assert "" == given.get("what a tool says", "") == given.get("much later", "")


def test_of_a_long_text_before_the_end_is_read(store: Store) -> None:
    long = " ".join(map(str, range(1_000)))
    assert read(store, user(long), assistant("and then"))["and then"] == long[-BEFORE_CHARACTERS:]


def test_a_fork_reads_nothing_of_its_parent_and_embeds_what_it_inherits_as_the_parent_does(store: Store) -> None:
    add(store, *TALK[:3])
    fork = msgspec.structs.replace(MAIN, session="fork")
    store.open(fork, info=SessionInfo(session="fork", kind="fork", parent="main", parent_seq=2))
    assert read(store, user("of the fork"), assistant("and more"), key=fork) == {
        "one": "", "two": "one", "of the fork": "", "and more": "of the fork",
    }  # fmt: skip
    assert read(store) == {"three": "one\ntwo"}


def test_other_sessions_of_the_user_are_read_each_for_itself(store: Store) -> None:
    add(store, user("one"), assistant("two"))
    other = msgspec.structs.replace(MAIN, session="other")
    add(store, user("eins"), assistant("zwei"), key=other)
    reading = Reading()
    embed(store, MAIN, reading.embedder, where="user")
    assert reading.given == {"one": "", "two": "one", "eins": "", "zwei": "eins"}


def test_a_scope_reads_what_it_sees(store: Store) -> None:
    mine = msgspec.structs.replace(MAIN, scope="a", sees="exact")
    add(store, user("one", scope="a"), user("two", scope="a"), user("secret", scope="b"), user("three", scope="a"))
    reading = Reading()
    embed(store, mine, reading.embedder)
    assert reading.given == {"one": "", "two": "one", "three": ""}


def test_an_embedder_that_reads_every_text_alone_is_given_nothing_before_it(store: Store) -> None:
    add(store, *TALK)
    assert {one.before for one in kept(store).missing(MAIN, toy(), limit=9)} == {""}


def hiding(key: Key, event: Event) -> Event | None:
    return None if "hidden" in event.text else event


def test_what_was_read_after_something_hidden_has_no_vector_for_that_reader(store: Store) -> None:
    add(store, user("car one"), user("hidden car"), user("car two"), user("car three"), user("car four"))
    shown, reading = hooked(store, EventHooks(on_read=hiding)), Reading()

    def waiting(embedder: Embedder) -> list[str]:
        return [one.text for one in kept(shown).missing(MAIN, embedder, limit=9)]

    assert waiting(reading.embedder) == ["car one", "car four"]
    assert waiting(toy()) == ["car one", "car two", "car three", "car four"]
    embed(store, MAIN, reading.embedder)  # a reader who sees all
    near = kept(shown).nearest(MAIN, reading.embedder, reading.embedder.of_query("car"), beside=[("", 3, 0)])
    assert [one.piece.text for one in near.found] == ["car one", "car four"]
    assert sorted(near.scores) == [("", 1, 0), ("", 5, 0)]
