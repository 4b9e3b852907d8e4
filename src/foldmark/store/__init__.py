"""What a store keeps and promises: the protocol and its values. Knows nothing of how (memory, SQLite) or of
flows.

`Store` is made of parts, one concern each, and every store is divided along the same lines: `sessions`, `events`,
`checkpoints` (with `state`), `lists`, `recall`, `work`. What is decided the same way in every place is written once:
`belonging` (whose a sub-agent is), `ground` (where a search looks), `refusing`, and `foldmark.log`.

Rules that every store obeys (the contract suite carries them from one to the next):

- `append` is one transaction: events, facts, units, pieces, full text and work rows, or nothing.
- seq rises strictly; a fork inherits by reference; queries take the lineage.
- same id and same content is a no-op, same id and other content is IdConflict.
- tenant and user come from the key, never from a query.
- what it gives stays as it was, whatever comes meanwhile; only the calls, state and counts of a `Context` are living.
- `open`, `context`, `append`, `describe` and `enlist` make the session if needed; whatever else asks for one raises
  NotFound when it is not there, but `children`, and `extend` and `settle`, which answer that there is nothing.
"""

from foldmark.store.calls import Calls, OpenCall
from foldmark.store.checkpoints import Checkpoints
from foldmark.store.events import ENDLESS, Context, Events, HeldBack
from foldmark.store.keys import Key, Sees, sees
from foldmark.store.lists import Lists, Match
from foldmark.store.protocol import PARTS, Store, promised
from foldmark.store.recall import Recall
from foldmark.store.sessions import SessionInfo, Sessions
from foldmark.store.state import Awaited, Frame, Miss, ScopeState, View, meter_name
from foldmark.store.work import CLOCK_SKEW_SECONDS, Backlog, Raising, Work, Works

__all__ = [
    "CLOCK_SKEW_SECONDS",
    "ENDLESS",
    "PARTS",
    "Awaited",
    "Backlog",
    "Calls",
    "Checkpoints",
    "Context",
    "Events",
    "Frame",
    "HeldBack",
    "Key",
    "Lists",
    "Match",
    "Miss",
    "OpenCall",
    "Raising",
    "Recall",
    "ScopeState",
    "Sees",
    "SessionInfo",
    "Sessions",
    "Store",
    "View",
    "Work",
    "Works",
    "meter_name",
    "promised",
    "sees",
]
