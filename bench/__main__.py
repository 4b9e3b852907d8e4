"""Runs the measures and prints Markdown tables: `python -m bench [names] [planted] [generated] [speed] [--seeds N]`."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from bench import generated, names, peers, planting, speed
from bench.histories import History, load
from bench.methods import Grown, Method, foldmark, parts, payload
from bench.pairs import pair_errors
from bench.sizes import message_text, size

Message = dict[str, Any]
SIZES = (0.20, 0.10)
MEASURES = ("planted", "names", "generated", "speed")


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f}" if whole else "-"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def text_of(request: Sequence[Message]) -> str:
    return "\n".join(map(message_text, request))


# -- planted facts


def planted(histories: Sequence[History], seeds: Sequence[int], others: Sequence[Method]) -> None:
    """Facts and decisions kept, by history and size, foldmark and peers."""
    for part in SIZES:
        rows = []
        methods: list[Method | None] = [None, *others]
        for method in methods:
            facts, decided, row, errors = Counter[str](), Counter[str](), [], 0
            for history in histories:
                tried = method or foldmark(history.preset)
                got, landed = _planted_one(history, seeds, tried, part)
                errors += got["errors"]
                facts.update({"all": got["facts"], "kept": got["facts kept"]})
                decided.update({"all": got["decisions"], "kept": got["decisions kept"]})
                marks = f"{share(got['facts kept'], got['facts'])} / {share(got['decisions kept'], got['decisions'])}"
                row.append(f"{marks} ({landed:.1%})")
            pooled = f"{share(facts['kept'], facts['all'])} / {share(decided['kept'], decided['all'])}"
            rows.append([method.name if method else "**foldmark**", *row, pooled, str(errors)])
        title = f"planted facts / decisions kept, %, at {part:.0%} (size reached)"
        table([title, *(h.name for h in histories), "pooled", "pair errors"], rows)


def _planted_one(history: History, seeds: Sequence[int], method: Method, part: float) -> tuple[Counter[str], float]:
    got: Counter[str] = Counter()
    sizes = []
    for seed in seeds:
        messages, items = planting.plant(history.messages, seed)
        whole = size(messages)
        request = method.compact(messages, [], int(whole * part))
        sizes.append(size(request) / whole)
        got["errors"] += len(pair_errors(list(request)))
        for item, is_kept in zip(items, planting.kept(items, request), strict=True):
            kind = "decisions" if item.form == "decision" else "facts"
            got[kind] += 1
            got[f"{kind} kept"] += is_kept
    return got, sum(sizes) / len(sizes)


def forms(histories: Sequence[History], seeds: Sequence[int]) -> None:
    """foldmark by form of fact, all histories together."""
    found: dict[str, Counter[str]] = {}
    for part in SIZES:
        for history in histories:
            for seed in seeds:
                messages, items = planting.plant(history.messages, seed)
                request = foldmark(history.preset).compact(messages, [], int(size(messages) * part))
                for item, is_kept in zip(items, planting.kept(items, request), strict=True):
                    for key in (item.form, f"({item.place})"):
                        found.setdefault(key, Counter()).update({f"all {part}": 1, f"kept {part}": is_kept})
    rows = [[key, *(share(n[f"kept {part}"], n[f"all {part}"]) for part in SIZES)] for key, n in sorted(found.items())]
    table(["foldmark by form and place, % kept", *(f"{part:.0%}" for part in SIZES)], rows)


# -- names


def names_in_context(histories: Sequence[History], others: Sequence[Method]) -> None:
    """Names used next: in context, the split by part of the request, old ones, and with one search."""
    questions = {history.name: names.ask(history.messages) for history in histories}
    for part in SIZES:
        rows, pooled = [], Counter[str]()
        for history in histories:
            got = _names_foldmark(history, questions[history.name], part)
            pooled.update(got)
            rows.append(_names_row(f"foldmark, {history.name}{' (tuned)' if history.tuned else ''}", got))
        rows.append(_names_row("**foldmark, pooled**", pooled))
        for method in others:
            got = Counter[str]()
            for history in histories:
                got.update(_names_other(history, questions[history.name], method, part))
            rows.append(_names_row(f"{method.name}, pooled", got))
        head = [f"names used next, %, at {part:.0%}", "asked", "in context", "mean of cuts", "by tail", "by checkpoint"]
        table([*head, "only in the list", "old: asked", "in context", "in text", "text or search"], rows)


def _names_row(name: str, got: Counter[str]) -> list[str]:
    asked, old = got["asked"], got["old"]
    cells = [str(asked), share(got["context"], asked), share(got["cut shares"], 10_000 * got["cuts"])]
    cells += [share(got[key], asked) for key in ("tail", "checkpoint", "list")]
    return [name, *cells, str(old), *(share(got[key], old) for key in ("old context", "old text", "old search"))]


def _count(cut: names.Cut, request: Sequence[Message], search: Callable[[str, str], bool]) -> Counter[str]:
    got: Counter[str] = Counter()
    text, by_part = text_of(request), parts(request)
    lowered = text.lower()
    for question in cut.questions:
        in_context = names.in_context(question, text, lowered)
        in_text = in_context or names.in_text(question, text)
        got["asked"] += 1
        got["context"] += in_context
        by_tail = in_context and names.in_context(question, by_part["tail"])
        got["tail"] += by_tail
        got["checkpoint"] += in_context and not by_tail
        got["list"] += in_text and not in_context and names.in_text(question, by_part["names"])
        if question.old:
            got["old"] += 1
            got["old context"] += in_context
            got["old text"] += in_text
            got["old search"] += in_text or search(question.name, question.used_in)
    if cut.questions:
        got["cuts"] += 1
        got["cut shares"] += round(10_000 * got["context"] / len(cut.questions))
    return got


def _names_foldmark(history: History, cuts: Sequence[names.Cut], part: float) -> Counter[str]:
    got: Counter[str] = Counter()
    grown = Grown(history.messages, history.preset)
    for cut in cuts:
        session = grown.at(cut.at, int(size(history.messages[: cut.at]) * part))

        def search(name: str, used_in: str, session: Any = session) -> bool:
            hits = session.search(used_in.replace(name, " ")[:2_000], limit=5)
            return any(name in hit.snippet for hit in hits)

        got.update(_count(cut, payload(session), search))
    return got


def _names_other(history: History, cuts: Sequence[names.Cut], method: Method, part: float) -> Counter[str]:
    got: Counter[str] = Counter()
    for cut in cuts:
        past = history.messages[: cut.at]
        request = method.compact(past, [], int(size(past) * part))
        got.update(_count(cut, request, lambda name, used_in: False))
    return got


# -- generated


def generated_history(seeds: Sequence[int], others: Sequence[Method]) -> None:
    """Rules, decisions and facts of the made-up history."""
    kinds = ("rule", "decision", "fact")
    for part in SIZES:
        rows = []
        for method in (foldmark("coding"), *others):
            got: Counter[str] = Counter()
            landed = []
            for seed in seeds:
                made = generated.generate(seed)
                whole = size(made.messages)
                request = method.compact(made.messages, [], int(whole * part))
                landed.append(size(request) / whole)
                for item, is_kept in zip(made.planted, planting.kept(made.planted, request), strict=True):
                    kind = item.form.split()[0]
                    got.update({kind: 1, f"{kind} kept": is_kept})
            cells = [f"{got[f'{kind} kept']} of {got[kind]}" for kind in kinds]
            rows.append([method.name, f"{sum(landed) / len(landed):.1%}", *cells])
        table([f"generated, at {part:.0%}", "size reached", "rules", "decisions", "tool facts"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("measures", nargs="*", choices=[*MEASURES, []], help="default: all")
    parser.add_argument("--seeds", type=int, nargs="*", default=[101, 102], help="seeds of what is planted")
    parser.add_argument("--histories", nargs="*", help="names of histories, default all four")
    parser.add_argument("--no-peers", action="store_true", help="foldmark alone")
    options = parser.parse_args()
    wanted = options.measures or MEASURES
    others = [] if options.no_peers else peers.installed()
    targeted = [method for method in others if method.has_target]
    histories = load(options.histories) if {"planted", "names"} & set(wanted) else []
    if "planted" in wanted:
        planted(histories, options.seeds, others)
        forms(histories, options.seeds)
    if "names" in wanted:
        names_in_context(histories, targeted)
    if "generated" in wanted:
        generated_history(options.seeds, targeted)
    if "speed" in wanted:
        table(["speed", "measured", "aim"], speed.run())


if __name__ == "__main__":
    main()
