"""A day of work that passes its trigger again and again: where a method lands, and what its rewriting costs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from bench.rivals.asking import asked, requests
from bench.rivals.checks import plain
from bench.rivals.lists import WORKDAY
from bench.rivals.method import Rival, Setting
from bench.sizes import size

READ, WRITE = 0.1, 1.25
"""What a cached and a newly written input token cost beside an uncached one."""

TRIGGER = 6_000
TOO_LATE = 10
"""Rewrites in the last turns are not judged: the list ends before they could pay."""


class Sent(NamedTuple):
    """One request of a growing list, in tokens: its size, the size it would have had if it had only grown, and how much
    of its head is the last request's."""

    size: int
    grown: int
    head: int
    is_rewritten: bool


@lru_cache(maxsize=32)
def workday(rival: Rival) -> tuple[Sent, ...]:
    """A list that passes its trigger again and again, sent at every turn."""
    turn = rival.start(Setting(TRIGGER, is_growing=True))
    sent, last, total, seen = list[Sent](), list[Any](), 0, 0
    for past in requests(WORKDAY):
        after = asked(turn, past).messages
        shown = list(map(plain, after))
        same = next(
            (at for at, (a, b) in enumerate(zip(last, shown, strict=False)) if a != b), min(len(last), len(shown))
        )
        sent.append(Sent(size(after), total + size(past[seen:]), size(after[:same]), same < len(last)))
        last, total, seen = shown, size(after), len(past)
    return tuple(sent)


def rewriting_pays(rival: Rival) -> list[str]:
    """A rewrite that sheds a quarter is a compaction. The smaller ones must save more, until the next compaction, than
    their rewritten tails cost."""
    sent = workday(rival)
    is_compaction = [one.is_rewritten and one.size <= 0.75 * one.grown for one in sent]
    small = [at for at, one in enumerate(sent[:-TOO_LATE]) if one.is_rewritten and not is_compaction[at]]
    cost = sum((WRITE - READ) * (sent[at].size - sent[at].head) for at in small)
    saved = 0.0
    for at in small:
        turns = next((n for n in range(at + 1, len(sent)) if is_compaction[n]), len(sent)) - at
        saved += READ * turns * (sent[at].grown - sent[at].size)
    return (
        [f"{len(small)} of {len(sent)} requests rewritten at a cost of {cost:,.0f} to save {saved:,.0f}"]
        if cost > saved
        else []
    )


def lands_low(rival: Rival) -> list[str]:
    """Where growing would have passed the trigger, four fifths of it are left at most."""
    due = [one for one in workday(rival) if one.grown > TRIGGER]
    high = [one.size for one in due if one.size > 0.8 * TRIGGER]
    return (
        [f"{len(high)} of {len(due)} land above 80% of the trigger, up to {max(high):,} of {TRIGGER:,}"] if high else []
    )
