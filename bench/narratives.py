"""Checkpoints with and without a model's narrative, on spans of real trajectories: `python -m bench.narratives`.

    python -m bench.narratives --model gguf:qwen.gguf --out narratives.jsonl     # slow: a model call for each span
    python -m bench.narratives --out narratives.jsonl --table                    # what has been measured so far

Every span is compacted twice from the same log, by code alone and with the model, to the same landing (what is told
comes on top). Asked is which planted facts the checkpoint holds (`planting`), which identifiers of the narrative the
span does not hold, judged by a check of its own (`narratives_check`), before and after foldmark's validation, and what
it costs. Each span is written down as it is done: a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from bench.narratives_check import holds, invented, items_of, source_text, tells
from bench.narratives_spans import Span, spans
from foldmark.asking import Ask, Reply, as_reply, info_of
from foldmark.checkpoint import Checkpoint
from foldmark.memory import MemoryStore
from foldmark.models import gguf
from foldmark.policy import Policy
from foldmark.reports import Report
from foldmark.session import Session
from foldmark.summarizer import Limits, Summarizer
from foldmark.tokens import count
from foldmark.wire import openai_chat

SPANS = 24
WINDOW = 128_000
TARGET_SHARE, LEAST_TARGET = 0.5, 700
"""The landing is half of what the span takes, at least 700 tokens: at a third of 1,000 tokens nothing has room. What a
model tells comes on top of it, at most 15%."""
OUTPUT = 1_000
"""Tokens of an answer: half of the library's default, which a small model on a processor needs minutes to fill."""
CLOSING = ({"role": "user", "content": "Thanks, please go on."}, {"role": "assistant", "content": "I will go on."})
"""The newest round stays raw at every compaction: this one, so that the whole span is covered."""


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one span came to with one model. Counts of planted facts, items and identifiers; sizes in tokens."""

    span: str
    model: str
    tokens: int
    planted: int
    """Facts planted in what both checkpoints cover."""
    by_code: int
    """Of these, word for word in the checkpoint by code alone."""
    with_model: int
    """The same with the model."""
    told: int = 0
    """Told by the narrative, in any words that hold all of the fact's."""
    size_by_code: int = 0
    size_with_model: int = 0
    size_of_narrative: int = 0
    outcome: str = ""
    failures: tuple[str, ...] = ()
    calls: int = 0
    items_said: int = 0
    """Items in the last answer that had any."""
    items_kept: int = 0
    items_verified: int = 0
    items_said_invented: int = 0
    """Items said that hold an invented identifier."""
    items_kept_invented: int = 0
    invented: tuple[str, ...] = ()
    """Identifiers in the narrative that the span does not hold."""
    wrong_refs: tuple[int, ...] = ()
    seconds: float = 0.0
    narrative: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


class Heard:
    """A model whose answers are kept."""

    def __init__(self, model: Any) -> None:
        self.info, self._model = info_of(model), model
        self.answers: list[str] = []

    def __call__(self, ask: Ask) -> Reply:
        reply = as_reply(self._model(ask))
        self.answers.append(reply.text)
        return reply


def measured(span: Span, model: Any, limits: Limits) -> Row:
    """Both checkpoints of a span, compared."""
    heard, started = Heard(model), time.perf_counter()
    plain, _, _ = compacted(span, None)
    told, report, seqs = compacted(span, Summarizer(models=(heard,), limits=limits))
    covered = [item for item in span.planted if 0 < seqs[item.at] <= min(plain.boundary, told.boundary)]
    source = source_text(span.messages)
    items = [f"{item.text} {item.why}".strip() for item in told.narrative]
    said = next((found for answer in reversed(heard.answers) if (found := items_of(answer))), [])
    return Row(
        span=span.name,
        model=heard.info.name,
        tokens=span.tokens,
        planted=len(covered),
        by_code=sum(holds(covered, plain.text)),
        with_model=sum(holds(covered, told.text)),
        told=sum(tells(covered, "\n".join(items))),
        size_by_code=count(plain.text),
        size_with_model=count(told.text),
        size_of_narrative=count("\n".join(items)),
        outcome=report.outcome,
        failures=tuple(call.failure for call in report.calls if call.failure),
        calls=len(report.calls),
        items_said=len(said),
        items_kept=len(items),
        items_verified=sum(item.verified for item in told.narrative),
        items_said_invented=sum(bool(invented(text, source)) for text in said),
        items_kept_invented=sum(bool(invented(text, source)) for text in items),
        invented=tuple(name for text in items for name in invented(text, source)),
        wrong_refs=tuple(ref for item in told.narrative for ref in item.refs if not 1 <= ref <= told.boundary),
        seconds=round(time.perf_counter() - started, 1),
        narrative=tuple(f"{item.field}: {text}" for item, text in zip(told.narrative, items, strict=True)),
        answers=tuple(heard.answers),
    )


