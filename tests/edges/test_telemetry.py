"""Telemetry with the SDK's own exporters in memory: what goes out, what never does, and that nothing comes back."""

from __future__ import annotations

import json
import logging
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("opentelemetry.sdk", reason="needs pip install opentelemetry-sdk")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from foldmark import Policy, Reply, Session
from foldmark.embedding import Embedder
from foldmark.errors import EmbedderFailed, PolicyError
from foldmark.events import Usage, user
from foldmark.failures import RULES
from foldmark.prices import Money, Price
from foldmark.reports import Call, Change, Looked, Raised, Report
from foldmark.store import Backlog
from foldmark.telemetry import FORM_INVALID, INSTRUMENTS, LABELS, OpenTelemetry, measures
from foldmark.telemetry.instruments import OF_THE_ARTICLE
from foldmark.telemetry.naming import FAILURES, MOST_NAMES, OTHER, Names, is_name, named, trigger
from foldmark.testing import FixedClock, ScriptedModel, items_json

SOURCE = Path(__file__).resolve().parents[2] / "src" / "foldmark"
PRICE = Price(read=0.1, dollars_per_million=2.0)
GOOD = Call(
    model="small-1",
    asked="small",
    tokens=900,
    usage=Usage(input=1_000, output=120, cache_read=250, cache_write=10),
    seconds=1.5,
)
CUT = Call(model="small", asked="small", tokens=950, seconds=0.5, failure="cut")
APPLIED = Report(
    outcome="applied",
    trigger="rent",
    value=52_000.0,
    threshold=41_000.0,
    session="refund-fix",
    scope="billing",
    run="background",
    time=1_000_000.0,
    seconds=2.5,
    events=40,
    tokens=30_000,
    checkpoint=4_000,
    boundary=41,
    version=3,
    before=50_000,
    after=14_000,
    target=16_000,
    mode="standalone",
    calls=(CUT, GOOD),
    coverage=0.75,
    money=Money(price=PRICE, call=1_500.0, rewrite=-100.0, saving=3_600.0),
)


class Sink:
    """A meter and a tracer provider whose exports stay in memory."""

    def __init__(self, **options: Any) -> None:
        self.reader, self.spans_kept = InMemoryMetricReader(), InMemorySpanExporter()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.spans_kept))
        meters = MeterProvider([self.reader], shutdown_on_exit=False)
        self.observer = OpenTelemetry(meters, self.tracers, **options)

    def spans(self) -> tuple[ReadableSpan, ...]:
        return self.spans_kept.get_finished_spans()

    def metrics(self) -> Any:
        return self.reader.get_metrics_data()

    def points(self, name: str) -> list[tuple[dict[str, Any], float]]:
        """(attributes, value) of each series of a metric; of a histogram the value is its sum."""
        return [
            (dict(point.attributes), point.sum if hasattr(point, "sum") else point.value)
            for metric in self.found()
            if metric.name == name
            for point in metric.data.data_points
        ]

    def sum(self, name: str, **labels: str) -> float:
        return sum(value for has, value in self.points(name) if labels.items() <= has.items())

    def found(self) -> list[Any]:
        data = self.metrics()
        if data is None:
            return []
        return [one for resource in data.resource_metrics for scope in resource.scope_metrics for one in scope.metrics]


def seen(*observations: Any, **options: Any) -> Sink:
    sink = Sink(**options)
    for one in observations:
        sink.observer(one)
    return sink


def words_in(value: Any, known: set[int] | None = None) -> Iterator[str]:
    """Every string in a value and in whatever it holds: keys, items, attributes, private ones too."""
    known = set() if known is None else known
    if isinstance(value, str):
        yield value
        return
    if value is None or isinstance(value, int | float | bytes | type) or id(value) in known:
        return
    known.add(id(value))
    if isinstance(value, Mapping):
        inside = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        inside = list(value)
    else:
        slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
        inside = [*getattr(value, "__dict__", {}).values(), *(getattr(value, name, None) for name in slots)]
    for one in inside:
        yield from words_in(one, known)


# -- metrics


