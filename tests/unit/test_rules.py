"""Triggers that a policy may name: each fires at its number, and they are put together by any and all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark import triggers
from foldmark.budget import room
from foldmark.calibration import Sample
from foldmark.checkpoint import Checkpoint
from foldmark.errors import PolicyError
from foldmark.events import Event, assistant, user
from foldmark.policy import Policy
from foldmark.prices import Price
from foldmark.reports import Reason
from foldmark.store import Frame, Key, ScopeState, View
from foldmark.triggers import Moment, Rule, Sizes, due, expected_next, static_warning
from making import numbered

A5M = Price(read=0.1, write=1.25)


def moment(
    above: int = 30_000, *, static: int = 3_000, window: int = 200_000, policy: Policy | None = None,
    events: list[Event] | None = None, checkpoint: Checkpoint | None = None, now: float = 0.0,
    context: dict[str, Any] | None = None, usages: tuple[Sample, ...] = (), **state: Any,
) -> Moment:  # fmt: skip
    """A moment at which the next request has `above` tokens above its static prefix."""
    policy = policy or Policy.coding()
    frame = Frame(window=window, static_tokens=static)
    known = ScopeState(usages={frame.wire: usages} if usages else {}, **state)
    view = View(key=Key(session="s"), checkpoint=checkpoint, kept=(), events=tuple(events or ()), state=known)
    whole = static + above
    sizes = Sizes(whole=whole, alive=whole, landed=static + 16_000, past=())
    space = room(frame, policy, known)
    return Moment(view=view, room=space, sizes=sizes, policy=policy, now=now, context=context or {})


def made(version: int = 1, *, head: int = 0, time: float = 0.0) -> Checkpoint:
    return Checkpoint(version=version, boundary=1, text="", tokens=0, head=head, time=time)


# -- each fires at its number, not before


def at_events(count: int) -> Moment:
    return moment(events=numbered(*(user(f"message {n}") for n in range(count))))


CASES: dict[str, tuple[Rule, Callable[[int], Moment], int]] = {
    "events": (triggers.events(40), at_events, 40),
    "tokens": (triggers.tokens(30_000), moment, 30_000),
    "share": (triggers.share(0.5), lambda n: moment(n - 3_000), 100_000),
    "share with a floor": (triggers.share(0.1, floor=64_000), lambda n: moment(n - 3_000), 64_000),
    "idle": (triggers.idle(300), lambda n: moment(last_time=1_000.0, now=1_000.0 + n), 300),
    "size": (triggers.size(), moment, 48_000),
    "size, where rent knows no prices": (triggers.rent(), moment, 48_000),
}


@pytest.mark.parametrize("name", CASES)
def test_a_trigger_fires_at_its_number_and_above_and_not_below(name: str) -> None:
    rule, at, number = CASES[name]
    assert [rule(at(n)) is not None for n in (number - 1, number, number + 1)] == [False, True, True]
    reason = rule(at(number + 1))
    assert reason is not None
    assert (reason.value, reason.threshold) == (number + 1, number)
    assert reason.trigger in name


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: triggers.events(0),
        lambda: triggers.tokens(-1),
        lambda: triggers.share(0),
        lambda: triggers.share(1.01),
        lambda: triggers.share(float("nan")),
        lambda: triggers.share(0.5, floor=-1),
        lambda: triggers.idle(0),
        lambda: triggers.idle(float("nan")),
        triggers.any_of,
        triggers.all_of,
        lambda: triggers.custom(5),  # type: ignore[arg-type]
        lambda: triggers.any_of("tokens"),  # type: ignore[arg-type]
    ],
)
def test_a_number_that_makes_no_sense_is_refused_when_it_is_written(wrong: Callable[[], Any]) -> None:
    with pytest.raises(PolicyError, match="triggers"):
        wrong()


# -- what they count


def test_events_of_the_tail_that_a_compaction_left_do_not_count_again() -> None:
    past = numbered(*(user(f"message {n}") for n in range(12)))
    assert triggers.events(10)(moment(events=past)) is not None
    after = made(head=12)
    assert triggers.events(10)(moment(events=past[2:], checkpoint=after)) is None
    new = numbered(*(user(f"message {n}") for n in range(22)))
    assert triggers.events(10)(moment(events=new[2:], checkpoint=after)) is not None


def test_control_events_are_no_events() -> None:
    rows = numbered(*(Event(role="control") for _ in range(50)), user("Hello."))
    assert triggers.events(2)(moment(events=rows)) is None


def test_the_share_is_that_of_the_running_model_at_every_request() -> None:
    rule = triggers.share(0.5)
    assert rule(moment(70_000, window=200_000)) is None
    assert rule(moment(70_000, window=128_000)) is not None


def test_the_share_is_counted_as_the_provider_counts() -> None:
    rule, counts = triggers.share(0.5), (Sample(10_000, 12_500), Sample(20_000, 25_000))
    assert rule(moment(77_000 - 1, usages=counts)) is None
    assert rule(moment(77_000, usages=counts)) is not None, "80,000 of ours are 100,000 of theirs"


def test_a_static_prefix_that_is_as_large_as_the_share_never_fires_by_itself() -> None:
    rule = triggers.share(0.5)
    assert rule(moment(40_000, static=100_000)) is None
    assert rule(moment(40_000, static=99_999)) is not None


def test_a_scope_that_has_sent_nothing_is_not_idle() -> None:
    assert triggers.idle(1)(moment(now=1e9)) is None


def test_a_pause_is_used_once() -> None:
    """A compaction between two requests has used it; the next request ends it."""
    rule = triggers.idle(60)
    waiting: dict[str, Any] = {"last_time": 1_000.0, "now": 2_000.0}
    assert rule(moment(**waiting, checkpoint=made(time=900.0))) is not None
    assert rule(moment(**waiting, checkpoint=made(time=1_500.0))) is None
    assert rule(moment(last_time=2_000.0, now=1_000.0)) is None, "a clock that was set back"


# -- one's own, with the caller's context


@pytest.mark.parametrize(
    ("answer", "text"),
    [(True, "by_tenant asked for it"), ("the tenant is small", "the tenant is small"), (False, None), (None, None)],
)
def test_a_function_may_answer_with_a_word_or_a_text(answer: Any, text: str | None) -> None:
    def by_tenant(at: Moment) -> Any:
        return answer if at.context["tenant"] == "small" else None

    rule = triggers.custom(by_tenant)
    reason = rule(moment(context={"tenant": "small"}))
    assert (reason.text if reason else None) == text
    assert rule(moment(context={"tenant": "large"})) is None


def test_a_function_that_answers_with_something_else_is_named() -> None:
    with pytest.raises(PolicyError, match="by_tenant returned 5"):
        triggers.custom(lambda at: 5, "by_tenant")(moment())  # type: ignore[arg-type,return-value]


def test_a_plain_function_is_a_trigger() -> None:
    policy = Policy.coding(triggers=lambda at: Reason("mine", 1, 1, "because") if at.context.get("now") else None)
    at = moment(30_000)
    args = (at.view, policy, at.room, at.sizes, 0.0, False)
    assert due(*args) is None
    assert due(*args, context={"now": True}) == Reason("mine", 1, 1, "because")


# -- put together


def yes(name: str) -> Rule:
    return triggers.custom(lambda at: f"{name} says so", name)


def no(name: str) -> Rule:
    return triggers.custom(lambda at: None, name)


def test_the_reason_names_every_part_that_fired() -> None:
    both = triggers.any_of(yes("a"), no("b"), yes("c"))(moment())
    assert both is not None
    assert (both.trigger, both.text) == ("a, c", "a says so, c says so")
    all_three = triggers.all_of(yes("a"), yes("b"))(moment())
    assert all_three is not None
    assert (all_three.trigger, all_three.text) == ("a and b", "a says so and b says so")
    assert triggers.all_of(yes("a"), no("b"))(moment()) is None
    assert triggers.any_of(no("a"), no("b"))(moment()) is None


def test_they_nest_and_say_what_they_are() -> None:
    rule = triggers.any_of(triggers.rent(), triggers.all_of(triggers.events(40), triggers.idle(1_800)))
    assert rule.name == "any_of(rent(), all_of(events(40), idle(1,800)))"
    nested = triggers.any_of(no("a"), triggers.all_of(yes("b"), yes("c")))(moment())
    assert nested is not None
    assert nested.trigger == "b and c"


@given(st.recursive(st.booleans(), lambda inner: st.tuples(st.booleans(), st.lists(inner, min_size=1, max_size=3))))
def test_any_and_all_are_the_words_they_say(tree: Any) -> None:
    def build(node: Any) -> tuple[Rule, bool]:
        if isinstance(node, bool):
            return (yes("y") if node else no("n")), node
        every, parts = node
        built = [build(part) for part in parts]
        rule = (triggers.all_of if every else triggers.any_of)(*(one for one, _ in built))
        return rule, (all if every else any)(value for _, value in built)

    rule, expected = build(tree)
    assert (rule(moment()) is not None) is expected


# -- what stands above them


def outcome(at: Moment, policy: Policy, **more: Any) -> str:
    view = msgspec.structs.replace(at.view, **more)
    found = due(view, policy, at.room, at.sizes, at.now, False)
    return found.trigger if found else ""


def test_no_trigger_fires_on_what_is_too_small_or_would_gain_nothing() -> None:
    policy = Policy.coding(triggers=yes("always"))
    assert outcome(moment(14_999), policy) == ""
    assert outcome(moment(16_000), policy) == "", "it lands at 16,000"
    assert outcome(moment(17_599), policy) == "", "a tenth of the landing must go"
    assert outcome(moment(17_600), policy) == "always"


def test_the_cap_needs_no_trigger() -> None:
    assert outcome(moment(154_000), Policy.coding(triggers=no("never"))) == "cap"


def test_a_minimum_reclaim_holds_every_trigger_but_the_cap() -> None:
    policy = Policy.coding(triggers=yes("always"), pace={"minimum_reclaim": 1.0})
    assert outcome(moment(31_999), policy) == ""
    assert outcome(moment(32_000), policy) == "always"
    wide = policy.replace(pace={"minimum_reclaim": 50.0})
    assert outcome(moment(150_000), wide) == ""
    assert outcome(moment(154_000), wide) == "cap"


def test_the_policy_may_ask_for_a_size_though_prices_are_known() -> None:
    priced = Policy.coding(prices=A5M)
    assert outcome(moment(60_000, policy=priced), priced.replace(pace={"rule": "size"})) == "size"
    assert outcome(moment(60_000, policy=priced), priced) == "", "no rent was paid yet"


# -- what they say of the future


def test_the_next_compaction_is_where_the_first_size_is_reached() -> None:
    at = moment()

    def expected(rule: Rule) -> int:
        return expected_next(Policy.coding(triggers=rule), at.room, at.sizes)[0]

    assert expected(triggers.tokens(20_000)) == 23_000
    assert expected(triggers.any_of(triggers.tokens(20_000), triggers.share(0.1), triggers.events(5))) == 20_000
    assert expected(triggers.all_of(triggers.tokens(20_000), triggers.share(0.2))) == 40_000
    assert expected(triggers.tokens(100)) == 18_000, "nothing below 15,000"
    assert expected(triggers.events(5)) == at.room.cap + 3_000
    assert "no size tells" in expected_next(Policy.coding(triggers=triggers.events(5)), at.room, at.sizes)[1]
    assert expected(triggers.rent()) == 51_000


def test_the_rent_point_counts_among_others() -> None:
    at = moment(policy=Policy.coding(prices=A5M))
    alone = expected_next(Policy.coding(prices=A5M), at.room, at.sizes, 1_000)[0]
    rules = triggers.any_of(triggers.rent(), triggers.tokens(100_000))
    assert expected_next(Policy.coding(prices=A5M, triggers=rules), at.room, at.sizes, 1_000)[0] == alone


# -- a static prefix over the trigger


@pytest.mark.parametrize(
    ("rule", "static", "said"),
    [
        (None, 47_999, ""),
        (None, 48_000, "size()"),
        (triggers.tokens(20_000), 20_000, "tokens(20,000)"),
        (triggers.any_of(triggers.rent(), triggers.share(0.25)), 50_000, "share(0.25)"),
        (triggers.events(5), 120_000, ""),
    ],
)
def test_a_static_prefix_over_a_trigger_is_named(rule: Rule | None, static: int, said: str) -> None:
    policy = Policy.coding(triggers=rule)
    found = static_warning(policy, room(Frame(window=200_000, static_tokens=static), policy))
    assert (said in found and f"{static:,}" in found) if said else found == ""


def test_a_small_window_whose_cap_rules_anyway_is_not_warned_of() -> None:
    assert static_warning(Policy.coding(), room(Frame(window=16_000, static_tokens=8_000), Policy.coding())) == ""
    priced = Policy.coding(prices=A5M)
    assert static_warning(priced, room(Frame(window=200_000, static_tokens=90_000), priced)) == "", "rent has no size"


def test_a_rule_is_asked_with_whole_messages_in_view() -> None:
    """The moment carries the view, so a function can look at the events themselves."""
    rule = triggers.custom(lambda at: any("deploy" in event.text for event in at.view.events), "deployed")
    rows = numbered(user("Please deploy."), assistant("Done."))
    assert rule(moment(events=rows)) is not None
    assert rule(moment(events=rows[1:])) is None


def test_an_error_in_a_trigger_is_the_callers_and_names_the_trigger() -> None:
    class Unreadable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    def by_tenant(at: Moment) -> Reason | None:
        raise Unreadable

    for trigger in (
        triggers.custom(by_tenant),
        triggers.any_of(triggers.events(90), by_tenant),
        triggers.all_of(by_tenant, triggers.events(1)),
        Rule("by_tenant", by_tenant),
    ):
        with pytest.raises(PolicyError, match=r"by_tenant\)? failed \(Unreadable") as caught:
            trigger(moment())
        assert isinstance(caught.value.__cause__, Unreadable)
