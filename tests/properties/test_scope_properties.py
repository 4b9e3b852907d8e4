"""Random trees of agents, scopes, forks, restarts, races and pins, against what the design's table says of them."""

from __future__ import annotations

import itertools
import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scope_oracle import SEES, Line, Made, Said, Scope, sees

from foldmark import MemoryStore, NotFound, Policy, PolicyError, Session, SQLiteStore
from foldmark.events import Event, ToolCall, assistant, control, injected, result, user
from foldmark.store import SessionInfo
from foldmark.wire import WIRES

TINY = Policy.coding(
    budget={"target_tokens": 600}, tail={"share": 0.1}, window=12_000, admission={"limit_tokens": 1_000_000}
)
WITH_BAR = TINY.replace(layout={"state_bar": True})
LINES = 24
"""Lines of a tool's result, about 300 tokens: some of them make a scope large enough to be compacted."""
KEYS = ["app/a", "app/a", "app/a", "app/a", "app", "app", "", "app/a/b", "app/ab", "app/a//b", "/app/a", "app/a/", "x"]
WORD = re.compile(r"mk_\d+_q")

tags = st.one_of(
    st.builds(lambda key: {"scope": key}, st.sampled_from(KEYS)),
    st.builds(lambda key: {"branch": key}, st.sampled_from(KEYS)),
    st.builds(lambda key, branch: {"scope": key, "branch": branch}, st.sampled_from(KEYS), st.sampled_from(KEYS)),
)
"""How an event comes by its key: its own, its branch, both, or none."""
scopes = st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(SEES)), min_size=2, max_size=4, unique=True)
MOVES = (
    *("ask", "task", "rule", "yes", "say", "say", "note", "control", "plan"),
    *("tool", "tool", "tool", "run", "run", "apart", "apart", "failed"),
    *("red", "green", "common", "plan apart", "edit"),
)
SAID_AGAIN = ("yes", "yes", "done", "done", "ask")
"""What an agent says when it offers its list: mostly words that others say, too."""
one_move = st.tuples(st.sampled_from(MOVES), tags, tags)
moves, many = st.lists(one_move, min_size=3, max_size=9), st.lists(one_move, min_size=12, max_size=20)
numbers = st.integers(0, 7)
steps = st.one_of(
    st.tuples(st.just("record"), moves, numbers),
    st.tuples(st.just("record"), moves, numbers),
    st.tuples(st.just("compact"), numbers),
    st.tuples(st.just("compact"), numbers),
    st.tuples(st.just("request"), numbers, numbers, st.booleans()),
    st.tuples(st.just("fork"), numbers),
    st.tuples(st.just("follow"), numbers, st.booleans()),
    st.tuples(
        st.just("offer"),
        numbers,
        st.sampled_from([7, 7, 7, 5, 2]),
        st.lists(st.sampled_from(SAID_AGAIN), min_size=1, max_size=3),
    ),
    st.tuples(st.just("switch"), numbers),
    st.tuples(st.just("restart")),
    st.tuples(st.just("race"), numbers, st.one_of(st.none(), numbers)),
    st.tuples(st.just("pin"), numbers, st.booleans()),
    st.tuples(st.just("undo"), numbers),
    st.tuples(st.just("adopt"), numbers, numbers),
)
lives = st.builds(lambda first, rest: [("record", first, 0), *rest], many, st.lists(steps, min_size=3, max_size=12))


class Life(NamedTuple):
    """A life that is written by hand, as an example beside the generated ones."""

    scopes: list[Scope]
    steps: list[tuple[Any, ...]]


