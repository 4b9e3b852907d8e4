"""What every store promises of a search: where it looks, what it may bring, in which order, and what it never shows."""

from __future__ import annotations

import random
import sqlite3
import threading
import tracemalloc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foldmark.errors import NotFound, PolicyError
from foldmark.events import Event, ToolCall, assistant, control, fingerprint, injected, result, to_json, user
from foldmark.memory import MemoryStore
from foldmark.retrieval import question
from foldmark.seeking import WHERE, Piece, Sought
from foldmark.sqlite import SQLiteStore, erasing
from foldmark.sqlite.rows import erase_pieces, rebuild_search
from foldmark.sqlite.schema import FIRST, SECOND
from foldmark.store import Key, SessionInfo, Store
from foldmark.words import words

MAIN = Key(session="main")
MAY, JUNE = 1_746_100_000.0, 1_750_000_000.0  # 1 May and 15 June 2025


def add(store: Store, key: Key, *events: Event, now: float = 1.0) -> list[Event]:
    """Record events with a piece for each text; a result's stands beside the call's name."""
    context = store.context(key, events)
    pieces = [
        Piece(event.seq, 0, event.text, head=event.result.name if event.result else "")
        for event in context.new
        if event.text
    ]
    store.append(key, context.new, head=context.head, pieces=pieces, now=now)
    return list(context.new)


def opened(store: Store, name: str, kind: str, parent: str = "main", at: int = 0, call: str = "") -> Key:
    key = Key(session=name)
    info = SessionInfo(session=name, kind=kind, parent=parent, parent_seq=at, parent_call=call)  # type: ignore[arg-type]
    store.open(key, info=info)
    return key


def scoped(scope: str, sees: str = "exact", session: str = "main") -> Key:
    return Key(session=session, scope=scope, sees=sees)  # type: ignore[arg-type]


def search(store: Store, key: Key, query: str, limit: int = 150, **sought: Any) -> list[str]:
    """The texts that are brought, the best first."""
    found = store.find(key, words(query), limit=limit, sought=Sought(**sought)).found
    return [each.piece.text for each in found]


def everywhere(store: Store, key: Key, query: str) -> dict[str, set[str]]:
    return {where: set(search(store, key, query, where=where, upto=10**9)) for where in WHERE}


# Where it looks


def test_what_a_compaction_covers_ends_at_the_event_that_is_named(store: Store) -> None:
    add(store, MAIN, user("fox one"), user("fox two"), user("fox three"))
    assert search(store, MAIN, "fox", where="covered", upto=2) == ["fox two", "fox one"]
    assert search(store, MAIN, "fox", where="covered") == []
    assert search(store, MAIN, "fox", where="covered", upto=-1) == []
    assert search(store, MAIN, "fox", where="covered", upto=2**70) == ["fox three", "fox two", "fox one"]


def test_a_fork_looks_through_what_it_inherits_and_its_own(store: Store) -> None:
    add(store, MAIN, user("fox one"), user("fox two"))
    fork = opened(store, "fork", "fork", at=1)
    add(store, fork, user("fox of the fork"))
    add(store, MAIN, user("fox three"))
    assert everywhere(store, fork, "fox") == {
        "covered": {"fox one", "fox of the fork"},
        "session": {"fox one", "fox of the fork"},
        "children": {"fox one", "fox of the fork"},
        "others": {"fox two", "fox three"},
        "user": {"fox one", "fox two", "fox three", "fox of the fork"},
    }


def test_an_event_of_a_fork_of_a_fork_is_one_of_the_lineage_only_up_to_both_points(store: Store) -> None:
    add(store, MAIN, user("fox one"), user("fox two"), user("fox three"))
    opened(store, "late", "fork", at=3)
    key = opened(store, "early", "fork", parent="late", at=1)
    assert search(store, key, "fox") == ["fox one"]
    assert search(store, key, "fox", where="others") == ["fox three", "fox two"]


def test_sub_agents_of_every_depth_are_looked_through_with_their_forks(store: Store) -> None:
    add(store, MAIN, assistant("", ToolCall("c1", "agent")))
    add(store, opened(store, "child", "child", call="c1"), user("fox of the child"), assistant("", ToolCall("d1", "x")))
    add(store, opened(store, "grandchild", "child", parent="child", call="d1"), user("fox of the grandchild"))
    add(store, opened(store, "again", "fork", parent="child", at=1), user("fox of the child's fork"))
    add(store, Key(session="beside"), user("fox beside"))
    below = {"fox of the child", "fox of the grandchild", "fox of the child's fork"}
    assert set(search(store, MAIN, "fox", where="children")) == below
    assert search(store, MAIN, "fox") == []
    assert set(search(store, MAIN, "fox", where="others")) == {*below, "fox beside"}


