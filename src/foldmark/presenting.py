"""The text of a checkpoint as a request shows it: its own, or framed by the host. Knows nothing of where it stands.

What `layout.format` returns stands between our own head and foot, escaped like everything else between them: the text
is marked as reference whatever the host makes of it, and it is recognised when a caller sends it back.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from foldmark.checkpoint import Checkpoint
from foldmark.errors import PolicyError, words_of_error
from foldmark.options import Layout
from foldmark.refs import compaction_ref
from foldmark.render import TAG, escape
from foldmark.tokens import count
from foldmark.warm import Recent


class _Made(msgspec.Struct, frozen=True):
    """A text that was made, its tokens, and the function that made it: its place in memory must not be given to another
    one."""

    function: Callable[[str], str]
    text: str
    tokens: int


_memory: Recent[_Made] = Recent()


def presented(checkpoint: Checkpoint, layout: Layout) -> str:
    """The text that is shown; empty when `layout.format` returns nothing but white space.

    Raises PolicyError when that function fails, returns no text, or says two things of one checkpoint.
    """
    if layout.format is None or not checkpoint.text:  # an undo of every compaction leaves no text
        return checkpoint.text
    return _made(checkpoint, layout.format).text


def presented_tokens(checkpoint: Checkpoint, layout: Layout) -> int:
    """What the shown text costs. Raises as `presented`."""
    if layout.format is None or not checkpoint.text:
        return checkpoint.tokens
    return _made(checkpoint, layout.format).tokens


def _made(checkpoint: Checkpoint, function: Callable[[str], str]) -> _Made:
    place = (id(function), checkpoint.text)
    known = _memory.get(place)
    if known is None:
        text = _framed(checkpoint, function)
        known = _Made(function, text, count(text))
        _memory.put(place, known)
    return known


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


def _in_three(text: str) -> tuple[str, str, str]:
    """(head, middle, foot): the first two lines name the record and mark it as reference, the foot says where it ends.
    A text that is no record of ours is all middle."""
    foot = text.rfind(f"\n\n</{TAG}>\n")
    first = text.find("\n")
    second = text.find("\n", first + 1)
    if not text.startswith(f"<{TAG} ") or not 0 < first < second < foot:
        return "", text, ""
    return text[: second + 1], text[second + 1 : foot], text[foot:]
