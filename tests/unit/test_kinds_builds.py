"""Builds, packages, git, coverage, profiles, databases: verdicts, names and numbers are those of the body."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark import kinds
from foldmark.events import ToolCall
from foldmark.kinds.blame import parse_blame
from foldmark.kinds.coverage import parse_coverage
from foldmark.kinds.git import parse_log, parse_status
from foldmark.kinds.packages import Package, packages
from foldmark.kinds.timings import parse_timings
from foldmark.tokens import count
from truth import top_of, untruths


def shell(command: str) -> ToolCall:
    return ToolCall("c", "bash", json.dumps({"command": command}))


def numbered(text: str) -> list[tuple[int, str]]:
    return list(enumerate(text.split("\n"), 1))


GCC = """pay.c: In function 'refund':
pay.c:12:20: warning: implicit declaration of function 'log_it' [-Wimplicit-function-declaration]
   12 |   log_it(amount);
      |   ^~~~~~
pay.c:31:9: error: 'total' undeclared (first use in this function)
   31 |   return total;
      |          ^~~~~
pay.c:31:9: note: each undeclared identifier is reported only once for each function it appears in
make: *** [Makefile:4: pay.o] Error 1
"""
CARGO = """   Compiling shop v0.1.0 (/work/shop)
warning: unused variable: `rate`
 --> src/price.rs:4:9
  |
4 |     let rate = 1;
  |         ^^^^ help: prefix it with an underscore

error[E0308]: mismatched types
  --> src/main.rs:17:21
   |
17 |     let sum: u32 = "a";
   |                    ^^^ expected `u32`, found `&str`

error: could not compile `shop` (bin "shop") due to 1 previous error; 1 warning emitted
"""
TSC = """src/cart.ts(14,7): error TS2322: Type 'string' is not assignable to type 'number'.
src/cart.ts(20,3): error TS2304: Cannot find name 'total'.

Found 2 errors in the same file, starting at: src/cart.ts:14
"""
WEBPACK = """asset main.js 1.2 MiB [emitted] (name: main)

ERROR in ./src/cart.js 3:0-27
Module not found: Error: Can't resolve './missing' in '/work/shop/src'

