"""What all commands have in common: options, values that no option takes, and what is told of wrong input."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from test_cli_control import Desk
from typer.testing import CliRunner

from foldmark import Session, SQLiteStore
from foldmark.cli.app import Foldmark, app
from foldmark.cli.place import Place
from foldmark.events import assistant, user
from making import long_session


def _leaves(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _leaves(command, (*words, name))
        else:
            yield (*words, name), command


COMMANDS = dict(_leaves(typer.main.get_command(app)))
WITHOUT_SESSION = {("sessions",), ("delete",), ("gc",), ("work",), ("queue",)}
"""Those that are about the whole database, or name the session as an argument."""
WITHOUT_SCOPE = {("import",), ("embed",), ("scopes",)}
"""Those that are about a session and nothing inside it."""
WITHOUT_JSON = {("mcp",), ("export",), ("pin",), ("doctor",)}


def options(command: Any) -> dict[str, Any]:
    return {name: one for one in command.params for name in one.opts if name.startswith("--")}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Two sessions, `older` and `newest`, of two events each."""
    made = Desk(tmp_path)
    store = SQLiteStore(made.db)
    for name in ("older", "newest"):
        Session(name, store=store).record(user("Where is the zebra?"), assistant("In the zoo."))
    store.close()
    return made


def run(*words: object, input: str = "") -> Any:
    return CliRunner().invoke(app, [*map(str, words)], input=input)


def refused(*words: object, code: int = 2) -> str:
    """What is told where a command refuses its input, in one line."""
    done = run(*words)
    assert done.exit_code == code, (words, done.output, done.exception)
    assert done.stdout == ""
    return " ".join(done.stderr.split())


# -- options in common


@pytest.mark.parametrize("words", [words for words in COMMANDS if words != ("doctor",)], ids=" ".join)
def test_every_command_offers_the_same_common_options_with_the_same_help(words: tuple[str, ...]) -> None:
    likeness, own = options(COMMANDS["explain",]), options(COMMANDS[words])
    expected = ["--db"]
    if words not in WITHOUT_SESSION:
        expected += ["--session"]
        if words not in WITHOUT_SCOPE:
            expected += ["--scope", "--sees"]
    for name in expected:
        one, other = own[name], likeness[name]
        assert (one.help, one.default, one.name, one.opts) == (other.help, other.default, other.name, other.opts)
    places = [name for name in own if name in ("--db", "--session", "--scope", "--sees")]
    assert places == expected, "and nothing else, in the same order"
    behind = list(own)[list(own).index("--db") + len(expected) :]
    assert behind in ([], ["--json"]), "what is common stands behind what is a command's own"
    assert ("--json" in own) == (words not in WITHOUT_JSON)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_says_what_it_is_for(words: tuple[str, ...]) -> None:
    assert not [name for name, one in options(COMMANDS[words]).items() if not one.help]


# -- an empty value is no default

FREE = {"--focus", "--model", "--author", "query"}
"""Where an empty text says that there is none."""


def _texts() -> list[tuple[tuple[str, ...], str]]:
    """Every parameter that takes a value; numbers, too: an unset variable is none."""
    return [
        (words, name)
        for words, command in COMMANDS.items()
        for one in command.params
        for name in one.opts
        if not getattr(one, "is_flag", False) and name not in FREE
    ]


@pytest.mark.parametrize(("words", "name"), _texts(), ids=lambda one: one if isinstance(one, str) else " ".join(one))
def test_an_empty_value_of_an_unset_variable_is_refused_and_never_the_default(
    desk: Desk, words: tuple[str, ...], name: str
) -> None:
    before = desk.db.read_bytes()
    arguments = [one.name for one in COMMANDS[words].params if not one.opts[0].startswith("--")]
    given = [name, ""] if name.startswith("--") else [*["x"] * arguments.index(name), ""]
    told = refused(*words, *given, *([] if name == "--db" else ["--db", desk.db] if words != ("doctor",) else []))
    _, _, wrong = told.casefold().partition("invalid value for ")
    assert name in wrong.partition(": it is empty (an unset variable of the shell?)")[0]
    assert "it is empty" in wrong
    assert desk.db.read_bytes() == before


