"""What stands behind a ref: stretches, whole rounds, tool calls, other sessions; pages that go on."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark import MemoryStore, NotFound, Policy, Session, assistant, result, user
from foldmark.errors import PolicyError
from foldmark.events import CONTINUES, Event, ToolCall, control
from foldmark.reach import reached, within
from foldmark.refs import Ref, events_ref, parse
from foldmark.retrieval import Loaded
from foldmark.rounds import rounds
from foldmark.seeking import WHERE, Reach
from foldmark.store import Key, SessionInfo
from making import long_session


def session(*events: Event, name: str = "s") -> Session:
    made = Session(name, policy=Policy.coding())
    made.record(*events)
    return made


def seqs(loaded: Loaded) -> list[int]:
    return [event.seq for event in loaded.events]


# -- refs


@pytest.mark.parametrize(
    "text",
    [
        "event:12-20",
        "event:12-20@other",
        "event:12-20#B40-900",
        "event:12-20@a b#B40-900",
        "call:toolu_01",
        "call:a#L1-2",
    ],
)
def test_refs_to_several_events_and_to_calls_are_spelled_as_they_are_read(text: str) -> None:
    assert str(parse(text)) == text


def test_a_stretch_names_its_first_and_last_event() -> None:
    assert parse("event:12-20").span == (12, 20)
    assert parse(events_ref(3, 9, "x", 10, 40)) == Ref("event", "3-9", "x", bytes=(10, 40))
    for text in ("event:12", "event:20-12", "event:0-3", "event:a-b", "artifact:1-2", "call:1-2"):
        assert parse(text).span is None


# -- stretches and pages


def test_several_events_are_opened_page_by_page() -> None:
    made = session(*long_session(20))
    ref, seen = "event:3-30", list[int]()
    while ref:
        page = made.load(ref, limit=5_000)
        assert sum(len(event.text) for event in page.events[:-1]) <= 5_000
        seen += seqs(page)
        ref = page.next
    assert seen == list(range(3, 31))


def test_a_stretch_ends_where_the_log_ends_and_leaves_out_control_events() -> None:
    made = session(user("a"), control("note", {"x": 1}), assistant("b"))
    assert seqs(made.load("event:1-900")) == [1, 3]
    with pytest.raises(NotFound):
        made.load("event:4-900")


def test_a_client_that_names_its_events_so_gets_the_event() -> None:
    made = session(user("a"), user("b"), user("c", id="1-2"))
    assert seqs(made.load("event:1-2")) == [3]


def test_neighbours_that_are_too_much_for_a_page_come_on_the_next_one() -> None:
    made = session(*[user("x" * 3_000) if at % 2 else assistant("y" * 3_000) for at in range(9)])
    page = made.load("event:5", before=4, after=4)
    assert seqs(page) == [1, 2]
    assert page.next == "event:3-9"
    assert seqs(made.load(page.next, limit=10**6)) == [3, 4, 5, 6, 7, 8, 9]


def test_a_page_of_another_session_goes_on_in_that_session() -> None:
    store = MemoryStore()
    past = Session("past", store=store, policy=Policy.coding(budget={"target_tokens": 6_000}))
    past.record(*long_session(40))
    assert past.compact(force=True, window=128_000).outcome == "applied"
    now = Session("now", store=store)
    now.record(user("go on"), assistant("yes"))
    boundary = past.control.history()[-1].boundary
    for first in ("compaction:1@past", f"event:1-{boundary}@past"):
        ref, seen = first, list[int]()
        while ref:
            page = now.load(ref)
            assert page.session == "past"
            seen += seqs(page)
            ref = page.next
        assert seen == list(range(1, boundary + 1))


def test_the_body_of_a_preview_in_another_session_is_that_sessions() -> None:
    store = MemoryStore()
    past = Session("past", store=store, policy=Policy.coding())
    body = "\n".join(f"row {number}" for number in range(9_000))
    past.record(user("go"), assistant("", ToolCall("c", "bash")), result("c", body, name="bash"))
    now = Session("now", store=store)
    now.record(user("hi"), user("ho"), user("hey"))
    for ref in ("event:3@past", "call:c@past"):
        page = now.load(ref)
        assert page.next == "artifact:3@past"
        assert now.load(page.next, limit=10**6).text == body


# -- whole rounds


def test_whole_rounds_stand_round_an_event() -> None:
    made = session(
        user("one"), assistant("", ToolCall("a", "x"), ToolCall("b", "x")), result("a", "1"), result("b", "2"),
        assistant("done"), user("two"), assistant("fine"), user("three"),
    )  # fmt: skip
    assert seqs(made.load("event:3", by="rounds")) == [1, 2, 3, 4]
    assert seqs(made.load("event:5", before=1, by="rounds")) == [1, 2, 3, 4, 5]
    assert seqs(made.load("event:5", after=1, by="rounds")) == [5, 6, 7]
    assert seqs(made.load("event:8", by="rounds", before=9, after=9)) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert seqs(made.load("event:3", before=1, after=1)) == [2, 3, 4], "events, unless rounds are asked for"


def test_a_round_that_begins_before_what_was_read_is_whole() -> None:
    made = session(*long_session(150, 1))
    cut = rounds(made.store.log(made.key))
    for seq in (200, 201):  # what is read first begins with a call, or with a result
        at = next(at for at, one in enumerate(cut) if one.first <= seq <= one.last)
        for many in range(40):
            before = made.load(f"event:{seq}", before=many, by="rounds", limit=10**9)
            after = made.load(f"event:{seq}", after=many, by="rounds", limit=10**9)
            assert seqs(before) == list(range(cut[at - many].first, cut[at].last + 1))
            assert seqs(after) == list(range(cut[at].first, cut[min(at + many, len(cut) - 1)].last + 1))


STEPS = st.lists(st.sampled_from(["user", "say", "call", "late", "goes on", "control"]), min_size=1, max_size=120)


def log_of(steps: list[str]) -> list[Event]:
    events: list[Event] = []
    waiting: list[str] = []
    for at, step in enumerate(steps):
        if step == "user":
            events.append(user(f"u{at}"))
        elif step == "control":
            events.append(control("note", {"at": at}))
        elif step == "late" and waiting:
            events.append(result(waiting.pop(), f"r{at}"))
        elif step == "call":
            waiting.append(f"c{at}")
            events.append(assistant("", ToolCall(f"c{at}", "x")))
        elif step == "goes on" and events and events[-1].role == "assistant":
            events.append(assistant(f"more {at}", meta={CONTINUES: str(len(events))}))
        else:
            events.append(assistant(f"a{at}"))
    return events


@settings(max_examples=60, deadline=None)
@given(steps=STEPS, data=st.data())
def test_rounds_round_an_event_are_those_of_the_whole_log(steps: list[str], data: st.DataObject) -> None:
    made = session(*log_of(steps))
    log = made.store.log(made.key)
    seq = data.draw(st.integers(1, len(log)))
    before, after = data.draw(st.integers(0, 40)), data.draw(st.integers(0, 40))
    found = made.load(f"event:{seq}", before=before, after=after, by="rounds", limit=10**9)
    cut = rounds(log)
    at = next(at for at, one in enumerate(cut) if one.first <= seq <= one.last)
    wanted = [event for one in cut[max(0, at - before) : at + after + 1] for event in one.events]
    if log[seq - 1].role == "control":
        assert seqs(found) == [seq]
    else:
        assert seqs(found) == [event.seq for event in wanted if event.role != "control"]


# -- a page of a long log


class Counting(MemoryStore):
    """Counts the events that somebody asks it for."""

    read = 0

    def log(self, key: Key, first: int = 1, last: int | None = None) -> list[Event]:
        found = super().log(key, first, last)
        self.read += len(found)
        return found


@pytest.mark.parametrize("ref", ["event:1-4000", "event:3-9999", "compaction:1", "call:last", "event:2000", "event:9"])
@pytest.mark.parametrize("by", ["events", "rounds"])
def test_a_page_of_a_long_log_reads_about_a_page(ref: str, by: Any) -> None:
    store = Counting()
    made = Session("s", policy=Policy.coding(), store=store)
    made.record(*(event for n in range(1_500) for event in (user(f"word {n} " * 8), assistant(f"said {n}"))))
    made.record(*(control("note", {}) for _ in range(5)), user("x"), assistant("", ToolCall("last", "x")))
    made.record(result("last", "done"))
    made.compact(force=True)
    store.read = 0
    several = {} if ref[:5] != "event" or "-" in ref else {"before": 2, "after": 2, "by": by}
    loaded = made.load(ref, limit=2_000, **several)
    assert loaded.events
    assert store.read < 700


@given(st.lists(st.sampled_from(["said", "long", "note"]), min_size=1, max_size=120), st.data())
@settings(max_examples=60, deadline=None)
def test_pages_of_a_stretch_are_those_of_the_whole_stretch(kinds: list[str], data: st.DataObject) -> None:
    texts = {"said": user("short"), "long": user("long " * 30), "note": control("note", {})}
    made = session(*(texts[kind] for kind in kinds), user("last"))
    log = made.store.log(made.key)
    first = data.draw(st.integers(1, len(log)))
    last = data.draw(st.integers(first, len(log) + 3))
    shown = [event.seq for event in log[first - 1 : last] if event.role != "control"]
    read, ref = list[int](), f"event:{first}-{last}" if last > first else ""
    while ref and shown:
        loaded = made.load(ref, limit=200)
        read += seqs(loaded)
        assert not loaded.next or loaded.next in (f"event:{n}-{shown[-1]}" for n in shown) or n_only(loaded.next, shown)
        ref = loaded.next
        if ref and "-" not in ref:
            read, ref = [*read, int(ref.removeprefix("event:"))], ""
    assert read == (shown if last > first else [])


def n_only(ref: str, shown: list[int]) -> bool:
    """A ref to the last event alone."""
    return ref == f"event:{shown[-1]}"


# -- tool calls


@pytest.mark.parametrize("between", [0, 254, 255, 256, 257, 1_279, 1_280, 1_300])
def test_a_call_far_back_has_the_first_result_behind_it(between: int) -> None:
    """What is looked through in steps from the end is found on either side of every border."""
    made = session(
        assistant("", ToolCall("0", "x")), result("0", "old"), assistant("", ToolCall("0", "x")), user("meanwhile"),
        result("0", "new"), result("0", "again"), *(user(f"word {n}") for n in range(between)),
    )  # fmt: skip
    assert seqs(made.load("call:0")) == [3, 5]


def test_a_call_is_opened_with_its_result_the_newest_of_an_id() -> None:
    made = session(
        user("go"), assistant("", ToolCall("0", "x")), result("0", "old"), assistant("", ToolCall("0", "x")),
        result("0", "new"), assistant("", ToolCall("open", "x")),
    )  # fmt: skip
    assert seqs(made.load("call:0")) == [4, 5]
    assert seqs(made.load("call:open")) == [6]
    with pytest.raises(NotFound, match="No tool call with the id 'nobody'"):
        made.load("call:nobody")


def test_an_id_may_hold_what_looks_like_a_session_or_a_range() -> None:
    made = session(user("go"), assistant("", ToolCall("a@b#L1-2", "x")), result("a@b#L1-2", "yes"))
    assert seqs(made.load("call:a@b#L1-2")) == [2, 3]


# -- how far


def test_the_places_of_a_reach_are_all_up_to_it() -> None:
    assert within("session") == ("covered", "session")
    assert within("user") == WHERE
    with pytest.raises(PolicyError, match=r"A reach is one of session, children, user, not 'all'\."):
        within("all")  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="A reach is one of"):
        session(user("a")).load("event:1@elsewhere", reach="all")  # type: ignore[arg-type]


def child(store: MemoryStore, name: str, parent: str, call: str = "", kind: str = "child", **fields: int) -> None:
    info = SessionInfo(session=name, kind=kind, parent=parent, parent_call=call, **fields)  # type: ignore[arg-type]
    store.open(Key(session=name), info=info)
    Session(name, store=store).record(
        user("go"), assistant("", ToolCall(f"in-{name}", "task"))
    ) if kind == "child" else None


def test_a_child_is_reached_at_whatever_depth_and_nothing_beside_it() -> None:
    store = MemoryStore()
    main = Session("main", store=store)
    main.record(
        user("a"),
        assistant("", ToolCall("c1", "task"), scope="left"),
        assistant("", ToolCall("c2", "task"), scope="right"),
    )
    child(store, "one", "main", "c1")
    child(store, "two", "main", "c2")
    child(store, "deep", "one", "in-one")
    child(store, "loose", "main")
    child(store, "deep fork", "deep", kind="fork", parent_seq=1)
    child(store, "fork", "main", kind="fork", parent_seq=2)
    child(store, "of fork", "fork", "c1")
    whole = Key(session="main")
    left = Key(session="main", scope="left", sees="exact")
    names = ["main", "one", "two", "deep", "loose", "deep fork", "fork", "of fork", "nobody"]

    def opened(key: Key, reach: Reach) -> set[str]:
        return {name for name in names if reached(store, key, name, reach)}

    assert opened(whole, "session") == {"main"}
    assert opened(whole, "children") == {"main", "one", "two", "deep", "loose", "deep fork"}
    assert opened(left, "children") == {"main", "one", "deep", "deep fork"}
    assert opened(whole, "user") == set(names) - {"nobody"}
    assert opened(left, "user") == {"main", "one", "deep", "deep fork", "fork", "of fork"}, "not the right one's"
    assert opened(Key(session="main", scope="right", sees="exact"), "user") == {"main", "two", "fork"}
    fork = Key(session="fork")
    assert opened(fork, "children") == {"fork", "one", "deep", "deep fork", "of fork"}, "of calls in its lineage"
    for reach in get_args(Reach):
        assert reached(store, msgspec.structs.replace(whole, user="eve"), "one", reach) is None


def test_what_a_search_of_a_reach_brings_can_be_opened_within_it() -> None:
    store = MemoryStore()
    main = Session("main", store=store)
    main.record(user("needle a", scope="left"), assistant("needle b", ToolCall("c1", "task"), scope="left"))
    main.record(assistant("needle c", ToolCall("c2", "task"), scope="right"))
    for name, call in (("one", "c1"), ("two", "c2")):
        child(store, name, "main", call)
        Session(name, store=store).record(user("needle in a child"))
    Session("other", store=store).record(user("needle elsewhere"))
    child(store, "fork", "main", kind="fork", parent_seq=2)
    Session("fork", store=store).record(user("needle d", scope="left"), user("needle e", scope="right"))
    Session("fork", store=store).record(assistant("needle f", ToolCall("c3", "task"), scope="right"))
    child(store, "of fork", "fork", "c3")
    Session("of fork", store=store).record(user("needle in the child of a fork"))
    for scope, sees in (("", "all"), ("left", "subtree"), ("left", "exact")):
        asked = Session("main", store=store, scope=scope, sees=sees)  # type: ignore[arg-type]
        for where in ("session", "children", "others", "user"):
            hits = asked.search("needle", where=where, limit=50)  # type: ignore[arg-type]
            assert hits
            reach: Any = "user" if where == "others" else where
            for hit in hits:
                assert asked.load(hit.ref, reach=reach).events
                assert asked.load(hit.at, reach=reach).text
