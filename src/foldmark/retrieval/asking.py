"""A query made ready: its terms, names, quotes and days, who is asked about, and where to look.

Knows nothing of pieces.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import msgspec

from foldmark.retrieval.days import Span, spans, weekday_alone
from foldmark.seeking import Sought
from foldmark.store import Key, Store
from foldmark.store.limited import day_names
from foldmark.words import telling, words
from foldmark.words.figures import FIGURE

_NAME = re.compile(r"[\w][\w./:@#-]*\w")
_EMPTY = re.compile(
    r"\b(?:ca|wo|sha)n['’]t\b|(?<=\w)(?:n['’]t|['’](?:s|d|m|re|ll|ve))\b"
    r"|\b(?:do|does|did|can|could|would) (?:we|you|they|i|anybody|anyone) (?:still )?(?:know|remember|recall)\b"
    r"|\b(?:goes|going|gone|went)\b",
    re.I,
)
"""What says nothing of what is looked for: the tail of Ann's and didn't, "do we know", what "goes with" what. A bare go
may be the language."""
_FIGURE = re.compile(FIGURE)
_QUOTED = re.compile(r'"([^"\n]{3,200})"|“([^”\n]{3,200})”|`([^`\n]{3,200})`')
_WHEN = re.compile(
    r"^\W*(?:when|since when|how long ago|(?:on |in )?(?:what|which) (?:day|date|month|year|week|time))\b", re.I
)
_SAID = r"(?:ask|say|said|tell|told|want|mention|write|wrote|suggest|answer|repl|propos|recommend|promis|decid|do\b)"
_USER = re.compile(
    rf"\b(?:did i|have i|had i|i|(?:did|has|had) the user|the user) {_SAID}|\bmy (?:question|request)", re.I
)
_AGENT = re.compile(
    rf"\b(?:did you|have you|had you|you|(?:did|has|had) the (?:assistant|agent)|the (?:assistant|agent)) {_SAID}"
    r"|\byour (?:answer|suggestion|reply|proposal)",
    re.I,
)
QUERY_CHARACTERS = 10_000
"""Of a longer query the beginning counts: nobody asks in ten thousand characters."""
_DAY_CHARACTERS = 200
_MOST_SPANS = 4
_CRUMB = 3
"""Shorter pieces of a figure (the 1 of 1,234) are not looked for: its value is."""


class Question(msgspec.Struct, frozen=True):
    """A query: its `text`, the analysed `terms` to look for, and the `names` in it that stand for one thing (a path, an
    id, a number, a symbol) or were quoted, without case.

    `spans` are the days that it names (their tokens are among the terms), `role` is user or assistant when it asks what
    one of them said, `is_when` says that it asks for a time, `spoken` gives the word that a term was in the query.
    `ways` are there where it asks for a day (or month, …) and nothing else, for all that was said then: the terms of
    each way to say it.
    """

    text: str
    terms: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    role: str = ""
    is_when: bool = False
    spoken: dict[str, str] = {}
    ways: tuple[frozenset[str], ...] = ()

    @property
    def day_tokens(self) -> frozenset[str]:
        """Terms that stand for days and not for words."""
        return frozenset(token for span in self.spans for token in span.tokens)


def question(query: str, now: float) -> Question:
    """Read a query. `now` (Unix seconds) is what "yesterday" counts from."""
    text = unicodedata.normalize("NFC", query[:QUERY_CHARACTERS])
    weekday = weekday_alone(text)
    days = () if weekday else tuple(spans(text, now)[:_MOST_SPANS])
    plain = text
    for span in days:
        plain = plain.replace(span.said, " ") if span.is_relative else plain
    told = telling(words(_EMPTY.sub(" ", plain))) or telling(words(text))
    tokens = dict.fromkeys(token for span in days for token in span.tokens)
    quoted = (" ".join("".join(groups).split()) for groups in _QUOTED.findall(text))
    figures, rest = _figures(text)
    identifiers = (name for name in _NAME.findall(rest) if _is_identifier(name))
    names = dict.fromkeys(name.casefold() for name in (*quoted, *figures, *identifiers) if name)
    crumbs = {token for figure in figures for token in words(figure) if len(token) < _CRUMB and token in told}
    told = [token for token in told if token not in crumbs] or told
    spoken = _spoken(*((figures, rest) if plain == text else _figures(plain)), told)
    ways = _ways(text, told, days, weekday)
    if ways:
        more = [token for way in ways for token in sorted(way) if token not in told]
        told, spoken = [*told, *more], spoken | dict.fromkeys(more, text.strip())
    terms = tuple(dict.fromkeys((*told, *tokens)))
    return Question(text, terms, tuple(names), days, _role(text), bool(_WHEN.search(text)), spoken, ways)


def _ways(text: str, told: Sequence[str], days: Sequence[Span], weekday: str) -> tuple[frozenset[str], ...]:
    """The ways to say the day that a query is; none where it is more than that."""
    if weekday:
        return frozenset(words(text)), frozenset(words(weekday))
    rest = text
    for span in days:
        rest = rest.replace(span.said, " ")
    if not (days or rest.strip()) or len(text) > _DAY_CHARACTERS or len(day_names(words(rest))) < len(words(rest)):
        return ()
    others = (frozenset(words(said)) for span in days for said in span.spellings)
    return tuple(dict.fromkeys((frozenset(told), *others)))


def _figures(text: str) -> tuple[list[str], str]:
    """The figures of a text, and the text without them."""
    return _FIGURE.findall(text), _FIGURE.sub(" ", text)


def _role(text: str) -> str:
    user, agent = bool(_USER.search(text)), bool(_AGENT.search(text))
    return "" if user == agent else "user" if user else "assistant"


def _spoken(figures: list[str], rest: str, terms: list[str]) -> dict[str, str]:
    out: dict[str, str] = {}
    for figure in figures:
        out |= {token: figure for token in words(figure) if token in terms}
    for word in dict.fromkeys(_NAME.findall(rest)):
        for token in words(word):
            if token in terms:
                out.setdefault(token, word)
    return out


def _is_identifier(name: str) -> bool:
    """A word of the query that stands for one thing: a path, an id, a number, a symbol."""
    return len(name) > 2 and (any(c.isdigit() or c in "_./:@#-" for c in name) or name[1:].lower() != name[1:])


def bounded(store: Store, key: Key, sought: Sought) -> Sought:
    """With the boundary of the scope's newest checkpoint, where only what it covers is looked for."""
    if sought.where != "covered":
        return sought
    checkpoint = store.view(key).checkpoint
    return msgspec.structs.replace(sought, upto=checkpoint.boundary if checkpoint else 0)
