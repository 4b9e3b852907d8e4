"""What code knows overrules what a model told: cancelled work stays cancelled, nobody approves but the user, a limit is
not decided away. Knows nothing of evidence.

Plain word overlap, no model: where it is not sure, the statement stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from foldmark.checkpoint import Fact, Item
from foldmark.render import escape
from foldmark.story.cutting import clipped
from foldmark.words import STOP, telling, words

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
    r"\b(?:never ?mind|forget (?:about )?(?=the|that|it)|cancel|scrap|call off|abandon"
    r"|(?:do not|don['’]?t) bother (?:with|to)|no need (?:to|for))\s+(?P<what>[^.,;:!?()]{3,120})",
    re.IGNORECASE,
)
"""A user who takes back what the agent announced. Plain orders (drop, skip, leave) are no taking back."""
_TELLS_THE_PAST = re.compile(r"\b(?:was|were|has been|have been|had been|already|instead of)\b", re.IGNORECASE)
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^.]{0,24}\b(?:previous|prior|above|earlier|system|your)\b[^.]{0,24}"
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


def against_the_state(item: Item, state: State) -> str:
    """Why a step or a piece of work is dropped that takes up what is over; "" when it is not."""
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
    return _waved_off(item, own, state)


def _waved_off(item: Item, own: frozenset[str], state: State) -> str:
    """Why a step is dropped that the user has taken back in plain words, and not asked for again since."""
    leading = frozenset(words(item.text)[:2])
    for said in _of(state, "user"):
        for match in _WAVES_OFF.finditer(said.value[:2_000]):
            what = _content(match["what"])
            shared = len(own & what)
            is_it = shared >= REVIVES * len(what) if len(what) > 1 else bool(what & leading)
            if what and is_it and not _asked_again(own, said, state):
                return f"takes up again what the user waved off: {match[0][:80]!r} (event:{said.seq})"
    return ""


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


_FILLERS = frozenset(
    words("next step then now still continue resume proceed finish start begin need must should work task plan go")
)
