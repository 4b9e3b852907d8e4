"""Names in context: does the request still hold what the session really uses next? Imports nothing that selects.

A *name* is a path, symbol, id, hash, URL or number of three or more digits. A name is *asked for* at a cut when it
stands in the arguments or text of the next ten assistant messages or the next three user messages, stood before
the cut in a tool result or assistant text (not in the system text), and no tool result or user message supplies
it again in between. It is *in text* when the request holds it, and *in context* when the name and two of the
rarest plain words within 80 characters of an earlier occurrence stand within 200 characters of each other in the
request. Words as rare as the second rarest count as it. It is *old* when it last stood in any message before the
newest fifth of the past. `docs/measures.md` says the rest.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bench.sizes import content_text, message_text, message_tokens

Message = dict[str, Any]

CUTS = 20
FIRST, LAST = 0.30, 0.95  # of the tokens
ASSISTANT_AHEAD, USER_AHEAD = 10, 3
NEAR, WITHIN = 80, 200  # characters

_URL = r"https?://[^\s\"'<>()\[\]{}`,;]+[\w/]"
_PATH = r"~?(?:[\w.@+-]*/)+[\w.@+-]*\w|\b[\w-]+(?:\.[\w-]+)*\.(?:[a-z]{1,5}|[a-z]+\d)\b(?!\()"
_SYMBOL = (
    r"\b[A-Za-z]\w*(?:(?:\.|::|->)[A-Za-z]\w*)+"
    r"|\b\w*[A-Za-z0-9]_[A-Za-z0-9]\w*|\b[A-Za-z]\w*?[a-z0-9][A-Z]\w*"
)
_IDENTIFIER = r"\b(?=[\w-]*[A-Za-z])(?=[\w-]*\d)[A-Za-z0-9][\w-]{3,}\b|#\d+\b"
_NUMBER = r"(?<![\w.])\d{3,}(?![\w])"
_NAME = re.compile("|".join((_URL, _PATH, _SYMBOL, _IDENTIFIER, _NUMBER)))
_PLAIN = re.compile(r"(?<![\w/.$@-])[A-Za-z][a-z]{2,}(?![\w/]|[.-]\w)")
_EDGE = re.compile(r"[\w]")

_COMMON = frozenset(
    re.findall(r"\w+", "the and for that this with from are was not you have has but can will all any its")
)


def find_names(text: str) -> set[str]:
    """The names of a text; very long ones are data, not names."""
    found = {match[0].rstrip(".") for match in _NAME.finditer(text)}
    return {name for name in found if 3 <= len(name) <= 120 and _says_something(name)}


def _says_something(name: str) -> bool:
    return any(char.isalpha() for char in name) or sum(char.isdigit() for char in name) >= 3


class Question(NamedTuple):
    """A name asked for at a cut; `contexts` are the rare plain words of each earlier occurrence, newest first."""

    name: str
    old: bool
    contexts: tuple[frozenset[str], ...]
    used_in: str  # the text that uses it: the search variant asks with it


class Cut(NamedTuple):
    """The past `messages[:at]` and what is asked of its compaction."""

    at: int
    questions: tuple[Question, ...]


def cut_points(messages: Sequence[Message], cuts: int = CUTS) -> list[int]:
    """Indexes in front of an assistant or user message, evenly over the tokens."""
    sums = [0]
    for message in messages:
        sums.append(sums[-1] + message_tokens(message))
    points = []
    for number in range(cuts):
        wanted = sums[-1] * (FIRST + (LAST - FIRST) * number / max(1, cuts - 1))
        at = bisect_left(sums, wanted)
        while at < len(messages) and messages[at]["role"] == "tool":
            at += 1
        if at < len(messages) and at not in points:
            points.append(at)
    return points


def positions(name: str, text: str) -> Iterator[int]:
    """Where a name stands as a whole word or path."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        left = at and _EDGE.match(text[at - 1]) and _EDGE.match(name[0])
        right = end < len(text) and _EDGE.match(text[end]) and _EDGE.match(name[-1])
        if not left and not right:
            yield at
        at = text.find(name, at + 1)


