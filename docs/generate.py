"""Writes what the docs can take from the code: `docs/reference/*.md`, the sample output in README and tutorial,
and the table of failures in the page on summaries.

    python docs/generate.py            # or: make docs
    python docs/generate.py --check    # writes nothing; exit code 1 and the names of stale files

The same code gives the same pages: nothing here depends on time, machine or order of files.
"""

from __future__ import annotations

import ast
import inspect
import sys
import tempfile
import textwrap
import typing
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import msgspec
from typer.main import get_command
from typer.models import ArgumentInfo, OptionInfo
from typer.testing import CliRunner

import foldmark
from foldmark import (
    around,
    asking,
    budget,
    checkpoint,
    children,
    control,
    drafts,
    embedders,
    embedding,
    errors,
    events,
    exporting,
    failures,
    following,
    forking,
    hooked,
    importers,
    models,
    opening,
    pacing,
    policy,
    prices,
    profiles,
    reports,
    retention,
    retrieval,
    store,
    story,
    summarizer,
    testing,
    tokens,
    tools,
    triggers,
    vectors,
    worker,
)
from foldmark.aio import AsyncSession
from foldmark.artifacts import Artifacts
from foldmark.cli.app import EXIT_CODES, app
from foldmark.control import Control
from foldmark.importers import document
from foldmark.importers import values as importer_values
from foldmark.prices.saved import Saved
from foldmark.session import Recorded, Session
from foldmark.wire import openai_chat
from foldmark.wire import values as wire_values

ROOT = Path(__file__).resolve().parents[1]
NOTE = "<!-- Written by docs/generate.py from the code; change the docstrings instead, then run `make docs`. -->\n"
SAMPLE = ("<!-- sample -->\n", "<!-- /sample -->")
FAILURES = ("<!-- failures -->\n", "<!-- /failures -->")
LONGEST_DEFAULT = 100
SAMPLE_WORDS = ("examples/session.json", "--target", "12000", "--out", "next.json")


# -- what the code says of itself


def sentences(kind: type) -> dict[str, str]:
    """Field or constant name -> the string that stands under it in the source."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    (body,) = [node.body for node in tree.body if isinstance(node, ast.ClassDef)]
    out: dict[str, str] = {}
    for here, after in pairwise(body):
        if isinstance(here, ast.AnnAssign) and isinstance(here.target, ast.Name) and isinstance(after, ast.Expr):
            out[here.target.id] = one_line(ast.literal_eval(after.value))
    return out


def types(kind: type) -> dict[str, str]:
    """Field name -> its type as written."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    fields = [node for node in ast.walk(tree) if isinstance(node, ast.AnnAssign)]
    return {node.target.id: ast.unparse(node.annotation) for node in fields if isinstance(node.target, ast.Name)}


def one_line(text: str) -> str:
    return " ".join(text.split())


def doc(thing: Any) -> str:
    """The docstring as Markdown: paragraphs stay, indented code becomes a fence."""
    text = inspect.getdoc(thing) or ""
    if not text:
        raise SystemExit(f"docs/generate.py: {thing!r} has no docstring")
    return markdown(text)


def markdown(text: str) -> str:
    blocks = []
    for block in text.split("\n\n"):
        rows = block.splitlines()
        code = all(row.startswith("    ") for row in rows)
        listed = any(row.startswith("- ") for row in rows)
        blocks.append(f"```text\n{textwrap.dedent(block)}\n```" if code else block if listed else one_line(block))
    return "\n\n".join(blocks)


