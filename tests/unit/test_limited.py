"""A search without words: the newest that its limits let through, at the lines that name what was asked for."""

from __future__ import annotations

import json
from datetime import UTC, datetime
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


# A day, and nothing else

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC).timestamp()  # a Tuesday
DAY = 86_400.0


@pytest.fixture
def days(session: Session) -> Session:
    """A day's talk a day for thirty days, the last of them today with a result of thousands of lines at its end, and
    one line that says Tuesday at the beginning."""
    session = Session("s", store=session.store, clock=lambda: NOW)
    session.record(user("On Tuesday the tanks are drained.", time=NOW - 30 * DAY + 1))
    for back in range(29, -1, -1):
        session.record(*(user(f"turn {number} of the day", time=NOW - back * DAY + number) for number in range(20)))
    log = "\n".join(f"{number} passed checking of otter{number * 7919}" for number in range(8_000))
    session.record(result("c1", log, name="bash", time=NOW + 60))
    return session


def refs(session: Session, query: str, limit: int = 50, **limits: Any) -> list[str]:
    return [hit.ref for hit in session.search(query, limit=limit, **limits)]


def newest(*seqs: int) -> list[str]:
    return [f"event:{seq}" for seq in seqs]


@pytest.mark.parametrize("query", ["today", "2026-12-01", "December 1", "heute", "today?"])
@pytest.mark.parametrize("limit", [5, 21, 50])
def test_a_day_alone_brings_all_that_was_said_on_it_the_newest_first(days: Session, query: str, limit: int) -> None:
    assert refs(days, query, limit) == newest(*range(602, 581, -1))[:limit]


@pytest.mark.parametrize("limit", [3, 100])
def test_limits_alone_bring_all_that_they_allow_after_one_long_result(days: Session, limit: int) -> None:
    assert refs(days, "", limit, since="2026-11-30") == newest(*range(602, 561, -1))[:limit]
    assert refs(days, "", limit, roles=("user",)) == newest(*range(601, 0, -1))[:limit]


@pytest.mark.parametrize("query", ["Tuesday", "tuesday?"])
def test_what_says_the_name_of_a_day_comes_before_what_was_said_on_such_a_day(days: Session, query: str) -> None:
    assert refs(days, query, 10) == newest(1, *range(602, 593, -1))
    (hit,) = days.search(query, limit=1)
    assert hit.snippet == "On Tuesday the tanks are drained."


@pytest.mark.parametrize(
    ("english", "names"),
    [
        ("Tuesday", ["Dienstag", "mardi", "martes", "martedì", "вторник", "wtorek", "火曜日", "화요일", "周二"]),
        ("Friday", ["Freitag", "vendredi", "viernes", "пятница", "piątek", "金曜日", "금요일", "星期五", "freitag?"]),
        ("Saturday", ["суббота", "sobota", "Samstag", "土曜日"]),
    ],
)  # fmt: skip
def test_the_name_of_a_day_in_any_language_is_that_day(days: Session, english: str, names: list[str]) -> None:
    expected = refs(days, english)
    assert len(expected) == 50
    for name in names:
        assert refs(days, name) == expected, name


def test_what_says_the_name_of_a_day_in_another_language_comes_first(days: Session) -> None:
    days.record(user("Am Freitag wird geliefert.", time=NOW + 70))
    assert refs(days, "Freitag", 2)[0] == "event:603"
    assert refs(days, "Freitag geliefert", 1) == ["event:603"]


DATES = ["2027-02-03", "February 3, 2027", "3 February 2027", "Feb 3, 2027", "3 Feb 2027"]
SHORT = ["February 3", "3 February", "Feb 3", "3rd of February"]


@pytest.mark.parametrize("query", [*DATES, *SHORT])
@pytest.mark.parametrize("written", DATES)
def test_a_date_is_found_however_it_is_written(session: Session, query: str, written: str) -> None:
    session.record(
        user(f"The lease ends on {written}, they said."), user("In February the 2027 plan has 3 parts."),
        *(user(f"3 of 27 parts, 02 and 03 of day {number}") for number in range(20)),
        user("February 4, 2027 is later."),
    )  # fmt: skip
    assert refs(session, query, 1) == ["event:1"]
