"""LOOP: compactions that start again and again, gain nothing, or never stop."""

from __future__ import annotations

import itertools
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scenes import EVERY_WIRE, RAW, SMALL, checked, checked_on_all, fresh, lines_of, pair, pairs_of, text_of

from foldmark import BudgetExceeded, Policy, PolicyError, Session
from foldmark.events import assistant, injected, user
from foldmark.wire import openai_chat, overflow

UNTOUCHED = {"demote": False, "superseded": False, "duplicates": False}
"""Cleanup that shrinks nothing, so that only compactions can."""


def applied(session: Session) -> int:
    return len(session.control.history())


def test_a_static_prefix_over_the_cap_is_named_as_the_cause() -> None:
    """S-LOOP-01: 155K of rules in a 200K window with 44K of room left for nothing: one typed error, no loop."""
    session = fresh(Policy.coding())
    session.record(user("Hello."), *pairs_of(5, 300))
    rules = "Always write the test first. " * 29_000
    with pytest.raises(PolicyError, match="static prefix") as raised:
        session.request(system=rules, window=200_000)
    assert "200,000" in str(raised.value)
    assert session.control.history() == []


def test_a_large_static_prefix_does_not_compact_at_every_turn() -> None:
    """S-LOOP-01: the prefix counts in the size, never in what a compaction could remove."""
    session = fresh(Policy.coding())
    rules = "Always write the test first. " * 23_000  # about 138K tokens, more than most triggers
    session.record(user("Hello."))
    for number in range(30):
        session.record(*pair(number, 300))
        checked(session, system=rules, window=200_000)
    assert applied(session) == 0


@example(window=40_000, max_output=32_000)
@given(st.integers(3_000, 60_000), st.integers(0, 60_000))
def test_hello_in_a_fresh_session_never_compacts(window: int, max_output: int) -> None:
    """S-LOOP-02: whatever window and output limit, one small message is not due; a senseless pair is an error."""
    session = fresh(Policy.coding())
    session.record(user("hi"))
    outcomes = []
    with suppress(PolicyError):
        request = session.request(window=window, max_output=max_output, wire=openai_chat)
        assert request.payload()["messages"] == [{"role": "user", "content": "hi"}]
        outcomes.append(request.report.outcome)
    assert outcomes == ["not_due"] or window - max_output < 6_000
    assert session.control.history() == []


def test_rules_read_again_after_a_compaction_do_not_start_the_next() -> None:
    """S-LOOP-03: 45K of rules injected behind every compaction; no second one in the same turn."""
    session = fresh(Policy.coding(window=100_000, cleanup=UNTOUCHED))
    rules = "\n".join(f"Rule {n}: name things for what they are, case {n}." for n in range(3_200))
    session.record(user("Begin."))
    for number in range(60):
        session.record(*pair(number, 1_500))
        request = checked(session)
        if request.report.outcome == "applied":
            session.record(injected(rules))
            assert session.request(wire=openai_chat).report.outcome == "not_due"
    assert 1 <= applied(session) <= 6


def test_a_compaction_lands_well_under_the_trigger() -> None:
    """S-LOOP-04: what lands leaves room for turns; two compactions never follow on two turns."""
    session = fresh(Policy.coding(window=60_000, cleanup=UNTOUCHED))
    session.record(user("Begin."))
    outcomes = []
    for number in range(120):
        session.record(*pair(number, 900), user(f"Go on with step {number}."))
        outcomes.append(checked(session).report.outcome)
    due = [at for at, outcome in enumerate(outcomes) if outcome == "applied"]
    assert len(due) >= 1
    assert all(later - earlier > 3 for earlier, later in itertools.pairwise(due))


