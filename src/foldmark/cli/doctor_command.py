"""What `foldmark doctor` does and prints: reading, writing the copy, problems in groups. Knows nothing of how problems
are found."""

from __future__ import annotations

import gc
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from foldmark import doctor
from foldmark.cli.endings import told
from foldmark.cli.files import check_out, part_beside, read_bytes
from foldmark.cli.options import AsJson, Format, Transcript
from foldmark.cli.terminal import say, say_json, whoever_reads
from foldmark.errors import PolicyError

OK, PROBLEMS = 0, 3
_PLACES, _CHANGES = 5, 20


def doctor_(
    transcript: Transcript,
    repair: Annotated[
        Path | None, typer.Option("--repair", help="Write a working copy in the same format here.")
    ] = None,
    without_thinking: Annotated[
        bool, typer.Option("--without-thinking", help="Leave all thinking out of the copy.")
    ] = False,
    window: Annotated[
        int | None, typer.Option("--window", help="Measure the whole against this window, in tokens.")
    ] = None,
    format: Format = "auto",
    as_json: AsJson = False,
) -> None:
    """Find what a provider would refuse in a transcript and what will go wrong soon; exit code 3 when there is any."""
    with told(as_json):
        code, said = check(
            transcript, repair=repair, without_thinking=without_thinking, window=window, format=format, as_json=as_json
        )
    whoever_reads(lambda: tell(said))
    raise typer.Exit(code)


def check(
    transcript: Path,
    *,
    repair: Path | None,
    window: int | None,
    format: str,
    as_json: bool,
    without_thinking: bool = False,
) -> tuple[int, str | dict[str, Any]]:
    """Examine a transcript and write the working copy when one is asked for: the exit code, and what to print.

    Raises FoldmarkError and OSError for bad input; then nothing was written.
    """
    if window is not None and window < 1:
        raise PolicyError(f"--window is {window}; a context window has at least one token.")
    if without_thinking and repair is None:
        raise PolicyError("--without-thinking says what the copy leaves out: name one with --repair OUT.")
    if repair is not None:
        _check_out(transcript, repair)
    data = read_bytes(transcript)
    name = "standard input" if str(transcript) == "-" else transcript.name
    collects = gc.isenabled()
    gc.disable()  # the rows of a large file are kept to the end: a third of the time would go into looking at them
    try:
        found = doctor.examine(data, name=name, format=format, window=window)
        mended = (
            doctor.repair(data, found, name=name, window=window, without_thinking=without_thinking) if repair else None
        )
    finally:
        if collects:
            gc.enable()
    rejected = _write(repair, mended, transcript) if repair and mended else None
    code = OK if (mended.after if mended else found).ok else PROBLEMS
    if as_json:
        return code, contract(found, mended, repair, rejected)
    return code, "\n".join(_report(found, mended, repair, rejected, name))


def tell(said: str | dict[str, Any]) -> None:
    """Print a report, or the JSON contract."""
    if isinstance(said, str):
        say(said)
    else:
        say_json(said)


def _check_out(transcript: Path, out: Path) -> None:
    for path in (out, _beside(out)):
        check_out(path, "--repair")
        if path.exists() and not path.is_file():
            raise PolicyError(f"--repair: {path} is no regular file; name another one.")
        if path.exists() and transcript.exists() and path.samefile(transcript):
            raise PolicyError(f"--repair writes {path}: name another file than the transcript itself.")


def _beside(out: Path) -> Path:
    """Where the bytes go that cannot be kept in the copy."""
    return out.with_name(f"{out.name}.rejected")


def _write(out: Path, mended: doctor.Repair, transcript: Path) -> Path | None:
    """Write the copy, and beside it what could not be kept. Nothing takes its place before all is on the disk."""
    wanted = [(_beside(out), mended.rejected)] if mended.rejected else []
    waiting: list[tuple[Path, Path]] = []
    try:
        for path, data in [*wanted, (out, mended.data)]:
            waiting.append((_part(path, data, transcript), path))
        for part, path in waiting:
            os.replace(part, path)
    finally:
        for part, _ in waiting:
            part.unlink(missing_ok=True)
    return _beside(out) if mended.rejected else None


def _part(path: Path, data: bytes, transcript: Path) -> Path:
    """The bytes in a new file beside `path`, as private as the transcript (sessions are, and a copy must not open them
    to others), but writable."""
    part = part_beside(path, data)
    try:
        if transcript.is_file():
            part.chmod(stat.S_IMODE(transcript.stat().st_mode) | stat.S_IWUSR)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return part


def contract(
    found: doctor.Diagnosis, mended: doctor.Repair | None, out: Path | None, rejected: Path | None
) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "ok": found.ok,
        "format": found.format,
        "records": found.records,
        "problems": msgspec.to_builtins(found.problems),
        "out": str(out) if mended else None,
        "rejected": str(rejected) if rejected else None,
        "changes": msgspec.to_builtins(mended.changes) if mended else [],
        "remaining": msgspec.to_builtins(mended.after.problems) if mended else [],
    }


# -- readable text


def _report(
    found: doctor.Diagnosis, mended: doctor.Repair | None, out: Path | None, rejected: Path | None, name: str
) -> Iterable[str]:
    yield f"{name}: {found.format}, {found.records:,} records, {_counted(found.problems)}"
    yield from _groups(found.problems)
    if mended is None:
        errors = [problem for problem in found.problems if problem.severity == "error"]
        if found.format in doctor.TALKS and any("--repair OUT" in problem.advice for problem in errors):
            yield f"\nNext: foldmark doctor {name if name != 'standard input' else '-'} --repair OUT"
        return
    yield f"\n{out}: {_number(len(mended.changes), 'change')}; every other record is there byte for byte"
    yield from (f"  {change.path}: {change.message} [{change.code}]" for change in mended.changes[:_CHANGES])
    if len(mended.changes) > _CHANGES:
        yield f"  … {len(mended.changes) - _CHANGES:,} more; --json lists them all"
    if rejected:
        yield f"what could not be kept is in {rejected}"
    yield f"the copy: {_counted(mended.after.problems)}"
    if not mended.after.ok:
        yield from _groups([problem for problem in mended.after.problems if problem.severity == "error"])


def _counted(problems: Sequence[doctor.Problem]) -> str:
    errors = sum(problem.severity == "error" for problem in problems)
    warnings = len(problems) - errors
    said = [_number(errors, "problem")] if errors else []
    said += [_number(warnings, "warning")] if warnings else []
    return ", ".join(said) or "no problem found"


def _number(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _groups(problems: Sequence[doctor.Problem]) -> Iterable[str]:
    """Problems by code, errors first: the first places of each, then what to do."""
    groups: dict[tuple[str, str], list[doctor.Problem]] = {}
    for problem in sorted(problems, key=lambda problem: problem.severity != "error"):
        groups.setdefault((problem.severity, problem.code), []).append(problem)
    for (severity, code), group in groups.items():
        yield f"\n{severity}: {code}{f' ({len(group):,} places)' if len(group) > 1 else ''}"
        yield from (f"  {problem.path}: {problem.message}" for problem in group[:_PLACES])
        if len(group) > _PLACES:
            yield f"  … {len(group) - _PLACES:,} more; --json lists them all"
        yield f"  → {group[0].advice}"
