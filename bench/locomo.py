"""Evidence recall on LoCoMo: `python -m bench.locomo [--store sqlite] [--conversations conv-26 ...]`.

Each conversation is one session of foldmark, each turn one event with its sitting's date; questions go through
`Session.search`. R@k is the mean share of a question's evidence turns among the first k hits, MRR the mean of 1 / place
of the first evidence turn among the first hundred. Settings were chosen on `TUNING` alone: the other five decide.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench.histories import SHARED
from foldmark.events import Event, assistant, user
from foldmark.memory import MemoryStore
from foldmark.session import Session
from foldmark.sqlite import SQLiteStore

DATA = SHARED / "data" / "locomo" / "locomo10.json.zip"
TUNING = ("conv-26", "conv-30", "conv-41", "conv-42", "conv-43")
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
DEPTH = 100
_TURN = re.compile(r"D:?(\d+):0*(\d+)")
_DAY = 86_400.0


class Asked(NamedTuple):
    """A question; `evidence` are ids of the turns that hold its answer."""

    text: str
    category: int
    evidence: frozenset[str]


class Conversation(NamedTuple):
    """`events` are its turns, with ids such as D1:3; `end` is a day after the last sitting."""

    name: str
    events: tuple[Event, ...]
    questions: tuple[Asked, ...]
    end: float

    @property
    def is_tuned(self) -> bool:
        return self.name in TUNING


class Scored(NamedTuple):
    """A question with the places (from 1) of its evidence among the hits."""

    asked: Asked
    places: tuple[int, ...]

    def recall(self, most: int) -> float:
        return sum(place <= most for place in self.places) / len(self.asked.evidence)

    @property
    def reciprocal(self) -> float:
        return 1 / min(self.places) if self.places else 0.0


def load(names: Sequence[str] = (), path: Path = DATA) -> list[Conversation]:
    """The conversations, all or those named. Raises FileNotFoundError when the shared data is not there."""
    with zipfile.ZipFile(path) as archive:
        rows = json.loads(archive.read("locomo10.json"))
    return [_conversation(row) for row in rows if not names or row["sample_id"] in names]


def _conversation(row: dict[str, Any]) -> Conversation:
    events = tuple(_events(row["conversation"]))
    known = {event.id for event in events}
    questions = []
    for asked in row["qa"]:
        named = (f"D{sitting}:{turn}" for sitting, turn in _TURN.findall(" ".join(asked["evidence"])))
        if evidence := known.intersection(named):
            questions.append(Asked(asked["question"], asked["category"], frozenset(evidence)))
    end = max(event.time or 0.0 for event in events) + _DAY
    return Conversation(row["sample_id"], events, tuple(questions), end)


def _events(talk: dict[str, Any]) -> Iterator[Event]:
    """The first speaker's turns as a user's, the other's as an assistant's; a turn follows another by a minute."""
    numbers = sorted(int(name.split("_")[1]) for name in talk if re.fullmatch(r"session_\d+", name))
    for number in numbers:
        start = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for place, turn in enumerate(talk[f"session_{number}"]):
            make = user if turn["speaker"] == talk["speaker_a"] else assistant
            text = f"{turn['speaker']}: {turn['text']}"
            yield make(text, id=turn["dia_id"], time=start.timestamp() + 60 * place)


def recorded(conversation: Conversation, store: Any) -> Session:
    """The conversation as a session."""
    session = Session(conversation.name, store=store, clock=lambda: conversation.end)
    session.record(*conversation.events)
    return session


Search = Callable[[str, int], list[str]]
"""(question, limit) -> ids of turns, best first."""


def searching(conversation: Conversation, session: Session) -> Search:
    """The session's own search, as ids of turns."""
    ids = {f"event:{seq}": event.id for seq, event in enumerate(conversation.events, 1)}
    return lambda text, limit: [ids[hit.ref] for hit in session.search(text, limit=limit)]


def score(questions: Sequence[Asked], search: Search) -> list[Scored]:
    out = []
    for asked in questions:
        found = search(asked.text, DEPTH)
        out.append(Scored(asked, tuple(at for at, turn in enumerate(found, 1) if turn in asked.evidence)))
    return out


def measures(scored: Sequence[Scored]) -> list[str]:
    """Count, R@5, R@10, MRR as cells of a table."""
    count = len(scored) or 1
    figures = (sum(one.recall(k) for one in scored) for k in (5, 10))
    reciprocal = sum(one.reciprocal for one in scored)
    return [str(len(scored)), *(f"{figure / count:.3f}" for figure in (*figures, reciprocal))]


def report(scored: Sequence[tuple[Conversation, list[Scored]]]) -> None:
    """Tables: tuned and held-out, then the held-out ones by category and by conversation."""
    print("\n| LoCoMo, no model | questions | R@5 | R@10 | MRR |\n|---|---:|---:|---:|---:|")
    held = [one for conversation, many in scored if not conversation.is_tuned for one in many]
    tuned = [one for conversation, many in scored if conversation.is_tuned for one in many]
    rows = [("**held out**", held), ("tuned on", tuned), ("all", [*tuned, *held])]
    for number, name in CATEGORIES.items():
        rows.append((f"held out, {name}", [one for one in held if one.asked.category == number]))
    for number, name in CATEGORIES.items():
        rows.append((f"tuned on, {name}", [one for one in tuned if one.asked.category == number]))
    for conversation, many in scored:
        rows.append((f"{conversation.name}{' (tuned on)' if conversation.is_tuned else ''}", many))
    for title, many in rows:
        if many:
            print("| " + " | ".join((title, *measures(many))) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.locomo", description=__doc__)
    parser.add_argument("--store", choices=("memory", "sqlite"), default="memory")
    parser.add_argument("--conversations", nargs="*", default=(), help="names, default all ten")
    options = parser.parse_args()
    if not DATA.exists():
        sys.exit(f"skipped: LoCoMo is not here ({DATA}); set FOLDMARK_SHARED to the folder that holds data/locomo")
    scored, waits = [], []
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteStore(Path(folder) / "locomo.db") if options.store == "sqlite" else MemoryStore()
        for conversation in load(options.conversations):
            search, start = searching(conversation, recorded(conversation, store)), time.process_time()
            scored.append((conversation, score(conversation.questions, search)))
            waits.append((time.process_time() - start) / len(conversation.questions))
        report(scored)
    print(f"\n{options.store}: {1000 * median(waits):.1f} CPU ms a question (median of conversations)")


if __name__ == "__main__":
    main()
