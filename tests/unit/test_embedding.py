"""Embedders, small vectors, the fusion of words and nearness, and a search that no embedder can break."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from math import nan, sqrt

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark import MemoryStore, Session, SQLiteStore, embedding
from foldmark.aio import AsyncSession
from foldmark.embedding import Embedder, Vector, cosines, packed, unpacked
from foldmark.errors import EmbedderFailed, PolicyError
from foldmark.events import assistant, result, user
from foldmark.hooked import EventHooks
from foldmark.reports import Looked, Observation
from foldmark.retrieval import Meaning, Ranked, fused, question, widened
from foldmark.seeking import Finding, Found, Piece, Sought
from foldmark.store import Key
from foldmark.vectors import Nearest
from toy_embedder import numbers, toy
from waiting import LONG

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40).filter(lambda many: max(map(abs, many)) > 1e-6)


def failing(texts: Sequence[str]) -> Sequence[Sequence[float]]:
    raise RuntimeError(f"no such model; it was asked about {texts[0]}")


async def awaited(texts: Sequence[str]) -> None: ...


def broken(call: object = failing, timeout_seconds: float = 5.0) -> Embedder:
    return Embedder(id="broken", call=call, dimension=64, timeout_seconds=timeout_seconds)  # type: ignore[arg-type]


# -- vectors in one byte a component


@given(NUMBERS)
def test_a_packed_vector_points_where_the_numbers_do(values: list[float]) -> None:
    vector = unpacked(packed(values))
    length = sqrt(sum(value * value for value in values))
    assert sum(one * one for one in vector) == pytest.approx(1.0)
    assert sum(one * value / length for one, value in zip(vector, values, strict=True)) > 0.999


@given(
    st.lists(st.lists(st.floats(-1, 1), min_size=8, max_size=8), max_size=6),
    st.lists(st.floats(-1, 1), min_size=8, max_size=8),
)
def test_with_and_without_numpy_the_same_is_near(many: list[list[float]], asked: list[float]) -> None:
    pytest.importorskip("numpy")
    vectors, query = [packed(one) for one in many], unpacked(packed(asked))
    fast = cosines(query, vectors)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedding, "_numpy", lambda: None)
        assert cosines(query, vectors) == pytest.approx(fast, abs=2e-6)


def test_a_text_that_means_nothing_is_near_to_nothing() -> None:
    nothing = packed([0.0, 0.0])
    assert nothing == Vector(0.0, b"\0\0")
    assert cosines((1.0, 0.0), [nothing, packed([5.0, 0.0])]) == [0.0, 1.0]


@pytest.mark.parametrize("wrong", [[nan, 1.0], [float("inf")]])
def test_numbers_that_are_none_are_refused(wrong: list[float]) -> None:
    with pytest.raises(ValueError, match="holds numbers that are none"):
        packed(wrong)


# -- what an embedder may be


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": ""}, {"id": "a\nb"}, {"id": "\ud800"}, {"id": "x" * 201}, {"call": None}, {"call": awaited},
        {"ask": "x"}, {"ask": awaited}, {"call_after": "x"}, {"call_after": awaited},
        {"dimension": 0}, {"dimension": 10_000}, {"weight": -0.1}, {"weight": nan},
        {"batch": 0}, {"timeout_seconds": 0.0}, {"timeout_seconds": nan},
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused_by_name(wrong: dict[str, object]) -> None:
    with pytest.raises(PolicyError, match=next(iter(wrong))):
        Embedder(**{"id": "mine", "call": numbers, "dimension": 64, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (failing, r"failed \(RuntimeError\)"),
        (lambda texts: [], "gave 0 vectors for 1 texts"),
        (lambda texts: [[1.0, 2.0]], "gave 2 numbers in place of 64"),
        (lambda texts: [[nan] * 64], r"failed \(ValueError\)"),
        (lambda texts: None, r"failed \(TypeError\)"),
        (lambda texts: ["words"], r"failed \(ValueError\)"),
    ],
)
def test_what_is_no_vector_is_told_without_a_word_of_the_text(call: object, said: str) -> None:
    with pytest.raises(EmbedderFailed, match=said) as told:
        broken(call).of_texts(["a secret"])
    assert "secret" not in str(told.value)


def test_a_query_goes_by_a_function_of_its_own_where_there_is_one() -> None:
    seen: list[str] = []

    def call(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        seen.extend(texts)
        return [numbers(text) for text in texts]

    def ask(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return call([f"query: {text}" for text in texts])

    one = Embedder(id="e5", call=call, ask=ask, dimension=64)
    one.of_texts(["a", "b"])
    one.of_query("c")
    assert seen == ["a", "b", "query: c"]


def test_what_was_said_before_a_text_is_handed_over_where_an_embedder_reads_it_and_anything_was_said() -> None:
    calls: list[tuple[str, list[str]]] = []

    def after(texts: Sequence[str], before: Sequence[str]) -> Sequence[Sequence[float]]:
        calls.append(("after", list(before)))
        return [numbers(text) for text in texts]

    def alone(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        calls.append(("alone", list(texts)))
        return [numbers(text) for text in texts]

    plain = Embedder(id="plain", call=alone, dimension=64)
    reading = msgspec.structs.replace(plain, call_after=after)
    for embedder in (plain, reading):
        for before in (["", "x"], ["", ""], []):
            assert embedder.of_texts(["a", "b"], before) == plain.of_texts(["a", "b"])
    assert [call for call in calls if call != ("alone", ["a", "b"])] == [("after", ["", "x"])]
    assert (plain.reads_before, reading.reads_before) == (False, True)


def test_an_embedder_that_fails_at_what_was_said_before_fails_as_one() -> None:
    weak = Embedder(id="weak", call=numbers, call_after=lambda texts, before: failing(texts), dimension=64)
    with pytest.raises(EmbedderFailed, match="RuntimeError"):
        weak.of_texts(["a"], ["b"])


# -- fusion


def found(seq: int, text: str, role: str = "user") -> Found:
    event = (user if role == "user" else assistant)(text)
    return Found(Piece(seq, 0, text), event)


def fused_scores(judged: dict[int, float], near: dict[int, float], weight: float = 0.5) -> dict[int, float]:
    ranked = [Ranked(found(seq, f"text {seq}"), score) for seq, score in judged.items()]
    scores = {("", seq, 0): score for seq, score in near.items()}
    finding = Finding(tuple(one.found for one in ranked))
    return {one.found.piece.seq: one.score for one in fused(ranked, finding, Nearest((), scores), weight)}


def test_each_side_counts_by_its_best_and_nearness_by_its_weight() -> None:
    assert fused_scores({1: 4.0, 9: 2.0}, {1: 0.2, 9: 0.4}) == {1: 4.0 + 0.5 * 4.0 * 0.5, 9: 2.0 + 0.5 * 4.0}


def test_without_weight_or_vectors_the_scores_of_words_stand() -> None:
    assert fused_scores({1: 4.0, 9: 2.0}, {1: 0.2, 9: 0.4}, weight=0.0) == {1: 4.0, 9: 2.0}
    assert fused_scores({1: 4.0, 9: 2.0}, {}) == {1: 4.0, 9: 2.0}
    assert fused_scores({1: 4.0, 9: 2.0}, {1: -0.3, 9: 0.0}) == {1: 4.0, 9: 2.0}


def test_what_only_nearness_brings_is_judged_too_and_nothing_twice() -> None:
    lexical, both, near_alone = found(1, "a"), found(2, "b"), found(3, "c")
    finding = Finding((lexical, both), 3, {})
    whole = widened(finding, Nearest((both, near_alone), {near_alone.place: 0.5}))
    assert [one.piece.seq for one in (*whole.found, *whole.near)] == [1, 2, 3]
    made = fused([Ranked(lexical, 2.0), Ranked(both, 1.0)], whole, Nearest((near_alone,), {("", 3, 0): 0.5}), 0.5)
    assert {one.found.piece.seq: one.score for one in made} == {1: 2.0, 2: 1.0, 3: 1.0}


@pytest.mark.parametrize(("reads_before", "expected"), [(False, ["event:2", "event:1"]), (True, ["event:1"])])
def test_neighbours_lend_their_nearness_only_where_nothing_was_read_before_a_text(
    reads_before: bool, expected: list[str]
) -> None:
    """Event 2 means nothing that is asked; event 1, which does, is asked for in other words."""

    def call(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return [[1.0, 0.0] if "lorry" in text or "vehicle" in text else [0.0, 1.0] for text in texts]

    after = (lambda texts, before: call(texts)) if reads_before else None
    embedder = Embedder(id="two", call=call, call_after=after, dimension=2, weight=1.0)
    session = Session("talk", embedder=embedder, clock=lambda: 1_000_000.0)
    session.record(user("the lorry was sold to somebody else"), assistant("that is what everybody had hoped for"))
    session.embed()
    assert sorted(refs(session, "vehicle")) == sorted(expected)


SAID = st.text(st.characters(), min_size=1, max_size=60)


@given(SAID, SAID)
def test_of_what_was_said_equally_near_the_longer_counts_more(one: str, other: str) -> None:
    sizes = [len(text.encode("utf-8", "replace")) for text in (one, other)]
    made = fused(
        [Ranked(found(1, one), 1.0), Ranked(found(9, other), 1.0)], Finding(),
        Nearest((), {("", 1, 0): 0.5, ("", 9, 0): 0.5}), 1.0,
    )  # fmt: skip
    shares = [one.score - 1.0 for one in made]
    assert max(shares) == pytest.approx(1.0)
    assert min(shares) == pytest.approx(min(sizes) * (max(sizes) + 40) / max(sizes) / (min(sizes) + 40), abs=1e-3)
    assert shares[0] == shares[1] if sizes[0] == sizes[1] else (shares[0] > shares[1]) == (sizes[0] > sizes[1])


def test_a_tool_result_is_as_near_as_its_vector_says_however_short() -> None:
    short, long = found_result(1, "ok"), found_result(9, "the build is through " * 20)
    near = Nearest((), {("", 1, 0): 0.5, ("", 9, 0): 0.5})
    assert [one.score for one in fused([Ranked(short, 1.0), Ranked(long, 1.0)], Finding(), near, 1.0)] == [2.0, 2.0]


def found_result(seq: int, text: str) -> Found:
    return Found(Piece(seq, 0, text), result("call", text))


# -- a query that names who speaks


def spoken(embedder: Embedder) -> Session:
    session = Session("spoken", embedder=embedder, clock=lambda: 1_000_000.0)
    session.record(user("Ann: we sold the lorry in spring"), assistant("Bob: noted, the lorry is gone"))
    return session


def heard() -> tuple[list[str], Embedder]:
    """What an embedder is asked about, and the embedder."""
    seen: list[str] = []

    def ask(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        seen.extend(texts)
        return [numbers(text) for text in texts]

    return seen, Embedder(id="toy", call=lambda texts: [numbers(text) for text in texts], ask=ask, dimension=64)


def test_a_query_that_names_who_speaks_is_embedded_with_and_without_the_name_once() -> None:
    seen, embedder = heard()
    session = spoken(embedder)
    session.embed()
    for _ in range(2):
        assert refs(session, "What lorry did Ann sell?")
    assert seen == ["What lorry did Ann sell?", "What lorry did sell?"]
    assert refs(session, "Who sold the lorry?")
    assert seen[2:] == ["Who sold the lorry?"]


def test_what_is_looked_for_lies_between_both_wordings() -> None:
    meaning = Meaning(toy())
    one, other, both = meaning.vector("lamp"), meaning.vector("hall"), meaning.vector("lamp", "hall")
    near = [sum(a * b for a, b in zip(both, side, strict=True)) for side in (one, other, both)]
    assert near == pytest.approx([sqrt(0.5), sqrt(0.5), 1.0], abs=1e-6)
    assert meaning.vector("lamp", "lamp") == pytest.approx(one, abs=1e-6)


def test_wordings_that_point_apart_give_a_vector_without_a_direction() -> None:
    apart = Embedder(id="apart", call=lambda texts: [[1.0, 0.0] if text == "a" else [-1.0, 0.0] for text in texts],
                     dimension=2)  # fmt: skip
    assert Meaning(apart).vector("a", "b") == (0.0, 0.0)


def test_both_wordings_go_out_in_one_call() -> None:
    calls: list[list[str]] = []

    def ask(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        calls.append(list(texts))
        return [numbers(text) for text in texts]

    wordings = ["What lorry did Ann sell?", "What lorry did sell?"]
    assert refs(spoken(broken(ask)), wordings[0])
    assert calls == [wordings]
    calls.clear()
    assert refs(spoken(msgspec.structs.replace(broken(ask), batch=1)), wordings[0])
    assert calls == [[one] for one in wordings], "where no more are taken at once, one by one"


# -- a search


def talk(embedder: Embedder | None = None, **options: object) -> Session:
    session = Session("talk", embedder=embedder, clock=lambda: 1_000_000.0, **options)  # type: ignore[arg-type]
    session.record(
        user("we sold the lorry in spring"), assistant("noted"), user("dinner was great"), assistant("glad to hear"),
        user("the lamp in the hall is broken"), assistant("order a bulb"),
    )  # fmt: skip
    return session


def refs(session: Session, query: str, **limits: object) -> list[str]:
    return [hit.ref for hit in session.search(query, **limits)]  # type: ignore[arg-type]


def test_other_words_of_the_same_meaning_are_found_once_they_are_embedded() -> None:
    session = talk(toy())
    assert refs(session, "our vehicle") == []
    assert not session.embed().left
    assert refs(session, "our vehicle")[0] == "event:1"


def test_recording_never_calls_the_embedder() -> None:
    session = talk(broken())
    with pytest.raises(EmbedderFailed):
        session.embed()
    assert len(session.store.log(session.key)) == 6


def test_filters_hold_for_what_nearness_brings() -> None:
    session = talk(toy())
    session.embed()
    assert "event:1" not in refs(session, "vehicle", roles=("assistant",))
    assert "event:1" not in refs(session, "vehicle", without=frozenset({1}))


def test_a_read_hook_that_hides_an_event_hides_it_from_nearness() -> None:
    store = MemoryStore()
    session = talk(toy(), store=store)
    session.embed()
    hook = EventHooks(on_read=lambda key, event: None if "lorry" in event.text else event)
    shielded = Session("talk", store=store, embedder=toy(), hooks=(hook,))
    assert "event:1" not in refs(shielded, "vehicle")
    assert not any("lorry" in hit.snippet for hit in shielded.search("vehicle lorry dinner"))


@pytest.mark.parametrize(
    ("call", "remark"),
    [
        (failing, "by words alone: the embedder 'broken' failed (RuntimeError)"),
        (lambda texts: [[0.0]], "by words alone: the embedder 'broken' gave 1 numbers in place of 64"),
    ],
)
def test_a_failing_embedder_leaves_the_search_by_words_and_observers_are_told(call: object, remark: str) -> None:
    told: list[Observation] = []
    session = talk(broken(call), observer=told.append)
    assert refs(session, "lamp") == refs(talk(), "lamp") != []
    looks = [one for one in told if isinstance(one, Looked)]
    assert [(one.found > 0, one.failed, one.remark) for one in looks] == [(True, False, remark)]


def test_a_slow_embedder_is_not_waited_for_and_not_asked_again_while_it_is_busy() -> None:
    free, begun, calls = threading.Event(), threading.Event(), []

    def slow(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        calls.append(list(texts))
        begun.set()
        free.wait(LONG)
        return [numbers(text) for text in texts]

    told: list[Observation] = []
    session = talk(broken(slow, timeout_seconds=0.01), observer=told.append)
    assert refs(session, "lamp") == refs(session, "lamp the second") == refs(talk(), "lamp")
    assert begun.wait(LONG)
    assert calls == [["lamp"]]
    remarks = [one.remark for one in told if isinstance(one, Looked)]
    free.set()
    assert remarks == [
        "by words alone: the embedder 'broken' gave no vector within 0.01 s",
        "by words alone: the embedder 'broken' is still busy with an earlier query",
    ]


def test_an_embedder_that_was_slow_to_fail_rests_for_a_minute_and_a_quick_failure_costs_nothing() -> None:
    calls: list[str] = []
    now = [0.0]

    def down(seconds: float) -> Embedder:
        def call(texts: Sequence[str]) -> Sequence[Sequence[float]]:
            calls.extend(texts)
            now[0] += seconds
            raise ConnectionError("down")

        return broken(call)

    slow, quick = Meaning(down(5.0), clock=lambda: now[0]), Meaning(down(0.1), clock=lambda: now[0])
    for query in ("a", "b"):
        for meaning in (slow, quick):
            with pytest.raises(EmbedderFailed):
                meaning.vector(query)
    assert calls == ["a", "a", "b"]
    now[0] += 61.0
    with pytest.raises(EmbedderFailed, match="failed"):
        slow.vector("c")
    assert calls[-1] == "c"


def test_missing_vectors_are_told_of_and_those_that_are_there_are_used() -> None:
    told: list[Observation] = []
    session = talk(toy(), observer=told.append)
    session.embed(limit=2)
    assert refs(session, "vehicle")[0] == "event:1"
    assert [one.remark for one in told if isinstance(one, Looked)] == ["4 pieces have no vector yet"]


def test_a_changed_embedder_searches_by_words_until_its_own_vectors_are_there() -> None:
    store = MemoryStore()
    talk(toy(), store=store).embed()
    changed = Session("talk", store=store, embedder=toy("new"))
    assert refs(changed, "vehicle") == []
    assert changed.embed().done == 6
    assert refs(changed, "vehicle")[0] == "event:1"


def test_an_embedder_without_weight_is_never_asked_about_a_query() -> None:
    silent = Embedder(id="silent", call=failing, dimension=64, weight=0.0)
    told: list[Observation] = []
    session = talk(silent, observer=told.append)
    assert refs(session, "lamp") == refs(talk(), "lamp")
    assert [one.remark for one in told if isinstance(one, Looked)] == [""]


def test_the_same_query_is_embedded_once() -> None:
    calls: list[str] = []

    def call(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        calls.extend(texts)
        return [numbers(text) for text in texts]

    meaning = Meaning(broken(call))
    assert meaning.vector("lamp") == meaning.vector("lamp")
    assert calls == ["lamp"]


def test_a_store_without_vectors_is_searched_by_words() -> None:
    store = MemoryStore()
    session = talk(toy(), store=store)
    del store.vectors
    assert session.embed().done == 0
    asked = question("lamp", 0.0)
    key = Key(session="talk")
    found = store.find(key, asked.terms)
    said = Meaning(toy()).judged(store, key, asked, found, Sought())[1]
    assert said == "by words alone: the store keeps no vectors"
    assert refs(session, "lamp")[0] == "event:5"


def test_a_session_that_is_opened_like_this_one_has_its_embedder() -> None:
    embedder = toy()
    assert Session("other", **talk(embedder).alike)._meaning.embedder is embedder  # type: ignore[union-attr]


def test_without_an_embedder_nothing_is_embedded() -> None:
    assert talk().embed().done == 0


def test_both_stores_rank_alike_with_an_embedder(tmp_path: object) -> None:
    disk = SQLiteStore(f"{tmp_path}/a.db")
    sessions = [talk(toy(), store=MemoryStore()), talk(toy(), store=disk)]
    for session in sessions:
        session.embed()
    for query in ("vehicle", "the lamp", "great lorry dinner", "nothing of the kind"):
        first, second = ([(hit.ref, hit.score) for hit in session.search(query)] for session in sessions)
        assert first == second
    disk.close()


def test_secrets_are_not_handed_to_the_embedder() -> None:
    seen: list[str] = []

    def call(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        seen.extend(texts)
        return [numbers(text) for text in texts]

    session = Session("keys", embedder=broken(call))
    session.record(user("the key is sk-proj-" + "a1B2c3D4" * 5))
    session.embed()
    assert len(seen) == 1
    assert "a1B2c3D4" not in seen[0]


def test_an_async_session_embeds_and_searches_alike() -> None:
    async def run() -> list[str]:
        session = AsyncSession("talk", embedder=toy())
        await session.record(user("we sold the lorry"))
        assert (await session.embed()).done == 1
        return [hit.ref for hit in await session.search("vehicle")]

    assert asyncio.run(run()) == ["event:1"]
