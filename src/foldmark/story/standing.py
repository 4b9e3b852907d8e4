"""What code knows overrules what a model told: cancelled work stays cancelled, and what the user took back is no step.
Knows nothing of how a statement is proven.

Plain word overlap, no model: where it is not sure, the statement stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from foldmark.checkpoint import Fact, Item
from foldmark.story.evidence import Evidence
from foldmark.story.speakers import OTHERS
from foldmark.words import telling, words

State = Mapping[tuple[str, str], Fact]

REVIVES = 0.7
"""Share of a finished plan's words that a statement must repeat, and of its own words that must come from it, before
it counts as taking that plan up again."""

_OVER = ("cancelled", "superseded", "done")  # "gone" says only that a list was written anew
_TELLS_THE_END = re.compile(
    r"\b(?:cancel\w*|supersed\w*|stopp\w*|abort\w*|dropp\w*|abandon\w*|withdr[ae]w\w*|no longer|not any ?more|undone"
    r"|reverted|skipped|rejected|obsolete|done|finished|completed|abgebrochen|verworfen|erledigt"
    r"|annul\w+|cancelad\w+|anulad\w+)\b|取消|已完成|不再|中止|完了|やめ|취소|완료",
    re.IGNORECASE,
)
_WAVES_OFF = re.compile(
    r"(?<!not )(?<!n't )(?<!n’t )(?<!never )\b(?:(?P<plain>never ?mind|forget(?: about)?|scrap|call off|abandon"
    r"|(?:do not|don['’]?t) bother (?:with|to)|no need (?:to|for)|(?:we|i|you) no longer need)"
    r"|cancel|skip|leave out|stop (?:working on|with)|(?:we|i) (?:do not|don['’]?t) need(?: to)?)\s+"
    r"(?P<what>[^.,;:!?()]{3,120})",
    re.IGNORECASE,
)
"""A user who takes back what was announced. Where the words may be an order as well (`cancel my flights`), they take
back only what somebody spoke of before."""
_TELLS_THE_PAST = re.compile(r"\b(?:was|were|has been|have been|had been|already|instead of)\b", re.IGNORECASE)
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^.]{0,24}\b(?:previous|prior|above|earlier|system"
    r"|your)\b[^.]{0,24}"
    r"\b(?:instructions?|prompts?|rules?|constraints?|guidelines?|messages?)\b|\byou are now\b"
    r"|\bnew (?:system )?instructions?:|^\W{0,3}system\s?(?:prompt|message)?\s?:",
    re.IGNORECASE,
)
_TELLS_OF_ORDERS = re.compile(
    r"\b(?:injection|malicious|untrusted|attempt\w*|says?|said|tells?|told|contains?|contained|claims?|claimed|asks?"
    r"|asked|page|result|output|suspicious|quoted?)\b|[\"“'‘`]",
    re.IGNORECASE,
)


def gives_orders(item: Item) -> str:
    """Why a statement that commands its reader is dropped: a page's "ignore your instructions" must not become a
    standing order. One that only reports such words stays."""
    text = f"{item.text} {item.why}"
    found = _ORDERS.search(text)
    if found and not _TELLS_OF_ORDERS.search(text[: found.start()]):
        return "gives orders to the agent"
    return ""


def is_to_the_reader(item: Item) -> bool:
    """Whether a statement tells its reader what to do: it may be honest, and is never proven."""
    return bool(
        re.match(
            r"\W{0,4}(?:you|the agent|the assistant) (?:must|should|have to|has to|need to|are to)\b",
            item.text,
            re.IGNORECASE,
        )
    )


def against_the_state(item: Item, state: State, evidence: Evidence | None = None) -> str:
    """Why a step or a piece of work is dropped that takes up what is over; "" when it is not. With `evidence` a new
    one, of which somebody must have spoken before the user took it back; without, one that was told before."""
    if item.field not in ("next_steps", "current_work") or _TELLS_THE_END.search(item.text):
        return ""
    if item.field == "current_work" and _TELLS_THE_PAST.search(item.text):
        return ""
    own = _content(item.text)
    if len(own) < 2:
        return ""
    alive = max((_alike(own, fact) for fact in _plans(state) if fact.status not in (*_OVER, "gone")), default=0.0)
    for fact in _plans(state):
        if fact.status not in _OVER or (fact.status == "done" and item.field == "current_work"):
            continue
        if (found := _alike(own, fact)) >= REVIVES and found > alive and not _asked_again(own, fact, state):
            return f"takes up again what is {fact.status}: {fact.value[:80]!r} (event:{fact.seq})"
    return _waved_off(item, own, state, evidence)


def _waved_off(item: Item, own: frozenset[str], state: State, evidence: Evidence | None) -> str:
    """Why a step is dropped that the user has taken back in plain words, and not asked for again since."""
    leading = frozenset(words(item.text)[:2])
    for said in _of(state, "user"):
        for match in _WAVES_OFF.finditer(said.value[:2_000]):
            what = _content(match["what"]) - _AT_ITS_END
            if not match["plain"] and not _was_said(item, own, said.seq, evidence):
                continue
            shared = len(own & what)
            is_it = shared >= REVIVES * len(what) if len(what) > 1 else bool(what & leading)
            if what and is_it and not _asked_again(own, said, state):
                return f"takes up again what the user waved off: {match[0][:80]!r} (event:{said.seq})"
    return ""


def _was_said(item: Item, own: frozenset[str], before: int, evidence: Evidence | None) -> bool:
    """Whether the user or the agent spoke of a step before a message, in nearly all of its words; or it was planned."""
    if evidence is None:
        return bool(item.refs) and max(item.refs) < before
    plans = (fact for fact in _plans(evidence.sources.state) if fact.kind == "todo" and fact.seq < before)
    if any(len(own & _content(fact.value)) >= REVIVES * len(own) for fact in plans):
        return True
    earlier = (seq for seq in evidence.sharing(own, REVIVES) if 0 < seq < before)
    return any(evidence.sources.spoken_by.get(seq, "") not in OTHERS for seq in earlier)


def _plans(state: State) -> Iterator[Fact]:
    return (fact for (kind, _), fact in state.items() if kind in ("todo", "task"))


def _of(state: State, kind: str) -> Iterator[Fact]:
    return (fact for (one, _), fact in state.items() if one == kind)


def _alike(own: frozenset[str], fact: Fact) -> float:
    """How far a statement is this plan. Of a cancelled request, which may be long, only what the statement took counts;
    a finished one has to be repeated nearly whole, since new work is told in its words as well."""
    plan = _content(fact.value)
    if not plan:
        return 0.0
    shared = len(own & plan)
    taken = shared / len(own)
    if fact.kind == "task" and fact.status in ("cancelled", "superseded"):
        return taken if shared >= 2 else 0.0
    return min(taken, shared / len(plan)) if shared >= 2 or len(plan) == 1 else 0.0


def _asked_again(own: frozenset[str], fact: Fact, state: State) -> bool:
    """Whether a newer message of the user speaks of the same, apart from what it takes back."""
    later = (_WAVES_OFF.sub(" ", said.value) for said in _of(state, "user") if said.seq > fact.seq)
    return any(len(own & _content(said)) >= REVIVES * len(own) for said in later)


def _content(text: str) -> frozenset[str]:
    return frozenset(telling(words(text[:2_000]), 200)) - _FILLERS


_AT_ITS_END = frozenset(
    words("too now for any more anymore then please again either all after well moment today thing")
)
"""Words behind what is taken back, that are no part of it."""
_FILLERS = frozenset(
    words("next step then now still continue resume proceed finish start begin need must should work task plan go")
)
