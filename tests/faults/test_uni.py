"""UNI: cuts between characters, and bytes that are no text."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import RAW, checked_on_both, fresh, pairs_of, text_of

from foldmark import Policy
from foldmark.events import ToolCall, assistant, from_json, result, to_json, user
from foldmark.kinds import recognise
from foldmark.tokens import count

FAMILY, FLAG, ACCENT = "👨‍👩‍👧‍👦", "🇩🇪", "é"
DIRTY = "a\ud800b\udfff\x00c\ufffe\u202e\x1b[31m\ufeffd"


@pytest.mark.parametrize("at", range(1_960, 2_040, 7))
def test_a_cut_through_an_emoji_leaves_text_that_can_be_sent(at: int) -> None:
    """S-UNI-01: a family, a flag and a combining accent at every cut position of previews, titles and records."""
    session = fresh(
        Policy.coding(budget={"target_tokens": 3_000}, admission={"limit_tokens": 200, "inline_bytes": 300})
    )
    body = "x" * at + FAMILY + FLAG + ACCENT + " and text " * 40
    session.record(
        user(body[at - 75 :]),
        assistant("", ToolCall("c", "bash", "{}")),
        result("c", body),
        *pairs_of(14, 190),
        user("On."),
    )
    session.compact(force=True, window=128_000)
    for request in checked_on_both(session, window=64_000):
        text_of(request.payload()).encode("utf-8")
    repr(session.search("text")).encode("utf-8")


def whole_clusters(text: str, source: str) -> bool:
    """Whether no joiner, mark or half flag was cut off: each run of emoji in `text` stands so in `source`."""
    for match in re.finditer("[\U0001f1e6-\U0001f1ff\U0001f468-\U0001f469\u200d\U0001f466-\U0001f467\u0301]+", text):
        run = match.group()
        if run not in (FAMILY, FLAG, FAMILY + FLAG, "\u0301") or run not in source:
            return False
    return True


@settings(max_examples=60)
@given(st.integers(0, 400), st.integers(20, 120))
def test_joined_emoji_and_flags_are_not_split_by_a_preview(before: int, limit: int) -> None:
    """S-UNI-01: a preview holds a family, a flag or an accented letter whole, or not at all."""
    body = "x" * before + " " + (FAMILY + " " + FLAG + " " + "e\u0301 ") * 200
    for text in (body, body.replace(" ", "")):
        preview = recognise(text, None).preview(text, limit, count)
        assert whole_clusters(preview, text), preview


@pytest.mark.parametrize("admission", [RAW, {"limit_tokens": 100, "inline_bytes": 100}])
def test_broken_characters_are_kept_in_the_log_and_never_sent(store: Any, admission: dict[str, int]) -> None:
    """S-UNI-02: lone surrogates, NUL and escapes in every place: payloads are UTF-8, the log is as it came."""
    session = fresh(Policy.coding(budget={"target_tokens": 3_000}, admission=admission), store)
    body = (DIRTY + " some words\n") * 60
    session.record(
        user(DIRTY),
        assistant(DIRTY, ToolCall("c", "bash", json.dumps({"command": DIRTY}))),
        result("c", body),
        *pairs_of(14, 190),
        user("On. " + DIRTY),
    )
    session.compact(force=True, window=128_000)
    for request in checked_on_both(session, window=64_000):
        sent = text_of(request.payload())
        assert "\ud800" not in sent
        assert "\x00" not in sent
    log = session.store.log(session.key)
    assert log[0].text == DIRTY
    [*artifacts] = log[2].artifacts
    kept = (
        session.artifacts.read("local", artifacts[0].sha256).decode("utf-8", "surrogatepass")
        if artifacts
        else log[2].text
    )
    assert kept == body
    session.explain()
    assert session.load("event:1").events[0].text == DIRTY


@given(st.text(alphabet=st.characters(), max_size=60))
def test_any_string_survives_the_json_form(text: str) -> None:
    """S-UNI-02: event to JSON and back is the identity, surrogates included."""
    event = assistant(text, ToolCall("c", "bash", json.dumps(text)), meta={"note": text})
    assert from_json(to_json(event)) == event
    to_json(event).decode("utf-8")


dirty = st.text(
    alphabet=st.one_of(
        st.characters(), st.sampled_from("\ud800\udfff\x00\u202e\u0301\ufeff\n\r\x1b\uffff中é\t \u2028")
    ),
    max_size=120,
)


def test_arguments_that_hold_half_a_character_are_recorded() -> None:
    """S-UNI-02: a model wrote something that is neither JSON nor UTF-8."""
    session = fresh(Policy.coding())
    session.record(user("Begin."), assistant("", ToolCall("c", "bash", DIRTY)), result("c", "ok"), user("And now?"))
    for request in checked_on_both(session, window=64_000):
        assert "And now?" in text_of(request.payload())


@settings(max_examples=25)
@given(st.lists(st.tuples(dirty, dirty, dirty, dirty), min_size=1, max_size=6))
def test_random_dirt_everywhere_is_recorded_found_and_sent(steps: list[tuple[str, str, str, str]]) -> None:
    """S-UNI-02: dirt as words, tool names, arguments and results; record, compact, explain, search and both wires."""
    session = fresh(Policy.coding(budget={"target_tokens": 2_000}))
    session.record(user("Begin."))
    for number, (words, name, arguments, body) in enumerate(steps):
        session.record(
            user(words),
            assistant(words, ToolCall(f"c{number}", name, json.dumps(arguments))),
            result(f"c{number}", body * 20),
        )
    session.record(user("And now?"))
    session.compact(force=True, window=64_000)
    for request in checked_on_both(session):
        assert "And now?" in text_of(request.payload())
    session.explain()
    session.search(steps[0][0])
    assert len(session.store.log(session.key)) == 3 * len(steps) + 2


FRAMES = {
    "table": ("one,two,three\n", "{0},{0},{0}\n"),
    "html": ("<!DOCTYPE html>\n<html><body>\n", "<p>{0}</p>\n"),
    "xml": ('<?xml version="1.0"?>\n', "<a b='{0}'>{0}</a>\n"),
    "listing": ("", "-rw-r--r-- 1 a b 3 2026-05-01 10:00 {0}.py\n"),
    "log": ("", "2026-05-01 10:00:00 ERROR {0}\n"),
    "text": ("", "{0} "),
}


@settings(max_examples=60)
@given(st.sampled_from(sorted(FRAMES)), st.lists(dirty, min_size=40, max_size=80), st.sampled_from([60, 150, 400]))
def test_dirt_inside_any_kind_of_body_never_reaches_a_preview(name: str, cells: list[str], limit: int) -> None:
    """S-UNI-01, S-UNI-02: surrogates, NULs, escapes and bidi overrides in tables, pages, listings and logs."""
    head, row = FRAMES[name]
    body = head + "".join(row.format(cell) for cell in cells)
    kind = recognise(body, None)
    for shown in (kind.preview(body, limit, count), kind.outcome(body, None)):
        shown.encode("utf-8")
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]", shown), shown
    assert len(kind.preview(body, limit, count)) <= len(body)


@settings(max_examples=60)
@given(st.sampled_from(sorted(FRAMES)), st.integers(1, 30), st.integers(40, 300))
def test_joined_characters_stay_whole_in_every_kind_of_body(name: str, repeats: int, limit: int) -> None:
    """S-UNI-01: families, flags and accents in cells, paragraphs, names and log lines."""
    head, row = FRAMES[name]
    body = head + row.format((FAMILY + " " + FLAG + " e\u0301 ") * repeats) * 60
    shown = recognise(body, None).preview(body, limit, count)
    assert whole_clusters(shown, body), shown
