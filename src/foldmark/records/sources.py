"""The gist of what was searched or read: titles, sources, abstracts, passages that match. Knows nothing of events.

For agents that work with knowledge: of a page or a list of hits, what it is called, where it is from and the passage
that answers what was asked matter more than its beginning and end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from foldmark.events import ToolCall
from foldmark.kinds import recognise
from foldmark.kinds.body import Body, Count, compose, edges, whole
from foldmark.kinds.cuts import LONG_LINE, shorten, word_border
from foldmark.kinds.files import FILE
from foldmark.kinds.plain import PLAIN
from foldmark.kinds.searches import HITS
from foldmark.profiles import decode, profile_of_call
from foldmark.render import bare_fields
from foldmark.words import distinct, telling, words

_TITLES = ("title", "name", "headline", "subject", "heading")
_PLACES = ("url", "link", "href", "uri", "source", "doi", "path", "id")
_TEXTS = ("snippet", "abstract", "summary", "description", "highlight", "passage", "answer", "text", "content", "body")
_SAID_OF = ("author", "authors", "date", "published", "publisher", "score", "venue", "year")

_TITLE = re.compile(r"\s*(?:#{1,6} |=+ .* =+$|(?:title|headline|subject|name)\s*[:=])", re.IGNORECASE)
_SOURCE = re.compile(r"https?://|\bdoi\b|^\s*(?:source|url|link|author|authors|date|published)\s*[:=]", re.IGNORECASE)
_ABSTRACT = re.compile(r"\s*(?:#+ )?(?:abstract|summary|conclusions?|key (?:points|findings)|tl;dr|answer)\b", re.I)
_MOST_TEXT = 2_000_000
_MOST_HITS = 200
_LONG_TEXT = 1_200
"""Characters of one field of a hit; a longer one is cut round the words that were asked for."""


def gist(text: str, call: ToolCall, budget_tokens: int, count: Count, focus: str = "") -> str:
    """The text itself, or its titles, sources, abstracts and passages that share words with the call and the focus,
    within `budget_tokens`. What is no prose and no list of hits is shown as its kind shows it."""
    if fits := whole(text, budget_tokens, count):
        return fits
    asked = _asked(call, focus)
    if hits := "\n".join(_hits(text, asked)):
        return compose(
            Body(hits), _order(Body(hits), asked), budget_tokens, count, cut=lambda line: around(line, asked)
        )
    kind = recognise(text, call)
    if kind.name not in (PLAIN.name, FILE.name, HITS.name):
        return kind.preview(text, budget_tokens, count)
    body = Body(text)
    return compose(body, _order(body, asked), budget_tokens, count, cut=lambda line: around(line, asked))


def _asked(call: ToolCall, focus: str) -> frozenset[str]:
    """The words of the question: arguments that ask, and the focus."""
    values = decode(call.arguments)
    profile = profile_of_call(call)
    named = [values[name] for name in profile.query_arguments if isinstance(values.get(name), str)]
    said = named or [value for value in values.values() if isinstance(value, str) and len(value) <= 300]
    return frozenset(telling(words(" ".join([*said, focus]))))


def _order(body: Body, asked: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Lines by what they say, then both ends. Two words of the question are worth more than a title, so that the title
    of every hit does not push out the passage of the best; the title above a match rises with it."""
    scored: dict[int, tuple[float, str]] = {}
    title = 0
    is_after_abstract = False
    for number in body.numbers():
        line = body.line(number) or ""
        if not line.strip():
            continue
        matches = 3.0 * min(4, len(asked & distinct(line[:20_000]))) if asked else 0.0
        is_title, is_abstract = not scored or bool(_TITLE.match(line)), bool(_ABSTRACT.match(line))
        score = matches + (3.0 if is_title or is_abstract or is_after_abstract else 0.0)
        score += 1.0 if _SOURCE.search(line[:LONG_LINE]) else 0.0
        is_after_abstract = is_abstract and len(line) < 80
        title = number if is_title else title
        if title and matches and title != number:
            scored[title] = scored[title][0] + matches / 2, scored[title][1]
        scored[number] = score, line
    best = sorted((number for number, (score, _) in scored.items() if score), key=lambda n: (-scored[n][0], n))
    yield from ((number, scored[number][1]) for number in best)
    yield from body.trouble().items()
    yield from edges(body, 400, 400)


def around(line: str, asked: frozenset[str], limit: int = LONG_LINE) -> str:
    """A long line cut to the stretch in which most of the asked words stand; from its beginning when there is none."""
    if len(line) <= limit or not asked:
        return shorten(line, limit)
    step = limit // 2
    windows = {at: len(asked & distinct(line[at : at + limit])) for at in range(0, min(len(line), 60_000), step)}
    best = max(windows, key=lambda at: (windows[at], -at))
    if best == 0 or not windows[best]:
        return shorten(line, limit)
    border = word_border(line[best - 100 : best + 1], 100)
    start = best - 100 + border if border else best
    return f"… {shorten(line[start:].lstrip(), limit)}"


def _hits(text: str, asked: frozenset[str]) -> Iterator[str]:
    """The hits of a JSON answer as lines: title, place, what is said of it, its text; a row without a title or a text
    with its fields as they stand."""
    bare = text.strip()
    if bare[:1] not in ("{", "[") or len(bare) > _MOST_TEXT:
        return
    try:
        value = json.loads(bare)
    except (ValueError, RecursionError):
        return
    found = list(_objects(value))
    for hit in found[:_MOST_HITS]:
        title, place, said = (_field(hit, names) for names in (_TITLES, _PLACES, _TEXTS))
        if said or (title and place):
            more = ", ".join(f"{name}: {_flat(hit[name])}" for name in _SAID_OF if hit.get(name) not in (None, "", []))
            yield " | ".join(piece for piece in ("# " + (title or "(untitled)"), place, more[:200]) if piece)
            yield f"  {around(said, asked, _LONG_TEXT)}"
        else:
            yield around(_row(hit), asked, _LONG_TEXT)
    if len(found) > _MOST_HITS:
        yield f"… {len(found) - _MOST_HITS:,} more objects not shown …"


def _objects(value: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """The objects that are told of as a whole: those with a title or text, and those that are short enough for a line.
    What a larger one holds follows it."""
    if depth > 8:
        return
    if isinstance(value, list):
        for item in value:
            yield from _objects(item, depth + 1)
    elif isinstance(value, dict):
        is_hit = any(_is_text(value.get(name)) for name in _TEXTS)
        is_short = depth > 0 and len(_row(value)) <= _LONG_TEXT
        if is_hit or is_short or any(not isinstance(item, list | dict) for item in value.values()):
            yield value if is_hit or is_short else _scalars(value)
        if not is_short:
            for item in value.values():
                yield from _objects(item, depth + 1)


def _scalars(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: item for name, item in value.items() if not isinstance(item, list | dict)}


def _row(value: Mapping[str, Any]) -> str:
    return bare_fields(json.dumps(value, ensure_ascii=False))


def _field(hit: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((" ".join(str(hit[name]).split()) for name in names if _is_text(hit.get(name))), "")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _flat(value: Any) -> str:
    return ", ".join(map(str, value[:4])) if isinstance(value, list) else str(value)
