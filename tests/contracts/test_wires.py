"""What every wire promises: reading what was written is identity, payloads are valid, refusals are predicted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foldmark import MemoryStore, Policy, Session
from foldmark import wire as wires
from foldmark.errors import PolicyError, WireError
from foldmark.events import (
    Event,
    Image,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    assistant,
    from_json,
    result,
    to_json,
    user,
)
from foldmark.wire import WIRES, Wire, neutral_tools, tools_of_calls
from foldmark.wire.ids import make_unique
from refused import CLEAN, EXACT, INEXACT

each_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.NAME)

CONVERSATION: list[Event] = [
    user("Which beds need water?"),
    assistant("I look.", ToolCall("call_1", "read", '{"bed":1}'), ToolCall("call_2", "read", '{"bed":2}')),
    result("call_1", "40%", name="read"),
    result("call_2", "12%", name="read"),
    assistant("Bed 2 is dry."),
    Event(
        role="user",
        origin="user",
        parts=(
            Text("Like this one?"),
            Image(media_type="image/png", data="AAAA"),
            Image(url="https://example.org/b.png"),
        ),
    ),
    assistant("", ToolCall("call_3", "water", "{}")),
    result("call_3", "done", name="water"),
]


def essence(events: tuple[Event, ...] | list[Event]) -> list[tuple[str, Any]]:
    return [(event.role, event.parts) for event in events]


def read_back(wire: Wire, payload: Mapping[str, Any]) -> wires.Transcript:
    return wire.read_payload(payload)


@each_wire
def test_reading_what_was_written_is_identity(wire: Wire) -> None:
    tools = neutral_tools([{"name": "read", "description": "Reads.", "parameters": {"type": "object"}}])
    found = read_back(wire, wire.write("Be brief.", tools, CONVERSATION))
    assert essence(found.events) == essence(CONVERSATION)
    assert found.system == "Be brief."
    assert list(found.tools) == tools
    assert found.warnings == ()


@each_wire
def test_writing_what_was_read_is_identity_twice(wire: Wire) -> None:
    first = wire.write("s", [], CONVERSATION)
    second = wire.write("s", [], read_back(wire, first).events)
    assert json.dumps(second) == json.dumps(first)


@each_wire
def test_messages_read_one_by_one_say_what_the_whole_list_says(wire: Wire) -> None:
    payload = wire.write("", [], CONVERSATION)
    one_by_one = [event for message in payload[wire.MESSAGES] for event in wire.read(message)]
    whole = read_back(wire, payload).events
    if wire is not wires.openai_responses:  # there a step is several items
        assert len(one_by_one) == len(whole)
    for what in ("text", "calls", "result"):
        found = [[x for x in (getattr(event, what) for event in events) if x] for events in (one_by_one, whole)]
        if what == "result":  # a result alone does not know its tool's name
            found = [[(x.call_id, x.text) for x in side] for side in found]
        if what == "calls":
            found = [[call for calls in side for call in calls] for side in found]
        assert found[0] == found[1]


@each_wire
def test_the_payload_of_a_conversation_has_no_problem_at_all(wire: Wire) -> None:
    payload = wire.write("s", tools_of_calls(CONVERSATION), CONVERSATION)
    assert wire.validate(payload, suspected=True) == []


@each_wire
def test_nothing_in_gives_no_message_out(wire: Wire) -> None:
    for events in ([], [user("")]):
        assert wire.write("", [], events) == {wire.MESSAGES: []}
    assert wire.validate({wire.MESSAGES: []})[0].code == "no_messages"


@each_wire
def test_foreign_reasoning_never_goes_out_and_is_reported(wire: Wire) -> None:
    foreign = Event(
        role="assistant",
        origin="agent",
        parts=(Reasoning("secret thought", "somebody", {"x": 1}), Text("hi")),
    )
    assert "secret thought" not in json.dumps(wire.write("", [], [user("go"), foreign]))
    assert wire.lost([foreign]) == ["1 x reasoning of somebody"]
    assert wire.lost(CONVERSATION) == []


@each_wire
def test_every_problem_names_a_rule_and_every_rule_says_where_it_comes_from(wire: Wire) -> None:
    assert all(rule.source.endswith(".") for rule in wire.RULES)
    assert len({rule.code for rule in wire.RULES}) == len(wire.RULES)
    problem = wire.validate(wire.write("", [], [user("go"), result("nobody", "x")]))[0]
    assert (problem.code, problem.certainty) == ("orphan_result", "known")
    assert str(problem).startswith(problem.path)


def rows(tables: Mapping[str, Any]) -> list[Any]:
    named = [(name, *row) for name, table in tables.items() for row in table]
    return [pytest.param(*row, id=f"{row[0]} {row[1]}") for row in named]


@pytest.mark.parametrize(("name", "code", "payload"), rows(EXACT))
def test_each_row_of_the_table_breaks_its_rule_and_no_other(name: str, code: str, payload: dict[str, Any]) -> None:
    wire = wires.by_name(name)
    found = wire.validate(payload, suspected=True)
    assert {problem.code for problem in found} == {code}
    known = {rule.code for rule in wire.RULES if rule.certainty == "known"}
    assert wire.validate(payload) == (found if code in known else [])


@pytest.mark.parametrize(("name", "code", "payload"), rows(INEXACT))
def test_each_row_of_the_table_breaks_its_rule_and_perhaps_another(
    name: str, code: str, payload: dict[str, Any]
) -> None:
    assert code in {problem.code for problem in wires.by_name(name).validate(payload, suspected=True)}


@each_wire
def test_every_rule_has_a_row_in_the_table_a_source_and_a_date(wire: Wire) -> None:
    table = [*EXACT.get(wire.NAME, []), *INEXACT.get(wire.NAME, [])]
    assert {rule.code for rule in wire.RULES} == {code for code, _ in table}
    assert all(re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", rule.seen) for rule in wire.RULES)


@each_wire
def test_the_page_about_wires_lists_every_rule(wire: Wire) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "explanation" / "wires.md").read_text(encoding="utf-8")
    rows = [f"| `{r.code}` | {r.certainty} | {r.source.replace('|', chr(92) + '|')} | {r.seen} |" for r in wire.RULES]
    section = page.partition(f"\n### {wire.NAME}\n")[2].partition("\n### ")[0].split("\n")
    assert [row for row in rows if row not in section] == [], "these rows are missing in docs/explanation/wires.md"


@pytest.mark.parametrize(
    ("name", "payload"), [(name, payload) for name, payloads in CLEAN.items() for payload in payloads]
)
def test_a_payload_that_breaks_no_rule_has_no_problem(name: str, payload: dict[str, Any]) -> None:
    assert wires.by_name(name).validate(payload, suspected=True) == []


@each_wire
def test_a_request_that_goes_on_begins_with_the_same_bytes(wire: Wire) -> None:
    texts = [
        json.dumps(wire.write("s", [], CONVERSATION[:length])[wire.MESSAGES], ensure_ascii=False)
        for length in (1, 4, 6, 8)
    ]
    for shorter, longer in pairwise(texts):
        assert longer.startswith(shorter.rstrip("]} "))


@each_wire
def test_the_overhead_is_four_tokens_a_message(wire: Wire) -> None:
    assert (wire.OVERHEAD.message, wire.OVERHEAD.call, wire.OVERHEAD.request) == (4, 0, 0)


@each_wire
def test_a_result_with_an_error_and_pictures_is_written_without_a_problem(wire: Wire) -> None:
    picture = Image(media_type="image/png", data="AAAA")
    shown = Event(role="tool", origin="tool", parts=(ToolResult("a", "", is_error=True, images=(picture,)),))
    payload = wire.write("", tools_of_calls([CONVERSATION[1]]), [user("go"), assistant("", ToolCall("a", "f")), shown])
    found = wire.validate(payload, suspected=True)
    # Chat completions takes images from users only, so there they follow behind the result.
    assert [problem.code for problem in found] == (["role_order"] if wire is wires.openai_chat else [])


def test_wires_are_found_by_name() -> None:
    assert [wires.by_name(wire.NAME) for wire in WIRES] == list(WIRES)
    with pytest.raises(PolicyError, match="openai-chat, anthropic, openai-responses"):
        wires.by_name("morse")


def test_tools_of_every_shape_become_neutral_and_stay_so() -> None:
    shapes = [
        {"name": "a", "description": "A.", "parameters": {"type": "object"}},
        {"type": "function", "function": {"name": "b", "parameters": {"type": "object"}, "strict": True}},
        {"name": "c", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}},
        {"type": "web_search_20250305", "name": "web_search"},
    ]
    neutral = neutral_tools(shapes)
    assert neutral == [
        {"name": "a", "description": "A.", "parameters": {"type": "object"}},
        {"name": "b", "description": "", "parameters": {"type": "object"}, "strict": True},
        {"name": "c", "description": "", "parameters": {"type": "object"}},
        {
            "name": "web_search",
            "provider": "anthropic",
            "raw": {"type": "web_search_20250305", "name": "web_search"},
        },
    ]
    assert neutral_tools(neutral) == neutral


# -- junk

JUNK: list[Any] = [
    *(None, 0, 1.5, True, "", "x", [], {}, ["x"], [None], [1], [[]], [{}]),
    *({"type": "text"}, {"type": {}}, [{"type": []}], {"a": 1}, {"": False}),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value inside a payload, from the outside in."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield from places(inner, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    out = value.copy()
    out[path[0]] = replaced(value[path[0]], path[1:], new)
    return out


def sorts_of_places(wire: Wire) -> list[tuple[Any, tuple[Any, ...]]]:
    """One (payload, way) of every sort of place: where in a list it stands tells nothing, what stands round it does."""
    rows = [payload for table in (EXACT, INEXACT) for _, payload in table.get(wire.NAME, [])]
    found: dict[str, tuple[Any, tuple[Any, ...]]] = {}
    for payload in (*rows, *CLEAN.get(wire.NAME, [])):
        for path in places(payload) if len(payload.get("tools") or ()) < 9 else ():
            names = [key for key in path if isinstance(key, str)]
            found.setdefault(f"{names} {_kinds_on_the_way(payload, path)}", (payload, path))
    return list(found.values())


def _kinds_on_the_way(value: Any, path: tuple[Any, ...]) -> list[Any]:
    kinds = []
    for key in path:
        kinds.append(value.get("type") or value.get("role") if isinstance(value, dict) else None)
        value = value[key]
    return [str(kind) for kind in kinds]


@each_wire
def test_no_value_in_any_place_of_a_payload_makes_a_validator_or_a_reader_fail(wire: Wire) -> None:
    for payload, path in sorts_of_places(wire):
        for junk in JUNK:
            given = replaced(payload, path, junk)
            for problem in wire.validate(given, suspected=True):
                assert problem.message
                assert problem.path or not isinstance(given, dict)
            for refused in refusals(wire, given):
                assert refused.path


def refusals(wire: Wire, given: Any) -> list[WireError]:
    """What each of the three readers says to what is no payload any more; anything but a WireError is raised."""
    whole = given if isinstance(given, dict) else {}
    readers: list[Callable[[], Any]] = [
        lambda: wire.read_payload(given),
        lambda: wire.read(given),
        lambda: wire.read_messages(whole.get(wire.MESSAGES), given, whole.get("tools")),
    ]
    found: list[WireError] = []
    for reader in readers:
        try:
            reader()
        except WireError as error:
            found.append(error)
    return found


@each_wire
@pytest.mark.parametrize("junk", [junk for junk in JUNK if not isinstance(junk, dict)], ids=repr)
def test_a_payload_that_is_no_object_is_of_the_wrong_shape(wire: Wire, junk: Any) -> None:
    assert [(problem.path, problem.code) for problem in wire.validate(junk)] == [("", "shape")]
    with pytest.raises(WireError, match=r"^payload: expected an object"):
        wire.read_payload(junk)


@each_wire
def test_what_is_read_from_a_misshapen_payload_is_written_in_shape(wire: Wire) -> None:
    for payload, path in sorts_of_places(wire):
        for junk in JUNK:
            try:
                read = wire.read_payload(replaced(payload, path, junk))
            except WireError:
                continue
            for target in WIRES:
                written = target.write(read.system, read.tools, read.events)
                assert [problem for problem in target.validate(written) if problem.code == "shape"] == []
            wire.lost(read.events)


@each_wire
@pytest.mark.parametrize(
    "tools",
    [
        *(8, True, "x", {"name": "a"}, [8], ["x"], [[]], [{}], [{"name": 1}], [{"name": "f", "parameters": 8}]),
        *([{"function": {"name": "f", "parameters": "p"}}], [{"name": "f", "input_schema": [1]}]),
        *([{"raw": 1, "provider": "anthropic"}], [{"raw": {}, "provider": []}], [{"type": {}}]),
        [{"name": "f", "description": []}],
        [{"type": "function", "name": "f", "strict": "yes"}],
    ],
    ids=repr,
)
def test_tools_of_any_other_shape_are_an_error_that_names_its_place(wire: Wire, tools: Any) -> None:
    if tools == [{}] and wire is wires.gemini:
        return  # an empty tool of Gemini's is a tool that holds nothing
    with pytest.raises(WireError, match=r"^tools"):
        wire.read_messages([], tools=tools)


@each_wire
def test_misshapen_messages_in_a_known_prefix_are_not_looked_for(wire: Wire) -> None:
    payload = wire.write("", tools_of_calls(CONVERSATION), CONVERSATION)
    messages = payload[wire.MESSAGES]
    odd = {**payload, wire.MESSAGES: [{**messages[0], "role": 1}, *messages[1:]]}
    assert {problem.code for problem in wire.validate(odd)} == {"shape"}
    assert [problem for problem in wire.validate(odd, len(messages) - 1) if problem.code == "shape"] == []


# -- depth


def nested(levels: int) -> Any:
    """That many objects and lists inside each other."""
    value: Any = "x"
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


@each_wire
@pytest.mark.parametrize(("levels", "is_raw"), [(150, False), (250, True), (500, True), (5_000, True)])
def test_a_call_whose_arguments_are_nested_too_deeply_is_wrapped_and_sent(
    wire: Wire, levels: int, is_raw: bool
) -> None:
    arguments = '{"a":' + "[" * levels + "]" * levels + "}"
    events = [user("go"), assistant("", ToolCall("c", "read", arguments)), result("c", "x", name="read"), user("on")]
    payload = wire.write("", tools_of_calls(events), events)
    assert wire.validate(payload) == []
    assert ("_raw" in json.dumps(payload)) == is_raw
    (call,) = wire.read_payload(payload).events[1].calls
    assert json.loads(call.arguments) == {"_raw": arguments} if is_raw else call.arguments == arguments


@each_wire
@pytest.mark.parametrize("levels", [100, 300, 2_000])
def test_a_payload_of_any_depth_is_read_or_refused_in_words(wire: Wire, levels: int) -> None:
    for payload, path in sorts_of_places(wire):
        given = replaced(payload, path, nested(levels))
        wire.validate(given, suspected=True)
        if refused := refusals(wire, given):
            assert all(error.path for error in refused)
            continue
        read = wire.read_payload(given)
        for target in WIRES:
            _written_or_refused(target, read, levels)


def _written_or_refused(target: Wire, read: wires.Transcript, levels: int) -> None:
    try:
        target.write(read.system, read.tools, read.events)
    except WireError as error:
        if levels < 200:
            raise
        refused = str(error)
        assert "nested more than 200 levels deep" in refused


# -- what goes out as it came


WHOLE: dict[str, list[Reasoning | Opaque]] = {
    "openai-chat": [Reasoning("hm", "openai", {"reasoning_content": "hm"})],
    "anthropic": [
        Reasoning("hm", "anthropic", {"type": "thinking", "thinking": "hm", "signature": "c2ln"}),
        Opaque("anthropic", {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
        Opaque("anthropic", {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}),
    ],
    "openai-responses": [
        Reasoning("hm", "openai-responses", {"type": "reasoning", "summary": [], "encrypted_content": "x"}),
        Opaque("openai-responses", {"type": "web_search_call", "status": "completed"}),
    ],
    "gemini": [
        Reasoning("hm", "gemini", {"text": "hm", "thought": True, "thoughtSignature": "c2ln"}),
        Opaque("gemini", {"executableCode": {"language": "PYTHON", "code": "1"}}),
        Opaque("gemini", {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}),
    ],
}
"""What a model of each provider may put into a step beside words and calls."""
SHOWN = {
    "openai-chat": Opaque("openai", {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}),
    "anthropic": Opaque("anthropic", {"type": "document", "source": {"type": "url", "url": "https://example.org/a"}}),
    "openai-responses": Opaque("openai-responses", {"type": "input_file", "file_id": "file_1"}),
    "gemini": Opaque("gemini", {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://a/b"}}),
}
"""What a user may show to each of them beside words and images."""


def long_talk(wire: Wire, rounds: int) -> list[list[Event]]:
    """Rounds with all that a provider knows: what the model thought and did, images, results with images."""
    picture = Image(media_type="image/png", data="AAAA")
    talk: list[list[Event]] = []
    for number in range(rounds):
        ids = [f"call_{number}_{at}" for at in range(2)]
        calls = [ToolCall(call_id, "read", json.dumps({"bed": number})) for call_id in ids]
        answers = [ToolResult(call_id, f"{number}%", "read", images=(picture,) * at) for at, call_id in enumerate(ids)]
        talk += [
            [Event(role="user", origin="user", parts=(Text(f"Look at {number}."), picture, SHOWN[wire.NAME]))],
            [
                Event(role="assistant", origin="agent", parts=(*WHOLE[wire.NAME], Text("I look."), *calls)),
                *(Event(role="tool", origin="tool", parts=(answer,)) for answer in reversed(answers)),
            ],
            [Event(role="assistant", origin="agent", parts=(*WHOLE[wire.NAME], Text(f"It is {number}%.")))],
        ]
    return talk


@each_wire
def test_every_request_of_a_growing_session_begins_with_the_bytes_of_the_one_before(wire: Wire) -> None:
    session = Session("s", store=MemoryStore(), policy=Policy.coding(run="manual"), clock=lambda: 1_000.0)
    last = b""
    for events in long_talk(wire, 6):
        session.record(*events)
        if events[-1].role == "assistant":
            continue  # nobody asks while the model has the last word
        payload = session.request(wire=wire, window=200_000).payload()
        assert payload == json.loads(json.dumps(wire.write("", [], _copies(session, wire), max_output=_limit(payload))))
        now = json.dumps(payload[wire.MESSAGES], ensure_ascii=False).encode().rstrip(b"]} ")
        assert now.startswith(last)
        last = now
    assert last.count(b"AAAA") >= 12
    assert wire.lost([event for events in long_talk(wire, 1) for event in events]) == []


def _copies(session: Session, wire: Wire) -> list[Event]:
    """The events of a request as objects that no wire remembers."""
    return [from_json(to_json(event)) for event in session.peek(wire).messages]


def _limit(payload: Mapping[str, Any]) -> int | None:
    return payload.get("max_tokens")


TYPELESS = [{}, {"type": None}, {"type": ""}, {"type": []}, {"": 1}, {"text": 5}]


@each_wire
@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool"])
@pytest.mark.parametrize("raw", TYPELESS, ids=repr)
def test_a_block_without_a_type_is_never_written_and_is_said_to_be_lost(wire: Wire, role: Any, raw: Any) -> None:
    block = Opaque(WHOLE[wire.NAME][0].provider, raw)
    held: tuple[Any, ...] = (ToolResult("a", "ok", "f"),) if role == "tool" else (Text("x"),)
    begun = [user("go"), assistant("", ToolCall("a", "f"))] if role == "tool" else [user("go")]
    events = [*begun, Event(role=role, origin="injected", parts=(*held, block)), user("on")]
    payload = wire.write("", tools_of_calls(events), events)
    assert wire.validate(payload) == []
    sent = [one for message in payload[wire.MESSAGES] for one in _objects(message)]
    assert raw not in [one for one in sent if one]
    assert len(wire.lost(events)) == 1


def _objects(value: Any) -> Iterator[Any]:
    """The parts of a message: objects inside lists."""
    for inner in value.values() if isinstance(value, dict) else ():
        if isinstance(inner, list):
            yield from (one for one in inner if isinstance(one, dict))
            for one in inner:
                yield from _objects(one)


@each_wire
@pytest.mark.parametrize("is_error", [False, True])
def test_an_image_of_a_result_that_cannot_be_sent_is_named_in_its_place_and_said_to_be_lost(
    wire: Wire, is_error: bool
) -> None:
    images = (Image(media_type="image/png", data="AAAA"), Image(media_type="image/bmp", data="Qk0="))
    shown = Event(role="tool", origin="tool", parts=(ToolResult("a", "fine", "f", is_error, images),))
    events = [user("go"), assistant("", ToolCall("a", "f")), shown, user("on")]
    written = json.dumps(wire.write("", tools_of_calls(events), events))
    assert "Qk0=" not in written
    assert "[an image of type image/bmp cannot be sent here]" in written
    assert wire.lost(events) == ["1 x image that cannot be sent"]


# -- call ids that come back


def numbered_anew(steps: list[list[str]], used: set[str]) -> list[list[str]]:
    """The ids that steps get: the first free number behind the id, looked for from 2 each time."""
    out: list[list[str]] = []
    for step in steps:
        out.append([])
        for call_id in step:
            number, name = 2, call_id
            while name in used:
                name, number = f"{call_id[:58]}_{number}", number + 1
            used.add(name)
            out[-1].append(name)
    return out


call_ids = st.sampled_from(["call", "call_2", "call_3", "call_2_2", "c" * 60, "c" * 61, "c" * 58 + "_2", "_", "*call"])


@given(st.lists(st.lists(call_ids, min_size=1, max_size=3), max_size=12))
@example([["call_3"], ["call"], ["call"], ["call"], ["call"]])
def test_an_id_that_comes_back_gets_the_first_number_that_is_free(steps: list[list[str]]) -> None:
    used: dict[str, Any] = {}
    wanted, found = numbered_anew(steps, set()), []
    for step in steps:
        used = dict.fromkeys(used)  # the memory of a writer keeps the ids alone
        calls = [{"id": call_id} for call_id in step]
        answers = [{"of": call_id} for call_id in step]
        make_unique(calls, answers, used, call_key="id", answer_key="of")
        found.append([call["id"] for call in calls])
        assert [answer["of"] for answer in answers] == found[-1]
    assert found == wanted


class Asked(dict[str, Any]):
    """A dict that counts how often it is asked."""

    count = 0

    def __contains__(self, key: object) -> bool:
        self.count += 1
        return super().__contains__(key)


def test_an_id_that_always_comes_back_is_numbered_without_looking_at_every_number_before() -> None:
    used = Asked()
    for number in range(4_000):
        (call,) = calls = [{"id": "call_0"}]
        make_unique(calls, [], used, call_key="id", answer_key="of")
        assert call["id"] == (f"call_0_{number + 1}" if number else "call_0")
    assert used.count < 4 * 4_000


@pytest.mark.parametrize("wire", [wires.anthropic, wires.openai_responses], ids=lambda wire: wire.NAME)
def test_pairs_of_one_id_go_out_under_numbers_and_a_longer_list_keeps_them(wire: Wire) -> None:
    events = [user("go")]
    payloads = []
    for number in range(30):
        events += [assistant("", ToolCall("call_0", "f")), result("call_0", f"said {number}", name="f")]
        payloads.append(wire.write("", tools_of_calls(events), list(events)))
    last = payloads[-1]
    assert wire.validate(last) == []
    said = {found.call_id: found.text for event in wire.read_payload(last).events if (found := event.result)}
    assert said == {"call_0" if not n else f"call_0_{n + 1}": f"said {n}" for n in range(30)}
    for shorter, longer in pairwise(payloads):
        assert longer[wire.MESSAGES][: len(shorter[wire.MESSAGES])] == shorter[wire.MESSAGES]


# -- one more instruction behind a payload

EVERY_WIRE = (*WIRES, *wires.VARIANTS)
every_wire = pytest.mark.parametrize("wire", EVERY_WIRE, ids=lambda wire: wire.NAME)
STREAMING = {"stream": True, "stream_options": {"include_usage": True}}


def front_stays(wire: Wire, parent: Mapping[str, Any], fork: Mapping[str, Any]) -> bool:
    """Whether the JSON of the fork begins with that of the parent up to the end of its last message, or of what that
    message holds; and every other field is the same."""
    apart = (wire.MESSAGES, *STREAMING)
    if {key: fork[key] for key in fork if key not in apart} != {key: parent[key] for key in parent if key not in apart}:
        return False
    before, after = (
        json.dumps({key: body[key] for key in body if key not in STREAMING}, ensure_ascii=False).partition(
            f'"{wire.MESSAGES}": '
        )
        for body in (parent, fork)
    )
    shorter = json.dumps(parent[wire.MESSAGES], ensure_ascii=False)
    ends = [shorter.removesuffix(end) for end in ("]", "]}]", '"}]') if shorter.endswith(end)]
    return before[0] == after[0] and any(after[2].startswith(end) for end in ends)


@every_wire
def test_an_instruction_stands_behind_everything_and_changes_nothing_before(wire: Wire) -> None:
    for length in (1, 4, 5, 6, 8):
        events = CONVERSATION[:length]
        parent = {**wire.write("Be brief.", tools_of_calls(CONVERSATION), events, model="m", max_output=500)}
        parent |= {} if wire is wires.gemini else {"stream": True}
        whole = json.dumps(parent)
        fork = wire.append_user(parent, "Say where we are.")
        assert front_stays(wire, parent, fork)
        assert "stream" not in fork
        assert json.dumps(parent) == whole
        assert wire.validate(fork) == []
        newest = read_back(wire, fork).events[-1]
        assert newest.role == "user"
        assert newest.text.endswith("Say where we are.")


@every_wire
def test_an_instruction_breaks_no_more_rules_than_words_of_the_user_would(wire: Wire) -> None:
    for length in (1, 4, 5, 6, 8):
        parent = wire.write("", tools_of_calls(CONVERSATION), CONVERSATION[:length])
        written = wire.write("", tools_of_calls(CONVERSATION), [*CONVERSATION[:length], user("Say where we are.")])
        codes = [
            sorted({problem.code for problem in wire.validate(body, suspected=True)})
            for body in (wire.append_user(parent, "Say where we are."), written)
        ]
        # Behind function responses a turn of its own is safer at Gemini than a part beside them: the first generation
        # refused the one, the second refuses the other.
        is_turn = wire is wires.gemini and CONVERSATION[length - 1].role == "tool"
        assert codes[0] == (["role_order"] if is_turn else codes[1])


@every_wire
def test_an_open_call_at_the_end_takes_no_instruction(wire: Wire) -> None:
    parent = wire.write("", tools_of_calls(CONVERSATION), CONVERSATION[:2])
    with pytest.raises(WireError, match="missing_result"):
        wire.append_user(parent, "Say where we are.")


@every_wire
@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_instruction_has_words(wire: Wire, text: str) -> None:
    with pytest.raises(WireError, match="without words"):
        wire.append_user(wire.write("", [], CONVERSATION[:1]), text)


@every_wire
def test_an_instruction_goes_out_clean(wire: Wire) -> None:
    fork = wire.append_user(wire.write("", [], CONVERSATION[:1]), "a\ud83db\x00c")
    assert read_back(wire, fork).events[-1].text.endswith("a\ufffdb\ufffdc")


@every_wire
def test_nothing_is_put_behind_an_empty_conversation(wire: Wire) -> None:
    with pytest.raises(WireError):
        wire.append_user({wire.MESSAGES: []}, "Say where we are.")


@every_wire
def test_no_value_in_any_place_of_a_payload_makes_an_instruction_fail_but_in_words(wire: Wire) -> None:
    name = "openai-chat" if wire in wires.VARIANTS else wire.NAME
    for payload, path in sorts_of_places(wires.by_name(name)):
        for junk in JUNK:
            given = replaced(payload, path, junk)
            if not isinstance(given, dict):
                continue
            try:
                fork = wire.append_user(given, "Say where we are.")
            except WireError:
                continue
            assert wire.validate(fork) == []


FORCED: dict[str, list[dict[str, Any]]] = {
    "openai-chat": [
        *({"tool_choice": "required"}, {"tool_choice": {"type": "function", "function": {"name": "read"}}}),
        {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}}},
        {"response_format": {"type": "json_schema", "json_schema": {}}},
    ],
    "anthropic": [
        *({"tool_choice": {"type": "any"}}, {"tool_choice": {"type": "tool", "name": "read"}}),
        *({"output_config": {"format": {"type": "json_schema"}}}, {"output_format": {"type": "json_schema"}}),
    ],
    "openai-responses": [
        *({"tool_choice": "required"}, {"tool_choice": {"type": "function", "name": "read"}}),
        {"tool_choice": {"type": "allowed_tools", "mode": "required", "tools": []}},
        *({"text": {"format": {"type": "json_schema"}}}, {"conversation": "conv_1"}),
    ],
    "gemini": [
        {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
        *({"generationConfig": {"responseSchema": {"type": "OBJECT"}}},),
        {"generationConfig": {"responseJsonSchema": {"type": "object"}}},
    ],
}
FREE: dict[str, list[dict[str, Any]]] = {
    "openai-chat": [
        *({"tool_choice": "none"}, {"tool_choice": "auto"}, {"response_format": {"type": "json_object"}}),
        {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}},
    ],
    "anthropic": [{"tool_choice": {"type": "auto"}}, {"tool_choice": {"type": "none"}}, {"output_config": {}}],
    "openai-responses": [
        *({"tool_choice": "auto"}, {"text": {"verbosity": "low"}}, {"previous_response_id": "resp_1"}),
        {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}},
    ],
    "gemini": [{"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}}, {"generationConfig": {"temperature": 0}}],
}


@every_wire
def test_what_binds_the_answer_and_the_cached_prompt_takes_no_instruction_and_nothing_else_is_touched(
    wire: Wire,
) -> None:
    name = "openai-chat" if wire in wires.VARIANTS else wire.NAME
    parent = wire.write("", tools_of_calls(CONVERSATION), CONVERSATION[:1])
    for fields in FORCED[name]:
        with pytest.raises(WireError):
            wire.append_user(parent | fields, "Say where we are.")
    for fields in FREE[name]:
        fork = wire.append_user(parent | fields, "Say where we are.")
        assert front_stays(wire, parent | fields, fork)
        assert all(fork[key] == value for key, value in fields.items())


@pytest.mark.parametrize(
    ("model", "drops"),
    [
        *(("claude-opus-4-5-20251101", False), ("claude-sonnet-4-6", False), ("claude-opus-5", False)),
        *(("claude-sonnet-4-5", True), ("claude-haiku-4-5", True), ("claude-opus-4-20250514", True)),
        *(("us.anthropic.claude-3-7-sonnet-20250219-v1:0", True), ("claude-opus-4-1@20250805", True), ("", False)),
        *(("claude-sonnet-4-20250514", True), ("claude-opus-4-10", False)),
    ],
)
def test_older_claude_models_would_drop_the_thinking_of_the_running_turn_for_an_instruction(
    model: str, drops: bool
) -> None:
    thinking = Reasoning("hm", "anthropic", {"type": "thinking", "thinking": "hm", "signature": "c2ln"})
    step = Event(role="assistant", origin="agent", parts=(thinking, ToolCall("a", "read", "{}")))
    events = [user("go"), step, result("a", "done")]
    wire = wires.by_name("anthropic")
    body = wire.write("", tools_of_calls(events), events, model=model, max_output=4_000)
    enabled = body | {"thinking": {"type": "enabled", "budget_tokens": 2_000}}
    if drops:
        with pytest.raises(WireError, match="drops the thinking"):
            wire.append_user(enabled, "Say where we are.")
    else:
        assert front_stays(wire, enabled, wire.append_user(enabled, "Say where we are."))
    # Without thinking, and behind words of the user, nothing is dropped that was not dropped before.
    wire.append_user(body, "Say where we are.")
    later = wire.write("", tools_of_calls(events), [*events, user("and?")], model=model, max_output=4_000)
    wire.append_user(later | {"thinking": {"type": "enabled", "budget_tokens": 2_000}}, "Say where we are.")


def test_marks_for_caching_stay_where_they_are_and_one_too_many_is_refused() -> None:
    wire = wires.by_name("anthropic")
    parent = wire.write("Be brief.", tools_of_calls(CONVERSATION), CONVERSATION[:6], max_output=500)
    mark = {"cache_control": {"type": "ephemeral"}}
    parent["system"] = [{"type": "text", "text": parent["system"], **mark}]
    parent["tools"][-1] |= mark
    for at in (-1, -3):
        parent["messages"][at]["content"][-1] |= mark
    fork = wire.append_user(parent, "Say where we are.")
    assert front_stays(wire, parent, fork)
    assert json.dumps(fork).count("ephemeral") == 4
    assert "cache_control" not in fork["messages"][-1]["content"][-1]
    parent["messages"][0]["content"][-1] |= mark
    with pytest.raises(WireError, match="too_many_marks"):
        wire.append_user(parent, "Say where we are.")


def test_a_text_of_the_user_is_an_item_before_an_instruction_goes_behind_it() -> None:
    fork = wires.openai_responses.append_user({"input": "Hello", "background": True}, "Say where we are.")
    assert [item["content"] for item in fork["input"]] == ["Hello", "Say where we are."]
    assert "background" not in fork
