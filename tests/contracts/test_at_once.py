"""What every store promises to several threads, and to several processes on one place: what they do at once is as if it
was done one after the other.

Most of it is tried on purpose and not by luck: what a call is given begins a second call when the store reads it. A
store that lets the second one in between shows it; one that lets it wait is right however slow the machine is.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from places import SHARED, STORES, opened_again
from test_session_rows import all_of, full
from test_stores import MAIN, add, checkpoint, fork, search, texts

from foldmark.checkpoint import Fact, Mark, Unit
from foldmark.errors import HeadMoved, NotFound, StaleBoundary, StoreError
from foldmark.events import Event, ToolCall, assistant, user
from foldmark.reports import Attempt
from foldmark.seeking import Piece
from foldmark.store import Key, SessionInfo, Store

LET_IN_SECONDS = 0.1
"""So long a call waits for the other that it began: one that is let in needs far less, one that has to wait is waited
for afterwards."""


class Meanwhile:
    """Begins something else the first time that somebody looks."""

    def __init__(self, other: Callable[[], Any]) -> None:
        self.other, self.result = other, Future[Any]()
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            self.result.set_result(self.other())
        except Exception as error:
            self.result.set_exception(error)

    def begin(self) -> None:
        if self.thread.ident is None:
            self.thread.start()
            self.thread.join(LET_IN_SECONDS)


class LateList(Sequence[Any]):
    """A list that begins something else when it is read."""

    def __init__(self, given: Sequence[Any], meanwhile: Meanwhile) -> None:
        self.given, self.meanwhile = given, meanwhile

    def __getitem__(self, place: Any) -> Any:
        self.meanwhile.begin()
        return self.given[place]

    def __len__(self) -> int:
        return len(self.given)


class LateMapping(Mapping[str, Any]):
    """A mapping that does."""

    def __init__(self, given: Mapping[str, Any], meanwhile: Meanwhile) -> None:
        self.given, self.meanwhile = given, meanwhile

    def __getitem__(self, name: str) -> Any:
        self.meanwhile.begin()
        return self.given[name]

    def __iter__(self) -> Iterator[str]:
        self.meanwhile.begin()
        return iter(self.given)

    def __len__(self) -> int:
        return len(self.given)


def at_once(call: Callable[[Meanwhile], Any], other: Callable[[], Any]) -> list[str]:
    """What became of two calls, the second begun inside the first: the names of their errors, empty where there is
    none."""
    meanwhile = Meanwhile(other)
    became = []
    try:
        call(meanwhile)
        became.append("")
    except Exception as error:
        became.append(type(error).__name__)
    meanwhile.begin()
    refused = meanwhile.result.exception(60)
    meanwhile.thread.join()
    return [*became, type(refused).__name__ if refused else ""]


@pytest.fixture(
    params=[*((name, 1) for name in STORES), *((name, 2) for name in SHARED)],
    ids=lambda param: f"{param[0]} {param[1]}",
)
def both(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    """The store of every place, asked from two threads; and two handles on each that can be opened twice."""
    name, handles = request.param
    one = STORES[name](tmp_path)
    two = opened_again(name, tmp_path) if handles == 2 else one
    yield one, two
    for store in {id(each): each for each in (one, two)}.values():
        store.close()


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def from_threads(*actions: Callable[[], Any]) -> list[Any]:
    """What became of all of them, begun together: their values or their errors."""
    start = threading.Barrier(len(actions))

    def run(action: Callable[[], Any]) -> Any:
        start.wait(60)
        try:
            return action()
        except StoreError as error:
            return error

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(run, actions))


# Begun inside the other


def batch(store: Store, text: str, late: str = "", meanwhile: Meanwhile | None = None) -> dict[str, Any]:
    """What an append of one event is given, with all that can come with it; one list of it may be a late one."""
    given: dict[str, Any] = {
        "events": store.context(MAIN, [user(text)]).new,
        "units": [Unit(1, 0, text, 1.0, 1)],
        "facts": [Fact(seq=1, kind="goal", key=text, value=text)],
        "pieces": [Piece(1, 0, text)],
    }
    return {name: LateList(each, meanwhile) if meanwhile and name == late else each for name, each in given.items()}


@pytest.mark.parametrize("late", ["events", "units", "facts", "pieces"])
def test_of_two_appends_at_one_head_one_is_written_whole_and_the_other_not_at_all(
    both: tuple[Store, Store], late: str
) -> None:
    one, two = both
    other = batch(two, "second")

    def append(meanwhile: Meanwhile) -> None:
        given = batch(one, "first", late, meanwhile)
        one.append(MAIN, given.pop("events"), head=0, now=1.0, **given)

    became = at_once(append, lambda: two.append(MAIN, other.pop("events"), head=0, now=2.0, **other))
    assert sorted(became) == ["", "HeadMoved"]
    won = ["first", "second"][became.index("")]
    for store in both:
        _, facts, units = store.covered(MAIN, 9, limit=9)
        assert texts(store.log(MAIN)) == [fact.value for fact in facts] == [unit.text for unit in units] == [won]
        assert search(store, MAIN, "first second") == [won]
        assert store.info(MAIN).title == won


def test_settings_facts_and_fingerprints_that_come_at_once_are_all_kept(both: tuple[Store, Store]) -> None:
    one, two = both
    add(one, MAIN, user("1"))
    facts = [Fact(seq=1, kind="goal", key=name, value="") for name in "ab"]
    for became in (
        at_once(
            lambda meanwhile: one.describe(MAIN, LateMapping({"a": "1"}, meanwhile)),
            lambda: two.describe(MAIN, {"b": "2"}),
        ),
        at_once(lambda meanwhile: one.facts(MAIN, LateList(facts[:1], meanwhile)), lambda: two.facts(MAIN, facts[1:])),
        at_once(
            lambda meanwhile: one.wrote(MAIN, LateMapping({"h1": "1"}, meanwhile)),
            lambda: two.wrote(MAIN, {"h2": "2"}),
        ),
    ):
        assert became == ["", ""]
    for store in both:
        assert store.info(MAIN).meta == {"a": "1", "b": "2"}
        assert sorted(fact.key for fact in store.covered(MAIN, 9, limit=0)[1]) == ["a", "b"]
        assert store.written(MAIN, ["h1", "h2"]) == {"h1": "1", "h2": "2"}


def test_what_is_appended_while_a_session_is_deleted_as_it_was_seen_is_refused_or_keeps_it(
    both: tuple[Store, Store],
) -> None:
    one, two = both
    add(one, MAIN, user("1"))
    new = two.context(MAIN, [user("2")]).new
    became = at_once(
        lambda meanwhile: one.delete(MAIN, heads=LateMapping({"main": 1}, meanwhile)),
        lambda: two.append(MAIN, new, head=1, now=1.0),
    )
    assert sorted(became) == ["", "HeadMoved"]


# Seen by the other


def test_what_one_handle_wrote_the_other_reads_whatever_it_knew_before(handles: tuple[Store, Store]) -> None:
    one, two = handles
    for handle in handles:
        handle.open(MAIN)
        all_of(handle, MAIN)
    full(one, MAIN)
    assert all_of(two, MAIN) == all_of(one, MAIN)
    other = fork(two, "other", 2)
    go_on(two, other)
    assert all_of(one, other) == all_of(two, other)
    assert one.context(other, []).calls == two.context(other, []).calls
    assert one.delete(MAIN, descendants=True) == ("body",)
    for key in (MAIN, other):
        with pytest.raises(NotFound):
            all_of(two, key)
    add(two, MAIN, user("anew"))
    assert texts(one.log(MAIN)) == ["anew"]
    assert all_of(one, MAIN) == all_of(two, MAIN)


def go_on(store: Store, key: Key) -> None:
    """Something of every sort that a fork can have of its own."""
    fact = Fact(seq=2, kind="goal", key="f", value="y")
    add(store, key, user("zebra"), assistant("", ToolCall("c", "read")), facts=(fact,))
    store.commit(key, checkpoint(2, 3, mark=1), expected=1)
    store.sent(key, msgspec.structs.replace(store.view(key).state, last_size=3), expected=Mark(1))
    store.describe(key, {"b": "2"})
    store.wrote(key, {"h": "q"})


def test_the_newest_word_of_a_fingerprint_holds_whoever_said_it(handles: tuple[Store, Store]) -> None:
    one, two = handles
    one.open(MAIN)
    for handle, word in ((one, "first"), (two, "second"), (one, "first")):
        handle.wrote(MAIN, {"h": word})
        assert [each.written(MAIN, ["h"]) for each in handles] == [{"h": word}] * 2


# Begun together


def test_of_many_commits_at_once_one_wins_and_only_its_note_is_kept(both: tuple[Store, Store], hurried: None) -> None:
    one, _ = both
    add(one, MAIN, *(user(str(n)) for n in range(8)))

    def commit(boundary: int) -> None:
        note = Attempt(time=float(boundary), outcome="applied", version=1)
        both[boundary % 2].commit(MAIN, checkpoint(1, boundary, mark=boundary), expected=0, attempt=note)

    became = from_threads(*(partial(commit, boundary) for boundary in range(1, 7)))
    (won,) = [boundary for boundary, error in enumerate(became, 1) if error is None]
    assert [type(error) for error in became if error] == [StaleBoundary] * 5
    for store in both:
        view = store.view(MAIN)
        assert ([each.boundary for each in store.checkpoints(MAIN)], view.mark) == ([won], Mark(won))
        assert [note.time for note in store.attempts(MAIN)] == [won]


def test_a_session_that_many_open_at_once_is_made_once(both: tuple[Store, Store], hurried: None) -> None:
    def opened(number: int) -> SessionInfo:
        return both[number % 2].open(MAIN, info=SessionInfo(session="main", title=str(number)))

    became = from_threads(*(partial(opened, number) for number in range(6)))
    assert [both[0].info(MAIN)] * 6 == became
    assert both[1].sessions("local", "local") == became[:1]


def test_many_who_record_at_once_lose_nothing_and_who_reads_sees_no_half_of_it(
    both: tuple[Store, Store], hurried: None
) -> None:
    one, two = both
    writers, each = 4, 15
    left = list(range(writers))

    def record(writer: int) -> None:
        try:
            for number in range(each):
                get_on(writer, user(f"{writer} {number}", id=f"{writer}.{number}"), assistant("on"))
        finally:
            left.pop()

    def get_on(writer: int, *events: Event) -> None:
        for _ in range(writers * each):  # it is refused once for each time that another one got on
            with suppress(HeadMoved):
                add(both[writer % 2], MAIN, *events)
                return
        raise AssertionError("refused, and nobody else got on")

    def read() -> None:
        while left:
            view = two.view(MAIN)
            assert [event.seq for event in view.events] == list(range(1, view.head + 1))
            assert view.head % 2 == 0, "both events of a batch or none"

    one.open(MAIN)
    assert from_threads(*(partial(record, writer) for writer in range(writers)), read) == [None] * (writers + 1)
    log = one.log(MAIN)
    said = [event.id for event in log if event.is_user]
    assert [event.seq for event in log] == list(range(1, 2 * writers * each + 1))
    assert sorted(said) == sorted(f"{writer}.{number}" for writer in range(writers) for number in range(each))
    for writer in range(writers):
        mine = [one for one in said if one.startswith(f"{writer}.")]
        assert mine == [f"{writer}.{number}" for number in range(each)]
    assert one.tally(MAIN).events == two.tally(MAIN).events == 2 * writers * each
    assert two.find(MAIN, ["on"]).pieces == 2 * writers * each
