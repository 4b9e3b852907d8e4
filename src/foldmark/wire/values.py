"""The values that every wire speaks in: transcript, problem, rule, overhead. Knows nothing of any provider's
shapes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from foldmark.events import Event

Certainty = Literal["known", "suspected"]


class Overhead(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens that a wire adds to the counts of the parts: per message (event), per call, per request.

    The rule of measure is one for all wires, so that sizes compare: content, call names and arguments, four
    per message, tool schemas as compact JSON.
    """

    message: int = 4
    call: int = 0
    request: int = 0


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    """A message list that was read: the system text, neutral tools, events in order, and what needs
    saying."""

    system: str = ""
    tools: tuple[dict[str, Any], ...] = ()
    events: tuple[Event, ...] = ()
    warnings: tuple[str, ...] = ()


class Rule(msgspec.Struct, frozen=True):
    """One thing a provider refuses. `known`: its refusal is documented or was seen; `suspected`: some models
    or compatible servers refuse it. `source` says in words where the rule comes from, `seen` the year and month
    in which the refusal was last seen or read about."""

    code: str
    certainty: Certainty
    source: str
    seen: str = ""


class Problem(msgspec.Struct, frozen=True):
    """A place in a payload that the provider would refuse; `path` like `messages[3].content[0].signature`."""

    path: str
    code: str
    message: str
    certainty: Certainty = "known"

    def __str__(self) -> str:
        return f"{self.path}: {self.message} [{self.code}, {self.certainty}]"


class RuleBook:
    """The rules of one provider by code; makes problems that carry the rule's certainty."""

    def __init__(self, provider: str, rules: tuple[Rule, ...]) -> None:
        self.provider = provider
        self.rules = {rule.code: rule for rule in rules}

    def problem(self, path: str, code: str, message: str) -> Problem:
        return Problem(path, code, message, self.rules[code].certainty)

    def shapes(self, paths: Iterable[str]) -> list[Problem]:
        """A problem for every path whose value is of the wrong shape."""
        return [self.problem(path, "shape", "is not of the shape that the API takes.") for path in paths]
