"""What a hit shows of a long line: the stretch that answers, in every script."""

from __future__ import annotations

import pytest

from foldmark.events import user
from foldmark.retrieval.showing import SNIPPET_CHARACTERS
from foldmark.session import Session

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
