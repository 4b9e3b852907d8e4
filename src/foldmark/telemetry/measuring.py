"""Turns an observation into measures: names of metrics, numbers, labels. Knows nothing of OpenTelemetry.

Pure: an observation in, a list out. Labels went through `naming`; which of them a metric carries is the table's and the
caller's choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from foldmark.prices import Money, dollars
from foldmark.reports import BY_WORDS, COMMITTED, Call, Looked, Observation, Raised, Report
from foldmark.telemetry.genai import Provider, tokens_by_type, who
from foldmark.telemetry.instruments import GENAI_DURATION, GENAI_TOKENS
from foldmark.telemetry.naming import FAILURES, MODES, OTHER, OUTCOMES, RUNS, WORK, is_number, listed, named, trigger

FORM_INVALID = frozenset({"rejected", "empty", "cut", "invalid"})
"""Failures that mean an answer without the form of a summary: it cannot be read as one or nothing of it stands in the
record (`rejected`), it has no words (`empty`), it ends in the middle (`cut`); or the checkpoint made of it did not pass
validation (`invalid`)."""


_LOOKS = frozenset({"search", "load"})


class Measure(NamedTuple):
    """One number for one metric, with every label that is known of it."""

    name: str
    value: float
    labels: Mapping[str, str] = {}


def measures(seen: Observation, provider: Provider = lambda model: "") -> list[Measure]:
    """What one observation adds to the metrics. Numbers that are none, and those below 0, are left out: a metric of
    sums cannot take them back."""
    if isinstance(seen, Report):
        found = _of_report(seen, provider)
    elif isinstance(seen, Looked):
        found = _of_look(seen)
    else:
        found = _of_work(seen)
    return [one for one in found if is_number(one.value) and one.value >= 0]


def failure_of(report: Report) -> str:
    """What went wrong with an attempt, in a word: its own, else its last call's; `other` where nobody said."""
    last = report.calls[-1].failure if report.calls else ""
    return listed(report.failure or last, FAILURES) or OTHER


def compression(report: Report) -> float | None:
    """Size of the checkpoint over the tokens of the request that it replaces: the older checkpoint and the events newly
    covered, as the request showed them. None where nothing was replaced."""
    replaced = report.before - report.after + report.checkpoint
    return report.checkpoint / replaced if report.checkpoint > 0 and replaced > 0 else None


def is_sound(money: Money) -> bool:
    """Whether it can be said when a compaction has paid: the amounts are numbers, and not too far apart to divide."""
    known = is_number(money.cost) and is_number(money.saving)
    return known and (money.saving <= 0 or is_number(money.cost / money.saving))


def share_cached(call: Call) -> float:
    """Share of a call's billed prompt that the cache gave."""
    return min(1.0, call.usage.cache_read / call.usage.input)


def _of_report(report: Report, provider: Provider) -> Iterator[Measure]:
    labels = {
        "outcome": listed(report.outcome, OUTCOMES),
        "trigger": trigger(report.trigger),
        "run": listed(report.run, RUNS),
        "mode": listed(report.mode, MODES),
        "scope": named(report.scope),
    }
    yield Measure("summary_create_total", 1, labels)
    if report.run == "intra_run":
        yield Measure("sync_intra_run_total", 1, labels)
    for call in report.calls:
        yield from _of_call(call, labels, provider)
    if report.outcome == "not_due":
        return
    yield from _of_attempt(report, labels)
    if report.outcome in COMMITTED:
        yield from _of_commit(report, labels)


