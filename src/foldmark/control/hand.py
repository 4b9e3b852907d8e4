"""`session.control`: what people do with a session; each verb has a module beside it. Knows nothing of screens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from foldmark.checkpoint import Checkpoint
from foldmark.control.adopting import adopted
from foldmark.control.editing import edited, noted
from foldmark.control.erasing import erase
from foldmark.control.past import Compaction, Totals, compactions, totals
from foldmark.control.planning import planned, previewed
from foldmark.control.plans import Plan, Preview
from foldmark.control.setting import Setting, Wish
from foldmark.control.undoing import undone
from foldmark.control.wording import Told
from foldmark.policy import Policy
from foldmark.refs import event_ref
from foldmark.reports import Attempt, Report
from foldmark.store import View


class Control:
    """A person's hand on a session. What changes it (`edit`, `undo`, `adopt`) is one compare-and-swap: with `expected`
    (the version that somebody looked at) it raises StaleBoundary when another one came since."""

    def __init__(
        self, setting: Callable[[], Setting], *, lock: AbstractContextManager[Any],
        on_report: Callable[[Report], Any] | None = None,
    ) -> None:  # fmt: skip
        """`setting` gives the session as it stands, and is asked at every verb: a control that is kept acts on the fork
        to which the session moved since, under the system text of now."""
        self._setting, self._lock, self._on_report = setting, lock, on_report

    @property
    def _at(self) -> Setting:
        return self._setting()

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
        at = self._at
        return at.store.checkpoints(at.key)

    def compactions(self) -> list[Compaction]:
        """The history with its reasons: every version (kind, author, from which it was made, sizes, cost) and between
        them the attempts that came to nothing, oldest first."""
        at = self._at
        return compactions(at.store, at.key)

    def totals(self) -> Totals:
        """What the compactions of the scope took in this session, summed over the notes that there are (the newest
        10,000): attempts, calls, billed tokens, dollars."""
        at = self._at
        return totals(at.store, at.key)

    def attempts(self) -> list[Attempt]:
        """The newest attempts at a compaction, oldest first: outcome, trigger, sizes, calls, what they cost."""
        return list(self._view().attempts)

    def pins(self) -> list[int]:
        """Seqs of the pinned events, in order."""
        return sorted(self._view().pins)

    def _view(self) -> View:
        at = self._at
        return at.store.view(at.key)

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
        at = self._at
        seq = at.event_of(ref).seq  # of any scope: the pin holds wherever the event is seen
        noted(at.store, at.key, [seq] if pin else [], [] if pin else [seq])
        return event_ref(seq)

    def enlist(self) -> None:
        """Make the scope exist, as its first request would: from now on appends raise background work for it."""
        at = self._at
        at.store.enlist(at.key)

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

        Where nothing would change nothing is written: the report says so (`not_due`), and the prefix stays. What a
        person wrote stays until a model that has seen it tells anew, or a person does; of a narrative that is larger
        than later records show, and of a request at the cap, the report warns. Raises PolicyError for one that fits in
        no request, NotFound, StaleBoundary.
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
        """Take in a summary that was made elsewhere. It covers whole rounds up to its last event (`event_id`: its id or
        its ref, `event:12`) or before a time (`cutoff`, Unix seconds); where both are given, the event wins when it is
        known. Code writes the record of them as always; the summary stands in it as a quoted
        section that says whose it is and that nobody checked it, and stays in later ones until another is adopted.

        Raises PolicyError when it covers nothing here, takes more than half of the landing or is no text, and for a
        cutoff in milliseconds; NotFound for a ref that there is none of, StaleBoundary when another compaction won.
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
        at = self._at
        return erase(at.store, at.artifacts, at.key, descendants=descendants)
