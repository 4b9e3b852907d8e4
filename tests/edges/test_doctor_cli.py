"""`foldmark doctor`: its JSON contract, exit codes and files; bad input is a sentence, never a traceback."""

from __future__ import annotations

import gc
import json
import os
import re
import resource
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from foldmark.cli.app import app
from foldmark.cli.doctor_command import check
from foldmark.errors import PolicyError

BROKEN = Path(__file__).resolve().parents[1] / "samples" / "broken"
PAGES = Path(__file__).resolve().parents[2] / "docs"
GOOD = '{"role":"user","content":"hello"}\n'


def run(*words: object, code: int = 0, given: bytes | None = None) -> Any:
    done = CliRunner().invoke(app, ["doctor", *map(str, words)], input=given)
    assert done.exit_code == code, done.output + str(done.exception)
    assert "Traceback" not in done.output
    return done


def contract(*words: object, code: int = 0, given: bytes | None = None) -> Any:
    return json.loads(run(*words, "--json", code=code, given=given).stdout)


@pytest.mark.parametrize("path", sorted(BROKEN.iterdir()), ids=lambda path: path.name)
def test_a_broken_file_is_found_mended_and_then_found_well(path: Path, tmp_path: Path) -> None:
    out = tmp_path / path.name
    before = path.read_bytes()
    found = contract(path, code=3)
    assert found["ok"] is False
    assert all(set(one) == {"path", "code", "message", "severity", "advice"} for one in found["problems"])
    assert (found["out"], found["changes"], found["remaining"]) == (None, [], [])
    made = contract(path, "--repair", out)
    assert made["problems"] == found["problems"]
    assert (made["out"], made["remaining"]) == (str(out), [])
    assert all(set(one) == {"path", "code", "message"} for one in made["changes"])
    assert len(made["changes"]) > 0
    again = contract(out)
    assert (again["ok"], again["problems"], again["format"]) == (True, [], found["format"])
    assert path.read_bytes() == before


def test_what_could_not_be_kept_is_saved_beside_the_copy(tmp_path: Path) -> None:
    out = tmp_path / "mended.jsonl"
    made = contract(BROKEN / "claude-code.jsonl", "--repair", out)
    assert made["rejected"] == f"{out}.rejected"
    assert Path(made["rejected"]).read_bytes() == (BROKEN / "claude-code.jsonl").read_bytes().splitlines()[-1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mended.jsonl", "mended.jsonl.rejected"]


def test_nothing_to_reject_leaves_no_second_file(tmp_path: Path) -> None:
    assert contract(BROKEN / "chat.json", "--repair", tmp_path / "x.json")["rejected"] is None
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_the_contract_lists_exactly_the_keys_there_are(tmp_path: Path) -> None:
    text = (PAGES / "json-contract.md").read_text(encoding="utf-8")
    (body,) = re.findall(r"^## doctor\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    keys = set(re.findall(r"^\| `(\w+)`", body, re.MULTILINE))
    made = contract(BROKEN / "chat.json", "--repair", tmp_path / "x.json")
    assert keys == set(made) | set(made["problems"][0])


def test_people_read_what_is_wrong_where_and_what_to_do(tmp_path: Path) -> None:
    text = run(BROKEN / "codex.jsonl", code=3).stdout
    assert "codex.jsonl: codex, 12 records, 5 problems" in text
    assert "  line 8 payload: no call 'call_7' is there for this result." in text
    assert "foldmark doctor" in text
    assert "--repair OUT" in text
    text = run(BROKEN / "codex.jsonl", "--repair", tmp_path / "x.jsonl").stdout
    assert "5 changes; every other record is there byte for byte" in text
    assert "the copy: no problem found" in text


def test_warnings_alone_are_told_and_are_no_failure(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"role": "user", "content": "many different words here " * 9_000}) + "\n")
    found = contract(path)
    assert (found["ok"], [one["severity"] for one in found["problems"]]) == (True, ["warning"])
    assert "1 warning" in run(path).stdout
    assert contract(path, "--window", 30_000, code=3)["problems"][-1]["code"] == "window"


