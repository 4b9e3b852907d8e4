"""Test runs: counts, failing names, the first error of each. Knows nothing of how the run was started.

Every framework is a small reader that gives a `TestRun` or None; counts come from the run's own summary only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from foldmark.events import ToolCall
from foldmark.kinds import coverage
from foldmark.kinds.base import Kind, clip, listed, plural, profile
from foldmark.kinds.body import Body, Count, compose, edges
from foldmark.kinds.terminal import clean_text
from foldmark.kinds.testrun import Failure, TestRun
from foldmark.kinds.tests_more import ctest, dotnet, googletest, gradle, phpunit, rspec, surefire

__all__ = ["TESTS", "Failure", "TestRun", "outcome", "parse_tests", "preview", "say", "say_counts"]

_BOUND = 1_000_000  # characters looked at from either end of a giant run


def _counts(line: str) -> dict[str, int]:
    """`3 failed, 12 passed` and `12 passed | 3 failed` as numbers by word."""
    return {word: int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", line)}


_PYTEST = re.compile(
    r"^=*[ \t]*((?:\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?|rerun|"
    r"subtests passed)(?:, )?)+|no tests ran) in [\d.]+s.*$",
    re.MULTILINE,
)
_PYTEST_NAME = re.compile(r"^(?:FAILED|ERROR) (\S.*)$", re.MULTILINE)
_PYTEST_SECTION = re.compile(r"^(?:_{3,} (.+) _{3,}|E {2,}(\S.*))$", re.MULTILINE)


def _first_errors(text: str) -> dict[str, str]:
    """The first `E` line under every `____ test ____` header."""
    found: dict[str, str] = {}
    name = ""
    for match in _PYTEST_SECTION.finditer(text):
        if match[1]:
            name = match[1].rpartition(" ")[2] if match[1].startswith("ERROR ") else match[1]
        elif name:
            found.setdefault(name, match[2])
    return found


def _name_and_error(line: str) -> tuple[str, str]:
    """`a.py::test_x[one - two] - assert 3 == 4` as (name, error); name "" when the line is something else's. Parameters
    may hold blanks and dashes."""
    end = line.find("]") if "[" in line.partition(" ")[0] else -1
    while end >= 0 and line[end + 1 : end + 4] not in ("", " - "):
        end = line.find("]", end + 1)
    if end >= 0:
        return line[: end + 1], line[end + 4 :]
    name, _, error = line.partition(" - ")
    return ("", "") if " " in name.strip() else (name.strip(), error)


def _pytest(text: str) -> TestRun | None:
    summary = _last(_PYTEST, text)
    if not summary:
        return None
    counts = _counts(summary[1])
    shown = _first_errors(text) if "\nE  " in text else {}
    failing = {}
    for name, error in map(_name_and_error, _PYTEST_NAME.findall(text)):
        if not name:
            continue
        short = name.rpartition("::")[2]
        failing[name] = Failure(name, clip(error or shown.get(short, ""), 200))
    if not failing:
        failing = {name: Failure(name, clip(error, 200)) for name, error in shown.items()}
    return TestRun(
        framework="pytest", passed=counts.get("passed", 0), failed=counts.get("failed", 0),
        errors=counts.get("errors", counts.get("error", 0)), skipped=counts.get("skipped", 0),
        failing=tuple(failing.values()), deselected=counts.get("deselected", 0), expected=counts.get("xfailed", 0),
    )  # fmt: skip


_UNITTEST = re.compile(r"^Ran (\d+) tests? in [\d.]+s\s+^(OK|FAILED|NO TESTS RAN)\b(.*)$", re.MULTILINE)
_UNITTEST_NAME = re.compile(r"^(?:FAIL|ERROR): (.+)$\n(?:.*\n)?-{10,}\n((?:.+(?:\n|\Z))*)", re.MULTILINE)


def _unittest(text: str) -> TestRun | None:
    summary = _last(_UNITTEST, text)
    if not summary:
        return None
    counts = {word: int(number) for word, number in re.findall(r"(\w+)=(\d+)", summary[3])}
    failed, errors, skipped = counts.get("failures", 0), counts.get("errors", 0), counts.get("skipped", 0)
    failing = tuple(
        Failure(name, clip(trace.rstrip().rpartition("\n")[2], 200)) for name, trace in _UNITTEST_NAME.findall(text)
    )
    passed = max(0, int(summary[1]) - failed - errors - skipped)
    return TestRun(framework="unittest", passed=passed, failed=failed, errors=errors, skipped=skipped, failing=failing)


_JEST = re.compile(r"^[ \t]*Tests:?\s+((?:\d+ \w+[,| ]*)+)(?:total|\(\d+\))?.*$", re.MULTILINE)
_JEST_NAME = re.compile(
    r"^[ \t]*● (?!Console)(.+?)$\n+((?:.*\n){0,4}?.*\S.*)$|^[ \t]*(?:FAIL|[×✕✗])\s+(\S.*? > .+?)(?: \d+ms)?$",
    re.MULTILINE,
)


def _jest(text: str) -> TestRun | None:
    summary = _last(_JEST, text)
    if not summary:
        return None
    counts = _counts(summary[1])
    if not counts.keys() & {"passed", "failed", "skipped", "todo"}:
        return None
    failing: dict[str, Failure] = {}
    for match in _JEST_NAME.finditer(text):
        name = clip(match[1] or match[3], 200)
        error = next((line.strip() for line in (match[2] or "").split("\n") if line.strip()), "")
        failing.setdefault(name, Failure(name, clip(error, 200)))
    framework = "jest" if "Tests:" in summary[0] else "vitest"
    return TestRun(
        framework=framework, passed=counts.get("passed", 0), failed=counts.get("failed", 0),
        skipped=counts.get("skipped", 0) + counts.get("todo", 0),
        failing=tuple(failing.values()) if counts.get("failed") else (),
    )  # fmt: skip


_GO_NAME = re.compile(r"^[ \t]*--- FAIL: (\S+).*$(?:\n[ \t]+(\S.*?:\d+: .*))?", re.MULTILINE)
_GO = re.compile(r"^(?:ok  \t|FAIL\t|FAIL$|PASS$|--- (?:PASS|FAIL))", re.MULTILINE)
_GO_PACKAGE = re.compile(r"^(ok  |FAIL)\t(\S++)(?!.*\[no tests to run\])", re.MULTILINE)


def _go(text: str) -> TestRun | None:
    if not (
        _GO.search(text[:_BOUND]) and re.search(r"^(?:ok  \t\S+|FAIL\t\S+|--- (?:PASS|FAIL): )", text, re.MULTILINE)
    ):
        return None
    failing = {match[1]: Failure(match[1], clip(match[2] or "", 200)) for match in _GO_NAME.finditer(text)}
    packages: dict[str, list[str]] = {"ok  ": [], "FAIL": []}
    for word, package in _GO_PACKAGE.findall(text):
        packages[word].append(package)
    return TestRun(
        framework="go test", passed=text.count("--- PASS: "), failed=text.count("--- FAIL: "),
        skipped=text.count("--- SKIP: "), failing=tuple(failing.values()),
        passed_packages=tuple(packages["ok  "]), failed_packages=tuple(packages["FAIL"]),
    )  # fmt: skip


_CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)
_CARGO_NAME = re.compile(r"^test (\S+) \.\.\. FAILED$", re.MULTILINE)
_CARGO_ERROR = re.compile(r"^thread '([^'\n]{1,300})'(.*)\n(.*)$", re.MULTILINE)


def _cargo(text: str) -> TestRun | None:
    results = _CARGO.findall(text)
    if not results:
        return None
    errors: dict[str, str] = {}
    for name, words, after in _CARGO_ERROR.findall(text):
        _, sign, where = words.partition(" panicked at ")
        if sign:
            errors[name] = after if where.endswith(":") else where
    passed, failed, skipped = (sum(int(row[at]) for row in results) for at in range(3))
    failing = tuple(Failure(name, clip(errors.get(name, ""), 200)) for name in dict.fromkeys(_CARGO_NAME.findall(text)))
    return TestRun(framework="cargo test", passed=passed, failed=failed, skipped=skipped, failing=failing)


_TAP_NAME = re.compile(r"^[ \t]*not ok (?:\d+ )?(?:- )?(?!.*# (?:TODO|SKIP))(.+)$", re.MULTILINE)
_MOCHA = re.compile(r"^[ \t]+(\d+) passing\b.*$(?:\n[ \t]+(\d+) pending)?(?:\n[ \t]+(\d+) failing)?", re.MULTILINE)
_MOCHA_NAME = re.compile(r"^[ \t]+\d+\) (.+(?:\n[ \t]{6,}\S.*){0,6}?):\n+[ \t]+(\S.*)$", re.MULTILINE)


def _tap(text: str) -> TestRun | None:
    if summary := _last(_MOCHA, text):
        failing = tuple(
            Failure(clip(name, 200), clip(error, 200)) for name, error in _MOCHA_NAME.findall(text[summary.end() :])
        )
        return TestRun(
            framework="mocha",
            passed=int(summary[1]),
            skipped=int(summary[2] or 0),
            failed=int(summary[3] or 0),
            failing=failing,
        )
    if not re.search(r"^(?:TAP version \d+|1\.\.\d+)$", text, re.MULTILINE):
        return None
    passed, failed = (re.findall(rf"^# {word}\s+(\d+)$", text, re.MULTILINE) for word in ("pass", "fail"))
    bad = [clip(name, 200) for name in _TAP_NAME.findall(text)]
    good = len(re.findall(r"^ok\b", text, re.MULTILINE))
    return TestRun(
        framework="TAP",
        passed=int(passed[-1]) if passed else good,
        failed=int(failed[-1]) if failed else len(bad),
        failing=tuple(Failure(name) for name in dict.fromkeys(bad)),
    )  # fmt: skip


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The last match, looked for near the end first: summaries stand there."""
    found = None
    for match in pattern.finditer(text, max(0, len(text) - 4_000)):
        found = match
    if found is None:
        for match in pattern.finditer(text):
            found = match
    return found


