"""What every store promises about work: raised by appends, coalesced, leased, fenced, ordered per session."""

from __future__ import annotations

import multiprocessing
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from places import STORES, opened_again

from foldmark.checkpoint import Checkpoint, Mark
from foldmark.errors import HasForks, HeadMoved, NotFound, StaleBoundary
from foldmark.events import Event, ToolCall, assistant, result, user
from foldmark.sqlite import SQLiteStore
from foldmark.sqlite import work as work_rows
from foldmark.sqlite.schema import FIRST
from foldmark.store import Backlog, Key, Raising, ScopeState, SessionInfo, Store, Work

MAIN = Key(session="main")
OTHER = Key(session="other")
ROUND = (assistant("", ToolCall("c", "x")), result("c", "1"))


def add(store: Store, key: Key, *events: Event, now: float = 1.0, raising: Raising = Raising()) -> int:
    """Record events; returns the head."""
    context = store.context(key, events)
    store.append(key, context.new, head=context.head, now=now, raising=raising)
    return context.head + len(context.new)


def dirty(store: Store, key: Key = MAIN, now: float = 1.0) -> int:
    """A scope that exists and has work up to the head, which is returned."""
    store.enlist(key)
    return add(store, key, user("go"), assistant("done", scope=key.scope), now=now)


def claimed(store: Store, now: float = 10.0, lease: float = 5.0) -> Work:
    work = store.claim(now, lease)
    assert work is not None
    return work


def all_claimed(store: Store, now: float = 10.0) -> list[Key]:
    """What can be claimed one after the other, each done before the next is asked for."""
    out = []
    while work := store.claim(now, 5.0):
        out.append(work.key)
        store.settle(work)
    return out


def scope(name: str, sees: Any = "lineage", key: Key = MAIN) -> Key:
    return msgspec.structs.replace(key, scope=name, sees=sees)


def checkpoint(version: int, boundary: int) -> Checkpoint:
    return Checkpoint(version=version, boundary=boundary, text=f"v{version}", tokens=1, mark=Mark(boundary))


# What an append raises


def test_steps_raise_work_turns_only_at_their_last_words_and_nothing_never(store: Store) -> None:
    store.enlist(MAIN)
    add(store, MAIN, user("go"), *ROUND, raising=Raising(after="turns"))
    assert store.claim(10.0, 5.0) is None
    add(store, MAIN, assistant("done"), raising=Raising(after="nothing"))
    assert store.claim(10.0, 5.0) is None
    add(store, MAIN, user("on"), assistant("", ToolCall("d", "x")), result("d", "1"), raising=Raising(after="steps"))
    work = claimed(store)
    assert work.wanted == 7
    assert store.settle(work)
    add(store, MAIN, assistant("all done"), raising=Raising(after="turns"))
    assert claimed(store).wanted == 8


def test_words_beside_a_call_end_no_turn(store: Store) -> None:
    store.enlist(MAIN)
    add(store, MAIN, user("go"), assistant("I look", ToolCall("c", "x")), raising=Raising(after="turns"))
    assert store.claim(10.0, 5.0) is None


def test_work_is_wanted_up_to_the_last_end_that_the_scope_sees_and_not_up_to_the_head(store: Store) -> None:
    store.enlist(scope("a"))
    add(store, MAIN, assistant("1", scope="a"), assistant("2", scope="b"), user("go on", scope="a"))
    work = claimed(store)
    assert (work.key, work.wanted) == (scope("a"), 1)


def test_only_scopes_that_exist_get_work(store: Store) -> None:
    add(store, MAIN, user("go"), assistant("done"))
    assert store.claim(10.0, 5.0) is None
    assert store.scopes(MAIN) == []
    assert store.backlog(10.0) == Backlog()


def test_only_chosen_scopes_get_work_each_with_all_below_it(store: Store) -> None:
    everywhere = [scope(name) for name in ("a", "a/b", "ab", "c")]
    for key in (MAIN, *everywhere):
        store.enlist(key)
    add(store, MAIN, assistant("done"), raising=Raising(scopes=("a",), whole_session=False))
    add(store, MAIN, assistant("done", scope="a/b"), raising=Raising(scopes=("a",), whole_session=False))
    assert all_claimed(store) == [scope("a"), scope("a/b")]
    add(store, MAIN, assistant("done", scope="a/b"), raising=Raising(scopes=()))
    assert all_claimed(store) == [MAIN]


def test_the_whole_session_is_refreshed_when_it_exists_always_or_never(store: Store) -> None:
    add(store, MAIN, assistant("done"), raising=Raising(whole_session=None))
    assert all_claimed(store) == []
    add(store, MAIN, assistant("done"), raising=Raising(whole_session=True, scopes=()))
    assert store.scopes(MAIN) == [MAIN]
    assert all_claimed(store) == [MAIN]
    add(store, MAIN, assistant("done"), raising=Raising(whole_session=False))
    assert all_claimed(store) == []
    add(store, MAIN, assistant("done"), raising=Raising(whole_session=None))
    assert all_claimed(store) == [MAIN]


