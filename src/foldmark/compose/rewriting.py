"""Writes a checkpoint's text again with other sections: a person's narrative, a summary made elsewhere. Facts, excerpts
and names stay as they were. Knows nothing of who may do so, or of how it is committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from foldmark.authors import with_adopted, with_editor
from foldmark.checkpoint import Checkpoint, Item, Line, Section
from foldmark.compose.sections import CONSTRAINTS, CURRENT, USER_MESSAGES
from foldmark.compose.telling import is_told, line_of, title_of
from foldmark.narrative import FIELDS
from foldmark.render import escape, render, render_section
from foldmark.tokens import count

ADOPTED = "Adopted from "
"""Begins the title of a section that holds a summary made elsewhere."""
UNCHECKED = " (a summary made elsewhere, quoted; not checked against the log)"

_BEFORE = ("Goal", CONSTRAINTS, USER_MESSAGES, CURRENT)
"""Sections that stand before what was told, as in `write_checkpoint`."""


def adopted_in(checkpoint: Checkpoint | None) -> Section | None:
    """The section with a summary that was made elsewhere, if there is one."""
    sections = checkpoint.sections if checkpoint else ()
    return next((one for one in sections if one.title.startswith(ADOPTED) and one.title.endswith(UNCHECKED)), None)


def adopted_section(text: str, name: str) -> Section:
    """A summary made elsewhere as a section: each of its lines behind a dash, so that none can pass for ours."""
    lines = (line.strip() for line in escape(text).splitlines())
    return Section(f"{ADOPTED}{name}{UNCHECKED}", tuple(Line(line) for line in lines if line))


def cost_of_section(section: Section | None) -> int:
    """What a section costs in a text; 0 for none."""
    return count(render_section(section)) + 2 if section else 0


def with_adopted_section(checkpoint: Checkpoint, section: Section) -> Checkpoint:
    """The checkpoint with a summary made elsewhere in it, in place of an earlier one."""
    name = section.title.removeprefix(ADOPTED).removesuffix(UNCHECKED)
    rest = [one for one in checkpoint.sections if one is not adopted_in(checkpoint)]
    return rewritten(checkpoint, _inserted(rest, [section]), author=with_adopted(checkpoint.author, name))


def with_narrative(checkpoint: Checkpoint, narrative: Sequence[Item], name: str, **changes: Any) -> Checkpoint:
    """The checkpoint with the narrative as somebody edited it. All of it stands in the text: what a person wrote is
    neither left out for room nor because code says it already."""
    author = with_editor(checkpoint.author, name)
    adopted = adopted_in(checkpoint)
    rest = [one for one in checkpoint.sections if not is_told(one) and one is not adopted]
    told = [
        Section(title_of(field, author), tuple(line_of(item) for item in narrative if item.field == field))
        for field in FIELDS
    ]
    sections = _inserted(rest, [*([adopted] if adopted else []), *(one for one in told if one.lines)])
    return rewritten(checkpoint, sections, author=author, narrative=tuple(narrative), **changes)


def rewritten(checkpoint: Checkpoint, sections: Sequence[Section], **changes: Any) -> Checkpoint:
    """The checkpoint with other sections (and other fields, as `changes` say), its text and sizes made anew. What it
    grew by is added to what the compaction aimed at: nobody tries to take it off again."""
    made = msgspec.structs.replace(checkpoint, sections=tuple(sections), **changes)
    text = render(made.version, made.boundary, made.sections, made.excerpts, made.names, made.author)
    tokens = count(text)
    grown = max(0, tokens - checkpoint.tokens)
    return msgspec.structs.replace(
        made,
        text=text,
        tokens=tokens,
        target=max(made.target, tokens) if made.target else 0,
        compacted_size=made.compacted_size + grown if made.compacted_size else 0,
    )


def _inserted(sections: Sequence[Section], new: Sequence[Section]) -> list[Section]:
    at = 1 + max((number for number, one in enumerate(sections) if one.title in _BEFORE), default=-1)
    return [*sections[:at], *new, *sections[at:]]
