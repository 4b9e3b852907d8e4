"""What a hit shows: of a long line the stretch that answers, in every script; under a range the lines of that range."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foldmark.events import Event, ToolCall, assistant, result, user
from foldmark.evidence import unquoted
from foldmark.refs import parse
from foldmark.retrieval import Hit
from foldmark.retrieval.showing import SNIPPET_CHARACTERS
from foldmark.session import Session
from foldmark.tools import recall_tools

FAR = {
    "latin": ("The harbour was quiet that day and nobody came. ", "The walrus sleeps in tub 8080 now.", "walrus sleep"),
    "path": ("The harbour was quiet that day and nobody came. ", "see src/billing/charge.py:41 for it", "charge.py"),
    "cyrillic": ("В гавани было тихо, и никто не пришёл. ", "Морж спит в ванне 8080.", "где спит морж"),
    "arabic": ("كان الميناء هادئا ولم يأت أحد. ", "ينام الفظ في الحوض 8080.", "أين ينام الفظ"),
    "chinese": ("那天港口很安静，没有人来过，大家都在家里休息。", "海象睡在浴缸8080里。", "海象睡在哪里"),
    "japanese": ("その日の港はとても静かでした。", "セイウチは浴槽8080で眠る。", "セイウチはどこで眠る"),
    "korean": ("그날 항구는 조용했습니다. ", "바다코끼리는 욕조 8080에서 잔다.", "바다코끼리는 어디서 자"),
    "thai": ("วันนั้นท่าเรือเงียบและไม่มีใครมา", "วอลรัสนอนในอ่าง8080", "วอลรัสนอนที่ไหน"),
}  # fmt: skip


def snippet(text: str, query: str) -> str:
    session = Session("s", clock=lambda: 1.0)
    session.record(user(text))
    return session.search(query)[0].snippet


@pytest.mark.parametrize("script", list(FAR))
def test_a_long_line_is_shown_where_it_answers(script: str) -> None:
    filler, answer, query = FAR[script]
    many = 700 // len(filler)
    shown = snippet(filler * many + answer + " " + filler * many, query)
    assert answer in shown
    assert len(shown) <= SNIPPET_CHARACTERS + 2


def test_words_together_are_shown_before_one_word_many_times() -> None:
    text = "walrus walrus walrus walrus. " * 4 + "Nothing of note. " * 40 + "The walrus has port 8080."
    assert "The walrus has port 8080." in snippet(text, "walrus port")


def test_of_two_stretches_with_all_words_the_one_with_them_together_is_shown() -> None:
    text = f"The walrus {'came and went ' * 18} by port. {'Nothing of note. ' * 20} The walrus port is 8080."
    assert "The walrus port is 8080." in snippet(text, "walrus port")


# The range in a hit's head


def is_exact(session: Session, hit: Hit) -> bool:
    """Whether the range of a hit holds as many lines as are quoted, each quoted line being one of them or a part."""
    quoted = hit.snippet.removeprefix("…").removesuffix("…").split("\n")
    first, last = parse(hit.at).lines or (0, -1)
    held = session.load(hit.at, limit=1_000_000).text.removesuffix("\n").split("\n")
    return len(quoted) == len(held) == last - first + 1 and all(map(str.__contains__, held, quoted))


WORDS = ("walrus", "port", "bath", "8080", "src/tub.py", "東京は遠い", "filler", "noon", "x" * 90)
LINES = st.lists(
    st.one_of(
        st.sampled_from(("", " ", "\t", "\r", "walrus port", "  walrus\r", "port\u2028bath", "walrus " * 200)),
        st.builds(lambda words, times: " ".join(words * times), st.lists(st.sampled_from(WORDS)), st.integers(1, 60)),
    ),
    min_size=1, max_size=40,
)  # fmt: skip
SPEAKERS = ("user", "assistant", "call", "result", "words and call")


def said(speaker: str, text: str) -> list[Event]:
    call = ToolCall("c", "write", json.dumps({"path": "notes.md", "content": text}))
    return {
        "user": [user(text)],
        "assistant": [assistant(text)],
        "call": [assistant("I write it.\nNow.", call)],
        "result": [assistant("", ToolCall("c", "read", "{}")), result("c", text, name="read")],
        "words and call": [assistant(text, ToolCall("c", "ls", "{}"))],
    }[speaker]


@given(LINES, st.sampled_from(SPEAKERS), st.integers(0, 2), st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))
@example(["walrus"] + ["filler " * 8] * 3, "user", 0, ["walrus"])
@example(["", "", "walrus", ""], "user", 0, ["walrus"])
@example(["noon " * 100, "walrus"], "user", 0, ["walrus"])
@example(["walrus", "noon " * 100], "user", 0, ["walrus"])
@example(["noon " * 70 + "walrus", "port " + "noon " * 70], "result", 0, ["walrus", "port"])
@example(["filler"] * 700 + ["walrus"] + ["filler"] * 700, "result", 0, ["walrus"])
@example(["noon " * 900 + "walrus" + " noon" * 900, "port"], "assistant", 0, ["walrus", "port"])
@example([" " * 450, "walrus " * 60], "user", 0, ["filler"])
@settings(max_examples=150, deadline=None)
def test_the_range_of_a_hit_is_the_lines_that_are_quoted(
    lines: list[str], speaker: str, beside: int, query: list[str]
) -> None:
    session = Session("s", clock=lambda: 1.0)
    text = "\n".join(lines)
    session.record(*said(speaker, text), *(user(f"The walrus {number}.") for number in range(beside)))
    for words in (" ".join(query), "walrus port", ""):
        for hit in session.search(words, files=() if words else ("tub.py",)):
            assert is_exact(session, hit), (words, hit)


@pytest.mark.parametrize("kind", ["result", "user"])
def test_so_it_is_in_a_body_that_was_admitted(kind: str) -> None:
    session = Session("s", clock=lambda: 1.0)
    rows = [f"row {number}: {'x' * (number % 90)}" for number in range(6_000)]
    rows[3_000] = f"{'a' * 300} the walrus sleeps {'b' * 300}\n\n\nin the bath {'c' * 700}"
    session.record(*said(kind, "\n".join(rows)))
    assert session.store.log(session.key)[-1].artifacts
    for query, number in (("walrus bath", 3_001), ("5998", 6_002)):
        hit = session.search(query)[0]
        first, last = parse(hit.at).lines or (0, -1)
        assert first <= number <= last
        assert is_exact(session, hit)


def test_what_the_tools_show_of_a_hit_can_be_opened_by_its_head() -> None:
    session = Session("s", clock=lambda: 1.0)
    filler = ["filler " * 9] * 40
    session.record(user("\n".join([*filler, "The walrus sleeps.", "In the bath.", *filler])), assistant("Noted."))
    search, load = recall_tools(session)
    head, *lines = search({"query": "walrus bath"}).split("\n")[1:]
    opened = load({"ref": re.findall(r"event:1#L[\d-]+", head)[0]}).split("\n")[1:-1]
    assert [*lines, "| "] == opened, "a page ends with the break of its last line"
    assert "The walrus sleeps." in [unquoted(line) for line in lines]
