"""Pieces that readers of foreign messages share: lists of rows, thinking, runs of one speaker."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark import importers
from foldmark.errors import WireError
from foldmark.events import Opaque, Reasoning, Text
from foldmark.importers.parts import mappings, told_in_runs
from foldmark.importers.values import Document, placed_rows

PARTS = st.lists(st.sampled_from([Text("<notice> a"), Text("words"), Opaque("x", {"type": "y"})]), max_size=8)


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        (Document(value={"messages": [1, 2]}), ["messages[0]", "messages[1]"]),
        (Document(value=[1, 2]), ["[0]", "[1]"]),
        (Document(value={"role": "user"}, records=((1, {"role": "user"}),)), ["line 1"]),
        (Document(records=((1, 1), (3, 2))), ["line 1", "line 3"]),
        (Document(text="words"), []),
    ],
)
def test_rows_of_a_file_are_named_by_where_they_stand(document: Document, paths: list[str]) -> None:
    assert [path for path, _ in placed_rows(document)] == paths


@pytest.mark.parametrize(
    ("given_rows", "path"), [([{}, 1], "rows[1]"), ("text", "rows"), ({}, "rows"), ([None], "rows[0]")]
)
def test_an_entry_that_is_no_object_is_named_by_its_place(given_rows: Any, path: str) -> None:
    with pytest.raises(WireError) as caught:
        list(mappings(given_rows, "rows"))
    assert caught.value.path == path


@given(PARTS)
def test_runs_of_one_speaker_keep_every_part_in_order_and_never_follow_their_like(parts: list[Any]) -> None:
    events = list(told_in_runs(parts, lambda words: words.startswith("<"), 1.0))
    assert [part for event in events for part in event.parts] == parts
    origins = [event.origin for event in events]
    assert all(one != other for one, other in pairwise(origins))
    for event in events:
        is_by_program = [isinstance(part, Text) and part.text.startswith("<") for part in event.parts]
        assert is_by_program == [event.origin == "injected"] * len(event.parts)


def trajectory(blocks: Any) -> bytes:
    rows = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "Yes.", "thinking_blocks": blocks}]
    return json.dumps({"trajectory": [], "history": rows, "info": {}}).encode()


def test_thinking_beside_the_content_goes_back_as_it_came() -> None:
    block = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    (imported,) = importers.read(trajectory([block]))
    assert imported.events[-1].parts == (Reasoning("Hm.", "anthropic", block), Text("Yes."))


def test_thinking_that_is_none_is_an_error_that_names_its_place() -> None:
    with pytest.raises(WireError) as caught:
        importers.read(trajectory(["Hm."]))
    assert caught.value.path == "history[1].thinking_blocks[0]"


def test_a_block_of_a_result_that_nobody_reads_stays_whole_in_a_pi_session() -> None:
    chart = {"type": "chart", "rows": [1]}
    message = {
        "role": "toolResult",
        "toolCallId": "c",
        "toolName": "plot",
        "content": [chart, {"type": "text", "text": "ok"}],
    }
    rows = [{"type": "session", "id": "s", "cwd": "/"}, {"type": "message", "message": message}]
    (imported,) = importers.read(b"\n".join(json.dumps(row).encode() for row in rows))
    result, extra = imported.events[-1].parts
    assert (imported.events[-1].result, getattr(result, "text", None)) == (result, "ok")
    assert extra == Opaque("pi", chart)
