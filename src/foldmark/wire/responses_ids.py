"""Ids of items: which may go out. Knows nothing of events.

The API refuses an id whose reasoning is gone, reasoning with nothing behind it, and an id that stands twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from foldmark.wire.grouping import UsedIds
from foldmark.wire.responses_items import CALLS, ID_PREFIXES, Item

ID_LIMIT = 64

_ITEM_ID = re.compile(r"[a-zA-Z0-9_-]{0,63}[a-zA-Z0-9-]\Z")
_LOOSE = frozenset(["message", *CALLS])
"""Items that the API takes without an id of their own, if it must be."""
_NAMED = frozenset(["local_shell_call", "computer_call"])
"""Calls whose id is documented as required: without one only when there is no other way."""


def is_valid_id(item: Mapping[str, Any]) -> bool:
    """Whether the API takes the id of an item: its alphabet, its length, and the prefix of its type."""
    item_id = item.get("id")
    prefix = ID_PREFIXES.get(str(item.get("type")), "")
    return isinstance(item_id, str) and item_id.startswith(prefix) and bool(_ITEM_ID.match(item_id))


def settled(found: Iterable[Item | None], is_reasoned: bool, used: UsedIds) -> list[Item]:
    """Items of a step whose ids may go out. None stands for reasoning that cannot go back; `used` holds the ids (behind
    a `#`) of items that were written before. `is_reasoned` says that reasoning came with the step once."""
    out: list[Item] = []
    is_bound = False
    for item in found:
        kind = item["type"] if item else "reasoning"
        is_free = item is not None and ("id" not in item or (f"#{item['id']}" not in used and is_valid_id(item)))
        if kind == "reasoning":
            is_bound = is_free
        if item and is_free and (is_bound or _stands_alone(kind, is_reasoned)):
            out.append(item)
            used.update({f"#{item['id']}": None} if "id" in item else {})
        elif item and kind in _LOOSE:
            unbound = ("id", "status") if kind == "message" else ("id",)
            out.append({field: value for field, value in item.items() if field not in unbound})
    while out and out[-1]["type"] == "reasoning":
        used.pop(f"#{out.pop().get('id')}", None)
    return out


def _stands_alone(kind: str, is_reasoned: bool) -> bool:
    """Whether an item keeps its id with no reasoning before it: in steps that never had any, where it needs one."""
    return kind == "compaction" or (not is_reasoned and (kind not in _LOOSE or kind in _NAMED))
