"""What a wire remembers of the messages it wrote: enough to be quick, and never many pictures."""

from __future__ import annotations

import base64
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.events import Event, Image, Text, ToolCall, ToolResult, assistant, user
from foldmark.wire import anthropic_writing, gemini_writing, grouping, openai_writing, responses_writing
from foldmark.wire.grouping import LIST_PICTURES, Writer, picture_characters

WRITINGS = {
    "anthropic": anthropic_writing,
    "gemini": gemini_writing,
    "openai-chat": openai_writing,
    "openai-responses": responses_writing,
}
each_writing = pytest.mark.parametrize("writing", WRITINGS.values(), ids=list(WRITINGS))


def writer(writing: Any) -> Writer[Any]:
    like = writing._WRITER
    return Writer(like._forms._build, like._extend, like._copy, like._keep, like._may_grow)


def step(number: int, characters: int) -> list[Event]:
    """A call and its result, with a picture of that many characters (none for 0)."""
    data = base64.b64encode(random.Random(number).randbytes(characters * 3 // 4)).decode()
    images = (Image(media_type="image/png", data=data),) if characters else ()
    shot = ToolResult(f"c{number}", f"shot {number}", name="look", images=images)
    return [assistant("", ToolCall(f"c{number}", "look")), Event(role="tool", origin="tool", parts=(shot,))]


def characters_in(value: Any) -> int:
    """Characters of all the texts in a value, however deep."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(characters_in, value.values()))
    return sum(map(characters_in, value)) if isinstance(value, list | tuple) else 0


def held(written: Writer[Any]) -> int:
    """Characters that a writer holds: in its forms, in its lists, and in the events it keeps beside them."""
    known = list(written._forms._known.values())
    events = [event for event, _ in known] + [event for entry in written._memory for event in entry.events]
    forms = [form for _, form in known] + [entry.messages for entry in written._memory]
    return characters_in(forms) + sum(map(picture_characters, {id(event): event for event in events}.values()))


@each_writing
def test_a_writer_never_holds_more_than_a_few_pictures(writing: Any) -> None:
    """240 requests with a screenshot of a megabyte each left 278 megabytes in every wire of the process."""
    written = writer(writing)
    for talk in range(6):
        events = [user("Click through the site.")]
        for number in range(40):
            events += step(100 * talk + number, 150_000)
            written.messages(events)
    assert held(written) < 3 * written._keep * LIST_PICTURES


@each_writing
def test_without_pictures_only_the_end_of_a_list_is_written_again(writing: Any) -> None:
    written, extended = writer(writing), list[int]()
    extend = written._extend
    written._extend = lambda messages, group, used: (extended.append(group.start), extend(messages, group, used))[1]
    events = [user("Go.")]
    for number in range(30):
        events += step(number, 0)
        extended.clear()
        written.messages(events)
        assert len(extended) <= 3
    events += [event for number in range(30, 90) for event in step(number, 150_000)]
    written.messages(events)
    extended.clear()
    written.messages([*events, assistant("done")])
    assert min(extended) >= 60, "what stands in front of many pictures is still remembered"


@each_writing
@given(
    sizes=st.lists(st.sampled_from([0, 40, 4_000, 40_000]), max_size=12), cuts=st.lists(st.integers(0, 26), max_size=5)
)
def test_what_is_not_remembered_is_written_the_same(writing: Any, sizes: list[int], cuts: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "LIST_PICTURES", 60_000)
        events = [user("Go."), *(event for number, size in enumerate(sizes) for event in step(number, size))]
        events.append(Event(role="user", parts=(Text("and this?"), Image(media_type="image/png", data="iVBORw0KGgo="))))
        warm = writer(writing)
        for cut in (*cuts, 99):
            assert warm.messages(events[:cut]) == writer(writing).messages(events[:cut])
