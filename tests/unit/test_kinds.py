"""Kinds: every name, number and count in a preview or an outcome is true of the body."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import shared
from foldmark import kinds
from foldmark.events import ToolCall
from foldmark.kinds.body import Body, count_lines
from foldmark.kinds.cuts import shorten, word_border
from foldmark.kinds.tests import parse_tests
from foldmark.tokens import count
from truth import top_of, untruths

PYTEST = """tests/test_pay.py .F.E                                               [100%]
=================================== FAILURES ===================================
_________________________________ test_refund __________________________________

    def test_refund():
>       assert refund(3) == 4
E       assert 3 == 4
E        +  where 3 = refund(3)

tests/test_pay.py:9: AssertionError
=========================== short test summary info ============================
FAILED tests/test_pay.py::test_refund - assert 3 == 4
ERROR tests/test_pay.py::test_setup - RuntimeError: no database
============= 1 failed, 2 passed, 1 skipped, 1 error in 0.12s ==============
"""
UNITTEST = """.F
======================================================================
FAIL: test_sum (tests.Sums.test_sum)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/repo/tests.py", line 8, in test_sum
    self.assertEqual(add(1, 1), 3)
AssertionError: 2 != 3

----------------------------------------------------------------------
Ran 2 tests in 0.001s

FAILED (failures=1)
"""
JEST = """ FAIL  src/cart.test.ts
  ● cart › adds an item

    expect(received).toBe(expected)

Tests:       1 failed, 4 passed, 5 total
Time:        1.2 s
"""
VITEST = """ FAIL  src/cart.test.ts > cart > adds an item
AssertionError: expected 1 to be 2

 Test Files  1 failed (1)
      Tests  1 failed | 4 passed (5)
"""
GO = """=== RUN   TestAdd
--- FAIL: TestAdd (0.00s)
    add_test.go:9: got 3, want 4
--- PASS: TestSub (0.00s)
FAIL
FAIL\texample.com/sums\t0.003s
"""
CARGO = """running 2 tests
test adds ... FAILED
test subs ... ok

---- adds stdout ----
thread 'adds' panicked at src/lib.rs:9:5:
assertion failed: add(1, 1) == 3

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured
"""
TAP = "TAP version 13\n1..3\nok 1 - starts\nnot ok 2 - stops\nok 3 - rests\n# pass 2\n# fail 1\n"
MOCHA = """
  cart
    1) adds an item

  2 passing (10ms)
  1 failing

  1) cart
       adds an item:
      AssertionError: expected 1 to equal 2
