"""Images outside the log: stored once, priced by their pixels, back in place when a request goes out."""

from __future__ import annotations

import base64
import struct
from pathlib import Path
from typing import Any

import pytest

from foldmark import MemoryStore, Policy, Session, SQLiteStore, user
from foldmark.events import Event, Image, Text, ToolCall, ToolResult, assistant, fingerprint, images_of
from foldmark.originals import pictured, whole
from foldmark.wire import anthropic, gemini, openai_chat, openai_responses


def picture(number: int, size: int = 30_000, width: int = 800, height: int = 600) -> str:
    """Base64 text that begins like a PNG of that many pixels."""
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)
    return base64.b64encode(head + bytes([number]) * size).decode()


def shown(number: int, **fields: Any) -> Event:
    image = Image(media_type="image/png", data=picture(number), **fields)
    return Event(role="user", origin="user", parts=(Text("look"), image))


def screenshot(number: int) -> list[Event]:
    image = Image(media_type="image/png", data=picture(number))
    made = ToolResult(f"c{number}", f"shot {number}", name="screenshot", images=(image,))
    return [assistant("", ToolCall(f"c{number}", "screenshot")), Event(role="tool", origin="tool", parts=(made,))]


def test_the_log_holds_where_an_image_is_and_not_its_data() -> None:
    session = Session("s", store=MemoryStore())
    session.record(shown(1))
    [event] = session.store.log(session.key)
    [image] = images_of(event)
    assert image.data == ""
    assert (image.width, image.height) == (800, 600)
    assert image.artifact is not None
    assert [one.kind for one in event.artifacts] == ["image"]
    assert whole(event, session.artifacts, session.key.tenant).parts == (
        Text("look"),
        Image(media_type="image/png", data=picture(1), width=800, height=600),
    )


@pytest.mark.parametrize("wire", [openai_chat, anthropic], ids=lambda wire: wire.NAME)
def test_a_request_that_shows_an_image_carries_its_data(wire: Any) -> None:
    session = Session("s", store=MemoryStore())
    session.record(*[shown(1), assistant("I see."), user("And now?"), *screenshot(2)])
    payload = str(session.request(wire=wire, window=100_000).payload())
    assert picture(2) in payload
    assert picture(1) in payload


def test_a_warm_request_gives_the_same_messages_again() -> None:
    session = Session("s", store=MemoryStore())
    session.record(*[shown(1), assistant("I see."), user("And now?")])
    first = session.request(window=100_000).messages
    session.record(assistant("More."))
    second = session.request(window=100_000).messages
    assert all(old is new for old, new in zip(first, second, strict=False))


def test_what_an_image_costs_is_the_same_inside_and_outside() -> None:
    session = Session("s", store=MemoryStore())
    session.record(*[shown(1), *screenshot(2)])
    inline = Session("s", store=MemoryStore(), policy=Policy.coding(admission={"inline_bytes": 10_000_000}))
    inline.record(*[shown(1), *screenshot(2)])
    outside = [event.tokens for event in session.store.log(session.key)]
    assert outside == [event.tokens for event in inline.store.log(inline.key)]
    assert outside[0] > 600


def test_an_image_that_comes_back_is_recognised() -> None:
    session = Session("s", store=MemoryStore())
    session.record(*[shown(1), assistant("I see.")])
    [event, _] = session.store.log(session.key)
    assert fingerprint(shown(1)) == event.plain
    found = session.follow([shown(1), assistant("I see."), user("Go on.")])
    assert [each.text for each in found.new] == ["Go on."]


def test_a_payload_that_comes_back_with_its_images_is_recognised() -> None:
    for wire in (openai_chat, anthropic):
        session = Session("s", store=MemoryStore())
        session.record(*[shown(1), *screenshot(2), assistant("Done.")])
        messages = session.request(wire=wire, window=100_000).payload()["messages"]
        found = session.follow([*messages, {"role": "user", "content": "Go on."}], wire=wire)
        assert [each.text for each in found.new] == ["Go on."], wire.NAME


def test_opening_the_ref_of_an_image_shows_it() -> None:
    session = Session("s", store=MemoryStore())
    session.record(*[shown(1), *screenshot(2)])
    [event] = session.load("artifact:3").events
    assert [image.data for image in images_of(event)] == [picture(2)]
    assert session.load("artifact:3#B0-8").text == picture(2)[:8]


