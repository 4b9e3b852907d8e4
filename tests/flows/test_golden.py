"""Golden requests: a small session in, the next request out, as people read it. One file per situation.

Read the file first, then the test. `FOLDMARK_WRITE_GOLDEN=1 pytest tests/flows/test_golden.py` writes them anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from foldmark import Policy, Session, ToolCall, assistant, result, user
from foldmark.cli.output import request_text
from foldmark.events import Event
from foldmark.wire import openai_chat
from making import long_session, tool_round

HERE = Path(__file__).parent / "golden"


def rules_and_a_failed_attempt() -> Session:
    """A rule said once, a failed attempt, a fix, then a long loop: what a person needs to go on."""
    made = _session({"target_tokens": 3_000})
    made.record(
        user("Fix the duplicate charges in src/pay/idem.py. Never touch the schema."),
        *_run(
            "a",
            "pytest tests/test_refund.py",
            "FAILED tests/test_refund.py::test_retry - assert 2 == 1\n1 failed, 3 passed",
        ),
        assistant(
            "A lock will not do, I'll use a unique key instead.", _edit("b", "lock.acquire()", "key = unique(order)")
        ),
        result("b", "The file src/pay/idem.py has been updated."),
        *_run("c", "pytest tests/test_refund.py", "4 passed in 0.2s"),
        assistant("The refund test is green now."),
        user("Good. Now read the other modules and tell me where charge() is called."),
        *(event for number in range(1, 25) for event in tool_round(number, _module(number))),
    )
    made.compact(force=True, window=64_000)
    return made


def a_late_result_and_a_lost_one() -> Session:
    """Calls that were never answered, and an answer that came too late."""
    made = _session({})
    made.record(
        user("Start both jobs."),
        assistant(
            "Starting.",
            ToolCall("one", "bash", '{"command":"job one"}'),
            ToolCall("two", "bash", '{"command":"job two"}'),
        ),
        result("one", "job one done"),
        assistant("Job two is still running."),
        result("two", "job two done at last"),
        user("And now?"),
    )
    return made


def a_demoted_tail() -> Session:
    """A long loop under a wide window: old results as one line each, the newest as they came."""
    made = _session({"trigger_tokens": 40_000})
    made.record(*long_session(26, 60))
    return made


def _session(budget: dict[str, int]) -> Session:
    return Session("golden", policy=Policy.coding(budget=budget, run="manual"), clock=lambda: 1_000.0)


def _run(name: str, command: str, output: str) -> list[Event]:
    return [assistant("", ToolCall(name, "bash", f'{{"command":"{command}"}}')), result(name, output, name="bash")]


def _edit(name: str, old: str, new: str) -> ToolCall:
    return ToolCall(name, "edit", f'{{"path":"src/pay/idem.py","old":"{old}","new":"{new}"}}')


def _module(number: int) -> str:
    calls = f"    charge(order_{number}, amount={number * 100})" if number % 5 == 0 else "    pass"
    return (
        "\n".join(f"{line:4}\t# module {number}, line {line}" for line in range(1, 20))
        + f"\n  20\tdef run_{number}():\n  21\t{calls}"
    )


@pytest.mark.parametrize("made", [rules_and_a_failed_attempt, a_late_result_and_a_lost_one, a_demoted_tail])
def test_the_request_reads_as_its_golden_file(made: Callable[[], Session]) -> None:
    session = made()
    text = f"# {made.__doc__}\n\n{request_text(session.request(window=64_000, wire=openai_chat))}\n"
    file = HERE / f"{made.__name__}.txt"
    if os.environ.get("FOLDMARK_WRITE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