webpack 5.90.0 compiled with 1 error in 812 ms
"""
VITE = """vite v5.1.0 building for production...
✓ 34 modules transformed.
dist/index.html   0.46 kB
✓ built in 1.02s
"""
MAVEN = """[INFO] Scanning for projects...
[INFO] Building shop 1.0
[ERROR] /work/shop/src/main/java/Cart.java:[17,9] cannot find symbol
[ERROR] /work/shop/src/main/java/Cart.java:[23,4] ';' expected
[INFO] BUILD FAILURE
[INFO] Total time:  3.2 s
[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin:3.11:compile on project shop
"""
GRADLE = """> Task :compileKotlin FAILED
e: file:///work/shop/src/Cart.kt:9:5 Unresolved reference: total

FAILURE: Build failed with an exception.

* What went wrong:
Execution failed for task ':compileKotlin'.

BUILD FAILED in 2s
3 actionable tasks: 1 executed, 2 up-to-date
"""
CMAKE = """-- The C compiler identification is GNU 12.2.0
CMake Error at CMakeLists.txt:3 (find_package):
  Could not find a package configuration file provided by "Ledger" with any of
  the following names:

-- Configuring incomplete, errors occurred!
"""
DOCKER = """#7 [3/4] RUN pip install -r requirements.txt
#7 0.412 ERROR: Could not open requirements file
#7 ERROR: process "/bin/sh -c pip install -r requirements.txt" did not complete successfully: exit code: 1
------
Dockerfile:3
--------------------
ERROR: failed to solve: process "/bin/sh -c pip install -r requirements.txt" did not complete successfully
"""
GO_BUILD = """# example.com/shop
./main.go:9:2: undefined: total
./main.go:12:5: declared and not used: rate
"""
DOTNET = """Cart.cs(9,13): error CS0103: The name 'total' does not exist in the current context [/work/Shop.csproj]
Cart.cs(4,7): warning CS0168: The variable 'rate' is declared but never used [/work/Shop.csproj]

Build FAILED.
    1 Warning(s)
    1 Error(s)

Time Elapsed 00:00:02.11
"""
ESLINT = """/work/shop/src/cart.js
   3:7   error    'total' is not defined  no-undef
  12:1   warning  Unexpected console statement  no-console

✖ 2 problems (1 error, 1 warning)
"""
MYPY = """src/cart.py:14: error: Incompatible return value type (got "str", expected "int")  [return-value]
src/cart.py:20: note: See the docs
Found 1 error in 1 file (checked 12 source files)
"""


@pytest.mark.parametrize(
    ("text", "command", "said"),
    [
        (
            GCC,
            "make",
            ("make: *** [Makefile:4: pay.o] Error 1", "2 error lines", "1 warning line", "pay.c:31:9: error"),
        ),
        (CARGO, "cargo build", ("due to 1 previous error; 1 warning emitted", "error[E0308]: mismatched types")),
        (TSC, "npx tsc", ("Found 2 errors", "2 error lines", "src/cart.ts(14,7): error TS2322")),
        (WEBPACK, "npm run build", ("compiled with 1 error in 812 ms", "ERROR in ./src/cart.js 3:0-27")),
        (VITE, "npm run build", ("✓ built in 1.02s",)),
        (MAVEN, "mvn -q compile", ("BUILD FAILURE", "Total time:  3.2 s", "Cart.java:[17,9] cannot find symbol")),
        (GRADLE, "./gradlew build", ("BUILD FAILED in 2s", "3 actionable tasks", "> Task :compileKotlin FAILED")),
        (CMAKE, "cmake .", ("Configuring incomplete", "CMake Error at CMakeLists.txt:3 (find_package):")),
        (DOCKER, "docker build .", ("ERROR: failed to solve", "3 error lines")),
        (GO_BUILD, "go build ./...", ("2 error lines", "./main.go:9:2: undefined: total")),
        (DOTNET, "dotnet build", ("1 Error(s)", "1 error line", "1 warning line", "error CS0103")),
        (ESLINT, "npx eslint .", ("✖ 2 problems (1 error, 1 warning)", "1 error line", "1 warning line")),
        (MYPY, "mypy src", ("Found 1 error in 1 file", "src/cart.py:14: error")),
    ],
    ids=lambda value: value.split()[0] if isinstance(value, str) and "\n" not in value else "",
)
def test_a_build_tells_its_verdict_its_counts_and_its_first_error(
    text: str, command: str, said: tuple[str, ...]
) -> None:
    assert kinds.recognise(text, shell(command)).name == "build"
    told = kinds.outcome(text, shell(command))
    for words in said:
        assert " ".join(words.split()) in told


@pytest.mark.parametrize("text", [GCC, CARGO, TSC, WEBPACK, MAVEN, GRADLE, CMAKE, DOCKER, DOTNET, ESLINT, MYPY])
def test_a_build_is_known_without_its_command(text: str) -> None:
    assert kinds.recognise(text, None).name == "build"


@pytest.mark.parametrize(
    "text", ["pay.c:31:9: total = 3\npay.c:32:9: total = 4\n", "error handling is fun\n" * 9, "built\n"]
)
def test_what_only_speaks_of_errors_is_no_build(text: str) -> None:
    assert kinds.recognise(text, None).name != "build"


def test_the_error_of_a_long_build_is_shown_with_the_place_that_stands_below_it() -> None:
    text = "".join(f"   Compiling part_{n} v0.1.{n}\n" for n in range(300)) + CARGO
    shown = kinds.preview(text, shell("cargo build"), 200, count)
    assert "error[E0308]: mismatched types\n  --> src/main.rs:17:21" in shown
    assert "error: could not compile `shop`" in shown
    assert untruths(text, shown) == []


def test_a_repeated_error_is_shown_once_and_counted() -> None:
    text = (
        "pay.c:31:9: error: 'total' undeclared\n" * 200
        + "cart.c:7:1: error: expected ';'\n"
        + "make: *** [all] Error 2\n"
    )
    shown = kinds.preview(text, shell("make"), 200, count)
    assert top_of(text, shown) == "build: 202 error lines (3 different)"
    assert "cart.c:7:1: error: expected ';'" in shown
    assert shown.count("pay.c:31:9") <= 2


PIP = """Collecting requests
  Downloading requests-2.31.0-py3-none-any.whl (62 kB)
Requirement already satisfied: idna in ./v/lib (3.7)
Installing collected packages: urllib3, requests
ERROR: pip's dependency resolver does not currently take into account all the packages that are installed.
botocore 1.29.0 requires urllib3<1.27,>=1.25.4, but you have urllib3 2.0.0 which is incompatible.
Successfully installed requests-2.31.0 urllib3-2.0.0 zope.interface-5.0
"""
NPM = """npm warn deprecated inflight@1.0.6: This module is not supported
npm warn deprecated glob@7.2.3: Glob versions prior to v9 are no longer supported

added 120 packages, and audited 121 packages in 3s

3 vulnerabilities (1 low, 2 high)
"""
NPM_ERROR = """npm error code ERESOLVE
npm error ERESOLVE unable to resolve dependency tree
npm error Found: react@18.2.0
"""
UV = """Resolved 3 packages in 10ms
Installed 2 packages in 4ms
 + idna==3.7
 - urllib3==1.26.0
 + urllib3==2.0.0
"""
APT = """Reading package lists...
0 upgraded, 2 newly installed, 0 to remove and 102 not upgraded.
Setting up libledger4:amd64 (7.88.1-10+deb12u15) ...
Setting up ledger (7.88.1-10) ...
"""
APT_ERROR = "Reading package lists...\nBuilding dependency tree...\nE: Unable to locate package nosuch\n"
YARN = "warning shop > old@1.0.0: no longer maintained\nsuccess Saved 3 new dependencies.\nDone in 3.20s.\n"
PNPM = "Packages: +12 -3\n\ndependencies:\n+ express 4.18.2\n\nDone in 1.2s\n"
GO_GET = "go: added example.com/a v1.2.3\ngo: upgraded example.com/b v1.0.0 => v1.1.0\n"


@pytest.mark.parametrize(
    ("text", "command", "said"),
    [
        (
            PIP,
            "pip install requests",
            ("installed 3 packages: requests 2.31.0, urllib3 2.0.0, zope.interface 5.0", "which is incompatible."),
        ),
        (NPM, "npm ci", ("added 120 packages, and audited 121 packages in 3s", "3 vulnerabilities (1 low, 2 high)")),
        (NPM_ERROR, "npm install", ("3 error lines", "npm error code ERESOLVE")),
        (UV, "uv sync", ("added 2 packages: idna 3.7, urllib3 2.0.0", "removed 1 package: urllib3 1.26.0")),
        (
            APT,
            "apt-get install -y ledger",
            ("2 newly installed", "installed 2 packages: libledger4 7.88.1-10+deb12u15, ledger"),
        ),
        (APT_ERROR, "apt-get install nosuch", ("E: Unable to locate package nosuch",)),
        (YARN, "yarn add x", ("success Saved 3 new dependencies.", "1 warning line")),
        (PNPM, "pnpm add express", ("Packages: +12 -3", "added 1 package: express 4.18.2")),
        (
            GO_GET,
            "go get ./...",
            ("added 1 package: example.com/a v1.2.3", "updated 1 package: example.com/b v1.0.0 => v1.1.0"),
        ),
    ],
)
def test_a_package_manager_tells_what_changed_and_what_is_wrong(text: str, command: str, said: tuple[str, ...]) -> None:
    assert kinds.recognise(text, shell(command)).name == "packages"
    told = kinds.outcome(text, shell(command))
    for words in said:
        assert words in told


def test_a_package_name_with_dashes_keeps_its_version_apart() -> None:
    assert packages("Successfully installed a-b-c-1.0.post1") == [Package("installed", "a-b-c", "1.0.post1")]
    assert packages(" + @types/node 20.1.0") == [Package("added", "@types/node", "20.1.0")]
    assert packages("Successfully installed nothing") == []


LONG_STATUS = """On branch refunds
Your branch is ahead of 'origin/refunds' by 2 commits.
  (use "git push" to publish your local commits)

Changes to be committed:
  (use "git restore --staged <file>..." to unstage)
\tnew file:   pay/refund.py
\trenamed:    pay/old.py -> pay/new.py

Changes not staged for commit:
\tmodified:   pay/total.py

Unmerged paths:
\tboth modified:   pay/rate.py

Untracked files:
  (use "git add <file>..." to include in what will be committed)
"""
SHORT_STATUS = (
    "## refunds...origin/refunds [ahead 1, behind 2]\n M pay/total.py\nMM pay/both.py\nUU pay/rate.py\n?? notes/\n"
)


def test_a_long_status_tells_branch_and_paths_by_state() -> None:
    text = LONG_STATUS + "".join(f"\tgen/out_{n}.txt\n" for n in range(300))
    assert kinds.recognise(text).name == "git status"
    said = kinds.outcome(text)
    assert said.startswith(
        "on refunds, Your branch is ahead of 'origin/refunds' by 2 commits.; 2 staged: pay/refund.py"
    )
    assert "pay/old.py -> pay/new.py; 1 changed: pay/total.py; 1 unmerged: pay/rate.py; 300 untracked: " in said
    shown = kinds.preview(text, None, 200, count)
    assert top_of(text, shown) == "git status: 2 staged, 1 changed, 1 unmerged, 300 untracked"
    assert "pay/rate.py" in shown
    assert "pay/total.py" in shown
    assert untruths(text, shown) == []


def test_a_short_status_is_read_letter_by_letter() -> None:
    status = parse_status(numbered(SHORT_STATUS.rstrip("\n")))
    assert (status.branch, status.tracking) == ("refunds", "[ahead 1, behind 2]")
    assert [(state, path) for state, path, _ in status.paths] == [
        ("changed", "pay/total.py"),
        ("staged", "pay/both.py"),
        ("changed", "pay/both.py"),
        ("unmerged", "pay/rate.py"),
        ("untracked", "notes/"),
    ]


def test_a_clean_tree_says_so() -> None:
    text = "On branch main\nnothing to commit, working tree clean\n"
    assert kinds.outcome(text) == "on main; nothing to commit, working tree clean"


def history(number: int) -> str:
    return "\n".join(
        f"commit {n:040x}\nAuthor: {('Ann', 'Bob')[n % 3 == 0]} <x@example.com>\n"
        f"Date:   Mon May {n % 28 + 1} 10:00:00 2026 +0000\n"
        f"\n    Change number {n}\n\n    More words on it.\n"
        for n in range(number)
    )


def test_a_history_tells_how_many_commits_by_whom_and_when() -> None:
    text = history(40)
    assert kinds.recognise(text).name == "git log"
    said = kinds.outcome(text)
    assert said.startswith(
        "40 commits, 000000000000 to 000000000000; by Ann (26), Bob (14); from Mon May 12 10:00:00 2026"
    )
    shown = kinds.preview(text, shell("git log"), 300, count)
    assert "    Change number 0" in shown
    assert "    Change number 39" in shown
    assert untruths(text, shown) == []


def test_a_history_of_one_line_each_keeps_hash_and_subject_together() -> None:
    text = "\n".join(f"* {n + 4096:07x} (tag: v{n}) Change number {n}" for n in range(90))
    commits = parse_log(numbered(text))
    assert (len(commits), commits[3].hash, commits[3].subject) == (90, "0001003", "Change number 3")
    assert kinds.recognise(text, shell("git log --oneline --graph")).name == "git log"
    assert untruths(text, kinds.preview(text, shell("git log --oneline"), 150, count)) == []


def test_a_shown_commit_is_a_diff_that_names_its_commit() -> None:
    text = history(1) + "\ndiff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,1 +1,1 @@\n-old\n+new\n"
    assert kinds.recognise(text).name == "diff"
    assert kinds.outcome(text) == "commit 000000000000 Change number 0; 1 file, +1 -1: x.py (+1 -1)"


def test_a_blame_tells_authors_by_line() -> None:
    lines = [
        f"{'^' * (n < 2)}{n % 2:08x} (Ann {'B' * (n % 2)} 2026-05-0{n + 1} 10:00:00 +0000 {n + 7}) x = ({n})"
        for n in range(6)
    ]
    text = "\n".join(lines)
    assert kinds.recognise(text).name == "git blame"
    assert kinds.outcome(text) == (
        "blame of lines 7-12: 2 commits, 2026-05-01 to 2026-05-06, by Ann (3 lines), Ann B (3 lines)"
    )
    assert parse_blame("x = (1)") is None


COVERAGE_PY = """Name                 Stmts   Miss Branch BrPart  Cover   Missing
----------------------------------------------------------------
src/a.py               100     88     10      2    12%   3-40, 50-98
src/b.py                10      1      0      0    90%   7
src/c.py                20      0      0      0   100%
----------------------------------------------------------------
TOTAL                  130     89     10      2    31%
"""
ISTANBUL = """----------|---------|----------|---------|---------|-------------------
File      | % Stmts | % Branch | % Funcs | % Lines | Uncovered Line #s
----------|---------|----------|---------|---------|-------------------
All files |   71.43 |       50 |     100 |   71.43 |
  a.js    |   60.00 |       50 |     100 |   60.00 | 3-4,9
  b.js    |     100 |      100 |     100 |     100 |
----------|---------|----------|---------|---------|-------------------
"""
GO_COVER = (
    "example.com/x/a.go:12:\tNew\t\t85.7%\nexample.com/x/a.go:20:\tRun\t\t0.0%\ntotal:\t\t\t(statements)\t42.9%\n"
)
LCOV = "Summary coverage rate:\n  lines......: 85.3% (1234 of 1446 lines)\n  functions..: 90.0% (9 of 10 functions)\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (COVERAGE_PY, "coverage 31% in total; 3 rows, 2 below 100%; lowest: src/a.py 12%, src/b.py 90%"),
        (ISTANBUL, "coverage 71.43% in total; 2 rows, 1 below 100%; lowest: a.js 60.00%"),
        (
            GO_COVER,
            "coverage 42.9% in total; 2 rows, 2 below 100%; "
            "lowest: example.com/x/a.go:20 Run 0.0%, example.com/x/a.go:12 New 85.7%",
        ),
        (LCOV, "coverage 85.3% in total"),
    ],
)
def test_a_coverage_report_tells_its_total_and_its_worst_rows(text: str, said: str) -> None:
    assert kinds.recognise(text).name == "coverage"
    assert kinds.outcome(text) == said


def test_the_worst_files_are_shown_whole_with_their_missing_lines() -> None:
    rows = "".join(f"src/m{n:<3}               10      1      0      0    90%   {n}\n" for n in range(200))
    text = COVERAGE_PY.replace("src/b.py ", rows + "src/b.py ")
    shown = kinds.preview(text, None, 150, count)
    assert top_of(text, shown) == "coverage 31% in total; 203 rows, 202 below 100%"
    assert "src/a.py               100     88     10      2    12%   3-40, 50-98" in shown
    assert "TOTAL                  130     89     10      2    31%" in shown
    assert untruths(text, shown) == []


def test_a_test_run_with_coverage_tells_both() -> None:
    text = f"tests/test_a.py ..      [100%]\n\n{COVERAGE_PY}\n============ 2 passed in 0.12s ============\n"
    assert kinds.recognise(text).name == "tests"
    assert kinds.outcome(text) == "2 passed; coverage 31% in total"


CPROFILE = """         197 function calls (192 primitive calls) in 0.002 seconds

   Ordered by: internal time

   ncalls  tottime  percall  cumtime  percall filename:lineno(function)
        1    0.001    0.001    0.002    0.002 pay.py:9(total)
      5/1    0.000    0.000    0.001    0.001 pay.py:20(rate)
"""
PPROF = """Duration: 2.8s, Total samples = 2.5s (89.29%)
Showing nodes accounting for 2.25s, 90.00% of 2.5s total
      flat  flat%   sum%        cum   cum%
     1.20s 48.00% 48.00%      1.90s 76.00%  shop.Total
     1.05s 42.00% 90.00%      1.05s 42.00%  runtime.memmove
"""
PERF = """# Samples: 812  of event 'cpu-clock'
# Overhead  Command  Shared Object  Symbol
# ........  .......  .............  ......
    61.20%  shop     shop           [.] total
    12.01%  shop     libc.so.6      [.] memcpy
"""
PY_SPY = """Total Samples 1000
GIL: 80.00%, Active: 90.00%, Threads: 2
  %Own   %Total  OwnTime  TotalTime  Function (filename)
 40.00%  90.00%    4.00s     9.00s   total (pay.py)
 10.00%  10.00%    1.00s     1.00s   rate (pay.py)
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            CPROFILE,
            "profile by cProfile: 197 function calls (192 primitive calls) in 0.002 seconds; 2 rows; top: 1 0.001",
        ),
        (PPROF, "profile by pprof: Duration: 2.8s, Total samples = 2.5s (89.29%); 2 rows; top: 1.20s 48.00%"),
        (PERF, "profile by perf: # Samples: 812 of event 'cpu-clock'; 2 rows; top: 61.20% shop shop [.] total"),
        (PY_SPY, "profile by py-spy: Total Samples 1000; 2 rows; top: 40.00% 90.00% 4.00s 9.00s total (pay.py)"),
    ],
)
def test_a_profile_tells_its_total_and_its_top_rows(text: str, said: str) -> None:
    assert kinds.recognise(text).name == "profile"
    assert kinds.outcome(text).startswith(said)
    assert parse_timings(numbered(text)) is not None


