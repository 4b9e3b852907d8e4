"""How a worker's reports and what waits for one are printed: lines and JSON values. Knows nothing of workers."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from foldmark.cli.terminal import say, say_json, whoever_reads
from foldmark.refs import compaction_ref, event_ref
from foldmark.reports import COMMITTED, Report
from foldmark.store import Backlog


def backlog_json(found: Backlog) -> dict[str, Any]:
    """The backlog as the JSON contract has it."""
    return {
        "dirty": found.dirty,
        "leased": found.leased,
        "resting": found.resting,
        "oldest_seconds": round(found.oldest_seconds, 3),
    }


def backlog_text(found: Backlog) -> str:
    """The backlog in a sentence."""
    if not found.dirty:
        return "nothing waits"
    scopes = f"{found.dirty:,} scope{'' if found.dirty == 1 else 's'} dirty"
    oldest = (
        f"; the oldest that can be claimed has waited {found.oldest_seconds:,.0f} s" if found.oldest_seconds else ""
    )
    return f"{scopes}: {found.leased:,} in work, {found.resting:,} resting{oldest}"


class Speaker:
    """Prints what was done, a line for each report, from any thread. A reader that is gone stops no work."""

    def __init__(self, as_json: bool, *, every: bool) -> None:
        self._json, self._every, self._lock = as_json, every, threading.Lock()
        self.count = 0
        self._failed: set[tuple[str, str]] = set()

    @property
    def failed(self) -> int:
        """How many scopes there are whose last attempt failed."""
        return len(self._failed)

    def hear(self, report: Report) -> None:
        """Of reports that were not due nothing is printed, unless `every`."""
        scope = (report.session, report.scope)
        with self._lock:
            self.count += report.outcome in COMMITTED
            if report.outcome == "failed":
                self._failed.add(scope)
            elif report.outcome != "deferred":
                self._failed.discard(scope)
            if report.outcome != "not_due" or self._every:
                self._print(report)

    def say(self, text: str) -> None:
        """A line for people."""
        if not self._json:
            with self._lock:
                whoever_reads(lambda: _flushed(lambda: say(text)))

    def _print(self, report: Report) -> None:
        line = (lambda: say_json(report_json(report))) if self._json else (lambda: say(report_text(report)))
        whoever_reads(lambda: _flushed(line))


def _flushed(tell: Callable[[], None]) -> None:
    tell()
    sys.stdout.flush()


def report_json(report: Report) -> dict[str, Any]:
    """A report as the JSON contract has it."""
    usage = report.usage
    return {
        "time": report.time,
        "outcome": report.outcome,
        "session": report.session,
        "scope": report.scope,
        "run": report.run,
        "trigger": report.trigger or None,
        "text": report.text,
        "compaction": compaction_ref(report.version) if report.version else None,
        "boundary": event_ref(report.boundary) if report.boundary else None,
        "before_tokens": report.before,
        "after_tokens": report.after,
        "mode": report.mode,
        "model_calls": len(report.calls),
        "prompt_tokens": usage.input,
        "cached_tokens": usage.cache_read,
        "output_tokens": usage.output,
        "seconds": round(report.seconds, 3),
        "failure": report.failure or None,
    }


def report_text(report: Report) -> str:
    """A report in a line."""
    when = datetime.fromtimestamp(report.time, UTC)
    name = f"{report.session} {report.scope}".strip()
    why = report.failure or report.trigger
    said = f"{when:%Y-%m-%d %H:%M:%S} {name}: {report.outcome}{f' ({why})' if why else ''}"
    if report.outcome in COMMITTED:
        sizes = f"{report.before:,} → {report.after:,} tokens"
        return f"{said}, {sizes}, {compaction_ref(report.version)} by {report.mode}, {report.seconds:.1f} s"
    return f"{said}: {report.text}" if report.text else said
