"""Every real transcript: read, recorded, compacted, written on every wire. Time beside file size, and what was refused.

    python -m bench.files

Sessions over 3,000 tokens are compacted to 30% of what they cost. `read` is the importer alone, `record` everything
that happens as events come in (SQLite on disk), `compact` the checkpoint and the request. Pairs are checked on the
payload of chat completions by the independent checker; ids that the file itself uses twice are the provider's own.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.histories import DATA
from bench.pairs import pair_errors
from foldmark import Policy, Session, SQLiteStore
from foldmark.importers import Imported, read
from foldmark.importing import bring_in
from foldmark.wire import WIRES, tools_of_calls

SMALLEST = 3_000
SHARE = 0.3


def children(imported: Imported) -> Iterator[Imported]:
    for child in imported.children:
        yield child.imported
        yield from children(child.imported)


def row_of(path: Path) -> str:
    data = path.read_bytes()
    started = time.process_time()
    found = read(data, name=path.name)
    reading = time.process_time() - started
    everything = [*found, *(child for imported in found for child in children(imported))]
    events = [event for imported in everything for event in imported.events]
    recording = compacting = 0.0
    landings, compacted, refused, pairs = [], 0, Counter[str](), 0
    with TemporaryDirectory() as folder:
        store = SQLiteStore(Path(folder) / "a.db")
        for imported in found:
            started = time.process_time()
            session, _ = bring_in(imported, store, Policy.coding(window=1_000_000))
            recording += time.process_time() - started
            size = session.peek().tokens.total
            target = int(size * SHARE)
            if size >= SMALLEST and target > session.peek().tokens.static + 700:
                policy = Policy.coding(window=1_000_000, budget={"target_tokens": target})
                session = Session(session.name, store=store, policy=policy)
                started = time.process_time()
                compacted += session.compact(force=True).outcome == "applied"
                made = session.request()
                compacting += time.process_time() - started
                landings.append(made.tokens.total / target)
            tools = session.tools or tools_of_calls(session.store.log(session.key))
            for wire in WIRES:
                payload = session.request(wire=wire, tools=tools).payload()
                refused.update({wire.NAME: len(wire.validate(payload))})
                if wire.NAME == "openai-chat":
                    errors = pair_errors([m for m in payload["messages"] if m["role"] != "system"])
                    pairs += sum("used twice" not in error for error in errors)
        store.close()
    calls, results = sum(len(event.calls) for event in events), sum(event.result is not None for event in events)
    landed = f"{median(landings):.0%}" if landings else "-"
    return (
        f"| {path.parent.name}/{path.name[:24]} | {found[0].format} | {len(data) / 1e6:.2f} | {len(everything)} "
        f"| {len(events):,} | {calls:,} / {results:,} | {reading:.2f} | {recording:.2f} | {compacting:.2f} "
        f"| {compacted} of {len(landings)} | {landed} | {pairs} | {sum(refused.values())} |"
    )


def main() -> None:
    print(
        "| file | format | MB | sessions | events | calls / results | read s | record s | compact s | compacted "
        "| landing | pair errors | refused |"
    )
    print("|" + "---|" * 13)
    for path in sorted(path for path in DATA.rglob("*") if path.is_file() and path.name != "SOURCES.md"):
        print(row_of(path), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    main()
