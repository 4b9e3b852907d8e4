"""A failure is fixed by the same thing passing, and by nothing else: in doubt it stays open."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from foldmark.events import Event
from talk import State, checkpoint_of, facts_from, used


class Ran(NamedTuple):
    """A command and what it printed."""

    command: str
    text: str


def status_after(*runs: Ran) -> str:
    """How the error of the first run stands after the others."""
    events: list[Event] = []
    for number, run in enumerate(runs):
        events += used("bash", run.text, number=number, command=run.command)
    return status_of(facts_from(events)[1])


def status_of(state: State) -> str:
    return next(fact.status for (kind, _), fact in state.items() if kind == "error")


def red(path: str = "tests/test_parser.py", passed: int = 40) -> str:
    return f"FAILED {path}::test_rounding - assert 18.45 == 18.46\n1 failed, {passed} passed in 3.1s"


GREEN = "41 passed in 2.9s"
JEST_RED = "  ● cart › adds\n\n    expect(received).toBe(expected)\n\nTests:       1 failed, 40 passed, 41 total"
JEST_GREEN = "Tests:       41 passed, 41 total"
GO_RED = "--- FAIL: TestX (0.00s)\n    x_test.go:9: got 3, want 4\nFAIL\nFAIL\texample.org/m/pkg1\t0.1s\nFAIL"
GO_GREEN = "ok  \texample.org/m/pkg2\t0.1s"
GO_FIXED = "ok  \texample.org/m/pkg1\t0.1s"
CARGO_RED = (
    "test tests::adds ... FAILED\ntest tests::takes ... ok\n\n"
    "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out"
)
CARGO_GREEN = (
    "test tests::adds ... ok\ntest tests::takes ... ok\n\n"
    "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out"
)
MVN_RED = (
    "[ERROR] org.shop.CartTest.adds -- Time elapsed: 0.01 s <<< FAILURE!\njava.lang.AssertionError: 3\n"
    "[ERROR] Tests run: 41, Failures: 1, Errors: 0, Skipped: 0"
)
MVN_GREEN = "[INFO] Tests run: 41, Failures: 0, Errors: 0, Skipped: 0"

OTHER_THINGS = {
    "another file": (Ran("pytest tests/test_parser.py -q", red()), Ran("pytest tests/test_money.py -q", GREEN)),
    "a file of another number": (
        Ran("pytest tests/test_7.py -q", red("tests/test_7.py")),
        Ran("pytest tests/test_8.py -q", GREEN),
    ),
    "a file whose name goes on": (
        Ran("pytest tests/test_a", red("tests/test_a/test_x.py")),
        Ran("pytest tests/test_ab", GREEN),
    ),
    "another folder": (Ran("pytest tests/v1 -q", red("tests/v1/test_x.py")), Ran("pytest tests/v2 -q", GREEN)),
    "many more tests of another folder": (
        Ran("pytest tests/v1", red("tests/v1/test_x.py", 2)),
        Ran("pytest tests/v2", "900 passed in 9s"),
    ),
    "another -k": (Ran("pytest -q -k rounding", red()), Ran("pytest -q -k parsing", GREEN)),
    "a whole run that leaves out by name": (
        Ran("pytest tests/test_parser.py", red()),
        Ran("pytest -k 'not rounding'", "90 passed in 2s"),
    ),
    "a whole run that leaves the file out": (
        Ran("pytest tests/test_parser.py", red()),
        Ran("pytest --ignore=tests/test_parser.py", "90 passed in 2s"),
    ),
    "a whole run that deselects": (
        Ran("pytest tests/test_parser.py", red()),
        Ran("pytest", "90 passed, 1 deselected in 2s"),
    ),
    "a whole run of fewer tests": (Ran("pytest tests/test_parser.py", red()), Ran("pytest", "12 passed in 2s")),
    "a whole run that skips": (Ran("pytest tests/test_parser.py", red()), Ran("pytest", "90 passed, 1 skipped in 2s")),
    "another test of the file": (
        Ran("pytest tests/test_parser.py", red(passed=0)),
        Ran("pytest tests/test_parser.py::test_names -v", "tests/test_parser.py::test_names PASSED\n1 passed in 1s"),
    ),
    "a test of the same name in another file": (
        Ran("pytest tests/test_parser.py", red(passed=0)),
        Ran("pytest tests/test_money.py -v", "tests/test_money.py::test_rounding PASSED\n1 passed in 1s"),
    ),
    "the same command in another folder": (Ran("cd front && pytest -q", red()), Ran("cd back && pytest -q", GREEN)),
    "a wider command in another folder": (
        Ran("cd front && pytest tests/test_parser.py", red()),
        Ran("cd back && pytest", GREEN),
    ),
    "another interpreter": (
        Ran("python3.11 -m pytest tests/a.py", red("tests/a.py")),
        Ran("python3.12 -m pytest", GREEN),
    ),
    "another database, by name": (
        Ran("DB=one pytest -v", red()),
        Ran("DB=two pytest -v", "tests/test_parser.py::test_rounding PASSED\n1 passed in 1s"),
    ),
    "another make target that names the test": (
        Ran("make test-one", red()),
        Ran("make test-two", "tests/test_parser.py::test_rounding PASSED\n1 passed in 1s"),
    ),
    "a file whose name is the beginning": (
        Ran("pytest tests/test_ab", red("tests/test_ab/test_x.py")),
        Ran("pytest tests/test_a", GREEN),
    ),
    "the same command where nobody knows": (Ran("cd front && pytest -q", red()), Ran("pytest -q", GREEN)),
    "the one test that was named, of two that failed": (
        Ran("pytest -q | tail -2", red().replace("1 failed", "2 failed")),
        Ran("pytest tests/test_parser.py::test_rounding", "1 passed in 1s"),
    ),
    "a second try with another file": (
        Ran("pytest tests/test_parser.py", red()),
        Ran("pytest tests || pytest tests/test_money.py", GREEN),
    ),
    "another framework behind one command": (
        Ran("npm test -- cart.test.js", JEST_RED),
        Ran("npm test", "  60 passing (1s)"),
    ),
    "a test of go that is skipped now": (
        Ran("go test ./...", GO_RED),
        Ran("go test ./pkg1 -v", f"--- SKIP: TestX (0.00s)\nPASS\n{GO_FIXED}"),
    ),
    "a test of go whose name is the beginning": (
        Ran("go test ./...", GO_RED.replace("TestX", "TestXLong")),
        Ran("go test ./pkg1 -run '^TestX$'", GO_FIXED),
    ),
    "a run without what was asked for": (Ran("pytest --slow tests/a.py", red("tests/a.py")), Ran("pytest", GREEN)),
    "the same command that skips now": (Ran("pytest -q", red()), Ran("pytest -q", "40 passed, 1 skipped in 1s")),
    "the same command that expects to fail now": (
        Ran("pytest -q", red()),
        Ran("pytest -q", "40 passed, 1 xfailed in 1s"),
    ),
    "the same command that runs nothing now": (Ran("pytest -q", red()), Ran("pytest -q", "no tests ran in 0.01s")),
    "the same command behind a filter that shows no count": (
        Ran("pytest -q", red()),
        Ran("pytest -q | grep -c import", "7"),
    ),
    "another make target": (Ran("make test-api", red()), Ran("make test-web", GREEN)),
    "another npm script": (Ran("npm run test:api", JEST_RED), Ran("npm run test:web", JEST_GREEN)),
    "another workspace of npm": (
        Ran("npm test --workspace=api", JEST_RED),
        Ran("npm test --workspace=web", JEST_GREEN),
    ),
    "another file of npm test": (
        Ran("npm test -- cart.test.js", JEST_RED),
        Ran("npm test -- user.test.js", JEST_GREEN),
    ),
    "another file of jest": (Ran("npx jest src/cart.test.js", JEST_RED), Ran("npx jest src/user.test.js", JEST_GREEN)),
    "another name of jest": (Ran("npx jest -t adds", JEST_RED), Ran("npx jest -t takes", JEST_GREEN)),
    "another package of go": (Ran("go test ./pkg1", GO_RED), Ran("go test ./pkg2", GO_GREEN)),
    "another test of the go package": (Ran("go test ./pkg1", GO_RED), Ran("go test ./pkg1 -run TestY", GO_FIXED)),
    "no test of the go package": (
        Ran("go test ./pkg1", GO_RED),
        Ran("go test ./pkg1 -run TestX", f"{GO_FIXED} [no tests to run]"),
    ),
    "the same name in another go package": (
        Ran("go test ./pkg1", GO_RED),
        Ran("go test ./pkg2 -v", f"--- PASS: TestX (0.00s)\nPASS\n{GO_GREEN}"),
    ),
    "another crate, with a test of the same name": (
        Ran("cargo test -p a", CARGO_RED),
        Ran("cargo test -p b", CARGO_GREEN),
    ),
    "another module of maven": (Ran("mvn -pl api test", MVN_RED), Ran("mvn -pl web test", MVN_GREEN)),
    "another class of maven": (Ran("mvn test -Dtest=CartTest", MVN_RED), Ran("mvn test -Dtest=UserTest", MVN_GREEN)),
    "another script handed in": (
        Ran("python - <<'EOF'\ncheck(1)\nEOF", "ValueError: totals differ\nexit code: 1"),
        Ran("python - <<'EOF'\nprint(2)\nEOF", "2"),
    ),
    "a long line that ends otherwise": (
        Ran(f"python check.py {'a' * 240} --step 1", "ValueError: totals differ\nexit code: 1"),
        Ran(f"python check.py {'a' * 240} --step 2", "fine"),
    ),
    "a class of maven whose name is a part": (Ran("mvn test", MVN_RED), Ran("mvn test -Dtest=Cart", MVN_GREEN)),
    "the same build in another folder": (
        Ran("cd front && npm run build", "ERROR in cart.ts\nexit code: 1"),
        Ran("cd back && npm run build", "built"),
    ),
}

SAME_THINGS = {
    "the same command again": (
        Ran("pytest tests/test_parser.py -q", red()),
        Ran("pytest tests/test_parser.py -q", GREEN),
    ),
    "the same command that tells less": (Ran("pytest -v", red()), Ran("pytest -v 2>&1 | tail -3", GREEN)),
    "the same command with fewer tests, none skipped": (Ran("pytest -q", red()), Ran("pytest -q", "38 passed in 1s")),
    "the same command whose import works now": (
        Ran("pytest -q", "ERROR tests/test_a.py - ImportError: x\n1 error in 0.2s"),
        Ran("pytest -q", "12 passed, 2 skipped in 1s"),
    ),
    "the same command in the same folder": (Ran("cd front && pytest -q", red()), Ran("cd front/ && pytest -q", GREEN)),
    "the whole suite": (Ran("pytest tests/test_parser.py", red()), Ran("pytest -q", "90 passed in 2s")),
    "a whole run that names it and skips others": (
        Ran("pytest tests/test_parser.py", red()),
        Ran("pytest -v", "tests/test_parser.py::test_rounding PASSED [ 1%]\n90 passed, 3 skipped in 2s"),
    ),
    "the folder around it": (
        Ran("pytest tests/unit/test_parser.py", red("tests/unit/test_parser.py")),
        Ran("pytest ./tests/", "90 passed in 2s"),
    ),
    "the very test, named by the command": (
        Ran("pytest -q", red()),
        Ran("pytest tests/test_parser.py::test_rounding", "1 passed in 1s"),
    ),
    "the file that holds the test": (
        Ran("pytest -q", red(passed=900)),
        Ran("pytest tests/test_parser.py", "9 passed in 1s"),
    ),
    "the very test by its -k": (Ran("pytest -q", red()), Ran("pytest -k rounding", "2 passed, 88 deselected in 1s")),
    "the very test seen by several workers": (
        Ran("pytest -q", red()),
        Ran("make check", "[gw0] [ 10%] PASSED tests/test_parser.py::test_rounding\n1 passed in 1s"),
    ),
    "the folder that holds all": (Ran("pytest tests/test_parser.py", red()), Ran("pytest .", "90 passed in 2s")),
    "the whole suite without a limit of time": (
        Ran("timeout 60 pytest tests/test_parser.py", red()),
        Ran("time pytest -q", "90 passed in 2s"),
    ),
    "the whole suite in the folder where it stood": (
        Ran("cd /repo && pytest tests/test_parser.py", red()),
        Ran("pytest -q", "90 passed in 2s"),
    ),
    "the go test whose part failed": (
        Ran("go test ./...", GO_RED.replace("FAIL\nFAIL", "    --- FAIL: TestX/small (0.00s)\nFAIL\nFAIL")),
        Ran("go test ./pkg1 -run '^TestX$'", GO_FIXED),
    ),
    "a whole run that says how it ended": (
        Ran('pytest tests/test_parser.py; echo "exit $?"', red()),
        Ran("pytest -q && echo done", "90 passed in 2s"),
    ),
    "the whole of jest": (Ran("npx jest src/cart.test.js", JEST_RED), Ran("npx jest", "Tests:  60 passed, 60 total")),
    "the whole of npm test": (
        Ran("npm test -- cart.test.js", JEST_RED),
        Ran("npm test", "Tests:  60 passed, 60 total"),
    ),
    "the package among all": (Ran("go test ./pkg1", GO_RED), Ran("go test ./...", f"{GO_FIXED}\n{GO_GREEN}")),
    "the go package alone": (Ran("go test ./...", f"{GO_RED}\n{GO_GREEN}"), Ran("go test ./pkg1", GO_FIXED)),
    "the go test by its name": (Ran("go test ./...", GO_RED), Ran("go test ./pkg1 -run '^TestX$' -count=1", GO_FIXED)),
    "the whole of cargo": (Ran("cargo test tests::adds", CARGO_RED), Ran("cargo test", CARGO_GREEN)),
    "all of maven": (Ran("mvn -q test -Dtest=CartTest", MVN_RED), Ran("mvn test", MVN_GREEN)),
    "the class of maven that failed": (Ran("mvn test", MVN_RED), Ran("mvn test -Dtest=CartTest", MVN_GREEN)),
    "the same script handed in": (
        Ran("python - <<'EOF'\ncheck(1)\nEOF", "ValueError: totals differ\nexit code: 1"),
        Ran("python - <<'EOF'\ncheck(1)\nEOF", "fine"),
    ),
}


@pytest.mark.parametrize("runs", OTHER_THINGS.values(), ids=OTHER_THINGS)
def test_another_thing_that_passes_fixes_nothing(runs: tuple[Ran, Ran]) -> None:
    assert status_after(*runs) == "open"


@pytest.mark.parametrize("runs", SAME_THINGS.values(), ids=SAME_THINGS)
def test_the_same_thing_that_passes_is_the_fix(runs: tuple[Ran, Ran]) -> None:
    assert status_after(*runs) == "fixed"


@pytest.mark.parametrize("runs", OTHER_THINGS.values(), ids=OTHER_THINGS)
def test_what_another_thing_left_open_is_fixed_by_its_own_run(runs: tuple[Ran, Ran]) -> None:
    """The run in between is not taken for the one before it."""
    first = runs[0]
    green = next((text for mark, text in GREENS if mark in first.text), "fine")
    assert status_after(*runs, Ran(first.command, green)) == "fixed"


# What the first command of a pair prints when it passes.
GREENS = (
    ("● ", JEST_GREEN),
    ("pkg1", GO_FIXED),
    ("tests::adds", CARGO_GREEN),
    ("CartTest", MVN_GREEN),
    ("FAILED ", GREEN),
)


def test_a_checkpoint_says_the_same_of_a_run_and_of_its_error() -> None:
    events = [
        *used("bash", red(), number=1, command="pytest tests/test_parser.py -q"),
        *used("bash", GREEN, number=2, command="pytest tests/test_money.py -q"),
    ]
    text = checkpoint_of(events).text
    assert "- [failed] `pytest tests/test_parser.py -q`" in text
    assert "- [open] `pytest tests/test_parser.py -q`" in text


def test_each_folder_of_one_command_has_its_own_error_and_run() -> None:
    events = [
        *used("bash", red(), number=1, command="cd front && pytest -q"),
        *used("bash", red("tests/test_money.py"), number=2, command="cd back && pytest -q"),
        *used("bash", GREEN, number=3, command="cd front && pytest -q"),
    ]
    _, state = facts_from(events)
    assert {fact.key: fact.status for fact in state.values() if fact.kind == "error"} == {
        "pytest -q": "fixed",
        "pytest -q (in back)": "open",
    }
    assert {fact.key: fact.status for fact in state.values() if fact.kind == "verification"} == {
        "pytest -q": "passed",
        "pytest -q (in back)": "failed",
    }


def test_a_run_in_a_folder_that_nobody_named_does_not_hide_whose_key_it_is() -> None:
    events = [
        *used("bash", red(), number=1, command="cd front && pytest -q"),
        *used("bash", GREEN, number=2, command="pytest -q"),
        *used("bash", GREEN, number=3, command="cd back && pytest -q"),
    ]
    _, state = facts_from(events)
    assert state["error", "pytest -q"].status == "open"
    assert ("verification", "pytest -q (in back)") in state


def test_another_cell_that_runs_does_not_fix_the_one_before() -> None:
    code = "rows = load('a.csv')\nassert len(rows) == 40, 'the rows of a.csv differ'\nprint(rows)"
    other = "names = load('b.csv')\nprint('these are the names of b.csv', names, sep=', ')"
    broken = used("execute_code", "AssertionError: the rows differ", number=1, error=True, code=code)
    assert status_of(facts_from([*broken, *used("execute_code", "x", number=2, code=other)])[1]) == "open"
    assert status_of(facts_from([*broken, *used("execute_code", "x", number=2, code=code)])[1]) == "fixed"


def test_another_folder_of_the_call_is_another_thing() -> None:
    events = [
        *used("shell", red(), number=1, command="pytest -q", workdir="/repo/front"),
        *used("shell", GREEN, number=2, command="pytest -q", workdir="/repo/back"),
    ]
    assert status_of(facts_from(events)[1]) == "open"


def test_a_call_with_another_long_argument_does_not_fix_the_one_before() -> None:
    first, other = (
        "select sum(total) from charges group by day " * 3,
        "select sum(total) from refunds group by day " * 3,
    )
    broken = used("warehouse", "no such table: charges", number=1, error=True, sql=first)
    assert status_of(facts_from([*broken, *used("warehouse", "7", number=2, sql=other)])[1]) == "open"
    assert status_of(facts_from([*broken, *used("warehouse", "7", number=2, sql=first)])[1]) == "fixed"


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        (GO_GREEN, "passed", "1 package passed"),
        (f"{GO_FIXED}\n{GO_GREEN}\t(cached)\n?   \texample.org/m\t[no test files]", "passed", "2 packages passed"),
        (f"{GO_RED}\n{GO_GREEN}", "failed", "1 failed, 1 package passed; failing: TestX (x_test.go:9: got 3, want 4)"),
        (f"{GO_GREEN} [no tests to run]", "passed", "no tests ran"),
        (f"./x.go:3:1: undefined: y\nFAIL\texample.org/m/pkg1 [build failed]\n{GO_GREEN}\nFAIL", "failed",
         "1 package failed, 1 package passed"),
        (f"--- PASS: TestY (0.00s)\nPASS\n{GO_GREEN}", "passed", "1 passed"),
    ],
)  # fmt: skip
def test_packages_of_go_are_told_where_their_tests_are_not(text: str, status: str, said: str) -> None:
    check = facts_from(used("bash", text, command="go test ./..."))[1]["verification", "go test ./..."]
    assert (check.status, check.value) == (status, f"`go test ./...`: {said}")
