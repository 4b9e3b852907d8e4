"""A re-sent message list is recognised: what is new comes in, edits and retries fork, our own words never return."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foldmark.events import (
    Event,
    Image,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    assistant,
    control,
    injected,
    result,
    user,
)
from foldmark.following import follow
from foldmark.importers import read
from foldmark.importing import bring_in
from foldmark.memory import MemoryStore
from foldmark.policy import Policy
from foldmark.session import Session
from foldmark.sqlite import SQLiteStore
from foldmark.wire import anthropic, gemini, openai_chat, openai_responses
from making import long_session, tool_round
from pairs import pair_errors

LINE = [user("one"), *tool_round(1), assistant("two"), user("three"), assistant("four")]


def session(events: list[Event] | None = None) -> Session:
    made = Session(
        "s", store=MemoryStore(), policy=Policy.coding(), clock=lambda: 1_000.0, new_id=iter("abcdef").__next__
    )
    if events:
        made.follow(events)
    return made


def texts(made: Session) -> list[str]:
    return [event.text for event in made.store.log(made.key)]


def test_the_same_list_again_brings_nothing_new() -> None:
    made = session(LINE)
    found = made.follow(LINE)
    assert (found.new, found.known, found.forked_at, made.name) == ((), 6, None, "s")


@pytest.mark.parametrize("known", range(1, 6))
def test_a_grown_list_brings_only_its_end(known: int) -> None:
    made = session(LINE[:known])
    found = made.follow(LINE)
    assert (len(found.new), found.known, made.name) == (6 - known, known, "s")
    assert texts(made) == [event.text for event in LINE]


def test_an_edited_past_forks_at_the_longest_prefix_and_the_old_line_stays() -> None:
    made = session(LINE)
    edited = [*LINE[:4], user("three, but different"), assistant("other")]
    found = made.follow(edited)
    assert found.forked_at == 4
    assert made.name == "s+a"
    assert texts(made) == [event.text for event in edited]
    assert texts(Session("s", store=made.store)) == [event.text for event in LINE]


def test_a_retry_forks_where_the_list_ends() -> None:
    made = session(LINE)
    found = made.follow(LINE[:5])
    assert found.forked_at == 5
    made.record(assistant("another answer"))
    assert texts(made)[-1] == "another answer"
    assert texts(Session("s", store=made.store))[-1] == "four"


def test_going_back_to_the_first_line_finds_it_again() -> None:
    made = session(LINE)
    made.follow([*LINE[:4], user("branch")])
    found = made.follow([*LINE, user("five")])
    assert (found.session, found.forked_at, made.name) == ("s", None, "s")
    assert texts(made)[-1] == "five"


def test_a_list_whose_front_was_trimmed_goes_on() -> None:
    made = session(LINE)
    found = made.follow([*LINE[3:], user("five")])
    assert (found.known, [event.text for event in found.new], found.forked_at) == (3, ["five"], None)


def test_an_unrelated_list_gets_a_line_of_its_own() -> None:
    made = session(LINE)
    found = made.follow([user("something else entirely"), assistant("yes")])
    assert found.forked_at == 0
    assert texts(made) == ["something else entirely", "yes"]


def test_control_records_come_in_once_and_break_no_match() -> None:
    noted = [*LINE[:4], control("model_change", {"model": "x"})]
    made = session(noted)
    found = made.follow([*noted, *LINE[4:]])
    assert [event.text for event in found.new] == ["three", "four"]
    assert made.follow([*noted, *LINE[4:]]).new == ()


def test_our_own_request_sent_back_is_recognised() -> None:
    made = session(long_session(60))
    made.compact(force=True)
    payload = made.request(window=128_000).payload()
    before = len(texts(made))
    found = made.follow([*payload["messages"], {"role": "assistant", "content": "Done."}])
    assert [event.text for event in found.new] == ["Done."]
    assert len(texts(made)) == before + 1
    assert found.forked_at is None


def test_a_preview_sent_back_stands_for_its_whole_result() -> None:
    made = Session("s", policy=Policy.coding(admission={"limit_tokens": 200}), clock=lambda: 1.0)
    made.follow([user("go"), *tool_round(1, "\n".join(f"row {n} of much output" for n in range(900)))])
    payload = made.request(window=128_000).payload()
    found = made.follow([*payload["messages"], {"role": "assistant", "content": "Seen."}])
    assert [event.text for event in found.new] == ["Seen."]


def test_system_messages_go_to_the_static_prefix() -> None:
    made = session()
    made.follow([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}], wire=openai_chat)
    assert made.system == "Be kind."
    assert texts(made) == ["hi"]


def test_the_same_retry_again_stays_in_its_fork() -> None:
    made = session(LINE)
    assert made.follow(LINE[:5]).forked_at == 5
    again = made.follow(LINE[:5])
    assert (again.forked_at, again.session, made.name) == (None, "s+a", "s+a")


def test_a_checkpoint_in_the_system_text_sent_back_is_not_taken_for_the_static_prefix() -> None:
    made = Session("s", policy=Policy.coding(layout={"checkpoint": "system"}), clock=lambda: 1.0)
    made.describe(system="Be kind.")
    made.follow(long_session(60))
    made.compact(force=True)
    payload = made.request(window=128_000).payload()
    assert len(payload["messages"][0]["content"]) > 2_000
    found = made.follow([*payload["messages"], {"role": "assistant", "content": "Done."}], wire=openai_chat)
    assert made.system == "Be kind."
    assert ([event.text for event in found.new], found.forked_at) == (["Done."], None)


# -- our own payload sent back, over every wire, in every form that we write

WIRES = [openai_chat, anthropic, openai_responses, gemini]
BIG = "\n".join(f"row {number} of much output" for number in range(900))


def words(wire: Any, role: str, text: str) -> dict[str, Any]:
    """A message as this wire's callers write it."""
    if wire is gemini:
        return {"role": "model" if role == "assistant" else role, "parts": [{"text": text}]}
    return {"role": role, "content": text}


ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": "Go."},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "g"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
    {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": "I look."},
    {"type": "custom_tool_call", "id": "ctc_1", "call_id": "1", "name": "patch", "input": "*** Begin"},
    {"type": "function_call", "id": "fc_2", "call_id": "2", "name": "read", "arguments": "{}", "status": "completed"},
    {"type": "function_call_output", "call_id": "2", "output": [{"type": "input_text", "text": "two"}]},
    {"type": "custom_tool_call_output", "call_id": "1", "output": "one"},
    {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "h"},
    {"type": "shell_call", "id": "sh_1", "call_id": "3", "action": {"commands": ["ls"]}},
    {
        "type": "shell_call_output",
        "call_id": "3",
        "output": [{"stdout": "a", "stderr": "b", "outcome": {"type": "exit", "exit_code": 1}}],
    },
]
SCENES: dict[str, tuple[list[Event], dict[str, Any]]] = {
    "users in a row": ([user("a"), user("b"), injected("note"), assistant("c"), user("d"), user("e")], {}),
    "results and words in one message": ([user("a"), *tool_round(1), user("b"), user("c")], {}),
    "results out of call order": (
        [
            user("a"),
            assistant("", ToolCall("x", "bash", "{}"), ToolCall("y", "bash", "{}")),
            result("y", "2"),
            result("x", "1"),
            user("b"),
        ],
        {},
    ),
    "calls without ids": (
        [
            user("go"),
            assistant("", ToolCall("", "bash", "{}"), ToolCall("", "bash", "{}")),
            result("", "x"),
            result("", "y"),
        ],
        {},
    ),
    "the same id in every step": (
        [user("go")]
        + [event for _ in range(4) for event in (assistant("", ToolCall("c", "bash", "{}")), result("c", "x"))],
        {},
    ),
    "a call that waits": ([user("a"), assistant("", ToolCall("t", "bash", "{}")), user("b")], {}),
    "a result that stands apart": ([user("a"), assistant("b"), result("gone", "late"), user("c")], {}),
    "one step in several records": (
        [
            user("a"),
            assistant("x", ToolCall("1", "bash", "{}")),
            assistant("y", ToolCall("2", "bash", "{}")),
            result("1", "r"),
            result("2", "s"),
        ],
        {},
    ),
    "words and then a call in a step of its own": (
        [user("a"), assistant("x"), assistant("", ToolCall("1", "bash", "{}")), result("1", "r"), user("b")],
        {},
    ),
    "words, words and then a call": (
        [user("a"), assistant("x"), assistant("y"), assistant("", ToolCall("1", "bash", "{}")), result("1", "r")],
        {},
    ),
    "items of the Responses API": (list(openai_responses.read_messages(ITEMS).events), {}),
    "arguments with spaces": ([user("a"), assistant("", ToolCall("1", "bash", '{ "x" : 1 }')), result("1", "r")], {}),
    "arguments that are no JSON": ([user("a"), assistant("", ToolCall("1", "bash", "{cut")), result("1", "")], {}),
    "a foreign model's thinking": (
        [
            user("a"),
            Event(role="assistant", origin="agent", parts=(Reasoning("hm", "other", {"x": 1}), Text("b "))),
            user("c"),
        ],
        {},
    ),
    "a foreign model's thinking between words": (
        [
            user("a"),
            Event(
                role="assistant", origin="agent", parts=(Text("Fix it."), Reasoning("hm", "other", {"x": 1}), Text("x"))
            ),
            user("c"),
        ],
        {},
    ),
    "a step that writes nothing": ([user("a"), Event(role="assistant", origin="agent"), user("b"), assistant("c")], {}),
    "a system message on the way": (
        [user("a"), assistant("b"), Event(role="system", parts=(Text("note"),)), user("c")],
        {},
    ),
    "an assistant that begins": ([assistant("Hello."), user("hi")], {}),
    "images of a result": (
        [
            user("a"),
            assistant("", ToolCall("1", "look", "{}")),
            Event(role="tool", origin="tool", parts=(ToolResult("1", "see", images=(Image("image/png", "AAAA"),)),)),
            user("b"),
        ],
        {},
    ),
    "previews": ([user("go"), *tool_round(1, BIG), user("next")], {"admission": {"limit_tokens": 200}}),
    "demoted results": (long_session(40), {}),
    "a checkpoint in the user's role": (long_session(60), {"force": True}),
    "a checkpoint and many users": ([*long_session(60), user("more"), user("and more")], {"force": True}),
    "a checkpoint in the system text": (long_session(60), {"force": True, "layout": {"checkpoint": "system"}}),
    "a checkpoint and one long answer": ([*long_session(60), assistant("word " * 4_000)], {"force": True}),
    "a checkpoint in the system text and one long answer": (
        [*long_session(60), assistant("word " * 4_000)],
        {"force": True, "layout": {"checkpoint": "system"}},
    ),
    "the state bar": (long_session(20), {"layout": {"state_bar": True}}),
    "the state bar behind users": ([*long_session(20), user("b"), user("c")], {"layout": {"state_bar": True}}),
}


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: str(wire.NAME))
@pytest.mark.parametrize("scene", SCENES)
def test_whatever_we_wrote_is_recognised_when_it_comes_back(scene: str, wire: Any) -> None:
    events, options = SCENES[scene][0], dict(SCENES[scene][1])
    force = options.pop("force", False)
    made = Session("s", policy=Policy.coding(**options), clock=lambda: 1_000.0)
    made.record(*events)
    if force:
        made.control.pin("event:3")
        made.compact(force=True, window=128_000)
    for turn in range(3):
        payload = made.request(window=128_000, wire=wire).payload()
        assert made.follow(payload[wire.MESSAGES], wire=wire, retry=False).new == ()
        found = made.follow([*payload[wire.MESSAGES], words(wire, "assistant", f"Answer {turn}.")], wire=wire)
        assert ([event.text for event in found.new], found.forked_at, made.name) == ([f"Answer {turn}."], None, "s")
        grown = [
            *payload[wire.MESSAGES],
            words(wire, "assistant", f"Answer {turn}."),
            words(wire, "user", "On."),
        ]
        assert [event.text for event in made.follow(grown, wire=wire).new] == ["On."]
    assert len(texts(made)) == len(events) + 6


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: str(wire.NAME))
@pytest.mark.parametrize("scene", ["previews", "demoted results", "users in a row", "the state bar behind users"])
def test_an_edit_of_our_own_payload_records_what_its_messages_stand_for(scene: str, wire: Any) -> None:
    events, options = SCENES[scene]
    made = Session("s", policy=Policy.coding(**options), clock=lambda: 1_000.0)
    made.record(user("first"), assistant("second"), *events)
    messages = made.request(window=128_000, wire=wire).payload()[wire.MESSAGES]
    found = made.follow([messages[0], words(wire, "assistant", "edited"), *messages[2:]], wire=wire)
    assert (found.forked_at, made.name != "s") == (1, True)
    log, old = made.store.log(made.key), made.store.log(Session("s", store=made.store).key)
    assert log[1].text == "edited"
    assert [event.plain for event in log[2:]] == [event.plain for event in old[2:]]
    assert [event.artifacts for event in log[2:]] == [event.artifacts for event in old[2:]]
    assert [event.parts for event in log[2:]] == [event.parts for event in old[2:]]


