"""The text of a checkpoint as a request shows it: its own, or framed by the host, with an overview of what can be
recalled where one is asked for. Knows nothing of where it stands.

What `layout.format` returns stands between our own head and foot, escaped like everything else between them: the text
is marked as reference whatever the host makes of it, and it is recognised when a caller sends it back. An overview
stands there, too, behind it: it needs no frame of its own, and leaves with the record.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from foldmark.checkpoint import Checkpoint
from foldmark.errors import PolicyError, words_of_error
from foldmark.options import Layout
from foldmark.overview import NO_OVERVIEW, Telling, overview_of
from foldmark.refs import compaction_ref
from foldmark.render import TAG, escape
from foldmark.tokens import count
from foldmark.warm import Recent


class _Made(msgspec.Struct, frozen=True):
    """A text that was made, its tokens, and the function that made it, if any: its place in memory must not be given to
    another one."""

    function: Callable[[str], str] | None
    text: str
    tokens: int


_memory: Recent[_Made] = Recent()


def presented(checkpoint: Checkpoint, layout: Layout, told: Telling = NO_OVERVIEW) -> str:
    """The text that is shown; empty when `layout.format` returns nothing but white space and there is no overview.

    Raises PolicyError when that function fails, returns no text, or says two things of one checkpoint.
    """
    return _made(checkpoint, layout, told).text


def presented_tokens(checkpoint: Checkpoint, layout: Layout, told: Telling = NO_OVERVIEW) -> int:
    """What the shown text costs. Raises as `presented`."""
    return _made(checkpoint, layout, told).tokens


def overview_tokens(checkpoint: Checkpoint, layout: Layout, told: Telling = NO_OVERVIEW) -> int:
    """What the overview takes of that. Raises as `presented`."""
    if not told.tokens:
        return 0
    return presented_tokens(checkpoint, layout, told) - presented_tokens(checkpoint, layout)


def _made(checkpoint: Checkpoint, layout: Layout, told: Telling) -> _Made:
    function, overviews = layout.format, bool(told.tokens)
    if not checkpoint.text or (function is None and not overviews):  # an undo of every compaction leaves no text
        return _Made(None, checkpoint.text, checkpoint.tokens)
    place = (id(function), checkpoint.text, *((told, checkpoint.version, checkpoint.extent) if overviews else ()))
    known = _memory.get(place)
    if known is None:
        text = checkpoint.text if function is None else _framed(checkpoint, function)
        text = _with_overview(text, checkpoint, told)
        known = _Made(function, text, count(text))
        _memory.put(place, known)
    return known


def _with_overview(text: str, checkpoint: Checkpoint, told: Telling) -> str:
    """The text with the overview as its last section; in the frame alone where the framing is empty."""
    section = overview_of(checkpoint, told)
    if not section:
        return text
    head, middle, foot = _in_three(text or checkpoint.text)
    return f"{head}{middle if text else ''}{NEXT if text else ''}{section}{foot}"


def _framed(checkpoint: Checkpoint, function: Callable[[str], str]) -> str:
    head, middle, foot = _in_three(checkpoint.text)
    framed = _asked(function, middle, checkpoint)
    if framed != _asked(function, middle, checkpoint):
        raise PolicyError(
            f"layout.format returned two different texts for {compaction_ref(checkpoint.version)}. It must return the "
            "same for the same text (no time, no counter, no chance), or no prefix stays. Nothing was sent."
        )
    return f"{head}{escape(framed)}{foot}" if framed.strip() else ""


def _asked(function: Callable[[str], str], text: str, checkpoint: Checkpoint) -> str:
    ref = compaction_ref(checkpoint.version)
    try:
        framed = function(text)
    except Exception as error:
        raise PolicyError(f"layout.format failed on {ref} ({words_of_error(error)}). Nothing was sent.") from error
    if not isinstance(framed, str):
        raise PolicyError(f"layout.format returned {framed!r:.200} for {ref}; it must return a text. Nothing was sent.")
    return framed


NEXT = "\n\n"
"""Between two sections of a record."""


def _in_three(text: str) -> tuple[str, str, str]:
    """(head, middle, foot): the first two lines name the record and mark it as reference, the foot says where it ends.
    A text that is no record of ours is all middle."""
    foot = text.rfind(f"\n\n</{TAG}>\n")
    first = text.find("\n")
    second = text.find("\n", first + 1)
    if not text.startswith(f"<{TAG} ") or not 0 < first < second < foot:
        return "", text, ""
    return text[: second + 1], text[second + 1 : foot], text[foot:]