def test_a_fork_has_the_sub_agents_of_calls_that_it_inherits_and_no_others(store: Store) -> None:
    add(store, MAIN, assistant("", ToolCall("c1", "agent")), user("go on"), assistant("", ToolCall("c2", "agent")))
    add(store, opened(store, "first", "child", call="c1"), user("fox first"))
    add(store, opened(store, "second", "child", call="c2"), user("fox second"))
    add(store, opened(store, "asked", "child"), user("fox of no call"))
    fork = opened(store, "fork", "fork", at=2)
    assert search(store, fork, "fox", where="children") == ["fox first"]
    assert len(search(store, MAIN, "fox", where="children")) == 3


def test_a_call_that_a_fork_makes_again_does_not_bring_the_sub_agent_of_the_other_line(store: Store) -> None:
    add(store, MAIN, user("begin"), assistant("", ToolCall("c1", "agent")))
    add(store, opened(store, "theirs", "child", at=2, call="c1"), user("fox of the parent's call"))
    fork = opened(store, "fork", "fork", at=1)
    add(store, fork, assistant("", ToolCall("c1", "agent")))
    add(store, opened(store, "ours", "child", parent="fork", at=2, call="c1"), user("fox of our call"))
    assert search(store, fork, "fox", where="children") == ["fox of our call"]
    assert search(store, MAIN, "fox", where="children") == ["fox of the parent's call"]


def test_the_log_of_a_session_is_not_read_only_to_search_it(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "a.db")
    add(store, MAIN, *(user(f"fox {number}") for number in range(5)))
    store.close()
    store = SQLiteStore(tmp_path / "a.db")
    for where in WHERE:
        search(store, MAIN, "fox", where=where)
    assert not store._known
    assert len(search(store, MAIN, "fox")) == 5
    store.close()


@pytest.mark.parametrize("where", WHERE)
def test_a_session_that_is_not_there_is_not_found(store: Store, where: str) -> None:
    add(store, Key(session="other"), user("fox"))
    with pytest.raises(NotFound):
        search(store, MAIN, "fox", where=where)


# Scopes


def family(store: Store) -> None:
    """Two agents of one session with a call and a sub-agent each, a fork in which both go on, another session."""
    add(
        store, MAIN,
        user("fox for a", scope="a"), user("fox for b", scope="b"),
        assistant("", ToolCall("ca", "agent"), scope="a"), assistant("", ToolCall("cb", "agent"), scope="b"),
    )  # fmt: skip
    add(store, opened(store, "child-a", "child", call="ca"), user("fox of a's agent"))
    child_b = opened(store, "child-b", "child", call="cb")
    add(store, child_b, user("fox of b's agent"), assistant("", ToolCall("deep", "agent")))
    add(store, opened(store, "deep-b", "child", parent="child-b", call="deep"), user("fox deep below b"))
    add(store, opened(store, "asked", "child"), user("fox of no call"))
    fork = opened(store, "fork", "fork", at=4)
    add(store, fork, user("fox for a in the fork", scope="a"), user("fox for b in the fork", scope="b"))
    add(store, fork, assistant("", ToolCall("cf", "agent"), scope="b"))
    add(store, opened(store, "child-f", "child", parent="fork", call="cf"), user("fox of the fork's agent"))
    add(store, Key(session="beside"), user("fox beside", scope="b"))


def test_no_search_of_a_scope_brings_what_another_scope_of_the_line_said_or_started(store: Store) -> None:
    family(store)
    assert everywhere(store, scoped("a"), "fox") == {
        "covered": {"fox for a"},
        "session": {"fox for a"},
        "children": {"fox for a", "fox of a's agent"},
        "others": {"fox of a's agent", "fox for a in the fork", "fox beside"},
        "user": {"fox for a", "fox of a's agent", "fox for a in the fork", "fox beside"},
    }
    assert everywhere(store, scoped("a", session="fork"), "fox") == {
        "covered": {"fox for a", "fox for a in the fork"},
        "session": {"fox for a", "fox for a in the fork"},
        "children": {"fox for a", "fox of a's agent", "fox for a in the fork"},
        "others": {"fox of a's agent", "fox beside"},
        "user": {"fox for a", "fox of a's agent", "fox for a in the fork", "fox beside"},
    }


def test_whoever_sees_all_has_everything_of_the_user(store: Store) -> None:
    family(store)
    assert len(search(store, MAIN, "fox", where="user")) == 10
    assert len(search(store, MAIN, "fox", where="others")) == 8


