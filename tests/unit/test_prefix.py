"""The hash of a stable prefix: it is another one exactly where what is sent begins otherwise."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark.events import assistant, user
from foldmark.memory import MemoryStore
from foldmark.options import Layout
from foldmark.policy import Policy
from foldmark.session import Session

WORDS = ("alpha", "omega")  # of one size: the size of a message says nothing of which it is


def talk(count: int) -> list[Any]:
    return [one for n in range(count) for one in (user(f"ask {n}: " + "word " * 150), assistant(f"did {n}"))]


FULL = talk(120)


def layout(word: str, place: str, merge: bool) -> Layout:
    return Layout(checkpoint=place, merge=merge, format=lambda text: f"{word} {text}")  # type: ignore[arg-type]


@settings(max_examples=12)
@given(
    first=st.sampled_from(WORDS), second=st.sampled_from(WORDS), merge=st.booleans(), to=st.booleans(),
    place=st.sampled_from(["user", "system"]),
)  # fmt: skip
def test_an_epoch_is_named_exactly_when_the_prefix_that_was_sent_broke(
    first: str, second: str, merge: bool, to: bool, place: str
) -> None:
    store = MemoryStore()
    one = Session("s", store=store, policy=Policy(layout=layout(first, place, merge)), clock=lambda: 1_000.0)
    one.record(*FULL)
    one.request(window=16_000)
    sent = one.request(window=16_000)
    two = Session("s", store=store, policy=Policy(layout=layout(second, place, to)), clock=lambda: 1_001.0)
    again = two.request(window=16_000)
    stays = sent.system == again.system and [(m.role, m.parts) for m in sent.messages[: sent.stable]] == [
        (m.role, m.parts) for m in again.messages[: sent.stable]
    ]
    assert (again.report.epoch == "") == stays
    assert any(first in text for text in (sent.system, sent.messages[0].text)), "a checkpoint of ours was sent"


@pytest.mark.parametrize("merge", [False, True])
def test_what_is_only_added_names_no_epoch(merge: bool) -> None:
    made = Session("s", policy=Policy(layout=layout("alpha", "user", merge)), clock=lambda: 1_000.0)
    made.record(*FULL)
    made.request(window=16_000)
    made.record(user("and now?"))
    assert made.request(window=16_000).report.epoch == ""