def test_every_metric_of_the_article_has_its_name_and_its_number() -> None:
    sink = seen(
        APPLIED,
        msgspec.structs.replace(APPLIED, run="intra_run", outcome="failed", failure="timeout", calls=(), money=None),
        Looked(what="search", session="s", found=3, seconds=0.002),
        Looked(what="load", session="s", found=1, characters=900, seconds=0.001),
        Raised(what="raised", session="s", wanted=9),
    )
    expected = {
        "summary_llm_latency_ms": 2_000.0,
        "summary_prompt_tokens": 1_000,
        "summary_completion_tokens": 120,
        "summary_cache_read_tokens": 250,
        "summary_cache_hit_rate": 0.25,
        "summary_input_tokens": 30_000,
        "summary_input_events": 40,
        "summary_output_tokens": 4_000,
        "summary_compression_ratio": 0.1,
        "summary_format_invalid_total": 1,
        "summary_enqueue_total": 1,
        "summary_create_total": 2,
        "summary_create_latency_ms": 5_000.0,
        "summary_error_total": 1,
        "sync_intra_run_total": 1,
        "session_search_total": 1,
        "session_load_total": 1,
    }
    assert {one.name for one in OF_THE_ARTICLE} == set(expected)
    assert {name: pytest.approx(sink.sum(name)) for name in expected} == expected


def test_what_our_reports_know_beyond_the_article_goes_out_too() -> None:
    sink = seen(
        APPLIED,
        Raised(what="claimed", session="s", seconds=4.0),
        Raised(what="given_up", session="s", attempts=5),
        Looked(what="search", session="s", failed=True, seconds=0.5),
        backlog=lambda: Backlog(dirty=7, leased=2, resting=1, oldest_seconds=12.5),
    )
    assert sink.sum("summary_estimated_prompt_tokens") == 1_850
    assert sink.sum("summary_request_before_tokens") == 50_000
    assert sink.sum("summary_request_after_tokens") == 14_000
    assert sink.sum("summary_coverage") == 0.75
    assert sink.sum("summary_cost_tokens") == 1_500
    assert sink.sum("summary_cost_usd") == pytest.approx(0.003)
    assert sink.sum("summary_pays_after_requests") == APPLIED.money.pays_after  # type: ignore[union-attr]
    assert sink.sum("summary_queue_age_ms") == 4_000
    assert sink.sum("summary_work_total", what="given_up") == 1
    assert sink.sum("summary_backlog", state="dirty") == 7
    assert sink.sum("summary_backlog", state="leased") == 2
    assert sink.sum("summary_backlog_age_ms") == 12_500
    assert sink.sum("session_search_total", failed="true") == 1
    assert sink.sum("session_look_found") == 0


def test_a_search_that_went_without_its_embedder_is_counted_apart_and_no_word_of_why_goes_out() -> None:
    """By the remarks that searches really make: with pieces that have no vector, and with an embedder that fails."""
    sink = seen()
    for call in (lambda texts: [[1.0]] * len(texts), lambda texts: 1 / 0):
        embedder = Embedder(id="secret-id", call=call, dimension=1)
        session = Session("s", embedder=embedder, observer=sink.observer)
        session.record(user("The zebra is in the zoo."))
        session.search("zebra")  # part: it has no vector yet; none: the embedder fails
        with suppress(EmbedderFailed):
            session.embed()
        session.search("zebra")  # whole; none
    Session("t", observer=sink.observer).search("zebra")  # without an embedder there is nothing to say
    assert sink.sum("session_search_total", vectors="part") == 1
    assert sink.sum("session_search_total", vectors="none") == 2
    assert sink.sum("session_search_total") == 5
    out = json.dumps([sink.points(metric.name) for metric in sink.found()])
    assert "secret-id" not in out
    assert "alone" not in out


