"""The six promises, each as a property that random logs try to break, on both stores."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark import MemoryStore, Policy, Session, SQLiteStore
from foldmark.drafts import payload_bytes
from foldmark.events import Event, ToolCall, assistant, control, injected, result, user
from foldmark.wire import anthropic, openai_chat
from making import long_session
from pairs import pair_errors

WORDS = [
    "charge",
    "retry",
    "ledger",
    "port 8443",
    "src/pay/idem.py",
    "never",
    "must",
    "error: timeout",
    "done",
    "9f2c41ab",
]
lines = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)


@st.composite
def steps(draw: Any) -> list[Event]:
    """One thing that an agent's log may go on with: words, parallel calls, late or lost results, control records."""
    number = draw(st.integers(0, 10**9))
    text = draw(lines)
    kind = draw(
        st.sampled_from(["user", "say", "call", "call", "call", "parallel", "lost", "orphan", "note", "control"])
    )
    if kind == "user":
        return [user(text)]
    if kind == "say":
        return [assistant(text)]
    if kind == "control":
        return [control("change", {"n": number})]
    if kind == "note":
        return [injected(text)]
    if kind == "orphan":
        return [result(f"ghost{number}", text)]
    count = 3 if kind == "parallel" else 1
    calls = [
        ToolCall(f"c{number}_{n}", draw(st.sampled_from(["read", "bash", "pay"])), json.dumps({"path": text}))
        for n in range(count)
    ]
    answers = [
        result(c.id, "\n".join(f"{text} row {n}" for n in range(draw(st.integers(1, 60)))), name=c.name) for c in calls
    ]
    if kind == "lost":
        answers = []
    return [assistant(text, *calls), *draw(st.permutations(answers))]


logs = st.lists(steps(), min_size=4, max_size=60).map(lambda found: [user("Begin."), *itertools.chain(*found)])
POLICY = Policy.coding(
    budget={"target_tokens": 1_200}, admission={"limit_tokens": 200, "inline_bytes": 300}, window=9_000
)


def fresh(policy: Policy = POLICY) -> Session:
    clock = itertools.count(1_000, 5)
    return Session("s", store=MemoryStore(), policy=policy, clock=lambda: float(next(clock)))


def chunks(events: list[Event], size: int) -> list[list[Event]]:
    return [events[at : at + size] for at in range(0, len(events), size)]


@given(logs, st.integers(1, 9))
def test_nothing_is_lost(events: list[Event], size: int) -> None:
    made = fresh()
    for chunk in chunks(events, size):
        made.record(*chunk)
        made.request(wire=openai_chat)
    log = made.store.log(made.key)
    assert len(log) == len(events)
    for offered, stored in zip(events, log, strict=True):
        loaded = made.load(f"event:{stored.seq}").events[0]
        assert loaded == stored
        if stored.artifacts and offered.result:
            body = made.artifacts.read("local", stored.artifacts[0].sha256).decode()
            assert body == offered.result.text
        else:
            assert loaded.parts == offered.parts


@given(logs, st.integers(1, 9), st.sampled_from([openai_chat, anthropic]))
def test_what_goes_out_is_valid_and_fits(events: list[Event], size: int, wire: Any) -> None:
    made = fresh()
    for chunk in chunks(events, size):
        made.record(*chunk)
        request = made.request(wire=wire)
        payload = request.payload()
        assert pair_errors(payload) == []
        assert request.tokens.total <= request.ceiling
        json.dumps(payload, ensure_ascii=False).encode("utf-8")


@given(logs, st.integers(1, 5))
def test_every_event_is_in_exactly_one_class_and_the_report_names_every_break(events: list[Event], size: int) -> None:
    made = fresh()
    last: tuple[bytes, ...] = ()
    for chunk in chunks(events, size):
        made.record(*chunk)
        request = made.request(wire=openai_chat)
        entries = made.explain()
        assert [entry.seq for entry in entries] == [event.seq for event in made.store.log(made.key)]
        shown = {event.seq for event in request.messages if event.seq}
        assert shown <= {entry.seq for entry in entries if entry.status in ("raw", "demoted", "kept")}
        stable = tuple(repr(event.parts).encode() for event in request.messages[: request.stable])
        if last and stable[: len(last)] != last:
            assert request.report.epoch, "the prefix changed and no epoch is named"
        last = _settled(made, stable)


