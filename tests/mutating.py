"""Breaks things on purpose: JSON in its meaning, files in their bytes. Knows nothing of what should happen then."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from data import has_shared, shared

SAMPLES = Path(__file__).resolve().parent / "samples"
DEEP = "(deep)"
"""Stands for a nested list until the text is written: a value of that depth cannot be written by the codec itself."""

DIRT = [
    *("\ud83d", "\udc00", "\x00", "\x1b[2J", "\u202egnp", "\u2066", "\u2028", "\x85", "\r", "\r\n", "\ufeff", "\ufffe"),
    *(
        "שלום",
        "e" + "\u0301" * 300,
        "👩\u200d👩\u200d👧",
        "ﷺ",
        "²",
        "٣",
        "1" * 5_000,
        "\t",
        "\x0b",
        "<!--",
        "```",
        "</tool>",
    ),
    *(
        "[",
        "]",
        "[event:1]",
        "… lines 1-2 of 3 not shown …",
        "sk-ant-api03-" + "a" * 40,
        "\\",
        '"',
        "'",
        "%s",
        "{0}",
        "$&",
    ),
]
ODD: list[Any] = [
    *(None, 0, -1, 1, 2**31, 2**63, 2**64, 10**30, float("nan"), float("inf"), 1e308, 0.5, True, False, [], {}, ""),
    *(
        " ",
        "x" * 20_000,
        [[]],
        [None],
        [0],
        {"": None},
        {"type": None},
        {"type": "text"},
        {"role": []},
        "null",
        "NaN",
        "user",
    ),
    *(["text"], [{"type": "text", "text": None}], {"a": {"b": [{}]}}, DEEP, *DIRT[:6]),
]


# -- where inputs come from


@cache
def samples(real_bytes: int = 0) -> dict[str, bytes]:
    """The made-up transcripts by name, and with `real_bytes` the real ones beside the checkout up to that size."""
    found = {path.name: path.read_bytes() for path in sorted(SAMPLES.iterdir()) if path.is_file()}
    found.pop("store-0.1.0.db.gz", None)
    if real_bytes and has_shared("data/trajectories"):
        for path in sorted(shared("data/trajectories").rglob("*.*")):
            if path.suffix != ".md" or path.parent.name != "trajectories":
                found[f"{path.parent.name}/{path.name}"] = path.read_bytes()
    return {name: data for name, data in found.items() if len(data) <= max(real_bytes, 50_000)}


def rows_of(data: bytes) -> list[Any] | None:
    """The JSON values of a file, one for a document and one a line for JSON lines; None for other text."""
    text = data.decode("utf-8", "replace")
    try:
        return [json.loads(text)]
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    except ValueError:
        return None


# -- what is done to JSON


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a value, whatever its depth."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        pairs = list(one.items()) if isinstance(one, dict) else list(enumerate(one)) if isinstance(one, list) else []
        for key, inner in pairs:
            yield one, key
            waiting.append(inner)


def copied(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _confuse(rng: Random, holder: Any, key: Any, others: list[tuple[Any, Any]]) -> None:
    holder[key] = copied(rng.choice(ODD))


def _delete(rng: Random, holder: Any, key: Any, others: list[tuple[Any, Any]]) -> None:
    del holder[key]


def _repeat(rng: Random, holder: Any, key: Any, others: list[tuple[Any, Any]]) -> None:
    if isinstance(holder, list):
        for _ in range(rng.choice([1, 1, 2, 5])):
            holder.insert(rng.randrange(len(holder) + 1), copied(holder[key]))
    else:
        holder[rng.choice(["type", "id", "content", f"{key}_2"])] = copied(holder[key])


def _swap(rng: Random, holder: Any, key: Any, others: list[tuple[Any, Any]]) -> None:
    there, place = rng.choice(others)
    holder[key], there[place] = copied(there[place]), copied(holder[key])


def _graft(rng: Random, holder: Any, key: Any, others: list[tuple[Any, Any]]) -> None:
    """A subtree of another transcript, of any format."""
    rows = None
    while not rows:
        rows = rows_of(rng.choice(list(samples().values())))
    there, place = rng.choice(list(places(rows)))
    holder[key] = there[place]


def _rename(rng: Random, holder: Any, key: Any, others: list[tuple[Any, Any]]) -> None:
    if isinstance(holder, dict):
        names = [str(place) for there, place in others if isinstance(there, dict)]
        holder[rng.choice([*names, "", "\x00", key.upper(), f"{key} "])] = holder.pop(key)
    else:
        rng.shuffle(holder)


def _collide(rng: Random, holder: Any, key: Any, others: list[tuple[Any, Any]]) -> None:
    """The same id twice: the value of another place of the same name, else of any text."""
    same = [there[place] for there, place in others if place == key and there is not holder]
    holder[key] = copied(rng.choice(same or [there[place] for there, place in others]))


def _taint(rng: Random, holder: Any, key: Any, others: list[tuple[Any, Any]]) -> None:
    if isinstance(holder[key], str):
        at = rng.randrange(len(holder[key]) + 1)
        holder[key] = holder[key][:at] + rng.choice(DIRT) * rng.choice([1, 1, 1, 50]) + holder[key][at:]
    else:
        holder[key] = rng.choice([str(holder[key]), [holder[key]], {"value": holder[key]}])


JSON_EDITS: list[Callable[[Random, Any, Any, list[tuple[Any, Any]]], None]] = [
    *(_confuse, _confuse, _delete, _repeat, _swap, _graft, _rename, _collide, _taint),
]


def mutated_value(value: Any, rng: Random, edits: int) -> Any:
    """The value, which is changed, with so many edits at any place of it."""
    root = [value]
    for _ in range(edits):
        found = list(places(root))
        if not found:
            break
        rng.choice(JSON_EDITS)(rng, *rng.choice(found), found)
    return root[0] if root else None


def encoded(value: Any, rng: Random) -> bytes:
    """A value as JSON, in one of the ways programs write it; a marked place becomes a deep list."""
    text = json.dumps(value, ensure_ascii=rng.random() < 0.7, separators=rng.choice([(",", ":"), (", ", ": ")]))
    levels = rng.choice([40, 190, 210, 20_000])
    opening, closing = rng.choice([("[", "]"), ('{"a":', "}")])
    return text.replace(f'"{DEEP}"', opening * levels + "1" + closing * levels).encode("utf-8", "surrogatepass")


# -- what is done to bytes and text


def _flipped(data: bytes, rng: Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 3, 20])):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def _cut(data: bytes, rng: Random) -> bytes:
    """Ended at any place; at a structural one as often as inside a word or a character."""
    marks = [at for at, byte in enumerate(data) if byte in b'{}[],:"\n'] or [0]
    return data[: rng.choice([rng.choice(marks), rng.choice(marks) + 1, rng.randrange(len(data))])]


def _shuffled(data: bytes, rng: Random) -> bytes:
    lines = data.split(b"\n")
    if rng.random() < 0.5:
        rng.shuffle(lines)
    else:
        first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[first], lines[second] = lines[second], lines[first]
    return b"\n".join(lines)


def _blocks(data: bytes, rng: Random) -> bytes:
    """A run of lines taken out, or put in again somewhere else."""
    lines = data.split(b"\n")
    start = rng.randrange(len(lines))
    block = lines[start : start + rng.randrange(1, 8)]
    if rng.random() < 0.5:
        del lines[start : start + len(block)]
    else:
        at = rng.randrange(len(lines) + 1)
        lines[at:at] = block * rng.choice([1, 2, 20])
    return b"\n".join(lines)


def _ends(data: bytes, rng: Random) -> bytes:
    return b"".join(line + rng.choice([b"\n", b"\r\n", b"\r", b"\n\n", b"\xe2\x80\xa8"]) for line in data.split(b"\n"))


def _dirty(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    dirt = rng.choice([*DIRT, "x" * 100_000, "\n" * 500]).encode("utf-8", "surrogatepass")
    return data[:at] + dirt[: rng.choice([len(dirt), 1, 2])] + data[at:]


BYTE_EDITS = [_flipped, _cut, _shuffled, _blocks, _blocks, _ends, _dirty, _dirty]


def mutated(data: bytes, rng: Random, rows: list[Any] | None = None) -> bytes:
    """A transcript with one to six things wrong with it. JSON is mostly broken in its meaning, now and then in its
    bytes, and now and then both."""
    rows = rows_of(data) if rows is None else rows
    if rows is not None and rng.random() < 0.8:
        held = mutated_value(rows, rng, rng.choice([1, 1, 2, 3, 6]))
        rows = held if isinstance(held, list) else [held]
        if len(rows) == 1:
            data = encoded(rows[0], rng)
        else:
            data = b"\n".join(encoded(row, rng) for row in rows) + rng.choice([b"", b"\n"])
        if rng.random() < 0.9:
            return data
    for _ in range(rng.choice([1, 1, 2, 4])):
        data = rng.choice(BYTE_EDITS)(data, rng) if data else b"{}"
    return data
