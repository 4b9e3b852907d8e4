"""Random sessions, forks, children and scopes: every store brings what looking at everything brings, in that order."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from search_oracle import Bit, Brought, Line, Said, World

from foldmark.errors import StoreError
from foldmark.events import Event, ToolCall, assistant, injected, result, user
from foldmark.memory import MemoryStore
from foldmark.seeking import Finding, Found, Piece, Sought
from foldmark.sqlite import SQLiteStore
from foldmark.store import Key, SessionInfo, Store

WORDS = ["fox", "owl", "elk", "yak", "src/a.py", "lib/src/a.py"]
KEYS = ["", "a", "a/b", "c"]
SCOPES = [("", "all"), ("", "all"), ("a", "exact"), ("a/b", "lineage"), ("a", "subtree")]
OLD, LATER = 1_704_100_000.0, 1_720_000_000.0
NAMES = [f"s{number}" for number in range(7)]

LIMITS: dict[str, list[Any]] = {
    "roles": [("user",), ("injected", "tool"), ("assistant",)],
    "tools": [("read",), ("b*", "nothing")],
    "files": [("a.py",), ("lib/src/a.py",)],
    "branches": [("a",), ("a/b", "c")],
    "since": [100.0, LATER],
    "until": [100.0, OLD],
    "without": [frozenset({1, 2}), frozenset({3})],
}
WHERE = ["covered", "session", "children", "others", "user"]


def a_text(rng: Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(1, 4)))


def a_speech(rng: Random) -> dict[str, Any]:
    return {
        "kind": rng.choice(["user", "user", "injected", "assistant", "call", "result"]),
        "text": a_text(rng),
        "more": a_text(rng) if rng.random() < 0.3 else "",  # the event's second piece
        "head": rng.choice(["", "read src/a.py", "bash fox"]),
        "key": rng.choice(KEYS),
        "time": rng.choice([None, OLD, LATER]),
        "call": rng.choice(["c1", "c2"]),
        "tool": rng.choice(["Read", "bash"]),
    }


def an_operation(rng: Random) -> tuple[Any, ...]:
    drawn, place = rng.random(), rng.randrange(7)
    if drawn < 0.55:
        return "say", place, [a_speech(rng) for _ in range(rng.randint(1, 4))]
    if drawn < 0.95:
        return "open", place, rng.choice(["fork", "child"]), rng.randint(0, 6), rng.choice(["c1", "c2"])
    return "delete", place


def a_question(rng: Random) -> dict[str, Any]:
    chosen = rng.sample(list(LIMITS), rng.choice([0, 0, 1, 2]))
    where = rng.choice(WHERE)
    return {
        "session": rng.randrange(7),
        "scope": rng.choice(SCOPES),
        "terms": rng.sample(["fox", "owl", "elk", "src", "2024", "unheard"], rng.randint(0, 4)),
        "limit": rng.choice([0, 1, 3, 150]),
        "sought": {name: rng.choice(LIMITS[name]) for name in chosen}
        | {"where": where}
        | ({"upto": rng.randint(0, 8)} if where == "covered" else {}),
    }


class Life:
    """One life in every store and in the world that is looked at whole."""

    def __init__(self, folder: str) -> None:
        self.path = Path(folder) / "a.db"
        self.stores: list[Store] = [MemoryStore(), SQLiteStore(self.path)]
        self.world, self.now, self.written = World(), 0.0, 0
        self.story: list[tuple[Any, ...]] = []

    def carry_out(self, operation: tuple[Any, ...]) -> None:
        self.now += 1
        self.story.append(operation)
        match operation:
            case ("say", place, spoken):
                self.say(self.line(place), spoken)
            case ("open", place, kind, at, call):
                self.open(self.line(place), kind, at, call)
            case ("delete", place):
                self.delete(self.line(place))

    def line(self, place: int) -> Line:
        if not self.world.lines:
            self.world.lines["s0"] = Line("s0")
            for store in self.stores:
                store.open(Key(session="s0"))
        return list(self.world.lines.values())[place % len(self.world.lines)]

    def open(self, parent: Line, kind: str, at: int, call: str) -> None:
        name = next((name for name in NAMES if name not in self.world.lines), "")
        at = min(at, len(parent.lineage()))
        if name:
            info = SessionInfo(session=name, kind=kind, parent=parent.name, parent_seq=at, parent_call=call)  # type: ignore[arg-type]
            for store in self.stores:
                store.open(Key(session=name), info=info)
            self.world.lines[name] = Line(name, kind, parent, at, call)

    def delete(self, line: Line) -> None:
        for store in self.stores:
            try:
                store.delete(Key(session=line.name), descendants=True)
            except StoreError:
                raise AssertionError(line.name) from None
        self.world.lines = {name: other for name, other in self.world.lines.items() if not other.is_below(line)}

    def say(self, line: Line, spoken: list[dict[str, Any]]) -> None:
        head = len(line.lineage())
        for store in self.stores:
            context = store.context(Key(session=line.name), [event(one) for one in spoken])
            pieces = [piece for at, one in enumerate(spoken, head + 1) for piece in pieces_of(at, one)]
            store.append(Key(session=line.name), context.new, head=head, pieces=pieces, now=self.now)
        for seq, one in enumerate(spoken, head + 1):
            line.own.append(self.said(seq, one))

    def said(self, seq: int, one: dict[str, Any]) -> Said:
        kind, time = one["kind"], self.now if one["time"] is None else one["time"]
        bits = []
        for piece in pieces_of(seq, one):
            self.written += 1
            told = f"{piece.head} {piece.text}".replace("/", " ").split()
            days = ["1970"] if one["time"] is None else ["2024"]
            bits.append(Bit(piece.order, self.written, frozenset([*told, *days]), piece.text, piece.head))
        tools = (one["tool"],) if kind in ("call", "result") else ()
        speaker = {"call": "assistant", "result": "tool"}.get(kind, kind)
        calls = (one["call"],) if kind == "call" else ()
        return Said(seq, one["key"], speaker, time, tools, calls, tuple(bits))


def event(one: dict[str, Any]) -> Event:
    made: dict[str, Event] = {
        "user": user(one["text"]),
        "injected": injected(one["text"]),
        "assistant": assistant(one["text"]),
        "call": assistant(one["text"], ToolCall(one["call"], one["tool"])),
        "result": result(one["call"], one["text"], name=one["tool"]),
    }
    return msgspec.structs.replace(made[one["kind"]], scope=one["key"], time=one["time"])


def pieces_of(seq: int, one: dict[str, Any]) -> list[Piece]:
    head = one["head"] if one["kind"] == "result" else ""
    return [Piece(seq, order, text, head=head) for order, text in enumerate((one["text"], one["more"])) if text]


def brought(finding: Finding) -> Brought:
    places, near = [one.place for one in finding.found], [one.place for one in finding.near]
    return Brought(places, finding.pieces, finding.frequencies, near)


@given(st.integers(0, 2**32))
def test_every_store_brings_what_looking_at_everything_brings(seed: int) -> None:
    rng = Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        one = Life(folder)
        for _ in range(rng.randint(1, 25)):
            one.carry_out(an_operation(rng))
        reopened = SQLiteStore(one.path)
        for _ in range(20):
            question = a_question(rng)
            line, terms, limit = one.line(question["session"]), question["terms"], question["limit"]
            key = Key(session=line.name, scope=question["scope"][0], sees=question["scope"][1])
            expected = one.world.find(line, question["scope"], terms, limit, question["sought"])
            findings = [
                store.find(key, terms, limit=limit, sought=Sought(**question["sought"]))
                for store in (*one.stores, reopened)
            ]
            assert [brought(finding) for finding in findings] == [expected] * 3, (question, one.story)
            assert len({tuple(map(shown, finding.found)) for finding in findings}) == 1
        for store in (*one.stores, reopened):
            store.close()


def shown(found: Found) -> tuple[Any, ...]:
    """All that a search brings with a piece."""
    return found.piece, found.event.id, found.event.text, found.session, found.time
