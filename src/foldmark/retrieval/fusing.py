"""Words and nearness in one ranking. Pure; knows nothing of stores and models.

Measured on dialogue: nearness alone finds half of what words find, and mixing the two rankings by place makes the
result worse than words alone. So scores are added, each side divided by its best, and nearness counts less (`weight`).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from foldmark.retrieval.ranking import Ranked
from foldmark.seeking import Finding, is_said
from foldmark.vectors import Nearest, Place

NEIGHBOUR = 0.2
"""What the nearness of the events right before and after counts for what was said (measured on dialogue: 0 to 0.3 are
alike, from 0.5 on the right turn itself falls behind); nothing where each was read with those before it (measured: from
0.1 on it takes more than it brings)."""

SHORT = 40
"""What was said in so many bytes of UTF-8 counts half of its nearness: a few words are near to everything. (Measured on
dialogue: 20 to 60 are alike and bring .006 of R@5; on tool results, which are longer, it did harm.)"""


def widened(finding: Finding, nearest: Nearest) -> Finding:
    """With what only nearness brought among what is judged."""
    known = {one.place for one in (*finding.found, *finding.near)}
    more = tuple(one for one in nearest.found if one.place not in known)
    return msgspec.structs.replace(finding, near=(*finding.near, *more))


def fused(
    judged: Sequence[Ranked], finding: Finding, nearest: Nearest, weight: float, neighbour: float = NEIGHBOUR
) -> list[Ranked]:
    """The candidates with both scores in one, on the scale of words where those matched anything. What has no vector
    keeps its score."""
    known = {one.found.place for one in judged}
    candidates = [*judged, *(Ranked(one, 0.0) for one in finding.near if one.place not in known)]
    events = _by_event(nearest.scores)
    near = [_nearness(one, nearest.scores, events, neighbour) for one in candidates]
    best, nearest_of_all = max((one.score for one in candidates), default=0.0) or 1.0, max(near, default=0.0)
    if nearest_of_all <= 0:
        return candidates
    share = weight * best / nearest_of_all
    return [
        msgspec.structs.replace(
            one, score=round(one.score + share * max(score, 0.0), 4), is_beside=one.is_beside and score <= 0
        )
        for one, score in zip(candidates, near, strict=True)
    ]


def _by_event(scores: dict[Place, float]) -> dict[tuple[str, int], float]:
    """The best piece of every event."""
    out: dict[tuple[str, int], float] = {}
    for (session, seq, _), score in scores.items():
        out[session, seq] = max(out.get((session, seq), score), score)
    return out


def _nearness(one: Ranked, scores: dict[Place, float], events: dict[tuple[str, int], float], neighbour: float) -> float:
    session, seq, _ = place = one.found.place
    own = scores.get(place)
    if own is None:
        return 0.0
    if not is_said(one.found.event):
        return own
    size = len(one.found.piece.text.encode("utf-8", "replace"))
    beside = sum(events.get((session, seq + step), 0.0) for step in (-1, 1))
    return (own + neighbour * beside) * size / (size + SHORT)
