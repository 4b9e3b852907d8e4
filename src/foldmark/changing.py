"""Puts changes, as mappings from files and keywords give them, into frozen options. Knows nothing of what they mean.

An unknown name is an error that names the nearest known one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec

from foldmark.errors import PolicyError
from foldmark.prices import Price, PriceTable, Row

_Options = TypeVar("_Options", bound=msgspec.Struct)


def changed(value: _Options, changes: Mapping[str, Any], path: str = "") -> _Options:
    """The options with the changes; a group (also prices) may be given as a mapping of the fields that change. `path`
    says where `value` stands. Raises PolicyError for unknown names and wrong types."""
    fields: dict[str, Any] = {}
    for key, new in changes.items():
        check_name(key, value.__struct_fields__, path)
        old = getattr(value, key)
        if isinstance(new, Mapping) and key in _MADE_OF:
            fields[key] = _MADE_OF[key](new)
        elif isinstance(new, Mapping) and isinstance(old, msgspec.Struct):
            fields[key] = changed(old, new, f"{path}{key}.")
        else:
            fields[key] = new
    try:
        out = msgspec.structs.replace(value, **fields)
        if path:
            msgspec.convert({field: getattr(out, field) for field in value.__struct_fields__}, type(value))
        return out
    except msgspec.ValidationError as error:
        raise PolicyError(f"{path.rstrip('.') or 'policy'}: {error}.") from error


def price(given: Mapping[str, Any]) -> Price:
    """A Price from a mapping of its fields. Raises PolicyError."""
    for key in given:
        check_name(key, Price.__struct_fields__, "prices.")
    try:
        return msgspec.convert(given, Price)
    except msgspec.ValidationError as error:
        raise PolicyError(f"prices: {error}. At least prices.read is needed, as a share of the input price.") from error


def table(given: Mapping[str, Any]) -> PriceTable:
    """A PriceTable from `as_of` and its rows as `model`; from nothing, an empty one. Raises PolicyError."""
    for key in given:
        check_name(key, ("as_of", "model"), "price_table.")
    try:
        return PriceTable(msgspec.convert(given.get("model", ()), tuple[Row, ...]), str(given.get("as_of", "")))
    except msgspec.ValidationError as error:
        raise PolicyError(f"price_table: {error}.") from error


_MADE_OF: dict[str, Callable[[Mapping[str, Any]], Any]] = {"prices": price, "price_table": table}


def check_name(key: str, known: Sequence[str], path: str) -> None:
    """Raises PolicyError, with the nearest known name, for a name that is not among the known ones."""
    if key not in known:
        near = get_close_matches(str(key), known, 1)
        hint = f" Did you mean {path}{near[0]}?" if near else f" Known are {', '.join(known)}."
        raise PolicyError(f"There is no option {path}{key}.{hint}")
