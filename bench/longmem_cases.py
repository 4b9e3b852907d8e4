"""Cases for `bench.longmem`: long histories of filler sessions, with sessions planted that hold the evidence.

A history is a LongMemEval haystack (three are at hand). Its own questions are cases; so are the questions of a LoCoMo
conversation whose sittings are planted whole among its sessions, in their order, at places drawn by a fixed seed, and
the oracle cases, whose evidence sessions are planted in haystacks that are not their own. Imports nothing that
recognises or selects.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, NamedTuple

from bench import locomo
from bench.histories import SHARED
from foldmark.events import Event, assistant, user

DATA = SHARED / "data" / "longmemeval"
KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
"""LoCoMo's categories with an answer; its fifth asks for what was never said."""
_WORD = re.compile(r"\w+(?:[.,:]\d+)*")
_COMMON = frozenset(
    _WORD.findall(
        "a an and are as at be been but by can could did do does for from had has have he her his how i if in into is "
        "it its may me my not of on or our out she so than that the their them then there they this those to up was we "
        "were what when where which who whom why will with would you your about"
    )
)


class Case(NamedTuple):
    """A question. `turns` are the events that hold its evidence, all of them needed; where a file names only the
    session, `within` are its events and `answer` the words of the answer to be found there."""

    kind: str
    question: str
    turns: tuple[int, ...] = ()
    within: tuple[int, ...] = ()
    answer: frozenset[str] = frozenset()


class History(NamedTuple):
    """`events` in order, their seqs from 1; `now` is a day after the last."""

    name: str
    events: tuple[Event, ...]
    cases: tuple[Case, ...]
    now: float


class Sitting(NamedTuple):
    """A session of a source: its id, its events, and which of them (by place) are marked as evidence."""

    id: str
    events: tuple[Event, ...]
    marked: tuple[int, ...] = ()


def content_words(text: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(text.lower()) if word not in _COMMON)


def load() -> Iterator[History]:
    """The haystacks with oracle sessions planted, then one for each LoCoMo conversation. Raises FileNotFoundError."""
    haystacks = json.loads((DATA / "longmemeval_s_3haystacks.json").read_text(encoding="utf-8"))
    oracles = json.loads((DATA / "longmemeval_oracle_2cases.json").read_text(encoding="utf-8"))
    for place, row in enumerate(haystacks):
        others = [one for one in oracles if not set(one["haystack_session_ids"]) & set(row["haystack_session_ids"])]
        planted = [sitting for one in others for sitting in _sittings(one)]
        events, starts = _planted(_sittings(row), planted, seed=place)
        cases = [*_own(row, starts), *(_oracle(one, starts) for one in others)]
        yield History(row["question_id"], events, tuple(cases), (events[-1].time or 0) + 86_400)
    for place, talk in enumerate(locomo.load()):
        row = haystacks[place % len(haystacks)]
        sittings = [Sitting(name, tuple(many)) for name, many in groupby(talk.events, key=_sitting_of)]
        events, _ = _planted(_sittings(row), sittings, seed=100 + place)
        seqs = {event.id: seq for seq, event in enumerate(events, 1) if event.id}
        cases = [
            Case(f"planted, {KINDS[asked.category]}", asked.text, tuple(sorted(seqs[id] for id in asked.evidence)))
            for asked in talk.questions
            if asked.category in KINDS
        ]
        yield History(f"{row['question_id']} + {talk.name}", events, tuple(cases), (events[-1].time or 0) + 86_400)


def _sitting_of(event: Event) -> str:
    return event.id.partition(":")[0]


def _sittings(row: dict[str, Any]) -> list[Sitting]:
    out = []
    for name, date, turns in zip(
        row["haystack_session_ids"], row["haystack_dates"], row["haystack_sessions"], strict=True
    ):
        start = datetime.strptime(re.sub(r" \(\w+\)", "", date), "%Y/%m/%d %H:%M").replace(tzinfo=UTC).timestamp()
        events = tuple(
            (user if turn["role"] == "user" else assistant)(turn["content"], time=start + 60 * at)
            for at, turn in enumerate(turns)
        )
        out.append(Sitting(name, events, tuple(at for at, turn in enumerate(turns) if turn.get("has_answer"))))
    return out


def _planted(
    fillers: Sequence[Sitting], planted: Sequence[Sitting], seed: int
) -> tuple[tuple[Event, ...], dict[str, tuple[int, Sitting]]]:
    """Both in their own order, shuffled together; and where each sitting starts (seq, by its id)."""
    rng = random.Random(seed)
    order = [True] * len(planted) + [False] * len(fillers)
    rng.shuffle(order)
    queues = {True: iter(planted), False: iter(fillers)}
    events: list[Event] = []
    starts: dict[str, tuple[int, Sitting]] = {}
    for which in order:
        sitting = next(queues[which])
        starts[sitting.id] = (len(events) + 1, sitting)
        events += sitting.events
    return tuple(events), starts


def _own(row: dict[str, Any], starts: dict[str, tuple[int, Sitting]]) -> Iterator[Case]:
    for question, answer, ids in zip(row["questions"], row["answers"], row["answer_session_ids"], strict=True):
        marked = _marked(ids, starts)
        if marked:
            yield Case("haystack's own", question, marked)
        else:
            within = (starts[name] for name in ids)
            seqs = tuple(first + at for first, sitting in within for at in range(len(sitting.events)))
            yield Case("about a filler", question, within=seqs, answer=content_words(str(answer)))


def _oracle(row: dict[str, Any], starts: dict[str, tuple[int, Sitting]]) -> Case:
    return Case("planted, oracle", row["question"], _marked(row["haystack_session_ids"], starts))


def _marked(ids: Sequence[str], starts: dict[str, tuple[int, Sitting]]) -> tuple[int, ...]:
    return tuple(starts[name][0] + at for name in ids for at in starts[name][1].marked)