def test_a_preview_in_a_fork_opens_the_whole_result() -> None:
    made = Session("s", policy=Policy.coding(admission={"limit_tokens": 200}), clock=lambda: 1.0)
    made.follow([user("go"), assistant("ok"), user("then"), *tool_round(1, BIG)])
    messages = made.request(window=128_000).payload()["messages"]
    made.follow([messages[0], {"role": "assistant", "content": "edited"}, *messages[2:]])
    assert made.load("artifact:5", limit=100_000).text == BIG


def test_the_original_list_is_still_recognised_after_our_requests() -> None:
    for wire in WIRES:
        for events, options in SCENES.values():
            given = {name: value for name, value in options.items() if name != "force"}
            made = Session("s", policy=Policy.coding(**given), clock=lambda: 1_000.0)
            made.follow(events)
            made.compact(force=True, window=128_000)
            made.request(window=128_000, wire=wire)
            found = made.follow([*events, assistant("Done.")])
            assert ([event.text for event in found.new], found.forked_at) == (["Done."], None)


def test_a_list_whose_trimmed_front_begins_like_the_first_message_goes_on() -> None:
    made = session([user("go"), assistant("a"), assistant("b"), user("go"), assistant("c"), user("d")])
    found = made.follow([user("go"), assistant("c"), user("d"), assistant("e")])
    assert ([event.text for event in found.new], found.forked_at) == (["e"], None)


