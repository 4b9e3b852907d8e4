"""Every way in which a summary call can fail, as a drill: outcome, boundary, what the next request holds, what it cost.

    python -m bench.drills

A session of 60 tool rounds (some 61,000 tokens) is compacted with a scripted model; calls are billed at the reported
usage of a small model beside a running one with cached reads at a tenth.
"""

from __future__ import annotations

import sys
from pathlib import Path

from foldmark import Policy, Price, Reply, Session, Summarizer, Usage, user
from foldmark.asking import Ask
from foldmark.testing import FixedClock, ScriptedModel
from foldmark.wire import openai_chat

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "flows"))

from test_summary_drills import FAILURES, GOOD, GROWN, RULE

from making import long_session

PRICES = Price(read=0.1, write=1.25, dollars_per_million=3.0, model="running")


def paid(ask: Ask) -> Reply:
    """A good answer and what it took."""
    return Reply(text=GOOD, usage=Usage(input=ask.tokens, output=300), model="running")


def drill(name: str, chain: bool, require: bool) -> list[str]:
    """One row: what came of it."""
    failure, _ = FAILURES[name]
    first = ScriptedModel(failure, name="running")
    models = (first, ScriptedModel(paid, name="running")) if chain else (first,)
    made = Session(
        "s",
        summarizer=Summarizer(models=models, require_model=require),
        clock=FixedClock(),
        policy=Policy.coding(prices=PRICES),
    )
    made.record(*long_session(GROWN, ask=RULE))
    report = made.compact(force=True)
    made.record(user("And now?"))
    made.summarizer = None
    request = made.request(window=128_000, wire=openai_chat)
    holds = "the rule" if "Never touch the schema." in str(request.payload()) else "NOT THE RULE"
    narrative = len(made.control.history()[-1].narrative) if made.control.history() else 0
    boundary = f"event:{report.boundary}" if report.boundary else "none"
    cost = f"${report.money.show(report.money.call).lstrip('$')}" if report.money else "-"
    calls = " + ".join(call.failure or "used" for call in report.calls)
    return [report.outcome, boundary, f"{request.tokens.total:,}", f"{holds}, {narrative} items", calls, cost]


def main() -> None:
    """Print the table."""
    print("| failure | models | outcome | boundary | next request | it holds | calls | cost |")
    print("|---|---|---|---|---|---|---|---|")
    for name in FAILURES:
        for label, chain, require in (("one", False, False), ("two", True, False), ("one, required", False, True)):
            print(f"| {name} | {label} | {' | '.join(drill(name, chain, require))} |")


if __name__ == "__main__":
    main()
