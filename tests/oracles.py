"""What must hold for any input at all, as checks that raise: no crash, no invalid payload, nothing untrue or lost.
Knows nothing of how inputs are made.

Each check takes the bytes of one input and returns a word for what came of it, so that a run can say how many inputs
were refused at the door and how many went all the way.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from typer.testing import CliRunner

from foldmark import doctor, importers, kinds, refs
from foldmark.cli.app import app
from foldmark.errors import BudgetExceeded, NotFound, PolicyError, WireError
from foldmark.events import Event, ToolCall, from_json, to_json
from foldmark.importers import Imported
from foldmark.importing import bring_in
from foldmark.memory import MemoryStore
from foldmark.policy import Policy
from foldmark.redact import redact_json, redactor
from foldmark.session import Session
from foldmark.tokens import count
from foldmark.wire import WIRES, Wire, neutral_tools, overflow
from foldmark.words import distinct, telling, words
from fuzzing import events_of
from wire_pairs import broken_pairs

TIGHT = Policy.coding(
    window=60_000,
    admission={"limit_tokens": 200, "preview_tokens": 100, "inline_bytes": 400, "user_words_tokens": 500},
    cleanup={"keep_results": 1, "keep_rounds": 1, "minimum_tokens": 5, "minimum_share": 0.0},
    budget={"nothing_below": 0, "trigger_tokens": 2_000, "landing_tokens": 600},
    run="manual",
)
"""A policy under which a small conversation is shortened, demoted and compacted like a long one."""


# -- conversations


def check_events(events: Sequence[Event]) -> None:
    for event in events:
        again = from_json(to_json(event))
        assert to_json(again) == to_json(event), "an event is another one behind its JSON form"


def check_requests(session: Session) -> None:
    """The session as it is, and compacted, on every wire."""
    for _ in range(2):
        for wire in WIRES:
            check_request(session, wire)
        session.compact(force=True)
        statuses = [entry.seq for entry in session.explain()]
        assert statuses == [event.seq for event in session.store.log(session.key)], "an event is in no class, or in two"


def check_request(session: Session, wire: Wire) -> None:
    try:
        made = session.peek(wire)
    except BudgetExceeded:
        return
    if not made.messages:
        return
    payload = wire.write(made.system, made.tools, made.messages, max_output=1_000)
    json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
    known = [problem for problem in wire.validate(payload) if not _is_of_caller(problem)]
    assert not known, f"{wire.NAME}: {known[0]}"
    wrong = broken_pairs(wire, payload)
    assert not wrong, f"{wire.NAME}: {wrong[0]}"


def _is_of_caller(problem: Any) -> bool:
    """What is wrong with a tool's own schema, or with nothing at all to send, only the caller can mend."""
    return problem.code == "no_messages" or problem.path.startswith("tools")


def check_conversation(data: bytes) -> str:
    """Any events can be recorded, compacted and sent."""
    events = events_of(data)
    check_events(events)
    session = Session("s", store=MemoryStore(), policy=TIGHT, clock=lambda: 1_000.0)
    session.record(*events)
    check_requests(session)
    return "sent"


def check_follow(data: bytes) -> str:
    """What was sent is known when it comes back, on the wire it went out on."""
    events = events_of(data)
    for wire in WIRES:
        session = Session("s", store=MemoryStore(), policy=TIGHT, clock=lambda: 1_000.0)
        session.record(*events)
        for _ in range(2):
            payload = session.request(wire=wire).payload() if session.peek(wire).messages else {wire.MESSAGES: []}
            found = session.follow(payload[wire.MESSAGES], wire=wire, retry=False)
            assert not found.new, f"{wire.NAME}: {len(found.new)} new, the first a {found.new[0].role}"
            assert found.forked_at is None, f"{wire.NAME}: forked at {found.forked_at}"
            session.compact(force=True)
    return "followed"


# -- importers


