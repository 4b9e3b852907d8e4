"""Records the sample session: a scripted agent works on a copy of this repository with real tools.

    python examples/record_session.py            # writes examples/session.json

What the agent *says* is scripted; every tool result is what the tool really returned. A bug is put into the copy
first, so there is something to find. Paths are relative to the copy, so no machine shows through.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "examples" / "session.json"

SYSTEM = (
    "You are a careful engineer in a checkout of foldmark, a Python library. Use the tools. "
    "Say in a sentence what you are about to do, and never claim a result that a tool did not show."
)


def tool(name: str, description: str, **parameters: str) -> dict[str, Any]:
    properties = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TOOLS = [
    tool("bash", "Run a shell command in the checkout.", command="the command"),
    tool("read", "Read a file with line numbers.", path="path in the checkout"),
    tool("grep", "Search files for a regular expression.", pattern="the expression", path="file or folder"),
    tool("edit", "Replace one exact piece of text in a file.", path="the file", old="text to replace", new="new text"),
    tool("todo_write", "Replace the todo list.", todos="lines of `- [ ] text` or `- [x] text`"),
]


class Copy:
    """The agent's checkout, and its five tools."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def bash(self, command: str) -> str:
        env = {**os.environ, "PYTHONPATH": "src", "COLUMNS": "100", "PYTHONDONTWRITEBYTECODE": "1"}
        env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, env=env, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        return f"{done.stdout.rstrip()}\n(exit code {done.returncode})"

    def read(self, path: str) -> str:
        file = self.folder / path
        if not file.is_file():
            return f"error: there is no file {path}"
        lines = file.read_text(encoding="utf-8").splitlines()
        return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, 1))

    def grep(self, pattern: str, path: str) -> str:
        expression = re.compile(pattern)
        start = self.folder / path
        files = sorted(start.rglob("*.py")) if start.is_dir() else [start]
        hits = [
            f"{file.relative_to(self.folder)}:{number}:{line}"
            for file in files
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
            if expression.search(line)
        ]
        return "\n".join(hits) or "no matches"

    def edit(self, path: str, old: str, new: str) -> str:
        file = self.folder / path
        text = file.read_text(encoding="utf-8")
        if text.count(old) != 1:
            return f"error: the text occurs {text.count(old)} times in {path}; nothing was changed"
        file.write_text(text.replace(old, new), encoding="utf-8")
        return f"edited {path}: {old.count(chr(10)) + 1} line(s) replaced by {new.count(chr(10)) + 1}"

    def todo_write(self, todos: str) -> str:
        return f"todo list updated, {len(todos.splitlines())} items"


class Recorder:
    """Writes the conversation down as OpenAI-style messages."""

    def __init__(self, copy: Copy) -> None:
        self.copy = copy
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
        self.calls = 0

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def say(self, text: str, *calls: tuple[str, dict[str, str]]) -> None:
        message: dict[str, Any] = {"role": "assistant", "content": text}
        results = []
        for name, arguments in calls:
            self.calls += 1
            call_id = f"call_{self.calls:03}"
            function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
            message.setdefault("tool_calls", []).append({"id": call_id, "type": "function", "function": function})
            run: Callable[..., str] = getattr(self.copy, name)
            results.append({"role": "tool", "tool_call_id": call_id, "content": self.clean(run(**arguments))})
        self.messages += [message, *results]

    def clean(self, text: str) -> str:
        """Relative paths and no durations: the recording shows the work, not the machine."""
        text = text.replace(f"{self.copy.folder}/", "").replace(str(self.copy.folder), ".")
        return re.sub(r"in \d+\.\d+s", "in 1.0s", text)


def bash(command: str) -> tuple[str, dict[str, str]]:
    return "bash", {"command": command}


def read(path: str) -> tuple[str, dict[str, str]]:
    return "read", {"path": path}


def grep(pattern: str, path: str) -> tuple[str, dict[str, str]]:
    return "grep", {"pattern": pattern, "path": path}


