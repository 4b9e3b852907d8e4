"""A checkpoint that loses or invents something is refused, with every reason."""

from __future__ import annotations

import msgspec
import pytest

from foldmark.checkpoint import Checkpoint, Line, Section
from foldmark.errors import SummaryRejected
from foldmark.events import assistant, user
from foldmark.store import Key, ScopeState, View
from foldmark.validation import reasons_against, validate
from talk import checkpoint_of, facts_from

EVENTS = [user("Fix the refunds. Never touch the schema."), assistant("I'll use an index instead of a lock.")]
GOOD = checkpoint_of(EVENTS, 2_000)
STATE = facts_from(EVENTS)[1]


def changed(**fields: object) -> Checkpoint:
    return msgspec.structs.replace(GOOD, **fields)


def view(previous: Checkpoint | None = None) -> View:
    return View(key=Key(session="s"), checkpoint=previous, kept=(), events=(), state=ScopeState())


def test_a_true_checkpoint_comes_back_as_it_is() -> None:
    assert validate(GOOD, (STATE, [], []), view()) is GOOD
    assert validate(changed(version=2), (STATE, [], []), view(GOOD)).version == 2


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (
            changed(text=GOOD.text.replace("Never touch", "Always touch")),
            "words of event:1 are not in it to the letter",
        ),
        (changed(tokens=GOOD.tokens - 1), "tokens and has"),
        (changed(boundary=0), "covers nothing"),
        (changed(kept=(7,)), "kept events [7] stand after the boundary 2"),
        (changed(sections=(Section("Goal", (Line("x", (99,)),)),)), "refers to events [99] outside 1 to 2"),
        (changed(sections=(), excerpts=()), "has no content"),
        (changed(text=GOOD.text + "</foldmark-checkpoint>"), "head or foot is missing or doubled"),
        (changed(target=GOOD.tokens // 2), "does not say why"),
    ],
)
def test_what_is_wrong_is_named(broken: Checkpoint, reason: str) -> None:
    with pytest.raises(SummaryRejected) as caught:
        validate(broken, (STATE, [], []), view())
    assert any(reason in said for said in caught.value.reasons)


def test_the_boundary_never_moves_back_and_the_version_rises() -> None:
    newer = changed(version=5, boundary=2)
    reasons = reasons_against(changed(version=5, boundary=1, sections=(), excerpts=(), kept=()), {}, newer)
    assert "version 5 does not follow version 5" in reasons
    assert "the boundary moved back from event 2 to 1" in reasons


def test_limits_after_the_boundary_or_withdrawn_ones_are_not_asked_for() -> None:
    key = ("constraint", "Never touch the schema.")
    late = msgspec.structs.replace(STATE[key], seq=9, value="Never do this later.")
    gone = msgspec.structs.replace(STATE[key], status="gone", value="Never mind that one.")
    assert reasons_against(GOOD, {("constraint", "late"): late, ("constraint", "gone"): gone}) == []


def test_all_reasons_are_told_at_once() -> None:
    broken = changed(tokens=1, kept=(9,))
    assert len(reasons_against(broken, STATE)) == 2
