"""What the tokens of a text are, masked subwords and working names, and the running counts of both in a session.

Knows nothing of scores or storage.

A text is cut at spaces and brackets into *tokens*. A token has a *mask*: its subwords in lower case, with digits
and hex replaced, so that row 4711 of a table looks like row 4712 and only what is really new counts as rare.
Some tokens are *names*: paths, symbols, ids, hashes, URLs, numbers of three or more digits.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from foldmark.events import Event, ToolCall

_BREAKS = str.maketrans(dict.fromkeys("\t\r\n\v\f\"'`()[]{}<>,;|=!?*\\\u00a0“”‘’「」。，、；（）│→", " "))
_SUBWORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_ACCENTED = [chr(code) for block in (range(0xC0, 0x2B0), range(0x1E00, 0x1F00)) for code in block]
_UPPER = "A-Z" + "".join(filter(str.isupper, _ACCENTED))
_LOWER = "a-z" + "".join(filter(str.islower, _ACCENTED))
_WIDE_SUBWORD = re.compile(  # apart, for the plain one is faster
    rf"[{_UPPER}]?[{_LOWER}]+|[{_UPPER}]+(?![{_LOWER}])|\d+|[^\W\d_{_UPPER}{_LOWER}]+"
)
_MARK = re.compile("[\u00ad\u0300-\u036f]+")  # accents apart from their letters, and hyphens that are not shown
_HEX = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{6,}", re.IGNORECASE)
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # scripts written without spaces

_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S{3,}")
_PATH = re.compile(r"~?(?:[\w.@+-]*/)+[\w.@+-]*\w|[\w-]+(?:\.[\w-]+)*\.[a-z][a-z0-9]{0,5}(?::\d+)*")
_SYMBOL = re.compile(
    r"[A-Za-z$@#_][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$][\w$]*)+"  # qualified
    r"|[\w$]*[A-Za-z0-9]_[A-Za-z0-9][\w$]*"  # snake_case
    r"|[A-Za-z$][\w$]*?[a-z0-9][A-Z][\w$]*"  # camelCase
)
_IDENTIFIER = re.compile(r"[#@]?(?=[\w-]*\d)[A-Za-z0-9][\w-]{2,}|\$?\d[\d.,:-]{2,}")
_DIGIT = re.compile(r"\d")

WHOLE_CHARACTERS = 1_048_576
_HEAD, _TAIL, _TROUBLE = 524_288, 262_144, 262_144
_TROUBLE_WORD = re.compile(r"\b(?:error|fail(?:ed|ure)?|fatal|exception|traceback|panic|denied|refused|timed? ?out)\b")
_TROUBLE_LITERALS = ("error", "fail", "fatal", "exception", "traceback", "panic", "denied", "refused", "time")
_STRETCH = 262_144  # characters that are looked at together: a search for literals clears most of them

_LONGEST_NAME = 120  # characters; what is longer is data
_CACHE = 120_000  # tokens remembered per process, about 20 MB


def shorten(text: str) -> str:
    """A text over 1 MiB as its head, its tail and its trouble lines; others as they are."""
    if len(text) <= WHOLE_CHARACTERS:
        return text
    trouble: list[str] = []
    size = 0
    for _, line in trouble_lines(text, _HEAD, len(text) - _TAIL):
        trouble.append(line)
        size += len(line)
        if size > _TROUBLE:
            break
    return "\n".join((text[:_HEAD], *trouble, text[-_TAIL:]))


def trouble_lines(text: str, start: int, stop: int) -> Iterator[tuple[int, str]]:
    """(where it begins, its first 240 characters) of every line of trouble in a stretch of a text."""
    while start < stop:
        end = min(stop, text.find("\n", min(start + _STRETCH, stop)) + 1 or stop, start + 2 * _STRETCH)
        piece = text[start:end]
        # The words are ASCII: so every offset stays the same, whatever the script.
        low = (piece if piece.isascii() else piece.encode("ascii", "replace").decode("ascii")).lower()
        at = 0
        if any(word in low for word in _TROUBLE_LITERALS):
            while found := _TROUBLE_WORD.search(low, at):
                first = low.rfind("\n", 0, found.start()) + 1
                at = low.find("\n", found.end()) + 1 or len(low)
                yield start + first, piece[first : min(at, first + 240)].rstrip("\n")
        start = end


def split_tokens(text: str) -> list[str]:
    """The tokens of a text in order: cut at spaces, quotes, brackets, commas, equals signs."""
    return text.translate(_BREAKS).split()


def split_each(texts: Sequence[str]) -> list[list[str]]:
    """The tokens of each text. In one go where it can be: most of the cost is by call."""
    whole = _SEAM.join(texts)
    if whole.count(_SEAM) != len(texts) - 1:
        return [split_tokens(text) for text in texts]
    return [row.split() for row in whole.translate(_BREAKS).split(_SEAM)]


_SEAM = "\0"  # no space, and hardly ever part of a text

_LONGEST_TOKEN = 512  # characters: a longer run (base64, a minified line) is no name, and the pattern is quadratic


def split_subwords(token: str) -> tuple[str, ...]:
    """Masked subwords of a token: camelCase, snake_case and paths split, digits as `0`, hex as `#`. Letters with
    accents stay in their word, however they are encoded."""
    if token.isalpha() and token.islower() and token.isascii():
        return (token,)
    token = token[:_LONGEST_TOKEN]
    subword = _SUBWORD
    if not token.isascii():
        subword = _WIDE_SUBWORD
        if _MARK.search(token):
            token = _MARK.sub("", unicodedata.normalize("NFC", token))
    out: list[str] = []
    for piece in _HEX.sub(" 0x ", token).split():
        if piece == "0x":
            out.append("#")
            continue
        for word in subword.findall(piece):
            if word.isdigit():
                out.append("0")
            elif word.isascii() or not _WIDE.search(word):
                out.append(word.lower())
            else:
                out.extend(word[at : at + 2] for at in range(max(1, len(word) - 1)))
    return tuple(dict.fromkeys(out))


class _Masks(dict[str, str]):
    """token -> mask (its subwords joined by a space). Bounded: emptied when full, since it is only a memory."""

    def __missing__(self, token: str) -> str:
        if len(self) > _CACHE:
            self.clear()
        mask = self[token] = " ".join(split_subwords(token))
        return mask


class _Names(dict[str, str]):
    """token -> the name in it, empty when it is none."""

    def __missing__(self, token: str) -> str:
        if len(self) > _CACHE:
            self.clear()
        name = self[token] = find_name(token)
        return name


mask_of = _Masks().__getitem__
name_of = _Names().__getitem__


def find_name(token: str) -> str:
    """The working name that a token is, without the punctuation around it; empty when it is an ordinary word."""
    if len(token) > _LONGEST_NAME + 8:
        return ""
    name = token.strip(":.-&+%~^").rstrip("/#@$")
    if token.startswith(("./", "~/", "../", ".")) and "/" in token:
        name = token.rstrip(":.-&+%^/#@$").removeprefix("./")
    if len(name) < 3 or len(name) > _LONGEST_NAME:
        return ""
    if _SYMBOL.fullmatch(name) or _PATH.fullmatch(name) or _URL.fullmatch(name):
        return name
    if _IDENTIFIER.fullmatch(name) and len(_DIGIT.findall(name)) >= (3 if name[0].isdigit() else 1):
        return name
    return ""


def names_in(text: str) -> set[str]:
    """The names of a text."""
    found = set(map(name_of, split_tokens(text)))
    found.discard("")
    return found


def words_of(tokens: Iterable[str]) -> set[str]:
    """The masked subwords of tokens."""
    return set(" ".join(set(map(mask_of, tokens))).split())


MOST_NAMES = 20_000
"""Names a session remembers. Beyond, a quarter is forgotten: first those that stood in one event, none of the agent's,
then others that the agent never used, then the agent's own, of each the oldest first."""

