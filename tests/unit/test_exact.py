"""Identifiers are found to the letter."""

from __future__ import annotations

import pytest

from foldmark.exact import identifiers


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("url", "https://ex.com/a?b=1"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000"),
        ("email", "ana@example.org"),
        ("hash", "9f2c41a"),
        ("hash", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("ticket", "#812"),
        ("ticket", "PAY-1042"),
        ("ticket", "issue 77"),
        ("port", "port 8080"),
        ("port", "localhost:3000"),
        ("money", "$12.50"),
        ("money", "1,200 EUR"),
        ("date", "2026-05-20"),
        ("date", "2026-05-20T10:15:00Z"),
        ("date", "May 20th"),
        ("date", "2026年5月20日"),
        ("version", "v1.2.3"),
        ("version", "2.10.1"),
        ("error", "ENOENT"),
        ("error", "TS2345"),
        ("error", "ConnectionError"),
        ("error", "HTTP 404"),
        ("test", "tests/unit/test_refund.py::test_late"),
        ("test", "test_concurrent_refund"),
        ("host", "db.internal"),
        ("host", "10.0.0.5"),
        ("path", "src/app/main.py:12"),
        ("path", "/etc/hosts"),
        ("path", "~/notes/plan.md"),
        ("constant", "MAX_TOKENS"),
    ],
)
def test_each_kind_is_found_inside_a_sentence(kind: str, text: str) -> None:
    found = identifiers(f"please look at {text} before anything else")
    assert [(one.kind, one.text) for one in found] == [(kind, text)]


def test_a_finding_is_the_text_at_its_place() -> None:
    text = "At 10:15 the host db.internal said ECONNREFUSED (see src/db.py:7, #12 and https://ex.com/x)."
    found = identifiers(text)
    assert len(found) == 6
    assert all(text[one.start : one.start + len(one.text)] == one.text for one in found)
    assert [one.start for one in found] == sorted(one.start for one in found)


def test_a_repeated_identifier_is_found_once_at_its_first_place() -> None:
    found = identifiers("#7 and again #7")
    assert [(one.text, one.start) for one in found] == [("#7", 0)]


def test_plain_prose_has_no_identifiers() -> None:
    assert identifiers("The quick brown fox and/or the lazy dog jump over I/O and talk about it all day.") == []
    assert identifiers("") == []


def test_sentence_marks_do_not_belong_to_urls_and_paths() -> None:
    assert [one.text for one in identifiers("See https://ex.com/docs. Then src/app.py, please.")] == [
        "https://ex.com/docs",
        "src/app.py",
    ]
