"""What says how to install an optional part says it so that it works."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"])

NAMED = re.compile(r"install\s+(?:-e\s+)?'?\.\[(\w+)\]|needs_extra\([^)]*, \"(\w+)\"\)|extra `(\w+)`")


def texts() -> dict[str, str]:
    """Sources, pages that people wrote, the readme."""
    pages = [*ROOT.glob("docs/how-to/*.md"), *ROOT.glob("docs/explanation/*.md"), ROOT / "docs" / "tutorial.md"]
    paths = [*ROOT.glob("src/**/*.py"), *pages, ROOT / "README.md"]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}


def test_no_text_installs_an_extra_by_the_name_of_the_package() -> None:
    assert [name for name, text in texts().items() if re.search(r"install\s+'?foldmark\[", text)] == []


def test_every_extra_that_a_text_names_exists() -> None:
    named = {(name, extra) for name, text in texts().items() for extra in NAMED.findall(text)}
    found = {(name, next(filter(None, extra))) for name, extra in named}
    assert {extra for _, extra in found} <= EXTRAS
    assert {"mcp", "otel", "gguf", "minilm", "static", "openai", "anthropic"} <= {extra for _, extra in found}
