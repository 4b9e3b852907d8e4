"""Takes all thinking out of a transcript, for providers that refuse a signature which nobody can check here. Knows
nothing of how each format keeps it; a Talk says that."""

from __future__ import annotations

from collections.abc import Iterator

from foldmark.doctor.talk import Talk
from foldmark.doctor.values import Mend


def thinking_mends(talk: Talk) -> Iterator[Mend]:
    """One mend for each block, item or field of thinking; what depends on its id leaves with it."""
    for path, apply in talk.thinking():
        yield Mend(path, "without_thinking", "holds thinking.", "the thinking is left out whole, as asked", apply)
