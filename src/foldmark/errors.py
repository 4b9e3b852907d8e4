"""The errors, one tree. Every message says what happened, to which id, and the next move.

    FoldmarkError
    ├─ PolicyError (ValueError)      an option makes no sense
    ├─ StoreError
    │   ├─ NotFound (LookupError)    session, event or artifact is not there
    │   ├─ IdConflict                same event id, other content
    │   ├─ HeadMoved                 another writer appended first; record again
    │   ├─ StaleBoundary             another version came first
    │   ├─ HasForks                  deleting would break other sessions
    │   └─ SchemaTooNew              written by a later version
    ├─ HookError                     a hook round append or read failed
    ├─ Vetoed                        a hook refused the events; nothing was recorded
    ├─ BudgetExceeded                even the floor does not fit
    ├─ ChildStopped                  a sub-agent reached a limit of its run
    ├─ SummaryError                  the session is unchanged
    │   ├─ SummaryRejected
    │   └─ SummarizerFailed
    ├─ EmbedderFailed                no usable vectors; search goes on by words
    └─ WireError                     a message we cannot read or must not send

Not due, nothing to clean and no hits are values, never exceptions.
"""

from __future__ import annotations


class FoldmarkError(Exception):
    """Base of every error that foldmark raises on purpose."""


class PolicyError(FoldmarkError, ValueError):
    """An option makes no sense. The message names the option and the allowed values."""


class StoreError(FoldmarkError):
    """The store cannot do what was asked."""


class NotFound(StoreError, LookupError):
    """A session, event, compaction or artifact is not there. `ref` is the address that was asked for."""

    def __init__(self, ref: str, message: str = "") -> None:
        super().__init__(message or f"Nothing is stored under {ref}. `foldmark search` finds refs that exist.")
        self.ref = ref


class IdConflict(StoreError):
    """The same event id arrived with other content. Both contents are carried (JSON text)."""

    def __init__(self, event_id: str, stored: str, offered: str) -> None:
        super().__init__(
            f"Event {event_id!r} is already recorded with other content. "
            "Events are immutable: give the new one an id of its own, or fork the session."
        )
        self.event_id, self.stored, self.offered = event_id, stored, offered


class HeadMoved(StoreError):
    """Another writer appended to the session between reading and appending. Nothing was written: try again."""

    def __init__(self, session: str, expected: int, found: int) -> None:
        super().__init__(f"Session {session!r} moved from seq {expected} to {found}; record again.")
        self.session, self.expected, self.found = session, expected, found


class StaleBoundary(StoreError):
    """Another version of the scope's record was written first, or the lease of the work was lost (then both versions
    are the same). Nothing was written."""

    def __init__(self, expected: int, found: int) -> None:
        won = (
            f"The record is at version {found}, not {expected}: another compaction, edit or undo came first. Nothing "
            "was written; a compaction may be left at that, an edit should look again and be made anew."
        )
        lost = (
            f"The lease of this work ended (the record is still at version {found}): another worker has it. Nothing "
            "was written; safe to ignore."
        )
        super().__init__(lost if expected == found else won)
        self.expected, self.found = expected, found


class HasForks(StoreError):
    """Deleting this session would break sessions that inherit from it. `forks` names them."""

    def __init__(self, session: str, forks: tuple[str, ...]) -> None:
        super().__init__(
            f"Session {session!r} has {len(forks)} dependent session(s): {', '.join(forks)}. "
            "Delete them first, or pass descendants=True (on the command line --descendants)."
        )
        self.session, self.forks = session, forks


class SchemaTooNew(StoreError):
    """The database was written by a later version of foldmark."""


class HookError(FoldmarkError):
    """A hook round append or read failed or broke its contract. Of an append nothing was recorded, of a read nothing
    is shown. The cause is chained."""


class Vetoed(FoldmarkError):
    """A hook refused events: nothing of the batch was recorded. A hook raises it with a `reason`; whoever records gets
    it with the `session`, the `ids` of the events that had one, and the `hook` as well."""

    def __init__(self, reason: str, *, session: str = "", ids: tuple[str, ...] = (), hook: str = "") -> None:
        named = f" ({', '.join(ids)})" if ids else ""
        super().__init__(
            f"The hook {hook} refused the events{named} offered to session {session!r}: {reason}. "
            "Nothing of the batch was recorded: change them, or record the others without them."
            if session
            else reason
        )
        self.reason, self.session, self.ids, self.hook = reason, session, ids, hook


class BudgetExceeded(FoldmarkError):
    """Even the smallest valid request does not fit. `lines` is the arithmetic: (part, tokens) pairs."""

    def __init__(self, message: str, lines: tuple[tuple[str, int], ...] = ()) -> None:
        table = "".join(f"\n  {tokens:>9,}  {part}" for part, tokens in lines)
        super().__init__(message + table)
        self.lines = lines


class ChildStopped(FoldmarkError):
    """A sub-agent reached a limit of its run, or its time is over: it should end now. What it recorded is kept, and
    whoever started it gets a report. `reason` says which limit."""

    def __init__(self, session: str, reason: str) -> None:
        super().__init__(f"Sub-agent {session!r} has to stop: {reason}. All it recorded is kept; return from the run.")
        self.session, self.reason = session, reason


def words_of_error(error: BaseException) -> str:
    """An error's type and message, for a report. It may be anybody's: one whose message cannot be read is told by its
    type."""
    name = type(error).__name__
    try:
        return f"{name}: {error}"
    except Exception:
        return f"{name}, whose message cannot be read"


def needs_extra(what: str, extra: str) -> str:
    """The sentence for a package that is not installed: `what` needs it, and the extra of foldmark that brings it."""
    return f"{what}: install foldmark with its `{extra}` extra (from a checkout: pip install '.[{extra}]')."


class SummaryError(FoldmarkError):
    """A model was asked for a summary and none could be used. The session is unchanged."""


class SummaryRejected(SummaryError):
    """The summary failed validation. `reasons` says why."""

    def __init__(self, reasons: tuple[str, ...]) -> None:
        super().__init__("The summary was rejected: " + "; ".join(reasons))
        self.reasons = reasons


class SummarizerFailed(SummaryError):
    """The model call failed. `retryable` says whether trying again can help; the cause is chained."""

    def __init__(self, message: str, *, retryable: bool) -> None:
        super().__init__(message)
        self.retryable = retryable


class EmbedderFailed(FoldmarkError):
    """An embedder gave no usable vectors. Searches go on by words; vectors that are kept stay."""


class WireError(FoldmarkError):
    """A message that we cannot read or must not send. `path` is the place inside it, e.g. `messages[3].content`."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