# -- control records


NOTES = [control("x", {"a": 1}), control("y", {"b": 1}), control("late", {"q": 9}), control("last", {"z": 0})]


@pytest.mark.parametrize("at", range(6))
def test_a_control_record_that_is_new_comes_in_once_wherever_it_stands(at: int) -> None:
    old = [NOTES[0], user("a"), assistant("b"), NOTES[1], user("c")]
    made = session(old)
    grown = [*old[:at], NOTES[2], *old[at:], assistant("d")]
    first = made.follow(grown)
    assert (len(first.new), first.known, first.forked_at) == (2, 5, None)
    again = made.follow(grown)
    assert (again.new, again.known, again.forked_at) == ((), 7, None)
    assert sorted(again.seqs) == list(range(1, 8))


def test_the_same_control_record_again_later_is_new() -> None:
    made = session([user("a"), NOTES[0], assistant("b")])
    found = made.follow([user("a"), NOTES[0], assistant("b"), NOTES[0], user("c")])
    assert (len(found.new), found.known) == (2, 3)


def test_control_records_alone_come_in_once_and_words_go_on_behind_them() -> None:
    made = session([NOTES[0]])
    found = made.follow([NOTES[0], NOTES[1]])
    assert (len(found.new), found.known, found.forked_at) == (1, 1, None)
    found = made.follow([*NOTES[:2], user("a")])
    assert (len(found.new), found.known, found.forked_at, made.name) == (1, 2, None, "s")


