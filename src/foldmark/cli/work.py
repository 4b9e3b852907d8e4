"""What the commands do, apart from printing. Knows nothing of terminals."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from foldmark import importers
from foldmark.budget import UNKNOWN_WINDOW
from foldmark.cli.files import check_folder, write_whole
from foldmark.cli.place import Place, aimed, read_policy, remembered
from foldmark.drafts import MESSAGE_OVERHEAD, Request, payload_bytes
from foldmark.errors import NotFound, PolicyError, WireError
from foldmark.events import Event, Paste, ToolResult, to_json
from foldmark.importing import Brought, bring_in
from foldmark.joining import joined
from foldmark.originals import whole
from foldmark.policy import Policy
from foldmark.prices import Money, dollars
from foldmark.redact import redact_json, redact_value, redactor
from foldmark.refs import event_ref
from foldmark.reports import Call, Entry
from foldmark.session import ASSUMED, Session
from foldmark.summarizer import Summarizer
from foldmark.tokens import count
from foldmark.wire import by_name


def read_transcript(path: Path, format: str, strict: bool, session: str) -> importers.Imported:
    """Read one session out of a transcript file. With several inside, `session` chooses; else the longest."""
    data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    found = importers.read(data, format=format, name=path.name, strict=strict)
    if not found:
        raise WireError(str(path), "no session in this file")
    if len(found) == 1:
        return found[0]
    chosen = next((one for one in found if one.session == session), None)
    if chosen:
        return chosen
    if session:
        names = ", ".join(one.session for one in found[:10])
        raise NotFound(
            session, f"{path.name} holds no session {session!r}. It holds: {names}{', …' if len(found) > 10 else ''}."
        )
    longest = max(found, key=lambda one: len(one.events))
    others = ", ".join(one.session for one in found[:5])
    note = (
        f"{path.name} holds {len(found)} sessions ({others}{', …' if len(found) > 5 else ''}); "
        f"the longest, {longest.session}, is taken. --session chooses another."
    )
    return msgspec.structs.replace(longest, warnings=(*longest.warnings, note))


def _bring(place: Place, imported: importers.Imported, policy: Policy) -> tuple[Session, Brought]:
    """Bring the transcript in; `--session` names it anew, or chooses one of its sub-agents and branches."""
    inside = {f"{imported.session}/{child.imported.session}" for child in imported.children}
    if place.session in inside:
        _, brought = _record(place, imported, policy, "")
        opened = Session(place.session, store=place.store(), policy=policy)
        return opened, msgspec.structs.replace(brought, session=opened.name, children=())
    return _record(place, imported, policy, place.session)


def _record(place: Place, imported: importers.Imported, policy: Policy, session: str) -> tuple[Session, Brought]:
    console = Console(stderr=True)
    total = len(imported.events)
    if total < 200 or not console.is_terminal:
        return bring_in(imported, place.store(create=True), policy, session=session)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("reading events", total=total)
        return bring_in(
            imported, place.store(create=True), policy, session=session,
            progress=lambda done, new: progress.update(task, completed=done, total=new),
        )  # fmt: skip


def import_transcript(place: Place, path: Path, *, policy: str | None, format: str, strict: bool) -> dict[str, Any]:
    imported = read_transcript(path, format, strict, place.session)
    chosen = read_policy(policy) if policy else place.policy_of(place.session or imported.session)
    opened, brought = _bring(place, imported, chosen)
    settled = chosen if policy else remembered(opened.info.meta, chosen)
    opened.remember({"policy": settled.to_json(), "wire": imported.wire, **({"target": ""} if policy else {})})
    return {
        "session": brought.session,
        "db": str(place.db),
        "format": imported.format,
        "events": brought.new + brought.known,
        "new": brought.new,
        "known": brought.known,
        "forked_at": event_ref(brought.forked_at) if brought.forked_at else None,
        "children": list(brought.children),
        "warnings": [*brought.warnings, *_asides(brought)],
    }


class Compaction(msgspec.Struct, frozen=True):
    """What `compact` did: the JSON contract, and the values to print."""

    contract: dict[str, Any]
    session: Any
    request: Any
    entries: list[Entry]
    expected: tuple[int, str]


def compact_transcript(
    place: Place, path: Path, *, window: int | None, target: int | None, policy: str | None, wire: str,
    out: Path | None, model: str, max_output: int | None, format: str, strict: bool, focus: str = "",
    summarizer: Summarizer | None = None, upto: str = "",
) -> Compaction:  # fmt: skip
    """Bring the transcript in and make the next request. Without a `policy` the session's own holds (`coding` for a new
    one), without a `window` that of the policy or of the last request; `target` is for this time only. With `upto` what
    is due covers at most up to that event."""
    if window is not None and window < 1_000:
        raise PolicyError(f"--window is {window}; a context window has at least 1,000 tokens.")
    given = read_policy(policy) if policy else None
    aim = {"target": "" if target is None else str(target)}
    aimed(aim, given or Policy.coding())  # a target that makes no sense is told before anything is done
    if out:
        check_folder(out, "--out")
    imported = read_transcript(path, format, strict, place.session)
    form = by_name(wire or imported.wire)
    chosen = given or place.policy_of(place.session or imported.session)
    opened, brought = _bring(place, imported, chosen)
    settled = given or remembered(opened.info.meta, chosen)
    opened.remember({"policy": settled.to_json(), "wire": form.NAME, **aim})
    opened = Session(opened.name, store=opened.store, policy=aimed(aim, settled), summarizer=summarizer)
    made = _requested(opened, upto, focus, window=window, max_output=max_output, wire=form, model=model)
    payload = made.payload(model=model or None)
    if out:
        write_whole(out, payload_bytes(payload))
    found = opened.explain()
    contract = _contract(place, opened, made, found, brought, target)
    return Compaction(contract, opened, made, found, opened.next_compaction())


def _requested(
    opened: Session, upto: str, focus: str, *, window: int | None, max_output: int | None, **said: Any
) -> Request:
    """The next request, compacted on its way when that is due. Up to a chosen event it is compacted first, and then no
    further."""
    if not upto:
        return opened.request(window=window, max_output=max_output, focus=focus, **said)
    report = opened.compact(upto=upto, focus=focus, window=window, max_output=max_output)
    as_it_is = opened.policy.replace(run="manual")
    made = opened.request(window=window, max_output=max_output, policy=as_it_is, **said)
    return made.with_report(joined(report, made.report))


def _asides(brought: Brought) -> list[str]:
    """What a person should know about the import: a fork, and sessions that stand beside this one."""
    said = []
    if brought.forked_at is not None:
        where = f"behind event:{brought.forked_at}" if brought.forked_at else "from its beginning"
        said = [f"The transcript differs from the log {where}; it goes on as the fork {brought.session}."]
    if not brought.children:
        return said
    names = ", ".join(brought.children[:3]) + (", …" if len(brought.children) > 3 else "")
    return [
        *said,
        f"{len(brought.children)} sub-agent session(s) or branches are sessions of their own and not in this request: "
        f"{names}. --session NAME compacts one of them.",
    ]


def _contract(
    place: Place, opened: Session, made: Request, found: Sequence[Entry], brought: Brought, target: int | None
) -> dict[str, Any]:
    report = made.report
    log = opened.store.log(opened.key)
    inside = [entry for entry in found if entry.status in ("raw", "demoted", "kept")]
    left_out = [entry.ref for entry in found if entry.status == "left_out"]
    size = made.tokens.total
    ceiling = target if target is not None and size <= target else made.ceiling
    missed = target is not None and size > target and report.outcome not in ("not_due", "applied")
    return {
        "outcome": report.outcome,
        "session": opened.name,
        "db": str(place.db),
        "input_tokens": uncompacted(opened, log, made.tokens.static),
        "request_tokens": size,
        "budget_tokens": min(ceiling, made.ceiling),
        "boundary": event_ref(report.boundary) if report.boundary else None,
        "events": len(found),
        "in_request": len(inside),
        "covered": sum(entry.status == "covered" for entry in found),
        "left_out": len(left_out),
        "demoted": sum(entry.status == "demoted" for entry in inside),
        "artifacts": sum(bool(entry.artifact) for entry in inside),
        "left_out_refs": left_out,
        "epoch": report.epoch or None,
        "warnings": [
            *brought.warnings,
            *_asides(brought),
            # A target far below it makes the window a matter of no account.
            *(line for line in report.warnings if line != ASSUMED or target is None or target > UNKNOWN_WINDOW // 2),
            *(f"{made.wire.NAME} cannot carry {line}" for line in made.lost()),
            *([f"The target of {target:,} tokens is not met."] if missed else []),
            *([_UNASKED] if opened.summarizer and report.outcome == "not_due" else []),
        ],
        "target_tokens": target,
        "reason": report.text,
        "new_events": brought.new,
        "mode": report.mode,
        "narrative_items": len(last[-1].narrative) if (last := opened.control.history()) else 0,
        "model_calls": [_call(call) for call in report.calls],
        "coverage": None if report.coverage is None else round(report.coverage, 4),
        "money": money_json(report.money),
        "resume": report.resume,
        "tokens": {
            "static": made.tokens.static,
            "checkpoint": made.tokens.checkpoint,
            "tail": made.tokens.tail,
        },
    }


_UNASKED = "No compaction was due, so the summary model was not asked; --target asks for a smaller request."


def _call(call: Call) -> dict[str, Any]:
    return {
        "model": call.model,
        "mode": call.mode,
        "failure": call.failure or None,
        "estimated_tokens": call.tokens,
        "prompt_tokens": call.usage.input,
        "cached_tokens": call.usage.cache_read,
        "output_tokens": call.usage.output,
        "seconds": round(call.seconds, 3),
    }


def money_json(money: Money | None) -> dict[str, Any] | None:
    """Amounts in plain input tokens of the running model, and in dollars where its price is known."""
    if money is None:
        return None
    amounts = {"call": money.call, "rewrite": money.rewrite, "saving": money.saving}
    return {
        **{name: round(amount, 1) for name, amount in amounts.items()},
        "dollars": {name: dollars(amount, money.price) for name, amount in amounts.items()},
        "pays_after": money.pays_after,
        "text": money.text,
    }


def uncompacted(opened: Session, log: Sequence[Event], static: int) -> int:
    """Tokens of the same request with nothing admitted, cleaned or covered."""
    shown = (event for event in log if event.role != "control")
    return static + sum(event.tokens + MESSAGE_OVERHEAD + _hidden(opened, event) for event in shown)


def _hidden(opened: Session, event: Event) -> int:
    """Tokens that previews save. Of a body over 20 MB a quarter of its bytes is taken for its tokens."""
    saved = 0
    for part in event.parts:
        if not isinstance(part, ToolResult | Paste) or not part.artifact:
            continue
        whole = part.artifact.tokens
        if not whole and part.artifact.size <= 20_000_000:
            body = opened.artifacts.read(opened.key.tenant, part.artifact.sha256)
            whole = count(body.decode("utf-8", "surrogatepass"))
        saved += (whole or part.artifact.size // 4) - count(part.text)
    return saved


def next_request(opened: Session, wire: str) -> Request:
    """The next request as it would go out now; nothing is stored."""
    return opened.peek(by_name(wire) if wire else None)


def export_session(opened: Session, wire: str, *, raw: bool) -> tuple[str, list[str]]:
    """The whole log with every result in full, as JSON lines of events or as one payload of a wire; and what that wire
    cannot carry."""
    redact = redactor(opened.store.context(opened.key, ()).secret, not raw)
    events = [whole(event, opened.artifacts, opened.key.tenant) for event in opened.store.log(opened.key)]
    if wire == "events":
        return "".join(_redacted_event(to_json(event).decode(), redact) + "\n" for event in events), []
    form = by_name(wire)
    payload = form.write(opened.system, opened.tools, [event for event in events if event.role != "control"])
    return _redacted_event(payload_bytes(payload).decode(), redact) + "\n", form.lost(events)


def _redacted_event(text: str, redact: Callable[[str], str]) -> str:
    """JSON with its strings redacted, and the JSON that call arguments are inside it."""
    value = json.loads(text)
    clean = redact_value(_open_arguments(value, redact), redact)
    return text if clean == value else json.dumps(clean, ensure_ascii=False, separators=(",", ":"))


def _open_arguments(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, list):
        return [_open_arguments(item, redact) for item in value]
    if isinstance(value, dict):
        return {
            key: redact_json(item, redact)
            if key == "arguments" and isinstance(item, str)
            else _open_arguments(item, redact)
            for key, item in value.items()
        }
    return value


__all__ = [
    "Compaction", "Place", "compact_transcript", "export_session", "import_transcript", "money_json", "next_request",
    "read_transcript",
]  # fmt: skip
