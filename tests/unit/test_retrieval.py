from __future__ import annotations

import msgspec
import pytest

from foldmark.artifacts import MemoryArtifacts
from foldmark.errors import NotFound
from foldmark.events import Artifact, Event, Reading, ToolCall, ToolResult, assistant, control, result, user
from foldmark.memory import MemoryStore
from foldmark.policy import Policy
from foldmark.refs import Ref, parse
from foldmark.retrieval import (
    Hit,
    Loaded,
    pieces,
    question,
    rank,
    read_page,
    snippets,
    widen,
)
from foldmark.retrieval.indexing import INDEXED_CHARACTERS, PIECE_CHARACTERS
from foldmark.retrieval.showing import SNIPPET_CHARACTERS
from foldmark.seeking import Sought
from foldmark.session import Session
from foldmark.store import Key, SessionInfo

MAIN = Key(session="main")


def recorded(*events: Event) -> MemoryStore:
    """A store with these events, indexed as the flow does it."""
    store = MemoryStore()
    add(store, MAIN, *events)
    return store


def add(store: MemoryStore, key: Key, *events: Event) -> None:
    context = store.context(key, events)
    calls = {call.id: call for event in context.new for call in event.calls}
    readings = [
        Reading(event, event.text, event.calls, calls.get(event.result.call_id) if event.result else None)
        for event in context.new
    ]
    store.append(key, context.new, head=context.head, pieces=pieces(readings), now=1.0)


def search(store: MemoryStore, query: str, where: str = "session") -> list[Hit]:
    asked = question(query, 1.0)
    return snippets(rank(store.find(MAIN, asked.terms, sought=Sought(where=where)), asked), asked)  # type: ignore[arg-type]


# What is indexed


def test_pieces_of_an_event_join_to_its_whole_text_and_start_where_they_say() -> None:
    text = "\n".join(f"line {n} " + "word " * (n % 40) for n in range(1, 400))
    cut = pieces([Reading(msgspec.structs.replace(user(text), seq=3), text)])
    assert "".join(piece.text for piece in cut) == text
    assert max(len(piece.text) for piece in cut) <= PIECE_CHARACTERS
    assert [piece.order for piece in cut] == list(range(len(cut)))
    for piece in cut:
        assert piece.text.startswith(f"line {piece.line} ")
        assert f"line {piece.end_line} " in piece.text
        assert piece.seq == 3


def test_an_endless_line_is_cut_at_spaces_and_anywhere_at_last() -> None:
    for text in ("word " * 2_000, "x" * 5_000):
        cut = pieces([Reading(user(text), text)])
        assert "".join(piece.text for piece in cut) == text
        assert max(len(piece.text) for piece in cut) <= PIECE_CHARACTERS
        assert {piece.line for piece in cut} == {1}


