"""What recording and requests are given of a log. Pure: knows nothing of tables, transactions or time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from foldmark.checkpoint import Checkpoint
from foldmark.events import Event
from foldmark.log.folding import Log, Scope
from foldmark.log.knowing import pinned
from foldmark.reports import Attempt
from foldmark.salience import Tally
from foldmark.store import Context, Frame, Key, ScopeState, View

ATTEMPTS_SHOWN = 20
"""Newest attempts in a view, and as many of the older ones that asked a model: while models rest, what code makes must
not push out why they rest."""


def build_context(
    key: Key, log: Log, scope: Scope, events: Sequence[Event], *, tally: Tally, frame: Frame | None, secret: bytes
) -> Context:
    """What recording these events needs to know. Raises IdConflict."""
    new, known = log.number(events)
    if len(new) > 1:
        tally = tally.copy()  # several are counted on it, outside the store's lock
    return Context(
        key=key,
        head=log.head,
        new=tuple(new),
        known=tuple(known),
        calls=log.calls,
        state=scope.state,
        tally=tally,
        secret=secret,
        window=frame.window if frame else 0,
    )


def build_view(
    key: Key,
    log: Log,
    scope: Scope,
    checkpoint: Checkpoint | None,
    state: ScopeState,
    attempts: Sequence[Attempt],
    secret: bytes,
) -> View:
    """The scope as the next request sees it."""
    boundary = checkpoint.boundary if checkpoint else 0
    kept = [
        log.events[seq - 1] for seq in (checkpoint.kept if checkpoint else ()) if 0 < seq <= min(boundary, log.head)
    ]
    pins = pinned(scope.pins)
    return View(
        key=key,
        checkpoint=checkpoint,
        kept=tuple(filter(key.shows, kept)),
        events=tuple(log.seen(scope, boundary + 1)),
        state=state,
        pins=pins,
        pinned=tuple(
            filter(key.shows, (log.events[seq - 1] for seq in sorted(pins) if 0 < seq <= min(boundary, log.head)))
        ),
        attempts=shown_attempts(attempts),
        all_events=log.head if scope.seqs is None else len(scope.seqs),
        head=log.head,
        secret=secret,
        first_request=scope.first_request,
    )


def shown_attempts(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """The attempts of a view, oldest first, of all there are."""
    older = [one for one in attempts[:-ATTEMPTS_SHOWN] if one.calls]
    return (*older[-ATTEMPTS_SHOWN:], *attempts[-ATTEMPTS_SHOWN:])


def latest(notes: Sequence[Attempt], limit: int) -> list[Attempt]:
    """The last so many of all there are."""
    return list(notes[max(0, len(notes) - max(0, limit)) :])


def count_event(tally: Tally, event: Event, texts: Sequence[str]) -> None:
    """Count an event by its pieces: they hold its whole text and its calls' arguments, redacted. What has none (a
    recalled text) is no news."""
    tally.add(event, text="".join(texts), calls=())


def described(old: Mapping[str, str], changes: Mapping[str, str]) -> dict[str, str]:
    """Settings with the changes made; an empty value removes one."""
    return {name: value for name, value in {**old, **changes}.items() if value}


def title_of(events: Iterable[Event], texts: Mapping[int, str]) -> str:
    """A session's title: the beginning of the first user's words, as they were indexed (redacted)."""
    for event in events:
        if event.is_user:
            words = " ".join((texts.get(event.seq) or event.text).split())
            return words if len(words) <= 80 else words[:79].rstrip() + "…"
    return ""
