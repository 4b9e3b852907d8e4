"""The protocol of stores stands in parts, one concern each, and every store is divided along the same lines."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any, Protocol

import pytest
from places import PLACES, Place

from foldmark.store import PARTS, Store, promised
from foldmark.store.forwarding import Forwarding, Reading


def own(part: type) -> dict[str, Any]:
    return {name: thing for name, thing in vars(part).items() if not name.startswith("_")}


def test_the_protocol_is_its_parts_and_nothing_else() -> None:
    assert Store.__bases__ == (*PARTS, Protocol)
    assert own(Store) == {}


def test_no_method_is_promised_twice() -> None:
    names = [name for part in PARTS for name in own(part)]
    assert len(names) == len(set(names))
    assert names == list(promised())


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_a_store_has_the_methods_of_a_part_in_the_module_of_that_part(place: Place, part: type) -> None:
    """`foldmark.store.events.Events` is `Events` of `foldmark.memory.parts.events`, and so in every store."""
    made = getattr(import_module(f"{place.parts}.{part.__module__.rpartition('.')[2]}"), part.__name__)
    assert issubclass(place.kind, made)
    for name, thing in own(part).items():
        if inspect.isfunction(thing):
            assert name in vars(made), f"{made.__module__}.{made.__name__} has no {name!r}"
            assert inspect.signature(vars(made)[name]).parameters == inspect.signature(thing).parameters, name


@pytest.mark.parametrize("kind", [*(place.kind for place in PLACES.values()), Forwarding])
def test_what_passes_for_a_store_has_every_method_as_it_is_promised(kind: type) -> None:
    for name, thing in promised().items():
        if inspect.isfunction(thing):
            has = getattr(kind, name, None)
            assert has, f"{kind.__name__} has no {name!r}"
            assert inspect.signature(thing).parameters == inspect.signature(has).parameters, name


class Told:
    """Stands for a store: says by which name it was called, and with what."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **named: (name, arguments, named)


@pytest.mark.parametrize("name", [name for name, thing in promised().items() if inspect.isfunction(thing)])
def test_each_method_is_handed_on_under_its_own_name_with_all_that_was_given(name: str) -> None:
    store: Any = Forwarding(Told())  # type: ignore[arg-type]
    assert getattr(store, name)(1, 2, three=3) == (name, (1, 2), {"three": 3})


def test_what_only_reads_is_a_part_of_what_is_handed_on() -> None:
    reads = set(own(Reading))
    assert reads < set(promised())
    assert reads | set(own(Forwarding)) == set(promised())
    assert not reads & set(own(Forwarding))
