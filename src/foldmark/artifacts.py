"""Where full bodies live: content-addressed, compressed, readable by line range. Knows nothing of events.

A line is what ends in a line feed; a last stretch without one counts too. Bodies never stand in memory whole
when they are read: frames of 1 MiB are, one at a time.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock
from typing import Protocol

import msgspec
import regex  # type: ignore[import-untyped]
import zstandard

from foldmark.errors import NotFound, PolicyError, StoreError

FRAME_BYTES = 1 << 20
"""Each frame is compressed alone: any place is reached by unpacking one, at the ratio of the whole file."""
LINES_PER_MARK = 256
"""The line index holds the offset of every 256th line: 60 KB for 1.9 million lines."""
LONGEST_LINE = 65_536
"""Of a longer matching line, grep gives this many bytes around the match."""
LONGEST_PATTERN = 1_000


class Artifacts(Protocol):
    """A place for bodies, one namespace per tenant (sharing across tenants would reveal who holds what)."""

    def put(self, tenant: str, data: bytes) -> str:
        """Store and return the sha256 (hex). Storing the same bytes again is a no-op that renews their time."""

    def has(self, tenant: str, sha256: str) -> bool: ...

    def size(self, tenant: str, sha256: str) -> tuple[int, int]:
        """(bytes, lines). Raises NotFound."""

    def read(self, tenant: str, sha256: str, start: int = 0, end: int | None = None) -> bytes:
        """Bytes from `start` up to `end` (exclusive). Raises NotFound."""

    def span(self, tenant: str, sha256: str, first: int, last: int) -> tuple[int, int]:
        """The bytes (start, end) of lines `first` to `last` (1-based, inclusive). Raises NotFound."""

    def read_lines(self, tenant: str, sha256: str, first: int, last: int) -> bytes:
        """Lines `first` to `last` (1-based, inclusive), with their line ends. Raises NotFound."""

    def grep(
        self, tenant: str, sha256: str, pattern: str, *, limit: int = 100, seconds: float = 2.0
    ) -> Iterator[tuple[int, bytes]]:
        """(line number, line without its end) of at most `limit` lines that match, tried one by one.

        Raises NotFound; PolicyError for a pattern that cannot be used; StoreError, after the matches found so
        far, when `seconds` have passed.
        """

    def delete(self, tenant: str, hashes: Iterable[str]) -> int:
        """Remove bodies; returns how many."""

    def all(self, tenant: str) -> Iterator[tuple[str, float]]:
        """(sha256, modification time) of everything stored for the tenant."""


class _Index(msgspec.Struct, frozen=True):
    """What is known of a body beside its bytes. `marks` are the offsets of lines 1, 257, 513, …; `frames` the
    offsets of compressed frames in their file, with the end of the last."""

    size: int
    lines: int
    marks: list[int]
    frames: list[int] = []


def _index_lines(data: bytes) -> tuple[int, list[int]]:
    """(number of lines, offset of every 256th)."""
    if not data:
        return 0, []
    marks, ends, place = [0], 0, data.find(b"\n")
    while place >= 0:
        ends += 1
        if ends % LINES_PER_MARK == 0 and place + 1 < len(data):
            marks.append(place + 1)
        place = data.find(b"\n", place + 1)
    return ends + (not data.endswith(b"\n")), marks


class _Bodies:
    """Reading, the same for every place that gives an index and stretches of bytes."""

    def _index(self, tenant: str, sha256: str) -> _Index:
        raise NotImplementedError

    def _stretches(self, tenant: str, sha256: str, start: int) -> Iterator[bytes]:
        """The bytes from `start` on, at most a frame at a time."""
        raise NotImplementedError

    def size(self, tenant: str, sha256: str) -> tuple[int, int]:
        index = self._index(tenant, sha256)
        return index.size, index.lines

    def read(self, tenant: str, sha256: str, start: int = 0, end: int | None = None) -> bytes:
        size = self._index(tenant, sha256).size
        end = size if end is None else min(end, size)
        out: list[bytes] = []
        left = end - max(0, start)
        if left <= 0:
            return b""
        for stretch in self._stretches(tenant, sha256, max(0, start)):
            out.append(stretch[:left])
            left -= len(out[-1])
            if left <= 0:
                break
        return b"".join(out)

    def span(self, tenant: str, sha256: str, first: int, last: int) -> tuple[int, int]:
        index = self._index(tenant, sha256)
        first = max(1, first)
        if last < first or first > index.lines:
            return index.size, index.size
        start = self._offset(tenant, sha256, index, first)
        return start, self._offset(tenant, sha256, index, last + 1)

    def read_lines(self, tenant: str, sha256: str, first: int, last: int) -> bytes:
        return self.read(tenant, sha256, *self.span(tenant, sha256, first, last))

    def _offset(self, tenant: str, sha256: str, index: _Index, line: int) -> int:
        """Where a line begins; the size for lines behind the end."""
        if line > index.lines:
            return index.size
        base, rest = divmod(line - 1, LINES_PER_MARK)
        offset = index.marks[base]
        if not rest:
            return offset
        for stretch in self._stretches(tenant, sha256, offset):
            place = -1
            while rest and (place := stretch.find(b"\n", place + 1)) >= 0:
                rest -= 1
            if not rest:
                return offset + place + 1
            offset += len(stretch)
        return index.size

    def grep(
        self, tenant: str, sha256: str, pattern: str, *, limit: int = 100, seconds: float = 2.0
    ) -> Iterator[tuple[int, bytes]]:
        self._index(tenant, sha256)
        search = _search(pattern)
        return self._grep(self._stretches(tenant, sha256, 0), search, limit, seconds)

    def _grep(
        self, stretches: Iterator[bytes], search: _Search, limit: int, seconds: float
    ) -> Iterator[tuple[int, bytes]]:
        until, number, begun = time.monotonic() + seconds, 0, b""
        for stretch in stretches:
            lines = (begun + stretch).split(b"\n")
            begun = lines.pop()
            if len(begun) > 4 * FRAME_BYTES:  # one endless line: judged in parts, so that memory stays bounded
                lines, begun = [*lines, begun], b""
                number -= 1
            for line in lines:
                number += 1
                if limit > 0 and (found := search.line(line, until, number)) is not None:
                    limit -= 1
                    yield max(number, 1), found
            if limit <= 0:
                return
        if begun and limit > 0 and (found := search.line(begun, until, number + 1)) is not None:
            yield number + 1, found


class _Search:
    """A pattern, tried line by line under a deadline.

    The pattern may come from a model. `regex` (which the tokenizer needs anyway) stops at a time limit inside a
    match; the standard library's engine cannot be stopped, and holds every other thread while it backtracks.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.literal = b""
        if not re.search(r"[\\^$.|?*+()\[\]{}]", pattern):
            self.literal = pattern.encode("utf-8", "surrogatepass")
            return
        try:
            self.compiled = regex.compile(pattern)
        except (regex.error, RecursionError, OverflowError, ValueError) as error:
            raise PolicyError(f"grep: {pattern!r} is no regular expression ({error}).") from error

    def line(self, line: bytes, until: float, number: int) -> bytes | None:
        """The matching line, shortened round the match when it is endless; None when it does not match."""
        if self.literal:
            place = line.find(self.literal)
            if not number % 4096 and time.monotonic() > until:
                raise self._late(number)
        else:
            place = self._place(line, until, number)
        if place < 0:
            return None
        if len(line) <= LONGEST_LINE:
            return line
        start = max(0, place - LONGEST_LINE // 2)
        return line[start : start + LONGEST_LINE]

    def _place(self, line: bytes, until: float, number: int) -> int:
        left = until - time.monotonic()
        if left <= 0:
            raise self._late(number)
        text = line.decode("utf-8", "surrogateescape")
        try:
            found = self.compiled.search(text, timeout=left)
        except TimeoutError:
            raise self._late(number) from None
        return len(text[: found.start()].encode("utf-8", "surrogateescape")) if found else -1

    def _late(self, number: int) -> StoreError:
        return StoreError(
            f"grep for {self.pattern!r} ran out of time at line {number}. "
            "Look for plain text, or read lines by number."
        )


def _search(pattern: str) -> _Search:
    if not pattern or len(pattern) > LONGEST_PATTERN:
        raise PolicyError(f"grep: a pattern has 1 to {LONGEST_PATTERN} characters; this has {len(pattern)}.")
    if _HUGE_REPEAT.search(pattern):
        raise PolicyError(f"grep: {pattern!r} repeats something 1,000 times or more; write it with less.")
    return _Search(pattern)


_HUGE_REPEAT = re.compile(r"\{[^{}]*\d{4,}[^{}]*\}")  # compiled, these may fill the memory


class MemoryArtifacts(_Bodies):
    """Bodies in this process: for tests, short-lived agents and text that never left its event."""

    def __init__(self) -> None:
        self._held: dict[str, dict[str, tuple[bytes, _Index, float]]] = {}

    def put(self, tenant: str, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        held = self._held.setdefault(tenant, {})
        index = held[sha256][1] if sha256 in held else _Index(len(data), *_index_lines(data))
        held[sha256] = (data, index, time.time())
        return sha256

    def has(self, tenant: str, sha256: str) -> bool:
        return sha256 in self._held.get(tenant, {})

    def delete(self, tenant: str, hashes: Iterable[str]) -> int:
        held = self._held.get(tenant, {})
        return sum(held.pop(sha256, None) is not None for sha256 in hashes)

    def all(self, tenant: str) -> Iterator[tuple[str, float]]:
        yield from [(sha256, stored) for sha256, (_, _, stored) in self._held.get(tenant, {}).items()]

    def _index(self, tenant: str, sha256: str) -> _Index:
        return self._one(tenant, sha256)[1]

    def _stretches(self, tenant: str, sha256: str, start: int) -> Iterator[bytes]:
        data = self._one(tenant, sha256)[0]
        for at in range(start, len(data), FRAME_BYTES):
            yield data[at : at + FRAME_BYTES]

    def _one(self, tenant: str, sha256: str) -> tuple[bytes, _Index, float]:
        found = self._held.get(tenant, {}).get(sha256)
        if found is None:
            raise _missing(sha256)
        return found


class FileArtifacts(_Bodies):
    """Bodies as files, `root/tenant/aa/bb/sha256`: compressed frames, then the index, then its length and a magic
    word. A file appears whole or not at all: written beside, flushed to disk, renamed."""

    _MAGIC = b"foldmark"
    _INDEXES = 64  # indexes that stay in memory

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        self._indexes: OrderedDict[Path, _Index] = OrderedDict()
        self._lock = Lock()

    def put(self, tenant: str, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        path = self._path(tenant, sha256)
        try:
            os.utime(path)
            return sha256
        except FileNotFoundError:
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
        return sha256

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
        index = compressor.compress(msgspec.msgpack.encode(_Index(len(data), *_index_lines(data), frames)))
        yield index + len(index).to_bytes(8, "big") + self._MAGIC

    def _index(self, tenant: str, sha256: str) -> _Index:
        if not _is_hash(sha256):
            raise _missing(sha256)
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

    def _read_index(self, path: Path, sha256: str) -> _Index:
        try:
            with path.open("rb") as file:
                file.seek(-16, os.SEEK_END)
                tail = file.read()
                length = int.from_bytes(tail[:8], "big")
                file.seek(-16 - length, os.SEEK_END)
                packed = file.read(length)
            if tail[8:] != self._MAGIC:
                raise ValueError("its end is missing")
            return msgspec.msgpack.decode(zstandard.decompress(packed), type=_Index)
        except FileNotFoundError:
            raise _missing(sha256) from None
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


def _folder(tenant: str) -> str:
    """A folder's name that no file system can confuse with another tenant's: readable letters, then a hash."""
    letters = re.sub(r"[^a-z0-9]+", "-", tenant.lower())[:24].strip("-")
    return f"{letters}-{hashlib.sha256(tenant.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _is_hash(name: str) -> bool:
    return len(name) == 64 and all(c in "0123456789abcdef" for c in name)


def _missing(sha256: str) -> NotFound:
    return NotFound(f"artifact:sha256:{sha256}")
