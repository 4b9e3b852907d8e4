"""Another thread records into the very session that is compacted, asked, searched or told of, at any moment."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from meanwhile import MOMENTS, POLICY, Other, count_of, folder_in, round_of, turns_at
from places import STORES

from foldmark import Session, user
from foldmark.events import Event, Text
from foldmark.hooked import EventHooks, HookedStore
from foldmark.reports import Report
from foldmark.store import Key, Store

TURNS, IN_A_RECORD = 250, 40
"""So often is the turn handed over at most while one thing is done. Fewer while something is recorded, which begins
again after each turn that was taken, 50 times at most."""
DONE: dict[str, Callable[[Session], object]] = {
    "compact": lambda session: session.compact(force=True, focus="ports"),
    "record one": lambda session: session.record(user("And handler_3 of service_3?")),
    "record many": lambda session: session.record(*round_of(500), *round_of(501)),
    "request": lambda session: session.request(system="Be brief.", window=8_000),
    "search": lambda session: session.search("Which port does handlr_7 listen on?"),
    "explain": lambda session: session.control.plan(),
}


def shown(key: Key, event: Event) -> Event | None:
    """What a reader is shown: every seventh event is withheld, every fifth changed."""
    if event.seq % 7 == 0:
        return None
    return msgspec.structs.replace(event, parts=(Text("Left out."),)) if event.is_user and event.seq % 5 == 0 else event


class Kind(NamedTuple):
    """A `place` of the contract, the `scope` of who works, and whether it reads through a hook."""

    place: str
    scope: str = ""
    hooked: bool = False


KINDS = {
    **{name: Kind(name) for name in STORES},
    **{f"{name} in a scope": Kind(name, scope="team") for name in STORES},
    **{f"{name} through a hook": Kind(name, hooked=True) for name in STORES},
}


def begun(kind: Kind, store: Store) -> Session:
    inner = HookedStore(store, [EventHooks(on_read=shown)]) if kind.hooked else store
    session = Session("one", store=inner, policy=POLICY, scope=kind.scope, sees="lineage" if kind.scope else "all")
    session.record(*(event for number in range(30) for event in round_of(number)))
    return session


def records(session: Session, turn: int) -> object:
    """One event after the other, of rounds that nobody else has."""
    return session.record(round_of(10_000 + turn // 4)[turn % 4])


@pytest.mark.parametrize("what", DONE)
@pytest.mark.parametrize("moments", MOMENTS)
@pytest.mark.parametrize("name", KINDS)
def test_what_is_done_while_another_thread_records(name: str, moments: str, what: str, tmp_path: Path) -> None:
    kind, turns = KINDS[name], 0
    most = IN_A_RECORD if what.startswith("record") else TURNS
    with closing(STORES[kind.place](folder_in(tmp_path, "alone"))) as store:
        alone = begun(kind, store)
        every = max(1, count_of(moments, lambda: DONE[what](alone)) // most)
    for start in (0.0, 0.3, 0.6):
        with closing(STORES[kind.place](folder_in(tmp_path, str(start)))) as store:
            session = begun(kind, store)
            with Other(store, records, most) as other, turns_at(moments, other, every, int(start * every)):
                done = DONE[what](session)
            assert not other.errors
            assert not isinstance(done, Report) or done.outcome == "applied", done
            turns += other.turns
            log = store.log(Key(session="one"))
            assert [event.seq for event in log] == list(range(1, len(log) + 1))
    assert turns > 0, "nothing was recorded meanwhile"


@pytest.mark.parametrize("name", KINDS)
def test_counts_that_a_store_gives_are_a_copy(name: str, tmp_path: Path) -> None:
    with closing(STORES[KINDS[name].place](tmp_path)) as store:
        session = begun(KINDS[name], store)
        before = session.store.tally(session.key).to_bytes()
        several = session.store.context(session.key, [user("The port is 8123."), user("No, 8124.")])
        for tally in (session.store.tally(session.key), several.tally):
            tally.add(user("Nobody said zanzibar_port here."))
            assert "zanzibar_port" in tally.names
        assert session.store.tally(session.key).to_bytes() == before
