"""Where the checkpoint stands in a request: every head before every tail, in every layout, on every wire."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count as numbers
from itertools import pairwise
from typing import Any

import pytest

from foldmark import MemoryStore, Policy, Session
from foldmark.assembly import assemble
from foldmark.budget import room
from foldmark.checkpoint import Checkpoint, Line, Section
from foldmark.drafts import MESSAGE_OVERHEAD, Request, cost, static_tokens
from foldmark.errors import PolicyError
from foldmark.events import Event, Text, ToolCall, assistant, injected, result, user
from foldmark.fitting import fit
from foldmark.merging import MERGED, merged
from foldmark.options import Layout
from foldmark.render import TAG, render
from foldmark.reports import Report
from foldmark.store import Frame
from foldmark.tokens import count
from foldmark.wire import VARIANTS, WIRES
from making import long_session, numbered, tool_round
from wire_pairs import broken_pairs

ALL = [*WIRES, *VARIANTS]
ALTERNATE = ("anthropic", "gemini", "openai-chat-strict")
"""Wires on which the user begins and user and assistant take turns."""
SYSTEM = "Be exact."
TEXT = render(2, 9, [Section("Goal", (Line("Fix the ledger.", (1,)),))], (), ())
CHECKPOINT = Checkpoint(version=2, boundary=9, text=TEXT, tokens=count(TEXT))


def framed(text: str) -> str:
    return f"It may be out of date.\n{text}\nThe talk below wins."


def blank(_: str) -> str:
    return " \n"


LAYOUTS = {
    "user": Layout(),
    "user, merged": Layout(merge=True),
    "user, framed": Layout(format=framed),
    "user, framed and merged": Layout(format=framed, merge=True),
    "user, framed by nothing": Layout(format=blank, merge=True),
    "system": Layout(checkpoint="system"),
    "system, framed": Layout(checkpoint="system", format=framed),
    "system, framed by nothing": Layout(checkpoint="system", format=blank),
}
OLD = [
    user("The old request."),
    assistant("The port is 8443."),
    *tool_round(3, "covered"),
    *tool_round(4, "pinned output"),
]
HEADS: dict[str, tuple[bool, list[int]]] = {
    "no checkpoint": (False, []),
    "a checkpoint": (True, []),
    "with pins": (True, [2, 5, 6]),
    "with the current request": (True, [1]),
    "with both": (True, [1, 2, 6]),
}
CALLS = assistant("Two at once.", ToolCall("x", "read", "{}"), ToolCall("y", "bash", "{}"))
TAILS: dict[str, list[Event]] = {
    "nothing": [],
    "a user": [user("  Words of mine:\n<b>exactly</b>.")],
    "an injected text": [injected("[A notice of the host]")],
    "an answer": [assistant("An answer.")],
    "a step with calls": [CALLS, result("y", "two"), result("x", "one")],
    "a result whose call is covered": [result("c3", "late output", name="read")],
    "a system text of the log": [Event(role="system", origin="injected", parts=(Text("Rules of another time."),))],
}
MEETINGS = [(head, tail) for head, (is_there, _) in HEADS.items() for tail in TAILS if is_there or TAILS[tail]]
ROUNDS = [tail for tail in TAILS if TAILS[tail]]
"""A tail holds at least one round; only a store that was tampered with, or an import, leaves none."""


# -- what is asked of a payload, whatever its wire


def talk(payload: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """(role, texts) of every message; the items of a flat list by who says them."""
    found = payload.get("contents") or payload.get("input") or payload.get("messages") or ()
    return [(_role(one), list(_texts(one))) for one in found if one.get("role") not in ("system", "developer")]


def _role(message: Mapping[str, Any]) -> str:
    kind = str(message.get("type", "message"))
    said = {"function_call": "assistant", "function_call_output": "tool"}.get(kind) or message["role"]
    return "assistant" if said == "model" else str(said)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in ("role", "type", "id", "call_id", "tool_call_id", "tool_use_id", "name"):
                yield from _texts(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner)


def systems(payload: Mapping[str, Any]) -> list[str]:
    """Every system text of a payload, wherever the wire puts it."""
    held = [payload[key] for key in ("system", "instructions", "systemInstruction") if key in payload]
    held += [one["content"] for one in payload.get("messages", ()) if one["role"] in ("system", "developer")]
    return ["\n".join(_texts(one)) for one in held]


def words(payload: Mapping[str, Any]) -> str:
    return "\n".join([*systems(payload), *(text for _, texts in talk(payload) for text in texts)])


# -- the request of a head and a tail


def built(head: str, tail: Sequence[Event], layout: Layout, wire: Any, system: str = SYSTEM) -> Request:
    has_checkpoint, seqs = HEADS[head]
    log = numbered(*OLD, *(covered() for _ in range(9 - len(OLD))), *tail)
    kept = [event for event in log if event.seq in seqs]
    draft = assemble(CHECKPOINT if has_checkpoint else None, kept, log[9:], system, (), layout)
    space = room(Frame(window=50_000, static_tokens=static_tokens(system, ())), Policy())
    made = fit(draft, space, wire, Report(outcome="not_due", version=2, boundary=9))
    return merged(made) if layout.merge else made


def covered() -> Event:
    return assistant("Covered.")


def grown(tail: Sequence[Event]) -> list[list[Event]]:
    """The tail, and the tail after what a talk would add, twice."""
    ends_with_answer = bool(tail) and tail[-1].role == "assistant"
    more = (
        [user("Go on."), assistant("I do."), user("And?")] if ends_with_answer else [assistant("I do."), user("And?")]
    )
    return [[*tail], [*tail, *more[:-1]], [*tail, *more]]


@pytest.mark.parametrize(("head", "tail"), MEETINGS)
@pytest.mark.parametrize("wire", ALL, ids=lambda wire: str(wire.NAME))
def test_every_head_before_every_tail_is_a_conversation_that_the_provider_takes(
    wire: Any, head: str, tail: str
) -> None:
    """S-PAIR-16, S-PAIR-17 and S-PAIR-18: one system text, a user first, turns, no checkpoint of role assistant."""
    has_checkpoint, seqs = HEADS[head]
    for name, layout in LAYOUTS.items():
        payload = built(head, TAILS[tail], layout, wire).payload()
        said = talk(payload)
        roles = [role for role, _ in said]
        assert broken_pairs(wire, payload) == []
        assert said, f"{name}: the conversation is empty"
        if wire.NAME in ALTERNATE:
            assert roles[0] == "user", name
            assert all(a != b or a == "tool" for a, b in pairwise(roles)), f"{name}: {roles}"
        if has_checkpoint:
            assert roles[0] == "user", name
        if roles[-1] == "assistant":
            assert TAILS[tail][-1].role == "assistant", f"{name}: it ends with the assistant because of us"
        assert not [text for role, texts in said for text in texts if role == "assistant" and TAG in text]
        shows = has_checkpoint and layout.format is not blank
        assert words(payload).count(f"</{TAG}>") == words(payload).count("Reference only: ") == shows, name
        for event in TAILS[tail]:
            assert event.text in words(payload), f"{name}: {event.text!r} is not shown as it is"
        for seq in seqs:
            assert OLD[seq - 1].text in words(payload), f"{name}: the kept event {seq} is not shown"


@pytest.mark.parametrize("system", [SYSTEM, ""])
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("wire", ALL, ids=lambda wire: str(wire.NAME))
def test_there_is_never_a_second_system_text_and_the_callers_stands_in_front_unchanged(
    wire: Any, head: str, system: str
) -> None:
    for name, layout in LAYOUTS.items():
        for tail in filter(None, TAILS.values()):
            found = systems(built(head, tail, layout, wire, system).payload())
            record = HEADS[head][0] and layout.checkpoint == "system" and layout.format is not blank
            assert len(found) == bool(system or record), name
            assert "".join(found).startswith(system)
            if not record:
                assert found == ([system] if system else []), name
            elif layout.format is None:
                assert found == [f"{system}\n\n{TEXT}" if system else TEXT], name


@pytest.mark.parametrize("tail", ROUNDS)
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("wire", ALL, ids=lambda wire: str(wire.NAME))
def test_a_talk_that_goes_on_changes_nothing_of_what_was_sent(wire: Any, head: str, tail: str) -> None:
    """The stable prefix: system text and messages of one request stand in front of the next, in every layout."""
    for name, layout in LAYOUTS.items():
        sent: list[Any] = []
        for longer in grown(TAILS[tail]):
            payload = built(head, longer, layout, wire).payload()
            now = [systems(payload), *payload[wire.MESSAGES]]
            assert now[: len(sent)] == sent, name
            sent = now


@pytest.mark.parametrize("head", list(HEADS)[1:])
@pytest.mark.parametrize("tail", ["a user", "an injected text", "a result whose call is covered"])
@pytest.mark.parametrize("wire", ALL, ids=lambda wire: str(wire.NAME))
def test_merged_there_is_one_user_message_checkpoint_first_then_the_own_part(wire: Any, tail: str, head: str) -> None:
    for layout in (LAYOUTS["user, merged"], LAYOUTS["user, framed and merged"]):
        made = built(head, [*TAILS[tail], assistant("Yes.")], layout, wire)
        (role, texts), (after, _) = talk(made.payload())
        assert (role, after) == ("user", "assistant")
        assert texts[0].startswith(f"<{TAG} ")
        assert texts[-1].endswith(TAILS[tail][0].text)
        assert made.messages[0].seq == 10, "it stands for the event of the tail"


def test_merging_leaves_the_layouts_alone_that_have_no_message_to_merge_with() -> None:
    for layout in (LAYOUTS["system"], LAYOUTS["user, framed by nothing"]):
        made = built("with the current request", TAILS["a user"], layout, WIRES[0])
        assert [MERGED in message.meta for message in made.messages] == [False, False]
        assert [message.text for message in made.messages] == ["The old request.", TAILS["a user"][0].text]


# -- whole sessions


def story(layout: Mapping[str, Any], **options: Any) -> Session:
    """A session with one compaction whose tail begins with a user's message."""
    ticks = numbers(1_000, 5)
    budget = {"target_tokens": 3_000, "output_reserve": 0}
    policy = Policy.coding(layout=layout, budget=budget, run="manual", **options)
    made = Session("s", store=MemoryStore(), policy=policy, clock=lambda: float(next(ticks)))
    report = "\n".join(f"File {number} is done and checked." for number in range(300))
    made.record(*long_session(40), assistant(report), user("Which port?"), assistant("8443."), user("Why?"))
    assert made.compact(force=True, window=64_000).outcome == "applied"
    first = made.store.view(made.key).events[0]
    assert (first.text, first.seq) == ("Which port?", made.control.history()[-1].boundary + 1)
    return made


