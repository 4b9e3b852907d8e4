"""UNI as one property: any text, anywhere, cut anywhere, goes out as strict UTF-8 and stays in the log as it came."""

from __future__ import annotations

import json
import re

from hypothesis import example, given, settings
from hypothesis import strategies as st
from scenes import RAW, fresh, pairs_of, text_of
from turns import errors

from foldmark import BudgetExceeded, Policy
from foldmark.events import ToolCall, assistant, injected, result, user
from foldmark.kinds import recognise
from foldmark.tokens import count
from foldmark.wire import WIRES

FAMILY, FLAG, ACCENT = "👨‍👩‍👧‍👦", "🇩🇪", "e\u0301"
DIRTY = "a\ud800b\udfff\x00c\ufffe\u202e\x1b[31m\ufeffd"
pieces = st.sampled_from(
    [FAMILY, FLAG, ACCENT, "\ud83d", "\udc00", "\x00", "\ufeff", "\u2028", "中", "x" * 90, " ", "\n"]
)
texts = st.lists(st.one_of(pieces, st.text(max_size=20)), max_size=12).map("".join)
PLACES = ("user", "note", "say", "arguments", "name", "result")


@settings(max_examples=40)
@given(
    text=texts,
    before=st.integers(0, 90),
    repeats=st.sampled_from([1, 8, 60]),
    places=st.sets(st.sampled_from(PLACES), min_size=1),
    limit=st.sampled_from([60, 200, 1_000_000]),
    force=st.booleans(),
)
@example(FAMILY + FLAG + ACCENT + " and text", 1_999, 40, {"user", "result"}, 200, True).via("S-UNI-01: cut at 2,000")
@example("\ud83d\udc00", 0, 60, set(PLACES), 60, True).via("S-UNI-01: lone surrogates from JSON escapes")
@example(DIRTY + " some words\n", 0, 60, set(PLACES), 200, True).via("S-UNI-02: bytes that are no text")
def test_any_text_anywhere_cut_anywhere_goes_out_as_utf8(
    text: str, before: int, repeats: int, places: set[str], limit: int, force: bool
) -> None:
    body = "x" * before + text * repeats
    session = fresh(Policy.coding(budget={"target_tokens": 3_000}, admission={**RAW, "limit_tokens": limit}))

    def at(place: str, otherwise: str) -> str:
        return body if place in places else otherwise

    call = ToolCall("c", at("name", "bash")[:200], json.dumps({"command": at("arguments", "ls")}))
    recorded = [user(at("user", "Begin.")), injected(at("note", "Note.")), assistant(at("say", ""), call)]
    recorded += [result("c", at("result", "ok")), assistant("Seen."), *pairs_of(8, 190), user("On.")]
    session.record(*recorded)
    if force:
        session.compact(force=True, window=64_000)
    for wire in WIRES:
        try:
            payload = session.request(wire=wire, window=64_000).payload()
        except BudgetExceeded:
            continue
        sent = json.dumps(payload, ensure_ascii=False)
        sent.encode("utf-8")
        assert "\x00" not in text_of(payload)
        assert errors(payload, wire.NAME) == []
        assert "On." in text_of(payload)
    for offered, stored in zip(recorded, session.store.log(session.key), strict=True):
        assert offered.artifacts or stored.artifacts or stored.parts == offered.parts
    repr(session.search(text)).encode("utf-8")


RUN = re.compile("[\U0001f1e6-\U0001f1ff\U0001f468-\U0001f469\u200d\U0001f466-\U0001f467\u0301]+")


@settings(max_examples=60)
@given(
    text=st.lists(st.sampled_from([FAMILY, FLAG, ACCENT, " ", "word", "\n"]), min_size=1, max_size=9).map("".join),
    before=st.integers(0, 400),
    limit=st.integers(20, 200),
)
@example(FAMILY, 1_999, 120).via("S-UNI-01")
@example(FLAG * 3, 7, 30).via("S-UNI-01: flags in a row")
def test_no_cut_of_a_preview_leaves_half_a_character(text: str, before: int, limit: int) -> None:
    body = "x" * before + (text + " ") * 120
    preview = recognise(body, None).preview(body, limit, count)
    preview.encode("utf-8")
    whole = {match.group() for match in RUN.finditer(body)}
    for match in RUN.finditer(preview):
        run = match.group()
        assert run in whole or _is_whole(run), (run, preview)


def _is_whole(run: str) -> bool:
    """A run of families, flags and accents that was cut between two of them."""
    return not run.replace(FAMILY, "").replace(FLAG, "").replace("\u0301", "")
