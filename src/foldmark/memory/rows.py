"""Sessions in memory: what one holds, and how its lineage is read. Knows nothing of locks or keys."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice

from foldmark.checkpoint import Checkpoint, Fact, Unit
from foldmark.dates import stamp
from foldmark.embedding import Vector
from foldmark.log import Log, Viewpoint, count_event, fitting, inherit
from foldmark.reports import Attempt
from foldmark.salience import Tally
from foldmark.seeking import Piece
from foldmark.store import ENDLESS, Key, ScopeState, SessionInfo
from foldmark.words import distinct

Name = tuple[str, str, str]  # tenant, user, session


class Row:
    """A session with everything of its own; what it inherits is read through `parent` up to `parent_seq`."""

    def __init__(self, name: Name, info: SessionInfo, parent: Row | None) -> None:
        self.name, self.info, self.parent = name, info, parent
        inherits = parent is not None and info.kind == "fork"
        self.root: Row = parent.root if parent and inherits else self  # the first of those that were forked from it
        self.hanging: list[Row] = []  # what was forked from it and what its calls started, as they were made
        self.limit = info.parent_seq if inherits else 0
        self.fact_limit = len(parent.facts) if parent and inherits else 0
        self.log: Log = parent.log.upto(self.limit, name[2]) if parent and inherits else Log(name[2])
        self.facts: list[Fact] = []
        self.units: list[Unit] = []
        self.pieces: list[Piece] = []
        self.numbers: list[int] = []  # of the pieces, in the order in which the whole store got them
        self.counted = 0
        self.tally = Tally()
        self.postings: dict[str, list[int]] = {}
        self.indexed = 0
        self.recorded: dict[int, float] = {}  # seq -> when it was recorded live, where the event itself does not say
        self.checkpoints: dict[Viewpoint, list[Checkpoint]] = {}
        self.states: dict[Viewpoint, ScopeState] = {}
        self.attempts: dict[Viewpoint, list[Attempt]] = {}
        self.written: dict[str, str] = {}
        self.vectors: dict[tuple[str, int], dict[tuple[int, int], Vector]] = {}  # embedder -> (seq, order) -> vector
        if parent:
            parent.hanging.append(self)
        if parent and inherits:
            self.checkpoints = {at: fitting(all_, self.limit) for at, all_ in parent.checkpoints.items()}
            self.states = {
                at: inherit(state, parent.checkpoints.get(at, ()), self.limit) for at, state in parent.states.items()
            }

    def scopes(self) -> list[Key]:
        """The scopes that exist, ordered by key and by what they see; a fork began with those of its parent, but with
        no work."""
        tenant, user, session = self.name
        return [
            Key(session=session, tenant=tenant, user=user, scope=scope, sees=sees)  # type: ignore[arg-type]
            for scope, sees in sorted(self.states)
        ]

    @property
    def children(self) -> list[Row]:
        """The sessions that calls of this one started."""
        return [row for row in self.hanging if row.info.kind == "child"]

    def below(self, *, children: bool) -> list[Row]:
        """Forks of the session and theirs, the newest first; with `children` also the sessions that calls started.
        Without recursion, since a line of forks may be long."""
        out, waiting = list[Row](), [*self.hanging]
        while waiting:
            row = waiting.pop()
            if children or row.info.kind == "fork":
                out.append(row)
                waiting += row.hanging
        return out

    def leave(self) -> None:
        """It goes, with all that hangs on it: its parent forgets it."""
        if self.parent:
            self.parent.hanging.remove(self)

    def lineage(self) -> Iterator[tuple[Row, int, int]]:
        """(row, last seq, facts seen) of this session and those it inherits from, the newest first."""
        row: Row = self
        limit, facts = ENDLESS, len(self.facts)
        while True:
            yield row, limit, facts
            if row.info.kind != "fork" or row.parent is None:
                return
            limit, facts = min(limit, row.limit), row.fact_limit
            row = row.parent

    def all_facts(self) -> list[Fact]:
        """Facts of the lineage, oldest first."""
        out: list[Fact] = []
        for row, limit, count in reversed(list(self.lineage())):
            out += [fact for fact in row.facts[:count] if fact.seq <= limit]
        return out


def time_of(row: Row, seq: int) -> float | None:
    """When an event of this row's own happened, else when it was recorded live; None where nobody knows."""
    time = row.log.events[seq - 1].time
    return row.recorded.get(seq) if time is None else time


def times_of(row: Row, first: int, last: int | None) -> dict[int, float]:
    """When events of the row's lineage happened, by seq, of those that have a time."""
    out: dict[int, float] = {}
    for other, end, _ in row.lineage():
        stop = min(end, other.log.head, ENDLESS if last is None else last)
        known = ((seq, time_of(other, seq)) for seq in range(max(first, other.limit + 1), stop + 1))
        out.update((seq, time) for seq, time in known if time is not None)
    return out


def index(row: Row) -> None:
    """Bring the session's index up to its pieces; done when somebody searches, so recording stays cheap."""
    for number in range(row.indexed, len(row.pieces)):
        piece = row.pieces[number]
        for word in distinct(f"{piece.head}\n{piece.text}\n{stamp(time_of(row, piece.seq))}"):
            row.postings.setdefault(word, []).append(number)
    row.indexed = len(row.pieces)


def count(row: Row) -> Tally:
    """Word counts up to the head; inherited events are counted by the pieces of the session they are of."""
    if row.counted < row.log.head:
        texts: dict[int, list[str]] = {}
        for other, last, _ in row.lineage():
            start = bisect_right(other.pieces, row.counted, key=lambda piece: piece.seq)  # they stand by their seqs
            for piece in islice(other.pieces, start, None):
                if piece.seq > last:
                    break
                texts.setdefault(piece.seq, []).append(piece.text)
        for event in row.log.events[row.counted :]:
            count_event(row.tally, event, texts.get(event.seq, ()))
        row.counted = row.log.head
    return row.tally


def hashes(row: Row) -> set[str]:
    own = row.log.events[row.limit :]
    return {artifact.sha256 for event in own for artifact in event.artifacts}
