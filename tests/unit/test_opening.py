"""Looks into a body: what it is, its lines, a search in it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bodies import again, body_of, span_of
from foldmark import Session
from foldmark.artifacts import FileArtifacts, MemoryArtifacts
from foldmark.errors import NotFound, PolicyError
from foldmark.events import Image, ToolCall, assistant, result, user
from foldmark.opening import Opened, grep, head, read_lines, stat, tail, told
from foldmark.redact import redactor

LINES = st.lists(st.text(alphabet="ab \r\téß漢😀", max_size=30), max_size=40)
NUMBERED = "".join(f"line {number}\n" for number in range(1, 1_001))


@pytest.fixture(params=["memory", "files"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return MemoryArtifacts() if request.param == "memory" else FileArtifacts(tmp_path)


# -- lines


def test_the_head_is_the_first_lines_and_names_what_follows(shelf: Any) -> None:
    page = head(body_of(NUMBERED, shelf=shelf), 3)
    assert page.text == "line 1\nline 2\nline 3\n"
    assert (page.first, page.last, page.lines, page.size) == (1, 3, 1_000, len(NUMBERED))
    assert span_of(page.ref) == "#L1-3"
    assert span_of(page.next) == "#L4-1000"


def test_the_tail_is_the_last_lines_and_names_what_stands_before(shelf: Any) -> None:
    page = tail(body_of(NUMBERED, shelf=shelf), 2)
    assert page.text == "line 999\nline 1000\n"
    assert (span_of(page.ref), span_of(page.next)) == ("#L999-1000", "#L1-998")
    assert tail(body_of("one\ntwo", shelf=shelf), 9).next == ""


def test_a_tail_that_is_too_long_keeps_its_end_and_begins_at_a_line(shelf: Any) -> None:
    page = tail(body_of(NUMBERED, shelf=shelf), 500, limit=100)
    assert len(page.text) <= 100
    assert page.text.endswith("line 999\nline 1000\n")
    assert page.text.startswith(f"line {page.first}\n")
    assert span_of(page.next) == f"#L1-{page.first - 1}"


def test_a_tail_of_one_endless_line_begins_at_a_whole_character(shelf: Any) -> None:
    page = tail(body_of("é" * 5_000, shelf=shelf), 1, limit=101)
    assert set(page.text) == {"é"}
    assert len(page.text) == 50
    assert span_of(page.next) == "#B0-9900"


@pytest.mark.parametrize("data", [b"\x80" * 5_000, b"\xff\xfe" * 2_500, bytes(range(256)).replace(b"\n", b"") * 20])
def test_the_tail_of_what_is_no_text_is_its_last_bytes(data: bytes) -> None:
    page = tail(body_of(data), 1, limit=100)
    assert page.text.encode("latin-1") == data[-len(page.text) :]
    assert 97 <= len(page.text) <= 100


def test_a_range_is_read_as_asked_and_names_what_follows_to_the_end_of_what_was_opened(shelf: Any) -> None:
    body = body_of(NUMBERED, shelf=shelf)
    assert read_lines(body, 500, 501).text == "line 500\nline 501\n"
    assert span_of(read_lines(body, 500, 501).next) == "#L502-1000"
    inside = body_of(NUMBERED, shelf=shelf, span="#L10-20")
    assert head(inside, 2).text == "line 10\nline 11\n"
    assert span_of(head(inside, 2).next) == "#L12-20"
    assert tail(inside, 1).text == "line 20\n"
    assert read_lines(inside, 1, 99).text == read_lines(body, 10, 20).text


def test_what_is_behind_the_end_is_not_found_with_where_the_end_is() -> None:
    with pytest.raises(NotFound, match="ends at line 1,000"):
        read_lines(body_of(NUMBERED), 1_001, 1_002)
    with pytest.raises(NotFound, match="begins at line 10"):
        read_lines(body_of(NUMBERED, span="#L10-20"), 2, 9)
    with pytest.raises(PolicyError, match="goes up"):
        read_lines(body_of(NUMBERED), 9, 3)
    with pytest.raises(NotFound, match=r"behind the end.*1,000 lines"):
        body_of(NUMBERED, span="#L1001-1002")
    with pytest.raises(NotFound, match="behind the end"):
        body_of("abc", span="#B9-12")


def test_an_empty_body_has_an_empty_page_and_nothing_to_find() -> None:
    body = body_of("")
    assert (head(body).text, head(body).next, tail(body).text) == ("", "", "")
    assert grep(body, "x").count == 0
    assert (stat(body).size, stat(body).lines, stat(body).tokens, stat(body).next) == (0, 0, 0, "")


@settings(max_examples=60, deadline=None)
@given(LINES, st.integers(4, 60), st.integers(1, 9))
def test_heads_joined_by_their_next_give_the_body_again(lines: list[str], limit: int, count: int) -> None:
    body = body_of("\n".join(lines))
    text, ref = "", body.name
    for _ in range(2_000):
        page = head(again(body, ref), count, limit=limit)
        assert len(page.text) <= limit
        text, ref = text + page.text, page.next
        if not ref:
            break
    assert not ref
    assert text == "\n".join(lines)


@settings(max_examples=60, deadline=None)
@given(LINES, st.integers(4, 60), st.integers(1, 9))
def test_tails_joined_by_what_stands_before_give_the_body_again(lines: list[str], limit: int, count: int) -> None:
    body = body_of("\n".join(lines))
    text, ref = "", body.name
    for _ in range(2_000):
        page = tail(again(body, ref), count, limit=limit)
        assert len(page.text) <= limit
        text, ref = page.text + text, page.next
        if not ref:
            break
    assert not ref
    assert text == "\n".join(lines)


def test_bytes_may_be_opened_and_are_read_on_by_bytes() -> None:
    page = head(body_of("abcdefghij", span="#B2-8"), limit=4)
    assert (page.text, span_of(page.ref), span_of(page.next)) == ("cdef", "#B2-6", "#B6-8")
    with pytest.raises(PolicyError, match="counts lines"):
        grep(body_of("abc", span="#B0-2"), "a")


# -- a search


def test_a_search_gives_numbers_and_lines_with_their_neighbours(shelf: Any) -> None:
    found = grep(body_of(NUMBERED, shelf=shelf), r"line (50|52|900)$", context=1)
    assert [(line.number, line.text, line.matched) for line in found.lines] == [
        (49, "line 49", False), (50, "line 50", True), (51, "line 51", False), (52, "line 52", True),
        (53, "line 53", False), (899, "line 899", False), (900, "line 900", True), (901, "line 901", False),
    ]  # fmt: skip
    assert (found.count, found.next, found.note) == (3, "", "")
    assert told(found).text.splitlines()[4:6] == ["53- line 53", "--"]


def test_neighbours_stay_inside_what_was_opened() -> None:
    found = grep(body_of(NUMBERED, span="#L50-52"), "line 5[0-9]$", context=9)
    assert [line.number for line in found.lines] == [50, 51, 52]


def test_capitals_count_unless_they_are_to_be_ignored(shelf: Any) -> None:
    body = body_of("Error one\nERROR two\nStraße\n", shelf=shelf)
    assert grep(body, "error").count == 0
    assert [line.number for line in grep(body, "error", ignore_case=True).lines] == [1, 2]
    assert grep(body, "STRASSE|STRAßE", ignore_case=True).count == 1


@settings(max_examples=60, deadline=None)
@given(LINES, st.sampled_from(["a", "b+a", "^a", "a$", "é|漢", r"\s", "[^a]b", "nothing"]), st.integers(1, 5))
def test_searching_on_in_what_is_named_next_finds_every_matching_line_once(
    lines: list[str], pattern: str, limit: int
) -> None:
    text = "\n".join(lines)
    body = body_of(text)
    given_lines = text.split("\n")[: body.lines]
    expected = [number for number, line in enumerate(given_lines, 1) if re.search(pattern, line)]
    numbers: list[int] = []
    ref = body.name
    while ref and len(numbers) <= len(expected):
        found = grep(again(body, ref), pattern, limit=limit, characters=200)
        numbers += [line.number for line in found.lines if line.matched]
        ref = found.next
    assert numbers == expected


def test_a_search_is_bounded_in_characters_and_shows_one_match_at_least() -> None:
    body = body_of("".join(f"{'x' * 300} {number}\n" for number in range(100)))
    found = grep(body, "x", characters=2_000, context=3)
    assert found.count >= 1
    assert sum(len(line.text) for line in found.lines) <= 2_000 + 400
    assert "search on" in found.note
    assert found.next
    assert grep(body, "x", characters=1).count == 1


def test_of_a_long_line_the_part_around_the_match_is_shown() -> None:
    line = "a" * 90_000 + "needle" + "b" * 90_000
    (shown,) = grep(body_of(f"first\n{line}\nlast\n"), "needle").lines
    assert shown.number == 2
    assert "needle" in shown.text
    assert shown.text.startswith("…a")
    assert shown.text.endswith("b…")
    assert len(shown.text) < 500


@pytest.mark.parametrize("before", [0, 500, 70_000, 3_000_000, 9_000_000])
@pytest.mark.parametrize("pattern", ["needle", "n[e]{2}dle"])
def test_what_stands_round_a_match_in_a_long_line_has_a_ref(before: int, pattern: str, shelf: Any) -> None:
    body = body_of("é first\n" * 3_000 + "a" * before + "needle" + "b" * 90_000 + "\nlast\n", shelf=shelf)
    found = grep(again(body, f"{body.ref}#L2-3002"), pattern)
    (line,) = found.lines
    assert line.number == 3_001
    assert "needle" in line.text
    assert line.ref in found.note
    assert "needle" in head(again(body, line.ref)).text[:1_010]


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|aa)+$", r"(.*a){20}b", r"^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_a_hostile_pattern_is_stopped_and_said_to_be(pattern: str) -> None:
    body = body_of("first\n" + "a" * 50_000 + "!\n" + "last\n")
    found = grep(body, pattern, seconds=0.2)  # comes back
    assert found.count == 0
    assert bool(found.next) == ("Time ran out" in found.note)


def test_time_that_runs_out_at_a_line_goes_on_behind_it_and_not_for_ever() -> None:
    body = body_of("a" * 50_000 + "!\nsecond\n")
    found = grep(body, r"(a|aa)+$", seconds=0.05)
    assert "Time ran out at line 1" in found.note
    assert span_of(found.next) == "#L2-2"


@pytest.mark.parametrize("pattern", ["(", "[", "a{99999}", "", "x" * 1_001, "(?P<n>a)(?P=m)"])
def test_a_pattern_that_cannot_be_used_is_a_sentence(pattern: str) -> None:
    with pytest.raises(PolicyError, match="grep:"):
        grep(body_of("abc\n"), pattern)


# -- what it is


def test_stat_says_size_form_encoding_and_where_to_begin(shelf: Any) -> None:
    found = stat(body_of("name,age\r\nann,3\r\nbob,41\r\nzoe,7\r\n", shelf=shelf))
    assert (found.form, found.lines, found.encoding, found.line_ends, found.kind) == (
        "table", 4, "utf-8", "CRLF", "body",
    )  # fmt: skip
    assert found.counted
    assert found.columns == ("name text: ann ×1, bob ×1, zoe ×1", "age integer 3…41")
    assert span_of(found.next) == "#L1-4"


@pytest.mark.parametrize(
    ("text", "form", "what"),
    [
        ('{"users": [{"id": 1, "name": "a"}], "total": 1, "more": null}', "json", "users (array of 1 object with id"),
        ('{"a": 1}\n{"a": 2}\n{"a": 3}\n', "json", "array of 3 objects with a, JSON lines"),
        ("just some words\nand more of them\n", "text", "just some words"),
    ],
)
def test_stat_says_what_a_body_holds(text: str, form: str, what: str) -> None:
    found = stat(body_of(text))
    assert found.form == form
    assert what in found.what


def test_what_is_no_utf_8_is_said_to_be_unknown_and_is_read_all_the_same() -> None:
    body = body_of(b"caf\xe9 one\ntwo\n")
    assert stat(body).encoding == "unknown"
    assert head(body, 1).text == "caf\xe9 one\n"
    assert grep(body, "one").lines[0].number == 1
    assert stat(body_of("漢" * 400_000)).encoding == "utf-8"  # a character that the look cuts in two is none


def test_tokens_of_a_large_body_are_an_estimate_near_the_count(shelf: Any) -> None:
    text = "".join(f"{number} the quick brown fox\n" for number in range(60_000))
    large, small = stat(body_of(text, shelf=shelf)), stat(body_of(text[:100_000], shelf=shelf))
    assert small.counted
    assert not large.counted
    per_byte = small.tokens / small.size
    assert abs(large.tokens / large.size - per_byte) < per_byte / 5


def test_a_large_document_is_known_as_json_and_its_keys_are_told() -> None:
    text = json.dumps({"items": [{"id": number, "name": "x" * 40} for number in range(30_000)]})
    found = stat(body_of(text))
    assert found.form == "json"
    assert "items (array of 30,000 objects with id, name)" in found.what
    cut = stat(body_of(text[:-9] + " and so on"))
    assert cut.form == "text"


class _Counting(MemoryArtifacts):
    """Counts the bytes that are read of bodies."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def read(self, tenant: str, sha256: str, start: int = 0, end: int | None = None) -> bytes:
        found = super().read(tenant, sha256, start, end)
        self.bytes += len(found)
        return found


