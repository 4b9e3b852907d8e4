"""Whether a statement says the same as its evidence or the opposite: yes or no, passed or failed. Knows nothing of
events, facts or items.

A model that turns a sentence round keeps nearly all of its words, so words alone would prove it. Compared are clauses:
the one of the evidence that says most of the same must not deny what the statement affirms. Two clauses that differ
in more than a "not" (one asks, one says "instead of") are not held against each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from foldmark.words import telling, words

Outcome = Literal["passed", "failed", ""]

SAYS_IT = 0.5
"""Share of a clause's words that a clause of the evidence holds when it speaks of the same."""
_LONGEST = 60_000  # characters of one text that are read: more than an admitted result has
_LONGEST_CLAUSE = 1_000

_ENDS = re.compile(
    r"[.;!?。；！？](?=\s|$)|[。；！？]|\n|\s[–—-]\s|,?\s\b(?:but|so|because|while|whereas|although|though|however|yet|therefore|since)\b"
    r"|,\s(?=(?:and |or )?(?:i|we|it|they|he|she|you|this|there|which)\b)|:\s",
    re.IGNORECASE,
)  # fmt: skip
_NO = re.compile(
    r"\b(?:not|no|never|none|neither|nor|nothing|nobody|cannot|nicht|keine?[nmrs]?|nie|nunca|jamais|pas)\b|n['’]t\b"
    r"|不|没有|沒有|ない|ません|않|없",
    re.IGNORECASE,
)
_BENT = re.compile(
    r"\b(?:instead|rather than|without|only|unless|until|except|whether|if|avoid|reject|refus|forbid|prohibit|unable"
    r"|unavailable|impossible|unsupported|lack|missing|exclud|drop|remov|disabl|skip|stop|no longer|not (?:only"
    r"|just|yet|sure|necessarily)|no (?:problem|doubt|need|matter)|why|ohne|sin|sans)",
    re.IGNORECASE,
)
"""What denies in part, in other words, or on a condition: two clauses that differ in it cannot be held together."""
_PASSED = re.compile(
    r"\b(?:pass(?:es|ed|ing)?|succe(?:eds?|eded|ss|ssful|ssfully)|works|worked"
    r"|(?:is|are|all|went|stays?|stayed) green)\b"
    r"|[✓✔✅]|通过|成功",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"\b(?:fail(?:s|ed|ing|ures?)?|broken|breaks|broke|crash(?:es|ed|ing)?|(?:is|are|all|went|stays?|stayed) red)\b"
    r"|[✗✘❌]|失败|失敗",
    re.IGNORECASE,
)
_NONE_OF_IT = re.compile(
    r"\b(?:no|0|zero|without|not an?y?)\s(?:\w+\s){0,2}(?:fail\w*|errors?|crash\w*)"
    r"|(?:n['’]t|\b(?:not|never|no longer|nothing|none(?: of \w+)?))\s(?:\w+\s){0,2}"
    r"(?:fail\w*|crash\w*|broken|breaks?|red)\b",
    re.IGNORECASE,
)
_NOT_PASSED = re.compile(
    r"(?:\b(?:not|never|no longer|none(?: of \w+)?)|n['’]t)\s(?:\w+\s){0,2}(?:pass\w*|succe\w+|works?|worked|green)\b",
    re.IGNORECASE,
)
_UNTIMED = re.compile(
    r"\b(?:should|must|would|will|could|may|might|can|shall|need(?:s|ed)?|want(?:s|ed)?|expect\w*|hope\w*|try|tries"
    r"|make|let|so that|in order|to (?:pass|fail|succeed|work)|if|when|whenever|unless|whether|until|before|once"
    r"|at first|first|initially|previously|earlier|originally|used to|was (?:failing|broken)|were (?:failing|broken)"
    r"|had|why|reproduc\w*|next|todo|rerun\w*|check|checks|checking|verify|see|ensure\w*|confirm|yet)\b|\?",
    re.IGNORECASE,
)
"""Words of a wish, a condition or an earlier time: such a clause says nothing of how it ended."""
_MENDED = re.compile(r"\b(?:fix(?:ed|es|ing)?|mend(?:ed|s|ing)?|after|resolved?|again)\b", re.IGNORECASE)
"""Beside these a failure is one of before."""
_STILL_FAILS = re.compile(
    r"\b(?:fails|failing|breaks|crashes|(?:is|are|stays?) (?:\w+ )?(?:red|broken)|still|does|do|now)\b", re.IGNORECASE
)


class Clause(msgspec.Struct, frozen=True):
    """A part of a sentence: its words, the names among them, how often it denies, what bends its sense, and which end
    it tells."""

    text: str
    words: frozenset[str]
    names: frozenset[str]
    denials: int
    bent: frozenset[str]
    outcome: Outcome