def test_of_a_huge_text_both_ends_are_indexed_with_true_line_numbers() -> None:
    text = "".join(f"{n:07d}\n" for n in range(1, INDEXED_CHARACTERS // 4))
    cut = pieces([Reading(user(text), text)])
    assert sum(len(piece.text) for piece in cut) <= INDEXED_CHARACTERS
    for piece in (cut[0], cut[len(cut) // 2], cut[-1]):
        assert int(piece.text[:7]) == piece.line
    assert cut[-1].text.endswith(text[-8:])


def test_a_result_carries_the_call_it_answers_and_a_call_its_arguments_as_lines() -> None:
    call = ToolCall("c", "write_file", '{"path": "src/app.py", "content": "def run():\\n    return 1"}')
    made, answered = pieces(
        [Reading(assistant("Now.", call), "Now.", (call,)), Reading(result("c", "ok"), "ok", (), call)]
    )
    assert made.text.split("\n") == [
        "Now.",
        "write_file",
        "path: src/app.py",
        "content: def run():",
        "    return 1",
    ]
    assert answered.text == "ok"
    assert answered.head.startswith("write_file path: src/app.py content: def run():")


def test_arguments_that_are_no_json_are_indexed_as_they_are() -> None:
    call = ToolCall("c", "run", "[secret:x] not json \ud800")
    (piece,) = pieces([Reading(assistant("", call), "", (call,))])
    assert piece.text == "run [secret:x] not json \ud800"


def test_lines_of_a_body_are_numbered_as_its_artifact() -> None:
    part = ToolResult("c", "preview", artifact=Artifact("0" * 64, 5, 2, "log", 1))
    (piece,) = pieces([Reading(Event(role="tool", parts=(part,), seq=4), "whole\nbody")])
    assert (piece.number, piece.line, piece.end_line) == (1, 1, 2)


def test_control_events_and_empty_ones_are_not_indexed() -> None:
    assert pieces([Reading(control("x", {"a": 1}), "text"), Reading(user(""), "")]) == []


# Ranking


def test_the_line_that_holds_the_question_together_comes_first() -> None:
    apart = "the timeout of the proxy\n" + "filler line of no interest\n" * 20 + "a client connects\n"
    store = recorded(user(apart), user("settings:\nclient timeout = 45 seconds\nother"), user("client client client"))
    assert search(store, "what is the client timeout")[0].ref == "event:2"


def test_rare_words_weigh_more_than_common_ones() -> None:
    store = recorded(*(user(f"build number {n} passed") for n in range(30)), user("the walrus build"))
    assert search(store, "walrus build passed")[0].ref == "event:31"


def test_the_exact_name_beats_its_parts() -> None:
    store = recorded(
        user("config loader tests and the test config"), user("see test_config_loader"), user("loader test")
    )
    assert search(store, "test_config_loader")[0].ref == "event:2"


def test_among_equal_hits_the_newer_comes_first() -> None:
    store = recorded(user("alpha port = 1"), user("nothing"), user("alpha port = 2"))
    assert [hit.ref for hit in search(store, "port")] == ["event:3", "event:1"]


def test_each_event_and_each_repeated_passage_comes_once() -> None:
    passage = "walrus = 7\n"
    store = recorded(user(passage * 400), user("1\twalrus = 7"), user("walrus = 8"))
    hits = search(store, "walrus")
    assert len(hits) == 2
    assert hits[-1].ref == "event:3" or hits[0].ref == "event:3"


def test_the_call_beside_a_result_finds_it() -> None:
    store = recorded(
        assistant("", ToolCall("a", "bash", '{"command": "pytest tests/billing"}')),
        result("a", "2 failed, 3 passed"),
        assistant("", ToolCall("b", "bash", '{"command": "pytest tests/other"}')),
        result("b", "5 passed"),
    )
    hits = search(store, "which billing tests failed")
    assert hits[0].ref == "event:2"
    assert hits[0].speaker == "tool bash"


def test_no_match_is_an_empty_answer() -> None:
    store = recorded(user("hello"))
    for query in ("unicorn", "", "  ", "?!", "\x00", '"'):
        assert search(store, query) == []


def test_a_query_of_a_hundred_kilobytes_is_answered() -> None:
    store = recorded(user("walrus here"), user("other"))
    assert [hit.ref for hit in search(store, "walrus " + "padding words " * 7_000)] == ["event:1"]


# What a hit shows


def test_a_hit_names_speaker_date_and_the_very_lines() -> None:
    text = "\n".join(f"line {n}" + " x" * 60 for n in range(1, 30)) + "\nthe walrus sleeps\nin the bath"
    store = recorded(msgspec.structs.replace(user(text), time=1_700_000_000.0))
    (hit,) = search(store, "walrus bath")
    assert (hit.speaker, hit.date) == ("user", "2023-11-14T22:13:20Z")
    assert hit.at == "event:1#L28-31"
    assert "the walrus sleeps\nin the bath" in hit.snippet
    assert len(hit.snippet) <= SNIPPET_CHARACTERS + 2


def test_a_hit_in_a_body_points_into_its_artifact() -> None:
    store = MemoryStore()
    part = ToolResult("c", "preview", artifact=Artifact("0" * 64, 5, 9, "log", 1))
    event = Event(role="tool", origin="tool", parts=(part,))
    context = store.context(MAIN, [event])
    store.append(MAIN, context.new, head=0, pieces=pieces([Reading(context.new[0], "a\nb\nwalrus\nc")]), now=1.0)
    (hit,) = search(store, "walrus")
    assert parse(hit.at) == Ref("artifact", "1", lines=(1, 4))


def test_the_snippet_of_a_long_line_is_the_stretch_that_matched() -> None:
    store = recorded(user("x " * 300 + "the walrus sleeps" + " y" * 200))
    (hit,) = search(store, "walrus")
    assert "the walrus sleeps" in hit.snippet
    assert len(hit.snippet) <= SNIPPET_CHARACTERS + 2


def test_a_hit_elsewhere_carries_its_session() -> None:
    store = recorded(user("hello"))
    other = Key(session="other")
    store.open(other, info=SessionInfo(session="other"))
    add(store, other, user("walrus"))
    (hit,) = search(store, "walrus", where="user")
    assert (hit.ref, hit.session) == ("event:1@other", "other")


# Loading


def test_an_event_is_loaded_with_so_many_neighbours_and_control_events_are_passed_over() -> None:
    store = recorded(user("1"), user("2"), control("x", {}), user("4"), control("y", {}), user("6"), user("7"))
    assert [event.seq for event in widen(store, MAIN, 4, 1, 2)] == [2, 4, 6, 7]
    assert [event.seq for event in widen(store, MAIN, 4, 9, 9)] == [1, 2, 4, 6, 7]
    assert [event.seq for event in widen(store, MAIN, 4)] == [4]
    assert [event.seq for event in widen(store, MAIN, 3, 2, 2)] == [3]


def pages(data: bytes, ref: str, limit: int) -> list[Loaded]:
    place = MemoryArtifacts()
    sha256 = place.put("t", data)
    out = [read_page(place, "t", sha256, parse(ref), limit)]
    while out[-1].next:
        out.append(read_page(place, "t", sha256, parse(out[-1].next), limit))
    return out


def test_pages_are_cut_at_lines_and_join_without_loss() -> None:
    text = "".join(f"Zeile {n} über 東京 🙂\n" for n in range(500))
    found = pages(text.encode(), "artifact:1", 300)
    assert "".join(page.text for page in found) == text
    assert all(page.text.endswith("\n") and len(page.text) <= 300 for page in found)


def test_pages_of_an_endless_line_join_without_loss_and_cut_no_character() -> None:
    text = "🙂é" * 5_000
    found = pages(text.encode(), "artifact:1", 301)
    assert "".join(page.text for page in found) == text
    assert max(len(page.text) for page in found) == 301


def test_a_page_gives_the_lines_or_bytes_that_were_asked_for() -> None:
    data = b"".join(b"line %d\n" % n for n in range(1, 100))
    assert "".join(page.text for page in pages(data, "artifact:1#L10-12", 9)) == "line 10\nline 11\nline 12\n"
    assert pages(data, "artifact:1#B0-6", 100)[0].text == "line 1"
    for behind in ("artifact:1#L500-600", "artifact:1#B90000-90009"):
        with pytest.raises(NotFound, match="99 lines"):
            pages(data, behind, 100)
    assert pages(b"", "artifact:1", 100) == [Loaded(ref="artifact:1")]


def test_bytes_that_are_no_text_are_paged_one_character_a_byte() -> None:
    data = bytes(range(128, 256)) * 40
    assert "".join(page.text for page in pages(data, "artifact:1", 500)).encode("latin-1") == data


def test_lone_surrogates_survive_paging() -> None:
    text = "a\ud800b\n" * 500
    assert "".join(page.text for page in pages(text.encode("utf-8", "surrogatepass"), "artifact:1", 100)) == text


def test_a_line_of_trouble_in_the_middle_of_a_huge_body_is_found_at_its_line() -> None:
    """Only both ends of a body over a megabyte are indexed whole; what a preview shows of its middle is found too."""
    rows = [f"row {number} of quiet work with nothing to tell" for number in range(60_000)]
    rows[30_000] = "ERROR QX-48151: the walrus refused"
    made = Session("s", policy=Policy.coding())
    made.record(user("Go."), assistant("", ToolCall("c", "bash", "{}")), result("c", "\n".join(rows), name="bash"))
    hit = made.search("QX-48151")[0]
    assert hit.ref == "event:3"
    assert hit.at == "artifact:3#L30001-30001"
    assert made.load(hit.at).text.strip() == rows[30_000]
