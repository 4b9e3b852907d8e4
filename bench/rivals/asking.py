"""Asks a method about a list and gathers what is broken. Knows no list and no check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from bench.methods import Message
from bench.rivals.checks import Check
from bench.rivals.method import Answer, Rival, Setting, Turn


class Crash(Exception):
    """The method raised; `cause` is what."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(type(cause).__name__)
        self.cause = cause


class NotAsked(Exception):
    """The case turns out to have nothing to judge in this method's answer."""


class Case(NamedTuple):
    """`play` asks the method and returns what is broken. `needs` as in `Rival.can`, and `pointers`."""

    id: str
    promise: str
    play: Callable[[Rival], list[str]]
    needs: frozenset[str] = frozenset()


def asked(turn: Turn, messages: list[Message]) -> Answer:
    try:
        return turn(messages)
    except Exception as error:  # any exception of a method is a finding
        raise Crash(error) from error


def judged(messages: list[Message], after: Sequence[Message], budget: int, *wanted: Check) -> list[str]:
    return [broken for check in wanted for broken in check(messages, after, budget)]


def once(
    messages: list[Message], setting: Setting, *wanted: Check, may_refuse: bool = False
) -> Callable[[Rival], list[str]]:
    """Ask once. A method may refuse by its documented error where the promise allows that."""

    def play(rival: Rival) -> list[str]:
        try:
            answer = asked(rival.start(setting), messages)
        except Crash as crash:
            if may_refuse and isinstance(crash.cause, rival.refusals or ()):
                return []
            raise
        return judged(messages, answer.messages, setting.budget, *wanted)

    return play


def all_of(*plays: Callable[[Rival], list[str]]) -> Callable[[Rival], list[str]]:
    return lambda rival: [broken for play in plays for broken in play(rival)]


def grown(messages: list[Message], setting: Setting, *wanted: Check) -> Callable[[Rival], list[str]]:
    """The list grows; the method is asked whenever a request would go out; the checks must hold every time."""

    def play(rival: Rival) -> list[str]:
        turn = rival.start(setting)
        for past in requests(messages):
            if broken := judged(past, asked(turn, past).messages, setting.budget, *wanted):
                return [f"at message {len(past)}: {broken[0]}"]
        return []

    return play


def requests(messages: list[Message]) -> list[list[Message]]:
    """The heads of a list at which a model is called: behind a user message or the last result of a step."""
    roles = [message["role"] for message in messages] + [""]
    ends = [at for at in range(1, len(roles)) if roles[at - 1] in ("user", "tool") and roles[at] != "tool"]
    return [messages[:end] for end in ends]
