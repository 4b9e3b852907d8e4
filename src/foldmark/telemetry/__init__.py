"""Reports as OpenTelemetry metrics and spans. Knows nothing of how a compaction is made, and exports nothing itself.

    from foldmark.telemetry import OpenTelemetry

    session = Session("refund-fix", observer=OpenTelemetry(), …)

Needs the extra `otel`. Numbers and words of closed lists go out, and names that pass a check; never text.
"""

from __future__ import annotations

from foldmark.errors import needs_extra

try:
    import opentelemetry.metrics  # noqa: F401 (only whether it is there)
except ImportError as error:
    raise ImportError(needs_extra("foldmark.telemetry needs OpenTelemetry's API", "otel")) from error

from foldmark.telemetry.instruments import INSTRUMENTS, Instrument
from foldmark.telemetry.measuring import FORM_INVALID, Measure, measures
from foldmark.telemetry.naming import LABELS
from foldmark.telemetry.observer import OpenTelemetry

__all__ = ["FORM_INVALID", "INSTRUMENTS", "LABELS", "Instrument", "Measure", "OpenTelemetry", "measures"]
