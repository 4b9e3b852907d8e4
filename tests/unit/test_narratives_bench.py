"""The judge of `bench.narratives`: identifiers, statements, planted facts, spans. No data, no model with weights."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from bench.narratives import Heard, liar, line, measured
from bench.narratives_check import identifiers, invented, items_of, source_text, tells
from bench.narratives_spans import LEAST_TOKENS, MOST_TOKENS, Span, cut
from bench.planting import Planted, plant
from bench.sizes import size

from foldmark.asking import Ask
from foldmark.summarizer import Limits

LIMITS = Limits()


def call(number: int, command: str) -> dict[str, Any]:
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    return {"id": f"call_{number}", "type": "function", "function": function}


def history(rounds: int = 30) -> list[dict[str, Any]]:
    """An agent's run with many different words, so that sentences can be planted in its own."""
    rng = Random(3)
    words = ["".join(rng.choice("abcdefghijklmnop") for _ in range(6)) for _ in range(260)]
    out: list[dict[str, Any]] = [{"role": "user", "content": "Please look at " + " ".join(words[:60])}]
    for number in range(rounds):
        said = " ".join(rng.sample(words, 12))
        result = "\n".join(" ".join(rng.sample(words, 8)) for _ in range(5))
        out.append(
            {"role": "assistant", "content": f"Now {said}.", "tool_calls": [call(number, f"cat src/f{number}.py")]}
        )
        out.append({"role": "tool", "tool_call_id": f"call_{number}", "content": result})
    return out


def span() -> Span:
    messages, planted = plant(cut(history(), Random(1)), 5, 8, 4)
    return Span("made up", "coding", messages, planted, size(messages))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ran src/app.py with exit code 127", ["src/app.py", "127"]),
        ("Commit 9f2c41a broke parse_header and `loadFile`", ["9f2c41a", "parse_header", "loadFile"]),
        ("See https://a.example/v2 and foo.bar.baz", ["https://a.example/v2", "foo.bar.baz"]),
        ("Plain words with a comma, and nothing else.", []),
        ("It is said in (event:12) and event:14.", []),
        ("Two or 3 of them, e.g. the first and/or the last", []),
    ],
)
def test_identifiers_are_what_a_reader_would_look_up(text: str, found: list[str]) -> None:
    assert identifiers(text) == found


def test_an_identifier_is_invented_when_the_span_does_not_hold_it() -> None:
    source = source_text([{"role": "user", "content": "Port 54321 at src/app.py"}, {"role": "assistant", "tool_calls":
        [call(1, "curl http://x.example/a\n--retry 77")]}])  # fmt: skip
    assert invented("Port 54321 of app.py, SRC/APP.py, http://x.example/a with 77", source) == []
    assert invented("Port 5432 of src/other.py", source) == ["5432", "src/other.py"]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (
            '{"decisions": [{"text": "use x", "why": "faster", "refs": [1]}], "current_work": ["a"]}',
            ["a", "use x faster"],
        ),
        ('```json\n{"next_steps": "one thing"}\n```', ["one thing"]),
        ('{"current_work": [{"text": "whole"}, {"text": "cut in the mid', ["whole"]),
        ("## decisions\n- first (event:1)\n* second", ["first (event:1)", "second"]),
        ("No notes at all", []),
    ],
)
def test_statements_are_counted_as_they_were_said(answer: str, found: list[str]) -> None:
    assert items_of(answer) == found


def test_a_fact_is_told_when_every_word_and_number_of_it_is() -> None:
    fact = Planted("port", "prose", 1, "order server listens on port 4567")
    assert tells([fact], "The order server now listens at port 4567.") == [True]
    assert tells([fact], "The order server listens at port 4568.") == [False]


def test_a_span_is_whole_rounds_of_the_right_size() -> None:
    part = cut(history(), Random(2))
    assert LEAST_TOKENS <= size(part) <= MOST_TOKENS
    assert part[0]["role"] in ("user", "assistant")
    asked = {one["id"] for message in part for one in message.get("tool_calls") or []}
    assert asked == {message["tool_call_id"] for message in part if message["role"] == "tool"}


def test_a_history_without_results_gives_no_span() -> None:
    assert cut([message for message in history() if message["role"] == "user"] * 90, Random(2)) == []


def test_a_liar_is_heard_and_nothing_it_invented_stays() -> None:
    row = measured(span(), liar, LIMITS)
    assert row.planted == 12
    assert row.by_code > 0
    assert row.with_model >= row.by_code
    assert row.items_said == row.items_said_invented == 2
    assert row.items_kept == 0
    assert row.invented == ()
    assert "liar" in line(row.model, [row])


def test_a_true_word_of_a_model_is_kept_and_counted() -> None:
    made = span()
    at = next(number for number, message in enumerate(made.messages, 1) if message["role"] == "assistant")
    words = str(made.messages[at - 1]["content"]).split(".")[0]

    def honest(ask: Ask) -> str:
        return json.dumps({"decisions": [{"text": words, "why": "", "refs": [at]}]})

    row = measured(made, honest, LIMITS)
    assert (row.items_said, row.items_kept, row.items_kept_invented) == (1, 1, 0)
    assert row.outcome == "applied"


def test_a_model_keeps_its_name_when_its_answers_are_kept() -> None:
    heard = Heard(liar)
    assert heard.info.name == "liar"
    assert heard(Ask(model=heard)).text == heard.answers[0]
