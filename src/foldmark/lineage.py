"""Which line of events a session is on: moves to where an offered list goes on, forks where it must, appends beside
other writers. Knows nothing of requests and compactions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from foldmark.artifacts import Artifacts
from foldmark.errors import HeadMoved
from foldmark.events import Event
from foldmark.following import Followed, follow
from foldmark.log import WHOLE, viewpoint_of
from foldmark.store import Context, HeldBack, Key, SessionInfo, Store
from foldmark.wire import openai_chat

BATCH = 500  # events a transaction: progress is visible, and a crash loses little
TRIES = 50  # other processes append between our read and our write; each try is a millisecond


class Line(NamedTuple):
    """A line of events: its key, its row, and the static prefix of its next request (`system` text without the
    checkpoint, `tools` as they were given). `is_told`: the prefix is what was said, now or in an earlier process; else
    nobody said any that was kept, and the last request of the scope is all that is known of it."""

    key: Key
    info: SessionInfo
    system: str = ""
    tools: tuple[Mapping[str, Any], ...] = ()
    is_told: bool = False


# -- a line is opened, and told of


def opened(store: Store, key: Key, info: SessionInfo | None = None, *, create: bool = True) -> Line:
    """The line of that key (made as `info` says where it is new), with the static prefix that was kept with it, so that
    a reopened session can explain itself. Without `create` raises NotFound where it is not there."""
    return _restored(key, store.open(key, info=info) if create else store.info(key))


def described(
    store: Store, line: Line, system: str | None = None, tools: Sequence[Mapping[str, Any]] | None = None
) -> Line:
    """The line with another static prefix, which is kept with it, for its scope alone. None leaves things as they
    are."""
    changed: dict[str, str] = {}
    if system is not None and system != line.system:
        changed[_kept_as("system", line.key)] = system
        line = line._replace(system=system)
    if tools is not None and tuple(tools) != line.tools:
        changed[_kept_as("tools", line.key)] = json.dumps(list(tools), ensure_ascii=False)
        line = line._replace(tools=tuple(tools))
    if not line.is_told and (system is not None or tools is not None):
        line = line._replace(is_told=True)
    return remembered(store, line, changed) if changed else line


def remembered(store: Store, line: Line, meta: Mapping[str, str]) -> Line:
    """The line with small settings kept with it; an empty value removes one."""
    return line._replace(info=store.describe(line.key, meta))


# -- a list is followed


def offered(messages: Sequence[Any], wire: Any = None) -> tuple[list[Event], str]:
    """(events, system text) of a list of events, or of messages of a wire (of Chat Completions when none is named)."""
    if all(isinstance(message, Event) for message in messages):
        return list(messages), ""
    read = (wire or openai_chat).read_messages(messages)
    return list(read.events), read.system


def located(
    store: Store, artifacts: Artifacts, line: Line, events: Sequence[Event], *, root: str, retry: bool,
    new_id: Callable[[], str], told: bool = False,
) -> tuple[Line, Followed]:  # fmt: skip
    """(the line that a list of events goes on in, what of the list is new there). Nothing of the list is recorded.
    `root` is the session whose forks are looked through beside the line's own, `retry` and `told` as in
    `following.follow`."""
    found = follow(store, line.key, events, root=root, retry=retry, told=told, artifacts=artifacts)
    if found.forked_at is not None:
        line = forked(store, line, found, found.forked_at, new_id=new_id if retry else None)
        return line, msgspec.structs.replace(found, session=line.key.session)
    if found.session != line.key.session:
        line = opened(store, msgspec.structs.replace(line.key, session=found.session))
    return line, found


def forked(store: Store, line: Line, found: Followed, seq: int, *, new_id: Callable[[], str] | None) -> Line:
    """A fork at that seq, with the settings of the line. A retry takes the fork of an earlier one that is still empty;
    without `new_id` it is a fork of a copy, named by what is new in it, so that several writers of one copy meet."""
    parent, key = found.session, line.key
    meta = store.open(key).meta  # what other scopes said since goes along, too
    mine = new_id() if new_id else _name_of(f"{parent} {seq} {found.new[0].plain}")
    name = f"{key.session}+{mine}"
    for info in store.sessions(key.tenant, key.user) if not found.new else ():
        same = info.kind == "fork" and (info.parent, info.parent_seq, info.head) == (parent, seq, seq)
        if same and not info.damaged and info.session.startswith((f"{key.session}+", f"{parent}+")):
            name = info.session
    there = msgspec.structs.replace(key, session=name)
    store.open(there, info=SessionInfo(session=name, kind="fork", parent=parent, parent_seq=seq, meta=meta))
    made = _restored(there, store.describe(there, meta))  # one that was there already gets the settings too
    return made._replace(is_told=made.is_told or line.is_told)


def _name_of(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()[:12]


def _restored(key: Key, info: SessionInfo) -> Line:
    system, tools = info.meta.get(_kept_as("system", key), ""), info.meta.get(_kept_as("tools", key), "")
    return Line(key, info, system, tuple(json.loads(tools or "[]")), bool(system or tools))


def _kept_as(name: str, key: Key) -> str:
    """Under which name a part of the static prefix is kept. The whole session's have the plain names; a scope has its
    own, since agents that share a session have prompts of their own, and nothing of one is shown to another."""
    scope, sees = viewpoint_of(key)
    return name if (scope, sees) == WHOLE else f"{name} {sees} {scope}"


# -- it grows, by others too


def finite(clock: Callable[[], float]) -> Callable[[], float]:
    """The clock, or 0 where it gives no finite number: order is by seq, and no time may stop a write."""

    def now() -> float:
        time = clock()
        return time if isfinite(time) else 0.0

    return now


def insisted(append: Callable[[], Context]) -> Context:
    """Append, and again when somebody else appended between our read and our write. Raises HeadMoved after 50 tries."""
    for _ in range(TRIES - 1):
        with suppress(HeadMoved):
            return append()
    return append()


def caught_up(
    found: Followed, append: Callable[[Sequence[Event], int], Context], locate: Callable[[], Followed],
    progress: Callable[[int, int], Any],
) -> Followed:  # fmt: skip
    """Append what is new in a list that was located, by batches, each behind the head that it was seen at; `progress`
    is told (done, of how many). When somebody else appends, perhaps the same list, it is located again. What comes back
    says what was appended here. Raises HeadMoved after 50 tries."""
    first, done, held = found, list[Event](), list[HeldBack]()
    rest, head, tries = found.new, found.head, TRIES
    while rest:
        try:
            made = append(rest[:BATCH], head)
        except HeadMoved:
            tries -= 1
            if not tries:
                raise
            found = locate()
            rest, head = found.new, found.head
            continue
        head += len(made.new)
        gone = {one.place for one in made.held_back}
        done += [event for at, event in enumerate(rest[:BATCH]) if at not in gone]
        held += made.held_back
        rest = rest[BATCH:]
        progress(len(done), len(done) + len(rest))
    before = found.held_before - first.held_before  # held back here, before the list was located again
    known = found.known + len(found.new) - len(done) - len(held) + before
    forked_at = found.forked_at if first.forked_at is None else first.forked_at
    return msgspec.structs.replace(
        found, new=tuple(done), known=known, forked_at=forked_at, held_back=tuple(held), held_before=first.held_before
    )
