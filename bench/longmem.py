"""Is the evidence in the prompt? Long chat histories, so many tokens of recalled text: `python -m bench.longmem`.

Histories are LongMemEval haystacks of about 490,000 characters, with evidence planted (see `longmem_cases`). A question
is searched with `Session.search`; what it brings is put into the prompt until so many tokens are full: snippets alone,
or snippets for half of them (ten at most) and then the best hits loaded, each with the event before and after it.
Beside it stands what sending the last tokens of the history would hold. A turn is in the prompt when all its text is
there (of one above 400 characters, which no snippet shows whole: half of its words); where only a session is known,
when nine in ten of the answer's words are there that the best of its turns has. No model answers anything: this is no
LongMemEval score.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence

from bench import locomo
from bench.longmem_cases import DATA, Case, History, content_words, load
from foldmark.events import Event
from foldmark.memory import MemoryStore
from foldmark.refs import parse
from foldmark.retrieval import Hit
from foldmark.session import Session
from foldmark.tokens import count

BUDGETS = (1_000, 2_000, 4_000, 6_000)
LAST = 20_000
HITS = 150
FIRST = 10
"""A search brings so many hits when nobody asks for more."""
LEAST = 100
"""Fewer cases give no percentage."""

Shown = dict[int, str]
"""seq -> the text of that event that the prompt would hold."""


class Room:
    """Takes texts until its tokens are used up; the last one is cut where the room ends."""

    def __init__(self, tokens: int) -> None:
        self.left, self.shown = tokens, Shown()

    def put(self, seq: int, text: str, label: str = "") -> bool:
        """Whether there is room for more."""
        need = count(f"{label}{text}\n")
        if need > self.left:
            text = text[: int(len(text) * self.left / need)]
            while text and count(f"{label}{text}\n") > self.left:
                text = text[:-8]
        self.left -= min(need, self.left)
        self.shown[seq] = f"{self.shown.get(seq, '')}\n{text}"
        return self.left > 0


def snippets_only(session: Session, hits: Sequence[Hit], tokens: int) -> Shown:
    room = Room(tokens)
    for hit in hits:
        if not room.put(_seq(hit.ref), hit.snippet, f"{hit.ref} {hit.date} {hit.speaker}: "):
            break
    return room.shown


def snippets_and_loads(session: Session, hits: Sequence[Hit], tokens: int) -> Shown:
    room = Room(tokens // 2)
    for hit in hits[:FIRST]:
        if not room.put(_seq(hit.ref), hit.snippet, f"{hit.ref} {hit.date} {hit.speaker}: "):
            break
    room.left += tokens - tokens // 2
    loaded: set[int] = set()
    for hit in hits:
        for event in _opened(session, hit.ref):
            if event.seq not in loaded and not room.put(event.seq, event.text, f"event:{event.seq} {event.role}: "):
                return room.shown
            loaded.add(event.seq)
    return room.shown


def _opened(session: Session, ref: str) -> Sequence[Event]:
    """The event of a hit first, then its neighbours."""
    events = session.load(ref, before=1, after=1).events
    seq = _seq(ref)
    return sorted(events, key=lambda event: abs(event.seq - seq))


def _seq(ref: str) -> int:
    seq = parse(ref).seq
    assert seq, f"{ref} names no event"
    return seq


def newest(history: History, tokens: int) -> Shown:
    room = Room(tokens)
    for seq in range(len(history.events), 0, -1):
        event = history.events[seq - 1]
        if not room.put(seq, event.text, f"{event.role}: "):
            break
    return room.shown


def holds(history: History, case: Case, shown: Shown) -> bool:
    """Whether all the evidence of a case stands in what is shown."""
    if case.turns:
        return all(_is_shown(history.events[seq - 1].text, shown.get(seq, "")) for seq in case.turns)
    texts = [history.events[seq - 1].text for seq in case.within]
    best = max(len(case.answer & content_words(text)) for text in texts)
    there = content_words("\n".join(shown.get(seq, "") for seq in case.within))
    return len(case.answer & there) >= 0.9 * best


def _is_shown(text: str, shown: str) -> bool:
    if len(text) <= 400:
        return " ".join(text.split()) in " ".join(shown.split())
    wanted = content_words(text)
    return 2 * len(wanted & content_words(shown)) >= len(wanted)


def is_located(history: History, case: Case) -> bool:
    """Whether a turn of the named session holds half of the answer's words: else nobody knows where the evidence is."""
    if case.turns:
        return True
    texts = [history.events[seq - 1].text for seq in case.within]
    return 2 * max(len(case.answer & content_words(text)) for text in texts) >= len(case.answer)


RECALLS: dict[str, Callable[[Session, Sequence[Hit], int], Shown]] = {
    "snippets": snippets_only,
    "snippets and loads": snippets_and_loads,
}
LAST_TOKENS = "the last tokens"


def measure(history: History) -> tuple[Counter[tuple[str, str, int]], Counter[str]]:
    """((kind, way, tokens) -> cases whose evidence is there; kind -> cases)."""
    session = Session(history.name, store=MemoryStore(), clock=lambda: history.now)
    session.record(*history.events)
    held: Counter[tuple[str, str, int]] = Counter()
    cases = [case for case in history.cases if is_located(history, case)]
    ends = {tokens: newest(history, tokens) for tokens in (*BUDGETS, LAST)}
    for case in cases:
        for tokens, shown in ends.items():
            held[case.kind, LAST_TOKENS, tokens] += holds(history, case, shown)
        hits = session.search(case.question, limit=HITS)
        for way, recall in RECALLS.items():
            for tokens in BUDGETS:
                held[case.kind, way, tokens] += holds(history, case, recall(session, hits, tokens))
    return held, Counter(case.kind for case in cases)


def report(held: Counter[tuple[str, str, int]], cases: Counter[str]) -> None:
    columns = [*BUDGETS, LAST]
    print("\n| cases | way | " + " | ".join(f"{tokens:,}" for tokens in columns) + " |")
    print("|---|---|" + "---:|" * len(columns))
    for kind in (*sorted(cases), ""):
        total = cases[kind] if kind else cases.total()
        for way in (*RECALLS, LAST_TOKENS):
            cells = []
            for tokens in columns:
                found = sum(held[one, way, tokens] for one in ([kind] if kind else cases))
                share = f" ({found / total:.0%})" if total >= LEAST else ""
                cells.append(f"{found}{share}" if tokens in BUDGETS or way == LAST_TOKENS else "")
            print(f"| {kind or '**all**'}: {total:,} | {way} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.longmem", description=__doc__)
    parser.add_argument("--histories", type=int, default=0, help="only the first so many")
    options = parser.parse_args()
    for path in (DATA, locomo.DATA):
        if not path.exists():
            sys.exit(f"skipped: {path.name} is not here; set FOLDMARK_SHARED to the folder that holds data/{path.name}")
    held: Counter[tuple[str, str, int]] = Counter()
    cases: Counter[str] = Counter()
    asked, start = 0, time.process_time()
    for number, history in enumerate(load(), 1):
        if options.histories and number > options.histories:
            break
        there, counted = measure(history)
        held, cases, asked = held + there, cases + counted, asked + len(history.cases)
        size = sum(len(event.text) for event in history.events)
        print(
            f"{history.name}: {len(history.events):,} events, {size:,} characters, {counted.total()} cases", flush=True
        )
    report(held, cases)
    print(f"\n{asked - cases.total()} cases left out: no turn of the named session holds half of the answer's words.")
    print(f"{time.process_time() - start:.0f} CPU seconds. No model was asked: this is no LongMemEval score.")


if __name__ == "__main__":
    main()
