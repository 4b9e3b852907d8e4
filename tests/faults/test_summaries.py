"""SUMQ, what of it holds for a record written by code: never empty, never nested, never behind."""

from __future__ import annotations

from scenes import RAW, checked, fresh, pairs_of, text_of

from foldmark import Policy
from foldmark.events import control, user


def test_nothing_to_cover_is_no_empty_skeleton() -> None:
    """S-SUMQ-02: empty input is a no-op, and an earlier record is carried on unchanged."""
    session = fresh(Policy.coding(budget={"target_tokens": 4_000}, admission=RAW))
    assert session.compact(force=True, window=128_000).outcome == "ineffective"
    session.record(control("setting", {"a": 1}))
    assert session.compact(force=True).outcome == "ineffective"
    assert session.control.history() == []
    session.record(user("Go."), *pairs_of(20, 300))
    assert session.compact(force=True).outcome == "applied"
    text = session.control.history()[-1].text
    for _ in range(3):
        again = session.compact(force=True)
        assert again.outcome in ("ineffective", "applied")
    assert session.control.history()[-1].sections
    assert text_of(checked(session).payload()).count("</foldmark-checkpoint>") == 1
    assert len(session.control.history()) > 1 or session.control.history()[-1].text == text


def test_records_do_not_nest_over_thirty_one_compactions() -> None:
    """S-SUMQ-06: the size stays under its cap in every round, and the newest facts are there."""
    session = fresh(Policy.coding(budget={"target_tokens": 4_000}, admission=RAW))
    session.record(user("Fix it. Never touch the schema."))
    sizes = []
    for turn in range(31):
        session.record(*pairs_of(9, 600, start=turn * 10, say=f"Marker turn{turn}word."))
        session.compact(force=True, window=128_000)
        request = checked(session)
        text = text_of(request.payload())
        assert text.count("<foldmark-checkpoint ") == 1
        assert f"turn{turn}word" in text
        assert "Never touch the schema." in text
        sizes.append(request.tokens.total)
    assert max(sizes) <= 4_000


def test_the_second_record_holds_what_the_first_one_knew() -> None:
    """S-SUMQ-08: after round two the boundary is newer and the facts of round one are still there."""
    session = fresh(Policy.coding(budget={"target_tokens": 5_000}, admission=RAW))
    session.record(user("Fix it. Do not use library zebra."), *pairs_of(20, 300))
    first = session.compact(force=True, window=128_000)
    session.record(user("Also never rename the flamingo table."), *pairs_of(20, 300, start=50))
    second = session.compact(force=True, window=128_000)
    assert second.boundary > first.boundary
    text = session.control.history()[-1].text
    assert "Do not use library zebra." in text
    assert "flamingo" in text_of(checked(session).payload())
