"""Refs are spelled one way and read in every way that people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.errors import NotFound
from foldmark.refs import Ref, artifact_ref, compaction_ref, event_ref, parse


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("812", Ref("event", "812")),
        ("event:812", Ref("event", "812")),
        ("event://812", Ref("event", "812")),
        ("event:812@refund-fix", Ref("event", "812", "refund-fix")),
        ("event:msg_01Abc", Ref("event", "msg_01Abc")),
        ("artifact:812.2", Ref("artifact", "812", number=2)),
        ("artifact:812#L10-40", Ref("artifact", "812", lines=(10, 40))),
        ("artifact:812#L10", Ref("artifact", "812", lines=(10, 10))),
        ("event:812#B0-4096", Ref("event", "812", bytes=(0, 4096))),
        ("artifact:sha256:9f2c", Ref("artifact", "sha256:9f2c")),
        ("compaction:3", Ref("compaction", "3")),
        ("artifact:5.2@a/b#L1-2", Ref("artifact", "5", "a/b", 2, (1, 2))),
    ],
)
def test_every_spelling_reads_as_its_address(text: str, ref: Ref) -> None:
    assert parse(text) == ref


@pytest.mark.parametrize("text", ["", "nonsense", "event:", "file:12", "artifact"])
def test_what_is_no_ref_says_how_refs_look(text: str) -> None:
    with pytest.raises(NotFound, match="event:12"):
        parse(text)


@given(
    kind=st.sampled_from(["event", "artifact", "compaction"]),
    seq=st.integers(1, 10**6),
    session=st.text(alphabet="abc-/_", max_size=8),
    number=st.integers(1, 9),
    lines=st.none() | st.tuples(st.integers(1, 99), st.integers(100, 999)),
)
def test_printing_and_reading_are_inverse(
    kind: str, seq: int, session: str, number: int, lines: tuple[int, int] | None
) -> None:
    ref = Ref(kind, str(seq), session, number, lines)  # type: ignore[arg-type]
    assert parse(str(ref)) == ref


@given(st.sampled_from(["", "event:", "artifact:", "artifact:1.", "compaction:", "event:1#L", "artifact:1#B0-"]),
       st.text(alphabet="0123456789²٣五.-@#", max_size=9) | st.just("9" * 5_000))  # fmt: skip
def test_digits_of_other_scripts_and_endless_numbers_are_read_as_names_or_refused(head: str, digits: str) -> None:
    try:
        ref = parse(head + digits)
    except NotFound:
        return
    assert ref.seq is None or ref.name.isascii()
    assert parse(str(ref)) == ref


def test_short_forms_are_what_we_print() -> None:
    assert (event_ref(8), event_ref(8, "s"), artifact_ref(8), artifact_ref(8, 2), compaction_ref(1)) == (
        "event:8",
        "event:8@s",
        "artifact:8",
        "artifact:8.2",
        "compaction:1",
    )
