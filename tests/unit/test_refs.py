"""Refs are spelled one way and read in every way that people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.errors import NotFound
from foldmark.refs import Ref, artifact_ref, compaction_ref, event_ref, events_ref, parse, plain


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


@pytest.mark.parametrize(
    ("written", "ref"),
    [
        (1, "event:1"),
        ("[event:1]", "event:1"),
        ("`event:1`", "event:1"),
        ("<artifact:5.2>", "artifact:5.2"),
        ('"compaction:3#L1-40"', "compaction:3#L1-40"),
        ("Event:1", "event:1"),
        ("EVENT:12-20", "event:12-20"),
        ("event: 12", "event:12"),
        ("event 12", "event:12"),
        ("Artifact #7", "artifact:7"),
        ("event:1#L1-1, 2026-12-01 10:24, user", "event:1#L1-1"),
        ("[event:1#L1-1, 2026-12-01 10:24, user; words: port, staging]", "event:1#L1-1"),
        ("[event:4@main/2, tool bash; words: LOCK]\n| LOCK = 1", "event:4@main/2"),
        ("event:12, user", "event:12"),
        ("[event:12, 2026-03-02 09:00, assistant, goes on]", "event:12"),
        ("[next: event:12-20]", "event:12-20"),
        ("[next: event:15-15#B6000-9000]", "event:15-15#B6000-9000"),
        ("toolu_01Abc-9", "call:toolu_01Abc-9"),
        ("call_7fQ", "call:call_7fQ"),
        ("Call:t1", "call:t1"),
        ("event:my own, id", "event:my own, id"),
    ],
)
def test_what_is_copied_with_a_ref_is_not_looked_at(written: object, ref: str) -> None:
    assert plain(written) == ref
    assert str(parse(written)) == ref


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("event:12, event:15", "event:12 first, then event:15."),
        ("event:12, 15-18", "event:12 first, then event:15-18."),
        ("event:12 event:15 event:16", "event:12 first, then event:15."),
        ("[event:12@main/2, artifact:3, event:4]", "event:12@main/2 first, then artifact:3."),
        ("artifact:5.2#L1-9\nartifact:6", "artifact:5.2#L1-9 first, then artifact:6."),
    ],
)
def test_several_refs_are_opened_one_at_a_time(written: str, said: str) -> None:
    with pytest.raises(NotFound, match="One ref at a time") as error:
        parse(written)
    assert said in str(error.value)


@pytest.mark.parametrize("written", [None, True, 1.5, b"event:1", ["event:1"], -1])
def test_what_is_no_ref_at_all_is_told_as_such(written: object) -> None:
    if written == -1:
        assert parse(written).seq is None
        return
    with pytest.raises(NotFound, match="event:12"):
        parse(written)


@given(st.text(max_size=20))
def test_whatever_a_session_is_called_its_refs_stay_what_they_are(session: str) -> None:
    ref = Ref("event", "3", session)
    assert parse(str(ref)) == ref
    assert plain(str(ref)) == str(ref)


def test_one_event_is_no_stretch() -> None:
    assert (events_ref(15, 15), events_ref(15, 15, "s")) == ("event:15", "event:15@s")
    assert events_ref(15, 16) == "event:15-16"
