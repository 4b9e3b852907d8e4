"""The conversation with summary models: part by part, model by model, until there is a narrative or none.

Yields an `Ask` and is sent the answer, or thrown what went wrong. Knows nothing of stores, sessions or how a call is
made. The past comes in records of whole events; each part revises the narrative so far, so a part that fails does not
undo the ones before it.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from math import isfinite
from time import monotonic
from typing import Any

import msgspec

from foldmark.account import Account, paused
from foldmark.asking import UNKNOWN_SUMMARY_WINDOW, Ask, Chore, ModelInfo, Reply, as_reply, info_of
from foldmark.checkpoint import Item
from foldmark.errors import PolicyError, SummarizerFailed, SummaryRejected
from foldmark.events import Usage
from foldmark.failures import RULES, Failure, failure_in_reply, failure_of
from foldmark.hooking import Hooked, HookFailed
from foldmark.matter import Matter
from foldmark.narrative import INSTRUCTION_LINES, as_text, instruction_lines
from foldmark.prompts import parts_of, room_for_records, standalone
from foldmark.records import Record, records
from foldmark.reports import Call
from foldmark.story import checked, given_up, merged, read_answer
from foldmark.summarizer import Prompt, Summarizer, names_of

LEAST_ROOM = 100
"""A model that has fewer tokens for records than this is of no use for them."""
LONGEST_REST = 86_400.0
"""Seconds: what a provider says of itself is believed for a day at most."""
_MOST_TOKENS = 1_000_000_000  # of a usage that can be meant

Asking = Generator[Ask, Any, Account]


def narrate(matter: Matter, summarizer: Summarizer) -> Asking:
    """Ask for the narrative of the covered events. What a hook stops, and what is broken off, is accounted for."""
    names = names_of(summarizer)
    awake = [at for at, name in enumerate(names) if name not in matter.resting]
    if not awake:
        return paused("every model of the chain rests after a failure")
    talk = _Conversation(matter, summarizer, names)
    talk.warnings += _assumed(summarizer, names)
    try:
        if summarizer.fork and (yield from talk.by_fork(awake[0])):
            return talk.account()
        for at in awake:
            if at not in talk.down and ((yield from talk.by_text(at)) or talk.beaten):
                break
    except SummarizerFailed as error:  # a hook's: what models raise is taken where they are asked
        return talk.account(Failure("error", str(error)), kind="hook")
    except BaseException as error:
        if not isinstance(error, Exception):
            matter.broken_off(talk.account(Failure("error", "cancelled while a model was asked"), kind="cancelled"))
        raise
    return talk.account()


def _assumed(summarizer: Summarizer, names: Sequence[str]) -> list[str]:
    """Windows that nobody told: many small calls in a row have no other sign."""
    unknown = [name for name, model in zip(names, summarizer.models, strict=True) if not hasattr(model, "info")]
    said = f"its window is not known, {UNKNOWN_SUMMARY_WINDOW:,} tokens are assumed: models.function(fn, window=…)"
    return [f"{name}: {said}." for name in unknown]


class _Conversation:
    """A narrative on its way: what is told, what is left, what was paid and what went wrong."""

    def __init__(self, matter: Matter, summarizer: Summarizer, names: Sequence[str]) -> None:
        self.matter, self.summarizer, self.names = matter, summarizer, names
        self.hooked = Hooked(summarizer.hooks, matter.redact)
        self.items = matter.previous
        self.lines = _lines_of(summarizer.prompt)
        self.records: list[Record] = []
        self.at = self.told_parts = 0  # records told so far, in how many parts
        self.calls: list[Call] = []
        self.warnings: list[str] = []
        self.reasons: list[str] = []
        self.failure: Failure | None = None
        self.author = self.cache = ""
        self.mode = "code"
        self.beaten = False
        self.down: set[int] = set()  # models that would fail at any question
        self.rests: dict[str, float] = {}
        self.limits: dict[int, int] = {}  # windows that refusals named, by model

    # -- by a clone of the parent request

    def by_fork(self, at: int) -> Generator[Ask, Any, bool]:
        """One call that rides on the provider's cache; False when it cannot be made or brought nothing."""
        if at:
            self.warnings.append(f"Not asked as a fork: {self.names[0]} rests after a failure.")
            return False
        ask = self.matter.fork(self.summarizer, self.items) if self.matter.fork else "there is no parent request"
        if isinstance(ask, str):
            self.warnings.append(f"Not asked as a fork: {ask}.")
            return False
        failure, reply = yield from self._ask(ask, at)
        if self.matter.cache and reply.usage.input:
            self.cache, warning = self.matter.cache(self.summarizer, ask, reply)
            self.warnings += [warning] if warning else []
        if failure is None:
            self.at = len(self._records(4_000))
            return True
        self.warnings.append(f"The fork brought nothing ({failure.kind}: {failure.message}).")
        return False

    # -- by text

    def by_text(self, at: int) -> Generator[Ask, Any, bool]:
        """All that is left, by one model: part after part, once smaller and once plain where that can help."""
        model, most, plain = self.summarizer.models[at], None, False
        while not self.beaten:
            if self.told_parts >= self.summarizer.limits.parts and self.at < len(self.records):
                self.failure = Failure("too_long", f"the past takes more than limits.parts = {self.told_parts} calls")
                return False
            parts = self._parts(at, most)
            if not parts:
                return self.at >= len(self.records) and self.failure is None
            number = self.told_parts + 1
            ask = standalone(
                model, self.summarizer, parts[0], known=self.matter.known, previous=self.items,
                focus=self.matter.focus, part=number, parts=number + len(parts) - 1, plain=plain,
                style=self.matter.style, redact=self.matter.redact, warn=self.warnings.append, info=self._info(at),
            )  # fmt: skip
            failure, _ = yield from self._ask(ask, at)
            if failure is None:
                self.at += len(parts[0])
                self.told_parts += 1
                continue
            rule = RULES[failure.kind]
            if failure.limit:
                self.limits[at] = failure.limit
            half = sum(record.tokens for record in parts[0]) // 2  # of what was sent: the same body is not sent twice
            if rule.smaller and most is None and half >= LEAST_ROOM:
                most = half
            elif rule.plain and not plain:
                plain = True
            else:
                return False
        return False

    def _records(self, limit: int) -> list[Record]:
        if not self.records:
            found, warnings = records(
                self.matter.covered, style=self.matter.style, hooks=self.summarizer.hooks, redact=self.matter.redact,
                limit_tokens=limit, focus=self.matter.focus,
            )  # fmt: skip
            self.records, self.warnings = found, [*self.warnings, *warnings]
        return self.records

    def _parts(self, at: int, most: int | None) -> list[list[Record]]:
        """What is left, in parts that fit the model's own window, and `most` tokens each."""
        room = room_for_records(
            self._info(at), self.summarizer, known=self.matter.known, previous=as_text(self.items),
            focus=self.matter.focus, style=self.matter.style,
        )  # fmt: skip
        room = room if most is None else min(room, most)
        left = self._records(max(LEAST_ROOM, room // 4))[self.at :]
        if not left:
            return []
        if room < LEAST_ROOM:
            self.failure = Failure("too_long", f"{self.names[at]} has only {room} tokens for the conversation")
            return []
        return parts_of(left, room, max(1, self.summarizer.limits.parts - self.told_parts))

    def _info(self, at: int) -> ModelInfo:
        """What is known of a model, its window no larger than a refusal said."""
        info = info_of(self.summarizer.models[at])
        return msgspec.structs.replace(info, window=min(self.limits.get(at, info.window), info.window))

    # -- one call

    def _ask(self, ask: Ask, at: int) -> Generator[Ask, Any, tuple[Failure | None, Reply]]:
        """One call with its hooks; (the failure, or None when its answer is part of the narrative now, the reply)."""
        reply, began = Reply(), monotonic()
        try:
            offered = self.hooked.on_ask(ask)
            ask = offered if isinstance(offered, Ask) else ask
            answer = (yield ask) if offered is None or isinstance(offered, Ask) else offered
            reply = _sound(as_reply(answer))
            reply = _sound(self.hooked.on_reply(ask, reply) or reply)
            yield from self._take(reply)
        except HookFailed:
            self._note(ask, at, reply, "hook")
            raise
        except PolicyError:
            raise  # the caller's mistake is the caller's to hear of
        except Exception as error:
            late = getattr(error, "reply", None)  # it came after its time: not used, and paid for
            reply = late if isinstance(late, Reply) else reply
            self.failure = _failure(error, ask, reply)
            self.reasons += error.reasons if isinstance(error, SummaryRejected) else (self.failure.message,)
            self._note(ask, at, _timed(reply, began), self.failure.kind)
            if rest := _rest(self.failure):
                self.rests[self.names[at]] = rest
                self.down.add(at)
        except BaseException:
            self._note(ask, at, _timed(reply, began), "cancelled")
            raise
        else:
            self.failure = None
            self._note(ask, at, reply, "")
        self.beaten = self.matter.beaten()
        return self.failure, reply

    def _take(self, reply: Reply) -> Generator[Any, Any, None]:
        """Read, check and merge an answer. Raises SummaryRejected."""
        state, before = self.matter.sources.state, self.items
        answer = read_answer(reply, instructions=self.lines, may_be_empty=bool(self.items or self.at))
        self.reasons += answer.notes
        if not answer.items:  # nothing new in this part: what was told stands, but for work of an older boundary
            self.items = before if self.at else merged(before, (), state)
            return
        found = yield self._check(answer.items)
        items, dropped = tuple(found.items), list(found.dropped)
        kept = self.hooked.after(items)
        if kept is not None and kept != items:
            again = yield self._check(kept)
            items, dropped = tuple(again.items), [*dropped, *again.dropped]
        if found.dropped and not items:
            raise SummaryRejected(("nothing of it stands in the record", *found.dropped[:8]))
        self.reasons += dropped
        if found.repaired:
            self.reasons.append(f"{found.repaired} statement(s) had their events, reason or field corrected by code")
        self.items = yield Chore(lambda: merged(before, items, state))
        self.reasons += given_up(before, self.items, state)

    def _check(self, items: Sequence[Item]) -> Chore:
        """Checking goes over the whole covered past for every statement: not under the session's lock."""
        return Chore(lambda: checked(items, self.matter.sources, self.items))

    def _note(self, ask: Ask, at: int, reply: Reply, failure: str) -> None:
        name = self.matter.redact(reply.model) or info_of(ask.model).name
        self.calls.append(
            Call(
                model=name,
                asked=self.names[at],
                mode=ask.mode,
                part=ask.part,
                parts=ask.parts,
                tokens=ask.tokens,
                usage=reply.usage,
                seconds=reply.seconds,
                failure=failure,
            )
        )
        self.mode = ask.mode
        if not failure:
            self.author = name

    # -- the end

    def account(self, failure: Failure | None = None, kind: str = "") -> Account:
        """What came of it all. Of a past that is told in part, what was work and steps in its middle is overtaken."""
        rest = self.records[self.at :]
        failure = failure or self.failure
        if failure is None and rest and not self.beaten:
            failure = Failure("error", "no model could be asked")
        items = merged(self.items, (), self.matter.sources.state) if rest and self.author else self.items
        redact = self.matter.redact
        return Account(
            narrative=items if self.author else None,
            author=f"code and {self.author}" if self.author else "code",
            mode=self.mode,
            calls=tuple(self.calls),
            failure=redact(str(failure.message) if kind else f"{failure.kind}: {failure.message}") if failure else "",
            kind=kind or (failure.kind if failure else ""),
            rests=self.rests,
            untold=(rest[0].seq, rest[-1].seq) if rest else None,
            coverage=_coverage(self.records, self.at) if self.calls else None,
            reasons=tuple(dict.fromkeys(map(redact, self.reasons))),
            warnings=tuple(dict.fromkeys(map(redact, (*self.hooked.warnings, *self.warnings)))),
            cache=self.cache,
        )


def _lines_of(prompt: Prompt) -> tuple[str, ...]:
    """What an answer must not repeat: the lines of the built-in words and of the caller's own. One is too short to be
    counted among them, and an agent that reads it in a record stops using its tools."""
    own = (prompt.system, prompt.instructions, prompt.fork_instructions)
    return (*INSTRUCTION_LINES, *instruction_lines(*(text for text in own if text)), "You have no tools.")


def _sound(reply: Reply) -> Reply:
    """A reply whose fields are what they should be: it may come from code that nobody checked, and what it reports is
    stored. None is taken as not said; raises ValidationError for anything else, before the answer counts."""
    said = {name: value for name, value in msgspec.to_builtins(reply).items() if value is not None}
    sound = msgspec.convert(said, Reply)
    name = " ".join(sound.model.encode("utf-8", "replace").decode().split())
    usage = Usage(**{one: _bounded(getattr(sound.usage, one), _MOST_TOKENS) for one in Usage.__struct_fields__})
    seconds = float(_bounded(sound.seconds, LONGEST_REST))
    return msgspec.structs.replace(sound, model=name[:80], usage=usage, seconds=seconds)


def _bounded(number: Any, most: Any) -> Any:
    """A number between 0 and `most`; 0 for one that is none."""
    return max(0, min(number, most)) if isfinite(number) else 0


def _failure(error: Exception, ask: Ask, reply: Reply) -> Failure:
    """What went wrong, without a word of what was asked; of a refused answer in the word for which there is a rule."""
    found = failure_of(error, ask.prompt or json.dumps(ask.body, ensure_ascii=False, default=str))
    return (failure_in_reply(reply) or found) if found.kind == "rejected" else found


def _timed(reply: Reply, began: float) -> Reply:
    """The reply of a call that failed, with the time that was waited for it where nobody else measured it: a model that
    hangs must not look like a fast one."""
    return reply if reply.seconds else msgspec.structs.replace(reply, seconds=monotonic() - began)


def _rest(failure: Failure) -> float:
    """Seconds that a model should rest after a failure; 0: it may be asked about something else."""
    return float(_bounded(max(failure.retry_after or 0.0, RULES[failure.kind].rest_seconds), LONGEST_REST))


def _coverage(found: Sequence[Record], told: int) -> float:
    """Share of the tokens of all records that a model has seen."""
    whole = sum(record.tokens for record in found)
    return sum(record.tokens for record in found[:told]) / whole if whole else 1.0
