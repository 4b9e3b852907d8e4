"""Old sessions go as a whole, and nothing goes that somebody still needs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark import MemoryStore, NotFound, Policy, Session, SQLiteStore, assistant, user
from foldmark.events import result
from foldmark.retention import DAY_SECONDS, Expired, expire
from foldmark.store import Key, SessionInfo, Store
from foldmark.testing import FixedClock
from making import call

NOW = 1_000 * DAY_SECONDS
MONTH = Policy.coding(retention={"session_days": 30.0})
YEAR = Policy.coding(retention={"session_days": 365.0})
EVER = Policy.coding()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "f.db")


def made(
    store: Store, name: str, days_ago: float, *, kept: Policy | None = MONTH, kind: str = "root", parent: str = "",
    seq: int = 0, tenant: str = "local",
) -> Session:  # fmt: skip
    """A session whose newest event came so many days ago."""
    key = Key(session=name, tenant=tenant)
    store.open(key, info=SessionInfo(session=name, kind=kind, parent=parent, parent_seq=seq))  # type: ignore[arg-type]
    session = Session(name, store=store, policy=kept, tenant=tenant, clock=FixedClock(NOW - days_ago * DAY_SECONDS))
    if kept:
        session.remember({"policy": kept.to_json()})
    session.record(user(f"In {name}, {days_ago} days ago."), assistant("Done."))
    return session


def names(store: Store, tenant: str = "local") -> set[str]:
    return {info.session for info in store.sessions(tenant, "local")}


# -- what is old


def test_a_session_goes_when_nobody_added_to_it_for_as_long_as_its_own_policy_says(store: Store) -> None:
    made(store, "old", 31)
    made(store, "young", 29)
    made(store, "kept longer", 300, kept=YEAR)
    made(store, "kept for ever", 900, kept=EVER)
    made(store, "without a policy", 900, kept=None)
    assert expire(store, now=NOW).sessions == ("old",)
    assert names(store) == {"young", "kept longer", "kept for ever", "without a policy"}
    assert expire(store, now=NOW) == Expired()


def test_one_rule_can_be_given_for_all(store: Store) -> None:
    made(store, "old", 31, kept=EVER)
    made(store, "young", 2, kept=None)
    assert expire(store, policy_of=lambda info: MONTH, now=NOW).sessions == ("old",)


def test_a_dry_run_names_the_same_sessions_and_erases_nothing(store: Store) -> None:
    made(store, "old", 31)
    made(store, "older", 99)
    made(store, "fork", 5, kind="fork", parent="older", seq=2)
    dry = expire(store, now=NOW, dry_run=True)
    assert names(store) == {"old", "older", "fork"}
    assert expire(store, now=NOW) == dry
    assert names(store) == {"older", "fork"}


def test_all_of_a_session_goes_and_bodies_that_others_share_stay(store: Store) -> None:
    body = "\n".join(f"line {number} of a long result" for number in range(4_000))
    shared = [assistant("Reading.", call()), result("c1", body)]
    for name, days in (("old", 31), ("young", 1)):
        made(store, name, days).record(*shared)
    made(store, "old", 31).record(assistant("More.", call("read", 2)), result("c2", body[::-1]))
    before = list(store.artifacts.all("local"))
    done = expire(store, now=NOW)
    assert (done.sessions, done.artifacts) == (("old",), 1)
    assert len(list(store.artifacts.all("local"))) == len(before) - 1 == 1
    with pytest.raises(NotFound):
        store.log(Key(session="old"))
    kept = Session("young", store=store)
    assert kept.load(f"artifact:{kept.store.view(kept.key).head}").text in body


def test_other_tenants_are_not_touched(store: Store) -> None:
    made(store, "old", 31)
    made(store, "old", 31, tenant="other")
    assert expire(store, now=NOW, tenant="other").sessions == ("old",)
    assert (names(store), names(store, "other")) == ({"old"}, set())


def test_a_policy_that_cannot_be_read_keeps_its_session_and_stops_nothing(store: Store) -> None:
    made(store, "broken", 99).remember({"policy": '{"retention":{"session_days":"x"}}'})
    made(store, "old", 31)
    done = expire(store, now=NOW)
    assert done.sessions == ("old",)
    assert set(done.unread) == {"broken"}
    assert "session_days" in done.unread["broken"]


def test_a_session_of_which_no_time_is_known_stays(store: Store) -> None:
    Session("empty", store=store).remember({"policy": MONTH.to_json()})
    assert expire(store, now=NOW).sessions == ()


def test_a_clock_that_runs_ahead_erases_nothing_of_the_future(store: Store) -> None:
    made(store, "tomorrow", -1)
    assert expire(store, now=NOW).sessions == ()


# -- families


def test_what_another_session_inherits_stays_and_the_heir_is_named(store: Store) -> None:
    made(store, "old", 90)
    made(store, "old fork", 60, kind="fork", parent="old", seq=2)
    made(store, "young fork", 1, kind="fork", parent="old fork", seq=4)
    done = expire(store, now=NOW)
    assert done.sessions == ()
    assert done.kept_for_forks == {"old": ("old fork",), "old fork": ("young fork",)}
    assert len(store.log(Key(session="young fork"))) == 6


def test_a_family_whose_members_are_all_old_goes_together_children_first(store: Store) -> None:
    made(store, "old", 90)
    made(store, "fork", 60, kind="fork", parent="old", seq=2)
    made(store, "fork of it", 50, kind="fork", parent="fork", seq=3)
    made(store, "other fork", 40, kind="fork", parent="old", seq=1)
    done = expire(store, now=NOW).sessions
    assert set(done) == {"old", "fork", "fork of it", "other fork"}
    assert done.index("fork of it") < done.index("fork") < done.index("old")
    assert done.index("other fork") < done.index("old")
    assert names(store) == set()


def test_an_old_fork_goes_and_leaves_its_young_parent(store: Store) -> None:
    made(store, "young", 1)
    made(store, "old fork", 60, kind="fork", parent="young", seq=1)
    assert expire(store, now=NOW).sessions == ("old fork",)
    assert names(store) == {"young"}


def test_a_sub_agent_that_is_still_at_work_keeps_the_session_that_started_it(store: Store) -> None:
    made(store, "old", 90)
    made(store, "agent", 1, kept=None, kind="child", parent="old")
    done = expire(store, now=NOW)
    assert (done.sessions, done.kept_for_forks) == ((), {"old": ("agent",)})


def test_a_sub_agent_without_a_policy_goes_with_its_session_and_never_alone(store: Store) -> None:
    for name, days in (("old", 40), ("young", 1)):
        made(store, name, days)
        made(store, f"{name}/agent", 90, kept=None, kind="child", parent=name)
        made(store, f"{name}/agent/its own", 90, kept=None, kind="child", parent=f"{name}/agent")
    assert expire(store, now=NOW).sessions == ("old/agent/its own", "old/agent", "old")
    assert names(store) == {"young", "young/agent", "young/agent/its own"}


def test_a_long_line_of_forks_is_no_trouble() -> None:
    store = MemoryStore()
    made(store, "f0", 900)
    for number in range(1, 300):
        made(store, f"f{number}", 900 - number, kind="fork", parent=f"f{number - 1}", seq=1)
    assert len(expire(store, now=NOW).sessions) == 300


# -- others at the same time


def while_listing(act: Callable[[], object]) -> Callable[[SessionInfo], Policy | None]:
    """A rule that does something, once, when the sessions are listed already."""
    waiting = [act]

    def rule(info: SessionInfo) -> Policy | None:
        if waiting:
            waiting.pop()()
        return MONTH

    return rule


def other(store: Store) -> Store:
    """The same store as another process has it."""
    return SQLiteStore(store.path) if isinstance(store, SQLiteStore) else store


def test_an_event_that_comes_between_listing_and_erasing_keeps_the_session(store: Store) -> None:
    made(store, "parent", 60)
    made(store, "fork", 60, kind="fork", parent="parent", seq=2)
    late = Session("fork", store=other(store), clock=FixedClock(NOW))
    done = expire(store, policy_of=while_listing(lambda: late.record(user("I am back."))), now=NOW)
    assert (done.sessions, set(done.returned)) == ((), {"fork", "parent"})
    assert [event.text for event in store.log(Key(session="fork"))][-1] == "I am back."


@pytest.mark.parametrize("kind", ["fork", "child"])
def test_a_fork_or_sub_agent_that_comes_between_listing_and_erasing_keeps_the_session(store: Store, kind: str) -> None:
    made(store, "parent", 60)
    done = expire(
        store, policy_of=while_listing(lambda: made(other(store), "new", 0, kind=kind, parent="parent", seq=2)), now=NOW
    )
    assert (done.sessions, done.returned) == ((), ("parent",))
    assert names(store) == {"parent", "new"}


def test_a_session_that_somebody_else_erases_meanwhile_is_no_error(store: Store) -> None:
    made(store, "old", 60)
    made(store, "older", 90)
    done = expire(store, policy_of=while_listing(lambda: other(store).delete(Key(session="old"))), now=NOW)
    assert (done.sessions, done.returned) == (("older",), ("old",))
    assert names(store) == set()


def test_a_session_that_a_worker_has_just_now_stays_until_it_is_done(store: Store) -> None:
    made(store, "old", 60)
    made(store, "fork", 60, kind="fork", parent="old", seq=2)
    store.want(Key(session="fork"), NOW)
    work = store.claim(NOW, 120.0)
    assert work is not None
    done = expire(store, now=NOW)
    assert (done.sessions, done.at_work, done.returned) == ((), ("fork",), ("old",))
    store.settle(work)
    assert expire(store, now=NOW).sessions == ("fork", "old")


def test_work_that_nobody_does_keeps_no_session(store: Store) -> None:
    made(store, "old", 60)
    store.want(Key(session="old"), NOW)
    store.claim(NOW - 500, 120.0)
    assert expire(store, now=NOW).sessions == ("old",)


# -- as a rule

TREES = st.lists(
    st.tuples(
        st.integers(0, 100),  # whose fork or child it is, modulo what is there (0: nobody's)
        st.sampled_from(["fork", "child"]),
        st.sampled_from([0, 10, 29, 31, 50, 400]),
        st.sampled_from([None, MONTH, YEAR, EVER]),
    ),
    min_size=1,
    max_size=9,
)


def limit_of(name: str, infos: dict[str, SessionInfo], rules: dict[str, Policy | None]) -> float | None:
    """After how many days a session is old, written down once more: by its own rule, a sub-agent's by its parent's."""
    if (rule := rules[name]) is not None:
        return rule.retention.session_days
    return limit_of(infos[name].parent, infos, rules) if infos[name].kind == "child" else None


@given(tree=TREES)
@settings(max_examples=60, deadline=None)
def test_nothing_goes_that_is_young_or_that_something_young_hangs_on(
    tree: list[tuple[int, str, int, Policy | None]],
) -> None:
    store = MemoryStore()
    infos, rules, days = dict[str, SessionInfo](), dict[str, Policy | None](), dict[str, int]()
    for number, (above, kind, ago, rule) in enumerate(tree):
        parent = f"s{above % number}" if above and number else ""
        name = f"s{number}"
        made(
            store,
            name,
            ago,
            kept=rule,
            kind=kind if parent else "root",
            parent=parent,
            seq=1 if kind == "fork" and parent else 0,
        )
        infos[name] = SessionInfo(session=name, kind=kind if parent else "root", parent=parent)  # type: ignore[arg-type]
        rules[name], days[name] = rule, ago
    gone = expire(store, now=NOW).sessions

    def stays(name: str) -> bool:
        limit = limit_of(name, infos, rules)
        return limit is None or days[name] <= limit or any(stays(one) for one, i in infos.items() if i.parent == name)

    def follows(name: str) -> bool:
        return infos[name].kind == "child" and rules[name] is None

    expected = set()
    for name in infos:
        above = name
        alone = stays(name)
        while follows(above) and not alone:
            above = infos[above].parent
            alone = stays(above)
        if not alone:
            expected.add(name)
    assert set(gone) == expected
    assert names(store) == set(infos) - expected
    for name in names(store):
        assert store.log(Key(session=name))
    for at, name in enumerate(gone):
        assert not {one for one, info in infos.items() if info.parent == name} - set(gone[:at])


# -- many come back at once


def test_every_session_that_somebody_comes_back_to_stays_whole(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "f.db")
    for number in range(20):
        made(store, f"s{number}", 60)
    writer = SQLiteStore(tmp_path / "f.db")
    back = [f"s{number}" for number in range(0, 20, 3)]

    def return_to_all() -> None:
        for name in back:
            Session(name, store=writer, clock=FixedClock(NOW)).record(user("Back."))

    done = expire(store, policy_of=while_listing(return_to_all), now=NOW)
    assert set(done.returned) == set(back) == names(store)
    for name in back:
        assert [event.text for event in store.log(Key(session=name))][1:] == ["Done.", "Back."]


WRITER = """
import sys
from foldmark import Session, SQLiteStore, user
store = SQLiteStore(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for name in reversed(sys.argv[2:]):
    Session(name, store=store).record(user("Back in " + name + "."))
    print(name, flush=True)
"""


def test_another_process_that_records_while_sessions_go_loses_no_event(tmp_path: Path) -> None:
    """Where the two meet, an event was first and its session stays whole, or the session was gone and the event begins
    a new one."""
    path = tmp_path / "f.db"
    store = SQLiteStore(path)
    before = [f"s{number}" for number in range(40)]
    for name in before:
        made(store, name, 60)
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), *before], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert writer.stdin is not None
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    writer.stdin.write("go\n")
    writer.stdin.flush()
    done = expire(store, now=NOW)
    out, _ = writer.communicate(timeout=60)
    assert out.split() == before[::-1]
    for name in before:
        words = [event.text for event in store.log(Key(session=name))]
        assert words[-1] == f"Back in {name}."
        assert len(words) == (1 if name in done.sessions else 3)
    assert set(done.sessions) | set(done.returned) == set(before)
