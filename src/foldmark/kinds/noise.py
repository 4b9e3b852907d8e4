"""Noise that code recognises: progress, heartbeats, stream deltas, status lines of a poll. Knows nothing of requests
and of what is done about it.

All are pure functions of one text. A line counts as noise only when nothing in it could matter later: no error word,
no number that is more than a count of progress.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from foldmark.kinds.body import is_trouble
from foldmark.kinds.terminal import on_screen

_LONGEST = 200_000  # characters; a longer text that is all noise has never been seen
_LONGEST_LINE = 300
_BAR = "[-\\\\|/#=>━█▏▎▍▌▋▊▉░▒▓•●○⠁-⣿.…·]"
_PROGRESS = re.compile(
    rf"^(?:{_BAR}?|\d{{1,3}}%|[\s.·#=━█▏▎▍▌▋▊▉>-]*"
    r"|[^%\n]*\b\d{1,3}(?:\.\d+)?%(?:\s*[|\[(▕#=━█].*|\s+[\d.:/,]+\s?[kKMGT]?i?[bB]?(?:/s)?[\d.:/, smhETA]*)?|"
    r"(?:Requirement already satisfied|Downloading|Collecting|Using cached|Fetching|Progress|Get:\d+|Hit:\d+|"
    r"Receiving objects|Resolving deltas|Unpacking objects|remote: (?:Counting|Compressing|Enumerating|Total)|"
    r"go: downloading)\b.*"
    r"|[0-9a-f]{12}: (?:Pulling fs layer|Waiting|Downloading|Verifying|Download complete|Extracting|Pull complete).*"
    r")$"
)
_HEARTBEAT = re.compile(
    r"^\W*(?:(?:\[?(?:heart ?beat|keep-?alive|ping|pong)\]?|still (?:alive|here)|connection (?:is )?alive)\W*"
    r"|\{\s*\"(?:type|event|kind)\"\s*:\s*\"(?:heart_?beat|ping|pong|keep_?alive)\"[^{}]{0,200}\}"
    r"|(?:event: ?)?(?:heart_?beat|ping|keep_?alive)(?:[ #:]+[\d.:TZ-]+)?)\s*$",
    re.IGNORECASE,
)
_RUNNING = re.compile(
    r"\b(?:still (?:working|in progress)|in[ _-]?progress|running|pending"
    r"|queued|waiting|starting|provisioning|not (?:yet )?(?:ready|finished|done|complete)|building|deploying"
    r"|processing|no new output|please wait|creating|initiali[sz]ing|containercreating)\b",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"\b(?:fail\w*|error\w*|success\w*|succe\w+|passed|completed|complete|finished|exited|killed|timed out|timeout"
    r"|cancel\w*|warning\w*|denied|refused|crash\w*|aborted|exception\w*)\b",
    re.IGNORECASE,
)
_NOT_YET = re.compile(
    r"\bnot (?:yet )?(?:finished|done|completed?)\b|\b(?:errors?|failed|failures?)\b\W{0,3}0\b|\b0 (?:errors?|failed)",
    re.IGNORECASE,
)
STATUS_CHARACTERS = 1_500
"""A longer text is a result with things to read, not a status line."""

TRANSIENT = frozenset(
    {
        *("heartbeat", "ping", "pong", "keepalive", "keep_alive", "progress", "status_update", "typing"),
        *("delta", "stream_delta", "text_delta", "thinking_delta", "input_json_delta", "content_block_delta"),
        *("message_delta", "response.output_text.delta"),
    }
)
"""Kinds of events that only tell of something on its way; what they led to is an event of its own."""


def is_progress(line: str) -> bool:
    """Whether a line shows nothing but blanks, a bar, a spinner, or a step of fetching."""
    line = line.strip()
    return len(line) <= _LONGEST_LINE and bool(_PROGRESS.match(line)) and not is_trouble(line)


def is_heartbeat(text: str) -> bool:
    """Whether a short text only says that somebody is alive."""
    return 0 < len(text) <= 300 and bool(_HEARTBEAT.match(text.strip()))


def is_noise(text: str) -> bool:
    """Whether a result holds nothing but blanks, progress and heartbeats."""
    text = text.strip()
    if not text:
        return True
    if len(text) > _LONGEST:
        return False
    first, _, rest = text.partition("\n")
    if not _is_idle(on_screen(first)):
        return False
    return all(map(_is_idle, on_screen(rest).split("\n")))


def _is_idle(line: str) -> bool:
    return is_progress(line) or is_heartbeat(line)


def is_status(text: str) -> bool:
    """Whether a result only says that something is still on its way: what a poll loop gets again and again.

    False as soon as it holds a word of an end, of an error, or more than a few lines."""
    if not 0 < len(text) <= STATUS_CHARACTERS or text.count("\n") > 12:
        return False
    text = on_screen(text)
    if not _RUNNING.search(text):
        return False
    said = _NOT_YET.sub("", text)
    return not _OVER.search(said) and not any(map(is_trouble, said.split("\n")))


_VARIES = re.compile(rf"\d+(?:[.:,]\d+)*|{_BAR}+|\s+")


def status_shape(text: str) -> str:
    """A status without its numbers, times, bars and dots: equal for two polls that tell of the same state."""
    return " ".join(_VARIES.sub(" ", on_screen(text)).split())


def is_transient(meta: Mapping[str, str]) -> bool:
    """Whether an event's `meta["kind"]` says that it is a heartbeat, a stream delta or a notice of progress."""
    return meta.get("kind", "").lower() in TRANSIENT