def _settled(made: Session, stable: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Without calls that still wait: their marker may be replaced by the result when it comes."""
    waiting = any(event.role == "tool" and not event.seq for event in made.peek(openai_chat).messages)
    return () if waiting else stable


@given(logs)
def test_compacting_twice_at_once_changes_nothing_the_second_time(events: list[Event]) -> None:
    made = fresh()
    made.record(*events)
    first = made.compact(force=True)
    before = payload_bytes(made.request(wire=openai_chat).payload())
    second = made.compact()
    assert second.outcome in ("not_due", "ineffective")
    assert payload_bytes(made.request(wire=openai_chat).payload()) == before
    assert first.outcome in ("applied", "ineffective")


def test_between_compactions_bytes_are_a_prefix_of_the_next_bytes() -> None:
    made = fresh(Policy.coding())
    events = long_session(40, 30)
    made.record(*events[:41])
    last = b""
    for at in range(41, len(events), 2):
        made.record(*events[at : at + 2])
        request = made.request(window=128_000, wire=openai_chat)
        now = payload_bytes(request.payload()).removesuffix(b"]}")
        assert now.startswith(last) or request.report.epoch
        last = now


@pytest.mark.parametrize("backend", ["memory", "sqlite"])
@settings(max_examples=15)
@given(events=logs)
def test_a_crash_before_the_commit_leaves_the_old_state(backend: str, events: list[Event]) -> None:
    class Crash(Exception):
        pass

    with TemporaryDirectory() as folder:
        store: Any = MemoryStore() if backend == "memory" else SQLiteStore(Path(folder) / "a.db")
        made = Session("s", store=store, policy=POLICY, clock=lambda: 1_000.0)
        made.record(*events)
        made.request(wire=openai_chat)
        before = _state(made)
        real = store.commit

        def commit(*_: Any, **__: Any) -> None:
            raise Crash

        store.commit = commit
        with pytest.raises(Crash):
            _force(made)
        store.commit = real
        assert _state(made) == before
        store.close()


def _state(made: Session) -> tuple[Any, ...]:
    """Everything but the notes of attempts, which are written apart."""
    view = msgspec.structs.replace(made.store.view(made.key), attempts=())
    return view, made.store.log(made.key), made.control.history()


def _force(made: Session) -> None:
    report = made.compact(force=True)
    if report.outcome != "applied":  # nothing to cover: no commit was tried, so nothing could crash
        made.store.commit(made.key, None, expected=0)  # type: ignore[arg-type]


def test_ten_compactions_keep_the_first_constraint_and_the_last_value_wins() -> None:
    made = fresh(Policy.coding(budget={"target_tokens": 6_000}))
    rule = "Never touch the schema of the ledger table, not even its comments."
    made.record(user(f"Fix the duplicate charges. {rule}"))
    events = long_session(150, 30)[1:]
    applied = 0
    for at in range(0, len(events), 30):
        made.record(*events[at : at + 30])
        applied += made.compact(force=True).outcome == "applied"
        text = "\n".join(message.text for message in made.request(window=128_000, wire=openai_chat).messages)
        assert rule in text
    assert applied == 10
    versions = [checkpoint.version for checkpoint in made.control.history()]
    assert versions == list(range(1, 11))
    boundaries = [checkpoint.boundary for checkpoint in made.control.history()]
    assert boundaries == sorted(boundaries)


@pytest.mark.parametrize(("demote", "least"), [(True, 0), (False, 3)])
def test_a_loop_of_sixty_rounds_keeps_the_question_and_never_passes_the_window(demote: bool, least: int) -> None:
    made = fresh(Policy.coding(window=24_000, cleanup={"demote": demote, "superseded": demote}))
    made.record(user("Why does the retry charge twice?"))
    events = long_session(60, 40)[1:]
    compactions = 0
    for at in range(0, len(events), 2):
        made.record(*events[at : at + 2])
        request = made.request(wire=openai_chat)
        compactions += request.report.outcome == "applied"
        assert request.tokens.total <= request.ceiling <= 24_000
        assert any("Why does the retry charge twice?" in message.text for message in request.messages)
        assert not [change for change in request.report.changes if change.status == "left_out"]
    assert compactions >= least
