"""An event of a transcript that carries no time is never given one: whatever shows a date shows none for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark import MemoryStore, Policy, Session, SQLiteStore, importers
from foldmark.cli.load_command import loaded_json
from foldmark.cli.search_command import hit_json
from foldmark.events import Event, ToolCall, assistant, injected, result, user
from foldmark.importers import Imported
from foldmark.importing import bring_in
from foldmark.store import Store
from foldmark.tools import recall_tools
from foldmark.wire import openai_chat

SAMPLES = sorted(path for path in (Path(__file__).parents[1] / "samples").iterdir() if path.suffix != ".gz")
IMPORTED_AT = 2_000_000_000.0
"""18 May 2033: a day that no sample names."""
MADE_UP = ("2033-05-18", "20330518", str(IMPORTED_AT))
MARCH = 1_772_323_200.0
POLICY = Policy.coding(recall={"overview_tokens": 400, "preload_tokens": 300}, run="manual", tail={"minimum_rounds": 1})


def clock() -> float:
    return IMPORTED_AT


def outputs(session: Session) -> list[str]:
    """All that is shown of a session's events with a place for a date."""
    search, load = (tool for tool in recall_tools(session, reach="user") if tool.name.startswith("session_"))
    seen = [session.overview(600)]
    for event in session.store.log(session.key):
        words = " ".join(event.text.split()[:8]) or "May 2033"
        hits = session.search(words, where="user", limit=5)
        seen += [json.dumps(hit_json(hit)) for hit in hits] + [search({"query": words})]
        for ref in {hit.ref for hit in hits} | {f"event:{event.seq}"}:
            seen += [json.dumps(loaded_json(session.load(ref, after=1))), load({"ref": ref, "after": 1})]
    return seen


def showing_made_up_dates(seen: Sequence[str]) -> list[str]:
    return [text for text in seen if any(said in text for said in MADE_UP)]


def undated(imported: Imported) -> Imported:
    return msgspec.structs.replace(
        imported,
        events=tuple(msgspec.structs.replace(event, time=None) for event in imported.events),
        children=tuple(msgspec.structs.replace(child, imported=undated(child.imported)) for child in imported.children),
    )


def read_samples() -> list[tuple[str, Imported]]:
    files = [path for path in SAMPLES if path.is_file()]
    return [(path.name, one) for path in files for one in importers.read(path.read_bytes(), name=path.name)]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_no_sample_that_is_brought_in_shows_the_day_of_its_import(kind: str, tmp_path: Path) -> None:
    for number, (name, imported) in enumerate(read_samples()):
        for stripped in (imported, undated(imported)):
            path = tmp_path / f"{number}-{stripped is imported}.db"
            store: Store = MemoryStore() if kind == "memory" else SQLiteStore(path)
            session, _ = bring_in(stripped, store, session="s", clock=clock)
            assert showing_made_up_dates(outputs(session)) == [], name
            if stripped is not imported:
                assert session.search("", where="user", since=0.0) == [], name
                assert session.search("", where="user", until=1e12) == [], name
            store.close()


moments = st.none() | st.floats(MARCH, MARCH + 1e7)
kinds = st.sampled_from(["user", "assistant", "injected", "call"])
turns = st.lists(st.tuples(kinds, moments), min_size=1, max_size=12)


def events_of(drawn: Sequence[tuple[str, float | None]]) -> list[Event]:
    out: list[Event] = []
    for n, (kind, time) in enumerate(drawn):
        if kind == "call":
            out.append(assistant("", ToolCall(f"c{n}", "read", f'{{"path": "zebra{n}.py"}}'), time=time))
            out.append(result(f"c{n}", f"stripes of zebra {n}", name="read", time=time))
        else:
            make = {"user": user, "assistant": assistant, "injected": injected}[kind]
            out.append(make(f"zebra {n} has {n * 7} stripes, said the {kind}", time=time))
    return out


@given(turns, st.booleans())
@settings(max_examples=25)
def test_an_import_gives_no_event_a_date_but_its_own(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[str, float | None]], in_two_goes: bool
) -> None:
    events = events_of(drawn)
    for store in (MemoryStore(), SQLiteStore(tmp_path_factory.mktemp("undated") / "s.db")):
        for end in (len(events) // 2, len(events)) if in_two_goes else (len(events),):
            imported = Imported(session="s", format="openai-json", wire="openai-chat", events=tuple(events[:end]))
            session, _ = bring_in(imported, store, POLICY, clock=clock)
        assert showing_made_up_dates(outputs(session)) == []
        dated = {event.seq for event in session.store.log(session.key) if event.time is not None}
        for limits in ({"since": 0.0}, {"until": 3e9}):
            hits = session.search("zebra stripes", limit=50, **limits)
            assert {int(hit.ref.removeprefix("event:")) for hit in hits} <= dated
        session.compact(force=True)
        sent = openai_chat.write("", [], session.request(window=8_000).messages)
        assert showing_made_up_dates([json.dumps(sent)]) == []
        store.close()


@given(turns, st.booleans())
@settings(max_examples=25)
def test_search_and_load_say_the_same_date_of_the_same_event(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[str, float | None]], live: bool
) -> None:
    for store in (MemoryStore(), SQLiteStore(tmp_path_factory.mktemp("alike") / "s.db")):
        session = Session("s", store=store, clock=clock)
        session.follow(events_of(drawn), live=live)
        load = next(tool for tool in recall_tools(session) if tool.name == "session_load")
        for hit in session.search("zebra stripes", limit=50):
            day = hit.date[:16].replace("T", " ")
            head = load({"ref": hit.ref}).split(f"[{hit.ref}", 1)[1].split("]", 1)[0]
            assert (day in head) if day else ("20" not in head), head
            (shown,) = loaded_json(session.load(hit.ref))["events"]
            assert bool(hit.date) == ("time" in shown)
        store.close()
