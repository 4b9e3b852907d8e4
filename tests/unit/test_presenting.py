"""The host's own framing of a checkpoint: between our head and foot, escaped, pure, or an error that names it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from foldmark.checkpoint import Checkpoint, Line, Section
from foldmark.errors import PolicyError
from foldmark.options import Layout
from foldmark.presenting import presented, presented_tokens
from foldmark.render import TAG, closing, opening, render
from foldmark.tokens import count


def checkpoint(text: str = "") -> Checkpoint:
    text = text or render(3, 90, [Section("Goal", (Line("Fix the ledger.", (1,)),))], (), ())
    return Checkpoint(version=3, boundary=90, text=text, tokens=count(text))


def framed(text: str) -> str:
    return f"What happened so far, it may be out of date.\n{text}\nThe talk below wins."


def test_without_a_function_the_text_is_the_checkpoints_own() -> None:
    made = checkpoint()
    assert presented(made, Layout()) is made.text
    assert presented_tokens(made, Layout()) == made.tokens


def test_the_function_gets_what_stands_between_head_and_foot() -> None:
    seen: list[str] = []
    presented(checkpoint(), Layout(format=lambda text: seen.append(text) or text))
    assert set(seen) == {seen[0]}
    assert seen[0].startswith("Everything covered can be opened")
    assert seen[0].endswith("- Fix the ledger. (event:1)")
    assert TAG not in seen[0]


def test_a_function_that_changes_nothing_gives_the_same_text_byte_for_byte() -> None:
    made = checkpoint()
    assert presented(made, Layout(format=lambda text: text)) == made.text


def test_whatever_the_function_says_the_text_is_marked_as_reference_and_says_where_it_ends() -> None:
    for function in (framed, lambda _: "x", lambda text: text.replace("\n", " ")):
        text = presented(checkpoint(), Layout(format=function))
        head = opening(3, 90).splitlines()[:2]
        assert text.splitlines()[:2] == head
        assert head[1].startswith("Reference only: ")
        assert text.endswith(f"\n\n{closing(90)}")


def test_tags_of_ours_in_the_framing_are_escaped_so_that_nothing_ends_the_record_early() -> None:
    text = presented(checkpoint(), Layout(format=lambda text: f"</{TAG}>\n{text}\n<{TAG} ref='compaction:9'>"))
    assert text.count(f"</{TAG}>") == text.count(f"<{TAG} ") == 1
    assert f"&lt;/{TAG}>" in text


def test_the_tokens_are_those_of_what_is_shown() -> None:
    layout = Layout(format=framed)
    assert presented_tokens(checkpoint(), layout) == count(presented(checkpoint(), layout)) > checkpoint().tokens


@pytest.mark.parametrize("nothing", ["", "  \n\t"])
def test_an_empty_result_shows_nothing_at_all(nothing: str) -> None:
    layout = Layout(format=lambda _: nothing)
    assert presented(checkpoint(), layout) == ""
    assert presented_tokens(checkpoint(), layout) == 0


def test_a_text_that_is_no_record_of_ours_is_framed_whole() -> None:
    assert presented(checkpoint("made elsewhere"), Layout(format=str.upper)) == "MADE ELSEWHERE"


def test_what_the_function_raises_is_an_error_that_names_it_and_the_checkpoint() -> None:
    def broken(_: str) -> str:
        raise KeyError("no template")

    with pytest.raises(
        PolicyError, match=r"layout\.format failed on compaction:3 .*no template.*Nothing was sent"
    ) as it:
        presented(checkpoint(), Layout(format=broken))
    assert isinstance(it.value.__cause__, KeyError)


@pytest.mark.parametrize("answer", [None, b"bytes", 7, ["text"]])
def test_anything_but_a_text_is_refused(answer: Any) -> None:
    with pytest.raises(PolicyError, match=r"layout\.format returned .* must return a text"):
        presented(checkpoint(), Layout(format=lambda _: answer))


def test_a_function_that_says_two_things_of_one_text_is_refused() -> None:
    number = itertools.count()
    with pytest.raises(PolicyError, match=r"two different texts for compaction:3"):
        presented(checkpoint(), Layout(format=lambda text: f"{next(number)} {text}"))


def test_a_text_is_framed_once_and_two_functions_are_told_apart() -> None:
    calls: list[str] = []

    def counted(text: str) -> str:
        calls.append(text)
        return f"A {text}"

    layout = Layout(format=counted)
    assert [presented(checkpoint(), layout) for _ in range(5)] == [presented(checkpoint(), layout)] * 5
    assert len(calls) == 2  # the second call proves that the first can be relied on
    assert presented(checkpoint(), Layout(format=lambda text: f"B {text}")) != presented(checkpoint(), layout)


@pytest.mark.parametrize(
    ("fields", "said"),
    [({"format": "framed"}, "it takes a function"), ({"checkpoint": "assistant"}, "allowed are user and system")],
)
def test_a_layout_that_makes_no_sense_is_refused_where_it_is_written(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        Layout(**fields)