@pytest.mark.parametrize(
    "look", [stat, head, tail, lambda body: read_lines(body, 200_000, 200_040), lambda body: grep(body, "1", limit=3)]
)
def test_a_look_reads_little_of_a_large_body(look: Any) -> None:
    shelf = _Counting()
    body = body_of("".join(f"{number} some words of a line\n" for number in range(400_000)), shelf=shelf)
    shelf.bytes = 0
    look(body)
    assert 0 < shelf.bytes <= 3_000_000 < body.size / 3


# -- by ref, from a session


def session_with(*texts: str) -> Session:
    session = Session("s")
    session.record(user("Look at these."))
    for number, text in enumerate(texts):
        session.record(assistant("", ToolCall(f"call_{number}", "run", "{}")))
        session.record(result(f"call_{number}", text, name="run"))
    return session


def test_a_body_is_opened_by_its_artifact_its_event_its_call_and_its_hash() -> None:
    session = session_with(NUMBERED * 20)
    bodies = [session.open(ref) for ref in ("artifact:3", "event:3", "call:call_0")]
    assert [head(body, 1).text for body in bodies] == ["line 1\n"] * 3
    assert [body.kind for body in bodies] == ["result"] * 3
    assert head(session.open(f"artifact:sha256:{bodies[0].sha256}"), 1).text == "line 1\n"
    assert session.open("artifact:3#L5-9").name == "artifact:3#L5-9"


