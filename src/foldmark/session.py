"""A session: five verbs (record, request, compact, search, load), `follow`, `explain`, and `control` for people.

Knows nothing of frameworks. A session may be used from several threads and several processes.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from hashlib import blake2b
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn
from uuid import uuid4

import msgspec

from foldmark import flows
from foldmark.artifacts import Artifacts
from foldmark.asking import Ask, Model
from foldmark.budget import UNKNOWN_WINDOW, with_usage
from foldmark.control import Control
from foldmark.drafts import Request, static_tokens
from foldmark.driving import drive, place
from foldmark.errors import HeadMoved, NotFound, PolicyError
from foldmark.events import Event
from foldmark.explain import entries
from foldmark.following import Followed, follow
from foldmark.gauging import gauge
from foldmark.matter import Parent
from foldmark.media_prices import difference
from foldmark.memory import MemoryStore
from foldmark.overflowing import learned_limit
from foldmark.policy import Policy
from foldmark.profiles import profile_of
from foldmark.redact import redactor
from foldmark.refs import event_ref
from foldmark.reports import Entry, Report
from foldmark.resolving import chosen, resolved
from foldmark.retrieval import Hit, Loaded
from foldmark.rounds import in_flight
from foldmark.spending import coming
from foldmark.store import Context, Frame, Key, Sees, SessionInfo, Store, View, Where
from foldmark.summarizer import Occasion, Resolver, Summarizer
from foldmark.triggers import expected_next
from foldmark.watching import misses_text, watched
from foldmark.wire import by_name, openai_chat
from foldmark.written import without_checkpoint

_BATCH = 500  # events a transaction: progress is visible, and a crash loses little
ASSUMED = "The context window is unknown; 128,000 tokens are assumed. Pass window= (--window) or set policy.window."
"""Said once by a session that nobody told."""
_APPEND_TRIES = 50  # other processes append between our read and our write; each try is a millisecond


class Recorded(msgspec.Struct, frozen=True):
    """What came of recording: the newest event's `ref` and `seq`, all `refs`, and how many were `known` already."""

    ref: str
    seq: int
    refs: tuple[str, ...] = ()
    known: int = 0


