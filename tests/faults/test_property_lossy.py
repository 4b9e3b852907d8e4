"""LOSSY as one property: what is shortened says so, opens whole, stays valid, and is the same each time."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from scenes import fresh, pairs_of, text_of
from turns import turns

from foldmark import BudgetExceeded, Policy
from foldmark.drafts import payload_bytes
from foldmark.events import ToolCall, assistant, result, user
from foldmark.kinds import recognise
from foldmark.tokens import count
from foldmark.wire import WIRES, anthropic

ROWS = {
    "records": ("[", '{{"id": {n}, "name": "record {n}", "total": "{n}.50"}}', ", ", "]"),
    "lines of JSON": ("", '{{"id": {n}, "level": "error", "text": "value {n}"}}', "\n", "\n"),
    "hits": ("", "logs/2026-05-{d:02}/app.log:{n}:12:30:0{d} charge {n}", "\n", "\n"),
    "hits on a drive": ("", r"C:\src\pay\mod_{d}.py:{n}:a={n}", "\n", "\n"),
    "variables": ("", "VARIABLE_{n}=some value number {n}", "\n", "\n"),
    "names": ("", "module_{n}_with_a_long_enough_name.py", "\n", "\n"),
    "log": ("", "2026-05-01 10:00:{d:02} ERROR request {n} failed", "\n", "\n"),
    "table": ("id,name,total\n", '{n},"name, {n}",{n}.50', "\n", "\n"),
    "prose": ("", "The shop sells many things of sort {n} to people of town {d}.", " ", ""),
}
TINY = (
    "",
    " ",
    "\n\n",
    "x",
    "{}",
    "[]",
    "[null]",
    '{"a": ""}',
    "-",
    "\ufeff",
    "```",
    "Traceback",
    "diff --git",
    "====",
)
COMMANDS = ("", "env", "ls", "grep -rn charge .", "cat app.log", "pytest -q")
REF = re.compile(r"\b(?:event|artifact|compaction):\d+(?:\.\d+)?(?:#L\d+-\d+)?")


def body_of(sort: str, rows: int) -> str:
    head, row, seam, end = ROWS[sort]
    return head + seam.join(row.format(n=n, d=n % 10) for n in range(1, rows + 1)) + end


def values(sort: str, rows: int, number: int, tool: str) -> list[Any]:
    """The same act twice gives the same bytes; a session that held one body, and its request."""
    session = fresh(
        Policy.coding(budget={"target_tokens": 4_000}, admission={"limit_tokens": 200, "inline_bytes": 300})
    )
    call = ToolCall("j", "bash", json.dumps({"command": tool}))
    session.record(user("Go."), assistant("", call), result("j", body_of(sort, rows), name="bash"))
    session.record(*pairs_of(number, 150))
    return [session, session.request(wire=WIRES[number % len(WIRES)], window=64_000)]


@settings(max_examples=35)
@given(
    sort=st.sampled_from(sorted(ROWS)),
    rows=st.sampled_from([1, 8, 40, 122, 400]),
    number=st.integers(0, 7),
    tool=st.sampled_from(COMMANDS),
    is_compacted=st.booleans(),
)
@example("records", 19, 0, "", False).via("S-LOSSY-01: a marker without a way to open it")
@example("records", 8, 1, "", False).via("S-LOSSY-02: eight records")
@example("hits", 60, 2, "grep -rn charge .", False).via("S-LOSSY-03: paths with dates and colons")
@example("hits on a drive", 60, 3, "grep -rn a .", False).via("S-LOSSY-03: drive letters")
@example("variables", 122, 0, "env", True).via("S-LOSSY-04: env")
@example("names", 40, 1, "ls", True).via("S-LOSSY-04: ls")
def test_what_is_shown_of_a_body_is_true_and_leads_to_all_of_it(
    sort: str, rows: int, number: int, tool: str, is_compacted: bool
) -> None:
    body = body_of(sort, rows)
    (session, request), (_, again) = (values(sort, rows, number, tool) for _ in range(2))
    assert payload_bytes(request.payload()) == payload_bytes(again.payload())
    shown = next(turn for turn in turns(request.payload()) if turn.results).text
    if body not in shown:
        assert re.search(r"\d", shown), "how much is hidden is not said"
        assert REF.search(shown), "nothing leads to the rest"
        stored = session.load("event:3").events[0]
        whole = (
            session.artifacts.read("local", stored.artifacts[0].sha256).decode() if stored.artifacts else stored.text
        )
        assert whole == body
    if sort.startswith("hits"):
        for line in re.findall(r"^\S+\.(?:log|py):\d+:.*$", shown, re.MULTILINE):
            assert line in body.split("\n") or line.rstrip("…") in body, "a line that never was"
    if is_compacted and session.compact(force=True, window=64_000).outcome == "applied":
        request = session.request(wire=WIRES[0], window=64_000)
    for ref in set(REF.findall(text_of(request.payload()))):
        loaded = session.load(ref)
        assert loaded.events or loaded.text or not body, f"{ref} leads nowhere"


@settings(max_examples=40)
@given(
    text=st.one_of(st.sampled_from(TINY), st.text(max_size=30)),
    arguments=st.one_of(st.sampled_from(["", "not json", '{"path": null}', "[1]"]), st.text(max_size=20)),
    limit=st.integers(20, 300),
)
@example("", "", 200).via("S-LOSSY-08: nothing")
def test_a_tiny_body_comes_back_as_it_is(text: str, arguments: str, limit: int) -> None:
    call = ToolCall("c", "bash", arguments)
    kind = recognise(text, call)
    preview = kind.preview(text, limit, count)
    assert count(preview) <= max(count(text), limit * 1.3) + 40
    assert isinstance(kind.outcome(text, call), str)
    session = fresh()
    session.record(user("Go."), assistant("", call), result("c", text))
    stored = session.load("event:3").events[0].result
    assert stored
    assert stored.text == text


words = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00"), max_size=40)
leaves = st.one_of(words, st.integers(), st.booleans(), st.none())
objects = st.dictionaries(words.filter(bool), st.one_of(leaves, st.lists(leaves, max_size=3)), max_size=5)


@settings(max_examples=20)
@given(arguments=objects, size=st.sampled_from([0, 671, 50_000]), wire=st.sampled_from(WIRES))
@example({"path": "src/a.py"}, 671, WIRES[0]).via("S-LOSSY-06: 671 characters")
@example({"path": "src/a.py"}, 50_000, WIRES[1]).via("S-LOSSY-06: 50,000 characters")
def test_arguments_go_out_as_the_same_object_or_with_the_whole_call_covered(
    arguments: dict[str, Any], size: int, wire: Any
) -> None:
    known = {**arguments, "content": "print(1) # äöü \\ \n" * (size // 18)}
    session = fresh(Policy.coding(window=64_000))
    session.record(user("Write."), assistant("", ToolCall("w", "write", json.dumps(known))), result("w", "ok"))
    session.record(*pairs_of(6, 600))
    try:
        payload = session.request(wire=wire).payload()
    except BudgetExceeded:
        return
    said = [one for one in _calls(payload) if "path" not in one or one == known]
    assert known in said or session.control.history(), "cut"


HOSTED = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "charge twice"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [{"type": "web_search_result"}],
    },
    {"type": "a_block_of_next_year", "held": {"inner": [1, None, "x"]}},
]


def test_a_block_that_we_do_not_know_goes_through_unchanged() -> None:
    """S-LOSSY-05 without its stream: a hosted tool keeps its input, and a new sort of block all it holds."""
    step = {"role": "assistant", "content": [{"type": "text", "text": "I look."}, *HOSTED]}
    session = fresh(Policy.coding())
    session.record(*anthropic.read_messages([{"role": "user", "content": "Go."}, step]).events, user("And?"))
    payload = session.request(wire=anthropic, window=64_000).payload()
    assert payload["messages"][1]["content"] == step["content"]


def _calls(value: Any) -> list[Any]:
    """The arguments of every call in a payload, parsed."""
    if isinstance(value, list):
        return [found for inner in value for found in _calls(inner)]
    if not isinstance(value, dict):
        return []
    held = [value[key] for key in ("arguments", "args", "input") if key in value]
    out = [json.loads(one) if isinstance(one, str) else one for one in held if not isinstance(one, list)]
    return out + [found for inner in value.values() for found in _calls(inner)]