@pytest.mark.parametrize("where", WHERE)
def test_counts_and_neighbours_tell_a_scope_nothing_of_the_others(store: Store, where: str) -> None:
    before, key = MemoryStore(), scoped("a")
    for each in (store, before):
        add(each, MAIN, user("fox for a", scope="a"), assistant("", ToolCall("cb", "agent"), scope="b"))
    add(store, MAIN, user("fox owl elk for b", scope="b"))
    add(store, opened(store, "child-b", "child", call="cb"), user("fox owl"))
    sought = Sought(where=where, upto=99)  # type: ignore[arg-type]
    found, expected = (each.find(key, words("fox owl elk"), sought=sought) for each in (store, before))
    assert (found.pieces, found.frequencies, found.near) == (expected.pieces, expected.frequencies, ())
    assert [each.event.seq for each in found.found] == [each.event.seq for each in expected.found]


# What it may bring


def talk(store: Store) -> None:
    add(
        store, MAIN,
        user("fox of the user", time=MAY),
        injected("fox of a reminder", time=MAY + 10),
        assistant("fox of a step", ToolCall("c1", "read_file"), time=JUNE),
        result("c1", "fox in src/garden.py line 3", name="read_file", time=JUNE + 10),
        result("c2", "fox in the shell", name="Bash", scope="a/b"),
        Event(role="system", parts=user("fox of the system").parts, scope="a"),
        now=JUNE + 100,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("limits", "seqs"),
    [
        ({"roles": ("user",)}, [1]), ({"roles": ("injected",)}, [2]), ({"roles": ("assistant",)}, [3]),
        ({"roles": ("tool",)}, [5, 4]), ({"roles": ("system",)}, [6]), ({"roles": ("user", "tool")}, [5, 4, 1]),
        ({"tools": ("read_*",)}, [4, 3]), ({"tools": ("bash",)}, [5]), ({"tools": ("BASH", "READ_FILE")}, [5, 4, 3]),
        ({"tools": ("[",)}, []), ({"tools": ("*",)}, [5, 4, 3]),
        ({"files": ("garden.py",)}, [4]), ({"files": ("src/garden.py",)}, [4]), ({"files": ("./src/garden.py",)}, [4]),
        ({"files": (r"src\garden.py",)}, [4]), ({"files": ("arden.py",)}, []), ({"files": ("src",)}, [4]),
        ({"files": ("src/garden",)}, []), ({"files": ("(",)}, []), ({"files": (".*",)}, []),
        ({"branches": ("a",)}, [6, 5]), ({"branches": ("a/b",)}, [5]), ({"branches": ("/a//b/",)}, [5]),
        ({"branches": ("a/bc", "b")}, []), ({"branches": ("",)}, [6, 5, 4, 3, 2, 1]),
        ({"since": JUNE}, [6, 5, 4, 3]), ({"until": MAY}, [1]), ({"since": MAY + 10, "until": JUNE}, [3, 2]),
        ({"since": float("inf")}, []), ({"until": float("inf")}, [6, 5, 4, 3, 2, 1]), ({"since": float("nan")}, []),
        ({"since": JUNE + 100}, [6, 5]), ({"without": frozenset({1, 3, 5, 99})}, [6, 4, 2]),
        ({"roles": ("tool",), "since": JUNE, "tools": ("read*",)}, [4]),
    ],
)  # fmt: skip
def test_limits_leave_out_what_they_do_not_name(store: Store, limits: dict[str, Any], seqs: list[int]) -> None:
    talk(store)
    for terms in ([], words("fox")):
        found = store.find(MAIN, terms, sought=Sought(**limits))
        assert sorted((each.piece.seq for each in found.found), reverse=True) == seqs
        assert found.pieces == 6


@pytest.mark.parametrize(
    "limits",
    [
        {"where": "all"}, {"where": ""}, {"where": "User"}, {"roles": ("human",)}, {"roles": ("tool') OR ('1' = '1",)},
        {"roles": "user"}, {"tools": "read_*"}, {"files": "a.py"}, {"branches": "a"}, {"roles": ("\ud800",)},
    ],
)  # fmt: skip
def test_a_search_that_makes_no_sense_is_refused_and_never_taken_for_a_wider_one(limits: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match=f"^{next(iter(limits))} takes "):
        Sought(**limits)


def test_seqs_that_are_left_out_are_those_of_the_lineage(store: Store) -> None:
    add(store, MAIN, user("fox here"))
    add(store, Key(session="other"), user("fox there"))
    assert search(store, MAIN, "fox", where="user", without=frozenset({1})) == ["fox there"]