def test_text_that_never_left_its_event_is_opened_alike() -> None:
    session = session_with("short\nresult\n")
    for ref in ("event:3", "artifact:3", "call:call_0"):
        assert head(session.open(ref)).text.rstrip("\n") == "short\nresult"
    assert stat(session.open("event:1")).kind == "event"
    assert grep(session.open("event:2"), "run").count == 1  # a call is text too


def test_what_is_no_body_is_refused_with_what_to_do() -> None:
    session = session_with("one", "two")
    with pytest.raises(PolicyError, match="stretch of the log"):
        session.open("event:1-3")
    with pytest.raises(NotFound):
        session.open("event:99")
    with pytest.raises(NotFound):
        session.open("artifact:3.7")
    session.record(assistant("", ToolCall("late", "run", "{}")))
    with pytest.raises(NotFound, match="no result yet"):
        session.open("call:late")


def test_an_image_is_said_to_be_one() -> None:
    session = Session("s")
    session.record(user("see"), assistant("", ToolCall("c", "shot", "{}")))
    picture = Image(media_type="image/png", data="iVBORw0KGgo" + "A" * 40_000)
    session.record(result("c", "", name="shot", images=[picture]))
    found = stat(session.open("artifact:3"))
    assert (found.kind, found.form, found.media_type) == ("image", "image", "image/png")


