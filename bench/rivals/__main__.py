"""Runs the fault cases against foldmark and its rivals and prints a Markdown table: `python -m bench.rivals [ids]`.

Rows are cases, columns methods; a cell is `ok`, `broken: reason`, `crash: exception`, or `n/a` where a method cannot be
asked. No network, no model: summarisers are fakes that return a short text.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

# Peers that would look something up at import are told not to, before they are imported.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HEADROOM_TELEMETRY", "off")

from bench.rivals.asking import Case, Crash, NotAsked
from bench.rivals.cases import CASES
from bench.rivals.method import Rival
from bench.rivals.peers import rivals

OK, NONE, MISSING = "ok", "n/a", "not installed"
REASON_LENGTH = 80


def cell(case: Case, rival: Rival | str) -> str:
    if isinstance(rival, str):
        return MISSING
    able = rival.can | ({"pointers"} if rival.pointer else frozenset())
    if not case.needs <= able:
        return NONE
    try:
        broken = case.play(rival)
    except NotAsked:
        return NONE
    except Crash as crash:
        return f"crash: {type(crash.cause).__name__}"
    return f"broken: {broken[0][:REASON_LENGTH]}" if broken else OK


def held(cells: Sequence[str]) -> str:
    tried = [one for one in cells if one not in (NONE, MISSING)]
    return f"**{tried.count(OK)} of {len(tried)}**"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.rivals", description=__doc__)
    parser.add_argument("cases", nargs="*", help="ids of cases, default all")
    parser.add_argument("--only", nargs="*", help="names of methods, default all")
    parser.add_argument("--times", action="store_true", help="say on stderr how long each case took")
    options = parser.parse_args()
    methods = [one for one in rivals() if not options.only or name_of(one) in options.only]
    cases = [case for case in CASES if not options.cases or case.id in options.cases]
    columns: list[list[str]] = [[] for _ in methods]
    print("| case | what must hold | " + " | ".join(map(name_of, methods)) + " |")
    print("|---|---|" + "---|" * len(methods))
    for case in cases:
        for column, method in zip(columns, methods, strict=True):
            began = time.perf_counter()
            column.append(cell(case, method))
            if options.times and (took := time.perf_counter() - began) > 0.5:
                print(f"{case.id} {name_of(method)}: {took:.1f} s", file=sys.stderr)
        row = [case.id, case.promise, *(column[-1].replace("|", "/") for column in columns)]
        print("| " + " | ".join(row) + " |", flush=True)
    print("| | held of tried | " + " | ".join(map(held, columns)) + " |")


def name_of(rival: Rival | str) -> str:
    return rival if isinstance(rival, str) else rival.name


if __name__ == "__main__":
    main()
