"""`foldmark work` and `queue`: a worker on a database as a process of its own, and what waits for one. Knows nothing of
how work is claimed and done.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from foldmark.cli.embedders import EmbedderName, embedder_of
from foldmark.cli.endings import EXIT_CODES, INTERRUPTED, told
from foldmark.cli.options import DEFAULT_DB, Db, SummarizerName, SummaryWindow
from foldmark.cli.place import Place
from foldmark.cli.summarizers import summarizer_of
from foldmark.cli.terminal import say, say_json, terminal
from foldmark.cli.work_output import Speaker, backlog_json, backlog_text
from foldmark.errors import PolicyError
from foldmark.reports import Observation, Raised
from foldmark.worker import Worker

LOOK_SECONDS = 0.2
"""How often a worker that ends looks whether there is anything left to do."""


def work(
    workers: Annotated[int, typer.Option("--workers", help="Threads that compact.", min=1)] = 2,
    once: Annotated[bool, typer.Option("--once", help="Do the oldest work, in this thread, and end.")] = False,
    drain: Annotated[bool, typer.Option("--drain", help="Do all that can be claimed, and end.")] = False,
    no_drain: Annotated[
        bool,
        typer.Option("--no-drain", help="Stopped, give leases back at once; default: do first what can be claimed."),
    ] = False,
    summarizer: SummarizerName = "",
    summary_window: SummaryWindow = None,
    embedder: EmbedderName = "",
    poll_seconds: Annotated[float, typer.Option("--poll-seconds", help="How often to look for work.")] = 0.5,
    job_timeout_seconds: Annotated[
        float, typer.Option("--job-timeout-seconds", help="What all model calls of one job may take together.")
    ] = 60.0,
    lease_seconds: Annotated[
        float, typer.Option("--lease-seconds", help="After so long without a sign of life another worker takes over.")
    ] = 120.0,
    db: Db = DEFAULT_DB,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line, for each report.")] = False,
) -> None:
    """Compact in the background what appends have marked as dirty, until Ctrl-C or SIGTERM."""
    bell = _Bell()
    speaker = Speaker(as_json, every=once)
    with told(as_json):
        if once and drain:
            raise PolicyError("--once does one work and --drain all of it: name one of them.")
        if drain and no_drain:
            raise PolicyError("--drain does all work and --no-drain leaves it: name one of them.")
        worker = Worker(
            Place(db, "").store(), summarizer=summarizer_of(summarizer, summary_window), workers=workers,
            lease_seconds=lease_seconds, poll_seconds=poll_seconds, job_timeout_seconds=job_timeout_seconds,
            on_report=speaker.hear, observer=bell.hear, embedder=embedder_of(embedder),
        )  # fmt: skip
        code = _once(worker, speaker) if once else _on(worker, bell, speaker, drain=drain, leaves=no_drain)
    raise typer.Exit(code)


def queue(
    db: Db = DEFAULT_DB,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON value instead of text.")] = False,
) -> None:
    """What waits to be compacted in the background, of all sessions."""
    with told(as_json):
        found = Worker(Place(db, "").store()).backlog()
    if as_json:
        say_json(backlog_json(found))
    else:
        say(backlog_text(found))


# -- how it runs


def _once(worker: Worker, speaker: Speaker) -> int:
    """One work, in this thread: the exit code. A signal gives its lease back and leaves the session as it was."""
    with _signals(_interrupt), _heard_again():
        try:
            report = worker.run_once()
        except KeyboardInterrupt:
            terminal(errors=True).tell("stopped; what was not done is given back")
            return INTERRUPTED
    if report is None:
        speaker.say(f"nothing to do; {backlog_text(worker.backlog())}")
        return 0
    return EXIT_CODES[report.outcome]


def _on(worker: Worker, bell: _Bell, speaker: Speaker, *, drain: bool, leaves: bool) -> int:
    """In threads: the exit code. With `drain` until nothing can be claimed, else until a signal, and then (unless it
    `leaves` at once) until nothing can be claimed. Another signal gives the leases back."""
    with _signals(lambda number, frame: bell.ring()), worker:
        if not drain:
            speaker.say(f"worker started ({worker.workers} threads); {backlog_text(worker.backlog())}")
            bell.wait(None)
            if leaves:
                return _left(worker, 0)
            terminal(errors=True).tell("stopping: what can be claimed is done first; once more to leave at once")
        if not _drained(worker, bell):
            return _left(worker, INTERRUPTED)
        worker.stop(drain=drain)
    speaker.say(f"{speaker.count:,} compaction(s) done, {speaker.failed:,} failed; {backlog_text(worker.backlog())}")
    return EXIT_CODES["failed"] if drain and speaker.failed and not speaker.count else 0


def _drained(worker: Worker, bell: _Bell) -> bool:
    """Wait until nothing can be claimed and nothing runs here, nor gets its vectors; False: a signal came first. A work
    whose session was deleted may end without a word, so what runs here must have a lease too."""
    while (waiting := worker.backlog()).oldest_seconds > 0 or (bell.running and waiting.leased) or worker.busy:
        if bell.wait(LOOK_SECONDS):
            return False
    return True


def _left(worker: Worker, code: int) -> int:
    worker.stop(drain=False, timeout=0)
    terminal(errors=True).tell("stopped; what was not done is given back")
    return code


AGAIN_SECONDS = 5.0
"""An interrupt that comes while Python runs a callback of its own (a finaliser, a weak reference) is lost there: after
so long it is raised once more, unless it was answered."""


def _interrupt(number: int, frame: Any) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
    raise KeyboardInterrupt


@contextmanager
def _heard_again() -> Iterator[None]:
    """While this lasts, an interrupt that got lost is raised again."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, _interrupt)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _signals(answer: Callable[[int, Any], None]) -> Iterator[None]:
    """Ctrl-C, SIGTERM and a closed terminal (SIGHUP, unless it is ignored, as under nohup) answered like this; as
    before afterwards."""
    hangup = getattr(signal, "SIGHUP", None)
    hears = hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN
    numbers = (signal.SIGINT, signal.SIGTERM, *((hangup,) if hears and hangup is not None else ()))
    before = {number: signal.signal(number, answer) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


class _Bell:
    """Rings at a signal, and knows how many works run here."""

    def __init__(self) -> None:
        self._rung, self._lock = threading.Event(), threading.Lock()
        self.running = 0

    def ring(self) -> None:
        self._rung.set()

    def wait(self, seconds: float | None) -> bool:
        """Wait for the next ring, or so long; whether it rang."""
        rang = self._rung.wait(seconds)
        self._rung.clear()
        return rang

    def hear(self, told: Observation) -> None:
        """The worker's observer."""
        if isinstance(told, Raised) and told.what != "raised":
            with self._lock:
                self.running += 1 if told.what == "claimed" else -1
