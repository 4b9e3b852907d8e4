"""Connections of a SQLite store: one for each thread of each process, writers behind one lock.

A forked process opens its own: SQLite forbids to use or to close one that was carried across. Knows nothing of tables.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple
from weakref import WeakSet

from foldmark.errors import StoreError
from foldmark.sqlite.damaged import Damaged, told
from foldmark.sqlite.refusals import BUSY_SECONDS, refused
from foldmark.sqlite.schema import connect


class Held(NamedTuple):
    """A thread's connection. `busy` is locked while the thread reads: who closes it then brings the process down."""

    thread: threading.Thread
    db: sqlite3.Connection
    busy: threading.RLock


class Connections:
    """Opens a connection when a thread first asks; closes those of threads that ended."""

    def __init__(self, path: str, lock: threading.RLock, *, full: bool) -> None:
        self._path, self._lock, self._full = path, lock, full
        self._local = threading.local()
        self._open: list[Held] = []
        self._inherited: list[Held] = []  # held, or Python would close them
        self._holds_erased = False  # whether the log beside the file may still hold what was erased
        _everywhere.add(self)

    @property
    def mine(self) -> sqlite3.Connection:
        """This thread's connection."""
        return self._held().db

    def _held(self) -> Held:
        held: Held | None = getattr(self._local, "held", None)
        if held is None:
            db = connect(self._path, full=self._full)
            self._local.held = held = Held(threading.current_thread(), db, threading.RLock())
            with self._lock:
                for old in self._open:
                    if not old.thread.is_alive():
                        old.db.close()
                self._open = [each for each in self._open if each.thread.is_alive()]
                self._open.append(held)
        return held

    def start_anew(self) -> None:
        """What a forked process does first: no connection is its own, and whoever held the lock is not here."""
        self._lock._at_fork_reinit()  # type: ignore[attr-defined]  # as the standard library does with its locks
        self._inherited += self._open
        self._open = []
        self._local = threading.local()

    def empty_log(self) -> bool:
        """Take the log beside the file into it and empty it, so that what was erased stands in neither. Waits for
        nobody: where somebody reads what the log holds, of whatever process, it stays as it is (False) and every later
        write tries again. When the last process closes the file SQLite does it in any case."""
        with self._lock:
            self._holds_erased = not _emptied(self.mine)
            return not self._holds_erased

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
                if isinstance(error, Damaged):
                    raise told(db, self._path, error) from error
                raise
            if self._holds_erased:
                self.empty_log()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One snapshot for several reads."""
        _, db, busy = self._held()
        with busy:
            db.execute("BEGIN")
            try:
                yield db
            except sqlite3.Error as error:
                raise refused(self._path, error) from error
            except Damaged as error:
                raise told(db, self._path, error) from error
            finally:
                db.execute("COMMIT")

    def close(self) -> None:
        """Close what is idle. A connection that another thread reads on is left to it: it closes when that thread lets
        go of it. (To wait for it might be for ever: it may wait for the lock of whoever closes.)"""
        with self._lock:  # another thread may open one just now
            for held in self._open:
                if held.thread is threading.current_thread():
                    held.db.close()
                elif held.busy.acquire(blocking=False):
                    held.db.close()
                    held.busy.release()
            self._open.clear()
            self._local = threading.local()


def _emptied(db: sqlite3.Connection) -> bool:
    with suppress(StoreError):  # what was to be done is done: a full disk is told by the next write
        db.execute("PRAGMA busy_timeout = 0")
        try:
            return not db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            db.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000:.0f}")
    return False


_everywhere: WeakSet[Connections] = WeakSet()


def _start_anew() -> None:
    for each in list(_everywhere):
        each.start_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