def clauses(text: str) -> tuple[Clause, ...]:
    """The clauses of a text that have words, in order."""
    return tuple(found for piece in _pieces(text[:_LONGEST]) if (found := clause(piece[:_LONGEST_CLAUSE])).words)


def _pieces(text: str) -> Iterable[str]:
    """A text cut behind sentences, at line ends and where a new subject begins; the sign of a question stays."""
    start = 0
    for end in _ENDS.finditer(_CODE.sub(lambda match: "`" * len(match[0]), text)):
        stop = end.end() if end[0][:1] in "?？" else end.start()
        if text[start:stop].strip():
            yield text[start:stop]
        start = end.end()
    if text[start:].strip():
        yield text[start:]


@lru_cache(maxsize=16_384)
def clause(text: str) -> Clause:
    """One clause, read."""
    said = _CODE.sub(" ", text)  # a command line denies nothing
    plain = _NOT_PASSED.sub(" ", _NONE_OF_IT.sub(" ", said))  # what these deny is in the outcome
    return Clause(text, _words(text), _names(text), len(_NO.findall(plain)), _bent(said), outcome(said))


_CODE = re.compile(r"`[^`\n]{1,240}`")


def _words(text: str) -> frozenset[str]:
    return frozenset(telling(words(text), 120)) - _POLAR


_POLAR = frozenset(words("not no never none pass passes passed fail fails failed failing work works worked error"))

_NAME = re.compile(r"(?a:(?<=[\w,(] )[A-Z]\w+)|(?a:\b\w*(?:[a-z][A-Z]|[_\d])\w*)|`([^`]+)`")


def _names(text: str) -> frozenset[str]:
    """The words of names: capitals in the midst, code, what has digits or underscores."""
    return frozenset(word for found in _NAME.finditer(text) for word in words(found[0])) - _POLAR


def _bent(text: str) -> frozenset[str]:
    return frozenset(found.lower() for found in (*_BENT.findall(text), *re.findall(r"[?？]", text)))


def outcome(text: str) -> Outcome:
    """Whether a clause says that something passed or failed; "" when it says neither, or both."""
    bare = _NOT_PASSED.sub(" ", _NONE_OF_IT.sub(" ", text))
    passed = bool(_PASSED.search(bare)) or bool(_NONE_OF_IT.search(text))
    failed = bool(_FAILED.search(bare)) or bool(_NOT_PASSED.search(text))
    return "" if passed == failed else "passed" if passed else "failed"


def ends_now(told: Clause) -> bool:
    """Whether a clause tells how something ended, and not what should be, what was once, or on what condition."""
    said = _CODE.sub(" ", told.text)
    is_mended = told.outcome == "failed" and _MENDED.search(said)
    return bool(told.outcome) and not is_mended and not _UNTIMED.search(said)


def is_present(told: Clause) -> bool:
    """Whether a clause tells how something is now: that it failed may be long ago, that it passed should still hold."""
    return told.outcome == "passed" or bool(_STILL_FAILS.search(told.text))


def is_opposed(statement: str, evidence: Sequence[Clause]) -> bool:
    """Whether a clause of a statement is denied by the clauses that speak of the same: one against it says most of its
    words, and none that agrees says as many and holds the same names."""
    named = frozenset(name for one in evidence for name in one.names)
    return any(_is_denied(told, (told.names | named) & told.words, evidence) for told in clauses(statement))


def _is_denied(told: Clause, names: frozenset[str], evidence: Sequence[Clause]) -> bool:
    """Short clauses (two words and less) say too little to be compared, and one without any of the names speaks of
    something else."""
    if len(told.words) < 2:
        return False
    least = SAYS_IT * len(told.words)
    near = [(shared, one) for one in evidence if (shared := len(told.words & one.words)) >= 2 or shared >= least]
    against = [(shared, one) for shared, one in near if shared >= least and _deny(told, one)]
    agreeing = [(shared, one) for shared, one in near if not _deny(told, one)]
    return any(
        not any(held >= shared and names & found.words <= one.words for held, one in agreeing)
        for shared, found in against
        if not names or names & found.words
    )


def _deny(told: Clause, one: Clause) -> bool:
    """Whether two clauses say the opposite, provided that they speak of the same."""
    if told.outcome and one.outcome and told.outcome != one.outcome:
        return True
    if told.outcome != one.outcome:  # "failed" denies nothing that has no end
        return False
    return {told.denials, one.denials} in ({0, 1}, {1, 2}) and told.bent == one.bent


def opposite(first: str, second: str) -> bool:
    """Whether two statements deny each other as a whole: one affirms and one denies, or their ends differ."""
    return _deny(clause(first[:_LONGEST_CLAUSE]), clause(second[:_LONGEST_CLAUSE]))
