"""Whose a database file is: one of another program is refused before anything of it is touched. Knows nothing of what
tables hold."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory

from foldmark.errors import StoreError

OWN_TABLES = frozenset(("meta", "tenant", "session", "event", "scope_state"))
"""By these a store of any version is known."""

COPIED_BYTES = 64 * 2**20
"""A database with its log is copied up to that size, to see whose it is."""


def refuse_another(path: str) -> None:
    """Raises StoreError for a database of another program."""
    if tables := tables_of_another(path):
        raise StoreError(
            f"{path}: a database of another program (it holds {_some(tables)}, and nothing of foldmark). It was left "
            "as it is. Name another file; one that is not there is made."
        )


def tables_of_another(path: str) -> list[str]:
    """The tables of a file that holds tables and is no store; empty for a store, and for what has no tables yet or
    cannot be read. It is looked at as if nobody wrote it (`immutable`): that takes no lock and leaves no file behind.
    Where that shows no table, or some that a store has too, and a log of somebody's stands beside it, the log counts
    too."""
    names = _tables(path, "mode=ro&immutable=1")
    if names is not None and _may_be_ours(names) and Path(f"{path}-wal").is_file():
        names = _tables_with_log(path)
    return names or []


def _may_be_ours(names: list[str]) -> bool:
    """Whether these may be the tables of a store that is being made just now: one transaction makes them all."""
    return not names or not OWN_TABLES.isdisjoint(names)


def _tables_with_log(path: str) -> list[str] | None:
    """As `_tables`, with what stands in the log alone. A copy is read: beside a log that is read where it stands SQLite
    leaves a file (`-shm`). That is done only where the copy would be too large, or somebody wrote while it was made and
    it shows tables that a store has too."""
    log, before = Path(f"{path}-wal"), _written(path)
    with suppress(OSError, sqlite3.Error), TemporaryDirectory(prefix="foldmark") as folder:
        if sum(size for size, _ in before) <= COPIED_BYTES:
            copy = Path(folder, "copy")
            # By SQLite: whoever else opens and closes the file takes the locks away that this process has on it.
            with closing(_looking(path, "mode=ro&immutable=1")) as found, closing(sqlite3.connect(copy)) as made:
                found.backup(made)
            copyfile(log, f"{copy}-wal")
            names = _tables(str(copy), "mode=ro")
            if names is None or OWN_TABLES.isdisjoint(names) or _written(path) == before:
                return names
    return _tables(path, "mode=ro")


def _written(path: str) -> list[tuple[int, int]]:
    """Size and time of a database and of its log; none where one is gone."""
    with suppress(OSError):
        found = [Path(f"{path}{end}").stat() for end in ("", "-wal")]
        return [(each.st_size, each.st_mtime_ns) for each in found]
    return []


def _looking(path: str, how: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{Path(path).absolute().as_uri()}?{how}", uri=True)


def _tables(path: str, how: str) -> list[str] | None:
    """The tables of a file that has none of a store; None when it is a store or cannot be read."""
    try:
        with closing(_looking(path, how)) as db:
            rows = db.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY rowid")
            names = [name for (name,) in rows if not str(name).startswith("sqlite_")]
            return None if set(names) >= OWN_TABLES else names
    except (sqlite3.Error, UnicodeError):  # damaged: for whoever opens it to tell
        return None


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"the table{'s' if len(names) > 1 else ''} {', '.join(names[:3])}{more}"
