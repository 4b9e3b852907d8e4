"""Random lives of a store: every store answers alike, and the promises hold in each of them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from foldmark.artifacts import FileArtifacts, MemoryArtifacts
from foldmark.checkpoint import Checkpoint, Fact, Mark, Unit
from foldmark.errors import StoreError
from foldmark.events import Event, ToolCall, assistant, control, result, user
from foldmark.memory import MemoryStore
from foldmark.refs import parse
from foldmark.reports import Attempt
from foldmark.retrieval import question, rank, read_page, snippets
from foldmark.seeking import Piece, Sought
from foldmark.sqlite import SQLiteStore
from foldmark.store import Key, ScopeState, SessionInfo, Store
from foldmark.words import distinct, words

NAMES = ["main", "side", "École", "ecole"]
SCOPES = [("", "all"), ("a", "exact"), ("a/b", "lineage"), ("a", "subtree")]

texts = st.sampled_from(["walrus", "zebra sleeps", "walrus and zebra", "", "東京 walrus", "a\x00b", "x\ud800y"])
events = st.one_of(
    st.builds(user, texts, id=st.sampled_from(["", "", "u1", "u2"]), scope=st.sampled_from(["", "a", "a/b", "b"])),
    st.builds(assistant, texts, branch=st.sampled_from(["", "a", "c"])),
    st.builds(lambda name: assistant("", ToolCall(name, "bash")), st.sampled_from(["c1", "c2"])),
    st.builds(result, st.sampled_from(["c1", "c2", "c3"]), texts),
    st.builds(control, st.just("note"), st.just({"a": 1})),
)
keys = st.builds(
    lambda name, scope: Key(session=name, scope=scope[0], sees=scope[1]),
    st.sampled_from(NAMES),
    st.sampled_from(SCOPES),
)
numbers = st.integers(0, 12)
operations = st.one_of(
    st.tuples(st.just("add"), keys, st.lists(events, max_size=4)),
    st.tuples(st.just("open"), keys, st.sampled_from(NAMES), st.sampled_from(["fork", "child"]), numbers),
    st.tuples(st.just("fact"), keys, numbers, st.sampled_from(["k1", "k2"]), texts),
    st.tuples(st.just("commit"), keys, st.integers(0, 3), numbers),
    st.tuples(st.just("sent"), keys, numbers),
    st.tuples(st.just("note"), keys),
    st.tuples(st.just("wrote"), keys, st.sampled_from(["h1", "h2"])),
    st.tuples(st.just("delete"), keys, st.booleans()),
    st.tuples(st.just("claim"), numbers),
)


def apply(store: Store, operation: tuple[Any, ...], now: float) -> Any:
    """Carry an operation out; an error is an answer too."""
    try:
        return _apply(store, operation, now)
    except StoreError as error:
        return type(error).__name__, str(error)


def _apply(store: Store, operation: tuple[Any, ...], now: float) -> Any:
    match operation:
        case ("add", key, batch):
            return _add(store, key, batch, now)
        case ("open", key, parent, kind, at):
            info = SessionInfo(session=key.session, kind=kind, parent=parent, parent_seq=at)
            return store.open(key, info=info) if parent != key.session else None
        case ("fact", key, seq, name, value):
            return store.facts(key, [Fact(seq=seq, kind="goal", key=name, value=value, scope=key.scope)])
        case ("commit", key, expected, boundary):
            checkpoint = Checkpoint(
                version=expected + 1, boundary=boundary, text="t", tokens=1, mark=Mark(boundary), kept=(1,)
            )
            return store.commit(key, checkpoint, expected=expected)
        case ("sent", key, seq):
            mark = store.view(key).mark
            return store.sent(key, ScopeState(mark=Mark(max(mark.seq, seq)), last_size=seq), expected=mark)
        case ("note", key):
            return store.note(key, Attempt(time=now, outcome="ineffective"))
        case ("wrote", key, name):
            return store.wrote(key, {name: key.session})
        case ("delete", key, descendants):
            return store.delete(key, descendants=descendants)
        case ("claim", seconds):
            return store.claim(now, float(seconds))
    raise AssertionError(operation)


def _add(store: Store, key: Key, batch: list[Event], now: float) -> Any:
    context = store.context(key, batch)
    new, said = context.new, [event for event in context.new if event.text]
    store.append(
        key,
        new,
        head=context.head,
        pieces=[Piece(event.seq, 0, event.text, head="zebra" if event.calls else "") for event in said],
        units=[Unit(event.seq, 0, event.text, float(len(event.text)), 1) for event in said],
        facts=[
            Fact(seq=event.seq, kind="user", key=str(event.seq), value=event.text, scope=event.key)
            for event in new
            if event.is_user
        ],
        now=now,
    )
    return new, context.known


def look(store: Store, key: Key, chains: list[str], plains: list[str]) -> list[Any]:
    """Everything that can be read of a scope."""
    try:
        context = store.context(key, []) if store.view(key) else None
    except StoreError as error:
        return [type(error).__name__, str(error)]
    assert context is not None
    read: list[Any] = [
        msgspec.structs.replace(store.view(key), secret=b""),  # each store has its own
        store.log(key, 2, 5),
        store.covered(key, 6, limit=3),
        store.checkpoints(key),
        store.written(key, ["h1", "h2", "h3"]),
        store.match(key, chains),
        store.ends(key, plains),
        store.tally(key).words,
        context.calls,
        context.state,
        context.head,
    ]
    for where in ("session", "children", "user"):
        found = store.find(key, words("walrus zebra 東京"), sought=Sought(where=where))  # type: ignore[arg-type]
        hits = {(each.session, each.piece.seq): each for each in found.found}
        read += [hits, found.pieces, found.frequencies]
    return read


@given(st.lists(operations, max_size=25))
def test_memory_and_sqlite_answer_alike_whatever_happens(life: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        memory, sqlite = MemoryStore(), SQLiteStore(Path(folder) / "a.db")
        recorded: list[Event] = []
        for now, operation in enumerate(life, 1):
            answers = [apply(store, operation, float(now)) for store in (memory, sqlite)]
            assert answers[0] == answers[1], operation
            if operation[0] == "add" and isinstance(answers[0][0], tuple):
                recorded += answers[0][0]
        chains = [event.chain for event in recorded if event.chain][-6:]
        plains = [event.plain for event in recorded if event.chain][-3:]
        reopened = SQLiteStore(Path(folder) / "a.db")
        for name in NAMES:
            for scope, sees in SCOPES:
                key = Key(session=name, scope=scope, sees=sees)  # type: ignore[arg-type]
                seen = look(memory, key, chains, plains)
                assert look(sqlite, key, chains, plains) == seen
                assert look(reopened, key, chains, plains) == seen
        assert memory.sessions("local", "local") == sqlite.sessions("local", "local")
        for store in (sqlite, reopened):
            store.close()


@given(st.lists(operations, max_size=25))
def test_the_log_only_grows_and_its_numbers_have_no_holes(life: list[tuple[Any, ...]]) -> None:
    store = MemoryStore()
    before: dict[str, list[Event]] = {}
    for now, operation in enumerate(life, 1):
        apply(store, operation, float(now))
        if operation[0] == "delete":
            before.clear()
        for info in store.sessions("local", "local"):
            log = store.log(Key(session=info.session))
            known = before.get(info.session, [])
            assert log[: len(known)] == known
            assert [event.seq for event in log] == list(range(1, len(log) + 1))
            before[info.session] = log


@given(st.lists(events, max_size=12), st.lists(events, max_size=6))
def test_recording_the_same_events_with_ids_again_changes_nothing(first: list[Event], more: list[Event]) -> None:
    named = [msgspec.structs.replace(event, id=f"n{number}") for number, event in enumerate([*first, *more])]
    key, store = Key(session="main"), MemoryStore()
    for batch in (named[: len(first)], named):
        context = store.context(key, batch)
        store.append(key, context.new, head=context.head, now=1.0)
    assert [event.id for event in store.log(key)] == [event.id for event in named]


@given(st.text(max_size=300))
def test_any_text_is_found_by_itself(text: str) -> None:
    store, key = MemoryStore(), Key(session="main")
    context = store.context(key, [user(text)])
    store.append(key, context.new, head=0, pieces=[Piece(1, 0, text)], now=1.0)
    asked = question(text, 1.0)
    found = snippets(rank(store.find(key, asked.terms), asked), asked)
    assert len(found) == bool(distinct(text))


@given(
    st.lists(st.sampled_from(["a\n", "long line of words\n", "\n", "é東🙂", "\r\n", "x" * 50]), max_size=60),
    st.integers(1, 40),
    st.integers(1, 70),
    st.integers(0, 70),
)
def test_every_place_gives_the_same_lines_and_pages(parts: list[str], limit: int, first: int, count: int) -> None:
    text = "".join(parts)
    data = text.encode()
    lines = data.splitlines(keepends=True) if b"\r" not in data else [*data.replace(b"\n", b"\n\0").split(b"\0")]
    lines = [line for line in lines if line]
    with tempfile.TemporaryDirectory() as folder:
        for place in (MemoryArtifacts(), FileArtifacts(folder)):
            sha256 = place.put("t", data)
            assert place.size("t", sha256) == (len(data), len(lines))
            assert place.read_lines("t", sha256, first, first + count) == b"".join(lines[first - 1 : first + count])
            page, out = read_page(place, "t", sha256, parse("artifact:1"), limit), ""
            while True:
                assert len(page.text) <= limit
                out += page.text
                if not page.next:
                    break
                page = read_page(place, "t", sha256, parse(page.next), limit)
            assert out == text