def test_every_metric_of_the_table_can_be_seen_with_its_unit_and_only_its_attributes() -> None:
    """A metric that nothing feeds would be a promise that is not kept."""
    losing = msgspec.structs.replace(APPLIED, money=Money(price=PRICE, call=10.0, rewrite=5.0, saving=-1.0))
    failing = msgspec.structs.replace(APPLIED, outcome="failed", failure="invalid", calls=())
    intra = msgspec.structs.replace(APPLIED, run="intra_run")
    looks = [Looked(what=what, session="s") for what in ("search", "load")]
    looks += [Looked(what="search", session="s", remark="by words alone: no vectors")]
    work = [Raised(what=what, session="s") for what in ("raised", "claimed")]
    everything = (APPLIED, losing, failing, intra, *looks, *work)
    sink = seen(*everything, attributes=LABELS, provider="openai", backlog=lambda: Backlog(dirty=1))
    table = {one.name: one for one in INSTRUMENTS}
    assert {metric.name for metric in sink.found()} == set(table)
    for metric in sink.found():
        entry = table[metric.name]
        assert metric.unit == entry.unit
        for attributes, _ in sink.points(metric.name):
            assert set(attributes) <= {*entry.labels, *entry.fixed}
            assert set(entry.fixed) - {"error.type", "gen_ai.response.model"} <= set(attributes)


def test_a_check_that_found_nothing_due_is_counted_and_leaves_nothing_else() -> None:
    sink = seen(Report(outcome="not_due", before=900, after=900, seconds=0.01), Report(outcome="not_due"))
    assert sink.sum("summary_create_total", outcome="not_due") == 2
    assert [metric.name for metric in sink.found()] == ["summary_create_total"]
    assert sink.spans() == ()


def test_only_the_attributes_that_were_asked_for_are_on_metrics() -> None:
    assert sink_labels(seen(APPLIED)) == {"outcome", "trigger", "run", "mode"}
    assert sink_labels(seen(APPLIED, attributes=("outcome", "scope"))) == {"outcome", "scope"}
    assert sink_labels(seen(APPLIED, attributes=())) == set()
    assert seen(APPLIED).points("summary_prompt_tokens")[0][0] == {"model": "small", "mode": "standalone"}


def sink_labels(sink: Sink) -> set[str]:
    return {name for attributes, _ in sink.points("summary_create_total") for name in attributes}


def test_an_attribute_that_nobody_knows_is_refused_with_the_known_ones() -> None:
    with pytest.raises(PolicyError, match=r"'session'; allowed are outcome, trigger"):
        OpenTelemetry(attributes=("outcome", "session"))


def test_the_id_of_a_session_is_on_spans_when_asked_for_and_never_on_a_metric() -> None:
    assert not [word for word in words_in(seen(APPLIED).spans()) if "refund-fix" in word]
    sink = seen(APPLIED, Looked(what="load", session="refund-fix"), session_ids=True, attributes=LABELS)
    assert {span.attributes["gen_ai.conversation.id"] for span in sink.spans()} == {"refund-fix"}
    assert not [word for word in words_in(sink.metrics()) if "refund-fix" in word]


@pytest.mark.parametrize("failure", sorted({*RULES, "hook", "cancelled"}))
def test_an_answer_without_the_form_of_a_summary_is_counted_by_its_kind(failure: str) -> None:
    call = msgspec.structs.replace(CUT, failure=failure)
    sink = seen(msgspec.structs.replace(APPLIED, outcome="degraded", calls=(call,), failure=failure))
    assert sink.sum("summary_format_invalid_total") == (failure in FORM_INVALID)
    assert sink.points("summary_error_total")[0][0]["failure"] == failure
    assert failure in FAILURES


def test_a_checkpoint_that_did_not_pass_validation_is_counted_once() -> None:
    whole = msgspec.structs.replace(APPLIED, outcome="failed", calls=(GOOD,), failure="invalid")
    assert seen(whole).sum("summary_format_invalid_total", failure="invalid") == 1
    after_bad_answers = msgspec.structs.replace(whole, calls=(CUT,), failure="rejected")
    assert seen(after_bad_answers).sum("summary_format_invalid_total") == 1