def edit(path: str, old: str, new: str) -> tuple[str, dict[str, str]]:
    return "edit", {"path": path, "old": old, "new": new}


def todo(*lines: str) -> tuple[str, dict[str, str]]:
    return "todo_write", {"todos": "\n".join(lines)}


def spoil(folder: Path) -> None:
    """The bug to find: a line range with one number reads as open-ended, starting at line 1."""
    file = folder / "src/foldmark/refs.py"
    text = file.read_text(encoding="utf-8")
    right = "pair = (int(span[2]), int(span[3] or span[2]))"
    if right not in text:
        raise SystemExit("examples/record_session.py: the line to spoil is gone from refs.py; update the script")
    file.write_text(
        text.replace(right, "pair = (int(span[3] and span[2] or 1), int(span[3] or span[2]))"), encoding="utf-8"
    )


CHECK = (
    'python -c "from foldmark.refs import parse; '
    "print(parse('artifact:12#L10-40').lines, parse('artifact:12#L10').lines, parse('artifact:12#B7').bytes)\""
)
RIGHT_TEST = """

def test_a_range_with_one_number_means_that_line_alone() -> None:
    assert parse("artifact:12#L10").lines == (10, 10)
    assert parse("artifact:12#B7").bytes == (7, 7)
"""


def work(agent: Recorder) -> None:
    """The session, as it is told."""
    _first_task(agent)
    _second_task(agent)
    _third_task(agent)
    _fourth_task(agent)


def _first_task(agent: Recorder) -> None:
    agent.user(
        "Since yesterday `foldmark load artifact:12#L10` opens ten lines where it should open one. Ticket FM-417. "
        "Find the cause and fix it, with a test. Do not touch src/foldmark/errors.py, and never add a dependency: "
        "the core must stay light."
    )
    agent.say(
        "I'll look at the layout first, and write down the plan.",
        bash("ls; ls src/foldmark; git log --oneline 2>/dev/null | head -5; wc -l src/foldmark/*.py | tail -1"),
        todo(
            "- [ ] reproduce FM-417",
            "- [ ] find the cause",
            "- [ ] fix it",
            "- [ ] add a test",
            "- [ ] run all unit tests",
        ),
    )
    agent.say("Reproducing it before reading anything.", bash(CHECK))
    agent.say(
        "A range with both numbers is right, one number alone starts at 1. Where are ranges read?",
        grep(r"#L|lines=|\.lines\b", "src/foldmark"),
    )
    agent.say(
        "refs.py parses addresses; loading.py opens them. Reading both.",
        read("src/foldmark/refs.py"),
        read("src/foldmark/loading.py"),
    )
    agent.say(
        "`_RANGE` looks innocent. Before I blame it I want to see how pages are cut, in retrieval.py.",
        read("src/foldmark/retrieval.py"),
    )
    agent.say("And the artifact store, which turns lines into bytes.", read("src/foldmark/artifacts/files.py"))
    agent.say(
        "My first guess: the expression swallows the second number. I'll make it greedy and see.",
        edit(
            "src/foldmark/refs.py",
            r'_RANGE = re.compile(r"#([LB])(\d+)(?:-(\d+))?$")',
            r'_RANGE = re.compile(r"#([LB])(\d+)-?(\d+)?$")',
        ),
        bash(CHECK),
    )
    agent.say(
        "No: now `#L10` splits into 1 and 0, which is worse. The expression was right; I'm taking that back.",
        edit(
            "src/foldmark/refs.py",
            r'_RANGE = re.compile(r"#([LB])(\d+)-?(\d+)?$")',
            r'_RANGE = re.compile(r"#([LB])(\d+)(?:-(\d+))?$")',
        ),
        bash(CHECK),
    )
    agent.say(
        "The cause is the pair: `span[3] and span[2] or 1` falls back to 1 when there is no second number. "
        "Decision: use the first number for both ends, as the docstring says (1-based, inclusive).",
        edit(
            "src/foldmark/refs.py",
            "pair = (int(span[3] and span[2] or 1), int(span[3] or span[2]))",
            "pair = (int(span[2]), int(span[3] or span[2]))",
        ),
        bash(CHECK),
    )
    agent.say(
        "That prints (10, 40) (10, 10) (7, 7). Now the test; first, how the existing ones are written.",
        bash("ls tests tests/unit; sed -n 1,40p tests/unit/test_tokens.py"),
    )
    agent.say(
        "Adding a test file for refs.",
        bash(
            "cat > tests/unit/test_ranges.py <<'EOF'\nfrom foldmark.refs import parse\n" + RIGHT_TEST + "EOF\n"
            "python -m pytest tests/unit/test_ranges.py -p no:cacheprovider"
        ),
        todo(
            "- [x] reproduce FM-417",
            "- [x] find the cause",
            "- [x] fix it",
            "- [x] add a test",
            "- [ ] run all unit tests",
        ),
    )


