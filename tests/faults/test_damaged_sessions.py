"""A session's row that was damaged, in any column and any way: the others are listed and used as before, the damaged
one is named with what to do, and can be erased."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from foldmark import NotFound, Policy, Session, SQLiteStore, StoreError
from foldmark.events import ToolCall, assistant, user
from foldmark.hooked import EventHooks, HookedStore
from foldmark.retention import expire
from foldmark.seeking import Sought, Where
from foldmark.sqlite.schema import SESSION_TABLES
from foldmark.store import Key, SessionInfo, Store
from foldmark.vectors import vectors_of
from foldmark.words import words
from toy_embedder import SIZE, toy

NAMES = ("s", "s-2", "kid", "grandkid", "other")
"""A session, a fork of it, a sub-agent of it, one of that, and one that has nothing to do with them."""


def build(path: Path) -> None:
    store = SQLiteStore(path)
    for name, info in {
        "s": SessionInfo(session="s", title="the first"),
        "s-2": SessionInfo(session="s-2", kind="fork", parent="s", parent_seq=2, title="a fork"),
        "kid": SessionInfo(session="kid", kind="child", parent="s", parent_seq=2, parent_call="c1", title="a child"),
        "grandkid": SessionInfo(session="grandkid", kind="child", parent="kid", parent_seq=1, parent_call="c2"),
        "other": SessionInfo(session="other", title="another"),
    }.items():
        store.open(Key(session=name), info=info)
        session = Session(name, store=store, policy=Policy.coding(run="background"), embedder=toy())
        session.record(user(f"The walrus of {name}."), assistant("Well?", ToolCall(f"c-{name}", "task", "{}")))
        session.remember({"wire": "gemini"})
        session.compact(force=True)
        session.embed()
    mine = Key(session="mine", user="somebody")
    store.open(mine, info=SessionInfo(session="mine"))
    Session("mine", store=store, user="somebody").record(user("The walrus of somebody else."))
    store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:  # so that NULL may stand anywhere
        db.execute("PRAGMA writable_schema=ON")
        db.execute("UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '') WHERE name = 'session'")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "a.db"
    build(path)
    return path


TEXTS = {
    "NULL": "NULL", "a number": "42", "no UTF-8": "CAST(x'6bff' AS TEXT)", "packed and no UTF-8": "x'6bff'",
    "packed": "x'6b'",
}  # fmt: skip
NUMBERS = {
    "NULL": "NULL", "below zero": "-1", "a giant": "9223372036854775807", "a fraction": "2.5", "a text": "'abc'",
    "bytes": "x'ff'", "no UTF-8": "CAST(x'ff' AS TEXT)", "another": "3",
}  # fmt: skip
TIMES = {"NULL": "NULL", "a text": "'abc'", "bytes": "x'ff'", "endless": "9e999"}
PLACES = {**NUMBERS, "itself": "id", "what hangs on it": "id + 1", "somebody else's": "6", "nobody": "99"}
COLUMNS: dict[str, dict[str, str]] = {
    "name": TEXTS,
    "kind": {**TEXTS, "no kind": "'knot'"},
    "parent": PLACES,
    "parent_call": TEXTS,
    **dict.fromkeys(("parent_seq", "parent_facts", "parent_checkpoints", "head", "facts", "checkpoints"), NUMBERS),
    "root": PLACES,
    **dict.fromkeys(("created", "updated"), TIMES),
    "title": TEXTS,
    "meta": {**TEXTS, "a list": "'[]'", "numbers": """'{"a": 1}'""", "cut": """'{"a": "b'""", "empty": "x''"},
    "user": {**NUMBERS, "nobody": "99"},
}
DAMAGES = {f"{column}: {how}": f"{column} = {value}" for column, ways in COLUMNS.items() for how, value in ways.items()}


def damaged(whole: Path, folder: Path, name: str, change: str) -> Path:
    path = Path(shutil.copytree(whole.parent, folder)) / whole.name
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"UPDATE session SET {change} WHERE name = ?", (name,))
    return path


def told(ask: Callable[[], object]) -> bool:
    """Whether it goes well; else it says what is wrong as the store says such things."""
    said = ""
    try:
        ask()
    except StoreError as error:
        said = str(error)
    assert not said or "damaged" in said or "There is no session" in said, said
    return not said


def found(store: Store, key: Key, where: Where) -> set[str]:
    """Whose words a search brings."""
    sought = Sought(where=where, upto=2 if where == "covered" else 0)
    return {one.event.text.split(" ")[-1].strip(".") for one in store.find(key, words("walrus"), sought=sought).found}


def near(store: Store, key: Key, where: Where) -> set[str]:
    """Whose vectors a search brings."""
    vectors = vectors_of(store)
    assert vectors is not None
    assert all(one.place[0] in (*NAMES, "") for one in vectors.missing(key, toy(), limit=99, where=where))
    asked, sought = [1.0] * SIZE, Sought(where=where, upto=2 if where == "covered" else 0)
    ours = [one.event for one in vectors.nearest(key, toy(), asked, sought=sought).found if one.event.is_user]
    return {event.text.split(" ")[-1].strip(".") for event in ours}


def reading(store: Store, key: Key) -> dict[str, Callable[[], object]]:
    return {
        "info": lambda: store.info(key),
        "children": lambda: store.children(key),
        "log": lambda: store.log(key),
        "event": lambda: store.event(key, "1"),
        "last": lambda: store.event(key, "2"),
        "tally": lambda: store.tally(key),
        "times": lambda: store.times(key),
        "view": lambda: store.view(key),
        "scoped": lambda: store.view(msgspec.structs.replace(key, scope="team", sees="lineage")),
        "checkpoints": lambda: store.checkpoints(key),
        "covered": lambda: store.covered(key, 9, limit=9),
        "attempts": lambda: store.attempts(key),
        "scopes": lambda: store.scopes(key),
        "works": lambda: store.works(key),
        "written": lambda: store.written(key, ["h"]),
        "match": lambda: store.match(key, ["c"]),
        "ends": lambda: store.ends(key, ["p", "q"]),
        **{f"find {where}": lambda where=where: found(store, key, where) for where in get_args(Where)},
    }


HANGING = {"s": {"s", "s-2", "kid", "grandkid"}, "s-2": {"s-2"}, "kid": {"kid", "grandkid"}, "grandkid": {"grandkid"}}


def test_every_column_of_a_row_is_damaged_here(whole: Path) -> None:
    with closing(sqlite3.connect(whole)) as db:
        there = {row[1] for row in db.execute("PRAGMA table_info(session)")}
    assert there - {"id"} == set(COLUMNS)


@pytest.mark.parametrize("name", ["s", "s-2", "kid"])
@pytest.mark.parametrize("change", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_row_is_named_and_the_other_sessions_are_listed_as_they_were(
    whole: Path, tmp_path: Path, name: str, change: str
) -> None:
    before = {info.session: info for info in SQLiteStore(whole).sessions("local", "local")}
    store = SQLiteStore(damaged(whole, tmp_path / "copy", name, change))
    infos = {info.session: info for info in store.sessions("local", "local")}
    is_nobodys = change.startswith("user")  # and what hangs on it hangs on nothing that this user has
    assert len(infos) == len(NAMES) - is_nobodys
    bad = {info.session: info.damaged for info in infos.values() if info.damaged}
    assert is_nobodys or bad.keys().isdisjoint({*NAMES} - {name})
    for session, said in bad.items():
        assert ("parent" if is_nobodys else change.split(" ", maxsplit=1)[0].replace("_", " ")) in said
        assert "A backup of the file has it as it was; `foldmark delete` erases the session." in said
        with pytest.raises(StoreError, match=r"damaged|There is no session"):
            store.info(Key(session=session))
    for other in {*NAMES} - {name} - bad.keys():
        assert store.info(Key(session=other)) == infos[other]
        assert msgspec.structs.replace(infos[other], parent="") == msgspec.structs.replace(before[other], parent="")
    for ask in reading(store, Key(session=name)).values():
        told(ask)
    hooked = HookedStore(store, [EventHooks(on_read=lambda key, event: event)])
    shown = hooked.sessions("local", "local")
    assert [msgspec.structs.replace(info, title="") for info in shown] == [
        msgspec.structs.replace(infos[info.session], title="") for info in shown
    ]
    for each in infos:
        made = [info.session for info in store.children(Key(session=each))]
        assert [info.session for info in hooked.children(Key(session=each))] == made


@pytest.mark.parametrize("column", ["created", "updated"])
def test_a_session_of_which_nobody_knows_when_it_was_used_is_not_erased_for_its_age(
    whole: Path, tmp_path: Path, column: str
) -> None:
    store = SQLiteStore(damaged(whole, tmp_path / "copy", "other", f"created = 1.0, updated = 1.0, {column} = 'abc'"))
    (info,) = (info for info in store.sessions("local", "local") if info.damaged)
    assert (info.session, info.created, info.updated) == ("other", 0.0, 0.0)
    expire(store, policy_of=lambda info: Policy.coding(retention={"session_days": 1}))
    assert "other" in {info.session for info in store.sessions("local", "local")}


@pytest.mark.parametrize("change", DAMAGES.values(), ids=DAMAGES)
def test_a_search_from_the_other_sessions_brings_all_that_it_brought_but_what_hangs_on_a_damaged_row(
    whole: Path, tmp_path: Path, change: str
) -> None:
    name = [*HANGING][sum(change.encode()) % 4]
    intact, store = SQLiteStore(whole), SQLiteStore(damaged(whole, tmp_path / "copy", name, change))
    hooked = HookedStore(store, [EventHooks(on_read=lambda key, event: event)])
    for key in (Key(session=other) for other in NAMES if other not in HANGING[name]):
        for where in get_args(Where):
            whose = found(intact, key, where)
            for asked in (store, hooked):
                assert whose - HANGING[name] <= found(asked, key, where) <= whose
            for asked in (store, hooked):
                assert whose - HANGING[name] <= near(asked, key, where) <= near(intact, key, where)


@pytest.mark.parametrize("change", TEXTS.values(), ids=TEXTS)
def test_a_session_whose_name_is_damaged_goes_when_it_is_old_as_any_other(
    whole: Path, tmp_path: Path, change: str
) -> None:
    store = SQLiteStore(damaged(whole, tmp_path / "copy", "other", f"updated = 1.0, name = {change}"))
    done = expire(store, policy_of=lambda info: Policy.coding(retention={"session_days": 1}), now=9e9)
    assert done.returned == ()
    assert store.sessions("local", "local") == []


def test_a_name_that_stands_for_two_sessions_erases_neither(whole: Path, tmp_path: Path) -> None:
    store = SQLiteStore(damaged(whole, tmp_path / "copy", "other", "name = NULL"))
    (name,) = (info.session for info in store.sessions("local", "local") if info.damaged)
    store.open(Key(session=name))
    before = store.sessions("local", "local")
    with pytest.raises(StoreError, match="listed as"):
        store.delete(Key(session=name))
    assert store.sessions("local", "local") == before


@pytest.mark.parametrize("name", ["damaged-99", "damaged-x", "nobody", "\ud800", "damaged-\ud800"])
def test_a_session_that_is_not_there_is_not_found_whatever_its_name(whole: Path, tmp_path: Path, name: str) -> None:
    store = SQLiteStore(damaged(whole, tmp_path / "copy", "other", "name = NULL"))
    with pytest.raises(NotFound):
        store.delete(Key(session=name))


@pytest.mark.parametrize("name", ["s", "kid"])
@pytest.mark.parametrize("change", DAMAGES.values(), ids=DAMAGES)
def test_damaged_rows_are_erased_by_the_names_they_are_listed_under_and_every_other_stays(
    whole: Path, tmp_path: Path, name: str, change: str
) -> None:
    store = SQLiteStore(damaged(whole, tmp_path / "copy", name, change))
    while bad := [info.session for info in store.sessions("local", "local") if info.damaged]:
        store.delete(Key(session=bad[0]), descendants=True)
    after = {info.session for info in store.sessions("local", "local")}
    assert {*NAMES} - HANGING[name] <= after <= {*NAMES}
    assert [info.session for info in store.sessions("local", "somebody")] == ["mine"]
    for key in (Key(session=each) for each in after - HANGING[name]):
        assert len(store.log(key)) >= 2
        assert found(store, key, "user") - HANGING[name] == {*NAMES} - HANGING[name]
    with closing(sqlite3.connect(store.path)) as db:
        rows = {row[0] for row in db.execute("SELECT id FROM session")}
        for table in SESSION_TABLES:
            assert {row[0] for row in db.execute(f"SELECT DISTINCT session FROM {table}")} <= rows


@pytest.mark.parametrize("change", DAMAGES.values(), ids=DAMAGES)
def test_work_is_claimed_whatever_stands_in_a_row_that_waits_before_it(
    whole: Path, tmp_path: Path, change: str
) -> None:
    store = SQLiteStore(damaged(whole, tmp_path / "copy", "s", change))
    with closing(sqlite3.connect(store.path, isolation_level=None)) as db:
        db.execute("DELETE FROM work")
        db.execute("INSERT INTO work (session, scope, sees, wanted, since, later) VALUES (1, '', 'all', 2, 1.0, 1.0)")
        db.execute("INSERT INTO work (session, scope, sees, wanted, since, later) VALUES (1, '', 'none', 2, 1.0, 1.0)")
    store.want(Key(session="other"), 2.0)
    claimed = list[str]()
    while work := store.claim(3.0, 60.0):
        claimed.append(work.key.session)
    assert claimed[-1:] == ["other"]
    assert store.backlog(3.0).dirty == 3


@pytest.mark.parametrize("change", DAMAGES.values(), ids=DAMAGES)
def test_what_is_damaged_while_it_is_in_use_is_told_and_costs_nobody_else(
    whole: Path, tmp_path: Path, change: str
) -> None:
    store, key = SQLiteStore(damaged(whole, tmp_path / "copy", "s", "head = head")), Key(session="s-2")
    store.view(key)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as db:
        db.execute(f"UPDATE session SET {change} WHERE name = 's-2'")
    for ask in reading(store, key).values():
        told(ask)

    def record() -> None:
        context = store.context(key, [user("more")])
        store.append(key, context.new, head=context.head, now=9.0)

    told(record)
    assert found(store, Key(session="other"), "user") >= {"s", "other"}
    assert Session("other", store=store).record(user("Go on.")).seq == 3


def test_a_damaged_row_leads_nobody_into_the_sessions_of_another_user(whole: Path, tmp_path: Path) -> None:
    for name, hanging in HANGING.items():
        store = SQLiteStore(
            damaged(whole, tmp_path / name, name, "parent = (SELECT id FROM session WHERE name = 'mine')")
        )
        for key in (Key(session=each) for each in NAMES if each not in hanging):
            assert told(lambda store=store, key=key: found(store, key, "children"))  # type: ignore[misc]
            assert "else" not in found(store, key, "user") | found(store, key, "children")
        assert told(lambda store=store: store.delete(Key(session="mine", user="somebody")))  # type: ignore[misc]
        assert len(store.sessions("local", "local")) == len(NAMES)
