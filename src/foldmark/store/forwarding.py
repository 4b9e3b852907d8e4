"""Stores that are another one: each method of the protocol handed on, by name. Knows nothing of what is changed on the
way.

Methods stand here one by one, so that one that the protocol gains is missed by a test and not by a user.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar

from foldmark.artifacts import Artifacts
from foldmark.store.checkpoints import Checkpoints
from foldmark.store.events import Events
from foldmark.store.lists import Lists
from foldmark.store.protocol import Store
from foldmark.store.recall import Recall
from foldmark.store.sessions import Sessions
from foldmark.store.work import Works

P = ParamSpec("P")
R = TypeVar("R")


def handed_on(promise: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """The method of the inner store that has the name of this one."""
    name = promise.__name__

    def method(self: Any, /, *arguments: P.args, **named: P.kwargs) -> R:
        done: R = getattr(self.inner, name)(*arguments, **named)
        return done

    update_wrapper(method, promise)
    return method


class Reading:
    """Reads what `inner` has: no method of the protocol that writes is one of it. (Who holds it also holds `inner` and
    `artifacts`, which do write.)"""

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    @property
    def artifacts(self) -> Artifacts:
        return self.inner.artifacts

    info = handed_on(Sessions.info)
    sessions = handed_on(Sessions.sessions)
    children = handed_on(Sessions.children)
    hashes = handed_on(Sessions.hashes)
    log = handed_on(Events.log)
    times = handed_on(Events.times)
    event = handed_on(Events.event)
    tally = handed_on(Events.tally)
    view = handed_on(Checkpoints.view)
    covered = handed_on(Checkpoints.covered)
    checkpoints = handed_on(Checkpoints.checkpoints)
    attempts = handed_on(Checkpoints.attempts)
    written = handed_on(Lists.written)
    match = handed_on(Lists.match)
    ends = handed_on(Lists.ends)
    find = handed_on(Recall.find)
    scopes = handed_on(Works.scopes)
    works = handed_on(Works.works)
    backlog = handed_on(Works.backlog)


class Forwarding(Reading):
    """Wraps `inner` and changes nothing."""

    open = handed_on(Sessions.open)
    describe = handed_on(Sessions.describe)
    delete = handed_on(Sessions.delete)
    close = handed_on(Sessions.close)
    context = handed_on(Events.context)
    append = handed_on(Events.append)
    facts = handed_on(Events.facts)
    sent = handed_on(Checkpoints.sent)
    commit = handed_on(Checkpoints.commit)
    note = handed_on(Checkpoints.note)
    wrote = handed_on(Lists.wrote)
    enlist = handed_on(Works.enlist)
    want = handed_on(Works.want)
    claim = handed_on(Works.claim)
    extend = handed_on(Works.extend)
    settle = handed_on(Works.settle)