def test_a_body_and_the_images_of_one_result_have_numbers_of_their_own() -> None:
    session = Session("s", store=MemoryStore())
    log = "\n".join(f"line {n} of a long log with words in it" for n in range(4_000))
    images = tuple(Image(media_type="image/png", data=picture(n)) for n in (1, 2))
    session.record(*[
        assistant("", ToolCall("c", "browse")),
        Event(role="tool", origin="tool", parts=(ToolResult("c", log, name="browse", images=images),)),
    ])  # fmt: skip
    [_, event] = session.store.log(session.key)
    assert [one.number for one in event.artifacts] == [1, 2, 3]
    assert session.load("artifact:2#L4000-4000").text == log.split("\n")[-1]
    assert [image.data for image in images_of(session.load("artifact:2.3").events[0])] == [picture(2)]


WIRES = (openai_chat, openai_responses, anthropic, gemini)


def with_an_unreadable_picture(harm: str, folder: Path) -> tuple[Session, Path, bytes]:
    """A session whose two pictures cannot be read, one file of them and what was in it."""
    session = Session("s", store=SQLiteStore(folder / "a.db"))
    session.record(*[shown(1), *screenshot(2), assistant("I see."), user("Go on.")])
    kept = session.store.log(session.key)[0].artifacts[0].sha256
    for sha256 in [one.sha256 for event in session.store.log(session.key) for one in event.artifacts]:
        [file] = folder.rglob(sha256)
        data = file.read_bytes()
        if harm == "gone":
            file.unlink()
        else:
            file.write_bytes(data[: len(data) // 2] if harm == "cut" else data[:40] + b"\xff\xff\xff" + data[43:])
        if sha256 == kept:
            first, whole_file = file, data
    return session, first, whole_file


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.NAME)
@pytest.mark.parametrize("harm", ["gone", "cut", "flipped"])
def test_a_picture_that_cannot_be_read_is_named_truly_and_stops_no_request(
    wire: Any, harm: str, tmp_path: Path
) -> None:
    session, _, _ = with_an_unreadable_picture(harm, tmp_path)
    made = session.request(wire=wire, window=100_000)
    said = "is gone" if harm == "gone" else "cannot be read"
    payload = made.payload()
    text = str(payload)
    assert f"[an image of 800x600; its body {said}: artifact:1]" in text
    assert f"[an image of 800x600; its body {said}: artifact:3]" in text
    assert "shot 2" in text
    assert "cannot be sent" not in text
    assert made.lost() == []
    problems = wire.validate(payload, suspected=True)
    assert [problem for problem in problems if problem.code != "tools_missing"] == []


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.NAME)
def test_a_payload_with_the_words_for_a_lost_picture_is_recognised(wire: Any, tmp_path: Path) -> None:
    session, _, _ = with_an_unreadable_picture("gone", tmp_path)
    messages = session.request(wire=wire, window=100_000).payload()[wire.MESSAGES]
    more = session.follow([*messages, *wire.write("", [], [user("And now?")])[wire.MESSAGES]], wire=wire)
    assert more.forked_at is None
    assert [event.text for event in more.new if event.text] == ["And now?"]


@pytest.mark.parametrize("harm", ["gone", "cut", "flipped"])
def test_a_picture_that_is_put_back_is_shown_again_in_the_same_process(harm: str, tmp_path: Path) -> None:
    session, file, data = with_an_unreadable_picture(harm, tmp_path)
    assert picture(1) not in str(session.request(wire=anthropic, window=100_000).payload())
    file.write_bytes(data)
    text = str(session.request(wire=anthropic, window=100_000).payload())
    assert picture(1) in text
    assert "artifact:1]" not in text
    assert "artifact:3]" in text


def test_an_image_without_its_data_is_not_called_an_unsupported_type() -> None:
    session = Session("s", store=MemoryStore())
    session.record(shown(1))
    event = session.store.log(session.key)[0]
    for wire in WIRES:
        text = str(wire.write("", [], [event]))
        assert "[an image of type image/png whose data is not at hand]" in text, wire.NAME


def test_messages_without_images_stay_the_same_objects() -> None:
    messages = (user("a"), assistant("b"))
    made = pictured(messages, Session("s", store=MemoryStore()).artifacts, "t")
    assert all(old is new for old, new in zip(messages, made, strict=True))
