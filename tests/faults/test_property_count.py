"""COUNT as one property: a request costs what its parts cost, in any script, whatever encodes a picture."""

from __future__ import annotations

import sys

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scenes import RAW, fresh, pairs_of
from stories import Setting, lived, moves, settings_of, told

from foldmark import Policy
from foldmark.drafts import MESSAGE_OVERHEAD, static_tokens
from foldmark.events import Event, Image, Text, Usage, assistant, user
from foldmark.media_prices import IMAGE_TOKENS
from foldmark.tokens import count, event_tokens
from foldmark.wire import WIRES

SCRIPTS = (
    "请把重复扣款修好。",
    "重複請求を修正。",
    "중복 결제를 고쳐.",
    "أصلح الرسوم.",
    "दोहरे शुल्क।",
    "👨‍👩‍👧‍👦🇩🇪 ✅",
    "Plain words. ",
)
script = st.tuples(st.sampled_from(SCRIPTS), st.integers(1, 60)).map(lambda pair: pair[0] * pair[1])
pictures = st.lists(st.integers(1, 40_000), max_size=4)
TOOLS = [{"name": f"t{n}", "description": "word " * 490, "parameters": {"type": "object"}} for n in range(40)]


def picture(size: int) -> Event:
    image = Image(media_type="image/png", data="A" * (4 * size))
    return Event(role="user", origin="user", parts=(Text("look"), image))


@settings(max_examples=40)
@given(
    story=moves.map(told),
    texts=st.lists(script, max_size=4),
    images=pictures,
    setting=settings_of,
    static=st.integers(0, 400),
)
@example([], [], [833_000], Setting(window=200_000, target=60_000), 0).via("S-COUNT-01: an image of 3.3 MB")
@example([], [], [70] * 45, Setting(window=200_000, target=90_000, force=0), 0).via("S-COUNT-03: forty-five images")
@example([], [text * 60 for text in SCRIPTS], [], Setting(target=20_000, window=30_000), 0).via("S-COUNT-04: scripts")
@example(pairs_of(6, 200), [], [], Setting(target=60_000, window=110_000), 6_000).via("S-COUNT-05: a long prefix")
@example([user("On."), assistant("ok", usage=Usage(input=70_000))] * 3, [], [], Setting(window=400_000), 0).via(
    "S-COUNT-09: usages"
)
def test_a_request_costs_the_sum_of_its_parts_in_any_script(
    story: list[Event], texts: list[str], images: list[int], setting: Setting, static: int
) -> None:
    events = [user("Begin."), *story, *map(user, texts), *map(picture, images)]
    system = "rule " * static
    setting = setting._replace(target=max(setting.target, static + 600))
    for session, request in lived(events, setting, system=system):
        again = [event_tokens(msgspec.structs.replace(event, tokens=0)) for event in request.messages]
        assert request.tokens.static == static_tokens(system, ())
        whole = static_tokens(request.system, ()) + sum(again) + MESSAGE_OVERHEAD * len(again)
        assert request.tokens.static + request.tokens.checkpoint + request.tokens.tail == whole
        assert request.tokens.total == request.report.after
        shown = {event.seq: cost for event, cost in zip(request.messages, again, strict=True) if event.seq}
        listed = {entry.seq: entry.tokens for entry in session.explain() if entry.status in ("raw", "demoted")}
        assert listed == {seq: cost for seq, cost in shown.items() if seq in listed}
        for event in request.messages:
            if event.seq and any(isinstance(part, Image) for part in event.parts):
                assert IMAGE_TOKENS <= event_tokens(event) < IMAGE_TOKENS + 60, "by what encodes it"


@settings(max_examples=25)
@given(text=st.one_of(script, st.text(max_size=300)), more=st.one_of(script, st.text(max_size=300)))
def test_a_longer_text_never_costs_less_than_a_part_of_it_by_far(text: str, more: str) -> None:
    """COUNT: no cut and no join makes tokens vanish: both halves cost what the whole costs, within a seam."""
    assert abs(count(text) + count(more) - count(text + more)) <= 12
    assert count(text) <= len(text.encode("utf-8", "surrogatepass"))


def test_a_new_message_costs_the_counting_of_one_message() -> None:
    """S-COUNT-10: of two thousand messages and twenty-three tools only what is new is counted again."""
    session = fresh(Policy.coding(run="manual", admission=RAW, cleanup={"demote": False}))
    session.record(user("Begin."), *pairs_of(200, 40))
    tools = TOOLS[:23]
    session.request(wire=WIRES[0], tools=tools, window=1_000_000)
    for number in range(3):
        session.record(user(f"A new question of some words {number}."))
        seen = counted(lambda: session.request(wire=WIRES[0], tools=tools, window=1_000_000))
        assert seen <= 3, "texts are counted again"


def counted(work: object) -> int:
    """How many texts are counted while some work is done."""
    calls = 0

    def watch(frame: object, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code is count.__code__  # type: ignore[attr-defined]

    sys.setprofile(watch)
    try:
        work()  # type: ignore[operator]
    finally:
        sys.setprofile(None)
    return calls
