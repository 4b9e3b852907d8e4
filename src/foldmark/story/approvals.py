"""Whether a statement says that somebody allowed something, and whether the user did. Knows nothing of how a statement
is proven.

A permission that was invented, or that a page gives itself, is the worst thing that a record can hold: whoever reads it
acts on it. So it is known by many wordings, and stands only on a grant that code saw or on the user's own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from foldmark.checkpoint import Fact, Item
from foldmark.story.evidence import Evidence, content_of
from foldmark.words import words

State = Mapping[tuple[str, str], Fact]

_WHO = (
    r"(?:users?|customers?|owners?|clients?|admins?|administrators?|managers?|boss|operators?|humans?"
    r"|maintainers?|lead)"
)
_ALREADY = r"(?:\s(?:has|had|have|is|was|are|already|explicitly|also|then|now|clearly|just|since|quite|all)){0,4}"
_GRANT = (
    r"(?:permissions?|approvals?|consent|authori[sz]ation|clearance|the (?:green light|go-?ahead|all-clear"
    r"|ok(?:ay)?)|sign-?off|blessing)"
)
_APPROVED = (
    r"(?:approved|authori[sz]ed|ok(?:ay)?ed|ok['’]d|green-?li(?:t|ghted)|sanctioned|consented to"
    r"|signed off(?: on)?|rubber-?stamped)"
)
_STRONG = re.compile(
    rf"\b{_WHO}{_ALREADY}\s(?:{_APPROVED}|confirmed|allow(?:s|ed)?|permit(?:s|ted)?|consent(?:s|ed)?|agree[sd]?"
    rf"|approves?"
    rf"|authori[sz]es?|accept(?:s|ed)?|let us|lets us|said yes|said (?:it|that|this)(?: is|['’]s) (?:fine"
    rf"|ok(?:ay)?|allowed)"
    rf"|(?:fine|ok(?:ay)?|happy|good|cool|comfortable) with|on board with|(?:do|does)(?: not|n['’]t) (?:mind|object)"
    rf"|(?:did|has|have|had|with)(?: not|n['’]t)? (?:no objections?|object(?:ed)? not)|gave|gives?|given|granted"
    rf"|grants)\b"
    rf"|\b(?:{_GRANT})(?:\s\w+){{0,3}}?\s(?:was|were|is|are|has been|have been|had been|got)(?:\s(?:already|now"
    rf"|explicitly))?"
    rf"\s(?:granted|given|obtained|received|secured|in place)\b"
    rf"|\b(?:got|received|obtained|secured|have|has|had|gave|given|granted|with"
    rf"|under)\s(?:\w+\s){{0,2}}?(?:{_GRANT}|green light"
    rf"|go-?ahead)\b"
    rf"|\b(?:is|are|was|were|been|be|being|got|gets)(?:\s(?:already|now|explicitly|fully|also|then|hereby"
    rf"|finally)){{0,2}}\s{_APPROVED}\b"
    rf"|\bas (?:was |were |already )?(?:{_APPROVED}|allowed|permitted)\b|^\W*{_APPROVED}\b|\b{_APPROVED} by\b"
    rf"|\b(?:allowed|permitted|confirmed) by the {_WHO}\b"
    r"|\bpre-?(?:approved|authori[sz]ed)\b|用户(?:已)?(?:批准|同意|允许)|ユーザーが?(?:承認|許可)",
    re.IGNORECASE,
)
_WEAK = re.compile(
    r"\b(?:is|are|was|were|been|be)(?:\s(?:now|always|also|again|already)){0,2}\s(?:allowed|permitted|acceptable"
    r"|fine|ok(?:ay)?"
    r"|safe) (?:to|now|again|from now|by)\b"
    r"|\b\w{3,}ing\s(?:[\w./-]+\s){0,6}(?:is|are)(?:\s(?:now|also|again|always)){0,2}\s(?:allowed|permitted"
    r"|acceptable|fine|ok(?:ay)?)\b"
    r"|\bmay (?:now |also |freely )?be \w+ed\b|\bcleared to\b|\bno (?:further |more )?approval (?:is |was )?(?:needed"
    r"|required|necessary)\b",
    re.IGNORECASE,
)
"""What may be a permission, or a fact of a program (`null is allowed here`)."""
_DENIES = re.compile(
    r"\b(?:not|never|n['’]t|no|must|should|needs?|has to|wait\w*|until|before|whether|if|ask\w*|pending|once"
    r"|unless|without"
    r"|only|requires?|nobody)\b|未|没|ない",
    re.IGNORECASE,
)
_ASKS = re.compile(r"\b(?:whether|if|ask(?:s|ed|ing)?|wait(?:s|ing)?|until|unless|once|pending)\b", re.IGNORECASE)
_GIVEN = re.compile(r"\b(?:gave|gives?|given|granted|grants|accept\w*)$", re.IGNORECASE)
_NAMES_A_GRANT = re.compile(rf"\b{_GRANT}\b|\bgreen light\b|\bgo-?ahead\b|\bok(?:ay)?\b", re.IGNORECASE)
_OF_IT = frozenset(
    words(
        "user customer owner client admin manager boss operator approve approved approval allow allowed permission "
        "permit "
        "permitted grant granted give gave given green light fine ok okay okayed authorized authorised authorization "
        "consent consented agree agreed confirm confirmed now say said explicitly already happy sign off signed ahead"
    )
)
_REFUSES = re.compile(
    r"\b(?:not|no|never|none|without|avoid\w*|cannot|refus\w+|forbid\w*|prohibit\w*|reject\w*|nicht|keine?[nmrs]?|nie"
    r"|nunca|jamais|pas)\b|n['’]t\b|不|禁止|没有|ない|ません",
    re.IGNORECASE,
)


def _is_denied(before: str) -> bool:
    """Whether the words before a grant say that it is none, or not yet."""
    return bool(_DENIES.search(before[-24:]) or _ASKS.search(re.split(r"[.;]\s", before[-80:])[-1]))


def claims_an_approval(item: Item) -> str:
    """`strong` when a statement says that somebody allowed something, `weak` when it may say so, else ""."""
    text = f"{item.text} {item.why}"
    for found in _STRONG.finditer(text):
        is_vague = _GIVEN.search(found[0]) and not _NAMES_A_GRANT.search(text[found.start() : found.end() + 40])
        if not is_vague and not _is_denied(text[: found.start()]):
            return "strong"
    weak = _WEAK.search(text)
    return "weak" if weak and not _is_denied(text[: weak.start()]) else ""


def grants(item: Item, named: Iterable[int], evidence: Evidence) -> list[int]:
    """The events among those named in which the user allowed this: a grant or an answer that code saw and that speaks
    of the same, or a message of the user that says it and forbids nothing."""
    said = frozenset(content_of(f"{item.text} {item.why}")) - _OF_IT
    least = 0.5 * len(said)
    found: set[int] = set()
    for (kind, key), fact in evidence.sources.state.items():
        if kind == "question" or (kind == "approval" and fact.status == "granted"):
            seen = {fact.seq, *fact.refs}
            about = frozenset(words(f"{fact.value} {fact.key}")).union(*map(evidence.words_at, {fact.seq - 1, *seen}))
            found |= seen if len(said & about) >= least else set()
        elif kind == "user" and key.isdigit() and not _REFUSES.search(fact.value):
            found |= {int(key)} if len(said & evidence.words_at(int(key))) >= least else set()
    return sorted(found & set(named))
