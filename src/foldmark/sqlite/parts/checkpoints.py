"""Checkpoints of a SQLite store, and the state of its scopes. Knows nothing of how they are made."""

from __future__ import annotations

from foldmark.checkpoint import Checkpoint, Fact, Mark, Unit
from foldmark.log import build_view, check_commit, committed, newest
from foldmark.reports import Attempt
from foldmark.sqlite import matching, scopes, sessions
from foldmark.sqlite import work as work_rows
from foldmark.sqlite.parts.held import Held
from foldmark.sqlite.rows import unpack
from foldmark.sqlite.sessions import scope_of
from foldmark.store import Key, ScopeState, View


class Checkpoints(Held):
    """A scope is looked at, a request of it goes out, a checkpoint is written."""

    def view(self, key: Key) -> View:
        with self._lock, self._reading() as db:
            known = self._get(key)
            return build_view(
                key,
                known.log,
                scope_of(db, known, key),
                scopes.newest_checkpoint(db, known, key),
                scopes.state(db, known, key),
                scopes.attempts(db, known, key),
                self._secret,
            )

    def sent(self, key: Key, state: ScopeState, *, expected: Mark) -> None:
        with self._writing() as db:
            known = self._get(key)
            if scopes.state(db, known, key).mark == expected:
                scopes.put_state(db, known, key, state)

    def covered(self, key: Key, upto: int, *, limit: int) -> tuple[dict[tuple[str, str], Fact], list[Fact], list[Unit]]:
        with self._reading() as db:
            with self._lock:
                known = self._get(key)
            facts = [fact for fact in sessions.all_facts(db, known, upto) if known.log.shows(key, fact)]
            units = matching.best_units(db, known, key, upto, limit)
        facts.sort(key=lambda fact: fact.seq)
        return newest(facts), facts, units

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
        with self._writing() as db:
            known = self._get(key)
            fenced = work_rows.fences(db, known, key, token)
            newest_one = scopes.newest_checkpoint(db, known, key)
            log = known.log
            check_commit(
                log.session, log.head, log.chain_at, checkpoint, newest_one,
                expected=expected, anchor=anchor, fenced=fenced,
            )  # fmt: skip
            scopes.add_checkpoint(db, known, key, checkpoint)
            scopes.put_state(db, known, key, committed(scopes.state(db, known, key), checkpoint))
            if attempt:
                scopes.add_attempt(db, known, key, attempt)
            if token is not None:
                work_rows.commit(db, known, key)

    def checkpoints(self, key: Key) -> list[Checkpoint]:
        with self._lock, self._reading() as db:
            known = self._glance(db, key)
            rows = sessions.checkpoint_rows(db, known.segments, scopes.at(known, key)[1:])
        return [unpack(body, Checkpoint) for _, _, body in rows]

    def note(self, key: Key, attempt: Attempt) -> None:
        with self._writing() as db:
            scopes.add_attempt(db, self._get(key), key, attempt)

    def attempts(self, key: Key, *, limit: int = 10_000) -> list[Attempt]:
        with self._lock, self._reading() as db:
            return scopes.newest_attempts(db, self._glance(db, key), key, limit)
