"""What long sessions cost under ten price lists: foldmark beside other strategies and an optimum computed afterwards.

    python -m bench.bills [sizes] [sessions] [short] [calls] [--lists A-5m,none] [--factor 1.0]

`sizes` moves numbers only (bench/bill_sizes.py), `sessions` replays every event through the library, `short` cuts the
sessions early and takes single runs, `calls` asks a simulated model for the summaries. Amounts are shares of the bill
for sending everything; an answer's tokens are in all of them. The lists are those of the economics study, section 2.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from statistics import mean

from bench.bill_sessions import Replayed, Story, replay, sized, stories, tau
from bench.bill_sizes import Call, Run, Sent, bill, clearing, fixed, oracle, rent, send_all, sliding
from foldmark import Price

LANDING = 16_000
LISTS = {
    "A-5m": Price(read=0.1, write=1.25, cache_seconds=300),
    "A-1h": Price(read=0.1, write=2.0, cache_seconds=3_600),
    "A-r.05": Price(read=0.05, write=1.25, cache_seconds=300),
    "A-r.025": Price(read=0.025, write=1.25, cache_seconds=300),
    "O-new": Price(read=0.05, write=1.25, cache_seconds=1_800, long_from=272_000, long_input=2.0, long_output=1.5),
    "O-r.1": Price(read=0.1, cache_seconds=600),
    "O-r.25": Price(read=0.25, cache_seconds=600),
    "O-r.5": Price(read=0.5, cache_seconds=600),
    "D-r.02": Price(read=0.02, cache_seconds=86_400),
    "none": Price(read=1.0),
}
"""Output is five times the input everywhere. `none` is a cache that never hits."""
MEASURES = ("sizes", "sessions", "short", "calls")
CUTS = (15, 25, 40, 60, 100, 160, 250)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head), flush=True)
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def share(one: float, whole: float) -> str:
    return f"{one / whole:.0%}"


# -- by sizes alone


def peers(run: Run, price: Price) -> dict[str, Iterable[Sent]]:
    """What others do."""
    return {
        "at 48K to 16K": fixed(run, price, 48_000, LANDING),
        "at 96K to 16K": fixed(run, price, 96_000, LANDING),
        "at 160K to 16K": fixed(run, price, 160_000, LANDING),
        "newest 20 rounds": sliding(run, 20),
        "clear results every turn": clearing(run),
        "clear in epochs at 64K": clearing(run, above=64_000, share=0.25),
    }


def sizes(runs: Sequence[Run], lists: dict[str, Price]) -> None:
    """Mean share of send-all over the sessions, by strategy and list; then the rule beside the optimum, by session."""
    rows: dict[str, list[str]] = {}
    for price in lists.values():
        whole = [bill(run, price, send_all(run)).units for run in runs]
        for name in peers(runs[0], price):
            costs = [bill(run, price, peers(run, price)[name]).units for run in runs]
            rows.setdefault(name, []).append(f"{mean(c / w for c, w in zip(costs, whole, strict=True)):.0%}")
        for name, bills in (
            ("rent rule to 16K", [bill(run, price, rent(run, price, LANDING)) for run in runs]),
            ("optimum to 16K", [oracle(run, price, LANDING) for run in runs]),
        ):
            part = mean(one.units / w for one, w in zip(bills, whole, strict=True))
            rows.setdefault(name, []).append(f"{part:.0%} ({sum(one.compactions for one in bills)})")
    table(["strategy (compactions)", *lists], [[name, *row] for name, row in rows.items()])
    above(runs, lists)


def above(runs: Sequence[Run], lists: dict[str, Price]) -> None:
    """How far the rule is above the optimum, by who writes the summary."""
    rows = []
    for kind in ("code", "fork", "fresh"):
        row = []
        for price in lists.values():
            over = [_over(run, price, kind) for run in runs]
            row.append(f"{mean(over):.3f} ({max(over):.3f})")
        rows.append([kind, *row])
    rows.append(["code, optimum with the same guard", *(_guarded(runs, price) for price in lists.values())])
    table(["rent rule / optimum: mean (worst session)", *lists], rows)


def _over(run: Run, price: Price, kind: Call) -> float:
    return bill(run, price, rent(run, price, LANDING, kind)).units / oracle(run, price, LANDING, kind).units


def _guarded(runs: Sequence[Run], price: Price) -> str:
    over = [
        bill(run, price, rent(run, price, LANDING)).units / oracle(run, price, LANDING, guard=0.25).units
        for run in runs
    ]
    return f"{mean(over):.3f} ({max(over):.3f})"


# -- through the library


def sessions(told: Sequence[Story], lists: dict[str, Price], factor: float = 1.0) -> None:
    """Each session by each list through `Session.request`, beside the optimum over the sizes that it really reached."""
    head = ["share of send-all", "compactions", "epochs", "mean landing", "optimum, same landing", "foldmark / optimum"]
    head += ["/ optimum that waits for a quarter too", "rent rule by sizes / optimum"]
    for story in told:
        whole = sized(story)
        rows = [[name, *_line(replay(story, price, factor=factor), price, whole)] for name, price in lists.items()]
        table([story.name, *head], rows)


def _line(made: Replayed, price: Price, raw: Run) -> list[str]:
    landing = round(mean(made.landings)) if made.landings else LANDING
    whole, mine = bill(raw, price, send_all(raw)).units, bill(made.stored, price, made.sent)
    best, late = oracle(made.stored, price, landing), oracle(made.stored, price, landing, guard=0.25)
    ruled = bill(made.stored, price, rent(made.stored, price, landing))
    return [
        share(mine.units, whole),
        str(mine.compactions),
        str(made.epochs),
        f"{landing:,}",
        f"{share(best.units, whole)} ({best.compactions})",
        f"{mine.units / best.units:.3f}",
        f"{mine.units / late.units:.3f}",
        f"{ruled.units / best.units:.3f} ({ruled.compactions})",
    ]


# -- short sessions


def short(told: Sequence[Story], lists: dict[str, Price]) -> None:
    """Sessions that end early: the long ones cut, pieces of sub-agent length out of their middle, single runs. Worst
    cases are about one session; a mean is over all of a row's."""
    runs = [sized(story) for story in told]
    single = [sized(story) for story in tau()]
    pieces = [run.piece(at, many) for run in runs for many in (25, 40, 53) for at in range(0, len(run.asks) - many, 25)]
    groups = {"single tau-bench runs": single, "pieces of 25, 40, 53 requests": pieces}
    groups |= {f"cut at {many}": [run.cut(many) for run in runs] for many in CUTS}
    rows = []
    for name, group in groups.items():
        row = [_beside(group, price) for price in lists.values()]
        rows.append([f"{name} ({len(group)})", *row])
    table(["rent rule / send-all, mean (worst)", *lists], rows)
    rows = []
    for story in told:
        row = []
        for price in lists.values():
            made = replay(story._replace(events=story.events[:260]), price)
            row.append(_worst(made, price))
        rows.append([story.name, *row])
    table(["foldmark / send-all at its worst end within 100 requests (at request)", *lists], rows)


