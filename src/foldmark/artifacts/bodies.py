"""Reading a body by bytes and lines, the same for every place. Knows nothing of where the bytes are.

Bodies never stand in memory whole: frames of 1 MiB do, one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from foldmark.artifacts.grep import Search, grep
from foldmark.errors import NotFound

FRAME_BYTES = 1 << 20
"""Each frame is compressed alone: any place is reached by unpacking one, at the ratio of the whole file."""
LINES_PER_MARK = 256
"""The line index holds the offset of every 256th line: 60 KB for 1.9 million lines."""


class Index(msgspec.Struct, frozen=True):
    """What is known of a body beside its bytes. `marks` are the offsets of lines 1, 257, 513, …; `frames` the
    offsets of compressed frames in their file, with the end of the last."""

    size: int
    lines: int
    marks: list[int]
    frames: list[int] = []


def index_lines(data: bytes) -> tuple[int, list[int]]:
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


class Bodies:
    """Reading, the same for every place that gives an index and stretches of bytes."""

    def _index(self, tenant: str, sha256: str) -> Index:
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

    def _offset(self, tenant: str, sha256: str, index: Index, line: int) -> int:
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
        return grep(self._stretches(tenant, sha256, 0), Search(pattern), limit, seconds)


def missing(sha256: str) -> NotFound:
    return NotFound(f"artifact:sha256:{sha256}")
