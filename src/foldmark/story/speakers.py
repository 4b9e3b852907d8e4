"""Whose words a statement rests on. Knows nothing of claims, or of what is done with a statement.

A tool result tells what is the case, never what is to be done or what somebody wants: whoever wrote a page, a file or a
log may be anybody. So an order that stands in one and that neither the user nor the agent took up is no plan of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from foldmark.checkpoint import Item
from foldmark.story.evidence import Evidence, content_of
from foldmark.words import words

OTHERS = ("result", "injected")
"""Whose words bind nobody. Of an event whose speaker is not known they may."""
TAKEN_UP = 0.5
"""Share of a step's words that a clause of somebody must hold who took it up."""
_ORDERED = 0.7
"""Share of a step's words that a clause of a result must hold to be the order that the step repeats."""
_LONGEST = 2_000  # characters of a sentence or line that is read

_TELLS_OF_IT = re.compile(
    r"\b(?:page|site|website|result|output|notice|message|file|text|injection|instructions?|prompt|it"
    r"|which)\b[^.;]{0,60}"
    r"\b(?:says?|said|tells?|told|asks?|asked|claims?|claimed|wants?|contains?|instructs?|instructed|orders?"
    r"|demands?|tries)\b"
    r"|\b(?:injection|malicious|suspicious|untrusted|ignor(?:e|ing|ed)|refus\w+|phishing|will not|won['’]t"
    r"|must not|do not"
    r"|don['’]t|never|not going to|instead of|decline\w*)\b",
    re.IGNORECASE,
)
"""Words with which an order is reported or turned down."""
_IN_A_NAME = re.compile(
    r"\b(?:users?|customers?|owners?|clients?|admins?|managers?|boss|operators?|maintainers?)(?:['’]s)?"
    r"(?:\s(?:has|had|have|also|now|then|clearly|explicitly|already)){0,3}"
    r"\s(?:wants?|wanted|said|says|asks?|asked|decide[sd]?|prefers?|preferred|chose|chooses|chosen|told|tells"
    r"|needs?|needed"
    r"|requires?|required|requests?|requested|insists?|insisted|likes?|expects?|expected|wish\w*|mention\w*"
    r"|stat(?:es|ed)"
    r"|decision|wish|request|choice|word)\b",
    re.IGNORECASE,
)


def is_of_others(refs: Iterable[int], evidence: Evidence) -> bool:
    """Whether all these events are results or injected text; False for none."""
    roles = [evidence.sources.spoken_by.get(ref, "") for ref in refs]
    return bool(roles) and all(role in OTHERS for role in roles)


def speaks_for_the_user(item: Item) -> bool:
    """Whether a statement says what the user wants, said or decided."""
    return bool(_IN_A_NAME.search(item.text))


def is_a_deed(item: Item) -> bool:
    """Whether a statement tells what is being done (`Deleting the database`), not how something is."""
    return bool(re.match(r"\W*\w+ing\b", item.text))


def taker(item: Item, evidence: Evidence) -> int:
    """The newest event in which the user or the agent speaks of a step as their own: it says at least half of its
    words, and neither reports them nor turns them down. 0 for none."""
    own = frozenset(content_of(item.text))
    shared = sorted(evidence.sharing(own, TAKEN_UP), reverse=True)
    return next((seq for seq in shared if _takes_up(seq, own, evidence)), 0)


def _takes_up(seq: int, own: frozenset[str], evidence: Evidence) -> bool:
    role = evidence.sources.spoken_by.get(seq, "")
    if seq == 0 or role in OTHERS:
        return False
    if role != "agent":
        return True
    near = [one for one in evidence.clauses(seq) if len(own & one.words) >= min(2, len(own))]
    return not near or not all(_TELLS_OF_IT.search(one.text) for one in near)


def order_of_others(item: Item, evidence: Evidence) -> int:
    """The event in which the step stands as an order or a plan of somebody else: with its verb, and nearly all of its
    words, in one clause. 0 for none."""
    own = frozenset(content_of(item.text))
    verb = next(iter(words(item.text)), "")
    for seq in evidence.sharing(own, _ORDERED):
        if evidence.sources.spoken_by.get(seq, "") in OTHERS:
            for line in re.split(r"\n|(?<=[.;!?])\s", evidence.text(seq)):
                said = frozenset(words(line)) if len(line) < _LONGEST else frozenset()
                if verb in said and len(own & said) >= _ORDERED * len(own):
                    return seq
    return 0
