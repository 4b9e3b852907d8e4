"""Reads the pages of the docs and runs their code blocks, as a reader would: top to bottom, in one folder.

PYTHONPATH=src python tests/docs/pages.py             # puts the numbers that are printed now into the pages
PYTHONPATH=src python tests/docs/pages.py README.md   # of these pages
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from typer.testing import CliRunner

from foldmark.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
COLUMNS = "100"
"""The width of the terminal for which commands print."""
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"\d(?:[\d,.]*\d)?")
_ANY_NUMBER = rf"(?<!\d)({_NUMBER.pattern})"
_TOKEN = re.compile(rf"(…|{_NUMBER.pattern})")


class Block(NamedTuple):
    """A fenced block: its language, text and first line in the page."""

    language: str
    text: str
    line: int


class Shown(NamedTuple):
    """A text that a page shows as output: where, from which line of the page on."""

    text: str
    where: str
    line: int


Told = Callable[[Shown, str], None]
"""Gets what is shown and what was printed."""


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(found[1], found[2], text[: found.start(2)].count("\n") + 1) for found in _FENCE.finditer(text)]


class Reply:
    """What the SDK gives: an object with attributes, which is no mapping."""

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return self._fields


class Client:
    """A model that answers in one sentence, in the shape of an OpenAI client."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.chat = self.completions = self

    def create(self, **payload: Any) -> Reply:
        self.asked.append(payload)
        message = {"role": "assistant", "content": "I will look for where duplicate charges come from."}
        return Reply(choices=[{"message": message}], usage={"prompt_tokens": 120, "completion_tokens": 11})


BASH = {"name": "bash", "description": "Run a command.", "parameters": {"type": "object"}}
TOOLS = [{"type": "function", "function": BASH}]


def expect(shown: Shown, printed: str) -> None:
    """Every shown line is among the printed ones, in order. `…` stands for anything; numbers are exact."""
    rest = [_plain(line) for line in printed.splitlines()]
    for line in filter(None, map(_plain, shown.text.splitlines())):
        if line == "…":
            continue
        pattern = _pattern(line)
        found = next((at for at, other in enumerate(rest) if pattern.fullmatch(other)), None)
        assert found is not None, (
            f"{shown.where}: shown is {line!r}, printed is\n{printed}\n"
            f"If only numbers differ: PYTHONPATH=src python tests/docs/pages.py {shown.where.partition(':')[0]}"
        )
        rest = rest[found + 1 :]


def run(page: Path, told: Told = expect) -> int:
    """Run every block of a page in the current folder; returns how many ran. Blocks of a page share their names.

    `python` runs; `output` behind it is what it must have printed; `console` holds `$ foldmark …` commands with what
    they print; `toml` with a `# name.toml` line is written to that file.
    """
    names: dict[str, Any] = {"client": Client(), "SYSTEM": "You are careful.", "TOOLS": TOOLS, "MODEL": "a-model"}
    printed, count = "", 0
    for block in blocks(page):
        if block.language == "python":
            printed = _python(block, page, names)
        elif block.language == "output":
            told(Shown(block.text, f"{name_of(page)}:{block.line}", block.line), printed)
        elif block.language == "console":
            _console(block, page, told)
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


def _console(block: Block, page: Path, told: Told) -> None:
    line = block.line
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
        told(Shown(shown, where, line + 1), done.stdout)
        line += part.count("\n")


def _plain(line: str) -> str:
    return " ".join(line.split())


def _pattern(line: str, *, numbers: str = "") -> re.Pattern[str]:
    """A shown line as a pattern. With `numbers`, that pattern stands for each of its numbers."""
    parts = _TOKEN.split(line)  # every second one is a wildcard or a number
    words = (
        re.escape(part) if not at % 2 else ".*" if part == "…" else numbers or re.escape(part)
        for at, part in enumerate(parts)
    )
    return re.compile("".join(words))


# -- the numbers of now


def renewed(shown: str, printed: str) -> str:
    """The shown text with the numbers that are printed now. What is printed in other words, or not at all, stays."""
    rest, out = printed.splitlines(), []
    for line in shown.splitlines():
        found = _place(line, rest) if line.strip(" …") else None
        out.append(line if found is None else _with_numbers_of(line, rest[found]))
        rest = rest if found is None else rest[found + 1 :]
    return "\n".join(out)


def _place(line: str, printed: list[str]) -> int | None:
    """Where a shown line was printed: as it is, else with other numbers."""
    for pattern in (_pattern(_plain(line)), _pattern(_plain(line), numbers=_ANY_NUMBER)):
        for at, other in enumerate(printed):
            if pattern.fullmatch(_plain(other)):
                return at
    return None


def _with_numbers_of(line: str, printed: str) -> str:
    """The line with the printed numbers; one without a wildcard becomes the printed one, with its columns."""
    if _pattern(_plain(line)).fullmatch(_plain(printed)):
        return line
    hit = _pattern(_plain(line), numbers=_ANY_NUMBER).fullmatch(_plain(printed))
    if "…" not in line or hit is None:
        return printed.rstrip()
    numbers = iter(hit.groups())
    return _NUMBER.sub(lambda _: next(numbers), line)


def _renew(lines: list[str], shown: Shown, printed: str) -> None:
    if shown.text:
        first = shown.line - 1
        new = renewed(shown.text, printed).split("\n")
        lines[first : first + len(new)] = new


def main(words: list[str]) -> None:
    os.environ["COLUMNS"] = COLUMNS
    wanted = [Path(word).resolve() for word in words] or PAGES
    for page in wanted:
        lines = page.read_text(encoding="utf-8").split("\n")
        with tempfile.TemporaryDirectory(prefix="foldmark-docs-") as folder, contextlib.chdir(folder):
            shutil.copytree(ROOT / "examples", Path(folder) / "examples")
            try:
                run(page, partial(_renew, lines))
            except Exception as error:  # the page is for a person to mend; the others go on
                print(f"{name_of(page)}: {error}", file=sys.stderr)
                continue
        if lines != page.read_text(encoding="utf-8").split("\n"):
            page.write_text("\n".join(lines), encoding="utf-8")
            print(name_of(page))


if __name__ == "__main__":
    main(sys.argv[1:])
