"""Cuts spans of whole rounds, 1,000 to 3,000 tokens, out of real trajectories, and plants facts in them.

One span a trajectory. Knows nothing of checkpoints or models. Reads every file of the shared trajectories with
foldmark's importers; a file that holds many runs gives at most `PER_FILE` of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from bench.histories import DATA, repair
from bench.planting import Planted, host_words, plant
from bench.sizes import content_text, size
from foldmark.errors import FoldmarkError
from foldmark.events import Event
from foldmark.importers import Imported, read
from foldmark.wire import openai_chat

Message = dict[str, Any]

LEAST_TOKENS, MOST_TOKENS = 1_000, 3_000
PLANTED_TOKENS = 250
"""What planting adds at most; the cut leaves room for it."""
LEAST_ROUNDS = 3
PER_FILE = 4
"""Runs of one file at most: tau-bench and InterCode hold dozens that are much alike."""
FACTS, DECISIONS = 8, 4
"""Planted in a span. More decisions than in the large histories (88 and 24): they are what a model may tell better."""
LEAST_WORDS = 20  # of the span's own, to build planted sentences from
CHATS = ("tau-bench", "adk", "langfuse-traces")
"""Folders whose agents talk with customers: preset chat; all others coding."""


class Span(NamedTuple):
    """`name` is file#run; `planted` say where they stand by index into `messages`."""

    name: str
    preset: str
    messages: list[Message]
    planted: list[Planted]
    tokens: int


def spans(most: int | None = None, *, seed: int = 7) -> Iterator[Span]:
    """One span of every trajectory that has one, in a fixed order that mixes files. Same seed, same spans."""
    found = [span for path in files() for span in _of_file(path, seed)]
    Random(seed).shuffle(found)
    yield from found[:most]


def files() -> list[Path]:
    """All files of the shared trajectories. Raises FileNotFoundError when they are not there."""
    if not DATA.exists():
        raise FileNotFoundError(f"{DATA} is not here; set FOLDMARK_SHARED to the folder that holds data/trajectories")
    return sorted(path for path in DATA.glob("*/*") if path.is_file())


def _of_file(path: Path, seed: int) -> Iterator[Span]:
    try:
        runs = [one for imported in read(path.read_bytes(), name=path.name) for one in _with_children(imported)]
    except FoldmarkError:
        return  # a file that is no transcript of a format we know
    name, given = f"{path.parent.name}/{path.name}", 0
    preset = "chat" if path.parent.name in CHATS else "coding"
    for number, run in enumerate(runs):
        rng = Random(f"{seed} {name} {number}")
        if given < PER_FILE and (part := cut(messages_of(run.events), rng)):
            messages, planted = plant(part, rng.randrange(1 << 30), FACTS, DECISIONS)
            yield Span(f"{name}#{number}", preset, messages, planted, size(messages))
            given += 1


def _with_children(imported: Imported) -> Iterator[Imported]:
    yield imported
    for child in imported.children:
        if child.kind == "child":
            yield from _with_children(child.imported)


def messages_of(events: Sequence[Event]) -> list[Message]:
    """Events as chat messages, every call answered; pictures and thinking are left out."""
    written = openai_chat.write("", None, [event for event in events if event.role != "control"])["messages"]
    plain = [{**message, "content": content_text(message) or None} for message in written]
    for message in plain:
        if message["role"] != "assistant":
            message["content"] = message["content"] or ""
    return repair([{key: value for key, value in message.items() if key in _KEYS} for message in plain])


_KEYS = ("role", "content", "tool_calls", "tool_call_id")


def cut(messages: Sequence[Message], rng: Random) -> list[Message]:
    """Whole rounds from a random place on, as many as fit; empty when no place gives a span to plant in.

    A span begins with a user's or an assistant's message and ends before the next of the kind that began it.
    """
    starts = [at for at, message in enumerate(messages) if _begins(messages, at)]
    rng.shuffle(starts)
    borders = [*sorted(starts), len(messages)]
    for start in starts:
        best: list[Message] = []
        for rounds, end in enumerate([one for one in borders if one > start], 1):
            part = list(messages[start:end])
            if (tokens := size(part)) > MOST_TOKENS - PLANTED_TOKENS:
                break
            if rounds >= LEAST_ROUNDS and tokens >= LEAST_TOKENS and _can_hold_facts(part):
                best = part
        if best:
            return best
    return []


def _begins(messages: Sequence[Message], at: int) -> bool:
    """Whether a round begins here: user words, or an assistant's step that no user words stand in front of."""
    role = messages[at]["role"]
    before = messages[at - 1]["role"] if at else ""
    return (role == "user" and before != "user") or (role == "assistant" and before not in ("user", "system"))


def _can_hold_facts(part: Sequence[Message]) -> bool:
    results = any(m["role"] == "tool" and len(content_text(m)) > 80 for m in part)
    prose = any(m["role"] == "assistant" and content_text(m) for m in part)
    return results and prose and len(host_words(part)) >= LEAST_WORDS