class Session:
    """One line of events and its next request.

    `store` defaults to a `MemoryStore`; `policy` to `coding()` when the tools run or write, else `chat()`.
    `scope` and `sees` filter inside the session. `clock` gives Unix seconds, `new_id` ids of forks.

    `model` (one, or a chain of them) writes the narrative of checkpoints; without one they are made by code alone.
    `summarizer` says more about how it is asked, or is a function of an `Occasion` that chooses one at run time: its
    models, prompt, hooks and limits by tenant, session or request. It is called when a compaction is due, under the
    lock, so it should be quick. When and how far is compacted stays with `policy`: by tenant and session it is given
    here, by request to `request` and `compact`.
    """

    awaits = False
    """Whether models may be async: set by the AsyncSession around it."""

    def __init__(
        self,
        session: str,
        *,
        store: Store | None = None,
        artifacts: Artifacts | None = None,
        policy: Policy | None = None,
        model: Model | Sequence[Model] | None = None,
        summarizer: Summarizer | Resolver | None = None,
        tenant: str = "local",
        user: str = "local",
        scope: str = "",
        sees: Sees = "all",
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: uuid4().hex[:12],
    ) -> None:
        self.store: Store = store if store is not None else MemoryStore()
        self.artifacts: Artifacts = artifacts if artifacts is not None else self.store.artifacts
        self.key = Key(session=session, tenant=tenant, user=user, scope=scope, sees=sees)
        self._policy, self._clock, self._new_id = policy, _finite(clock), new_id
        self.lock = threading.RLock()
        self._root = session
        self._system = ""
        self._tools: tuple[Mapping[str, Any], ...] = ()
        self._frame: Frame | None = None  # the last one that a request or a compaction was made for
        self._static = ("", 0)  # the static prefix that was counted last: its hash and its tokens
        self._sent: tuple[Frame, Request] | None = None  # the last request built here, until its reply comes
        self._assumption_was_said = False
        self._last: Request | None = None  # the last request built here
        self._model = ""  # who runs, by the last frame or reply
        self._for_model: tuple[Policy, str, Policy] = (Policy(), "", Policy())
        self.summarizer = chosen(model, summarizer, sync=True)
        self.info = self.store.open(self.key)
        self._restore()

    def _restore(self) -> None:
        """System text and tools of the last import or request, so that a reopened session can explain itself."""
        self._system = self.info.meta.get("system", "")
        self._tools = tuple(json.loads(self.info.meta.get("tools", "[]")))

    @property
    def name(self) -> str:
        """The session's id; `follow` may move on to a fork with another one."""
        return self.key.session

    @property
    def policy(self) -> Policy:
        """The policy for the model that runs: with its own settings, and its prices from the table."""
        plain = self._policy or _default_policy(self._tools)
        if self._for_model[:2] != (plain, self._model):
            self._for_model = (plain, self._model, plain.for_model(self._model))
        return self._for_model[2]

    def _under(self, policy: Policy | None) -> Policy:
        """The policy of one request or compaction: the one given for it, else the session's."""
        return self.policy if policy is None else policy.for_model(self._model)

    @property
    def control(self) -> Control:
        """What people do: pin, unpin, history, delete."""
        return Control(self.store, self.artifacts, self.key)

    @property
    def system(self) -> str:
        """System text of the next request, without the checkpoint; empty when none was said."""
        return self._system

    @property
    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """Tool schemas of the next request, as they were given."""
        return self._tools

    # -- events come in

    def record(self, *events: Event) -> Recorded:
        """Append events in one transaction. The same event twice is a no-op.

        Raises IdConflict when an id is known with other content.
        """
        with self.lock:
            for left in reversed(range(_APPEND_TRIES)):
                try:
                    done = self._append(events, None)
                    break
                except HeadMoved:
                    if not left:
                        raise
        seqs = sorted(event.seq for event in (*done.new, *done.known))
        refs = tuple(event_ref(seq) for seq in seqs)
        return Recorded(refs[-1] if refs else "", seqs[-1] if seqs else 0, refs, len(done.known))

    def _append(self, events: Sequence[Event], head: int | None) -> Context:
        """Record; with `head` only when the log still ends there. Raises HeadMoved."""
        done = flows.record(self.store, self.artifacts, self.policy, self.key, events, now=self._clock(), head=head)
        self._observe(done.new)
        return done

    def _observe(self, events: Sequence[Event]) -> None:
        """Calibrate by the usage that the reply to our last request reports. A sub-agent's reply, which the scope
        does not see, is none."""
        reply = next((one for one in events if one.role == "assistant" and self.key.shows(one)), None)
        if reply is None or self._sent is None:
            return
        (frame, made), self._sent = self._sent, None  # later replies answer requests that were not built here
        if reply.usage and reply.usage.input:
            state = self.store.view(self.key).state
            size = made.tokens.total + difference(made.messages, frame.wire, frame.model or reply.model)
            self._model = frame.model or reply.model or self._model
            seen = watched(state, reply.usage, self.policy.prices)
            new = with_usage(seen, frame, size, reply.usage, reply.model, taken=True)
            if made.report.version and new.reported[0] != made.report.version:
                new = msgspec.structs.replace(new, reported=(made.report.version, reply.usage.input))
            self.store.sent(self.key, new, expected=state.mark)

    def follow(
        self,
        messages: Sequence[Any],
        *,
        wire: Any = None,
        system: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        retry: bool = True,
        progress: Callable[[int, int], Any] = lambda done, total: None,
    ) -> Followed:
        """Take a whole message list (wire messages or events) and record what is new in it.

        System messages go to the static prefix, like `system` and `tools`. When the list was edited, retried or
        rewound, the session continues in a fork, and this object moves there with it. `retry` is as in `locate`. A
        long list comes in by batches; `progress` is told how many events of how many are recorded.
        """
        with self.lock:
            events, said = self._read(messages, wire)
            first = found = self.locate(events, retry=retry)
            text = said if system is None else system
            self.describe(system=self._own_system(text) if text else system, tools=tools)
            done: list[Event] = []
            rest, head, tries = found.new, found.head, _APPEND_TRIES
            while rest:
                try:
                    head += len(self._append(rest[:_BATCH], head).new)
                except HeadMoved:  # somebody else appends, perhaps the same list: what is new is looked for again
                    tries -= 1
                    if not tries:
                        raise
                    found = self.locate(events, retry=retry)
                    rest, head = found.new, found.head
                    continue
                done += rest[:_BATCH]
                rest = rest[_BATCH:]
                progress(len(done), len(done) + len(rest))
            known = found.known + len(found.new) - len(done)
            forked_at = found.forked_at if first.forked_at is None else first.forked_at
            return msgspec.structs.replace(found, new=tuple(done), known=known, forked_at=forked_at)

    def locate(self, events: Sequence[Event], *, retry: bool = True) -> Followed:
        """Find where a list of events goes on and move there (to a fork where it must); record nothing yet (`follow`
        does both, so that no other writer can come in between).

        A list that is known whole while the log goes on behind it is a retry and forks; with `retry=False` it is an
        older copy, and nothing happens.
        """
        with self.lock:
            found = follow(self.store, self.key, events, root=self._root, retry=retry, artifacts=self.artifacts)
            if found.forked_at is not None:
                found = msgspec.structs.replace(found, session=self._fork(found, found.forked_at, retry))
            elif found.session != self.key.session:
                self._move(found.session, None)
            return found

    def _fork(self, found: Followed, seq: int, retry: bool) -> str:
        """Move to a fork at that seq. A retry takes the fork of an earlier one that is still empty; forks of copies are
        named by what is new in them, so that several writers of one copy meet in one."""
        parent, meta = found.session, self.info.meta
        mine = self._new_id() if retry else _hash(f"{parent} {seq} {found.new[0].plain}")[:12]
        name = f"{self.key.session}+{mine}"
        for info in self.store.sessions(self.key.tenant, self.key.user) if not found.new else ():
            same = info.kind == "fork" and (info.parent, info.parent_seq, info.head) == (parent, seq, seq)
            if same and info.session.startswith((f"{self.key.session}+", f"{parent}+")):
                name = info.session
        self._move(name, SessionInfo(session=name, kind="fork", parent=parent, parent_seq=seq, meta=meta))
        self.remember(meta)
        self._restore()
        return name

    def _move(self, session: str, info: SessionInfo | None) -> None:
        self.key = msgspec.structs.replace(self.key, session=session)
        self.info = self.store.open(self.key, info=info)
        self._restore()

    def _read(self, messages: Sequence[Any], wire: Any) -> tuple[list[Event], str]:
        if all(isinstance(message, Event) for message in messages):
            return list(messages), ""
        read = (wire or openai_chat).read_messages(messages)
        return list(read.events), read.system

    def _own_system(self, text: str) -> str:
        """System text without the checkpoint that we put into it (layout `system`), wherever it stands by now."""
        return without_checkpoint(text, self.control.history())

    def describe(self, *, system: str | None = None, tools: Sequence[Mapping[str, Any]] | None = None) -> None:
        """Set the static prefix: system text and tool schemas. Kept with the session."""
        changed: dict[str, str] = {}
        if system is not None and system != self._system:
            self._system = changed["system"] = system
        if tools is not None and tuple(tools) != self._tools:
            self._tools = tuple(tools)
            changed["tools"] = json.dumps(list(tools), ensure_ascii=False)
        if changed:
            self.remember(changed)

    def remember(self, meta: Mapping[str, str]) -> None:
        """Keep small settings with the session (its policy's name, its wire); an empty value removes one."""
        self.info = self.store.describe(self.key, meta)

    # -- a request goes out

    def request(
        self,
        *,
        system: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        window: int | None = None,
        max_output: int | None = None,
        wire: Any = None,
        model: str = "",
        focus: str = "",
        context: Mapping[str, Any] | None = None,
        policy: Policy | None = None,
    ) -> Request:
        """The next request, valid and small. Compacts first when due and `policy.run` is `inline`.

        `window` is the running model's context window in tokens (else the policy's, else 128,000 with a warning).
        `model` is who will read it (else who replied last): what was learned of how that model counts applies. `focus`,
        `context` and `policy` are those of `compact`.
        Raises BudgetExceeded with the arithmetic when even the smallest valid request does not fit.
        """
        steps = self.request_steps(
            system=system, tools=tools, window=window, max_output=max_output, wire=wire, model=model, focus=focus,
            context=context, policy=policy,
        )  # fmt: skip
        return drive(steps, self.lock)

    def request_steps(
        self, *, system: str | None = None, tools: Sequence[Mapping[str, Any]] | None = None,
        window: int | None = None, max_output: int | None = None, wire: Any = None, model: str = "", focus: str = "",
        context: Mapping[str, Any] | None = None, policy: Policy | None = None,
    ) -> Generator[Ask, Any, Request]:  # fmt: skip
        """The steps of `request`, for a driver of your own: yields each call of a summary model as an `Ask`, is sent
        its answer or thrown its error, and returns the request. Run every step under `lock`, and no call."""
        frame = self._frame = self._frame_for(system, tools, window, max_output, wire, model, policy)
        if self._under(policy).run != "inline":
            return self._build(frame, policy)
        key, static = self.key, (self._system, self._tools)
        report = yield from self._compaction(frame, focus=focus, context=context or {}, policy=policy)
        if (self.key, (self._system, self._tools)) != (key, static):  # `follow` was called while a model was asked
            frame = self._frame = self._frame_for(None, None, window, max_output, wire, model, policy)
        made = self._build(frame, policy)
        return made.with_report(_joined(report, made.report)) if self.key == key else _moved(made, report, key)

    def _build(self, frame: Frame, policy: Policy | None = None, *, peek: bool = False) -> Request:
        made = flows.request(
            self.store, self.artifacts, self._under(policy), self.key, frame=frame, now=self._clock(),
            system=self._system, tools=self._tools, wire=by_name(frame.wire), peek=peek,
        )  # fmt: skip
        if not peek:
            self._sent, self._last = (frame, made), made
            self._assumption_was_said = self._assumption_was_said or bool(frame.warnings)
        return made

    def _frame_for(
        self, system: str | None, tools: Sequence[Mapping[str, Any]] | None, window: int | None,
        max_output: int | None, wire: Any, model: str = "", policy: Policy | None = None,
    ) -> Frame:  # fmt: skip
        """The frame of what is said now and, where nothing is said, of the last request. Whoever only looks (`peek`,
        `explain`, `next_compaction`) must not keep it: it would change the next request."""
        self.describe(system=system, tools=tools)
        if wire is not None:
            by_name(wire.NAME)
        state = self.store.view(self.key).state
        last = self._frame or state.frame
        self._model = model or (last.model if last else "") or state.model
        size = window or self._under(policy).window or (last.window if last and not last.assumed else None)
        warnings = () if size or self._assumption_was_said else (ASSUMED,)
        text = json.dumps([self._system, list(self._tools)], ensure_ascii=False, sort_keys=True)
        return Frame(
            window=size or UNKNOWN_WINDOW,
            assumed=not size,
            max_output=max_output if max_output is not None else (last.max_output if last else None),
            static_tokens=self._static_tokens(text),
            static_hash=_hash(text),
            wire=wire.NAME if wire is not None else (last.wire if last else "openai-chat"),
            model=model or (last.model if last else ""),
            warnings=warnings,
        )

    def _static_tokens(self, text: str) -> int:
        key = _hash(text)
        if self._static[0] != key:
            self._static = (key, static_tokens(self._system, self._tools))
        return self._static[1]

    # -- a checkpoint is made

    def compact(
        self, *, force: bool = False, focus: str = "", window: int | None = None, max_output: int | None = None,
        context: Mapping[str, Any] | None = None, by_code: bool = False, policy: Policy | None = None,
    ) -> Report:  # fmt: skip
        """Compact when due (or when forced). Nothing to do is a normal answer: outcome `not_due`.

        `focus` names what matters now: its words raise what belongs to it. `context` is handed to triggers and to a
        summarizer that is chosen at run time; `by_code` asks no model this time. `policy` rules this time in place of
        the session's own (other cleanup options than last time begin an epoch). Raises SummarizerFailed when it is
        forced and no model is at hand where one is chosen at run time.
        """
        steps = self.compact_steps(
            force=force, focus=focus, window=window, max_output=max_output, context=context, by_code=by_code,
            policy=policy,
        )  # fmt: skip
        return drive(steps, self.lock)

    def compact_steps(
        self, *, force: bool = False, focus: str = "", window: int | None = None, max_output: int | None = None,
        context: Mapping[str, Any] | None = None, by_code: bool = False, policy: Policy | None = None,
    ) -> Generator[Ask, Any, Report]:  # fmt: skip
        """The steps of `compact`, for a driver of your own, as `request_steps`."""
        frame = self._frame = self._frame_for(None, None, window, max_output, None, "", policy)
        return (
            yield from self._compaction(
                frame, force=force, focus=focus, context=context or {}, by_code=by_code, policy=policy
            )
        )

    def _compaction(
        self, frame: Frame, *, force: bool = False, why: str = "manual", focus: str = "",
        context: Mapping[str, Any] = {}, by_code: bool = False, policy: Policy | None = None,
    ) -> Generator[Ask, Any, Report]:  # fmt: skip
        """The compaction of the line that this session is on now; what `follow` moves to meanwhile is none of it."""
        key, given = self.key, None if by_code else self.summarizer

        def steps(summarizer: Summarizer | flows.Choice | None) -> Generator[Ask, Any, Report]:
            return flows.compact(
                self.store, self._under(policy), key, frame=frame, now=self._clock(), clock=self._clock, force=force,
                why=why, focus=focus, context=context, summarizer=summarizer,
                parent=Parent(lambda: self._build(frame, policy, peek=True), self._last),
            )  # fmt: skip

        if given is None:
            return (yield from steps(None))
        occasion = Occasion(key=key, frame=frame, force=force, focus=focus, context=context)
        with place((_place_of(self.store), key)) as free:  # a past is told once at a time, unless a person insists
            try:
                return (yield from steps(self._choice(given, occasion, policy) if free or force else _being_told))
            except _BeingTold:
                return _deferred(self.store.view(key), key.session)

    def _choice(
        self, given: Summarizer | Resolver, occasion: Occasion, policy: Policy | None
    ) -> Summarizer | flows.Choice:
        """Who is asked; of a resolver the question, for when a compaction is due."""
        if isinstance(given, Summarizer):
            return given

        def choice() -> tuple[Summarizer | None, str]:
            found, said = resolved(given, occasion, sync=not self.awaits)
            redact = redactor(self.store.view(occasion.key).secret, self._under(policy).redact)
            return found, redact(said) if said else ""  # it goes into reports and notes

        return choice

    def overflowed(self, error: Any) -> Report | None:
        """The provider refused the last request as too long: learn its limit and compact, by code, once per event.

        `error` is the exception, response or text. None when it says nothing of size: then it is not ours to answer.
        Build the request again afterwards. A second refusal at the same event is reported as `failed`, naming both
        sizes, so that no loop can come of it.
        """
        with self.lock:
            frame = self._frame_for(None, None, None, None, None)
            found = by_name(frame.wire).overflow(error)
            if found is None:
                return None
            state, head = self.store.view(self.key).state, self.store.view(self.key).head
            again = state.overflowed == head and head > 0
            self.store.sent(self.key, learned_limit(state, frame, found, head), expected=state.mark)
            if again:
                text = f"The provider refused the request of event:{head} again, after it was made smaller."
                return Report(outcome="failed", trigger="overflow", text=text, before=state.last_size, warnings=(text,))
            return drive(self._compaction(frame, force=True, why="overflow", by_code=True), self.lock)

    # -- a fact is recovered

    def search(self, query: str, *, limit: int = 10, where: Where = "session") -> list[Hit]:
        """Events and artifacts that match, best first. `where`: session (its lineage), children, or user."""
        return flows.search(self.store, self.key, query, limit=limit, where=where)

    def load(self, ref: str, *, before: int = 0, after: int = 0, limit: int = 8_000) -> Loaded:
        """Open a ref: an event with its neighbours (`before`, `after` count events), lines or bytes of an artifact,
        or all that a compaction covers. At most `limit` characters of text a page; `next` is the ref to go on.

        Raises NotFound.
        """
        return flows.load(self.store, self.artifacts, self.key, ref, before=before, after=after, limit=limit)

    def peek(self, wire: Any = None) -> Request:
        """The next request as it would go out now. Nothing is stored and nothing is compacted."""
        with self.lock:
            return self._build(self._frame_for(None, None, None, None, wire), peek=True)

    def explain(self) -> list[Entry]:
        """For every event of the scope's log: its class, tokens, reason and ref, as of the next request."""
        with self.lock:
            made = self.peek()
            return entries(self.store.log(self.key), self.store.view(self.key), made)

    def cache_misses(self) -> str:
        """Requests that the provider's cache should have held and did not, by cause, and what they cost; empty for
        none. Known where replies are recorded with their usage."""
        with self.lock:
            return misses_text(self.store.view(self.key).state, self.policy.prices)

    def next_compaction(self) -> tuple[int, str]:
        """(size of the whole request at which the next compaction is expected, why)."""
        with self.lock:
            frame = self._frame_for(None, None, None, None, None)
            view, now = self.store.view(self.key), self._clock()
            size = gauge(view, frame, self.policy, now)
            summarizer = self.summarizer if isinstance(self.summarizer, Summarizer) else None
            call = coming(summarizer, self.policy, view, size, now)
            return expected_next(self.policy, size.room, size.sizes, first=view.checkpoint is None, call=call)


