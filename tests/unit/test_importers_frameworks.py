"""The importers of mini-swe-agent, OpenHands, ADK, Gemini CLI, Inspect, AutoGen, LangChain and pydantic-ai."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data import shared
from foldmark import importers
from foldmark.errors import WireError
from foldmark.events import Event, Image, Opaque, Reasoning, Text, ToolCall, Usage, to_json
from foldmark.importers import Imported
from foldmark.importers.values import seconds
from foldmark.importing import bring_in
from foldmark.memory import MemoryStore

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
NAMES = [
    "adk.session.json",
    "autogen.json",
    "codex-old.jsonl",
    "codex.jsonl",
    "gemini-cli.jsonl",
    "gemini-cli.responses",
    "inspect.json",
    "langchain-plain.json",
    "langchain.json",
    "langchain.jsonl",
    "mini-swe-agent-calls.traj.json",
    "mini-swe-agent.traj.json",
    "openhands-kit.jsonl",
    "openhands.json",
    "pydantic-ai.json",
]
SIGNED = {"type": "thinking", "thinking": "Look first.", "signature": "c2ln"}


def sample(name: str) -> Imported:
    return importers.read((SAMPLES / name).read_bytes(), name=name)[0]


def read(value: Any, **options: Any) -> Imported:
    return importers.read(json.dumps(value).encode(), **options)[0]


def told(imported: Imported) -> list[tuple[str, str, str]]:
    """Role, origin and words of every event that is shown."""
    return [(event.role, event.origin, event.text) for event in imported.events if event.role != "control"]


def calls(imported: Imported) -> dict[str, tuple[str, str]]:
    return {call.id: (call.name, call.arguments) for event in imported.events for call in event.calls}


def results(imported: Imported) -> dict[str, tuple[str, bool]]:
    found = [event.result for event in imported.events if event.result]
    return {result.call_id: (result.text, result.is_error) for result in found}


def step(imported: Imported, at: int = 0) -> Event:
    return [event for event in imported.events if event.role == "assistant"][at]


# -- every format


def rows_of(name: str) -> tuple[int, Callable[[int], bytes]]:
    """How many rows a sample has, and the file of its first n."""
    data = (SAMPLES / name).read_bytes()
    if name.endswith((".jsonl", ".responses")):
        rows = data.splitlines(keepends=True)
        return len(rows), lambda count: b"".join(rows[:count])
    value = json.loads(data)
    holder = value["samples"][0] if "samples" in value else value
    if isinstance(holder, list):
        return len(holder), lambda count: json.dumps(holder[:count]).encode()
    key = "messages" if "messages" in holder else "events"

    def cut(count: int) -> bytes:
        short = {**holder, key: holder[key][:count]}
        return json.dumps({**value, "samples": [short]} if "samples" in value else short).encode()

    return len(holder[key]), cut


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_record_gives_one_warning_and_is_an_error_when_strict(name: str) -> None:
    imported = sample(name)
    assert len([line for line in imported.warnings if "unknown type" in line]) == 1
    with pytest.raises(WireError, match="strict"):
        importers.read((SAMPLES / name).read_bytes(), strict=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_grows_row_by_row_goes_on_in_its_session(name: str) -> None:
    """A step may be read in several pieces; what was taken back, and only that, makes a fork."""
    count, cut = rows_of(name)
    whole = sample(name)
    store = MemoryStore()
    forks = 0
    for length in range(1, count + 1):
        for imported in attempt(cut(length), whole.format)[:1]:
            _, brought = bring_in(imported, store, session="grown")
            forks += brought.forked_at is not None
    assert forks == sum(child.kind == "fork" for child in whole.children if whole.format != "autogen")
    assert brought.new + brought.known == len(whole.events)


WRONG = [None, 0, 1.5, True, "", "x", [], ["x"], [None], {}, {"a": 1}, {"type": "text"}, [{}], [[]]]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    held = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [*([path] if path else []), *(place for key, inner in held for place in places(inner, (*path, key)))]


def put(value: Any, path: tuple[Any, ...], wrong: Any) -> Any:
    if not path:
        return wrong
    if isinstance(value, dict):
        return {**value, path[0]: put(value[path[0]], path[1:], wrong)}
    return [put(inner, path[1:], wrong) if at == path[0] else inner for at, inner in enumerate(value)]


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_whatever_a_field_holds_the_answer_is_events_or_the_place_of_the_error(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    text = (SAMPLES / name).read_text()
    in_lines = name.endswith((".jsonl", ".responses"))
    value = [json.loads(line) for line in text.splitlines()] if in_lines else json.loads(text)
    spoiled = put(value, data.draw(st.sampled_from(places(value))), data.draw(st.sampled_from(WRONG)))
    file = "\n".join(json.dumps(row) for row in spoiled) if in_lines else json.dumps(spoiled)
    found = attempt(file.encode(), sample(name).format)
    assert all(to_json(event) for imported in found for event in imported.events)


def attempt(data: bytes, format: str) -> list[Imported]:
    """The sessions of a file; none when reading it fails with an error that names a place."""
    try:
        return importers.read(data, format=format)
    except WireError as error:
        if not error.path:
            raise
        return []


def mini(**row: Any) -> dict[str, Any]:
    return {"trajectory_format": "mini-swe-agent-1.1", "messages": [row]}


def openhands(**row: Any) -> list[dict[str, Any]]:
    return [{"id": 1, "source": "agent", **row}]


def adk(content: Any) -> dict[str, Any]:
    return {"id": "s", "events": [{"author": "a", "invocation_id": "i", "content": content}]}


def inspect(**message: Any) -> dict[str, Any]:
    return {"eval": {}, "samples": [{"messages": [message]}]}


def autogen(content: Any) -> list[dict[str, Any]]:
    return [{"mode": "create", "messages": [{"type": "AssistantMessage", "content": content}], "response": {}}]


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (mini(role="tool", content="x"), "messages[0].tool_call_id"),
        (mini(role="user", content=1), "messages[0].content"),
        (openhands(action="run", tool_call_metadata={"x": 1}), "[0].tool_call_metadata.tool_call_id"),
        (openhands(action="message", args="x"), "[0].args"),
        (openhands(kind="ActionEvent", tool_name="x"), "[0].tool_call_id"),
        (adk(1), "events[0].content"),
        (adk({"parts": [{"function_call": {}}]}), "events[0].content.parts[0].name"),
        ({"sessionId": "s", "projectHash": "p", "messages": [1]}, "messages[0]"),
        ({"method": "generateContent", "response": {"candidates": [1]}}, "line 1 response[0].candidates[0]"),
        (inspect(role="tool", content="x"), "samples[0].messages[0].tool_call_id"),
        (autogen([{}]), "[0].messages[0].content[0].name"),
        ([{"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "f"}]}], "[0].parts[0].tool_call_id"),
        ([{"type": "tool", "data": {"content": "x"}}], "[0].data.tool_call_id"),
        ([{"type": "human", "data": {"content": 1}}], "[0].data.content"),
        ([{"type": "ai", "content": [{}], "tool_calls": []}], "[0].content[0].type"),
    ],
)
def test_a_known_record_that_cannot_be_read_names_its_place(value: Any, path: str) -> None:
    with pytest.raises(WireError) as caught:
        read(value)
    assert caught.value.path == path


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_a_clock_time_without_a_zone_means_the_same_everywhere(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert seconds("2026-01-05T08:00:00") == 1767600000.0
        assert seconds("2026-01-05T08:00:00+09:00") == 1767567600.0
        assert seconds("2026-01-05T08:00:00Z") == 1767600000.0
    finally:
        monkeypatch.undo()
        time.tzset()


# -- mini-swe-agent


def test_a_mini_swe_agent_action_becomes_a_call_and_the_next_user_row_its_result() -> None:
    imported = sample("mini-swe-agent.traj.json")
    assert (imported.session, imported.system) == ("garden__gate-1", "Answer with one command in a fence.")
    assert calls(imported)["action_2"] == ("bash", '{"command":"python gate.py"}')
    assert calls(imported)["action_6"][1] == '{"command":"cat > gate.py <<\'EOF\'\\nopen_gate()\\nEOF"}'
    assert [is_error for _, is_error in results(imported).values()] == [True, False, False]
    assert step(imported, 2).text == "THOUGHT: Now I mend it.\n\nThat is all."
    assert (step(imported).usage, step(imported).model) == (Usage(120, 20, 100), "gpt-5")
    assert step(imported).time == 1767225600.5


def test_mini_swe_agent_tells_the_user_from_the_program_and_closes_a_submission() -> None:
    imported = sample("mini-swe-agent.traj.json")
    users = [(event.origin, event.text) for event in imported.events if event.role == "user"]
    assert users == [
        ("user", "Fix the gate script."),
        ("injected", "Please give exactly ONE command."),
        ("user", "Interrupted by user: paint it green too."),
    ]
    assert results(imported)["action_10"] == ("diff --git a/gate.py b/gate.py", False)


@pytest.mark.parametrize(
    "content",
    ["```bash\nls\n```\n```bash\npwd\n```", "no command", "```python\nprint()\n```", "say ```bash inline```"],
)
def test_a_mini_swe_agent_text_without_exactly_one_command_is_words(content: str) -> None:
    rows = [{"role": "user", "content": "x"}, {"role": "assistant", "content": content}]
    imported = read({"messages": rows, "trajectory_format": "mini-swe-agent-1"})
    assert imported.events[1].parts == (Text(content),)


def test_mini_swe_agent_calls_of_both_apis_are_paired() -> None:
    imported = sample("mini-swe-agent-calls.traj.json")
    assert step(imported).parts[0] == Reasoning("Look first.", "anthropic", SIGNED)
    assert list(calls(imported)) == ["call_1", "call_2", "call_3"]
    assert [is_error for _, is_error in results(imported).values()] == [False, True, False]
    assert imported.events[-1].meta == {"control": "exit"}
    assert step(imported, 1).usage == Usage(50, 9)


# -- OpenHands


def test_openhands_actions_of_one_reply_are_one_step_with_its_usage() -> None:
    imported = sample("openhands.json")
    assert (imported.system, [tool["name"] for tool in imported.tools]) == ("You keep a garden.", ["execute_bash"])
    first = step(imported)
    assert (first.text, [call.id for call in first.calls]) == ("I look in two places.", ["call_1", "call_2"])
    assert (first.usage, first.model) == (Usage(100, 20, 50, 10), "claude-sonnet")
    assert results(imported)["call_1"] == ("beds\n[The command completed with exit code 0.]", False)
    assert results(imported)["call_2"][1]


def test_openhands_text_actions_become_calls_with_ids_from_their_events() -> None:
    imported = sample("openhands.json")
    assert calls(imported)["action_9"] == ("run_ipython", '{"code":"count(beds)"}')
    assert results(imported)["action_9"] == ("2", False)
    assert step(imported, 1).text == "Count in code."


def test_an_openhands_delegate_is_a_child_session_of_its_call() -> None:
    imported = sample("openhands.json")
    (child,) = imported.children
    assert (child.kind, child.call_id) == ("child", "action_11")
    assert calls(child.imported) == {"action_12": ("browse", '{"url":"https://seeds.example"}')}
    assert results(imported)["action_11"] == ("Beans cost 2 euro.", False)


def test_openhands_context_commands_of_the_user_and_condensations_are_injected() -> None:
    injected = [text for _, origin, text in told(sample("openhands.json")) if origin == "injected"]
    assert injected == [
        "The garden lies by the river.",
        "The user ran `git status`.",
        "clean",
        "Two beds were counted.",
    ]


@pytest.mark.parametrize(
    ("extras", "is_error"),
    [
        ({"metadata": {"exit_code": -1}}, False),
        ({"metadata": {"exit_code": 1}}, True),
        ({"error": True}, True),
        ({}, False),
    ],
)
def test_an_openhands_command_that_still_runs_has_not_failed(extras: dict[str, Any], is_error: bool) -> None:
    rows = [
        {"id": 1, "source": "agent", "action": "run", "args": {"command": "x"}},
        {"id": 2, "source": "agent", "observation": "run", "cause": 1, "content": "", "extras": extras},
    ]
    assert results(read(rows))["action_1"][1] is is_error


def test_an_openhands_action_whose_reply_was_left_out_keeps_its_call() -> None:
    about = {"tool_call_id": "call_1", "function_name": "execute_bash"}
    rows = [
        {"id": 1, "source": "agent", "action": "run", "args": {"command": "x"}, "tool_call_metadata": about},
        {"id": 2, "source": "agent", "observation": "run", "cause": 1, "content": "y", "extras": {}},
    ]
    imported = read(rows)
    assert calls(imported) == {"call_1": ("execute_bash", '{"command":"x"}')}
    assert results(imported) == {"call_1": ("y", False)}


def test_openhands_results_hold_a_run_a_line_and_older_ones_pairs() -> None:
    action = {"id": 1, "source": "agent", "action": "run", "args": {"command": "x"}}
    seen = {"id": 2, "source": "agent", "observation": "run", "cause": 1, "content": "y", "extras": {}}
    rows = [{"instance_id": "a", "history": [action, seen]}, {"instance_id": "b", "history": [[action, seen]]}]
    found = importers.read("\n".join(json.dumps(row) for row in rows).encode())
    assert [imported.session for imported in found] == ["a", "b"]
    assert found[0].events == found[1].events


def test_events_of_the_openhands_kit_are_read_too() -> None:
    imported = sample("openhands-kit.jsonl")
    first = step(imported)
    assert first.parts == (
        Reasoning("Look first.", "anthropic", SIGNED),
        Text("I look."),
        ToolCall("call_1", "terminal", '{"command": "ls"}'),
        ToolCall("call_2", "terminal", '{"command":"ls shed"}'),
    )
    assert results(imported) == {"call_1": ("beds", False), "call_2": ("no shed", True)}
    assert [text for _, origin, text in told(imported) if origin == "injected"] == [
        "The garden lies by the river.",
        "One place was listed.",
        "Please go on.",
    ]


# -- ADK


def test_adk_calls_without_ids_are_answered_by_the_oldest_of_their_name() -> None:
    imported = sample("adk.session.json")
    assert list(calls(imported)) == ["adk-1", "call_e2_2"]
    assert results(imported) == {"adk-1": ("dry", False), "call_e2_2": ("sensor 2 is broken", True)}


def test_an_adk_step_keeps_thoughts_signatures_author_branch_and_usage() -> None:
    imported = sample("adk.session.json")
    first = step(imported)
    assert first.parts[:2] == (
        Reasoning("Both at once.", "gemini", {"text": "Both at once.", "thought": True}),
        Reasoning("", "gemini", {"thoughtSignature": "c2ln"}),
    )
    assert (first.meta, first.usage, first.model) == ({"author": "gardener"}, Usage(100, 25, 40), "gemini-3-pro")
    assert step(imported, 1).branch == "gardener/waterer"
    assert imported.events[0].parts[1] == Image(media_type="image/png", data="iVBORw0KGgo=")


def test_a_rewound_adk_invocation_is_a_fork_and_a_compaction_is_injected() -> None:
    imported = sample("adk.session.json")
    (fork,) = imported.children
    assert [event.text for event in fork.imported.events] == ["Flood it.", "Flooding."]
    assert fork.at == 7
    assert [event.text for event in imported.events if event.meta.get("foreign")] == ["Bed 1 is dry, sensor 2 broken."]


def test_adk_events_in_snake_case_and_one_a_line_are_the_same() -> None:
    def row(key: str, author: str, part: dict[str, Any], role: str = "model") -> dict[str, Any]:
        return {"author": author, "invocation_id": "i", "id": key, "content": {"role": role, "parts": [part]}}

    rows = [
        row("a", "user", {"text": "x"}, "user"),
        row("b", "m", {"function_call": {"name": "f", "args": {}}}),
        row("c", "m", {"function_response": {"name": "f", "response": {"status": "error"}}}, "user"),
    ]
    in_lines = importers.read("\n".join(json.dumps(row) for row in rows).encode())[0]
    assert in_lines.events == read({"id": "s", "events": rows}).events
    assert results(in_lines) == {"call_b_0": ('{"status":"error"}', True)}


# -- Gemini CLI


def test_the_chunks_of_a_recorded_reply_are_one_step() -> None:
    imported = sample("gemini-cli.responses")
    first = step(imported)
    assert first.parts == (
        Text("I ask the scout."),
        Reasoning("", "gemini", {"thoughtSignature": "c2ln"}),
        ToolCall("c1", "invoke_agent", '{"agent_name":"scout","prompt":"Find the beds."}'),
    )
    assert first.usage == Usage(100, 22, 60)
    assert (step(imported, 1).text, step(imported, 1).meta) == ("There are two beds.", {"stop": "MAX_TOKENS"})


def test_replies_of_a_sub_agent_are_a_child_session_and_its_report_the_result() -> None:
    imported = sample("gemini-cli.responses")
    (child,) = imported.children
    assert told(child.imported) == [
        ("user", "injected", "Find the beds."),
        ("assistant", "agent", ""),
        ("assistant", "agent", ""),
    ]
    assert list(calls(child.imported)) == ["c2", "c3"]
    assert results(imported) == {"c1": ("Two beds.", False)}


def test_a_gemini_session_takes_each_message_as_its_newest_line_has_it() -> None:
    imported = sample("gemini-cli.jsonl")
    assert imported.session == "garden-gemini"
    assert told(imported)[0] == ("user", "injected", "<session_context>\nToday is Sunday.\n</session_context>")
    first = step(imported)
    assert first.parts[0] == Reasoning("Looking: The beds first.", "gemini")
    assert (first.usage, first.model) == (Usage(200, 24, 150), "gemini-3-pro")
    assert results(imported) == {
        "read-1": ("bed 1, bed 2", False),
        "read-2": ("File not found: shed", True),
        "read-3": ("The user cancelled.", True),
    }


def test_rewound_gemini_messages_are_a_fork() -> None:
    (fork,) = sample("gemini-cli.jsonl").children
    assert [event.text for event in fork.imported.events] == ["Remove bed 2.", "Removed."]


def test_a_gemini_session_in_one_object_is_the_same_as_in_lines() -> None:
    rows = [json.loads(line) for line in (SAMPLES / "gemini-cli.jsonl").read_text().splitlines()]
    newest = {row["id"]: row for row in rows if "id" in row and row["id"] not in ("m6", "m7")}
    value = {"sessionId": "garden-gemini", "projectHash": "f00d", "messages": list(newest.values())}
    assert told(read(value)) == told(sample("gemini-cli.jsonl"))


def test_a_saved_gemini_chat_is_a_list_of_contents() -> None:
    call, answer = {"name": "f", "args": {}}, {"name": "f", "response": {"output": "one"}}
    rows = [
        {"role": "user", "parts": [{"text": "x"}]},
        {"role": "model", "parts": [{"functionCall": call}, {"functionCall": call}]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": answer},
                {"functionResponse": {**answer, "response": {"output": "two"}}},
            ],
        },
        {"role": "model", "parts": [{"text": "done", "thoughtSignature": "c2ln"}]},
    ]
    imported = read(rows)
    assert imported.format == "gemini-cli"
    assert results(imported) == {"call_1_0": ("one", False), "call_1_1": ("two", False)}
    assert imported.events[-1].parts == (Text("done", {"text": "done", "thoughtSignature": "c2ln"}),)
    assert read({"history": rows}).events == imported.events


# -- Inspect


def test_an_inspect_sample_is_a_session_with_its_tools_and_usage() -> None:
    imported = sample("inspect.json")
    assert (imported.session, imported.wire) == ("garden-sample-1", "anthropic")
    assert (imported.system, [tool["name"] for tool in imported.tools]) == ("You keep a garden.", ["scout"])
    first = step(imported)
    assert first.parts[0] == Reasoning(
        "Ask the scout.", "anthropic", {"type": "thinking", "thinking": "Ask the scout.", "signature": "c2ln"}
    )
    assert (first.usage, first.time) == (Usage(110, 5, 80, 20), 1769940002.0)
    assert results(imported) == {"call_1": ("Two beds.", False), "call_2": ("no bed 9", True)}
    assert imported.events[-1].text == "There are two beds."


def test_what_an_inspect_solver_said_is_injected_and_each_sample_stands_alone() -> None:
    first, second = importers.read((SAMPLES / "inspect.json").read_bytes())
    assert [text for _, origin, text in told(first) if origin == "injected"] == ["Please proceed to the next step."]
    assert [(origin, text) for role, origin, text in told(second) if role == "user"] == [
        ("user", "Say hello."),
        ("injected", "Once more."),
    ]
    assert second.session == "ev1-2-1"
    assert any("out of seeds" in line for line in second.warnings)


@pytest.mark.parametrize("is_nested", [False, True])
def test_an_inspect_sub_agent_is_a_child_session_of_its_call(is_nested: bool) -> None:
    value = json.loads((SAMPLES / "inspect.json").read_text())
    if is_nested:
        events = value["samples"][0]["events"]
        tool = {**events[-1], "events": [events[2]]}
        del tool["agent_span_id"]
        value["samples"][0]["events"] = [events[0], tool]
    (child,) = read(value).children
    assert (child.kind, child.call_id) == ("child", "call_1")
    assert [text for _, _, text in told(child.imported)] == ["count", "Two beds."]


@pytest.mark.parametrize(
    ("reported", "whole"),
    [
        ({"input_tokens": 10, "output_tokens": 5, "total_tokens": 115, "input_tokens_cache_read": 100}, 110),
        ({"input_tokens": 110, "output_tokens": 5, "total_tokens": 115, "input_tokens_cache_read": 100}, 110),
        ({"input_tokens": 110, "output_tokens": 5}, 110),
    ],
)
def test_the_whole_prompt_of_an_inspect_call_holds_its_cached_tokens(reported: dict[str, int], whole: int) -> None:
    message = {"id": "m", "role": "assistant", "content": "x"}
    event = {"event": "model", "output": {"choices": [{"message": message}], "usage": reported}}
    imported = read({"eval": {}, "samples": [{"id": 1, "messages": [message], "events": [event]}]})
    usage = imported.events[0].usage
    assert usage is not None
    assert usage.input == whole


# -- AutoGen


def test_autogen_calls_that_go_on_with_a_line_repeat_nothing() -> None:
    imported = sample("autogen.json")
    assert [text for _, _, text in told(imported)] == [
        "How are the beds?",
        "",
        "dry",
        "sensor broken",
        "Bed 1 is dry.",
        "Water it.",
        "Done.",
    ]
    assert step(imported).parts[0] == Reasoning("Both at once.", "autogen")
    assert results(imported) == {"call_1": ("dry", False), "call_2": ("sensor broken", True)}
    assert step(imported, 2).usage == Usage(40, 2)


def test_an_autogen_call_that_leaves_a_line_midway_is_a_fork_and_a_stranger_another_session() -> None:
    first, second = importers.read((SAMPLES / "autogen.json").read_bytes())
    (fork,) = first.children
    assert (fork.at, [event.text for event in fork.imported.events]) == (1, ["I cannot tell.", "Try.", "Wet."])
    assert [event.origin for event in fork.imported.events] == ["agent", "injected", "agent"]
    assert (second.system, second.events[0].text) == ("You judge answers.", "Is 'Bed 1 is dry.' an answer?")


def test_an_autogen_call_made_twice_is_taken_once_and_said() -> None:
    call = {"mode": "create", "messages": [{"type": "UserMessage", "content": "x"}], "response": {"content": "y"}}
    imported = read([call, call])
    assert [event.text for event in imported.events] == ["x", "y"]
    assert any("taken once" in line for line in imported.warnings)


def test_a_real_autogen_recording_gives_every_message_once() -> None:
    data = shared("data/trajectories/autogen/self_teaching.session.json").read_bytes()
    seen = set()
    for call in json.loads(data):
        whole = [*call["messages"], {"type": "AssistantMessage", "content": call["response"]["content"]}]
        said = [[message["type"], message["content"]] for message in whole]
        seen |= {json.dumps(said[:end]) for end in range(1, len(said) + 1) if said[end - 1][0] != "SystemMessage"}
    found = importers.read(data)
    lines = [*found, *(child.imported for imported in found for child in imported.children)]
    assert sum(len(line.events) for line in lines) == len(seen)


# -- pydantic-ai


def test_pydantic_ai_parts_become_events_with_the_newest_instructions_as_system_text() -> None:
    imported = sample("pydantic-ai.json")
    assert (imported.session, imported.wire) == ("garden-pydantic", "anthropic")
    assert imported.system == "You keep a garden.\n\nBe very brief."
    assert imported.events[0].parts == (
        Text("How are the beds?"),
        Image(url="https://garden.example/bed.png"),
        Image(media_type="image/png", data="iVBORw0KGgo="),
    )
    assert calls(imported) == {
        "call_1": ("read_sensor", '{"bed":1}'),
        "call_2": ("read_sensor", '{"bed": "two"}'),
    }
    assert results(imported)["call_1"] == ('{"soil":"dry"}', False)
    assert results(imported)["call_2"][1]
    assert step(imported).usage == Usage(50, 8, 30, 5)


def test_pydantic_ai_retries_and_compactions_are_the_programs_words() -> None:
    injected = [text for _, origin, text in told(sample("pydantic-ai.json")) if origin == "injected"]
    assert injected == ["Bed 1 was dry.", "Please answer in a sentence."]
    assert [type(part) for part in step(sample("pydantic-ai.json"), 1).parts] == [Opaque, Opaque, Text]


@pytest.mark.parametrize(
    ("maker", "part", "raw"),
    [
        ("anthropic", {"signature": "s"}, {"type": "thinking", "thinking": "t", "signature": "s"}),
        ("anthropic", {"signature": "s", "id": "redacted_thinking"}, {"type": "redacted_thinking", "data": "s"}),
        (
            "openai",
            {"signature": "s", "id": "rs_1"},
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "t"}],
                "encrypted_content": "s",
            },
        ),
    ],
)
def test_pydantic_ai_thinking_goes_back_in_its_providers_form(maker: str, part: dict[str, Any], raw: Any) -> None:
    thinking = {"part_kind": "thinking", "content": "t", **part}
    found = read([{"kind": "response", "parts": [thinking], "provider_name": maker}]).events[0].parts[0]
    assert isinstance(found, Reasoning)
    assert found.raw == raw


# -- LangChain


def test_the_three_dumps_of_langchain_give_the_same_events() -> None:
    imported = sample("langchain.json")
    assert (imported.session, imported.system, imported.wire) == ("garden-chain", "You keep a garden.", "anthropic")
    for other in (sample("langchain-plain.json"), sample("langchain.jsonl")):
        assert [event for event in other.events if event.role != "control"] == [
            event for event in imported.events if event.role != "control"
        ]


def test_a_langchain_reply_keeps_thinking_calls_and_what_it_reports() -> None:
    imported = sample("langchain.json")
    first = step(imported)
    assert first.parts == (
        Reasoning("Both at once.", "anthropic", {"type": "thinking", "thinking": "Both at once.", "signature": "c2ln"}),
        Text("I look."),
        ToolCall("call_1", "read_sensor", '{"bed":1}'),
        ToolCall("call_2", "read_sensor", "{bed: 2"),
    )
    assert (first.usage, first.model) == (Usage(50, 8, 30, 5), "claude-sonnet")
    assert results(imported) == {"call_1": ("dry", False), "call_2": ("not JSON", True)}
    second = step(imported, 1)
    assert second.parts[0] == Reasoning("Short.", "openai", {"reasoning_content": "Short."})
    assert (second.usage, second.meta) == (Usage(9, 4), {"stop": "length"})


def test_a_langchain_summary_is_injected() -> None:
    found = [event for event in sample("langchain.json").events if event.meta.get("foreign")]
    assert [(event.origin, event.text) for event in found] == [("injected", "Bed 1 was dry.")]


def test_langchain_calls_keep_their_arguments_as_the_provider_sent_them() -> None:
    raw = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{ "a":1 }'}}]
    row = {"type": "ai", "content": "", "additional_kwargs": {"tool_calls": raw}}
    parsed = {**row, "tool_calls": [{"name": "f", "args": {"a": 1}, "id": "c"}]}
    assert calls(read([row])) == calls(read([parsed])) == {"c": ("f", '{ "a":1 }')}


def test_a_langchain_call_without_an_id_gets_one_from_its_place() -> None:
    row = {"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {}, "id": None}]}
    assert list(calls(read([row, row]))) == ["call_0_0", "call_1_0"]
