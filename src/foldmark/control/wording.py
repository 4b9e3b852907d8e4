"""A narrative as a person gives it, made into items within the bounds of a model's. Knows nothing of storage and of
what proves them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from foldmark.changing import check_name
from foldmark.checkpoint import Field, Item
from foldmark.errors import NotFound, PolicyError
from foldmark.kinds import clean_text
from foldmark.narrative import FIELDS, MOST_CHARACTERS, MOST_ITEMS, MOST_REFS
from foldmark.redact import Redactor
from foldmark.refs import parse
from foldmark.render import escape
from foldmark.story.cutting import clipped

Told = Mapping[str, Any] | Callable[[tuple[Item, ...]], Iterable[Item]]
"""A mapping of the fields that change (`{"decisions": ["keep the schema"]}`; an item is a text, a mapping of `text`,
`refs` and `why`, or an Item), or a function from the old items to the new ones."""


def narrative_of(old: Sequence[Item], told: Told | None, boundary: int, redact: Redactor) -> tuple[Item, ...]:
    """The new narrative. Fields that a mapping does not name stay as they were. Raises PolicyError, naming the place,
    for an unknown field, more than 12 items in one, more than 240 characters, and a ref that is not covered."""
    if told is None:
        return tuple(old)
    if callable(told):
        items = list(_by_function(told, tuple(old)))
    elif isinstance(told, Mapping):
        items = _by_field(told, old)
    else:
        raise PolicyError(
            f"edit(narrative={told!r:.80}): it takes a mapping of fields, or a function of the old items."
        )
    known = set(old)
    kept = [item if item in known else _sound(item, boundary, redact) for item in items]
    for field in FIELDS:
        if (number := sum(item.field == field for item in kept)) > MOST_ITEMS:
            raise PolicyError(f"narrative.{field} has {number} items; a field holds at most {MOST_ITEMS}.")
    return tuple(item for field in FIELDS for item in dict.fromkeys(kept) if item.field == field)


def content_of(items: Iterable[Item]) -> list[tuple[str, str, tuple[int, ...], str]]:
    """What items say, without who says it and whether it is proven."""
    return [(item.field, item.text, item.refs, item.why) for item in items]


def by_hand(items: Sequence[Item], old: Sequence[Item]) -> list[Item]:
    """The items, those of every field that is another one now marked as a person's: whoever writes a list anew says all
    that stands in it."""
    changed = {
        field
        for field in FIELDS
        if content_of(item for item in items if item.field == field)
        != content_of(item for item in old if item.field == field)
    }
    return [msgspec.structs.replace(item, hand=True) if item.field in changed else item for item in items]


def _by_function(told: Callable[[tuple[Item, ...]], Iterable[Item]], old: tuple[Item, ...]) -> Iterable[Item]:
    given = told(old)
    if not isinstance(given, Iterable):
        raise PolicyError(f"The function that edits the narrative gave {given!r:.80}; it gives Items.")
    for item in given:
        if not isinstance(item, Item):
            raise PolicyError(f"The function that edits the narrative gave {item!r:.120}; it gives Items.")
        check_name(str(item.field), FIELDS, "narrative.")
        yield item


def _by_field(told: Mapping[str, Any], old: Sequence[Item]) -> list[Item]:
    for field in told:
        check_name(str(field), FIELDS, "narrative.")
    items: list[Item] = []
    for field in FIELDS:
        if field not in told:
            items += [item for item in old if item.field == field]
            continue
        given = told[field]
        listed = [given] if isinstance(given, str | Item | Mapping) else given
        if not isinstance(listed, Iterable):
            raise PolicyError(f"narrative.{field} is {given!r:.80}; it takes a list of items ([] empties the field).")
        for at, one in enumerate(listed):
            items.append(_item(field, one, f"narrative.{field}[{at}]"))
    return items


def _item(field: Field, given: Any, place: str) -> Item:
    if isinstance(given, Item):
        return msgspec.structs.replace(given, field=field)
    if isinstance(given, str):
        return Item(field=field, text=given)
    if isinstance(given, Mapping):
        for name in given:
            check_name(str(name), ("text", "refs", "why"), f"{place}.")
        return Item(
            field=field, text=cast(str, given.get("text", "")), why=cast(str, given.get("why") or ""),
            refs=_seqs(given.get("refs", ()), place),
        )  # fmt: skip
    raise PolicyError(f"{place} is {given!r:.120}; it takes a text, a mapping of text, refs and why, or an Item.")


def _seqs(refs: Any, place: str) -> tuple[int, ...]:
    listed = [refs] if isinstance(refs, str | int) else refs
    if not isinstance(listed, Iterable):
        raise PolicyError(f"{place}.refs is {refs!r:.80}; it takes events of this session (['event:12'], or none: []).")
    return tuple(_seq(ref, place) for ref in listed)


def _seq(ref: Any, place: str) -> int:
    if isinstance(ref, int) and not isinstance(ref, bool):
        return ref
    try:
        address = parse(str(ref))
    except NotFound as error:
        raise PolicyError(f"{place}.refs: {error}") from error
    if not address.is_event or address.seq is None or address.session:
        raise PolicyError(f"{place}.refs holds {ref!r}; it takes events of this session (event:12, or 12).")
    return address.seq


def _sound(item: Item, boundary: int, redact: Redactor) -> Item:
    """The item as it may stand in a record: one line, whole words redacted, no tag of ours; proven by nobody yet."""
    place = f"narrative.{item.field}"
    text, why = _line(item.text, f"{place}: the text", redact), _line(item.why, f"{place}: the reason", redact)
    if not text:
        raise PolicyError(f"{place} holds an item without words; leave it out instead.")
    refs = tuple(dict.fromkeys(_seqs(item.refs, place)))
    if len(refs) > MOST_REFS:
        raise PolicyError(f"{place}: {text[:60]!r} names {len(refs)} events; at most {MOST_REFS} can prove it.")
    if wrong := [ref for ref in refs if not 1 <= ref <= boundary]:
        raise PolicyError(
            f"{place}: {text[:60]!r} refers to event:{wrong[0]}, and the record covers event:1-{boundary}."
        )
    return Item(field=item.field, text=text, why=why, refs=refs)


def _line(text: Any, place: str, redact: Redactor) -> str:
    if not isinstance(text, str):
        raise PolicyError(f"{place} is {text!r:.80}; it takes text.")
    words = " ".join(text.split())
    if len(words) > MOST_CHARACTERS:
        raise PolicyError(f"{place} has {len(words)} characters; at most {MOST_CHARACTERS} fit: {words[:60]!r} …")
    return clipped(escape(" ".join(clean_text(redact(words)).split())))
