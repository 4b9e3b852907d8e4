"""The room of a request follows the table of docs/explanation/when.md, line by line."""

from __future__ import annotations

import msgspec
import pytest

from foldmark.budget import Room, room, room_for, with_usage
from foldmark.calibration import KEPT_SAMPLES, Sample
from foldmark.checkpoint import Mark
from foldmark.cleanup import clean
from foldmark.errors import PolicyError
from foldmark.events import Event, Image, Usage, user
from foldmark.policy import Policy
from foldmark.store import Frame, Key, ScopeState, View, meter_name


def at(window: int, *, static: int = 0, max_output: int | None = None, policy: Policy | None = None) -> Room:
    return room(Frame(window=window, static_tokens=static, max_output=max_output), policy or Policy.coding())


def test_a_128k_window_reserves_twelve_percent_and_three_percent_margin() -> None:
    found = at(128_000)
    assert (found.reserve, found.margin, found.ceiling) == (15_360, 3_840, 108_800)
    assert found.cap == int(0.85 * (128_000 - 15_360))
    assert (found.landing, found.trigger) == (16_000, 48_000)


@pytest.mark.parametrize(
    ("policy", "landing"), [(Policy.coding(), 16_000), (Policy.chat(), 8_000), (Policy.research(), 32_000)]
)
def test_the_landing_is_the_presets_in_large_windows(policy: Policy, landing: int) -> None:
    assert at(1_000_000, policy=policy).landing == landing


def test_in_small_windows_the_landing_is_a_quarter_and_at_most_six_tenths_of_the_cap() -> None:
    assert at(32_000).landing == 8_000
    tight = at(16_000, static=8_000)
    assert tight.cap == int(0.85 * (16_000 - 1_920)) - 8_000
    assert tight.landing == round(0.6 * tight.cap)


def test_the_callers_own_output_limit_is_reserved() -> None:
    assert at(200_000, max_output=64_000).ceiling == 200_000 - 64_000 - 6_000


def test_a_static_prefix_that_leaves_nothing_is_named_with_its_size() -> None:
    with pytest.raises(PolicyError, match="28,000"):
        at(32_000, static=28_000)


def test_output_that_eats_the_window_is_refused_at_once() -> None:
    with pytest.raises(PolicyError, match="39,500 are reserved"):
        at(40_000, max_output=39_500)


def test_a_target_is_the_whole_request() -> None:
    policy = Policy.coding(budget={"target_tokens": 20_000})
    found = at(128_000, static=5_000, policy=policy)
    assert (found.landing, found.trigger, found.nothing_below) == (15_000, 25_000, 0)


def test_a_target_below_the_static_prefix_says_what_is_possible() -> None:
    policy = Policy.coding(budget={"target_tokens": 5_200})
    with pytest.raises(PolicyError, match="at least 5,500"):
        at(128_000, static=5_000, policy=policy)


def test_a_provider_that_counts_more_shrinks_the_room_and_the_margin_narrows_with_evidence() -> None:
    frame = Frame(window=100_000)
    plain = room(frame, Policy.coding())
    measured = room(frame, Policy.coding(), reported((8_000, 10_000), (16_000, 20_000)))
    assert measured.ceiling == int((100_000 - 12_000 - 1_000) / 1.25)
    assert plain.ceiling == 100_000 - 12_000 - 3_000


def reported(*pairs: tuple[int, int], wire: str = "openai-chat", model: str = "") -> ScopeState:
    samples = tuple(Sample(*pair) for pair in pairs)
    return ScopeState(model=model, usages={meter_name(wire, model): samples})


def test_what_the_provider_adds_unseen_is_taken_off_the_room() -> None:
    frame = Frame(window=100_000)
    hidden = room(frame, Policy.coding(), reported((8_000, 14_000), (16_000, 22_000)))
    assert hidden.ceiling == 100_000 - 12_000 - 1_000 - 6_000
    assert hidden.cap == int(0.85 * 88_000) - 6_000
    assert hidden.correction.theirs(hidden.ceiling) == 87_000


