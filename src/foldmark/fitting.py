"""The last resort that makes a request fit, and says what it dropped. Knows nothing of stores or triggers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import is_
from typing import Any

import msgspec

from foldmark.budget import Room
from foldmark.drafts import (
    NOTHING_PRELOADED,
    Draft,
    Request,
    Sizes,
    cost,
    priced,
    static_tokens,
    without_thinking,
)
from foldmark.errors import BudgetExceeded
from foldmark.events import Event, ToolCall
from foldmark.kinds import on_screen, recognise
from foldmark.redact import Redactor
from foldmark.refs import event_ref
from foldmark.reports import Change, Report
from foldmark.rounds import border, newest_user, rounds, unread_round
from foldmark.tokens import count


def fit(
    draft: Draft, room: Room, wire: Any, report: Report, *, max_output: int | None = None,
    redact: Redactor = lambda text: text,
) -> Request:  # fmt: skip
    """Make the request fit, or raise BudgetExceeded with the arithmetic. The ladder: as it is; without the preload;
    older results as outcome lines; oldest whole rounds out, but for what the user said in them; the newest results as
    short previews; the user's older words. Never dropped: the newest real user message, open calls, the unread tool
    round, what is kept. Thinking that is bound to its prefix leaves with anything else. `redact`
    hides the secrets of what is shown shorter."""
    static = static_tokens(draft.system, draft.tools)
    newest = _newest(draft)
    drop_rounds, drop_words = partial(_drop_rounds, newest=newest), partial(_drop_words, newest=newest)
    demote_older, shrink_newest = partial(_demote_older, redact=redact), partial(_shrink_newest, redact=redact)
    for step in (_as_is, _drop_preload, demote_older, drop_rounds, shrink_newest, drop_words):
        draft = step(draft, room.ceiling - static - room.extra(draft.messages))
        if room.bound_thinking and step not in (_as_is, _drop_preload):  # the suffix stands behind all thinking
            draft = _unbound(draft)
        whole = cost(draft.messages)
        if whole + room.extra(draft.messages) <= room.ceiling - static:  # images at the price of who reads them
            return _request(draft, sizes(draft, room.static, static, whole), room, wire, report, max_output)
    raise _exceeded(sizes(draft, room.static, static, whole), room, room.extra(draft.messages))


def _exceeded(measured: Sizes, room: Room, images: int) -> BudgetExceeded:
    """The error with its arithmetic; `images` is what they cost at the provider above their neutral prices."""
    used = [("- checkpoint and kept messages", -measured.checkpoint), ("- newest round", -measured.tail)]
    used += [("- images, at this provider's prices", -images)] if images else []
    return BudgetExceeded(
        f"The smallest valid request takes {measured.total + images:,} tokens and {room.ceiling:,} are allowed. "
        "Use a larger window, a smaller static prefix, or split the newest message.",
        (*room.lines(), *used),
    )


def sizes(draft: Draft, prefix: int, static: int, whole: int) -> Sizes:
    """Tokens of the draft by part; `whole` is what all its messages cost, `static` what system text and tools cost
    with a checkpoint that stands in the system text, `prefix` without it."""
    tail = draft.messages[draft.head :]
    results = previews = 0
    for event in tail:
        if event.role == "tool":
            results += event.tokens
            if getattr(event.parts[0], "artifact", None):
                previews += event.tokens
    head = cost(draft.messages[: draft.head])
    record = static - prefix
    return Sizes(
        static=prefix, checkpoint=record + head, tail=whole - head, results=results, previews=previews,
        overview=draft.overview, preloaded=cost(_preload(draft)),
    )  # fmt: skip


def _request(draft: Draft, measured: Sizes, room: Room, wire: Any, report: Report, max_output: int | None) -> Request:
    dropped = sum(change.status == "left_out" for change in draft.changes)
    warning = f"{dropped} events were left out because the request did not fit; compact to cover them."
    report = msgspec.structs.replace(
        report,
        after=measured.total,
        changes=draft.changes,
        warnings=(*report.warnings, *draft.warnings, *([warning] if dropped else [])),
        epoch="fit" if dropped else report.epoch,
        preloaded=draft.preloaded.refs,
    )
    return Request(
        system=draft.system,
        messages=draft.messages,
        tools=draft.tools,
        tokens=measured,
        report=report,
        wire=wire,
        ceiling=room.ceiling,
        stable=len(draft.messages) - draft.suffix,
        max_output=max_output,
        reserve=room.reserve,
    )


def _as_is(draft: Draft, _limit: int) -> Draft:
    return draft


def _preload(draft: Draft) -> Sequence[Event]:
    """The message with what was preloaded: the first of the suffix."""
    at = len(draft.messages) - draft.suffix
    return draft.messages[at : at + 1] if draft.preloaded.text else ()


def _drop_preload(draft: Draft, limit: int) -> Draft:
    """It was for this turn alone and can be searched for: it goes before anything else does."""
    gone = cost(_preload(draft))
    if not gone or cost(draft.messages) <= limit:
        return draft
    at = len(draft.messages) - draft.suffix
    warning = f"What was preloaded for this turn ({gone:,} tokens) did not fit and was left out."
    return replace(
        draft, messages=(*draft.messages[:at], *draft.messages[at + 1 :]), suffix=draft.suffix - 1,
        preloaded=NOTHING_PRELOADED, warnings=(*draft.warnings, warning),
    )  # fmt: skip


def _with_calls(tail: Sequence[Event], results: Sequence[Event]) -> list[Event]:
    """Results with the steps that made their calls, calls with their results, and what else those steps got back: they
    stay or go together."""
    made: dict[str, int] = {}  # the last step in front that made a call of this id: ids come again in some logs
    groups: dict[int, list[Event]] = {}
    for at, event in enumerate(tail):
        made.update((call.id, at) for call in event.calls)
        if event.calls:
            groups[at] = [event]
        elif event.result and (step := made.get(event.result.call_id)) is not None:
            groups[step].append(event)
    wanted = {id(event) for event in results if event.result or event.calls}
    return [event for group in groups.values() if any(id(one) in wanted for one in group) for event in group]


def _protected(draft: Draft) -> set[int]:
    """Positions in `messages` that no step may drop."""
    tail = draft.messages[draft.head :]
    newest = newest_user(tail)
    pinned = [event for event in tail if event.seq in draft.pins]
    fixed = {id(event) for event in (*pinned, *_with_calls(tail, [*unread_round(tail), *pinned]))}
    return {
        at
        for at, event in enumerate(draft.messages)
        if at < draft.head or event is newest or id(event) in fixed or at >= len(draft.messages) - draft.suffix
    }


def _shorten(
    draft: Draft,
    limit: int,
    reason: str,
    wanted: Callable[[int, Event], bool],
    short: Callable[[str, ToolCall | None], str],
    redact: Redactor,
) -> Draft:
    messages = list(draft.messages)
    calls: dict[str, ToolCall] = {}  # ids come again in some logs: a result belongs to the last call in front of it
    changes = {change.seq: change for change in draft.changes}
    over = cost(messages) - limit
    for at, event in enumerate(messages):
        result = event.result
        calls.update((call.id, call) for call in event.calls)
        if over <= 0:
            break
        if result is None or not event.seq or not wanted(at, event):
            continue
        said = redact(short(_hidden(result.text, redact), calls.get(result.call_id)))
        text = f"{said} [whole: {event_ref(event.seq)}]"
        new = priced(msgspec.structs.replace(event, parts=(msgspec.structs.replace(result, text=text, images=()),)))
        if new.tokens < event.tokens:
            messages[at] = new
            over -= event.tokens - new.tokens
            changes[event.seq] = Change(event.seq, "demoted", reason, event.tokens, new.tokens)
    return replace(draft, messages=tuple(messages), changes=tuple(changes[seq] for seq in sorted(changes)))


def _hidden(text: str, redact: Redactor) -> str:
    """The whole text without its secrets (half a key is not recognised), as a terminal shows it where a secret stands
    only there."""
    screen = on_screen(text)
    hidden = redact(screen)
    return hidden if screen is text or hidden != screen else redact(text)


def _demote_older(draft: Draft, limit: int, redact: Redactor) -> Draft:
    def short(text: str, call: ToolCall | None) -> str:
        return recognise(text, call).outcome(text, call)

    protected, reason = _protected(draft), "fit: older result as its outcome"
    return _shorten(draft, limit, reason, lambda at, _: at not in protected, short, redact)


def _shrink_newest(draft: Draft, limit: int, redact: Redactor) -> Draft:
    def short(text: str, call: ToolCall | None) -> str:
        return recognise(text, call).preview(text, 300, count)

    reason = "fit: newest result as a preview"
    return _shorten(draft, limit, reason, lambda at, _: at >= draft.head, short, redact)


def _unbound(draft: Draft) -> Draft:
    """Without thinking: what stands in front of it has changed, and its provider would refuse it there."""
    messages = tuple(map(without_thinking, draft.messages))
    if all(map(is_, messages, draft.messages)):
        return draft
    warning = "Thinking left with what did not fit; send this request without thinking enabled, or compact."
    return replace(draft, messages=messages, warnings=(*draft.warnings, warning))


def _newest(draft: Draft) -> int:
    """How many messages the newest round has: no step drops one of them."""
    body = draft.messages[draft.head : len(draft.messages) - draft.suffix]
    return len(body) - border(body, 1)


def _older(draft: Draft, newest: int) -> Sequence[Event]:
    return draft.messages[draft.head : len(draft.messages) - draft.suffix - newest]


def _drop_rounds(draft: Draft, limit: int, newest: int) -> Draft:
    groups = [[event for event in one.events if not event.is_user] for one in rounds(_older(draft, newest))]
    return _drop(draft, limit, "fit: the oldest rounds did not fit", groups)


def _drop_words(draft: Draft, limit: int, newest: int) -> Draft:
    """A rule that the user gave once is often a short line in an old round, and nobody else can say it again: such
    words go after everything that can be opened or done again."""
    groups = [[event] for event in _older(draft, newest)]
    return _drop(draft, limit, "fit: even the user's older words did not fit", groups)


def _drop(draft: Draft, limit: int, reason: str, groups: Sequence[Sequence[Event]]) -> Draft:
    """Without the first groups, as many as it takes."""
    protected = {id(draft.messages[at]) for at in _protected(draft)}
    gone: dict[int, Event] = {}
    over = cost(draft.messages) - limit
    for group in groups:
        if over <= 0:
            break
        loose = [event for event in group if id(event) not in protected]
        gone.update({id(event): event for event in loose})
        over -= cost(loose)
    if not gone:
        return draft
    left_out = [Change(event.seq, "left_out", reason, event.tokens, 0) for event in gone.values() if event.seq]
    lost = {change.seq for change in left_out}
    changes = sorted([c for c in draft.changes if c.seq not in lost] + left_out, key=lambda change: change.seq)
    messages = tuple(event for event in draft.messages if id(event) not in gone)
    return replace(draft, messages=messages, changes=tuple(changes))
