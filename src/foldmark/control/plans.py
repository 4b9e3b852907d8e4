"""What a compaction would do, as a value that reads well on a terminal. Knows nothing of how it was found out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from foldmark.drafts import Request
from foldmark.prices import Money
from foldmark.refs import compaction_ref, event_ref
from foldmark.render import event_refs
from foldmark.reports import Outcome


class Listed(msgspec.Struct, frozen=True):
    """One event of a plan: its ref, whose it is, and the tokens it takes as it is shown."""

    ref: str
    role: str
    tokens: int

    @property
    def seq(self) -> int:
        return int(self.ref.partition(":")[2])


class Asks(msgspec.Struct, frozen=True, kw_only=True):
    """What a summary model would be asked: `calls` calls (a long past is asked in parts), `first` prompt tokens in the
    first and about `tokens` in all, by our count. `mode` is standalone or fork, `window` the model's own context
    window: what it may be given follows from that, never from the window of the agent (`Plan.window`)."""

    model: str
    mode: str
    calls: int
    first: int
    tokens: int
    window: int = 0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A compaction that was run, and written nowhere. No model was asked: `after` is the size as code alone makes it; a
    model adds at most `told` tokens.

    `outcome` is what it would come to: `applied`, `not_due`, `ineffective`, `failed`, `deferred`; `text` says why,
    `trigger` by which rule. `goes` is newly covered, `kept` covered and shown verbatim all the same (older ones too),
    `stays` raw. `was` and `boundary` are the old boundary and the new one (seqs, 0: none), `version` the checkpoint
    that would be written (0: none). Sizes are tokens of the whole next request: `before`, `after`, the `target`, and
    `sent`, as it would go out without a compaction; `window` is the running model's context window.

    `money` says what it costs now (a broken cache, the calls), what each later request saves and when that has paid;
    None where the running model has no prices. Of the next request the provider's cache holds `alive` tokens now; after
    the compaction `cached` of them stay valid and `written` are sent anew.
    """

    outcome: Outcome
    text: str = ""
    trigger: str = ""
    goes: tuple[Listed, ...] = ()
    stays: tuple[Listed, ...] = ()
    kept: tuple[Listed, ...] = ()
    was: int = 0
    boundary: int = 0
    version: int = 0
    before: int = 0
    sent: int = 0
    after: int = 0
    target: int = 0
    window: int = 0
    asks: Asks | None = None
    told: int = 0
    money: Money | None = None
    alive: int = 0
    cached: int = 0
    written: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def pays_after(self) -> int | None:
        """After how many further requests it has paid for itself; None when it never does, or nobody knows prices."""
        return self.money.pays_after if self.money else None

    def __str__(self) -> str:
        return "\n".join(f"{name:<9}{said}" for name, said in _lines(self))


class Preview(Plan, frozen=True, kw_only=True):
    """A plan with what would come of it: the text of the `checkpoint` (by code alone; empty where there is none) and
    the next `request` as it would go out."""

    checkpoint: str
    request: Request


def _lines(plan: Plan) -> Iterator[tuple[str, str]]:
    would = "would fail" if plan.outcome == "failed" else f"would be {plan.outcome.replace('_', ' ')}"
    head = f"{would} [{plan.trigger}]" if plan.trigger else would
    yield "plan", f"{head}: {plan.text}" if plan.text else head
    if plan.version:
        yield "goes", _listed(plan.goes)
        if plan.kept:
            yield "kept", _listed(plan.kept)
    yield "stays", _listed(plan.stays)
    yield "size", _size(plan)
    if not plan.version:
        yield from (("note", one) for one in plan.warnings)
        return
    was = event_ref(plan.was) if plan.was else "none"
    yield "boundary", f"{was} -> {event_ref(plan.boundary)}, as {compaction_ref(plan.version)}"
    yield "asks", _asked(plan)
    yield "price", _price(plan.money)
    yield (
        "cache",
        f"{plan.alive:,} tokens are in it now; {plan.cached:,} stay valid, {plan.written:,} are written anew",
    )
    yield from (("note", one) for one in plan.warnings)


def _listed(events: Sequence[Listed]) -> str:
    if not events:
        return "nothing"
    number = f"{len(events):,} event{'' if len(events) == 1 else 's'}"
    return f"{number}, {sum(one.tokens for one in events):,} tokens: {_refs(events)}"


def _refs(events: Sequence[Listed]) -> str:
    """`event:4-88, 90`; of many runs the first ones and the last event."""
    said = event_refs(one.seq for one in events).split(", ")
    return ", ".join(said) if len(said) <= 6 else f"{', '.join(said[:5])}, … {said[-1]}"


def _size(plan: Plan) -> str:
    if not plan.version:
        return f"{plan.before:,} tokens{_cleaned(plan)}"
    told = f", and up to {plan.told:,} more that a model tells" if plan.told else ""
    return f"{plan.before:,} -> {plan.after:,} tokens (target {plan.target:,}){told}{_cleaned(plan)}"


def _cleaned(plan: Plan) -> str:
    """Where the next request begins an epoch all the same."""
    return f"; cleanup alone would make it {plan.sent:,}" if 0 < plan.sent < plan.before else ""


def _asked(plan: Plan) -> str:
    asks = plan.asks
    if asks is None:
        return "nobody: code writes it"
    model = f"{asks.model} (window {asks.window:,})"
    if asks.mode == "fork":
        return f"{model} by a fork of the next request, {asks.first:,} prompt tokens"
    if asks.calls == 1:
        return f"{model} once, {asks.first:,} prompt tokens"
    return f"{model} in {asks.calls} calls, {asks.first:,} prompt tokens in the first, about {asks.tokens:,} in all"


def _price(money: Money | None) -> str:
    if money is None:
        return "not known: the policy has no prices for the running model"
    called = f" ({money.show(money.call)} of it for the calls)" if money.call else ""
    costs = f"it costs {money.show(money.cost)} now{called}"
    if money.cost < 0:
        costs = f"the next request is cheaper by {money.show(-money.cost)}"
    if money.saving < 0:
        return f"{costs}, and each one after it is dearer by {money.show(-money.saving)}"
    after = money.pays_after
    when = "at once" if after == 0 else "never paid back" if after is None else f"paid back after {after:,} requests"
    return f"{costs}; each one after it saves {money.show(money.saving)}: {when}"