# -- files that are not what they should be


@pytest.mark.parametrize("words", [("import",), ("compact",), ("plan",), ("preview",), ("doctor",)], ids=" ".join)
@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("missing.json", "No such file: {}missing.json"),
        ("folder", "Is a directory: {}folder. Name a file"),
        ("empty.json", "empty.json: is empty"),
        ("binary.json", "binary.json: is binary"),
    ],
)
def test_what_is_no_transcript_is_named_and_told_apart(
    tmp_path: Path, words: tuple[str, ...], name: str, answer: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.json").touch()
    (tmp_path / "binary.json").write_bytes(bytes(range(256)))
    assert answer.format(f"{tmp_path}{os.sep}") in refused(*words, tmp_path / name)
    assert not (tmp_path / "foldmark.db").exists()


@pytest.mark.parametrize("words", ["compact", "import", "plan", "preview"])
def test_the_name_of_a_session_in_place_of_a_file_is_known(desk: Desk, words: str) -> None:
    told = refused(words, "older", "--db", desk.db)
    assert "No such file: older." in told
    assert "--session older" in told
    assert "--session" not in refused(words, "nobody", "--db", desk.db)


@pytest.mark.parametrize(
    "words",
    [
        ["compact", "--policy", "missing.toml"],
        ["plan", "--policy", "missing.toml"],
        ["import", "{talk}", "--policy", "missing.toml"],
        ["edit", "--session", "long", "--file", "missing.toml"],
    ],
    ids=lambda words: words[0],
)
def test_a_file_that_an_option_names_and_that_is_not_there_is_told(desk: Desk, words: list[str]) -> None:
    talk = desk.write(long_session(60))
    desk.run("compact", talk, "--session", "long", "--target", 12_000)
    told = refused(*(word.format(talk=talk) for word in words), "--db", desk.db)
    assert "No such file: missing.toml." in told


@pytest.mark.parametrize("words", [["compact"], ["export"]], ids=lambda words: words[0])
def test_an_output_that_is_a_folder_is_told_before_anything_is_done(desk: Desk, words: list[str]) -> None:
    before = desk.db.read_bytes()
    told = refused(*words, "--out", desk.folder, "--db", desk.db)
    assert told == f"foldmark: --out: {desk.folder} is a folder; name a file. Nothing was done."
    assert desk.db.read_bytes() == before


ON_A_DATABASE = [
    [*words, *{
        ("load",): ["event:1"], ("pin",): ["event:1"], ("search",): ["zebra"], ("delete",): ["older", "--yes"],
        ("work",): ["--once"], ("artifact", "lines"): ["event:1", "1-2"], ("artifact", "grep"): ["event:1", "x"],
        ("import",): ["{talk}"],
    }.get(words, ["event:1"] if words[0] == "artifact" else [])]
    for words in COMMANDS if words not in {("doctor",), ("mcp",), ("embed",)}
]  # fmt: skip


@pytest.mark.parametrize("words", ON_A_DATABASE, ids=" ".join)
def test_what_is_no_database_is_named_and_told_apart(tmp_path: Path, words: list[str]) -> None:
    talk = Desk(tmp_path).write(long_session(3))
    said = [word.format(talk=talk) for word in words]
    assert f"--db: {tmp_path} is a folder; name a file." in refused(*said, "--db", tmp_path)
    told = refused(*said, "--db", talk)
    assert f"--db: {talk} is no database" in told
    assert f"`foldmark import {talk}`" in told
    away = tmp_path / "away" / "foldmark.db"
    expected = f"--db: there is no folder {away.parent}" if words[0] == "import" else f"database {away}"
    assert expected in refused(*said, "--db", away)


def test_a_database_without_a_session_says_so(tmp_path: Path) -> None:
    SQLiteStore(tmp_path / "new.db").close()
    assert (
        "holds no session yet. `foldmark import TRANSCRIPT` brings one in."
        in run("sessions", "--db", tmp_path / "new.db").stdout
    )
    assert json.loads(run("sessions", "--json", "--db", tmp_path / "new.db").stdout) == []


# -- what is meant


@pytest.mark.parametrize("words", [["pin", "event:1"], ["pin", "event:1", "--off"]], ids=" ".join)
def test_what_changes_a_session_that_was_not_named_says_which(desk: Desk, words: list[str]) -> None:
    assert "session newest, the newest of 2" in run(*words, "--db", desk.db).stderr
    assert "newest of" not in run(*words, "--session", "newest", "--db", desk.db).stderr


@pytest.mark.parametrize("words", [["edit", "--pin", "event:2"], ["undo"]], ids=" ".join)
def test_what_changes_a_record_of_a_session_that_was_not_named_says_which(desk: Desk, words: list[str]) -> None:
    desk.run("compact", desk.write(long_session(60)), "--session", "long", "--target", 12_000)
    done = run(*words, "--db", desk.db)
    assert done.exit_code == 0, done.output
    assert "session long, the newest of 3" in done.stderr


def test_to_pin_without_a_record_names_the_command_that_does(desk: Desk) -> None:
    assert "`foldmark pin event:2`" in refused("edit", "--pin", "event:2", "--db", desk.db)
    assert "`foldmark pin" not in refused("edit", "--db", desk.db)


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["show", "--log", "--wire", "anthropic"], "--log shows events as they are, and --wire"),
        (["load", "event:1", "--lines", "1-2", "--bytes", "0-4"], "--lines and --bytes both"),
        (["compact", "--summary-window", "5000"], "--summary-window is of a summary model: name one with --summarizer"),
        (["plan", "--summary-window", "5000"], "--summary-window is of a summary model: name one with --summarizer"),
        (["work", "--once", "--summary-window", "5000"], "--summary-window is of a summary model"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else "",
)
def test_an_option_that_would_have_no_effect_is_refused(desk: Desk, words: list[str], answer: str) -> None:
    assert answer in refused(*words, "--db", desk.db)


