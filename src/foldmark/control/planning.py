"""Finds out what a compaction would do: runs it on a store that writes nothing, and makes none of its calls. Knows
nothing of how a plan is shown.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any

import msgspec

from foldmark import flows
from foldmark.asking import Ask, Chore, info_of
from foldmark.budget import Room
from foldmark.checkpoint import Checkpoint
from foldmark.compose import STORY_SHARE
from foldmark.control.plans import Asks, Listed, Plan, Preview
from foldmark.control.setting import Setting, Wish
from foldmark.driving import advance, throw
from foldmark.errors import PolicyError, SummarizerFailed
from foldmark.events import Event, Usage
from foldmark.gauging import Gauge, gauge
from foldmark.keeping import ruled
from foldmark.matter import Parent
from foldmark.narrative import RECORDS_TAG
from foldmark.policy import Policy
from foldmark.prices import Money
from foldmark.refs import event_ref
from foldmark.rehearsal import Rehearsal
from foldmark.reports import COMMITTED, Call, Report
from foldmark.spending import spent
from foldmark.summarizer import Hooks, Occasion, Resolver, Summarizer, as_summarizer
from foldmark.telling import tell
from foldmark.tokens import count
from foldmark.triggers.renting import ANSWER_TOKENS
from foldmark.wire import by_name

NOBODY = "a plan asks nobody"
"""What the steps are told in place of an answer. Nothing that says so is shown."""

MINIMUM_PREFIX = 1_024
"""Without prices: the usual smallest prefix that providers cache."""


def planned(at: Setting, wish: Wish) -> Plan:
    """What `compact` with these arguments would do now. Raises what it would raise for them."""
    return _tried(at, wish)[0]


def previewed(at: Setting, wish: Wish) -> Preview:
    """The plan with the checkpoint that would be written and the request that would go out behind it."""
    plan, store = _tried(at, wish)
    made, frame = store.view(at.key).checkpoint, at.frame(wish)
    request = flows.request(
        store, at.artifacts, at.policy(wish), at.key, frame=frame, now=at.clock(), system=at.line.system,
        tools=at.line.tools, wire=by_name(frame.wire), peek=True,
    )  # fmt: skip
    return Preview(**msgspec.structs.asdict(plan), checkpoint=made.text if made else "", request=request)


def _tried(at: Setting, wish: Wish) -> tuple[Plan, Rehearsal]:
    given = None if wish.by_code else at.given
    report, asks, store = _rehearsed(at, wish, _silent(given))
    if asks and report.outcome == "failed":  # only because nobody was asked, and an answer is required
        report, asks, store = _rehearsed(at, wish, _silent(given, require=False))
    return _plan(at, wish, report, asks, store), store


def _rehearsed(at: Setting, wish: Wish, given: Summarizer | Resolver | None) -> tuple[Report, Sequence[Ask], Rehearsal]:
    """The very steps of a compaction, on a store that writes nothing."""
    store, frame = Rehearsal(at.store), at.frame(wish)
    upto = at.seq_of(wish.upto) if wish.upto else None
    occasion = Occasion(key=at.key, frame=frame, force=wish.force, focus=wish.focus, context=wish.context, upto=upto)
    parent = Parent(lambda: at.out.build(at.line, frame, wish.policy, peek=True).without_preload())
    steps = tell(store, at.policy(wish), given, occasion, clock=at.clock, parent=parent, sync=at.sync)
    report, asks = _without_calls(steps)
    return report, asks, store


def _without_calls(steps: Generator[Ask, Any, Report]) -> tuple[Report, Sequence[Ask]]:
    """Run steps to their end; whoever would be asked fails to answer."""
    asks: list[Ask] = []
    done, value = advance(steps)
    while not done:
        if isinstance(value, Chore):
            done, value = advance(steps, value.run())
        else:
            asks.append(value)
            done, value = throw(steps, SummarizerFailed(NOBODY, retryable=False))
    return value, asks


def _silent(given: Summarizer | Resolver | None, *, require: bool | None = None) -> Summarizer | Resolver | None:
    """Who is asked, without your code that may answer in a model's place or learn of a call that is never made."""
    if given is None:
        return None
    if isinstance(given, Summarizer):
        hooks: Hooks = msgspec.structs.replace(given.hooks, on_ask=None, on_reply=None, after=None)
        needed = given.require_model if require is None else require
        return msgspec.structs.replace(given, hooks=hooks, require_model=needed)
    resolver = given  # a name that is a function for certain: what is narrowed outside is not inside `chosen`

    def chosen(occasion: Occasion) -> Summarizer | Resolver | None:
        found = resolver(occasion)
        try:
            return found if found is None else _silent(as_summarizer(found), require=require)
        except PolicyError:
            return found  # whoever asked for it says what is wrong with it

    return chosen