def _of_call(call: Call, of_attempt: Mapping[str, str], provider: Provider) -> Iterator[Measure]:
    labels = {
        **of_attempt,
        "model": named(call.asked or call.model),
        "mode": listed(call.mode, MODES),
        "failure": listed(call.failure, FAILURES),
    }
    yield Measure("summary_llm_latency_ms", call.seconds * 1_000, labels)
    yield Measure("summary_estimated_prompt_tokens", call.tokens, labels)
    if usage := call.usage if call.usage.input else None:
        yield Measure("summary_prompt_tokens", usage.input, labels)
        yield Measure("summary_completion_tokens", usage.output, labels)
        yield Measure("summary_cache_read_tokens", usage.cache_read, labels)
        yield Measure("summary_cache_write_tokens", usage.cache_write, labels)
        yield Measure("summary_cache_hit_rate", share_cached(call), labels)
    if call.failure in FORM_INVALID:
        yield Measure("summary_format_invalid_total", 1, labels)
    genai = who(call, provider)
    yield Measure(GENAI_DURATION, call.seconds, genai)
    for sort, tokens in tokens_by_type(call).items():
        yield Measure(GENAI_TOKENS, tokens, {**genai, "gen_ai.token.type": sort})


def _of_attempt(report: Report, labels: Mapping[str, str]) -> Iterator[Measure]:
    yield Measure("summary_create_latency_ms", report.seconds * 1_000, labels)
    if report.calls and report.coverage is not None:
        yield Measure("summary_coverage", report.coverage, labels)
    if report.money:
        yield from _of_bill(report.money, labels)
    if report.outcome in ("failed", "degraded"):
        yield Measure("summary_error_total", 1, {**labels, "failure": failure_of(report)})
    told = any(call.failure in FORM_INVALID for call in report.calls)
    if report.failure in FORM_INVALID and not told:  # every answer could be read; what was made of them did not pass
        yield Measure("summary_format_invalid_total", 1, {**labels, "failure": report.failure})


def _of_bill(money: Money, labels: Mapping[str, str]) -> Iterator[Measure]:
    """What was paid for the calls, whatever came of them."""
    yield Measure("summary_cost_tokens", money.call, labels)
    amount = dollars(money.call, money.price)
    if amount is not None:
        yield Measure("summary_cost_usd", amount, labels)


def _of_commit(report: Report, labels: Mapping[str, str]) -> Iterator[Measure]:
    sizes = {"input_tokens": report.tokens, "input_events": report.events, "output_tokens": report.checkpoint}
    for name, size in sizes.items():
        if size:  # 0: the report does not tell
            yield Measure(f"summary_{name}", size, labels)
    if (ratio := compression(report)) is not None:
        yield Measure("summary_compression_ratio", ratio, labels)
    yield Measure("summary_request_before_tokens", report.before, labels)
    yield Measure("summary_request_after_tokens", report.after, labels)
    if report.money and is_sound(report.money):
        after = report.money.pays_after
        paid = "summary_loss_total" if after is None else "summary_pays_after_requests"
        yield Measure(paid, 1 if after is None else after, labels)


def _of_look(look: Looked) -> Iterator[Measure]:
    what = listed(look.what, _LOOKS)
    labels = {"what": what, "failed": "true" if look.failed else "false", "scope": named(look.scope)}
    if look.what in _LOOKS:
        yield Measure(f"session_{look.what}_total", 1, {**labels, "vectors": _vectors(look.remark)})
    yield Measure("session_look_latency_ms", look.seconds * 1_000, labels)
    if not look.failed:
        yield Measure("session_look_found", look.found, labels)


def _vectors(remark: str) -> str:
    """Of a search that had an embedder: whether it went without vectors, or with those of a part alone. Empty where
    nothing is said of it. No word of the remark goes out."""
    if not remark:
        return ""
    return "none" if remark.startswith(BY_WORDS) else "part"


def _of_work(work: Raised) -> Iterator[Measure]:
    labels = {"what": listed(work.what, WORK), "scope": named(work.scope)}
    yield Measure("summary_work_total", 1, labels)
    if work.what == "raised":
        yield Measure("summary_enqueue_total", 1, labels)
    elif work.what == "claimed":
        yield Measure("summary_queue_age_ms", work.seconds * 1_000, labels)
