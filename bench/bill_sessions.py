"""The sessions whose bill is replayed: two of a coding agent, and a day of a service desk. Knows nothing of prices.

A pi session keeps its clock. The tau-bench runs have none: they are put one after the other as one day's queue, ten
seconds a message, with nothing forgotten between customers.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from bench.bill_sizes import SUMMARY, Ask, Call, Item, Run, Sent
from bench.histories import DATA
from foldmark import Policy, Price, Session
from foldmark.asking import Ask as Request
from foldmark.asking import ModelInfo, Reply
from foldmark.drafts import MESSAGE_OVERHEAD, priced, static_tokens
from foldmark.events import Event, Part, ToolCall, ToolResult, Usage
from foldmark.importers import read
from foldmark.prices import bill
from foldmark.rounds import rounds
from foldmark.summarizer import Summarizer
from foldmark.wire import openai_chat

FILES = {
    "pi-before": ("pi-coding-agent/before-compaction.jsonl", 2_600),
    "pi-large": ("pi-coding-agent/large-session.jsonl", 1_600),
}
"""File, and the static prefix in tokens, which the logs do not hold (the economics study, section 3)."""
TAU, TAU_HEAD = "tau-bench/gpt-4o-airline.subset.json", 3_500
SECONDS = 10.0
"""Between two messages where a log has no clock."""


class Story(NamedTuple):
    """A session to replay: its events with their times, and the tokens of its static prefix."""

    name: str
    head: int
    events: tuple[Event, ...]


def stories() -> list[Story]:
    """The two pi sessions and the tau-bench day."""
    return [*(pi(name) for name in FILES), day(tau())]


def pi(name: str) -> Story:
    file, head = FILES[name]
    path = DATA / file
    return Story(name, head, clocked(read(path.read_bytes(), name=path.name)[0].events))


def tau() -> list[Story]:
    """The single runs."""
    path = DATA / TAU
    found = read(path.read_bytes(), name=path.name)
    return [Story(one.session, TAU_HEAD, clocked(one.events)) for one in found]


def day(runs: Sequence[Story]) -> Story:
    """The runs as one session, one after the other; call ids are made apart."""
    events = [event for at, run in enumerate(runs) for event in _named(run.events, at)]
    return Story("tau day", TAU_HEAD, clocked(events))


def _named(events: Sequence[Event], at: int) -> list[Event]:
    """With ids of their own, so that no run answers another one's calls."""
    return [
        msgspec.structs.replace(event, id="", parts=tuple(_apart(part, at) for part in event.parts), time=None)
        for event in events
    ]


def _apart(part: Part, at: int) -> Part:
    if isinstance(part, ToolCall):
        return msgspec.structs.replace(part, id=f"{part.id}-{at}")
    if isinstance(part, ToolResult):
        return msgspec.structs.replace(part, call_id=f"{part.call_id}-{at}")
    return part


def clocked(events: Sequence[Event]) -> tuple[Event, ...]:
    """Events that are shown, each with a time that never runs back."""
    out: list[Event] = []
    clock = 1_000.0
    for event in events:
        if event.role == "control":
            continue
        clock = max(clock, event.time) if event.time else clock + SECONDS
        out.append(priced(msgspec.structs.replace(event, time=clock, usage=None, seq=0, chain="", plain="")))
    return tuple(out)


def sized(story: Story, events: Sequence[Event] | None = None) -> Run:
    """The numbers of a session. `events` are its events as a log stored them (big results as previews); None: as they
    came. Every answer of the model is a request, sent when what stands before it had come."""
    given = list(story.events if events is None else events)
    number = {id(event): at for at, one in enumerate(rounds(given)) for event in one.events}
    items: list[Item] = []
    asks: list[Ask] = []
    for at, event in enumerate(given):
        if event.role == "assistant" and at:
            asks.append(Ask(len(items), given[at - 1].time or 0.0, event.tokens))
        items.append(Item(event.tokens + MESSAGE_OVERHEAD, event.role == "tool", number.get(id(event), 0)))
    return Run(story.name, story.head, tuple(items), tuple(asks))


# -- through the library


