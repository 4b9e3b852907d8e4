"""LOSSY: previews and outcomes are shorter than what they stand for, and never untrue."""

from __future__ import annotations

import base64
import json
import re
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenes import RAW, SMALL, WIRES, checked, fresh, pairs_of, text_of

from foldmark import Policy, Price, Session
from foldmark.drafts import MESSAGE_OVERHEAD, Request
from foldmark.events import Event, ToolCall, Usage, assistant, result, user
from foldmark.kinds import outcome, recognise
from foldmark.prices import bill
from foldmark.prices.saved import Saved
from foldmark.testing import FixedClock
from foldmark.tokens import count

REF = re.compile(r"\b(?:event|artifact|compaction):\d+(?:\.\d+)?(?:#L\d+-\d+)?")


def test_every_marker_in_a_request_can_be_opened(store: Any) -> None:
    """S-LOSSY-01: no request names a ref that leads nowhere, after admission, cleanup, compaction and fit."""
    session = fresh(SMALL, store)
    session.record(user("Go."))
    seen: set[str] = set()
    for number in range(40):
        session.record(*pairs_of(1, 100 + 150 * (number % 9), start=number))
        for ref in set(REF.findall(text_of(checked(session).payload()))) - seen:
            loaded = session.load(ref)
            assert loaded.events or loaded.text
            seen.add(ref)
    assert {ref.split(":")[0] for ref in seen} == {"event", "artifact", "compaction"}


def test_a_large_json_says_how_many_records_there_are_and_is_the_same_every_time() -> None:
    """S-LOSSY-02: eight records in one line of 25 KB, twenty times: equal bytes, and eight is eight."""
    rows = [{"id": n, "name": f"record {n}", "text": f"value {n} " * 400} for n in range(8)]
    body = json.dumps(rows)
    assert len(body) > 25_000
    shown = set()
    for _ in range(20):
        session = fresh(Policy.coding())
        session.record(user("Go."), assistant("", ToolCall("j", "api", "{}")), result("j", body))
        [message] = [m for m in checked(session, window=64_000).payload()["messages"] if m["role"] == "tool"]
        shown.add(message["content"])
    assert len(shown) == 1
    assert re.search(r"\b8\b", shown.pop())
    [artifact] = session.load("event:3").events[0].artifacts
    assert json.loads(session.artifacts.read("local", artifact.sha256)) == rows


FOUND = ("12:30:01 charge", "total: 17", "a=1", "http://h:80/x")
HIT = re.compile(r"^((?:[A-Za-z]:)?[^\s:][^:\n]*?\.\w+):(\d+):(.*)$")


