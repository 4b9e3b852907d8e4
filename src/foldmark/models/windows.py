"""How much hosted models take and answer, by their names. Knows nothing of clients and calls.

A model that is not here is unknown: a guess by likeness would be a request that is refused, or cut without a word.
"""

from __future__ import annotations

from typing import NamedTuple

from foldmark.prices.names import plain, same, served


class Sizes(NamedTuple):
    """A context window, and the most of one answer; both in the model's own tokens."""

    window: int
    output: int


READ = "2026-11-30"
"""The day the sizes below were read."""

_GPT_6 = Sizes(1_050_000, 128_000)
_GPT_5 = Sizes(400_000, 128_000)
_GPT_4_1 = Sizes(1_047_576, 32_768)
_GPT_4O = Sizes(128_000, 16_384)
_O_SERIES = Sizes(200_000, 100_000)
_CLAUDE_5 = Sizes(1_000_000, 128_000)
_CLAUDE_4 = Sizes(200_000, 64_000)

KNOWN: dict[str, Sizes] = {
    # OpenAI: the model pages, and copies of them by gateways. Of the large windows 922,000 are for input.
    **dict.fromkeys(("gpt-6.2-astra", "gpt-6.2-sol", "gpt-6.1-sol", "gpt-6.1-terra"), _GPT_6),
    **dict.fromkeys(("gpt-6-astra", "gpt-6-sol", "gpt-6-luna"), _GPT_6),
    **dict.fromkeys(("gpt-5.6", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna", "gpt-5.4"), _GPT_6),
    "gpt-5.5": Sizes(1_000_000, 128_000),
    **dict.fromkeys(("gpt-5.4-mini", "gpt-5.4-nano", "gpt-5.3-codex", "gpt-5.2", "gpt-5.2-codex"), _GPT_5),
    **dict.fromkeys(("gpt-5.1", "gpt-5.1-codex", "gpt-5", "gpt-5-codex", "gpt-5-mini", "gpt-5-nano"), _GPT_5),
    **dict.fromkeys(("gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano"), _GPT_4_1),
    **dict.fromkeys(("gpt-4o", "gpt-4o-mini"), _GPT_4O),
    **dict.fromkeys(("o1", "o3", "o3-mini", "o4-mini"), _O_SERIES),
    "gpt-4-turbo": Sizes(128_000, 4_096),
    "gpt-4": Sizes(8_192, 8_192),
    "gpt-3.5-turbo": Sizes(16_385, 4_096),
    # Anthropic: the overview pages of its models. Sources give Sonnet 4.6 an answer of 64,000 or 128,000: the smaller
    # one stands here.
    **dict.fromkeys(("claude-fable-5", "claude-fable-5-1", "claude-fable-5-2"), _CLAUDE_5),
    **dict.fromkeys(("claude-opus-5", "claude-opus-5-5", "claude-sonnet-5", "claude-sonnet-5-5"), _CLAUDE_5),
    **dict.fromkeys(("claude-haiku-5-5", "claude-opus-4-8", "claude-opus-4-7", "claude-opus-4-6"), _CLAUDE_5),
    "claude-sonnet-4-6": Sizes(1_000_000, 64_000),
    **dict.fromkeys(("claude-opus-4-5", "claude-sonnet-4-5", "claude-sonnet-4", "claude-sonnet-4-0"), _CLAUDE_4),
    "claude-haiku-4-5": _CLAUDE_4,
    **dict.fromkeys(("claude-opus-4-1", "claude-opus-4", "claude-opus-4-0"), Sizes(200_000, 32_000)),
    **dict.fromkeys(("claude-3-5-haiku", "claude-haiku-3-5"), Sizes(200_000, 8_192)),
}


def sizes_of(model: str) -> Sizes | None:
    """The sizes of a model by its name: with the name of who serves it in front, or a date or release behind it. None:
    unknown."""
    name = served(model)
    fitting = [known for known in KNOWN if name and same(name, plain(known))]
    return KNOWN[max(fitting, key=len)] if fitting else None
