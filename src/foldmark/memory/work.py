"""Work in memory: which scopes are dirty, and who holds the lease of one. Knows nothing of locks, logs or states.

The plainest statement of what work is. `dirty` holds the rows that a claim looks at, so that its cost does not grow
with the number of sessions.
"""

from __future__ import annotations

from itertools import count

import msgspec

from foldmark.dirtying import BY_HAND
from foldmark.log import Viewpoint, viewpoint_of
from foldmark.memory.rows import Name
from foldmark.store import CLOCK_SKEW_SECONDS, Backlog, Key, Work


class Dirty(msgspec.Struct):
    """A scope's work: dirty while `wanted` > `done`, since the time `since`. `taken` is what the holder of the lease
    answers for, `later` the time at which work came that it does not. `number` orders rows of one time."""

    key: Key
    number: int
    since: float = 0.0
    later: float = 0.0
    wanted: int = 0
    done: int = 0
    taken: int = 0
    token: int = 0
    lease_until: float = 0.0
    attempts: int = 0
    not_before: float = 0.0

    @property
    def is_dirty(self) -> bool:
        return self.wanted > self.done

    def is_leased(self, now: float) -> bool:
        return self.lease_until > now and not self._is_ahead(now)

    def rests(self, now: float) -> bool:
        return self.not_before > now and not self._is_ahead(now)

    def _is_ahead(self, now: float) -> bool:
        """It is dirty since a time to come: the clock was set back, and the row's times mean nothing."""
        return self.since > now + CLOCK_SKEW_SECONDS

    def claimed(self) -> Work:
        return Work(
            key=self.key,
            wanted=self.wanted,
            done=self.done,
            token=self.token,
            lease_until=self.lease_until,
            since=self.since,
            attempts=self.attempts,
        )


class Works:
    """The work of all sessions. Tokens rise over all of them: a session that is deleted and made again under its name
    never meets one of its former life."""

    def __init__(self) -> None:
        self.rows: dict[Name, dict[Viewpoint, Dirty]] = {}
        self.dirty: dict[int, Dirty] = {}
        self._numbers, self._tokens = count(1), count(1)

    def find(self, key: Key) -> Dirty | None:
        return self.rows.get(_name(key), {}).get(viewpoint_of(key))

    def erase(self, name: Name) -> None:
        for row in self.rows.pop(name, {}).values():
            self.dirty.pop(row.number, None)

    # raising

    def raise_for(self, key: Key, wanted: int, now: float, not_before: float) -> Dirty:
        """A row that is dirty stays so since the same time and rests no shorter."""
        row = self.find(key)
        if row is None:
            row = Dirty(key, next(self._numbers))
            self.rows.setdefault(_name(key), {})[viewpoint_of(key)] = row
        if not row.is_dirty:
            row.since, row.not_before = now, not_before
        elif row.not_before >= 0:
            row.not_before = max(row.not_before, not_before)
        if row.wanted <= row.taken:
            row.later = now
        row.wanted = max(row.wanted, wanted)
        self._keep(row)
        return row

    def move_on(self, key: Key, not_before: float) -> None:
        """The work of a scope rests on, if there is any and nobody asked for it by hand."""
        row = self.find(key)
        if row and row.is_dirty and row.not_before >= 0:
            row.not_before = max(row.not_before, not_before)

    def want(self, key: Key, head: int, now: float) -> None:
        """Dirty up to the head, also when it is done up to it."""
        row = self.raise_for(key, head, now, BY_HAND)
        row.done, row.not_before = min(row.done, row.wanted - 1), BY_HAND
        self._keep(row)

    def _keep(self, row: Dirty) -> None:
        if row.is_dirty:
            self.dirty[row.number] = row
        else:
            self.dirty.pop(row.number, None)

    # the lease

    def oldest(self, now: float) -> Dirty | None:
        """The work that is claimed next: no lease on it, nor on another scope of its session."""
        taken = {_name(row.key) for row in self.dirty.values() if row.is_leased(now)}
        free = [row for row in self.dirty.values() if not row.rests(now) and _name(row.key) not in taken]
        return min(free, key=lambda row: (row.since, row.number), default=None)

    def claim(self, now: float, lease_seconds: float) -> Work | None:
        row = self.oldest(now)
        if row is None:
            return None
        row.taken, row.token, row.lease_until = row.wanted, next(self._tokens), now + lease_seconds
        row.attempts, row.not_before, row.since = row.attempts + 1, 0.0, min(row.since, now)
        return row.claimed()

    def extend(self, work: Work, until: float) -> bool:
        """Lengthen the lease. False once it was freed, or ran out and another worker took this scope or (a younger
        token) another one of the session."""
        row = self._held(work)
        if row is None or not row.lease_until:
            return False
        others = self.rows[_name(work.key)].values()
        if any(other.lease_until and other.token > row.token for other in others):
            return False
        row.lease_until = max(row.lease_until, until)
        return True

    def settle(self, work: Work, again: float | None, counts: bool) -> bool:
        """Free the lease: the work is done, or rests until `again`. False when it is not this worker's any more."""
        row = self._held(work)
        if row is None:
            return False
        if again is None:
            self._finish(row, work.wanted)
            return True
        if row.not_before >= 0:  # else somebody asked for it meanwhile
            row.not_before = max(row.not_before, again)
        if row.lease_until and not counts:
            row.attempts -= 1
        row.lease_until = 0.0
        return True

    def fences(self, key: Key, token: int | None) -> bool:
        """Whether a commit under this token must be refused: another worker took the lease since, or nobody holds
        it."""
        if token is None:
            return False
        row = self.find(key)
        return row is None or not row.lease_until or row.token != token

    def commit(self, key: Key) -> None:
        """The work is done up to what was taken."""
        row = self.find(key)
        assert row is not None
        self._finish(row, row.taken)

    def _finish(self, row: Dirty, upto: int) -> None:
        """What came later is dirty since then."""
        row.done, row.lease_until, row.attempts = max(row.done, upto), 0.0, 0
        if row.is_dirty:
            row.since = row.later
        self._keep(row)

    def _held(self, work: Work) -> Dirty | None:
        row = self.find(work.key)
        return row if row and row.token == work.token else None

    def of_session(self, key: Key) -> list[Work]:
        """What is dirty or leased in a session."""
        rows = self.rows.get(_name(key), {}).values()
        open_ones = [row.claimed() for row in rows if row.is_dirty or row.lease_until]
        return sorted(open_ones, key=lambda work: viewpoint_of(work.key))

    def backlog(self, now: float) -> Backlog:
        """What waits. Work that is leased does not rest, whatever its row says."""
        leased = sum(row.is_leased(now) for row in self.dirty.values())
        resting = sum(row.rests(now) and not row.is_leased(now) for row in self.dirty.values())
        oldest = self.oldest(now)
        waited = max(0.0, now - oldest.since) if oldest else 0.0
        return Backlog(dirty=len(self.dirty), leased=leased, resting=resting, oldest_seconds=waited)


def _name(key: Key) -> Name:
    return key.tenant, key.user, key.session
