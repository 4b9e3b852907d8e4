"""Edits a record by hand: its narrative and its pins, never its facts. Knows nothing of how a narrative is told by a
model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

import msgspec

from foldmark.authors import with_editor
from foldmark.checkpoint import Checkpoint, Fact, Item
from foldmark.compose import STORY_SHARE, trimmed, with_narrative, words_of
from foldmark.compose.rewriting import rewritten
from foldmark.control.committing import at_the_cap, gauged, named, said_of, seen, tried, unchanged, version_of, written
from foldmark.control.setting import Setting, Wish
from foldmark.control.wording import Told, by_hand, content_of, narrative_of
from foldmark.drafts import cost
from foldmark.errors import NotFound, PolicyError
from foldmark.redact import Redactor, redactor
from foldmark.reports import Report
from foldmark.rounds import newest_user
from foldmark.store import Key, Store, View
from foldmark.story import Sources, checked
from foldmark.validation import validate


def edited(
    at: Setting, told: Told | None, pin: Sequence[str], unpin: Sequence[str], author: str, expected: int | None,
    wish: Wish,
) -> Report:  # fmt: skip
    """Write a version with another narrative and other pins, at the same boundary; nothing where that changes nothing.
    Raises PolicyError, NotFound, StaleBoundary."""
    view = seen(at, expected)
    old = view.checkpoint
    if old is None or not old.boundary:
        raise PolicyError(f"Session {at.key.session!r} has no record to edit yet: compact first.")
    pins, unpins = ([at.seq_of(ref) for ref in _listed(refs, name)] for refs, name in ((pin, "pin"), (unpin, "unpin")))
    redact = redactor(view.secret, at.policy(wish).redact)
    state = at.store.covered(at.key, old.boundary, limit=0)[0]
    items = narrative_of(old.narrative, told, old.boundary, redact)
    sources = Sources(
        shown={}, boundary=old.boundary, earlier=_texts(at.store, at.key, redact), state=state, known=old.text,
        redact=redact,
    )  # fmt: skip
    kept = _kept(view, old, pins, unpins)
    is_told = told is not None and content_of(items) != content_of(old.narrative)
    if not is_told and kept == tuple(sorted(old.kept)) and not _moves_pins(view, pins, unpins):
        return unchanged(at, view, "tells and shows exactly that already: nothing was changed.")
    known = set(old.narrative)
    proven = [item if item in known else _proven(item, sources) for item in items]
    proven = by_hand(proven, old.narrative)
    made = _made(view, old, proven if is_told else None, named(author, redact), at.clock())
    made = validate(msgspec.structs.replace(made, kept=kept), (state, (), ()), view)
    made = msgspec.structs.replace(made, warnings=_room_left(at, view, made, wish, is_told=is_told))
    text = f"{said_of(made)}, {made.author.rpartition(', ')[2]}. The next request writes its prefix anew."
    report = written(at, view, made, text, wish)
    noted(at.store, at.key, pins, unpins)
    return report


def _made(view: View, old: Checkpoint, items: Sequence[Item] | None, name: str, now: float) -> Checkpoint:
    """The new version. It changes nothing else: mark, hold, and what was paid since the last compaction go on."""
    changes = {
        "version": version_of(view) + 1,
        "mark": view.mark,
        "kind": "edit",
        "source": old.version,
        "held": view.state.held,
        "replaced": view.mark,
        "time": now,
        "warnings": (),
    }
    if items is not None:
        return with_narrative(old, items, name, **changes)
    made = rewritten(old, old.sections, **changes)  # only pins: nobody touched the narrative
    return msgspec.structs.replace(made, author=with_editor(old.author, name))


def _room_left(at: Setting, view: View, made: Checkpoint, wish: Wish, *, is_told: bool) -> tuple[str, ...]:
    """What to say of the size of an edited record. Raises PolicyError for one that no request can hold."""
    size = gauged(at, tried(at, view, made), wish)
    room, record = size.room, size.sizes.whole - cost(size.shown)
    if record > room.ceiling:
        raise PolicyError(
            f"The edited record takes {record:,} tokens with the static prefix, and a request may have "
            f"{room.ceiling:,}: it would fit in none. Nothing was changed; say less, or pin less."
        )
    limit = round(STORY_SHARE * room.landing)
    rest = len(made.narrative) - len(trimmed(made.narrative, limit)) if is_told else 0
    said = (
        f"The narrative is longer than later records show: a compaction has about {limit:,} tokens for it, and {rest} "
        f"of {len(made.narrative)} lines would go or be only pointed to. Shorten it, or let the policy land higher "
        "(budget.landing_tokens).",
    )
    return (*(said if rest else ()), *at_the_cap(size))


def _proven(item: Item, sources: Sources) -> Item:
    """The item as code can prove it, by its own events or by those it finds. What is not proven stays, and says so."""
    found = checked((item,), sources).items
    if not found or not found[0].verified or found[0].text != item.text:
        return item
    return msgspec.structs.replace(item, verified=True, refs=item.refs or found[0].refs)


def _texts(store: Store, key: Key, redact: Redactor) -> Callable[[int], str]:
    """The redacted words of events that the scope sees, read when they are asked for."""

    @cache
    def text_of(seq: int) -> str:
        try:
            event = store.event(key, str(seq))
        except NotFound:
            return ""
        return redact(words_of(event)) if key.shows(event) else ""

    return text_of


# -- pins


def _listed(refs: object, name: str) -> Sequence[str]:
    """Refs as they may be given: a list, or a single one."""
    listed = [refs] if isinstance(refs, str) else refs
    if not isinstance(listed, Sequence) or not all(isinstance(ref, str) for ref in listed):
        raise PolicyError(f"edit({name}={refs!r:.80}): it takes refs of events (['event:12']).")
    return listed


def _moves_pins(view: View, pins: Sequence[int], unpins: Sequence[int]) -> bool:
    return not set(pins) <= view.pins or bool((set(unpins) - set(pins)) & view.pins)


def _kept(view: View, old: Checkpoint, pins: Sequence[int], unpins: Sequence[int]) -> tuple[int, ...]:
    """What the record shows verbatim: as before, with new pins, without those taken off. The request being worked on
    stays, pinned or not."""
    current = newest_user(view.kept) if newest_user(view.events) is None else None
    gone = set(unpins) - set(pins) - ({current.seq} if current else set())
    return tuple(sorted({*old.kept, *(seq for seq in pins if seq <= old.boundary)} - gone))


def noted(store: Store, key: Key, pins: Iterable[int], unpins: Iterable[int]) -> None:
    """Write pins down. One holds for every scope that sees the event, so it carries the event's own key."""
    facts = []
    for seqs, status in ((unpins, "gone"), (pins, "pinned")):
        for seq in seqs:
            scope = store.event(key, str(seq)).key
            facts.append(Fact(seq=seq, kind="pin", key=str(seq), value="", status=status, scope=scope))
    if facts:
        store.facts(key, facts)