def test_standard_input_is_read() -> None:
    assert contract("-", given=GOOD.encode())["ok"] is True
    assert "standard input" in run("-", given=b"", code=2).stderr


def test_terminal_sequences_of_a_transcript_are_not_carried_out(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(GOOD + json.dumps({"role": "tool", "tool_call_id": "\x1b]0;owned\x07", "content": "x"}) + "\n")
    for shown in (run(path, code=3).stdout, run(path, "--repair", tmp_path / "o.jsonl").stdout):
        assert "\x1b" not in shown
        assert "\x07" not in shown


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "binary"),
        (b"some words of no transcript", "no"),
        (b"[" * 200_000, "nested"),
        (b'{"a":' * 50_000, "no"),
        (b"[]", "no"),
        (b'"text"', "no"),
        (b"5", "no"),
    ],
)
def test_a_file_that_is_no_transcript_is_a_sentence_and_exit_code_2(data: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(data)
    for words in ([path], [path, "--repair", tmp_path / "out.json"]):
        found = contract(*words, code=2)
        assert "file.json" in found["message"]
        assert said in found["message"]
    assert not (tmp_path / "out.json").exists()


def test_places_that_cannot_be_read_or_written_are_named_and_nothing_is_done(tmp_path: Path) -> None:
    good = tmp_path / "good.jsonl"
    good.write_text(GOOD)
    assert "No such file" in contract(tmp_path / "none.json", code=2)["message"]
    assert "Is a directory" in contract(tmp_path, code=2)["message"]
    assert "no folder" in contract(good, "--repair", tmp_path / "no" / "x", code=2)["message"]
    assert "is a folder" in contract(good, "--repair", tmp_path, code=2)["message"]
    assert "another file" in contract(good, "--repair", good, code=2)["message"]
    assert "window" in contract(good, "--window", 0, code=2)["message"]
    assert "klingon" in contract(good, "--format", "klingon", code=2)["message"]
    assert good.read_text() == GOOD
    assert [path.name for path in tmp_path.iterdir()] == ["good.jsonl"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(GOOD)
    path.chmod(0)
    assert "Permission denied" in contract(path, code=2)["message"]


def test_a_format_without_a_writer_names_the_way_out(tmp_path: Path) -> None:
    message = contract(BROKEN.parent / "pi.jsonl", "--repair", tmp_path / "x.jsonl", code=2)["message"]
    assert "foldmark compact" in message
    assert not (tmp_path / "x.jsonl").exists()


def test_the_format_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(GOOD)
    assert contract(path)["format"] == "openai-messages"
    assert contract(path, "--format", "anthropic-messages")["format"] == "anthropic-messages"


def test_nothing_writes_over_the_transcript_whatever_the_copy_is_called(tmp_path: Path) -> None:
    beside = tmp_path / "copy.rejected"
    beside.write_text(GOOD)
    (tmp_path / "link").symlink_to(beside)
    for out in (tmp_path / "copy", tmp_path / "link"):
        assert "another file" in contract(beside, "--repair", out, code=2)["message"]
    assert beside.read_text() == GOOD
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.rejected", "link"]


def test_a_copy_is_never_written_over_what_is_no_regular_file(tmp_path: Path) -> None:
    good = tmp_path / "good.jsonl"
    good.write_text(GOOD)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "x.rejected").mkdir()
    assert "no regular file" in contract(good, "--repair", tmp_path / "pipe", code=2)["message"]
    assert "no regular file" in contract(good, "--repair", "/dev/null", code=2)["message"]
    assert "is a folder" in contract(good, "--repair", tmp_path / "x", code=2)["message"]


def test_a_link_is_replaced_and_what_it_points_to_stays(tmp_path: Path) -> None:
    other, link = tmp_path / "other", tmp_path / "link"
    other.write_text("words")
    link.symlink_to(other)
    run(BROKEN / "chat.json", "--repair", link)
    assert other.read_text() == "words"
    assert not link.is_symlink()


@pytest.mark.parametrize(("mode", "wanted"), [(0o600, 0o600), (0o444, 0o644), (0o640, 0o640)])
def test_a_copy_is_as_private_as_the_transcript_and_can_be_written(mode: int, wanted: int, tmp_path: Path) -> None:
    path, out = tmp_path / "t.jsonl", tmp_path / "out.jsonl"
    path.write_text(GOOD)
    path.chmod(mode)
    run(path, "--repair", out)
    assert out.stat().st_mode & 0o777 == wanted


def test_a_full_disk_leaves_the_old_copy_and_no_scraps(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("old")
    big = json.dumps({"role": "user", "content": "words " * 40_000}) + "\n"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    path = tmp_path / "big.jsonl"
    path.write_text(big + '{"role": "us')
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        said = run(path, "--repair", out, code=2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "too large" in said.stderr
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["big.jsonl", "out.jsonl"]


def test_a_session_that_is_still_written_is_read_up_to_its_last_whole_line(tmp_path: Path) -> None:
    whole = (BROKEN.parent / "claude-code.jsonl").read_bytes()
    last = whole.rstrip(b"\n").rsplit(b"\n", 1)[1]
    found = contract("-", given=whole + last[: len(last) // 2], code=3)
    assert [one["code"] for one in found["problems"] if one["severity"] == "error"] == ["truncated"]


def test_the_copy_is_on_the_disk_before_it_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    flush, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append("flushed"), flush(handle)))
    monkeypatch.setattr(os, "replace", lambda old, new: (done.append("in place"), replace(old, new)))
    run(BROKEN / "claude-code.jsonl", "--repair", tmp_path / "x.jsonl")
    assert done == ["flushed", "flushed", "in place", "in place"]


@pytest.mark.parametrize("collects", [True, False])
def test_the_garbage_collector_is_left_as_it_was(collects: bool) -> None:
    was = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        run(BROKEN / "chat.json", code=3)
        assert gc.isenabled() is collects
    finally:
        (gc.enable if was else gc.disable)()


def _signed(tmp_path: Path) -> Path:
    block = {"type": "thinking", "thinking": "hm", "signature": "AAAA"}
    said = {"role": "assistant", "content": [block, {"type": "text", "text": "ok"}]}
    path = tmp_path / "signed.json"
    path.write_text(json.dumps({"messages": [{"role": "user", "content": "hi"}, said]}))
    return path


def test_without_thinking_the_copy_holds_none_and_each_block_is_a_change(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    code, said = check(_signed(tmp_path), repair=out, window=None, format="auto", as_json=True, without_thinking=True)
    assert isinstance(said, dict)
    assert (code, [change["path"] for change in said["changes"]]) == (0, ["messages[1].content[0]"])
    assert b"thinking" not in out.read_bytes()
    assert b'"ok"' in out.read_bytes()


def test_without_thinking_wants_a_copy(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="--repair OUT"):
        check(_signed(tmp_path), repair=None, window=None, format="auto", as_json=True, without_thinking=True)


def test_a_result_in_front_of_its_call_fails_and_is_mended(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t", "name": "read", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "t", "content": "x"}
    rows = [("a", None, "user", "go"), ("c", "b", "user", [answer]), ("b", "a", "assistant", [call])]
    path = tmp_path / "session.jsonl"
    with path.open("w") as file:
        for key, parent, role, content in rows:
            head = {"type": role, "uuid": key, "parentUuid": parent, "sessionId": "s", "isSidechain": False}
            file.write(json.dumps({**head, "message": {"role": role, "content": content}}) + "\n")
    assert contract(path, code=3)["problems"][0]["code"] == "result_before_call"
    assert contract(path, "--repair", tmp_path / "out.jsonl")["remaining"] == []