def test_the_compression_ratio_counts_the_older_checkpoint_as_replaced() -> None:
    """A second checkpoint tells of the first one's past too: over the newly covered events alone it would look worse
    with every one."""
    second = msgspec.structs.replace(APPLIED, tokens=5_000, checkpoint=4_000, before=23_000, after=14_000)
    assert seen(second).sum("summary_compression_ratio") == pytest.approx(4_000 / 13_000)


def test_numbers_that_are_none_are_left_out_and_the_rest_goes_out() -> None:
    broken = msgspec.structs.replace(GOOD, seconds=math.nan, tokens=-5)
    sink = seen(msgspec.structs.replace(APPLIED, calls=(broken,), value=math.inf, seconds=math.inf, coverage=math.nan))
    assert sink.points("summary_llm_latency_ms") == []
    assert sink.points("summary_estimated_prompt_tokens") == []
    assert sink.points("summary_create_latency_ms") == []
    assert sink.sum("summary_prompt_tokens") == 1_000
    assert len(sink.spans()) == 2
    assert all(math.isfinite(value) for span in sink.spans() for value in numbers(span))


@pytest.mark.parametrize("saving", [math.nan, 1e-300, math.inf])
def test_a_saving_that_nothing_can_be_divided_by_is_left_out(saving: float) -> None:
    money = Money(price=PRICE, call=1e200, rewrite=1e200, saving=saving)
    sink = seen(msgspec.structs.replace(APPLIED, money=money))
    assert not sink.observer._logged
    assert sink.points("summary_loss_total") == sink.points("summary_pays_after_requests") == []
    assert "foldmark.money.pays_after_requests" not in sink.spans()[-1].attributes


def test_one_observer_serves_many_threads() -> None:
    sink = Sink()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(sink.observer, [APPLIED] * 100))
    assert sink.sum("summary_create_total") == 100
    assert sink.sum("summary_prompt_tokens") == 100_000
    assert len(sink.spans()) == 300


def numbers(span: ReadableSpan) -> list[float]:
    return [value for value in (span.attributes or {}).values() if isinstance(value, int | float)]


def test_usage_that_was_not_reported_is_not_a_zero() -> None:
    sink = seen(msgspec.structs.replace(APPLIED, calls=(CUT,)))
    for name in ("summary_prompt_tokens", "summary_cache_hit_rate", "gen_ai.client.token.usage"):
        assert sink.points(name) == []


# -- spans


def test_one_span_per_attempt_with_one_for_each_call_inside() -> None:
    first, second, attempt = seen(APPLIED, provider="openai").spans()
    assert attempt.name == "foldmark.compact"
    assert (attempt.start_time, attempt.end_time) == (1_000_000 * 10**9, 1_000_000 * 10**9 + 2_500_000_000)
    assert attempt.status.status_code is StatusCode.UNSET
    said = attempt.attributes or {}
    assert said["foldmark.outcome"] == "applied"
    assert (said["foldmark.trigger"], said["foldmark.trigger.value"], said["foldmark.trigger.threshold"]) == (
        "rent", 52_000.0, 41_000.0,
    )  # fmt: skip
    assert (said["foldmark.version"], said["foldmark.boundary"]) == (3, 41)
    assert (said["foldmark.before.tokens"], said["foldmark.after.tokens"]) == (50_000, 14_000)
    assert (said["foldmark.estimated_tokens"], said["foldmark.billed.input_tokens"]) == (1_850, 1_000)
    for child in (first, second):
        assert child.kind is SpanKind.CLIENT
        assert child.name == "chat small"
        assert child.parent is not None
        assert child.parent.span_id == attempt.context.span_id
        assert child.attributes["gen_ai.operation.name"] == "chat"
        assert child.attributes["gen_ai.task_type"] == "summarize"
        assert child.attributes["gen_ai.provider.name"] == "openai"
    assert first.status.status_code is StatusCode.ERROR
    assert first.attributes["error.type"] == "cut"
    assert first.end_time == second.start_time
    assert second.end_time - second.start_time == 1_500_000_000
    assert second.attributes["gen_ai.response.model"] == "small-1"
    assert second.attributes["gen_ai.usage.input_tokens"] == 1_000
    assert second.attributes["gen_ai.usage.output_tokens"] == 120
    assert second.attributes["gen_ai.usage.cache_read.input_tokens"] == 250


