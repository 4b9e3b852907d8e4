"""Whose a sub-agent is: the one rule of all stores, lists and refs."""

from __future__ import annotations

from itertools import product
from math import inf
from typing import Any

import pytest

from foldmark.events import ToolCall, assistant, user
from foldmark.log import Log
from foldmark.store import Key, OpenCall, Sees
from foldmark.store.belonging import belongs

ALL = Key(session="main")
LEFT, RIGHT = (Key(session="main", scope=one, sees="exact") for one in ("left", "right"))
BELOW = Key(session="main", scope="app", sees="subtree")
UP = Key(session="main", scope="left/deep", sees="lineage")


class Made:
    """The keys under which calls were made by their places, and the places of the newest by their ids."""

    def __init__(self, places: dict[int, str], ids: dict[str, int]) -> None:
        self.places = places
        self.calls = {name: OpenCall(seq, ToolCall(name, "task")) for name, seq in ids.items()}

    def key_at(self, seq: int) -> str | None:
        return self.places.get(seq)


MADE = Made({2: "left", 5: "right", 7: ""}, {"c2": 2, "hidden": 3, "twice": 5, "plain": 7})


def asks(key: Key, call: str = "c2", at: int = 0, *, last: float = inf, own: bool = True) -> bool:
    return belongs(key, MADE, call=call, at=at, last=last, own=own)


@pytest.mark.parametrize(("key", "seen"), [(ALL, True), (LEFT, True), (RIGHT, False), (BELOW, False), (UP, True)])
def test_who_sees_the_call_sees_the_sub_agent(key: Key, seen: bool) -> None:
    assert asks(key, at=2) is seen
    assert asks(key) is seen, "by its id, where the place is not known"
    assert asks(key, own=False) is seen, "a fork too"


def test_the_place_decides_where_it_is_known_since_ids_come_again() -> None:
    assert asks(LEFT, "twice", at=2)
    assert not asks(RIGHT, "twice", at=2)
    assert not asks(LEFT, "twice"), "of the id alone the newest call is meant"
    assert asks(RIGHT, "twice")


@pytest.mark.parametrize("key", [ALL, RIGHT])
def test_a_call_that_the_fork_made_with_the_id_of_another_started_nothing_in_front_of_it(key: Key) -> None:
    """Of the parent's sub-agent only the id is known, and the newest call of the lineage with it is the fork's own."""
    assert asks(key, "twice", own=True)
    assert asks(key, "twice", last=5, own=False)
    assert not asks(key, "twice", last=4, own=False)


@pytest.mark.parametrize("key", [ALL, LEFT, RIGHT, BELOW, UP])
def test_a_call_behind_the_fork_is_not_of_the_lineage(key: Key) -> None:
    assert not asks(key, at=5, last=4, own=False)
    assert not asks(key, at=2, last=1, own=False)


@pytest.mark.parametrize(("key", "at"), list(product([ALL, LEFT, RIGHT], [0, 2])))
def test_a_parent_that_is_not_of_the_lineage_gives_no_way_in_whatever_ids_are_alike(key: Key, at: int) -> None:
    assert not asks(key, at=at, last=-1, own=False)


def test_one_of_no_known_call_belongs_to_its_parent_alone_seen_as_a_whole() -> None:
    assert asks(ALL, "nobody")
    assert not asks(ALL, "nobody", own=False)
    assert not any(asks(key, "nobody") for key in (LEFT, RIGHT, BELOW, UP))
    whole = Key(session="main", scope="left", sees="all")
    assert asks(whole, "nobody"), "seen as a whole under whatever name"


@pytest.mark.parametrize("key", [ALL, LEFT])
def test_a_call_that_may_not_be_looked_at_gives_no_way_in_by_its_id_either(key: Key) -> None:
    """A hook withholds the event at 3: the id is that of another call."""
    assert not asks(key, "c2", at=3)


@pytest.mark.parametrize(("key", "own", "at"), list(product([ALL, LEFT, BELOW, UP], [True, False], [0, 3])))
def test_a_call_that_may_not_be_looked_at_is_known_all_the_same(key: Key, own: bool, at: int) -> None:
    """What it started is nobody's whose call is not known: the parent sees less of that, not more."""
    assert not asks(key, "hidden", at=at, own=own)


def test_a_call_without_a_key_is_seen_by_those_who_see_it() -> None:
    asked: dict[Sees, bool] = {"exact": False, "lineage": True, "subtree": False, "all": True}
    for sees, seen in asked.items():
        key = Key(session="main", scope="left", sees=sees)
        assert asks(key, "plain") is asks(key, "plain", at=7) is seen, sees


def test_a_folded_log_says_where_its_calls_were_made() -> None:
    log = Log("main")
    log.extend(
        log.number(
            [
                user("go"),
                assistant("", ToolCall("c", "task"), scope="left"),
                assistant("", ToolCall("c", "task"), branch="right"),
            ]
        )[0]
    )
    assert [log.key_at(seq) for seq in (-1, 0, 1, 2, 3, 4)] == [None, None, "", "left", "right", None]
    assert {name: made.seq for name, made in log.calls.items()} == {"c": 3}
    told: Any = {name: belongs(key, log, call="c", at=2, last=3, own=True) for name, key in (("l", LEFT), ("r", RIGHT))}
    assert told == {"l": True, "r": False}