def test_a_fork_says_which_seq_every_event_has() -> None:
    made = session([NOTES[0], *LINE])
    found = made.locate([NOTES[0], *LINE[:4], user("other"), NOTES[3]])
    assert (found.forked_at, found.seqs, found.known, len(found.new)) == (5, (1, 2, 3, 4, 5, 0, 0), 5, 2)


# -- two writers


def test_two_sessions_that_located_the_same_list_record_it_once(tmp_path: Path) -> None:
    for stores in ([MemoryStore()] * 2, [SQLiteStore(tmp_path / "a.db"), SQLiteStore(tmp_path / "a.db")]):
        one, two = (Session("s", store=store, policy=Policy.coding()) for store in stores)
        one.record(user("zero"))
        lists = [user("zero"), *LINE]

        def between(done: int, total: int, other: Session = two, offered: list[Event] = lists) -> None:
            other.follow(offered, retry=False)  # the other writer comes in after each of our batches

        long = [user("zero"), *LINE, *(user(f"more {number}") for number in range(1_200))]
        lists[:] = long
        found = one.follow(long, retry=False, progress=between)
        assert texts(one) == [event.text for event in long]
        assert (len(found.new) + found.known, found.forked_at) == (len(long), None)


def test_threads_with_stores_of_their_own_follow_one_list_once(tmp_path: Path) -> None:
    events = long_session(60, 3)
    SQLiteStore(tmp_path / "a.db").close()
    made = [Session("s", store=SQLiteStore(tmp_path / "a.db"), policy=Policy.coding()) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda one: one.follow(events, retry=False), made))
    assert sum(len(one.new) for one in found) == len(events)
    assert texts(made[0]) == [event.text for event in events]
    assert len(made[0].store.sessions("local", "local")) == 1


# -- forks and their settings


def test_a_retry_by_new_session_objects_goes_on_in_the_same_empty_fork() -> None:
    made = session(LINE)
    names = set()
    for _ in range(4):
        again = Session("s", store=made.store, policy=Policy.coding())
        assert again.follow(LINE[:5]).forked_at == 5
        names.add(again.name)
    assert len(names) == 1
    again.record(assistant("another answer"))
    third = Session("s", store=made.store)
    third.follow(LINE[:5])
    assert third.name not in names | {"s"}


def test_the_system_text_goes_to_the_fork_that_the_list_belongs_to() -> None:
    store = MemoryStore()
    first = [
        {"role": "system", "content": "S1"},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
    ]
    made = Session("s", store=store)
    made.follow(first)
    edited = [*first[:2], {"role": "assistant", "content": "B2"}]
    made.follow(edited)
    fork = made.name
    other = Session("s", store=store)
    other.follow([{"role": "system", "content": "S2"}, *edited[1:], {"role": "user", "content": "n"}])
    assert (other.name, other.system) == (fork, "S2")
    assert (Session(fork, store=store).system, Session("s", store=store).system) == ("S2", "S1")


@pytest.mark.parametrize(
    ("before", "behind"), [("", ""), ("", "\n\nToday is Monday."), ("Note.\n\n", "\n\nToday is Monday.")]
)
def test_our_checkpoint_is_cut_out_of_the_system_text_wherever_it_stands(before: str, behind: str) -> None:
    made = Session("s", policy=Policy.coding(layout={"checkpoint": "system"}), clock=lambda: 1.0)
    made.describe(system="Be kind.")
    made.follow(long_session(60))
    made.compact(force=True)
    payload = made.request(window=128_000).payload()["messages"]
    sent = [{"role": "system", "content": before + payload[0]["content"] + behind}, *payload[1:]]
    made.follow([*sent, {"role": "assistant", "content": "Done."}], wire=openai_chat)
    assert made.system == f"{before}Be kind.{behind}"
    assert made.request().system.count("<foldmark-checkpoint") == 1


def test_a_checkpoint_that_is_not_ours_stays_in_the_system_text() -> None:
    made = session(LINE)
    text = 'Be kind.\n\n<foldmark-checkpoint ref="compaction:7" covers="event:1-5">\nx\n</foldmark-checkpoint>'
    made.follow([{"role": "system", "content": text}, {"role": "user", "content": "one"}], wire=openai_chat)
    assert made.system == text


