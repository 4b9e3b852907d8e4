"""How a test, a file's tests or a command ended by code's own facts, and whether a statement says otherwise. Knows
nothing of evidence.

Code's word wins: it has read the run. A statement of the past is left alone unless the very run that it names says the
opposite; one on the present is held against the newest run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from foldmark.checkpoint import Fact, Item
from foldmark.story.polarity import Clause, clause, clauses, ends_now, is_present

State = Mapping[tuple[str, str], Fact]

_PRESENT = ("current_work", "next_steps")
_CODE = re.compile(r"`([^`\n]{3,240})`")
_PATH = re.compile(r"(?a:(?<![\w./-])[\w./-]*\w\.[A-Za-z]\w{0,5}(?:::[\w\[\].-]*\w\]?)*)")
_TEST = re.compile(r"(?a:(?<![\w.])(?:[Tt]est_\w+|\w+_test|test[A-Z]\w+|Test[A-Z]\w+)(?![\w/.]))")
_SOME = re.compile(
    r"(?<!\ball )\b(?:\d+|one|two|three|some|most|several|others?|the rest|half)\s(?:\w+\s){0,3}?"
    r"(?:pass|fail|succe|work)",
    re.IGNORECASE,
)
"""A count: what it says of a file holds for a part of it."""
_TESTS = re.compile(r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|test)\b")
"""A command that runs tests: where it failed, not all of the files that it names passed."""
_FILE = re.compile(r"[\w./-]+\.[A-Za-z]\w{0,5}$")


def against_a_verdict(item: Item, state: State) -> str:
    """Why a statement is dropped that says passed of what failed, or failed of what passed; "" when it does not."""
    for told in (one for whole in clauses(item.text) for one in _single(whole)):
        if not ends_now(told) or _SOME.search(_CODE.sub(" ", told.text)):
            continue
        for name in _names(told):
            fact = _verdict(name, state, told.outcome)
            if fact and (fact.seq in item.refs or (item.field in _PRESENT and is_present(told))):
                seen = "fail" if told.outcome == "passed" else "pass"
                return f"says that {name} {told.outcome}, and code saw it {seen} (event:{fact.seq})"
    return ""


def _single(whole: Clause) -> Iterator[Clause]:
    """A clause, or its parts where it tells of several ends: `test_a passed, test_b failed`."""
    if whole.outcome:
        yield whole
        return
    for part in re.split(r",\s", whole.text):
        told = clause(part)
        yield from [told] if told.outcome else map(clause, re.split(r"\s(?:and|or)\s", part))


def _names(told: Clause) -> Iterator[str]:
    """The tests, files and commands that a clause names."""
    yield from (match[1] for match in _CODE.finditer(told.text))
    for pattern in (_PATH, _TEST):
        yield from (match[0].removeprefix("./") for match in pattern.finditer(told.text))


def _verdict(name: str, state: State, said: str) -> Fact | None:
    """The newest fact that says the opposite of `said` of a test, file or command; None when there is none, or a newer
    one may say otherwise."""
    failed, passed = _ends(name, state, "failed"), _ends(name, state, "passed")
    if said == "passed":
        return failed if failed and not _later_pass(failed, state) and not _is_newer(passed, failed) else None
    return passed if passed and not _is_newer(failed, passed) else None


def _is_newer(one: Fact | None, other: Fact) -> bool:
    return one is not None and one.seq > other.seq


def _ends(name: str, state: State, status: str) -> Fact | None:
    """The newest run of a status that tells of this name."""
    tells = _failing if status == "failed" else _passing
    return max((fact for fact in _runs(state) if tells(fact, name)), key=lambda fact: fact.seq, default=None)


def _runs(state: State) -> Iterator[Fact]:
    """Runs of tests, and commands that were to do something: one that only looks has no verdict."""
    for (kind, _), fact in state.items():
        if kind == "verification" or (kind == "command" and not fact.meta.get("looks")):
            yield fact


def _failing(fact: Fact, name: str) -> bool:
    """Whether a run says that this failed: a failing test of that name or in that file, or the command itself."""
    if fact.status != "failed":
        return False
    if fact.kind == "command":
        named = [*fact.meta.get("error", "").split(), *(fact.key.split() if _TESTS.search(fact.key) else ())]
        return fact.key == name or any(_is_part(name, word) for word in named)
    return fact.key == name or any(_is_part(name, test) for test in fact.meta.get("failing", "").split("\n"))


def _passing(fact: Fact, name: str) -> bool:
    """Whether a run says that this passed: its command line names it, and nothing failed."""
    if fact.status not in ("passed", "ok"):
        return False
    if fact.kind == "command":
        return fact.key == name
    return fact.key == name or any(_is_part(name, word) for word in fact.key.split())


def _is_part(name: str, test: str) -> bool:
    """Whether a name is a test's id, its function, or the file it stands in."""
    parts = [part for part in re.split(r"::|\[.*", test.strip("'\"")) if part]
    if not parts:
        return False
    if _FILE.search(name):
        return any(part == name or part.endswith(f"/{name}") for part in parts)
    wanted = [part for part in name.split("::") if part]
    return bool(wanted) and wanted == parts[-len(wanted) :]


def _later_pass(failed: Fact, state: State) -> bool:
    """Whether a green run came later that may have held the same tests, or the error is noted as fixed."""
    error = state.get(("error", failed.key))
    if error and error.status == "fixed" and error.seq > failed.seq:
        return True
    return any(
        fact.kind == "verification" and fact.status == "passed" and fact.seq > failed.seq for fact in _runs(state)
    )
