"""foldmark keeps a long-running agent's context small, true and recoverable.

Summary owns current state, events own facts, retrieval owns evidence.
"""

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

__version__ = "0.1.0"

__all__ = [
    "BudgetExceeded",
    "Event",
    "FoldmarkError",
    "HasForks",
    "HeadMoved",
    "IdConflict",
    "Image",
    "MemoryStore",
    "NotFound",
    "Policy",
    "PolicyError",
    "Price",
    "Reasoning",
    "Recorded",
    "SQLiteStore",
    "SchemaTooNew",
    "Session",
    "StaleBoundary",
    "StoreError",
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
