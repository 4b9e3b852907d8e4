"""Search with embeddings beside words alone, on LoCoMo: `python -m bench.embedded [--tokenizer PATH]`.

Every embedder that is installed (`foldmark.embedders`) gives vectors to the conversations of `bench.locomo`; the same
questions then go through `Session.search` by words alone and with each. The weight of nearness was chosen on the tuning
conversations: the other five decide. Vectors are kept between runs in `--cache`, because encoding takes minutes.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec

from bench.locomo import DATA, Conversation, Scored, load, measures, recorded, score, searching
from foldmark import embedders
from foldmark.embedding import Embedder
from foldmark.memory import MemoryStore
from foldmark.session import Session

CACHE = Path(tempfile.gettempdir()) / "foldmark-vectors.db"
SAMPLE = 200


class Run(NamedTuple):
    """A way to search, with what came of it on every conversation, and CPU seconds of a question (the query's vector
    from the cache)."""

    name: str
    scored: list[tuple[Conversation, list[Scored]]]
    seconds: float


def cached(embedder: Embedder, path: Path) -> Embedder:
    """The embedder with all vectors kept in a file."""
    db = sqlite3.connect(path, check_same_thread=False)
    db.execute(
        "CREATE TABLE IF NOT EXISTS vector (id TEXT, hash BLOB, body BLOB, PRIMARY KEY (id, hash)) WITHOUT ROWID"
    )

    def call(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return after(texts, [""] * len(texts))

    def after(texts: Sequence[str], before: Sequence[str]) -> Sequence[Sequence[float]]:
        both = [f"{earlier}\0{text}" if earlier else text for text, earlier in zip(texts, before, strict=True)]
        keys = [(embedder.id, sha256(text.encode("utf-8", "replace")).digest()) for text in both]
        rows = [db.execute("SELECT body FROM vector WHERE id = ? AND hash = ?", key).fetchone() for key in keys]
        new = [at for at, row in enumerate(rows) if row is None]
        if new:
            given, earlier = [texts[at] for at in new], [before[at] for at in new]
            made = embedder.call_after(given, earlier) if embedder.call_after else embedder.call(given)
            bodies = dict(zip(new, (array("f", vector).tobytes() for vector in made), strict=True))
            db.executemany(
                "INSERT OR REPLACE INTO vector VALUES (?, ?, ?)", [(*keys[at], b) for at, b in bodies.items()]
            )
            db.commit()
            rows = [row or (bodies[at],) for at, row in enumerate(rows)]
        return [array("f", row[0]) for row in rows]

    reads = after if embedder.reads_before else None
    return msgspec.structs.replace(embedder, call=call, call_after=reads, timeout_seconds=600.0)


def run(name: str, conversations: Sequence[Conversation], embedder: Embedder | None) -> Run:
    """Every question of every conversation."""
    scored, waits = [], []
    for conversation in conversations:
        session = embedded(conversation, embedder)
        search, start = searching(conversation, session), time.process_time()
        scored.append((conversation, score(conversation.questions, search)))
        waits.append((time.process_time() - start) / len(conversation.questions))
    return Run(name, scored, median(waits))


def embedded(conversation: Conversation, embedder: Embedder | None) -> Session:
    """The conversation as a session, all of it with vectors."""
    store = MemoryStore()
    recorded(conversation, store)
    session = Session(conversation.name, store=store, embedder=embedder, clock=lambda: conversation.end)
    while session.embed().left:
        pass
    return session


def found(makers: Sequence[Callable[[], Embedder]]) -> list[Embedder]:
    """Those that are installed; the others are told of."""
    out = []
    for make in makers:
        try:
            out.append(make())
        except (ImportError, FileNotFoundError) as error:
            print(f"left out: {error}", file=sys.stderr)
    return out


def header() -> str:
    columns = ("R@5", "R@10", "MRR")
    names = ("LoCoMo", "held out", *columns, "tuned on", *columns, "CPU ms a question")
    return f"\n| {' | '.join(names)} |\n|---{'|---:' * (len(names) - 1)}|"


def line(one: Run) -> str:
    """A row: held-out and tuning conversations beside each other, first how many questions."""
    held = [each for conversation, many in one.scored if not conversation.is_tuned for each in many]
    tuned = [each for conversation, many in one.scored if conversation.is_tuned for each in many]
    cells = (one.name, *measures(held), *measures(tuned), f"{1000 * one.seconds:.1f}")
    return "| " + " | ".join(cells) + " |"


def costs(embedder: Embedder, conversations: Sequence[Conversation]) -> str:
    """What encoding takes and what vectors weigh, measured anew."""
    texts = [event.text for conversation in conversations for event in conversation.events][:SAMPLE]
    questions = [asked.text for conversation in conversations for asked in conversation.questions][:SAMPLE]
    embedder.of_query(questions[0])  # loads the model
    start = time.process_time()
    before = ["", "", *("\n".join(pair) for pair in pairwise(texts[:-1]))]
    for at in range(0, len(texts), embedder.batch):
        embedder.of_texts(texts[at : at + embedder.batch], before[at : at + embedder.batch])
    events = time.process_time()
    for question in questions:
        embedder.of_query(question)
    queries = time.process_time()
    size = embedder.dimension + 8
    share = size * len(texts) / sum(len(text.encode()) for text in texts)
    return (
        f"{embedder.id}: {1000 * (events - start) / len(texts):.1f} CPU ms an event, "
        f"{1000 * (queries - events) / len(questions):.1f} a query; {size} bytes a vector, {share:.1f} x the text"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.embedded", description=__doc__)
    parser.add_argument("--tokenizer", help="MiniLM's tokenizer.json, where no installed package brings it")
    parser.add_argument("--cache", type=Path, default=CACHE, help=f"where vectors are kept, default {CACHE}")
    parser.add_argument("--conversations", nargs="*", default=(), help="names, default all ten")
    parser.add_argument("--weights", nargs="*", type=float, help="default: each embedder's own, and 0.5 for one of 0")
    options = parser.parse_args()
    if not DATA.exists():
        sys.exit(f"skipped: LoCoMo is not here ({DATA}); set FOLDMARK_SHARED to the folder that holds data/locomo")
    conversations = load(options.conversations)
    made = found((lambda: embedders.minilm(tokenizer=options.tokenizer), embedders.static))
    print(header())
    print(line(run("words alone", conversations, None)), flush=True)
    for embedder in made:
        for weight in options.weights or (embedder.weight or 0.5,):
            weighted = msgspec.structs.replace(cached(embedder, options.cache), weight=weight)
            print(line(run(f"{embedder.id}, weight {weight:g}", conversations, weighted)), flush=True)
    print()
    for embedder in made:
        print(costs(embedder, conversations))


if __name__ == "__main__":
    main()
