"""Noise that code recognises, what a terminal would show, and what cleanup does with poll loops and heartbeats."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark import kinds
from foldmark.checkpoint import Mark
from foldmark.cleanup import clean
from foldmark.events import Event, Text, ToolCall, assistant, chained, injected, result, user
from foldmark.kinds.noise import is_progress
from foldmark.kinds.terminal import on_screen
from foldmark.policy import Policy
from foldmark.tokens import count, event_tokens
from truth import untruths


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("10%\r50%\r100% done\nnext\r\n", "100% done\nnext\r\n"),
        ("\x1b[1;31merror\x1b[0m: x", "error: x"),
        ("\x1b]8;;http://example.com\x1b\\click\x1b]8;;\x1b\\ here", "click here"),
        ("\x1b]0;a title\x07ok", "ok"),
        ("\x1b]0;never ended\nnext line", "\nnext line"),
        ("N\bNA\bAME", "NAME"),
        ("\b\bx", "x"),
        (
            "Receiving objects:  50% (1/2)\rReceiving objects: 100% (2/2), done.\r\n",
            "Receiving objects: 100% (2/2), done.\r\n",
        ),
        ("Downloading\r\x1b[KInstalled\n", "Installed\n"),
        ("\x1b[2K\x1b[1Gstep 2\x1b[2K\x1b[1Gstep 3", "step 3"),
        ("a\x1b[3Cb", "a   b"),
        ("\x1bPq#sixel\x1b\\z", "z"),
        ("\x9b31mred\x9b0m", "red"),
        ("\x1b[?25l\x1b[2J\x1b[Hmenu\x1b(B", "menu"),
        ("\x1b[", ""),
        ("one\rtwo\rthree", "one␍two␍three"),
        ("plain\ttext\n", "plain\ttext\n"),
    ],
)
def test_a_terminal_shows_the_last_state_of_a_line_and_no_sequence(text: str, shown: str) -> None:
    assert on_screen(text) == shown


PIECES = st.sampled_from(
    (
        *(
            "word",
            " ",
            "\n",
            "\r",
            "\r\n",
            "\b",
            "12%",
            "\x1b[31m",
            "\x1b[0m",
            "\x1b[2K",
            "\x1b[1G",
            "\x1b[99C",
            "\x1b[A",
        ),
        *(
            "\x1b]8;;http://x\x1b\\",
            "\x1b]0;t\x07",
            "\x1b]",
            "\x1bP",
            "\x1b[",
            "\x1b",
            "\x9b",
            "\x9d",
            "\x00",
            "é",
            "\ud800",
        ),
    )
)


@given(st.lists(PIECES, max_size=60).map("".join), st.integers(20, 80))
def test_no_control_sequence_reaches_a_preview_or_an_outcome_and_lines_stay_lines(text: str, budget: int) -> None:
    shown = kinds.clean_text(text)
    assert len(shown) <= len(text)
    assert shown.count("\n") == text.count("\n")
    assert kinds.clean_text(shown) == shown
    call = ToolCall("c", "bash", '{"command":"make"}')
    for said in (shown, kinds.preview(text, call, budget, count), kinds.outcome(text, call)):
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]", said)
        assert "\r" not in said.replace("\r\n", "\n").rstrip("\r")


@pytest.mark.parametrize(
    "unit", ["\r", "\x1b", "\x1b[", "\x1b]8", "a\b", "a\r", "\r\x1b[0m", "\x9b", "\x1b[0;", "\x1b[0m\r"]
)
def test_sequences_without_end_are_passed_over(unit: str) -> None:
    assert "\x1b" not in kinds.clean_text(unit * 100_000 + "\x1b[0m")


def test_colours_hide_no_error_from_a_preview() -> None:
    text = "step\n" * 400 + "\x1b[1m\x1b[31merror\x1b[0m\x1b[1m: mismatched types\x1b[0m\n" + "step\n" * 400
    call = ToolCall("c", "bash", '{"command":"cargo build"}')
    shown = kinds.preview(text, call, 120, count)
    assert "error: mismatched types" in shown
    assert untruths(text, shown) == []
    assert "error: mismatched types" in kinds.outcome(text, call)


def test_progress_that_writes_over_itself_is_one_line() -> None:
    text = "start\n" + "".join(f"{n:3}% |{'#' * (n // 4)}\r" for n in range(101)) + "\ndone\n"
    assert kinds.preview(text, None, 500, count) == f"start\n100% |{'#' * 25}\r\ndone\n"


@pytest.mark.parametrize(
    "text",
    [
        *("", " \n\n", "42%", "....", "####>     ", "Collecting a\nDownloading a.whl (3 kB)\n 50% |#####     |\n"),
        *("heartbeat\nheartbeat\n", "ping", ": keepalive", '{"type": "ping"}\n{"type": "ping"}', "event: ping"),
        *("3f0a1b2c3d4e: Pull complete\n", "Receiving objects: 10% (1/9)\rReceiving objects: 100% (9/9), done.\n"),
    ],
)
def test_blanks_progress_and_heartbeats_are_noise(text: str) -> None:
    assert kinds.is_noise(text)


@pytest.mark.parametrize(
    "text",
    [
        *("ok", "done", "0", "✓", "Collecting a\nERROR: no match\n", "50% of the users left", "ping failed", "no"),
        *("Waiting for your approval", '{"type": "pong", "error": {"code": 3}}', "12% |##| then error: disk full\nx"),
    ],
)
def test_whatever_could_matter_is_no_noise(text: str) -> None:
    assert not kinds.is_noise(text)


def test_a_progress_line_is_told_in_linear_time() -> None:
    for line in (" " * 100_000 + "x", "1" * 100_000, "% " * 50_000, "- " * 50_000 + "x"):
        assert not is_progress(line) or not line.strip("- %")


@pytest.mark.parametrize(
    "text",
    [
        "Still running... 12s",
        "Build in progress: 3/12 (25%)",
        "status: pending",
        '{"status":"IN_PROGRESS","errors":0}',
        "not finished yet, waiting",
    ],
)
def test_a_status_only_says_that_something_is_on_its_way(text: str) -> None:
    assert kinds.is_status(text)


@pytest.mark.parametrize(
    "text",
    [
        "done",
        "running 3 tests, 1 failed",
        "pod running\nerror: disk full",
        "finished after running 3 s",
        "running\n" * 40,
        "x" * 9_000 + " running",
        "",
    ],
)
def test_an_end_an_error_or_a_long_text_is_no_status(text: str) -> None:
    assert not kinds.is_status(text)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("Still running... 12s", "Still running..... 360s", True),
        ("[####    ] 40% building", "[######  ] 60% building", True),
        ("pending: a", "pending: b", False),
        ("queued", "running", False),
    ],
)
def test_two_polls_are_alike_when_only_numbers_and_bars_differ(one: str, other: str, is_same: bool) -> None:
    assert (kinds.status_shape(one) == kinds.status_shape(other)) is is_same


# What cleanup does with it.

POLICY = Policy.coding(cleanup={"keep_results": 0, "keep_rounds": 1, "demote": False})
STATUS = (
    "Deployment shop-api in region eu-west-1, revision green, strategy rolling update, namespace payments-production\n"
    "pods   {0} of 40 updated, {0} of 40 ready, image registry.example.com/payments/shop-api\n"
    "Still in progress, waiting for the rollout ({1}s)"
)


def log(*events: Event) -> list[Event]:
    return chained(
        [msgspec.structs.replace(event, seq=n, tokens=event_tokens(event)) for n, event in enumerate(events, 1)]
    )


def polls(texts: Sequence[str], name: str = "check_rollout", arguments: str = '{"name":"shop-api"}') -> list[Event]:
    return [
        event
        for n, text in enumerate(texts)
        for event in (assistant("", ToolCall(f"p{n}", name, arguments)), result(f"p{n}", text, name=name))
    ]


def cleaned(events: list[Event], policy: Policy = POLICY) -> tuple[list[Event], dict[int, str]]:
    found, changes = clean(events, Mark(seq=events[-1].seq), policy)
    return found, {change.seq: change.reason for change in changes}


def test_a_poll_loop_keeps_its_first_and_last_status_and_counts_those_between() -> None:
    events = log(user("Deploy."), *polls([STATUS.format(n, n * 10) for n in range(9)]))
    found, why = cleaned(events)
    assert sorted(why) == [5, 7, 9, 11, 13, 15, 17]
    assert [event.calls for event in found] == [event.calls for event in events]
    assert found[2] == events[2]
    assert found[18] == events[18]
    assert found[4].text == "[poll 2 of 9, like event:19: Still in progress, waiting for the rollout (10s)]"
    assert [event.result.call_id for event in found if event.result] == [f"p{n}" for n in range(9)]


def test_another_answer_between_two_polls_ends_the_loop() -> None:
    texts = [STATUS.format(n, n) for n in range(3)]
    events = log(user("Deploy."), *polls([*texts, "error: quota exceeded", *texts]))
    _, why = cleaned(events)
    assert sorted(why) == [5, 13]
    assert why[5] == "poll 2 of 3, like event:7"


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("check_rollout", [STATUS.format(n, n) for n in range(2)]),  # a first and a last
        ("check_rollout", [STATUS.format(n, n) + f" on host {'abc'[n]}" for n in range(3)]),  # another state each time
        ("check_rollout", [STATUS.format(n, n).replace("Still in progress", "Finished") for n in range(3)]),
        ("mystery", [STATUS.format(n, n) for n in range(5)]),  # nobody knows whether it can be had again
        ("get_price", [STATUS.format(n, n) + f" price {n}.50 EUR" for n in range(5)]),  # another one each time
    ],
)
def test_what_is_no_loop_of_one_state_stays(name: str, texts: list[str]) -> None:
    found, why = cleaned(log(user("Deploy."), *polls(texts, name)))
    assert why == {}
    assert [event.result.text for event in found if event.result] == texts


def test_polls_shorter_than_the_line_that_would_stand_for_them_stay() -> None:
    assert cleaned(log(user("Go."), *polls([f"running {n}s" for n in range(9)])))[1] == {}


def test_heartbeats_and_notices_of_progress_leave_and_the_users_words_never() -> None:
    events = log(
        user("heartbeat"),
        injected("heartbeat"),
        injected("40% of the index is built", meta={"kind": "progress"}),
        injected("Remember the schema."),
        assistant("Done."),
    )
    found, why = cleaned(events)
    assert [event.text for event in found] == ["heartbeat", "Remember the schema.", "Done."]
    assert sorted(why) == [2, 3]


def test_stream_deltas_leave_when_a_later_answer_holds_their_words() -> None:
    delta = {"meta": {"kind": "stream_delta"}}
    events = log(user("Hi."), assistant("Good ", **delta), assistant("morning", **delta), assistant("Good morning."))
    found, why = cleaned(events)
    assert [event.text for event in found] == ["Hi.", "Good morning."]
    assert why == {2: "stream delta, whole in event:4", 3: "stream delta, whole in event:4"}


def test_a_delta_that_nothing_repeats_stays() -> None:
    delta = {"meta": {"kind": "stream_delta"}}
    events = log(user("Hi."), assistant("Good ", **delta), assistant("evening", **delta), assistant("Good morning."))
    assert [event.text for event in cleaned(events)[0]] == ["Hi.", "evening", "Good morning."]


def test_a_pinned_heartbeat_stays() -> None:
    events = log(user("Hi."), injected("heartbeat"), assistant("Done."))
    assert clean(events, Mark(seq=3, pins=(2,)), POLICY)[0] == events


NOISY = st.lists(
    st.one_of(
        st.builds(lambda n: ("poll", STATUS.format(n, n)), st.integers(0, 40)),
        st.sampled_from(
            [
                ("poll", "error: quota"),
                ("beat", "heartbeat"),
                ("delta", "Good "),
                ("say", "Good morning."),
                ("user", "Go on."),
            ]
        ),
    ),
    max_size=24,
)


@given(NOISY, st.integers(0, 50), st.integers(0, 50))
def test_noise_is_cleaned_once_with_whole_pairs_and_from_marked_events_only(
    made: list[tuple[str, str]], seq: int, more: int
) -> None:
    events: list[Event] = []
    for n, (what, text) in enumerate(made):
        if what == "poll":
            call = ToolCall(f"p{n}", "check_rollout", json.dumps({"name": "shop-api"}))
            events += [assistant("", call), result(call.id, text, name=call.name)]
        elif what == "beat":
            events.append(injected(text))
        elif what == "delta":
            events.append(assistant(text, meta={"kind": "stream_delta"}))
        else:
            events.append(user(text) if what == "user" else assistant(text))
    events = log(*events)
    found, changes = clean(events, Mark(seq=seq), POLICY)
    assert clean(found, Mark(seq=seq), POLICY)[0] == found
    assert [event for event in found if event.seq > seq] == [event for event in events if event.seq > seq]
    part = clean([event for event in events if event.seq <= max(seq, more)], Mark(seq=seq), POLICY)[0]
    assert found[: len(part)] == part
    pairs = [(call.id, "call") for event in events for call in event.calls]
    assert [(call.id, "call") for event in found for call in event.calls] == pairs
    assert [event.result.call_id for event in found if event.result] == [one for one, _ in pairs]
    gone = {event.seq for event in events} - {event.seq for event in found}
    assert all(all(isinstance(part, Text) for part in events[n - 1].parts) and not events[n - 1].is_user for n in gone)
    assert {change.seq for change in changes} >= gone
