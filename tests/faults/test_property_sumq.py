"""SUMQ as one property, for a record written by code: never empty, never nested, never behind, never above its room."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st
from scenes import fresh, text_of
from stories import Setting, lived, moves, settings_of, told

from foldmark.events import Event, assistant, control, injected, user
from foldmark.tokens import count

LOOP = [("call", 150)] * 10
RULE = "Never touch the schema."


@settings(max_examples=20)
@given(
    story=moves.map(told),
    setting=settings_of.map(lambda one: one._replace(force=1, every=one.every + 4)),
    rounds=st.integers(1, 3),
    voice=st.sampled_from(["assistant", "user", "injected", "nobody"]),
)
@example([control("setting", {"n": 1})] * 4, Setting(force=1), 1, "nobody").via("S-SUMQ-02: nothing to summarise")
@example(told(LOOP), Setting(target=4_000, force=1, every=21), 8, "assistant").via("S-SUMQ-06: it quotes itself")
@example(told(LOOP), Setting(target=1_500, force=1, every=21), 8, "injected").via("S-SUMQ-06: it is sent back")
@example(told(LOOP), Setting(target=4_000, force=1, every=21), 2, "nobody").via("S-SUMQ-08: two records")
def test_a_record_is_whole_single_and_bounded_however_often_it_is_quoted(
    story: list[Event], setting: Setting, rounds: int, voice: str
) -> None:
    session = fresh(setting.policy)
    session.record(user(f"Begin. {RULE}"))
    for number in range(rounds):
        said = session.control.history()[-1].text if session.control.history() else "Nothing yet."
        quote = {"assistant": assistant, "user": user, "injected": injected}.get(voice)
        step = [quote(f"Marker m{number}m. {said}")] if quote else []
        for _, request in lived([*step, *story], setting, session):
            text = text_of(request.payload())
            assert text.count("<foldmark-checkpoint ") <= 1 + _quotes(request.messages)
            assert RULE in text
    before = (0, 0)
    for record in session.control.history():
        assert record.sections or record.excerpts, "an empty skeleton"
        assert (record.version, record.boundary) >= (before[0] + 1, before[1]), "it fell behind"
        assert record.text.count("<foldmark-checkpoint") == record.text.count("</foldmark-checkpoint>") == 1, "nested"
        assert record.tokens == count(record.text)
        assert record.tokens <= record.target * 1.02 or record.warnings, "above its room without a word"
        assert RULE in record.text
        before = (record.version, record.boundary)


def _quotes(shown: tuple[Event, ...]) -> int:
    """How often the tag stands outside the record: in the raw tail, or in the user's words that are kept behind it."""
    head = "\n".join(part.text for event in shown if not event.seq for part in event.parts[1:] if hasattr(part, "text"))
    tail = "\n".join(event.text for event in shown if event.seq)
    return (head + tail).count("<foldmark-checkpoint ")
