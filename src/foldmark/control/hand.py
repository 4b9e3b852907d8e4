"""`session.control`: what people do with a session; each verb has a module beside it. Knows nothing of screens."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from foldmark.artifacts import Artifacts
from foldmark.checkpoint import Checkpoint
from foldmark.control.adopting import adopted
from foldmark.control.editing import edited, noted
from foldmark.control.past import Compaction, Totals, compactions, totals
from foldmark.control.planning import planned, previewed
from foldmark.control.plans import Plan, Preview
from foldmark.control.setting import Setting, Wish
from foldmark.control.undoing import undone
from foldmark.control.wording import Told
from foldmark.lineage import Line
from foldmark.outgoing import Outgoing
from foldmark.policy import Policy
from foldmark.refs import event_ref
from foldmark.reports import Attempt, Report
from foldmark.store import Store
from foldmark.summarizer import Resolver, Summarizer


class Control:
    """A person's hand on a session. What changes it (`edit`, `undo`, `adopt`) is one compare-and-swap: with `expected`
    (the version that somebody looked at) it raises StaleBoundary when another one came since."""

    def __init__(
        self, store: Store, artifacts: Artifacts, line: Line, out: Outgoing, *, clock: Callable[[], float],
        lock: AbstractContextManager[Any], summarizer: Summarizer | Resolver | None = None,
        on_report: Callable[[Report], Any] | None = None,
    ) -> None:  # fmt: skip
        self._at = Setting(store, artifacts, line, out, clock, summarizer)
        self._store, self._artifacts, self._key, self._lock = store, artifacts, line.key, lock
        self._on_report = on_report

    # -- see

    def plan(
        self, *, force: bool = False, focus: str = "", upto: str = "", window: int | None = None,
        max_output: int | None = None, context: Mapping[str, Any] | None = None, by_code: bool = False,
        policy: Policy | None = None,
    ) -> Plan:  # fmt: skip
        """What `compact` with the same arguments would do now: what goes, stays and is kept, sizes, price, cache. It is
        the compaction itself, run on a store that writes nothing; no model is asked, no hook of `around`, and nothing
        is written.

        `upto` (`event:120`) chooses what goes: whole rounds up to there. `focus` chooses nothing: it only says what the
        record should tell more of. `print(plan)` shows it in ten lines.
        """
        wish = Wish(force, focus, upto, window, max_output, context or {}, by_code, policy)
        with self._lock:
            return planned(self._at, wish)

    def preview(
        self, *, force: bool = False, focus: str = "", upto: str = "", window: int | None = None,
        max_output: int | None = None, context: Mapping[str, Any] | None = None, by_code: bool = False,
        policy: Policy | None = None,
    ) -> Preview:  # fmt: skip
        """The plan, with the text of the record that code would write and the next request as it would go out."""
        wish = Wish(force, focus, upto, window, max_output, context or {}, by_code, policy)
        with self._lock:
            return previewed(self._at, wish)

    def history(self) -> list[Checkpoint]:
        """Every version of the scope's record, oldest first, with its text."""
        return self._store.checkpoints(self._key)

    def compactions(self) -> list[Compaction]:
        """The history with its reasons: every version (kind, author, from which it was made, sizes, cost) and between
        them the attempts that came to nothing, oldest first."""
        return compactions(self._store, self._key)

    def totals(self) -> Totals:
        """What the compactions of the scope took in this session, summed: attempts, calls, billed tokens, dollars."""
        return totals(self._store, self._key)

    def attempts(self) -> list[Attempt]:
        """The newest attempts at a compaction, oldest first: outcome, trigger, sizes, calls, what they cost."""
        return list(self._store.view(self._key).attempts)

    def pins(self) -> list[int]:
        """Seqs of the pinned events, in order."""
        return sorted(self._store.view(self._key).pins)

    def seq_of(self, ref: str) -> int:
        """The seq of an event that the scope sees. Raises NotFound."""
        return self._at.seq_of(ref)

    # -- steer

    def pin(self, ref: str) -> str:
        """Keep an event verbatim in every request after the next compaction. Raises NotFound."""
        return self._pin(ref, pin=True)

    def unpin(self, ref: str) -> str:
        """Let a pinned event be covered again, from the next compaction on. Raises NotFound."""
        return self._pin(ref, pin=False)

    def _pin(self, ref: str, *, pin: bool) -> str:
        seq = self._at.event_of(ref).seq  # of any scope: the pin holds wherever the event is seen
        noted(self._store, self._key, [seq] if pin else [], [] if pin else [seq])
        return event_ref(seq)

    def enlist(self) -> None:
        """Make the scope exist, as its first request would: from now on appends raise background work for it."""
        self._store.enlist(self._key)

    def edit(
        self, narrative: Told | None = None, *, pin: Sequence[str] = (), unpin: Sequence[str] = (), author: str = "",
        expected: int | None = None,
    ) -> Report:  # fmt: skip
        """Change what the record tells, and what it shows verbatim, at the same boundary: a new version with its
        author. Facts, excerpts and names stay as code wrote them.

        `narrative` is a mapping of the fields that change (`{"next_steps": ["Run the ledger tests"], "decisions":
        [{"text": "Keep the schema", "refs": ["event:12"], "why": "a migration needs a window"}]}`; `[]` empties one),
        or a function from the old items to the new ones. At most 12 items a field of 240 characters each. A line is
        marked as unverified unless the events that it names (or those that code finds) hold it. `pin` and `unpin` are
        refs; they take force at once, and are noted right behind the commit.

        Raises PolicyError, NotFound, StaleBoundary.
        """
        with self._lock:
            report = edited(self._at, narrative, pin, unpin, author, expected, Wish())
        return self._told(report)

    def undo(self, to: int | str | None = None, *, expected: int | None = None, window: int | None = None) -> Report:
        """Bring the record before the newest one back (or `to`: `"compaction:2"`, 2; 0: before any): the very prompt of
        then, and behind it what was recorded since. It is a new version; nothing is lost, so an undo can be undone.

        Until one landing of tokens was added, nothing but the cap (or force) compacts again. Raises NotFound for a
        version that there is none of, StaleBoundary when another compaction won.
        """
        with self._lock:
            report = undone(self._at, to, expected, Wish(window=window))
        return self._told(report)

    def adopt(
        self, text: str, *, event_id: str = "", cutoff: float | None = None, author: str = "",
        expected: int | None = None,
    ) -> Report:  # fmt: skip
        """Take in a summary that was made elsewhere. It covers whole rounds up to its last event (`event_id`) or before
        a time (`cutoff`, Unix seconds). Code writes the record of them as always; the summary stands in it as a quoted
        section that says whose it is and that nobody checked it, and stays in later ones until another is adopted.

        Raises PolicyError when it covers nothing here or takes more than half of the landing, StaleBoundary when
        another compaction won.
        """
        with self._lock:
            report = adopted(self._at, text, event_id, cutoff, author, expected, Wish())
        return self._told(report)

    def _told(self, report: Report) -> Report:
        if self._on_report:
            self._on_report(report)  # outside the lock: it is the caller's code
        return report

    def delete(self, *, descendants: bool = False) -> int:
        """Erase the session with all that hangs on it; returns how many artifact bodies went.

        Raises HasForks when other sessions inherit from it, unless `descendants` is True.
        """
        started = time.time()
        gone = self._store.delete(self._key, descendants=descendants)
        gone = tuple(set(gone) - self._store.hashes(self._key.tenant))  # another session may have recorded one since
        return self._artifacts.delete(self._key.tenant, gone, before=started)
