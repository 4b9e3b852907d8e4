"""What `foldmark compact` does, to a transcript or to a session of the database. Knows nothing of terminals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from foldmark.budget import UNKNOWN_WINDOW
from foldmark.cli.files import check_folder, write_whole
from foldmark.cli.place import Place, aimed, read_policy, remembered
from foldmark.cli.work import asides, bring, read_transcript
from foldmark.drafts import MESSAGE_OVERHEAD, Request, payload_bytes
from foldmark.errors import PolicyError
from foldmark.events import Event, Paste, ToolResult
from foldmark.importing import Brought
from foldmark.joining import joined
from foldmark.policy import Policy
from foldmark.prices import Money, dollars
from foldmark.refs import event_ref
from foldmark.reports import Call, Entry
from foldmark.session import ASSUMED, Session
from foldmark.summarizer import Summarizer
from foldmark.tokens import count
from foldmark.wire import by_name


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
    opened, brought = bring(place, imported, chosen)
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
            *asides(brought),
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