# -- from what came of it


def _plan(at: Setting, wish: Wish, report: Report, asks: Sequence[Ask], store: Rehearsal) -> Plan:
    frame, policy, now = at.frame(wish), at.policy(wish), at.clock()
    old = ruled(at.store.view(at.key), frame, policy)[0]
    size = gauge(old, frame, policy, now)
    new = store.view(at.key)
    warnings = tuple(one for one in report.warnings if NOBODY not in one)
    was = old.checkpoint.boundary if old.checkpoint else 0
    if report.outcome not in COMMITTED or new.checkpoint is None:
        return Plan(
            outcome=report.outcome, text=report.text, trigger=report.trigger, stays=_listed(size.shown),
            kept=_listed(old.kept), was=was, boundary=was, before=report.before, sent=size.sizes.sent,
            after=report.before,
            window=frame.window, alive=size.sizes.alive, cached=size.sizes.alive,
            written=max(0, report.before - size.sizes.alive), warnings=warnings,
        )  # fmt: skip
    cached = min(_kept_in_cache(size, policy), report.after)
    kept = {event.seq for event in new.kept}
    goes = _listed(event for event in size.shown if event.seq <= report.boundary and event.seq not in kept)
    first = _asked(asks, sum(one.tokens for one in goes))
    money, said = _money(first, policy, size, report.after)
    return Plan(
        outcome="applied" if asks or report.outcome == "applied" else "degraded",
        text=report.text,
        trigger=report.trigger,
        goes=goes,
        stays=_listed(gauge(new, frame, policy, now).shown),
        kept=_listed(new.kept),
        was=was,
        boundary=report.boundary,
        version=report.version,
        before=report.before,
        sent=size.sizes.sent,
        after=report.after,
        target=report.target,
        window=frame.window,
        asks=first,
        told=_most_told(size.room, new.checkpoint) if first else 0,
        money=money,
        alive=size.sizes.alive,
        cached=cached,
        written=report.after - cached,
        warnings=(*warnings, *said),
    )


def _listed(events: Iterable[Event]) -> tuple[Listed, ...]:
    return tuple(Listed(event_ref(event.seq), event.role, event.tokens) for event in events if event.role != "control")


def _asked(asks: Sequence[Ask], goes: int) -> Asks | None:
    """The first model's first question tells in how many parts it would be asked."""
    if not asks:
        return None
    first = asks[0]
    whole = first.tokens if first.parts == 1 else _of_all_parts(first, goes)
    info = info_of(first.model)
    return Asks(
        model=info.name, mode=first.mode, calls=first.parts, first=first.tokens, tokens=whole, window=info.window
    )


def _of_all_parts(first: Ask, goes: int) -> int:
    """About the tokens of every part: the words around the records come with each, the records once. They are no longer
    than the events that go (results stand shortened in them)."""
    _, found, rest = first.prompt.partition(f"<{RECORDS_TAG}")
    told = count(rest.rpartition(f"</{RECORDS_TAG}>")[0]) if found else 0
    return first.parts * (first.tokens - told) + min(max(told, goes), first.parts * told)


def _most_told(room: Room, made: Checkpoint) -> int:
    """What a narrative may add: its share of the record that code writes."""
    return round(STORY_SHARE * (made.target or room.landing))


def _kept_in_cache(size: Gauge, policy: Policy) -> int:
    """Of a compacted request only the static prefix can still be in the cache, where it is long enough to be."""
    least = policy.prices.minimum_prefix if policy.prices else MINIMUM_PREFIX
    return size.room.static if size.sizes.alive and size.room.static >= least else 0


def _money(asks: Asks | None, policy: Policy, size: Gauge, after: int) -> tuple[Money | None, tuple[str, ...]]:
    """(what it costs and saves, warnings), with the calls estimated by their prompts and a usual answer."""
    calls = (_call(asks, asks.tokens // asks.calls, size),) * asks.calls if asks else ()
    money, said = spent(calls, policy, size, after)
    return money, tuple(one for one in said if money is None or one != money.text)


def _call(asks: Asks, tokens: int, size: Gauge) -> Call:
    alive = min(size.sizes.alive, tokens) if asks.mode == "fork" else 0
    usage = Usage(input=tokens, cache_read=alive, output=ANSWER_TOKENS)
    return Call(model=asks.model, asked=asks.model, mode=asks.mode, tokens=tokens, usage=usage)
