"""How a file writes its JSON, and values written like it. Knows nothing of rows."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACED = re.compile(r'\s*[\[{]\s*"(?:[^"\\]|\\.)*":\s')


class Style(NamedTuple):
    """The way of a record: escapes instead of characters beyond ASCII, spaces behind commas and colons, and the width
    to which its second line is indented (0 when it has one line only)."""

    is_ascii: bool
    is_spaced: bool
    indent: int


def style_of(sample: str) -> Style:
    """The way in which a record is written."""
    second = sample.split("\n", 2)[1] if "\n" in sample else ""
    indent = len(second) - len(second.lstrip(" ")) if "\n" in sample else 0
    is_ascii = "\\u" in sample and sample.isascii()
    return Style(is_ascii, bool(_SPACED.match(sample)), max(1, indent) if "\n" in sample else 0)


def styled(value: Any, style: Style, lead: str) -> str:
    """JSON text in a style, behind the space that stands before it. A lone surrogate (in a field that nobody sends)
    stays an escape."""
    if style.indent:
        outer = len(lead.rsplit("\n", 1)[-1]) if "\n" in lead else 0
        step = max(1, style.indent - outer)
        text = json.dumps(value, ensure_ascii=style.is_ascii, indent=step).replace("\n", "\n" + " " * outer)
    else:
        separators = (", ", ": ") if style.is_spaced else (",", ":")
        text = json.dumps(value, ensure_ascii=style.is_ascii, separators=separators)
    return text if style.is_ascii else _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
