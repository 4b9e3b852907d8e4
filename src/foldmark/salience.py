"""Which lines are worth keeping: word and name counts, unit scores, the filling of excerpts. Knows nothing of storage.

The score of a unit is the surprise of its masked subwords in the session, the contrast inside its own result,
and small bonuses (trouble, limits, values, decisions). `docs/measures.md` holds what each is worth.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from math import exp, log, log1p, sqrt

import msgspec

from foldmark.checkpoint import Name, Unit
from foldmark.events import Event, Reading, ToolCall
from foldmark.names import mask_of, name_of, names_in, split_tokens
from foldmark.units import cut, shorten, strip_number

BEST_PER_EVENT = 8
BEST_PER_FURTHER = 4
FURTHER_BYTES = 8_192
MOST_NAMES = 20_000

_MAX, _TOP, _GAMMA = True, 5, 0.4
_AGAIN, _NAMES, _LINEAR, _FALLS, _SEEN, _AGING, _AGE = 0.3, 2.0, False, 0, 0.6, 0.75, 1.0
_RNAMES, _HEAD = 0.2, 0
_W_BASE, _W_SURPRISE, _W_CONTRAST, _W_VALUE, _W_LIMIT, _W_LIMIT_ALONE = -8.9, 0.26, 4.7, 5.9, 0.3, 2.75
_W_TROUBLE, _W_PRICE, _W_SYMBOLS, _W_SAID, _W_SAID_MUCH, _W_SAID_ALONE, _W_ARGUMENTS, _W_DECISION = 0.2, -0.67, -10.8, 0.0, -2.3, 4.0, -5.0, 1.0
_DIGIT = re.compile(r"\d")
_LETTERS = dict.fromkeys([*range(48, 58), *range(65, 91), *range(97, 123), 32, 9, 95])
_FALL = 0.93  # what each further line of one event is worth of the one before

_TROUBLE_WORDS = frozenset(
    "error errors fail failed failing failure failures fatal exception traceback panic denied refused timeout "
    "warning assert assertion crash crashed broken invalid missing unexpected expected cannot unable abort "
    "aborted rejected conflict undefined unknown forbidden unauthorized stack killed overflow leak".split()
)
_LIMIT_WORDS = frozenset(
    "not never only must no without except unless until before after instead always cannot don doesn won shouldn "
    "limit limits max maximum min minimum least most require required requires forbid exactly keep avoid".split()
)
_DECISION_WORDS = frozenset(
    "decided decide decision chose choose chosen choosing instead because therefore prefer rather agreed "
    "conclude concluded root cause switched rejected".split()
)


class Tally:
    """Causal counts of a session: in how many events each masked subword stood, and who used which name when.

    `names` holds per name [events it stood in, last seq, events in which the agent itself used it].
    """

    def __init__(self) -> None:
        self.events = 0
        self.words: Counter[str] = Counter()
        self.names: dict[str, list[int]] = {}
        self.characters = 0
        self.said = 0

    def add(self, event: Event, text: str | None = None, calls: Sequence[ToolCall] | None = None) -> None:
        """Count an event. `text` is its whole text where the event itself holds only a preview."""
        if event.role == "control":
            return
        whole = event.text if text is None else text
        arguments = "\n".join(call.arguments for call in (event.calls if calls is None else calls))
        tokens = set(split_tokens(shorten(f"{whole}\n{_unescape(arguments)}" if arguments else whole)))
        self.events += 1
        self.characters += len(whole) + len(arguments)
        if event.role == "assistant":
            self.said += len(whole)
        self.words.update(words_of(tokens))
        self._use(set(map(name_of, tokens)), event.seq, int(event.role == "assistant"))

    def _use(self, names: set[str], seq: int, by_agent: int) -> None:
        known = self.names
        for name in names:
            if row := known.get(name):
                row[0] += 1
                row[1] = seq
                row[2] += by_agent
            elif name:
                known[name] = [1, seq, by_agent]
        if len(known) > MOST_NAMES:
            self._forget()

    def _forget(self) -> None:
        """Drop the older half of the names that were seen once and not by the agent."""
        once = sorted((row[1], name) for name, row in self.names.items() if row[0] == 1 and not row[2])
        for _, name in once[: max(len(once) // 2, len(self.names) - MOST_NAMES)]:
            del self.names[name]

    def copy(self) -> Tally:
        other = Tally()
        other.events, other.characters, other.said = self.events, self.characters, self.said
        other.words = self.words.copy()
        other.names = {name: row.copy() for name, row in self.names.items()}
        return other

    def to_bytes(self) -> bytes:
        """The counts as MessagePack, first element the version of the form."""
        return msgspec.msgpack.encode((1, self.events, self.characters, self.said, dict(self.words), self.names))

    @classmethod
    def from_bytes(cls, data: bytes) -> Tally:
        """Read `to_bytes` back. Raises `msgspec.DecodeError`; an unknown version gives empty counts."""
        version, *rest = msgspec.msgpack.decode(data)
        tally = cls()
        if version == 1:
            tally.events, tally.characters, tally.said, words, tally.names = rest
            tally.words = Counter(words)
        return tally


def _unescape(arguments: str) -> str:
    """JSON text with its escaped line breaks and quotes as spaces, so that words come apart."""
    return arguments.replace("\\n", " ").replace("\\t", " ").replace('\\"', " ")


def words_of(tokens: Iterable[str]) -> set[str]:
    """The masked subwords of tokens."""
    return set(" ".join(set(map(mask_of, tokens))).split())


class _Surprise(dict[str, float]):
    """mask -> how surprising its rarest subword is in this session, worked out on first use."""

    def __init__(self, tally: Tally, extra: Counter[str], events: int) -> None:
        self.seen, self.extra, self.most = tally.words, extra, log(events + 2.0)

    def __missing__(self, mask: str) -> float:
        seen, extra = self.seen, self.extra
        rarest = min((seen[word] + extra[word] for word in mask.split()), default=self.extra.total())
        value = self[mask] = max(0.0, self.most - log(rarest + 1.0)) if mask else 0.0
        return value


def best_units(readings: Sequence[Reading], tally: Tally) -> list[Unit]:
    """The units of new events that are worth storing, scored with the counts as they were before each event."""
    out: list[Unit] = []
    extra: Counter[str] = Counter()
    events = tally.events
    for reading in readings:
        if reading.event.role == "control":
            continue
        pieces = list(_pieces(reading))
        tokens = [split_tokens(text) for _, text in pieces]
        masks = [set(map(mask_of, row)) for row in tokens]
        names = [set(map(name_of, row)) for row in tokens]
        used = Counter(chain.from_iterable(names))
        known = tally.names
        worth = {n: (_SEEN+min(known[n][2],10)**.8 if n in known else _SEEN)/c for n,c in used.items()}
        worth[""] = 0.0
        plus = [_RNAMES*sum(map(worth.__getitem__, row)) for row in names]
        inside = Counter(chain.from_iterable(masks))
        weights = _Surprise(tally, extra, events)
        inlog = {m: log(c) for m, c in inside.items()}
        out += _best(reading.event, pieces, masks, weights, plus, inlog, tally)
        if len(readings) > 1:
            extra.update(set(" ".join(inside).split()))
            events += 1
    return out


def _pieces(reading: Reading) -> Iterator[tuple[int, str]]:
    """(line, unit) of an event's text, then of its calls' arguments (line 0)."""
    yield from cut(shorten(reading.text))
    for call in reading.calls:
        yield from ((0, text) for text in call_units(call))


def call_units(call: ToolCall) -> Iterator[str]:
    """Units of a call: its short arguments in one line, then the lines of the long ones."""
    try:
        arguments = msgspec.json.decode(call.arguments)
    except msgspec.DecodeError:
        arguments = call.arguments
    short: list[str] = []
    long: list[str] = []
    for key, value in arguments.items() if isinstance(arguments, dict) else (("", arguments),):
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        if len(text) <= 200 and "\n" not in text:
            short.append(f"{key}: {text}" if key else text)
        else:
            long.append(text)
    if short:
        yield f"{call.name} {', '.join(short)}"
    for text in long:
        yield from (unit for _, unit in cut(shorten(text)))


def _best(
    event: Event, pieces: list[tuple[int, str]], masks: list[set[str]], weights: _Surprise, plus: list[float], inlog: dict[str,float], tally: Tally
) -> list[Unit]:
    weigh = weights.__getitem__
    said = event.role == "assistant"
    share = tally.said / (tally.characters + 1)
    prose = _W_SAID + _W_SAID_MUCH * min(1.0, max(0.0, share - 0.1) / 0.05)
    units_log = log(len(pieces) + 1.0)
    scored: list[tuple[float, int]] = []
    size = 0
    seen: set[str] = set()
    rank: dict[int,float] = {}
    for order, (line, text) in enumerate(pieces):
        size += len(text)
        key = strip_number(text)
        if key in seen:
            continue
        seen.add(key)
        mask = masks[order]
        price = price_of(text)
        value = bool(_DIGIT.search(text))
        limits = not mask.isdisjoint(_LIMIT_WORDS)
        z = _W_BASE + _W_SURPRISE * sum(sorted(map(weigh, mask), reverse=True)[:_TOP])
        z += _W_CONTRAST * (units_log - sum(map(inlog.__getitem__, mask)) / max(1,len(mask))) / units_log
        z += _W_PRICE * log(price) + _W_SYMBOLS * len(text.translate(_LETTERS)) / len(text)
        if value:
            z += _W_VALUE
        elif limits:
            z += _W_LIMIT_ALONE
        elif said and line:
            z += _W_SAID_ALONE
        if limits:
            z += _W_LIMIT
        if not mask.isdisjoint(_TROUBLE_WORDS):
            z += _W_TROUBLE
        if said:
            z += prose if line else _W_ARGUMENTS
            if line and not mask.isdisjoint(_DECISION_WORDS): z += _W_DECISION
        score = log1p(exp(min(z,30.0)))
        scored.append(((score + plus[order]) / price ** _GAMMA, order))
        rank[order] = round(score, 3)
    most = BEST_PER_EVENT + BEST_PER_FURTHER * (size // FURTHER_BYTES)
    best = sorted(order for _, order in heapq.nlargest(most, scored))
    return [
        Unit(event.seq, order, pieces[order][1], rank[order],
             price_of(pieces[order][1]), pieces[order][0])
        for order in best
    ]  # fmt: skip


def price_of(text: str) -> int:
    """Estimated tokens of a unit; the true count is taken when a checkpoint is written."""
    return len(text) * 3 // 10 + 2


def rank(
    units: Iterable[Unit], *, focus_words: Iterable[str] = (), shown: Iterable[str] = (), tally: Tally | None = None,
    upto: int = 0,
) -> list[Unit]:  # fmt: skip
    """Units from best to worst; `shown` are lines that stand elsewhere.

    A unit's worth is its score and the chance that a name it is the first to carry will be used next, over a root
    of its price, with a mild fall for each further line of one event.
    """
    seen = {strip_number(line) for line in shown}
    focus = words_of(focus_words)
    chances = _chances(tally, upto) if tally else {}
    waiting: list[tuple[float, int, Unit, frozenset[str]]] = []
    for unit in units:
        names = frozenset(name for name in names_in(unit.text) if name in chances) if chances else frozenset()
        value = _worth(unit, names, chances, 0)
        waiting.append((-value, len(waiting), unit, names))
    heapq.heapify(waiting)
    out: list[Unit] = []
    taken: Counter[int] = Counter()
    while waiting:
        value, at, unit, names = waiting[0]
        now = -_worth(unit, names, chances, taken[unit.seq])
        if now > value + 1e-9:
            heapq.heapreplace(waiting, (now, at, unit, names))
            continue
        heapq.heappop(waiting)
        key = strip_number(unit.text)
        if key in seen:
            continue
        seen.add(key)
        out.append(unit)
        taken[unit.seq] += 1
        for name in names:
            chances[name] *= _AGAIN
    return out


def _worth(unit: Unit, names: frozenset[str], chances: dict[str, float], taken: int) -> float:
    value = unit.score
    for name in names:
        value += _NAMES * chances[name]
    return value / (unit.tokens + (0 if taken else _HEAD)) ** _GAMMA * (1.0 - _FALLS*taken if _LINEAR else _FALL**taken)


def _chances(tally: Tally, upto: int) -> dict[str, float]:
    """name -> a figure in proportion to the chance that the session uses it next."""
    out = {}
    for name, (uses, where, mine) in tally.names.items():
        out[name] = (_SEEN + min(mine, 10) ** 0.8) / (1.0 + max(0, upto - where)/_AGE) ** _AGING
    return out


def fill(ranked: Sequence[Unit], budget: int, count: Callable[[list[Unit]], int]) -> list[Unit]:
    """The longest head of `ranked` (in order of the log) whose true `count` is within the budget."""
    low, high = 0, len(ranked)
    while low < high:
        middle = (low + high + 1) // 2
        if count(in_order(ranked[:middle])) <= budget:
            low = middle
        else:
            high = middle - 1
    return in_order(ranked[:low])


def in_order(units: Iterable[Unit]) -> list[Unit]:
    return sorted(units, key=lambda unit: (unit.seq, unit.order))


def choose(
    units: Sequence[Unit], budget_tokens: int, *, focus_words: Iterable[str] = (), shown: Iterable[str] = (),
    tally: Tally | None = None,
) -> list[Unit]:  # fmt: skip
    """The units that fit the budget by their estimated prices, in order of the log."""
    out: list[Unit] = []
    left = budget_tokens
    for unit in rank(units, focus_words=focus_words, shown=shown, tally=tally):
        if unit.tokens <= left:
            out.append(unit)
            left -= unit.tokens
    return in_order(out)


def rank_names(tally: Tally, upto: int, limit: int) -> list[Name]:
    """Working names by how often, how lately and by whom they were used; only those seen up to `upto`."""
    rows = [
        Name(name, uses, where, round(_name_score(uses, where, mine, upto), 3))
        for name, (uses, where, mine) in tally.names.items()
        if mine and where <= upto  # a name that is used after `upto` stands in the raw tail
    ]
    return heapq.nlargest(limit, rows, key=lambda name: name.score)


def _name_score(uses: int, where: int, mine: int, upto: int) -> float:
    return (mine + 0.3 * log(1 + uses)) / (1.0 + 4.0 * max(0, upto - where) / max(1, upto))
