"""What a model is said to be has to be possible."""

from __future__ import annotations

from typing import Any

import pytest

from foldmark.asking import ModelInfo, info_of
from foldmark.errors import PolicyError


@pytest.mark.parametrize("window", [None, "x", float("nan"), float("inf"), 0, -1, 1.5, True])
def test_a_window_is_a_whole_number_of_tokens(window: Any) -> None:
    with pytest.raises(PolicyError, match=r"ModelInfo\.window is"):
        ModelInfo(window=window)


@pytest.mark.parametrize("factor", [None, "x", float("nan"), float("inf"), 0, -1, True])
def test_a_factor_is_a_number_above_zero(factor: Any) -> None:
    with pytest.raises(PolicyError, match=r"ModelInfo\.factor is"):
        ModelInfo(factor=factor)


@pytest.mark.parametrize("name", [None, 5, "", " ", "\ud800", "a\x00b", "a\u202eb", "a\nb"])
def test_a_name_can_be_printed_and_the_error_too(name: Any) -> None:
    with pytest.raises(PolicyError, match=r"ModelInfo\.name is") as caught:
        ModelInfo(name=name)
    assert str(caught.value).encode()


@pytest.mark.parametrize(("option", "value"), [("output", -1), ("output", None), ("schema", 1), ("schema", None)])
def test_the_rest_is_checked_as_well(option: str, value: Any) -> None:
    with pytest.raises(PolicyError, match=rf"ModelInfo\.{option} is"):
        ModelInfo(**{option: value})


def test_what_is_possible_is_taken() -> None:
    info = ModelInfo(name="modèle 小", window=1, factor=1, output=0, schema=True)
    assert info.window == 1
    assert info_of(lambda ask: "").name == "<lambda>"