def test_a_limit_is_filled_from_what_may_be_brought(store: Store) -> None:
    add(store, MAIN, *(user(f"fox {n}") for n in range(700)), *(injected("fox told") for _ in range(3)))
    add(store, MAIN, *(injected("owl fox and more fox") for _ in range(700)))
    assert search(store, MAIN, "fox owl", limit=3, roles=("user",)) == ["fox 699", "fox 698", "fox 697"]
    assert len(search(store, MAIN, "fox owl", limit=900, roles=("user",))) == 700
    assert search(store, MAIN, "fox", limit=2, files=("told",)) == ["fox told", "fox told"]


@pytest.mark.parametrize("limit", [0, -1, -150])
def test_nothing_is_brought_when_nothing_is_asked_for(store: Store, limit: int) -> None:
    add(store, MAIN, user("fox"), user("owl"))
    for sought in (Sought(), Sought(roles=("user",))):
        for terms in ([], ["fox"]):
            finding = store.find(MAIN, terms, limit=limit, sought=sought)
            assert (finding.found, finding.near) == ((), ())


def test_without_words_the_newest_come_that_the_limits_allow_and_without_limits_none(store: Store) -> None:
    add(store, MAIN, *(user(f"fox {n}") for n in range(3)), injected("told"))
    add(store, Key(session="other"), user("later"))
    add(store, MAIN, user("last"))
    assert search(store, MAIN, "", limit=2, roles=("user",)) == ["last", "fox 2"]
    assert search(store, MAIN, "", limit=3, where="user", roles=("user",)) == ["last", "later", "fox 2"]
    assert search(store, MAIN, "", where="others", roles=("user",)) == ["later"]
    assert search(store, MAIN, "", where="user") == []
    assert search(store, MAIN, "", limit=2, where="covered", upto=2, roles=("user",)) == ["fox 1", "fox 0"]


