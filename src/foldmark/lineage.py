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
from foldmark.store import Context, HeldBack, Key, SessionInfo, Store
from foldmark.wire import openai_chat

BATCH = 500  # events a transaction: progress is visible, and a crash loses little
TRIES = 50  # other processes append between our read and our write; each try is a millisecond


class Line(NamedTuple):
    """A line of events: its key, its row, and the static prefix of its next request (`system` text without the
    checkpoint, `tools` as they were given)."""

    key: Key
    info: SessionInfo
    system: str = ""
    tools: tuple[Mapping[str, Any], ...] = ()


# -- a line is opened, and told of


def opened(store: Store, key: Key, info: SessionInfo | None = None) -> Line:
    """The line of that key (made as `info` says where it is new), with the static prefix that was kept with it, so that
    a reopened session can explain itself."""
    return _restored(key, store.open(key, info=info))


def described(
    store: Store, line: Line, system: str | None = None, tools: Sequence[Mapping[str, Any]] | None = None
) -> Line:
    """The line with another static prefix, which is kept with it. None leaves things as they are."""
    changed: dict[str, str] = {}
    if system is not None and system != line.system:
        changed["system"] = system
        line = line._replace(system=system)
    if tools is not None and tuple(tools) != line.tools:
        changed["tools"] = json.dumps(list(tools), ensure_ascii=False)
        line = line._replace(tools=tuple(tools))
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
    new_id: Callable[[], str],
) -> tuple[Line, Followed]:  # fmt: skip
    """(the line that a list of events goes on in, what of the list is new there). Nothing of the list is recorded.
    `root` is the session whose forks are looked through beside the line's own, `retry` as in `following.follow`."""
    found = follow(store, line.key, events, root=root, retry=retry, artifacts=artifacts)
    if found.forked_at is not None:
        line = forked(store, line, found, found.forked_at, new_id=new_id if retry else None)
        return line, msgspec.structs.replace(found, session=line.key.session)
    if found.session != line.key.session:
        line = opened(store, msgspec.structs.replace(line.key, session=found.session))
    return line, found


def forked(store: Store, line: Line, found: Followed, seq: int, *, new_id: Callable[[], str] | None) -> Line:
    """A fork at that seq, with the settings of the line. A retry takes the fork of an earlier one that is still empty;
    without `new_id` it is a fork of a copy, named by what is new in it, so that several writers of one copy meet."""
    parent, meta, key = found.session, line.info.meta, line.key
    mine = new_id() if new_id else _name_of(f"{parent} {seq} {found.new[0].plain}")
    name = f"{key.session}+{mine}"
    for info in store.sessions(key.tenant, key.user) if not found.new else ():
        same = info.kind == "fork" and (info.parent, info.parent_seq, info.head) == (parent, seq, seq)
        if same and info.session.startswith((f"{key.session}+", f"{parent}+")):
            name = info.session
    there = msgspec.structs.replace(key, session=name)
    store.open(there, info=SessionInfo(session=name, kind="fork", parent=parent, parent_seq=seq, meta=meta))
    return _restored(there, store.describe(there, meta))  # one that was there already gets the settings too


def _name_of(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()[:12]


def _restored(key: Key, info: SessionInfo) -> Line:
    return Line(key, info, info.meta.get("system", ""), tuple(json.loads(info.meta.get("tools", "[]"))))


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
    known = found.known + len(found.new) - len(done) - len(held)
    forked_at = found.forked_at if first.forked_at is None else first.forked_at
    return msgspec.structs.replace(found, new=tuple(done), known=known, forked_at=forked_at, held_back=tuple(held))