def test_folded_stacks_are_summed_and_the_largest_come_first() -> None:
    text = "".join(f"main;run;load_{n} {n}\n" for n in range(1, 201))
    assert kinds.recognise(text).name == "profile"
    assert kinds.outcome(text).startswith(
        "profile by folded stacks: 20,100 samples in 200 stacks; 200 rows; top: main;run;load_200 200"
    )
    shown = kinds.preview(text, None, 120, count)
    assert "main;run;load_200 200" in shown
    assert untruths(text, shown) == []


PSQL = """BEGIN
ERROR:  relation "refunds" does not exist
LINE 1: select * from refunds;
                      ^
HINT:  Did you mean "refund"?
"""


@pytest.mark.parametrize(
    ("text", "command", "said"),
    [
        (
            PSQL,
            "psql -f x.sql",
            '1 error line; ERROR: relation "refunds" does not exist; '
            'LINE 1: select * from refunds; | HINT: Did you mean "refund"?',
        ),
        (
            "ERROR 1146 (42S02) at line 3: Table 'shop.refunds' doesn't exist\n",
            "mysql shop < x.sql",
            "1 error line; ERROR 1146 (42S02) at line 3",
        ),
        (
            "Error: in prepare, no such table: refunds\n  select * from refunds;\n",
            "sqlite3 a.db x",
            "1 error line; Error: in prepare, no such table",
        ),
        (
            "Parse error near line 1: no such column: total\n  select total\n",
            "sqlite3 a.db x",
            "1 error line; Parse error near line 1",
        ),
        (
            "Msg 208, Level 16, State 1, Server s, Line 1\nInvalid object name 'refunds'.\n",
            "sqlcmd -Q x",
            "1 error line; Msg 208",
        ),
    ],
)
def test_a_database_error_tells_where_and_its_hint(text: str, command: str, said: str) -> None:
    assert kinds.recognise(text, shell(command)).name == "sql error"
    assert kinds.outcome(text, shell(command)).startswith(said)


