"""Call ids that come back in a later step: one number for each. Knows nothing of providers or events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_STEM_LIMIT = 58
"""Characters of an id that stay before its number: Anthropic and the Responses API take ids of up to 64."""


def make_unique(
    calls: Iterable[dict[str, Any]],
    answers: Iterable[dict[str, Any]],
    used: dict[str, Any],
    *,
    call_key: str,
    answer_key: str,
) -> None:
    """Give the calls of a step (under `call_key`) ids that no earlier step used, and the same ones to their answers.

    An id that was used gets the first free number behind it. `used` holds the ids that are taken, and behind a NUL and
    the stem (no id holds a NUL) the number to look from: without it, every step would count from 2 again.
    """
    renamed: dict[str, list[str]] = {}
    for call in calls:
        call_id = call[call_key]
        if call_id in used:
            call[call_key] = _numbered(call_id[:_STEM_LIMIT], used)
        renamed.setdefault(call_id, []).append(call[call_key])
        used[call[call_key]] = None
    for answer in answers:
        if ids := renamed.get(answer[answer_key]):
            answer[answer_key] = ids.pop(0) if len(ids) > 1 else ids[0]


def _numbered(stem: str, used: dict[str, Any]) -> str:
    # A list that is written on from a remembered part brings the keys without their numbers.
    number = used.get(f"\0{stem}") or 2
    while f"{stem}_{number}" in used:
        number += 1
    used[f"\0{stem}"] = number + 1
    return f"{stem}_{number}"
