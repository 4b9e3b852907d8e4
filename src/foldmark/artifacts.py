"""Where full bodies live: content-addressed, compressed, readable by line range. Knows nothing of events.

(protocol; implementations below)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol


class Artifacts(Protocol):
    """A place for bodies, one namespace per tenant (sharing across tenants would reveal who holds what)."""

    def put(self, tenant: str, data: bytes) -> str:
        """Store and return the sha256 (hex). Storing the same bytes again is a no-op."""

    def has(self, tenant: str, sha256: str) -> bool: ...

    def size(self, tenant: str, sha256: str) -> tuple[int, int]:
        """(bytes, lines). Raises NotFound."""

    def read(self, tenant: str, sha256: str, start: int = 0, end: int | None = None) -> bytes:
        """Bytes from `start` up to `end` (exclusive). Raises NotFound."""

    def read_lines(self, tenant: str, sha256: str, first: int, last: int) -> bytes:
        """Lines `first` to `last` (1-based, inclusive), with their line ends. Raises NotFound."""

    def grep(self, tenant: str, sha256: str, pattern: str, *, limit: int = 100, seconds: float = 2.0) -> Iterator[tuple[int, bytes]]:
        """(line number, line) of matches, bounded in number and time."""

    def delete(self, tenant: str, hashes: Iterable[str]) -> int:
        """Remove bodies; returns how many."""

    def all(self, tenant: str) -> Iterator[tuple[str, float]]:
        """(sha256, modification time) of everything stored for the tenant."""