WORD = st.sampled_from(("total", "rate", "refund", "ledger", "cart"))
NUMBER = st.integers(1, 99_999)
PLAIN = st.builds(lambda word, n: f"  working on {word} {n}", WORD, NUMBER)
LINES = {
    "make": {
        "error": st.builds(lambda w, n: f"src/{w}.c:{n}:3: error: '{w}' undeclared", WORD, NUMBER),
        "warning": st.builds(lambda w, n: f"src/{w}.c:{n}:3: warning: unused '{w}'", WORD, NUMBER),
    },
    "pip install x": {
        "error": st.builds(lambda w, n: f"ERROR: No matching distribution found for {w}=={n}", WORD, NUMBER),
        "warning": st.builds(lambda w, n: f"WARNING: {w} {n} is yanked", WORD, NUMBER),
    },
}


@given(st.data(), st.sampled_from(sorted(LINES)), st.integers(40, 300))
def test_counts_of_error_and_warning_lines_are_those_of_the_body(
    data: st.DataObject, command: str, budget: int
) -> None:
    errors = data.draw(st.lists(LINES[command]["error"], min_size=1, max_size=12))
    warnings = data.draw(st.lists(LINES[command]["warning"], max_size=12))
    plain = data.draw(st.lists(PLAIN, min_size=20, max_size=80))
    lines = data.draw(st.permutations([*errors, *warnings, *plain]))
    text = "\n".join(lines)
    shown = kinds.preview(text, shell(command), budget, count)
    assert untruths(text, shown) == []
    for said in (kinds.outcome(text, shell(command)), top_of(text, shown)):
        for word, made in (("error", errors), ("warning", warnings)):
            if found := re.search(rf"(\d+) {word} lines?(?: \((\d+) different\))?", said):
                assert int(found[1]) == len(made)
                assert int(found[2] or found[1]) == len(set(made))
    if budget >= 120:
        assert any(line in shown for line in errors)


