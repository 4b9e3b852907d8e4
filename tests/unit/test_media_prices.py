"""Images cost what each provider's documents say, by pixels; events carry one neutral price."""

from __future__ import annotations

import pytest

from foldmark.events import Event, Image, Text, ToolResult, user
from foldmark.media_prices import IMAGE_TOKENS, audio_tokens, difference, file_tokens, image_tokens


def sized(width: int, height: int, detail: str = "") -> Image:
    return Image(data="x", width=width, height=height, detail=detail)


@pytest.mark.parametrize(
    ("width", "height", "neutral"),
    [(300, 300, 120), (10, 10, 85), (1092, 1092, 1590), (4032, 3024, IMAGE_TOKENS), (0, 0, IMAGE_TOKENS)],
)
def test_the_neutral_price_goes_by_pixels_within_bounds(width: int, height: int, neutral: int) -> None:
    assert image_tokens(sized(width, height)) == neutral
    assert image_tokens(sized(width, height), "some-gateway", "llama-9") == neutral


@pytest.mark.parametrize(
    ("model", "detail", "size", "price"),
    [
        # Tiles: the three examples of OpenAI's guide.
        ("gpt-4o", "high", (1024, 1024), 85 + 4 * 170),
        ("gpt-4o", "high", (2048, 4096), 85 + 6 * 170),
        ("gpt-4o", "low", (4096, 8192), 85),
        ("gpt-4o-mini", "", (1024, 1024), 2_833 + 4 * 5_667),
        ("gpt-4o-mini", "low", (1024, 1024), 2_833),
        ("gpt-5", "", (1024, 1024), 70 + 4 * 140),
        ("o3", "", (300, 200), 75 + 150),
        # Patches: both examples of the guide.
        ("o4-mini", "", (1024, 1024), 1_762),
        ("gpt-4.1-mini-2025-04-14", "low", (1800, 2400), 2_353),
        # The newer rule, as measured.
        ("gpt-6-astra", "", (256, 256), 77),
        ("gpt-6-astra", "", (1920, 1080), 2_448),
        ("gpt-6-astra", "auto", (3840, 2160), 9_792),
        ("gpt-6-astra", "high", (2560, 1440), 2_931),
        ("gpt-6-astra", "high", (4032, 3024), 2_942),
        ("", "", (1024, 1024), 1_229),
    ],
)
def test_openai_charges_tiles_or_patches_by_model_family(
    model: str, detail: str, size: tuple[int, int], price: int
) -> None:
    for provider in ("openai", "openai-chat"):
        assert image_tokens(sized(*size, detail), provider, model) == price


@pytest.mark.parametrize(
    ("model", "size", "price"),
    [
        ("claude-opus-5-5", (256, 256), 100),
        ("claude-opus-5-5", (1280, 720), 1_196),
        ("claude-opus-5-5", (1920, 1080), 2_691),
        ("claude-opus-4-7", (4032, 3024), 4_784),
        ("", (1920, 1080), 2_691),
        ("claude-haiku-4-5", (1280, 720), 1_196),
        ("claude-haiku-4-5", (1920, 1080), 1_568),
        ("claude-opus-4-6", (8000, 8000), 1_568),
        ("claude-opus-4-20250514", (8000, 8000), 1_568),
        ("anthropic/claude-3.5-sonnet", (8000, 8000), 1_568),
        ("claude-opus-4-8", (8000, 8000), 4_784),
        ("claude-sonnet-5-5", (8000, 1), 92),
    ],
)
def test_anthropic_charges_patches_up_to_the_models_resolution(model: str, size: tuple[int, int], price: int) -> None:
    assert image_tokens(sized(*size), "anthropic", model) == price