@given(st.integers(0, 10_000), st.integers(30, 90))
def test_a_search_preview_never_glues_a_line_to_another_path(seed: int, hits: int) -> None:
    """S-LOSSY-03: dates, colons and drive letters in paths; each path:line of a preview stood there with that text."""
    random = Random(seed)
    paths = (
        [f"logs/2026-05-{day:02}/app.log" for day in range(1, 11)]
        + [rf"C:\src\pay\mod_{n}.py" for n in range(5)]
        + [f"src/a_{n}/x.ts" for n in range(5)]
    )
    lines = []
    for path in sorted(random.choices(paths, k=hits)):
        lines.append(f"{path}:{random.randint(1, 900)}:{random.choice(FOUND)} {random.randint(0, 99)}")
    body = "\n".join(lines)
    preview = recognise(body, ToolCall("g", "grep", '{"pattern":"x"}')).preview(body, 200, count)
    known = set(lines)
    shown = [line.strip() for line in preview.splitlines() if HIT.match(line.strip())]
    assert all(
        line in known or any(whole.startswith(line.rstrip("…").rstrip()) for whole in known) for line in shown
    ), preview
    for path in re.findall(r"\S+\.(?:log|py|ts)\b", preview):
        assert any(path in whole for whole in paths), path


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("env", [f"VARIABLE_{n}=some value number {n} of the shell" for n in range(122)]),
        ("ls", [f"module_{n}_with_a_long_enough_name.py" for n in range(40)]),
        ("ls -R", [f"folder_{n}/file_{n}.txt" for n in range(900)]),
    ],
)
def test_a_missing_line_is_never_silent(name: str, lines: list[str]) -> None:
    """S-LOSSY-04: a listing is whole, or it says how many lines there are and where the rest is."""
    body = "\n".join(lines)
    session = fresh(Policy.coding(admission={"limit_tokens": 300, "inline_bytes": 500}))
    session.record(user("Go."), assistant("", ToolCall("l", "bash", json.dumps({"command": name}))), result("l", body))
    [message] = [m for m in checked(session, window=64_000).payload()["messages"] if m["role"] == "tool"]
    if not all(line in message["content"] for line in lines):
        assert f"{len(lines):,} lines" in message["content"] or f"{len(lines)} lines" in message["content"]
        assert "artifact:3" in message["content"]
    assert (
        session.load("artifact:3", limit=100_000).text == body if session.load("event:3").events[0].artifacts else True
    )


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("size", [671, 50_000])
def test_arguments_of_calls_that_stay_are_never_cut(wire: Any, size: int) -> None:
    """S-LOSSY-06: a call is shown with its arguments as they were, or it is covered whole."""
    session = fresh(Policy.coding(window=64_000))
    known = {}
    session.record(user("Write them."))
    for number in range(12):
        known[f"w{number}"] = {"path": f"src/{number}.py", "content": f'print({number}) # äöü \\ " \n' * (size // 24)}
        session.record(
            assistant("", ToolCall(f"w{number}", "write", json.dumps(known[f"w{number}"], ensure_ascii=False))),
            result(f"w{number}", "ok"),
        )
        payload = checked(session, wire).payload()
        shown = 0
        for message in payload["messages"]:
            for call in message.get("tool_calls") or ():
                assert json.loads(call["function"]["arguments"]) == known[call["id"]]
                shown += 1
            for block in message["content"] if isinstance(message.get("content"), list) else ():
                if block["type"] == "tool_use":
                    assert block["input"] == known[block["id"]]
                    shown += 1
        assert shown >= 1


def test_the_last_sentence_of_an_instruction_is_not_the_one_that_goes() -> None:
    """S-LOSSY-07: eight sentences, the hard rule last; it stands to the letter, numbers and quotes too."""
    rule = 'Never answer questions about "ACME-7" or amounts over 1,250.50 EUR.'
    said = " ".join(f"The shop sells many things of sort {n} to people of town {n}." for n in range(7)) + " " + rule
    session = fresh(SMALL.replace(budget={"target_tokens": 2_500}))
    session.record(user(said), assistant("Understood."))
    for turn in range(4):
        session.record(user(f"Do step {turn}."), *pairs_of(14, 150, start=turn * 20))
        session.compact(force=True)
    assert session.control.history()
    assert rule in text_of(checked(session).payload())


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n\n\n",
        "x",
        "{}",
        "[]",
        "[null]",
        '{"a": ""}',
        '{"a": null, "b": []}',
        "-",
        "0",
        "\ufeff",
        "```",
        "Traceback",
        "diff --git",
        "====",
    ],
)
@pytest.mark.parametrize(
    "call", [None, ToolCall("c", "", ""), ToolCall("c", "bash", "not json"), ToolCall("c", "read", '{"path": null}')]
)
def test_empty_and_tiny_bodies_come_back_unchanged(text: str, call: ToolCall | None) -> None:
    """S-LOSSY-08: no index error and no division by zero in any kind; what is small stays as it is."""
    kind = recognise(text, call)
    assert kind.preview(text, 200, count).strip("\ufeff \n") == text.strip("\ufeff \n")
    assert isinstance(outcome(text, call), str)
    session = fresh()
    session.record(user("Go."), assistant("", call or ToolCall("c", "bash", "{}")), result("c", text))
    assert session.load("event:3").events[0].result.text == text  # type: ignore[union-attr]
    session.request()


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=400).map(lambda text: text * 8), st.integers(20, 300))
def test_no_preview_is_longer_than_it_may_be_or_than_its_body(text: str, limit: int) -> None:
    """S-LOSSY-08: any text, any limit: a preview is a text that costs little, made without an exception."""
    preview = recognise(text, None).preview(text, limit, count)
    preview.encode("utf-8")
    assert count(preview) <= max(limit * 1.3, count(text)) + 40


BODIES = {
    "table": "id,name,total\n" + "".join(f'{n},"name, {n}",{n}.50\n' for n in range(900)),
    "html": "<!DOCTYPE html><html><head><title>T</title><script>steal()</script></head><body>"
    + "".join(f"<p>Paragraph {n}, see <a href='/p/{n}'>more</a>.</p>\n" for n in range(400))
    + "</body></html>",
    "xml": '<?xml version="1.0"?>\n<list>\n'
    + "".join(f'<item id="{n}">v{n}</item>\n' for n in range(900))
    + "</list>\n",
    "notebook": json.dumps(
        {
            "cells": [
                {"cell_type": "code", "execution_count": n, "metadata": {}, "source": f"f({n})\n" * 9, "outputs": []}
                for n in range(200)
            ],
            "metadata": {},
            "nbformat": 4,
        }
    ),
    "listing": "".join(f"-rw-r--r-- 1 a b {n * 7:6} 2026-05-01 10:00 file_{n}.py\n" for n in range(900)),
    "json": json.dumps([{"id": n, "name": f"name {n}"} for n in range(60_000)]),
    "encoded": base64.b64encode(bytes(range(256)) * 200).decode(),
}


@pytest.mark.parametrize("name", BODIES)
def test_every_kind_of_body_is_shortened_in_the_request_and_whole_outside(store: Any, name: str) -> None:
    """S-LOSSY-02, S-LOSSY-04: what is sent counts what it hides, twice the same; the body is as it came."""
    body = BODIES[name]
    sent = set()
    for _ in range(2):
        session = fresh(Policy.coding())
        session.record(user("Go."), assistant("", ToolCall("j", "api", "{}")), result("j", body))
        [message] = [m for m in checked(session, window=64_000).payload()["messages"] if m["role"] == "tool"]
        sent.add(message["content"])
        [artifact] = session.load("event:3").events[0].artifacts
        assert artifact.kind == name
        assert session.artifacts.read("local", artifact.sha256).decode() == body
    [content] = sent
    assert len(content) < len(body) / 2
    assert "not shown" in content
    assert "steal()" not in content


