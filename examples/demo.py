"""The main job on a real session, in four commands: compact, show, explain, and a fact brought back.

    python examples/demo.py [TRANSCRIPT] [--target TOKENS]

Without arguments it takes the session that `record_session.py` recorded over this repository, and asks for a fact
that is known to leave the request.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FACT = "_LINE_NUMBER = re.compile"
QUESTION = "retrieval _LINE_NUMBER regular expression"


def foldmark(*words: str, quiet: bool = False) -> str:
    """Run one command, show it as one would type it, and return what it printed."""
    if not quiet:
        print(f"\n$ foldmark {' '.join(words)}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "foldmark", *words], text=True, capture_output=True, check=False, encoding="utf-8"
    )
    if done.returncode:
        sys.exit(f"foldmark {' '.join(words)} failed with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def head(text: str, lines: int) -> str:
    rows = text.rstrip().splitlines()
    more = f"\n  … {len(rows) - lines} more lines" if len(rows) > lines else ""
    return "\n".join(row[:150] for row in rows[:lines]) + more


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("transcript", nargs="?", default=str(HERE / "session.json"))
    options.add_argument("--target", default="12000")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="foldmark-demo-") as folder:
        db, out = str(Path(folder) / "demo.db"), str(Path(folder) / "next.json")
        print(foldmark("compact", chosen.transcript, "--target", chosen.target, "--db", db, "--out", out))
        print("What the next request holds (its first lines):")
        print(head(foldmark("show", "--db", db), 60))
        print("\nWhere every event is, and why (the last lines):")
        rows = foldmark("explain", "--db", db).rstrip().splitlines()
        print("\n".join([*rows[:3], "  …", *rows[-14:]]))
        if chosen.transcript == str(HERE / "session.json"):
            recover(db, out)


def recover(db: str, out: str) -> None:
    """Show that a fact is not in the request any more, and that one search and one load bring it back."""
    if FACT in Path(out).read_text(encoding="utf-8"):
        sys.exit(f"the demo's fact {FACT!r} is still in the request: choose another")
    print(f"\n{FACT!r} is not in the next request. An agent that needs it asks:")
    print(head(foldmark("search", QUESTION, "--limit", "2", "--db", db), 14))
    hits = json.loads(foldmark("search", QUESTION, "--limit", "5", "--db", db, "--json", quiet=True))
    for hit in hits:
        at = hit["ref"]
        text = foldmark("load", at, "--db", db, quiet=True)
        if FACT in text:
            print(f"$ foldmark load {at}")
            row = next(number for number, line in enumerate(text.splitlines()) if FACT in line)
            print("\n".join(text.splitlines()[max(0, row - 2) : row + 3]))
            print("\nThe fact is back, from the log, byte for byte.")
            return
    sys.exit(f"the search did not find {FACT!r}")


if __name__ == "__main__":
    main()
