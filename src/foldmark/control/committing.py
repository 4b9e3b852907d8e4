"""Writes a version that a person made, by one compare-and-swap, and reports it. Knows nothing of what is in it."""

from __future__ import annotations

import msgspec

from foldmark.assembly import repair
from foldmark.checkpoint import Checkpoint
from foldmark.control.setting import Setting, Wish
from foldmark.drafts import cost
from foldmark.errors import NotFound, StaleBoundary
from foldmark.events import Event
from foldmark.gauging import Gauge, gauge
from foldmark.keeping import ruled
from foldmark.redact import Redactor
from foldmark.refs import compaction_ref
from foldmark.rehearsal import Rehearsal
from foldmark.render import escape
from foldmark.reports import Report
from foldmark.rounds import in_flight
from foldmark.store import View

MOST_NAME = 80
"""Characters of a person's name: it stands in every request."""


def seen(at: Setting, expected: int | None) -> View:
    """The view as it is; raises StaleBoundary when somebody decided by the looks of another version."""
    view = at.store.view(at.key)
    if expected is not None and version_of(view) != expected:
        raise StaleBoundary(expected, version_of(view))
    return view


def version_of(view: View) -> int:
    """The newest version of the scope; 0 for none."""
    return view.checkpoint.version if view.checkpoint else 0


def named(author: str, redact: Redactor) -> str:
    """Whose hand it was, as it may stand in a record: one line, no tag, no comma that ends the name."""
    words = " ".join(escape(redact(str(author))).replace(",", " ").split())
    return words[:MOST_NAME] or "a person"


def gauged(at: Setting, view: View, wish: Wish = Wish()) -> Gauge:
    """The next request of a view, measured."""
    frame, policy = at.frame(wish), at.policy(wish)
    return gauge(ruled(view, frame, policy)[0], frame, policy, at.clock())


def at_the_cap(size: Gauge) -> tuple[str, ...]:
    """A warning when the next request is so large that it is compacted again at once."""
    above, room = size.sizes.whole - size.room.static, size.room
    if above < room.cap:
        return ()
    return (
        f"The request has {above:,} tokens above the static prefix, and the cap is {room.cap:,}: what compacts by "
        "itself does so again at once. Run this session by hand (policy.run = manual), or in a larger window.",
    )


def unchanged(at: Setting, view: View, why: str) -> Report:
    """The report when there was nothing to write."""
    size = _whole(gauged(at, view))
    return Report(
        outcome="not_due", session=at.key.session, scope=at.key.scope, version=version_of(view), before=size,
        after=size, boundary=view.checkpoint.boundary if view.checkpoint else 0, time=at.clock(),
        text=f"{compaction_ref(version_of(view))} {why}",
    )  # fmt: skip


def tried(at: Setting, view: View, made: Checkpoint) -> View:
    """The scope as it would be with that version. Raises StaleBoundary."""
    store = Rehearsal(at.store)
    store.commit(at.key, made, expected=version_of(view))
    return store.view(at.key)


def written(at: Setting, view: View, made: Checkpoint, text: str, wish: Wish = Wish()) -> Report:
    """Commit the version, in place of the one that the view shows. Raises StaleBoundary, and NotFound when the session
    was erased and begun anew since: nothing was written then."""
    before, after = (_whole(gauged(at, one, wish)) for one in (view, tried(at, view, made)))
    made = msgspec.structs.replace(made, trigger=made.kind, sizes=(before, after))
    held = anchor(at, made)
    _check_the_same(at, view)  # behind every look at the log: what was read is of the log that was decided about
    at.store.commit(at.key, made, expected=version_of(view), anchor=held)
    boundary = view.checkpoint.boundary if view.checkpoint else 0
    target = made.compacted_size if made.kind == "adopted" else 0
    return Report(
        outcome="applied", trigger=made.kind, session=at.key.session, scope=at.key.scope, time=made.time, text=text,
        boundary=made.boundary, version=made.version, before=before, after=after, target=target,
        epoch=made.kind, events=_newly(view.events, boundary, made.boundary), resume=in_flight(view.events),
        warnings=made.warnings,
    )  # fmt: skip


def _whole(size: Gauge) -> int:
    """The next request to the token: with the markers of calls without a result, and results that stand alone."""
    sent = [event for event in size.shown if event.role != "control"]
    return size.sizes.whole + cost(repair(sent)[0]) - cost(sent)


def _check_the_same(at: Setting, view: View) -> None:
    """The anchor is read off the log of now, so this says that it is still the log of the view. Another one with the
    same number of versions and events differs in its record or in the chain of its events."""
    now = at.store.view(at.key)
    if version_of(now) != version_of(view):
        raise StaleBoundary(version_of(view), version_of(now))
    chains = {event.seq: event.chain for event in now.events}
    if now.checkpoint != view.checkpoint or any(chains.get(event.seq) != event.chain for event in view.events[-1:]):
        raise NotFound(at.key.session, f"Session {at.key.session!r} is another one by now. Nothing was written.")


def _newly(events: tuple[Event, ...], old: int, new: int) -> int:
    return sum(old < event.seq <= new for event in events)


def anchor(at: Setting, made: Checkpoint) -> str | None:
    """The chain at the boundary, by which the store knows that the log is still this one."""
    return at.store.event(at.key, str(made.boundary)).chain or None if made.boundary else None


def said_of(made: Checkpoint) -> str:
    """`compaction:4 covers event:1-120`."""
    covers = f"covers event:1-{made.boundary}" if made.boundary else "covers nothing: the whole log is shown raw"
    return f"{compaction_ref(made.version)} {covers}"