def in_pieces(store: Store, lengths: Sequence[int], words_of: Mapping[int, str] | None = None) -> list[Event]:
    """Events of so many pieces each, every second one a tool's result, one a day; `words_of` gives the last word of
    some by their seqs."""
    events = [
        result(f"c{number}", "log", name=("bash", "read_file")[number // 2 % 2], time=MAY + number * 86_400)
        if number % 2
        else user("told", time=MAY + number * 86_400)
        for number in range(len(lengths))
    ]
    context = store.context(MAIN, events)
    pieces = [
        Piece(event.seq, order, f"piece {order} src/{'ab'[order % 2]}.py {(words_of or {}).get(event.seq, '')}"
              if order == length - 1 else f"piece {order} src/{'ab'[order % 2]}.py")
        for event, length in zip(context.new, lengths, strict=True)
        for order in range(length)
    ]  # fmt: skip
    store.append(MAIN, context.new, head=context.head, pieces=pieces, now=1.0)
    return list(context.new)


@pytest.mark.parametrize("seed", range(6))
def test_without_words_the_newest_events_come_however_long_each_is(store: Store, seed: int) -> None:
    chance = random.Random(seed)
    lengths = [chance.choice((1, 1, 1, 2, 3, 40, 700 if seed < 2 else 5)) for _ in range(24)]
    events = in_pieces(store, lengths)
    days = [(event.seq, event.time or 0.0, event, lengths[event.seq - 1]) for event in events]
    middle = MAY + 12 * 86_400
    for limits, allowed in (
        ({"roles": ("tool",)}, [seq for seq, _, event, _ in days if event.role == "tool"]),
        ({"since": middle}, [seq for seq, time, _, _ in days if time >= middle]),
        ({"since": MAY + 1, "until": middle}, [seq for seq, time, _, _ in days if MAY + 1 <= time <= middle]),
        ({"tools": ("bash",)}, [seq for seq, _, event, _ in days if event.result and event.result.name == "bash"]),
        ({"files": ("b.py",)}, [seq for seq, _, _, length in days if length > 1]),
        ({"without": frozenset((24, 23, 3))}, [seq for seq, _, _, _ in days if seq not in (24, 23, 3)]),
    ):
        for limit in (1, 5, 24, 150):
            found = store.find(MAIN, (), limit=limit, sought=Sought(**limits)).found
            assert [one.piece.seq for one in found] == allowed[::-1][:limit], (limits, limit)
            assert all(one.piece.order == int("files" in limits) for one in found)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_day_brings_its_events_however_long_each_is(store: Store, limit: int) -> None:
    events = [user(f"note {number}", time=MAY + number) for number in range(3)]
    context = store.context(MAIN, events)
    pieces = [Piece(event.seq, order, f"part {order}") for event in context.new for order in range(200)]
    store.append(MAIN, context.new, head=context.head, pieces=pieces, now=1.0)
    for terms in (["20250501"], words("May"), ["nowhere", "20250501"], ["20250430", "20250501"]):
        found = store.find(MAIN, terms, limit=limit).found
        assert [(one.piece.seq, one.piece.order) for one in found] == [(3, 0), (2, 0), (1, 0)][:limit]


def test_all_days_of_a_stretch_count_alike(store: Store) -> None:
    add(store, MAIN, user("one", time=MAY), *(user(f"two {number}", time=MAY + 86_400) for number in range(3)))
    found = store.find(MAIN, ["20250501", "20250502"], limit=3).found
    assert [one.piece.seq for one in found] == [4, 3, 2]


@pytest.mark.parametrize(("said", "seq", "order"), [("Thursday", 1, 0), ("Sunday", 2, 39), ("2025", 1, 0)])
def test_a_piece_that_says_the_day_is_among_however_many_of_that_day(
    store: Store, said: str, seq: int, order: int
) -> None:
    day = {"Thursday": 0, "Sunday": 3, "2025": 0}[said]  # 1 May 2025 was a Thursday
    held = {seq: f"on {said} we ship"}
    in_pieces(store, [1, 40, 1], held)
    add(store, MAIN, *(user(f"note {number}", time=MAY + (7 * number + day) * 86_400) for number in range(30)))
    found = store.find(MAIN, words(said), limit=10).found
    assert len(found) == 10
    assert (seq, order) in [(one.piece.seq, one.piece.order) for one in found]


def test_terms_that_are_no_words_are_not_taken_for_none(store: Store) -> None:
    add(store, MAIN, user("fox"))
    assert store.find(MAIN, ['" OR "'], sought=Sought(roles=("user",))).found == ()


def test_an_event_is_found_by_its_day_and_else_by_the_day_when_it_was_recorded(store: Store) -> None:
    add(store, MAIN, user("one", time=MAY), user("two"), now=JUNE)
    assert search(store, MAIN, "May 2025")[0] == "one"
    assert search(store, MAIN, "June 2025")[0] == "two"
    assert [each.time for each in store.find(MAIN, words("2025")).found] == [JUNE, MAY]


# What stands beside


def said(store: Store, key: Key, query: str, limit: int = 150, **sought: Any) -> list[tuple[str, int]]:
    near = store.find(key, words(query), limit=limit, sought=Sought(**sought)).near
    return [(each.session, each.piece.seq) for each in near]


def test_what_was_said_two_events_before_and_after_comes_along_the_nearest_first(store: Store) -> None:
    add(
        store, MAIN, *(user(f"turn {n}") for n in range(1, 4)), assistant("fox"), *(user(f"t {n}") for n in range(5, 9))
    )
    assert said(store, MAIN, "fox") == [("", 3), ("", 5), ("", 2), ("", 6)]


def test_neighbours_are_words_of_users_and_agents_of_the_same_log(store: Store) -> None:
    asked = user("before"), assistant("calls", ToolCall("c", "x")), user("fox")
    add(store, MAIN, *asked, result("c", "r"), control("n", {}))
    fork = opened(store, "fork", "fork", at=3)
    add(store, fork, assistant("after, in the fork"))
    assert said(store, MAIN, "fox") == [("", 1)]
    assert said(store, fork, "fox") == [("", 4), ("", 1)]
    other = opened(store, "other", "fork", at=2)
    for where in ("others", "user"):  # `main:3` is another log's: its neighbours are not those of this lineage
        assert said(store, other, "fox", where=where) == []


def test_neighbours_obey_the_limits_too(store: Store) -> None:
    add(store, MAIN, user("old", time=MAY), user("fox", time=JUNE), injected("told", time=JUNE), user("new", time=JUNE))
    assert said(store, MAIN, "fox", since=JUNE) == [("", 3), ("", 4)]
    assert said(store, MAIN, "fox", roles=("user",)) == [("", 1), ("", 4)]
    assert said(store, MAIN, "fox", without=frozenset({1})) == [("", 3), ("", 4)]
    assert said(store, MAIN, "fox", where="covered", upto=3) == [("", 1), ("", 3)]


# The order


def test_of_equal_pieces_the_one_that_was_recorded_later_comes_first_wherever_it_stands(store: Store) -> None:
    other, fork = Key(session="other"), None
    add(store, MAIN, user("fox 1"))
    add(store, other, user("fox 2"))
    add(store, MAIN, user("fox 3"))
    fork = opened(store, "fork", "fork", at=1)
    add(store, other, user("fox 4"))
    add(store, fork, user("fox 5"))
    add(store, MAIN, user("fox 6"))
    for key in (MAIN, other, fork):
        assert search(store, key, "fox", where="user") == [f"fox {n}" for n in (6, 5, 4, 3, 2, 1)]


def test_pieces_are_ordered_by_their_place_however_they_were_given(store: Store) -> None:
    context = store.context(MAIN, [user("a"), user("b")])
    pieces = [Piece(2, 0, "fox two"), Piece(1, 1, "fox one more"), Piece(1, 0, "fox one")]
    store.append(MAIN, context.new, head=0, pieces=pieces, now=1.0)
    assert search(store, MAIN, "fox") == ["fox two", "fox one more", "fox one"]
    assert search(store, MAIN, "fox", where="covered", upto=1) == ["fox one more", "fox one"]
    fork = opened(store, "fork", "fork", at=1)
    assert search(store, fork, "fox") == ["fox one more", "fox one"]
    assert search(store, fork, "fox", where="others") == ["fox two"]


# Who never sees whom

ODD = [
    "s1", "u1", "t1", "u1 s1", '"', "'", "''", '" OR scope : "u1', "x NOT y", "*", "%", "_", "(", ")", "a:b", "^", "-",
    "nul\x00", "nul", "\ud800", "\udfff", "É", "é", "E\u0301", "ﬁ", "fi",
    "; DROP TABLE piece; --", "\n", " ", "🙂", "a" * 5_000,
]  # fmt: skip


@pytest.mark.parametrize("field", ["tenant", "user", "session"])
def test_names_of_any_kind_keep_tenants_users_and_sessions_apart(store: Store, field: str) -> None:
    keys = [msgspec.structs.replace(Key(session="one", tenant="t", user="u"), **{field: name}) for name in ODD]
    for number, key in enumerate(keys):
        add(store, key, user(f"fox {number}"), user("owl beside"))
    for number, key in enumerate(keys):
        whole = {f"fox {number}"} if field != "session" else {f"fox {n}" for n in range(len(keys))}
        mine = {f"fox {number}"}
        expected = dict.fromkeys(WHERE, mine) | {"others": whole - mine, "user": whole}
        assert everywhere(store, key, "fox") == expected
        for where in ("session", "others", "user"):
            found = store.find(key, ["fox"], sought=Sought(where=where))
            assert found.frequencies == {"fox": len(expected[where])}
            assert found.pieces == 2 * len(expected[where])


@pytest.mark.parametrize("where", WHERE)
def test_what_others_write_changes_no_count_and_no_order(store: Store, where: str) -> None:
    sought = Sought(where=where, upto=9)  # type: ignore[arg-type]
    add(store, MAIN, user("fox owl"), user("fox"), user("owl owl"))
    before = store.find(MAIN, words("fox owl"), sought=sought)
    for name in ("tenant", "user"):
        foreign = msgspec.structs.replace(MAIN, **{name: "somebody"})
        add(store, foreign, *(user("fox fox") for _ in range(50)))
    assert store.find(MAIN, words("fox owl"), sought=sought) == before


HOSTILE = [
    '" OR body : fox', "scope : s1 AND fox", "fox NEAR(owl)", "fox*", "^fox", "-fox", "'; DROP TABLE search; --",
    'fox" NOT "owl', "\x00fox\x00", "\ud800 fox", "fox\u202e", "{scope} : x", "t1 u1 s1 fox", "(((((fox",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_text_that_looks_like_a_query_is_stored_found_and_asked_as_text(store: Store, text: str) -> None:
    add(store, Key(session="main", user="somebody"), user("fox s1 u1 t1 scope body near drop table search"))
    add(store, MAIN, user(text), user("quiet"))
    asked = question(text, 1.0).terms
    assert [each.piece.text for each in store.find(MAIN, asked).found] == [text]
    assert [each.event.text for each in store.find(MAIN, ["fox"]).found] == ([text] if "fox" in text else [])


def test_a_query_of_a_hundred_thousand_characters_is_answered(store: Store) -> None:
    add(store, MAIN, user("fox"), user("owl"))
    for text in ("fox " * 25_000, "".join(f"w{n} " for n in range(15_000)) + "fox", "ox" * 50_000, "é東" * 50_000):
        found = store.find(MAIN, words(text))
        assert len(found.frequencies) <= 64
        assert set(search(store, MAIN, text)) <= {"fox"}


def test_many_sessions_and_a_long_line_of_forks_are_looked_through(store: Store) -> None:
    add(store, MAIN, user("fox 0", scope="a"), *(assistant("", ToolCall(f"c{n}", "x"), scope="b") for n in range(260)))
    for number in range(260):
        add(store, opened(store, f"child{number}", "child", call=f"c{number}"), user("fox"))
    parent = "main"
    for number in range(1, 40):
        key = opened(store, f"fork{number}", "fork", parent=parent, at=number)
        add(store, key, user(f"fox {number}", scope="a"))
        parent = key.session
    assert len(search(store, MAIN, "fox", limit=1_000, where="children")) == 261
    assert len(search(store, key, "fox", limit=1_000)) == 40
    assert len(search(store, key, "fox", limit=1_000, where="user")) == 300
    assert len(search(store, scoped("a"), "fox", limit=1_000, where="user")) == 40
    assert len(search(store, scoped("b"), "fox", limit=1_000, where="children")) == 260


def test_a_search_sees_one_moment_however_many_write(store: Store) -> None:
    add(store, MAIN, user("fox", scope="a"))
    fork = opened(store, "fork", "fork", at=1)
    torn: list[object] = []
    is_over = threading.Event()

    def write(key: Key) -> None:
        for number in range(60):
            add(store, key, user("fox", scope="ab"[number % 2]))
            if number % 10 == 0:
                add(store, Key(session=f"gone {key.session}"), user("fox"))
                store.delete(Key(session=f"gone {key.session}"))

    def look(key: Key, where: Any) -> None:
        while not is_over.is_set():
            found = store.find(key, ["fox"], limit=1_000, sought=Sought(where=where))
            if not found.frequencies["fox"] == found.pieces == len(found.found):
                torn.append(found)

    writers = [threading.Thread(target=write, args=(key,)) for key in (MAIN, fork, Key(session="third"))]
    lookers = [threading.Thread(target=look, args=args) for args in ((scoped("a"), "session"), (fork, "user"))]
    for thread in (*writers, *lookers):
        thread.start()
    for thread in writers:
        thread.join()
    is_over.set()
    for thread in lookers:
        thread.join()
    assert torn == []
    assert len(search(store, MAIN, "fox", limit=1_000, where="user")) == 181


# What is deleted


def tokens(path: Path) -> set[str]:
    """Every token that the index of a file holds, of scopes and of texts."""
    db = sqlite3.connect(path)
    db.execute("CREATE VIRTUAL TABLE temp.held USING fts5vocab('main', 'search', 'row')")
    found = {term for (term,) in db.execute("SELECT term FROM temp.held")}
    db.close()
    return found


def test_of_a_deleted_session_nothing_is_found_anywhere(store: Store) -> None:
    add(store, MAIN, assistant("", ToolCall("c1", "agent")), user("fox in main"))
    child = opened(store, "child", "child", call="c1")
    add(store, child, user("fox in the child"))
    add(store, Key(session="kept"), user("fox that stays"))
    store.delete(MAIN)
    assert search(store, Key(session="kept"), "fox", where="user") == ["fox that stays"]
    add(store, MAIN, user("begun again"))
    found = store.find(MAIN, ["fox"], sought=Sought(where="user"))
    assert (found.pieces, found.frequencies, len(found.found)) == (2, {"fox": 1}, 1)


def test_a_deleted_session_leaves_no_row_and_no_token(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = SQLiteStore(path)
    add(store, Key(session="kept"), user("owl", time=MAY), now=MAY)
    before = tokens(path)
    times = [None, JUNE, 0.0, -1.0, 1e18, float("nan"), 10**15]
    add(store, MAIN, *(user(f"fox{n} \ud800 東京", time=time) for n, time in enumerate(times)), now=JUNE)
    context = store.context(MAIN, [result("c", "elk", name="bash")])
    store.append(MAIN, context.new, head=len(times), pieces=[Piece(8, 0, "elk", head="yak \x00")], now=7.0)
    add(store, opened(store, "fork", "fork", at=2), user("emu"))
    store.delete(MAIN, descendants=True)
    assert tokens(path) == before
    for table in ("piece", "event", "unit", "session"):
        assert store._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == (table != "unit")
    store._db.execute("INSERT INTO search (search) VALUES ('integrity-check')")
    store.close()


def remains(path: Path, word: bytes) -> bool:
    return any(word in file.read_bytes() for file in path.parent.glob(f"{path.name}*") if file.is_file())


def test_erased_words_leave_the_file_by_many_transactions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    store = SQLiteStore(path)
    for number in range(120):
        add(store, Key(session=f"kept{number % 7}"), user(" ".join(f"owl{number * 90 + n}" for n in range(90))))
    add(store, MAIN, user("foxfoxfox"))
    monkeypatch.setattr(erasing, "MERGED_PAGES", 2)
    told: list[str] = []
    store._db.set_trace_callback(told.append)
    store.delete(MAIN)
    store._db.set_trace_callback(None)
    assert [line for line in told if line.startswith("BEGIN")] == ["BEGIN IMMEDIATE"] * told.count("COMMIT")
    assert told.count("COMMIT") > 5
    assert not any("optimize" in line for line in told)
    assert search(store, Key(session="kept0"), "owl17", where="user") != []
    store._db.execute("INSERT INTO search (search) VALUES ('integrity-check')")
    store.close()
    assert not remains(path, b"foxfoxfox")


def test_erased_words_leave_the_file_though_a_merge_of_others_was_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    store = SQLiteStore(path)
    add(store, MAIN, user("foxfoxfox"))
    for number in range(120):
        add(store, Key(session=f"kept{number % 7}"), user(" ".join(f"owl{number * 90 + n}" for n in range(90))))
    store._db.execute("INSERT INTO search (search, rank) VALUES ('merge', -1)")
    add(store, Key(session="kept1"), user("later"))
    monkeypatch.setattr(erasing, "MERGED_PAGES", 1)
    store.delete(MAIN)
    store.close()
    assert not remains(path, b"foxfoxfox")


# Files of earlier versions


def old_file(path: Path, texts: list[str], time: float | None = None) -> None:
    """A file as schema 2 and the first analyser wrote it: no time where the event has none, other tokens."""
    db = sqlite3.connect(path)
    db.executescript("CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;" + FIRST + SECOND)
    new = {"schema_version": 2, "secret": b"s" * 32, "words_version": 1}
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(new.items()))
    db.execute("INSERT INTO tenant VALUES (1, 'local')")
    db.execute("INSERT INTO user VALUES (1, 1, 'local')")
    db.execute(
        "INSERT INTO session VALUES (1, 1, 'main', 'root', NULL, 0, '', 0, 0, 1, 1.0, 1.0, ?, 0, 0, '', ?)",
        (len(texts), b"{}"),
    )
    for seq, text in enumerate(texts, 1):
        event = msgspec.structs.replace(user(text, time=time), session="main", seq=seq, id=f"e{seq}")
        plain = fingerprint(event)
        event = msgspec.structs.replace(event, plain=plain, chain=plain)
        values = (seq, event.id, event.time, plain, plain, to_json(event))
        db.execute("INSERT INTO event VALUES (1, ?, ?, '', '', ?, 'user', 'user', 1, ?, ?, ?)", values)
        db.execute("INSERT INTO piece VALUES (?, 1, ?, 0, 1, 1, 0, '', ?)", (seq, seq, text))
        db.execute("INSERT INTO search (rowid, scope, body) VALUES (?, 't1 u1 s1', 'oldtoken')", (seq,))
    db.commit()
    db.close()


def test_a_file_of_an_earlier_analyser_is_indexed_anew_once_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    old_file(path, ["fox one", "fox two"], MAY)
    store = SQLiteStore(path)
    assert search(store, MAIN, "fox") == ["fox two", "fox one"]
    assert search(store, MAIN, "May 2025", limit=1) == ["fox two"]
    assert store.find(MAIN, ["oldtoken"]).found == ()
    add(store, MAIN, user("fox three"), now=JUNE)
    assert search(store, MAIN, "fox")[0] == "fox three"
    store._db.execute("INSERT INTO search (search) VALUES ('delete-all')")
    store.close()
    store = SQLiteStore(path)
    assert search(store, MAIN, "fox") == []  # it was not indexed again
    store.close()


def test_an_event_without_a_time_in_an_earlier_file_has_none_and_can_be_deleted(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    old_file(path, ["fox one"])
    store = SQLiteStore(path)
    assert [each.time for each in store.find(MAIN, ["fox"]).found] == [None]
    assert search(store, MAIN, "fox", since=0.0) == search(store, MAIN, "fox", until=9e9) == []
    store.delete(MAIN)
    assert tokens(path) == set()
    store.close()


def test_indexing_anew_and_erasing_hold_one_piece_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    old_file(path, [f"fox {number} owl " + "x" * 20_000 for number in range(400)])  # 8 MB of text
    SQLiteStore(path).close()
    db = sqlite3.connect(path)
    tracemalloc.start()
    rebuild_search(db)
    erase_pieces(db, 1, "t1 u1 s1")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    assert db.execute("SELECT count(*) FROM search WHERE search MATCH 'body : owl'").fetchone()[0] == 0
    db.close()