def test_the_scope_that_appends_exists_but_the_whole_session_only_while_no_event_has_a_key(store: Store) -> None:
    raising = Raising(enlist=True)
    add(store, MAIN, assistant("done", scope="a"), raising=raising)
    assert store.scopes(MAIN) == [], "it wrote down what another agent said"
    add(store, scope("a"), assistant("done", scope="a"), raising=raising)
    add(store, MAIN, assistant("done"), assistant("done", branch="b"), raising=raising)
    assert store.scopes(MAIN) == [scope("a")]
    add(store, OTHER, assistant("done"), raising=raising)
    add(store, OTHER, assistant("done", scope="a"), raising=raising)
    assert store.scopes(OTHER) == [OTHER], "what exists stays"


def test_an_append_that_raises_nothing_makes_no_scope_exist(store: Store) -> None:
    add(store, MAIN, assistant("done"), raising=Raising(after="nothing", whole_session=True))
    assert store.scopes(MAIN) == []


def test_a_refused_append_raises_nothing(store: Store) -> None:
    store.enlist(MAIN)
    context = store.context(MAIN, [assistant("done")])
    add(store, MAIN, user("go"))
    with pytest.raises(HeadMoved):
        store.append(MAIN, context.new, head=0, now=1.0, raising=Raising(whole_session=True))
    assert store.claim(10.0, 5.0) is None


def test_however_many_appends_there_is_one_piece_of_work_and_what_is_wanted_only_rises(store: Store) -> None:
    store.enlist(MAIN)
    for number in range(20):
        add(store, MAIN, user("go"), assistant("done"), now=float(number))
    assert store.backlog(50.0) == Backlog(dirty=1, oldest_seconds=50.0)
    work = claimed(store, 50.0)
    assert (work.wanted, work.done, work.since) == (40, 0, 0.0)
    assert store.settle(work)
    assert store.claim(99.0, 5.0) is None


# Rest


def test_every_append_that_the_scope_sees_moves_its_rest_on_also_one_that_ends_nothing(store: Store) -> None:
    store.enlist(scope("a", "exact"))
    add(store, MAIN, assistant("done", scope="a"), now=1.0, raising=Raising(not_before=11.0))
    assert store.claim(10.9, 5.0) is None
    add(store, MAIN, user("wait", scope="a"), now=5.0, raising=Raising(not_before=15.0))
    assert store.claim(14.9, 5.0) is None
    add(store, MAIN, user("elsewhere", scope="b"), now=9.0, raising=Raising(not_before=19.0))
    work = claimed(store, 15.0)
    assert (work.since, work.wanted) == (1.0, 1)


def test_work_raised_without_a_rest_can_be_claimed_at_once_and_no_append_brings_the_end_of_a_rest_nearer(
    store: Store,
) -> None:
    dirty(store, now=1.0)
    work = claimed(store, 1.0)
    assert store.settle(work)
    add(store, MAIN, assistant("done"), raising=Raising(not_before=50.0))
    add(store, MAIN, assistant("done"), raising=Raising())
    add(store, MAIN, assistant("done"), raising=Raising(not_before=20.0))
    assert store.claim(49.0, 5.0) is None
    assert claimed(store, 50.0).wanted == 5


def test_an_append_that_raises_nothing_still_moves_the_rest_on(store: Store) -> None:
    dirty(store)
    add(store, MAIN, user("more"), raising=Raising(after="nothing", not_before=20.0))
    assert store.claim(19.0, 5.0) is None
    assert claimed(store, 20.0).wanted == 2


def test_the_rest_of_a_scope_without_work_is_not_there_to_be_moved(store: Store) -> None:
    store.enlist(MAIN)
    add(store, MAIN, user("go"), raising=Raising(not_before=90.0))
    add(store, MAIN, assistant("done"), now=2.0)
    assert claimed(store, 2.0).since == 2.0


def test_a_rest_set_while_the_lease_is_held_counts_afterwards(store: Store) -> None:
    dirty(store)
    work = claimed(store)
    add(store, MAIN, assistant("more"), now=12.0, raising=Raising(not_before=30.0))
    assert store.settle(work)
    assert store.claim(29.0, 5.0) is None
    assert claimed(store, 30.0).since == 12.0


# The lease