_Reader = Callable[[str], TestRun | None]
_READERS: tuple[tuple[_Reader, tuple[str, ...]], ...] = (
    (_pytest, (" passed", " failed", " error", "no tests ran", " skipped", " deselected")),
    (_unittest, ("Ran ",)),
    (_jest, ("Tests:", "Tests ")),
    (_cargo, ("test result: ",)),
    (_go, ("ok  \t", "FAIL\t", "--- FAIL: ", "--- PASS: ")),
    (_tap, (" passing", "TAP version", "1..")),
    (surefire, ("Tests run: ",)),
    (gradle, (" completed",)),
    (dotnet, ("! - Failed: ", "!  - Failed: ")),
    (rspec, (" examples, ", " example, ")),
    (phpunit, (", Assertions: ", "OK (")),
    (ctest, ("% tests passed",)),
    (googletest, ("[  PASSED  ]", "[  FAILED  ]")),
)


def parse_tests(text: str) -> TestRun | None:
    """Read a test run; None when the text is none. A giant text is read at both ends (a million characters
    each)."""
    if len(text) > 2 * _BOUND:
        text = text[:_BOUND] + "\n" + text[-_BOUND:]
    text = clean_text(text)
    for reader, words in _READERS:
        if any(word in text for word in words) and (run := reader(text)):
            return run
    return None