def _finite(clock: Callable[[], float]) -> Callable[[], float]:
    """The clock, or 0 where it gives no finite number: order is by seq, and no time may stop a write."""

    def now() -> float:
        time = clock()
        return time if isfinite(time) else 0.0

    return now


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _default_policy(tools: Sequence[Mapping[str, Any]]) -> Policy:
    """coding() when a tool runs or writes, else chat()."""
    for tool in tools:
        name = str(tool.get("name") or tool.get("function", {}).get("name", ""))
        if profile_of(name, "{}").role in ("runs", "writes"):
            return Policy.coding()
    return Policy.chat()


class _BeingTold(Exception):
    """A model is asked already about the past that another one would be asked about."""


def _being_told() -> NoReturn:
    raise _BeingTold


def _place_of(store: Store) -> Any:
    """What two store objects over one file have in common; else the object itself, for as long as it is in use."""
    path = getattr(store, "path", None)
    return Path(path).resolve() if isinstance(path, str | Path) else id(store)


def _deferred(view: View, session: str) -> Report:
    """A compaction that was due and asked nobody, because another one of this process is asking."""
    text = f"The past of session {session!r} is being told by a model already; nobody was asked a second time."
    boundary, version = (view.checkpoint.boundary, view.checkpoint.version) if view.checkpoint else (0, 0)
    return Report(
        outcome="deferred", text=text, boundary=boundary, version=version, before=view.state.last_size,
        resume=in_flight(view.events),
    )  # fmt: skip


def _joined(compaction: Report, request: Report) -> Report:
    """The report of a request after a compaction: what the compaction says, but for what the request knows better."""
    return msgspec.structs.replace(
        compaction,
        boundary=request.boundary,
        version=request.version,
        after=request.after,
        changes=request.changes,
        epoch=request.epoch or compaction.epoch,
        warnings=(*compaction.warnings, *request.warnings),
    )


def _moved(made: Request, compaction: Report, key: Key) -> Request:
    """A request of another line than the one that was compacted: the compaction is none of its past."""
    if compaction.outcome == "not_due":
        return made
    said = f"The session moved on while session {key.session!r} was compacted there ({compaction.outcome})."
    return made.with_report(msgspec.structs.replace(made.report, warnings=(said, *made.report.warnings)))


__all__ = ["NotFound", "PolicyError", "Recorded", "Session"]