@pytest.mark.parametrize("name", ["compact", "plan", "preview", "undo"])
def test_a_window_that_no_model_has_is_refused(desk: Desk, name: str) -> None:
    said = refused(name, "--window", "3", "--db", desk.db)
    assert "--window is 3; a context window has at least 1,000 tokens." in said


def test_an_erasure_that_nobody_can_confirm_names_the_option_that_does(desk: Desk) -> None:
    done = run("delete", "older", "--db", desk.db, input="")
    assert done.exit_code == 2
    assert "nobody answered, so session 'older' stays; --yes erases without asking" in " ".join(done.stderr.split())
    assert len(desk.json("sessions")) == 2
    done = run("delete", "older", "--db", desk.db, input="n\n")
    assert (done.exit_code, "Session older stays." in done.stdout) == (1, True)
    assert len(desk.json("sessions")) == 2
    assert run("delete", "older", "--db", desk.db, input="y\n").exit_code == 0
    assert [row["session"] for row in desk.json("sessions")] == ["newest"]


# -- a disk that is full


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    "words",
    [["show"], ["show", "--json"], ["sessions"], ["explain", "--json"], ["history"], ["export"], ["search", "zebra"],
     ["load", "event:1"], ["compact"], ["plan", "--json"], ["artifact", "stat", "event:1"], ["scopes"], ["--help"]],
    ids=" ".join,
)  # fmt: skip
def test_an_output_that_takes_nothing_is_an_error_in_a_sentence(desk: Desk, words: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "foldmark", *words], cwd=desk.folder, stdout=full, stderr=subprocess.PIPE, text=True,
            check=False, timeout=120,
        )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert re.search(r"foldmark: standard output cannot be written: No space left", done.stderr)
    assert done.returncode == 2


