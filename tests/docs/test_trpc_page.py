"""The page for people who come from tRPC-Agent-Go has all their options, and what it names of ours exists."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from functools import cache
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec
import pytest
from pages import ROOT
from typer.main import get_command

import foldmark
from foldmark import triggers
from foldmark.cli.app import app
from foldmark.policy import Policy
from foldmark.summarizer import Summarizer
from foldmark.wire import openai_chat

PAGE = ROOT / "docs" / "how-to" / "come-from-trpc-agent-go.md"
HEAD = ["theirs", "ours", "note"]

THEIRS = (
    "WithAsyncSummaryNum", "WithSummaryQueueSize", "WithSummaryJobTimeout", "WithSummaryFilterAllowlist",
    "WithCascadeFullSessionSummary", "CreateSessionSummary", "EnqueueSummaryJob", "WithSyncSummaryIntraRun",
    "WithContextThreshold", "WithContextThresholdRatio", "WithContextThresholdFallbackWindow", "WithEventThreshold",
    "WithTokenThreshold", "WithTimeThreshold", "WithChecksAll", "WithChecksAny", "WithChecksAnyContext",
    "SetTokenCounter", "WithSkipRecent", "WithToolCallFormatter", "WithToolResultFormatter", "WithSummaryFormatter",
    "WithPrompt", "WithSystemPrompt", "WithMaxSummaryWords", "WithCacheSafeForking", "WithCacheSafeForkPrompt",
    "WithPreSummaryHook", "WithPostSummaryHook", "WithModelCallbacks", "WithReportHook", "WithSummaryHookAbortOnError",
    "WithName", "NewDynamicSummarizer", "WithAddSessionSummary", "WithSessionSummaryInjectionMode",
    "WithMaxHistoryRuns", "WithEnableContextCompaction", "WithContextCompactionThresholdRatio",
    "WithContextCompactionToolResultMaxTokens", "WithContextCompactionKeepRecentRequests",
    "WithContextCompactionOversizedToolResultMaxTokens", "WithContextCompactionSkipRecentFunc", "ForceCleanToolNames",
    "KeepToolNames", "WithToolTranscriptMode", "WithReasoningContentMode", "WithEnableTokenTailoring",
    "WithTailoringStrategy", "WithTokenTailoringConfig", "WithEnableOnDemandSession", "session_search", "session_load",
    "WithPreloadSessionRecall", "WithSessionEventLimit", "WithSessionTTL", "WithAppendEventHook", "WithGetSessionHook",
    "WithSessionIngestor", "externalization.Wrap", "WithMessageBranchFilterMode", "SummaryFilterKeyAllContents",
    "SummaryBoundary", "last_event_id", "cutoff_at", "LatencyDiagnosticsEnabled",
)  # fmt: skip
"""Their options and behaviours, by the names a reader will look for."""


class Row(NamedTuple):
    """A row of a table, and the line it stands in."""

    line: int
    theirs: str
    ours: str
    note: str


def rows() -> list[Row]:
    found: list[Row] = []
    for number, line in enumerate(PAGE.read_text(encoding="utf-8").splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if cells and cells != HEAD and set(cells) != {"---"}:
            assert len(cells) == 3, f"line {number} has {len(cells)} columns; theirs, ours and note are wanted"
            found.append(Row(number, *cells))
    return found


def code_words() -> list[str]:
    """Everything that stands as code in the column of what is ours, each once."""
    return sorted({word for row in rows() for word in re.findall(r"`([^`]+)`", row.ours)})


# -- does it exist


@cache
def _defined() -> dict[str, Any]:
    """Classes and functions that modules of foldmark define, by name: those of the top first, then of the flat modules,
    then of the folders (the doctor has a Report of its own)."""
    found: dict[str, Any] = {}
    for info in sorted(pkgutil.walk_packages(foldmark.__path__, "foldmark."), key=lambda one: one.name.count(".")):
        if info.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(info.name)
        except ImportError:  # an extra that is not installed here
            continue
        for name, value in vars(module).items():
            if (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__ == info.name:
                found.setdefault(name, value)
    return found | {name: getattr(foldmark, name) for name in foldmark.__all__}


def _groups(of: type) -> dict[str, type]:
    """Fields of a struct that are groups of options themselves: `tail`, `hooks`."""
    return {
        name: kind
        for name, kind in get_type_hints(of).items()
        if inspect.isclass(kind) and issubclass(kind, msgspec.Struct)
    }


@cache
def _roots() -> dict[str, Any]:
    """What a code word may begin with."""
    values = {"session": foldmark.Session, "triggers": triggers, "wire": openai_chat}
    return {**_defined(), **values, **_groups(Summarizer), **_groups(Policy)}


def missing(word: str) -> str:
    """What of a code word does not exist, in words; empty when all of it does."""
    if word.startswith("foldmark "):
        known = getattr(get_command(app), "commands", {})
        return "" if word.split()[1] in known else f"there is no command {word!r}"
    try:
        _resolve(ast.parse(word.replace("…", "..."), mode="eval").body)
    except (LookupError, AttributeError, TypeError, ValueError, SyntaxError) as error:
        return f"`{word}`: {error}"
    return ""


def _resolve(node: ast.expr) -> Any:
    """The thing that an expression names. A name with a value behind it (`tail`) stands for its class."""
    if isinstance(node, ast.Name):
        if node.id not in _roots():
            raise LookupError(f"nothing of foldmark is called {node.id}")
        return _roots()[node.id]
    if isinstance(node, ast.Attribute):
        return _attribute(_resolve(node.value), node.attr)
    if isinstance(node, ast.Call):
        target = _resolve(node.func)
        _takes(target, node)
        return target
    raise ValueError("names, attributes and calls are understood here")


def _attribute(owner: Any, name: str) -> Any:
    """An attribute; of a property that gives a class of ours (`session.control`), that class."""
    found = getattr(owner, name)
    getter = found.fget if isinstance(found, property) else None
    given = get_type_hints(getter).get("return") if getter else None
    return given if inspect.isclass(given) and given.__module__.startswith("foldmark") else found


def _takes(target: Any, call: ast.Call) -> None:
    """Raises TypeError when the target takes no such arguments, ValueError when one may not have that value."""
    signature = inspect.signature(target)
    given = {word.arg: word.value for word in call.keywords if word.arg}
    is_method = inspect.isfunction(target) and next(iter(signature.parameters), "") == "self"
    signature.bind_partial(*[None] * is_method, *call.args, **given)
    hints = get_type_hints(target.__init__ if inspect.isclass(target) and not _is_struct(target) else target)
    for name, value in given.items():
        allowed = _literals(hints.get(name))
        said = value.value if isinstance(value, ast.Constant) else None
        if allowed and isinstance(said, str) and said not in allowed:
            raise ValueError(f"{name} may be {', '.join(map(str, allowed))}")


def _is_struct(kind: Any) -> bool:
    return inspect.isclass(kind) and issubclass(kind, msgspec.Struct)


def _literals(hint: Any) -> tuple[Any, ...]:
    """The values that a type allows, where it is a Literal or a union with one."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    return tuple(value for part in get_args(hint) for value in _literals(part))


