"""Big results enter as preview and body; the user's own words stay."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec
import pytest

from foldmark.admission import admit, limit_tokens, split_words
from foldmark.events import Body, Event, Paste, Text, ToolCall, assistant, chained, result, user
from foldmark.kinds import count_lines
from foldmark.policy import Policy
from foldmark.salience import Tally
from foldmark.store import Calls, Context, Key
from foldmark.tokens import count, event_tokens

POLICY = Policy.coding()


def context(*events: Event, window: int = 0, calls: Calls | None = None) -> Context:
    numbered = [msgspec.structs.replace(event, seq=n) for n, event in enumerate(events, 1)]
    return Context(
        key=Key(session="s"),
        head=0,
        new=tuple(chained(numbered)),
        known=(),
        calls=calls or Calls(),
        state={},
        tally=Tally(),
        window=window,
    )


def lines(number: int) -> str:
    return "".join(f"line {n} says nothing new\n" for n in range(number))


def admitted(*events: Event, policy: Policy = POLICY) -> tuple[tuple[Event, ...], tuple[Body, ...]]:
    return admit(context(*events), policy)


def test_a_big_result_becomes_preview_and_body_and_nothing_is_lost() -> None:
    text = lines(5_000)
    (made, event), (body,) = admitted(assistant("", ToolCall("a", "bash", '{"command":"make"}')), result("a", text))
    part = event.result
    assert part is not None
    assert part.artifact is not None
    assert (body.seq, body.number, body.text) == (2, 1, text)
    assert body.sha256 == part.artifact.sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert (part.artifact.size, part.artifact.lines, part.artifact.kind) == (len(text), 5_000, "command")
    assert count(part.text) <= 640
    assert "of 5,000 not shown …" in part.text
    assert event.tokens == event_tokens(event)
    assert made.tokens == event_tokens(made)


def test_everything_but_the_text_stays_as_it_was() -> None:
    before = context(result("a", lines(5_000), is_error=True, id="mine", branch="b", meta={"k": "v"}))
    (event,), _ = admit(before, POLICY)
    (old,) = before.new
    assert (event.plain, event.chain, event.id, event.branch) == (old.plain, old.chain, "mine", "b")
    assert event.meta["k"] == "v"
    assert event.result is not None
    assert event.result.is_error


def test_the_outcome_of_the_whole_body_is_noted_for_a_later_demotion() -> None:
    text = lines(3_000) + "==== 1 failed, 2 passed in 0.10s ====\n"
    (event,), _ = admitted(result("a", text))
    assert event.meta["outcome"] == "1 failed, 2 passed"


def test_small_results_are_only_counted() -> None:
    events = (user("hi"), assistant("ho"), result("a", lines(20)))
    found, bodies = admitted(*events)
    assert bodies == ()
    assert [event.parts for event in found] == [event.parts for event in events]
    assert [event.tokens for event in found] == [event_tokens(event) for event in events]


def test_bodies_up_to_the_inline_size_never_leave() -> None:
    text = "\u0b95" * 1_300  # 3,900 bytes that cost many tokens
    tight = POLICY.replace(admission={"limit_tokens": 50})
    _, bodies = admitted(result("a", text), policy=tight)
    assert bodies == ()


def test_a_body_without_any_space_leaves_whole() -> None:
    (event,), (body,) = admitted(result("a", "QUJDRA" * 170_000))
    assert event.text == "… 1,020,000 characters without a space not shown …"
    assert len(body.text) == 1_020_000


@pytest.mark.parametrize(("window", "limit"), [(0, 2_560), (8_000, 1_000), (200_000, 4_000), (1_000_000, 8_000)])
def test_the_limit_follows_the_window(window: int, limit: int) -> None:
    assert limit_tokens(POLICY, window) == limit


def test_the_limit_can_be_given() -> None:
    assert limit_tokens(POLICY.replace(admission={"limit_tokens": 700}), 200_000) == 700


def test_the_call_may_stand_earlier_in_the_log() -> None:
    call = ToolCall("a", "read", '{"path":"notes.txt"}')
    earlier = Calls()
    earlier.add(assistant("", call, seq=1))
    new = context(result("a", lines(5_000)), calls=earlier)
    (event,), _ = admit(new, POLICY)
    assert event.artifacts[0].kind == "file"


def test_previews_are_made_from_redacted_text_and_bodies_are_not() -> None:
    text = "key SECRET-1\n" + lines(5_000) + "key SECRET-1\n"
    (event,), (body,) = admit(context(result("a", text)), POLICY, redact=lambda s: s.replace("SECRET-1", "[secret]"))
    assert "SECRET-1" not in event.text
    assert "SECRET-1" not in event.meta["outcome"]
    assert "[secret]" in event.text
    assert body.text == text


def test_nuls_and_lone_surrogates_stay_in_the_body_and_leave_the_preview() -> None:
    text = "head \x00 \ud800\n" + lines(5_000)
    (event,), (body,) = admitted(result("a", text))
    assert event.text.startswith("head \ufffd \ufffd\n")
    assert body.text == text
    assert body.sha256 == hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def test_the_same_events_are_admitted_alike_every_time() -> None:
    items = json.dumps([{"id": n, "name": f"item {n}"} for n in range(2_000)])
    new = context(result("a", items), user(lines(4_000)))
    assert admit(new, POLICY) == admit(new, POLICY)


def test_words_around_a_pasted_block_stay_verbatim() -> None:
    log = lines(4_000)
    said = f"This fails since Monday. Do not touch the schema!\n\n```\n{log}```\n\nWhat is wrong?"
    (event,), (body,) = admitted(user(said))
    before, paste, after = event.parts
    assert isinstance(before, Text)
    assert isinstance(paste, Paste)
    assert isinstance(after, Text)
    assert before.text == "This fails since Monday. Do not touch the schema!\n\n```\n"
    assert after.text == "```\n\nWhat is wrong?"
    assert body.text == log
    assert before.text + body.text + after.text == said


def test_two_pasted_blocks_are_two_artifacts() -> None:
    said = f"First:\n```\n{lines(2_000)}```\nsecond:\n<file name='x'>\n{lines(2_500)}</file>\nCompare them."
    (event,), bodies = admitted(user(said))
    assert [artifact.number for artifact in event.artifacts] == [1, 2]
    assert [count_lines(body.text.strip("\n")) for body in bodies] == [2_000, 2_500]
    assert event.text.endswith("Compare them.")


def test_a_long_message_without_structure_keeps_its_first_and_last_paragraphs() -> None:
    middle = "\n\n".join(f"{n}. " + "some more words here, and again. " * 40 for n in range(200))
    said = f"Please read this; never delete anything.\n\n{middle}\n\nAnswer in French."
    (event,), (body,) = admitted(user(said))
    assert event.text.startswith("Please read this; never delete anything.")
    assert event.text.endswith("Answer in French.")
    assert body.text in said
    assert event.tokens < POLICY.admission.user_words_tokens


def test_data_pasted_without_a_fence_leaves_and_the_question_stays() -> None:
    rows = json.dumps([{"id": n, "value": n * 3} for n in range(6_000)], indent=1)
    (event,), (body,) = admitted(user(f"Why is row 17 wrong?\n\n{rows}\n\nKeep the ids."))
    assert [type(part) for part in event.parts] == [Text, Paste, Text]
    assert event.text.startswith("Why is row 17 wrong?")
    assert event.text.endswith("Keep the ids.")
    assert body.kind == "json"


def test_one_giant_paragraph_keeps_whole_sentences_at_its_ends() -> None:
    said = "Do not sell before May. " + "We talked about it at length and again. " * 3_000 + "Sign nothing. Call me."
    (event,), _ = admitted(user(said))
    first, _, last = event.parts
    assert isinstance(first, Text)
    assert isinstance(last, Text)
    assert said.startswith(first.text)
    assert first.text.startswith("Do not sell before May.")
    assert said.endswith(last.text)
    assert last.text.endswith("Call me.")


def test_ordinary_words_under_the_limit_stay_whole_fence_or_not() -> None:
    said = "Use this:\n```\n" + lines(500) + "```\n"
    (event,), bodies = admitted(user(said))
    assert event.parts == (Text(said),)
    assert bodies == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n\n",
        "```",
        "```\nnever closed " + "x " * 4_000,
        "<p>\n" * 5_000,
        "<a>" + "y " * 5_000 + "</a>",
        "z" * 9_000,
    ],
)
def test_pieces_join_to_the_message_again(text: str) -> None:
    assert "".join(piece for piece, _ in split_words(text, 100, count)) == text


class Searched(str):
    """A text that counts the searches in it that find nothing: each of them goes to its end."""

    vain = 0

    def find(self, *given: Any) -> int:
        place = super().find(*given)
        self.vain += place < 0
        return place


def test_tags_that_nothing_closes_are_not_each_looked_for_to_the_end() -> None:
    closed = "<kept>\n" + "y " * 1_000 + "\n</kept>\n"
    tags = "".join(f"</tag{n}> and\n<tag{n} a='1'> some words\n" for n in range(300))
    text = Searched(tags + closed + tags)
    pieces = split_words(text, 10**9, count)
    assert "".join(piece for piece, _ in pieces) == text
    assert text.vain == 0
    assert split_words("".join(f"<tag{n}> words\n" for n in range(300)) + closed, 10**9, count)[1] == (
        closed.removeprefix("<kept>").removesuffix("</kept>\n"),
        True,
    )


def test_no_new_events_are_no_error() -> None:
    assert admitted() == ((), ())