def test_the_ceiling_in_our_tokens_is_what_fits_in_theirs() -> None:
    for pairs in (((8_000, 9_000), (16_000, 28_000)), ((8_000, 6_000), (16_000, 12_000)), ((8_000, 30_000),)):
        space = room(Frame(window=200_000), Policy.coding(), reported(*pairs))
        fits = 200_000 - space.reserve - space.margin
        assert space.correction.theirs(space.ceiling) <= fits < space.correction.theirs(space.ceiling + 1) + 5


@pytest.mark.parametrize("pair", [(5_000, 90_000), (2_000, 400_000), (30_000, 120_000)])
def test_no_usage_refuses_a_session_that_fits_by_our_count(pair: tuple[int, int]) -> None:
    frame = Frame(window=16_000, static_tokens=6_000)
    assert room(frame, Policy.coding(), reported(pair)).cap >= 2_000
    assert room(frame, Policy.coding(), reported((2_000, 8_000), (4_000, 16_000), (8_000, 32_000))).cap >= 2_000


def test_an_offset_that_only_a_ratio_speaks_for_is_at_most_a_quarter_of_the_window() -> None:
    one, two = reported((10_000, 40_000)), reported((10_000, 30_000), (12_000, 32_000))
    assert room(Frame(window=64_000), Policy.coding(), one).correction.offset == 16_000
    assert room(Frame(window=200_000), Policy.coding(), one).correction.offset == 20_000
    assert room(Frame(window=64_000), Policy.coding(), two).correction.offset == 20_000


def test_every_model_has_its_own_calibration() -> None:
    state = ScopeState()
    for model, factor in (("one", 1.5), ("two", 0.9)):
        for size in (10_000, 20_000):
            frame = Frame(window=200_000, wire="openai-chat")
            state = with_usage(state, frame, size, Usage(input=round(size * factor)), model)
    asked = {model: room(Frame(window=200_000, model=model), Policy.coding(), state) for model in ("one", "two", "3")}
    assert [round(space.correction.factor, 3) for space in asked.values()] == [1.5, 0.9, 1.0]
    assert asked["3"].margin == 6_000, "nothing is known of it"
    assert room(Frame(window=200_000), Policy.coding(), state).correction == asked["two"].correction, "the last reply's"
    other = room(Frame(window=200_000, wire="anthropic"), Policy.coding(), state)
    assert other.correction.samples == 0, "another wire, another meter"


def test_old_usages_and_old_models_are_forgotten() -> None:
    state = ScopeState()
    for number in range(30):
        frame = Frame(window=200_000, model=f"model-{number // 10}")
        state = with_usage(state, frame, 1_000 + number, Usage(input=1_000), "reported-name")
    assert {name: len(samples) for name, samples in state.usages.items()} == {
        f"openai-chat model-{n}": KEPT_SAMPLES for n in range(3)
    }
    for number in range(20):
        state = with_usage(state, Frame(window=1, model=f"m{number}"), 10, Usage(input=10), "")
    assert list(state.usages) == [f"openai-chat m{n}" for n in range(14, 20)]


def test_images_that_cost_more_than_their_neutral_price_bring_the_cap_nearer_and_refuse_nothing() -> None:
    frame, policy = Frame(window=200_000), Policy.coding()
    found = {extra: room(frame, policy, pictures=extra) for extra in (0, 10_000, -10_000, 900_000)}
    assert {space.ceiling for space in found.values()} == {200_000 - 16_000 - 6_000}
    assert found[10_000].cap == found[0].cap - 10_000
    assert found[-10_000].cap == found[0].cap + 10_000
    assert found[900_000].cap == 2_000


