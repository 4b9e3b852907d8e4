"""Bytes of a file become JSON, JSON lines or text, or are refused in words; how deep a value may be is bounded."""

from __future__ import annotations

import pytest

from foldmark.errors import WireError
from foldmark.importers.document import open_document
from foldmark.importers.values import Notes
from foldmark.wire.plain import DEEPEST

OPENINGS = [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")]


def nested(levels: int, opening: str = "[", closing: str = "]", inner: str = "1") -> str:
    times = levels // (opening.count("[") + opening.count("{"))
    return opening * times + inner + closing * times


@pytest.mark.parametrize(("opening", "closing"), OPENINGS)
@pytest.mark.parametrize("levels", [DEEPEST + 2, 600, 900, 20_000])
@pytest.mark.parametrize("inner", ["1", '"\\ud83d"'])
def test_what_is_nested_too_deep_is_refused_wherever_it_stands(
    opening: str, closing: str, levels: int, inner: str
) -> None:
    deep = nested(levels, opening, closing, inner)
    for text in (f'{{"a":1}}\n{deep}\n{{"a":2}}', f'{{"a":1}}\n{deep}'):
        with pytest.raises(WireError, match=f"line 2: .*more than {DEEPEST} levels"):
            open_document(text.encode(), "f", Notes())
    assert f"more than {DEEPEST} levels" in open_document(deep.encode(), "f", Notes()).reason


@pytest.mark.parametrize(("opening", "closing"), OPENINGS)
def test_what_is_nested_less_deep_is_read(opening: str, closing: str) -> None:
    wide = "[" + ",".join(["[]"] * 500) + "]"
    assert open_document(nested(DEEPEST - 4, opening, closing, wide).encode(), "f", Notes()).value
