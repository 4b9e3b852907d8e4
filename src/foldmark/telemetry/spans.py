"""One span for an attempt at a compaction, with one for each call of a model inside it. Knows nothing of metrics.

Spans are made when the report is there, with the times that it tells. When each call began is not in it: calls lie
one behind the other from the attempt's start. Their order and lengths are true.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from foldmark.reports import Call, Report
from foldmark.telemetry.genai import OPERATION, Provider, spent, who
from foldmark.telemetry.measuring import compression, failure_of, is_sound
from foldmark.telemetry.naming import MODES, OUTCOMES, RUNS, is_number, listed, trigger

NAME = "foldmark.compact"
_END_OF_DATES = 9e9
"""Seconds: nanoseconds since 1970 have 64 bits."""
Value = str | int | float | bool
Checked = Callable[[str, str], str]
"""A sort of name and a name of it; returns the name that may go out."""


def trace(tracer: Tracer, report: Report, *, provider: Provider, checked: Checked, shown: Mapping[str, str]) -> None:
    """Write the spans of an attempt that was due; a check that found nothing due has none.

    `shown` is said on each of them: the session's id and the scope, where they were asked for. The parent is the span
    that is current in this thread, so an attempt inside a request of the agent stands in it.
    """
    if report.outcome == "not_due":
        return
    lasted = _nanoseconds(max(report.seconds, sum(call.seconds for call in report.calls)))
    start = _nanoseconds(report.time) or time.time_ns() - lasted  # a report made by hand may not say when it began
    said = {**attributes(report), "foldmark.trigger": checked("trigger", trigger(report.trigger)), **shown}
    span = tracer.start_span(NAME, start_time=start, attributes=said)
    try:
        _judged(span, report, start + lasted)
        at = start
        for call in report.calls:
            at = _child(tracer, span, call, at, provider, checked, shown)
    finally:
        span.end(start + lasted)


def _judged(span: Span, report: Report, end: int) -> None:
    """An attempt that failed is an error. A degraded one is none: there is a checkpoint, made by code."""
    if report.outcome == "failed":
        span.set_attribute("error.type", failure_of(report))
        span.set_status(Status(StatusCode.ERROR, failure_of(report)))
    elif report.outcome == "degraded":
        span.add_event("degraded", {"foldmark.failure": failure_of(report)}, end)


def attributes(report: Report) -> dict[str, Value]:
    """Kinds and numbers of an attempt. Of its texts only how many there are."""
    words = {
        "foldmark.outcome": listed(report.outcome, OUTCOMES),
        "foldmark.run": listed(report.run, RUNS),
        "foldmark.mode": listed(report.mode, MODES),
        "foldmark.trigger": trigger(report.trigger),
    }
    return {**words, **{name: value for name, value in _numbers(report).items() if is_number(value)}}


def _numbers(report: Report) -> dict[str, Any]:
    billed = report.usage
    return {
        "foldmark.trigger.value": report.value,
        "foldmark.trigger.threshold": report.threshold,
        "foldmark.version": report.version,
        "foldmark.boundary": report.boundary,
        "foldmark.covered.events": report.events,
        "foldmark.covered.tokens": report.tokens,
        "foldmark.checkpoint.tokens": report.checkpoint,
        "foldmark.compression": compression(report),
        "foldmark.before.tokens": report.before,
        "foldmark.after.tokens": report.after,
        "foldmark.target.tokens": report.target,
        "foldmark.calls": len(report.calls),
        "foldmark.estimated_tokens": report.estimated_tokens,
        "foldmark.billed.input_tokens": billed.input,
        "foldmark.billed.output_tokens": billed.output,
        "foldmark.coverage": report.coverage,
        "foldmark.resume": report.resume,
        "foldmark.reasons": len(report.reasons),
        "foldmark.warnings": len(report.warnings),
        **_amounts(report),
    }


def _amounts(report: Report) -> dict[str, Any]:
    money = report.money
    if money is None:
        return {}
    return {
        "foldmark.money.call_tokens": money.call,
        "foldmark.money.rewrite_tokens": money.rewrite,
        "foldmark.money.saving_tokens": money.saving,
        "foldmark.money.pays_after_requests": money.pays_after if is_sound(money) else None,
    }


def _child(
    tracer: Tracer, parent: Span, call: Call, start: int, provider: Provider, checked: Checked,
    shown: Mapping[str, str],
) -> int:  # fmt: skip
    """The span of one call; returns when it ended."""
    said = {name: _checked(checked, name, value) for name, value in who(call, provider).items()}
    model = said.get("gen_ai.request.model", "")
    span = tracer.start_span(
        f"{OPERATION} {model}".strip(),
        context=set_span_in_context(parent),
        kind=SpanKind.CLIENT,
        start_time=start,
        attributes={**said, **spent(call), **shown},
    )
    if call.failure:
        span.set_status(Status(StatusCode.ERROR, said["error.type"]))
    end = start + _nanoseconds(call.seconds)
    span.end(end)
    return end


def _checked(checked: Checked, name: str, value: str) -> str:
    return checked("model", value) if name.endswith(".model") else value


def _nanoseconds(seconds: float) -> int:
    """Seconds since 1970, or of a duration, as OpenTelemetry takes them; 0 for what no date can be made of."""
    return int(seconds * 1e9) if 0 < seconds < _END_OF_DATES else 0
