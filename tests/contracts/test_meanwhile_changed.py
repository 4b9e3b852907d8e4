"""Another thread compacts, pins, edits, undoes, forks, embeds or deletes the very session that somebody works with: at
any moment whatever. What comes of it is told in the words that are promised, and afterwards the session is whole.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from meanwhile import POLICY, Other, count_of, round_of, turns_at
from places import STORES

from foldmark import Session, user
from foldmark.errors import NotFound, StaleBoundary
from foldmark.reports import Report
from foldmark.store import Store
from toy_embedder import toy

TURNS = 8
"""So often is the turn handed over at most while one thing is done."""


def grow(session: Session, first: int, rounds: int) -> None:
    session.record(*(event for number in range(first, first + rounds) for event in round_of(number)))


def compacts(session: Session, turn: int) -> object:
    grow(session, 10_000 + 4 * turn, 4)
    return session.compact(force=True)


def pins(session: Session, turn: int) -> object:
    move = session.control.unpin if turn % 3 == 2 else session.control.pin
    return move(f"event:{turn // 3 + 1}")


def edits(session: Session, turn: int) -> object:
    return session.control.edit({"next_steps": [f"Run the tests of module_{turn}"]})


def undoes(session: Session, turn: int) -> object:
    return session.control.undo()


def forks(session: Session, turn: int) -> object:
    branch = Session("one", store=session.store, policy=POLICY)
    branch.follow([*session.store.log(session.key)[:20], user(f"Do it another way, the {turn}th.")])
    return grow(branch, 10_000 + turn, 1)


def embeds(session: Session, turn: int) -> object:
    return session.embed(limit=8)


def deletes(session: Session, turn: int) -> object:
    session.control.delete(descendants=True)
    return grow(session, 10_000 + turn, 2)


SYSTEM = "Be brief."
MEANWHILE = {each.__name__: each for each in (compacts, pins, edits, undoes, forks, embeds, deletes)}
DONE: dict[str, Callable[[Session], object]] = {
    "compact": lambda session: session.compact(force=True, focus="ports"),
    "record": lambda session: session.record(*round_of(500), *round_of(501)),
    "follow": lambda session: session.follow([*session.store.log(session.key), user("And now?")]),
    "request": lambda session: session.request(system=SYSTEM, window=8_000),
    "search": lambda session: session.search("Which port does handlr_7 listen on?"),
    "load": lambda session: session.load("event:7", before=3, after=3),
    "overview": lambda session: session.overview(),
    "plan": lambda session: session.control.plan(),
    "explain": lambda session: session.explain(),
    "edit": lambda session: session.control.edit({"next_steps": ["Ship it"]}),
    "undo": lambda session: session.control.undo(),
    "embed": lambda session: session.embed(limit=20),
}
REPORTED = {"applied", "deferred", "not_due", "ineffective"}


def promised(error: Exception, what: str, meanwhile: str) -> bool:
    """Whether that may be raised by `what`: an edit and an undo are refused when another version came first, and what
    was deleted is not there."""
    if isinstance(error, StaleBoundary):
        return what in ("edit", "undo", "edits", "undoes")
    return isinstance(error, NotFound) and meanwhile == "deletes"


def begun(store: Store) -> Session:
    """A session that was compacted twice."""
    session = Session("one", store=store, policy=POLICY, embedder=toy())
    for first, rounds in ((0, 30), (30, 8)):
        grow(session, first, rounds)
        assert session.compact(force=True).outcome == "applied"
    grow(session, 38, 8)
    return session


@cache
def moments_of(place: str, what: str) -> int:
    """How many lines there are while nobody else is there."""
    with TemporaryDirectory() as folder, closing(STORES[place](Path(folder))) as store:
        session = begun(store)
        return count_of("lines", lambda: DONE[what](session))


@pytest.mark.parametrize("what", DONE)
@pytest.mark.parametrize("meanwhile", MEANWHILE)
@pytest.mark.parametrize("place", STORES)
def test_what_is_done_while_another_thread_changes_the_session(
    place: str, meanwhile: str, what: str, tmp_path: Path
) -> None:
    every = max(1, moments_of(place, what) // TURNS)
    with closing(STORES[place](tmp_path)) as store:
        session, raised, done = begun(store), list[Exception](), None
        with Other(store, MEANWHILE[meanwhile], TURNS) as other, turns_at("lines", other, every, every // 2):
            try:
                done = DONE[what](session)
            except Exception as error:
                raised.append(error)
        assert other.turns > 0, "nothing was done meanwhile"
        for error in raised:
            assert promised(error, what, meanwhile), repr(error)
        for error in other.errors:
            assert promised(error, meanwhile, what), repr(error)
        assert not isinstance(done, Report) or done.outcome in REPORTED, done
        is_whole(session)


def is_whole(session: Session) -> None:
    """What a store keeps of a session agrees with itself, and whoever comes anew sees what those see who were there."""
    session.record(user("Where does zanzibar stand?"))
    store, key = session.store, session.key
    log, made = store.log(key), session.control.history()
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    assert store.tally(key).events == len(log)
    assert [one.version for one in made] == sorted({one.version for one in made})
    assert sorted(entry.seq for entry in session.explain()) == [event.seq for event in log]
    assert [hit.ref for hit in session.search("zanzibar")][:1] == [f"event:{len(log)}"]
    new = Session(session.name, store=store, policy=POLICY, embedder=toy())
    assert said(new) == said(session)


def said(session: Session) -> list[object]:
    """The messages of its next request, but for the system text: that went with a session that was deleted, and whoever
    said it before has it still."""
    return [each for each in session.peek().payload()["messages"] if each["content"] != SYSTEM]
