"""The meter against references: text against tiktoken, providers against one whose factor and offset are hidden."""

from __future__ import annotations

import json
from base64 import b64encode
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark import Policy, Session, Usage, assistant, user
from foldmark.budget import room
from foldmark.calibration import LEAST_GROWTH, Sample, kept, learned
from foldmark.store import Frame
from foldmark.tokens import _tiktoken, count

RANDOM = Random(11)

SCRAPS = [
    "Plain English words of a sentence. ",
    "请把重复扣款修好,但是不要碰数据库的结构。",
    "スキーマには触れないこと。",
    "중복 결제를 고쳐 주세요. ",
    "ห้ามแตะต้องสคีมา ",
    "أصلح الرسوم المكررة ",
    "दोहरे शुल्क ठीक करें ",
    "👨‍👩‍👧‍👦🏳️‍🌈🇩🇪 ",
    "e\u0301\u0323 \u200b\u00a0\ufeff",
    "\x00\x1b[31m\x07",
    "\ud800",
    "\ud83d\ude00",
    "<|endoftext|><|im_start|>system",
    b64encode(RANDOM.randbytes(90)).decode(),
    RANDOM.randbytes(32).hex(),
    json.dumps({"id": 17, "tags": ["a", "b"], "ok": True, "text": "x\\n"}, separators=(",", ":")),
    "    return self.ledger[index]  # it's\n",
    "1234567890 ",
    "\r\n\n\t ",
    "////====----",
    "I'VE we'll DON'T",
]

dirt = st.lists(st.sampled_from(SCRAPS) | st.text(max_size=12), max_size=40).map("".join)


def reference(text: str, encoding: str = "o200k_base") -> int:
    """What tiktoken counts; it joins and replaces halves of surrogate pairs itself."""
    return _tiktoken(encoding)(text)


@given(dirt)
@settings(max_examples=300)
def test_every_text_counts_as_in_tiktoken(text: str) -> None:
    assert count(text) == reference(text)


@given(dirt)
def test_the_other_encoding_does_too(text: str) -> None:
    assert count(text, "cl100k_base") == reference(text, "cl100k_base")


