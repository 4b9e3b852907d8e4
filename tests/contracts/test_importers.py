"""What every importer promises, over the made-up samples and, where they are, over real sessions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from data import shared
from foldmark import importers
from foldmark.errors import PolicyError, WireError
from foldmark.events import Event, chained, from_json, result, to_json
from foldmark.importers import Imported
from foldmark.wire import WIRES, Wire, tools_of_calls

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
FORMAT_OF = {
    "openai.json": "openai-json",
    "openai.jsonl": "openai-json",
    "anthropic.json": "openai-json",
    "responses.json": "openai-responses-json",
    "gemini.json": "gemini-json",
    "foldmark-events.jsonl": "foldmark-events",
    "claude-code.jsonl": "claude-code",
    "pi.jsonl": "pi",
    "pi-tree.jsonl": "pi",
    "swe-agent-text.traj": "swe-agent",
    "swe-agent-calls.traj": "swe-agent",
    "tau-bench.json": "tau-bench",
    "codex.jsonl": "codex",
    "codex-old.jsonl": "codex",
    "mini-swe-agent.traj.json": "mini-swe-agent",
    "mini-swe-agent-calls.traj.json": "mini-swe-agent",
    "openhands.json": "openhands",
    "openhands-kit.jsonl": "openhands",
    "adk.session.json": "adk",
    "gemini-cli.responses": "gemini-cli",
    "gemini-cli.jsonl": "gemini-cli",
    "inspect.json": "inspect",
    "autogen.json": "autogen",
    "pydantic-ai.json": "pydantic-ai",
    "langchain.json": "langchain",
    "langchain.jsonl": "langchain",
    "langchain-plain.json": "langchain",
    "langfuse.json": "langfuse",
    "intercode.json": "intercode",
    "vivaria.json": "vivaria",
    "aider.md": "aider",
    "claude-code-console.md": "claude-code-console",
    "react.txt": "react",
}
REAL = [
    "claude-code/5c0375b4.jsonl",
    "claude-code/fe5e1c67.jsonl",
    "pi-coding-agent/before-compaction.jsonl",
    "pi-coding-agent/large-session.jsonl",
    "swe-agent/ctf-crypto-katy.traj",
    "swe-agent/ctf-forensics-flash.traj",
    "swe-agent/ctf-web-i_got_id.traj",
    "swe-agent/marshmallow-1867-function-calling-replace.traj",
    "swe-agent/pydicom-1458.traj",
    "tau-bench/gpt-4o-airline.subset.json",
    "mini-swe-agent/github_issue.traj.json",
    "openhands/basic.json",
    "openhands/basic_gui_mode.json",
    "adk/flow_complex_spark.session.json",
    "inspect-ai/browser.json",
    "autogen/self_teaching.session.json",
    "gemini-cli/browser-agent.persistent-session.responses",
    "langfuse-traces/agno-2025-06-11.trace.json",
    "langfuse-traces/beeai-2025-08-01.trace.json",
    "langfuse-traces/claude-agent-2025-12-22.trace.json",
    "langfuse-traces/csharp-agent-with-gemini-2026-03-09.trace.json",
    "langfuse-traces/langgraph-js-2025-10-30.trace.json",
    "langfuse-traces/openai-agents-2025-09-30.trace.json",
    "langfuse-traces/pydantic-ai-tools-2025-12-04.trace.json",
    "intercode/bash_multiturn_gpt-4_fs3.json",
    "intercode/ctf_multiturn_gpt-4_10_turns.json",
    "vivaria/small.messages.json",
    "aider/chat-history.head.md",
    "claude-code-console/bookminder-day-009.md",
    "claude-code-console/bookminder-day-021.md",
    "reflexion/hotpotqa_react_thoughts.txt",
]


def load(name: str) -> bytes:
    found = SAMPLES / name
    return found.read_bytes() if found.exists() else shared(f"data/trajectories/{name}").read_bytes()


def lines_of(imported: Imported) -> Iterator[tuple[Imported, list[Event]]]:
    """Every session of a file with its whole line of events: forks after what they share."""
    stack = [(imported, list(imported.events))]
    while stack:
        session, events = stack.pop()
        yield session, events
        for child in session.children:
            shared_part = events[: child.at] if child.kind == "fork" else []
            stack.append((child.imported, [*shared_part, *child.imported.events]))


def repaired(events: list[Event]) -> list[Event]:
    """The least that makes pairs whole: an answer for every call that has none before the next step."""
    out: list[Event] = []
    waiting: dict[str, None] = {}
    for event in events:
        if event.role == "assistant":
            out += [result(call_id, "(interrupted)") for call_id in waiting]
            waiting = {}
        if event.result is not None:
            waiting.pop(event.result.call_id, None)
        waiting.update((call.id, None) for call in event.calls)
        out.append(event)
    return out + [result(call_id, "(interrupted)") for call_id in waiting]


@pytest.mark.parametrize("name", FORMAT_OF)
def test_a_sample_is_recognised_as_what_it_is(name: str) -> None:
    assert importers.read(load(name), name=name)[0].format == FORMAT_OF[name]


def test_every_format_has_a_sample() -> None:
    assert {known.name for known in importers.FORMATS} == set(FORMAT_OF.values())


@pytest.mark.parametrize("name", [*FORMAT_OF, *REAL])
def test_the_same_file_gives_the_same_sessions(name: str) -> None:
    assert importers.read(load(name)) == importers.read(load(name))


@pytest.mark.parametrize("name", [*FORMAT_OF, *REAL])
def test_every_result_answers_a_call_before_it_and_ids_are_left_empty(name: str) -> None:
    for imported in importers.read(load(name)):
        for _, events in lines_of(imported):
            made: set[str] = set()
            for event in events:
                assert event.id == ""
                made |= {call.id for call in event.calls}
                if event.result is not None:
                    assert event.result.call_id in made


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.NAME)
@pytest.mark.parametrize("name", [*FORMAT_OF, *REAL])
def test_what_was_imported_can_be_sent_after_closing_open_calls(name: str, wire: Wire) -> None:
    for imported in importers.read(load(name)):
        for session, events in lines_of(imported):
            payload = wire.write(session.system, tools_of_calls(events), repaired(events))
            json.dumps(payload, ensure_ascii=False).encode()
            assert wire.validate(payload) == []


@pytest.mark.parametrize("name", [*FORMAT_OF, *REAL])
def test_imported_events_survive_their_json_form(name: str) -> None:
    for imported in importers.read(load(name)):
        for event in imported.events:
            assert from_json(to_json(event)) == event


@pytest.mark.parametrize("name", ["openai.jsonl", "claude-code.jsonl", "pi.jsonl", REAL[2]])
def test_a_grown_file_begins_with_the_events_of_the_shorter_one(name: str) -> None:
    rows = load(name).splitlines(keepends=True)
    # Behind the last fork of the sample, so that the main line only grows.
    for cut in (len(rows) - 3, len(rows) - 1):
        before = chained(importers.read(b"".join(rows[:cut]))[0].events)
        after = chained(importers.read(b"".join(rows))[0].events)
        assert [event.chain for event in after[: len(before)]] == [event.chain for event in before]


@pytest.mark.parametrize("name", ["claude-code.jsonl", "pi.jsonl"])
def test_unknown_types_are_kept_as_control_events_with_one_warning(name: str) -> None:
    (imported,) = importers.read(load(name))
    assert len([line for line in imported.warnings if "unknown type" in line]) == 1
    with pytest.raises(WireError, match="strict"):
        importers.read(load(name), strict=True)


@pytest.mark.parametrize("name", ["openai.jsonl", "claude-code.jsonl", "pi.jsonl"])
def test_a_cut_last_line_is_left_for_the_next_import(name: str) -> None:
    whole = load(name)
    (imported,) = importers.read(whole[:-20])
    assert any("is cut" in line for line in imported.warnings)
    rows = whole.splitlines(keepends=True)
    assert imported.events == importers.read(b"".join(rows[:-1]))[0].events
    with pytest.raises(WireError):
        importers.read(whole[:-20], strict=True)


@pytest.mark.parametrize("name", ["openai.jsonl", "claude-code.jsonl", "pi.jsonl"])
def test_a_broken_line_in_the_middle_is_an_error_that_names_it(name: str) -> None:
    rows = load(name).splitlines(keepends=True)
    with pytest.raises(WireError) as caught:
        importers.read(b"".join([*rows[:2], b'{"broken": \n', *rows[2:]]))
    assert caught.value.path == "line 3"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"\x00\x01\x02", "is binary"),
        (b"once upon a time", "neither JSON nor JSON lines"),
        (b'{"a": 1}', "in no format we know"),
        (b"[]", "in no format we know"),
        (b'{"messages": []}', "holds no message"),
    ],
)
def test_what_is_no_transcript_is_refused_in_words(data: bytes, words: str) -> None:
    with pytest.raises(WireError, match=words) as caught:
        importers.read(data, name="notes.bin")
    assert caught.value.path == "notes.bin"


def test_an_unknown_format_names_those_there_are() -> None:
    with pytest.raises(PolicyError, match=r"choose auto, claude-code, pi, .*, openai-json"):
        importers.read(b"[]", format="word")


def test_bytes_that_are_not_utf8_are_replaced_and_said() -> None:
    (imported,) = importers.read(b'[{"role": "user", "content": "a\xff"}]')
    assert imported.events[0].text == "a�"
    assert any("not UTF-8" in line for line in imported.warnings)


def test_escaped_lone_surrogates_are_read_as_they_are() -> None:
    (imported,) = importers.read(b'[{"role": "user", "content": "a\\ud83d"}]')
    assert imported.events[0].text == "a\ud83d"


def test_two_sessions_of_one_file_never_share_a_name() -> None:
    runs = json.loads(load("tau-bench.json"))
    found = importers.read(json.dumps([runs[0], runs[0]]).encode())
    assert [imported.session for imported in found] == ["tau-bench-1.0", "tau-bench-1.0-2"]
    assert any("got a number" in line for line in found[1].warnings)
