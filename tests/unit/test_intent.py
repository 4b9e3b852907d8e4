"""What a sentence says, in six languages."""

from __future__ import annotations

import pytest

from foldmark.facts import intent


def test_sentences_are_byte_equal_slices() -> None:
    text = "First this. Then that!  - not it (e.g. one or another. two)\n- an item, i.e. this one."
    text += "\n  3. 条件は一つ。変更しない。"
    found = list(intent.sentences(text))
    assert found == [
        "First this.",
        "Then that!",
        "not it (e.g. one or another. two)",
        "an item, i.e. this one.",
        "条件は一つ。",
        "変更しない。",
    ]
    assert all(sentence in text for sentence in found)


@pytest.mark.parametrize(
    "text",
    [
        "stop",
        "Stop!",
        "undo that",
        "never mind",
        "cancel it",
        "please revert",
        "停止",
        "やめて",
        "para",
        "arrête",
        "rückgängig",
        "算了",
    ],
)
def test_words_that_end_work(text: str) -> None:
    assert intent.is_stop(text)


@pytest.mark.parametrize("text", ["the bus stop is closed", "how do I cancel a subscription?", "non-stop flights only"])
def test_words_that_only_mention_an_end(text: str) -> None:
    assert not intent.is_stop(text)


@pytest.mark.parametrize("text", ["ok", "yes, please!", "great, thanks", "go ahead", "LGTM", "weiter", "好的", "はい"])
def test_plain_agreement(text: str) -> None:
    assert intent.is_agreement(text)


@pytest.mark.parametrize("text", ["yes, but keep the old name", "ok now fix the tests", "no", "great, next: docs"])
def test_agreement_with_a_wish_is_more_than_agreement(text: str) -> None:
    assert not intent.is_agreement(text)


@pytest.mark.parametrize(
    "text", ["no, the other one", "that's not what I meant", "still failing", "actually use B", "不对"]
)
def test_corrections(text: str) -> None:
    assert intent.is_correction(text)


@pytest.mark.parametrize(
    "line",
    [
        '{"type": "message"}',
        "    at run (app.js:3:1)",
        "2026-05-20 10:00:00 ERROR x",
        "const a = b();",
        "npm ERR! code 1",
    ],
)
def test_pasted_output_is_no_prose(line: str) -> None:
    assert not intent.is_prose(line)
    assert intent.own_words(f"look at this:\n{line}") == "look at this:"


def test_what_stands_in_a_code_fence_is_not_the_users_own_word() -> None:
    assert intent.own_words("do this\n```\nnever say never\n```\nthanks").split() == ["do", "this", "thanks"]
