"""CACHE as one property: a payload goes on byte for byte or names its break; static, then the record, then the tail."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from stories import SYSTEM, Setting, lived, moves, settings_of, told
from turns import conversation, goes_on, system_of, words_of

from foldmark.events import Event, user
from foldmark.wire import WIRES

TURNS = [("call", 150)] * 30
TOOLS = [{"name": "read", "description": "Reads.", "parameters": {"type": "object", "properties": {}}}]


@settings(max_examples=40)
@given(story=moves.map(told), setting=settings_of)
@example(told(TURNS), Setting(target=4_000, every=2, force=0)).via("S-CACHE-01: old results are cleared every turn")
@example(told(TURNS), Setting(target=60_000, window=30_000, every=2, force=0, wire=1)).via("S-CACHE-01")
@example(told(TURNS), Setting(every=4, force=1, wire=2)).via("S-CACHE-03: the record stands first")
@example(told(TURNS), Setting(every=4, force=1, wire=3, place="system")).via(
    "S-CACHE-03: the record in the system text"
)
def test_a_payload_goes_on_where_the_last_one_ended_or_names_its_break(story: list[Event], setting: Setting) -> None:
    last = None
    statics = set()
    for _, request in lived([user("Begin."), *story], setting, tools=TOOLS):
        payload = request.payload()
        if last is not None and not goes_on(last, payload):
            assert request.report.epoch, "the prefix broke and nothing is named"
        statics.add((system_of(payload)[: len(SYSTEM)], str(payload["tools"])))
        record = [at for at, one in enumerate(conversation(payload)) if "<foldmark-checkpoint " in words_of(one)]
        in_system = "<foldmark-checkpoint " in system_of(payload)
        assert record == ([0] if request.report.version and setting.place == "user" else [])
        assert in_system == bool(request.report.version and setting.place == "system")
        last = request.with_messages(request.messages[: request.stable]).payload()  # without the state bar
    assert len(statics) <= 1
    assert not statics or next(iter(statics))[0] == SYSTEM


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.NAME)
def test_the_comparison_of_this_file_sees_a_changed_byte(wire: object) -> None:
    events = told([("user", 1), ("call", 40), ("call", 40)])
    other = [*events[:2], *told([("call", 3)], 2)[1:], *events[3:]]
    shorter, longer, changed = (wire.write("s", [], some) for some in (events[:3], events, other))  # type: ignore[attr-defined]
    assert goes_on(shorter, longer)
    assert not goes_on(longer, shorter)
    assert not goes_on(shorter, changed)
