"""A whole session, request by request: compactions, epochs, breaks of the prefix, pair errors, time of a request.

    python -m bench.growth

Each event is recorded as it came; after every user message and tool result the next request is built and written.
Reported usage is left out: it belongs to requests that somebody else built.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import msgspec

from bench.histories import DATA
from bench.pairs import pair_errors
from foldmark import Policy, Price, Session, SQLiteStore
from foldmark.drafts import payload_bytes
from foldmark.importers import read
from foldmark.wire import openai_chat

FILES = {
    "pi 1": "pi-coding-agent/before-compaction.jsonl",
    "pi 2": "pi-coding-agent/large-session.jsonl",
}
PRICES = {"no prices": None, "read 0.1, write 1.25": Price(read=0.1, write=1.25)}


def grow(path: Path, prices: Price | None, folder: str) -> str:
    """One row of the table."""
    clock = [1_000.0]
    session = Session(
        "growth", store=SQLiteStore(f"{folder}/growth.db"), policy=Policy.coding(prices=prices), clock=lambda: clock[0]
    )
    seen: Counter[str] = Counter()
    last, largest, times = b"", 0, []
    for event in read(path.read_bytes(), name=path.name)[0].events:
        clock[0] = event.time or clock[0] + 10
        session.record(msgspec.structs.replace(event, usage=None))
        if event.role not in ("user", "tool"):
            continue
        started = time.process_time()
        request = session.request(window=200_000, wire=openai_chat)
        payload = request.payload()
        times.append(time.process_time() - started)
        now = payload_bytes(payload).removesuffix(b"]}")
        seen["requests"] += 1
        seen["compactions"] += request.report.outcome == "applied"
        seen["epochs"] += bool(request.report.epoch)
        seen["unnamed"] += not now.startswith(last) and not request.report.epoch
        seen["dropped"] += any(change.status == "left_out" for change in request.report.changes)
        seen["pairs"] += len(pair_errors(payload["messages"]))
        last, largest = now, max(largest, request.tokens.total)
    counts = " | ".join(str(seen[key]) for key in ("requests", "compactions", "epochs", "unnamed", "dropped", "pairs"))
    return f"{counts} | {largest:,} | {1e3 * median(times):.1f}"


def main() -> None:
    """Print the table."""
    print("| session | prices | requests | compactions | breaks of the prefix, named | unnamed | ", end="")
    print("requests that dropped events | pair errors | largest request | median CPU ms |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, file in FILES.items():
        for label, prices in PRICES.items():
            with TemporaryDirectory() as folder:
                print(f"| {name} | {label} | {grow(DATA / file, prices, folder)} |")


if __name__ == "__main__":
    main()