class Replayed(NamedTuple):
    """What a session sent when foldmark made its requests. `sent` is by request; `stored` are the numbers of its log
    (big results are previews there); `landings` are the sizes above the static prefix after each compaction, `told` is
    which share of what stood above it a standalone summary request showed."""

    sent: tuple[Sent, ...]
    stored: Run
    landings: tuple[int, ...]
    epochs: int
    outcomes: Counter[str]
    told: float


class Writer:
    """A summary model that answers at once with one item. What it reports is what the call would have been billed:
    its prompt, of which a fork reads from the cache what the last request left there, and 1,500 tokens of summary."""

    def __init__(self) -> None:
        self.info = ModelInfo(name="writer", window=2_000_000, schema=True, factor=1.0)
        self.alive = 0

    def __call__(self, ask: Request) -> Reply:
        text = json.dumps(ask.body) if ask.body else ask.prompt
        refs = [int(number) for number in REF.findall(text)[-1:]]
        item = {"text": "The work goes on as it was asked for.", "refs": refs or [1]}
        read = min(self.alive, ask.tokens) if ask.mode == "fork" else 0
        return Reply(text=json.dumps({"current_work": [item]}), usage=Usage(ask.tokens, SUMMARY, read), model="writer")


REF = re.compile(r"event:(\d+)")


def replay(
    story: Story,
    price: Price | None,
    *,
    kind: Call = "code",
    window: int = 1_000_000,
    factor: float = 1.0,
    **changes: Any,
) -> Replayed:
    """Record the events with their own times and let `Session.request` build what goes out before every answer. Each
    answer reports what the request would have been billed; the provider counts `factor` tokens for one of ours (bills
    stay in ours)."""
    clock, writer = [0.0], Writer()
    asked = None if kind == "code" else Summarizer(models=(writer,), fork=kind == "fork")
    made = Session(
        "bill", policy=Policy.coding(prices=price, **changes), clock=lambda: clock[0], summarizer=asked
    )  # fmt: skip
    system = filler(story.head)
    sent: list[Sent] = []
    shown: tuple[Event, ...] = ()
    landings: list[int] = []
    epochs, before = 0, 0.0
    outcomes: Counter[str] = Counter()
    told = Counter[str]()
    for at, event in enumerate(story.events):
        usage = None
        if event.role == "assistant" and at:
            clock[0] = story.events[at - 1].time or clock[0]
            warm = price is not None and clock[0] - before <= price.cache_seconds
            writer.alive = sent[-1].size if sent and warm else 0
            request = made.request(system=system, window=window, wire=openai_chat)
            report, size = request.report, request.tokens.total
            outcomes[f"{report.outcome} {report.mode}"] += report.outcome != "not_due"
            compacted = report.outcome in ("applied", "degraded")
            kept = request.tokens.static + prefix(shown, request.messages) if sent else 0
            paid = sum(bill(one.usage, price) for one in report.calls) if price else 0.0
            sent.append(Sent(size, kept, paid, compacted))
            read = kept if warm else 0
            usage = Usage(*(round(factor * part) for part in (size, event.tokens, read, size - read)))
            if alone := sum(one.tokens for one in report.calls if one.mode == "standalone"):
                told.update(asked=alone, stood=report.before - request.tokens.static)
            if compacted:
                landings.append(size - request.tokens.static)
            epochs += bool(report.epoch) and not compacted
            shown, before = request.messages, clock[0]
        clock[0] = event.time or clock[0]
        made.record(msgspec.structs.replace(event, usage=usage))
    stored = sized(story, made.store.log(made.key))
    return Replayed(tuple(sent), stored, tuple(landings), epochs, +outcomes, told["asked"] / max(1, told["stood"]))


def prefix(old: Sequence[Event], new: Sequence[Event]) -> int:
    """Tokens of the messages that both requests begin with."""
    size = 0
    for one, other in zip(old, new, strict=False):
        if one is not other and (one.role, one.parts) != (other.role, other.parts):
            break
        size += other.tokens + MESSAGE_OVERHEAD
    return size


def filler(tokens: int) -> str:
    """A system text of so many tokens."""
    text = "word " * tokens
    while (size := static_tokens(text, ())) != tokens:
        text = text[:-5] if size > tokens else text + "word "
        if abs(size - tokens) <= 1:
            break
    return text