def table(head: str, rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; `head` names the columns, separated by commas."""
    columns = head.split(", ")
    lines = [columns, ["---"] * len(columns), *([cell(text) for text in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def signature(name: str, thing: Any, *, skip_self: bool = False) -> str:
    """The call as one would write it, one parameter a line when long."""
    found = inspect.signature(thing)
    parameters = [p for p in found.parameters.values() if not (skip_self and p.name == "self")]
    words = [tidy(p) for p in parameters]
    if not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        first = next((at for at, p in enumerate(parameters) if p.kind is p.KEYWORD_ONLY), None)
        words = words if first is None else [*words[:first], "*", *words[first:]]
    gives = found.return_annotation
    after = "" if gives in (inspect.Signature.empty, "None", None) else f" -> {gives}"
    line = f"{name}({', '.join(words)}){after}"
    return line if len(line) <= 100 else f"{name}(\n" + "".join(f"    {word},\n" for word in words) + f"){after}"


def tidy(parameter: inspect.Parameter) -> str:
    """A parameter as written; a default that is a function, long, or not known shows as `...`."""
    star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    kind = "" if parameter.annotation is parameter.empty else f": {parameter.annotation}"
    if parameter.default is parameter.empty:
        return f"{star}{parameter.name}{kind}"
    plain = parameter.default
    given = "..." if callable(plain) or plain is ... or len(repr(plain)) > LONGEST_DEFAULT else repr(plain)
    if isinstance(plain, msgspec.Struct) and plain == type(plain)():
        given = f"{type(plain).__name__}()"
    return f"{parameter.name}{kind} = {given}" if kind else f"{parameter.name}={given}"


def methods(kind: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties, in the order of the source."""
    for name, thing in vars(kind).items():
        if not name.startswith("_") and (inspect.isfunction(thing) or isinstance(thing, property | staticmethod)):
            yield name, thing


# -- Python


OWNERS = {"Control": "session.control", "AsyncSession": "session"}


def member(kind: type, name: str, thing: Any) -> str:
    """A method or property with its docstring; "" when it has none."""
    owner = kind.__name__ if isinstance(thing, staticmethod) else OWNERS.get(kind.__name__, kind.__name__.lower())
    if isinstance(thing, property):
        return f"**`{owner}.{name}`** {doc(thing)}\n" if thing.__doc__ else ""
    plain = thing.__func__ if isinstance(thing, staticmethod) else thing
    return function(f"{owner}.{name}", plain, skip_self=True) if plain.__doc__ else ""


def value(kind: type) -> str:
    """A frozen value: its docstring and fields."""
    home, said, written = home_of(kind), sentences(kind), types(kind)
    names: Iterable[str] = getattr(kind, "__struct_fields__", ()) or getattr(kind, "__dataclass_fields__", ())
    shown = [name for name in names if not name.startswith("_") and name in written]
    inherited = f"those of `{kind.__bases__[0].__name__}`, and " if len(shown) < len(tuple(names)) else ""
    if said:
        rows = ([code(n), code(written[n]), given(kind, n), said.get(n) or link(written[n])] for n in shown)
        fields = table("field, type, default, meaning", rows)
    else:
        fields = f"Fields: {inherited}{', '.join(code(f'{name}: {written[name]}') for name in shown)}.\n"
    members = "\n".join(filter(None, (member(kind, name, thing) for name, thing in methods(kind))))
    return f"### {kind.__name__}\n\n`from {home} import {kind.__name__}`\n\n{doc(kind)}\n\n{fields}\n{members}"


def home_of(kind: type) -> str:
    """Where a value is imported from: the package that offers it, else its own module."""
    package = kind.__module__.rpartition(".")[0]
    return package if getattr(sys.modules[package], kind.__name__, None) is kind else kind.__module__


def given(kind: type, field: str) -> str:
    """The default of a field; "needed" when it has none."""
    (found,) = [one for one in msgspec.structs.fields(kind) if one.name == field]
    if found.required:
        return "needed"
    value = found.default if found.default is not msgspec.NODEFAULT else found.default_factory()
    return "" if isinstance(value, msgspec.Struct) else default(value)


def link(kind: str) -> str:
    """To the part of the page that tells of a value, for a field that says no more than its type."""
    return f"[{kind}](#{kind.lower()})" if kind in foldmark.__all__ else ""


def function(name: str, thing: Any, *, skip_self: bool = False) -> str:
    return f"```text\n{signature(name, thing, skip_self=skip_self)}\n```\n\n{doc(thing)}\n"


def unimported(path: str, name: str) -> Any:
    """A stand-in for a class or function of a module that needs an extra, made from its source alone: it is called
    like it and has its docstring. A default that is no plain value shows as `...`."""
    tree = ast.parse((ROOT / "src" / "foldmark" / path).read_text(encoding="utf-8"))
    (node,) = [one for one in tree.body if isinstance(one, ast.ClassDef | ast.FunctionDef) and one.name == name]
    (call,) = [one for one in ast.walk(node) if isinstance(one, ast.FunctionDef) and one.name in (name, "__init__")]
    said = ast.get_docstring(node, clean=False) or ""
    arguments = call.args
    arguments.defaults = [one if isinstance(one, ast.Constant) else ast.Constant(...) for one in arguments.defaults]
    arguments.kw_defaults = [
        one if one is None or isinstance(one, ast.Constant) else ast.Constant(...) for one in arguments.kw_defaults
    ]
    call.name, call.body = name, [ast.Expr(ast.Constant(said))]
    call.returns = call.returns if isinstance(node, ast.FunctionDef) else None
    future = ast.ImportFrom("__future__", [ast.alias("annotations")], 0)
    names: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(ast.Module([future, call], [])), path, "exec"), names)
    return names[name]


