"""Statements made to fit: cut behind a whole sentence or clause, and marked where one was broken off. Knows nothing of
answers, fields or evidence.
"""

from __future__ import annotations

import re

from foldmark.narrative import MOST_CHARACTERS

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_UNSEEN = re.compile(r"[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""What nobody sees: marks and overrides of direction, blanks of no width. A word that holds one is found nowhere, and
an override shows what follows in another order than it is read in."""
_BROKEN_FROM = MOST_CHARACTERS - 2
"""A text of so many characters without an end was broken off by a schema's `maxLength`, of which spaces and a bullet
may have gone since."""
_LEAST_SENTENCE = MOST_CHARACTERS // 4
_LEAST_CLAUSE = MOST_CHARACTERS // 2
_END = re.compile(r"[.!?…。！？][\"'”’)\]`*]{0,3}$")
_SENTENCE = re.compile(r"[.!?][\"'”’)\]`*]{0,3}(?=\s)|[。！？]")
_ABBREVIATION = re.compile(
    r"(?:\b(?:etc|e\.g|i\.e|vs|cf|approx|resp|incl|z\.B|bzw|ca|Mr|Dr|St|Nr|no)|\b[A-Za-z])\.$", re.I
)
_CLAUSE = re.compile(
    r"[;,:，；]\s|\s[–—-]\s|\s(?=(?:because|since|so that|whereas|while|although|but|after which|which)\b)", re.I
)
_OPENING = re.compile(
    r"\W*(?:because|since|if|when|while|although|though|after|before|unless|until|as|once|whereas|given|to|in order)\b",
    re.I,
)
"""A clause that begins so only leads up to what is said."""
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|did|do|will|can|could|should|must|may|fails?|needs?|uses?|gives?|gave"
    r"|returns?|shows?|found|took|takes?|holds?|held|keeps?|kept|\w{2,}ed)\b|n['’]t\b",
    re.I,
)


def clean(text: str) -> str:
    """Text without lone surrogates and control characters, which no store or meter takes, and without unseen marks."""
    return _UNSEEN.sub("", _CONTROL.sub(" ", text.encode("utf-8", "replace").decode("utf-8")))


def clipped(text: str, limit: int = MOST_CHARACTERS) -> str:
    """One line of at most `limit` characters, cut at a word's end, with … for what was cut."""
    line = " ".join(clean(text).split())
    if len(line) <= limit:
        return line
    head, space, _ = line[: limit - 1].rpartition(" ")
    return f"{head.rstrip(' ,;:') if space and len(head) > limit // 2 else line[: limit - 2]} …"


def rounded(text: str) -> str:
    """A statement within its bound that does not end in mid-sentence: what is too long, or was broken off by a schema,
    ends behind its last whole sentence; else behind its last clause or word, with … for what is missing."""
    line = " ".join(clean(text).split())
    if len(line) < _BROKEN_FROM or (len(line) <= MOST_CHARACTERS and _END.search(line)):
        return line
    head = line[:MOST_CHARACTERS]
    ends = [end.end() for end in _SENTENCE.finditer(head) if not _ABBREVIATION.search(head[: end.end()])]
    if ends and ends[-1] >= _LEAST_SENTENCE:
        return head[: ends[-1]]
    clauses = [end.start() for end in _CLAUSE.finditer(head[: MOST_CHARACTERS - 2])]
    if clauses and clauses[-1] >= _LEAST_CLAUSE:
        return f"{head[: clauses[-1]].rstrip(' ,;:')} …"
    is_within_word = len(line) > MOST_CHARACTERS or line[-1:].isalnum()
    return clipped(f"{line} …") if is_within_word and " " in line else clipped(line)


def says_a_whole(text: str) -> bool:
    """Whether a statement has its predicate: one that ends in … may have lost it, and proves nothing then."""
    bare = text.removesuffix("…").rstrip()
    if bare == text.rstrip() or _END.search(bare):
        return True
    last = re.split(r"(?<=[.!?])\s", bare)[-1]
    return bool(_VERB.search(last)) and not _OPENING.match(last) and not _DANGLING.search(last)


_DANGLING = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|does|did|do|will|can|could|should|must|may|not|to|of|in|on|at|by|for"
    r"|with|from|the|a|an|and|or|that|as|into|than|this|its|their|[a-z]+ly)$",
    re.I,
)
"""Words that something has to follow."""
