"""`foldmark embed`: gives vectors to what has none, batch by batch. Knows nothing of how vectors are made and kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, NamedTuple

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from foldmark.cli.embedders import FORMS, OPTION, embedder_of
from foldmark.cli.endings import told
from foldmark.cli.options import AsJson
from foldmark.cli.place import Place
from foldmark.cli.terminal import INTERRUPTED, say, say_json, terminal, whoever_reads
from foldmark.embedding import Embedder
from foldmark.errors import EmbedderFailed, PolicyError
from foldmark.seeking import Where
from foldmark.session import Session
from foldmark.vectors import vectors_of

EVERYTHING = 2**31
LINE_SECONDS = 10.0


class Made(NamedTuple):
    """How many pieces got a vector, how many still have none, and whether a signal ended it."""

    done: int
    left: int
    is_stopped: bool


def embed(
    embedder: Annotated[str, typer.Option(OPTION, help=f"Whose vectors: {FORMS}.")] = "minilm",
    all: Annotated[bool, typer.Option("--all", help="All sessions of the database; default: one.")] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", help="How many pieces at most, the oldest first; default: all.", min=1)
    ] = None,
    *,
    place: Place,
    as_json: AsJson = False,
) -> None:
    """Give vectors to what has none yet, for searches with the same --embedder. Each batch is kept at once: stopped at
    any time, the same command goes on from there."""
    with told(as_json):
        if all and place.session:
            raise PolicyError("--all takes all sessions and --session one: name one of them.")
        chosen = embedder_of(embedder)
        if chosen is None:
            raise PolicyError("--embedder is empty: say whose vectors to make, minilm for example.")
        opened = place.open(embedder=chosen)
        made = make(opened, chosen, "user" if all else "session", limit)
    whose = "" if all else opened.name
    whoever_reads(lambda: _tell(made, chosen, whose, as_json))
    if made.is_stopped:
        raise typer.Exit(INTERRUPTED)


def make(session: Session, embedder: Embedder, where: Where, limit: int | None = None) -> Made:
    """Give vectors to at most `limit` pieces. Raises EmbedderFailed, with how many are done."""
    wanted = lacking(session, embedder, where)
    wanted, done, is_stopped = wanted if limit is None else min(wanted, limit), 0, False
    with _counting(wanted) as count:
        try:
            while done < wanted:
                new = session.embed(limit=min(embedder.batch, wanted - done), where=where).done
                if not new:
                    break
                done += new
                count(done)
        except KeyboardInterrupt:
            is_stopped = True
        except EmbedderFailed as failure:
            raise EmbedderFailed(
                f"{failure}. {done:,} pieces got a vector before; the same command goes on from there."
            ) from failure
    return Made(done, lacking(session, embedder, where), is_stopped)


def lacking(session: Session, embedder: Embedder, where: Where) -> int:
    """How many pieces have no vector of this embedder."""
    vectors = vectors_of(session.store)
    return len(vectors.missing(session.key, embedder, limit=EVERYTHING, where=where)) if vectors else 0


@contextmanager
def _counting(total: int) -> Iterator[Callable[[int], None]]:
    """What is told how many are done: a bar on a terminal, elsewhere a line from time to time."""
    console = terminal(errors=True)
    if not console.is_terminal or not total:
        yield _by_lines(total)
        return
    columns = (TextColumn("pieces"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("pieces", total=total)
        yield lambda done: progress.update(task, completed=done)


def _by_lines(total: int) -> Callable[[int], None]:
    """A line at most every ten seconds, on standard error."""
    last = time.monotonic()

    def count(done: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= LINE_SECONDS:
            last = now
            terminal(errors=True).tell(f"{done:,} of {total:,} pieces", "dim")

    return count


def _tell(made: Made, embedder: Embedder, session: str, as_json: bool) -> None:
    if as_json:
        say_json(
            {"embedder": embedder.id, "session": session or None, "done": made.done, "left": made.left,
             "stopped": made.is_stopped}
        )  # fmt: skip
        return
    stopped = "stopped; " if made.is_stopped else ""
    rest = f"{made.left:,} have none yet: the same command goes on" if made.left else "every piece has one"
    say(f"{stopped}{made.done:,} piece(s) got a vector of {embedder.id}; {rest}")
