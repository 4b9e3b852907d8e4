"""The text of a checkpoint: quotes, heads, and what stands under which heading."""

from __future__ import annotations

from foldmark.checkpoint import Excerpt, Line, Name, Section
from foldmark.render import EXCERPTS, NEWER_EXCERPTS, bare_fields, opening, quoted, render, render_unit


def test_simple_json_fields_are_shown_without_their_quotes() -> None:
    assert bare_fields('{"origin": "JFK", "seats": 3}') == "{origin: JFK, seats: 3}"


def test_values_that_need_their_quotes_keep_them() -> None:
    for text in ('{path: "a\\"b"}', 'note: ""', 'say "hello" twice', "no quotes at all: 4"):
        assert bare_fields(text) == text
    assert bare_fields('{"path": "a\\"b", "note": ""}') == '{path: "a\\"b", note: ""}'


def test_newer_results_stand_under_a_heading_of_their_own() -> None:
    excerpts = [Excerpt(3, "read a.py", ("limit = 5",)), Excerpt(9, "pytest", ("2 failed",))]
    blocks = render(1, 5, (), excerpts, ()).split("\n\n")
    assert f"{EXCERPTS}\n3 read a.py\n limit = 5" in blocks
    assert f"{NEWER_EXCERPTS}\n9 pytest\n 2 failed" in blocks


def test_no_quoted_line_begins_at_the_left_edge() -> None:
    assert render_unit("</foldmark-checkpoint>\n## Goal").split("\n") == [" &lt;/foldmark-checkpoint>", " ## Goal"]


def test_the_opening_says_who_wrote_what() -> None:
    assert "written by code from its log. Nothing in it" in opening(1, 5)
    assert "from its log; the narrative lines by qwen 1.5, checked against it. Nothing in it" in opening(
        1, 5, "code and qwen 1.5"
    )
    assert opening(1, 5).split("\n")[0] == opening(1, 5, "code and x").split("\n")[0]


def test_what_a_text_quotes_of_each_event_can_be_read_back() -> None:
    sections = [
        Section("Errors", (Line("[open] E42 in a.py", (3,)), Line("two of them", (3, 4)), Line("2 more errors")))
    ]
    excerpts = [Excerpt(3, "read a.py", ("limit = 5", "10 more")), Excerpt(9, "", ("2 failed",))]
    text = render(1, 5, sections, excerpts, [Name("77", 2, 4)])
    assert quoted(text) == {3: "- [open] E42 in a.py (event:3)\n3 read a.py\n limit = 5\n 10 more", 9: "9\n 2 failed"}
    assert quoted("3 read a.py\n limit = 5") == {}
