"""Stack traces of Python, Go, Rust, Ruby, PHP, Elixir, sanitizers and gdb, and the table of all readers. Knows nothing
of previews and facts."""

from __future__ import annotations

import re
from collections.abc import Callable

from foldmark.kinds.frames import (
    KEPT_FRAMES,
    Found,
    error_name,
    error_words,
    line_before,
    lines_from,
    place_at_end,
)
from foldmark.kinds.frames_at import read_at

_DIGITS = re.compile(r"\d")


def _strip(line: str, prefix: str) -> str:
    """A line without what stands in front of every line of a log; times in it may differ."""
    head = line[: len(prefix)]
    return line[len(prefix) :] if head == prefix or _DIGITS.sub("0", head) == _DIGITS.sub("0", prefix) else line


PYTHON_SIGN = "Traceback (most recent call last):"
_PYTHON_FRAME = re.compile(r'^\s*File "([^"]+)", line (\d+)')


_PYTHON_ERROR = re.compile(r"[A-Za-z_][\w.]*(?:$|: )")
_SURELY_ERROR = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Iteration|Warning|Group)(?:$|: )")
_MIXED_LINES = 30  # lines of the program's own output that may stand between the frames and the error


def read_python(text: str, at: int) -> Found:
    """`Traceback …`, indented frames (innermost last), the error's line. The program's own output may have come in
    between: then the error is sought a little further down."""
    found = lines_from(text, at)
    start, header = next(found)
    prefix = header.partition(PYTHON_SIGN)[0].replace("+ Exception Group ", "| ")
    frames: list[tuple[str, int]] = []
    said: tuple[int, str] | None = None
    mixed, end = 0, len(text)
    for place, whole in found:
        line = _strip(whole, prefix) if prefix else whole
        if PYTHON_SIGN in line:
            end = place
            break
        if match := _PYTHON_FRAME.match(line):
            frames.append((f"{match[1]}:{match[2]}", place))
            if len(frames) > 2 * KEPT_FRAMES:
                del frames[:KEPT_FRAMES]
        elif line.strip() and line[0] not in " \t" and not line.startswith("[Previous line repeated"):
            if _SURELY_ERROR.match(line) or (not mixed and _PYTHON_ERROR.match(line)):
                said = place, line
                break
            said, mixed = said or (place, line), mixed + 1
            if mixed > _MIXED_LINES:
                break
    if said is None:
        return Found("python", start, end)
    kept = tuple(reversed(frames[-KEPT_FRAMES:]))
    place, line = said
    end = text.find("\n", place)
    return Found("python", start, end if end >= 0 else len(text), error_words(line), place, frames=kept)


_GO_LINE = re.compile(r"\d+")


def _go_frame(line: str) -> str:
    """`/r/a.go:3` of a line that shows a place in Go, else ""."""
    head, sign, rest = line.partition(".go:")
    number = _GO_LINE.match(rest)
    return f"{head.split()[-1]}.go:{number[0]}" if sign and head.split() and number else ""


def read_go(text: str, at: int) -> Found:
    """`panic: …` or `fatal error: …`, `goroutine N [running]:`, then pairs of function and place."""
    found = lines_from(text, at)
    start, header = next(found)
    error = re.search(r"(?:panic|fatal error): .*", header)
    frames: list[tuple[str, int]] = []
    causes: list[tuple[str, int]] = []
    running, end = 0, start + len(header)
    for number, (place, line) in enumerate(found):
        if "goroutine " in line and line.rstrip().endswith("]:"):
            if running:
                break
            running = number + 1
        elif not running and (number > 8 or ("panic: " not in line and number > 5)):
            break
        elif not running and "panic: " in line:
            causes.append((error_words(line[line.find("panic: ") :]), place))
        elif running and (frame := _go_frame(line)):
            frames += [(frame, place)] if len(frames) < KEPT_FRAMES else []
        elif running and not line.rstrip().endswith((")", "}")) and "created by " not in line:
            break
        end = place + len(line)
    if not running or not error:
        return Found("go", start, start + len(header))
    return Found("go", start, end, error_words(error[0]), start, tuple(causes), tuple(frames))


_RUST = re.compile(r"panicked at (?:'(?P<old>.*)', )?(?P<place>\S+?:\d+):\d+:?$")
_RUST_FRAME = re.compile(r"^\s+at (\S+?):(\d+)(?::\d+)?$")


def read_rust(text: str, at: int) -> Found:
    """`thread 'main' panicked at src/a.rs:3:9:`, the message on the next line (or in quotes before it), frames."""
    found = lines_from(text, at)
    start, header = next(found)
    match = _RUST.search(header.rstrip())
    after = start + len(header)
    if not match:
        return Found("rust", start, after)
    error, error_at = match["old"] or "", start
    frames: list[tuple[str, int]] = [(match["place"], start)]
    for number, (place, line) in enumerate(found):
        if not error and number == 0:
            error, error_at = line, place
        elif frame := _RUST_FRAME.match(line):
            frames += [(f"{frame[1]}:{frame[2]}", place)] if len(frames) < KEPT_FRAMES else []
        elif not re.match(r"^(?:stack backtrace:|\s+\d+: |note: )", line):
            break
        after = place + len(line)
    return Found("rust", start, after, error_words(error), error_at, frames=tuple(frames))


