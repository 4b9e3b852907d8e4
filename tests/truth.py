"""Checks that a preview tells the truth of its body: whole lines in order, and every gap counted. Knows nothing of how
previews are made."""

from __future__ import annotations

import re

from foldmark import kinds

GAP = re.compile(r"^… lines? ([\d,]+)(?:-([\d,]+))? of ([\d,]+) not shown …$")


def body_lines(text: str) -> list[str]:
    """The lines of a body as a terminal would show them, without their line ends."""
    lines = kinds.clean_text(text).split("\n")
    return [line.rstrip("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def top_of(text: str, shown: str) -> str:
    """The first line that the preview says of itself, "" when it begins with the body or a gap."""
    first = shown.split("\n", maxsplit=1)[0]
    return "" if first == body_lines(text)[0] or GAP.match(first) else first


def untruths(text: str, shown: str) -> list[str]:
    """What in a preview is not so. Empty for a true one."""
    if shown == kinds.clean_text(text):
        return []
    lines, at, wrong = body_lines(text), 0, []
    told = shown.split("\n")
    for line in told[1:] if top_of(text, shown) else told:
        if gap := GAP.match(line):
            first, last, total = (int((number or gap[1]).replace(",", "")) for number in gap.groups())
            if (first, total) != (at + 1, len(lines)) or last < first:
                wrong.append(f"{line} stands behind line {at} of {len(lines)}")
            at = last
        elif at >= len(lines) or line != lines[at]:
            wrong.append(f"{line!r} is not line {at + 1}")
            at += 1
        else:
            at += 1
    if at != len(lines):
        wrong.append(f"the preview ends behind line {at} of {len(lines)}")
    if len(shown) > len(text):
        wrong.append(f"{len(shown)} characters stand for {len(text)}")
    return wrong
