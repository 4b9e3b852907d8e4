"""Whether a fork was served from the cache, and what may be to blame when it was not. Knows nothing of sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from foldmark.asking import Ask, Reply
from foldmark.drafts import Request
from foldmark.events import Usage
from foldmark.forking.cloning import as_sent
from foldmark.forking.prints import prints_of, what_changed
from foldmark.rounds import is_thinking
from foldmark.summarizer import Summarizer

THINKING = "thinking of the running turn"

CACHE_STEP = 128
"""OpenAI counts cached tokens in steps of so many (prompt caching guide, 2026-11): a smaller drop is none."""


class CacheReport(NamedTuple):
    """What the cache gave, and a warning when it gave less than it should have (empty: nothing to warn of)."""

    text: str
    warning: str


def cache_report(
    parent_usage: Usage | None, parent_tokens: int, reply: Reply, changed: Sequence[str] = ()
) -> CacheReport:
    """Compare the cached tokens of the last request sent (as reported, or its size `parent_tokens` by our count) with
    those of the fork's reply. `changed` says what may be to blame (`causes`, a pause).

    The fork should read what the last request read and what it wrote.
    """
    usage = reply.usage
    if not usage.input:
        return CacheReport("the fork reported no usage: whether it was served from the cache is not known", "")
    text = f"{usage.cache_read:,} of the fork's {usage.input:,} prompt tokens came from the cache"
    cause = f"changed: {', '.join(changed)}" if changed else "unknown cause"
    if parent_usage is None or not parent_usage.input:
        text += f"; the request before it, about {parent_tokens:,} tokens, reported nothing to compare with"
        nothing = "Nothing of the fork came from the cache"
        return CacheReport(text, f"{nothing} ({cause})." if not usage.cache_read else "")
    text += f", {parent_usage.cache_read:,} of {parent_usage.input:,} of the request before it"
    expected = parent_usage.cache_read + parent_usage.cache_write
    missed = expected - usage.cache_read
    if missed >= CACHE_STEP:
        return CacheReport(text, f"The fork read {missed:,} cached tokens fewer than it should have ({cause}).")
    if not expected and not usage.cache_read:
        return CacheReport(text, f"Neither the fork nor the request before it was served from a cache ({_unused}).")
    return CacheReport(text, "")


_unused = "set marks for caching in `decorate` where the provider wants them, or ask standalone"


def causes(last: Request | None, fork: Ask, summarizer: Summarizer) -> tuple[str, ...]:
    """What may be to blame when the fork missed the cache that the `last` request sent left: what of its stable part
    does not stand in front of the fork, and thinking that a provider may leave out.

    Many chat templates of open models, and OpenAI's older reasoning models, show the thinking of a turn only as long
    as no words of the user follow. (Where that is documented, as for older Claude models, there is no fork.)
    """
    if last is None or fork.body is None:
        return ()
    sent = as_sent(replace(last, messages=last.messages[: last.stable]), fork.body.get("model"), summarizer)
    found = () if isinstance(sent, str) else what_changed(prints_of(sent, last.wire), prints_of(fork.body, last.wire))
    return (*found, THINKING) if is_thinking(last.messages) else found