def _second_task(agent: Recorder) -> None:
    agent.user(
        "Good. Before you run everything: which modules are longer than 250 lines, and which of them has the longest "
        "function? I want numbers, not opinions. Use the threshold 250, it is what we agreed on."
    )
    agent.say(
        "Counting lines and functions with a short script; nothing is written to the checkout.",
        bash("wc -l src/foldmark/*.py src/foldmark/*/*.py | sort -rn | sed -n 1,30p"),
        bash(
            "python - <<'EOF'\nimport ast, pathlib\nrows = []\nfor path in sorted(pathlib.Path('src').rglob('*.py')):\n"
            "    for node in ast.walk(ast.parse(path.read_text())):\n        if isinstance(node, ast.FunctionDef):\n"
            "            rows.append((node.end_lineno - node.lineno + 1, str(path), node.name))\n"
            "for row in sorted(rows, reverse=True)[:25]:\n    print(*row)\nEOF"
        ),
    )
    agent.say(
        "Reading the three longest, to see whether the length is one idea or two.",
        read("src/foldmark/sqlite/schema.py"),
        read("src/foldmark/session.py"),
        read("src/foldmark/log/folding.py"),
    )
    agent.say(
        "And the page that everything hangs on.", read("src/foldmark/flows.py"), read("src/foldmark/store/protocol.py")
    )
    agent.say(
        "Each holds one idea; I would split none of them now. The numbers are in the two listings above.",
    )
    agent.user(
        "Fine, leave them. Never mind the split, then. Run all unit tests and tell me the exact command you used."
    )


def _third_task(agent: Recorder) -> None:
    agent.say(
        "Running every unit test, short tracebacks.",
        bash("python -m pytest tests/unit -p no:cacheprovider --tb=short 2>&1 | tail -60"),
    )
    agent.say(
        "All of them ran. To be sure that my new test can fail, I'll put the bug back for a moment.",
        edit(
            "src/foldmark/refs.py",
            "pair = (int(span[2]), int(span[3] or span[2]))",
            "pair = (int(span[3] and span[2] or 1), int(span[3] or span[2]))",
        ),
        bash("python -m pytest tests/unit/test_ranges.py -p no:cacheprovider --tb=short 2>&1 | tail -30"),
    )
    agent.say(
        "It fails with the bug, as it should. Taking the bug out again and running once more.",
        edit(
            "src/foldmark/refs.py",
            "pair = (int(span[3] and span[2] or 1), int(span[3] or span[2]))",
            "pair = (int(span[2]), int(span[3] or span[2]))",
        ),
        bash("python -m pytest tests/unit/test_ranges.py tests/test_floors.py -p no:cacheprovider 2>&1 | tail -5"),
        todo(
            "- [x] reproduce FM-417",
            "- [x] find the cause",
            "- [x] fix it",
            "- [x] add a test",
            "- [x] run all unit tests",
        ),
    )
    agent.say(
        "FM-417 is fixed in src/foldmark/refs.py, with a test in tests/unit/test_ranges.py. "
        "The command was `python -m pytest tests/unit -p no:cacheprovider --tb=short`."
    )
    agent.user(
        "One more thing: which of our error classes can `foldmark load` raise, and where is each message written?"
    )
    agent.say(
        "Looking at the error tree (reading only; errors.py stays untouched) and at every raise.",
        read("src/foldmark/errors.py"),
        grep(r"raise (NotFound|WireError|PolicyError|StoreError)", "src/foldmark"),
    )
    agent.say(
        "Following `load` from the command line down.",
        read("src/foldmark/cli/app.py"),
        read("src/foldmark/cli/work.py"),
    )
    agent.say("And the wires, since a WireError could come from there.", grep("WireError", "src/foldmark/wire"))


