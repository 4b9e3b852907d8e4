"""What a method is for `bench.rivals`: `start(setting) -> turn(messages) -> Answer`. Knows no method and no case.

Three sorts of state between the turns of one list: none (`stateless`); edits that stay in the history (`persistent`);
a log or store of the method's own.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bench.methods import Message
from bench.peers import widest
from bench.sizes import size

SUMMARY = "Goal: finish the task. Done so far: several files were read. Next: go on."
MODEL = "gpt-4o"


class Setting(NamedTuple):
    """What a method is asked for. `budget` is the size to reach (o200k tokens, `bench.sizes`).

    `is_limit`: the budget is all that the model can take. `is_growing`: the budget is the trigger, and what stays is by
    the method's own defaults (else methods with a dial get the widest setting that meets the budget). `rambles`: the
    summariser returns twice what it read. `own_counter`: the method counts as it does out of the box. `takes_turns`:
    the server wants roles to alternate, and a method that can be told is told.
    """

    budget: int
    wire: str = "openai-chat"
    is_limit: bool = False
    is_growing: bool = False
    rambles: bool = False
    own_counter: bool = False
    takes_turns: bool = False


def opens_nothing(pointer: str) -> str:
    raise KeyError(pointer)


class Answer(NamedTuple):
    """The list that would go out, and the way to open a pointer that stands in it (raises KeyError)."""

    messages: list[Message]
    open: Callable[[str], str] = opens_nothing


Turn = Callable[[Sequence[Message]], Answer]


class Rival(NamedTuple):
    """`can`: target (takes a size), writes (puts a text of its own in), anthropic (takes Anthropic messages), hook
    (runs a user's own processor). `pointer` finds in a text what the method says can be fetched again. `refusals` are
    its documented errors for what cannot fit."""

    name: str
    start: Callable[[Setting], Turn]
    can: frozenset[str]
    pointer: str = ""
    refusals: tuple[type[Exception], ...] = ()
    hook: Callable[[Sequence[Message]], list[Message]] | None = None


def stateless(compact: Callable[[list[Message]], list[Message]]) -> Turn:
    return lambda messages: Answer(compact(copy.deepcopy(list(messages))))


def persistent(compact: Callable[[list[Message]], list[Message]]) -> Turn:
    """Edits stay: the next turn goes on from the compacted list and what is new."""
    held: list[Message] = []
    seen = 0

    def turn(messages: Sequence[Message]) -> Answer:
        nonlocal held, seen
        held = compact([*held, *copy.deepcopy(list(messages[seen:]))])
        seen = len(messages)
        return Answer(held)

    return turn


def dialled(
    make: Callable[[int], list[Message]], messages: list[Message], setting: Setting, default: int
) -> list[Message]:
    """By the default when the method triggers itself over many turns, else by the widest setting that fits."""
    if setting.is_growing or setting.own_counter or size(messages) <= setting.budget:
        return make(default)
    return widest(make, len(messages), setting.budget)


def rambling(messages: Sequence[Message]) -> str:
    return "\n".join(str(message.get("content") or "") for message in messages) * 2


def pointers(rival: Rival, text: str) -> list[str]:
    """What the text says can be fetched again, each once."""
    return list(dict.fromkeys(re.findall(rival.pointer, text))) if rival.pointer else []