def module_doc(path: str) -> str:
    """The docstring of a module that needs an extra."""
    text = ast.get_docstring(ast.parse((ROOT / "src" / "foldmark" / path).read_text(encoding="utf-8")))
    return markdown(text or "")


def error_tree() -> str:
    (tree,) = [block for block in (errors.__doc__ or "").split("\n\n") if "FoldmarkError" in block]
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind) and kind.__module__ == errors.__name__]
    rows = ([code(kind.__name__), one_line(inspect.getdoc(kind) or "")] for kind in kinds)
    return f"```text\n{textwrap.dedent(tree)}\n```\n\n{table('error, meaning', rows)}"


def python_page() -> str:
    names = ", ".join(code(name) for name in sorted(foldmark.__all__))
    out = [
        f"# Python\n\n{NOTE}\nStable names, `from foldmark import …`: {names}.\n",
        "What this page names with a module is meant for use too. Everything else may change in any version, also the "
        "values that only a store of your own meets.\n",
        f"## Session\n\n{function('Session', Session)}",
        *(member(Session, name, thing) for name, thing in methods(Session)),
        f"## session.control\n\n{doc(Control)}\n",
        *(member(Control, name, thing) for name, thing in methods(Control)),
        *map(value, (control.Plan, control.Preview, control.Listed, control.Asks, control.Compaction, control.Totals)),
        f"## Events and parts\n\n{doc(events)}\n",
        *(function(name, getattr(events, name)) for name in EVENT_FUNCTIONS),
        *map(value, event_values()),
        "## What comes back\n",
        *map(value, returned()),
        "`foldmark.reports.Observation`, what an `observer` gets, is a `Report`, a `Looked` or a `Raised`.\n",
        *map(value, (reports.Looked, reports.Raised)),
        f"## Stores\n\n{function('MemoryStore', foldmark.MemoryStore)}",
        function("SQLiteStore", foldmark.SQLiteStore),
        "Full bodies go to a `foldmark.artifacts.Artifacts`:\n",
        *(member(Artifacts, name, thing) for name, thing in methods(Artifacts)),
        f"The protocol is `foldmark.store.Store`. {doc(store.Store)}\n",
        *(member(store.Store, name, thing) for part in store.PARTS for name, thing in methods(part)),
        *map(value, (store.Key, store.Frame, store.SessionInfo, store.Raising, store.Work, store.Backlog)),
        f"## Workers\n\n`from foldmark.worker import Worker`\n\n{function('Worker', worker.Worker)}",
        *(member(worker.Worker, name, thing) for name, thing in methods(worker.Worker)),
        f"## Hooks round an attempt\n\n{doc(around)}\n",
        *map(value, (around.Around, around.Planned, around.Protect, around.Veto)),
        f"## Hooks round append and read\n\n{doc(hooked)}\n\n{function('hooked.hooked', hooked.hooked)}",
        *map(value, (hooked.EventHooks, hooked.Hold, hooked.HeldBack, hooked.Landed)),
        f"## Handing over\n\n{doc(exporting)}\n",
        *(function(f"exporting.{name}", getattr(exporting, name)) for name in ("export", "export_after")),
        *map(value, (exporting.Exported, exporting.Handed)),
        f"## Retention\n\n{doc(retention)}\n",
        *(function(f"retention.{name}", getattr(retention, name)) for name in ("expire", "kept_policy")),
        value(retention.Expired),
        f"## Tools for the agent\n\n{doc(tools)}\n\n{function('tools.compact_tool', tools.compact_tool)}",
        function("tools.recall_tools", tools.recall_tools),
        function("tools.artifact_tools", tools.artifact_tools),
        value(tools.Tool),
        f"## Looking into a big result\n\n`session.open(ref)` opens it.\n\n{doc(opening)}\n",
        *(function(f"opening.{name}", getattr(opening, name)) for name in OPENING_FUNCTIONS),
        *map(value, (opening.Opened, opening.Stat, opening.Page, opening.Matches, opening.Line, opening.Answer)),
        *map(value, (opening.Sample, opening.SampleRow, opening.Told)),
        f"## Sub-agents\n\n{doc(children)}\n",
        *(function(f"children.{name}", getattr(children, name)) for name in CHILD_FUNCTIONS),
        *map(value, (children.RunLimits, children.ChildReport, children.Child, children.Spent)),
        f"`foldmark.children.Outcome` is one of {', '.join(map(code, get_args(children.Outcome)))}. "
        f"`ChildStopped` is raised in the run: {one_line(inspect.getdoc(children.ChildStopped) or '')} "
        "`Run` and `AsyncRun` are the types of a run, `ChildSession` is the `Session` that it is given.\n",
        f"## MCP\n\n{module_doc('mcp/__init__.py')}\n",
        function("mcp.recall_server", unimported("mcp/server.py", "recall_server")),
        *(function(f"mcp.{name}", unimported("mcp/running.py", name)) for name in MCP_FUNCTIONS),
        f"## OpenTelemetry\n\n{module_doc('telemetry/__init__.py')}\n",
        function("OpenTelemetry", unimported("telemetry/observer.py", "OpenTelemetry"), skip_self=True),
        function("telemetry.measures", unimported("telemetry/measuring.py", "measures")),
        f"## Summaries by a model\n\n{doc(asking)}\n",
        *map(value, told_values()),
        "`foldmark.failures.RULES` has the rule of every kind of failure "
        "([the table](../explanation/summaries.md#when-a-call-fails)):\n",
        function("failures.failure_of", failures.failure_of),
        *map(value, (failures.Failure, failures.Rule)),
        function("forking.cache_report", forking.cache_report),
        f"## AsyncSession\n\n`from foldmark.aio import AsyncSession`\n\n{function('AsyncSession', AsyncSession)}",
        *(member(AsyncSession, name, thing) for name, thing in methods(AsyncSession)),
        f"## Models\n\n{doc(models)}\n",
        *(function(f"models.{name}", getattr(models, name)) for name in MODEL_FUNCTIONS),
        f"## Embeddings\n\n{doc(embedders)}\n",
        *(function(f"embedders.{name}", getattr(embedders, name)) for name in embedders.__all__),
        *map(value, (embedding.Embedder, vectors.Embedded)),
        function("vectors.embed", vectors.embed),
        function("vectors.vectors_of", vectors.vectors_of),
        *(member(vectors.Vectors, name, thing) for name, thing in methods(vectors.Vectors)),
        f"## Triggers\n\n{doc(triggers)}\n",
        *(function(f"triggers.{name}", getattr(triggers, name)) for name in TRIGGER_FUNCTIONS),
        *map(value, (triggers.Moment, reports.Reason)),
        f"## Prices\n\n{doc(prices)}\n",
        *(function(f"prices.{name}", getattr(prices, name)) for name in PRICE_FUNCTIONS),
        *map(value, (prices.Row, prices.Money)),
        function("prices.PriceTable", prices.PriceTable),
        *(member(prices.PriceTable, name, thing) for name, thing in methods(prices.PriceTable)),
        f"## Testing\n\n{doc(testing)}\n",
        *(function(f"testing.{name}", getattr(testing, name)) for name in TEST_FUNCTIONS),
        f"## Wires\n\n{doc(foldmark.wire)}\n",
        *(function(f"openai_chat.{name}", getattr(openai_chat, name)) for name in WIRE_FUNCTIONS),
        *map(value, (wire_values.Problem, wire_values.Rule)),
        f"## Tool profiles\n\n{value(profiles.Profile)}\n{function('profile_of', profiles.profile_of)}",
        f"## Importers\n\n{doc(importers)}\n\n{function('importers.read', importers.read)}",
        *map(value, (importers.Imported, importers.Child)),
        "An importer of your own ([how](../how-to/add-an-importer.md)):\n",
        *map(value, (importer_values.Document, importer_values.Format)),
        function("importers.values.Notes", importer_values.Notes),
        *(member(importer_values.Notes, name, thing) for name, thing in methods(importer_values.Notes)),
        function("importers.values.derived_id", importer_values.derived_id),
        function("importers.document.open_document", document.open_document),
        "## Smaller pieces\n\nFunctions that the pages of this documentation use:\n",
        *(function(name, thing) for name, thing in pieces()),
        f"## Errors\n\n{error_tree()}\nNot due, nothing to clean and no hits are values, never exceptions.\n",
    ]
    return "\n".join(text for text in out if text)


