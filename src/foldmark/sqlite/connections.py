"""Connections of a SQLite store: one for each thread of each process, writers behind one lock.

Knows nothing of tables.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from foldmark.sqlite.refusals import refused
from foldmark.sqlite.schema import connect


class Connections:
    """Opens a connection when a thread first asks; closes those of threads that ended."""

    def __init__(self, path: str, lock: threading.RLock, *, full: bool) -> None:
        self._path, self._lock, self._full = path, lock, full
        self._local = threading.local()
        self._open: list[tuple[threading.Thread, sqlite3.Connection]] = []

    @property
    def mine(self) -> sqlite3.Connection:
        """This thread's connection; a forked process opens its own (SQLite forbids carrying one across)."""
        held = getattr(self._local, "held", None)
        if held is None or held[0] != os.getpid():
            db = connect(self._path, full=self._full)
            self._local.held = held = (os.getpid(), db)
            with self._lock:
                for thread, old in self._open:
                    if not thread.is_alive():
                        old.close()
                self._open = [pair for pair in self._open if pair[0].is_alive()]
                self._open.append((threading.current_thread(), db))
        connection: sqlite3.Connection = held[1]
        return connection

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