def test_a_retry_does_not_take_the_fork_that_an_edit_begins() -> None:
    made = session(LINE)
    waiting = Session("s", store=made.store)
    waiting.follow(LINE[:5])
    other = Session("s", store=made.store)
    other.follow([*LINE[:5], assistant("another four"), user("five")])
    waiting.record(assistant("the retried answer"))
    assert other.name != waiting.name
    assert texts(waiting)[-2:] == ["three", "the retried answer"]


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_step_that_was_still_being_written_goes_on_in_the_same_session(cut: int) -> None:
    calls = (ToolCall("p1", "read", '{"path":"a.py"}'), ToolCall("p2", "read", '{"path":"b.py"}'))
    step = assistant("Reading two files and", *calls)
    whole = [user("go"), step, result("p1", "one"), result("p2", "two"), assistant("done"), user("next")]
    short = msgspec.structs.replace(step, parts=step.parts[:cut])
    made = session([user("go"), short])
    made.request(window=50_000)
    found = made.follow(whole)
    assert (found.forked_at, made.name) == (None, "s")
    assert len(found.new) == 4 + (cut < 3)
    payload = made.request(window=50_000).payload()
    assert pair_errors(payload) == []
    assert [message["role"] for message in payload["messages"]] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "user",
    ]
    assert payload["messages"][1]["content"] == "Reading two files and"
    assert len(payload["messages"][1]["tool_calls"]) == 2
    again = made.follow([*whole, assistant("and more")])
    assert ([event.text for event in again.new], again.forked_at) == (["and more"], None)


def test_every_cut_of_a_claude_code_file_grows_back_into_one_session() -> None:
    data = (Path(__file__).resolve().parents[1] / "samples" / "claude-code.jsonl").read_bytes()
    lines = data.splitlines(keepends=True)[:14]  # behind them the sample rewinds, which is a fork by right
    for at in range(2, len(lines)):
        store = MemoryStore()
        first, _ = bring_in(read(b"".join(lines[:at]), name="c.jsonl")[0], store)
        grown, brought = bring_in(read(b"".join(lines), name="c.jsonl")[0], store)
        assert (brought.forked_at, grown.name) == (None, first.name), f"cut behind line {at}"
        assert bring_in(read(b"".join(lines), name="c.jsonl")[0], store)[1].new == 0


# -- a caller's own list that only grows, whatever it repeats


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: str(wire.NAME))
def test_words_that_come_again_behind_results_out_of_order_are_said_again(wire: Any) -> None:
    """What a message of ours once stood for says nothing of the same words in a list of the caller's own."""
    made = session()
    events: list[Event] = [user("go")]
    for number in range(3):
        calls = [ToolCall(f"{side}{number}", "bash", "{}") for side in "ab"]
        events += [assistant("", *calls), *(result(call.id, f"out {call.id}", name="bash") for call in reversed(calls))]
        made.follow(events)
        made.request(window=128_000, wire=wire).payload()
        for words_said in (user("[Request interrupted by user]"), assistant("I see."), user(f"go on {number}")):
            events.append(words_said)
            found = made.follow(events)
            assert ([event.text for event in found.new], found.forked_at) == ([words_said.text], None)
            made.request(window=128_000, wire=wire).payload()
    assert texts(made) == [event.text for event in events]


def test_a_step_that_lost_its_thinking_on_another_wire_is_no_other_step() -> None:
    made = session()
    thinks = Event(
        role="assistant",
        origin="agent",
        parts=(Reasoning("hm", "anthropic", {"type": "thinking", "thinking": "hm", "signature": "x"}), Text("Done.")),
    )
    events = [user("do A"), assistant("Done."), user("do B"), thinks]
    made.follow(events)
    for wire in (anthropic, openai_chat):
        made.request(wire=wire, window=128_000).payload()
    found = made.follow([*events, user("do C")])
    assert ([event.text for event in found.new], found.forked_at) == (["do C"], None)
    assert [len(event.parts) for event in made.store.log(made.key)] == [1, 1, 1, 2, 1]


def test_a_result_that_says_the_same_under_the_same_id_stays_in_its_place() -> None:
    made = session()
    events: list[Event] = [user("go")]
    for turn in range(4):
        calls = [ToolCall("c1", "bash", "{}"), ToolCall("c2", "bash", "{}")]
        answers = [result("c2", "ok", name="bash"), result("c1", "x", name="bash")]
        events += [assistant("", *calls), *(answers if turn % 2 else reversed(answers))]
        found = made.follow(events)
        assert (len(found.new), found.forked_at) == (3 + (turn == 0), None)
        made.request(wire=anthropic, window=128_000).payload()
    assert texts(made) == [event.text for event in events]


