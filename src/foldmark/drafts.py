"""The values of a request: sizes, the draft before it fits, the request itself. Knows nothing of how they are made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import msgspec

from foldmark.errors import WireError
from foldmark.events import Event
from foldmark.reports import Change, Report
from foldmark.tokens import count, event_tokens, tool_tokens

MESSAGE_OVERHEAD = 4
"""Tokens that a message costs beside its parts (role and separators, as OpenAI's counting guide has it)."""


class Wire(Protocol):
    """The part of a wire format module that a request needs."""

    NAME: str

    def write(
        self, system: str, tools: Sequence[Mapping[str, Any]], events: Sequence[Event], *, model: str | None = None,
        max_output: int | None = None,
    ) -> dict[str, Any]: ...  # fmt: skip

    def validate(self, payload: Mapping[str, Any]) -> Sequence[Any]: ...


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of a request by part; `total` is their sum. `results` and `previews` are inside `tail`."""

    static: int = 0
    checkpoint: int = 0
    tail: int = 0
    results: int = 0
    previews: int = 0

    @property
    def total(self) -> int:
        return self.static + self.checkpoint + self.tail


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A request before it is made to fit. `messages` are events in order; `head` of them carry the checkpoint."""

    system: str
    tools: tuple[Mapping[str, Any], ...]
    messages: tuple[Event, ...]
    head: int
    changes: tuple[Change, ...]
    warnings: tuple[str, ...] = ()
    pins: frozenset[int] = frozenset()
    suffix: int = 0


@dataclass(frozen=True, kw_only=True)
class Request:
    """The next request: a value. `messages` and `tools` are neutral; `payload()` is what the provider's API takes.

    `stable` is how many messages belong to the stable prefix; the rest is an ephemeral suffix.
    """

    system: str
    messages: tuple[Event, ...]
    tools: tuple[Mapping[str, Any], ...]
    tokens: Sizes
    report: Report
    wire: Any
    ceiling: int
    stable: int
    max_output: int | None = None
    _memo: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False, compare=False)

    def with_report(self, report: Report) -> Request:
        """The same request under another report."""
        return replace(self, report=report)

    def payload(self, *, model: str | None = None) -> dict[str, Any]:
        """The request as the provider's API takes it, validated. Raises WireError with the path and the reason.

        Only refusals that are *known* raise; what some servers are suspected to refuse is left to
        `wire.validate(payload)`.
        """
        key = model or ""
        if key not in self._memo:
            out = self.wire.write(
                self.system, self.tools, self.messages, model=model, max_output=self.max_output
            )
            problems = [found for found in self.wire.validate(out) if found.certainty == "known"]
            if problems:
                first = problems[0]
                raise WireError(first.path, f"{first.message} ({first.code}; {len(problems)} problem(s) in all)")
            self._memo[key] = out
        return dict(self._memo[key])


def static_tokens(system: str, tools: Sequence[Mapping[str, Any]]) -> int:
    """Tokens of the static prefix: system text with its message overhead, and tool schemas."""
    return (count(system) + 4 if system else 0) + tool_tokens(tools)


def priced(event: Event) -> Event:
    """The event with its own token count filled in."""
    return msgspec.structs.replace(event, tokens=event_tokens(event))


def cost(events: Sequence[Event]) -> int:
    """Tokens of events as messages, overhead included; control events are never sent."""
    return sum(event.tokens + MESSAGE_OVERHEAD for event in events if event.role != "control")


def payload_bytes(payload: Mapping[str, Any]) -> bytes:
    """The payload as compact JSON, the bytes that prefix stability speaks of."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
