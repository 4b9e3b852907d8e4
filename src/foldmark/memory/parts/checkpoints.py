"""Checkpoints of a store in memory, and the state of its scopes. Knows nothing of how they are made."""

from __future__ import annotations

from foldmark.checkpoint import Checkpoint, Fact, Mark, Unit
from foldmark.log import build_view, check_commit, committed, latest, newest, viewpoint_of
from foldmark.memory.parts.held import Held
from foldmark.reports import Attempt
from foldmark.store import Key, ScopeState, View


class Checkpoints(Held):
    """A scope is looked at, a request of it goes out, a checkpoint is written."""

    def view(self, key: Key) -> View:
        with self._lock:
            row, at = self._row(key), viewpoint_of(key)
            made = row.checkpoints.get(at)
            return build_view(
                key,
                row.log,
                self._scope(row, key),
                made[-1] if made else None,
                row.states.get(at, ScopeState()),
                row.attempts.get(at, ()),
                self._secret,
            )

    def sent(self, key: Key, state: ScopeState, *, expected: Mark) -> None:
        with self._lock:
            row, at = self._row(key), viewpoint_of(key)
            if row.states.get(at, ScopeState()).mark == expected:
                row.states[at] = state

    def covered(self, key: Key, upto: int, *, limit: int) -> tuple[dict[tuple[str, str], Fact], list[Fact], list[Unit]]:
        with self._lock:
            row = self._row(key)
            facts = [fact for fact in row.all_facts() if fact.seq <= upto and row.log.shows(key, fact)]
            facts.sort(key=lambda fact: fact.seq)
            units = [
                unit
                for other, last, _ in row.lineage()
                for unit in other.units
                if unit.seq <= min(last, upto) and key.shows(row.log.events[unit.seq - 1])
            ]
        units.sort(key=lambda unit: (-unit.score, unit.seq, unit.order))
        return newest(facts), facts, units[: max(0, limit)]

    def commit(
        self,
        key: Key,
        checkpoint: Checkpoint,
        *,
        expected: int,
        attempt: Attempt | None = None,
        token: int | None = None,
        anchor: str | None = None,
    ) -> None:
        with self._lock:
            row, at = self._row(key), viewpoint_of(key)
            made = row.checkpoints.get(at)
            fenced = self._works.fences(key, token)
            newest_one = made[-1] if made else None
            log = row.log
            check_commit(
                log.session, log.head, log.chain_at, checkpoint, newest_one,
                expected=expected, anchor=anchor, fenced=fenced,
            )  # fmt: skip
            row.checkpoints.setdefault(at, []).append(checkpoint)
            row.states[at] = committed(row.states.get(at, ScopeState()), checkpoint)
            if attempt:
                row.attempts.setdefault(at, []).append(attempt)
            if token is not None:
                self._works.commit(key)

    def checkpoints(self, key: Key) -> list[Checkpoint]:
        with self._lock:
            return list(self._row(key).checkpoints.get(viewpoint_of(key), ()))

    def note(self, key: Key, attempt: Attempt) -> None:
        with self._lock:
            self._row(key).attempts.setdefault(viewpoint_of(key), []).append(attempt)

    def attempts(self, key: Key, *, limit: int = 10_000) -> list[Attempt]:
        with self._lock:
            return latest(self._row(key).attempts.get(viewpoint_of(key), ()), limit)
