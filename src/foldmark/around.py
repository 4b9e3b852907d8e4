"""Your code round one attempt at a compaction: it sees the plan, may protect events or stop it, and hears what came of
it. Knows nothing of how a plan is made.

Called once before and once after every attempt that really starts: one that is due and would make the request smaller.
Nothing is asked below a threshold, and nothing while a person only looks at a plan. Hooks run without the session's
lock.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from inspect import iscoroutinefunction
from typing import Any

import msgspec

from foldmark.errors import PolicyError, words_of_error
from foldmark.reports import Attempt, Report, Run

LOG = logging.getLogger("foldmark")


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """What an attempt is about to do. `trigger`, `value` and `threshold` say why; `boundary` is where it would stand
    and `was` where it stands (seqs, 0 for none). `covered`, `kept` and `tail` are seqs: newly covered, covered and
    shown all the same, raw behind the boundary; `leaving` were kept by the last compaction and are no more. Sizes in
    tokens: of the covered events and of the tail as they are
    shown, of the request `before`, and the `target`."""

    session: str
    scope: str
    run: Run
    trigger: str
    value: float
    threshold: float
    was: int
    boundary: int
    covered: tuple[int, ...]
    kept: tuple[int, ...]
    leaving: tuple[int, ...]
    tail: tuple[int, ...]
    covered_tokens: int
    tail_tokens: int
    before: int
    target: int


class Protect(msgspec.Struct, frozen=True):
    """Keep these seqs verbatim in this compaction, as if they were pinned (only this once)."""

    seqs: tuple[int, ...]

    def __post_init__(self) -> None:
        given: Any = self.seqs
        seqs = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (None,)
        if any(isinstance(seq, bool) or not isinstance(seq, int) for seq in seqs):
            raise PolicyError(f"Protect({given!r}) takes the seqs of events, as Planned.covered holds them.")
        msgspec.structs.force_setattr(self, "seqs", seqs)


class Veto(msgspec.Struct, frozen=True):
    """Do not compact now; `reason` stands in the report, whose outcome is `deferred`."""

    reason: str = "a hook held it back"


class Around(msgspec.Struct, frozen=True, kw_only=True):
    """Hooks round an attempt. What one raises is logged and the attempt goes on, unless `abort`: then the error of
    `before` stops it, as a PolicyError, and nothing is changed."""

    before: Callable[[Planned], Protect | Veto | None] | None = None
    """Gets the plan; may return Protect or Veto."""
    after: Callable[[Planned, Report], Any] | None = None
    """Gets the plan and the report of what came of it: applied, degraded, failed, ineffective, deferred."""
    abort: bool = False
    """Whether an error of `before` stops the attempt."""

    def __post_init__(self) -> None:
        for name, hook in (("before", self.before), ("after", self.after)):
            if hook is not None and (not callable(hook) or iscoroutinefunction(hook)):
                raise PolicyError(f"around.{name} takes a plain function; hand what is async to your loop from there.")


class Consulted:
    """The hooks of one attempt: whom the plan is shown to, the plan that was shown (None until then), the note of an
    attempt that was broken off, and the version of the record that it `was` to replace."""

    def __init__(self, around: Around | None) -> None:
        self._around = around
        self.planned: Planned | None = None
        self.broken: Attempt | None = None
        self.was: int | None = None

    @property
    def wants(self) -> bool:
        """Whether anybody wants to see the plan."""
        return self._around is not None and bool(self._around.before or self._around.after)

    def ask(self, planned: Planned) -> Protect | Veto | None:
        """What the hook says to a plan. Raises PolicyError for an answer that is none of the three or names events that
        the plan does not hold, and for an error where `abort` is set."""
        self.planned = planned
        hook = self._around.before if self._around else None
        if self._around is None or hook is None:
            return None
        try:
            said = hook(planned)
        except Exception as error:
            words = f"around.before failed ({words_of_error(error)})"
            if self._around.abort:
                raise PolicyError(f"{words}. Nothing was changed.") from error
            LOG.warning("%s; session %s is compacted all the same", words, planned.session)
            return None
        if isinstance(said, Protect):
            _check(said, planned)
        elif said is not None and not isinstance(said, Veto):
            raise PolicyError(f"around.before returned {said!r}; it gives Protect(seqs), Veto(reason) or None.")
        return said

    def tell(self, report: Report) -> None:
        """Tell the hook what came of the plan that it was shown."""
        if self._around is None or self._around.after is None or self.planned is None:
            return
        try:
            self._around.after(self.planned, report)
        except Exception as error:
            LOG.warning("around.after failed (%s) in session %s", words_of_error(error), self.planned.session)


def _check(said: Protect, planned: Planned) -> None:
    known = {*planned.covered, *planned.kept, *planned.leaving, *planned.tail}
    if strange := sorted(seq for seq in said.seqs if seq not in known):
        raise PolicyError(f"around.before protects {strange}, which the plan does not hold; see Planned.covered.")
