"""A session: five verbs (record, request, compact, search, load), `follow`, `explain`, and `control` for people.

Knows nothing of frameworks. A session may be used from several threads and several processes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

import msgspec

from foldmark import flows
from foldmark.around import Around
from foldmark.artifacts import Artifacts
from foldmark.asking import Ask, Model
from foldmark.control import Control, Setting
from foldmark.drafts import Request
from foldmark.driving import drive
from foldmark.embedding import Embedder
from foldmark.errors import BudgetExceeded
from foldmark.events import Event
from foldmark.explain import entries
from foldmark.following import Followed
from foldmark.framing import ASSUMED, Said, name_of
from foldmark.hooked import EventHooks, HeldBack, as_recorded, hooked, unheld
from foldmark.joining import joined, moved, on_the_way
from foldmark.lineage import caught_up, described, finite, insisted, located, offered, opened, remembered
from foldmark.memory import MemoryStore
from foldmark.moments import Moment, moment
from foldmark.noticing import Notices
from foldmark.offering import checked, events_of, opening_of, schemas_of, whole, wire_of
from foldmark.opening import Opened, open_body
from foldmark.outgoing import Outgoing
from foldmark.policy import Policy
from foldmark.prices.saved import Saved
from foldmark.raising import RAISING
from foldmark.reach import within
from foldmark.redact import redactor
from foldmark.refs import event_ref, plain
from foldmark.reports import Entry, Observer, Report, Run
from foldmark.resolving import chosen
from foldmark.retrieval import By, Hit, Loaded, Meaning
from foldmark.saving import saved_by
from foldmark.seeking import Reach, Sought, Where
from foldmark.sharing import keyed
from foldmark.store import Context, Key, Sees, SessionInfo, Store
from foldmark.summarizer import Occasion, Resolver, Summarizer
from foldmark.surveying import log_overview
from foldmark.vectors import Embedded, embed
from foldmark.watching import misses_text
from foldmark.written import without_checkpoint


class Recorded(msgspec.Struct, frozen=True):
    """What came of recording: the newest event's `ref` and `seq`, all `refs`, and how many were `known` already.
    `held_back` are the events that a hook of the store kept out of the log, each with its reason."""

    ref: str
    seq: int
    refs: tuple[str, ...] = ()
    known: int = 0
    held_back: tuple[HeldBack, ...] = ()


class Session:
    """One line of events and its next request.

    `store` defaults to a `MemoryStore`; `policy` to `coding()` when the tools run or write, else `chat()`.
    `scope` and `sees` filter inside the session. `clock` gives Unix seconds, `new_id` ids of forks.

    `model` (one, or a chain of them) writes the narrative of checkpoints; without one they are made by code alone.
    `summarizer` says more about how it is asked, or is a function of an `Occasion` that chooses one at run time: its
    models, prompt, hooks and limits by tenant, session or request. It is called when a compaction is due, under the
    lock, so it should be quick. When and how far is compacted stays with `policy`: by tenant and session it is given
    here, by request to `request` and `compact`.

    `on_report` is called with the report of every attempt at a compaction, due or not, `observer` with everything that
    can be counted (`foldmark.reports.Observation`; never text). `around` sees each plan before it is carried out.
    `hooks` change, tag or hold back what comes in and what is read (`foldmark.hooked`; a service wraps its store once).
    `embedder` (`foldmark.embedding`) lets `search` find what says the same in other words, once `embed` was called.
    A session that is not there is made, but not with `create=False`: that raises NotFound.
    """

    awaits = False
    """Whether models may be async: set by the AsyncSession around it."""

    def __init__(
        self, session: str, *, store: Store | None = None, artifacts: Artifacts | None = None,
        policy: Policy | None = None, model: Model | Sequence[Model] | None = None,
        summarizer: Summarizer | Resolver | None = None, tenant: str = "local", user: str = "local",
        scope: str = "", sees: Sees = "all", clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: uuid4().hex[:12], around: Around | None = None,
        hooks: Sequence[EventHooks] = (), on_report: Callable[[Report], Any] | None = None,
        observer: Observer | None = None, embedder: Embedder | None = None, create: bool = True,
    ) -> None:  # fmt: skip
        checked(session, store, policy, hooks, scope, sees, embedder)
        place: Store = store if store is not None else MemoryStore()
        self.store: Store = hooked(place, *hooks) if hooks else place
        self.artifacts: Artifacts = artifacts if artifacts is not None else self.store.artifacts
        self.summarizer = chosen(model, summarizer, sync=True)
        self.lock = threading.RLock()
        self._root, self._clock, self._new_id = session, finite(clock), new_id
        self._notices = Notices(on_report, observer)
        self._meaning = Meaning(embedder) if embedder is not None else None
        self._kept: Policy | None = None  # the policy that was kept with the session
        self._out = Outgoing(self.store, self.artifacts, policy, self._clock, self._notices, around)
        key = Key(session=session, tenant=tenant, user=user, scope=scope, sees=sees)
        self._line = opened(self.store, key, create=create)

    @property
    def key(self) -> Key:
        """Whose events these are, and which of them are seen; `follow` may move on to another one."""
        return self._line.key

    @property
    def name(self) -> str:
        """The session's id; `follow` may move on to a fork with another one."""
        return self.key.session

    @property
    def info(self) -> SessionInfo:
        """The session's row as it is now: its head, title, times, and the settings that `remember` keeps. Raises
        NotFound when it was deleted."""
        return self.store.info(self.key)

    @property
    def policy(self) -> Policy:
        """The policy for the model that runs: with its own settings, and its prices from the table."""
        return self._out.policy(self._line)

    @property
    def control(self) -> Control:
        """What people do: plan and preview, pin, edit, undo and adopt, history, delete."""
        return Control(self._setting, lock=self.lock, on_report=self._notices.report if self._notices else None)

    @property
    def alike(self) -> dict[str, Any]:
        """Options with which another session of the same user is opened like this one: its store, artifacts and policy,
        clock, ids and listeners, and the tenant and user. Not its scope, and not its summarizer (an attribute)."""
        return {
            "store": self.store, "artifacts": self.artifacts, "policy": self._out.given, "tenant": self.key.tenant,
            "user": self.key.user, "clock": self._clock, "new_id": self._new_id, "on_report": self._notices.on_report,
            "observer": self._notices.observer, "embedder": self._meaning.embedder if self._meaning else None,
        }  # fmt: skip

    def _setting(self) -> Setting:
        """The session as it stands, for its control."""
        return Setting(
            self.store, self.artifacts, self._line, self._out, self._clock, self.summarizer, sync=not self.awaits
        )

    @property
    def system(self) -> str:
        """System text of the next request, without the checkpoint; empty when none was said."""
        return self._line.system

    @property
    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """Tool schemas of the next request, as they were given."""
        return self._line.tools

    # -- events come in

    def record(self, *events: Event) -> Recorded:
        """Append events in one transaction. The same event twice is a no-op. An event without a key (scope or branch)
        gets the scope of a session that does not see everything: else that session would not see it itself.

        Raises IdConflict when an id is known with other content.
        """
        events = tuple(keyed(self.key, event) for event in events_of(events))
        with self.lock:
            done = insisted(lambda: self._append(events))
        seqs = sorted(event.seq for event in (*done.new, *done.known))
        self._out.tell_raised()
        refs = tuple(event_ref(seq) for seq in seqs)
        return Recorded(refs[-1] if refs else "", seqs[-1] if seqs else 0, refs, len(done.known), done.held_back)

    def _append(self, events: Sequence[Event], head: int | None = None, *, live: bool = True) -> Context:
        """Record; with `head` only when the log still ends there. Raises HeadMoved. Who raises work keeps the policy
        with the session, so that a worker goes by it."""
        given = self._out.given
        if given is not None and given.run in RAISING and given is not self._kept:
            if self._line.info.meta.get("policy") != (told := given.to_json()):
                self.remember({"policy": told})
            self._kept = given
        done = flows.record(
            self.store, self.artifacts, self.policy, self.key, events, now=self._clock(), head=head, live=live
        )
        self._out.observe(self._line, done.new)
        self._out.raised(done.raised)
        return done

    def follow(
        self, messages: Sequence[Any], *, wire: Any = None, system: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None, retry: bool = True,
        progress: Callable[[int, int], Any] = lambda done, total: None, live: bool = True,
    ) -> Followed:  # fmt: skip
        """Take a whole message list (wire messages or events) and record what is new in it.

        System messages go to the static prefix, like `system` and `tools`. When the list was edited, retried or
        rewound, the session continues in a fork, and this object moves there with it. `retry` is as in `locate`. A
        long list comes in by batches; `progress` is told how many events of how many are recorded.

        An event without a time is dated by now. For a transcript of what happened before, say `live=False`: then nobody
        knows its time, hits of it have no date, and `since` and `until` do not bring it.
        """
        with self.lock:
            events, said = offered(messages, wire_of(wire))
            text = said if system is None else system  # a checkpoint of ours may stand in it (layout `system`)
            told = bool(text) and without_checkpoint(text, self.control.history()) != text
            found = self.locate(events, retry=retry, told=told)
            if text:
                system = without_checkpoint(text, self.control.history())
            self.describe(system=system, tools=tools)
            append = partial(self._append, live=live)
            followed = caught_up(found, append, lambda: self.locate(events, retry=retry, told=told), progress)
        self._out.tell_raised()
        return followed

    def locate(self, events: Sequence[Event], *, retry: bool = True, told: bool = False) -> Followed:
        """Find where a list of events goes on and move there (to a fork where it must); record nothing yet (`follow`
        does both, so that no other writer can come in between).

        A list that is known whole while the log goes on behind it is a retry and forks; with `retry=False` it is an
        older copy, and nothing happens. `told` says that a checkpoint of ours stood in its system text.
        """
        with self.lock:
            left = unheld(self.store, self.key, events)  # without what a hook held back when the list came before
            self._line, found = located(
                as_recorded(self.store), self.artifacts, self._line, left.events, root=self._root, retry=retry,
                told=told, new_id=self._new_id,
            )  # fmt: skip
            return msgspec.structs.replace(found, held_before=left.held, seqs=left.seqs(found.seqs))

    def describe(self, *, system: str | None = None, tools: Sequence[Mapping[str, Any]] | None = None) -> None:
        """Set the static prefix: system text and tools (schemas, or tools with a `schema`). Kept with the session, for
        this scope alone."""
        self._line = described(self.store, self._line, system, schemas_of(tools))

    def remember(self, meta: Mapping[str, str]) -> None:
        """Keep small settings with the session (its policy's name, its wire); an empty value removes one."""
        self._line = remembered(self.store, self._line, meta)

    # -- a request goes out

    def request(
        self, *, system: str | None = None, tools: Sequence[Mapping[str, Any]] | None = None,
        window: int | None = None, max_output: int | None = None, wire: Any = None, model: str = "", focus: str = "",
        context: Mapping[str, Any] | None = None, policy: Policy | None = None,
    ) -> Request:  # fmt: skip
        """The next request, valid and small. Compacts first when due and `policy.run` is `inline`.

        `system` and `tools` are the static prefix (else the last ones, as `describe` keeps them). `window` is the
        running model's context window in tokens (else the policy's, else the last one, else 128,000 with a warning),
        `max_output` the most tokens its answer may take (else as last time; never said: the policy's reserve is kept
        free), `wire` the module of `foldmark.wire` that writes the payload (else the last one, else `openai_chat`).
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
        its answer or thrown its error, and returns the request. Where there are hooks or listeners it yields a `Chore`
        too, which is done by its `run()`. Run every step under `lock`, and neither calls nor chores."""
        self.describe(system=system, tools=tools)
        line, said = self._line, Said(window, max_output, wire, model, policy)
        frame = self._out.frame(line, said)
        if self._out.policy(line, policy).run == "manual":
            return self._out.build(line, frame, policy)
        occasion = Occasion(key=line.key, frame=frame, focus=focus, context=context or {})
        report = yield from self._out.on_the_way(line, self.summarizer, occasion, policy, sync=not self.awaits)
        if self._line._replace(info=line.info) != line:  # `follow` was called while a model was asked
            frame = self._out.frame(self._line, said)
        try:
            made = self._out.build(self._line, frame, policy)
        except BudgetExceeded as error:
            error.add_note(on_the_way(report))
            raise
        return made.with_report(joined(report, made.report)) if self.key == line.key else moved(made, report, line.key)

    # -- a checkpoint is made

    def compact(
        self, *, force: bool = False, focus: str = "", window: int | None = None, max_output: int | None = None,
        context: Mapping[str, Any] | None = None, by_code: bool = False, policy: Policy | None = None,
        upto: str = "",
    ) -> Report:  # fmt: skip
        """Compact when due (or when forced). Nothing to do is a normal answer: outcome `not_due`.

        `force` compacts whatever the size. `upto` (`"event:120"`) covers at most up to there, in whole rounds. `focus`
        names what matters now: its words raise what belongs to it. `window` and `max_output` are those of `request`, in
        tokens. `context` is handed to triggers and to a summarizer that is chosen at run time; `by_code` asks no model
        this time. `policy` rules this time in place of the session's own (other cleanup options than last time begin an
        epoch). Raises NotFound for `upto`, and SummarizerFailed when it is forced and no model is at hand where one is
        chosen at run time.
        """
        steps = self.compact_steps(
            force=force, focus=focus, window=window, max_output=max_output, context=context, by_code=by_code,
            policy=policy, upto=upto,
        )  # fmt: skip
        return drive(steps, self.lock)

    def compact_steps(
        self, *, force: bool = False, focus: str = "", window: int | None = None, max_output: int | None = None,
        context: Mapping[str, Any] | None = None, by_code: bool = False, policy: Policy | None = None,
        upto: str = "", run: Run = "caller", lease: int | None = None,
    ) -> Generator[Ask, Any, Report]:  # fmt: skip
        """The steps of `compact`, for a driver of your own, as `request_steps`. `run` says in the report how it is run;
        `lease` is the token of claimed work: the commit is refused once another worker holds it."""
        line, given = self._line, None if by_code else self.summarizer
        sizes = Said(window or (None if policy else self._out.last_window(line)), max_output, policy=policy)
        frame = self._out.frame(line, sizes)
        occasion = Occasion(
            key=line.key, frame=frame, force=force, focus=focus, context=context or {}, run=run, lease=lease,
            upto=self.control.seq_of(upto) if upto else None,
        )  # fmt: skip
        report = yield from self._out.compaction(line, given, occasion, policy, sync=not self.awaits)
        self._out.keep(frame)
        return report

    def overflowed(self, error: Any) -> Report | None:
        """The provider refused the last request as too long: learn its limit and compact, by code, once per event.

        `error` is the exception, response or text. None when it says nothing of size: then it is not ours to answer.
        Build the request again afterwards. A second refusal at the same event is reported as `failed`, naming both
        sizes, so that no loop can come of it.
        """
        with self.lock:
            line, frame = self._line, self._out.frame(self._line)
            if (found := self._out.overflow(frame, error)) is None:
                return None
            report = self._out.learn(line, frame, found)
        if report:
            self._notices.report(report)
            return report
        occasion = Occasion(key=line.key, frame=frame, force=True, why="overflow", run="overflow")
        return drive(self._out.compaction(line, None, occasion), self.lock)

    # -- a fact is recovered

    def search(
        self, query: str, *, limit: int = 10, where: Where = "session", roles: tuple[str, ...] = (),
        tools: tuple[str, ...] = (), files: tuple[str, ...] = (), branches: tuple[str, ...] = (),
        since: Moment | None = None, until: Moment | None = None, without: frozenset[int] = frozenset(),
    ) -> list[Hit]:  # fmt: skip
        """Events and artifacts that match, best first, at most `limit` of them.

        `where`: session (its lineage), covered (of that, what a compaction covers), children (the lineage and its
        sub-agents), others (the user's other sessions) or user (all). The rest limits what is brought, as in
        `foldmark.seeking.Sought`: who speaks, names of tools, paths, branches, when, seqs that are left out. `since`
        and `until` are Unix seconds, a date or datetime, or text (`2026-03`, `2026-03-01T14:30`, `yesterday`, `3d`,
        `last week`), in UTC where no zone is said. With any of them an empty query brings the newest. Raises
        PolicyError for what is none of these, and for a limit below 1.
        """
        now = self._clock()
        whole("limit", limit, 1, "hits")
        sought = Sought(
            where=where, roles=roles, tools=tools, files=files, branches=branches, without=without,
            since=moment(since, "since", now=now), until=moment(until, "until", now=now, end=True),
        )  # fmt: skip
        with self._notices.looking("search", self.key, now) as brought:
            remarks: list[str] = []
            hits = flows.search(
                self.store, self.key, query, now=now, limit=limit, sought=sought, meaning=self._meaning,
                told=remarks.append,
            )  # fmt: skip
            brought(len(hits), sum(len(hit.snippet) for hit in hits), " ".join(remarks))
        return hits

    def embed(self, *, limit: int = 256, where: Where = "session") -> Embedded:
        """Give vectors to at most `limit` pieces of what a search of `where` may bring, by the embedder of the session;
        for a worker or an idle moment, never needed: a search uses what is there. Call it again while it says `left`.
        Without an embedder nothing is done.

        Raises EmbedderFailed; what was done before is kept.
        """
        if self._meaning is None:
            return Embedded()
        return embed(self.store, self.key, self._meaning.embedder, limit=limit, where=where)

    def overview(self, tokens: int = 500, *, search: str | None = None, load: str | None = None) -> str:
        """What the scope's log holds, in at most `tokens`, for a prompt of your own: how many events, artifacts and
        compactions there are and since when, the telling words of each stretch, files and names, with refs. Marked as
        reference, empty for an empty log.

        `search` and `load` are the names of the tools that the model has (empty: it has none). None: as
        `policy.recall` names them, those among the session's tools where it has any. For the requests that are built
        here there is `policy.recall.overview_tokens`. Where fewer than about 60 tokens are given, one sentence says how
        much there is.
        """
        whole("tokens", tokens, 0, "tokens")
        with self.lock:
            search, load = self._named(search, load)
            return log_overview(self.store, self.key, tokens, search=search, load=load)

    def _named(self, search: str | None, load: str | None) -> tuple[str, str]:
        """The tools for recall that an overview speaks of."""
        recall, there = self.policy.recall, set(map(name_of, self.tools))
        own = [name if name in there or not there else "" for name in (recall.search_tool, recall.load_tool)]
        return own[0] if search is None else search, own[1] if load is None else load

    def load(
        self, ref: str | int, *, before: int = 0, after: int = 0, by: By = "events", limit: int = 8_000,
        reach: Reach | None = None, redact: bool = False,
    ) -> Loaded:  # fmt: skip
        """Open a ref: an event with its neighbours (`before` and `after` count events, or whole rounds), several events
        (`event:12-20`), a tool call with its result (`call:<id>`), lines or bytes of an artifact, or all that a
        compaction covers. At most `limit` characters of text a page, and of events as many as hold about that; `next`
        is the ref to go on.

        What is opened is the original. With `redact` its secrets are labels, as the policy says. A `reach`
        (session, children or user) allows only what that holds, as the scope sees it: for refs that a model gives. A
        number is an event's, and what is copied with a ref (brackets, the rest of a head line) is not looked at.

        Raises NotFound; PolicyError for a limit below 1 and for what `by` cannot be.
        """
        opening_of(before, after, by, limit)
        if reach is not None:
            within(reach)
        hide = redactor(self.store.view(self.key).secret, self.policy.redact) if redact else None
        with self._notices.looking("load", self.key, self._clock()) as brought:
            found = flows.load(
                self.store, self.artifacts, self.key, plain(ref), before=before, after=after, by=by, limit=limit,
                reach=reach, redact=hide,
            )  # fmt: skip
            brought(len(found.events), len(found.text))
        return found

    def open(self, ref: str | int, *, reach: Reach | None = None, redact: bool = False) -> Opened:
        """Open a body to look into it piece by piece with the functions of `foldmark.opening`: an artifact, the whole
        text of an event, the result of a call (`call:<id>`), or lines of one. Nothing is read yet, so it may have any
        size. `reach` and `redact` are those of `load`.

        Raises NotFound; PolicyError for several events and compactions, which are no body.
        """
        hide = redactor(self.store.view(self.key).secret, self.policy.redact) if redact else None
        return open_body(self.store, self.artifacts, self.key, plain(ref), reach=reach, redact=hide)

    def peek(self, wire: Any = None) -> Request:
        """The next request as it would go out now. Nothing is stored and nothing is compacted."""
        with self.lock:
            return self._out.build(self._line, self._out.frame(self._line, Said(wire=wire)), peek=True)

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

    def saved(self) -> Saved:
        """What the requests of the scope were billed, summaries included, against what they would have been with the
        whole log each time. Known where replies are recorded with their usage; amounts where prices are known."""
        with self.lock:
            frame = self._out.frame(self._line)  # with the model that runs, whose prices count
            return saved_by(self.store, self.key, self.policy, frame)

    def next_compaction(self) -> tuple[int, str]:
        """(size of the whole request at which the next compaction is expected, why)."""
        with self.lock:
            return self._out.next_compaction(self._line, self.summarizer)


__all__ = ["ASSUMED", "Recorded", "Session"]