def _beside(group: Sequence[Run], price: Price) -> str:
    over = [bill(run, price, rent(run, price, LANDING)).units / bill(run, price, send_all(run)).units for run in group]
    return f"{mean(over):.3f} ({max(over):.2f})"


def _worst(made: Replayed, price: Price) -> str:
    """The dearest moment to end a session, against sending everything (its log as stored, so previews do not count)."""
    over = []
    for many in range(1, min(100, len(made.sent)) + 1):
        run = made.stored.cut(many)
        over.append((bill(run, price, made.sent[:many]).units / bill(run, price, send_all(run)).units, many))
    worst, many = max(over)
    return f"{worst:.2f} ({many})"


# -- summaries by a model


def calls(told: Sequence[Story], lists: dict[str, Price]) -> None:
    """The library with a simulated model that writes 1,500 tokens of summary, asked on the cached prefix or apart."""
    for kind in ("fork", "fresh"):
        rows = []
        for name, price in lists.items():
            row = []
            for story in told:
                made = replay(story, price, kind=kind)
                whole = bill(sized(story), price, send_all(sized(story))).units
                mine = bill(made.stored, price, made.sent)
                best = oracle(made.stored, price, round(mean(made.landings or (LANDING,))), kind, told=made.told)
                part = share(mine.units, whole)
                row.append(f"{part}, {mine.units / best.units:.3f} ({mine.compactions} / {best.compactions})")
            rows.append([name, *row])
        head = [f"{kind}: share of send-all, foldmark / optimum (compactions of both)", *(one.name for one in told)]
        table(head, rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measures", nargs="*", metavar="measure", help=", ".join(MEASURES))
    parser.add_argument("--lists", default="", help="names of price lists, with commas between")
    parser.add_argument(
        "--factor", type=float, default=1.0, help="tokens the provider counts for one of ours (sessions)"
    )
    given = parser.parse_args()
    if wrong := set(given.measures) - set(MEASURES):
        parser.error(f"there is no measure {', '.join(sorted(wrong))}; choose from {', '.join(MEASURES)}")
    lists = {name: LISTS[name] for name in (given.lists.split(",") if given.lists else LISTS)}
    told = stories()
    for measure in given.measures or MEASURES:
        if measure == "sizes":
            sizes([sized(story) for story in told], lists)
        elif measure == "sessions":
            sessions(told, lists, given.factor)
        else:
            {"short": short, "calls": calls}[measure](told, lists)


if __name__ == "__main__":
    main()
