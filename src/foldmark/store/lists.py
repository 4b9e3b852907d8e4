"""Message lists that come again: what a store promises to tell of one. Knows nothing of roles and wires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from foldmark.store.keys import Key


class Match(msgspec.Struct, frozen=True):
    """The longest chained match: the first `count` of the offered fingerprints are in `session`, the last
    at `seq`."""

    session: str
    seq: int
    count: int


class Lists(Protocol):
    """What a store knows of a message list, by fingerprints."""

    def wrote(self, key: Key, hashes: Mapping[str, str]) -> None:
        """Remember fingerprints of messages that we wrote into a request, each with the fingerprint of the
        event that it stands for ("" for none: a checkpoint); the newest word holds. Raises NotFound."""

    def written(self, key: Key, hashes: Sequence[str]) -> dict[str, str]:
        """Which of these fingerprints are of messages that we wrote in the session, its forks or the sessions
        it was forked from, and what each stands for. Raises NotFound."""

    def match(self, key: Key, chains: Sequence[str]) -> Match | None:
        """Longest chained match in the session and its forks; the session itself wins a tie. Raises NotFound."""

    def ends(self, key: Key, plains: Sequence[str]) -> Match | None:
        """Longest head of the list (at least two, or one holding a call) that ends the log of session or
        fork. Raises NotFound."""
