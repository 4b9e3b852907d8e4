"""Reads the pages of the docs and runs their code blocks, as a reader would: top to bottom, in one folder."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from typer.testing import CliRunner

from foldmark.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"\d(?:[\d,.]*\d)?")


class Block(NamedTuple):
    """A fenced block: its language, text and first line in the page."""

    language: str
    text: str
    line: int


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(found[1], found[2], text[: found.start(2)].count("\n") + 1) for found in _FENCE.finditer(text)]


class Client:
    """A model that answers in one sentence, in the shape of an OpenAI client."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.chat = self.completions = self

    def create(self, **payload: Any) -> dict[str, Any]:
        self.asked.append(payload)
        message = {"role": "assistant", "content": "I will look for where duplicate charges come from."}
        return {"choices": [{"message": message}], "usage": {"prompt_tokens": 120, "completion_tokens": 11}}


BASH = {"name": "bash", "description": "Run a command.", "parameters": {"type": "object"}}
TOOLS = [{"type": "function", "function": BASH}]


def run(page: Path) -> int:
    """Run every block of a page in the current folder; returns how many ran. Blocks of a page share their names.

    `python` runs; `output` behind it is what it must have printed; `console` holds `$ foldmark …` commands with what
    they print; `toml` with a `# name.toml` line is written to that file. In expected text `…` stands for anything,
    and numbers for numbers: sizes move with every improvement, the shape does not.
    """
    names: dict[str, Any] = {"client": Client(), "SYSTEM": "You are careful.", "TOOLS": TOOLS, "MODEL": "a-model"}
    printed, count = "", 0
    for block in blocks(page):
        if block.language == "python":
            printed = _python(block, page, names)
        elif block.language == "output":
            expect(block.text, printed, f"{name_of(page)}:{block.line}")
        elif block.language == "console":
            _console(block, page)
        elif block.language == "toml":
            tomllib.loads(block.text)
            Path(block.text.splitlines()[0].removeprefix("# ")).write_text(block.text, encoding="utf-8")
        else:
            continue
        count += 1
    return count


def _python(block: Block, page: Path, names: dict[str, Any]) -> str:
    code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, names)
    return out.getvalue()


def _console(block: Block, page: Path) -> None:
    for at, part in enumerate(re.split(r"^\$ ", block.text, flags=re.MULTILINE)):
        if not at:
            assert not part, f"{name_of(page)}:{block.line}: text before the first command"
            continue
        typed, _, shown = part.partition("\n")
        words = shlex.split(typed, comments=True)
        assert words[0] == "foldmark", f"{name_of(page)}: only foldmark commands run in the docs, not {typed!r}"
        done = CliRunner().invoke(app, words[1:])
        where = f"{name_of(page)}: {typed}"
        assert done.exit_code == 0, f"{where} exits with {done.exit_code}:\n{done.output}{done.exception}"
        expect(shown, done.stdout, where)


def expect(shown: str, printed: str, where: str) -> None:
    """Every shown line is among the printed ones, in order."""
    rest = [_plain(line) for line in printed.splitlines()]
    for line in filter(None, map(_plain, shown.splitlines())):
        if line == "…":
            continue
        pattern = re.compile(".*".join(map(re.escape, line.split("…"))))
        found = next((at for at, other in enumerate(rest) if pattern.fullmatch(other)), None)
        assert found is not None, f"{where}: shown is {line!r}, printed is\n{printed}"
        rest = rest[found + 1 :]


def _plain(line: str) -> str:
    return _NUMBER.sub("#", " ".join(line.split()))
