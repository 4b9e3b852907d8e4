"""One question, sixty tool rounds, a small window: with compactions between the calls of the run no request ever passes
the window, and the question stands in each as it was asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from data import shared
from foldmark import Policy, Session, SQLiteStore, assistant, user
from foldmark.events import Event, Usage, result
from foldmark.importers import read
from foldmark.reports import Report
from foldmark.testing import FixedClock, ScriptedModel, items_json
from foldmark.tokens import count
from foldmark.wire import WIRES
from making import call

QUESTION = (
    "Find out why invoices of March are charged twice, mend it in src/billing, and do not touch migrations/. "
    "Keep the public signature `charge(order_id: str, *, retry: bool = False)`; the deadline is Friday 14:30."
)
WINDOW = 12_000
REAL_WINDOW = 40_000
"""Steps of real agents alone take up to 14,000 tokens (a written file in one call)."""
BILLED = 1.1
"""What this provider counts above o200k: a real one differs by so much, and the margin has to hold it."""


def rounds(count: int = 60) -> Iterator[list[Event]]:
    """Reads, searches, runs and edits of very different sizes, now and then two calls at once, one of them failing."""
    for number in range(count):
        lines = (3, 40, 8, 160, 25, 700)[number % 6]
        body = "\n".join(
            f"src/billing/part_{number}.py:{line}: total_{number}_{line} = fee({line * 7 + number})"
            for line in range(lines)
        )
        first = call(("read", "grep", "run")[number % 3], f"{number}a", json.dumps({"path": f"src/part_{number}.py"}))
        step = [assistant(f"Round {number}: look at part {number}.", first), result(first.id, body)]
        if number % 5 == 4:
            second = call("run", f"{number}b", json.dumps({"command": f"make test-{number}"}))
            error = f"FAILED tests/test_{number}.py::test_once - assert {number} == 1\nexit code 1"
            step = [
                assistant(f"Round {number}: read and test.", first, second), step[1],
                result(second.id, error, is_error=True),
            ]  # fmt: skip
        yield step


def counted(payload: dict[str, Any]) -> int:
    """The whole payload as a strange provider would count it: all of its JSON, braces and all."""
    return int(BILLED * count(json.dumps(payload, ensure_ascii=False)))


def lived(made: Session, steps: Iterator[list[Event]], wire: Any, window: int = WINDOW) -> list[Report]:
    """The run: a request before every step. What must hold is asked of every one of them."""
    made.record(user(QUESTION))
    reports: list[Report] = []
    for step in steps:
        request = made.request(window=window, max_output=1_500, wire=wire, system="You mend a billing system.")
        assert request.tokens.total <= request.ceiling <= window - 1_500
        assert _stands(QUESTION, request.payload())
        reports.append(request.report)
        made.record(*step)
    return reports


def _stands(question: str, payload: Any) -> bool:
    """Whether the question is one of the texts, or stands whole inside one."""
    if isinstance(payload, str):
        return question in payload
    values = payload.values() if isinstance(payload, dict) else payload if isinstance(payload, list | tuple) else ()
    return any(_stands(question, value) for value in values)


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.NAME)
@pytest.mark.parametrize("told", [False, True], ids=["by code", "with a model"])
def test_no_request_of_sixty_rounds_passes_the_window_and_the_question_stands_in_each(wire: Any, told: bool) -> None:
    model = ScriptedModel(*[items_json()] * 80) if told else None
    made = Session("run", policy=Policy.coding(run="intra_run"), model=model, clock=FixedClock(1_000.0))
    reports = lived(made, rounds(), wire)
    assert len(reports) == 60
    done = [one for one in reports if one.outcome in ("applied", "degraded")]
    assert len(done) >= 3
    assert {one.run for one in done} == {"intra_run"}
    assert made.store.claim(2_000.0, 60.0) is None, "the steps in between raised no work"
    made.record(assistant("Mended: charges are keyed by order."))
    assert made.store.claim(2_000.0, 60.0), "the end of the turn did"


def test_the_payload_itself_fits_the_window_by_the_count_of_a_stranger(tmp_path: Path) -> None:
    made = Session("run", store=SQLiteStore(tmp_path / "a.db"), policy=Policy.coding(run="intra_run"))
    made.record(user(QUESTION))
    for step in rounds():
        payload = made.request(window=WINDOW, max_output=1_500, system="You mend a billing system.").payload()
        size = counted(payload)
        assert size + 1_500 <= WINDOW
        made.record(msgspec.structs.replace(step[0], usage=Usage(input=size, output=50)), *step[1:])


def test_without_compactions_in_the_run_the_same_run_is_cut_by_force() -> None:
    made = Session("run", policy=Policy.coding(run="manual"))
    made.record(user(QUESTION))
    forced = False
    for step in rounds():
        report = made.request(window=WINDOW, max_output=1_500).report
        forced = forced or any(change.reason.startswith("fit") for change in report.changes)
        made.record(*step)
    assert forced, "else this run shows nothing"


@pytest.mark.data
@pytest.mark.parametrize("name", ["openhands", "pi-coding-agent", "swe-agent", "tau-bench"])
def test_real_transcripts_lived_again_as_one_turn_keep_to_the_window(name: str) -> None:
    folder = shared("data/trajectories")
    path = max((one for one in (folder / name).rglob("*") if one.is_file()), key=lambda one: one.stat().st_size)
    found = max(read(path.read_bytes(), name=path.name), key=lambda one: len(one.events))
    events = [event for event in found.events if event.role in ("assistant", "tool")]
    steps: list[list[Event]] = []
    for event in events:
        if event.role == "assistant" or not steps:
            steps.append([])
        steps[-1].append(msgspec.structs.replace(event, usage=None))  # its provider counted another request
    made = Session("run", policy=Policy.coding(run="intra_run"))
    lived(made, iter(steps[:60]), WIRES[0], REAL_WINDOW)
