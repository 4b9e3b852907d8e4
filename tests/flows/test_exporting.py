"""Export to a long-term memory, over every store: whole sessions, each event once, nothing lost by a failing sink."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from foldmark import Policy, Session
from foldmark.errors import NotFound, PolicyError
from foldmark.events import Event, Image, Text, ToolCall, assistant, result, user
from foldmark.exporting import Exported, export, export_after
from foldmark.hooked import EventHooks, hooked
from foldmark.memory import MemoryStore
from foldmark.sqlite import SQLiteStore
from foldmark.store import Key, Sees, SessionInfo, Store
from making import long_session
from waiting import LONG

MAIN = Key(session="main")
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "store.db")
    yield made
    made.close()


class Shelf:
    """A sink that keeps everything, and fails when told to."""

    def __init__(self, fails: int = -1) -> None:
        self.got: list[Exported] = []
        self.fails = fails

    def __call__(self, exported: Exported) -> None:
        if len(self.got) == self.fails:
            self.fails = -1
            raise OSError("the memory is away")
        self.got.append(exported)

    @property
    def texts(self) -> list[str]:
        return [event.text for exported in self.got for event in exported.events]


def fill(store: Store, *texts: str, session: str = "main") -> Session:
    made = Session(session, store=store, policy=Policy.coding())
    made.record(*(user(text) for text in texts))
    return made


def test_a_session_is_handed_over_whole_with_all_that_is_known_of_it(store: Store) -> None:
    session = Session("main", store=store, policy=Policy.coding())
    session.record(*long_session(30))
    session.remember({"team": "billing"})
    session.compact(force=True, window=32_000)
    shelf = Shelf()
    handed = export(store, MAIN, shelf)
    (got,) = shelf.got
    assert (handed.events, handed.batches, handed.next) == (61, 1, 61)
    assert [event.seq for event in got.events] == list(range(1, 62))
    assert (got.key, got.since, got.next, got.more) == (MAIN, 0, 61, False)
    assert (got.info.title, got.info.kind, got.info.meta) == ("Fix the duplicate charges.", "root", {"team": "billing"})
    assert got.checkpoint == session.control.history()[-1].text
    assert any(fact.kind in {"user", "goal"} for fact in got.facts)
    rows = json.loads(json.dumps(got.rows()))
    assert [row["ref"] for row in rows] == [f"event:{seq}" for seq in range(1, 62)]
    assert msgspec.convert({k: v for k, v in rows[1].items() if k != "ref"}, Event) == got.events[1]


def test_a_named_sink_gets_only_what_is_new_and_another_one_everything(store: Store) -> None:
    session, first, other = fill(store, "one", "two"), Shelf(), Shelf()
    export(store, MAIN, first, name="first")
    assert export(store, MAIN, first, name="first").events == 0
    assert len(first.got) == 1
    session.record(user("three"))
    assert export(store, MAIN, first, name="first").next == 3
    export(store, MAIN, other, name="other")
    assert first.texts == other.texts == ["one", "two", "three"]
    assert export(store, MAIN, Shelf()).events == 3  # without a name nothing is remembered
    again = Shelf()
    export(store, MAIN, again, name="first", since=1)
    assert again.texts == ["two", "three"]
    assert export(store, MAIN, first, name="first").events == 0  # an older start does not move it back


def test_long_sessions_come_in_batches_and_a_sink_that_failed_gets_the_same_again(store: Store) -> None:
    fill(store, *map(str, range(10)))
    shelf = Shelf(fails=2)
    with pytest.raises(OSError, match="away"):
        export(store, MAIN, shelf, name="m", batch=3)
    assert shelf.texts == list("012345")
    handed = export(store, MAIN, shelf, name="m", batch=3)
    assert (handed.events, handed.batches) == (4, 2)
    assert shelf.texts == list("0123456789")
    assert [(got.since, got.next, got.more) for got in shelf.got] == [
        (0, 3, True), (3, 6, True), (6, 9, True), (9, 10, False),
    ]  # fmt: skip


def test_secrets_are_redacted_everywhere_unless_the_original_is_asked_for(store: Store) -> None:
    session = Session("main", store=store, policy=Policy.coding())
    session.record(
        user(f"use {SECRET}"),
        assistant("", ToolCall("c1", "run", json.dumps({"k": SECRET}))),
        result("c1", f"token={SECRET}"),
        Event(role="user", origin="user", parts=(Image(url=f"https://x.test/{SECRET}"), Text("s", raw={"t": SECRET}))),
        user("hi", meta={"note": SECRET}),
    )  # fmt: skip
    session.remember({"system": f"key {SECRET}"})
    clean, whole = Shelf(), Shelf()
    export(store, MAIN, clean)
    export(store, MAIN, whole, original=True)
    assert SECRET not in str(clean.got)
    assert not any(event.plain or event.chain for event in clean.got[0].events)
    assert str(whole.got).count(SECRET) >= 6
    assert whole.got[0].events == tuple(store.log(MAIN))


def test_big_results_come_as_previews_or_in_full(store: Store) -> None:
    body = "\n".join(f"row {number} of the ledger" for number in range(5_000))
    session = Session("main", store=store, policy=Policy.coding())
    call = ToolCall("c1", "read")
    session.record(user("go"), assistant("", call), result("c1", body))
    short, full = Shelf(), Shelf()
    export(store, MAIN, short)
    export(store, MAIN, full, bodies=True)
    assert short.got[0].events[2].artifacts
    assert full.texts[2] == body


def test_a_fork_goes_on_from_where_its_parent_was_handed_over(store: Store) -> None:
    session, shelf = fill(store, "one", "two", "three"), Shelf()
    export(store, MAIN, shelf, name="m")
    session.follow([user("one"), user("two"), user("other")])
    assert session.info.kind == "fork"
    export(store, session.key, shelf, name="m")
    assert shelf.texts == ["one", "two", "three", "other"]
    assert (shelf.got[-1].info.parent, shelf.got[-1].info.parent_seq, shelf.got[-1].since) == ("main", 2, 2)
    assert export(store, session.key, shelf, name="m").events == 0
    again = Session("main", store=store)  # knows of the note, and gives it to its forks
    again.follow([user("one"), user("a third way")])
    export(store, again.key, shelf, name="m")
    assert shelf.texts[4:] == ["a third way"]
    fresh = Shelf()
    export(store, session.key, fresh, name="fresh")
    assert fresh.texts == ["one", "two", "other"]


def test_children_are_handed_over_under_their_own_keys(store: Store) -> None:
    fill(store, "one")
    for name, parent in (("child", "main"), ("grandchild", "child"), ("stranger", "elsewhere")):
        if parent == "elsewhere":
            fill(store, "far", session="elsewhere")
        info = SessionInfo(session=name, kind="child", parent=parent, parent_seq=1, parent_call="c1")
        store.open(Key(session=name), info=info)
        fill(store, f"of {name}", session=name)
    shelf = Shelf()
    handed = export(store, MAIN, shelf, name="m", include_children=True)
    assert [got.key.session for got in shelf.got] == ["main", "child", "grandchild"]
    assert shelf.texts == ["one", "of child", "of grandchild"]
    assert handed.children[0].children[0].events == 1
    fill(store, "more", session="grandchild")
    export(store, MAIN, shelf, name="m", include_children=True)
    assert shelf.texts[3:] == ["more"]
    assert export(store, MAIN, Shelf()).children == ()


def test_a_scope_is_handed_over_by_itself(store: Store) -> None:
    billing = Key(session="main", scope="billing", sees="subtree")
    session = Session("main", store=store)
    session.record(user("a"), user("b", scope="billing"), user("c", scope="billing/refunds"), user("d"))
    shelf, whole = Shelf(), Shelf()
    export(store, billing, shelf, name="m", batch=1)
    assert shelf.texts == ["b", "c"]
    export(store, MAIN, whole, name="m")
    assert whole.texts == ["a", "b", "c", "d"]
    assert export(store, billing, shelf, name="m").events == 0


READS: list[Sees] = ["exact", "lineage", "subtree", "all"]
SINKS = ["m", "m subtree x", "m all x", "m%20subtree%20x", "m subtree", "m%", "m%25"]
SCOPES = ["x", "x subtree x", "", "x/y z"]


def test_every_sink_gets_everything_whatever_its_name_and_the_scope_are_called(store: Store) -> None:
    """No note of one is read as that of another: a name may look like a name and a scope."""
    Session("main", store=store).record(*(user(f"for {scope}", scope=scope) for scope in SCOPES))
    keys = [MAIN, *(Key(session="main", scope=scope, sees=sees) for scope in SCOPES if scope for sees in READS)]
    for name in SINKS:
        for key in keys:
            shelf = Shelf()
            export(store, key, shelf, name=name)
            assert shelf.texts == [event.text for event in store.log(key)], (name, key)
            assert export(store, key, shelf, name=name).events == 0
    assert len(store.open(MAIN).meta) == len(SINKS) * len(keys)


def test_the_note_of_a_plain_name_stays_where_it_was(store: Store) -> None:
    fill(store, "one")
    export(store, MAIN, Shelf(), name="memory-2.b")
    assert store.open(MAIN).meta == {"exported:memory-2.b": "1 main"}


def test_a_session_that_is_gone_is_not_made_again(store: Store) -> None:
    with pytest.raises(NotFound):
        export(store, MAIN, Shelf())
    fill(store, "one")

    def vanishing(exported: Exported) -> None:
        store.delete(MAIN)

    with pytest.raises(NotFound):
        export(store, MAIN, vanishing, name="m")
    assert store.sessions("local", "local") == []


def test_an_export_changes_nothing_of_the_session(store: Store) -> None:
    session = fill(store, "one", "two")
    before = (store.log(MAIN), store.view(MAIN), session.peek().payload(), session.control.history())
    export(store, MAIN, Shelf(), name="m")
    assert (store.log(MAIN), store.view(MAIN), session.peek().payload(), session.control.history()) == before


def test_an_async_sink_is_refused_and_nothing_is_remembered(store: Store) -> None:
    fill(store, "one")

    async def sink(exported: Exported) -> None: ...

    with pytest.raises(PolicyError, match="async"):
        export(store, MAIN, sink, name="m")
    assert export(store, MAIN, Shelf(), name="m").events == 1
    with pytest.raises(PolicyError, match="batch"):
        export(store, MAIN, Shelf(), batch=0)
    with pytest.raises(PolicyError, match="name"):
        export_after(store, Shelf(), name="")


def test_an_after_hook_hands_over_when_the_final_answer_is_there(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    shelf = Shelf(fails=1)
    watched = hooked(store, EventHooks(after=export_after(store, shelf, name="memory"), name="memory"))
    session = Session("main", store=watched, policy=Policy.coding())
    call = ToolCall("c1", "read")
    session.record(user("go"), assistant("", call))
    session.record(result("c1", "text"))
    watched.drain(LONG)
    assert shelf.got == []
    session.record(assistant("Done."))
    watched.drain(LONG)
    assert shelf.texts == ["go", "", "text", "Done."]
    session.record(user("on"), assistant("Again."))
    watched.drain(LONG)
    assert "The hook memory failed" in caplog.text
    session.record(assistant("And again."))
    watched.drain(LONG)
    assert shelf.texts[4:] == ["on", "Again.", "And again."]


def test_what_a_read_hook_withholds_is_not_handed_over_through_it(store: Store) -> None:
    fill(store, "one", "private", "two", "private too")
    shelf = Shelf()
    quiet = hooked(store, EventHooks(on_read=lambda key, event: None if "private" in event.text else event))
    assert export(quiet, MAIN, shelf, name="m").next == 4
    assert shelf.texts == ["one", "two"]
    assert export(quiet, MAIN, shelf, name="m").events == 0
