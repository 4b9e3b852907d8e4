"""Which tests a command line asks for, and whether one line asks for all that another asked for. Knows nothing of what
a run printed.

Only what is known counts: a line of an unknown runner, an option of an unknown meaning, a pattern that is no plain word
cover nothing but themselves.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable
from typing import NamedTuple


class Asked(NamedTuple):
    """What one test command asks for. `runner` is everything that has to be the same; no `targets` are all tests;
    `filters` keep tests by name; `options` say something else of what runs, and `narrow` are those of them that can
    only leave tests out."""

    runner: str
    targets: tuple[str, ...]
    filters: frozenset[str]
    options: frozenset[str]
    narrow: frozenset[str]


class _Runner(NamedTuple):
    """How a family of runners reads its words: options that filter by name, that narrow otherwise, that only say how a
    run is told, and those of all that take the next word as their value."""

    head: re.Pattern[str]
    filters: frozenset[str]
    narrows: frozenset[str]
    tells: frozenset[str]
    valued: frozenset[str]
    has_targets: bool


def _runner(head: str, filters: str, narrows: str, tells: str, valued: str, *, has_targets: bool = True) -> _Runner:
    by_name, narrowing, telling, own = (frozenset(text.split()) for text in (filters, narrows, tells, valued))
    pattern = re.compile(rf"{_BEFORE}{head}(?=\s|$)")
    return _Runner(pattern, by_name, narrowing, telling, own | by_name, has_targets)


_BEFORE = r"(?:\w+=\S+ |(?:uv|poetry|pipenv|hatch|pdm|rye) run |npx |yarn |pnpm |bundle exec )*"
_TELLS = "-q -v -s --quiet --verbose --silent --color -h -i --info --"
_RUNNERS = (
    _runner(
        r"(?:\S*python[\d.]* -m |\S*/)?(?:pytest|py\.test)", "-k",
        "--deselect --ignore --ignore-glob --lf --last-failed --sw --stepwise",
        f"{_TELLS} -qq -vv -vvv -x -l -n --tb --no-header --no-summary --durations --maxfail --showlocals -ra -rA -rf",
        "-m -n -p -c -o -W --tb --deselect --ignore --ignore-glob --durations --maxfail --color",
    ),
    _runner(
        r"\S*python[\d.]* (?:-m unittest(?: discover)?|\S*manage\.py test)", "-k", "", "-q -v -b -f", "-s -p -t",
    ),
    _runner(
        "go test", "-run --run -test.run", "-short -skip", f"{_TELLS} -count -timeout -failfast -cover -json -p",
        "-count -timeout -p -skip -tags -C",
    ),
    _runner("cargo (?:test|nextest run)", "", "", f"{_TELLS} --nocapture --no-fail-fast --show-output", "-p --package"),
    _runner(
        r"\S*(?:jest|vitest(?: run)?|mocha|rspec|phpunit)", "-t --testNamePattern --grep -g --filter", "",
        f"{_TELLS} --coverage --no-coverage --runInBand --ci --watchAll --reporter", "-c --config --project --reporter",
    ),
    _runner(
        r"(?:npm|pnpm|yarn|bun) (?:test|t|run \S+)", "-t --testNamePattern --grep", "",
        f"{_TELLS} --coverage --no-coverage --runInBand --ci --watchAll", "-w --workspace --prefix -c --config",
    ),
    _runner(
        r"(?:\S*mvnw?|\S*gradlew?|dotnet|\S*ctest)", "-Dtest --tests --filter -R", "-pl --projects",
        f"{_TELLS} -B -o -e --offline --no-daemon --console --output-on-failure -V", "-pl --projects -R -E -L -C -f -p",
        has_targets=False,
    ),
)  # fmt: skip
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_HARD = re.compile(r"[|<>`\n]|\$\(")
_SAYS = re.compile(r"\s*(?:;|&&|\|\|)\s*echo\b[^;&|]*$")  # `; echo "exit: $?"` says how the run before it ended
_WAITS = re.compile(r"^(?:timeout (?:-\S+ )*\S+ |time )")
_WHOLE = ("-Dtest", "--tests")  # filters that name a whole class: `Cart` is not `CartTest`
_WORD = re.compile(r"\w[\w:.-]*")


def asked(line: str) -> Asked | None:
    """What a command line asks for; None when it is not known."""
    line = _SAYS.sub("", line)
    if _HARD.search(_QUOTED.sub("", line)):
        return None
    cut = max((match.end() for match in re.finditer(r"(?:&&|;)\s*", line)), default=0)
    last = _WAITS.sub("", line[cut:])
    for runner in _RUNNERS:
        if found := runner.head.match(last):
            return _read(runner, f"{line[:cut]}{found[0]}", last[found.end() :])
    return None


def _read(runner: _Runner, head: str, rest: str) -> Asked | None:
    try:
        words = iter(shlex.split(rest))
    except ValueError:
        return None
    plain, filters, options, narrow = [], [], [], []
    for word in words:
        name, sign, value = word.partition("=")
        if not word.startswith("-"):
            plain.append(word)
            continue
        if name in runner.valued and not sign:
            value = next(words, "")
        kept = f"{name}={value}"
        if name in runner.filters:
            filters.append(kept)
        elif name not in runner.tells:
            options.append(kept)
            narrow += [kept] if name in runner.narrows else []
    targets = tuple(posixpath.normpath(word.rstrip("/") or "/") for word in plain) if runner.has_targets else ()
    runner_line = head if runner.has_targets else " ".join([head, *plain])
    kept_targets = () if "." in targets else targets
    return Asked(runner_line, kept_targets, frozenset(filters), frozenset(options), frozenset(narrow))


def is_under(thing: str, targets: Iterable[str]) -> bool:
    """Whether a test, file or folder is one of these, or inside one."""
    return any(thing == target or thing.startswith(tuple(f"{target}{sign}" for sign in "/:[")) for target in targets)


def holds_options(wide: Asked, narrow: Asked) -> bool:
    """Whether the first line runs, by its options, at least what the second one runs."""
    return wide.options <= narrow.options and narrow.options - wide.options <= narrow.narrow


def holds_names(wide: Asked, narrow: Asked, names: Iterable[str]) -> bool:
    """Whether the filters of the first line let everything through that the second's did, or all of these names."""
    told = list(names)
    return all(one in narrow.filters or (told and _lets_through(one, told)) for one in wide.filters)


def _lets_through(kept: str, names: list[str]) -> bool:
    """Whether a filter is made of plain words, one of which stands in every name: `-run '^TestA$|^TestB$'`."""
    option, _, value = kept.partition("=")
    words = value.split("|")
    if not all(_WORD.fullmatch(word.removeprefix("^").removesuffix("$")) for word in words):
        return False
    is_named = _is_part if option in _WHOLE else _is_named
    return all(any(is_named(word, name) for word in words) for name in names)


def _is_part(word: str, name: str) -> bool:
    return word in re.split(r"[\s.>#]+", name)


def _is_named(word: str, name: str) -> bool:
    bare = word.removeprefix("^").removesuffix("$")
    starts, ends = word.startswith("^"), word.endswith("$")
    top = name.partition("/")[0] if starts or ends else name
    return bare in top and (not starts or top.startswith(bare)) and (not ends or top.endswith(bare))
