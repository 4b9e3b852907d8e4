"""Bodies as files: content-addressed, compressed, whole or not there at all. Knows nothing of events."""

from __future__ import annotations

import hashlib
import os
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock

import msgspec
import zstandard

from foldmark.artifacts.bodies import FRAME_BYTES, Bodies, Index, index_lines, missing
from foldmark.errors import NotFound, StoreError


class FileArtifacts(Bodies):
    """Bodies as files, `root/tenant/aa/bb/sha256`: compressed frames, then the index, then its length and a
    magic word. A file appears whole or not at all: written beside, flushed to disk, renamed."""

    _MAGIC = b"foldmark"
    _INDEXES = 64  # indexes that stay in memory

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        self._indexes: OrderedDict[Path, Index] = OrderedDict()
        self._lock = Lock()

    def put(self, tenant: str, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        path = self._path(tenant, sha256)
        try:
            if not self._renewed(path, sha256):
                self._write(path, data)
        except OSError as error:
            raise StoreError(
                f"artifact:sha256:{sha256} cannot be written to {path} ({error.strerror or error}); nothing was "
                "recorded. Mend the disk (space, permissions) and record again."
            ) from error
        return sha256

    def _renewed(self, path: Path, sha256: str) -> bool:
        """Whether the file is there and whole; a damaged one is written anew."""
        try:
            os.utime(path)
            self._read_index(path, sha256)
        except (FileNotFoundError, NotFound, StoreError):
            return False
        return True

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=path.parent, prefix=".new-", delete=False) as file:
            try:
                for block in self._packed(data):
                    file.write(block)
                file.flush()
                os.fsync(file.fileno())
                os.replace(file.name, path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
        _keep_name(path.parent)

    def has(self, tenant: str, sha256: str) -> bool:
        return _is_hash(sha256) and self._path(tenant, sha256).exists()

    def delete(self, tenant: str, hashes: Iterable[str]) -> int:
        count = 0
        for path in [self._path(tenant, sha256) for sha256 in hashes if _is_hash(sha256)]:
            with self._lock:
                self._indexes.pop(path, None)
            try:
                path.unlink()
                count += 1
            except FileNotFoundError:
                continue
        return count

    def all(self, tenant: str) -> Iterator[tuple[str, float]]:
        for path in sorted((self.root / _folder(tenant)).glob("??/??/*")):
            if _is_hash(path.name):
                yield path.name, path.stat().st_mtime

    def _packed(self, data: bytes) -> Iterator[bytes]:
        compressor, frames = zstandard.ZstdCompressor(level=3), [0]
        for at in range(0, len(data), FRAME_BYTES):
            block = compressor.compress(data[at : at + FRAME_BYTES])
            frames.append(frames[-1] + len(block))
            yield block
        index = compressor.compress(msgspec.msgpack.encode(Index(len(data), *index_lines(data), frames)))
        yield index + len(index).to_bytes(8, "big") + self._MAGIC

    def _index(self, tenant: str, sha256: str) -> Index:
        if not _is_hash(sha256):
            raise missing(sha256)
        path = self._path(tenant, sha256)
        with self._lock:
            if (held := self._indexes.get(path)) and path.exists():
                self._indexes.move_to_end(path)
                return held
        index = self._read_index(path, sha256)
        with self._lock:
            self._indexes[path] = index
            if len(self._indexes) > self._INDEXES:
                self._indexes.popitem(last=False)
        return index

    def _read_index(self, path: Path, sha256: str) -> Index:
        try:
            with path.open("rb") as file:
                file.seek(-16, os.SEEK_END)
                tail = file.read()
                length = int.from_bytes(tail[:8], "big")
                file.seek(-16 - length, os.SEEK_END)
                packed = file.read(length)
            if tail[8:] != self._MAGIC:
                raise ValueError("its end is missing")
            return msgspec.msgpack.decode(zstandard.decompress(packed), type=Index)
        except FileNotFoundError:
            raise missing(sha256) from None
        except (OSError, ValueError, zstandard.ZstdError) as error:
            raise StoreError(f"artifact:sha256:{sha256} cannot be read ({error}): {path} is damaged.") from error

    def _stretches(self, tenant: str, sha256: str, start: int) -> Iterator[bytes]:
        index, path = self._index(tenant, sha256), self._path(tenant, sha256)
        with path.open("rb") as file:
            for number in range(start // FRAME_BYTES, len(index.frames) - 1):
                file.seek(index.frames[number])
                packed = file.read(index.frames[number + 1] - index.frames[number])
                yield zstandard.decompress(packed)[max(0, start - number * FRAME_BYTES) :]

    def _path(self, tenant: str, sha256: str) -> Path:
        return self.root / _folder(tenant) / sha256[:2] / sha256[2:4] / sha256


def _keep_name(folder: Path) -> None:
    """The name of a new file survives a power cut only when its folder is flushed too. Where folders cannot be opened
    (Windows) the file system sees to it."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _folder(tenant: str) -> str:
    """A folder's name that no file system can confuse with another tenant's: readable letters, then a
    hash."""
    letters = re.sub(r"[^a-z0-9]+", "-", tenant.lower())[:24].strip("-")
    return f"{letters}-{hashlib.sha256(tenant.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _is_hash(name: str) -> bool:
    return len(name) == 64 and all(c in "0123456789abcdef" for c in name)
