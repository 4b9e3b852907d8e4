"""Test runs of Java (surefire, gradle), .NET, Ruby (rspec), PHP (phpunit) and C++ (ctest, googletest). Knows nothing
of previews; the other frameworks and the kind itself are in `tests`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from foldmark.kinds.base import clip
from foldmark.kinds.testrun import Failure, TestRun


def _failing(found: Iterable[tuple[str, str]]) -> tuple[Failure, ...]:
    """Each failing test once, with its first error."""
    errors: dict[str, str] = {}
    for name, error in found:
        errors[name] = errors.get(name) or error
    return tuple(Failure(clip(name, 200), clip(error, 200)) for name, error in errors.items())


_SUREFIRE = re.compile(
    r"^(?:\[\w+\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)[ \t]*$", re.MULTILINE
)
_SUREFIRE_NAME = re.compile(
    r"^(?:\[ERROR\] )?([^\s:]+)(?: --)? +Time elapsed: .*<<< (?:FAILURE|ERROR)!.*\n(.*)$", re.MULTILINE
)


def surefire(text: str) -> TestRun | None:
    """Maven: the totals of every module, which alone have no time behind them."""
    rows = [tuple(map(int, row)) for row in _SUREFIRE.findall(text)]
    if not rows:
        return None
    total, failed, errors, skipped = (sum(row[at] for row in rows) for at in range(4))
    return TestRun(
        framework="surefire",
        passed=max(0, total - failed - errors - skipped),
        failed=failed,
        errors=errors,
        skipped=skipped,
        failing=_failing(_SUREFIRE_NAME.findall(text)),
    )


_GRADLE = re.compile(r"^(\d+) tests? completed(?:, (\d+) failed)?(?:, (\d+) skipped)?$", re.MULTILINE)
_GRADLE_NAME = re.compile(r"^(\S[^\n>]{0,300} > \S.{0,300}) FAILED\n[ \t]+(.*)$", re.MULTILINE)


def gradle(text: str) -> TestRun | None:
    rows = [tuple(int(number or 0) for number in row) for row in _GRADLE.findall(text)]
    if not rows:
        return None
    total, failed, skipped = (sum(row[at] for row in rows) for at in range(3))
    failing = _failing(_GRADLE_NAME.findall(text))
    return TestRun(
        framework="gradle", passed=max(0, total - failed - skipped), failed=failed, skipped=skipped, failing=failing
    )


_DOTNET = re.compile(r"^(?:Passed|Failed)! +- Failed: +(\d+), Passed: +(\d+), Skipped: +(\d+), Total:", re.MULTILINE)
_DOTNET_NAME = re.compile(r"^ +Failed (\S+)(?: \[[^\]\n]{0,40}\])?$(?:\n +Error Message:\n +(.*)$)?", re.MULTILINE)


def dotnet(text: str) -> TestRun | None:
    rows = [tuple(map(int, row)) for row in _DOTNET.findall(text)]
    if not rows:
        return None
    failed, passed, skipped = (sum(row[at] for row in rows) for at in range(3))
    failing = _failing(_DOTNET_NAME.findall(text))
    return TestRun(framework="dotnet test", passed=passed, failed=failed, skipped=skipped, failing=failing)


_RSPEC = re.compile(
    r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred outside of examples)?$",
    re.MULTILINE,
)
_RSPEC_NAME = re.compile(r"^rspec (\./\S+)(?: # .*)?$", re.MULTILINE)


def rspec(text: str) -> TestRun | None:
    rows = _RSPEC.findall(text)
    if not rows:
        return None
    total, failed, skipped, errors = (int(number or 0) for number in rows[-1])
    failing = _failing((name, "") for name in _RSPEC_NAME.findall(text))
    passed = max(0, total - failed - skipped)
    return TestRun(framework="rspec", passed=passed, failed=failed, errors=errors, skipped=skipped, failing=failing)


_PHPUNIT_OK = re.compile(r"^OK \((\d+) tests?, \d+ assertions?\)$", re.MULTILINE)
_PHPUNIT = re.compile(r"^Tests: (\d+), Assertions: \d+(.*)\.$", re.MULTILINE)
_PHPUNIT_NAME = re.compile(r"^\d+\) (\S+::\S.*)\n(.*)$", re.MULTILINE)


def phpunit(text: str) -> TestRun | None:
    if good := _PHPUNIT_OK.findall(text):
        return TestRun(framework="phpunit", passed=int(good[-1]))
    rows = _PHPUNIT.findall(text)
    if not rows:
        return None
    counts = {word: int(number) for word, number in re.findall(r"(\w+): (\d+)", rows[-1][1])}
    failed, errors = counts.get("Failures", 0), counts.get("Errors", 0)
    skipped = counts.get("Skipped", 0) + counts.get("Incomplete", 0)
    return TestRun(
        framework="phpunit",
        passed=max(0, int(rows[-1][0]) - failed - errors - skipped),
        failed=failed,
        errors=errors,
        skipped=skipped,
        failing=_failing(_PHPUNIT_NAME.findall(text)) if failed or errors else (),
    )


_CTEST = re.compile(r"^\d+% tests passed, (\d+) tests? failed out of (\d+)$", re.MULTILINE)
_CTEST_NAME = re.compile(r"^[ \t]+\d+ - (\S+) \((\w[^()\n]{0,60})\)", re.MULTILINE)


def ctest(text: str) -> TestRun | None:
    rows = _CTEST.findall(text)
    if not rows:
        return None
    failed, total = map(int, rows[-1])
    failing = _failing(_CTEST_NAME.findall(text)) if failed else ()
    return TestRun(framework="ctest", passed=total - failed, failed=failed, failing=failing)


_GOOGLE = re.compile(r"^\[ {2}(PASSED|FAILED|SKIPPED) {1,2}\] (\d+) tests?[.,]", re.MULTILINE)
_GOOGLE_NAME = re.compile(r"^\[ {2}FAILED {2}\] (\S+\.\S+?),? *(?:\(\d+ ms\))?$", re.MULTILINE)


def googletest(text: str) -> TestRun | None:
    counts: dict[str, int] = {}
    for word, number in _GOOGLE.findall(text):
        counts[word] = counts.get(word, 0) + int(number)
    if not counts:
        return None
    return TestRun(
        framework="googletest",
        passed=counts.get("PASSED", 0),
        failed=counts.get("FAILED", 0),
        skipped=counts.get("SKIPPED", 0),
        failing=_failing((name, "") for name in _GOOGLE_NAME.findall(text)),
    )