EVENT_FUNCTIONS = ("user", "assistant", "result", "injected", "control")
WIRE_FUNCTIONS = ("read", "read_messages", "write", "lost", "validate", "overflow")
MODEL_FUNCTIONS = ("function", "openai", "anthropic", "gguf")
TRIGGER_FUNCTIONS = ("rent", "size", "events", "tokens", "share", "idle", "custom", "any_of", "all_of")
PRICE_FUNCTIONS = ("price_of", "prompt_cost", "bill", "dollars", "money")
OPENING_FUNCTIONS = ("stat", "head", "tail", "read_lines", "grep", "query", "table", "told")
CHILD_FUNCTIONS = ("delegate", "delegate_async", "open_child", "report_of", "conclude", "children_of")
MCP_FUNCTIONS = ("http_app", "serve_http", "serve_stdio")
TEST_FUNCTIONS = ("ScriptedModel", "AsyncScriptedModel", "FixedClock", "items_json")


def event_values() -> tuple[type, ...]:
    return (
        events.Event, events.Text, events.Reasoning, events.ToolCall, events.ToolResult, events.Image, events.Paste,
        events.Opaque, events.Artifact, events.Usage,
    )  # fmt: skip


def returned() -> tuple[type, ...]:
    return (
        Recorded, drafts.Request, drafts.Sizes, reports.Report, reports.Change, reports.Entry, reports.Attempt,
        reports.Call, checkpoint.Checkpoint, following.Followed, retrieval.Hit, retrieval.Loaded, Saved,
    )  # fmt: skip


