"""Who wrote a checkpoint, as one text: `code and <model>, adopted from <name>, edited by <name>`, all but `code` only
where it is so. Knows nothing of checkpoints.
"""

from __future__ import annotations

_MODEL, _ADOPTED, _EDITED = " and ", ", adopted from ", ", edited by "


def names_in(author: str) -> tuple[str, str, str]:
    """(the model, whose summary was adopted, who edited it last); empty for nobody."""
    rest, _, editor = author.partition(_EDITED)
    rest, _, adopted = rest.partition(_ADOPTED)
    return rest.removeprefix("code").removeprefix(_MODEL), adopted, editor


def editor_of(author: str) -> str:
    """The person who edited the narrative last; empty for nobody."""
    return names_in(author)[2]


def with_editor(author: str, name: str) -> str:
    """The author of a record that somebody edited; only the last one is named (the history has them all)."""
    return f"{author.partition(_EDITED)[0]}{_EDITED}{name}"


def with_adopted(author: str, name: str) -> str:
    """The author of a record into which a summary of somebody else was taken."""
    rest, edited, editor = author.partition(_EDITED)
    return f"{rest.partition(_ADOPTED)[0]}{_ADOPTED}{name}{edited}{editor}"


def bare_author(author: str, *, keep_editor: bool = False) -> str:
    """The author without whose summary was adopted, and without who edited it unless `keep_editor`."""
    model, _, editor = names_in(author)
    bare = f"code{_MODEL}{model}" if model else "code"
    return with_editor(bare, editor) if editor and keep_editor else bare
