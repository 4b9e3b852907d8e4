"""foldmark keeps a long-running agent's context small, true and recoverable.

Summary owns current state, events own facts, retrieval owns evidence.
"""

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