def test_what_came_while_the_lease_was_held_is_dirty_since_the_first_of_it(store: Store) -> None:
    dirty(store, now=1.0)
    work = claimed(store)
    for now in (11.0, 12.0, 13.0):
        add(store, MAIN, assistant("more"), now=now)
    assert store.backlog(14.0) == Backlog(dirty=1, leased=1)
    assert store.settle(work)
    assert store.backlog(14.0) == Backlog(dirty=1, oldest_seconds=3.0)
    rest = claimed(store, 14.0)
    assert (rest.since, rest.done, rest.wanted) == (11.0, 2, 5)


def test_the_oldest_work_is_claimed_first_and_what_stays_dirty_goes_to_the_end(store: Store) -> None:
    for number, name in enumerate(("third", "first", "second")):
        dirty(store, Key(session=name), now=float((number - 1) % 3))
    first = claimed(store)
    assert first.key.session == "first"
    add(store, first.key, assistant("more"), now=9.0)
    assert store.settle(first)
    names = [claimed(store).key.session for _ in range(3)]
    assert names == ["second", "third", "first"]


def test_of_one_session_one_scope_at_a_time_is_worked_on_and_two_sessions_side_by_side(store: Store) -> None:
    for key in (scope("a"), scope("b")):
        store.enlist(key)
    add(store, MAIN, assistant("done", scope="a"), assistant("done", scope="b"), now=1.0)
    dirty(store, OTHER, now=2.0)
    works = [claimed(store), claimed(store)]
    assert [work.key for work in works] == [scope("a"), OTHER]
    assert store.claim(10.0, 5.0) is None
    assert store.settle(works[0])
    assert claimed(store).key == scope("b")


def test_the_same_session_name_of_another_user_is_another_session(store: Store) -> None:
    for user_name in ("ada", "ben"):
        dirty(store, Key(session="main", user=user_name))
    assert {claimed(store).key.user, claimed(store).key.user} == {"ada", "ben"}


def test_attempts_are_counted_at_the_claim_until_the_work_is_done(store: Store) -> None:
    dirty(store)
    assert claimed(store, 10.0).attempts == 1
    again = claimed(store, 20.0)
    assert again.attempts == 2
    assert store.settle(again, again=21.0)
    third = claimed(store, 21.0)
    assert third.attempts == 3
    assert store.settle(third)
    add(store, MAIN, assistant("more"))
    assert claimed(store, 30.0).attempts == 1


def test_a_claim_that_was_put_off_or_given_back_is_no_attempt(store: Store) -> None:
    dirty(store)
    for now in (10.0, 20.0, 30.0):
        work = claimed(store, now)
        assert work.attempts == 1
        assert store.settle(work, again=now, counts=False)
    assert claimed(store, 40.0).attempts == 1  # killed
    work = claimed(store, 50.0)
    assert store.settle(work, again=51.0)
    assert store.settle(claimed(store, 51.0), again=52.0, counts=False)
    assert claimed(store, 52.0).attempts == 3, "what failed and what was killed stay counted"


def test_a_claim_is_taken_back_once(store: Store) -> None:
    dirty(store)
    claimed(store, 10.0)
    work = claimed(store, 20.0)
    for _ in range(3):
        assert store.settle(work, again=21.0, counts=False)
    assert claimed(store, 21.0).attempts == 2


def test_a_claim_that_was_taken_from_its_holder_is_not_taken_back_by_it(store: Store) -> None:
    dirty(store)
    old, new = claimed(store, 10.0), claimed(store, 20.0)
    assert store.settle(old, again=20.0, counts=False) is False
    assert store.settle(new, again=21.0)
    assert claimed(store, 21.0).attempts == 3


def test_a_claim_that_ended_in_a_commit_is_not_taken_back(store: Store) -> None:
    dirty(store)
    work = claimed(store)
    add(store, MAIN, assistant("more"), now=11.0)
    store.commit(MAIN, checkpoint(1, 1), expected=0, token=work.token)
    assert store.settle(work, again=12.0, counts=False)
    assert claimed(store, 12.0).attempts == 1


def test_a_commit_under_the_token_makes_the_work_done_up_to_what_was_taken_and_frees_the_lease(store: Store) -> None:
    dirty(store)
    work = claimed(store)
    add(store, MAIN, assistant("more"), now=11.0)
    store.commit(MAIN, checkpoint(1, 1), expected=0, token=work.token)
    rest = claimed(store, 12.0)
    assert (rest.done, rest.wanted, rest.since, rest.attempts) == (2, 3, 11.0, 1)
    assert store.settle(rest)
    assert store.settle(rest)
    assert store.claim(99.0, 5.0) is None


def test_a_refused_commit_leaves_lease_and_work_as_they_were(store: Store) -> None:
    dirty(store)
    work = claimed(store)
    store.commit(MAIN, checkpoint(1, 1), expected=0)
    with pytest.raises(StaleBoundary):
        store.commit(MAIN, checkpoint(1, 2), expected=0, token=work.token)
    assert store.claim(14.0, 5.0) is None
    store.commit(MAIN, checkpoint(2, 2), expected=1, token=work.token)
    assert store.claim(99.0, 5.0) is None


