"""A search without words: the newest that its limits let through, at the lines that name what was asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foldmark.events import ToolCall, assistant, result, user
from foldmark.memory import MemoryStore
from foldmark.session import Session
from foldmark.sqlite import SQLiteStore

FILLER = "\n".join(
    f"note {number}: the weather of the day was fair, as it was on the day before" for number in range(90)
)


@pytest.fixture(params=["memory", "sqlite"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Session:
    store: Any = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "agent.db")
    return Session("s", store=store)


def test_a_hit_by_its_file_shows_the_line_that_names_it(session: Session) -> None:
    session.record(user(f"{FILLER}\nThe fault is in src/main.ts:12.\n{FILLER}"), user("main.tsx is another file."))
    (hit,) = session.search("", files=("main.ts",))
    assert "src/main.ts:12" in hit.snippet
    assert hit.at == "event:1#L89-94"


def test_a_long_line_is_shown_where_the_file_stands(session: Session) -> None:
    session.record(user(f"{'so it goes and goes ' * 50}the fault is in src/main.ts {'and on it goes ' * 10}"))
    (hit,) = session.search("", files=("main.ts",))
    assert "src/main.ts" in hit.snippet


def test_a_hit_by_its_tool_shows_the_call(session: Session) -> None:
    arguments = json.dumps({"path": "beds.md"})
    session.record(
        user("Look."),
        assistant(FILLER, ToolCall("c1", "count", "{}"), ToolCall("c2", "read_file", arguments)),
        result("c1", "42", name="count"),
        result("c2", "bed 1", name="read_file"),
    )
    found = {hit.ref: hit for hit in session.search("", tools=("read_*",))}
    assert set(found) == {"event:2", "event:4"}
    assert "read_file path: beds.md" in found["event:2"].snippet
    assert found["event:4"].snippet == "bed 1"
    by_file = {hit.ref: hit.snippet for hit in session.search("", files=("beds.md",))}
    assert "beds.md" in by_file["event:2"]
    assert by_file["event:4"] == "bed 1"


def test_an_event_is_one_hit_however_often_it_names_the_file_and_the_newest_come_first(session: Session) -> None:
    for word in ("otter", "heron", "walrus"):
        story = "\n".join(f"{word}{number} saw {word}{number * 7 + 1} at noon" for number in range(150))
        session.record(user(f"{story}\nsrc/main.ts\n{story}\nsrc/main.ts again"))
    hits = session.search("", files=("main.ts",), limit=2)
    assert [hit.ref for hit in hits] == ["event:3", "event:2"]
    assert all("src/main.ts" in hit.snippet for hit in hits)


def test_events_that_say_the_same_are_all_listed(session: Session) -> None:
    session.record(*(user("Read src/main.ts again.", id=str(number)) for number in range(5)))
    found = [hit.ref for hit in session.search("", files=("main.ts",))]
    assert found == [f"event:{number}" for number in (5, 4, 3, 2, 1)]


def test_limits_that_name_nothing_show_the_first_lines(session: Session) -> None:
    session.record(user("First line.\nSecond line."))
    (hit,) = session.search("", roles=("user",))
    assert (hit.snippet, hit.at) == ("First line.\nSecond line.", "event:1#L1-2")
