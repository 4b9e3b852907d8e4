"""Bodies as files: content-addressed, compressed, whole or not there at all. Knows nothing of events."""

from __future__ import annotations

import hashlib
import os
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock

import msgspec
import zstandard

from foldmark.artifacts.bodies import FRAME_BYTES, Bodies, Index, index_lines, missing
from foldmark.errors import StoreError

_Identity = tuple[int, int]


class FileArtifacts(Bodies):
    """Bodies as files, `root/tenant/aa/bb/sha256`: compressed frames, then the index, then its length and a
    magic word. A file appears whole or not at all: written beside, flushed to disk, renamed. Frames and index carry
    checksums: what the disk damaged later is an error, never text (files of the first release have none)."""

    _MAGIC = b"foldmark"
    _UNFINISHED = ".new-"
    _INDEXES = 64  # indexes that stay in memory

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        self._indexes: OrderedDict[Path, tuple[_Identity, Index]] = OrderedDict()
        self._lock = Lock()

    def put(self, tenant: str, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        path = self._path(tenant, sha256)
        try:
            if not self._renewed(path, sha256, data):
                self._write(path, data)
        except OSError as error:
            raise StoreError(
                f"artifact:sha256:{sha256} cannot be written to {path} ({error.strerror or error}); nothing was "
                "recorded. Mend the disk (space, permissions) and record again."
            ) from error
        return sha256

    def _renewed(self, path: Path, sha256: str, data: bytes) -> bool:
        """Whether the file is there and holds these bytes; a damaged one is written anew."""
        try:
            os.utime(path)
            index, place = self._read_index(path, sha256), 0
            for stretch in self._unpacked(path, sha256, index, 0):
                if data[place : place + len(stretch)] != stretch:
                    return False
                place += len(stretch)
        except (FileNotFoundError, StoreError):
            return False
        return place == index.size == len(data)

    def _write(self, path: Path, data: bytes) -> None:
        folder = path.parent
        created = list(takewhile(lambda one: not one.exists(), (folder, *folder.parents)))
        folder.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=folder, prefix=self._UNFINISHED, delete=False) as file:
            try:
                for block in self._packed(data):
                    file.write(block)
                file.flush()
                os.fsync(file.fileno())
                os.replace(file.name, path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
        for named in (folder, *(one.parent for one in created)):
            _flush_names(named)

    def has(self, tenant: str, sha256: str) -> bool:
        return _is_hash(sha256) and self._path(tenant, sha256).exists()

    def delete(self, tenant: str, hashes: Iterable[str], *, before: float | None = None) -> int:
        count = 0
        for path in [self._path(tenant, sha256) for sha256 in hashes if _is_hash(sha256)]:
            with self._lock:
                self._indexes.pop(path, None)
            with suppress(FileNotFoundError):
                if before is None or path.stat().st_mtime <= before:
                    path.unlink()
                    count += 1
        return count

    def sweep(self, tenant: str, *, before: float) -> int:
        """Remove what writers that were killed left behind, last written at or before that time (seconds since
        1970); returns how many. A body that is still being written is younger than any sensible `before`."""
        count = 0
        for path in sorted((self.root / _folder(tenant)).glob(f"??/??/{self._UNFINISHED}*")):
            with suppress(FileNotFoundError):  # its writer was not killed
                if path.stat().st_mtime <= before:
                    path.unlink()
                    count += 1
        return count

    def all(self, tenant: str) -> Iterator[tuple[str, float]]:
        for path in sorted((self.root / _folder(tenant)).glob("??/??/*")):
            with suppress(FileNotFoundError):  # deleted since it was listed
                if _is_hash(path.name):
                    yield path.name, path.stat().st_mtime

    def _packed(self, data: bytes) -> Iterator[bytes]:
        compressor, frames = zstandard.ZstdCompressor(level=3, write_checksum=True), [0]
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
        with _naming_damage(path, sha256):
            identity = _identity(path)
        with self._lock:
            if (held := self._indexes.get(path)) and held[0] == identity:
                self._indexes.move_to_end(path)
                return held[1]
        index = self._read_index(path, sha256)
        with self._lock:
            self._indexes[path] = (identity, index)
            if len(self._indexes) > self._INDEXES:
                self._indexes.popitem(last=False)
        return index

    def _read_index(self, path: Path, sha256: str) -> Index:
        with _naming_damage(path, sha256), path.open("rb") as file:
            end = file.seek(0, os.SEEK_END) - 16
            file.seek(max(0, end))
            tail = file.read()
            length = int.from_bytes(tail[:8], "big")
            if tail[8:] != self._MAGIC or length > end:
                raise ValueError("its end is missing")
            file.seek(end - length)
            index = msgspec.msgpack.decode(zstandard.decompress(file.read(length)), type=Index)
            if len(index.frames) != 1 + -(-index.size // FRAME_BYTES):
                raise ValueError("its index does not fit it")
            return index

    def _stretches(self, tenant: str, sha256: str, start: int) -> Iterator[bytes]:
        return self._unpacked(self._path(tenant, sha256), sha256, self._index(tenant, sha256), start)

    def _unpacked(self, path: Path, sha256: str, index: Index, start: int) -> Iterator[bytes]:
        with _naming_damage(path, sha256), path.open("rb") as file:
            for number in range(start // FRAME_BYTES, len(index.frames) - 1):
                file.seek(index.frames[number])
                packed = file.read(index.frames[number + 1] - index.frames[number])
                size = min(FRAME_BYTES, index.size - number * FRAME_BYTES)
                if zstandard.frame_content_size(packed) != size:  # asked first: it says how much memory is taken
                    raise ValueError(f"its frame {number} has another size")
                yield zstandard.decompress(packed)[max(0, start - number * FRAME_BYTES) :]

    def _path(self, tenant: str, sha256: str) -> Path:
        return self.root / _folder(tenant) / sha256[:2] / sha256[2:4] / sha256


def _identity(path: Path) -> _Identity:
    """Tells a file from the one that another process put in its place: their frames may lie elsewhere."""
    found = path.stat()
    return found.st_ino, found.st_size


@contextmanager
def _naming_damage(path: Path, sha256: str) -> Iterator[None]:
    """Whatever goes wrong while a body is read is NotFound or StoreError, with the body and the file named."""
    try:
        yield
    except FileNotFoundError:
        raise missing(sha256) from None
    except OSError as error:
        raise StoreError(
            f"artifact:sha256:{sha256} cannot be read ({error.strerror or error}): {path} is damaged or may not be "
            "read. Look at its permissions and its disk."
        ) from error
    except (ValueError, MemoryError, msgspec.MsgspecError, zstandard.ZstdError) as error:
        raise StoreError(
            f"artifact:sha256:{sha256} cannot be read ({error}): {path} is damaged. Recording the same result again, "
            "or putting back a copy of the file, mends it."
        ) from error


def _flush_names(folder: Path) -> None:
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