def told_values() -> tuple[type, ...]:
    return (
        summarizer.Summarizer, summarizer.Prompt, summarizer.Hooks, summarizer.Limits, summarizer.Occasion,
        asking.ModelInfo, asking.Ask, asking.Reply, checkpoint.Item,
    )  # fmt: skip


def pieces() -> tuple[tuple[str, Any], ...]:
    return (
        ("tokens.count", tokens.count), ("budget.room", budget.room), ("asking.as_reply", asking.as_reply),
        ("forking.prints_of", forking.prints_of), ("forking.what_changed", forking.what_changed),
        ("story.read_answer", story.read_answer), ("story.merged", story.merged), ("pacing.may_ask", pacing.may_ask),
    )  # fmt: skip


# -- policy options


def groups() -> list[tuple[str, type]]:
    plain = policy.Policy()
    found = [(name, getattr(plain, name)) for name in policy.Policy.__struct_fields__]
    return [(name, type(group)) for name, group in found if isinstance(group, msgspec.Struct)]


def default(given: Any) -> str:
    is_number = isinstance(given, int) and not isinstance(given, bool)
    return code(f"{given:,}" if is_number else repr(given))


def allowed(group: str, field: str) -> str:
    found = [(low, high) for g, f, low, high in policy._RANGES if (g, f) == (group, field)]
    return f" Allowed: {found[0][0]:,} to {found[0][1]:,}." if found else ""


