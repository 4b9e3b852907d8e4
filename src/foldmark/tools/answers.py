"""What a search and a load answer a model: compact, marked as evidence, bounded. Knows nothing of how it was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from foldmark.dates import written
from foldmark.events import Event, images_of
from foldmark.evidence import joined, one_line, opening, quoted
from foldmark.kinds.base import plural
from foldmark.readings import with_calls
from foldmark.refs import artifact_ref, event_ref, events_ref, parse
from foldmark.retrieval import Hit, Loaded
from foldmark.seeking import speaker_role

HITS_CHARACTERS = 12_000
"""The most that hits take together."""
WHY_CHARACTERS = 300
"""The most that the reason of one hit takes."""
_LEAST = 200
"""Characters of an event that are worth beginning it on a page."""


def hits_text(hits: Sequence[Hit], place: str, load: str) -> str:
    """Hits as text: how many and where, then of each its ref, date, speaker, reason and the lines that match."""
    many = "1 hit" if len(hits) == 1 else f"{len(hits)} hits"
    shown = [_hit(hit) for hit in hits]
    while sum(map(len, shown)) > HITS_CHARACTERS and len(shown) > 1:
        shown.pop()
    left = f"[{len(hits) - len(shown)} more are too much to show: ask for less]" if len(shown) < len(hits) else ""
    return joined([opening(f"{many} in {place}; {load} opens a ref"), *shown, left])


def no_hits(place: str, wider: Sequence[str], *, filtered: bool) -> str:
    """That nothing was found, and what else to try."""
    tries = [
        "fewer or other words (a name, a number, a path that must have stood there)",
        *(["fewer limits (role, tool, file, since, until, branch)"] if filtered else []),
        *wider,
    ]
    return f"No hits in {place}. Try {', or '.join(tries)}."


def _hit(hit: Hit) -> str:
    told = [hit.at or hit.ref, *_when(hit.date), hit.speaker]
    why = f"; {one_line(hit.why, WHY_CHARACTERS)}" if hit.why else ""
    return f"[{', '.join(one_line(each, 200) for each in told)}{why}]\n{quoted(hit.snippet)}"


def _when(date: str) -> list[str]:
    return [date[:16].replace("T", " ")] if date else []


def loaded_text(loaded: Loaded, limit: int, load: str) -> str:
    """What was opened, at most about `limit` characters of it, and the ref to go on with: where nothing else is left,
    the body of a preview. `load` is the tool that opens it."""
    if loaded.events:
        blocks, more = blocks_of(loaded, limit, lambda ref: f'{load}(ref="{ref}")')
        more = more or (loaded.next if loaded.next.startswith("artifact:") else "")
    else:
        blocks, more = [quoted(loaded.text)], loaded.next
    return joined([opening(f"recalled {loaded.ref}"), *blocks, f"[next: {more}]" if more else "[that is all]"])


def blocks_of(loaded: Loaded, limit: int, opens: Callable[[str], str] = str) -> tuple[list[str], str]:
    """Loaded events as quoted text, as many as fit in about `limit` characters, and the ref of what is left. `opens`
    says how the reader opens the ref of a whole body, where an event shows a preview."""
    last, room, blocks = _last(loaded), limit, list[str]()
    times = loaded.times or tuple(event.time for event in loaded.events)
    for at, event in enumerate(loaded.events):
        data = with_calls(event.text, event.calls).encode("utf-8", "surrogatepass")
        if event.role == "control" and len(loaded.events) > 1:
            continue
        if blocks and room < min(_LEAST, len(data)):
            return blocks, events_ref(event.seq, last, loaded.session)
        start = _at_character(data, loaded.skip) if at == 0 else 0
        text = data[start:].decode("utf-8", "surrogatepass")
        shown = _fitting(text, max(room, 1))
        block = _block(event, times[at], shown, loaded.session, opens, goes_on=start > 0)
        blocks.append(block)
        room -= len(block)
        if len(shown) < len(text):
            stop = start + len(shown.encode("utf-8", "surrogatepass"))
            return blocks, events_ref(event.seq, last, loaded.session, stop, len(data))
    return blocks, loaded.next if last > loaded.events[-1].seq else ""


def _fitting(text: str, room: int) -> str:
    """The beginning of a text that fits when it is quoted, up to a line's end where there is one."""
    shown = text[:room]
    while (size := len(quoted(shown)) - len("| ")) > room and len(shown) > 1:
        shown = shown[: max(1, min(len(shown) - 1, len(shown) * room // size))]
    if len(shown) == len(text):
        return text
    return shown[: shown.rfind("\n") + 1] or shown


def _last(loaded: Loaded) -> int:
    """The seq of the last event that is still to be shown, on this page or a later one."""
    rest = parse(loaded.next) if loaded.next else None
    if rest and rest.span:
        return rest.span[1]
    if rest and rest.kind == "compaction" and rest.lines:
        return rest.lines[1]
    if rest and rest.is_event and rest.seq:
        return rest.seq
    return loaded.events[-1].seq


def _at_character(data: bytes, start: int) -> int:
    """The byte, or the next one at which a character begins."""
    start = min(start, len(data))
    while start < len(data) and data[start] & 0xC0 == 0x80:
        start += 1
    return start


def _block(
    event: Event, time: float | None, text: str, session: str, opens: Callable[[str], str], *, goes_on: bool
) -> str:
    """An event's words under a line that says whose they are. Where they are a preview, that comes first, with what
    opens the whole."""
    told = [event_ref(event.seq, session), *_moment(time), _speaker(event)]
    told += [f"{len(list(images_of(event)))} image(s)"] if any(images_of(event)) else []
    head = f"[{', '.join(one_line(each, 200) for each in told)}{', goes on' if goes_on else ''}]"
    bodies = [
        f"[a preview; the whole, {plural(one.lines, 'line')}: "
        f"{one_line(opens(artifact_ref(event.seq, one.number, session)), 300)}]"
        for one in event.artifacts
        if one.kind != "image"
    ]
    return joined([head, *bodies, quoted(text) if text else ""])


def _moment(time: float | None) -> list[str]:
    return [said] if (said := written(time, "%Y-%m-%d %H:%M")) else []


def _speaker(event: Event) -> str:
    if event.result:
        name = f"tool {event.result.name}".strip()
        return f"{name} answers call {event.result.call_id}" + (", an error" if event.result.is_error else "")
    return speaker_role(event)
