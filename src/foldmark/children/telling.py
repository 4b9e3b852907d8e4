"""What a parent is told of its sub-agent, from the sub-agent's own log: how it ended, its last words, what code knows,
each with a ref. Knows nothing of how it was run and of where the report goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from foldmark.checkpoint import Fact
from foldmark.children.limits import Spent
from foldmark.events import Event
from foldmark.kinds.base import plural
from foldmark.refs import event_ref
from foldmark.tokens import count

Outcome = Literal["finished", "failed", "timeout", "limit", "interrupted"]

WORDS_SHARE = 0.6
"""Of the room, what the last words may take where the facts need the rest: they are the answer, facts the proof."""
_MARK_CHARACTERS = 3
_VALUE_CHARACTERS = 300
_OF_STATE = (
    ("verification", ("failed", "passed")), ("error", ("open",)), ("file", ("changed", "created", "deleted")),
    ("todo", ("active", "pending")), ("command", ("failed", "ok")),
)  # fmt: skip
"""Which facts are told, the most wanted first."""


class Ended(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a run ended: its outcome, why (in a line, without secrets), the session that it ended in where that is not
    the one it began in, and the newest seq there at the end: what comes later is no part of the report."""

    outcome: Outcome
    why: str = ""
    session: str = ""
    head: int = 0


def last_words(events: Sequence[Event]) -> Event | None:
    """The newest reply with words: one without calls if there is any, since words beside calls only announce them."""
    said = [event for event in events if event.role == "assistant" and event.text.strip()]
    return next((event for event in reversed(said) if not event.calls), said[-1] if said else None)


def told_facts(state: Iterable[Fact]) -> list[Fact]:
    """Those of the newest facts that whoever gave the task wants to know, the most wanted first."""
    facts = list(state)
    out: list[Fact] = []
    for kind, statuses in _OF_STATE:
        of_kind = [fact for fact in facts if fact.kind == kind and fact.status in statuses and _tells(fact)]
        out += sorted(of_kind, key=lambda fact: (statuses.index(fact.status) if kind != "file" else 0, -fact.seq))
    return out


def _tells(fact: Fact) -> bool:
    """Commands that only look are not told."""
    return not (fact.kind == "command" and fact.meta.get("looks"))


def written(name: str, ended: Ended, events: Sequence[Event], facts: Sequence[Fact], spent: Spent, limit: int) -> str:
    """The report, at most `limit` tokens. `name` is the session that refs lead to."""
    head = _head(name, ended, spent)
    foot = f"All its steps: search with where=children, or load refs such as {event_ref(1, name)}."
    lines = [_line(fact, name) for fact in _each_once(facts)]
    words = last_words(events)
    room = limit - count(f"{head}\n\n\n{foot}\n")
    own = _words(words, ended, name, max(int(room * WORDS_SHARE), room - _size(lines)))
    shown = _fitting(lines, room - count(own) - 2, name)
    return "\n".join(part for part in (head, own, *shown, foot) if part)


def _each_once(facts: Sequence[Fact]) -> list[Fact]:
    """A failed test run is told by its verification: not as an error and as a command too."""
    told: set[str] = set()
    out: list[Fact] = []
    for fact in facts:
        if fact.kind in ("verification", "error", "command"):
            if fact.key in told:
                continue
            told.add(fact.key)
        out.append(fact)
    return out


def _head(name: str, ended: Ended, spent: Spent) -> str:
    why = f" ({ended.why})" if ended.why else ""
    tokens = f", {spent.tokens:,} tokens" if spent.tokens else ""
    return f"Sub-agent {name}: {ended.outcome}{why} after {_spent(spent)}{tokens}."


def _spent(spent: Spent) -> str:
    return f"{plural(spent.rounds, 'reply', 'replies')}, {plural(spent.events, 'event')}"


def _words(event: Event | None, ended: Ended, name: str, room: int) -> str:
    if event is None:
        return "It said nothing."
    ref = event_ref(event.seq, name)
    lead = f"Its answer ({ref}):" if ended.outcome == "finished" else f"Not finished. Its last words ({ref}):"
    text = event.text.strip()
    if (free := room - count(f"{lead}\n")) >= count(text):
        return f"{lead}\n{text}"
    return f"{lead}\n{shortened(text, free - count(_cut_note(ref)) - 1)}\n{_cut_note(ref)}"


def _cut_note(ref: str) -> str:
    return f"(shortened here; whole: {ref})"


def shortened(text: str, room: int) -> str:
    """At most `room` tokens of a text: two thirds from its head, one from its end, cut at words."""
    size = len(text)
    while size > 0:
        head, tail = text[: size * 2 // 3], text[len(text) - size // 3 :]
        made = f"{head.rpartition(' ')[0] or head} … {tail.partition(' ')[2] or tail}"
        if (tokens := count(made)) <= room:
            return made
        size = min(size - 1, size * max(room, 0) // tokens)
    return "…"


def _line(fact: Fact, name: str) -> str:
    value = " ".join((fact.key if fact.kind == "file" else fact.value).split())
    if len(value) > _VALUE_CHARACTERS:
        value = value[: _VALUE_CHARACTERS - _MARK_CHARACTERS].rstrip() + " …"
    how = fact.status
    if fact.kind == "command" and fact.meta.get("exit"):
        how = f"{how}, exit {fact.meta['exit']}"
    label = {"file": how, "command": f"ran [{how}]"}.get(fact.kind, f"{fact.kind} [{how}]")
    return f"- {label} {value} {event_ref(proof_of(fact), name)}"


def proof_of(fact: Fact) -> int:
    """The event that a fact is proved by: of a file the change, of anything else the newest word."""
    return int(fact.meta.get("changed", fact.seq)) if fact.kind == "file" else fact.seq


def _size(lines: Sequence[str]) -> int:
    return sum(count(line) + 1 for line in lines) + 2


def _fitting(lines: Sequence[str], room: int, name: str) -> list[str]:
    """As many lines as there is room for, and how many more there are."""
    shown: list[str] = []
    for number, line in enumerate(lines):
        rest = f"- {len(lines) - number} more in its log"
        left = room - count(line) - 1
        if left < (count(rest) + 1 if number + 1 < len(lines) else 0):
            return [*shown, rest] if room > count(rest) else shown
        shown.append(line)
        room = left
    return shown