def test_a_reach_holds_for_what_is_opened_to_look_into() -> None:
    session = session_with("mine")
    other = Session("other", store=session.store, artifacts=session.artifacts)
    other.record(user("go"), assistant("", ToolCall("c", "run", "{}")), result("c", NUMBERED * 20, name="run"))
    refs = ("event:3@other", "artifact:3@other", f"artifact:sha256:{other.open('event:3').sha256}")
    for ref in refs:
        assert head(session.open(ref), 1).text == "line 1\n"
        with pytest.raises(NotFound) as caught:
            session.open(ref, reach="children")
        assert str(caught.value) == f"Nothing is stored under {ref}. `foldmark search` finds refs that exist."
    assert head(session.open(refs[0], reach="user"), 1).text == "line 1\n"


# -- secrets


KEY = b"k" * 32
SECRET = "sk-proj-Zx81Qm2Lk7Vb93TtYw04RsPq65Hn"


def hiding(text: str) -> Opened:
    return body_of(text, redact=redactor(KEY))


def test_secrets_are_labels_in_every_look_that_hides_them() -> None:
    text = f"first\napi_key = {SECRET}\nlast\n"
    for look in (head, tail, stat, lambda body: grep(body, "api_key", context=1), lambda body: grep(body, "first")):
        shown = told(look(hiding(text))).text
        assert SECRET not in shown
    assert "[secret:" in head(hiding(text)).text
    assert SECRET in head(body_of(text)).text


