"""A narrative is revised for many rounds without drift: what is proven keeps its words."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark.checkpoint import Fact, Field, Item
from foldmark.narrative import FIELDS, MOST_CHARACTERS, MOST_ITEMS, MOST_REFS
from foldmark.story import Sources, checked, given_up, merged

INDEX = Item("decisions", "Use a unique index instead of a lock", (4,), "the lock was held twice", True)
CACHE = Item("failed_approaches", "Redis cache in front of the lock", (9,), "stale reads", True)


def texts(items: tuple[Item, ...], field: Field) -> list[str]:
    return [item.text for item in items if item.field == field]


def decision(text: str, *refs: int, verified: bool = True, why: str = "") -> Item:
    return Item("decisions", text, refs, why, verified)


def test_work_and_steps_are_those_of_the_newest_answer() -> None:
    old = tuple(Item(field, f"Old words on {field}", (1,), "", True) for field in FIELDS)
    new = tuple(Item(field, f"Fresh statement about something else: {field}", (8,), "", True) for field in FIELDS)
    found = merged(old, new)
    for field in ("current_work", "next_steps"):
        assert texts(found, field) == [f"Fresh statement about something else: {field}"]
    for field in ("decisions", "failed_approaches", "open_questions", "conflicts"):
        assert texts(found, field) == [f"Old words on {field}", f"Fresh statement about something else: {field}"]


def test_what_the_answer_leaves_out_of_decisions_and_failures_stays() -> None:
    assert merged([INDEX, CACHE], []) == (INDEX, CACHE)


@pytest.mark.parametrize(
    "again",
    [
        decision("A unique index is used instead of the lock", 4, 7),
        decision("Using a unique index, because the lock was held twice", 12),
        decision("use a unique index instead of a lock", verified=False),
    ],
)
def test_a_paraphrase_does_not_replace_what_is_proven(again: Item) -> None:
    assert merged([INDEX], [again]) == (INDEX,)


def test_a_proven_statement_replaces_the_unproven_one_that_it_restates() -> None:
    vague = decision("Probably use a unique index instead of the lock", verified=False)
    assert merged([vague], [INDEX]) == (INDEX,)


def test_statements_about_other_names_are_other_statements() -> None:
    found = merged(
        [decision("Test test_late fails in the refund API", 5)],
        [decision("Test test_early fails in the refund API", 5)],
    )
    assert len(found) == 2
    assert {item.field for item in found} == {"decisions"}


def test_a_statement_that_adds_a_name_or_much_else_is_no_paraphrase() -> None:
    named = decision("Use the unique index idx_refund_order instead of a lock", 4)
    longer = decision("The unique index also covers partial refunds, chargebacks and manual corrections", 4)
    assert merged([INDEX], [named, longer]) == (INDEX, named, longer)


def test_two_values_for_one_thing_are_both_kept_and_a_conflict_is_noted() -> None:
    old, new = decision("The lock timeout is 30 seconds", 4), decision("The lock timeout is 60 seconds", 11)
    found = merged([old], [new])
    assert texts(found, "decisions") == [old.text, new.text]
    (conflict,) = (item for item in found if item.field == "conflicts")
    assert conflict.refs == (4, 11)
    assert "30 seconds" in conflict.text
    assert "60 seconds" in conflict.text
    assert len(conflict.text) <= MOST_CHARACTERS
    assert merged(found, [new]) == found


def test_beyond_twelve_the_oldest_unproven_item_goes_first_and_then_the_oldest() -> None:
    names = [
        "anchor",
        "bridge",
        "candle",
        "desert",
        "engine",
        "forest",
        "garden",
        "harbor",
        "island",
        "jungle",
        "kettle",
        "ladder",
    ]
    old = [
        decision(f"Move the {name} elsewhere entirely", number, verified=number != 5)
        for number, name in enumerate(names, 1)
    ]
    new = [decision("Paint the mirror green", 20), decision("Sell the needle tomorrow", 21)]
    found = merged(old, new)
    assert len(found) == MOST_ITEMS
    left = texts(found, "decisions")
    assert left[-2:] == [new[0].text, new[1].text]
    assert old[4].text not in left
    assert old[0].text not in left
    assert old[1].text in left


def test_an_old_decision_that_the_user_has_forbidden_since_becomes_a_conflict() -> None:
    limit = Fact(seq=9, kind="constraint", key="x", value="Do not use library requests-cache.")
    old = decision("Use library requests-cache for retries", 4)
    first, second = merged([old, INDEX], [], {("constraint", "x"): limit})
    assert first == INDEX
    assert (second.field, second.refs) == ("conflicts", (4, 9))
    assert merged((first, second), [], {("constraint", "x"): limit}) == (first, second)


FACTS = [
    ("commit 3f2a9c1d8e broke the refund of src/pay/refund.py", 2),
    ("Use idx_refund_order instead of LOCK_TABLE in migrations/0042_refund.sql", 5),
    ("order 8f14e45f-ceea-467f-9b3c-1b2a3c4d5e6f was charged twice with EUR 41.70", 9),
    ("https://pay.example.com/v2/refunds answers 409 after 1,200 ms", 12),
]
SHOWN = {seq: f"Found in the log: {text}. Going on with the refund work." for text, seq in FACTS}


def _paraphrased(text: str, rng: random.Random) -> str:
    """As a careless model would: words lost, changed or swapped, identifiers damaged now and then."""
    words = [word for word in text.split() if rng.random() > 0.15]
    words = [word[:-1] + rng.choice("0123456789abc") if rng.random() < 0.1 else word for word in words]
    return (
        f"{rng.choice(['It seems that', 'We know:', 'So'])} {' '.join(words)}"
        if rng.random() < 0.5
        else " ".join(words)
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9))
def test_ten_rounds_with_a_model_that_paraphrases_drops_and_invents_keep_the_first_words(seed: int) -> None:
    rng = random.Random(seed)
    first = checked([decision(text, seq) for text, seq in FACTS], Sources(shown=SHOWN, boundary=12))
    story = merged((), first.items)
    assert [item.text for item in story] == [text for text, _ in FACTS]
    for round_number in range(10):
        seq = 20 + round_number
        sources = Sources(
            shown={seq: f"Looked at page number {seq} of the manual."},
            boundary=seq,
            earlier=lambda seq: SHOWN.get(seq, ""),
        )
        told = [decision(_paraphrased(item.text, rng), *rng.sample(range(1, 40), 2), *item.refs) for item in story]
        told = [item for item in told if item.text and rng.random() < 0.7]
        told.append(decision(f"Cache entries with ttl={rng.randrange(100, 900)} in src/gone_{round_number}.py", seq))
        story = merged(story, checked(told, sources, story).items)
        assert [item.text for item in story[:4]] == [text for text, _ in FACTS]
        assert all(item.verified for item in story[:4])
        assert "ttl=" not in " ".join(item.text for item in story)
        assert all(len(item.text) <= MOST_CHARACTERS and len(item.refs) <= MOST_REFS for item in story)


_items = st.builds(
    Item,
    st.sampled_from(FIELDS),
    st.text(min_size=1, max_size=40),
    st.lists(st.integers(1, 30), max_size=3).map(tuple),
    st.text(max_size=20),
    st.booleans(),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(_items, max_size=20), max_size=4))
def test_a_narrative_stays_within_its_bounds_however_often_it_is_merged(rounds: list[list[Item]]) -> None:
    story: tuple[Item, ...] = ()
    for new in rounds:
        story = merged(story, new)
        assert all(sum(item.field == field for item in story) <= MOST_ITEMS for field in FIELDS)
        assert [item.field for item in story] == sorted((item.field for item in story), key=FIELDS.index)


def question(text: str, *refs: int, verified: bool = True) -> Item:
    return Item("open_questions", text, refs, "", verified)


LEDGER = question("Which ledger row of file_3 holds the duplicate charge?", 7)
ADDRESS = question("Does the customer want the invoice at the new address?", 9, verified=False)


def test_a_question_stays_open_although_the_next_answers_do_not_repeat_it() -> None:
    story = merged((), [LEDGER, ADDRESS])
    for number in range(3):
        story = merged(story, [decision(f"Read file_{number} of the archive next", 20 + number)])
    assert texts(story, "open_questions") == [LEDGER.text, ADDRESS.text]
    assert given_up([LEDGER, ADDRESS], story) == ()


def test_a_question_is_not_asked_twice() -> None:
    again = question("Which row of the ledger of file_3 holds the duplicate charge?", 7)
    assert merged([LEDGER], [again]) == (LEDGER,)


@pytest.mark.parametrize(
    ("answer", "stays"),
    [
        (Item("current_work", "Ledger row 41 of file_3 holds the duplicate charge", (22,), "", True), False),
        (decision("The duplicate charge of file_3 is in ledger row row_41, which holds it", 22), False),
        (Item("current_work", "Ledger row 41 of file_3 holds the duplicate charge", (22,), "", False), True),
        (Item("current_work", "Looking for the ledger row of file_3 that holds the charge", (22,), "", True), True),
        (Item("next_steps", "Ask which ledger row of file_3 holds the duplicate charge 41", (22,), "", True), True),
        (decision("The archive of file_3 stays closed", 22), True),
    ],
)  # fmt: skip
def test_a_question_leaves_when_a_proven_statement_answers_it(answer: Item, stays: bool) -> None:
    found = merged([LEDGER], [answer])
    assert bool(texts(found, "open_questions")) == stays
    assert given_up([LEDGER], found) == ()


@pytest.mark.parametrize(
    ("kind", "seq", "stays"), [("question", 12, False), ("decision", 12, False), ("decision", 8, True)]
)
def test_a_question_leaves_when_a_newer_fact_settles_it(kind: str, seq: int, stays: bool) -> None:
    value = "Send the invoice of the customer to the new address? Answer: yes, they want it there"
    state = {(kind, "x"): Fact(seq=seq, kind="question" if kind == "question" else "decision", key="x", value=value)}
    found = merged([ADDRESS], [], state)
    assert bool(texts(found, "open_questions")) == stays
    assert given_up([ADDRESS], found, state) == ()


def test_of_more_than_twelve_questions_the_oldest_unproven_one_goes_and_is_named() -> None:
    names = ["anchor", "bridge", "candle", "desert", "engine", "forest", "garden", "harbor", "island", "jungle"]
    names += ["kettle", "ladder", "mirror"]
    asked = [question(f"Who moved the {name} away?", at, verified=at != 4) for at, name in enumerate(names, 1)]
    found = merged(asked[:12], asked[12:])
    assert texts(found, "open_questions") == [item.text for item in asked if item.refs != (4,)]
    assert given_up(asked[:12], found) == ("given up for room: open_questions: 'Who moved the desert away?' (event:4)",)


def test_what_was_replaced_restated_or_became_a_conflict_is_not_given_up() -> None:
    vague = decision("Probably use a unique index instead of the lock", verified=False)
    library = decision("Use library requests-cache for retries", 4)
    limit = Fact(seq=9, kind="constraint", key="x", value="Do not use library requests-cache.")
    state = {("constraint", "x"): limit}
    found = merged([vague, library], [INDEX], state)
    assert given_up([vague, library, Item("next_steps", "Run it", (3,))], found, state) == ()
    assert given_up([CACHE], found) == (f"given up for room: failed_approaches: {CACHE.text!r} (event:9)",)


def test_a_denial_does_not_restate_and_is_set_against_what_it_denies() -> None:
    against = decision("We do not use a unique index instead of a lock", 30)
    found = merged([INDEX], [against])
    assert texts(found, "decisions") == [INDEX.text, against.text]
    (conflict,) = texts(found, "conflicts")
    assert conflict.startswith("for and against: ")
    assert merged(found, [against]) == found
