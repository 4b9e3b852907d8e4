"""Erases sessions that nobody has added to for as long as their policy says. Knows nothing of compactions.

Nothing is erased but whole sessions: a log has no holes. What inherits from a session keeps it, and so does a sub-agent
that is still at work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import msgspec

from foldmark.artifacts import Artifacts
from foldmark.control.erasing import erase
from foldmark.errors import HasForks, HeadMoved, NotFound, PolicyError
from foldmark.policy import Policy
from foldmark.store import Key, SessionInfo, Store

DAY_SECONDS = 86_400.0
PolicyOf = Callable[[SessionInfo], Policy | None]


class Expired(msgspec.Struct, frozen=True, kw_only=True):
    """What went (or would go, in a dry run), by id.

    `sessions` are in the order in which they went, what hangs on others first, and `artifacts` is how many bodies went
    with them (0 in a dry run). `kept_for_forks` are sessions that are old enough, each with those that hang on it and
    are not. `returned` were old when they were listed and were not any more, or had got a fork, when their turn came.
    `at_work` are old, and a worker has a lease on a scope of them just now (in a dry run they stand in `sessions`).
    `unread` are sessions whose kept policy cannot be read, each with the reason: they stay.
    """

    sessions: tuple[str, ...] = ()
    artifacts: int = 0
    kept_for_forks: dict[str, tuple[str, ...]] = {}
    returned: tuple[str, ...] = ()
    at_work: tuple[str, ...] = ()
    unread: dict[str, str] = {}


def kept_policy(info: SessionInfo) -> Policy | None:
    """The policy that is kept with a session (`session.remember({"policy": policy.to_json()})`); None: none is.
    Raises PolicyError."""
    return Policy.from_json(info.meta["policy"]) if info.meta.get("policy") else None


def expire(
    store: Store, artifacts: Artifacts | None = None, policy_of: PolicyOf = kept_policy, now: float | None = None, *,
    tenant: str = "local", user: str = "local", dry_run: bool = False,
) -> Expired:  # fmt: skip
    """Erase the sessions of a user without a new event for `retention.session_days` of the policy that `policy_of`
    names for each (None, or no days: it stays). `now` is in Unix seconds (None: the clock's).

    A session goes only with all that hangs on it, forks and sub-agents alike, those first. A sub-agent's session for
    which no policy is named follows the session that started it, and never goes alone. A session of which no event's
    time is known stays. `dry_run` erases nothing.

    Each goes in a transaction of its own, and only if it still ends where it did and nothing hangs on it: one that got
    an event or a fork in between stays, with all above it. An event that comes later begins a new session.
    """
    now = time.time() if now is None else now
    where, held = Key(session="", tenant=tenant, user=user), store.artifacts if artifacts is None else artifacts
    family = _Family(store.sessions(tenant, user), policy_of, now)
    if dry_run:
        names = tuple(info.session for info in family.going())
        return Expired(sessions=names, kept_for_forks=family.kept(), unread=family.unread)
    gone: dict[str, None] = {}
    returned, at_work = list[str](), list[str]()
    bodies = 0
    for info in family.going():
        if not all(one in gone for one in family.below(info)):
            returned.append(info.session)
            continue
        key = msgspec.structs.replace(where, session=info.session)
        try:
            if _is_leased(store, key, now):
                at_work.append(info.session)
                continue
            bodies += erase(store, held, key, heads={info.session: info.head})
        except (HasForks, HeadMoved, NotFound):  # somebody was quicker
            returned.append(info.session)
            continue
        gone[info.session] = None
    return Expired(
        sessions=tuple(gone), artifacts=bodies, kept_for_forks=family.kept(), returned=tuple(returned),
        at_work=tuple(at_work), unread=family.unread,
    )  # fmt: skip


def _is_leased(store: Store, key: Key, now: float) -> bool:
    """Whether a worker is at it: its work would come to nothing. A lease that is taken later meets a session that is
    gone, and the worker leaves it."""
    with suppress(NotFound):  # by the name of a list only `delete` finds a damaged row
        return any(work.lease_until > now for work in store.works(key))
    return False


class _Family:
    """All sessions of a user by who hangs on whom, and which of them go."""

    def __init__(self, infos: Sequence[SessionInfo], policy_of: PolicyOf, now: float) -> None:
        self.unread: dict[str, str] = {}
        self._infos = {info.session: info for info in infos}
        self._below: dict[str, list[str]] = {}
        for info in reversed(infos):
            self._below.setdefault(info.parent if info.parent in self._infos else "", []).append(info.session)
        self._order = self._downwards()
        self._old: set[str] = set()
        self._decide(policy_of, now)

    def below(self, info: SessionInfo) -> list[str]:
        """What hangs on a session directly."""
        return self._below.get(info.session, [])

    def going(self) -> Iterator[SessionInfo]:
        """The sessions that go, what hangs on others first."""
        return (self._infos[name] for name in reversed(self._order) if name in self._going)

    def kept(self) -> dict[str, tuple[str, ...]]:
        """Sessions that are old and stay, each with those directly below it that do not go."""
        staying = {
            name: tuple(one for one in self._below.get(name, ()) if one not in self._going) for name in self._old
        }
        return {name: staying[name] for name in self._order if staying.get(name)}

    def _decide(self, policy_of: PolicyOf, now: float) -> None:
        days, since, led = dict[str, float | None](), dict[str, float](), set[str]()
        for name in self._order:
            info = self._infos[name]
            parent = info.parent if info.kind == "child" and info.parent in self._infos else ""
            policy, since[name] = self._policy_of(info, policy_of), max(info.updated, info.created)
            days[name] = policy.retention.session_days if policy else None
            if parent and policy is None and name not in self.unread:
                led.add(name)
                days[name], since[name] = days[parent], since[name] or since[parent]
            limit = days[name]
            if limit is not None and since[name] > 0 and now - since[name] > limit * DAY_SECONDS:
                self._old.add(name)
        self._going: set[str] = set()
        for name in reversed(self._order):
            if name in self._old and self._going.issuperset(self._below.get(name, ())):
                self._going.add(name)
        for name in self._order:  # a sub-agent that follows its parent goes with it or not at all
            if name in led and self._infos[name].parent not in self._going:
                self._going.discard(name)

    def _policy_of(self, info: SessionInfo, policy_of: PolicyOf) -> Policy | None:
        try:
            return policy_of(info)
        except PolicyError as error:
            self.unread[info.session] = str(error)
            return None

    def _downwards(self) -> list[str]:
        """All ids, those first that others hang on; without recursion, since a line of forks may be long."""
        waiting, order = list(self._below.get("", ())), list[str]()
        while waiting:
            order.append(name := waiting.pop())
            waiting += self._below.get(name, ())
        return order
