"""What `from foldmark import …` offers is chosen, sorted and explained."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import foldmark

ROOT = Path(__file__).resolve().parents[1]

PROMISED = {
    "BudgetExceeded", "Event", "FoldmarkError", "HasForks", "HeadMoved", "IdConflict", "Image", "MemoryStore",
    "NotFound", "Policy", "PolicyError", "Price", "Reasoning", "Recorded", "SQLiteStore", "SchemaTooNew", "Session",
    "StaleBoundary", "StoreError", "SummarizerFailed", "SummaryError", "SummaryRejected", "Text", "ToolCall",
    "ToolResult", "Usage", "WireError", "assistant", "injected", "result", "user",
}  # fmt: skip


def test_no_promised_name_ever_disappears() -> None:
    assert set(foldmark.__all__) >= PROMISED


def test_every_exported_name_is_there_once_and_in_order() -> None:
    assert foldmark.__all__ == sorted(set(foldmark.__all__))
    assert all(hasattr(foldmark, name) for name in foldmark.__all__)


def test_nothing_public_is_left_out_of_the_list() -> None:
    found = {name: getattr(foldmark, name) for name in dir(foldmark)}
    things = {name: thing for name, thing in found.items() if not isinstance(thing, ModuleType)}
    assert {name for name in things if not name.startswith("_")} == set(foldmark.__all__)


def test_every_exported_name_says_what_it_is_for() -> None:
    silent = [name for name in foldmark.__all__ if not inspect.getdoc(getattr(foldmark, name))]
    assert silent == []


def test_a_name_comes_from_the_module_that_type_checkers_are_told_of() -> None:
    tree = ast.parse((ROOT / "src" / "foldmark" / "__init__.py").read_text(encoding="utf-8"))
    told = {
        alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    loaded = {name: f"foldmark.{home}.{name}" for name, home in foldmark._HOMES.items()}
    assert loaded == told
    assert sorted(loaded) == foldmark.__all__


def test_a_module_of_the_package_is_there_by_its_name_and_nothing_else_is() -> None:
    assert foldmark.wire.openai_chat.NAME == "openai-chat"
    with pytest.raises(AttributeError, match="has no attribute 'sesion'"):
        foldmark.sesion  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'sesion'"):
        exec("from foldmark import sesion")


def test_the_package_itself_loads_nothing_of_it_before_a_name_is_asked_for() -> None:
    asked = "import sys, foldmark; print([name for name in sys.modules if name.startswith('foldmark.')])"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_version_is_the_one_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert foldmark.__version__ == project["version"]
