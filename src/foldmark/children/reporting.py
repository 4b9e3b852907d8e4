"""Makes a sub-agent's report and records it in the parent, once: one tool result, and what the parent knows by it.
Knows nothing of how the sub-agent is run.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from foldmark.aio import AsyncSession
from foldmark.checkpoint import Fact
from foldmark.children.beginning import ChildSession, child_key, known_child
from foldmark.children.calling import Call, answer_of, call_of
from foldmark.children.checking import inner
from foldmark.children.limits import SPENT, RunLimits, Spent, spent_with
from foldmark.children.telling import Ended, Outcome, told_facts, written
from foldmark.errors import IdConflict, NotFound, words_of_error
from foldmark.events import Event, ToolCall, assistant, injected, result
from foldmark.profiles import CHILD_SESSION
from foldmark.redact import redactor
from foldmark.refs import event_ref
from foldmark.session import Session
from foldmark.store import SessionInfo

ENDED = "ended"
"""Under which name a sub-agent's session keeps how its run ended."""
OUTCOME, WHY = "child_outcome", "child_why"
"""Under which names of its `meta` a recorded report says how the sub-agent ended."""
WHY_CHARACTERS = 240
HANDED_UP = ("verification", "error", "file")
"""Kinds of facts that hold for the parent too: both work on the same files. Its todos are its own."""


class ChildReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a sub-agent: its `session` (empty when none was begun), the id of the `call` that started it, how it
    ended and `why`, the `text` that the parent gets, and the `ref` of the parent's event that holds it (empty while it
    is not recorded)."""

    session: str
    call: str
    outcome: Outcome
    text: str
    why: str = ""
    ref: str = ""


def report_of(session: Session | AsyncSession, call: ToolCall | str, *, limits: RunLimits = RunLimits()) -> ChildReport:
    """The report of the sub-agent that this call started, as of now, from its log; nothing is recorded. One whose run
    has no end yet (it is at work, or its process died) is `interrupted`.

    Raises NotFound for a call that the session has not or does not see, and for one that started no sub-agent.
    """
    session = inner(session)
    found = call_of(session, call)
    info = known_child(session, found)
    if info is None:
        said = f"The call {found.made.call.id!r} started no sub-agent here (there is no session {found.name!r})."
        raise NotFound(found.name, said)
    made = _report(session, found, info, limits)
    answer = answer_of(session, found)
    return msgspec.structs.replace(made, ref=event_ref(answer.seq) if answer else "")


def conclude(session: Session | AsyncSession, call: ToolCall | str, *, limits: RunLimits = RunLimits()) -> ChildReport:
    """Record the report of a sub-agent whose run will not go on (its process died): the call is answered then. An
    answer that is there already stays, and is what comes back. Raises as `report_of`."""
    session = inner(session)
    found = call_of(session, call)
    info = known_child(session, found)
    if info is None:
        return answered(session, found) or report_of(session, call, limits=limits)
    if ended_of(info) is None and not answer_of(session, found):
        ended = Ended(outcome="interrupted", why="its run has no end in the log", head=info.head)
        info = _keep_end(session, info.session, ended)
    return settle(session, found, info, limits)


def ended_of(info: SessionInfo) -> Ended | None:
    """How the run of this sub-agent ended; None when it has no end yet."""
    kept = info.meta.get(ENDED)
    return msgspec.json.decode(kept, type=Ended) if kept else None


def finish(child: ChildSession, ended: Ended, words: str = "") -> Ended:
    """Keep with the sub-agent how it ended and what it said; the first end stays. What is said after it is kept in its
    log all the same, and goes nowhere else. Returns the end that holds."""
    with child.lock:
        first = child.store.info(child_key(child, child.begun))
        known = ended_of(first)
        if words.strip() and words.strip() not in _own_words(child):
            child.keep(injected(f"Said after its time was over:\n{words}") if known else assistant(words))
        if known is None:
            moved = child.name if child.name != child.begun else ""
            ended = msgspec.structs.replace(ended, session=moved, head=child.store.view(child.key).head)
            _keep_end(child, child.begun, ended)
        return known or ended


def _keep_end(session: Session, name: str, ended: Ended) -> SessionInfo:
    return session.store.describe(child_key(session, name), {ENDED: msgspec.json.encode(ended).decode()})


def _own_words(child: ChildSession) -> set[str]:
    """The newest replies: what a run returns is mostly the last of them."""
    head = child.store.view(child.key).head
    newest = child.store.log(child.key, max(1, head - 9))
    return {event.text.strip() for event in newest if event.role == "assistant" and not event.calls}


def why_failed(session: Session, error: BaseException) -> str:
    """An exception in a line: its type and what it says, without secrets where the policy hides them."""
    redact = redactor(session.store.context(session.key, ()).secret, session.policy.redact)
    words = " ".join(redact(words_of_error(error)).split())
    return words if len(words) <= WHY_CHARACTERS else words[:WHY_CHARACTERS].rstrip() + " …"


# -- the parent gets it


def settle(session: Session, call: Call, info: SessionInfo, limits: RunLimits) -> ChildReport:
    """Record the report of a run that ended, once, and hand up what it proves."""
    if known := answered(session, call):
        return known
    spent = spent_with(Spent(), _events(session, info))
    meta = {CHILD_SESSION: info.session, SPENT: str(spent.tokens)}
    return _record(session, call, _report(session, call, info, limits), meta)


def answered(session: Session, call: Call) -> ChildReport | None:
    """The answer of the call as it was recorded; None while there is none. What it proves is handed up, also where a
    crash kept it back."""
    event = answer_of(session, call)
    if event is None or event.result is None:
        return None
    name = event.meta.get(CHILD_SESSION, "")
    if name and (info := known_child(session, call)):
        _hand_up(session, call, _facts(session, info))
    outcome: Any = event.meta.get(OUTCOME, "failed" if event.result.is_error else "finished")
    return ChildReport(
        session=name, call=call.made.call.id, outcome=outcome, text=event.result.text,
        why=event.meta.get(WHY, ""), ref=event_ref(event.seq),
    )  # fmt: skip


def refuse(session: Session, call: Call, why: str) -> ChildReport:
    """Answer a call for which no sub-agent may be begun."""
    text = f"No sub-agent was started: {why}. Do this work here, or leave it and say so."
    return _record(session, call, ChildReport(session="", call=call.made.call.id, outcome="limit", text=text, why=why))


def _record(session: Session, call: Call, made: ChildReport, meta: dict[str, str] | None = None) -> ChildReport:
    """One event with an id of its own: who comes second, in this process or another, finds the first."""
    said = {OUTCOME: made.outcome, **({WHY: made.why} if made.why else {}), **(meta or {})}
    event = result(
        made.call, made.text, name=call.made.call.name, is_error=made.outcome != "finished", id=call.report_id,
        scope=call.made.key, meta=said,
    )  # fmt: skip
    writer = session if call.made.key or session.key.sees == "all" else Session(session.key.session, **session.alike)
    with suppress(IdConflict):  # a scope would put its own key where the call has none, and hide the report from others
        (writer.keep if isinstance(writer, ChildSession) else writer.record)(event)
    return answered(session, call) or made  # as it stands in the log; a hook may have held it back


def _hand_up(session: Session, call: Call, facts: list[Fact]) -> None:
    """Facts of the parent, resting on the report. Newer ones of its own stay."""
    answer = answer_of(session, call)
    if answer is None:
        return
    state = session.store.context(session.key, ()).state
    new = [
        _of_parent(fact, answer, call.made.seq)
        for fact in facts
        if fact.kind in HANDED_UP and ((known := state.get((fact.kind, fact.key))) is None or known.seq < answer.seq)
    ]
    if new:
        session.store.facts(session.key, new)


def _of_parent(fact: Fact, answer: Event, call_seq: int) -> Fact:
    seq = str(answer.seq)
    own = {"file": {"changed": seq}, "error": {"first": seq}}.get(fact.kind, {})
    kept = {name: value for name, value in fact.meta.items() if name not in ("changed", "first", "last", "fix")}
    refs = (answer.seq, call_seq) if fact.kind == "error" else (call_seq,)
    return msgspec.structs.replace(fact, seq=answer.seq, scope=answer.key, refs=refs, meta={**kept, **own})


# -- it is made


def _report(session: Session, call: Call, info: SessionInfo, limits: RunLimits) -> ChildReport:
    events, name = _events(session, info), _line_of(info)
    so_far = f"its run has no end in the log, as of {event_ref(len(events))}"
    ended = ended_of(info) or Ended(outcome="interrupted", why=so_far)
    spent = spent_with(Spent(), events)
    text = written(name, ended, events, _facts(session, info), spent, limits.report_tokens)
    return ChildReport(
        session=info.session, call=call.made.call.id, outcome=ended.outcome, text=text, why=ended.why
    )  # fmt: skip


def _events(session: Session, info: SessionInfo) -> list[Event]:
    """Its log up to the end of its run."""
    return session.store.log(child_key(session, _line_of(info)), 1, _head(info))


def _facts(session: Session, info: SessionInfo) -> list[Fact]:
    key = child_key(session, _line_of(info))
    upto = _head(info)
    state, _, _ = session.store.covered(key, session.store.view(key).head if upto is None else upto, limit=0)
    return told_facts(state.values())


def _line_of(info: SessionInfo) -> str:
    ended = ended_of(info)
    return (ended.session if ended else "") or info.session


def _head(info: SessionInfo) -> int | None:
    ended = ended_of(info)
    return ended.head if ended else None