class World:
    """A store with lines of sessions in it, and the oracle beside it. Every step is done to both."""

    def __init__(self, scopes: list[Scope], folder: str, policy: Policy = TINY) -> None:
        self.policy, self.stopped = policy, 0.0
        self.path = Path(folder) / "agent.db" if folder else None
        self.scopes, self.clock, self.number = scopes, itertools.count(1_000, 5), 0
        self.lines: dict[str, Line] = {"main": Line()}
        self.name = "main"
        self.rival: Session | None = None
        self.undoes = False
        self.settled: dict[tuple[str, Scope], set[int]] = {}  # pins that the newest compaction covered
        self.store: Any = None
        self.restart()

    # -- what happens

    def step(self, what: str, *how: Any) -> None:
        getattr(self, what)(*how)

    def restart(self) -> None:
        """New session objects; on disk a new store on the same file. Every scope goes on with the same request."""
        before = self.requests() if self.store else {}
        if self.path and self.store:
            self.store.close()
        if self.path or not self.store:
            self.store = SQLiteStore(self.path) if self.path else MemoryStore()
            self.commit, self.store.commit = self.store.commit, self._commit
        self.sessions: dict[tuple[str, Scope], Session] = {}
        assert (self.requests() if before else {}) == before, "after a restart a scope sends something else"

    def requests(self) -> dict[Scope, str]:
        """What every scope of the line that has something to say would send at one moment, byte by byte."""
        self.stopped = float(next(self.clock))
        spoken = [
            each for each in self.scopes if any(not self.line.said[seq - 1].is_control for seq in self.line.seen(each))
        ]
        made = {scope: json.dumps(self.session(scope).peek().payload()) for scope in spoken}
        self.stopped = 0.0
        return made

    def session(self, scope: Scope, name: str = "") -> Session:
        place = (name or self.name, scope)
        if place not in self.sessions:
            self.sessions[place] = self.fresh(scope, place[0])
        return self.sessions[place]

    def fresh(self, scope: Scope, name: str = "") -> Session:
        now, new = (lambda: self.stopped or float(next(self.clock))), (lambda: f"n{next(self.clock)}")
        return Session(
            name or self.name, store=self.store, policy=self.policy, scope=scope[0], sees=scope[1],  # type: ignore[arg-type]
            clock=now, new_id=new,
        )  # fmt: skip

    def at(self, number: int) -> Scope:
        return self.scopes[number % len(self.scopes)]

    @property
    def line(self) -> Line:
        return self.lines[self.name]

    def place(self, number: int) -> int:
        """A seq of the line, by eighths."""
        return len(self.line.said) * number // 7

    def record(self, told: list[tuple[str, dict[str, str], dict[str, str]]], who: int) -> None:
        """Recorded by a scope, which gives its key to what has none, or by whoever sees everything, who gives none."""
        events = [event for each in told for event in self.happens(*each)]
        scope = ("", "all") if who % 2 else self.at(who)
        self.session(scope).record(*events)
        given = "" if scope[1] == "all" else scope[0]
        self.line.said += (said._replace(key=said.key or given) for said in map(said_of, events))

    def compact(self, who: int) -> None:
        report = self.session(self.at(who)).compact(force=True, by_code=True)
        assert report.outcome in ("applied", "ineffective"), report

    def request(self, who: int, wire: int, says_system: bool) -> None:
        """A request goes out, sometimes with another system text, and one word is searched for."""
        scope = self.at(who)
        if any(not self.line.said[seq - 1].is_control for seq in self.line.seen(scope)):
            system = f"You are {self.word()}." if says_system else None
            made = self.session(scope).request(wire=WIRES[wire % len(WIRES)], system=system)
            if system:
                self.line.systems[scope] = system
            assert words_in(made.payload()) <= self.line.words(scope) | words_in(self.line.systems.get(scope, ""))
        for said in self.line.said[who::8][:2]:
            found = self.session(scope).search(said.word) if said.word else []
            assert words_in(msgspec.to_builtins(found)) <= self.line.words(scope)

    def fork(self, number: int) -> None:
        """A fork that is made through the store."""
        seq, name = self.place(number), f"fork{next(self.clock)}"
        key = msgspec.structs.replace(self.session(self.at(0)).key, session=name)
        self.store.open(key, info=SessionInfo(session=name, kind="fork", parent=self.name, parent_seq=seq))
        self.lines[name], self.name = self.line.fork(seq, {}), name

    def follow(self, number: int, is_retry: bool) -> None:
        """A list is offered that ends earlier than the log, with something new behind it or not."""
        session = self.fresh(("", "all"))
        log = [event for event in self.store.log(session.key) if event.role != "control"]
        offered = log[: len(log) * number // 7]
        if not offered:
            return
        new = [] if is_retry else list(self.happens("ask", {"scope": "app"}, {}))
        found = session.follow([*map(bare, offered), *new])
        forked = len(offered) < len(log)
        assert (found.forked_at is not None) == forked
        if forked:
            assert found.forked_at == offered[-1].seq
            if session.name not in self.lines:
                self.lines[session.name] = self.line.fork(offered[-1].seq)
            self.name = session.name
        self.line.said += map(said_of, new)

    def offer(self, who: int, number: int, says: list[str]) -> None:
        """An agent offers its own list, others' events stand between its messages in the log, and they may have said
        the same words. Afterwards the scope sees the list, message by message, in this session or a fork of it: nothing
        is lost and nothing is there twice."""
        scope = self.at(who)
        session = self.fresh(scope)
        seen = self.talk(session)
        offered = seen[: len(seen) * number // 7]
        if seen and not offered:
            return
        made = [event for what in says for event in self.happens(what, {}, {})]
        wanted = [*offered, *made]
        found = session.follow([*map(bare, wanted)])
        if session.name not in self.lines:
            self.lines[session.name] = self.lines[session.info.parent].fork(session.info.parent_seq)
        elif len(offered) == len(seen) and not any(goes_on(said, wanted) > len(seen) for said in self.others(scope)):
            assert (session.name, found.forked_at) == (self.name, None), "a list that only goes on stays where it is"
        self.name = session.name
        self.line.said += map(said_of, found.new)
        there = self.talk(session)
        trimmed = any(ends(said, wanted) > goes_on(said, wanted) for said in (seen, *self.others(scope)))
        assert is_same(there[len(there) - len(wanted) if trimmed else 0 :], wanted), "the scope sees another list"

    def talk(self, session: Session) -> list[Event]:
        return [event for event in self.store.log(session.key) if event.role != "control"]

    def others(self, scope: Scope) -> list[list[Event]]:
        """What the scope sees in the other lines."""
        return [self.talk(self.session(scope, name)) for name in self.lines if name != self.name]

    def switch(self, number: int) -> None:
        self.name = list(self.lines)[number % len(self.lines)]

    def race(self, who: int, rival: int | None) -> None:
        """Another worker compacts between the view of a compaction and its commit: in the same scope one of them has a
        stale view and changes nothing, in another scope both win."""
        scope, other = self.at(who), self.at(who if rival is None else rival)
        self.rival = self.fresh(other)
        before = len(self.line.made.get(other, ()))
        report = self.fresh(scope).compact(force=True, by_code=True)
        self.rival = None
        if len(self.line.made.get(other, ())) > before and scope == other:
            assert report.outcome == "deferred"
        else:
            assert report.outcome in ("applied", "ineffective")

    def pin(self, number: int, is_pinned: bool) -> None:
        """A pin holds for every scope that sees the event, whoever set it."""
        seq = self.place(number)
        if not seq:
            return
        hand = self.session(self.at(number)).control
        if is_pinned:
            hand.pin(f"event:{seq}")
            self.line.pins.add(seq)
        else:
            hand.unpin(f"event:{seq}")
            self.line.pins.discard(seq)

    def undo(self, who: int) -> None:
        """The record before the newest one comes back under a new number, or none at all."""
        scope = self.at(who)
        made, hand = self.line.made.get(scope, []), self.session(scope).control
        if not made:
            with pytest.raises(NotFound):
                hand.undo()
            return
        boundary, text = made[-2][1::2] if len(made) > 1 else (0, "")
        self.undoes = True
        hand.undo()
        self.undoes = False
        newest = self.line.newest(scope)
        assert newest
        assert (newest.boundary, newest.text) == (boundary, text)

    def adopt(self, who: int, number: int) -> None:
        """A summary of somebody else that ends with an event of the scope."""
        scope = self.at(who)
        seen = self.line.seen(scope)
        if not seen:
            return
        session, last = self.session(scope), seen[(len(seen) - 1) * number // 7]
        before = len(self.line.made.get(scope, ()))
        with suppress(PolicyError):  # it covers nothing that is not covered yet
            session.control.adopt("It went well so far.", event_id=self.store.event(session.key, str(last)).id)
            newest = self.line.newest(scope)
            assert newest
            assert len(self.line.made[scope]) == before + 1
            assert newest.boundary <= last or self.line.said[newest.boundary - 1].is_control

    def _commit(self, key: Any, checkpoint: Any, **options: Any) -> None:
        if rival := self.rival:
            self.rival = None
            rival.compact(force=True, by_code=True)
        self.commit(key, checkpoint, **options)
        reach = max([checkpoint.boundary, *(excerpt.seq for excerpt in checkpoint.excerpts)])
        made = Made(checkpoint.version, checkpoint.boundary, reach, checkpoint.text)
        line, scope = self.lines[key.session], (key.scope, key.sees)
        line.commit(scope, made, is_undo=self.undoes)
        shown = {seq for seq in line.seen(scope) if seq <= made.boundary and not line.said[seq - 1].is_control}
        self.settled[key.session, scope] = set() if self.undoes else line.pins & shown

    # -- what is said

    def happens(self, what: str, tag: dict[str, str], other: dict[str, str]) -> Iterator[Event]:
        """The events of a move; each holds a word of its own. Times stand still and jump back."""
        time = 100.0 * (self.number % 3)

        def told(make: Any, *parts: Any, into: dict[str, str] = tag, **fields: Any) -> Event:
            return make(*parts, **into, time=time, **fields)  # type: ignore[no-any-return]

        match what:
            case "ask":
                yield told(user, f"Please look at {self.word()} and tell me what is wrong with it.")
            case "task":
                yield told(user, f"New task: let's now switch to {self.word()}, and leave everything else as it is.")
            case "rule":
                yield told(user, f"Never touch {self.word()}. Fix it in another place.")
            case "yes":
                yield told(user, "Yes, go ahead.")
            case "say":
                yield told(assistant, f"I decided to use {self.word()} because it is right. It is done.")
            case "note":
                yield told(injected, f"Reminder: {self.word()} is old.")
            case "control":
                yield told(control, "setting", {"value": self.word()})
            case "done":
                yield told(assistant, "It is done.")
            case "plan" | "plan apart":
                todos = {"todos": [{"content": f"check {self.word()}", "status": "in_progress"}]}
                yield from self.call("todo_write", todos, "The list was saved.", tag, tag if what == "plan" else other)
            case "red":  # a run of tests of one key whose result comes under another
                says = f"FAILED tests/a.py::test_{self.number} - AssertionError\n1 failed, 2 passed in 1s"
                yield from self.call("bash", {"command": f"pytest tests/{self.word()}.py"}, says, tag, other, lines=1)
            case "green":  # it settles every narrower run
                yield from self.call("bash", {"command": "pytest"}, "90 passed in 1s", tag, other, lines=1)
            case "common":  # the same command as others run
                says = "FAILED" if self.number % 2 else "built"
                yield from self.call("bash", {"command": "make all"}, says, tag, other)
            case "edit":
                change = {"path": f"src/{self.word()}.py", "old": "a", "new": "b"}
                yield from self.call("edit_file", change, "edited", tag, other, lines=1)
            case "run":
                yield from self.call("bash", {"command": f"pytest {self.word()}"}, "FAILED", tag, tag)
            case "apart":  # the result comes under another key than the call
                yield from self.call("read", {"path": f"src/{self.word()}.py"}, "row", tag, other)
            case "failed":
                yield from self.call("bash", {"command": f"make {self.word()}"}, "FAILED", tag, other)
            case _:
                yield from self.call("read", {"path": f"src/{self.word()}.py"}, "row", tag, tag)

    def call(
        self, name: str, arguments: dict[str, Any], says: str, tag: dict[str, str], other: dict[str, str],
        lines: int = LINES,
    ) -> Iterator[Event]:  # fmt: skip
        made = ToolCall(f"c{self.number}", name, json.dumps(arguments))
        yield assistant(f"Step {self.number}.", made, **tag)
        word, failed = self.word(), says.startswith("FAILED")
        text = "\n".join(f"{says} {word} line {number} of the output" for number in range(lines))
        if lines == 1:
            text = says
        yield result(made.id, text, name=name, is_error=failed, **other)

    def word(self) -> str:
        self.number += 1
        return f"mk_{self.number}_q"

    # -- what must hold

    def check(self, scope: Scope, name: str) -> None:
        line, session = self.lines[name], self.session(scope, name)
        seen, words, key = line.seen(scope), line.words(scope), session.key
        assert [event.seq for event in self.store.log(key)] == seen
        history = [(one.version, one.boundary, one.text) for one in session.control.history()]
        assert history == [(one.version, one.boundary, one.text) for one in line.made.get(scope, ())]
        assert set(session.control.pins()) == line.pins & set(seen)
        state, facts, units = self.store.covered(key, len(line.said), limit=9_999)
        known = [msgspec.to_builtins(each) for each in (*state.values(), *facts, *units)]
        known += map(msgspec.to_builtins, self.store.context(key, []).state.values())
        assert words_in(known) <= words, "a fact, a state or a unit tells of what the scope cannot see"
        self.check_classes(scope, line, session, seen)
        if (newest := line.newest(scope)) and newest.boundary:
            assert words_in(newest.text) <= line.words(scope, newest.reach), "the checkpoint tells what it may not know"
            opened = session.load(f"compaction:{newest.version}", limit=10**7)
            assert [event.seq for event in opened.events] == [seq for seq in seen if seq <= newest.boundary]
            for seq in [seq for seq in seen if seq <= newest.boundary][:: max(1, newest.boundary // 4)]:
                (event,) = session.load(f"event:{seq}").events
                assert words_in(msgspec.to_builtins(event)) == {line.said[seq - 1].word} - {""}

    def check_classes(self, scope: Scope, line: Line, session: Session, seen: list[int]) -> None:
        entries, made, newest = session.explain(), session.peek(), line.newest(scope)
        assert [entry.seq for entry in entries] == seen, "the classes together are the log, each event once"
        for entry in entries:
            assert entry.status in line.may_be(scope, entry.seq), entry
        shown = [event.seq for event in made.messages if event.seq]
        assert len(shown) == len(set(shown))
        assert set(shown) == {entry.seq for entry in entries if entry.status in ("raw", "demoted")}
        text = json.dumps([msgspec.to_builtins(message) for message in made.messages], ensure_ascii=False)
        assert text.count("<foldmark-checkpoint ") == bool(newest and newest.text)
        assert not newest or json.dumps(newest.text, ensure_ascii=False)[1:-1] in text
        assert words_in(text) <= line.words(scope), "the request shows what the scope does not see"
        assert (made.system, session.system) == (line.systems.get(scope, ""),) * 2, "the system text of another scope"
        kept = {line.said[entry.seq - 1].word for entry in entries if entry.status == "kept"} - {""}
        assert kept <= words_in(text)
        for pin in self.settled.get((session.name, scope), set()) & line.pins:
            assert entries[seen.index(pin)].status == "kept", "a pin that was covered is shown all the same"


def said_of(event: Event) -> Said:
    """The event as the oracle knows it; the design says that an event without a key takes its branch."""
    found = WORD.findall(json.dumps(msgspec.to_builtins(event)))
    return Said(event.scope or event.branch, found[0] if found else "", event.role == "control")


def bare(event: Event) -> Event:
    """An event as its caller holds it."""
    return msgspec.structs.replace(event, id="", seq=0, session="", plain="", chain="", tokens=0)


def is_same(some: list[Event], others: list[Event]) -> bool:
    """Whether both say the same, message by message."""
    return [(event.role, event.parts) for event in some] == [(event.role, event.parts) for event in others]


def goes_on(said: list[Event], offered: list[Event]) -> int:
    """How many messages of the list are at the beginning of what was said."""
    most = min(len(said), len(offered))
    return next((count for count in range(most, 0, -1) if is_same(said[:count], offered[:count])), 0)


def ends(said: list[Event], offered: list[Event]) -> int:
    """How many messages of the list's head end what was said."""
    most = min(len(said), len(offered))
    return next((count for count in range(most, 0, -1) if is_same(said[-count:], offered[:count])), 0)


def words_in(value: Any) -> set[str]:
    return set(WORD.findall(value if isinstance(value, str) else json.dumps(value, default=str)))


A, B = {"scope": "app/a"}, {"scope": "app/b"}
TALK = [("rule", A, A), ("run", A, A), ("say", A, A), ("rule", B, B), ("run", B, B), ("say", B, B)]
CROSSED = [("apart", A, B), ("say", B, A), ("failed", A, B), ("ask", A, A)]
BESIDE = Life([("app/a", "exact"), ("app/b", "exact"), ("", "all")], [("record", TALK * 3, 2), ("compact", 0)])
APART = Life(
    [("app/a", "exact"), ("app/b", "subtree"), ("app", "lineage")],
    [
        ("record", [("apart", A, B), ("say", B, A), ("failed", A, B), ("ask", A, A)] * 4, 0),
        ("compact", 1),
        ("compact", 0),
    ],
)
TWICE = Life([("app", "subtree"), ("app", "exact")], [("record", TALK * 3, 1), ("compact", 0), ("race", 0, None)])
AGAIN = [("record", TALK * 2, 0), ("compact", 0)]
UNDONE = Life(
    [("app/a", "lineage"), ("app", "subtree")],
    [
        *AGAIN,
        *AGAIN,
        ("compact", 1),
        ("undo", 0),
        ("fork", 6),
        ("undo", 0),
        ("undo", 1),
        *AGAIN,
        ("restart",),
        ("undo", 0),
    ],
)
ADOPTED = Life(
    [("app/a", "exact"), ("", "all")],
    [
        ("record", TALK * 3, 0),
        ("adopt", 0, 3),
        ("adopt", 1, 5),
        ("pin", 4, True),
        ("compact", 0),
        ("request", 0, 1, False),
    ],
)
SAME_WORDS = Life(
    [("app/a", "exact"), ("app/b", "exact")],
    [("offer", 0, 7, ["yes"]), ("offer", 1, 7, ["yes"]), ("offer", 0, 7, ["done"]), ("offer", 1, 7, ["done", "yes"])],
)
PROMPTS = Life(
    [("app/a", "exact"), ("app/b", "lineage"), ("", "all")],
    [("record", TALK, 0), ("request", 0, 0, True), ("request", 1, 1, True), ("request", 2, 0, True), ("restart",)],
)
HERS = [("red", A, B), ("green", B, B), ("red", B, B), ("edit", A, B), ("green", B, B), ("plan apart", A, B)]
FIXED = Life(
    [("app/b", "exact"), ("app/a", "exact")],
    [("record", [*TALK * 2, *HERS, ("plan", B, B), ("ask", B, B), ("say", B, B)], 0), ("compact", 0)],
)


@settings(max_examples=100)
@given(scopes=scopes, life=lives, is_on_disk=st.booleans(), has_bar=st.booleans())
@example(BESIDE.scopes, BESIDE.steps, False, True).via("a branch's own names and tasks beside another's")
@example(APART.scopes, APART.steps, True, False).via("calls and results under different keys")
@example(TWICE.scopes, TWICE.steps, True, False).via("two workers in one scope")
@example(UNDONE.scopes, UNDONE.steps, True, False).via("undone before and behind a fork and a restart")
@example(ADOPTED.scopes, ADOPTED.steps, False, False).via("a summary of somebody else")
@example(SAME_WORDS.scopes, SAME_WORDS.steps, False, False).via("two agents that say the same words")
@example(PROMPTS.scopes, PROMPTS.steps, True, False).via("agents with system texts of their own, and a restart")
@example(FIXED.scopes, FIXED.steps, False, True).via("a failure of one key that a run of another settles")
def test_every_scope_sees_shows_and_knows_what_the_table_says(
    scopes: list[Scope], life: list[tuple[Any, ...]], is_on_disk: bool, has_bar: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(scopes, folder if is_on_disk else "", WITH_BAR if has_bar else TINY)
        for step in life:
            world.step(*step)
            for scope in world.scopes:
                world.check(scope, world.name)
        world.restart()
        for name in world.lines:
            for scope in world.scopes:
                world.check(scope, name)
        world.store.close()


def test_the_oracle_tells_the_table() -> None:
    log = ["", "app", "app/a", "app/a/b", "app/ab", "other"]
    table = {
        "exact": ["app/a"],
        "subtree": ["app/a", "app/a/b"],
        "lineage": ["", "app", "app/a", "app/a/b"],
        "all": log,
    }
    for how, shown in table.items():
        assert [key for key in log if sees(("app/a", how), key)] == shown