def check_import(data: bytes) -> str:
    """A transcript gives sessions that can be kept and sent, or a WireError."""
    try:
        found = importers.read(data, name="fuzz")
    except WireError as error:
        str(error).encode("utf-8", "backslashreplace")
        return "refused"
    again = importers.read(data, name="fuzz")
    assert list(map(_bytes_of, found)) == list(map(_bytes_of, again)), "the same file gives other sessions"
    store = MemoryStore()
    for imported in found[:3]:
        check_events(imported.events)
        bring_in(imported, store, TIGHT)
    for info in store.sessions("local", "local")[:4]:
        check_requests(Session(info.session, store=store, policy=TIGHT, clock=lambda: 1_000.0))
    return "imported"


def _bytes_of(imported: Imported) -> tuple[Any, ...]:
    events = [to_json(event) for event in imported.events]
    children = [_bytes_of(child.imported) for child in imported.children]
    return imported.session, imported.system, json.dumps(imported.tools), events, children, imported.warnings


# -- payloads


def check_payload(data: bytes) -> str:
    """Validators say what is wrong with any JSON value, and readers read it or say where they cannot."""
    try:
        given = json.loads(data)
    except RecursionError:
        return "too deep"
    payload = given.get("payload") if isinstance(given, dict) else given
    name = given.get("wire") if isinstance(given, dict) else ""
    for wire in WIRES:
        if isinstance(payload, dict):
            for suspected in (False, True):
                found = wire.validate(payload, suspected=suspected)
                assert all(problem.path and problem.message for problem in found)
        read = _read(wire, payload)
        overflow(payload)
        if read and name == wire.NAME:
            check_events(read.events)
            neutral_tools(read.tools)
            written = wire.write(read.system, read.tools, read.events, max_output=1_000)
            json.dumps(written)
            again = wire.validate(written)
            assert not [p for p in again if p.code in ("unencodable", "shape")], f"{wire.NAME}: {again[0]}"
    return "read"


def _read(wire: Wire, payload: Any) -> Any:
    messages = payload.get(wire.MESSAGES) if isinstance(payload, dict) else payload
    for message in messages if isinstance(messages, list) else [messages]:
        with suppress(WireError):
            wire.read(message)
    try:
        return wire.read_payload(payload)
    except WireError:
        return None


# -- texts


_RANGE = re.compile(r"^ *… (\w+?)s? ([\d,]+)(?:-([\d,]+))? of ([\d,]+) not shown …$", re.MULTILINE)
CALLS = [
    None,
    ToolCall("c", "bash", '{"command":"pytest -q"}'),
    ToolCall("c", "read", '{"path":"a.py"}'),
    ToolCall("c", "läs", "["),
]


def check_text(data: bytes) -> str:
    """Whatever a tool returned: its preview is shorter, true and the same each time; its outcome is one line."""
    text = data.decode("utf-8", "surrogatepass")
    rng = Random(len(text))
    call, budget = rng.choice(CALLS), rng.choice([80, 150, 400])
    kind = kinds.recognise(text, call)
    shown = kinds.preview(text, call, budget, count)
    assert shown == kinds.preview(text, call, budget, count), f"{kind.name}: another preview the second time"
    shown.encode()
    assert len(shown) <= len(text), f"{kind.name}: {len(shown)} characters stand for {len(text)}"
    assert count(shown) <= budget or len(text) < 600, f"{kind.name}: {count(shown)} tokens, {budget} allowed"
    check_ranges(text, shown, kind.name)
    said = kinds.outcome(text, call)
    assert said == kinds.outcome(text, call)
    said.encode()
    assert len(said.splitlines()) <= 1, f"{kind.name}: the outcome is {len(said.splitlines())} lines"
    assert not (said.startswith("[") and said.endswith("]")), f"{kind.name}: brackets stand round the outcome"
    check_words(text)
    return kind.name