def test_failed_is_an_error_and_degraded_is_an_event() -> None:
    (failed,) = seen(Report(outcome="failed", failure="timeout", time=9.0)).spans()
    assert failed.status.status_code is StatusCode.ERROR
    assert failed.attributes["error.type"] == "timeout"
    (degraded,) = seen(Report(outcome="degraded", failure="timeout", time=9.0)).spans()
    assert degraded.status.status_code is StatusCode.UNSET
    assert [(one.name, dict(one.attributes)) for one in degraded.events] == [
        ("degraded", {"foldmark.failure": "timeout"})
    ]


def test_an_attempt_stands_in_the_span_of_the_request_that_made_it() -> None:
    sink = Sink()
    with sink.tracers.get_tracer("agent").start_as_current_span("turn") as turn:
        sink.observer(Report(outcome="ineffective", time=5.0))
    assert sink.spans()[0].parent.span_id == turn.get_span_context().span_id  # type: ignore[union-attr]


def test_a_report_that_does_not_say_when_it_began_ends_now() -> None:
    (span,) = seen(Report(outcome="ineffective", seconds=2.0)).spans()
    assert span.end_time - span.start_time == 2_000_000_000
    assert span.end_time > 1_700_000_000 * 10**9


# -- GenAI


def test_calls_are_in_the_metrics_of_the_genai_conventions() -> None:
    sink = seen(APPLIED, provider=lambda model: "anthropic" if model == "small" else "")
    who = {"gen_ai.operation.name": "chat", "gen_ai.task_type": "summarize", "gen_ai.provider.name": "anthropic"}
    who |= {"gen_ai.request.model": "small"}
    used = {**who, "gen_ai.response.model": "small-1"}
    assert sink.points("gen_ai.client.operation.duration") == [({**who, "error.type": "cut"}, 0.5), (used, 1.5)]
    assert sink.points("gen_ai.client.token.usage") == [
        ({**used, "gen_ai.token.type": "input"}, 1_000),
        ({**used, "gen_ai.token.type": "output"}, 120),
    ]


# -- never user text

MARK = "zq7 the words of a user"
texts = st.builds(lambda left, right: f"{left} {MARK} {right}", st.text(max_size=90), st.text(max_size=90))
times = st.floats(allow_nan=True, allow_infinity=True)
counts = st.integers(min_value=-10, max_value=10**12)


def filled(kind: type[Any], **fields: Any) -> st.SearchStrategy[Any]:
    """A value whose every string is the words of a user, whatever its type says, and whose numbers are anything."""
    given_by_type = {
        str: texts,
        int: counts,
        float: times,
        bool: st.booleans(),
        tuple[str, ...]: st.lists(texts).map(tuple),
    }
    made = {}
    for field in msgspec.structs.fields(kind):
        is_word = getattr(field.type, "__origin__", None) is not None and "Literal" in str(field.type)
        by_type = texts if is_word else given_by_type.get(field.type, st.none())
        made[field.name] = fields.get(field.name, by_type)
    return st.builds(kind, **made)


price = filled(Price, dollars_per_million=times)
calls = st.lists(filled(Call, usage=filled(Usage)), max_size=3).map(tuple)
a_report = filled(
    Report,
    outcome=st.sampled_from(["applied", "degraded", "failed", "not_due"]) | texts,
    calls=calls,
    changes=st.lists(filled(Change), max_size=2).map(tuple),
    money=st.none() | filled(Money, price=price),
    coverage=st.none() | times,
    value=times | texts,
    threshold=times | texts,
)
a_look = filled(Looked, what=st.sampled_from(["search", "load"]) | texts)
a_change = filled(Raised, what=st.sampled_from(["raised", "claimed"]) | texts)


