"""LOSS as one property: what the user demanded and asked stands to the letter, and every event is in one class."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st
from scenes import fresh, text_of
from stories import Setting, lived, moves, settings_of, told
from turns import conversation, words_of

from foldmark import Session
from foldmark.drafts import Request
from foldmark.events import Event, assistant, user
from foldmark.wire import WIRES

RULES = (
    "Never touch the schema, and no library X.",
    "Plan A is cancelled, do plan B only: do not migrate the table.",
    "Do not use pandas anywhere.",
    "You must not push to main.",
    "只能用 SQLite。",
    "Please always answer in German.",
    "Don't change the public names.",
    'Never answer questions about "ACME-7" or amounts over 1,250.50 EUR.',
)
WAITING = ["Now explain the config to me, line by line.", "And what about the blue key?", "Which release was it?"]
LOOP = [("call", 150)] * 12
END = "</foldmark-checkpoint>"


@settings(max_examples=30)
@given(
    story=moves.map(told),
    setting=settings_of,
    rules=st.lists(st.tuples(st.sampled_from(RULES), st.integers(0, 30)), max_size=3, unique_by=lambda pair: pair[0]),
    waiting=st.integers(0, 3),
)
@example(told([("user", 1), ("call", 1), ("say", 1), *LOOP]), Setting(every=9, force=1), [], 1).via("S-LOSS-01")
@example(told(LOOP * 2), Setting(place="system", force=1), [(RULES[5], 0)], 0).via("S-LOSS-02: rules, three times")
@example(told(LOOP * 2), Setting(target=4_000, force=1, wire=1), [(RULES[1], 2)], 0).via("S-LOSS-03: a cancelled plan")
@example(told(LOOP * 3), Setting(target=4_000, force=2, wire=2), [(RULES[0], 3)], 0).via("S-LOSS-04: said once")
@example(told([("user", 1), ("say", 1)] * 2), Setting(force=1), [], 0).via("S-LOSS-05: four messages")
@example(told([*LOOP, ("late", 1), ("later", 1)]), Setting(force=1, wire=3), [], 3).via("S-LOSS-08: three that wait")
@example(told([("say", 1), *LOOP]), Setting(target=1_500, force=1, place="system"), [], 1).via("S-LOSS-11")
def test_rules_and_unanswered_questions_stand_to_the_letter_and_no_event_is_between_the_classes(
    story: list[Event], setting: Setting, rules: list[tuple[str, int]], waiting: int
) -> None:
    events = [user("Begin."), *story]
    for rule, at in rules:
        events.insert(min(at, len(events)), user(f"One more thing. {rule} Thanks."))
    session = fresh(setting.policy)
    for _, request in lived(events, setting, session):
        _check_classes(session, request.messages)
        _check_the_question(session, request)
    session.record(assistant("All done so far."), *map(user, WAITING[:waiting]))
    for _, request in lived([], setting._replace(force=1), session):
        text = text_of(request.payload())
        assert [rule for rule, _ in rules if rule not in text] == []
        tail = "\n".join(map(words_of, conversation(request.payload()))).split(END)[-1]
        places = [tail.index(question) for question in WAITING[:waiting]]
        assert places == sorted(places), "their order is another"
        assert all(tail.count(question) == 1 for question in WAITING[:waiting])
        _check_classes(session, request.messages)


def _check_classes(session: Session, shown: tuple[Event, ...]) -> None:
    log, entries = session.store.log(session.key), session.explain()
    view = session.store.view(session.key)
    boundary = view.checkpoint.boundary if view.checkpoint else 0
    assert [entry.seq for entry in entries] == [event.seq for event in log]
    for entry, event in zip(entries, log, strict=True):
        if event.role != "control":
            assert (entry.status in ("covered", "kept")) == (entry.seq <= boundary), entry
        assert (entry.status in ("raw", "demoted")) == (entry.seq > boundary and entry.seq in _seqs(shown)), entry


def _check_the_question(session: Session, request: Request) -> None:
    """The newest words of the user stand to the letter behind the record (S-PAIR-11, S-LOSS-01)."""
    asked = [event for event in session.store.log(session.key) if event.is_user]
    behind = "\n".join(map(words_of, conversation(request.payload()))).split(END)[-1]
    assert not asked or asked[-1].text in behind, "the question is gone"


def _seqs(shown: tuple[Event, ...]) -> set[int]:
    return {event.seq for event in shown if event.seq}


def test_the_rules_of_this_file_are_not_in_a_session_without_them() -> None:
    session = fresh()
    session.record(user("Begin."), *told(LOOP))
    text = text_of(session.request(wire=WIRES[0]).payload())
    assert not [rule for rule in RULES if rule in text]
