"""Bodies in this process. Knows nothing of disk."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator

from foldmark.artifacts.bodies import FRAME_BYTES, Bodies, Index, index_lines, missing


class MemoryArtifacts(Bodies):
    """Bodies in this process: for tests, short-lived agents and text that never left its event."""

    def __init__(self) -> None:
        self._held: dict[str, dict[str, tuple[bytes, Index, float]]] = {}

    def put(self, tenant: str, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        held = self._held.setdefault(tenant, {})
        index = held[sha256][1] if sha256 in held else Index(len(data), *index_lines(data))
        held[sha256] = (data, index, time.time())
        return sha256

    def has(self, tenant: str, sha256: str) -> bool:
        return sha256 in self._held.get(tenant, {})

    def delete(self, tenant: str, hashes: Iterable[str], *, before: float | None = None) -> int:
        held = self._held.get(tenant, {})
        doomed = [one for one in dict.fromkeys(hashes) if one in held and (before is None or held[one][2] <= before)]
        return sum(held.pop(sha256, None) is not None for sha256 in doomed)

    def all(self, tenant: str) -> Iterator[tuple[str, float]]:
        yield from [(sha256, stored) for sha256, (_, _, stored) in self._held.get(tenant, {}).items()]

    def _index(self, tenant: str, sha256: str) -> Index:
        return self._one(tenant, sha256)[1]

    def _stretches(self, tenant: str, sha256: str, start: int) -> Iterator[bytes]:
        data = self._one(tenant, sha256)[0]
        for at in range(start, len(data), FRAME_BYTES):
            yield data[at : at + FRAME_BYTES]

    def _one(self, tenant: str, sha256: str) -> tuple[bytes, Index, float]:
        found = self._held.get(tenant, {}).get(sha256)
        if found is None:
            raise missing(sha256)
        return found