def test_a_secret_that_the_border_of_a_shown_part_cuts_is_hidden_too() -> None:
    line = "x" * 350 + f" api_key={SECRET} " + "y" * 800
    for pattern in ("x{340}", SECRET[8:20], "y{700}", "api_key"):
        for shown in grep(hiding(f"a\n{line}\nb\n"), pattern).lines:
            assert not any(SECRET[at : at + 8] in shown.text for at in range(len(SECRET) - 8)), pattern


def test_a_line_of_a_key_block_is_hidden_by_what_stands_round_it() -> None:
    block = "\n".join(
        ["-----BEGIN RSA PRIVATE KEY-----", *["Q2hhbmdlIG1lIG5vdyBwbGVhc2U" * 2] * 5, "-----END RSA PRIVATE KEY-----"]
    )
    found = grep(hiding(f"before\n{block}\nafter\n"), "Q2hhbmdl")
    assert "Q2hhbmdl" not in told(found).text


@pytest.mark.parametrize("pattern", ["class (", "items[0", "a{2,1}", "*", "f(x"])
def test_a_pattern_that_is_no_regular_expression_is_refused_with_the_one_that_takes_it_literally(pattern: str) -> None:
    text = f"first\nhere is {pattern} as it stands\n"
    with pytest.raises(PolicyError) as refused:
        grep(body_of(text), pattern)
    write = str(refused.value).rpartition(" write ")[2]
    assert [line.number for line in grep(body_of(text), write).lines] == [2]
