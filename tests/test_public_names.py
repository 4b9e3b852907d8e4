"""What `from foldmark import …` offers is chosen, sorted and explained."""

from __future__ import annotations

import inspect
from types import ModuleType

import foldmark

PROMISED = {
    "BudgetExceeded", "Event", "FoldmarkError", "HasForks", "HeadMoved", "IdConflict", "Image", "MemoryStore",
    "NotFound", "Policy", "PolicyError", "Price", "Reasoning", "Recorded", "SQLiteStore", "SchemaTooNew", "Session",
    "StaleBoundary", "StoreError", "SummarizerFailed", "SummaryError", "SummaryRejected", "Text", "ToolCall",
    "ToolResult", "Usage", "WireError", "assistant", "injected", "result", "user",
}  # fmt: skip


def test_no_promised_name_ever_disappears() -> None:
    assert set(foldmark.__all__) >= PROMISED


def test_every_exported_name_is_there_once_and_in_order() -> None:
    assert foldmark.__all__ == sorted(set(foldmark.__all__))
    assert all(hasattr(foldmark, name) for name in foldmark.__all__)


def test_nothing_public_is_left_out_of_the_list() -> None:
    things = {name: thing for name, thing in vars(foldmark).items() if not isinstance(thing, ModuleType)}
    assert {name for name in things if not name.startswith("_")} == set(foldmark.__all__)


def test_every_exported_name_says_what_it_is_for() -> None:
    silent = [name for name in foldmark.__all__ if not inspect.getdoc(getattr(foldmark, name))]
    assert silent == []
