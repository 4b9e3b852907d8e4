"""Sub-agents with a context of their own: a child session for a call, a run within limits, one report for the parent.

    report = delegate(session, call, run, limits=RunLimits(rounds=20, timeout_seconds=300))

`run(child)` is your own loop. The parent gets one tool result; the sub-agent's whole log stays in its session, where
`search(where="children")` and `load("event:3@…")` find it. Knows nothing of models, tools and frameworks.
"""

from foldmark.children.beginning import ChildSession, open_child
from foldmark.children.limits import RunLimits, Spent
from foldmark.children.listing import Child, children_of
from foldmark.children.reporting import ChildReport, conclude, report_of
from foldmark.children.running import AsyncRun, Run, delegate, delegate_async
from foldmark.children.telling import Outcome
from foldmark.errors import ChildStopped

__all__ = [
    "AsyncRun",
    "Child",
    "ChildReport",
    "ChildSession",
    "ChildStopped",
    "Outcome",
    "Run",
    "RunLimits",
    "Spent",
    "children_of",
    "conclude",
    "delegate",
    "delegate_async",
    "open_child",
    "report_of",
]
