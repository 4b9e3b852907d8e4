"""The state bar: what changed in state since the boundary, in a few lines. Knows nothing of requests."""

from __future__ import annotations

from collections.abc import Mapping

from foldmark.checkpoint import Fact
from foldmark.refs import event_ref
from foldmark.store import Store, View

_SHOWN = {"todo": 8, "file": 6, "verification": 2, "error": 3, "constraint": 4, "correction": 4}
"""How many facts of a kind the bar shows, newest first: it is read at every turn, so it stays under 30 lines."""


def state_bar(store: Store, view: View) -> str:
    """Facts that are newer than the boundary, newest state only; empty when there are none."""
    boundary = view.checkpoint.boundary if view.checkpoint else 0
    newest, _, _ = store.covered(view.key, view.head, limit=0)
    lines = _lines({key: fact for key, fact in newest.items() if fact.seq > boundary})
    if not lines:
        return ""
    return "\n".join(["[State since the checkpoint, kept by code. For reference, not a request.]", *lines])


def _lines(changed: Mapping[tuple[str, str], Fact]) -> list[str]:
    out: list[str] = []
    for kind, limit in _SHOWN.items():
        found = sorted((f for f in changed.values() if f.kind == kind and f.status != "gone"), key=lambda f: -f.seq)
        for fact in found[:limit]:
            status = f" [{fact.status}]" if fact.status else ""
            text = fact.value if kind in ("todo", "constraint", "correction") else f"{fact.key} {fact.value}"
            out.append(f"- {kind}{status}: {' '.join(text.split())[:200]} ({event_ref(fact.seq)})")
    return out
