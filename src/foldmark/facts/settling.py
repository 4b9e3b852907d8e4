"""Whether a run that went well is proof that what failed before passes now. Knows nothing of the ledger or of events.

A false "fixed" sends an agent on past a red test, a false "open" costs one more run: in doubt nothing is proven. The
failure is read from the small details of its error, which the newest run of a command cannot overwrite.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from foldmark.facts.asking import Asked, asked, holds_names, holds_options, is_under
from foldmark.kinds.passing import names_passed
from foldmark.kinds.testrun import TestRun

MOST_FAILING = 20
_TOLD_BY_PLACE = ("pytest", "unittest")  # their names hold the file or the module; others' may stand in several


def details(run: TestRun | None) -> dict[str, str]:
    """What an error keeps of the run that failed."""
    if run is None:
        return {}
    return {
        "framework": run.framework,
        "failing": "\n".join(failure.name for failure in run.failing[:MOST_FAILING]),
        "failed": str(run.failed + run.errors),
        "passed": str(run.passed),
        "unproven": str(run.skipped + run.expected + run.deselected),
        "packages": "\n".join(run.failed_packages),
    }


def is_same_place(one: str, other: str) -> bool:
    """Whether two commands ran in one folder, as far as they say: a whole path may be where the other stood already."""
    return one == other or (not (one and other) and posixpath.isabs(one or other))


def passes_again(failed: Mapping[str, str], run: TestRun | None, is_filtered: bool) -> bool:
    """Whether the same command going well shows that it works: it ran what failed, and skipped no more than before."""
    if run is None:
        return not (failed.get("framework") and is_filtered)
    if not (run.passed or run.passed_packages):
        return False
    is_wary = run.skipped + run.expected + run.deselected > _number(failed, "unproven")
    return not (is_wary and failed.get("framework")) or run.passed >= _total(failed)


def proves(failed: Mapping[str, str], before: str, line: str, run: TestRun, text: str) -> bool:
    """Whether a green run of another command ran what failed: `before` and `line` are the two commands, in one place
    for all frameworks but Go, whose packages have names of their own."""
    if failed.get("framework") != run.framework:
        return False
    old, new = asked(before), asked(line)
    names = _names(failed)
    if old and new and run.framework == "go test":
        return _proves_packages(failed, old, new, names, run)
    if not (old or new) or (old and new and old.runner != new.runner):
        return False  # `make test-one` and `make test-two`, two databases, two interpreters
    is_like = bool(old and new and old.options == new.options)
    if names and (is_like or run.framework in _TOLD_BY_PLACE) and names <= names_passed(text):
        return True
    return bool(old and new and _covers(failed, old, new, names, run))


def _proves_packages(failed: Mapping[str, str], old: Asked, new: Asked, names: set[str], run: TestRun) -> bool:
    packages = set(filter(None, failed.get("packages", "").split("\n")))
    if not packages or not packages <= set(run.passed_packages):
        return False
    return holds_options(new, old) and holds_names(new, old, names) and run.skipped <= _number(failed, "unproven")


def _covers(failed: Mapping[str, str], old: Asked, new: Asked, names: set[str], run: TestRun) -> bool:
    """Whether the new line asks for what failed, and its counts do not speak against it."""
    if not holds_options(new, old) or not holds_names(new, old, names):
        return False
    is_wider = new.filters <= old.filters and (
        not new.targets or (bool(old.targets) and all(is_under(one, new.targets) for one in old.targets))
    )
    has_files = bool(names) and run.framework == "pytest"
    is_aimed = not new.targets or set(old.targets) == set(new.targets) or (
        has_files and all(is_under(name, new.targets) for name in names)
    )  # fmt: skip
    if not (is_wider or (names and is_aimed)):
        return False
    unproven = run.skipped + run.expected + (0 if new.filters else run.deselected)
    needed = _total(failed) if is_wider else max(1, len(names))
    return run.passed >= needed and unproven <= _number(failed, "unproven")


def _names(failed: Mapping[str, str]) -> set[str]:
    """The tests that failed; none when not all of them are known."""
    names = set(filter(None, failed.get("failing", "").split("\n")))
    return names if len(names) >= _number(failed, "failed") else set()


def _total(failed: Mapping[str, str]) -> int:
    return _number(failed, "passed") + _number(failed, "failed")


def _number(failed: Mapping[str, str], name: str) -> int:
    return int(failed.get(name) or 0)
