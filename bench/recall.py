"""Recall of facts planted in real sessions, in their own words: `python -m bench.recall [--seeds N ...]`.

Every fact is asked for three times: in ordinary words that do not hold the answer, vaguely (of its words only the two
of its subject), and by its key (a name, an id, a number, or its own sentence). A hit counts when its event states the
fact; "its snippet shows it" counts those whose snippet does. Settings were chosen on `TUNING`: the default seeds are
others.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bench.histories import DATA, History, load
from bench.planting import Planted, fold, plant
from bench.recall_questions import Asked, ask, states
from foldmark.kinds import on_screen
from foldmark.memory import MemoryStore
from foldmark.policy import Policy
from foldmark.refs import parse
from foldmark.session import Session
from foldmark.wire import openai_chat

TUNING = (101, 102, 103)
SEEDS = (211, 212, 213)
TOP = 5


class Planting(NamedTuple):
    """A session with facts in it; `texts` are its events' whole texts by seq, folded; `lost` is how many more facts
    were planted that none of them states."""

    session: Session
    facts: tuple[Planted, ...]
    texts: dict[int, str]
    lost: int = 0


def planted(history: History, seed: int, store: Any = None) -> Planting:
    """A history with facts planted, followed by foldmark with its preset. Facts that no event states are left out: a
    later one was planted into them, or they came to stand in what a terminal's output erases again."""
    messages, items = plant(history.messages, seed, decisions=0)
    session = Session("recall", store=store or MemoryStore(), policy=Policy.preset(history.preset))
    session.follow(messages, wire=openai_chat)
    texts = dict(_texts(session))
    whole = tuple(fact for fact in items if any(states(text, fact, ask(fact)) for text in texts.values()))
    return Planting(session, whole, texts, len(items) - len(whole))


def _texts(session: Session) -> Iterator[tuple[int, str]]:
    for event in session.store.log(session.key, 1, session.store.view(session.key).head):
        bodies = (session.artifacts.read(session.key.tenant, one.sha256, 0, one.size) for one in event.artifacts)
        whole = (event.text, *(body.decode("utf-8", "replace") for body in bodies))
        yield event.seq, fold("\n".join(map(on_screen, whole) if event.role == "tool" else whole))


def place(made: Planting, fact: Planted, asked: Asked, query: str) -> tuple[int, bool]:
    """(place from 1 of the first hit whose event states the fact, 0 for none in 20; whether its snippet states it)."""
    for at, hit in enumerate(made.session.search(query, limit=20), 1):
        if states(made.texts[parse(hit.ref).seq], fact, asked):
            return at, states(fold(hit.snippet), fact, asked)
    return 0, False


def counted(histories: Sequence[History], seeds: Sequence[int]) -> dict[str, Counter[str]]:
    """Counts by history and by form of fact (in brackets)."""
    out: dict[str, Counter[str]] = {}
    for history in histories:
        for seed in seeds:
            made = planted(history, seed)
            start = time.process_time()
            for fact in made.facts:
                got = _count(made, fact)
                for name in (history.name, f"({fact.form})"):
                    out.setdefault(name, Counter()).update(got)
            out[history.name]["lost"] += made.lost
            out[history.name]["ms"] += round(1000 * (time.process_time() - start))
    return out


def _count(made: Planting, fact: Planted) -> dict[str, int]:
    asked = ask(fact)
    natural, shown = place(made, fact, asked, asked.natural)
    vague, _ = place(made, fact, asked, asked.vague)
    keyed, _ = place(made, fact, asked, asked.key)
    return {
        "asked": 1, "natural": 0 < natural <= TOP, "twenty": natural > 0, "shown": shown and natural <= TOP,
        "vague": 0 < vague <= TOP, "keyed": 0 < keyed <= TOP,
    }  # fmt: skip


def report(counts: dict[str, Counter[str]]) -> None:
    head = (
        "planted facts",
        "asked",
        "natural, top 5",
        "its snippet shows it",
        "natural, top 20",
        "vague, top 5",
        "by key, top 5",
        "ms",
    )
    print("\n| " + " | ".join(head) + " |\n|---|" + "---:|" * (len(head) - 1))
    pooled: Counter[str] = sum((got for name, got in counts.items() if name[0] != "("), Counter())
    for name, got in (("**all**", pooled), *counts.items()):
        shares = (f"{100 * got[kind] / got['asked']:.1f}%" for kind in ("natural", "shown", "twenty", "vague", "keyed"))
        wait = f"{got['ms'] / got['asked'] / 3:.1f}" if got["ms"] else ""
        print("| " + " | ".join((name, str(got["asked"]), *shares, wait)) + " |")
    print(
        f"\nLeft out, since no event states them: {pooled['lost']} of {pooled['asked'] + pooled['lost']} planted facts."
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.recall", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS)
    parser.add_argument(
        "--histories", nargs="*", default=["pi 1", "pi 2", "claude code"], help="default: the coding ones"
    )
    options = parser.parse_args()
    if not DATA.exists():
        sys.exit(
            f"skipped: the histories are not here ({DATA}); set FOLDMARK_SHARED to the folder of data/trajectories"
        )
    report(counted(load(options.histories), options.seeds))


if __name__ == "__main__":
    main()