@given(
    st.lists(st.tuples(st.sampled_from(("staged", "changed", "untracked")), NUMBER), min_size=1, max_size=200),
    st.integers(40, 200),
)
def test_counts_of_paths_are_those_of_the_status(made: list[tuple[str, int]], budget: int) -> None:
    codes = {"staged": "A ", "changed": " M", "untracked": "??"}
    text = "## main\n" + "\n".join(f"{codes[state]} src/file_{n}.py" for state, n in made)
    shown = kinds.preview(text, shell("git status -sb"), budget, count)
    assert untruths(text, shown) == []
    for said in (kinds.outcome(text, shell("git status -sb")), top_of(text, shown)):
        for state in codes:
            if found := re.search(rf"([\d,]+) {state}\b", said):
                assert int(found[1].replace(",", "")) == sum(one == state for one, _ in made)


@given(st.lists(st.tuples(WORD, NUMBER, st.integers(0, 100)), min_size=3, max_size=150), st.integers(40, 200))
def test_the_lowest_rows_of_a_coverage_report_are_the_lowest(made: list[tuple[str, int, int]], budget: int) -> None:
    rows = [f"src/{word}_{n}.py     100     {100 - share}    {share}%" for word, n, share in made]
    text = "\n".join(["Name    Stmts   Miss  Cover", "------", *rows, "------", "TOTAL   900  90  90%"])
    report = parse_coverage(numbered(text))
    assert report is not None
    assert [(row.name, row.share) for row in report.rows] == [(f"src/{w}_{n}.py", f"{s}%") for w, n, s in made]
    said = kinds.outcome(text)
    assert f"{len(made)} row" in said
    assert f"{sum(share < 100 for *_, share in made)} below 100%" in said
    assert untruths(text, kinds.preview(text, None, budget, count)) == []


