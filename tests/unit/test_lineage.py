"""Which line a session is on: lists are caught up beside other writers, forks are found again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from foldmark import HeadMoved, MemoryStore, Policy, assistant, flows, lineage, user
from foldmark.events import Event
from foldmark.following import Followed
from foldmark.lineage import (
    BATCH,
    TRIES,
    Line,
    caught_up,
    described,
    finite,
    insisted,
    located,
    offered,
    opened,
    remembered,
)
from foldmark.store import Context, HeldBack, Key

KEY = Key(session="s")
TALK = [user("a"), assistant("b"), user("c")]


class Log:
    """Appends as a store does: another writer comes in before the calls named in `beaten`."""

    def __init__(self, beaten: Sequence[int] = ()) -> None:
        self.head, self.calls, self.beaten = 0, 0, beaten
        self.sizes: list[int] = []

    def append(self, events: Sequence[Event], head: int | None = None) -> Any:
        self.calls += 1
        if self.calls in self.beaten:
            self.head += 1
            raise HeadMoved("s", head or 0, self.head)
        assert head in (None, self.head)
        self.head += len(events)
        self.sizes.append(len(events))
        return SimpleNamespace(new=tuple(events), known=(), held_back=())


def many(count: int) -> tuple[Event, ...]:
    return tuple(user(str(number)) for number in range(count))


def test_a_long_list_comes_in_by_batches_and_says_how_far_it_is() -> None:
    log, told = Log(), list[tuple[int, int]]()
    count = 2 * BATCH + 1
    found = Followed("s", many(count), known=4)
    done = caught_up(found, log.append, lambda: pytest.fail("nobody came in between"), lambda *at: told.append(at))
    assert log.sizes == [BATCH, BATCH, 1]
    assert told == [(BATCH, count), (2 * BATCH, count), (count, count)]
    assert (len(done.new), done.known) == (count, 4)


def test_what_another_writer_appended_meanwhile_counts_as_known() -> None:
    log, events = Log(beaten=[2]), many(BATCH + 10)
    found = Followed("s", events, known=0, forked_at=7)
    again = Followed("s", events[BATCH + 1 :], known=BATCH + 1, head=BATCH + 1)
    done = caught_up(found, log.append, lambda: again, lambda done, total: None)
    assert log.sizes == [BATCH, 9]
    assert (len(done.new), done.known) == (BATCH + 9, 1), "one of them was the other writer's"
    assert done.forked_at == 7, "the fork was made before"


def test_whoever_is_always_beaten_gives_up() -> None:
    log = Log(beaten=range(1, 10 * TRIES))
    found = Followed("s", many(1), known=0)
    with pytest.raises(HeadMoved):
        caught_up(found, log.append, lambda: Followed("s", many(1), 0, head=log.head), lambda done, total: None)
    assert log.calls == TRIES
    log = Log(beaten=range(1, 10 * TRIES))
    with pytest.raises(HeadMoved):
        insisted(lambda: log.append(many(1)))
    assert log.calls == TRIES


def test_appending_goes_on_behind_other_writers() -> None:
    log = Log(beaten=[1, 2])
    assert len(insisted(lambda: log.append(many(2))).new) == 2
    assert log.head == 4


def append(store: MemoryStore, line: Line, events: Sequence[Event]) -> Context:
    return flows.record(store, store.artifacts, Policy(), line.key, events, now=1.0)


def find(
    store: MemoryStore, line: Line, events: Sequence[Event], *, retry: bool, new: str = "n"
) -> tuple[Line, Followed]:
    return located(store, store.artifacts, line, events, root="s", retry=retry, new_id=lambda: new)


def test_a_list_that_goes_on_stays_where_it_is() -> None:
    store = MemoryStore()
    line = opened(store, KEY)
    append(store, line, TALK[:2])
    there, found = find(store, line, TALK, retry=True)
    assert there is line
    assert [event.text for event in found.new] == ["c"]


def test_a_retry_takes_the_empty_fork_of_the_retry_before_it() -> None:
    store = MemoryStore()
    line = described(store, opened(store, KEY), "You help.")
    append(store, line, TALK)
    first, found = find(store, line, TALK[:2], retry=True, new="one")
    assert (first.key.session, found.session, found.forked_at) == ("s+one", "s+one", 2)
    assert first.system == "You help.", "the settings go along"
    again, _ = find(store, line, TALK[:2], retry=True, new="two")
    assert again.key.session == "s+one"
    append(store, first, [user("d")])
    third, _ = find(store, line, TALK[:2], retry=True, new="two")
    assert third.key.session == "s+two"


def test_several_writers_of_one_edited_copy_meet_in_one_fork() -> None:
    store = MemoryStore()
    line = opened(store, KEY)
    append(store, line, TALK)
    edited = [*TALK[:2], user("other words")]
    names = {find(store, line, edited, retry=False, new=new)[0].key.session for new in ("one", "two")}
    assert len(names) == 1
    assert not names & {"s", "s+one", "s+two"}


def test_an_older_copy_stays_where_it_is() -> None:
    store = MemoryStore()
    line = opened(store, KEY)
    append(store, line, TALK)
    assert find(store, line, TALK[:2], retry=False)[0] is line


def test_the_static_prefix_is_kept_with_the_line_and_comes_back() -> None:
    store = MemoryStore()
    tools = [{"name": "bash"}]
    line = described(store, opened(store, KEY), "You help.", tools)
    assert (line.system, line.tools) == ("You help.", tuple(tools))
    assert described(store, line, None, None) is line
    assert described(store, line, "You help.", tools) is line
    back = opened(store, KEY)
    assert (back.system, back.tools) == (line.system, line.tools)
    assert described(store, back, "").info.meta.get("system") is None


def test_every_scope_keeps_a_static_prefix_of_its_own() -> None:
    store = MemoryStore()
    keys = [KEY, *(Key(session="s", scope=at, sees=how) for at, how in (("a", "exact"), ("a", "all"), ("b", "exact")))]  # type: ignore[arg-type]
    for number, key in enumerate(keys[:3]):
        described(store, opened(store, key), f"You are {number}.", [{"name": f"tool_{number}"}])
    lines = [opened(store, key) for key in keys]
    assert [line.system for line in lines] == ["You are 0.", "You are 1.", "You are 2.", ""]
    assert [line.tools for line in lines] == [*(({"name": f"tool_{number}"},) for number in range(3)), ()]
    assert [line.is_told for line in lines] == [True, True, True, False]
    assert lines[0].info.meta["system"] == "You are 0.", "the whole session's has the plain name, as in older files"
    described(store, lines[1], "", [])
    assert not opened(store, keys[1]).tools
    assert opened(store, keys[2]).system == "You are 2."


def test_whoever_says_that_there_is_no_static_prefix_has_told_it() -> None:
    store = MemoryStore()
    line = opened(store, KEY)
    assert not line.is_told
    assert described(store, line, None, None) is line
    assert described(store, line, "").is_told


def test_a_fork_takes_along_what_other_scopes_said_since_the_line_was_opened() -> None:
    store = MemoryStore()
    line, other = opened(store, KEY), Key(session="s", scope="a", sees="exact")
    append(store, line, TALK)
    described(store, opened(store, other), "You are a.")
    fork, _ = find(store, line, TALK[:2], retry=True)
    there = Key(session=fork.key.session, scope="a", sees="exact")
    assert opened(store, there).system == "You are a."


def test_settings_do_not_touch_the_static_prefix() -> None:
    store = MemoryStore()
    line = remembered(store, described(store, opened(store, KEY), "You help."), {"wire": "anthropic"})
    assert (line.system, line.info.meta["wire"]) == ("You help.", "anthropic")


def test_messages_and_events_are_offered_alike() -> None:
    assert offered(TALK) == (TALK, "")
    events, system = offered([{"role": "system", "content": "You help."}, {"role": "user", "content": "a"}])
    assert ([event.text for event in events], system) == (["a"], "You help.")


@pytest.mark.parametrize("time", [math.nan, math.inf, -math.inf])
def test_a_clock_that_gives_no_number_stops_no_write(time: float) -> None:
    assert finite(lambda: time)() == 0.0
    assert finite(lambda: 12.5)() == 12.5


def test_what_a_hook_held_back_before_another_writer_came_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage, "BATCH", 2)
    log, (first, held, last) = Log(beaten=[2]), many(3)
    kept_out = HeldBack(place=1, reason="", hook="")

    def append(events: Sequence[Event], head: int | None = None) -> Any:
        made = log.append(events[:1], head)
        return made if len(events) == 1 else SimpleNamespace(new=made.new, known=(), held_back=(kept_out,))

    found = Followed("s", (first, held, last), known=5, held_before=2)
    again = Followed("s", (last,), known=6, held_before=3, head=2)
    done = caught_up(found, append, lambda: again, lambda done, total: None)
    assert (done.new, done.held_back) == ((first, last), (kept_out,))
    assert (done.known, done.held_before) == (5, 2)
