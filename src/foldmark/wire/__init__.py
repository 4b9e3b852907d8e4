"""Wires: how messages of a provider become events and events become a payload. Knows nothing of storage or
budgets.

A wire is a module, found by its name (`by_name("openai-chat")`); each offers what `Wire` names:

- `NAME`, `OVERHEAD` (tokens on top of the counts of the parts), `MESSAGES` (the key of a payload that holds the
  conversation) and `OPENING` (what is written in front of one that begins with the assistant, if anything)
- `read(message_or_reply) -> list[Event]`, `read_messages(messages, system=, tools=) -> Transcript` and
  `read_payload(payload) -> Transcript`
- `write(system, tools, events, *, model=, max_output=) -> dict`, the payload as the API takes it
- `append_user(payload, text) -> dict`, a clone of a payload with one instruction behind it that its provider's cache
  still serves
- `lost(events) -> list[str]`, what `write` leaves out because this provider cannot take it
- `validate(payload, known_prefix=0, *, suspected=False) -> list[Problem]` against `RULES`, what the provider
  would refuse: by default only what is known to be refused
- `overflow(error) -> Overflow | None`, what a too-long refusal says

To add one, write the module, name it in `WIRES`, give each of its rules a row in `tests/refused.py`, and pass
`tests/contracts/test_wires.py` with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, cast

from foldmark.errors import PolicyError
from foldmark.events import Event
from foldmark.wire import anthropic, gemini, openai_chat, openai_responses, openai_strict
from foldmark.wire.refusals import Overflow, overflow
from foldmark.wire.tools import neutral_tools, tools_of_calls
from foldmark.wire.values import Overhead, Problem, Rule, Transcript


class Wire(Protocol):
    """What every wire module offers."""

    NAME: str
    MESSAGES: str
    OPENING: str
    OVERHEAD: Overhead
    RULES: tuple[Rule, ...]

    def read(self, reply: Any) -> list[Event]: ...

    def read_messages(self, messages: Iterable[Any], system: Any = None, tools: Any = None) -> Transcript: ...

    def read_payload(self, payload: Mapping[str, Any]) -> Transcript: ...

    def write(
        self,
        system: str,
        tools: Iterable[Any] | None,
        events: Sequence[Event],
        *,
        model: str | None = None,
        max_output: int | None = None,
    ) -> dict[str, Any]: ...

    def append_user(self, body: Mapping[str, Any], text: str) -> dict[str, Any]: ...

    def lost(self, events: Iterable[Event]) -> list[str]: ...

    def validate(
        self, payload: Mapping[str, Any], known_prefix: int = 0, *, suspected: bool = False
    ) -> list[Problem]: ...

    def overflow(self, error: Any) -> Overflow | None: ...


WIRES: tuple[Wire, ...] = (
    cast(Wire, openai_chat),
    cast(Wire, anthropic),
    cast(Wire, openai_responses),
    cast(Wire, gemini),
)
VARIANTS: tuple[Wire, ...] = (cast(Wire, openai_strict),)
"""Wires that write a format of `WIRES` in a narrower way, for servers that take no other; it is read as that format."""


def by_name(name: str) -> Wire:
    """The wire of that name. Raises PolicyError naming the ones there are."""
    for wire in (*WIRES, *VARIANTS):
        if name == wire.NAME:
            return wire
    names = ", ".join(wire.NAME for wire in (*WIRES, *VARIANTS))
    raise PolicyError(f"There is no wire {name!r}; the wires are {names}.")


__all__ = [
    "VARIANTS",
    "WIRES",
    "Overflow",
    "Overhead",
    "Problem",
    "Rule",
    "Transcript",
    "Wire",
    "anthropic",
    "by_name",
    "gemini",
    "neutral_tools",
    "openai_chat",
    "openai_responses",
    "openai_strict",
    "overflow",
    "tools_of_calls",
]
