"""Big things: a log of 200 MB, a line of 50 MB, 100,000 rows, 2,000 images: time and memory to take in, find, read.

    python -m bench.big [log|line|rows|images]

Each runs in a process of its own, so that the peak is its own. `peak` is what the process grew by while it recorded,
beside the body itself, which the caller holds.
"""

from __future__ import annotations

import base64
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from foldmark import Policy, Session, SQLiteStore, user
from foldmark.errors import FoldmarkError
from foldmark.events import Event, Image, ToolCall, ToolResult, assistant, result

HOSTILE = r"^(a|b|ab|.)*z$"


def log_text() -> str:
    """200 MB of log lines, an error in every 100,000th."""
    return "".join(
        f"2026-11-30T12:00:{n % 60:02d}.{n % 1000:03d} INFO worker-{n % 16} GET /orders/{n * 7919 % 1_000_003} 200 "
        f"{n % 517} ms\n" + (f"ERROR payment {n} refused\n" if n % 100_000 == 99_999 else "")
        for n in range(2_900_000)
    )


def one_line() -> str:
    """50 MB of JSON without a line end."""
    return '{"rows":[' + '{"id":1,"v":"xy z"},' * 2_500_000 + "{}]}"


def table_rows() -> str:
    """A CSV of 100,000 rows."""
    return "id,name,value,day\n" + "".join(
        f"{n},name {n},{n * 37 % 9_999},2026-11-{n % 28 + 1:02d}\n" for n in range(100_000)
    )


def memory(field: str) -> float:
    """VmRSS (now) or VmHWM (peak) of this process, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return 0.0


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    try:
        found = work()
    except FoldmarkError as error:
        found = error
    return time.perf_counter() - started, found


def body(kind: str, session: Session) -> None:
    text = {"log": log_text, "line": one_line, "rows": table_rows}[kind]()
    session.record(user("Look at it."), assistant("", ToolCall("c", "bash", '{"command":"cat it"}')))
    before = memory("VmRSS")
    took, _ = timed(lambda: session.record(result("c", text, name="bash")))
    peak = memory("VmHWM") - before
    event = session.store.log(session.key)[2]
    sha256 = event.artifacts[0].sha256
    lines = event.artifacts[0].lines
    middle = (
        f"artifact:3#L{lines // 2}-{lines // 2 + 20}"
        if lines > 1
        else f"artifact:3#B{len(text) // 2}-{len(text) // 2 + 2000}"
    )
    search, _ = timed(lambda: session.search("payment refused"))
    read, _ = timed(lambda: session.load(middle))
    plain, _ = timed(lambda: list(session.artifacts.grep(session.key.tenant, sha256, "nowhere in it")))
    hostile, found = timed(lambda: list(session.artifacts.grep(session.key.tenant, sha256, HOSTILE)))
    ended = "stopped" if isinstance(found, FoldmarkError) else "ended"
    request, made = timed(lambda: session.request(window=128_000))
    print(
        f"| {kind} | {len(text) / 1e6:.0f} MB, {lines:,} lines | {took:.1f} s | {peak:.0f} MB | {made.tokens.total:,} "
        f"| {search * 1e3:.0f} ms | {read * 1e3:.0f} ms | {plain:.2f} s | {hostile:.1f} s, {ended} | {request:.2f} s |"
    )


def picture(number: int) -> str:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 1280, 720)
    noise = b"".join((number * 7919 + n).to_bytes(8, "big") for n in range(12_000))
    return base64.b64encode(head + noise).decode()


def images(session: Session) -> None:
    session.record(user("Look at the screens."))
    before, built = memory("VmRSS"), []
    started = time.perf_counter()
    for number in range(2_000):
        image = Image(media_type="image/png", data=picture(number))
        shot = ToolResult(f"c{number}", "", name="screenshot", images=(image,))
        session.record(
            assistant("", ToolCall(f"c{number}", "screenshot")), Event(role="tool", origin="tool", parts=(shot,))
        )
        if number % 50 == 49:
            took, made = timed(lambda: len(str(session.request(window=128_000).payload())))
            built.append((took, made))
    took = time.perf_counter() - started
    largest = max(size for _, size in built)
    print(
        f"| images | 2,000 of {len(picture(1)) // 1000} KB | {took:.1f} s | {memory('VmHWM') - before:.0f} MB "
        f"| {session.request(window=128_000).tokens.total:,} | - | - | - | largest payload {largest / 1e6:.1f} MB "
        f"| {max(each for each, _ in built):.2f} s |"
    )


def main() -> None:
    kinds = sys.argv[1:] or ["log", "line", "rows", "images"]
    if len(kinds) > 1:
        print(
            "| | body | record | peak | next request, tokens | search | read | grep, plain | grep, hostile | request |"
        )
        print("|" + "---|" * 10, flush=True)
        for kind in kinds:
            subprocess.run([sys.executable, "-m", "bench.big", kind], check=True)
        return
    with TemporaryDirectory() as folder:
        session = Session("big", store=SQLiteStore(f"{folder}/big.db"), policy=Policy.coding())
        images(session) if kinds[0] == "images" else body(kinds[0], session)


if __name__ == "__main__":
    main()
