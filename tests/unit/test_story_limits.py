"""The user's limits are not undone by a statement, and what is said of one thing is not proven of another."""

from __future__ import annotations

import pytest

from foldmark.checkpoint import Field, Item
from foldmark.events import Event, assistant, user
from foldmark.story import Sources, checked
from foldmark.story.limits import contradicted
from talk import facts_from, state_of

WORD = (
    "Fix the duplicate charges. Do not touch errors.py. Never use the requests library. "
    "The timeout must stay 30 seconds, the retry limit is 5. Please do not deploy anything before I say so."
)
DONE = "I looked at production and the fix. The requests session and errors.py are read, gateway.post is called."
EVENTS = [user(WORD), assistant(DONE)]


def told(field: Field, text: str, *more: Event) -> Item | None:
    events = [*EVENTS, *more]
    sources = Sources(
        shown={seq: event.text for seq, event in enumerate(events, 1)},
        boundary=len(events),
        state=facts_from(events)[1],
    )
    found = checked([Item(field, text, (1,))], sources).items
    return found[0] if found else None


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("next_steps", "Deploy the fix to production"),
        ("next_steps", "Deploy the fix to production without waiting"),
        ("current_work", "Deploying the fix to production"),
        ("decisions", "Deploying is allowed now"),
        ("decisions", "Decided to deploy the fix"),
        ("decisions", "The timeout need not stay 30 seconds"),
        ("decisions", "The timeout does not have to stay 30 seconds"),
        ("decisions", "The timeout must not stay 30 seconds"),
        ("decisions", "The timeout is 5 seconds"),
        ("decisions", "The timeout is five seconds"),
        ("next_steps", "Set the timeout to 5 seconds"),
        ("decisions", "The retry limit is 30"),
        ("decisions", "The requests library is allowed"),
        ("next_steps", "Use requests for gateway.post"),
        ("decisions", "errors.py may be touched when needed"),
        ("current_work", "Editing errors.py"),
    ],
)
def test_what_undoes_a_limit_is_a_conflict_with_both_sides(field: Field, text: str) -> None:
    item = told(field, text)
    assert item is not None
    assert (item.field, item.verified) == ("conflicts", False)
    assert text in item.text
    assert "the user's word" in item.text
    assert 1 in item.refs


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("decisions", "Do not deploy anything before the user says so"),
        ("next_steps", "Ask the user whether to deploy the fix"),
        ("decisions", "The timeout stays 30 seconds"),
        ("decisions", "The timeout must stay thirty seconds"),
        ("decisions", "Do not change the timeout of 30 seconds"),
        ("decisions", "The retry limit is 5"),
        ("decisions", "Never use the requests library"),
        ("decisions", "errors.py stays as it is"),
        ("current_work", "errors.py was read"),
    ],
)
def test_what_keeps_a_limit_stays_what_it_is(field: Field, text: str) -> None:
    item = told(field, text)
    assert item is not None
    assert item.field == field


def test_a_newer_word_of_the_user_lifts_a_limit() -> None:
    item = told("next_steps", "Deploy the fix to production", user("All green? Then deploy the fix to production now."))
    assert item is not None
    assert item.field == "next_steps"
    changed = told("decisions", "The timeout is 5 seconds", user("Sorry: the timeout is 5 seconds from now on."))
    assert changed is not None
    assert changed.field == "decisions"


OWNERS = (
    "Alice owns billing, Bob owns ledger.\n# host db-one port 5432\n# host db-two port 6543\n"
    "cache size 512 rows\nqueue size 64 rows"
)


@pytest.mark.parametrize(
    "text",
    [
        "Bob owns billing, Alice owns ledger",
        "Bob owns billing",
        "Alice owns ledger",
        "db-one uses port 6543",
        "db-two uses port 5432",
        "cache size is 64 rows",
        "the queue size is 512 rows",
    ],
)
def test_exchanged_names_and_values_are_never_verified(text: str) -> None:
    found = checked([Item("decisions", text, (1,))], Sources(shown={1: OWNERS}, boundary=1))
    assert not any(item.verified for item in found.items)


@pytest.mark.parametrize(
    "text",
    [
        "Alice owns billing, Bob owns ledger",
        "Bob owns ledger",
        "db-one uses port 5432",
        "db-two uses port 6543",
        "cache size is 512 rows",
        "the queue size is 64 rows",
    ],
)
def test_the_same_not_exchanged_is_verified(text: str) -> None:
    assert checked([Item("decisions", text, (1,))], Sources(shown={1: OWNERS}, boundary=1)).items[0].verified


@pytest.mark.parametrize(
    "step",
    [
        "Edit src/foldmark/errors.py to add the new error class",
        "Touch src/foldmark/errors.py",
        "Rewrite src/foldmark/errors.py before the release",
    ],
)
def test_a_file_that_the_user_put_out_of_bounds_is_touched_by_no_next_step(step: str) -> None:
    said = "Find the cause and fix it. Do not touch src/foldmark/errors.py, and never add a dependency."
    facts, _ = facts_from([user(said)])
    found = contradicted(Item("next_steps", step, (1,), verified=True), state_of(facts))
    assert found is not None
    assert (found.field, found.verified) == ("conflicts", False)
    assert contradicted(Item("next_steps", "Read src/foldmark/errors.py again", (1,)), state_of(facts)) is None
