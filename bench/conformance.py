"""What of planted facts survives five rounds at 10, 20 and 30% of the size: `python -m bench.conformance`.

The corpora and probes are compaction-conformance-kit's (extra `conformance`), unchanged: its scripted session ("main")
and its randomized ones. A row is one compactor. The budget is in characters of the whole text; an asterisk says that
some round passed it. The kit's own compactors have rules written for its corpora.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.conformance_ours import Foldmark, WholeRequest
from bench.conformance_peers import kit_own, peers

BUDGETS = (0.10, 0.20, 0.30)
ROUNDS = 5
KIT_SEEDS = (1, 2, 3, 4)
"""The seeds of the kit's own published table."""
MORE_SEEDS = tuple(range(5, 17))
"""Twelve sessions that nobody has published a number for."""

Factory = Callable[[], Any]
Run = Callable[[Any, Any, Any, float], Any]


class Score(NamedTuple):
    """`survival` of planted facts after the last round, 0 to 1; `fits` in every round; `size` as share of the whole."""

    survival: float
    fits: bool
    size: float
    lost: tuple[str, ...] = ()


def score(runs: Iterable[Any]) -> Score:
    """One score of several kit runs."""
    survived, fits, sizes, lost = [], True, [], []
    for run in runs:
        last = run.rounds[-1]
        survived += list(last.survived.values())
        fits = fits and all(one.within_budget for one in run.rounds)
        sizes.append(last.output_chars / run.rounds[0].input_chars)
        lost += [name for name, held in last.survived.items() if not held]
    return Score(sum(survived) / len(survived), fits, statistics.mean(sizes), tuple(lost))


def corpora() -> Mapping[str, Sequence[tuple[Any, Any]]]:
    """name -> (session, planted facts) pairs."""
    import compaction_kit as kit

    return {
        "main": [(kit.build_seeded_session(), kit.seeded_canaries())],
        "randomized": [kit.build_random_session(seed) for seed in KIT_SEEDS],
        "randomized, more": [kit.build_random_session(seed) for seed in MORE_SEEDS],
    }


def rows(
    factories: Mapping[str, Factory], budgets: Sequence[float] = BUDGETS
) -> Iterator[tuple[str, dict[str, Score]]]:
    """(compactor, score by "corpus budget"), one compactor after the other."""
    from compaction_kit import run_conformance

    held = corpora()
    for name, make in factories.items():
        found: dict[str, Score] = {}
        for corpus, sessions in held.items():
            for budget in budgets:
                found[f"{corpus} {budget:.0%}"] = score(
                    run_conformance(session, make(), rounds=ROUNDS, canaries=facts, budget_fraction=budget)
                    for session, facts in sessions
                )
        yield name, found


def resolved(factories: Mapping[str, Factory], budgets: Sequence[float] = BUDGETS) -> dict[str, list[float]]:
    """Share of paraphrased updates whose old value is gone and whose new one is there (the semantic corpora)."""
    from compaction_kit import run_budget_benchmark

    made = run_budget_benchmark(factories, budgets=budgets, seeds=KIT_SEEDS, rounds=ROUNDS)
    out: dict[str, list[float]] = {name: [] for name in factories}
    for budget in budgets:
        for entry in made["entries"]:
            if entry["budget_fraction"] == budget:
                out[entry["compactor"]].append(entry["semantic"]["resolved_rate"])
    return out


def state_of_the_code() -> str:
    """A hash of foldmark's sources and of the adapter: what a number belongs to."""
    import foldmark

    total = hashlib.sha256()
    root = Path(foldmark.__file__).parent
    for path in [*sorted(root.rglob("*.py")), Path(__file__).with_name("conformance_ours.py")]:
        total.update(path.name.encode() + path.read_bytes())
    return total.hexdigest()[:16]


def best(scores: Sequence[dict[str, Score]]) -> dict[str, Score]:
    """The best fitting survival of every column."""
    columns = scores[0]
    return {key: max((one[key] for one in scores if one[key].fits), key=lambda s: s.survival) for key in columns}


def line(name: str, scores: Mapping[str, Score]) -> str:
    cells = (f"{one.survival:.0%}{'' if one.fits else '*'}" for one in scores.values())
    return f"| {name} | " + " | ".join(cells) + " |"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.conformance", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="rows whose name contains one of these words")
    parser.add_argument("--json", help="also write scores and the ids of lost facts here")
    parser.add_argument("--semantic", action="store_true", help="also the kit's paraphrased updates")
    options = parser.parse_args(argv)
    own = kit_own()
    ours: dict[str, Factory] = {one.name: one for one in (Foldmark, WholeRequest)}
    factories = {**ours, **peers(say=lambda text: print(text, file=sys.stderr)), **own}
    factories = {
        name: make for name, make in factories.items() if not options.only or any(w in name for w in options.only)
    }
    started = time.perf_counter()
    done: dict[str, dict[str, Score]] = {}
    print(f"code {state_of_the_code()}, {ROUNDS} rounds; survival after the last round")
    for name, scores in rows(factories):
        if not done:
            print("| compactor | " + " | ".join(scores) + " |\n|---|" + "---|" * len(scores))
        done[name] = scores
        print(line(name, scores), flush=True)
    if held := [done[name] for name in own if name in done]:
        print(line("**the kit's best**", best(held)))
    if options.semantic:
        for name, shares in resolved(factories).items():
            print(f"resolved updates, {name}: " + " / ".join(f"{share:.0%}" for share in shares))
    if options.json:
        plain = {name: {key: one._asdict() for key, one in scores.items()} for name, scores in done.items()}
        Path(options.json).write_text(json.dumps(plain, indent=1), encoding="utf-8")
    print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