@pytest.mark.skipif(os.name != "posix", reason="a shell closes the stream")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize(("words", "code"), [(["show"], 0), (["show", "--json"], 0), (["load", "event:9"], 2)], ids=str)
def test_a_stream_that_is_closed_changes_no_exit_code(desk: Desk, closed: str, words: list[str], code: int) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "foldmark", *words], cwd=desk.folder,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr


@pytest.mark.skipif(os.name != "posix", reason="a shell closes the stream")
@pytest.mark.parametrize(("words", "says"), [(["import", "-"], "is empty"), (["delete", "older"], "nobody answered")])
def test_a_closed_standard_input_holds_nothing(desk: Desk, words: list[str], says: str) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-m", "foldmark", *words], cwd=desk.folder,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert says in done.stderr


# -- signals


def ended(code: str, desk: Desk) -> subprocess.CompletedProcess[str]:
    code = f"import atexit, os, signal, sys\nfrom foldmark.cli import app, terminal\n{code}"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=desk.folder, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_after_the_end_changes_no_exit_code(desk: Desk, name: str) -> None:
    late = f"atexit.register(lambda: os.kill(os.getpid(), signal.{name}))\n"
    for words, code in ((["sessions"], 0), (["load", "event:9"], 2)):
        assert ended(f"{late}sys.argv[1:] = {words}\napp.main()", desk).returncode == code


def test_an_interrupt_before_a_command_began_is_no_traceback(desk: Desk) -> None:
    done = ended("def build():\n    raise KeyboardInterrupt\nterminal.run(build)", desk)
    assert (done.returncode, done.stderr) == (130, "")


# -- parts of a session


def test_export_takes_a_scope(desk: Desk) -> None:
    store = SQLiteStore(desk.db)
    Session("newest", store=store).record(user("Count.", branch="helper"), assistant("Two.", branch="helper"))
    helper = Session("newest", store=store, scope="helper", sees="exact")
    helper.request(window=100_000)
    store.close()
    whole = [json.loads(line) for line in desk.run("export").splitlines()]
    part = [json.loads(line) for line in desk.run("export", "--scope", "helper").splitlines()]
    assert len(whole) == 4
    assert part == whole[2:]
    payload = json.loads(desk.run("export", "--scope", "helper", "--wire", "openai-chat"))
    assert [one["content"] for one in payload["messages"]] == ["Count.", "Two."]
    assert "session newest, scope helper (exact)" in run("export", "--scope", "helper", "--db", desk.db).stderr
    assert "has no scope 'nobody'" in refused("export", "--scope", "nobody", "--db", desk.db)


def test_a_plan_in_json_says_what_would_go_out_without_it(desk: Desk) -> None:
    desk.run("import", desk.write(long_session(60)), "--session", "long")
    found = desk.json("plan", "--force", "--session", "long")
    assert found["sent_tokens"] == Place(desk.db, "long").open().control.plan(force=True).sent
    assert 0 < found["sent_tokens"] < found["before_tokens"], "cleanup alone makes it smaller"


# -- what is loaded


LOADED = """
import sys
from foldmark.cli.app import main
sys.argv = ["foldmark", *sys.argv[1:]]
try:
    main()
finally:
    print(*(name for name in sys.modules if name.startswith("foldmark")), sep="\\n", file=sys.stderr)
"""
LISTED = {"foldmark", "foldmark.cli", "foldmark.errors"}
"""What no command does without, but for the modules of the command line that declare and end commands."""


