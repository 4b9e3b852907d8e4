"""What a call does, told by its tool's name and arguments."""

from __future__ import annotations

import json

import pytest

from foldmark.events import ToolCall
from foldmark.profiles import Profile, command_of, headline, path_of, paths_of, profile_of, profile_of_call, range_of


def call(name: str, **arguments: object) -> ToolCall:
    return ToolCall("c", name, json.dumps(arguments))


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("Read", "reads"),
        ("Write", "writes"),
        ("MultiEdit", "writes"),
        ("Grep", "searches"),
        ("LS", "searches"),
        ("WebFetch", "fetches"),
        ("TodoWrite", "plans"),
        ("update_plan", "plans"),
        ("AskUserQuestion", "asks"),
        ("ExitPlanMode", "asks"),
        ("apply_patch", "writes"),
        ("open", "reads"),
        ("search_dir", "searches"),
        ("get_user_details", "reads"),
        ("search_direct_flight", "searches"),
        ("book_reservation", "pays"),
        ("mcp__github__create_issue", "writes"),
        ("mcp__files__read_file", "reads"),
        ("searchDocuments", "searches"),
        ("frobnicate", "other"),
    ],
)
def test_a_tools_name_tells_its_role(name: str, role: str) -> None:
    assert profile_of(name).role == role


@pytest.mark.parametrize(
    "name",
    [
        "book_reservation", "cancel_reservation", "update_reservation_flights", "send_certificate", "pay_invoice",
        "transfer_to_human_agents", "AskUserQuestion", "get_price", "get_exchange_rate", "approve_request", "Task",
        "mcp__linear__create", "frobnicate", "",
    ],
)  # fmt: skip
def test_what_cannot_be_had_again_is_one_shot(name: str) -> None:
    profile = profile_of(name)
    assert profile.one_shot
    assert not profile.refetchable
    assert not profile.demotable


def test_a_result_without_its_call_is_one_shot() -> None:
    assert profile_of_call(None).one_shot


@pytest.mark.parametrize(
    ("command", "role", "one_shot"),
    [
        ("cat src/app.py", "reads", False),
        ("sed -n 10,20p src/app.py", "reads", False),
        ("cd /repo && head -5 README.md", "reads", False),
        ("grep -rn 'a && b' src | head", "searches", False),
        ("ls -la", "searches", False),
        ("git status", "searches", False),
        ("pytest -q tests", "runs", False),
        ("npm test 2>&1 | tail -40", "runs", False),
        ("make && cat out.txt", "runs", False),
        ("git commit -m 'x > y'", "writes", False),
        ("rm -rf build", "writes", False),
        ("sed -i s/a/b/ src/app.py", "writes", False),
        ("cat > src/app.py <<'EOF'\nrm -rf /\nEOF", "writes", False),
        ("echo done > log.txt", "writes", False),
        ("python x.py 2>/dev/null", "runs", False),
        ("curl -X POST https://api.example.com/pay -d amount=3", "writes", True),
        ("git push origin main", "writes", True),
        ("", "runs", False),
    ],
)
def test_a_shell_call_is_judged_by_its_command_line(command: str, role: str, one_shot: bool) -> None:
    profile = profile_of("Bash", json.dumps({"command": command}))
    assert (profile.role, profile.one_shot) == (role, one_shot)


def test_a_shell_takes_its_command_as_text_or_as_a_list() -> None:
    listed = call("shell", command=["bash", "-lc", "cat a.py"])
    assert command_of(listed, profile_of_call(listed)) == "cat a.py"
    assert path_of(listed, profile_of_call(listed)) == "a.py"


def test_paths_follow_a_change_of_folder() -> None:
    found = call("bash", command="cd /repo/src && cat ./app.py")
    assert path_of(found, profile_of_call(found)) == "/repo/src/app.py"


def test_an_editor_that_views_reads() -> None:
    assert profile_of("str_replace_editor", '{"command":"view","path":"a.py"}').role == "reads"
    assert profile_of("str_replace_editor", '{"command":"create","path":"a.py"}').role == "writes"


def test_a_patch_names_all_its_files() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"
    found = call("apply_patch", input=patch)
    assert paths_of(found, profile_of_call(found)) == ("a.py", "b.py")


def test_the_range_of_a_read_tells_windows_apart() -> None:
    whole, window = call("Read", file_path="a.py"), call("Read", file_path="a.py", offset=10, limit=20)
    assert range_of(whole, profile_of_call(whole)) == ""
    assert range_of(window, profile_of_call(window)) == "offset=10 limit=20"


def test_own_profiles_come_before_the_built_in_ones() -> None:
    mine = Profile(names=("get_*",), role="reads", one_shot=True)
    assert profile_of("get_slot", "{}", (mine,)).one_shot
    assert profile_of("read", "{}", (mine,)).refetchable


@pytest.mark.parametrize("arguments", ["", "not json", "[1]", '"text"', "\ud800", '{"command": 7}', '{"path": null}'])
def test_arguments_that_are_no_object_are_no_error(arguments: str) -> None:
    odd = ToolCall("c", "bash", arguments)
    assert profile_of_call(odd).role
    assert isinstance(headline(odd), str)


def test_a_headline_says_what_a_call_did() -> None:
    assert headline(call("Read", file_path="src/app.py", offset=10)) == "read src/app.py (offset=10)"
    assert headline(call("bash", command="pytest -q")) == "ran pytest -q"
    assert headline(call("Grep", pattern="def main", path="src")) == "searched def main"
    assert headline(call("get_order", order_id="W7")) == "get_order order_id=W7"
    assert headline(None) == "result"


def test_arguments_that_are_too_deep_to_decode_name_nothing() -> None:
    call = ToolCall("c", "read", '{"path":"a.py","x":' + "[" * 5_000 + "]" * 5_000 + "}")
    assert profile_of_call(call).role == profile_of("read", "{}").role
    assert path_of(call, profile_of_call(call)) == ""
