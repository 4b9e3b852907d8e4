"""The observer that a session or a worker tells of everything, as OpenTelemetry metrics and spans. Knows nothing of
what is told before and after."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from opentelemetry import metrics, trace
from opentelemetry.metrics import CallbackOptions, Counter, Histogram, MeterProvider
from opentelemetry.trace import TracerProvider

from foldmark.errors import PolicyError
from foldmark.reports import Observation, Report
from foldmark.store import Backlog
from foldmark.telemetry import spans
from foldmark.telemetry.genai import Provider
from foldmark.telemetry.instruments import BACKLOG_AGE, INSTRUMENTS, Instrument
from foldmark.telemetry.measuring import Measure, measures
from foldmark.telemetry.naming import LABELS, LONGEST, Names, named

_log = logging.getLogger("foldmark.telemetry")

OPEN = {"trigger": "trigger", "model": "model", "scope": "scope"}
OPEN |= {"gen_ai.request.model": "model", "gen_ai.response.model": "model", "gen_ai.provider.name": "provider"}
"""Attributes whose values come from names, with the sort under which they are counted."""
SCOPE_NAME = "foldmark"


class OpenTelemetry:
    """An observer: `Session(observer=OpenTelemetry())`, and the same one for workers and further sessions.

    Without providers the global ones are used, which do nothing until the application sets them. `attributes` are those
    that metrics carry, of `naming.LABELS`; `scope` is not among the defaults because applications make scopes from
    data. `session_ids=True` puts the session's id on spans (`gen_ai.conversation.id`); metrics never have one.
    `provider` is the GenAI name of who serves the models (`openai`, `anthropic`, …), or a function of a model's name.
    `backlog` is asked at each export what waits (`lambda: store.backlog(time.time())`): give it in one place only, as
    it counts the whole store.

    It never raises and never waits: what goes wrong is logged once. Exporting is the providers' work; with a batching
    span processor and a periodic reader, as OpenTelemetry recommends, that is in a thread of theirs. Raises PolicyError
    for an attribute that is not known.
    """

    def __init__(
        self, meter_provider: MeterProvider | None = None, tracer_provider: TracerProvider | None = None, *,
        attributes: Sequence[str] = LABELS[:-1], session_ids: bool = False, provider: str | Provider = "",
        backlog: Callable[[], Backlog] | None = None,
    ) -> None:  # fmt: skip
        unknown = [name for name in attributes if name not in LABELS]
        if unknown:
            raise PolicyError(f"attributes has {', '.join(map(repr, unknown))}; allowed are {', '.join(LABELS)}.")
        self._attributes, self._session_ids, self._backlog = frozenset(attributes), session_ids, backlog
        self._provider: Provider = provider if callable(provider) else lambda model: provider
        self._names = Names()
        self._logged = False
        self._meter = metrics.get_meter(SCOPE_NAME, meter_provider=meter_provider)
        self._tracer = trace.get_tracer(SCOPE_NAME, tracer_provider=tracer_provider)
        self._counters: dict[str, Counter] = {}
        self._histograms: dict[str, Histogram] = {}
        self._table = {one.name: one for one in INSTRUMENTS}
        for one in INSTRUMENTS:
            self._make(one)

    def __call__(self, seen: Observation) -> None:
        """Record what was seen."""
        self._safely(lambda: self._measure(seen))
        if isinstance(seen, Report):
            self._safely(lambda: self._trace(seen))

    def _make(self, one: Instrument) -> None:
        if one.sort == "counter":
            self._counters[one.name] = self._meter.create_counter(one.name, one.unit, one.description)
        elif one.sort == "histogram":
            self._histograms[one.name] = self._meter.create_histogram(
                one.name, one.unit, one.description, explicit_bucket_boundaries_advisory=one.buckets
            )
        elif self._backlog:
            read = self._age if one.name == BACKLOG_AGE else self._states
            self._meter.create_observable_gauge(one.name, [read], one.unit, one.description)

    # -- metrics

    def _measure(self, seen: Observation) -> None:
        for one in measures(seen, self._provider):
            labels = self._labels(one)
            if one.name in self._counters:
                self._counters[one.name].add(one.value, labels)
            else:
                self._histograms[one.name].record(one.value, labels)

    def _labels(self, one: Measure) -> dict[str, str]:
        """The labels of the metric that were asked for, and those that it always has."""
        entry = self._table[one.name]
        carried = {*entry.fixed, *(self._attributes & {*entry.labels})}
        return {name: self._checked(OPEN.get(name, ""), value) for name, value in one.labels.items()
                if name in carried and value}  # fmt: skip

    def _checked(self, sort: str, name: str) -> str:
        return self._names(sort, name) if sort else name

    # -- spans

    def _trace(self, report: Report) -> None:
        spans.trace(self._tracer, report, provider=self._provider, checked=self._checked, shown=self._shown(report))

    def _shown(self, report: Report) -> Mapping[str, str]:
        """Whose past it is, as far as that was asked for."""
        said = {}
        if self._session_ids and report.session:
            said["gen_ai.conversation.id"] = report.session[: 4 * LONGEST]
        if "scope" in self._attributes and report.scope:
            said["foldmark.scope"] = self._checked("scope", named(report.scope))
        return said

    # -- what waits

    def _states(self, options: CallbackOptions) -> Iterable[metrics.Observation]:
        waits = self._waits()
        if waits:
            for state in ("dirty", "leased", "resting"):
                yield metrics.Observation(getattr(waits, state), {"state": state})

    def _age(self, options: CallbackOptions) -> Iterable[metrics.Observation]:
        waits = self._waits()
        if waits:
            yield metrics.Observation(waits.oldest_seconds * 1_000)

    def _waits(self) -> Backlog | None:
        found: list[Backlog] = []
        self._safely(lambda: found.append(self._backlog()) if self._backlog else None)
        return found[0] if found else None

    # -- nothing that goes wrong here may reach the session

    def _safely(self, step: Callable[[], object]) -> None:
        try:
            step()
        except Exception as error:
            if not self._logged:
                self._logged = True
                _log.warning("Telemetry is not recorded: %s. It is said once.", type(error).__name__, exc_info=error)
