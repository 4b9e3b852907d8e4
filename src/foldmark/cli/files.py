"""Files that appear whole or not at all. Knows nothing of what is in them."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from foldmark.errors import PolicyError


def check_folder(path: Path, option: str) -> None:
    """Raises PolicyError when the folder of a file to be written is not there."""
    if not path.parent.is_dir():
        raise PolicyError(f"{option}: there is no folder {path.parent}; nothing was done.")


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