"""
SUREFIRE = """[INFO] Running shop.CartTest
[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1, Time elapsed: 0.05 s <<< FAILURE! -- in shop.CartTest
[ERROR] shop.CartTest.adds -- Time elapsed: 0.01 s <<< FAILURE!
org.opentest4j.AssertionFailedError: expected: <4> but was: <3>
[INFO] Results:
[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1
[INFO] BUILD FAILURE
"""
GRADLE = """> Task :test FAILED

CartTest > adds FAILED
    org.opentest4j.AssertionFailedError: expected: <4> but was: <3>

3 tests completed, 1 failed, 1 skipped
"""
DOTNET = """  Failed Shop.CartTests.Adds [12 ms]
  Error Message:
   Assert.Equal() Failure
Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3, Duration: 30 ms - Shop.dll (net8.0)
"""
RSPEC = """Finished in 0.01 seconds
4 examples, 1 failure, 1 pending

Failed examples:

rspec ./spec/cart_spec.rb:9 # Cart adds an item
"""
PHPUNIT = """There was 1 failure:

1) Shop\\CartTest::adds
Failed asserting that 3 matches expected 4.

FAILURES!
Tests: 4, Assertions: 5, Failures: 1, Errors: 1, Skipped: 1.
"""
CTEST = """50% tests passed, 1 tests failed out of 2

The following tests FAILED:
\t  2 - adds (Failed)
"""
GOOGLETEST = """[ RUN      ] Cart.Adds
[  FAILED  ] Cart.Adds (0 ms)
[  PASSED  ] 2 tests.
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Cart.Adds
"""


@pytest.mark.parametrize(
    ("text", "framework", "numbers", "failing", "error"),
    [
        (
            *(SUREFIRE, "surefire", (1, 1, 0, 1), "shop.CartTest.adds"),
            "org.opentest4j.AssertionFailedError: expected: <4> but was: <3>",
        ),
        (
            *(GRADLE, "gradle", (1, 1, 0, 1), "CartTest > adds"),
            "org.opentest4j.AssertionFailedError: expected: <4> but was: <3>",
        ),
        (DOTNET, "dotnet test", (2, 1, 0, 0), "Shop.CartTests.Adds", "Assert.Equal() Failure"),
        (RSPEC, "rspec", (2, 1, 0, 1), "./spec/cart_spec.rb:9", ""),
        (PHPUNIT, "phpunit", (1, 1, 1, 1), "Shop\\CartTest::adds", "Failed asserting that 3 matches expected 4."),
        (CTEST, "ctest", (1, 1, 0, 0), "adds", "Failed"),
        (GOOGLETEST, "googletest", (2, 1, 0, 0), "Cart.Adds", ""),
        (PYTEST, "pytest", (2, 1, 1, 1), "tests/test_pay.py::test_refund", "assert 3 == 4"),
        (UNITTEST, "unittest", (1, 1, 0, 0), "test_sum (tests.Sums.test_sum)", "AssertionError: 2 != 3"),
        (JEST, "jest", (4, 1, 0, 0), "cart › adds an item", "expect(received).toBe(expected)"),
        (VITEST, "vitest", (4, 1, 0, 0), "src/cart.test.ts > cart > adds an item", ""),
        (GO, "go test", (1, 1, 0, 0), "TestAdd", "add_test.go:9: got 3, want 4"),
        (CARGO, "cargo test", (1, 1, 0, 0), "adds", "assertion failed: add(1, 1) == 3"),
        (TAP, "TAP", (2, 1, 0, 0), "stops", ""),
        (MOCHA, "mocha", (2, 1, 0, 0), "cart adds an item", "AssertionError: expected 1 to equal 2"),
    ],
)
def test_a_test_run_tells_counts_failing_names_and_first_errors(
    text: str, framework: str, numbers: tuple[int, ...], failing: str, error: str
) -> None:
    run = parse_tests(text)
    assert run is not None
    assert run.framework == framework
    assert (run.passed, run.failed, run.errors, run.skipped) == numbers
    assert (run.failing[0].name, run.failing[0].error) == (failing, error)
    assert kinds.recognise(text).name == "tests"
    assert failing in kinds.outcome(text)


@pytest.mark.parametrize("text", ["", "3 passed the exam", "error in line 3", "Ran 3 miles", "def test(): pass"])
def test_what_only_speaks_of_tests_is_no_test_run(text: str) -> None:
    assert parse_tests(text) is None


TRACES = {
    "python": 'Traceback (most recent call last):\n  File "/r/a.py", line 3, in f\n    g()\nValueError: bad',
    "javascript": "TypeError: x is undefined\n    at run (/r/a.js:3:9)\n    at main (/r/b.js:1:1)\n",
    "java": 'Exception in thread "main" java.lang.IllegalStateException: bad\n\tat app.Main.run(Main.java:3)\n',
    "go": "panic: bad\n\ngoroutine 1 [running]:\nmain.main()\n\t/r/a.go:3 +0x1d\n",
    "rust": "thread 'main' panicked at src/a.rs:3:9:\nbad\n",
}


@pytest.mark.parametrize("language", TRACES)
def test_a_stack_trace_gives_its_error_and_where_it_was_raised(language: str) -> None:
    (trace,) = kinds.traces("noise before\n" + TRACES[language])
    assert trace.language == language
    assert trace.where.endswith(":3")
    assert trace.where.partition(":")[0].endswith(("a.py", "a.js", "Main.java", "a.go", "a.rs"))
    assert kinds.recognise(TRACES[language]).name == "trace"


def test_deep_traces_are_read_in_linear_time() -> None:
    frames = "".join(f'  File "/r/a{n}.py", line {n}, in f\n    call(a, b)\n' for n in range(40_000))
    text = "Traceback (most recent call last):\n" + frames + "ValueError: too deep"
    assert "ValueError: too deep" in kinds.outcome(text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Exit code 1\nboom", 1),
        ("out\n\nCommand exited with code 127", 127),
        ("<returncode>0</returncode>\n<output>\n</output>", 0),
        ('{"output":"x","metadata":{"exit_code":2,"duration_seconds":0.1}}', 2),
        ("[The command completed with exit code 0.]", 0),
        ("make: *** [Makefile:3: all] Error 2", 2),
        ("all fine", None),
        ("the exit is on the left, code red", None),
        ("", None),
    ],
)
def test_exit_codes_are_read_from_the_ends(text: str, code: int | None) -> None:
    assert kinds.exit_code(text) == code


def test_a_refusal_is_told_from_a_story_about_one() -> None:
    refusal = "The user doesn't want to proceed with this tool use. Wait for them."
    assert kinds.denial(refusal).startswith("The user doesn't want to proceed")
    assert kinds.denial("Permission denied: /etc/shadow") == ""
    assert kinds.denial("x\n" * 2_000 + refusal) == ""


DIFF = """diff --git a/src/a.py b/src/a.py
--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,4 @@
 import os
---- a line that looks like a header
+++ b line that looks like one
+second
 end
"""


def test_a_diff_counts_lines_inside_hunks_only() -> None:
    (file,) = kinds.diff_stat(DIFF)
    assert (file.path, file.added, file.removed) == ("src/a.py", 2, 1)
    assert kinds.outcome(DIFF) == "1 file, +2 -1: src/a.py (+2 -1)"


def call(name: str, **arguments: object) -> ToolCall:
    return ToolCall("c", name, json.dumps(arguments))


def grep_lines(number: int) -> list[str]:
    return [f"logs/2026-05-0{n % 9 + 1}/app.log:{n + 10}:at 12:{n % 60:02}:00 request {n}" for n in range(number)]


@pytest.mark.parametrize(
    ("text", "made", "name"),
    [
        ("", None, "text"),
        ("just words", None, "text"),
        ('{"a": 1}', None, "json"),
        ('{"a": 1}\n{"a": 2}\n', None, "json"),
        ("[1, 2", None, "text"),
        (DIFF, None, "diff"),
        ("\n".join(grep_lines(5)), None, "hits"),
        ("10:def a\n20:def b", call("bash", command="grep -n def a.py"), "hits"),
        ("     1→import os\n     2→\n     3→x = 1", None, "file"),
        ("[File: a.py (94 lines total)]\n1:import re\n2:x", None, "file"),
        ("import os\n" * 9, call("read", path="a.py"), "file"),
        ("total 4\n-rw-r--r-- 1 a b 3 May 1 a.py\ndrwxr-xr-x 2 a b 3 May 1 src", None, "listing"),
        ("a.py\nsrc/b.py", call("Glob", pattern="**"), "listing"),
        ("2026-05-01 10:00:00 INFO up\n" * 5, None, "log"),
        ("built\nok\n", call("bash", command="make"), "command"),
    ],
)
def test_kinds_are_recognised(text: str, made: ToolCall | None, name: str) -> None:
    assert kinds.recognise(text, made).name == name


BODIES = {
    "tests": "\n".join(f"tests/test_{n}.py::test_{n} PASSED" for n in range(900)) + "\n" + PYTEST,
    "log": "\n".join(f"2026-05-01 10:00:{n % 60:02} {'ERROR' if n == 500 else 'INFO'} step {n}" for n in range(900)),
    "hits": "\n".join(grep_lines(600)),
    "listing": "\n".join(f"src/module_{n}/file_{n}.py" for n in range(900)),
    "file": "\n".join(f"{n:6}→def function_{n}(value):" for n in range(1, 900)),
    "diff": DIFF + "".join(f"@@ -{n},1 +{n},1 @@\n-old value {n}\n+new value {n}\n" for n in range(10, 400)),
    "text": "\n".join(f"paragraph {n} about nothing" for n in range(900)),
    "windows": "\r\n".join(f"C:\\work\\app.log:{n}:line {n}" for n in range(400)),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("budget", [60, 200, 500])
def test_a_preview_is_whole_lines_and_counted_gaps(name: str, budget: int) -> None:
    text = BODIES[name]
    shown = kinds.preview(text, None, budget, count).split("\n")
    assert count("\n".join(shown)) <= budget
    lines = [line.rstrip("\r") for line in text.rstrip("\n").split("\n")]
    at = 0
    if shown[0] != lines[0] and not shown[0].startswith("… line"):
        shown = shown[1:]  # our own first line: counts
    for line in shown:
        if line.startswith("… line"):
            gap = line.removeprefix("… lines ").removeprefix("… line ").split(" of ")
            first, _, last = gap[0].replace(",", "").partition("-")
            assert int(first) == at + 1
            assert gap[1] == f"{len(lines):,} not shown …"
            at = int(last or first)
        else:
            assert line == lines[at]
            at += 1
    assert at == len(lines)


@pytest.mark.parametrize("text", ["", "\n", "x", "a\nb", "é" * 40, "\x00", "\ud800 lone"])
def test_small_bodies_are_their_own_preview(text: str) -> None:
    assert kinds.preview(text, None, 500, count) == kinds.clean_text(text)


def test_a_failing_test_deep_inside_is_in_the_preview() -> None:
    shown = kinds.preview(BODIES["tests"], None, 400, count)
    assert shown.startswith("pytest: 1 failed, 1 errors, 2 passed, 1 skipped\n")
    assert "FAILED tests/test_pay.py::test_refund - assert 3 == 4" in shown


def test_an_error_deep_inside_a_log_is_in_the_preview() -> None:
    assert "10:00:20 ERROR step 500" in kinds.preview(BODIES["log"], None, 300, count)


@pytest.mark.parametrize(
    ("line", "name", "error"),
    [
        ("FAILED a.py::test_x[one - two] - assert 3 == 4", "a.py::test_x[one - two]", "assert 3 == 4"),
        ("FAILED a.py::test_x[a]b] - KeyError: 'x'", "a.py::test_x[a]b]", "KeyError: 'x'"),
        ("FAILED a.py::test_x[one two]", "a.py::test_x[one two]", ""),
        ("ERROR a.py - ImportError: no b [c]", "a.py", "ImportError: no b [c]"),
    ],
)
def test_names_of_parametrised_tests_are_whole(line: str, name: str, error: str) -> None:
    run = parse_tests(f"{line}\nERROR in the log of something else\n==== 1 failed in 0.12s ====\n")
    assert run is not None
    assert [(one.name, one.error) for one in run.failing] == [(name, error)]


@given(st.lists(st.sampled_from(("step", "load", "retry")), min_size=40, max_size=200), st.integers(60, 300))
def test_a_log_counts_lines_that_are_alike_and_shows_each_form_of_them(words: list[str], budget: int) -> None:
    lines = [f"2026-05-01 10:00:{n % 60:02} INFO {word} {n} of user {n % 7}" for n, word in enumerate(words)]
    text = "\n".join(lines) + "\n2026-05-01 10:01:00 ERROR disk full\n"
    shown = kinds.preview(text, None, budget, count)
    assert untruths(text, shown) == []
    if found := re.search(r"([\d,]+) lines are like line ([\d,]+) but for numbers", top_of(text, shown)):
        like = words[int(found[2].replace(",", "")) - 1]
        assert int(found[1].replace(",", "")) == words.count(like)
    if shown != text and budget >= 200:
        assert "ERROR disk full" in shown
        assert all(f"INFO {word} " in shown for word in words)


def test_every_file_with_hits_is_named_before_a_second_hit_of_any() -> None:
    shown = kinds.preview(BODIES["hits"], None, 400, count)
    assert all(f"logs/2026-05-0{n}/app.log" in shown for n in range(1, 10))


def test_json_keeps_numbers_as_spelled_and_counts_what_it_leaves_out() -> None:
    items = ", ".join(f'{{"id": {n}, "price": 1{n}.50, "big": 12345678901234567890.0}}' for n in range(200))
    text = f"[{items}]"
    shown = kinds.preview(text, None, 300, count)
    assert shown.startswith(f"JSON array of 200 objects with id, price, big, {len(text):,} characters:")
    pieces = [line for line in shown.split("\n")[1:] if not line.startswith("…")]
    assert all(piece in text for piece in pieces)
    (gap,) = [line for line in shown.split("\n") if line.startswith("…")]
    assert gap.endswith("of 200 not shown …")
    first, last = gap.split()[2].split("-")
    assert len(pieces) + int(last) - int(first) + 1 == 200


def test_an_object_names_every_key_it_shortens() -> None:
    text = json.dumps({"id": "W7", "rows": [{"n": n} for n in range(900)], "ok": True})
    shown = kinds.preview(text, None, 200, count)
    assert '"id": "W7"' in shown
    assert '"rows": …' in shown
    assert '"ok": true' in shown


def test_an_array_of_arrays_says_what_stands_inside() -> None:
    text = json.dumps([[{"id": n, "text": "words " * 90}] for n in range(9)])
    said = "JSON array of 9 arrays, the first an array of 1 object with id, text"
    assert kinds.outcome(text) == said
    assert kinds.preview(text, None, 60, count).startswith(said)


def test_an_editor_that_refuses_says_why_in_the_outcome() -> None:
    window = "\n".join(f"{n}:x = {n}" for n in range(10, 60))
    text = (
        f"Your edit was refused.\n\nERRORS:\n- E999 SyntaxError: unmatched\n\n[File: a.py (90 lines total)]\n{window}\n"
    )
    said = kinds.outcome(text, call("edit", path="a.py"))
    assert said == "Your edit was refused.; - E999 SyntaxError: unmatched; lines 10-59 of 90"


def test_json_outcome_holds_short_values_and_no_float_noise() -> None:
    text = '{"order": "W7", "total": 10.50, "paid": false, "items": [1, 2]}'
    assert kinds.outcome(text) == "JSON object with 4 keys: order=W7, total=10.50, paid=false; also items"


def test_a_giant_line_is_cut_at_a_word_with_its_length_said() -> None:
    text = "alpha beta " * 60_000
    shown = kinds.preview(text, None, 200, count)
    head, _, told = shown.partition(" … ")
    assert text.startswith(head + " ")
    assert head.endswith(("alpha", "beta"))
    assert told == f"{len(text) - len(head) - 1:,} more characters of this line not shown …"


def test_a_run_without_spaces_is_not_cut_at_all() -> None:
    assert kinds.preview("QUJD" * 300_000, None, 200, count) == "… 1,200,000 characters without a space not shown …"


@pytest.mark.parametrize("tail", ["\u0301", "\u200d👩", "\ufe0f"])
def test_graphemes_are_never_cut(tail: str) -> None:
    text = "e" + tail
    assert word_border(f"word {text * 200}", 100) == len("word ")
    assert word_border("漢字仮名交文" * 50, 100) == 100


def test_paths_urls_and_numbers_are_never_cut() -> None:
    line = "see " + "https://example.com/" + "a" * 700
    assert shorten(line) == "see … 720 more characters of this line not shown …"
    assert shorten("x " * 299 + "1,234,567.89 end and more").rstrip(" …").find("1,23") == -1


def test_control_characters_and_lone_surrogates_are_replaced_in_previews_only() -> None:
    assert kinds.clean_text("a\x00b\ud800c\x1b[31mred\x1b[0m\td\n") == "a\ufffdb\ufffdcred\td\n"


def test_lines_are_counted_as_a_reader_of_ranges_counts_them() -> None:
    assert [count_lines(text) for text in ("", "a", "a\n", "a\nb", "\n\n")] == [0, 1, 1, 2, 2]
    body = Body("a\r\nb\nc")
    assert [body.line(number) for number in (0, 1, 2, 3, 4)] == [None, "a", "b", "c", None]


def test_lines_between_the_edges_of_a_long_body_are_numbered_right() -> None:
    text = "\n".join(f"line {n}" + (" Error: here" if n == 30_000 else "") for n in range(1, 60_001))
    assert Body(text).trouble() == {30_000: "line 30000 Error: here"}
    assert "line 30000 Error: here" in kinds.preview(text, None, 300, count)


def test_noise_is_blanks_and_progress_only() -> None:
    assert kinds.is_noise(" \n\n")
    assert kinds.is_noise("Collecting a\nDownloading a.whl (3 kB)\n 50% |#####     |\n")
    assert not kinds.is_noise("Collecting a\nERROR: no match\n")


def test_the_outcome_of_a_command_keeps_code_commit_and_errors() -> None:
    made = call("bash", command="make check")
    text = "compiling\n" * 5 + "src/a.c:3: error: no such thing\nmake: *** [all] Error 2"
    assert kinds.outcome(text, made).startswith(
        "exit code 2; make: *** [all] Error 2; 2 error lines; errors: src/a.c:3: error: no such thing"
    )
    commit = "checked\n\n[main 1a2b3c4] Fix it\n 1 file changed\n"
    assert "commit [main 1a2b3c4] Fix it" in kinds.outcome(commit, call("bash", command="git commit -m x"))


@pytest.mark.parametrize("text", [*BODIES.values(), *TRACES.values(), PYTEST, "", "\x00", "{", "[]", "{}", "[[[["])
def test_an_outcome_is_one_short_line(text: str) -> None:
    said = kinds.outcome(text)
    assert said
    assert "\n" not in said
    assert len(said) < 1_500


@pytest.mark.data
def test_previews_of_real_results_hold_only_lines_of_their_bodies() -> None:
    calls: dict[str, ToolCall] = {}
    seen = 0
    with shared("data/trajectories/pi-coding-agent/large-session.jsonl").open() as file:
        for record in map(json.loads, file):
            message = record.get("message") or {}
            for block in message.get("content") or [] if isinstance(message.get("content"), list) else []:
                if block.get("type") == "toolCall":
                    calls[block["id"]] = call(block["name"], **block["arguments"])
            if message.get("role") != "toolResult":
                continue
            text = "".join(block.get("text", "") for block in message["content"])
            shown = kinds.preview(text, calls.get(message["toolCallId"]), 200, count)
            lines = {line.rstrip("\r") for line in kinds.clean_text(text).split("\n")}
            strange = [line for line in shown.split("\n") if line not in lines and not line.startswith("… ")]
            strange = [line for line in strange if "more characters of this line not shown" not in line]
            assert len(strange) <= 1, strange  # our own first line
            assert len(shown) <= len(text)
            seen += shown != text
    assert seen > 50


@pytest.mark.parametrize("budget", [50, 80, 150])
@pytest.mark.parametrize("length", [5, 40, 200])
def test_a_diff_of_files_with_long_names_stays_within_its_budget(length: int, budget: int) -> None:
    change = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1,2 +1,2 @@\n-old\n+new\n same\n"
    text = "".join(change.format(f"src/{'deep_folder/' * (length // 5)}file_{number}.py") for number in range(14))
    shown = kinds.preview(text, None, budget, count)
    assert kinds.recognise(text).name == "diff"
    assert count(shown) <= budget
    if length < 200:  # longer lines are cut
        assert untruths(text, shown) == []


@pytest.mark.parametrize("end", ["\ud83d", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_an_outcome_is_one_line_whatever_names_hold(end: str) -> None:
    for text in (f"-rw-r--r--{end}-", f"a{end}b", f'{{"a{end}b": 1}}', f"src/a{end}b.py:1: error: x{end}y"):
        said = kinds.outcome(text)
        assert len(said.splitlines()) <= 1
        said.encode()


SIGNS = st.sampled_from(
    """## main|{|}|{"a": 1}|[1, 2]|1 passed in 0.1s|Traceback (most recent call last):|a.py:3:x|/a|<html>|a,b|1,2|
<?xml version='1.0'?>|ERROR: no|added 3 packages in 2s|make: *** [a] Error 1|1a2b3c4 Fix it|commit 1a2b3c4d|
drwxr-xr-x 2 a a 4096 May  1 09:00 src|    1\tx = 1|TOTAL 1 0 100%|""".replace("|\n", "|").split("|")
)
CALLS = st.sampled_from([None, *(ToolCall("c", "bash", json.dumps({"command": line})) for line in ("git log", "make"))])


@given(st.lists(SIGNS, max_size=12).map("\n".join), CALLS)
def test_the_kind_that_is_believed_is_the_surest_of_all_and_the_first_of_equals(
    text: str, call: ToolCall | None
) -> None:
    assert kinds.recognise(text, call) is max(kinds.KINDS, key=lambda kind: kind.recognise(text, call))


NOTEBOOK = '{"cells": [], "nbformat": 4, "metadata": {}}'


@pytest.mark.parametrize("text", ['{"a": 1}', NOTEBOOK, "[]\n" * 3, PYTEST, UNITTEST])
def test_a_kind_that_ends_the_search_is_as_sure_as_any_behind_it(text: str) -> None:
    assert kinds.recognise(text) is max(kinds.KINDS, key=lambda kind: kind.recognise(text, None))