@pytest.mark.parametrize(
    ("wire", "model", "extra"),
    [
        ("anthropic", "claude-opus-5-5", 1_091),
        ("openai-chat", "gpt-4o", -495),
        ("openai-chat", "", 848),
        ("other", "", 0),
    ],
)
def test_the_images_of_a_view_are_priced_for_the_provider_that_will_read_them(
    wire: str, model: str, extra: int
) -> None:
    shot = Event(role="user", parts=(Image(data="x", width=1_920, height=1_080),))
    view = View(key=Key(session="s"), checkpoint=None, kept=(), events=(shot,) * 3, state=ScopeState(model=model))
    frame = Frame(window=200_000, wire=wire)
    space = room_for(view, frame, Policy.coding(), view.events)
    assert space == room(frame, Policy.coding(), view.state, pictures=3 * extra)
    assert space.extra(view.events) == 3 * extra


def test_images_that_the_mark_turned_into_lines_take_no_room() -> None:
    """After a hundred screenshots, all but one of them lines, a request of 21,000 tokens met "the cap"."""
    image = Image(data="x", width=1_920, height=1_080)
    events = [user("Click."), *(Event(role="user", parts=(image,)) for _ in range(100)), user("Go on.")]
    events = [msgspec.structs.replace(event, seq=seq, tokens=1_600) for seq, event in enumerate(events, 1)]
    state = ScopeState(mark=Mark(seq=101))
    view = View(key=Key(session="s"), checkpoint=None, kept=(), events=tuple(events), state=state)
    frame, policy = Frame(window=200_000, wire="anthropic"), Policy.coding()
    shown, _ = clean(view.events, view.mark, policy)
    assert room_for(view, frame, policy, shown).cap == room(frame, policy).cap - 1_091