HOSTILE = {
    "dots": "## " + "." * 200_000,
    "blanks": ("src/a" + " " * 900 + "x\n") * 2_000,
    "digits": "1" * 300_000,
    "percents": "1% " * 100_000,
    "dashes": ("Successfully installed " + "-1" * 900 + " x\n") * 500,
    "pipes": "File | % Stmts |\n" + "a| " * 100_000,
    "brackets": ("FAILED " + "[" * 2_000 + " x\n") * 100 + "1 failed in 1s\n",
    "threads": "thread 'a' panicked at " * 30_000 + "\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n",
    "colons": ("a:" * 900 + "\n") * 2_000,
    "at signs": (" + " + "@1" * 900 + " \n") * 1_000,
    "stars": "*|/_ " * 50_000,
    "dates": ("1a2b3c4 (" + "( 2026-01-01 " * 80 + "\n") * 1_000,
    "stacks": ("a;" * 900 + " 1 1\n") * 1_000,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("command", ["make", "pip install x", "git status", "git log", "pytest --cov", "psql -f x"])
def test_hostile_text_is_previewed_all_the_same(name: str, command: str) -> None:
    text = HOSTILE[name]
    for kind in kinds.KINDS:
        kind.recognise(text, shell(command))
    shown = kinds.preview(text, shell(command), 100, count)
    assert count(shown) <= 100
    assert "\n" not in kinds.outcome(text, shell(command))