@settings(max_examples=15)
@example([2_000] * 20, 3_000, 8_192, 0).via("S-LOOP-04: it lands just under the trigger")
@example([900] * 12, 40_000, 128_000, 800).via("S-LOOP-04: a gauge of more than all of it")
@given(
    sizes=st.lists(st.integers(1, 3_000), min_size=1, max_size=15), target=st.integers(1_500, 40_000),
    window=st.integers(8_192, 200_000), rules=st.integers(0, 400),
)  # fmt: skip
def test_the_gauge_stands_between_nothing_and_all_of_it_and_rises_until_something_goes(
    sizes: list[int], target: int, window: int, rules: int
) -> None:
    """S-LOOP-04: whatever comes and whatever is compacted, the share of the room in use is a share; it falls only when
    something went, and in a request that is full it is one."""
    session = fresh(Policy.coding(budget={"target_tokens": target}, admission=RAW, cleanup=UNTOUCHED, window=window))
    session.record(user("Begin."))
    before = 0.0
    for number, size in enumerate(sizes):
        session.record(*pair(number, size))
        with suppress(BudgetExceeded):
            request = checked(session, system="Rule. " * (rules // 2), max_output=1_000)
            now = request.used_share
            assert 0.0 < now <= 1.0
            assert abs(now - request.tokens.total / request.ceiling) < 1e-9
            assert now > before or request.report.outcome != "not_due" or request.report.changes
            before = now


def test_a_round_that_no_compaction_can_shrink_is_not_tried_at_every_turn() -> None:
    """S-LOOP-04: two vain attempts do not become thirty."""
    session = fresh(Policy.coding(window=60_000, admission={**RAW, "user_words_tokens": 1_000_000}))
    session.record(user("Keep this in mind: " + "the ledger has rows and columns. " * 6_900))
    for number in range(25):
        session.record(*pair(number, 60))
        checked(session)
    tried = session.store.view(session.key).attempts
    assert len(tried) <= 4, [attempt.outcome for attempt in tried]


def test_a_pass_that_removes_nothing_says_so_and_the_caller_gets_an_error() -> None:
    """S-LOOP-05: five events, all of the current request: ineffective, then BudgetExceeded, never a retry."""
    session = fresh(Policy.coding(window=6_000, admission={**RAW, "user_words_tokens": 1_000_000}))
    session.record(user("word " * 5_700))
    report = session.compact(force=True, max_output=900)
    assert report.outcome == "ineffective"
    assert "no whole round" in report.text
    for _ in range(5):
        with pytest.raises(BudgetExceeded):
            session.request(max_output=900)
    assert applied(session) == 0


@pytest.mark.parametrize("share", [0.0, 0.35, 0.9])
def test_a_tail_as_large_as_the_window_does_not_loop(share: float) -> None:
    """S-LOOP-06: an 8K window and file reads of 12K tokens: every request fits, compactions stay rare."""
    session = fresh(Policy.coding(window=8_192, tail={"share": share}))
    session.record(user("Read the five files and compare them."))
    for number in range(40):
        session.record(*pair(number, 12_000))
        request = checked(session, max_output=1_000)
        assert request.tokens.tail > 0
        assert "Read the five files" in text_of(request.payload())
    assert applied(session) <= 20


@settings(max_examples=20)
@example(sizes=[1, 1, 1, 1, 132, 143, 154, 187, 209, 374], force=True)
@given(st.lists(st.integers(1, 400), min_size=1, max_size=15), st.booleans())
def test_an_applied_compaction_always_shrinks_measured_with_one_counter(sizes: list[int], force: bool) -> None:
    """S-LOOP-07: tokens go down or the original stays; the report's size is the size of the request that goes out."""
    session = fresh(SMALL.replace(admission=RAW, window=30_000))
    session.record(user("Begin."))
    for number, size in enumerate(sizes):
        session.record(*pair(number, size))
    before = session.request(wire=openai_chat) if not force else session.peek(openai_chat)
    report = session.compact(force=force)
    if report.outcome == "applied":
        assert report.after < report.before
        assert session.peek(openai_chat).tokens.total == report.after
    else:
        assert session.peek(openai_chat).payload() == before.payload()


def test_over_the_hard_limit_there_is_always_a_way_down() -> None:
    """S-LOOP-08: a history over the window is brought under it, whatever the compaction thinks of its gain."""
    session = fresh(Policy.coding(admission=RAW, cleanup=UNTOUCHED, run="manual"))
    session.record(user("Why is the total wrong?"), *pairs_of(120, 500))
    whole = session.request(window=200_000, wire=openai_chat).tokens.total
    assert whole > 60_000
    for request in checked_on_all(session, window=40_000):
        assert "Why is the total wrong?" in text_of(request.payload())
        shed = [change for change in request.report.changes if change.status in ("demoted", "left_out")]
        assert shed, "what went must be listed"


@pytest.mark.parametrize("wire", EVERY_WIRE, ids=lambda wire: wire.NAME)
def test_what_we_wrote_ourselves_does_not_push_the_context_up_again(wire: Any) -> None:
    """S-LOOP-10: the caller re-sends our own checkpoint and markers twenty times; the log holds none of it."""
    session = fresh(Policy.coding(budget={"target_tokens": 6_000}, admission=RAW))
    session.record(user("Fix the duplicate charges."), *pairs_of(40, 300))
    sizes, events = [], session.store.view(session.key).head
    for number in range(20):
        messages = checked(session, wire, window=128_000).payload()[wire.MESSAGES]
        mine = wire.write("", [], [user("x"), assistant(f"Answer {number}."), user(f"And {number}?")])[wire.MESSAGES]
        followed = session.follow([*messages, *mine[1:]], wire=wire)
        assert len(followed.new) == 2
        events += 2
        assert session.store.view(session.key).head == events
        sizes.append(session.compact(force=True).after)
    assert max(sizes) <= 6_000
    assert text_of(session.peek(wire).payload()).count("<foldmark-checkpoint ") == 1


def test_injected_text_is_never_kept_as_the_users_words() -> None:
    """S-LOOP-10: a synthetic continuation is not the current request after a compaction."""
    session = fresh()
    session.record(user("Fix the duplicate charges."), *pairs_of(20, 150))
    session.record(injected("Continue from where you left off. " * 8), *pairs_of(2, 150, start=90))
    assert session.compact(force=True).outcome == "applied"
    checkpoint = session.control.history()[-1]
    log = session.store.log(session.key)
    assert checkpoint.kept
    assert all(log[seq - 1].is_user for seq in checkpoint.kept)
    said = next(section for section in checkpoint.sections if section.title == "Goal")
    assert "Continue from where" not in str(said)


class Refusal(Exception):
    def __init__(self, status: int, message: str = "") -> None:
        super().__init__(message)
        self.status_code = status


@pytest.mark.parametrize(
    "error",
    [
        Refusal(429),
        Refusal(429, "Rate limit reached: 200000 tokens per minute"),
        Refusal(500),
        Refusal(503, "overloaded"),
        Refusal(401, "bad key"),
        Refusal(529),
        TimeoutError("timed out"),
        ConnectionError("reset"),
        Refusal(429, "Too many tokens, please wait before trying again."),
        {"error": {"code": 429, "message": ""}},
        "",
        {},
    ],
)
def test_a_rate_limit_is_never_taken_for_an_overflow(error: object) -> None:
    """S-LOOP-11: status 429 with an empty body, server errors, timeouts and bad keys never mean too long."""
    assert overflow(error) is None


def test_the_checks_of_this_file_see_a_compaction() -> None:
    """The counter of this file can count: the same session under a small trigger does compact."""
    session = fresh(
        Policy.coding(budget={"trigger_tokens": 4_000, "nothing_below": 1_000, "landing_tokens": 1_500}, admission=RAW)
    )
    session.record(user("Begin."), *pairs_of(20, 400), user(lines_of(20)))
    checked(session, window=128_000)
    assert applied(session) == 1
