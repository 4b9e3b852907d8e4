"""Connections of a SQLite store: one for each thread of each process, writers behind one lock.

A forked process opens its own: SQLite forbids to use or to close one that was carried across. Knows nothing of tables.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakSet

from foldmark.sqlite.refusals import refused
from foldmark.sqlite.schema import connect


class Connections:
    """Opens a connection when a thread first asks; closes those of threads that ended."""

    def __init__(self, path: str, lock: threading.RLock, *, full: bool) -> None:
        self._path, self._lock, self._full = path, lock, full
        self._local = threading.local()
        self._open: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._inherited: list[tuple[threading.Thread, sqlite3.Connection]] = []  # held, or Python would close them
        _everywhere.add(self)

    @property
    def mine(self) -> sqlite3.Connection:
        """This thread's connection."""
        held: sqlite3.Connection | None = getattr(self._local, "held", None)
        if held is None:
            self._local.held = held = connect(self._path, full=self._full)
            with self._lock:
                for thread, old in self._open:
                    if not thread.is_alive():
                        old.close()
                self._open = [pair for pair in self._open if pair[0].is_alive()]
                self._open.append((threading.current_thread(), held))
        return held

    def start_anew(self) -> None:
        """What a forked process does first: no connection is its own, and whoever held the lock is not here."""
        self._lock._at_fork_reinit()  # type: ignore[attr-defined]  # as the standard library does with its locks
        self._inherited += self._open
        self._open = []
        self._local = threading.local()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction that has the write lock from its start: all of it or nothing."""
        with self._lock:
            db = self.mine
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException as error:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):  # while rows were fetched
                    raise refused(self._path, error) from error
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One snapshot for several reads."""
        db = self.mine
        db.execute("BEGIN")
        try:
            yield db
        except sqlite3.Error as error:
            raise refused(self._path, error) from error
        finally:
            db.execute("COMMIT")

    def close(self) -> None:
        for _, db in self._open:
            db.close()
        self._open.clear()
        self._local = threading.local()


_everywhere: WeakSet[Connections] = WeakSet()


def _start_anew() -> None:
    for each in list(_everywhere):
        each.start_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
