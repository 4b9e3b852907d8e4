"""`foldmark work` and `queue`: a worker on a database as a process of its own, and what waits for one. Knows nothing of
how work is claimed and done.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Annotated

import typer

from foldmark.cli.embedders import EmbedderName, embedder_of
from foldmark.cli.endings import EXIT_CODES, told
from foldmark.cli.options import AsJson, Writer
from foldmark.cli.place import Database
from foldmark.cli.summarizers import summarizer_of
from foldmark.cli.terminal import INTERRUPTED, say, say_json, terminal
from foldmark.cli.work_output import Speaker, backlog_json, backlog_text
from foldmark.errors import PolicyError, SummarizerFailed
from foldmark.reports import Observation, Raised, Report
from foldmark.worker import Worker

MOST_THREADS = 256
TRIES = 3
"""How often one work is broken off before it is left behind."""
LOOK_SECONDS = 0.2
"""How often a worker that ends looks whether there is anything left to do."""


def work(
    workers: Annotated[int, typer.Option("--workers", help="Threads that compact.", min=1, max=MOST_THREADS)] = 2,
    once: Annotated[bool, typer.Option("--once", help="Do the oldest work, and end.")] = False,
    drain: Annotated[
        bool,
        typer.Option(
            "--drain", help="Do all that can be claimed, and end; exit code 4 where the last try at any of it failed."
        ),
    ] = False,
    no_drain: Annotated[
        bool,
        typer.Option(
            "--no-drain", help="When stopped, give leases back at once; default: first do what can be claimed."
        ),
    ] = False,
    *,
    writer: Writer,
    embedder: EmbedderName = "",
    poll_seconds: Annotated[float, typer.Option("--poll-seconds", help="Seconds between two looks for work.")] = 0.5,
    job_timeout_seconds: Annotated[
        float, typer.Option("--job-timeout-seconds", help="Seconds that all model calls of one job may take together.")
    ] = 60.0,
    lease_seconds: Annotated[
        float,
        typer.Option("--lease-seconds", help="After so many seconds without a sign of life another worker takes over."),
    ] = 120.0,
    place: Database,
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
            place.store(), summarizer=summarizer_of(writer.summarizer, writer.summary_window), workers=workers,
            lease_seconds=lease_seconds, poll_seconds=poll_seconds, job_timeout_seconds=job_timeout_seconds,
            on_report=speaker.hear, observer=bell.hear, embedder=embedder_of(embedder),
        )  # fmt: skip
        code = _once(worker, bell, speaker) if once else _on(worker, bell, speaker, drain=drain, leaves=no_drain)
    raise typer.Exit(code)


def queue(*, place: Database, as_json: AsJson = False) -> None:
    """What waits to be compacted in the background, of all sessions."""
    with told(as_json):
        found = Worker(place.store()).backlog()
    if as_json:
        say_json(backlog_json(found))
    else:
        say(backlog_text(found))


# -- how it runs


def _once(worker: Worker, bell: _Bell, speaker: Speaker) -> int:
    """One work: the exit code. A signal gives its lease back and leaves the session as it was. It runs in a thread:
    an interrupt raised in the middle of it could come while it holds a lock."""
    done: Future[Report | None] = Future()

    def run() -> None:
        try:
            done.set_result(worker.run_once())
        except BaseException as error:
            done.set_exception(error)
        bell.ring()

    with _signals(bell):
        thread = threading.Thread(target=run, name="foldmark-once", daemon=True)
        thread.start()
        bell.wait(None)
        if not done.done():
            for _ in range(TRIES):  # again, where it had not begun yet
                worker.break_off()
                thread.join(LOOK_SECONDS)
            terminal(errors=True).tell("stopped; what was not done is given back")
            return INTERRUPTED
    report = _reported(done)
    if report is None:
        speaker.say(f"nothing to do; {backlog_text(worker.backlog())}")
        return 0
    return EXIT_CODES[report.outcome]


def _reported(done: Future[Report | None]) -> Report | None:
    """Raises SummarizerFailed for what a model's code raised to end a program: it ends the work alone."""
    error = done.exception()
    if error is not None and not isinstance(error, Exception):
        ends = f"a model's code raised {error!r}; the session is as it was, and its work waits"
        raise SummarizerFailed(ends, retryable=True)
    return done.result()


def _on(worker: Worker, bell: _Bell, speaker: Speaker, *, drain: bool, leaves: bool) -> int:
    """In threads: the exit code. With `drain` until nothing can be claimed, else until a signal, and then (unless it
    `leaves` at once) until nothing can be claimed. Another signal gives the leases back. What `drain` leaves undone as
    its last attempt failed is a failure."""
    with _signals(bell), worker:
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
    return EXIT_CODES["failed"] if drain and speaker.failed else 0


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


@contextmanager
def _signals(bell: _Bell) -> Iterator[None]:
    """Ctrl-C, SIGTERM and a closed terminal (SIGHUP, unless it is ignored, as under nohup) ring the bell; as before
    afterwards."""
    hangup = getattr(signal, "SIGHUP", None)
    hears = hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN
    numbers = (signal.SIGINT, signal.SIGTERM, *((hangup,) if hears and hangup is not None else ()))
    before = {number: signal.signal(number, lambda number, frame: bell.ring()) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


class _Bell:
    """Rings at a signal, and knows how many works run here.

    A signal is answered wherever its thread stands, in the middle of `wait` too: so it may take no lock. Putting into
    this queue is the one thing that Python allows there.
    """

    def __init__(self) -> None:
        self._rings, self._lock = SimpleQueue[None](), threading.Lock()
        self.running = 0

    def ring(self) -> None:
        self._rings.put(None)

    def wait(self, seconds: float | None) -> bool:
        """Wait for the next ring, or so long; whether it rang. In slices: a signal that comes just before this thread
        sleeps, or is given to another thread, does not wake it, and its handler runs when it wakes by itself."""
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            left = LOOK_SECONDS if until is None else max(0.0, until - time.monotonic())
            try:
                self._rings.get(timeout=min(left, LOOK_SECONDS))
            except Empty:
                if left <= 0:
                    return False
            else:
                return True

    def hear(self, told: Observation) -> None:
        """The worker's observer."""
        if isinstance(told, Raised) and told.what != "raised":
            with self._lock:
                self.running += 1 if told.what == "claimed" else -1