def test_a_commit_needs_the_lease_that_its_token_names(store: Store) -> None:
    add(store, MAIN, user("go"))
    for token in (0, 1):
        with pytest.raises(StaleBoundary):
            store.commit(MAIN, checkpoint(1, 1), expected=0, token=token)
    dirty(store)
    with pytest.raises(StaleBoundary):
        store.commit(MAIN, checkpoint(1, 1), expected=0, token=0)
    work = claimed(store)
    assert store.settle(work, again=50.0)
    with pytest.raises(StaleBoundary):
        store.commit(MAIN, checkpoint(1, 1), expected=0, token=work.token)
    assert store.checkpoints(MAIN) == []


def test_a_worker_that_was_killed_is_followed_after_its_lease_and_has_no_say_any_more(store: Store) -> None:
    dirty(store)
    old = claimed(store, 10.0, 5.0)
    assert store.claim(14.9, 5.0) is None
    new = claimed(store, 15.0, 5.0)
    assert (new.wanted, new.since) == (old.wanted, old.since)
    assert store.settle(old) is False
    assert store.settle(old, again=99.0) is False
    assert store.extend(old, 99.0) is False
    with pytest.raises(StaleBoundary):
        store.commit(MAIN, checkpoint(1, 1), expected=0, token=old.token)
    assert store.backlog(16.0) == Backlog(dirty=1, leased=1)
    assert store.settle(new) is True


def test_a_slow_worker_whom_nobody_followed_may_still_finish(store: Store) -> None:
    dirty(store)
    work = claimed(store, 10.0, 5.0)
    store.commit(MAIN, checkpoint(1, 1), expected=0, token=work.token)  # at 99, say
    assert store.claim(99.0, 5.0) is None


def test_a_lease_is_lengthened_and_never_shortened(store: Store) -> None:
    dirty(store)
    work = claimed(store, 10.0, 5.0)
    assert store.extend(work, 30.0) is True
    assert store.extend(work, 20.0) is True
    assert store.claim(29.9, 5.0) is None
    assert claimed(store, 30.0).attempts == 2


def test_a_lease_that_was_freed_is_not_lengthened(store: Store) -> None:
    dirty(store)
    work = claimed(store)
    assert store.settle(work, again=12.0)
    assert store.extend(work, 99.0) is False
    assert claimed(store, 12.0).attempts == 2


def test_a_lease_that_ran_out_is_not_lengthened_when_another_scope_of_the_session_was_taken(store: Store) -> None:
    for key in (scope("a"), scope("b")):
        store.enlist(key)
    add(store, MAIN, assistant("done", scope="a"), assistant("done", scope="b"))
    first = claimed(store, 10.0, 5.0)
    assert store.settle(first, again=15.0)
    second = claimed(store, 11.0, 3.0)
    third = claimed(store, 15.0, 5.0)
    assert [work.key.scope for work in (first, second, third)] == ["a", "b", "a"]
    assert store.extend(second, 99.0) is False
    assert store.extend(third, 99.0) is True
    assert store.settle(second) is True  # nobody else did that work
    assert store.claim(50.0, 5.0) is None


def test_work_put_off_rests_until_then_whatever_is_appended(store: Store) -> None:
    dirty(store)
    work = claimed(store)
    assert store.settle(work, again=40.0)
    add(store, MAIN, assistant("more"), now=20.0)
    add(store, MAIN, assistant("more"), now=21.0, raising=Raising(not_before=22.0))
    assert store.claim(39.9, 5.0) is None
    assert store.backlog(39.9) == Backlog(dirty=1, resting=1)
    later = claimed(store, 40.0)
    assert (later.wanted, later.done, later.since) == (4, 0, 1.0)


def test_work_put_off_rests_at_least_as_long_as_a_pause_asks_for(store: Store) -> None:
    dirty(store)
    work = claimed(store)
    add(store, MAIN, user("more"), now=12.0, raising=Raising(not_before=60.0))
    assert store.settle(work, again=40.0)
    assert store.claim(59.9, 5.0) is None
    assert claimed(store, 60.0).attempts == 2


def test_work_put_off_lets_the_other_scopes_of_its_session_go_on(store: Store) -> None:
    for key in (scope("a"), scope("b")):
        store.enlist(key)
    add(store, MAIN, assistant("done", scope="a"), assistant("done", scope="b"))
    assert store.settle(claimed(store), again=40.0)
    assert all_claimed(store) == [scope("b")]


DAY = 86_400.0