MOST_WORDS = 100_000
"""Masked subwords a session remembers. Beyond, a quarter is forgotten: those of the fewest events, the oldest first."""


_TALLY_VERSION = 2
"""Raised when the same events give other counts, or the form changes: counts of another version are counted anew."""


class Tally:
    """Running counts of a session: in how many events each masked subword stood, and who used which name when.

    `names` holds per name [events it stood in, seq of the last, events in which the agent itself used it].
    `characters` is all text counted, `said` the part of it that is the agent's own prose.

    The living one of a session is its store's, and is counted on and walked under the store's lock alone; what a store
    gives to others is a `copy`.
    """

    def __init__(self) -> None:
        self.events = 0
        self.characters = 0
        self.said = 0
        self.words: Counter[str] = Counter()
        self.names: dict[str, list[int]] = {}

    def add(self, event: Event, text: str | None = None, calls: Sequence[ToolCall] | None = None) -> None:
        """Count an event. `text` is its whole text where the event itself holds only a preview."""
        if event.role == "control":
            return
        whole = event.text if text is None else text
        arguments = "\n".join(call.arguments for call in (event.calls if calls is None else calls))
        if arguments:
            whole = f"{whole}\n{plain_arguments(arguments)}"
        self.count(event, set(split_tokens(shorten(whole))), len(whole))

    def count(self, event: Event, tokens: set[str], characters: int) -> None:
        """Count an event whose tokens are known already; `characters` is the length of its whole text."""
        by_agent = int(event.role == "assistant")
        self.events += 1
        self.characters += characters
        self.said += len(event.text) if by_agent else 0
        self.words.update(sorted(words_of(tokens)))  # sets differ in order from process to process
        known, seq = self.names, event.seq
        for name in sorted(set(map(name_of, tokens))):
            if row := known.get(name):
                known[name] = [row[0] + 1, seq, row[2] + by_agent]
            elif name:
                known[name] = [1, seq, by_agent]
        if len(known) > MOST_NAMES:
            self._forget_names()
        if len(self.words) > MOST_WORDS:
            self._forget_words()

    # Both forget many at once, for what is to be forgotten has to be looked for among all.

    def _forget_names(self) -> None:
        rows = sorted(self.names.items(), key=_worth)
        self.names = dict(rows[len(rows) - MOST_NAMES * 3 // 4 :])

    def _forget_words(self) -> None:
        rarest = sorted(self.words, key=self.words.__getitem__)  # those of as many events stay in the order they came
        forgotten = set(rarest[: len(rarest) - MOST_WORDS * 3 // 4])
        self.words = Counter({word: count for word, count in self.words.items() if word not in forgotten})

    def within(self, events: Iterable[Event]) -> Tally:
        """The counts of some of the events alone, as a scope sees them, by what they show. Names that the whole does
        not know are left out: it counts redacted text, and knows what of an event is no secret."""
        other = Tally()
        for event in events:
            other.add(event)
        return other.known_to(self)

    def known_to(self, whole: Tally) -> Tally:
        """A copy of the counts, with the names alone that the `whole` knows."""
        other = self.copy()
        other.names = {name: row for name, row in self.names.items() if name in whole.names}
        return other

    def copy(self) -> Tally:
        other = Tally()
        other.events, other.characters, other.said = self.events, self.characters, self.said
        other.words = self.words.copy()
        other.names = self.names.copy()  # rows are replaced, never changed
        return other

    def to_bytes(self) -> bytes:
        """The counts as MessagePack; its first element is the version of the form."""
        counts = (self.events, self.characters, self.said, dict(self.words), self.names)
        return msgspec.msgpack.encode((_TALLY_VERSION, *counts))

    @classmethod
    def from_bytes(cls, data: bytes) -> Tally:
        """Read `to_bytes` back. Raises `msgspec.DecodeError` when it is none, `ValueError` when it is of another
        version: then all has to be counted again."""
        version, *counts = msgspec.msgpack.decode(data)
        if version != _TALLY_VERSION:
            raise ValueError(f"counts of version {version}, not {_TALLY_VERSION}")
        tally = cls()
        tally.events, tally.characters, tally.said, words, tally.names = counts
        tally.words = Counter(words)
        return tally


def _worth(item: tuple[str, list[int]]) -> tuple[bool, bool, int, str]:
    """What is worth less is forgotten sooner."""
    name, (events, seq, by_agent) = item
    return by_agent > 0, events > 1, seq, name


def plain_arguments(arguments: str) -> str:
    """JSON text with its escaped line breaks, tabs and quotes as spaces, so that words come apart."""
    return arguments.replace("\\n", " ").replace("\\t", " ").replace('\\"', " ")
