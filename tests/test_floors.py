"""Imports point down: reads every import and holds the list of floors."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "foldmark"

# One row per floor, lowest first. On floors in SIDEWAYS a module may also import the modules to its left.
FLOORS: list[list[str]] = [
    ["errors"],
    ["events"],
    [
        *["warm", "calibration", "pictures", "media_prices", "attachments", "tokens"],
        *["words", "dates", "refs", "evidence", "exact", "rounds", "redact", "shell", "profiles", "checkpoint"],
        *["prices", "authors", "render", "narrative", "readings", "salience", "reports", "wire", "kinds", "parting"],
        *["asking", "failures", "awaiting"],
    ],
    [
        *["options", "changing", "policy", "recalls", "artifacts", "originals", "seeking", "store", "reach", "log"],
        *["budget", "drafts", "merging", "prefix", "extent", "overview", "presenting", "readback", "written"],
        *["sharing", "summarizer", "watching", "around", "keeping", "raising", "dirtying", "embedding", "vectors"],
    ],
    [
        *["admission", "bounding", "facts", "cleanup", "selection", "assembly", "fitting", "following"],
        *["explain", "loading", "bar", "triggers", "pacing", "overflowing", "outcomes", "compose", "validation"],
        *["retrieval", "memory", "rehearsal", "sqlite", "hooked", "records", "prompts", "story", "forking"],
        *["observing"],
    ],
    [
        *["moments", "surveying", "preloading", "gauging", "laying", "account", "hooking", "matter", "narrating"],
        *["drafting", "spending", "flows", "joining"],
        *["exporting", "saving", "opening"],
    ],
    ["noticing", "offering", "driving", "resolving", "framing", "lineage", "telling", "outgoing", "control", "session"],
    ["aio", "children", "worker", "tools", "testing", "importers", "importing", "retention"],
    ["doctor"],
    ["models", "embedders", "telemetry", "mcp"],
    ["cli"],
]
SIDEWAYS = {2, 3, 5, 6, 7}


def place(module: str) -> tuple[int, int] | None:
    for floor, names in enumerate(FLOORS):
        if module in names:
            return floor, names.index(module)
    return None


def imports(path: Path) -> list[str]:
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("foldmark"):
            parts = node.module.split(".")
            found += [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [a.name.split(".")[1] for a in node.names if a.name.startswith("foldmark.")]
    return found


def modules() -> dict[str, list[Path]]:
    out: dict[str, list[Path]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if name not in ("__init__", "__main__"):
            out.setdefault(name, []).append(path)
    return out


def may_import(importer: str, imported: str) -> bool:
    if importer == imported:
        return True
    mine, theirs = place(importer), place(imported)
    assert mine, f"foldmark.{importer} stands on no floor: add it to FLOORS where it belongs"
    assert theirs, f"foldmark.{imported} stands on no floor: add it to FLOORS where it belongs"
    return theirs[0] < mine[0] or (theirs[0] == mine[0] in SIDEWAYS and theirs[1] < mine[1])


def test_every_import_points_to_a_lower_floor() -> None:
    wrong = [
        f"foldmark.{importer} may not import foldmark.{imported}: it stands on the same floor or above"
        for importer, paths in modules().items()
        for path in paths
        for imported in imports(path)
        if not may_import(importer, imported)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_check_itself_sees_an_import_that_points_up() -> None:
    assert not may_import("events", "store")
    assert not may_import("admission", "cleanup")
    assert not may_import("words", "salience")
    assert may_import("salience", "words")
    assert may_import("flows", "assembly")


def test_no_import_hides_inside_a_function() -> None:
    allowed = {"tokens.py", "events.py", "importers"}  # lazy, with the reason beside it
    hidden = []
    for paths in modules().values():
        for path in paths:
            if allowed & {path.name, path.parent.name}:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    for inner in ast.walk(node):
                        if isinstance(inner, ast.Import | ast.ImportFrom):
                            hidden.append(f"{path.name}:{inner.lineno} imports inside {node.name}")
    assert not hidden, "\n".join(sorted(set(hidden)))
