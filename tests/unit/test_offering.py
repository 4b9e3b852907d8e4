"""What callers hand to a session is refused with words that say what was meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from foldmark import BudgetExceeded, MemoryStore, Policy, PolicyError, Session, SQLiteStore, assistant, user
from foldmark.errors import HookError
from foldmark.hooked import EventHooks
from foldmark.wire import WIRES, by_name
from making import long_session


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"store": "x.db"}, "SQLiteStore"), ({"policy": "coding"}, "Policy.preset"), ({"sees": "exakt"}, "exact"),
        ({"sees": ""}, "subtree"), ({"sees": None}, "lineage"), ({"scope": None}, "scope is None"),
        ({"hooks": [print]}, "EventHooks"), ({"hooks": EventHooks()}, "a list of EventHooks"),
    ],
)  # fmt: skip
def test_options_that_would_mean_something_else_are_refused_when_they_are_given(options: Any, word: str) -> None:
    with pytest.raises(PolicyError, match=word):
        Session("s", **options)


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_session_needs_a_name(name: Any) -> None:
    with pytest.raises(PolicyError, match="name"):
        Session(name)


@pytest.mark.parametrize("thing", [{"role": "user", "content": "hi"}, "hello", None, [user("hi")]])
def test_what_is_no_event_is_refused_and_nothing_is_recorded(thing: Any) -> None:
    made = Session("s")
    with pytest.raises(PolicyError, match="make events"):
        made.record(user("one"), thing)
    assert made.store.log(made.key) == []


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.NAME)
def test_a_wire_may_be_given_by_its_name(wire: Any) -> None:
    made = Session("s")
    made.record(user("hi"))
    assert made.request(window=32_000, wire=wire.NAME).payload() == made.request(wire=by_name(wire.NAME)).payload()


@pytest.mark.parametrize(
    "said", [{"window": "16k"}, {"window": 0}, {"max_output": 1.5}, {"wire": 3}, {"wire": "openai"}]
)
def test_sizes_and_wires_that_are_none_are_refused(said: Any) -> None:
    made = Session("s")
    made.record(user("hi"))
    with pytest.raises(PolicyError):
        made.request(**said)
    assert made.request(window=32_000).messages


@pytest.mark.parametrize("said", [{"max_output": 100_000}, {"window": 1_500}])
def test_what_was_refused_is_not_remembered(said: Any) -> None:
    made = Session("s", policy=Policy.coding(window=64_000))
    made.record(user("hi"))
    made.request()
    with pytest.raises((PolicyError, BudgetExceeded)):
        made.request(**said)
    with pytest.raises((PolicyError, BudgetExceeded)):
        made.compact(force=True, **said)
    assert made.request().messages


def test_a_request_that_does_not_fit_says_what_happened_on_the_way() -> None:
    made = Session("s")
    made.record(*long_session(60), user("word " * 7_800))
    with pytest.raises(BudgetExceeded) as caught:
        made.request(window=10_000)
    notes = " ".join(caught.value.__notes__)
    assert (f"compaction:{len(made.control.history())}" in notes) == bool(made.control.history())
    assert ("Nothing was changed" in notes) == (not made.control.history())


@pytest.mark.parametrize("sees", ["exact", "lineage", "subtree", "all"])
def test_what_a_session_records_it_sees_itself(sees: Any) -> None:
    made = Session("s", scope="support/billing", sees=sees)
    made.record(user("hello"), assistant("yes"), user("tagged", scope="support"))
    seen = [event.text for event in made.store.log(made.key)]
    assert seen[:2] == ["hello", "yes"]
    assert [event.key for event in Session("s", store=made.store).store.log(Session("s", store=made.store).key)] == [
        *["" if sees == "all" else "support/billing"] * 2, "support",
    ]  # fmt: skip


def test_who_raises_work_keeps_the_policy_with_the_session(tmp_path: Path) -> None:
    store = MemoryStore()
    policy = Policy.chat(run="background", budget={"landing_tokens": 1_000})
    made = Session("s", store=store, policy=policy)
    made.record(user("hello"))
    assert Policy.from_json(store.open(made.key).meta["policy"]) == policy
    other = Session("t", store=store, policy=Policy.chat())
    other.record(user("hello"))
    assert "policy" not in store.open(other.key).meta


@pytest.mark.parametrize(
    "fields",
    [
        {"meta": {"n": 1}}, {"time": "2026-01-01"}, {"model": None}, {"scope": 5}, {"branch": b"x"}, {"usage": 3},
        {"parts": (1,)}, {"parts": ("words",)}, {"meta": None}, {"provider": 1.5},
    ],
)  # fmt: skip
def test_an_event_that_a_store_could_not_read_again_is_refused_at_the_door(fields: Any, tmp_path: Path) -> None:
    for store in (MemoryStore(), SQLiteStore(tmp_path / "a.db")):
        made = Session("s", store=store)
        made.record(user("one"))
        with pytest.raises(PolicyError, match="cannot be recorded"):
            made.record(msgspec.structs.replace(user("two"), **fields))
        spoiling = EventHooks(on_append=lambda key, events: [msgspec.structs.replace(events[0], **fields)])
        hooked = Session("s", store=store, hooks=[spoiling])
        with pytest.raises(HookError):
            hooked.record(user("three"))
        again = Session("s", store=store)
        again.record(user("four"))
        assert [event.text for event in again.store.log(again.key)] == ["one", "four"]
