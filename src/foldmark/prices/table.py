"""A dated table of prices by model, as vendors list them. Knows nothing of who asks.

`prices.toml` beside this file is the one that comes with the library: every row says when and where it was read.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cached_property
from importlib.resources import files
from typing import Any

import msgspec

from foldmark.errors import PolicyError
from foldmark.prices.names import plain, same, served
from foldmark.prices.price import Price


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The prices of one model as a vendor lists them, in US dollars per million tokens."""

    model: str
    """The model's name, as requests spell it."""
    input: float
    """Plain input."""
    read: float
    """Input read from the cache."""
    output: float
    """Output."""
    writes: tuple[tuple[float, float], ...] = ()
    """(price of a token written to the cache, seconds it stays there unused), the usual one first. Empty: plain input,
    for 300 seconds."""
    minimum_prefix: int = 1_024
    """The smallest prefix in tokens that is cached."""
    long_from: int | None = None
    """Above so many input tokens the whole request is dearer."""
    long_input: float = 1.0
    """By how much for input and cache."""
    long_output: float = 1.0
    """By how much for output."""
    also: tuple[str, ...] = ()
    """Other names of the same model."""
    as_of: str = ""
    """The day the numbers were read."""
    source: str = ""
    """Where they were read."""
    note: str = ""
    """What is doubtful about them."""

    def __post_init__(self) -> None:
        amounts = (self.input, self.read, self.output, *(write for write, _ in self.writes))
        if not self.model or self.input <= 0 or min(amounts) < 0:
            raise PolicyError(f"The prices of model {self.model!r} need a name, an input above 0 and nothing below 0.")

    def price(self, lifetime: float = 0.0) -> Price:
        """As a `Price`, with the first cache that holds an unused prefix for `lifetime` seconds (else the longest)."""
        offers = self.writes or ((self.input, 300.0),)
        write, seconds = next((one for one in offers if one[1] >= lifetime), max(offers, key=lambda one: one[1]))
        return Price(
            read=round(self.read / self.input, 9),
            write=round(write / self.input, 9),
            output=round(self.output / self.input, 9),
            cache_seconds=seconds,
            minimum_prefix=self.minimum_prefix,
            long_from=self.long_from,
            long_input=self.long_input,
            long_output=self.long_output,
            dollars_per_million=self.input,
            model=self.model,
            as_of=", ".join(part for part in (self.as_of, self.source) if part),
        )


class PriceTable:
    """Rows of prices by model, with a date. Immutable; `replace` puts other rows over these."""

    def __init__(self, rows: Iterable[Row] = (), as_of: str = "", *, text: Callable[[], str] | None = None) -> None:
        """From rows, or from TOML `text` that is read when the first price is asked for."""
        self._given, self._as_of, self._text = tuple(rows), as_of, text

    @staticmethod
    def from_toml(text: str) -> PriceTable:
        """Read `as_of = "2026-11-30"` and `[[model]]` rows (fields of `Row`). Raises PolicyError that names the row."""
        return PriceTable(*_parsed(text))

    @cached_property
    def _read(self) -> tuple[tuple[Row, ...], str]:
        return _parsed(self._text()) if self._text else (self._given, self._as_of)

    @property
    def rows(self) -> tuple[Row, ...]:
        return self._read[0]

    @property
    def as_of(self) -> str:
        return self._read[1]

    def replace(self, other: PriceTable | Iterable[Row]) -> PriceTable:
        """This table with the rows of another over it: a row of the other takes the place of every name it has."""
        new = other if isinstance(other, PriceTable) else PriceTable(other)
        taken = {plain(name) for row in new.rows for name in (row.model, *row.also)}
        kept = (_without(row, taken) for row in self.rows)
        return PriceTable((*new.rows, *(row for row in kept if row)), new.as_of or self.as_of)

    @cached_property
    def _names(self) -> dict[str, Row]:
        found: dict[str, Row] = {}
        for row in self.rows:
            for name in (row.model, *row.also):
                found.setdefault(plain(name), msgspec.structs.replace(row, model=name, also=()))
        return found

    def find(self, model: str) -> Row | None:
        """The row of a model. Its exact name first; then without the name of who serves it, and with nothing behind it
        but a date, a version of the same model, or a mode that costs the same. None: unknown."""
        exact = self._names.get(plain(model))
        if exact or not (name := served(model)):
            return exact
        fitting = [known for known in self._names if same(name, known)]
        return self._names[max(fitting, key=len)] if fitting else None

    def near(self, model: str) -> tuple[str, ...]:
        """Known names that look like an unknown one."""
        return tuple(get_close_matches(served(model) or plain(model), self._names, 3, 0.7))


TABLE = PriceTable(text=lambda: files(__package__).joinpath("prices.toml").read_text("utf-8"))
"""The table that comes with the library, read when it is first asked. Each row says when and where it was read."""


def price_of(model: str, table: PriceTable | None = None, *, lifetime: float = 0.0) -> Price | None:
    """The price of a model by its name, or None when the table does not know it: never a guess by likeness.

    `lifetime` asks for a cache that holds an unused prefix for so many seconds, where the provider sells several.
    """
    row = (TABLE if table is None else table).find(model)
    return row.price(lifetime) if row else None


def _without(row: Row, taken: set[str]) -> Row | None:
    names = [name for name in (row.model, *row.also) if plain(name) not in taken]
    return msgspec.structs.replace(row, model=names[0], also=tuple(names[1:])) if names else None


def _parsed(text: str) -> tuple[tuple[Row, ...], str]:
    try:
        data: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"The price table is not TOML: {error}.") from error
    if unknown := sorted(data.keys() - {"as_of", "model"}):
        raise PolicyError(f"The price table has {unknown[0]!r}; it takes as_of and [[model]] rows.")
    given = data.get("model", [])
    if not isinstance(given, list):
        raise PolicyError("A price table has rows [[model]], with two brackets.")
    return tuple(_row(one) for one in given), str(data.get("as_of", ""))


def _row(given: Any) -> Row:
    name = given.get("model", "without a name") if isinstance(given, dict) else given
    try:
        return msgspec.convert(given, Row)
    except msgspec.ValidationError as error:
        raise PolicyError(f"The price row of {name}: {error}.") from error