def plain_words(text: str, start: int = 0, end: int | None = None) -> list[str]:
    """The plain words, in lower case, that stand whole between two places of a text."""
    limit = len(text) if end is None else min(end, len(text))
    found = _PLAIN.finditer(text, max(0, start), limit + 2)
    return [word for match in found if match.end() <= limit and (word := match[0].lower()) not in _COMMON]


class Past:
    """What stood in tool results and assistant text, growing from cut to cut; `counts` are plain words by message."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.counts: Counter[str] = Counter()
        self.where: dict[str, list[int]] = {}  # name -> texts it stood in
        self.seen: dict[str, int] = {}  # name -> tokens of the session up to where it last stood, whoever said it

    def add(self, message: Message, tokens_so_far: int) -> None:
        if message["role"] != "system":
            self.seen.update((name, tokens_so_far) for name in find_names(message_text(message)))
        if message["role"] not in ("tool", "assistant"):
            return
        text = content_text(message)
        if not text:
            return
        self.texts.append(text)
        self.counts.update(set(plain_words(text)))
        for name in find_names(text):
            self.where.setdefault(name, []).append(len(self.texts) - 1)

    def contexts(self, name: str) -> tuple[frozenset[str], ...]:
        """The rarest plain words near each earlier occurrence that has two, newest first."""
        found: dict[frozenset[str], None] = {}
        for number in reversed(self.where[name][-50:]):
            text = self.texts[number]
            for at in list(positions(name, text))[:20]:
                end = at + len(name)
                near = {*plain_words(text, at - NEAR, at), *plain_words(text, end, end + NEAR)}
                words = sorted(near, key=self.counts.__getitem__)
                if len(words) >= 2:
                    limit = self.counts[words[1]]
                    found[frozenset(word for word in words if self.counts[word] <= limit)] = None
        return tuple(found)


def ask(messages: Sequence[Message], cuts: int = CUTS) -> list[Cut]:
    """Every cut of a history with its questions. Takes some seconds on a long history."""
    out: list[Cut] = []
    past, done, tokens = Past(), 0, 0
    for at in cut_points(messages, cuts):
        for message in messages[done:at]:
            tokens += message_tokens(message)
            past.add(message, tokens)
        done = at
        system = find_names(" ".join(content_text(m) for m in messages[:at] if m["role"] == "system"))
        questions = []
        for name, text in _used_next(messages[at:]).items():
            if name in past.where and name not in system and (contexts := past.contexts(name)):
                old = past.seen[name] < 0.8 * tokens
                questions.append(Question(name, old, contexts, text))
        out.append(Cut(at, tuple(questions)))
    return out


def _used_next(after: Sequence[Message]) -> dict[str, str]:
    """name -> the first text that uses it, of names used before anything supplies them again."""
    used: dict[str, str] = {}
    supplied: set[str] = set()
    assistants = users = 0
    for message in after:
        role, text = message["role"], message_text(message)
        names = find_names(text)
        if role == "assistant" and assistants < ASSISTANT_AHEAD:
            assistants += 1
            used.update((name, text) for name in names if name not in supplied and name not in used)
        elif role == "user" and users < USER_AHEAD:
            users += 1
            used.update((name, text) for name in names if name not in supplied and name not in used)
        supplied |= names
        if assistants >= ASSISTANT_AHEAD and users >= USER_AHEAD:
            break
    return used


def in_context(question: Question, text: str, lowered: str | None = None) -> bool:
    """Whether the name and two of the rarest words of one earlier occurrence stand within 200 characters."""
    lowered = text.lower() if lowered is None else lowered
    name = question.name
    for at in positions(name, text):
        start = max(0, at + len(name) - WITHIN)
        window = lowered[start : at + WITHIN]
        here = [(match.start() + start, match.end() + start, match[0]) for match in re.finditer(r"[a-z]+", window)]
        for words in question.contexts:
            places = [(low, high, word) for low, high, word in here if word in words]
            for index, (low, high, word) in enumerate(places):
                for other_low, other_high, other in places[index + 1 :]:
                    ends = max(high, other_high, at + len(name)), min(low, other_low, at)
                    if other != word and ends[0] - ends[1] <= WITHIN:
                        return True
    return False


def in_text(question: Question, text: str) -> bool:
    return next(positions(question.name, text), None) is not None
