"""The importers of aider, Claude Code's screen, ReAct and InterCode logs, Vivaria files, and of plain text at all."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import shared
from foldmark import importers
from foldmark.errors import WireError
from foldmark.events import Event, Reasoning, Text, ToolCall, Usage, assistant, chained, injected, result, user
from foldmark.importers import FORMATS, Imported
from foldmark.importers.aider_edits import Edit, split_edits

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
TEXT_FORMATS = [known.name for known in FORMATS if known.is_text]
NO_BREAK_SPACE = "\u00a0"


def sample(name: str) -> list[Imported]:
    return importers.read((SAMPLES / name).read_bytes(), name=name)


def read(text: str, **options: Any) -> list[Imported]:
    return importers.read(text.encode(), **options)


def outcomes(imported: Imported) -> list[tuple[str, str, bool]]:
    """(tool, what came back, whether it is an error) of every result, in order."""
    found = [event.result for event in imported.events if event.result is not None]
    return [(outcome.name, outcome.text, outcome.is_error) for outcome in found]


def unanswered(imported: Imported) -> list[str]:
    answered = {event.result.call_id for event in imported.events if event.result is not None}
    return [call.id for event in imported.events for call in event.calls if call.id not in answered]


# Plain text as a document

NO_TRANSCRIPT = {
    "readme": "# beds\n\nA tool for gardens.\n\n## Usage\n\n> Note: water first.\n\n```\n$ beds plan\n```\n",
    "readme-aider": "# Logs\n\nIt begins so:\n\n```\n# aider chat started at 2026-03-01 08:00:00\n\n> hi  \n```\n",
    "readme-screen": "# Screens\n\nYou see:\n\n```\n│ ✻ Welcome to Claude Code! │\n⏺ Bash(ls)\n  ⎿  a\n```\n",
    "prose-screen": "It says\n⏺ Bash(ls)\nand below\n  ⎿  a\nwhich means\nthat it ran.\n",
    "prose-react": "ReAct goes like this.\nThought 1: think\nAction 1: Search[x]\nObservation 1: y\n",
    "prose": "once upon a time\nThought: I should stop.\nObservation: it rains.\n",
    "csv": "name,Action,Observation\nbed 1,water,dry\nbed 2,dig,wet\n",
    "log": "2026-03-01 08:00:00 INFO start\n2026-03-01 08:00:01 ERROR > boom\n",
    "list": "* ● one\n* two\n  ⎿ not a screen\n",
    "number first": "2026\n# aider is a tool\n",
    "cut json": '{\n  "messages": [\n',
}


@pytest.mark.parametrize("text", NO_TRANSCRIPT.values(), ids=NO_TRANSCRIPT.keys())
def test_other_text_is_claimed_by_no_format_and_the_error_names_them_all(text: str) -> None:
    with pytest.raises(WireError, match="neither JSON nor JSON lines") as caught:
        read(text, name="notes.md")
    assert caught.value.path == "notes.md"
    assert all(known.name in str(caught.value) for known in FORMATS)


@given(st.text(alphabet="⏺●⎿✻>#╭│`abT: 1[]\n", max_size=400))
def test_recognising_never_fails_on_any_text(text: str) -> None:
    document = importers.Document(text=text)
    assert all(known.sniff(document) in (True, False) for known in FORMATS if known.is_text)


@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_a_format_of_text_named_for_json_says_so(name: str) -> None:
    with pytest.raises(WireError, match="is JSON"):
        read('[{"role": "user", "content": "x"}]', format=name)


def test_a_format_of_json_named_for_text_says_so() -> None:
    with pytest.raises(WireError, match=r"neither JSON nor JSON lines .* pi files"):
        read("Dear diary", format="pi")


@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_a_text_in_which_nobody_speaks_holds_nothing_to_import(name: str) -> None:
    silent = {"aider": "> Aider v1  \n", "claude-code-console": "Total cost: $1\n", "react": "\n"}.get(name, " ")
    with pytest.raises(WireError, match="nothing to import"):
        read(silent, format=name)


@pytest.mark.parametrize("name", ["aider.md", "claude-code-console.md", "react.txt"])
def test_line_ends_of_another_system_make_no_difference(name: str) -> None:
    data = (SAMPLES / name).read_bytes()
    assert importers.read(data.replace(b"\n", b"\r\n")) == importers.read(data)


VOCABULARY = {
    "aider": [
        *[
            "# aider chat started at 2026-03-01 08:00:00",
            "# aider chat started at 2026-99-01 08:00:00",
            "#### words  ",
            "#### /run x  ",
            "> out  ",
            "> out",
            "",
        ],
        *["said", "a.py", "```python", "```", "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "> <<<<<<< SEARCH  "],
        *[
            "> Applied edit to a.py  ",
            "> ## SearchReplaceNoExactMatch: no match in a.py  ",
            "> Tokens: 1k sent, 2 received.  ",
        ],
    ],
    "claude-code-console": [
        *[
            "│ ✻ Welcome to Claude Code! │",
            "╭──╮",
            "╰──╯",
            "claude",
            "> words",
            "> /model x",
            "  more",
            "",
            "✻ Thinking…",
        ],
        *["⏺ said", "⏺ Bash(ls)", "● Update Todos", "  ⎿  Waiting…", "  ⎿  out", "     ☒ one", "     more", "other"],
        *["  ⎿  User rejected Claude's plan:", "⏺ User approved Claude's plan:", "  ⎿  Interrupted by user"],
        *["=== Previous Conversation Compacted ===", "⏺ Compact summary (ctrl+r)"],
    ],
    "react": [
        *["Question: q", "Thought 1: t", "Action 1: Search[x]", "Action: s", "Action Input: x", "Observation 1: o"],
        *["Final Answer: f", "more", "", "--- HEAD ---"],
    ],
}


@pytest.mark.parametrize("name", TEXT_FORMATS)
@given(data=st.data())
def test_lines_in_any_order_give_whole_pairs_or_an_error_in_words(name: str, data: st.DataObject) -> None:
    lines = data.draw(st.lists(st.sampled_from(VOCABULARY[name]), min_size=1, max_size=25))
    try:
        found = read("\n".join(lines) + "\n.", format=name)
    except WireError:
        return
    for imported in found:
        made: set[str] = set()
        waiting: set[str] = set()
        for event in imported.events:
            assert not made & {call.id for call in event.calls}
            made |= {call.id for call in event.calls}
            waiting |= {call.id for call in event.calls}
            if event.result is not None:
                waiting.remove(event.result.call_id)


GROWN = [
    ("aider.md", "# aider", "#### Rename", "#### /", "> Tokens", "> ^C"),
    ("claude-code-console.md", "> ", "✻", "claude", "=="),
    ("react.txt", "Question", "Thought", "Action 1", "Observation"),
    ("aider/chat-history.head.md", "# aider chat started"),
    ("claude-code-console/bookminder-day-009.md", "> "),
    ("reflexion/hotpotqa_react_thoughts.txt", "Thought"),
]


@pytest.mark.parametrize(("name", "marks"), [(name, marks) for name, *marks in GROWN], ids=[row[0] for row in GROWN])
def test_a_grown_text_goes_on_in_its_sessions(name: str, marks: list[str]) -> None:
    found = SAMPLES / name
    text = (found if found.exists() else shared(f"data/trajectories/{name}")).read_text(encoding="utf-8")
    kind = importers.read(text.encode())[0].format
    lines = text.split("\n")
    cuts = [at for at, line in enumerate(lines) if at and line.startswith(tuple(marks)) and not lines[at - 1].strip()]
    whole = {imported.session: _chains(imported) for imported in importers.read(text.encode())}
    for cut in cuts[:: max(1, len(cuts) // (12 if found.exists() else 4))]:
        head = "\n".join(lines[:cut])
        for imported in _read_if_it_has_words(head, kind):
            chains = _chains(imported)
            if any(event.is_user for event in imported.events):
                assert whole[imported.session][: len(chains)] == chains


def _read_if_it_has_words(text: str, kind: str) -> list[Imported]:
    try:
        return read(text, format=kind)
    except WireError:
        return []


def _chains(imported: Imported) -> list[str]:
    return [event.chain for event in chained(imported.events)]


# Real files: as many calls, results and errors as an independent look at the raw text finds.


def _lines(text: str, pattern: str) -> int:
    return len(re.findall(pattern, text, re.MULTILINE))


def _turns(text: str, name: str) -> int:
    return sum(len(episode["turn_history"][name]) for episode in json.loads(text).values())


def _samples(text: str, role: str) -> int:
    return sum(message["role"] == role for each in json.loads(text).values() for message in each["messages"])


SCREEN_CALL = r"^⏺ (?:(?:Bash|Update|Read|Write|Search|List|Task)\(|(?:Update|Read) Todos)"
PLAN = r"^(?:⏺|  ⎿)\s+User (?:approved|rejected) Claude's plan"
UNANSWERED = rf"{SCREEN_CALL}.*\n(?:  ⎿\s+Waiting…\s*)?(?=[^\s⎿])"
RAW: dict[str, tuple[Callable[[str], int], Callable[[str], int]]] = {
    "intercode/bash_multiturn_gpt-4_fs3.json": (
        lambda raw: _turns(raw, "actions"),
        lambda raw: _turns(raw, "observations"),
    ),
    "intercode/ctf_multiturn_gpt-4_10_turns.json": (
        lambda raw: _turns(raw, "actions"),
        lambda raw: _turns(raw, "observations"),
    ),
    "reflexion/hotpotqa_react_thoughts.txt": (
        lambda raw: _lines(raw, r"^Action \d+:"),
        lambda raw: _lines(raw, r"^Observation \d+:"),
    ),
    "vivaria/small.messages.json": (lambda raw: _samples(raw, "tool"), lambda raw: _samples(raw, "tool")),
    "claude-code-console/bookminder-day-009.md": (
        lambda raw: _lines(raw, SCREEN_CALL) + _lines(raw, PLAN),
        lambda raw: _lines(raw, SCREEN_CALL) + _lines(raw, PLAN) - _lines(raw, UNANSWERED),
    ),
    "claude-code-console/bookminder-day-021.md": (
        lambda raw: _lines(raw, SCREEN_CALL) + _lines(raw, PLAN),
        lambda raw: _lines(raw, SCREEN_CALL) + _lines(raw, PLAN) - _lines(raw, UNANSWERED),
    ),
}


@pytest.mark.parametrize("name", RAW)
def test_a_real_file_gives_as_many_calls_and_results_as_it_shows(name: str) -> None:
    data = shared(f"data/trajectories/{name}").read_bytes()
    events = [event for imported in importers.read(data) for event in imported.events]
    calls, results = (count(data.decode()) for count in RAW[name])
    assert sum(len(event.calls) for event in events) == calls
    assert sum(event.result is not None for event in events) == results


def test_a_real_aider_history_gives_its_chats_words_edits_and_failures() -> None:
    raw = shared("data/trajectories/aider/chat-history.head.md").read_text(encoding="utf-8")
    found = read(raw)
    events = [event for imported in found for event in imported.events]
    chats = re.split(r"^# aider chat started at .*$", raw, flags=re.MULTILINE)
    assert len(found) == sum(bool(re.search(r"^#### .*  $|^<<<<<<< SEARCH$", chat, re.MULTILINE)) for chat in chats)
    assert sum(len(event.calls) for event in events) == _lines(raw, r"^>>>>>>> REPLACE$")
    errors = [event for event in events if event.result is not None and event.result.is_error]
    assert len(errors) == _lines(raw, r"^> ## SearchReplaceNoExactMatch")
    words = "\n".join(event.text for event in events)
    spoken = [line for line in re.findall(r"^#### (.*)  $", raw, re.MULTILINE) if line.strip()]
    assert [line for line in spoken if line not in words] == []


# aider


def test_every_aider_chat_with_words_is_a_session_named_after_its_start() -> None:
    found = sample("aider.md")
    assert [imported.session for imported in found] == ["aider-2026-03-01-08-00-00", "aider-2026-03-01-10-00-00"]
    assert found[0].warnings == ("1 chat(s) in which nobody said or ran anything are left out",)


def test_aider_edits_are_calls_and_what_the_program_says_of_each_is_its_result() -> None:
    first, second = sample("aider.md")
    step = next(event for event in first.events if event.calls)
    assert step.calls == (
        ToolCall("edit_1", "edit", '{"path":"beds.py","search":"def bed():","replace":"def plot():"}'),
        ToolCall("edit_2", "edit", '{"path":"tests.py","search":"bed()","replace":"plot()"}'),
    )
    assert [(tool, is_error) for tool, _, is_error in outcomes(first)] == [
        ("edit", False),
        ("edit", True),
        ("edit", False),
    ]
    assert outcomes(first)[0][1].startswith("# The other 1")
    assert "failed to exactly match lines in tests.py" in outcomes(first)[1][1]
    assert outcomes(first)[2][1] == "Applied edit to tests.py"
    (diff,) = next(event for event in second.events if event.calls).calls
    assert json.loads(diff.arguments)["diff"].startswith("--- beds.py\n+++ beds.py")


@given(st.lists(st.sampled_from(["<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "a.py", "word", ""]), max_size=30))
def test_every_mark_of_an_aider_block_is_in_one_edit_or_in_the_words(lines: list[str]) -> None:
    words, edits = split_edits("\n".join(lines))
    inside = [line for edit in edits for text in (edit.search, edit.replace) for line in text.split("\n")]
    held = [*words.split("\n"), *inside]
    assert held.count("<<<<<<< SEARCH") + len(edits) == lines.count("<<<<<<< SEARCH")
    assert held.count(">>>>>>> REPLACE") + len(edits) == lines.count(">>>>>>> REPLACE")
    assert not any("<<<<<<< SEARCH" in edit.search + edit.replace for edit in edits)


@pytest.mark.parametrize("cut", ["<<<<<<< SEARCH\nold\n", "<<<<<<< SEARCH\nold\n=======\n"])
def test_aider_blocks_without_an_end_are_words_and_the_whole_one_behind_them_is_an_edit(cut: str) -> None:
    words, edits = split_edits(cut * 50 + "a.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n")
    assert edits == [Edit("a.py", "x", "y")]
    assert words == (cut * 50).rstrip("\n")


def test_an_aider_edit_of_which_the_program_says_nothing_stays_unanswered() -> None:
    block = "a.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n"
    (imported,) = read(f"# aider chat started at 2026-03-01 08:00:00\n\n#### do  \n\n{block}\n#### stop  \n\nOK.\n")
    assert unanswered(imported) == ["edit_1"]


@pytest.mark.parametrize(
    "block",
    [
        "{path}\n```python\n{edit}\n```",
        "```python\n{path}\n{edit}\n```",
        "**{path}**\n\n```\n{edit}\n```",
        "{path}\n<source>python\n{edit}\n</source>",
        "### {path}:\n````\n{edit}\n````",
        "{path}\n{edit}",
    ],
)
@pytest.mark.parametrize("path", ["src/a.py", "Makefile", "a-b/c.d.ts"])
def test_the_path_of_an_aider_edit_stands_on_either_side_of_any_fence(block: str, path: str) -> None:
    edit = "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE"
    shown = block.format(path=path, edit=edit)
    (imported,) = read(f"# aider chat started at 2026-03-01 08:00:00\n\n#### do  \n\nHere it is:\n\n{shown}\n\nDone.\n")
    step = imported.events[-1]
    assert [json.loads(call.arguments)["path"] for call in step.calls] == [path]
    assert step.text == "Here it is:\n\nDone."


def test_a_second_block_under_one_aider_path_edits_the_same_file() -> None:
    edit = "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE"
    (imported,) = read(f"# aider chat started at 2026-03-01 08:00:00\n\n#### do  \n\na.py\n```\n{edit}\n{edit}\n```\n")
    assert [json.loads(call.arguments)["path"] for call in imported.events[-1].calls] == ["a.py", "a.py"]


def test_an_aider_block_without_its_end_stays_in_the_words() -> None:
    text = next(event.text for event in sample("aider.md")[0].events if "cut in the middle" in event.text)
    assert text == "An old name is left.\n\n<<<<<<< SEARCH\ncut in the middle"


def test_an_aider_block_cut_before_another_leaves_the_other_whole() -> None:
    cut, edit = "<<<<<<< SEARCH\nx\n", "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"
    (imported,) = read(f"# aider chat started at 2026-03-01 08:00:00\n\n#### do  \n\na.py\n{cut}\nb.py\n{edit}")
    (call,) = imported.events[-1].calls
    assert json.loads(call.arguments) == {"path": "b.py", "search": "a", "replace": "b"}


def test_markdown_of_the_model_in_aider_is_nobody_elses() -> None:
    step = next(event for event in sample("aider.md")[0].events if event.calls)
    assert "#### A heading of mine\n\n> a quote of mine" in step.text


def test_aider_words_keep_their_blank_lines_and_two_messages_stay_two() -> None:
    (imported,) = read(
        "# aider chat started at 2026-03-01 08:00:00\n\n#### a  \n####   \n#### b  \n\n#### c  \n\nOK.\n"
    )
    assert [event.text for event in imported.events] == ["a\n\nb", "c", "OK."]


def test_aider_commands_are_injected_and_a_question_behind_one_is_the_users() -> None:
    events = sample("aider.md")[0].events
    assert [event.text for event in events if event.is_user] == [
        "Rename bed to plot.\n\nKeep the tests green.",
        "/ask why does it fail?",
    ]
    notes = [event.text for event in events if event.role == "user" and not event.is_user]
    assert notes[:2] == ["The user ran `/add beds.py`.", "Added beds.py to the chat."]
    at = notes.index("The user ran `/test pytest`.")
    assert (
        notes[at + 1]
        == "==== test session starts ====\ncollected 2 items\n\ntests.py .F\n> E  boom\n==== 1 failed ===="
    )


def test_what_aider_prints_right_before_the_model_speaks_is_injected() -> None:
    (imported,) = read(
        "# aider chat started at 2026-03-01 08:00:00\n\n> aider --lint  \n> a.py:1: error  \n\nI mend it.\n"
    )
    assert [(event.role, event.origin) for event in imported.events] == [("user", "injected"), ("assistant", "agent")]


def test_what_aider_itself_asks_the_model_is_injected() -> None:
    (fix,) = [event for event in sample("aider.md")[1].events if "Fix any errors" in event.text]
    assert (fix.role, fix.origin) == ("user", "injected")


def test_aider_steps_have_model_and_usage_and_a_chat_its_time() -> None:
    events = sample("aider.md")[0].events
    steps = [event for event in events if event.role == "assistant"]
    assert [(step.model, step.usage) for step in steps] == [
        ("m-1", Usage(1200, 300)),
        ("m-1", Usage(1500, 80)),
        ("m-1", None),
    ]
    assert events[0].time == 1772352000.0


def test_aider_times_are_the_same_in_every_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    before = sample("aider.md")
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()
    try:
        assert sample("aider.md") == before
    finally:
        monkeypatch.undo()
        time.tzset()


# Claude Code's screen


def screen(*lines: str) -> Imported:
    return read("\n".join(lines) + "\n", format="claude-code-console")[0]


def test_every_welcome_on_a_screen_begins_a_session() -> None:
    first, second = sample("claude-code-console.md")
    assert first.session != second.session
    assert [event.text for event in second.events if event.role != "control"] == ["And the ponds?", "Two."]
    assert second.events[0].parts[0].raw["text"] == "claude --continue"  # type: ignore[union-attr,index]


def test_thinking_words_and_call_of_a_screen_are_one_step() -> None:
    step = next(event for event in sample("claude-code-console.md")[0].events if event.calls)
    assert step.parts == (
        Reasoning("Look into the folder first.", "anthropic"),
        Text("I look into the folder:"),
        ToolCall("call_1", "Bash", '{"command":"ls beds"}'),
    )


def test_what_a_screen_shows_of_a_result_is_the_result_and_nothing_more() -> None:
    found = sample("claude-code-console.md")[0]
    assert outcomes(found) == [
        ("Bash", "bed-1\nbed-2\n… +2 lines (ctrl+r to expand)", False),
        ("TodoWrite", "☒ Count the beds\n☐ Tell the user", False),
        ("Grep", "Found 2 files (ctrl+r to expand)", False),
        ("Edit", "User rejected update to notes/beds.md\n  1 + four beds", True),
        ("ExitPlanMode", "User rejected Claude's plan:", True),
        ("garden__read_sensor", "Error: the sensor is asleep", True),
        ("ExitPlanMode", "User approved Claude's plan:", False),
        ("Read", "Read 12 lines (ctrl+r to expand)", False),
    ]
    assert unanswered(found) == ["call_7"]


def test_calls_on_a_screen_have_the_names_of_their_tools_and_the_arguments_shown() -> None:
    calls = {
        call.name: json.loads(call.arguments) for e in sample("claude-code-console.md")[0].events for call in e.calls
    }
    assert calls["Grep"] == {"pattern": "bed-\\d", "path": "notes"}
    assert calls["Edit"] == {"file_path": "notes/beds.md"}
    assert calls["garden__read_sensor"] == {"zone": "south"}
    assert calls["TodoWrite"]["todos"] == [
        {"content": "Count the beds", "status": "completed"},
        {"content": "Tell the user", "status": "pending"},
    ]


@pytest.mark.parametrize(
    "words", ["Now update the f() call", "Steve (the first) says yes", "list_books() is fine", "Update Todos later"]
)
def test_words_with_brackets_on_a_screen_are_no_call(words: str) -> None:
    assert screen("> go", f"⏺ {words}").events[-1] == msg(words)


def msg(words: str) -> Event:
    return assistant(words, provider="anthropic")


@pytest.mark.parametrize(
    "shown", ["Interrupted by user", "[Request interrupted by user]", "No (tell Claude what to do)"]
)
def test_a_call_that_was_stopped_has_an_error_with_the_words_shown(shown: str) -> None:
    found = screen("> go", "⏺ Bash(sleep 9)", "  ⎿  Waiting…", "", f"  ⎿  {shown}")
    assert outcomes(found) == [("Bash", shown, True)]


def test_an_interruption_after_a_result_leaves_the_result_alone() -> None:
    found = screen("> go", "⏺ Read(a)", "  ⎿  Read 3 lines", "", "  ⎿  Interrupted by user")
    assert outcomes(found) == [("Read", "Read 3 lines", False)]
    assert found.events[-1] == injected("Interrupted by user")


def test_a_plan_on_a_screen_loses_its_frame() -> None:
    calls = [call for event in sample("claude-code-console.md")[0].events for call in event.calls]
    plans = [json.loads(call.arguments)["plan"] for call in calls if call.name == "ExitPlanMode"]
    assert plans == ["Dig bed 5\n\n1. Dig", "Dig bed 5"]


def test_a_compaction_on_a_screen_is_a_foreign_summary() -> None:
    foreign = [e for e in sample("claude-code-console.md")[0].events if "foreign" in e.meta]
    assert [event.meta["foreign"] for event in foreign] == ["compact_summary", "compact_boundary", "compact_summary"]
    assert all(event.origin == "injected" for event in foreign)


@pytest.mark.parametrize(
    ("line", "is_spoken"),
    [
        ("count the beds", True),
        ("/model opus", False),
        ("/model sonnet let's write this down", True),
        ("/hi is running…", False),
        ("/hi", False),
        ("/review my last change", True),
        ("/tmp/x.py has a fault", True),
        ("/exit ", False),
    ],
)
def test_slash_commands_on_a_screen_are_not_the_users_words_unless_they_hold_some(line: str, is_spoken: bool) -> None:
    found = screen("> go", f"> {line}", "⏺ Yes.")
    expected = user(line.rstrip()) if is_spoken else injected(f"The user ran `{line.strip()}`.")
    assert found.events[1] == expected


def test_a_model_set_on_a_screen_is_the_model_of_later_steps() -> None:
    events = sample("claude-code-console.md")[0].events
    assert [event.model for event in events if event.calls][3:5] == ["", "m-large-1"]


def test_screen_text_without_a_mark_is_kept_and_said_and_refused_when_strict() -> None:
    (first, _) = sample("claude-code-console.md")
    assert len([line for line in first.warnings if "without a mark" in line]) == 1
    kept = next(event for event in first.events if event.meta.get("control") == "screen text without a mark")
    assert kept.parts[0].raw == {"text": "Segmentation fault in some other program\n  with a second line"}  # type: ignore[union-attr]
    with pytest.raises(WireError, match="strict") as caught:
        importers.read((SAMPLES / "claude-code-console.md").read_bytes(), strict=True)
    assert caught.value.path.startswith("line ")


def test_two_screens_that_begin_with_the_same_command_are_two_sessions() -> None:
    head = ["> /hi is running…", "  ⎿  Read beds.md (12 lines)", ""]
    assert screen(*head, "> one", "⏺ 1").session != screen(*head, "> two", "⏺ 2").session


# ReAct


def test_every_react_question_is_a_session_with_pairs() -> None:
    first, second, third = sample("react.txt")
    assert first.events[1:5] == (
        user("Which bed is the largest?"),
        assistant("I look it up.", ToolCall("action_1", "Search", '{"input":"bed sizes"}')),
        result("action_1", "Bed 1: 4 m2\nBed 2: 6 m2", name="Search"),
        assistant("One more look.", ToolCall("action_2", "action", '{"input":"look closer"}')),
    )
    assert [is_error for *_, is_error in outcomes(first)] == [False, True, False]
    assert first.events[0].meta == {"control": "heading"}
    assert second.events[1].calls == (ToolCall("action_1", "roster", '{"input":"bed 3"}'),)
    assert second.events[-1].text == "I know it now.\nFinal Answer: Nobody does."
    assert unanswered(third) == ["action_1"]


def test_a_react_observation_without_an_action_names_its_line() -> None:
    with pytest.raises(WireError) as caught:
        read("Question: q\nThought 1: t\nObservation 1: o\nAction 1: A[b]\nObservation 2: p\n", format="react")
    assert caught.value.path == "line 3"


def test_a_line_of_dashes_in_a_react_observation_is_part_of_it() -> None:
    (imported,) = read("Question: q\nThought 1: t\nAction 1: A[b]\nObservation 1: name\n-----\nbasil\n", format="react")
    assert outcomes(imported) == [("A", "name\n-----\nbasil", False)]


def test_react_text_outside_an_episode_is_kept_and_said() -> None:
    (imported,) = read("loose words\nQuestion: q\nThought 1: t\nAction 1: A[b]\nObservation 1: o\n", format="react")
    assert imported.events[0].meta == {"control": "text outside an episode"}
    assert "text outside an episode" in imported.warnings[0]


# InterCode and Vivaria


def test_every_intercode_episode_is_a_session_with_pairs_and_errors() -> None:
    first, second = sample("intercode.json")
    assert (first.session, second.session) == ("intercode-ic_bash-0", "intercode-ic_sql-1")
    assert first.events[0] == user("Count the beds.")
    assert first.events[3:5] == (
        assistant("", ToolCall("action_1", "bash", '{"command":"wc -l bedz"}')),
        result("action_1", "wc: bedz: No such file or directory\n", name="bash", is_error=True),
    )
    assert second.events[1].text == "Ask the table."
    assert outcomes(second) == [("sql", '[["basil"],["mint"]]', False)]
    assert unanswered(second) == ["action_1"]
    assert first.warnings[0].startswith("dataset, summary, turn_history.rewards: about the episode")


@pytest.mark.parametrize(
    ("turns", "path"),
    [
        ({"actions": [], "observations": ["x"]}, "0.turn_history.observations[0]"),
        ({"actions": [3], "observations": []}, "0.turn_history.actions[0]"),
        ({"actions": "ls", "observations": []}, "0.turn_history.actions"),
    ],
)
def test_an_intercode_episode_that_cannot_be_read_names_its_place(turns: dict[str, Any], path: str) -> None:
    with pytest.raises(WireError) as caught:
        read(json.dumps({"0": {"query": "q", "turn_history": turns}}))
    assert caught.value.path == path


def test_vivaria_samples_are_sessions_named_after_their_first_message() -> None:
    first, second = sample("vivaria.json")
    assert (first.session, second.session) == ("vivaria-m1", "vivaria-n1")
    assert first.system == "You keep a greenhouse."
    assert outcomes(first) == [("bash", "Command timed out.", True), ("bash", "28 degrees", False)]
    assert [event.text for event in first.events if event.is_user] == ["Open the vents when it is warm."]
    assert isinstance(first.events[1].parts[0], Reasoning)


def test_one_vivaria_sample_alone_is_read_too_and_a_broken_one_names_its_file() -> None:
    samples = json.loads((SAMPLES / "vivaria.json").read_text(encoding="utf-8"))
    key = "greenhouse_epoch_1.json"
    (alone,) = read(json.dumps(samples[key]))
    assert (alone.format, alone.session) == ("vivaria", "vivaria-m1")
    samples[key]["messages"][3].pop("tool_call_id")
    with pytest.raises(WireError) as caught:
        read(json.dumps(samples))
    assert caught.value.path == f"{key}.messages[3].tool_call_id"