def test_the_generators_put_the_words_into_every_string() -> None:
    """Else the property below would prove nothing."""
    kinds = ((Report, a_report), (Looked, a_look), (Raised, a_change), (Call, filled(Call, usage=filled(Usage))))
    for kind, strategy in kinds:
        strings = {field.name for field in msgspec.structs.fields(kind) if field.type is str}
        assert strings
        one = find_any(strategy)
        assert [name for name in strings if MARK not in getattr(one, name)] == []
    one = find_any(a_report.filter(lambda report: report.reasons and report.warnings and report.calls))
    assert MARK in one.reasons[0]
    assert MARK in one.calls[0].model
    assert MARK in find_any(a_look).scope


def find_any(strategy: st.SearchStrategy[Any]) -> Any:
    found: list[Any] = []

    @settings(max_examples=30, database=None)
    @given(strategy)
    def look(one: Any) -> None:
        found.append(one)

    look()
    return found[-1]


@settings(max_examples=60, deadline=None)
@given(st.lists(a_report | a_look | a_change, min_size=1, max_size=4))
def test_no_word_of_a_user_is_in_anything_that_goes_out(observations: list[Any]) -> None:
    sink = seen(*observations, attributes=LABELS, provider=lambda model: model, backlog=lambda: Backlog(dirty=1))
    out = [*words_in(sink.spans()), *words_in(sink.metrics())]
    assert "summary_backlog" in out
    assert [word for word in out if "zq7" in word] == []
    assert not sink.observer._logged
    for span in sink.spans():
        assert "zq7" not in span.to_json()
    assert "zq7" not in sink.metrics().to_json()


def test_the_walk_over_what_was_exported_sees_what_stands_in_it() -> None:
    sink = seen(APPLIED, session_ids=True, provider="acme-cloud")
    out = {*words_in(sink.spans()), *words_in(sink.metrics())}
    assert {"refund-fix", "acme-cloud", "small-1", "rent", "summary_prompt_tokens"} <= out


@pytest.mark.parametrize("name", ["small", "gpt-5.2-mini", "org/model:free", "my.gguf", "<lambda>", "größer"])
def test_names_go_out_as_they_are(name: str) -> None:
    assert is_name(name)
    assert named(name) == trigger(name) == name


@pytest.mark.parametrize("name", ["two words", "line\nbreak", "tab\t", " ", "x" * 81, "a\u00a0b", "a\x00b", "a\u202eb"])
def test_what_is_no_name_goes_out_as_other(name: str) -> None:
    assert named(name) == trigger(name) == OTHER


def test_names_of_triggers_that_were_joined_are_names() -> None:
    assert trigger("idle, tokens") == "idle, tokens"
    assert trigger("idle and tokens") == "idle and tokens"
    assert trigger("idle and the user said so") == OTHER


def test_names_that_are_made_from_data_do_not_make_series_without_end() -> None:
    reports = [msgspec.structs.replace(APPLIED, trigger=f"order-{number}") for number in range(2 * MOST_NAMES)]
    found = {attributes["trigger"] for attributes, _ in seen(*reports).points("summary_create_total")}
    assert len(found) == MOST_NAMES + 1
    assert OTHER in found


# -- it never stands in the way


class Broken:
    """Providers whose instruments and tracers fail at every call."""

    def get_meter(self, *args: Any, **options: Any) -> Any:
        return self

    get_tracer = get_meter

    def __getattr__(self, name: str) -> Any:
        if name.startswith("create_"):
            return lambda *args, **options: self
        raise RuntimeError("the exporter is gone")


class Slow(str):
    """A name that lets other threads run whenever it is looked up or put into a set."""

    def __hash__(self) -> int:
        time.sleep(0.0005)
        return super().__hash__()


def test_no_more_names_get_out_when_many_threads_bring_new_ones_at_once() -> None:
    names = Names(5)
    with ThreadPoolExecutor(8) as pool:
        out = list(pool.map(lambda number: names("model", Slow(f"m{number}")), range(64)))
    assert len({str(name) for name in out} - {OTHER}) == 5
    assert names("scope", "another sort") == "another sort"