def options(kind: type, group: str = "") -> str:
    """The options of a group (of the policy itself: those that are no group) with their sentences."""
    said, written, plain = sentences(kind), types(kind), kind()
    fields: tuple[str, ...] = kind.__struct_fields__  # type: ignore[attr-defined]
    own = [name for name in fields if group or name not in dict(groups())]
    before = f"{group}." if group else ""
    rows = ([code(before + n), code(written[n]), default(getattr(plain, n)), said[n] + allowed(group, n)] for n in own)
    return table("option, type, default, meaning", rows)


def preset_changes(name: str) -> str:
    """What a preset sets differently from the plain policy."""
    made, plain = policy.PRESETS[name](), policy.Policy()
    changes = [
        f"`{group}.{field} = {getattr(getattr(made, group), field)!r}`"
        for group, kind in groups()
        for field in kind.__struct_fields__
        if getattr(getattr(made, group), field) != getattr(getattr(plain, group), field)
    ]
    return ", ".join(changes) or "the defaults below"


def policy_page() -> str:
    presets = ([code(n), doc(getattr(policy.Policy, n)), preset_changes(n)] for n in policy.PRESETS)
    out = [
        f"# Policy options\n\n{NOTE}\n{doc(policy)}\n",
        'The same names serve in Python, `Policy.coding(budget={"landing_tokens": 12_000})`, and in TOML '
        "([how to write a policy file](../how-to/policy-file.md)). An unknown name is a `PolicyError` that names the "
        "nearest known one.\n",
        f"## Presets\n\n{table('preset, meaning, differs in', presets)}",
        *(f"## {name}\n\n{doc(kind)}\n\n{options(kind, name)}" for name, kind in groups()),
        f"## The policy itself\n\n{options(policy.Policy)}",
        f"## prices\n\n{doc(prices.Price)}\n\n{price_options()}",
    ]
    return "\n".join(out)


def price_options() -> str:
    said, written = sentences(prices.Price), types(prices.Price)
    rows = (
        [code(f"prices.{f.name}"), code(written[f.name]), "needed" if f.required else default(f.default), said[f.name]]
        for f in msgspec.structs.fields(prices.Price)
    )
    return table("option, type, default, meaning", rows)


# -- command line


def commands() -> dict[str, Any]:
    """Command name -> its function, in the order of `--help`."""
    out: dict[str, Any] = {}
    for name, made in as_mapping(get_command(app)).items():
        inside = as_mapping(made)
        out |= {f"{name} {one}": part.callback for one, part in inside.items()} or {name: made.callback}
    return out


def as_mapping(group: Any) -> dict[str, Any]:
    """Name -> command of a group; empty for a single command."""
    return dict(getattr(group, "commands", {}))


def parameters(command: Any) -> Iterator[tuple[str, Any, type, Any]]:
    """(name as typed, its Argument or Option, its type, its default) of a command."""
    hints = typing.get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        kind, info = typing.get_args(hints[name])
        # Inside Annotated, typer takes the first word of an option for its default and puts it right later.
        typed = name.upper() if isinstance(info, ArgumentInfo) else next(iter(info.param_decls), info.default)
        yield typed, info, kind, parameter.default


def option_row(typed: str, info: Any, kind: Any, given: Any) -> list[str]:
    what = {"bool": "", "int": " N", "float": " N", "Path": " FILE"}
    names = [getattr(one, "__name__", "") for one in (kind, *typing.get_args(kind))]
    word = next((what[name] for name in names if name in what), " TEXT") if isinstance(info, OptionInfo) else ""
    is_needed = isinstance(info, ArgumentInfo) and given is inspect.Parameter.empty
    after = "needed" if is_needed else "" if given in (None, "", False) else code(str(given))
    return [code(typed + word), info.help or "", after]