def compacted(span: Span, summarizer: Summarizer | None) -> tuple[Checkpoint, Report, Sequence[int]]:
    """The checkpoint of a span, the report, and the seq of each of its messages."""
    target = max(LEAST_TARGET, round(TARGET_SHARE * span.tokens))
    policy = Policy.preset(span.preset).replace(budget={"landing_tokens": target}, tail={"share": 0.0})
    session = Session("span", store=MemoryStore(), policy=policy, summarizer=summarizer)
    found = session.follow([*span.messages, *CLOSING], wire=openai_chat)
    report = session.compact(force=True, window=WINDOW)
    made = session.control.history()
    if not made:
        raise RuntimeError(f"{span.name}: no checkpoint was made ({report.outcome}): {report.text}")
    return made[-1], report, [event.seq for event in session.store.log(session.key)] if found.new else ()


# -- models that need no weights: they show that the measure can fail


def liar(ask: Ask) -> str:
    """Says plausible things that never happened."""
    item = {"text": "Fixed src/made_up_module.py in commit deadbeef42, port 54321 is open now", "refs": [1]}
    return json.dumps({"current_work": [item], "decisions": [{**item, "why": "ticket ZZ-98765 asked for it"}]})


def looping(ask: Ask) -> Reply:
    """Repeats itself until it is cut."""
    return Reply(text='{"current_work": [{"text": "' + "the work is the work is " * 200, finish="length")


def model_named(text: str) -> Any:
    """`gguf:path` or `module:function`."""
    kind, _, rest = text.partition(":")
    if kind == "gguf":
        return gguf(rest)
    return getattr(import_module(kind), rest)


# -- rows in a file, rows as a table


def read_rows(path: Path) -> list[Row]:
    if not path.exists():
        return []
    return [msgspec.json.decode(line, type=Row) for line in path.read_bytes().splitlines() if line.strip()]


def run(model: Any, out: Path, most: int, limits: Limits, say: Callable[[str], None] = print) -> None:
    """Measure the spans that the file does not hold yet, one after the other, each written down at once."""
    name = info_of(model).name
    done = {row.span for row in read_rows(out) if row.model == name}
    for span in spans(most):
        if span.name in done:
            continue
        row = measured(span, model, limits)
        with out.open("ab") as file:
            file.write(msgspec.json.encode(row) + b"\n")
        say(
            f"{span.name}: {row.by_code}/{row.with_model} of {row.planted} held, "
            f"{row.items_kept}/{row.items_said} items, invented {list(row.invented)}, {row.outcome}, {row.seconds} s"
        )


COLUMNS = (
    "model", "spans", "facts by code", "facts with the model", "told by the narrative", "items said", "of them kept",
    "verified", "said with an invented identifier", "kept with one", "size by code", "size with the model",
    "degraded", "worse spans",
)  # fmt: skip


def line(model: str, rows: Sequence[Row]) -> str:
    """One row of the table: totals over the spans of a model."""

    def total(field: str) -> int:
        return sum(int(getattr(row, field)) for row in rows)

    def share(part: str, whole: str) -> str:
        return f"{100 * total(part) / total(whole):.0f}%" if total(whole) else "-"

    cells: tuple[Any, ...] = (
        model, len(rows), share("by_code", "planted"), share("with_model", "planted"), share("told", "planted"),
        total("items_said"), share("items_kept", "items_said"), share("items_verified", "items_kept"),
        share("items_said_invented", "items_said"), total("items_kept_invented"),
        f"{total('size_by_code') / len(rows):,.0f}", f"{total('size_with_model') / len(rows):,.0f}",
        sum(row.outcome == "degraded" for row in rows), sum(row.with_model < row.by_code for row in rows),
    )  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def table(rows: Sequence[Row]) -> str:
    models: Mapping[str, list[Row]] = {row.model: [] for row in rows}
    for row in rows:
        models[row.model].append(row)
    head = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    return "\n".join([*head, *(line(model, found) for model, found in models.items())])


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.narratives", description=__doc__)
    parser.add_argument("--model", action="append", default=[], help="gguf:path or module:function; may be repeated")
    parser.add_argument("--out", type=Path, required=True, help="JSON lines, a span each; a run goes on where it was")
    parser.add_argument("--spans", type=int, default=SPANS, help=f"so many at most (default {SPANS})")
    parser.add_argument("--seconds", type=float, default=900.0, help="that a model call may take")
    parser.add_argument("--output", type=int, default=OUTPUT, help=f"tokens of an answer at most (default {OUTPUT})")
    parser.add_argument("--table", action="store_true", help="only print what the file holds")
    options = parser.parse_args(argv)
    limits = Limits(timeout_seconds=options.seconds, output_tokens=options.output)
    for text in () if options.table else options.model:
        run(model_named(text), options.out, options.spans, limits)
    print(table(read_rows(options.out)))


if __name__ == "__main__":
    main()