def test_a_pause_that_began_before_the_clock_was_set_back_is_over(store: Store) -> None:
    store.enlist(MAIN)
    add(store, MAIN, assistant("done"), now=2 * DAY, raising=Raising(not_before=2 * DAY + 60.0))
    assert store.claim(2 * DAY, 5.0) is None
    assert store.backlog(DAY) == Backlog(dirty=1)
    assert claimed(store, DAY).since == DAY


def test_a_lease_that_was_taken_before_the_clock_was_set_back_is_over_and_the_next_one_holds(store: Store) -> None:
    for key in (scope("a"), scope("b")):
        store.enlist(key)
    add(store, MAIN, assistant("done", scope="a"), assistant("done", scope="b"), now=2 * DAY)
    old = claimed(store, 2 * DAY)
    assert store.claim(2 * DAY + 1.0, 5.0) is None, "one job of a session at a time"
    new = claimed(store, DAY)
    assert (store.backlog(DAY), store.claim(DAY + 1.0, 5.0)) == (Backlog(dirty=2, leased=1), None)
    assert store.settle(new)
    rest = claimed(store, DAY + 2.0)
    assert {new.key.scope, rest.key.scope} == {"a", "b"}
    assert [store.settle(work) for work in (old, rest)] == [False, True]


def test_clocks_that_lie_a_little_apart_cut_no_pause_and_no_lease_short(store: Store) -> None:
    store.enlist(MAIN)
    add(store, MAIN, assistant("done"), now=100.0, raising=Raising(not_before=105.0))
    assert store.claim(60.0, 5.0) is None
    assert store.backlog(60.0) == Backlog(dirty=1, resting=1)
    claimed(store, 110.0)
    assert store.claim(60.0, 5.0) is None
    assert store.backlog(60.0) == Backlog(dirty=1, leased=1)


def test_of_many_claimers_at_once_no_two_get_the_same_work(store: Store) -> None:
    for number in range(30):
        dirty(store, Key(session=f"n{number}"))
    found: list[str] = []

    def claim_all() -> None:
        while work := store.claim(10.0, 5.0):
            found.append(work.key.session)

    from_threads(claim_all, claim_all, claim_all)
    assert sorted(found) == sorted(f"n{number}" for number in range(30))


def from_threads(*actions: Any) -> None:
    with ThreadPoolExecutor(len(actions)) as pool:
        for done in [pool.submit(action) for action in actions]:
            done.result()


# By hand


def test_what_is_wanted_by_hand_exists_is_dirty_up_to_the_head_and_can_be_claimed_at_once(store: Store) -> None:
    add(store, MAIN, user("go"), user("on"))
    store.want(scope("a", "exact"), 5.0)
    assert store.scopes(MAIN) == [scope("a", "exact")]
    work = claimed(store, 5.0)
    assert (work.key, work.wanted, work.since) == (scope("a", "exact"), 2, 5.0)


def test_what_is_wanted_by_hand_waits_for_no_pause_and_for_no_retry(store: Store) -> None:
    dirty(store)
    assert store.settle(claimed(store), again=99.0)
    store.want(MAIN, 12.0)
    add(store, MAIN, user("more"), now=13.0, raising=Raising(not_before=43.0))
    add(store, MAIN, assistant("more"), now=13.0, raising=Raising(not_before=43.0))
    work = claimed(store, 14.0)
    assert (work.wanted, work.since) == (4, 1.0)
    add(store, MAIN, assistant("more"), now=15.0, raising=Raising(not_before=45.0))
    assert store.settle(work)
    assert store.claim(44.0, 5.0) is None  # the wish was heeded: what came since rests as ever


@pytest.mark.parametrize("counts", [True, False])
def test_what_is_wanted_during_a_job_that_comes_to_nothing_can_be_claimed_at_once(store: Store, counts: bool) -> None:
    dirty(store)
    work = claimed(store)
    store.want(MAIN, 11.0)
    assert store.settle(work, again=300.0, counts=counts)
    again = claimed(store, 12.0)
    assert store.settle(again, again=300.0)
    assert store.claim(299.0, 5.0) is None, "the wish was heeded once"


def test_what_is_done_may_be_wanted_again(store: Store) -> None:
    dirty(store)
    assert store.settle(claimed(store))
    store.want(MAIN, 20.0)
    work = claimed(store, 20.0)
    assert (work.wanted, work.since) == (2, 20.0)
    assert store.settle(work)
    assert store.claim(99.0, 5.0) is None


def test_a_wish_while_the_lease_is_held_joins_the_work_that_covers_it_and_stays_when_there_is_more(
    store: Store,
) -> None:
    dirty(store)
    work = claimed(store)
    store.want(MAIN, 11.0)
    assert store.settle(work)
    assert store.claim(12.0, 5.0) is None
    store.want(MAIN, 13.0)
    work = claimed(store, 13.0)
    add(store, MAIN, user("more"))
    store.want(MAIN, 14.0)
    assert store.settle(work)
    assert claimed(store, 14.0).wanted == 3