@pytest.mark.parametrize("wire", [openai_chat, anthropic, openai_responses, gemini], ids=lambda wire: str(wire.NAME))
@pytest.mark.parametrize(
    ("layout", "same"), [({}, 1), ({}, 2), ({"merge": True}, 1), ({"merge": True}, 2), ({"checkpoint": "system"}, 2)]
)
def test_another_turn_behind_a_checkpoint_forks_there_and_keeps_what_is_covered(
    wire: Any, layout: dict[str, Any], same: int
) -> None:
    """`same` messages of the tail stay, then the list takes another turn."""
    policy = Policy.coding(layout=layout, budget={"target_tokens": 3_000}, run="manual")
    made = Session("s", store=MemoryStore(), policy=policy, clock=lambda: 1_000.0)
    more = " It is the one of the gateway." * (30 if layout.get("checkpoint") else 0)  # nothing of ours is in that list
    tail = [user("Which port?" + more), assistant("8443.")]
    made.record(*long_session(40), assistant("File done. " * 900), *tail, user("Why?"))
    assert made.compact(force=True, window=64_000).outcome == "applied"
    boundary = made.control.history()[-1].boundary
    covered = texts(made)[:boundary]
    stays = tail[:same]
    turn = [user("Thanks."), assistant("Sure.")] if same == 2 else [assistant("9000."), user("No.")]
    payload = made.request(wire=wire, window=64_000).payload()[wire.MESSAGES]
    said = [one for one in payload if one.get("role") != "system"]
    answer = next(at for at, one in enumerate(said) if one.get("role") in ("assistant", "model"))
    written = wire.write("", (), turn)[wire.MESSAGES]
    if same < 2 and wire.OPENING:
        written = written[1:]
    found = made.follow([*said[: answer + (same == 2)], *written], wire=wire)
    assert found.forked_at == boundary + same
    assert texts(made) == [*covered, *(event.text for event in [*stays, *turn])]


def test_another_turn_right_behind_a_checkpoint_forks_at_its_boundary() -> None:
    made = session(long_session(60))
    made.compact(force=True, window=64_000)
    boundary = made.control.history()[-1].boundary
    covered = texts(made)[:boundary]
    (head, *_) = made.request(window=64_000).payload()["messages"]
    found = made.follow([head, {"role": "assistant", "content": "Another step."}], wire=openai_chat)
    assert found.forked_at == boundary
    assert texts(made) == [*covered, "Another step."]


def test_one_message_that_was_said_behind_a_boundary_too_is_no_reason_to_go_on_from_there() -> None:
    made = session([*long_session(40), assistant("Done. " * 900), user("Why?"), assistant("So."), user("And?")])
    assert made.compact(force=True, window=64_000).outcome == "applied"
    made.request(window=64_000)
    assert made.follow([user("Why?"), assistant("Something else.")]).forked_at == 0


GREETING = (user("hi"), assistant("Hello! How can I help you today?"))


def greeted(*said: Event, layout: dict[str, Any] | None = None, wire: Any = None) -> Session:
    """A session whose newest boundary stands right in front of `said`; what it covers tells of a salary. All of it went
    out on `wire` before."""
    policy = Policy.coding(layout=layout or {}, budget={"target_tokens": 3_000}, run="manual")
    made = Session("s", store=MemoryStore(), policy=policy, clock=lambda: 1_000.0)
    made.record(user("My salary is 91,000."), *long_session(40)[1:], assistant("Done. " * 900), *said)
    if wire:
        made.request(wire=wire, window=200_000)
    assert made.compact(force=True, window=64_000).outcome == "applied"
    boundary = made.control.history()[-1].boundary
    assert texts(made)[boundary:] == [event.text for event in said]
    return made


def in_a_new_talk(made: Session, *said: Event) -> tuple[int | None, str]:
    """(where a second talk under the same id forked, its first request)"""
    other = Session("s", store=made.store, policy=made.policy, clock=lambda: 2_000.0)
    found = other.follow([*said, user("I am somebody else. What do you know of me?")])
    sent = other.request(window=64_000)
    return found.forked_at, sent.system + str(sent.messages)


@pytest.mark.parametrize("layout", [{}, {"merge": True}, {"checkpoint": "system"}], ids=str)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_new_talk_that_begins_as_the_old_one_goes_on_gets_nothing_of_its_past(
    layout: dict[str, Any], count: int
) -> None:
    made = greeted(*GREETING, user("Help me."), assistant("With what?"), user("Bye"), layout=layout)
    forked, sent = in_a_new_talk(made, *[*GREETING, user("Help me.")][:count])
    assert forked == 0
    assert "salary" not in sent
    assert "91,000" not in sent


@pytest.mark.parametrize("wire", [openai_chat, anthropic, openai_responses, gemini], ids=lambda wire: str(wire.NAME))
def test_nor_does_one_whose_greeting_went_out_in_a_form_that_the_wire_made(wire: Any) -> None:
    """Neighbours in one message, or a step that begins the tail: the form is ours, its words are not."""
    for said in ([user("hi"), user("there"), GREETING[1]], [assistant("Hello!"), user("hi"), user("there")]):
        made = greeted(*said, assistant("Bye"), wire=wire)
        list_of_theirs = wire.write("", (), said)[wire.MESSAGES]
        read_again = wire.read_messages(list_of_theirs).events
        forked, sent = in_a_new_talk(made, *read_again)
        assert forked == 0
        assert "salary" not in sent


def test_nor_does_one_that_begins_with_the_words_of_a_request_that_was_kept() -> None:
    """In the layout `system` what is kept stands in front of the tail as a message of its own: it is the user's."""
    policy = Policy.coding(layout={"checkpoint": "system"}, budget={"target_tokens": 3_000}, run="manual")
    made = Session("s", store=MemoryStore(), policy=policy, clock=lambda: 1_000.0)
    made.record(user("My salary is 91,000."), *long_session(40)[1:], user("hi"), *tool_round(90, "row\n" * 9_000))
    made.record(assistant("Hello!"))
    assert made.compact(force=True, window=64_000).outcome == "applied"
    assert "hi" in [message.text for message in made.request(window=64_000).messages]
    forked, sent = in_a_new_talk(made, user("hi"), assistant("Hello! How can I help?"))
    assert forked == 0
    assert "salary" not in sent


