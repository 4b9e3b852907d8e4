"""Looks for inputs that break a promise: `python -m bench.fuzz [--minutes 60] [--seed N] [targets]`.

Inputs come from `tests/fuzzing.py`, what must hold from `tests/oracles.py`. Every sort of finding is printed once, made
as small as it goes, and kept as a file under `out/fuzz/`; `python -m bench.fuzz TARGET --again FILE` tries one again.
Exits with 1 when there is any.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import fuzzing
import mutating
import oracles

OUT = Path("out/fuzz")
REAL_BYTES = 450_000
"""Real transcripts up to this size are broken too; larger ones would leave too few inputs in an hour."""
SECONDS, SECONDS_PER_MEGABYTE = 5.0, 40.0
"""Processor time that one input may take before it counts as a hang. An input is imported twice, compacted and written
eight times over, so that a large one has more."""
SHRINKING_SECONDS = 15.0

Check = Callable[[bytes], str]
Make = Callable[[Random], bytes]


class Target(NamedTuple):
    """A sort of input and what must hold for it."""

    name: str
    make: Make
    check: Check


def _transcript(rng: Random) -> bytes:
    return fuzzing.transcript(rng, REAL_BYTES if rng.random() < 0.15 else 0)


def _body(rng: Random) -> bytes:
    return fuzzing.text(rng)


TARGETS = (
    Target("importers", _transcript, oracles.check_import),
    Target("wires", fuzzing.payload, oracles.check_payload),
    Target("conversations", fuzzing.told, oracles.check_conversation),
    Target("previews", _body, oracles.check_text),
    Target("doctor", _transcript, oracles.check_doctor),
    Target("follow", fuzzing.spoken, oracles.check_follow),
    Target("cli", fuzzing.transcript, oracles.check_cli),
)


# -- one input


class Hang(BaseException):
    """Not an Exception, so that no code under test takes it for one of its own."""


def _stop(*_: Any) -> None:
    raise Hang


def tried(target: Target, data: bytes) -> tuple[str, str]:
    """(what came of it, the sort of finding or an empty text)."""
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS + SECONDS_PER_MEGABYTE * len(data) / 1e6)
    try:
        return target.check(data), ""
    except Hang:
        return "finding", f"hang in {_place(sys.exc_info()[2])}"
    except Exception as error:
        return "finding", _sort_of(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _sort_of(error: Exception) -> str:
    """What makes two findings the same: the sort of error, and where it was raised or what it says without numbers."""
    said = re.sub(r"'[^']*'|\"[^\"]*\"|\d[\d,.]*", "…", str(error).split("\n", maxsplit=1)[0])[:120]
    return (
        said
        if isinstance(error, AssertionError)
        else f"{type(error).__name__} in {_place(error.__traceback__)}: {said}"
    )


def _place(trace: Any) -> str:
    frames = traceback.extract_tb(trace)
    ours = [frame for frame in frames if "foldmark" in Path(frame.filename).parts] or list(frames)
    return f"{Path(ours[-1].filename).name}:{ours[-1].name}"


# -- made small


def smaller(target: Target, data: bytes, sort: str) -> bytes:
    """The same finding from less, as far as a few seconds go."""
    until = time.monotonic() + SHRINKING_SECONDS
    shrinking = True
    while shrinking:
        shrinking = False
        for candidate in _less(data):
            if time.monotonic() > until:
                return data
            if tried(target, candidate)[1] == sort:
                data, shrinking = candidate, True
                break
    return data


def _less(data: bytes) -> Iterator[bytes]:
    """Smaller inputs, the much smaller ones first: without lines, without subtrees, without runs of bytes."""
    lines = data.split(b"\n")
    yield from (b"\n".join(rest) for rest in _without_runs(lines) if len(lines) > 1)
    is_json = False
    for at, line in enumerate(lines if len(lines) < 60 else ()):
        for less in _less_json(line):
            is_json = True
            yield b"\n".join([*lines[:at], less, *lines[at + 1 :]])
    if not is_json and len(data) < 4_000:
        yield from (bytes(rest) for rest in _without_runs(data))


def _without_runs(items: Any) -> Iterator[Any]:
    size = len(items) // 2
    while size:
        for start in range(0, len(items), size):
            yield items[:start] + items[start + size :]
        size //= 2


def _less_json(line: bytes) -> Iterator[bytes]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return
    if not isinstance(value, (dict, list)):
        return
    places = sorted(mutating.places(value), key=lambda place: isinstance(place[0], dict))
    for holder, key in places:
        whole = dict(holder) if isinstance(holder, dict) else list(holder)
        del holder[key]
        yield json.dumps(value).encode()
        holder.clear()
        _ = holder.update(whole) if isinstance(holder, dict) else holder.extend(whole)
        if isinstance(holder[key], str) and len(holder[key]) > 8:
            held, holder[key] = holder[key], holder[key][: len(holder[key]) // 2]
            yield json.dumps(value).encode()
            holder[key] = held


# -- a run


def run(targets: list[Target], minutes: float, seed: int) -> int:
    """Try inputs of each target in turn until the time is over; the number of sorts of findings."""
    came: dict[str, Counter[str]] = {target.name: Counter() for target in targets}
    found: dict[tuple[str, str], int] = {}
    until, number = time.monotonic() + 60 * minutes, 0
    while time.monotonic() < until:
        for target in targets:
            data = target.make(Random(f"{target.name} {seed} {number}"))
            what, sort = tried(target, data)
            came[target.name][what.split()[0]] += 1
            if sort and (target.name, sort) not in found:
                _tell(target, data, sort, len(found) + 1)
            if sort:
                found[target.name, sort] = found.get((target.name, sort), 0) + 1
        number += 1
    for name, counts in came.items():
        print(f"{name}: {counts.total():,} inputs ({', '.join(f'{n:,} {what}' for what, n in counts.most_common(8))})")
    for (name, sort), count in sorted(found.items(), key=lambda item: -item[1]):
        print(f"{count:6,} x {name}: {sort}")
    return len(found)


def _tell(target: Target, data: bytes, sort: str, number: int) -> None:
    least = smaller(target, data, sort)
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / f"{target.name}-{number}"
    path.write_bytes(least)
    print(f"{target.name}: {sort}\n  {path} ({len(least):,} of {len(data):,} bytes): {least[:400]!r}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz", description=__doc__)
    names = [target.name for target in TARGETS]
    parser.add_argument("targets", nargs="*", choices=[*names, []], help="default: all")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", type=Path, help="try this file only, and show where it fails")
    options = parser.parse_args()
    chosen = [target for target in TARGETS if target.name in (options.targets or names)]
    if options.again:
        print(chosen[0].check(options.again.read_bytes()))
        return
    sys.exit(1 if run(chosen, options.minutes, options.seed) else 0)


if __name__ == "__main__":
    main()