def test_a_broken_provider_is_logged_once_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    observer = OpenTelemetry(Broken(), Broken())  # type: ignore[arg-type]
    with caplog.at_level(logging.DEBUG):
        for one in (APPLIED, Looked(what="search", session="s"), APPLIED):
            observer(one)
    assert [(record.name, record.levelname) for record in caplog.records] == [("foldmark.telemetry", "WARNING")]
    assert "RuntimeError" in caplog.text


def test_broken_metrics_do_not_take_the_spans_with_them() -> None:
    sink = Sink()
    OpenTelemetry(Broken(), sink.tracers)(APPLIED)  # type: ignore[arg-type]
    assert len(sink.spans()) == 3


def test_a_backlog_that_cannot_be_read_is_no_gauge_and_no_error(caplog: pytest.LogCaptureFixture) -> None:
    def lost() -> Backlog:
        raise OSError("the store is gone")

    sink = seen(APPLIED, backlog=lost)
    assert sink.points("summary_backlog") == []
    assert sink.sum("summary_create_total") == 1
    assert [record.name for record in caplog.records] == ["foldmark.telemetry"]


def test_without_providers_the_observer_does_nothing_and_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    OpenTelemetry()(APPLIED)
    assert caplog.records == []


# -- as it is used


def test_the_tokens_of_the_metrics_are_those_of_the_providers_ledger() -> None:
    """S-OBS-03: what the summary calls are billed is in the totals, also of answers that were of no use."""
    ledger = [
        Usage(input=9_000, output=30, cache_read=4_000),
        Usage(input=8_800, output=200),
        Usage(input=9_100, output=90),
    ]
    good = items_json(decisions=[("One number in a range stands for both of its ends", [7])])
    answers = [
        Reply(text="Sure!", usage=ledger[0]),
        Reply(text=good, usage=ledger[1]),
        Reply(text=good, usage=ledger[2]),
    ]
    sample = json.loads((SOURCE.parents[1] / "examples" / "session.json").read_text(encoding="utf-8"))
    policy = Policy.coding(run="manual", budget={"landing_tokens": 6_000})
    session = Session("ledger", model=ScriptedModel(*answers), policy=policy, clock=FixedClock())
    session.follow(sample["messages"])
    sink = Sink()
    sink.observer(session.compact(force=True))
    asked = session.summarizer.models[0].asks  # type: ignore[union-attr]
    spent = ledger[: len(asked)]
    assert len(spent) >= 2
    assert sink.sum("summary_prompt_tokens") == sum(usage.input for usage in spent)
    assert sink.sum("summary_completion_tokens") == sum(usage.output for usage in spent)
    assert sink.sum("summary_cache_read_tokens") == sum(usage.cache_read for usage in spent)
    assert sink.sum("gen_ai.client.token.usage") == sum(usage.input + usage.output for usage in spent)
    assert sink.sum("summary_estimated_prompt_tokens") == sum(ask.tokens for ask in asked)
    assert not [word for word in words_in(sink.spans()) if "Sure" in word or "FM-417" in word]


def test_measures_are_a_value_without_any_provider() -> None:
    assert [one.name for one in measures(Report(outcome="not_due"))] == ["summary_create_total"]


def test_the_page_lists_every_metric_and_every_failure_of_the_form() -> None:
    text = (SOURCE.parents[1] / "docs" / "how-to" / "observe-with-opentelemetry.md").read_text(encoding="utf-8")
    assert [one.name for one in INSTRUMENTS if f"| `{one.name}` | {one.unit} |" not in text] == []
    assert [kind for kind in FORM_INVALID if f"`{kind}`" not in text] == []


def test_the_core_works_without_opentelemetry_and_telemetry_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "import foldmark\n"
        "try:\n    import foldmark.telemetry\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(SOURCE.parent)}
    )
    said = "foldmark.telemetry needs OpenTelemetry's API: install foldmark with its `otel` extra"
    assert done.stdout.strip().startswith(said)


def test_nothing_but_telemetry_imports_opentelemetry() -> None:
    naming = [
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "import opentelemetry" in (text := path.read_text(encoding="utf-8")) or "from opentelemetry" in text
    ]
    assert naming
    assert {name.partition("/")[0] for name in naming} == {"telemetry"}