def say_counts(run: TestRun) -> str:
    """`3 failed, 12 passed`; packages where their tests are not counted."""
    counts = (
        (run.failed, "failed"),
        (run.errors, "errors"),
        (run.passed, "passed"),
        (run.skipped, "skipped"),
    )
    said = [f"{number:,} {word}" for number, word in counts if number]
    if run.failed_packages and not run.failed:
        said.insert(0, f"{plural(len(run.failed_packages), 'package')} failed")
    if run.passed_packages and not run.passed:
        said.append(f"{plural(len(run.passed_packages), 'package')} passed")
    return ", ".join(said) or "no tests ran"


def say(run: TestRun, limit: int = 6) -> str:
    """`3 failed, 12 passed; failing: test_a (AssertionError: …), test_b`."""
    if not run.failing:
        return say_counts(run)
    names = [f"{one.name} ({clip(one.error, 120)})" if one.error else one.name for one in run.failing]
    return f"{say_counts(run)}; failing: {listed(names, limit)}"


def _wanted(body: Body, run: TestRun) -> Iterator[tuple[int, str]]:
    """The summary, then every failing name with its error lines, then both ends."""
    yield from edges(body, 1, 2)
    for failure in run.failing:
        place = _place(body.text, failure.name)
        if place >= 0:
            yield body.at(place)
        if failure.error and (place := body.text.find(failure.error[:80])) >= 0:
            yield body.at(place)
    yield from body.trouble(16).items()
    yield from edges(body, 6, 60)


def _place(text: str, name: str) -> int:
    for form in (
        f"FAILED {name}",
        f"--- FAIL: {name}",
        f"FAIL: {name}",
        f"● {name}",
        f"test {name} ... FAILED",
        name,
    ):
        if (at := text.find(form)) >= 0:
            return at
    return -1


def preview(text: str, budget_tokens: int, count: Count) -> str:
    body, run = Body(text), parse_tests(text)
    wanted: Iterable[tuple[int, str]] = _wanted(body, run) if run else edges(body)
    top = f"{run.framework}: {say_counts(run)}" if run else ""
    return compose(body, wanted, budget_tokens, count, "; ".join(filter(None, [top, coverage.total(text)])))


def outcome(text: str, call: ToolCall | None) -> str:
    run = parse_tests(text)
    return "; ".join(filter(None, [say(run), coverage.total(text)])) if run else ""


_HINT = re.compile(
    r"\d+ (?:passed|failed|skipped|errors?|deselected)\b.* in [\d.]+s|no tests ran in|^Ran \d+ tests? in|"
    r"^[ \t]*Tests:?\s+\d+ \w+|^test result: |^(?:ok  |FAIL)\t|^--- (?:FAIL|PASS): |^[ \t]+\d+ passing\b|"
    r"^TAP version|^1\.\.\d+$|Tests run: \d+, Failures: |^\d+ tests? completed|! +- Failed: +\d+, Passed: "
    r"|^\d+ examples?, \d+ failures?|^OK \(\d+ tests?, |^Tests: \d+, Assertions: |^\d+% tests passed, "
    r"|^\[ {2}(?:PASSED|FAILED) {2}\] ",
    re.MULTILINE,
)


_WORDS = tuple(word for _, words in _READERS for word in words)


def _recognise(text: str, call: ToolCall | None) -> float:
    if call is not None and profile(call).role not in ("runs", "other", "writes"):
        ends = text[-400:]  # a file or a hit list that speaks of tests is no run; a saved log may be one
    else:
        ends = text if len(text) <= 5_000 else f"{text[:2_000]}\n{text[-3_000:]}"
    if not any(map(ends.__contains__, _WORDS)):
        return 0.0
    return 0.95 if _HINT.search(ends) and parse_tests(text) else 0.0


TESTS = Kind("tests", _recognise, outcome, preview)