PLACES: dict[str, dict[str, Any]] = {
    "user": {},
    "merged": {"merge": True},
    "framed": {"format": framed},
    "framed and merged": {"format": framed, "merge": True},
    "system": {"checkpoint": "system"},
    "system, framed": {"checkpoint": "system", "format": framed},
    "framed by nothing": {"format": blank},
    "system, framed by nothing": {"checkpoint": "system", "format": blank},
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("wire", ALL, ids=lambda wire: str(wire.NAME))
def test_a_session_writes_as_many_user_messages_as_its_layout_says(wire: Any, place: str) -> None:
    payload = story(PLACES[place]).request(wire=wire, window=64_000, system=SYSTEM).payload()
    leading = [role for role, _ in talk(payload)].index("assistant")
    has_own = place in ("user", "framed") and wire.NAME not in ALTERNATE
    assert leading == (2 if has_own else 1)
    assert len(systems(payload)) == 1
    assert (TAG in systems(payload)[0]) == (place in ("system", "system, framed"))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("wire", ALL, ids=lambda wire: str(wire.NAME))
def test_what_we_wrote_comes_back_each_turn_and_only_what_is_new_is_recorded(wire: Any, place: str) -> None:
    """S-PAIR-08: neither the checkpoint nor its framing ever becomes the user's words, and the user's own stay."""
    made = story(PLACES[place])
    made.describe(system=SYSTEM)
    before = [event.text for event in made.store.log(made.key)]
    for turn in range(3):
        payload = made.request(wire=wire, window=64_000).payload()
        new = wire.write("", (), [user(f"Turn {turn}?")])[wire.MESSAGES]
        told = [one for one in payload[wire.MESSAGES] if one.get("role") != "system"]
        found = made.follow([*told, *new], wire=wire, system=systems(payload)[0])
        assert found.forked_at is None
        assert [event.text for event in found.new] == [f"Turn {turn}?"]
        assert made.system == SYSTEM
        made.record(assistant(f"Answer {turn}."))
    log = made.store.log(made.key)
    assert [event.text for event in log][: len(before)] == before
    assert len(log) == len(before) + 6
    assert not [event for event in log if TAG in event.text or "may be out of date" in event.text]


@pytest.mark.parametrize("place", ["merged", "framed and merged"])
@pytest.mark.parametrize("wire", ALL, ids=lambda wire: str(wire.NAME))
def test_an_answer_tried_again_behind_a_merged_message_keeps_the_users_words_and_nothing_of_ours(
    wire: Any, place: str
) -> None:
    logs = []
    for layout in (PLACES[place], PLACES["user"]):
        made = story(layout)
        payload = made.request(wire=wire, window=64_000).payload()[wire.MESSAGES]
        told = [one for one in payload if one.get("role") != "system"]
        answer = next(at for at, one in enumerate(told) if _role(one) == "assistant")
        other = wire.write("", (), [user("x"), assistant("9000, I think."), user("No.")])[wire.MESSAGES][1:]
        assert made.follow([*told[:answer], *other], wire=wire).forked_at is not None
        logs.append([(event.text, event.is_user) for event in made.store.log(made.key)])
    assert logs[0] == logs[1]
    assert logs[0][-3:] == [("Which port?", True), ("9000, I think.", False), ("No.", True)]
    assert not [text for text, _ in logs[0] if TAG in text]


@pytest.mark.parametrize("place", PLACES)
def test_the_size_is_counted_on_what_is_shown_and_the_report_of_the_compaction_names_it(place: str) -> None:
    made = story(PLACES[place])
    report = made.control.history()[-1]
    request = made.request(system=SYSTEM, window=64_000)
    joined = MESSAGE_OVERHEAD if MERGED in request.messages[0].meta else 0
    assert request.tokens.total == static_tokens(request.system, ()) + cost(request.messages) + joined
    shown = request.payload()
    assert ("may be out of date" in words(shown)) == ("framed" in place and "nothing" not in place)
    assert report.text.count(f"</{TAG}>") == 1


@pytest.mark.parametrize("place", PLACES)
def test_explain_gives_every_event_its_own_size_and_class(place: str) -> None:
    made = story(PLACES[place])
    made.request(window=64_000)
    boundary = made.control.history()[-1].boundary
    for entry, event in zip(made.explain(), made.store.log(made.key), strict=True):
        if event.seq > boundary:
            assert (entry.status, entry.tokens) == ("raw", event.tokens)


@pytest.mark.parametrize("place", PLACES)
def test_the_stored_events_are_the_same_after_any_request(place: str) -> None:
    made = story(PLACES[place])
    before = made.store.log(made.key)
    copies = [event.parts for event in before]
    for wire in ALL:
        made.request(wire=wire, window=64_000).payload()
    assert made.store.log(made.key) == before
    assert [event.parts for event in before] == copies


@pytest.mark.parametrize("checkpoint", ["user", "system"])
def test_a_framing_that_fails_sends_nothing_and_changes_nothing(checkpoint: str) -> None:
    def broken(_: str) -> str:
        raise RuntimeError("no template")

    made = story({"checkpoint": checkpoint})
    made.request(window=64_000)
    before = made.store.view(made.key)
    bad = made.policy.replace(layout={"checkpoint": checkpoint, "format": broken})
    for wrong in (lambda: made.request(policy=bad), lambda: made.compact(force=True, policy=bad)):
        with pytest.raises(PolicyError, match=r"layout\.format failed on compaction:\d+ \(.*no template"):
            wrong()
        assert made.store.view(made.key).state == before.state
        assert len(made.control.history()) == 1
    assert made.request(window=64_000).report.epoch == ""


@pytest.mark.parametrize("checkpoint", ["user", "system"])
def test_another_framing_is_a_break_of_the_prefix_and_named_as_one(checkpoint: str) -> None:
    made = story({"checkpoint": checkpoint, "format": framed})
    assert made.request(window=64_000).report.epoch
    made.record(assistant("Because."), user("Go."))
    assert made.request(window=64_000).report.epoch == ""
    other = made.policy.replace(
        layout={"checkpoint": checkpoint, "format": lambda text: framed(text)[::-1][::-1] + " "}
    )
    made.record(assistant("I go."), user("On."))
    assert made.request(window=64_000, policy=other).report.epoch == "the shown past changed"


def test_where_fit_drops_rounds_the_merged_words_stay_as_long_as_anything_else_can_go() -> None:
    made = story({"merge": True})
    made.record(*long_session(300, 8)[1:], user("What now?"))
    request = made.request(window=9_000)
    first, left = request.messages[0], _left_out(request)
    assert left
    assert request.report.epoch == "fit"
    assert f"</{TAG}>" in first.text
    assert first.text.endswith("Which port?")
    assert request.tokens.total <= request.ceiling
    assert "What now?" in words(request.payload())


def test_where_even_the_users_older_words_do_not_fit_they_leave_and_the_checkpoint_stays() -> None:
    made = story({"merge": True})
    for number in range(40):
        made.record(user(f"Word {number}. " * 300), assistant("Noted."))
    made.record(user("What now?"))
    request = made.request(window=9_000)
    left = _left_out(request)
    assert made.control.history()[-1].boundary + 1 in left
    assert f"</{TAG}>" in request.messages[0].text
    assert "Which port?" not in request.messages[0].text
    assert not left & {message.seq for message in request.messages}
    assert request.tokens.total <= request.ceiling
    assert request.messages[-1].text == "What now?"


def _left_out(request: Request) -> set[int]:
    return {change.seq for change in request.report.changes if change.status == "left_out"}


# -- how the options are kept


def test_a_framing_is_code_and_is_not_kept_with_a_session_all_else_of_the_layout_is() -> None:
    layout = {"checkpoint": "system", "merge": True, "format": framed}
    policy = Policy.coding(layout=layout, models={"gpt": {"layout": {"format": framed, "merge": False}}})
    back = Policy.from_json(policy.to_json())
    assert back.layout == Layout(checkpoint="system", merge=True)
    assert back.models == {"gpt": {"layout": {"merge": False}}}
    assert policy.for_model("gpt-6").layout == Layout(checkpoint="system", format=framed)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('layout.format = "framed"', "it takes a function"),
        ('layout.merge = "always"', "bool"),
        ('layout.checkpoint = "assistant"', "system"),
        ("layout.merged = true", "Did you mean layout.merge"),
    ],
)
def test_a_policy_file_that_makes_no_sense_of_the_layout_is_refused(line: str, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        Policy.from_toml(line)
