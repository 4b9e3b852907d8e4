"""The tool by which an agent compacts its own context."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from foldmark import Policy, Session, assistant, user
from foldmark.aio import AsyncSession
from foldmark.events import result
from foldmark.testing import ScriptedModel, items_json
from foldmark.tools import compact_tool
from foldmark.wire import WIRES
from making import call, long_session

POLICY = Policy.coding(run="manual", budget={"landing_tokens": 3_000})


def session(rounds: int = 40) -> Session:
    made = Session("s", policy=POLICY)
    made.record(*long_session(rounds, 20))
    return made


def ask(made: Session, arguments: str = "{}") -> str:
    """The agent calls the tool, as in a loop: call, run, result."""
    tool = compact_tool(made)
    made.record(assistant("I make room.", call(tool.name, "own", arguments)))
    answer: str = tool(arguments)
    made.record(result("cown", answer, name=tool.name))
    return answer


def test_the_agent_compacts_in_the_middle_of_its_own_step_and_the_pair_stays_whole() -> None:
    made = session()
    answer = ask(made, '{"focus": "the refunds"}')
    assert answer.startswith("Compacted: the request had ")
    assert made.control.attempts()[-1].run == "tool"
    assert made.control.attempts()[-1].trigger == "agent"
    for name in WIRES:
        payload = str(made.request(window=100_000, wire=name).payload())
        assert "cown" in payload or name.NAME == "gemini"
        assert answer[:30] in payload


def test_asked_again_at_once_it_is_not_obeyed_and_says_so() -> None:
    made = session()
    ask(made)
    assert compact_tool(made)("{}").startswith("Nothing was compacted")
    assert len(made.control.history()) == 1


def test_in_a_short_session_there_is_nothing_to_do() -> None:
    made = session(2)
    assert "too little would go" in ask(made)
    assert made.control.history() == []


@pytest.mark.parametrize("arguments", ["", "null", "{}", '{"focus": 7}', '{"focus": null, "x": 1}', {}])
def test_arguments_that_a_model_gets_wrong_are_no_error(arguments: str) -> None:
    assert compact_tool(session())(arguments).startswith("Compacted")


@pytest.mark.parametrize("arguments", ["not json", "[1]", '"words"', "{"])
def test_arguments_that_cannot_be_read_are_answered_and_nothing_is_done(arguments: str) -> None:
    made = session()
    assert compact_tool(made)(arguments).startswith("The arguments are no JSON object")
    assert made.control.history() == []


def test_an_awaited_session_awaits_it() -> None:
    async def scenario() -> None:
        made = AsyncSession("s", policy=POLICY, model=ScriptedModel(items_json(), name="m"))
        await made.record(*long_session(40, 20))
        assert (await compact_tool(made)('{"focus": "x"}')).startswith("Compacted")

    asyncio.run(scenario())


@pytest.mark.parametrize("name", WIRES, ids=lambda wire: wire.NAME)
def test_its_schema_is_written_for_every_wire(name: Any) -> None:
    made = Session("s", policy=POLICY)
    made.record(user("hello"))
    tool = compact_tool(made, name="make_room")
    payload = made.request(window=100_000, tools=[tool.schema], wire=name).payload()
    assert "make_room" in str(payload["tools"] if "tools" in payload else payload["config"])
    assert "focus" in str(payload)
