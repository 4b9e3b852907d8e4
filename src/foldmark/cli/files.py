"""Files: what is wrong with one that an option names, and how one appears whole or not at all. Knows nothing of what is
in them.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path

from foldmark.errors import NotFound, PolicyError

_SQLITE = b"SQLite format 3\0"
"""How every database of SQLite begins."""


def read_bytes(path: Path) -> bytes:
    """What a file holds, or for `-` standard input. Raises OSError."""
    return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()


def check_out(path: Path, option: str) -> None:
    """Raises PolicyError for a file to be written that is a folder, or whose folder is not there."""
    if path.is_dir():
        raise PolicyError(f"{option}: {path} is a folder; name a file. Nothing was done.")
    if not path.parent.is_dir():
        raise PolicyError(f"{option}: there is no folder {path.parent}; nothing was done.")


def check_database(path: Path, *, create: bool = False) -> None:
    """Raises PolicyError for what is no database, NotFound where there is none (with `create`: no folder for one)."""
    if path.is_dir():
        raise PolicyError(f"--db: {path} is a folder; name a file.")
    if create and not path.parent.is_dir():
        raise NotFound(str(path), f"--db: there is no folder {path.parent}; make it, or name another.")
    if not create and not path.exists():
        said = f"There is no database {path}. `foldmark import TRANSCRIPT` makes one; --db names another."
        raise NotFound(str(path), said)
    if path.is_file() and _head(path) not in (b"", _SQLITE):  # an empty file becomes one
        raise PolicyError(
            f"--db: {path} is no database. Where it is a transcript, `foldmark import {path}` reads it; --db names the "
            "database."
        )


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(_SQLITE))


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old bytes or the new ones, never half of them. Its mode stays, as does a
    link to it; what is no regular file (`/dev/null`, a pipe) is written straight."""
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    target = path.resolve()
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask()
    part = part_beside(target, data)
    try:
        part.chmod(mode)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def part_beside(path: Path, data: bytes) -> Path:
    """The bytes in a new file beside `path` that nobody else may read, flushed to the disk."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:200]}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
