"""A limit that the user set, and a statement that undoes it: a conflict that shows both sides. Knows nothing of
evidence.

Compared are words: the same sort of verb and the things of a prohibition, the words and the number of an obligation.
Where it is not sure, the statement stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from foldmark.checkpoint import Fact, Item
from foldmark.render import escape
from foldmark.story.cutting import clipped
from foldmark.story.figures import NUMBER_WORDS, folded, value_of
from foldmark.words import STOP, words

State = Mapping[tuple[str, str], Fact]

_NO = re.compile(
    r"\b(?:not|no|never|none|without|avoid\w*|don['’]?t|doesn['’]?t|cannot|can['’]?t|won['’]?t|must ?n['’]?t|instead of"
    r"|rather than|refus\w+|forbid\w*|forbidden|prohibit\w*|reject\w*|against|leave|leaving|left|untouched|unchanged"
    r"|keep|kept|keeps|exclud\w+|nicht|keine?[nmrs]?|ohne|nie|sin|nunca|sans|jamais|pas)\b|n['’]t\b"
    r"|不|禁止|没有|ない|ません",
    re.IGNORECASE,
)
_FORBIDS = re.compile(
    r"\b(?P<no>do not|don['’]?t|never|must not|mustn['’]?t|should not|shouldn['’]?t|may not|cannot|can['’]?t|avoid"
    r"|without|no)\s(?P<what>(?:[^.,;:!?()]|[.:](?=\w)){2,120})",  # a dot inside a name ends nothing
    re.IGNORECASE,
)
_USES = frozenset(
    words("use using import install add introduce adopt switch choose chose pick take depend bring include")
)
_CHANGES = frozenset(
    words(
        "touch change modify edit alter migrate rename delete drop remove rewrite update refactor move replace write "
        "add"
    )
)
_RUNS = frozenset(words("run call start deploy push merge commit publish send execute release"))
_VERBS = _USES | _CHANGES | _RUNS
_MODAL = frozenset(
    words(
        "must should shall always only need needs has have stay stays stayed keep keeps remain remains is are be "
        "been was "
        "set use uses used change raise lower reduce increase bump cut put make limit value please now then still "
        "exactly "
        "least most at than under over below above leave allowed want"
    )
) - frozenset(words("limit value"))
_UNIT_WORDS = frozenset(
    words(
        "ns us ms s sec secs second seconds min mins minute minutes h hour hours day days week weeks percent mb gb "
        "kb bytes"
    )
)
_GENERIC = frozenset(words("library package module file tool framework dependency function the any lib api"))
"""Nouns that say what sort of thing a name is of: who breaks a rule may leave them out."""
_ANYTHING = frozenset(words("anything something any everything it that this yet ever again please them"))
_LEADS = re.compile(
    r"(?:^\W*|\b(?:will|should|shall|can|may|must|going to|decided to|decision to|agreed to|plan to|want to"
    r"|let us|let['’]s|now"
    r"|then|next)[:,]?\s)(?=(?P<verb>\w+))",
    re.IGNORECASE,
)
_LIFTS = re.compile(
    r"\b(?:allowed|permitted|acceptable|approved|unblocked|(?:fine|ok|okay|safe|free) to|lifted|no longer (?:forbidden"
    r"|prohibited|off[- ]limits|banned))\b",
    re.IGNORECASE,
)
_OBLIGES = re.compile(
    r"\b(?:must|should|shall|always|has to|have to|needs? to|stays?|keeps?|remains?|only|required?|mandatory)\b",
    re.IGNORECASE,
)
_RELEASES = re.compile(
    r"\bneed(?:s)? (?:not|no longer)\b|\bneedn['’]t\b|\b(?:not|no longer|n['’]t)\s(?:\w+\s)?(?:have|has|need"
    r"|needs|needed"
    r"|required|necessary|mandatory|bound|obliged)\b|\bno longer (?:has|have|must|needs?|required)\b|\boptional\b"
    r"|\bno need (?:to|for)\b",
    re.IGNORECASE,
)
_NOT_VERB = re.compile(r"(?:\b(?:not|no longer|never|stop)|n['’]t)\s(?:be\s)?(\w+)", re.IGNORECASE)
_PIECE = re.compile(r"[.;!?:](?=\s|$)|,\s|\s(?:but|and|while|whereas)\s")
_VALUE = re.compile(
    r"\b(?:is|are|was|be|becomes?|stays?|remains?|equals?|to|of|at|uses?|using|now|only|about|exactly|port)\s"
    r"(?P<number>\d[\d.,_]*\d|\d)(?![\w.-]*[A-Za-z_]{3})\s?-?(?P<unit>[A-Za-z%]*)"
)


def contradicted(item: Item, state: State) -> Item | None:
    """A conflict in the place of a decision, step or piece of work that undoes the user's words; None when it does
    not."""
    if item.field not in ("decisions", "next_steps", "current_work") or item.text.endswith("?"):
        return None
    for fact in (*_of(state, "constraint"), *_of(state, "correction"), *_bans(state)):
        if fact.status in ("", "stop") and _undoes(item.text, fact, state):
            said = clipped(escape(fact.value), 100)
            text = f"{clipped(item.text, 236 - len(said) - 22)} / the user's word: {said}"
            refs = tuple(dict.fromkeys((*item.refs, fact.seq)))
            return msgspec.structs.replace(
                item, field="conflicts", text=clipped(text), why="", refs=refs, verified=False
            )
    return None


def _bans(state: State) -> Iterator[Fact]:
    """The sentences of the user that begin with a plain ban, whether or not they were taken for a constraint."""
    for said in _of(state, "user"):
        for sentence in re.split(r"(?<=[.;!?])\s|\n", said.value[:2_000]):
            if _BANS.match(sentence):
                yield msgspec.structs.replace(said, value=sentence, status="")


_BANS = re.compile(r"\W*(?:please,? |and |but |also,? )?(?:do not|don['’]?t|never)\s", re.IGNORECASE)


def _of(state: State, kind: str) -> Iterator[Fact]:
    return (fact for (one, _), fact in state.items() if one == kind)


def _undoes(text: str, fact: Fact, state: State) -> bool:
    """Whether a statement does what is forbidden, releases from what is owed, or names another value, and no newer word
    of the user does the same."""
    later = [said.value for said in _of(state, "user") if said.seq > fact.seq]
    told = _pieces(text)
    for what in _forbidden(fact.value):
        if any(_does(piece, *what) for piece in told):
            return not any(_does(piece, *what) for said in later for piece in _pieces(said))
    for owed in _pieces(fact.value):
        if any(_releases(piece, owed) for piece in told):
            return not any(_releases(piece, owed) for said in later for piece in _pieces(said))
        if other := [value for piece in told if (value := _other_value(piece, owed))]:
            return not any(set(other) & set(_numbers(piece)) for said in later for piece in _pieces(said))
    return False


def _pieces(text: str) -> list[str]:
    return [piece for piece in _PIECE.split(_digits(text[:2_000])) if piece.strip()]


def _digits(text: str) -> str:
    """A text with every number in plain digits."""
    return NUMBER_WORDS.sub(lambda match: str(value_of(match)), folded(text))


def _forbidden(sentence: str) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """(verbs, things) that a sentence forbids: `do not use requests`, `no new libraries`; no things where it forbids a
    deed altogether (`do not deploy anything`). Anything less plain is left alone."""
    for match in _FORBIDS.finditer(sentence[:1_000]):
        said = [word for word in words(_CLAUSE_END.split(match["what"])[0]) if word not in STOP]
        things = frozenset(said) - _VERBS - _ANYTHING
        things = things - _GENERIC or things
        first = said[0] if said else ""
        is_plain = first not in _NO_THINGS if match["no"].lower() == "no" else first in _VERBS
        if is_plain and (things or first in _RUNS):
            yield frozenset(said) & _VERBS, things


_CLAUSE_END = re.compile(
    r"\b(?:unless|until|till|except|without|but|because|when|if|since|so|as|and|before|after|while)\b"
)
_NO_THINGS = frozenset(
    words("need needed problem idea more longer one doubt worries way matter point thanks issue issues")
)


def _does(piece: str, verbs: frozenset[str], things: frozenset[str]) -> bool:
    """Whether a piece does the forbidden: the same sort of verb, and every other word of the prohibition, before any
    word that denies. A deed that is forbidden altogether is done by its own verb only, where that leads."""
    denied = _NO.search(piece)
    told = piece[: denied.start()] if denied else piece
    own = frozenset(words(told))
    lifts = bool(_LIFTS.search(piece))
    if not things:
        leading = frozenset(word for match in _LEADS.finditer(told) for word in words(match["verb"]))
        return bool(verbs & _RUNS & (own if lifts else leading))
    sorts = [sort for sort in (_USES, _CHANGES, _RUNS) if verbs & sort] or [_USES]
    return things <= own and (lifts or any(own & sort for sort in sorts))


def _releases(piece: str, owed: str) -> bool:
    """Whether a piece says that what is owed need not be."""
    if not _OBLIGES.search(owed) or _NO.search(_OBLIGES.sub(" ", owed)):
        return False
    whole = frozenset(words(owed))
    due = whole - STOP - _MODAL
    own = frozenset(words(piece))
    turned = any(set(words(match[1])) & (whole - STOP) for match in _NOT_VERB.finditer(piece))
    is_same = bool(due) and len(due & own) >= max(1, 0.6 * len(due))
    return is_same and (bool(_RELEASES.search(piece)) or turned)


def _numbers(piece: str) -> list[str]:
    return re.findall(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-]*[A-Za-z_]{3})", piece)


def _other_value(piece: str, owed: str) -> str:
    """The number that a piece gives to the subject of an obligation, where that is another one; else ""."""
    due = _numbers(owed)
    if len(due) != 1:
        return ""
    subject = _subject(owed)
    own = _subject(piece)
    if not subject or not subject <= own or len(own) > 2 * len(subject) + 1:
        return ""
    unit = _UNIT_WORDS & frozenset(words(owed))
    for match in _VALUE.finditer(piece):
        mine = _UNIT_WORDS & frozenset(words(match["unit"]))
        if match["number"] != due[0] and (not mine or not unit or mine & unit):
            return match["number"]
    return ""


def _subject(piece: str) -> frozenset[str]:
    """What a number is of: the words of its piece without verbs, units and digits."""
    said = frozenset(word for word in words(piece) if not re.search(r"\d", word))
    return said - STOP - _MODAL - _UNIT_WORDS
