"""The conversation with summary models: part by part, model by model, until there is a narrative or none.

Yields an `Ask` and is sent the answer, or thrown what went wrong. Knows nothing of stores, sessions or how a call is
made. The past comes in records of whole events; each part revises the narrative so far, so a part that fails does not
undo the ones before it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import msgspec

from foldmark.asking import Ask, Mode, ModelInfo, Reply, as_reply, info_of
from foldmark.checkpoint import Checkpoint, Item
from foldmark.errors import SummarizerFailed, SummaryRejected
from foldmark.failures import RULES, Failure, failure_in_reply, failure_of
from foldmark.matter import Matter
from foldmark.narrative import INSTRUCTION_LINES, as_text, instruction_lines
from foldmark.prompts import parts_of, room_for_records, standalone
from foldmark.records import Record, records
from foldmark.reports import Call, Spent
from foldmark.story import checked, merged, tell
from foldmark.story.standing import State
from foldmark.summarizer import Prompt, Summarizer

LEAST_ROOM = 100
"""A model that has fewer tokens for records than this is of no use for them."""

Asking = Generator[Ask, Any, "Told"]


class Told(Spent, frozen=True, kw_only=True):
    """What came of it, with what it took. `narrative` is None when no model told anything; `beaten` says that another
    compaction won meanwhile."""

    narrative: tuple[Item, ...] | None = None
    author: str = "code"
    beaten: bool = False


BY_CODE = Told()
"""Nobody was asked."""


def paused(why: str) -> Told:
    """A model is configured and may not be asked now."""
    return Told(failure=why, kind="resting", coverage=0.0)


def standing(told: Told, before: Checkpoint | None, state: State) -> tuple[tuple[Item, ...], str]:
    """(the narrative of the next checkpoint, its author): what was told now; when nothing was, the decisions, failures
    and conflicts of the checkpoint `before` that `state` does not overrule. One failed call must not forget them; work,
    steps and questions of an older boundary are overtaken."""
    if told.narrative is not None or before is None:
        return told.narrative or (), told.author
    return merged(before.narrative, (), state), before.author


def insist(told: Told, summarizer: Summarizer | None) -> None:
    """Raises SummarizerFailed or SummaryRejected when the summarizer requires a model and none told the whole."""
    if summarizer is None or not summarizer.require_model or not told.failure or told.beaten:
        return
    if told.kind == "rejected" and told.reasons:
        raise SummaryRejected(told.reasons)
    again = told.kind not in ("auth", "quota", "missing_model")
    raise SummarizerFailed(f"No model told it: {told.failure}. The session is unchanged.", retryable=again)


def narrate(matter: Matter, summarizer: Summarizer) -> Asking:
    """Ask for the narrative of the covered events. Raises SummarizerFailed when a hook asks to abort."""
    telling = _Telling(matter, summarizer)
    models = tuple(model for model in summarizer.models if info_of(model).name not in matter.resting)
    if summarizer.fork and models[:1] == summarizer.models[:1]:
        if (yield from telling.by_fork()):
            return telling.told()
        models = models[1:] if telling.is_down() else models
    for model in models:
        if (yield from telling.by(model)) or telling.beaten:
            break
    return telling.told()


class _Aborted(SummarizerFailed):
    """A hook failed, and `abort` is set: not to be taken for the failure of a model."""


class _Telling:
    """A narrative on its way: what is told, what is left, what was paid and what went wrong."""

    def __init__(self, matter: Matter, summarizer: Summarizer) -> None:
        self.matter, self.summarizer, self.hooks = matter, summarizer, summarizer.hooks
        self.items = matter.previous
        own = (summarizer.prompt.system, summarizer.prompt.instructions, summarizer.prompt.fork_instructions)
        self.lines = (*INSTRUCTION_LINES, *instruction_lines(*filter(None, own)))
        self.lines = _lines_of(summarizer.prompt)
        self.records: list[Record] = []
        self.at = self.told_parts = 0  # records told so far, in how many parts
        self.calls: list[Call] = []
        self.warnings: list[str] = []
        self.reasons: list[str] = []
        self.failure: Failure | None = None
        self.author = ""
        self.mode: Mode = "standalone"
        self.beaten = False
        self.rests: dict[str, float] = {}
        self.reply, self.cache = Reply(), ""
        self.limits: dict[int, int] = {}  # windows that refusals named, by model

    # -- by a clone of the parent request

    def by_fork(self) -> Generator[Ask, Any, bool]:
        """One call that rides on the provider's cache; False when it cannot be made or brought nothing."""
        fork = self.matter.fork
        ask = fork(self.summarizer, self.items) if fork else "there is no parent request"
        if isinstance(ask, str):
            self.warnings.append(f"Asked standalone, not as a fork: {ask}.")
            return False
        failure = yield from self._ask(ask)
        if self.matter.cache and self.reply.usage.input:
            self.cache, warning = self.matter.cache(self.summarizer, ask, self.reply)
            self.warnings += [warning] if warning else []
        if failure is None:
            self.at = len(self._records(4_000))
            self.mode = "fork"
            return True
        self.warnings.append(f"The fork brought nothing ({failure.kind}: {failure.message}); asked standalone.")
        return False

    def is_down(self) -> bool:
        """Whether the model that was asked would fail at any other question as well: its line, its key, its server."""
        rule = RULES[self.failure.kind] if self.failure else None
        return bool(rule and rule.rest_seconds)

    # -- by text

    def by(self, model: Any) -> Generator[Ask, Any, bool]:
        """All that is left, by one model: part after part, once smaller and once plain where that can help."""
        most, plain, tried = None, False, set[str]()
        while not self.beaten:
            parts = self._parts(model, most)
            if not parts:
                return self._is_whole()
            number = self.told_parts + 1
            ask = standalone(
                model, self.summarizer, parts[0], known=self.matter.known, previous=self.items,
                focus=self.matter.focus, part=number, parts=number + len(parts) - 1, plain=plain,
                style=self.matter.style, redact=self.matter.redact, warn=self.warnings.append, info=self._info(model),
            )  # fmt: skip
            failure = yield from self._ask(ask)
            if failure is None:
                self.at += len(parts[0])
                self.told_parts += 1
                continue
            rule = RULES[failure.kind]
            if failure.limit:
                self.limits[id(model)] = failure.limit
            half = sum(record.tokens for record in parts[0]) // 2  # of what was sent: the same body is not sent twice
            if rule.smaller and "smaller" not in tried and half >= LEAST_ROOM:
                most = half
                tried.add("smaller")
            elif rule.plain and not plain:
                plain = True
            else:
                return False
        return False

    def _records(self, limit: int) -> list[Record]:
        if not self.records:
            found, warnings = records(
                self.matter.covered, style=self.matter.style, hooks=self.hooks, redact=self.matter.redact,
                limit_tokens=limit, focus=self.matter.focus,
            )  # fmt: skip
            self.records, self.warnings = found, [*self.warnings, *warnings]
        return self.records

    def _parts(self, model: Any, most: int | None) -> list[list[Record]]:
        """What is left, in parts that fit the model's own window, and `most` tokens each."""
        room = room_for_records(
            self._info(model), self.summarizer, known=self.matter.known, previous=as_text(self.items),
            focus=self.matter.focus, style=self.matter.style,
        )  # fmt: skip
        room = room if most is None else min(room, most)
        left = self._records(max(LEAST_ROOM, room // 4))[self.at :]
        if not left:
            return []
        if room < LEAST_ROOM:
            self.failure = Failure("too_long", f"{info_of(model).name} has only {room} tokens for the conversation")
            return []
        return parts_of(left, room, max(1, self.summarizer.limits.parts - self.told_parts))

    def _info(self, model: Any) -> ModelInfo:
        """What is known of a model, its window no larger than a refusal said."""
        info = info_of(model)
        limit = self.limits.get(id(model), info.window)
        return msgspec.structs.replace(info, window=min(limit, info.window))

    def _is_whole(self) -> bool:
        return self.at >= len(self.records) and self.failure is None

    # -- one call

    def _ask(self, ask: Ask) -> Generator[Ask, Any, Failure | None]:
        """One call with its hooks; the failure, or None when its answer is part of the narrative now."""
        reply = Reply()
        try:
            offered = self._hooked("on_ask", self.hooks.on_ask, ask)
            ask = offered if isinstance(offered, Ask) else ask
            answer = (yield ask) if offered is None or isinstance(offered, Ask) else offered
            reply = _sound(as_reply(answer))
            changed = self._hooked("on_reply", self.hooks.on_reply, ask, reply)
            self.reply = reply = _sound(changed) if isinstance(changed, Reply) else reply
            self._take(reply)
        except _Aborted:
            raise
        except Exception as error:
            self.failure = _failure(error, ask, reply)
            self.reasons += error.reasons if isinstance(error, SummaryRejected) else (self.failure.message,)
            self._note(ask, reply, self.failure.kind)
            if rest := _rest(self.failure):
                self.rests[info_of(ask.model).name] = rest
        else:
            self.failure = None
            self._note(ask, reply, "")
        self.beaten = self.matter.beaten()
        return self.failure

    def _take(self, reply: Reply) -> None:
        """Read, check and merge an answer. Raises SummaryRejected."""
        answer = tell(reply, instructions=self.lines, may_be_empty=bool(self.items or self.at))
        self.reasons += answer.notes
        if not answer.items:  # nothing new in this part: what was told stands, but for work of an older boundary
            self.items = self.items if self.at else merged(self.items, (), self.matter.sources.state)
            return
        found = checked(answer.items, self.matter.sources, self.items)
        items, dropped = tuple(found.items), list(found.dropped)
        kept = self._hooked("after", self._after if self.hooks.after else None, items)
        if kept is not None and kept != items:
            again = checked(kept, self.matter.sources, self.items)
            items, dropped = tuple(again.items), [*dropped, *again.dropped]
        if found.dropped and not items:
            raise SummaryRejected(("nothing of it stands in the record", *found.dropped[:8]))
        self.reasons += dropped
        if found.repaired:
            self.reasons.append(f"{found.repaired} statement(s) had their events, reason or field corrected by code")
        self.items = merged(self.items, items, self.matter.sources.state)

    def _after(self, items: tuple[Item, ...]) -> tuple[Item, ...] | None:
        """What `hooks.after` keeps; what it returns beside items is an error of the hook, not of the model."""
        kept = self.hooks.after(items) if self.hooks.after else None
        return None if kept is None else tuple(msgspec.convert(msgspec.to_builtins(item), Item) for item in kept)

    def _hooked(self, name: str, hook: Callable[..., Any] | None, *arguments: Any) -> Any:
        """What a hook says; its error is a warning, or ends the attempt when `abort` is set."""
        if hook is None:
            return None
        try:
            return hook(*arguments)
        except Exception as error:
            said = self.matter.redact(repr(error))[:200]
            if self.hooks.abort:
                raise _Aborted(f"The hook {name} failed: {said}. Nothing was changed.", retryable=False) from error
            self.warnings.append(f"The hook {name} failed and was passed over: {said}")
            return None

    def _note(self, ask: Ask, reply: Reply, failure: str) -> None:
        name = self.matter.redact(reply.model) or info_of(ask.model).name
        self.calls.append(
            Call(
                model=name,
                mode=ask.mode,
                part=ask.part,
                parts=ask.parts,
                tokens=ask.tokens,
                usage=reply.usage,
                seconds=reply.seconds,
                failure=failure,
            )
        )
        if not failure:
            self.author = name

    # -- the end

    def told(self) -> Told:
        """What came of it all."""
        rest = self.records[self.at :]
        failure = self.failure or (Failure("error", "no model could be asked") if rest and not self.beaten else None)
        some = bool(self.author)
        return Told(
            narrative=self.items if some else None,
            author=f"code and {self.author}" if some else "code",
            mode=self.mode if some or self.calls else "code",
            calls=tuple(self.calls),
            failure=self.matter.redact(f"{failure.kind}: {failure.message}") if failure else "",
            kind=failure.kind if failure else "",
            rest_seconds=_rest(failure),
            rests=self.rests,
            untold=(rest[0].seq, rest[-1].seq) if rest else None,
            coverage=_coverage(self.records, self.at),
            reasons=tuple(dict.fromkeys(map(self.matter.redact, self.reasons))),
            warnings=tuple(dict.fromkeys(map(self.matter.redact, self.warnings))),
            beaten=self.beaten,
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
    return msgspec.structs.replace(sound, model=name[:80])


def _failure(error: Exception, ask: Ask, reply: Reply) -> Failure:
    """What went wrong, without a word of what was asked; of a refused answer in the word for which there is a rule."""
    found = failure_of(error, ask.prompt)
    return (failure_in_reply(reply) or found) if found.kind == "rejected" else found


def _rest(failure: Failure | None) -> float:
    if failure is None:
        return 0.0
    return max(failure.retry_after or 0.0, RULES[failure.kind].rest_seconds)


def _coverage(found: Sequence[Record], told: int) -> float:
    """Share of the tokens of all records that a model has seen."""
    whole = sum(record.tokens for record in found)
    return sum(record.tokens for record in found[:told]) / whole if whole else 1.0