@pytest.mark.parametrize(
    "tail",
    [[user("Which port? " + "It is the one of the gateway. " * 40), assistant("8443.")], tool_round(77, "eight rows")],
    ids=["long", "a call"],
)
def test_a_list_behind_a_boundary_that_says_enough_of_its_own_keeps_its_past(tail: list[Event]) -> None:
    made = greeted(*tail, user("Bye"))
    forked, _ = in_a_new_talk(made, *tail)
    assert forked == made.control.history()[-1].boundary + len(tail)


def test_a_checkpoint_of_ours_in_the_system_text_tells_whose_past_a_short_list_is() -> None:
    made = greeted(*GREETING, user("Bye"), layout={"checkpoint": "system"})
    boundary, again = made.control.history()[-1].boundary, [*GREETING, user("Another turn")]
    assert follow(made.store, made.key, again).forked_at == 0
    assert follow(made.store, made.key, again, told=True).forked_at == boundary + 2
    assert follow(made.store, made.key, [user("Another turn")], told=True).forked_at == boundary
    system = made.request(system="Be kind.", window=64_000).system
    assert made.follow(again, system=system).forked_at == boundary + 2
    assert made.system == "Be kind."


# -- a request from which events were left out, because they did not fit

SMALL = 4_000
"""Tokens of a window in which about ten of the forty rounds stand that `crowded` records."""


def crowded(wire: Any, *, scope: str = "", others: bool = False, says: str = "", rounds: int = 40) -> Session:
    """A session whose rounds do not fit; in each fifth the user `says` something. `others` share it."""
    sees: Any = "exact" if scope else "all"
    key: dict[str, Any] = {"scope": scope} if scope else {}
    policy = Policy.coding(run="manual", window=SMALL)
    made = Session("s", store=MemoryStore(), scope=scope, sees=sees, policy=policy, clock=lambda: 1_000.0)
    if others:
        made.record(user("elsewhere", scope="x"))
    made.record(user("Never touch the schema.", **key))
    for number in range(rounds):
        call = ToolCall(f"c{number}", "ask", "{}")
        made.record(
            assistant(f"step {number} " + "why " * 60, call, **key),
            result(call.id, f"words {number} " * 10, name="ask", **key),
        )
        if others:
            made.record(user(f"elsewhere {number}", scope="x"))
        if says and number % 5 == 0:
            made.record(assistant(f"done {number}", **key), user(says.format(number), **key))
    return made


def sent(made: Session, wire: Any) -> list[dict[str, Any]]:
    """The messages of the next request, from which something was left out."""
    request = made.request(wire=wire)
    assert any(change.status == "left_out" for change in request.report.changes)
    messages: list[dict[str, Any]] = request.payload()[wire.MESSAGES]
    return messages


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: str(wire.NAME))
@pytest.mark.parametrize("says", ["", "go on {}", "continue"])
@pytest.mark.parametrize(("scope", "others"), [("", False), ("", True), ("a", False), ("a", True)])
def test_a_list_with_gaps_of_ours_goes_on_turn_by_turn(scope: str, others: bool, says: str, wire: Any) -> None:
    made = crowded(wire, scope=scope, others=others, says=says)
    head = made.store.open(made.key).head
    for turn in range(3):
        messages = sent(made, wire)
        assert made.follow(messages, wire=wire, retry=False).new == ()
        for text in (f"Answer {turn}. " + "so " * 200, "And on."):
            messages = [*messages, words(wire, "assistant" if text != "And on." else "user", text)]
            found = made.follow(messages, wire=wire)
            assert ([event.text for event in found.new], found.forked_at, made.name) == ([text], None, "s")
    assert made.store.open(made.key).head == head + 6


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: str(wire.NAME))
def test_a_list_with_a_gap_behind_a_checkpoint_forks_with_what_was_left_out(wire: Any) -> None:
    made = crowded(wire, rounds=30)
    made.compact(force=True)
    for number in range(40, 70):
        made.record(assistant(f"more {number} " + "why " * 60), user(f"on {number}"))
    messages = sent(made, wire)
    old = made.store.log(made.key)
    found = made.follow([*messages[:-1], words(wire, "user", "another turn")], wire=wire)
    assert ([event.text for event in found.new], found.forked_at) == (["another turn"], len(old) - 1)
    assert [event.plain for event in made.store.log(made.key)[:-1]] == [event.plain for event in old[:-1]]


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: str(wire.NAME))
@pytest.mark.parametrize("says", ["", "continue"])
def test_a_message_that_the_caller_took_out_of_a_list_with_gaps_is_an_edit(says: str, wire: Any) -> None:
    """Each message but the first (a trimmed front) and the newest, on either side of a gap or far from one."""
    whole = crowded(wire, says=says)
    messages, plains = sent(whole, wire), [event.plain for event in whole.store.log(whole.key)]
    for at in range(1, len(messages) - 1):
        made = crowded(wire, says=says)
        sent(made, wire)
        found = made.follow([*messages[:at], *messages[at + 1 :]], wire=wire, retry=False)
        assert found.forked_at is not None, f"message {at} is gone, and nobody noticed"
        assert [event.plain for event in made.store.log(made.key)] != plains


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: str(wire.NAME))
def test_the_callers_own_list_without_gaps_is_recognised_beside_ours(wire: Any) -> None:
    made = crowded(wire, says="continue")
    whole = made.store.log(made.key)
    sent(made, wire)
    found = made.follow([*whole, user("mine")])
    assert ([event.text for event in found.new], found.forked_at) == (["mine"], None)
    trimmed = [*made.store.log(made.key)[20:], user("trimmed")]
    found = made.follow(trimmed)
    assert ([event.text for event in found.new], found.forked_at) == (["trimmed"], None)