def test_an_empty_session_has_no_work_to_want_and_one_that_is_not_there_is_not_found(store: Store) -> None:
    store.enlist(MAIN)
    store.want(MAIN, 1.0)
    assert store.claim(10.0, 5.0) is None
    for ask in (lambda: store.want(OTHER, 1.0), lambda: store.scopes(OTHER)):
        with pytest.raises(NotFound):
            ask()


# Scopes that exist


def test_scopes_are_those_requested_enlisted_or_compacted_in_a_stable_order(store: Store) -> None:
    add(store, MAIN, user("go"))
    store.sent(scope("b"), ScopeState(), expected=Mark())
    store.commit(scope("a/x", "subtree"), checkpoint(1, 1), expected=0)
    for key in (MAIN, scope("b", "exact"), scope("a"), scope("a")):
        store.enlist(key)
    expected = [MAIN, scope("a"), scope("a/x", "subtree"), scope("b", "exact"), scope("b")]
    assert store.scopes(MAIN) == expected
    assert store.scopes(scope("b")) == expected
    assert store.scopes(MAIN) == expected


def test_to_enlist_a_scope_changes_nothing_in_one_that_exists(store: Store) -> None:
    add(store, MAIN, user("go"))
    store.sent(MAIN, ScopeState(last_size=7), expected=Mark())
    store.enlist(MAIN)
    assert store.view(MAIN).state.last_size == 7
    store.enlist(OTHER)
    assert store.view(OTHER).state == ScopeState()


def test_a_fork_has_the_scopes_of_its_parent_and_no_work_but_of_its_own_appends(store: Store) -> None:
    dirty(store)
    store.enlist(scope("a"))
    fork = Key(session="fork")
    store.open(fork, info=SessionInfo(session="fork", kind="fork", parent="main", parent_seq=2))
    store.enlist(scope("late"))
    assert store.scopes(fork) == [fork, scope("a", key=fork)]
    assert all_claimed(store) == [MAIN]
    add(store, fork, assistant("done", scope="b"), now=3.0)
    work = claimed(store)
    assert (work.key, work.wanted, work.since) == (fork, 3, 3.0)
    assert store.claim(10.0, 5.0) is None


def test_a_child_session_has_scopes_of_its_own(store: Store) -> None:
    dirty(store)
    store.open(OTHER, info=SessionInfo(session="other", kind="child", parent="main", parent_call="c"))
    assert store.scopes(OTHER) == []


ODD = ["a\x00b", 'it\'s "quoted"; --', "x\ud800y", "École/naïve", "%_", " ", "t1 u2 s3", "\udfff"]


@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_names_of_any_kind_come_back_equal(store: Store, name: str) -> None:
    key = Key(session=name, tenant=name, user=name, scope=name, sees="exact")
    store.enlist(key)
    add(store, key, assistant("done", scope=name))
    assert store.scopes(key) == [key]
    work = claimed(store)
    assert work.key == key
    assert store.extend(work, 30.0)
    assert store.settle(work)
    store.want(key, 31.0)
    assert claimed(store, 31.0).key == key


def test_tenants_that_differ_in_an_accent_have_work_of_their_own(store: Store) -> None:
    keys = [Key(session="s", tenant=name) for name in ("École", "Ecole", "ecole")]
    for key in keys:
        dirty(store, key)
    assert [claimed(store).key for _ in keys] == keys


# Erasing


def test_a_deleted_session_takes_its_work_with_it_and_nobody_elses(store: Store) -> None:
    dirty(store, MAIN, now=1.0)
    dirty(store, OTHER, now=2.0)
    mine, theirs = claimed(store), claimed(store)
    store.delete(MAIN)
    assert store.backlog(11.0) == Backlog(dirty=1, leased=1)
    assert store.settle(mine) is False
    assert store.settle(mine, again=20.0) is False
    assert store.extend(mine, 99.0) is False
    with pytest.raises(NotFound):
        store.commit(MAIN, checkpoint(1, 1), expected=0, token=mine.token)
    assert store.settle(theirs) is True
    assert store.backlog(11.0) == Backlog()


def test_a_session_made_again_under_its_name_inherits_no_lease(store: Store) -> None:
    dirty(store)
    old = claimed(store)
    store.delete(MAIN)
    dirty(store, now=11.0)
    with pytest.raises(StaleBoundary):
        store.commit(MAIN, checkpoint(1, 1), expected=0, token=old.token)
    new = claimed(store, 12.0)
    assert new.token > old.token
    for work in (old, msgspec.structs.replace(old, token=0)):
        assert store.settle(work) is False
        assert store.extend(work, 99.0) is False
        with pytest.raises(StaleBoundary):
            store.commit(MAIN, checkpoint(1, 1), expected=0, token=work.token)
    store.commit(MAIN, checkpoint(1, 1), expected=0, token=new.token)