@pytest.mark.parametrize(
    ("model", "size", "price"),
    [
        ("gemini-3-pro", (4032, 3024), 1_120),
        ("", (100, 100), 1_120),
        ("gemini-2.5-flash", (384, 384), 258),
        ("gemini-2.5-flash", (385, 384), 258 * 4),
        ("gemini-2.0-flash", (960, 540), 258 * 6),
        ("gemini-1.5-pro", (3072, 3072), 258 * 16),
    ],
)
def test_google_charges_one_price_or_tiles(model: str, size: tuple[int, int], price: int) -> None:
    assert image_tokens(sized(*size), "gemini", model) == price


@pytest.mark.parametrize("provider", ["", "openai", "anthropic", "gemini", "unheard-of"])
@pytest.mark.parametrize("size", [(1, 1), (1, 10**9), (2**31, 2**31), (0, 0), (13, 70_000)])
def test_no_size_gives_nothing_or_without_bound(provider: str, size: tuple[int, int]) -> None:
    assert 1 <= image_tokens(sized(*size), provider) <= 20_000


@pytest.mark.parametrize("provider", ["", "openai", "anthropic", "gemini", "unheard-of"])
def test_an_image_of_unknown_size_costs_at_least_a_full_screenshot(provider: str) -> None:
    assert image_tokens(Image(url="https://example.org/a.png"), provider) >= 1_500


def test_the_maker_of_a_model_behind_a_compatible_gateway_is_known_by_its_name() -> None:
    image = sized(1920, 1080)
    assert image_tokens(image, "openai-chat", "anthropic/claude-opus-5-5") == 2_691
    assert image_tokens(image, "openai-chat", "google/gemini-3-pro") == 1_120
    assert image_tokens(image, "openrouter", "openai/gpt-4o") == 1_105


def test_totals_are_corrected_by_what_a_provider_charges_above_the_neutral_price() -> None:
    image = sized(1920, 1080)
    events = [
        user("no image"),
        Event(role="user", parts=(Text("look"), image)),
        Event(role="tool", parts=(ToolResult("c", "shot", images=(image, image)),)),
    ]
    assert difference(events, "anthropic") == 3 * (2_691 - IMAGE_TOKENS)
    assert difference(events, "openai-chat", "gpt-4o") == 3 * (1_105 - IMAGE_TOKENS)
    assert difference(events, "unheard-of") == 0


def test_recordings_cost_their_seconds_and_files_their_pages_or_bytes() -> None:
    assert audio_tokens(60) == 1_920
    assert audio_tokens(0) == 1
    assert file_tokens(10_000_000, pages=3) == 7_500
    assert file_tokens(0) == 2_500
    assert file_tokens(120_000) == 7_500


FRONTS = ("", "us.anthropic.", "bedrock/anthropic.", "vertex_ai/", "openrouter/maker/", "databricks-", "models/", "eu.")


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("model", ["claude-sonnet-4-20250514", "claude-opus-5-5", "gemini-2.5-flash", "gpt-4o-mini"])
@pytest.mark.parametrize("end", ["", "-v1:0", ":free", "@20250514"])
def test_what_clouds_and_gateways_put_around_a_models_name_does_not_change_its_price(
    front: str, model: str, end: str
) -> None:
    image = sized(1920, 1080)
    assert image_tokens(image, "openai-chat", front + model + end) == image_tokens(image, "", model)


@pytest.mark.parametrize("front", ["openai/", "openrouter/openai/", "azure/", "ft:"])
@pytest.mark.parametrize("model", ["o3", "o3:free", "o1-mini", "o4-mini-2025-04-16"])
def test_the_shortest_names_are_known_where_they_stand_alone(front: str, model: str) -> None:
    image = sized(300, 200)
    assert image_tokens(image, "some-gateway", front + model) == image_tokens(image, "openai", model)


@pytest.mark.parametrize("model", ["aidc/marco-o1", "minigpt-4", "llama-9", "bedrock/amazon.nova-pro-v1:0", "o14"])
def test_a_name_that_only_looks_like_a_known_one_keeps_the_neutral_price(model: str) -> None:
    assert image_tokens(sized(1920, 1080), "some-gateway", model) == IMAGE_TOKENS