class Meter:
    """A provider with a prefix cache and a tokenizer of its own. It bills whatever request it is shown, and keeps the
    books."""

    def __init__(self, price: Price, factor: float = 1.2) -> None:
        self.price, self.factor, self.units = price, factor, 0.0
        self._shown: tuple[Event, ...] = ()
        self._time = 0.0

    def usage(self, request: Request, output: int, now: float) -> Usage:
        """What it reports of the request."""
        static, alive = request.tokens.static, now - self._time <= self.price.cache_seconds
        kept = static
        for one, other in zip(self._shown, request.messages, strict=False):
            if (one.role, one.parts) != (other.role, other.parts):
                break
            kept += other.tokens + MESSAGE_OVERHEAD
        read = round(self.factor * kept) if alive and self._shown else 0
        whole = round(self.factor * request.tokens.total)
        self._shown, self._time = request.messages, now
        usage = Usage(input=whole, output=output, cache_read=read, cache_write=whole - read)
        self.units += bill(usage, self.price)
        return usage


def lived(policy: Policy, meter: Meter, every: int = 0, *, timed: bool = True) -> tuple[Session, Saved]:
    """A session of a hundred requests, two of them after a pause, compacted by the policy or by force every so many;
    and what it says it saved. `timed`: its events say when they happened."""
    clock = FixedClock(1_000.0)
    made = Session("s", policy=policy, clock=clock)
    made.record(user("Read the files one by one."))
    for number in range(100):
        clock.advance(3_600 if number % 40 == 39 else 20)
        if every and number % every == every - 1:
            made.compact(force=True)
        request = made.request(system="You are careful. " * 400, window=1_000_000)
        call = ToolCall(f"c{number}", "read", json.dumps({"path": f"src/file_{number}.py"}))
        usage = meter.usage(request, 40, clock())
        body = "\n".join(f"{line} value_{number}_{line} of the ledger" for line in range(40 + 40 * (number % 5)))
        at = clock() if timed else None
        made.record(assistant(f"Step {number}.", call, usage=usage, time=at), result(call.id, body, time=at))
    return made, made.saved()


UNTOUCHED = {"duplicates": False, "superseded": False, "demote": False}
WHOLE = Policy.coding(run="manual", cleanup=UNTOUCHED, admission=RAW)


@pytest.mark.parametrize(
    ("price", "every"),
    [
        (Price(read=0.1, write=1.25, dollars_per_million=3.0), 0),
        (Price(read=0.25, cache_seconds=600), 0),
        (Price(read=0.1, write=1.25, dollars_per_million=3.0), 25),
        (Price(read=0.02, write=1.25, dollars_per_million=3.0), 4),
    ],
)
def test_the_saving_that_is_claimed_is_the_difference_of_two_bills(price: Price, every: int) -> None:
    """S-LOSSY-09: a hundred requests. The same session is lived a second time and never compacted: what its provider
    bills is what the report of the first says that it would have been; a loss is called one."""
    paid, whole = Meter(price), Meter(price)
    _, found = lived(Policy.coding(prices=price, admission=RAW), paid, every)
    lived(WHOLE.replace(prices=price), whole)
    assert found.requests == 100
    assert found.billed == pytest.approx(paid.units)
    assert found.would == pytest.approx(whole.units, rel=0.01)
    assert found.saving == pytest.approx(whole.units - paid.units, abs=0.01 * whole.units)
    assert (found.saving or 0) * (whole.units - paid.units) > 0
    assert found.not_sent > 0, "tokens that were left out are one thing, money is another"
    assert ("more than it saved" in str(found)) == (whole.units < paid.units) == (every == 4)


def test_without_times_of_events_a_pause_is_not_taken_for_a_saving() -> None:
    """S-LOSSY-09: whether the cache of the other side outlived it is not known then: it is taken to have."""
    price = Price(read=0.1, write=1.25, dollars_per_million=3.0)
    paid, whole = Meter(price), Meter(price)
    _, found = lived(Policy.coding(prices=price, admission=RAW), paid, 25, timed=False)
    lived(WHOLE.replace(prices=price), whole)
    assert found.would is not None
    assert found.would < whole.units
    assert found.unread == 2
    assert "2 read nothing from the cache" in str(found)


def test_a_session_that_was_never_compacted_claims_nothing() -> None:
    """S-LOSSY-09: with a pause, previews and cache misses of the provider's own."""
    price = Price(read=0.1, write=1.25, dollars_per_million=3.0)
    meter = Meter(price)
    _, found = lived(Policy.coding(run="manual", prices=price, cleanup=UNTOUCHED), meter)
    assert (found.saving, found.not_sent) == (0, 0)
    assert found.billed == pytest.approx(meter.units)
    assert "nothing was saved" in str(found)
