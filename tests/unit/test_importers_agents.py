"""The importers of pi, SWE-agent, tau-bench and plain message lists on made-up sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foldmark import importers
from foldmark.errors import WireError
from foldmark.events import Reasoning, ToolCall, assistant, result, user
from foldmark.importers import Imported

SAMPLES = Path(__file__).resolve().parents[1] / "samples"


def sample(name: str) -> Imported:
    return importers.read((SAMPLES / name).read_bytes())[0]


def read(value: Any, **options: Any) -> Imported:
    return importers.read(json.dumps(value).encode(), **options)[0]


def test_a_message_list_keeps_system_tools_and_its_own_id() -> None:
    imported = sample("openai.json")
    assert (imported.session, imported.wire) == ("garden-1", "openai-chat")
    assert imported.system == "You keep a garden diary."
    assert imported.tools[0]["name"] == "read_sensor"
    assert [event.role for event in imported.events] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "user",
    ]


def test_a_list_without_an_id_is_named_by_its_first_event() -> None:
    first, second = sample("openai.jsonl"), read([{"role": "user", "content": "Else."}])
    assert first.session.startswith("openai-json-")
    assert first.session != second.session


def test_anthropic_messages_are_told_by_their_blocks() -> None:
    imported = sample("anthropic.json")
    assert imported.wire == "anthropic"
    assert imported.system == "You keep a garden diary."
    assert isinstance(imported.events[1].parts[0], Reasoning)
    assert [event.result.is_error for event in imported.events if event.result] == [False, True]


def test_messages_with_a_time_keep_it() -> None:
    imported = read([{"role": "user", "content": "x", "timestamp": 1700000000}])
    assert imported.events[0].time == 1700000000.0


def test_a_role_that_no_api_has_is_kept_and_said() -> None:
    imported = read([{"role": "user", "content": "x"}, {"role": "critic", "content": "meh"}])
    assert imported.events[1].meta == {"control": "role critic"}
    assert "role critic" in imported.warnings[0]


def test_a_message_that_cannot_be_read_names_its_place() -> None:
    with pytest.raises(WireError) as caught:
        read({"messages": [{"role": "user", "content": "x"}, {"role": "tool", "content": "y"}]})
    assert caught.value.path == "messages[1].tool_call_id"


def test_pi_messages_calls_and_results_become_events() -> None:
    imported = sample("pi.jsonl")
    assert (imported.session, imported.wire) == ("pi-garden", "anthropic")
    step = next(event for event in imported.events if event.calls)
    assert step.parts == (
        Reasoning("Look first.", "anthropic", {"type": "thinking", "thinking": "Look first.", "signature": "c2ln"}),
        ToolCall("toolu_1", "read", '{"path":"beds.md"}'),
    )
    assert step.usage is not None
    assert (step.usage.input, step.usage.cache_read, step.usage.cache_write) == (100, 80, 10)
    answer = next(event for event in imported.events if event.role == "tool")
    assert answer.parts == result("toolu_1", "bed 1, bed 2", name="read").parts


def test_a_pi_step_that_was_aborted_is_control_when_empty_and_kept_when_not() -> None:
    events = sample("pi.jsonl").events
    assert "empty step (aborted)" in [event.meta.get("control") for event in events]
    half = next(event for event in events if event.text.startswith("Two beds, I"))
    assert (half.role, half.meta) == ("assistant", {"stop": "aborted"})


def test_a_command_that_the_pi_user_ran_and_a_compaction_are_injected() -> None:
    notes = [event.text for event in sample("pi.jsonl").events if event.role == "user" and not event.is_user]
    assert notes == ["The user ran `ls` (exit code 0):\nbeds.md\n", "Two beds are known."]


def test_pi_settings_are_control_events_without_a_warning() -> None:
    imported = sample("pi.jsonl")
    assert [e.meta["control"] for e in imported.events if e.role == "control"][:2] == [
        "session",
        "model_change",
    ]
    assert len(imported.warnings) == 1
    assert "moon_phase" in imported.warnings[0]


def test_a_pi_tree_has_its_newest_leaf_as_main_line_and_the_other_as_fork() -> None:
    imported = sample("pi-tree.jsonl")
    assert imported.wire == "openai-chat"
    assert [event.text for event in imported.events[1:]] == [
        "Plan.",
        "First plan.",
        "No, larger.",
        "Larger plan.",
    ]
    (fork,) = imported.children
    assert (fork.kind, fork.at, fork.imported.events[0].text) == ("fork", 3, "No, smaller.")


def test_a_pi_message_that_cannot_be_read_names_line_and_field() -> None:
    header = {"type": "session", "id": "s", "cwd": "/"}
    broken = {"type": "message", "message": {"role": "toolResult", "content": []}}
    data = "\n".join(json.dumps(row) for row in (header, broken)).encode()
    with pytest.raises(WireError) as caught:
        importers.read(data)
    assert caught.value.path == "line 2 message.toolCallId"


def test_swe_agent_text_actions_become_calls_with_their_observation_as_result() -> None:
    imported = sample("swe-agent-text.traj")
    assert imported.system == "SETTING: a shell."
    assert [(event.role, event.origin) for event in imported.events] == [
        ("user", "injected"),
        ("user", "user"),
        ("assistant", "agent"),
        ("tool", "tool"),
        ("assistant", "agent"),
        ("user", "injected"),
        ("assistant", "agent"),
    ]
    assert imported.events[1] == user("Fix the gate script.")
    assert imported.events[2] == assistant("I list the files.", ToolCall("action_3", "bash", '{"command":"ls\\n"}'))
    assert imported.events[3] == result("action_3", "gate.py", name="bash")


def test_swe_agent_calls_are_linked_by_their_ids() -> None:
    events = sample("swe-agent-calls.traj").events
    assert events[1].calls == (ToolCall("call_1", "bash", '{"command": "ls"}'),)
    assert events[2].result is not None
    assert (events[2].result.call_id, events[2].result.name) == ("call_1", "bash")


def test_swe_agent_steps_are_read_when_there_is_no_history() -> None:
    steps = [{"action": "ls", "observation": "gate.py", "thought": "Look.", "response": "Look."}]
    imported = read({"trajectory": steps, "info": {}})
    assert imported.events == (
        assistant("Look.", ToolCall("action_0", "bash", '{"command":"ls"}')),
        result("action_0", "gate.py", name="bash"),
    )


def test_swe_agent_says_that_the_outcome_of_the_run_is_left_out() -> None:
    assert sample("swe-agent-text.traj").warnings[0].startswith("info:")


def test_every_tau_bench_run_is_a_session() -> None:
    found = importers.read((SAMPLES / "tau-bench.json").read_bytes())
    assert [imported.session for imported in found] == ["tau-bench-1.0", "tau-bench-2.0"]
    assert [event.role for event in found[0].events] == ["user", "assistant", "tool", "assistant", "user"]
    assert found[0].system == "Policy."
    assert found[0].warnings == ("info, reward, task_id, trial: about the run and no part of it, left out",)


def test_a_tau_bench_message_that_cannot_be_read_names_run_and_message() -> None:
    with pytest.raises(WireError) as caught:
        read([{"traj": [{"role": "user", "content": 3}]}])
    assert caught.value.path == "[0].traj[0].content"