def loaded(*words: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", LOADED, *words], check=False, capture_output=True, text=True)
    return set(done.stderr.splitlines())


@pytest.mark.parametrize("words", [("--version",), ("--help",), ("serch",), ()])
def test_what_calls_no_command_loads_none(words: tuple[str, ...]) -> None:
    names = {name for name in loaded(*words) if name.startswith("foldmark")}
    assert names == LISTED | {f"foldmark.cli.{name}" for name in ("app", "commands", "endings", "terminal")}


@pytest.mark.parametrize("name", sorted({words[0] for words in COMMANDS}))
def test_a_command_loads_no_module_of_another_command(name: str) -> None:
    homes = {one: later.home.partition(":")[0] for part in Foldmark.sections.values() for one, later in part.items()}
    found = loaded(name, "--help") & {f"foldmark.cli.{module}" for module in homes.values()}
    assert found == {f"foldmark.cli.{homes[name]}"}


@pytest.mark.parametrize("name", ["search", "load", "sessions", "show", "history", "undo", "pin"])
def test_a_command_that_asks_no_model_loads_none_and_no_worker(name: str) -> None:
    apart = {"foldmark.models", "foldmark.worker", "foldmark.mcp", "foldmark.doctor", "foldmark.aio"}
    assert not loaded(name, "--help") & apart


def test_the_list_of_commands_cuts_no_sentence() -> None:
    for words in ((), ("artifact",)):
        said = run(*words, "--help").output
        assert "..." not in said.partition("Options:")[2]
        for command in [one for one in COMMANDS if one[: len(words)] == words]:
            assert re.search(rf"^  {command[len(words)]} +[A-Z].*", said, re.MULTILINE), command


def test_every_command_is_listed_under_its_name_with_a_sentence_that_fits_a_line() -> None:
    listed = {name: later.text for part in Foldmark.sections.values() for name, later in part.items()}
    assert set(listed) == {words[0] for words in COMMANDS}
    assert [text for text in listed.values() if len(text) > 68 or not text.endswith(".")] == []


# -- what help says


OF_EACH = {
    "--window", "--wire", "--out", "--force", "--json", "--file", "--all", "--limit", "--where", "--embedder",
    "--lines",
}  # fmt: skip
"""Options that mean something of their own in some command."""


def said_of_options() -> list[tuple[str, str, Any]]:
    return [
        (" ".join(words), name, one) for words, command in COMMANDS.items() for name, one in options(command).items()
    ]


def test_an_option_that_may_be_repeated_says_so_and_what_it_takes() -> None:
    many = [(words, name, one) for words, name, one in said_of_options() if one.multiple]
    assert len(many) >= 9
    assert [(words, name) for words, name, one in many if not one.metavar or "[" in one.metavar] == []
    assert [(words, name) for words, name, one in many if not re.search("repeatable|again", one.help)] == []


@pytest.mark.parametrize("unit", ["seconds", "days"])
def test_an_option_that_is_named_after_a_unit_tells_it(unit: str) -> None:
    named = [(words, name, one.help) for words, name, one in said_of_options() if name.endswith(unit)]
    assert named
    assert [(words, name) for words, name, told in named if unit not in told.casefold()] == []


def test_every_option_ends_its_help_as_a_sentence() -> None:
    assert [(words, name) for words, name, one in said_of_options() if not (one.help or "").endswith(".")] == []


def test_one_option_says_the_same_in_every_command() -> None:
    told: dict[str, set[str]] = {}
    for _, name, one in said_of_options():
        told.setdefault(name, set()).add(one.help)
    different = {name for name, texts in told.items() if len(texts) > 1}
    assert different <= OF_EACH, "an option of the same name that means something else belongs in OF_EACH"


def test_an_unknown_wire_is_answered_with_all_that_the_command_takes(desk: Desk) -> None:
    told = refused("export", "--wire", "x", "--db", desk.db)
    assert "openai-chat" in told
    assert "events" in told
    assert "events, writes" not in refused("show", "--wire", "x", "--db", desk.db)


def test_an_unknown_policy_is_answered_with_what_a_file_is_called(desk: Desk) -> None:
    told = refused("compact", "--policy", "policy.yaml", "--db", desk.db)
    assert "presets are coding, " in told
    assert "ends in .toml" in told
