"""The docs name everything there is (options, commands, keys, words), are fresh, and link to what exists."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import shlex
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
from pages import PAGES, ROOT, name_of
from typer.testing import CliRunner

import foldmark
from foldmark.cli.app import app
from foldmark.policy import PRESETS, Policy
from foldmark.prices import Price
from foldmark.store import promised

WORDS = (
    "event", "part", "session", "lineage", "child session", "branch", "scope", "round", "middle", "tail", "kept",
    "open call", "frame", "admission", "artifact", "preview", "kind", "cleanup", "demote", "mark", "epoch", "fact",
    "state", "state bar", "unit", "excerpts", "piece", "compaction", "checkpoint", "boundary", "budget", "landing",
    "trigger", "cooldown", "breaker", "layout", "fit", "static prefix", "ref", "recall", "report", "change", "profile",
)  # fmt: skip
"""The words of the design, each with one meaning."""


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


# -- what is generated


def test_the_generated_reference_and_the_sample_output_are_fresh(generate: ModuleType) -> None:
    assert generate.stale() == [], "run `make docs`"


def test_every_policy_option_is_listed_with_a_sentence(generate: ModuleType) -> None:
    text = page("docs/reference/policy.md")
    groups = dict(generate.groups())
    for name in Policy.__struct_fields__:
        if name in groups:
            said = generate.sentences(groups[name])
            for field in groups[name].__struct_fields__:
                assert f"| `{name}.{field}` |" in text
                assert len(said.get(field, "")) > 10, f"{name}.{field} has no sentence"
        else:
            assert f"| `{name}` |" in text
    for field in Price.__struct_fields__:
        assert len(generate.sentences(Price).get(field, "")) > 10, f"prices.{field} has no sentence"
    assert all(f"| `{name}` |" in text for name in PRESETS)


def test_every_public_name_is_in_the_reference() -> None:
    text = page("docs/reference/python.md")
    missing = [name for name in foldmark.__all__ if f"`{name}`" not in text]
    assert missing == []


OFFERED = (
    "foldmark.worker", "foldmark.around", "foldmark.hooked", "foldmark.exporting", "foldmark.control",
    "foldmark.retention", "foldmark.tools", "foldmark.prices", "foldmark.triggers", "foldmark.testing",
    "foldmark.opening", "foldmark.children",
)  # fmt: skip
"""Modules whose public names a user may use."""
OURS = {
    "foldmark.around": {"Consulted"},
    "foldmark.hooked": {"HookedStore", "Left", "as_recorded", "unheld"},
    "foldmark.exporting": {"Sink"},
    "foldmark.children": {"AsyncRun", "ChildSession", "ChildStopped", "Outcome", "Run"},
    "foldmark.opening": {"LARGEST_JSON", "PAGE_CHARACTERS", "Take", "open_body"},
    "foldmark.control": {"Control", "Setting"},
    "foldmark.prices": {"swing"},
    "foldmark.tools": {"ARTIFACT_TOOLS", "said"},
    "foldmark.triggers": {
        "BY_CODE", "IDLE_SECONDS", "ComingCall", "Sizes", "Trigger", "call_price", "coming_call", "due",
        "expected_next", "is_cold", "landing_warning", "rent_account", "sizes", "static_warning", "trigger_of",
    },
}  # fmt: skip
"""Those of them that our own modules hand each other, or that the reference tells in a sentence."""


def _public(name: str) -> set[str]:
    module = importlib.import_module(name)
    own = {
        word
        for word, value in vars(module).items()
        if not word.startswith("_") and getattr(value, "__module__", "") == name and hasattr(value, "__qualname__")
    }
    return set(getattr(module, "__all__", own))


def _entries() -> set[str]:
    """What the reference has an entry for: a heading, a call in front of its docstring, an import line."""
    text = page("docs/reference/python.md")
    found = re.findall(r"^(?:### |```text\n)(?:\w+\.)*(\w+)|^`from [\w.]+ import (\w+)`", text, re.MULTILINE)
    return {word for pair in found for word in pair}


@pytest.mark.parametrize("name", OFFERED)
def test_every_name_that_a_module_offers_has_an_entry_in_the_reference(name: str) -> None:
    public, ours = _public(name), OURS.get(name, set())
    assert ours <= public, "a name that is there no more"
    assert public - ours - _entries() - set(foldmark.__all__) - {"TABLE"} == set()


def test_every_method_of_the_protocol_of_stores_has_an_entry_in_the_reference() -> None:
    text = page("docs/reference/python.md")
    assert [name for name in promised() if f"`store.{name}`" not in text and f"store.{name}(" not in text] == []


def test_what_the_pages_import_has_an_entry_in_the_reference() -> None:
    """What a page shows is meant for use, so the reference has to promise it."""
    imports = re.compile(r"^\s*from foldmark[\w.]* import ([\w, ]+)", re.MULTILINE)
    known = _entries() | set(foldmark.__all__) | {"TABLE", "RULES"}
    modules = {"models", "triggers", "anthropic", "openai_chat", "embedders"}
    for one in PAGES:
        if one.name != "python.md":
            words = {w.strip() for found in imports.findall(one.read_text(encoding="utf-8")) for w in found.split(",")}
            assert words - known - modules == set(), name_of(one)


def test_every_command_and_option_is_documented_with_words(generate: ModuleType) -> None:
    text = page("docs/reference/command-line.md")
    for name, command in generate.commands().items():
        assert f"## {name}\n" in text
        for typed, info, _, _ in generate.parameters(command):
            assert f"`{typed}" in text
            assert info.help, f"{name} {typed} has no help"


# -- what people wrote


def _typed_commands() -> list[tuple[str, str]]:
    """(page, command line) wherever a page shows a foldmark command."""
    line = re.compile(r"(?:^ {4}|^\$ |`)foldmark ([a-z][^`\n]*)", re.MULTILINE)
    return [(name_of(one), found[1]) for one in PAGES for found in line.finditer(one.read_text(encoding="utf-8"))]


def test_every_command_that_a_page_shows_exists_with_these_options(generate: ModuleType) -> None:
    commands = generate.commands()
    known = {name: {typed for typed, *_ in generate.parameters(command)} for name, command in commands.items()}
    shown = _typed_commands()
    assert len(shown) > 20
    for where, line in shown:
        if "·" in line or "," in line.split()[0]:
            continue
        words = shlex.split(line, comments=True)
        name = words[0] if words[0] in known else " ".join(words[:2])
        assert name in known, f"{where}: foldmark {line}"
        options = {word.split("=")[0] for word in words[1:] if word.startswith("--")}
        assert options <= known[name], f"{where}: foldmark {line}"


def test_the_two_commands_of_the_readme_are_on_its_first_screen_and_in_the_makefile() -> None:
    first = page("README.md").splitlines()[:45]
    for command in ("make demo", "make test"):
        assert any(command in line for line in first)
        assert re.search(rf"^{command.split()[1]}:", page("Makefile"), re.MULTILINE)


def test_the_glossary_knows_every_word_once() -> None:
    found = re.findall(r"^\| ([^|]+?) \|", page("docs/glossary.md"), re.MULTILINE)
    assert [word for word in WORDS if word not in found] == []
    assert len(found) == len(set(found))
    words = [word for word in found if word not in ("word", "---")]
    assert words == sorted(words, key=lambda word: word.replace("-", " "))


def _anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("one", PAGES, ids=name_of)
def test_links_lead_somewhere(one: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", one.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("http"):
            continue
        path, _, anchor = target.partition("#")
        there = (one.parent / path).resolve() if path else one
        assert there.exists(), f"{name_of(one)} → {target}"
        if anchor:
            assert anchor in _anchors(there.read_text(encoding="utf-8")), f"{name_of(one)} → {target}"


def test_every_page_is_reached_from_the_index() -> None:
    text = page("docs/index.md")
    pages = [one.relative_to(ROOT / "docs").as_posix() for one in PAGES if one.parent != ROOT]
    assert [name for name in pages if name != "index.md" and f"({name})" not in text] == []


@pytest.mark.parametrize("one", PAGES, ids=name_of)
def test_pages_are_plain(one: Path) -> None:
    text = one.read_text(encoding="utf-8")
    loud = r"(?i)\b(blazing\w*|seamless\w*|powerful|effortless\w*|revolutionary|cutting-edge|game.chang\w+)\b"
    assert re.findall(loud, text) == []
    assert re.findall("[\U0001f300-\U0001faff\u2600-\u26ff]", text) == []


# -- the JSON contract


def _keys(section: str) -> set[str]:
    """The keys that a section of docs/json-contract.md lists."""
    (body,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", page("docs/json-contract.md"), re.DOTALL | re.MULTILINE)
    rows = re.findall(r"^\| (`[^|]+`) \|", body, re.MULTILINE)
    return set(re.findall(r"`([^`]+)`", " ".join(rows)))


def test_the_json_contract_lists_exactly_the_keys_there_are(tmp_path: Path) -> None:
    db = str(tmp_path / "foldmark.db")

    def run(*words: str, code: int = 0) -> Any:
        done = CliRunner().invoke(app, [*words, "--db", db, "--json"])
        assert done.exit_code == code, done.output
        return json.loads(done.stdout)

    sample = str(ROOT / "examples" / "session.json")
    assert set(run("import", sample)) == _keys("import")
    assert set(run("compact", sample, "--target", "12000")) == _keys("compact")
    assert set(run("sessions")[0]) == _keys("sessions")
    history = run("history")
    assert {*history, *history["attempts"][0]} == _keys("history")
    assert {key for entry in run("explain") for key in entry} == _keys("explain")
    assert {key for hit in run("search", "retrieval") for key in hit} == _keys("search")
    shown = run("load", "event:13")
    body = run("load", shown["events"][0]["artifacts"][0])
    assert set(shown) | set(body) == _keys("load")
    assert set(run("load", "event:9999", code=2)) | {"outcome"} == _keys("Errors")


def test_the_contract_names_every_type_of_part() -> None:
    kinds = {getattr(msgspec.inspect.type_info(kind), "tag", None) for kind in foldmark.events.Part.__args__}
    (line,) = re.findall(r"A part has a `type`:([^.]+)\.", page("docs/json-contract.md"))
    assert set(re.findall(r"`(\w+)`", line)) == kinds
