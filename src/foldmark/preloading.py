"""What a search brings before a turn: the preload of a request. Knows nothing of how a request is put together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from weakref import ReferenceType, ref

import msgspec

from foldmark.drafts import NOTHING_PRELOADED, Preloaded
from foldmark.errors import words_of_error
from foldmark.events import Event
from foldmark.evidence import joined, one_line, opening, quoted
from foldmark.options import Recall
from foldmark.overview import telling
from foldmark.policy import Policy
from foldmark.redact import Redactor, redactor
from foldmark.retrieval import Hit, bounded, question, rank, shortened, snippets
from foldmark.rounds import newest_user
from foldmark.seeking import Sought
from foldmark.store import Frame, Key, Store, View
from foldmark.tokens import count
from foldmark.warm import Recent

MOST_HITS = 20
"""So many of the best are tried for room; what ranks behind them answers nothing."""
WORTH = 0.4
"""A hit with less than this share of the best score is left out: on dialogues (two of LoCoMo's, 273 questions) that
took 0.7 points of the evidence in 1,000 tokens and 0.4 of that in 500, and 13-22% and 4-6% of the tokens."""
LEAST_CHARACTERS = 40
"""A quotation that is cut shorter says nothing."""
END = "[End of what was recalled]"


def preloaded(store: Store, view: View, policy: Policy, frame: Frame) -> Preloaded:
    """What a search with the newest message of a real user finds of what the request does not show, in at most
    `recall.preload_tokens`. The same for the whole turn: it depends on that message and on what is covered, never on
    the clock. A search that fails brings nothing, and is named."""
    recall, redact = policy.recall, redactor(view.secret, policy.redact)
    newest = newest_user((*view.kept, *view.events)) if recall.preload_tokens else None
    boundary = view.checkpoint.boundary if view.checkpoint else 0
    if newest is None or (recall.preload_where == "covered" and not boundary):
        return NOTHING_PRELOADED
    try:
        return _of_this_turn(store, view, newest, telling(recall, frame).load, redact, policy)
    except Exception as error:  # a request never fails for want of what it did without before
        said = f"Nothing was preloaded for this turn: the search failed ({redact(words_of_error(error))})."
        return Preloaded(warnings=(said,))


class _Turn(msgspec.Struct, frozen=True):
    """What was preloaded for a turn, the store it comes from, and the other sessions it quotes, each with when it was
    created."""

    store: ReferenceType[Store]
    preloaded: Preloaded
    sessions: frozenset[tuple[str, float]]


_turns: Recent[_Turn] = Recent()


def _of_this_turn(store: Store, view: View, newest: Event, load: str, redact: Redactor, policy: Policy) -> Preloaded:
    """What was preloaded at the first request of the turn, unless a session that it quotes was deleted since."""
    version, recall = view.checkpoint.version if view.checkpoint else 0, policy.recall
    place = (id(store), view.key, newest.seq, newest.chain, version, recall, load, policy.redact)
    known = _turns.get(place)
    if known and known.store() is store and known.sessions <= _sessions(store, view.key, known.sessions):
        return known.preloaded
    hits = _hits(store, view, newest, recall)
    made = _shown(hits, recall.preload_tokens, load, redact)
    others = {hit.session for hit in hits if hit.session}
    sessions = frozenset(one for one in _sessions(store, view.key, others) if one[0] in others)
    _turns.put(place, _Turn(ref(store), made, sessions))
    return made


def _sessions(store: Store, key: Key, asked: Collection[object]) -> frozenset[tuple[str, float]]:
    """The user's sessions, where any is `asked` for: what is quoted of one that was deleted since must go."""
    found = store.sessions(key.tenant, key.user) if asked else ()
    return frozenset((info.session, info.created) for info in found)


def _hits(store: Store, view: View, newest: Event, recall: Recall) -> list[Hit]:
    """The best hits of what is not shown raw. What a question calls yesterday counts from its own time, else from that
    of the checkpoint."""
    raw = view.kept if recall.preload_where == "covered" else (*view.kept, *view.events)
    shown = frozenset(event.seq for event in raw)
    now = newest.time if newest.time is not None else view.checkpoint.time if view.checkpoint else 0.0
    asked = question(newest.text, now)
    sought = bounded(store, view.key, Sought(where=recall.preload_where, without=shown))
    if not asked.terms:
        return []
    return snippets(rank(store.find(view.key, asked.terms, sought=sought), asked, MOST_HITS), asked)


def _shown(hits: Sequence[Hit], tokens: int, load: str, redact: Redactor) -> Preloaded:
    """The best hits that fit, each quoted under its ref; of the very best as much as fits."""
    blocks: list[str] = []
    refs: list[str] = []

    def fits(block: str) -> bool:
        return count(_framed([*blocks, block], load)) <= tokens

    for hit in hits:
        if hit.score < WORTH * hits[0].score:
            continue
        shown = msgspec.structs.replace(hit, snippet=redact(hit.snippet))
        if not blocks and not fits(_quoted(shown)):
            shown = _cut(shown, lambda hit: fits(_quoted(hit)))
        if shown.snippet and fits(_quoted(shown)):
            blocks.append(_quoted(shown))
            refs.append(shown.at or shown.ref)
        elif not blocks:
            return NOTHING_PRELOADED  # worse ones alone would be taken for the answer
    return Preloaded(_framed(blocks, load), tuple(refs)) if blocks else NOTHING_PRELOADED


def _cut(hit: Hit, fits: Callable[[Hit], bool]) -> Hit:
    """A hit with the longest beginning of its snippet that fits; with none where less than a few words would."""
    low, high = 0, len(hit.snippet)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(shortened(hit, middle)) else (low, middle - 1)
    return shortened(hit, low) if low >= LEAST_CHARACTERS else msgspec.structs.replace(hit, snippet="")


def _framed(blocks: Sequence[str], load: str) -> str:
    """The quotations between our own lines; `load` is the name of the tool that opens refs, where the reader has
    it."""
    opened = f"; {load} opens a ref" if load else ""
    return joined([opening(f"Recalled from earlier by the words of the newest user message{opened}"), *blocks, END])


def _quoted(hit: Hit) -> str:
    """`[event:12#L3-4, 2026-05-01, user]` and the snippet."""
    told = ", ".join(filter(None, (one_line(hit.at or hit.ref), hit.date[:10], one_line(hit.speaker))))
    return f"[{told}]\n{quoted(hit.snippet)}"