# -- tests


@pytest.mark.parametrize("word", code_words())
def test_everything_of_ours_that_the_page_names_exists(word: str) -> None:
    if word.startswith("OpenTelemetry"):
        pytest.importorskip("opentelemetry")
    assert missing(word) == ""


@pytest.mark.parametrize(
    "word",
    [
        "Policy.runs", "tail.chosen", "Summarizer(forks=True)", 'Policy(run="sometimes")', 'Session(sees="prefix")',
        "session.compact(forced=True)", "session.control.explode", "triggers.always", "Workers", "foldmark compress",
        "tail[0]",
    ],
)  # fmt: skip
def test_what_does_not_exist_is_found_out(word: str) -> None:
    assert missing(word)


@pytest.mark.parametrize(
    "word",
    [
        "Policy.run", "tail.choose", "Summarizer(fork=True)", 'Policy(run="inline")', 'Session(sees="subtree")',
        "session.compact(force=True)", "session.control.pin", "triggers.share(0.6, floor=2_000)", "hooks.abort",
        "foldmark history", "Session(summarizer=…)",
    ],
)  # fmt: skip
def test_what_exists_is_known(word: str) -> None:
    assert missing(word) == ""


def test_every_option_of_theirs_has_a_row() -> None:
    left = " ".join(row.theirs for row in rows())
    assert [name for name in THEIRS if name not in left] == []


def test_every_row_names_something_of_ours_or_says_why_not() -> None:
    for row in rows():
        assert row.theirs, f"line {row.line} says nothing of theirs"
        assert row.ours.startswith("`") or len(row.note) > 30, f"line {row.line} gives neither a name nor a reason"


def test_every_area_has_one_table_of_three_columns() -> None:
    text = PAGE.read_text(encoding="utf-8")
    (mapped,) = re.findall(r"^## Option by option\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    areas = re.split(r"^### ", mapped, flags=re.MULTILINE)[1:]
    assert len(areas) > 10
    for area in areas:
        assert area.count("| " + " | ".join(HEAD) + " |") == 1, area.splitlines()[0]
