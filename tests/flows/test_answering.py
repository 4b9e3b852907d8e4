"""A model that has only an overview and the two tools answers what the end of the history no longer holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from bench.invented import facts, lived

from foldmark.events import ToolCall, assistant, result, user
from foldmark.memory import MemoryStore
from foldmark.policy import Policy
from foldmark.session import Session
from foldmark.sqlite import SQLiteStore
from foldmark.tokens import count
from foldmark.tools import Tool, recall_tools
from foldmark.wire import openai_chat

LAST_TOKENS = 20_000
OVERVIEW_TOKENS = 500


def last_words(session: Session) -> str:
    """The raw end of the history: at least LAST_TOKENS."""
    out: list[str] = []
    size = 0
    for event in reversed(session.store.log(session.key)):
        if size >= LAST_TOKENS:
            break
        out.append(event.text)
        size += count(event.text)
    return "\n".join(reversed(out))


def scripted(question: str, read: Sequence[str]) -> tuple[str, dict[str, Any]] | None:
    """An asker without any wit: searches with the question, then opens the first hit; None: it has read enough."""
    if not read:
        return "session_search", {"query": question}
    if len(read) == 1:
        ref = next(line for line in read[0].splitlines() if line.startswith("[event:"))
        return "session_load", {"ref": ref[1:].split(",")[0].split("#")[0].rstrip("]")}
    return None


@pytest.fixture(params=["memory", "sqlite"])
def session(request: pytest.FixtureRequest, tmp_path: Any) -> Session:
    store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "long.db")
    return lived(store)


def by_name(tools: Sequence[Tool]) -> dict[str, Tool]:
    return {tool.name: tool for tool in tools}


def test_an_overview_and_two_tools_answer_what_the_last_20000_tokens_do_not_hold(session: Session) -> None:
    overview, tools = session.overview(tokens=OVERVIEW_TOKENS), by_name(recall_tools(session))
    assert count(overview) <= OVERVIEW_TOKENS
    end = last_words(session)
    for fact in facts():
        assert fact.answer not in end
        assert fact.answer not in fact.question
        read: list[str] = []
        while step := scripted(fact.question, read):
            read.append(tools[step[0]](step[1]))
        assert fact.answer in read[0], fact.question  # the search alone shows it
        assert fact.answer in read[1]  # and its first hit is the event that says it
        assert count(overview + "".join(read)) < LAST_TOKENS / 4


def test_inside_the_agents_own_loop_every_request_is_valid_and_small_and_the_answer_is_reached(
    session: Session,
) -> None:
    policy = Policy.coding(recall={"overview_tokens": 60}, budget={"landing_tokens": 4_000})
    tools = recall_tools(session)
    called = by_name(tools)
    session.compact(force=True, window=32_000, policy=policy)
    before = {hit.ref for fact in facts() for hit in session.search(fact.question, limit=20)}
    for number, fact in enumerate(facts()):
        session.record(user(fact.question))
        read: list[str] = []
        while True:
            made = session.request(
                tools=[tool.schema for tool in tools], window=32_000, wire=openai_chat, policy=policy
            )
            assert openai_chat.validate(made.payload()) == []
            assert made.tokens.total < LAST_TOKENS
            step = scripted(fact.question, read)
            if step is None:
                break
            call = ToolCall(f"r{number}_{len(read)}", step[0], json.dumps(step[1]))
            read.append(called[step[0]](call.arguments))
            session.record(assistant("", call), result(call.id, read[-1], name=step[0]))
        assert fact.answer in "".join(read), fact.question
        assert fact.answer in json.dumps(made.payload(), ensure_ascii=False)
        session.record(assistant(f"It is {fact.answer}."))
    after = {hit.ref for fact in facts() for hit in session.search(fact.question, limit=20)}
    results = {
        f"event:{event.seq}" for event in session.store.log(session.key) if event.result and "r" in event.result.call_id
    }
    assert before
    assert not results & after, "what was recalled is found again"