def test_forks_that_keep_a_session_keep_its_work(store: Store) -> None:
    dirty(store)
    store.open(Key(session="fork"), info=SessionInfo(session="fork", kind="fork", parent="main", parent_seq=1))
    with pytest.raises(HasForks):
        store.delete(MAIN)
    assert claimed(store).key == MAIN


# The backlog


def test_the_backlog_tells_what_waits_what_is_leased_what_rests_and_how_long_the_oldest_has_waited(
    store: Store,
) -> None:
    for number, name in enumerate(("a", "b", "c", "d")):
        dirty(store, Key(session=name), now=float(number))
    assert store.backlog(10.0) == Backlog(dirty=4, oldest_seconds=10.0)
    claimed(store)
    assert store.settle(claimed(store), again=50.0)
    assert store.backlog(12.0) == Backlog(dirty=4, leased=1, resting=1, oldest_seconds=10.0)
    assert store.backlog(15.0) == Backlog(dirty=4, resting=1, oldest_seconds=15.0)
    assert store.backlog(60.0) == Backlog(dirty=4, oldest_seconds=60.0)
    assert store.backlog(-5.0).oldest_seconds == 0.0


def test_the_works_of_a_session_are_those_that_are_dirty_or_leased(store: Store) -> None:
    side = msgspec.structs.replace(MAIN, scope="a", sees="lineage")
    dirty(store, OTHER)
    assert store.works(OTHER)[0].key == OTHER
    with pytest.raises(NotFound):
        store.works(MAIN)
    store.enlist(side)
    head = dirty(store)
    assert [(work.key, work.wanted, work.done, work.lease_until) for work in store.works(MAIN)] == [
        (MAIN, head, 0, 0.0),
        (side, head, 0, 0.0),
    ]
    store.settle(claimed(store))  # the older one is that of the other session
    work = claimed(store, now=20.0)
    assert work.key.session == "main"
    assert {one.key: one.lease_until for one in store.works(MAIN)}[work.key] == 25.0
    assert store.settle(work)
    assert [one.key for one in store.works(MAIN)] == [one for one in (MAIN, side) if one != work.key]


def test_the_works_of_a_session_are_ordered_as_its_scopes_whatever_is_wanted(store: Store) -> None:
    keys = [scope(name, sees) for name, sees in (("a", "subtree"), ("a", "exact"), ("b", "exact"))]
    for key in keys:
        dirty(store, key)
    works = store.works(MAIN)
    assert [work.key for work in works] == store.scopes(MAIN) == sorted(keys, key=lambda key: (key.scope, key.sees))
    assert len({work.wanted for work in works}) == 2
    store.want(MAIN, 1.0)
    claimed(store)
    assert [work.key for work in store.works(MAIN)] == store.scopes(MAIN)


def test_the_backlog_and_the_claims_are_those_of_all_tenants_and_users(store: Store) -> None:
    everybody = [Key(session="main", tenant=tenant, user=name) for tenant, name in (("t", "u"), ("t", "v"), ("w", "u"))]
    for number, key in enumerate(everybody):
        dirty(store, key, now=float(number))
    assert store.backlog(10.0) == Backlog(dirty=3, oldest_seconds=10.0)
    assert [claimed(store).key for _ in everybody] == everybody
    assert store.backlog(10.0) == Backlog(dirty=3, leased=3)


# Several stores and processes on one place


def test_two_stores_on_one_place_share_work_leases_and_tokens(handles: tuple[Store, Store]) -> None:
    one, two = handles
    dirty(one, MAIN, now=1.0)
    dirty(two, OTHER, now=2.0)
    first, second = claimed(two), claimed(one)
    assert (first.key, second.key) == (MAIN, OTHER)
    assert second.token > first.token
    assert one.claim(10.0, 5.0) is two.claim(10.0, 5.0) is None
    add(one, MAIN, assistant("more"), now=11.0)
    assert two.settle(first)
    assert claimed(one, 12.0).since == 11.0
    two.delete(MAIN)
    assert one.settle(first) is False
    assert one.scopes(OTHER) == [OTHER]


def _claim_until_empty(place: str, folder: Path, found: Any) -> None:
    store = opened_again(place, folder)
    while (work := store.claim(10.0, 1000.0)) is not None:
        found.put((work.key.session, work.token))
    found.put(None)
    store.close()


