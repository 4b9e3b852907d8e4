"""The main job on a real session, in four commands: compact, show, explain, and a fact brought back.

    python examples/demo.py [TRANSCRIPT] [--target TOKENS]

Without arguments it takes the session that `record_session.py` recorded over this repository. The fact brought back
is looked for: the first function that a file read in the session defined and that the request does not name.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEFINED = re.compile(r"^ *\d*\t? *(def (\w{9,})\(.*)$", re.MULTILINE)


def foldmark(*words: str, quiet: bool = False) -> str:
    """Run one command, show it as one would type it, and return what it printed."""
    if not quiet:
        print(f"\n$ foldmark {shlex.join(words)}", flush=True)
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
        recover(db, fact_outside(db, Path(out).read_text(encoding="utf-8")))


def fact_outside(db: str, request: str) -> tuple[str, str]:
    """(name, line) of a function that the log knows and the request does not."""
    log = foldmark("export", "--db", db, quiet=True)
    for row in log.splitlines():
        for part in json.loads(row).get("parts", ()):
            for line, name in DEFINED.findall(part.get("text", "")) if part["type"] == "result" else ():
                if name not in request:
                    return name, line
    sys.exit("everything that this session defined is still in the request: choose a smaller --target")


def recover(db: str, fact: tuple[str, str]) -> None:
    """One search and one load bring back what is not in the request any more."""
    name, line = fact
    print(f"\nThe next request does not hold {name!r}. An agent that needs it asks:")
    print(head(foldmark("search", f"def {name}", "--limit", "1", "--db", db), 14))
    hits = json.loads(foldmark("search", f"def {name}", "--limit", "5", "--db", db, "--json", quiet=True))
    for hit in hits:
        text = foldmark("load", hit["at"] or hit["ref"], "--db", db, quiet=True)
        if line in text:
            print(f"$ foldmark load '{hit['at'] or hit['ref']}' --db {db}\n{head(text, 6)}")
            print("\nThe fact is back, from the log, byte for byte.")
            return
    sys.exit(f"the search did not find {line!r}")


if __name__ == "__main__":
    main()
