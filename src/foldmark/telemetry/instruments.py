"""The table of metrics: names, units, buckets and which attributes each may carry. Knows nothing of reports.

The names of the first block are those of the tRPC-Agent-Go article on session summaries (section 8.1), so that its
dashboards fit; there they are recipes, each written in a hook of one's own.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Sort = Literal["counter", "histogram", "gauge"]

MILLISECONDS = (5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000)
"""From a checkpoint made by code to a local model on a processor; queues wait as long."""
SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""As the GenAI conventions want them for the duration of an operation."""
TOKENS = tuple(4**power for power in range(14))
"""As the GenAI conventions want them for the use of tokens."""
SIZES = (500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 1_000_000)
COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)


class Instrument(msgspec.Struct, frozen=True):
    """One metric. `labels` are the attributes that apply to it, `fixed` those that it always has; `buckets` are the
    bounds of a histogram."""

    name: str
    sort: Sort
    unit: str
    description: str
    labels: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


_CALL = ("model", "mode", "failure", "scope")
_ATTEMPT = ("outcome", "trigger", "run", "mode", "scope")


def _call(name: str, unit: str, description: str, buckets: tuple[float, ...]) -> Instrument:
    return Instrument(name, "histogram", unit, description, _CALL, buckets=buckets)


def _attempt(name: str, unit: str, description: str, buckets: tuple[float, ...]) -> Instrument:
    return Instrument(name, "histogram", unit, description, _ATTEMPT, buckets=buckets)


def _count(name: str, unit: str, description: str, *labels: str, fixed: tuple[str, ...] = ()) -> Instrument:
    return Instrument(name, "counter", unit, description, (*labels, "scope"), fixed)


GENAI_DURATION = "gen_ai.client.operation.duration"
GENAI_TOKENS = "gen_ai.client.token.usage"
BACKLOG = "summary_backlog"
BACKLOG_AGE = "summary_backlog_age_ms"

OF_THE_ARTICLE = (
    _call("summary_llm_latency_ms", "ms", "Duration of one call of a summary model.", MILLISECONDS),
    _call("summary_prompt_tokens", "{token}", "Prompt tokens of one call, as billed.", SIZES),
    _call("summary_completion_tokens", "{token}", "Tokens of one answer, as billed.", SIZES),
    _call("summary_cache_read_tokens", "{token}", "Prompt tokens of one call that the cache gave.", SIZES),
    _call("summary_cache_hit_rate", "1", "Share of the prompt of one call that the cache gave.", SHARES),
    _attempt("summary_input_tokens", "{token}", "Tokens of the events newly covered.", SIZES),
    _attempt("summary_input_events", "{event}", "Events newly covered.", COUNTS),
    _attempt("summary_output_tokens", "{token}", "Tokens of the checkpoint written.", SIZES),
    _attempt("summary_compression_ratio", "1", "Size of the checkpoint over what it replaces in a request.", SHARES),
    _count("summary_format_invalid_total", "{answer}", "Answers without the form of a summary.", *_CALL[:3], "run"),
    _count("summary_enqueue_total", "{job}", "Work raised for the background."),
    _count("summary_create_total", "{attempt}", "Attempts at a compaction, due or not.", *_ATTEMPT[:4]),
    Instrument(
        "summary_create_latency_ms", "histogram", "ms", "Duration of one attempt that was due.",
        _ATTEMPT, buckets=MILLISECONDS,
    ),
    _count("summary_error_total", "{attempt}", "Attempts that failed or are degraded.", *_ATTEMPT[:4], "failure"),
    _count("sync_intra_run_total", "{attempt}", "Attempts between two model calls of a run.", "outcome", "trigger"),
    _count("session_search_total", "{search}", "Searches in the past.", "vectors", fixed=("failed",)),
    _count("session_load_total", "{load}", "Refs opened.", fixed=("failed",)),
)  # fmt: skip
"""The article's metrics."""

OF_OURS = (
    _call("summary_estimated_prompt_tokens", "{token}", "Prompt tokens of one call, by our count.", SIZES),
    _call("summary_cache_write_tokens", "{token}", "Prompt tokens of one call that were written to the cache.", SIZES),
    _attempt("summary_request_before_tokens", "{token}", "The next request without the compaction.", SIZES),
    _attempt("summary_request_after_tokens", "{token}", "The next request with the compaction.", SIZES),
    _attempt("summary_coverage", "1", "Share of the covered text that a model has seen.", SHARES),
    _count("summary_cost_tokens", "{token}", "Cost of the summary calls, in plain input tokens.", *_ATTEMPT[:4]),
    _count("summary_cost_usd", "USD", "Cost of the summary calls, where the price is known.", *_ATTEMPT[:4]),
    _attempt("summary_pays_after_requests", "{request}", "Requests after which the saving has paid.", COUNTS),
    _count("summary_loss_total", "{attempt}", "Compactions that no number of requests pays back.", *_ATTEMPT[:4]),
    _count("summary_work_total", "{change}", "Changes of background work.", fixed=("what",)),
    Instrument(
        "summary_queue_age_ms", "histogram", "ms", "How long work waited until a worker took it.",
        ("scope",), buckets=MILLISECONDS,
    ),
    Instrument(BACKLOG, "gauge", "{scope}", "Scopes that wait for a compaction.", fixed=("state",)),
    Instrument(BACKLOG_AGE, "gauge", "ms", "How long the oldest of them has waited."),
    Instrument(
        "session_look_latency_ms", "histogram", "ms", "Duration of one search or load.", ("scope",), ("what", "failed"),
        MILLISECONDS,
    ),
    Instrument(
        "session_look_found", "histogram", "{hit}", "Hits of a search, events of a load.", ("scope",),
        ("what",), COUNTS,
    ),
)  # fmt: skip
"""What our reports know beyond it."""

_GENAI = ("gen_ai.operation.name", "gen_ai.task_type", "gen_ai.request.model", "gen_ai.response.model")
OF_GENAI = (
    Instrument(
        GENAI_DURATION, "histogram", "s", "Duration of one call of a model.",
        fixed=(*_GENAI, "gen_ai.provider.name", "error.type"), buckets=SECONDS,
    ),
    Instrument(
        GENAI_TOKENS, "histogram", "{token}", "Tokens of one call of a model, by sort.",
        fixed=(*_GENAI, "gen_ai.provider.name", "gen_ai.token.type"), buckets=TOKENS,
    ),
)  # fmt: skip
"""Those of OpenTelemetry's GenAI conventions (1.37 to 1.41), which dashboards for model calls read. The draft after
them (2026-10) renames both; a view of the SDK can do that."""

INSTRUMENTS = (*OF_THE_ARTICLE, *OF_OURS, *OF_GENAI)
"""Every metric there is."""