def test_of_several_processes_each_work_is_claimed_once(place: str, tmp_path: Path) -> None:
    store = STORES[place](tmp_path)
    for number in range(40):
        dirty(store, Key(session=f"n{number}"))
    spawn = multiprocessing.get_context("spawn")
    queue = spawn.Queue()
    workers = [spawn.Process(target=_claim_until_empty, args=(place, tmp_path, queue)) for _ in range(2)]
    for worker in workers:
        worker.start()
    found: list[tuple[str, int]] = []
    for _ in workers:
        found += iter(queue.get, None)
    for worker in workers:
        worker.join()
    assert sorted(name for name, _ in found) == sorted(f"n{number}" for number in range(40))
    assert len({token for _, token in found}) == 40
    assert store.backlog(11.0) == Backlog(dirty=40, leased=40)
    store.close()


def _claim_and_hang(place: str, folder: Path, sender: Any) -> None:
    work = claimed(opened_again(place, folder), 10.0, 5.0)
    sender.send((work.key.session, work.token))
    time.sleep(600)


def test_the_work_of_a_killed_process_is_done_by_another_one(place: str, tmp_path: Path) -> None:
    store = STORES[place](tmp_path)
    dirty(store)
    spawn = multiprocessing.get_context("spawn")
    receiver, sender = spawn.Pipe(duplex=False)
    worker = spawn.Process(target=_claim_and_hang, args=(place, tmp_path, sender))
    worker.start()
    name, token = receiver.recv()
    worker.kill()
    worker.join()
    assert name == "main"
    assert store.claim(14.0, 5.0) is None
    work = claimed(store, 15.0)
    assert (work.wanted, work.attempts) == (2, 2)
    with pytest.raises(StaleBoundary):
        store.commit(MAIN, checkpoint(1, 1), expected=0, token=token)
    store.commit(MAIN, checkpoint(1, 1), expected=0, token=work.token)
    store.close()


# SQLite: what a file is, and what it costs


@pytest.mark.parametrize("ask", ["claim", "backlog"])
def test_asking_for_work_looks_at_dirty_scopes_alone(tmp_path: Path, ask: str) -> None:
    """By the steps of SQLite's machine, for 10 dirty scopes among 200 and among 5,000."""
    steps = []
    for count in (200, 5_000):
        store = SQLiteStore(tmp_path / f"{count}.db")
        store.open(MAIN)
        db = store._db
        db.execute("BEGIN")
        for number in range(2, count + 2):
            db.execute(
                "INSERT INTO session SELECT ?, user, ?, kind, parent, parent_seq, parent_call, parent_facts, "
                "parent_checkpoints, ?, created, updated, 5, facts, checkpoints, title, meta FROM session WHERE id = 1",
                (number, f"n{number}", number),
            )
            done = 4 if number % (count // 10) == 0 else 5
            db.execute(
                "INSERT INTO work (session, scope, sees, wanted, done, since) VALUES (?, '', 'all', 5, ?, ?)",
                (number, done, float(number)),
            )
        db.execute("COMMIT")
        ticks: list[int] = []
        db.set_progress_handler(lambda ticks=ticks: ticks.append(1), 1)  # type: ignore[misc]
        if ask == "claim":
            assert claimed(store, 1e6).key.session == f"n{count // 10}"
        else:
            assert store.backlog(1e6).dirty == 10
        db.set_progress_handler(None, 1)
        steps.append(len(ticks))
        store.close()
    assert steps[1] <= steps[0] * 1.2


def test_a_poll_that_finds_nothing_waits_for_no_writer(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "a.db")
    writer = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    assert store.claim(10.0, 5.0) is None
    assert store.backlog(10.0) == Backlog()  # a writer would be refused
    writer.execute("ROLLBACK")
    writer.close()
    store.close()


def test_a_file_of_the_first_schema_keeps_its_work_and_its_tokens_go_on(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = SQLiteStore(path)
    dirty(store, now=3.0)
    store.close()
    db = sqlite3.connect(path)
    db.execute("UPDATE work SET token = 7, taken = 2, lease_until = 20.0")
    db.execute("ALTER TABLE work DROP COLUMN later")
    db.execute("DELETE FROM meta WHERE key = 'work_token'")
    db.execute("DROP TABLE vector")
    db.execute("DROP TABLE embedder")
    db.execute("UPDATE meta SET value = 1 WHERE key = 'schema_version'")
    db.commit()
    assert "later" not in FIRST.split("CREATE TABLE work")[1].split(";")[0]
    db.close()
    store = SQLiteStore(path)
    assert store.claim(19.0, 5.0) is None
    work = claimed(store, 20.0)
    assert (work.since, work.wanted, work.token) == (3.0, 2, 8)
    store.close()


def test_the_claim_sorts_nothing(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "a.db")
    plan = " ".join(str(row[3]) for row in store._db.execute(f"EXPLAIN QUERY PLAN {work_rows._OLDEST}", {"now": 1.0}))
    assert "USING INDEX work_dirty" in plan
    assert "TEMP B-TREE" not in plan
    store.close()
