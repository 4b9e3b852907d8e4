"""foldmark keeps a long-running agent's context small, true and recoverable.

Summary owns current state, events own facts, retrieval owns evidence.

A name is loaded when it is first asked for: `foldmark --help`, or a program that needs one module, does not wait for
all of them.
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from foldmark.asking import Ask, ModelInfo, Reply
    from foldmark.checkpoint import Item
    from foldmark.errors import (
        BudgetExceeded,
        FoldmarkError,
        HasForks,
        HeadMoved,
        IdConflict,
        NotFound,
        PolicyError,
        SchemaTooNew,
        StaleBoundary,
        StoreError,
        SummarizerFailed,
        SummaryError,
        SummaryRejected,
        WireError,
    )
    from foldmark.events import (
        Event,
        Image,
        Reasoning,
        Text,
        ToolCall,
        ToolResult,
        Usage,
        assistant,
        injected,
        result,
        user,
    )
    from foldmark.memory import MemoryStore
    from foldmark.policy import Policy
    from foldmark.prices import Price
    from foldmark.session import Recorded, Session
    from foldmark.sqlite import SQLiteStore
    from foldmark.summarizer import Hooks, Limits, Occasion, Prompt, Summarizer

__version__ = "0.1.0"

__all__ = [
    "Ask",
    "BudgetExceeded",
    "Event",
    "FoldmarkError",
    "HasForks",
    "HeadMoved",
    "Hooks",
    "IdConflict",
    "Image",
    "Item",
    "Limits",
    "MemoryStore",
    "ModelInfo",
    "NotFound",
    "Occasion",
    "Policy",
    "PolicyError",
    "Price",
    "Prompt",
    "Reasoning",
    "Recorded",
    "Reply",
    "SQLiteStore",
    "SchemaTooNew",
    "Session",
    "StaleBoundary",
    "StoreError",
    "Summarizer",
    "SummarizerFailed",
    "SummaryError",
    "SummaryRejected",
    "Text",
    "ToolCall",
    "ToolResult",
    "Usage",
    "WireError",
    "assistant",
    "injected",
    "result",
    "user",
]

_NAMES = {
    "asking": "Ask ModelInfo Reply",
    "checkpoint": "Item",
    "errors": (
        "BudgetExceeded FoldmarkError HasForks HeadMoved IdConflict NotFound PolicyError SchemaTooNew "
        "StaleBoundary StoreError SummarizerFailed SummaryError SummaryRejected WireError"
    ),
    "events": "Event Image Reasoning Text ToolCall ToolResult Usage assistant injected result user",
    "memory": "MemoryStore",
    "policy": "Policy",
    "prices": "Price",
    "session": "Recorded Session",
    "sqlite": "SQLiteStore",
    "summarizer": "Hooks Limits Occasion Prompt Summarizer",
}
"""Module -> the names it gives; the imports above say the same to whatever reads types."""
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

if not _typing.TYPE_CHECKING:  # else every name would be one

    def __getattr__(name: str) -> object:
        """A public name or a module of the package, when it is first asked for."""
        if name.startswith("_") or not name.isidentifier():
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if home := _HOMES.get(name):
            globals()[name] = found = getattr(_importlib.import_module(f"{__name__}.{home}"), name)
            return found
        try:
            return _importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
