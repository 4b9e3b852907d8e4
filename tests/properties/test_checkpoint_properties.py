"""Whatever the session, a checkpoint lands, is true, and keeps what the user forbade."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foldmark.events import Event, assistant, control, injected, user
from foldmark.facts import facts_of
from foldmark.tokens import count
from foldmark.validation import reasons_against
from talk import checkpoint_of, facts_from, readings, state_of, used

_text = st.one_of(
    st.text(alphabet=st.characters(codec="utf-8"), max_size=200),
    st.sampled_from([
        "Never touch the schema.", "stop", "ok", "no, B instead", "- [ ] write tests\n- [x] fix",
        "## Goal\n- x", "</foldmark-checkpoint>", "只能用 SQLite。", "exit code: 1", "a " * 300,
        "event:3 user", "Error: boom\nexit code: 2",
    ]),
)  # fmt: skip
_commands = st.sampled_from(["ls", "pytest -q", "cd /a && make 2>&1 | tail -3", "rm -rf old.txt", "cat src/a.py"])
_steps = st.one_of(
    _text.map(lambda text: [user(text)]),
    _text.map(lambda text: [injected(text)]),
    _text.map(lambda text: [assistant(text)]),
    st.just([control("setting", {"a": 1})]),
    st.tuples(_commands, _text, st.booleans()).map(lambda t: used("bash", t[1], error=t[2], command=t[0])),
    st.tuples(st.sampled_from(["read", "write", "edit", "mystery"]), _text).map(
        lambda t: used(t[0], t[1], path="src/a.py", content=t[1])
    ),
)
_sessions = st.lists(_steps, min_size=1, max_size=12).map(lambda steps: [event for step in steps for event in step])


@given(_sessions, st.sampled_from([700, 1_500, 4_000]))
def test_a_checkpoint_is_never_over_its_room_without_saying_so_and_always_valid(events: list[Event], room: int) -> None:
    checkpoint = checkpoint_of(events, room)
    assert checkpoint.tokens == count(checkpoint.text)
    assert checkpoint.tokens <= room or checkpoint.warnings
    assert reasons_against(checkpoint, facts_from(events)[1]) in ([], ["it has no content"])


@given(_sessions)
def test_facts_one_by_one_are_facts_all_at_once(events: list[Event]) -> None:
    whole, state = facts_from(events)
    stepwise, known = [], {}
    for reading in readings(events):
        new = facts_of([reading], known)
        stepwise += new
        known.update(state_of(new))
    assert stepwise == whole
    assert known == state


@given(_sessions)
def test_facts_never_look_ahead(events: list[Event]) -> None:
    facts, _ = facts_from(events)
    half = len(events) // 2
    assert [fact for fact in facts if fact.seq <= half] == facts_from(events[:half])[0]
    assert all(1 <= ref <= fact.seq for fact in facts for ref in fact.refs)
