"""The importer of Codex rollouts, on made-up files of every generation."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark import importers
from foldmark.errors import WireError
from foldmark.events import Event, Image, Opaque, Reasoning, Text, ToolCall, Usage
from foldmark.importers import Imported
from foldmark.importing import bring_in
from foldmark.memory import MemoryStore
from foldmark.wire import openai_responses

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
HEAD = {"type": "session_meta", "payload": {"id": "s", "timestamp": "2026-03-01T09:00:00Z", "cwd": "/"}}


def sample(name: str = "codex.jsonl") -> Imported:
    return importers.read((SAMPLES / name).read_bytes())[0]


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "response_item", "payload": {"type": kind, **fields}}


def said(role: str, *texts: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text} for text in texts])


def screen(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "event_msg", "payload": {"type": kind, **fields}}


def called(call_id: str) -> dict[str, Any]:
    return item("function_call", name="shell", arguments="{}", call_id=call_id)


def answered(call_id: str, output: Any = "done") -> dict[str, Any]:
    return item("function_call_output", call_id=call_id, output=output)


def count(tokens: int, total: int) -> dict[str, Any]:
    used = {"input_tokens": tokens, "cached_input_tokens": tokens // 2, "output_tokens": 1}
    return screen("token_count", info={"last_token_usage": used, "total_token_usage": {"total_tokens": total}})


def read(*rows: dict[str, Any], head: dict[str, Any] = HEAD, **options: Any) -> Imported:
    return importers.read(b"".join(json.dumps(row).encode() + b"\n" for row in (head, *rows)), **options)[0]


def spoken(imported: Imported) -> list[Event]:
    return [event for event in imported.events if event.role != "control"]


def test_a_rollout_keeps_its_id_its_prompt_and_its_tools() -> None:
    imported = sample()
    assert (imported.session, imported.wire) == ("garden-rollout", "openai-responses")
    assert imported.system == (
        "You keep a garden.\n\n<permissions instructions>Ask before digging.</permissions instructions>"
    )
    assert [tool["name"] for tool in imported.tools] == ["read_sensor"]
    assert imported.tools[0]["parameters"]["properties"] == {"bed": {"type": "integer"}}


def test_items_of_the_model_between_two_others_are_one_step() -> None:
    step = next(event for event in sample().events if event.role == "assistant")
    assert step.parts == (
        Reasoning(
            "Look first.",
            "openai-responses",
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "Look first."}],
                "encrypted_content": "c2VjcmV0",
            },
        ),
        Text("I look at the script and run it."),
        ToolCall("call_1", "shell", '{"command":["bash","-lc","cat gate.py"]}'),
        ToolCall("call_2", "exec_command", '{"cmd":"python gate.py"}'),
    )
    assert (step.model, step.usage) == ("gpt-5.5-codex", Usage(1200, 60, 800))
    assert step.time == 1772355607.0


def test_calls_of_every_sort_are_paired_with_their_outputs() -> None:
    events = sample().events
    calls = {call.id: call for event in events for call in event.calls}
    results = {event.result.call_id: event.result for event in events if event.result}
    assert {call_id: call.name for call_id, call in calls.items()} == {
        "call_1": "shell",
        "call_2": "exec_command",
        "call_3": "apply_patch",
        "call_4": "local_shell",
    }
    assert {call_id: (found.name, found.is_error) for call_id, found in results.items()} == {
        "call_1": ("shell", False),
        "call_2": ("exec_command", True),
        "call_3": ("apply_patch", False),
        "call_4": ("local_shell", False),
    }
    assert json.loads(calls["call_3"].arguments)["input"].startswith("*** Begin Patch")
    assert json.loads(calls["call_4"].arguments)["command"] == ["ls", "fence"]
    assert results["call_4"].images == (Image(media_type="image/png", data="iVBORw0KGgo="),)


def test_a_call_of_free_text_goes_back_to_its_wire_in_its_own_kind_and_others_as_they_were() -> None:
    free = item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c1", status="completed")
    answer = item("custom_tool_call_output", call_id="c1", output="Done!")
    events = spoken(read(called("c0"), free, answered("c0"), answer, said("assistant", "Both."), called("c2")))
    payload = openai_responses.write("", [], events)
    assert [each["type"] for each in payload["input"][:4]] == [
        "function_call",
        "custom_tool_call",
        "function_call_output",
        "custom_tool_call_output",
    ]
    assert payload["input"][1]["input"] == "*** Begin Patch"
    assert not events[-1].meta, "the kinds of one step are not those of the next"
    assert openai_responses.validate(openai_responses.write("", [], events[:-1])) == []


@pytest.mark.parametrize(
    ("output", "text", "is_error"),
    [
        ("done", "done", False),
        ('{"output":"a","metadata":{"exit_code":0}}', "Exit code: 0\nOutput:\na", False),
        ('{"output":"a","metadata":{"exit_code":2}}', "Exit code: 2\nOutput:\na", True),
        ('{"output":"a","metadata":{}}', "a", False),
        ("Exit code: 1\nWall time: 0 seconds\nOutput:\na", "Exit code: 1\nWall time: 0 seconds\nOutput:\na", True),
        ("Exit code: 0\nOutput:\nExit code: 1", "Exit code: 0\nOutput:\nExit code: 1", False),
        ("A file says\nProcess exited with code 1", "A file says\nProcess exited with code 1", False),
        ({"content": "a", "success": False}, "a", True),
        ({"type": "input_text", "text": "a"}, "a", False),
        ({"rows": 1}, '{"rows":1}', False),
        ([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}], "a\nb", False),
        ([1, 2], "[1,2]", False),
        (None, "", False),
    ],
)
def test_an_output_of_any_form_is_read_with_how_it_ended(output: Any, text: str, is_error: bool) -> None:
    found = read(said("user", "x"), called("c"), answered("c", output)).events[-1].result
    assert found is not None
    assert (found.text, found.is_error) == (text, is_error)


@pytest.mark.parametrize(
    "row",
    [
        screen("exec_command_end", call_id="c", exit_code=1),
        screen("patch_apply_end", call_id="c", success=False),
    ],
)
def test_a_line_for_the_screen_may_say_that_a_call_failed(row: dict[str, Any]) -> None:
    found = read(said("user", "x"), called("c"), row, answered("c")).events[-1].result
    assert found is not None
    assert found.is_error


def test_lines_for_the_screen_are_never_events_and_say_so_once() -> None:
    imported = read(said("user", "x"), screen("user_message", message="x"), screen("agent_message", message="y"))
    assert [event.text for event in spoken(imported)] == ["x"]
    assert len([line for line in imported.warnings if "event_msg" in line]) == 1


def test_a_repeated_token_count_is_no_other_request() -> None:
    imported = read(
        said("user", "x"),
        called("c"),
        count(10, 10),
        answered("c"),
        count(10, 10),
        said("assistant", "y"),
        count(30, 40),
    )
    steps = [event for event in imported.events if event.role == "assistant"]
    assert [step.usage for step in steps] == [Usage(10, 1, 5), Usage(30, 1, 15)]


@pytest.mark.parametrize(
    "text",
    [
        "<environment_context>\n  <cwd>/x</cwd>\n</environment_context>",
        "<user_instructions>\nBe brief.\n</user_instructions>",
        "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>Be brief.</INSTRUCTIONS>",
        '<turn_aborted reason="interrupted"/>',
        "<user_shell_command>ls</user_shell_command>",
    ],
)
def test_what_the_program_wrote_in_the_users_name_is_injected(text: str) -> None:
    imported = read(said("user", text, "Fix it."))
    assert [(event.origin, event.text) for event in spoken(imported)] == [("injected", text), ("user", "Fix it.")]


@pytest.mark.parametrize(
    "text", ["Fix it.", "<environment_contexts> is misspelled", "Explain # AGENTS.md instructions"]
)
def test_what_only_looks_alike_is_the_users(text: str) -> None:
    assert read(said("user", text)).events[-1].is_user


def test_developer_messages_in_front_are_system_text_and_later_ones_stay_where_they_stand() -> None:
    imported = read(said("developer", "Be brief."), said("user", "x"), said("developer", "Be briefer."))
    assert imported.system == "Be brief."
    assert [(event.role, event.text) for event in spoken(imported)] == [("user", "x"), ("system", "Be briefer.")]


def test_a_compaction_is_injected_and_what_was_before_it_stays() -> None:
    imported = sample()
    at = next(at for at, event in enumerate(imported.events) if event.meta.get("foreign") == "compacted")
    assert imported.events[at].text == "The gate script was fixed."
    assert imported.events[at].origin == "injected"
    assert any(event.text == "Fix the gate script." for event in imported.events[:at])
    assert any("replacement_history" in line for line in imported.warnings)


def test_a_compaction_that_only_the_provider_can_read_is_a_control_event() -> None:
    imported = read(said("user", "x"), {"type": "compacted", "payload": {"message": ""}}, item("compaction", id="c"))
    assert [event.meta.get("control") for event in imported.events[2:]] == ["compacted", "compaction"]
    assert imported.warnings == ()


def test_rolled_back_turns_are_a_fork_behind_what_they_share() -> None:
    imported = sample()
    (fork,) = imported.children
    assert [event.text for event in fork.imported.events] == ["And the fence?", "I would paint it red."]
    assert (fork.kind, imported.events[fork.at].text) == ("fork", "And the fence? Not red.")
    assert (fork.imported.system, fork.imported.tools) == (imported.system, imported.tools)


@pytest.mark.parametrize(("turns", "left"), [(1, ["a", "A"]), (2, []), (9, []), (0, ["a", "A", "b", "B"])])
def test_a_rollback_takes_back_as_many_turns_as_it_says(turns: int, left: list[str]) -> None:
    rows = [said("user", "a"), said("assistant", "A"), said("user", "b"), said("assistant", "B")]
    imported = read(*rows, screen("thread_rolled_back", num_turns=turns))
    assert [event.text for event in spoken(imported)] == left
    taken = [event.text for child in imported.children for event in child.imported.events]
    assert left + taken == ["a", "A", "b", "B"]


def test_a_fork_in_a_fork_hangs_where_it_left() -> None:
    back = screen("thread_rolled_back", num_turns=1)
    rows = [said("user", "a"), said("user", "b"), back, said("user", "c"), screen("thread_rolled_back", num_turns=2)]
    (fork,) = read(*rows).children
    assert [event.text for event in fork.imported.events] == ["a", "c"]
    (inner,) = fork.imported.children
    assert ([event.text for event in inner.imported.events], inner.at) == (["b"], 2)


def test_a_forked_file_is_named_by_its_own_head_and_says_where_it_comes_from() -> None:
    head = {"type": "session_meta", "payload": {**HEAD["payload"], "id": "own", "forked_from_id": "parent"}}  # type: ignore[dict-item]
    imported = read(HEAD, said("user", "x"), head=head)
    assert imported.session == "own"
    assert any("forked from parent" in line for line in imported.warnings)


def test_tools_in_groups_are_taken_one_by_one() -> None:
    tools = {"type": "namespace", "name": "garden", "tools": [{"type": "function", "name": "dig", "inputSchema": {}}]}
    head = {"type": "session_meta", "payload": {**HEAD["payload"], "dynamic_tools": [tools]}}  # type: ignore[dict-item]
    assert [tool["name"] for tool in read(said("user", "x"), head=head).tools] == ["dig"]


def test_what_the_providers_own_tools_did_is_carried_inside_the_step() -> None:
    step = read(said("user", "x"), item("web_search_call", action={"type": "search"}), said("assistant", "y")).events[
        -1
    ]
    assert step.parts == (
        Opaque("openai-responses", {"type": "web_search_call", "action": {"type": "search"}}),
        Text("y"),
    )


def test_bare_items_behind_a_head_are_the_older_form() -> None:
    imported = sample("codex-old.jsonl")
    assert imported.session == "garden-old"
    assert [(event.role, event.origin) for event in spoken(imported)] == [
        ("user", "injected"),
        ("user", "user"),
        ("assistant", "agent"),
        ("tool", "tool"),
        ("assistant", "agent"),
        ("tool", "tool"),
        ("assistant", "agent"),
        ("user", "user"),
        ("assistant", "agent"),
    ]
    assert [event.result.is_error for event in imported.events if event.result] == [True, False]
    assert imported.events[0].time == 1748768400.0


def test_one_object_with_a_session_and_items_is_the_oldest_form() -> None:
    value = {
        "session": {"id": "first", "timestamp": "2025-04-20T00:00:00Z", "instructions": ""},
        "items": [row["payload"] for row in (said("user", "x"), called("c"), answered("c"))],
    }
    (imported,) = importers.read(json.dumps(value).encode())
    assert (imported.format, imported.session) == ("codex", "first")
    assert [event.role for event in spoken(imported)] == ["user", "assistant", "tool"]


@pytest.mark.parametrize(
    ("row", "path"),
    [
        (item("function_call", name="shell", arguments="{}"), "line 3.call_id"),
        (item("function_call", call_id="c", arguments="{}"), "line 3.name"),
        (item("custom_tool_call", call_id="c", name="n", input=1), "line 3.input"),
        (item("function_call_output", output="x"), "line 3.call_id"),
        (item("message", role="user", content=[{"text": "x"}]), "line 3 content[0].type"),
        (item("reasoning", summary="x"), "line 3.summary"),
        ({"type": "compacted", "payload": {"message": 1}}, "line 3 message"),
        ({"type": "response_item"}, "line 3 payload"),
    ],
)
def test_a_known_record_that_cannot_be_read_names_its_place(row: dict[str, Any], path: str) -> None:
    with pytest.raises(WireError) as caught:
        read(said("user", "x"), row)
    assert caught.value.path == path


@pytest.mark.parametrize(
    "row", [item("moon"), item("message", role="moon", content=[]), {"type": "moon", "payload": {}}]
)
def test_an_unknown_record_is_kept_and_an_error_when_strict(row: dict[str, Any]) -> None:
    imported = read(said("user", "x"), row)
    assert imported.events[-1].role == "control"
    assert len(imported.warnings) == 1
    with pytest.raises(WireError, match="strict"):
        read(said("user", "x"), row, strict=True)


ROWS = st.sampled_from(["user", "say", "think", "call", "answer", "count", "context", "back", "moon", "compacted"])
SILENT = ("count", "context", "back", "moon")


def row_of(kind: str, name: str, call_id: str) -> dict[str, Any]:
    match kind:
        case "user" | "say":
            return said("user" if kind == "user" else "assistant", name)
        case "think":
            return item("reasoning", summary=[{"type": "summary_text", "text": name}])
        case "call":
            return called(name)
        case "answer":
            return answered(call_id, name)
        case "count":
            return count(len(name), len(name))
        case "back":
            return screen("thread_rolled_back", num_turns=1)
        case "moon":
            return item("moon")
        case _:
            return {"type": "turn_context" if kind == "context" else kind, "payload": {"message": name}}


def lines(imported: Imported, shared: tuple[Event, ...] = ()) -> list[tuple[Imported, tuple[Event, ...]]]:
    """Every session of a file with its whole line of events."""
    line = (*shared, *imported.events)
    inner = [found for child in imported.children for found in lines(child.imported, line[: child.at])]
    return [(imported, line), *inner]


@given(st.lists(ROWS, max_size=25))
def test_every_item_is_in_exactly_one_event_and_results_follow_their_calls(kinds: list[str]) -> None:
    rows, expected = [said("user", "start")], Counter({"start": 1})
    waiting: list[str] = []
    for at, kind in enumerate(kinds):
        if kind == "answer" and not waiting:
            continue
        name = f"{kind}-{at}"
        rows.append(row_of(kind, name, waiting.pop(0) if kind == "answer" else ""))
        waiting = [] if kind == "back" else waiting + [name] * (kind == "call")
        expected.update([name] * (kind not in SILENT))
    found: Counter[str] = Counter()
    for imported, line in lines(read(*rows)):
        found.update(name for event in imported.events for name in _names(event))
        made = {call.id for event in line for call in event.calls}
        assert all(event.result.call_id in made for event in line if event.result)
    assert found == expected


def _names(event: Event) -> list[str]:
    if event.role == "control":
        return []
    return [part.id if isinstance(part, ToolCall) else getattr(part, "text", "") for part in event.parts]


def test_a_file_that_grows_step_by_step_goes_on_in_its_session() -> None:
    rows = [
        said("user", "a"),
        called("c"),
        answered("c"),
        said("assistant", "b"),
        said("user", "d"),
        said("assistant", "e"),
    ]
    store = MemoryStore()
    for length in range(1, len(rows) + 1):
        _, brought = bring_in(read(*rows[:length]), store)
        assert brought.forked_at is None
    assert (brought.new, brought.known) == (1, len(rows))
