"""With what a worker does its work, as `Worker` takes it. Knows nothing of how it is done."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from foldmark.around import Around
from foldmark.artifacts import Artifacts
from foldmark.embedding import Embedder
from foldmark.noticing import Notices
from foldmark.store import Store
from foldmark.summarizer import Resolver, Summarizer
from foldmark.worker.opening import Rules


class Means(NamedTuple):
    """The options of a `Worker` that all its jobs share; times are in seconds."""

    store: Store
    artifacts: Artifacts
    policy: Rules
    summarizer: Summarizer | Resolver | None
    lease_seconds: float
    job_timeout_seconds: float
    most_attempts: int
    around: Around | None
    notices: Notices
    clock: Callable[[], float]
    embedder: Embedder | None = None
    monotonic: Callable[[], float] = time.monotonic
