"""A model's answer becomes items within bounds, or is rejected with its reasons, and never breaks the reader."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark.asking import Reply
from foldmark.checkpoint import Item
from foldmark.errors import SummaryRejected
from foldmark.narrative import FIELDS, INSTRUCTION_LINES, JSON_SHAPE, MOST_CHARACTERS, MOST_ITEMS, MOST_REFS, SYSTEM
from foldmark.story import read_answer

GOOD = {
    "decisions": [{"text": "Use a unique index", "why": "the lock was held twice", "refs": [12, 14]}],
    "next_steps": [{"text": "Run the refund tests", "refs": ["event:15"]}],
}
INDEX = Item("decisions", "Use a unique index", (12, 14), "the lock was held twice")
TESTS = Item("next_steps", "Run the refund tests", (15,))


def told(text: str) -> tuple[Item, ...]:
    return read_answer(Reply(text=text)).items


def reasons(reply: Reply | str) -> str:
    with pytest.raises(SummaryRejected) as caught:
        read_answer(Reply(text=reply) if isinstance(reply, str) else reply)
    return "; ".join(caught.value.reasons)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(GOOD),
        f"```json\n{json.dumps(GOOD, indent=1)}\n```",
        f"Here are the notes:\n{json.dumps(GOOD)}\nI hope they help.",
        f"<think>What was decided {{so far}}?</think>{json.dumps(GOOD)}",
        f"…so I list it.</think>\n{json.dumps(GOOD)}",
        json.dumps({"summary": GOOD}),
        json.dumps([{"field": field, **item} for field, items in GOOD.items() for item in items]),
        json.dumps({"Decisions and why": GOOD["decisions"], "next step": GOOD["next_steps"]}),
        json.dumps(GOOD).replace("]}]", "],}]"),
        "## decisions\n- Use a unique index. Why: the lock was held twice (event:12, 14)\n\n"
        "## next_steps\n- Run the refund tests (event:15)",
        "**Decisions and why:**\n1. Use a unique index. Reason: the lock was held twice [event:12, event:14]\n"
        "**Next steps**\n* Run the refund tests (events 15)\n",
        "- decisions: Use a unique index. Because: the lock was held twice (event:12, 14)\n"
        "- next_steps: Run the refund tests [15]",
    ],
)
def test_an_answer_is_read_in_whichever_form_it_comes(text: str) -> None:
    found = [Item(item.field, item.text.rstrip("."), item.refs, item.why) for item in told(text)]
    assert found == [TESTS, INDEX]


@pytest.mark.parametrize(
    ("refs", "seqs"),
    [
        ([12, 14], (12, 14)),
        ("event:12", (12,)),
        ("12", (12,)),
        (12, (12,)),
        ([[12], "event:14"], (12, 14)),
        (["event:12-14"], (12, 13, 14)),
        ("event:12, 14", (12, 14)),
        ("#12", (12,)),
        ({"event": 12}, (12,)),
        ([True, None, 0, -3, 1.5, "none", 10**30, 7.0], (7,)),
        ("event:5@other compaction:3 artifact:sha256:12ab", ()),
        (list(range(1, 40)), tuple(range(1, MOST_REFS + 1))),
    ],
)
def test_refs_are_understood_however_they_are_written(refs: object, seqs: tuple[int, ...]) -> None:
    assert told(json.dumps({"decisions": [{"text": "Use a unique index", "refs": refs}]}))[0].refs == seqs


def test_items_may_be_bare_strings_and_a_line_that_says_nothing_is_none() -> None:
    text = json.dumps({"open_questions": ["Who holds the lock? (event:4)", "none", "N/A", ""], "conflicts": "None."})
    assert told(text) == (Item("open_questions", "Who holds the lock?", (4,)),)


def test_a_long_text_is_cut_at_a_word_and_says_so() -> None:
    found = read_answer(Reply(text=json.dumps({"decisions": [" ".join(f"word{number}" for number in range(90))]})))
    (item,) = found.items
    assert len(item.text) <= MOST_CHARACTERS
    assert item.text.endswith(" …")
    assert item.text[:-2].split() == [f"word{number}" for number in range(len(item.text[:-2].split()))]
    assert f"cut to {MOST_CHARACTERS} characters" in found.notes


def test_a_text_that_a_schema_broke_off_in_a_word_loses_that_word() -> None:
    whole = " ".join(f"{number}th-step" for number in range(40))
    (item,) = told(json.dumps({"decisions": [whole[:MOST_CHARACTERS]]}))
    assert item.text.endswith(" …")
    assert whole.startswith(item.text[:-1])


LOCK = "The lock of the refund API was held twice by the nightly job."
MORE = "After that the team looked at the queue of the payment service and saw that its workers had no timeout at all, "
LONG = f"{LOCK} {MORE}so that they waited for a lock that nobody would ever release and every later refund"


@pytest.mark.parametrize("whole", [LONG, f"{LONG} had to be done by hand, again and again."])
def test_a_text_that_is_broken_off_ends_behind_its_last_whole_sentence(whole: str) -> None:
    assert len(LONG) >= MOST_CHARACTERS
    found = read_answer(Reply(text=json.dumps({"decisions": [{"text": whole[:260], "why": whole[:MOST_CHARACTERS]}]})))
    assert (found.items[0].text, found.items[0].why) == (LOCK, LOCK)
    assert f"cut to {MOST_CHARACTERS} characters" in found.notes


@pytest.mark.parametrize("length", [MOST_CHARACTERS, MOST_CHARACTERS - 1, MOST_CHARACTERS - 2, 400])
def test_a_text_without_a_whole_sentence_ends_behind_its_last_clause_and_says_so(length: int) -> None:
    text = (LOCK[:-1] + " and then by the monthly one, and " + MORE * 3)[:length]
    (item,) = told(json.dumps({"decisions": [text]}))
    assert item.text.endswith(" …")
    assert text.startswith(item.text[:-2])
    assert text[len(item.text) - 2 :][:1] in ", "


def test_a_long_text_that_ends_as_a_sentence_stays_whole() -> None:
    text = (f"{LOCK} " * 2 + MORE)[: MOST_CHARACTERS - 6] + " wait."
    assert len(text) == MOST_CHARACTERS
    assert told(json.dumps({"decisions": [text]}))[0].text == text


def test_an_abbreviation_ends_no_sentence() -> None:
    text = f"The workers of the payment service, e.g. those of the nightly refunds and i.e. their locks, {MORE * 2}"
    (item,) = told(json.dumps({"decisions": [text[:MOST_CHARACTERS]]}))
    assert item.text.endswith(" …")


def test_a_long_text_without_spaces_is_cut_all_the_same() -> None:
    (item,) = told(
        json.dumps({"decisions": ["".join(chr(0x4E00 + number) for number in range(400))]}, ensure_ascii=False)
    )
    assert len(item.text) == MOST_CHARACTERS


def test_more_than_twelve_items_of_a_field_and_unknown_fields_are_left_out_and_said() -> None:
    many = [f"Step {name} of the plan" for name in "abcdefghijklmnop"]
    found = read_answer(Reply(text=json.dumps({"next_steps": many, "mood": ["fine"]})))
    assert [item.text for item in found.items] == many[:MOST_ITEMS]
    assert found.notes == (
        "the field 'mood' is unknown and was left out",
        "more than 12 items in next_steps (4 times)",
    )


def test_what_is_said_twice_is_one_item_with_the_refs_of_both() -> None:
    text = json.dumps({"decisions": [{"text": "Use an index", "refs": [3]}, {"text": "use an index.", "refs": [9]}]})
    assert told(text) == (Item("decisions", "Use an index", (3, 9)),)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(), "it is empty"),
        (Reply(text="  \n\t "), "it is empty"),
        (Reply(reasoning_tokens=1_024), "the budget was spent on reasoning"),
        (Reply(text="<think>First I look at"), "the budget was spent on reasoning"),
        (Reply(text=json.dumps(GOOD), finish="length"), "cut by the output limit"),
        (Reply(text='{"decisions": [{"text": "Use a uni', finish="stop"), "no form that can be read"),
        (Reply(text=json.dumps(GOOD), finish="refusal"), "the model refused"),
        (Reply(text="I'm sorry, but I can't help with that."), "the model refused"),
        (Reply(text="I am unable to summarize this conversation."), "the model refused"),
        (Reply(finish="tool_calls", calls=("bash",)), "called a tool instead (bash)"),
        (Reply(text=json.dumps(GOOD), calls=("bash",)), "called a tool instead"),
        (Reply(text="The build is fixed, so I will now answer you."), "no form that can be read"),
        (Reply(text=json.dumps({"path": "a.py"})), "no form that can be read"),
        (Reply(text=json.dumps({field: [] for field in FIELDS})), "holds no statement"),
        (Reply(text="x" * 1_000_000), "more than any narrative"),
    ],
)
def test_what_is_no_summary_is_rejected_with_its_reason(reply: Reply, reason: str) -> None:
    assert reason in reasons(reply)


def test_fields_without_a_statement_are_an_answer_only_where_nothing_new_may_be_said() -> None:
    empty = Reply(text=json.dumps({field: [] for field in FIELDS}))
    assert read_answer(empty, may_be_empty=True).items == ()
    with pytest.raises(SummaryRejected):
        read_answer(Reply(), may_be_empty=True)
    with pytest.raises(SummaryRejected):
        read_answer(Reply(text=json.dumps({"decisions": ["<tool_call>"]})), may_be_empty=True)


@pytest.mark.parametrize(
    "markup",
    [
        '<tool_call>{"name": "bash"}</tool_call>',
        "<function=bash>",
        "<|tool_calls_section_begin|>",
        '[TOOL_CALLS] [{"name": "bash"}]',
        '<invoke name="bash">',
        "<｜tool▁calls▁begin｜>",
        '<|DSML|invoke name="x">',
        "<function_calls>",
    ],
)
def test_tool_markup_is_rejected_and_never_becomes_an_item(markup: str) -> None:
    assert "tool markup" in reasons(f"Let me look first. {markup}")
    assert "tool markup" in reasons(json.dumps(GOOD) + markup)
    assert "tool markup" in reasons(f"## decisions\n- {markup}")
    mixed = json.dumps({"decisions": [f"Use it {markup}", "Use a unique index"]}, ensure_ascii=False)
    assert [item.text for item in told(mixed)] == ["Use a unique index"]


def test_a_nested_summary_is_rejected_and_one_inside_an_item_is_dropped() -> None:
    nested = '<foldmark-checkpoint ref="compaction:2" covers="event:1-9">'
    assert "another summary" in reasons(f"{nested}\n{json.dumps(GOOD)}")
    assert "another summary" in reasons(f"[CONTEXT COMPACTION] of before\n{json.dumps(GOOD)}")
    assert told(json.dumps({"decisions": [f"{nested} Goal", "Use a unique index"]}))[0].text == "Use a unique index"
    assert "another summary" in reasons(json.dumps({"decisions": [nested]}))


def test_the_summarisers_own_instructions_never_come_back_as_items() -> None:
    own = [line for line in SYSTEM.split("\n") if len(line) > 40]
    assert "repeats its instructions" in reasons(json.dumps({"decisions": own}))
    assert "repeats its instructions" in reasons(JSON_SHAPE)
    mixed = {"decisions": [own[1], "Use a unique index", "Keep the retries", "Rename the lock"]}
    assert [item.text for item in told(json.dumps(mixed))] == mixed["decisions"][1:]


def test_custom_instructions_are_known_when_they_are_given() -> None:
    line = "Answer with notes about the garden and its many little birds only"
    reply = Reply(text=json.dumps({"decisions": [line]}))
    assert read_answer(reply, instructions=INSTRUCTION_LINES).items
    with pytest.raises(SummaryRejected):
        read_answer(reply, instructions=[line])


def test_a_loop_is_rejected() -> None:
    assert "again and again" in reasons(json.dumps({"decisions": ["Read the file once more"] * 12}))
    looped = "## decisions\n- " + "the lock of the refund and " * 60
    assert "again and again" in reasons(looped)
    steps = [f"Read the file src/part_{number}.py and check its lock" for number in range(12)]
    assert len(told(json.dumps({"next_steps": steps}))) == 12


def test_a_statement_that_stands_in_every_field_is_taken_once() -> None:
    text = json.dumps({field: ["The user books a flight to Seattle"] for field in FIELDS} | {"decisions": ["A", "B"]})
    assert [(item.field, item.text) for item in told(text)] == [
        ("current_work", "The user books a flight to Seattle"),
        ("decisions", "A"),
        ("decisions", "B"),
    ]


def test_dirty_characters_do_not_get_through() -> None:
    (item,) = told('{"decisions": ["Use \\ud800 a \\u0000 lock\\nand an index"]}')
    item.text.encode()
    assert "\x00" not in item.text
    assert "\n" not in item.text


HEAVY = [
    "[" * 100_000,
    '{"decisions":' * 9_000,
    '{ "' * 30_000,
    '{"decisions": ["' * 7_000,
    "## decisions\n" * 9_000,
    "- " * 50_000,
    "(event:1 " * 13_000,
    "**a " * 29_000,
    "## decisions\n- " + "[1," * 39_000,
    "<think>" * 15_000,
    '{"decisions": ' + "9" * 50_000 + "}",
    "`" * 100_000,
    " " * 119_000 + "x",
]


@pytest.mark.parametrize("text", HEAVY, ids=range(len(HEAVY)))
def test_hostile_texts_are_refused_in_bounded_time(text: str) -> None:
    reasons(text)


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from([*FIELDS, "text", "refs", "why", "field", "summary", "x"]), inner, max_size=5
    ),
    max_leaves=20,
)  # fmt: skip


_lines = st.sampled_from(["## decisions", "- x (event:3)", "**Next steps**", "{", "}", '"', "<think>", "</think>"])
_answers = st.one_of(st.text(max_size=300), _values.map(json.dumps), st.lists(_lines, max_size=20).map("\n".join))


@settings(max_examples=300, deadline=None)
@given(_answers)
def test_whatever_a_model_answers_items_are_within_bounds_or_it_is_rejected(text: str) -> None:
    items: tuple[Item, ...] = ()
    with contextlib.suppress(SummaryRejected):
        items = told(text)
    for item in items:
        assert 0 < len(item.text) <= MOST_CHARACTERS
        assert len(item.why) <= MOST_CHARACTERS
        assert len(item.refs) <= MOST_REFS
        assert all(0 < ref < 10**9 for ref in item.refs)
        assert not item.verified
    assert all(sum(item.field == field for item in items) <= MOST_ITEMS for field in FIELDS)
