"""What a place for bodies promises. Knows nothing of how bodies are kept.

A line is what ends in a line feed; a last stretch without one counts too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol


class Artifacts(Protocol):
    """A place for bodies, one namespace per tenant (sharing across tenants would reveal who holds what)."""

    def put(self, tenant: str, data: bytes) -> str:
        """Store and return the sha256 (hex). Storing the same bytes again renews their time, and mends them when they
        were damaged."""

    def has(self, tenant: str, sha256: str) -> bool: ...

    def size(self, tenant: str, sha256: str) -> tuple[int, int]:
        """(bytes, lines). Raises NotFound."""

    def read(self, tenant: str, sha256: str, start: int = 0, end: int | None = None) -> bytes:
        """Bytes from `start` up to `end` (exclusive). Raises NotFound; StoreError when they are damaged."""

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

    def delete(self, tenant: str, hashes: Iterable[str], *, before: float | None = None) -> int:
        """Remove bodies; returns how many. With `before` (seconds since 1970) those that were stored again after that
        time stay: somebody is about to refer to them."""

    def all(self, tenant: str) -> Iterator[tuple[str, float]]:
        """(sha256, modification time) of everything stored for the tenant."""
