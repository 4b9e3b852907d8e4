"""The checkpoint and the first user message in one: whose words are whose stays plain, and the event is not touched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from foldmark.assembly import assemble
from foldmark.checkpoint import Checkpoint
from foldmark.drafts import Request, Sizes, cost
from foldmark.events import Event, Image, Opaque, Text, assistant, fingerprint, injected, user
from foldmark.merging import MERGED, merged, own_tokens
from foldmark.options import Layout
from foldmark.prefix import digest
from foldmark.reports import Report
from foldmark.wire import anthropic, gemini, openai_chat, openai_responses
from making import numbered, tool_round

replaced = msgspec.structs.replace

CHECKPOINT = Checkpoint(version=2, boundary=9, text="CHECKPOINT", tokens=2)


def request(
    *tail: Event, layout: Layout = Layout(), checkpoint: Checkpoint | None = CHECKPOINT, bar: str = ""
) -> Request:
    events = numbered(*(Event(role="user", parts=(Text("old"),)) for _ in range(9)), *tail)[9:]
    draft = assemble(checkpoint, (), events, "", (), layout, bar=bar)
    return Request(
        system=draft.system, messages=draft.messages, tools=(), tokens=Sizes(tail=cost(draft.messages)),
        report=Report(outcome="not_due"), wire=openai_chat, ceiling=9_000, stable=len(draft.messages) - draft.suffix,
    )  # fmt: skip


def test_the_checkpoint_comes_first_and_the_users_parts_follow_as_they_are() -> None:
    image = Image(url="https://example.org/a.png")
    words = Event(role="user", origin="user", parts=(Text("  Fix <it>.\n"), image))
    made = merged(request(words, assistant("Yes.")))
    assert made.messages[0].parts == (Text("CHECKPOINT"), Text("  Fix <it>.\n"), image)
    assert [message.role for message in made.messages] == ["user", "assistant"]
    assert made.stable == 2


def test_the_merged_message_stands_for_the_users_event_and_the_event_is_not_touched() -> None:
    made = request(user("Fix it."), assistant("Yes."))
    own = made.messages[1]
    whole = merged(made).messages[0]
    assert (whole.seq, whole.chain, whole.plain, whole.id, whole.is_user) == (10, own.chain, own.plain, own.id, True)
    assert own.parts == (Text("Fix it."),)
    assert fingerprint(own) == fingerprint(user("Fix it."))
    assert whole.tokens == made.messages[0].tokens + own.tokens
    assert (own_tokens(whole), own_tokens(own)) == (own.tokens, own.tokens)


@pytest.mark.parametrize("own", [{}, {MERGED: "much"}, {MERGED: "9 lives"}, {MERGED: "x checkpoint:1"}], ids=str)
def test_a_note_of_that_name_that_a_caller_made_says_nothing(own: dict[str, str]) -> None:
    made = request(user("Fix it.", meta=own), assistant("Yes."))
    assert own_tokens(made.messages[1]) == made.messages[1].tokens
    assert own_tokens(merged(made).messages[0]) == made.messages[1].tokens
    assert digest(made.messages[1:]) == digest(request(user("Fix it."), assistant("Yes.")).messages[1:])


CHANGED = {
    "another version": (replaced(CHECKPOINT, version=3), Layout()),
    "another frame": (CHECKPOINT, Layout(format=lambda text: "CHECKMATES")),
    "one frame, then another": (CHECKPOINT, Layout(format=lambda text: "CHEWPOINTS")),
}


@pytest.mark.parametrize("join", [False, True], ids=["apart", "merged"])
def test_every_change_of_the_head_changes_the_hash_of_the_prefix_though_the_size_stays(join: bool) -> None:
    tail = (user("Fix it."), assistant("Yes."))
    made = [
        request(*tail, checkpoint=head, layout=layout) for head, layout in ((CHECKPOINT, Layout()), *CHANGED.values())
    ]
    made = [merged(one) if join else one for one in made]
    assert len({one.messages[0].text for one in made[1:]}) > 1
    assert len({digest(one.messages) for one in made}) == len(made)
    assert len({sum(map(own_tokens, one.messages[-2:])) for one in made}) == 1


def test_the_same_request_again_has_the_same_objects() -> None:
    made = request(user("Fix it."), assistant("Yes."))
    assert merged(made).messages[0] is merged(made).messages[0]


@pytest.mark.parametrize(
    "tail", [[], [assistant("a")], tool_round(1)], ids=["nothing", "an answer", "a step with a call"]
)
def test_nothing_is_merged_where_no_user_message_follows(tail: list[Event]) -> None:
    made = request(*tail)
    assert merged(made) is made


def test_only_the_first_message_is_merged_so_that_more_words_change_nothing_before_them() -> None:
    one, two = merged(request(user("a"))), merged(request(user("a"), injected("b"), user("c")))
    assert [message.text for message in two.messages] == ["CHECKPOINT\na", "b", "c"]
    assert one.messages[0].parts == two.messages[0].parts


def test_the_ephemeral_suffix_is_never_merged() -> None:
    made = request(bar="[State]")
    assert merged(made) is made
    talked = merged(request(user("a"), bar="[State]"))
    assert [message.text for message in talked.messages] == ["CHECKPOINT\na", "[State]"]
    assert talked.stable == 1


def test_nothing_is_merged_without_a_checkpoint_or_with_one_in_the_system_text() -> None:
    for made in (request(user("a"), checkpoint=None), request(user("a"), layout=Layout(checkpoint="system"))):
        assert merged(made) is made


def test_an_item_that_must_stand_alone_is_not_merged() -> None:
    raw = {"type": "mcp_approval_response", "approval_request_id": "m1", "approve": True}
    made = request(Event(role="user", origin="user", parts=(Opaque("openai", raw),)), assistant("ok"))
    assert merged(made) is made


@pytest.mark.parametrize("wire", [anthropic, gemini], ids=lambda wire: str(wire.NAME))
def test_wires_that_merge_by_themselves_write_the_same_either_way(wire: Any) -> None:
    made = replace(request(user("a"), *tool_round(1), user("b")), wire=wire, reserve=4_096)
    assert merged(made).payload() == made.payload()


def test_the_other_wires_write_one_user_message_with_the_users_own_part_in_it() -> None:
    made = merged(request(user("a"), assistant("b"), user("c")))
    first, *_ = made.payload()["messages"]
    assert first == {"role": "user", "content": [{"type": "text", "text": t} for t in ("CHECKPOINT", "a")]}
    first, *_ = replace(made, wire=openai_responses).payload()["input"]
    assert first["content"] == [{"type": "input_text", "text": t} for t in ("CHECKPOINT", "a")]