@pytest.mark.parametrize("window", [8_000, 16_000, 32_000, 128_000])
@pytest.mark.parametrize("lie", ["sums", "above the window", "huge", "alternating", "three windows"])
def test_no_usage_that_cannot_be_true_ends_a_session(window: int, lie: str) -> None:
    """What was learned may shrink the room; it never refuses every request: nothing could cure it then."""
    frame = Frame(window=window)
    state = ScopeState(frame=frame)
    total = 0
    for turn in range(12):
        sent = min(1_000 + 300 * turn, window // 2)
        total += sent
        reported = {
            "sums": total,
            "above the window": window + 1_000,
            "huge": 10**12,
            "alternating": sent if turn % 2 else min(20 * sent, window),
            "three windows": 3 * window,
        }[lie]
        state = with_usage(state, frame, sent, Usage(input=reported), "m")
        space = room(frame, Policy.coding(), state)
        assert space.cap >= 2_000
        assert space.ceiling <= window


# -- what is known of what comes


def test_a_tool_burst_makes_the_cap_a_sum_in_place_of_a_share() -> None:
    policy = Policy.coding(expected={"burst_tokens": 30_000})
    found = at(200_000, static=5_000, policy=policy)
    assert found.cap == 200_000 - 16_000 - 6_000 - 30_000 - 5_000
    assert room(Frame(window=200_000, static_tokens=5_000), policy, pictures=4_000).cap == found.cap - 4_000


def test_the_arithmetic_of_the_cap_is_shown_line_by_line_and_adds_up() -> None:
    frame = Frame(window=200_000, static_tokens=5_000)
    for policy in (Policy.coding(), Policy.coding(expected={"burst_tokens": 30_000})):
        for pictures in (0, 4_000):
            found = room(frame, policy, reported((8_000, 10_000), (16_000, 20_000)), pictures=pictures)
            lines = [*found.lines(), *found.cap_lines()]
            assert sum(tokens for text, tokens in lines if not text.startswith("=")) == found.cap
            assert lines[-1] == ("= the cap, above the static prefix", found.cap)
    assert ("- what the tools of one step may bring", -30_000) in found.cap_lines()
    assert ("- images, at this provider's prices", -4_000) in found.cap_lines()


def test_a_burst_that_leaves_nothing_is_named() -> None:
    with pytest.raises(PolicyError, match=r"30,000 are kept free .* \(expected.burst_tokens\)"):
        at(40_000, static=5_000, policy=Policy.coding(expected={"burst_tokens": 30_000}))


def test_a_trigger_leaves_room_for_output_schemas_and_burst() -> None:
    """S-FIT-05: 194,895 of text and 10,398 of schemas with 51,200 of output in a window of 256,000."""
    found = at(256_000, static=10_398, max_output=51_200)
    assert found.cap < 194_895
    assert found.cap + 10_398 + 51_200 < 256_000


def test_what_a_host_adds_makes_the_landing_smaller_only_where_the_cap_is_near() -> None:
    policy = Policy.coding(expected={"reinjected_tokens": 20_000})
    assert (at(200_000, policy=policy).landing, at(200_000, policy=policy).level) == (16_000, 36_000)
    tight = at(48_000, policy=policy)
    assert tight.level <= round(0.6 * tight.cap)
    assert tight.landing == round(0.6 * tight.cap) - 20_000
    assert tight.trigger > tight.level
    crowded = at(30_000, policy=policy)
    assert crowded.landing == 1_200, "at least what the smallest cap allows"


def test_what_a_host_adds_beyond_the_cap_is_refused_with_what_would_do() -> None:
    with pytest.raises(PolicyError, match="at most 34,704"):
        at(48_000, policy=Policy.coding(expected={"reinjected_tokens": 40_000}))


def test_a_target_holds_what_a_host_adds() -> None:
    policy = Policy.coding(budget={"target_tokens": 20_000}, expected={"reinjected_tokens": 6_000})
    found = at(128_000, static=5_000, policy=policy)
    assert (found.landing, found.level, found.trigger) == (9_000, 15_000, 25_000)
    with pytest.raises(PolicyError, match="at least 11,500"):
        at(128_000, static=5_000, policy=policy.replace(budget={"target_tokens": 11_000}))


# -- limits that a refusal named


def limited(limit: int, model: str = "") -> ScopeState:
    return ScopeState(model=model, limits={meter_name("openai-chat", model): limit})


def test_a_window_that_a_refusal_named_counts_where_it_is_smaller() -> None:
    frame = Frame(window=200_000)
    found = room(frame, Policy.coding(), limited(64_000))
    assert found.refused
    assert found == msgspec.structs.replace(room(Frame(window=64_000), Policy.coding()), refused=True)
    assert found.lines()[0] == ("context window, as the provider's refusal said", 64_000)
    assert room(frame, Policy.coding(), limited(300_000)) == room(frame, Policy.coding())


def test_a_refusal_speaks_for_its_own_model() -> None:
    state = limited(64_000, "small")
    assert room(Frame(window=200_000), Policy.coding(), state).window == 64_000, "the one that replied last"
    assert room(Frame(window=200_000, model="small"), Policy.coding(), state).window == 64_000
    assert room(Frame(window=200_000, model="large"), Policy.coding(), state).window == 200_000
    assert room(Frame(window=200_000, wire="anthropic"), Policy.coding(), state).window == 200_000


@pytest.mark.parametrize("limit", [1, 1_000, 3_000, 9_000])
def test_no_limit_from_a_refusal_ends_a_session(limit: int) -> None:
    """A number read wrongly must leave a way out: the smallest window that has room for messages is taken."""
    found = room(Frame(window=200_000, static_tokens=6_000), Policy.coding(), limited(limit))
    assert 2_000 <= found.cap <= 6_000
    assert found.window <= 15_000


def test_a_request_that_was_taken_proves_a_limit_wrong() -> None:
    frame, state = Frame(window=200_000), limited(64_000)
    small = with_usage(state, frame, 60_000, Usage(input=60_000), "", taken=True)
    assert room(frame, Policy.coding(), small).window == 64_000
    refused = with_usage(state, frame, 70_000, Usage(input=70_000), "")
    assert room(frame, Policy.coding(), refused).window == 64_000, "its size was told by a refusal"
    large = with_usage(state, frame, 70_000, Usage(input=70_000), "", taken=True)
    assert room(frame, Policy.coding(), large).window == 200_000
