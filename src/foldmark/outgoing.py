"""What goes out of a session: requests for whoever runs, compactions on the way to them, and what comes back about
both. Knows nothing of how events come in, and of locks.

A method is told the line that it is about: a session may move on while a model is asked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

import msgspec

from foldmark import flows
from foldmark.around import Around
from foldmark.artifacts import Artifacts
from foldmark.asking import Ask
from foldmark.drafts import Request
from foldmark.events import Event
from foldmark.framing import Framing, Said
from foldmark.gauging import gauge
from foldmark.joining import refused_again
from foldmark.keeping import ruled
from foldmark.lineage import Line
from foldmark.matter import Parent
from foldmark.noticing import Notices
from foldmark.observing import Sent, observed, reply_in
from foldmark.offering import size_of, wire_of
from foldmark.overflowing import learned_limit
from foldmark.policy import Policy
from foldmark.reports import Raised, Report
from foldmark.rounds import between_calls
from foldmark.spending import coming
from foldmark.store import Frame, ScopeState, Store, Work
from foldmark.summarizer import Occasion, Resolver, Summarizer
from foldmark.telling import tell
from foldmark.triggers import expected_next
from foldmark.wire import Overflow, by_name


class Outgoing:
    """The requests of one session object, and what it remembers between them."""

    def __init__(
        self, store: Store, artifacts: Artifacts, policy: Policy | None, clock: Callable[[], float], notices: Notices,
        around: Around | None,
    ) -> None:  # fmt: skip
        self._store, self._artifacts, self._clock = store, artifacts, clock
        self._notices, self._around = notices, around
        self._framing = Framing(policy)
        self._awaited: Sent | None = None  # the last request built here, until its reply comes
        self._last: Request | None = None  # the last request built here
        self._raised: deque[Work] = deque()  # work that what came in has raised, until somebody is told

    def policy(self, line: Line, given: Policy | None = None) -> Policy:
        """The policy for the model that runs: the one `given` for this once, else the session's."""
        return self._framing.policy(line.tools, given)

    @property
    def given(self) -> Policy | None:
        """The session's own policy as it was given, without the settings of the model that runs."""
        return self._framing.given

    def frame(self, line: Line, said: Said = Said()) -> Frame:
        """The frame of what is said now, as `Framing.frame`. Raises PolicyError for what makes no sense."""
        said = said._replace(
            window=size_of("window", said.window), max_output=size_of("max_output", said.max_output, 0),
            wire=wire_of(said.wire),
        )  # fmt: skip
        return self._framing.frame(self._state(line), line.system, line.tools, said, is_told=line.is_told)

    def last_window(self, line: Line) -> int | None:
        """The window of the last request, where somebody said it: what a compaction without one is for."""
        last = self._framing.last or self._state(line).frame
        return last.window if last and not last.assumed else None

    def keep(self, frame: Frame) -> None:
        """The next frame goes on from this one: it was of use. What was refused is not remembered."""
        self._framing.last = frame

    def build(self, line: Line, frame: Frame, policy: Policy | None = None, *, peek: bool = False) -> Request:
        """The request of that line as it stands. With `peek` nothing is stored and no reply is expected."""
        made = flows.request(
            self._store, self._artifacts, self.policy(line, policy), line.key, frame=frame, now=self._clock(),
            system=line.system, tools=line.tools, wire=by_name(frame.wire), peek=peek,
        )  # fmt: skip
        if not peek:
            self.keep(frame)
            self._awaited, self._last = Sent(frame, made), made
            self._framing.sent(frame)
        return made

    def compaction(
        self, line: Line, given: Summarizer | Resolver | None, occasion: Occasion, policy: Policy | None = None, *,
        sync: bool = True,
    ) -> Generator[Ask, Any, Report]:  # fmt: skip
        """The steps of a compaction of that line, as `tell`; a fork clones the request that would go out of it now."""
        parent = Parent(lambda: self.build(line, occasion.frame, policy, peek=True).without_preload(), self._last)
        return tell(
            self._store, self.policy(line, policy), given, occasion, clock=self._clock, parent=parent, sync=sync,
            around=self._around, on_report=self._notices.report if self._notices else None,
        )  # fmt: skip

    def on_the_way(
        self, line: Line, given: Summarizer | Resolver | None, occasion: Occasion, policy: Policy | None = None, *,
        sync: bool = True,
    ) -> Generator[Ask, Any, Report]:  # fmt: skip
        """The steps of the compaction in front of a request, as `policy.run` says: whatever is due (`inline`), what is
        due between two model calls of one run (`intra_run`), else what cannot wait any longer, by code alone."""
        running, how = between_calls(self._store.view(line.key).events), self.policy(line, policy).run
        if running:
            occasion = msgspec.structs.replace(occasion, run="intra_run")
        if how == "inline" or (how == "intra_run" and running):
            return self.compaction(line, given, occasion, policy, sync=sync)
        return self.compaction(line, None, msgspec.structs.replace(occasion, cap_only=True), policy)

    def observe(self, line: Line, events: Iterable[Event]) -> None:
        """Learn from the usage that the reply to our last request reports, when it is among these events."""
        sent, reply = self._awaited, reply_in(events, line.key)
        if sent is None or reply is None:
            return
        self._awaited = None  # later replies answer requests that were not built here
        if reply.usage and reply.usage.input:
            self._framing.model = sent.frame.model or reply.model or self._framing.model  # whose prices count now
            state = self._state(line)
            new = observed(state, sent, reply, self.policy(line).prices)
            self._store.sent(line.key, new, expected=state.mark)

    def raised(self, work: Sequence[Work]) -> None:
        """What came in has raised work. Under the session's lock."""
        if self._notices.observer is not None:
            self._raised += work

    def tell_raised(self) -> None:
        """Tell the observer which scopes got work since the last time. To be called without the lock."""
        while True:
            try:
                work = self._raised.popleft()
            except IndexError:  # another thread told the rest
                return
            key, now = work.key, self._clock()
            self._notices.raised(
                Raised(what="raised", session=key.session, scope=key.scope, wanted=work.wanted, time=now)
            )

    def overflow(self, frame: Frame, error: Any) -> Overflow | None:
        """What a provider's refusal says of size, read as the frame's wire reads it; None when it says nothing."""
        return by_name(frame.wire).overflow(error)

    def learn(self, line: Line, frame: Frame, found: Overflow) -> Report | None:
        """Learn the limit that a refusal names. The report of a second refusal at the same event; None at the first."""
        view = self._store.view(line.key)
        new = learned_limit(view.state, frame, found, view.head)
        self._store.sent(line.key, new, expected=view.state.mark)
        return refused_again(view, self._clock()) if view.head and view.state.overflowed == view.head else None

    def next_compaction(self, line: Line, given: Summarizer | Resolver | None) -> tuple[int, str]:
        """(size of the whole request at which the next compaction is expected, why)."""
        frame, now, policy = self.frame(line), self._clock(), self.policy(line)
        view, _ = ruled(self._store.view(line.key), frame, policy)
        size = gauge(view, frame, policy, now)
        call = coming(given if isinstance(given, Summarizer) else None, policy, view, size, now)
        first, held = view.checkpoint is None, view.state.held
        return expected_next(policy, size.room, size.sizes, first=first, call=call, held=held)

    def _state(self, line: Line) -> ScopeState:
        return self._store.view(line.key).state
