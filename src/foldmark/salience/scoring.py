"""Which lines are worth keeping: the score of a unit when it comes, the order of units when a checkpoint is filled.

Knows nothing of storage or budgets. The score is a logistic sum of a few signals; its weights were fitted on two
real histories with facts planted in their own words. `docs/measures.md` says what each signal is worth.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import exp, log, log1p

import msgspec

from foldmark.checkpoint import Unit
from foldmark.events import Reading, ToolCall
from foldmark.readings import with_calls
from foldmark.salience.names import Tally, mask_of, name_of, shorten, split_each
from foldmark.salience.units import LOUD_LINE, cut, is_assignment, is_loud, strip_number

BEST_PER_EVENT = 12
BEST_PER_FURTHER = 6  # units more for each further 8 KiB of an event
FURTHER_BYTES = 8_192

# Weights of the signals, in logits: the sum says how likely a unit is a statement worth keeping.
BASE = -8.9
SURPRISE = 0.26  # per nat, of the five rarest tokens: more of them would only favour long units
RAREST = 5
CONTRAST = 4.7  # how rare the tokens are inside their own event, 0 to 1
VALUE = 5.9  # holds a digit: numbers, ids, hashes, dates
LIMIT_ALONE = 2.75  # says not, only, must … and holds no digit
LIMIT = 0.3
TROUBLE = 0.2
LOUD = 3.0  # a log or a test run says that something failed
ASSIGNED = 3.0  # a name gets a value, alone on its line
PRICE = -0.67  # per nat of tokens
SYMBOLS = -10.8  # share of characters that are neither letters, digits nor spaces: code can be read again
SAID = 1.0  # the agent's own prose
SAID_ALONE = 4.7  # the same without a digit: decisions and findings
SAID_MUCH = -3.3  # where prose is more than a seventh of a session it is mostly politeness
DECISION = 1.0
ARGUMENTS = -5.0  # what the agent wrote into a call: it stands in a file or was run, and can be seen again

PRICE_POWER = 0.4  # worth falls with this power of the price: the full price prefers scraps, none prefers walls
NAMES_AT_RECORD = 0.2
UNUSED = 0.6  # how far a name counts that the agent itself never used


_TROUBLE = (
    "error errors fail failed failing failure failures fatal exception traceback panic denied refused timeout "
    "warning assert assertion crash crashed broken invalid missing unexpected expected cannot unable abort "
    "aborted rejected conflict undefined unknown forbidden unauthorized stack killed overflow leak"
)
_LIMIT = (
    "not never only must no without except unless until before after instead always cannot don doesn won shouldn "
    "limit limits max maximum min minimum least most require required requires forbid exactly keep avoid"
)
_DECISION = (
    "decided decide decision chose choose chosen choosing instead because therefore prefer rather agreed "
    "conclude concluded root cause switched rejected"
)
_TROUBLE_WORDS, _LIMIT_WORDS, _DECISION_WORDS = (frozenset(words.split()) for words in (_TROUBLE, _LIMIT, _DECISION))
_DIGIT = re.compile(r"\d")


def units_and_counts(readings: Sequence[Reading], tally: Tally) -> tuple[list[Unit], Tally | None]:
    """The units of new events that are worth storing, scored with the counts as they were before each event, and the
    counts with a batch in them, which its store need not count again: the `tally` itself, counted on. None for a single
    event, whose store counts it: to copy all counts for one would cost more."""
    if len(readings) < 2:
        return [unit for reading in readings for unit in _units_of(reading, tally)], None
    out: list[Unit] = []
    for reading in readings:
        out += _units_of(reading, tally)
        tally.add(reading.event, text=with_calls(reading.text, reading.calls), calls=())
    return out, tally


def _units_of(reading: Reading, tally: Tally) -> list[Unit]:
    return [] if reading.event.role == "control" else _Cutting(reading).best(tally)


def call_units(call: ToolCall) -> Iterator[str]:
    """Units of a call: its short arguments in one line, then the lines of the long ones."""
    try:
        arguments = msgspec.json.decode(call.arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
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


class _Cutting:
    """An event cut into units, with the tokens and masks of each. `line` 0 marks a call's arguments."""

    def __init__(self, reading: Reading) -> None:
        self.event = reading.event
        pieces = cut(shorten(reading.text))
        for call in reading.calls:
            pieces += [(0, text) for text in call_units(call)]
        self.lines = [line for line, _ in pieces]
        self.texts = [text for _, text in pieces]
        self.tokens = split_each(self.texts)
        self.masks = [set(map(mask_of, tokens)) for tokens in self.tokens]
        self.size = sum(map(len, self.texts))

    def best(self, tally: Tally) -> list[Unit]:
        """Twelve units, and six more per further 8 KiB, in order."""
        most = BEST_PER_EVENT + BEST_PER_FURTHER * (self.size // FURTHER_BYTES)
        prices = list(map(price_of, self.texts))
        scores = self._scores(tally, prices)
        chosen: Iterable[int] = range(len(scores))
        if len(scores) > 1:  # of one unit alone nothing has to be chosen
            names = self._names(tally)
            worth: dict[str, tuple[float, int]] = {}
            for order, text in enumerate(self.texts):
                bare = strip_number(text) if text[0].isdigit() else text
                if bare not in worth:
                    worth[bare] = ((scores[order] + names[order]) / _POWERS[prices[order]], order)
            chosen = sorted(order for _, order in heapq.nlargest(most, worth.values()))
        return [
            Unit(self.event.seq, order, self.texts[order], round(scores[order], 3), prices[order], self.lines[order])
            for order in chosen
        ]

    def _scores(self, tally: Tally, prices: list[int]) -> list[float]:
        counts = Counter(chain.from_iterable(self.masks))
        surprise = surprises(counts, tally).__getitem__
        inside = {mask: log(count) for mask, count in counts.items()}.__getitem__
        whole = log(len(self.texts) + 1.0)
        said, told = self.event.role == "assistant", self.event.role in ("assistant", "user")
        prose = SAID + SAID_MUCH * min(1.0, max(0.0, 20 * tally.said / (tally.characters + 1.0) - 2))
        says = _Saying(counts, self.texts)
        out: list[float] = []
        for text, masks, tokens, line, price in zip(
            self.texts, self.masks, self.tokens, self.lines, prices, strict=True
        ):
            common = sum(map(inside, masks)) / (len(masks) or 1)
            logit = BASE + SURPRISE * sum(sorted(map(surprise, masks))[-RAREST:])
            logit += CONTRAST * (whole - common) / whole + _PRICES[price]
            size = len(text)
            logit += SYMBOLS * (size - text.count(" ") - sum(map(len, tokens))) / size
            logit += says.logit(text, masks, said and line > 0)
            if told:
                logit += prose if line else ARGUMENTS
            out.append(log1p(exp(logit if logit < 30.0 else 30.0)))
        return out

    def _names(self, tally: Tally) -> list[float]:
        """What each unit is worth for the names it carries: most for names that stand nowhere else in the event."""
        known = tally.names
        names = [set(map(name_of, tokens)) for tokens in self.tokens]
        worth = {"": 0.0}
        for name, units in Counter(chain.from_iterable(names)).items():
            if name:
                worth[name] = NAMES_AT_RECORD * use_of(known[name][2] if name in known else 0) / units
        return [sum(map(worth.__getitem__, row)) for row in names]


def surprises(masks: Iterable[str], tally: Tally) -> dict[str, float]:
    """mask -> how surprising its rarest subword is in this session (nats)."""
    seen, most = tally.words.get, log(tally.events + 2.0)
    out: dict[str, float] = {}
    for mask in masks:
        rarest = min([seen(word, 0) for word in mask.split()]) if " " in mask else seen(mask, 0)
        value = most - _LOGS[rarest]
        out[mask] = value if value > 0.0 else 0.0
    out[""] = 0.0
    return out


class _Saying:
    """Logits for what a unit says: a value, a limit, a trouble, a decision. What the whole event does not hold is not
    looked for in its units."""

    def __init__(self, masks: Mapping[str, int], texts: Sequence[str]) -> None:
        self.limits = _LIMIT_WORDS.intersection(masks)
        self.troubles = _TROUBLE_WORDS.intersection(masks)
        self.decisions = _DECISION_WORDS.intersection(masks)
        self.is_loud = is_loud("\n".join(texts))

    def logit(self, text: str, masks: set[str], prose: bool) -> float:
        value = _DIGIT.search(text) is not None
        limit = bool(self.limits) and not masks.isdisjoint(self.limits)
        logit = VALUE if value else LIMIT_ALONE if limit else SAID_ALONE if prose else 0.0
        if limit:
            logit += LIMIT
        if self.troubles and not masks.isdisjoint(self.troubles):
            logit += TROUBLE
        if self.is_loud and is_loud(text) and LOUD_LINE.search(text):
            logit += LOUD
        if value and is_assignment(text):
            logit += ASSIGNED
        if prose and self.decisions and not masks.isdisjoint(self.decisions):
            logit += DECISION
        return logit


def use_of(by_agent: int) -> float:
    """How much a name counts by the number of events in which the agent used it."""
    return UNUSED + min(by_agent, 10) ** 0.8  # type: ignore[no-any-return]


def price_of(text: str) -> int:
    """Estimated tokens of a unit; the true count is taken when a checkpoint is written."""
    return len(text) * 3 // 10 + 2


class _Table(dict[int, float]):
    """A function of small whole numbers, worked out once for each."""

    def __init__(self, function: Callable[[int], float]) -> None:
        self.function = function

    def __missing__(self, number: int) -> float:
        value = self.function(number)
        if number < _MANY:
            self[number] = value
        return value


_MANY = 4_096
_LOGS = _Table(lambda count: log(count + 1.0))
_PRICES = _Table(lambda price: PRICE * log(price))
_POWERS = _Table(lambda price: float(price**PRICE_POWER))
