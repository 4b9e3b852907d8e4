"""OBS as one property: off is off, every difference is listed, an attempt leaves one note, a look leaves none."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scenes import applied, fresh
from stories import Setting, moves, settings_of, told

from foldmark import BudgetExceeded
from foldmark.drafts import Request, payload_bytes
from foldmark.events import Event, user
from foldmark.wire import WIRES

READS = [("call", 700)] * 24


@settings(max_examples=35)
@given(story=moves.map(told), setting=settings_of, is_manual=st.booleans(), focus=st.sampled_from(["", "event:3"]))
@example(told(READS), Setting(window=30_000, raw=True, force=0), True, "").via("S-OBS-04: off, and many reads")
@example(told(READS), Setting(window=30_000, raw=True, demote=False, force=0), True, "").via("S-OBS-04: all off")
@example(told(READS), Setting(target=4_000, raw=True, force=0), False, "").via("S-OBS-01: automatic")
@example(told(READS), Setting(target=4_000, raw=True, force=1), True, "only the shell results").via("S-OBS-05")
def test_switches_and_reports_do_what_they_say(
    story: list[Event], setting: Setting, is_manual: bool, focus: str
) -> None:
    session = fresh(setting.policy.replace(run="manual" if is_manual else "inline"))
    events = [user("Begin."), *story]
    for at in range(0, len(events), setting.every):
        session.record(*events[at : at + setting.every])
        noted, made = len(session.store.view(session.key).attempts), applied(session)
        with suppress(BudgetExceeded):
            request = session.request(wire=WIRES[setting.wire])
            attempts = session.store.view(session.key).attempts[noted:]
            assert [attempt.outcome for attempt in attempts] == [
                outcome for outcome in [request.report.outcome] if outcome != "not_due"
            ]
            assert applied(session) - made == (request.report.outcome == "applied")
            _every_difference_is_listed(session.store.log(session.key), request)
        assert not is_manual or not session.store.view(session.key).attempts, "off, and something was tried"
    _a_look_leaves_nothing(session)
    if setting.force:
        before = session.store.view(session.key).attempts
        report = session.compact(force=True, focus=focus)
        assert len(session.store.view(session.key).attempts) == len(before) + 1
        assert report.outcome in ("applied", "ineffective")


def _every_difference_is_listed(recorded: Sequence[Event], request: Request) -> None:
    log = {event.seq: event for event in recorded if event.role != "control"}
    shown = {event.seq: event for event in request.messages if event.seq}
    listed = {change.seq for change in request.report.changes}
    gone = {seq for seq in log if seq > request.report.boundary and seq not in shown}
    assert gone <= listed, "gone without a word"
    cut = {seq for seq, event in shown.items() if event.role == log[seq].role == "tool" and _less(event, log[seq])}
    assert cut <= listed, "shortened without a word"


def _less(shown: Event, recorded: Event) -> bool:
    """Whether less of a result is shown than the log holds (with a preview, the line about it is more)."""
    assert shown.result
    assert recorded.result
    return not shown.result.text.startswith(recorded.result.text)


def _a_look_leaves_nothing(session: object) -> None:
    before = session.store.view(session.key)  # type: ignore[attr-defined]
    try:
        looks = [payload_bytes(session.peek(WIRES[0]).payload()) for _ in range(2)]  # type: ignore[attr-defined]
        session.explain()  # type: ignore[attr-defined]
    except BudgetExceeded:
        return
    session.next_compaction()  # type: ignore[attr-defined]
    assert looks[0] == looks[1]
    assert session.store.view(session.key) == before  # type: ignore[attr-defined]


@pytest.mark.parametrize("focus", ["", "only the shell results"])
def test_a_focus_never_selects(focus: str) -> None:
    session = fresh(Setting(target=4_000, raw=True).policy)
    session.record(user("Begin. Never touch the schema."), *told(READS))
    plain = fresh(Setting(target=4_000, raw=True).policy)
    plain.record(user("Begin. Never touch the schema."), *told(READS))
    assert session.compact(force=True, focus=focus).outcome == plain.compact(force=True).outcome == "applied"
    assert "Never touch the schema." in session.control.history()[-1].text