def check_ranges(text: str, shown: str, kind: str) -> None:
    """What is hidden is told in order, and of as many lines as there are."""
    if "not shown" in text or shown == kinds.clean_text(text):
        return
    lines, last = kinds.count_lines(kinds.clean_text(text)), 0
    for word, *numbers in _RANGE.findall(shown):
        first, upto, total = (int((number or numbers[0]).replace(",", "")) for number in numbers)
        assert first <= upto <= total, f"{kind}: {word} {first}-{upto} of {total}"
        if word == "line" and kind in ("text", "log", "command", "trace"):
            assert (total, last < first) == (lines, True), f"{kind}: line {first} of {total} behind {last} of {lines}"
            last = upto


def check_words(text: str) -> None:
    """Pure work on text never fails, whatever the text."""
    head = text[:5_000]
    found = words(head)
    assert set(found) == distinct(head)
    telling(found)
    redact = redactor(b"a key for tests")
    redact(text)
    redact_json(text, redact)
    assert count(head) >= 0
    overflow(head)
    for line in head.split("\n")[:20]:
        for ref in (line, f"event:{line}", f"artifact:{line}", f"compaction:{line}"):
            try:
                found_ref = refs.parse(ref)
            except NotFound:
                continue
            assert found_ref.seq is None or found_ref.seq >= 0
            assert refs.parse(str(found_ref)) == found_ref, ref


# -- doctor


def check_doctor(data: bytes) -> str:
    """Any file is examined or refused in words; a working copy has no known problem, and its copy is the same."""
    try:
        found = doctor.examine(data, name="fuzz", window=50_000)
    except WireError:
        return "refused"
    assert all(problem.path and problem.message and problem.advice for problem in found.problems)
    try:
        mended = doctor.repair(data, name="fuzz", window=50_000)
    except (PolicyError, WireError):
        assert found.format not in doctor.TALKS, f"{found.format}: examined, and not repaired"
        return f"examined {found.format}"
    # What no writer can put right (a size, a lost head, a tool without a name) is still said of the copy.
    errors = [one for one in mended.after.problems if one.severity == "error" and "--repair OUT" in one.advice]
    errors = [one for one in errors if not one.path.startswith("tools")]
    assert not errors, f"{found.format}: the copy has {errors[0].code} at {errors[0].path}"
    if not mended.changes and found.ok:
        assert mended.data == data, f"{found.format}: nothing was wrong, and the bytes are others"
    if mended.data.strip():
        again = doctor.repair(mended.data, name="fuzz", window=50_000)
        assert again.data == mended.data, f"{found.format}: a second repair changes {_first(again.changes)}"
    return f"repaired {found.format}"


def _first(changes: Sequence[doctor.Change]) -> str:
    return f"{changes[0].code} at {changes[0].path}" if changes else "bytes and says nothing"


# -- the command line


ODD_REFS = [
    "event:²",
    "event:" + "9" * 5_000,
    "artifact:1.٣",
    "event:1#L" + "9" * 5_000,
    "compaction:٣",
    "event:1@\ud83d",
    "artifact:1.0",
]


def check_cli(data: bytes) -> str:
    """Every command ends with a documented exit code and without a traceback."""
    codes = []
    with tempfile.TemporaryDirectory() as folder:
        path, db = Path(folder) / "fuzz.json", ["--db", str(Path(folder) / "a.db")]
        path.write_bytes(data)
        codes.append(_run(["doctor", str(path), "--repair", str(Path(folder) / "copy")]))
        codes.append(_run(["import", str(path), *db]))
        if not codes[-1]:
            codes.append(
                _run(["compact", str(path), "--target", "4000", "--out", str(Path(folder) / "next.json"), *db])
            )
            for command in (["sessions"], ["show"], ["show", "--log"], ["explain"], ["search", "the file"], ["export"]):
                codes.append(_run([*command, *db]))
            for ref in ODD_REFS:
                codes.append(_run(["load", ref, *db]))
    return "taken" if not codes[1] else "refused"


def _run(command: list[str]) -> int:
    done = CliRunner().invoke(app, command)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code in (0, 2, 3, 4), f"{command[0]} ends with {done.exit_code}"
    assert "Traceback" not in done.stderr, f"{command[0]}: {done.stderr}"
    return done.exit_code