def command_text(name: str, command: Any) -> str:
    found = list(parameters(command))
    words = [
        typed if given is inspect.Parameter.empty else f"[{typed}]"
        for typed, info, _, given in found
        if isinstance(info, ArgumentInfo)
    ]
    usage = " ".join(["foldmark", name, *words, "[OPTIONS]"])
    rows = (option_row(*one) for one in found)
    return f"## {name}\n\n```text\n{usage}\n```\n\n{doc(command)}\n\n{table('option, meaning, default', rows)}"


def exit_codes() -> str:
    found = {2: ["bad input: an option, file, ref or session that makes no sense or is not there"]}
    for outcome, number in EXIT_CODES.items():
        found.setdefault(number, []).append(code(outcome))
    return table("code, outcome", ([str(number), ", ".join(found[number])] for number in sorted(found)))


def command_page() -> str:
    rows = ([f"[{name}](#{name.replace(' ', '-')})", doc(command)] for name, command in commands().items())
    return "\n".join(
        [
            f"# Command line\n\n{NOTE}\n{one_line(str(app.info.help))}\n\n{table('command, what it does', rows)}",
            f"## Exit codes\n\n{exit_codes()}",
            "An error is one sentence on standard error; with `--json` also an object with `error` and `message` on "
            "standard output. [The JSON contract](../json-contract.md) lists the keys of all `--json` output.\n",
            *(command_text(name, command) for name, command in commands().items()),
        ]
    )


# -- sample output


def sample() -> str:
    """What `foldmark compact` prints for the recorded session, with the command as one would type it."""
    with tempfile.TemporaryDirectory(prefix="foldmark-docs-") as folder:
        words = [str(ROOT / SAMPLE_WORDS[0]), *SAMPLE_WORDS[1:-1], str(Path(folder) / SAMPLE_WORDS[-1])]
        done = CliRunner().invoke(app, ["compact", *words, "--db", str(Path(folder) / "demo.db")])
    if done.exit_code:
        raise SystemExit(f"docs/generate.py: foldmark compact failed with {done.exit_code}:\n{done.output}")
    return f"```console\n$ foldmark compact {' '.join(SAMPLE_WORDS)}\n{done.stdout.rstrip()}\n```\n"


def failure_table() -> str:
    """Every kind of failure of a model call with its rule, as `foldmark.failures` has it."""
    return table("failure, what is done, rests", (failure_row(kind, rule) for kind, rule in failures.RULES.items()))


def failure_row(kind: str, rule: failures.Rule) -> list[str]:
    what, _, action = rule.sentence.partition(": ")
    rest = f"{rule.rest_seconds:,.0f} s" if rule.rest_seconds else ""
    return [f"{code(kind)}: {what}", action.partition(";")[0], rest]


def between(page: Path, marks: tuple[str, str], output: str) -> str:
    """The page with this output between its marks."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not end:
        raise SystemExit(f"docs/generate.py: {page.name} has lost its {marks[0].strip()} … {marks[1]} marks")
    return f"{before}{marks[0]}{output}{marks[1]}{after}"


def pages() -> dict[Path, str]:
    """Every generated file with the text it should have."""
    reference, output = ROOT / "docs" / "reference", sample()
    story = ROOT / "docs" / "explanation" / "summaries.md"
    return {
        reference / "python.md": python_page(),
        reference / "policy.md": policy_page(),
        reference / "command-line.md": command_page(),
        **{page: between(page, SAMPLE, output) for page in (ROOT / "README.md", ROOT / "docs" / "tutorial.md")},
        story: between(story, FAILURES, failure_table()),
    }


def stale() -> list[str]:
    """Names of generated files that do not say what the code says."""
    return [
        str(path.relative_to(ROOT))
        for path, text in pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main() -> None:
    if "--check" in sys.argv[1:]:
        if found := stale():
            sys.exit(f"out of date: {', '.join(found)}; run `make docs`")
        return
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
