"""Whether a summary model may be asked now: cooldown, rest and breaker, read off the notes of past attempts.

Knows nothing of clocks, stores or models. What it needs is stored with every attempt, so a restart changes nothing.
Whoever asks for a compaction by force does not ask here: a person who insists is not made to wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from math import ceil, inf

from foldmark.budget import Room
from foldmark.reports import COMMITTED, Attempt
from foldmark.store import View
from foldmark.summarizer import Limits

NIL = 0.9
"""A request that is still nine tenths as large after a compaction as before it: the compaction had no effect."""


def may_ask(
    attempts: Sequence[Attempt], limits: Limits, now: float, *, models: Sequence[str] = (), reported: int = 0
) -> str:
    """Empty when a model may be asked at `now`, else the reason, for reports.

    `attempts` are the newest ones, oldest first; those of models that are not among `models` (names; none given: all
    count) say nothing of them. `reported` is what the first request after the last compaction came to, by the
    provider's usage (`first_reported`).
    """
    if why := rests(attempts, limits, now, models=models, reported=reported):
        return why
    asked = _asked(attempts, models, broken_off=True)
    left = _left(attempts[asked[-1]].time + limits.cooldown_seconds, now, limits.cooldown_seconds) if asked else 0
    said = f"cooldown: a model was asked less than {limits.cooldown_seconds:g} s ago, {left:,} s are left"
    return said if left > 0 else ""


def rests(
    attempts: Sequence[Attempt], limits: Limits, now: float, *, models: Sequence[str] = (), reported: int = 0
) -> str:
    """As `may_ask`, without the cooldown: empty unless models rest for long, because one asked for it or the breaker is
    open. For the price of the next compaction: a cooldown is over before it comes."""
    asked = _asked(attempts, models)
    if not asked:
        return ""
    last = attempts[asked[-1]]
    asleep = _asleep(attempts, now)
    names = set(models) or {one.model for one in attempts if one.model}
    if names and names <= asleep.keys():
        left = _left(min(asleep[name] for name in names), now)
        return f"models rest for another {left:,} s" + (f" ({last.failure})" if last.failure else "")
    vain = _in_a_row(asked, attempts, reported)
    left = _left(last.time + limits.probe_seconds, now, limits.probe_seconds)
    if vain >= limits.breaker_after and left > 0:
        return f"breaker: the last {vain} attempts with a model came to nothing; the next probe is in {left:,} s"
    return ""


def resting(attempts: Sequence[Attempt], now: float) -> frozenset[str]:
    """Names of single models that should not be asked yet, because a key, a quota or a line was not in order."""
    return frozenset(_asleep(attempts, now))


def _asleep(attempts: Sequence[Attempt], now: float) -> dict[str, float]:
    """Until when models rest, by name."""
    until: dict[str, float] = {}
    for one in attempts:
        until.update(one.rests)
        if one.outcome == "applied" and one.model in until and one.model not in one.rests:
            del until[one.model]  # it has answered since
    return {name: moment for name, moment in until.items() if moment > now}


def first_reported(view: View, room: Room) -> int:
    """Size of the first request after the last compaction by the usage of its reply, in our tokens; 0: not known. What
    cleanup and fit did to it counts: the provider's word is the truth about a compaction's effect. A reply to a request
    from before it, or to one that was not built here, says nothing."""
    version, size = view.state.reported
    made = view.checkpoint.version if view.checkpoint else 0
    return room.correction.ours(size) if made and version == made else 0


def _asked(attempts: Sequence[Attempt], models: Sequence[str], *, broken_off: bool = False) -> list[int]:
    """Places of those that asked a model of the chain. One that was broken off was paid, so it counts for the cooldown;
    it says nothing of the model, so it does not for the breaker."""
    return [
        at
        for at, one in enumerate(attempts)
        if one.calls
        and (broken_off or one.failure != "cancelled")
        and (not models or not one.model or one.model in models)
    ]


def _in_a_row(asked: Sequence[int], attempts: Sequence[Attempt], reported: int) -> int:
    """How many of the newest attempts with a model came to nothing, one after the other."""
    vain = takewhile(lambda at: attempts[at].outcome != "applied" or _is_nil(at, attempts, reported), reversed(asked))
    return sum(1 for _ in vain)


def _is_nil(at: int, attempts: Sequence[Attempt], reported: int) -> bool:
    """Whether a compaction that was made did not make the request smaller: by what the provider reported of the first
    request after it, else by our own count."""
    made = attempts[at]
    return (_came_to(attempts[at + 1 :], reported) or made.after) >= NIL * made.before


def _came_to(later: Sequence[Attempt], reported: int) -> int:
    """What a compaction really came to: the next attempts say it, up to the one that made another; `reported` when
    there was none."""
    for one in later:
        if one.reported or one.outcome in COMMITTED:
            return one.reported
    return reported


def _left(until: float, now: float, longest: float = inf) -> int:
    """Whole seconds until then. More than `longest` means a clock that was set back: nothing is left to wait for."""
    left = until - now
    return ceil(left) if 0 < left <= longest + 1 else 0