LOOKED_AT = [
    ("how much room a request has", "src/foldmark/budget.py", "1,94"),
    ("when a compaction is due", "src/foldmark/triggers.py", "1,120"),
    ("what a compaction covers", "src/foldmark/selection.py", "1,110"),
    ("the meter's prices of images", "src/foldmark/tokens.py", "1,60"),
    ("the mark and its epochs", "src/foldmark/cleanup/marks.py", "1,110"),
    ("what a preview costs", "src/foldmark/admission.py", "1,80"),
    ("search: sizes of pieces", "src/foldmark/retrieval.py", "1,70"),
    ("frames and line indexes of artifacts", "src/foldmark/artifacts/bodies.py", "1,108"),
    ("how values are redacted", "src/foldmark/redact.py", "40,110"),
    ("refs behind demoted results", "src/foldmark/assembly.py", "100,190"),
    ("what stands in the checkpoint", "src/foldmark/compose/sections.py", "1,110"),
    ("the fill of excerpts", "src/foldmark/compose/filling.py", "1,115"),
]


def _fourth_task(agent: Recorder) -> None:
    agent.user(
        "Next, ticket FM-430: list the numeric constants of the library with the file they stand in, and say which of "
        "them name a source in the comment beside them. Read only; change nothing, also not to tidy up."
    )
    agent.say(
        "First all candidates in one listing, then the code around them, file by file.",
        grep(r"^[A-Z_]+(: [a-z]+)? = [0-9.]+", "src/foldmark"),
        todo("- [x] list the candidates", "- [ ] read the code around them", "- [ ] write the table"),
    )
    for what, path, lines in LOOKED_AT:
        agent.say(f"Next {what}: {path}.", bash(f"sed -n {lines}p {path}"))
    agent.say(
        "One more look at how the tests pin such numbers down, because a number that a test repeats is firmer.",
        bash("grep -rn '48_000\\|15_360\\|16_000' tests/unit | head -20"),
        bash("python -m pytest tests/unit/test_budget.py tests/unit/test_triggers.py -p no:cacheprovider | tail -3"),
    )
    agent.say(
        "The candidates are in the first listing of this task; most say in the line below where the number comes from. "
        "Decision: I report them grouped by file, and leave the two image prices out because the meter's docstring "
        "already names their source.",
        todo("- [x] list the candidates", "- [x] read the code around them", "- [ ] write the table"),
    )
    agent.user("Go on with the table then. And remind me: what was the name of the test file you added for FM-417?")


def steps() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="foldmark-") as name:
        folder = Path(name) / "checkout"
        ignore = shutil.ignore_patterns("__pycache__", ".*", "*.db*", "out", "session.json")
        shutil.copytree(ROOT, folder, ignore=ignore)
        yield folder


def main() -> None:
    for folder in steps():
        spoil(folder)
        agent = Recorder(Copy(folder))
        work(agent)
        OUT.write_text(
            json.dumps({"messages": agent.messages, "tools": TOOLS}, ensure_ascii=False, indent=1) + "\n",
            encoding="utf-8",
        )
        print(f"{len(agent.messages)} messages, {agent.calls} calls → {OUT.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