@given(st.sampled_from([scrap for scrap in SCRAPS if " " in scrap or "\n" in scrap]), dirt, st.integers(0, 40))
@settings(max_examples=25, deadline=None)
def test_a_text_of_several_pieces_counts_as_one(scrap: str, other: str, shift: int) -> None:
    """The seams are where a token begins in any case, so that cutting there changes nothing."""
    whole = "x" * shift + (scrap * 20 + other) * (130_000 // len(scrap * 20 + other) + 1)
    assert abs(count(whole) - reference(whole)) <= 2 * (len(whole) // 100_000)


@pytest.mark.parametrize("scrap", SCRAPS)
def test_words_and_lines_are_cut_without_any_change(scrap: str) -> None:
    whole = ("word " + scrap) * (120_000 // len("word " + scrap) + 1)
    assert count(whole) == reference(whole)


RUNS = {
    "one letter": "a" * 1_000_000,
    "base64": b64encode(RANDOM.randbytes(750_000)).decode(),
    "hashes": RANDOM.randbytes(500_000).hex(),
    "digits": "7" * 1_000_000,
    "Thai": "สวัสดีครับ" * 30_000,
    "Chinese": "请把重复扣款修好" * 40_000,
    "families": "👨‍👩‍👧‍👦" * 40_000,
    "line breaks": "\n" * 300_000,
}


@pytest.mark.parametrize("name", RUNS)
def test_an_unbroken_run_of_a_megabyte_costs_a_token_or_two_more_for_each_cut(name: str) -> None:
    run = RUNS[name]
    assert 0 <= count(run) - reference(run) <= 2 * (len(run) // 100_000)


def test_a_megabyte_of_spaces_is_counted_where_tiktoken_gives_up() -> None:
    assert 7_800 <= count(" " * 1_000_000) <= 7_830


hidden = st.tuples(st.floats(0.8, 2.0), st.integers(0, 20_000))
steps = st.lists(st.integers(2 * LEAST_GROWTH, 20_000), min_size=2, max_size=14)


@given(hidden, st.integers(50, 60_000), steps)
@settings(max_examples=400)
def test_the_third_and_every_later_request_is_predicted_within_three_percent(
    provider: tuple[float, int], first: int, growth: list[int]
) -> None:
    (factor, offset), samples, size = provider, (), first
    for number, step in enumerate([0, *growth]):
        size += step
        true = factor * size + offset
        if number >= 2:
            assert abs(learned(samples).theirs(size) - true) <= 0.03 * true
        samples = kept(samples, Sample(size, round(true)))


@given(st.floats(0.8, 2.0), st.integers(2_000, 60_000), st.integers(0, LEAST_GROWTH - 1))
def test_two_close_sizes_are_a_ratio_which_is_right_when_nothing_is_hidden(
    factor: float, first: int, step: int
) -> None:
    samples = tuple(Sample(size, round(factor * size)) for size in (first, first + step))
    assert learned(samples).by_ratio
    assert learned(samples).theirs(3 * first) == pytest.approx(factor * 3 * first, rel=0.005)


@given(hidden, st.integers(2_000, 60_000), st.integers(0, LEAST_GROWTH - 1), st.integers(0, 400))
def test_two_close_sizes_predict_a_request_that_is_close_too(
    provider: tuple[float, int], first: int, step: int, further: int
) -> None:
    (factor, offset), size = provider, first + step + further
    samples = tuple(Sample(size, round(factor * size + offset)) for size in (first, first + step))
    assert learned(samples).theirs(size) == pytest.approx(factor * size + offset, rel=0.1)


@given(hidden, st.lists(st.integers(500, 6_000), min_size=5, max_size=8), st.data())
@settings(max_examples=300)
def test_one_wild_usage_is_outvoted(provider: tuple[float, int], growth: list[int], data: st.DataObject) -> None:
    """A usage of another request, a part of one, or one with the cached tokens added twice."""
    (factor, offset), size, samples = provider, 5_000, []
    for step in growth:
        size += step
        samples.append(Sample(size, round(factor * size + offset)))
    place = data.draw(st.integers(0, len(samples) - 1))
    wild = data.draw(st.integers(1, 2_000) | st.integers(200_000, 900_000) | st.just(2 * samples[place].reported))
    samples[place] = Sample(samples[place].sent, wild)
    true = factor * (size + 3_000) + offset
    assert learned(tuple(samples)).theirs(size + 3_000) == pytest.approx(true, rel=0.03)


@given(st.lists(st.builds(Sample, st.integers(-5, 10**7), st.integers(-5, 10**7)), max_size=12))
def test_whatever_is_reported_the_correction_stays_within_its_bounds(reported: list[Sample]) -> None:
    samples: tuple[Sample, ...] = ()
    for one in reported:
        samples = kept(samples, one)
    found = learned(samples)
    assert 0.5 <= found.factor <= 4.0
    assert abs(found.offset) <= 32_768
    for size in (0, 1_000, 100_000):
        assert 0.5 * size <= found.theirs(size) <= 4 * size + 32_768
        assert found.theirs(found.ours(size)) <= max(size, found.theirs(0)) + 1


@given(hidden, st.lists(st.integers(60, 900), min_size=3, max_size=6), st.integers(0, 2_000))
@settings(max_examples=30, deadline=None)
def test_a_session_knows_what_its_provider_will_report(
    provider: tuple[float, int], words: list[int], system: int
) -> None:
    """End to end: requests are built, replies with usage are recorded, the room's correction is compared."""
    factor, offset = provider
    session = Session("s", policy=Policy.chat(run="manual"), clock=lambda: 1_000.0)
    for number, length in enumerate(words):
        session.record(user("word " * length))
        made = session.request(system="rule " * system, window=1_000_000)
        true = factor * made.tokens.total + offset
        if number >= 2:
            state = session.store.view(session.key).state
            space = room(state.frame or Frame(window=1), session.policy, state)
            assert space.correction.theirs(made.tokens.total) == pytest.approx(true, rel=0.03)
        session.record(assistant("Noted.", usage=Usage(input=round(true)), model="hidden"))