_RUBY_ERROR = re.compile(r"['`’]: (\S.*)$")


def _ruby_place(line: str) -> str:
    """`a.rb:3` in front of `:in `, else ""."""
    head, sign, _ = line.partition(":in ")
    return place_at_end(head) if sign else ""


def read_ruby(text: str, at: int) -> Found:
    """`a.rb:3:in 'run': message (NameError)`, then `from …` lines, innermost first."""
    first = text.rfind("\n", 0, at) + 1
    start, header = line_before(text, first)
    place, error = _ruby_place(header), _RUBY_ERROR.search(header)
    frames = [(place, start)]
    end = at
    for number, line in lines_from(text, at):
        if "\tfrom " not in line or not (frame := _ruby_place(line)):
            break
        if len(frames) < KEPT_FRAMES:
            frames.append((frame, number))
        end = number + len(line)
    if not place or not error or start < 0:
        return Found("ruby", first, end + 1)
    return Found("ruby", start, end, error_words(error[1]), start, frames=tuple(frames))


_PHP_PLACE = re.compile(r" in (\S+\.\w+)(?::| on line )(\d+)")
_PHP_FRAME = re.compile(r"#\d+ (\S+?)\((\d+)\): ")


def read_php(text: str, at: int) -> Found:
    """`Uncaught Exception: message in /a.php:3`, `Stack trace:`, `#0 /b.php(5): f()` lines, innermost first."""
    first = text.rfind("\n", 0, at) + 1
    start, header = line_before(text, first)
    error = error_name(header)
    place = _PHP_PLACE.search(header)
    frames = [(f"{place[1]}:{place[2]}", start)] if place else []
    end = at
    for number, (position, line) in enumerate(lines_from(text, at)):
        if match := _PHP_FRAME.search(line):
            frames += [(f"{match[1]}:{match[2]}", position)] if len(frames) < KEPT_FRAMES else []
        elif number and not re.search(r"#\d+ |^\s+thrown in ", line):
            break
        end = position + len(line)
    if not error or start < 0:
        return Found("php", first, end + 1)
    return Found("php", start, end, error_words(error), start, frames=tuple(frames))


_NATIVE_ERROR = re.compile(
    r"(?:ERROR|WARNING): \w+Sanitizer: .*|(?:Program|Thread \S+ .{0,60}) (?:received|terminated with) signal .*"
)
_NATIVE_FRAME = re.compile(r"^\s*#\d+\s")


def read_native(text: str, at: int) -> Found:
    """Sanitizers and gdb: an error, then `#0 … file:line` frames, innermost first. Only the first stack counts."""
    found = lines_from(text, at)
    start, header = next(found)
    error = _NATIVE_ERROR.search(header)
    frames: list[tuple[str, int]] = []
    seen, end = False, start + len(header)
    for number, (place, line) in enumerate(found):
        if _NATIVE_FRAME.match(line):
            seen = True
            frame = place_at_end(line)
            frames += [(frame, place)] if frame and len(frames) < KEPT_FRAMES else []
        elif seen or number > 8:
            break
        end = place + len(line)
    if not error or not seen:
        return Found("native", start, start + len(header))
    return Found("native", start, end, error_words(error[0]), start, frames=tuple(frames))


_ELIXIR_FRAME = re.compile(r"^\s+(?:\([^()]*\) )?(\S+\.(?:exs?|erl)):(\d+): ")


def read_elixir(text: str, at: int) -> Found:
    """`** (RuntimeError) message`, then indented places, innermost first."""
    found = lines_from(text, at)
    start, header = next(found)
    frames: list[tuple[str, int]] = []
    end = start + len(header)
    for place, line in found:
        if not (match := _ELIXIR_FRAME.match(line)):
            break
        frames += [(f"{match[1]}:{match[2]}", place)] if len(frames) < KEPT_FRAMES else []
        end = place + len(line)
    error = header[header.find("** (") :] if frames else ""
    return Found("elixir", start, end, error_words(error), start, frames=tuple(frames))


Reader = Callable[[str, int], Found]
READERS: tuple[tuple[str, Reader], ...] = (
    (PYTHON_SIGN, read_python),
    ("\tat ", read_at),
    ("   at ", read_at),
    ("panic: ", read_go),
    ("fatal error: ", read_go),
    ("panicked at ", read_rust),
    ("\tfrom ", read_ruby),
    ("Stack trace:\n#0 ", read_php),
    ("Sanitizer: ", read_native),
    (" signal SIG", read_native),
    ("** (", read_elixir),
)
"""What begins a trace, or its frames, and who reads it."""