def test_neighbours_of_ours_tell_nothing_in_a_list_that_begins_otherwise() -> None:
    """Two messages that stood beside each other over a gap: in another talk they are what they say."""
    made = crowded(openai_chat)
    messages = sent(made, openai_chat)
    before = len(made.store.log(made.key))
    found = made.follow([words(openai_chat, "user", "Something else."), *messages[:6]], wire=openai_chat)
    assert (found.forked_at, found.known) == (0, 0)
    assert len(made.store.log(made.key)) == 1 + 6 < before


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: str(wire.NAME))
@pytest.mark.parametrize("window", [SMALL, 128_000])
def test_steps_that_came_in_two_records_are_whole_ones_in_a_list_of_ours(window: int, wire: Any) -> None:
    """Their beginning was there, their rest came later: in what we show as in what we leave out."""
    made = Session("s", store=MemoryStore(), policy=Policy.coding(run="manual"), clock=lambda: 1_000.0)
    events = [user("go")]
    for number in range(40):
        if number % 3 == 1:
            made.follow([*events, assistant(f"step {number} " + "why " * 60)])
        call = ToolCall(f"c{number}", "ask", "{}")
        events += [assistant(f"step {number} " + "why " * 60, call), result(call.id, "words " * 20, name="ask")]
        made.follow(events)
    whole = [event for event in made.store.log(made.key) if not event.text.startswith("step") or event.calls]
    rests = [event for event in made.store.log(made.key) if "continues" in event.meta]
    assert (len(rests), len(made.store.log(made.key))) == (13, 94)
    request = made.request(window=window, wire=wire)
    assert any(change.status == "left_out" for change in request.report.changes) == (window == SMALL)
    found = made.follow(request.payload()[wire.MESSAGES], wire=wire, retry=False)
    assert (found.new, found.forked_at) == ((), None)
    assert list(made.follow(events, retry=False).seqs) == [event.seq for event in whole]
    assert made.follow(request.payload()[wire.MESSAGES][:-1], wire=wire).forked_at == 93


@pytest.mark.parametrize("reopened", [False, True])
def test_a_gap_is_remembered_in_a_file(reopened: bool, tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "a.db")
    made = Session("s", store=store, policy=Policy.coding(run="manual", window=SMALL), clock=lambda: 1_000.0)
    made.record(*crowded(openai_chat, says="continue").store.log(made.key))
    messages = sent(made, openai_chat)
    if reopened:
        store.close()
        made = Session("s", store=SQLiteStore(tmp_path / "a.db"), policy=Policy.coding(), clock=lambda: 1_000.0)
    found = made.follow([*messages, words(openai_chat, "user", "next")], wire=openai_chat)
    assert ([event.text for event in found.new], found.forked_at) == (["next"], None)


# -- events that write nothing, beside those that a wire puts into another order

EMPTY = {"assistant": assistant(""), "user": user("")}


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: str(wire.NAME))
@pytest.mark.parametrize("silent", EMPTY)
@pytest.mark.parametrize("order", list(permutations("abc")), ids="".join)
def test_results_in_any_order_with_a_silent_event_anywhere_are_recognised(
    order: tuple[str, ...], silent: str, wire: Any
) -> None:
    answers = [result(name, f"out {name}", name="bash") for name in order]
    events = [assistant("I look.", *(ToolCall(name, "bash", "{}") for name in "abc")), *answers, user("and?")]
    for at in range(len(events) + 1):
        made = session()
        made.record(user("go"), *events[:at], EMPTY[silent], *events[at:])
        messages = made.request(window=128_000, wire=wire).payload()[wire.MESSAGES]
        assert made.follow(messages, wire=wire, retry=False).new == (), f"silent at {at}"
        found = made.follow([*messages, words(wire, "assistant", "Done.")], wire=wire)
        assert ([event.text for event in found.new], found.forked_at, made.name) == (["Done."], None, "s"), at


@pytest.mark.xfail(strict=True, reason="one fingerprint has one meaning: only the list up to it would tell them apart")
def test_the_same_words_with_a_silent_event_between_them_are_recognised() -> None:
    made = session()
    made.record(user("go"), assistant("x"), user("continue"), assistant(""), user("continue"))
    messages = made.request(window=128_000).payload()["messages"]
    assert made.follow(messages, wire=openai_chat, retry=False).new == ()
