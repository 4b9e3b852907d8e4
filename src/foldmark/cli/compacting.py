"""What `foldmark compact` does, to a transcript or to a session of the database. Knows nothing of terminals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from foldmark.budget import UNKNOWN_WINDOW
from foldmark.cli.files import check_out, write_whole
from foldmark.cli.options import Reading, window_of
from foldmark.cli.place import Place, aimed, read_policy, remembered, targeted
from foldmark.cli.work import asides, bring, form_of, read_transcript
from foldmark.drafts import MESSAGE_OVERHEAD, Request, payload_bytes
from foldmark.errors import NotFound, PolicyError
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

_WORTH_TOKENS = 1_200
"""Of so much above the static prefix half is a target that a policy takes, and a record has room in it."""


class Compaction(msgspec.Struct, frozen=True):
    """What `compact` did: the JSON contract, and the values to print. `due_target` is a target for which it would have
    been due, where nothing came about."""

    contract: dict[str, Any]
    session: Any
    request: Any
    entries: list[Entry]
    expected: tuple[int, str]
    due_target: int | None


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the options of `compact` ask for. Without a `policy` the session's own holds (`coding` for a new one),
    without a `window` (tokens) that of the policy or of the last request; `target` is the size of the whole request in
    tokens. `force` compacts whatever the size; with `upto` at most up to that event is covered."""

    window: int | None = None
    target: int | None = None
    policy: str | None = None
    wire: str = ""
    out: Path | None = None
    model: str = ""
    max_output: int | None = None
    focus: str = ""
    upto: str = ""
    force: bool = False
    summarizer: Summarizer | None = None


def compact_transcript(place: Place, path: Path, asked: Asked, reading: Reading) -> Compaction:
    """Bring the transcript in and make the next request. The target is for this time only."""
    given = _checked(asked)
    aim = {"target": "" if asked.target is None else str(asked.target)}
    imported = read_transcript(path, reading, place)
    form = by_name(asked.wire or imported.wire)
    chosen = given or place.policy_of(place.session or imported.session)
    opened, brought = bring(place, imported, chosen)
    settled = given or remembered(opened.info.meta, chosen)
    opened.remember({"policy": settled.to_json(), "wire": form.NAME, **aim})
    opened = Session(opened.name, store=opened.store, policy=aimed(aim, settled), summarizer=asked.summarizer)
    return _done(place, opened, asked, brought, form)


def compact_session(place: Place, asked: Asked) -> Compaction:
    """Compact the session of the database that is meant, and make its next request. What is not asked for (policy,
    target, window, wire) is as it was kept, so that it does what `plan` and `explain` say. Raises NotFound where there
    is no database either."""
    given = _checked(asked)
    if not place.db.exists():
        raise NotFound(
            str(place.db),
            f"There is neither a transcript nor a database {place.db}: name a transcript to compact, or with --db the "
            "database that holds the session.",
        )
    meta = place.info().meta
    settled = targeted(given or aimed(meta, remembered(meta)), asked.target)
    opened = place.open(summarizer=asked.summarizer, policy=settled)
    form, told = form_of(opened, asked.wire), _told(asked, given, opened)
    if told:
        opened.remember(told)
    warnings = () if meta.get("policy") or given else (_NO_POLICY,)
    nothing = Brought(session=opened.name, new=0, known=0, forked_at=None, children=(), warnings=warnings)
    return _done(place, opened, asked, nothing, form)


_NO_POLICY = (
    "The session keeps no policy, so coding rules it; --policy names another one and keeps it, as "
    'session.remember({"policy": policy.to_json()}) does in Python.'
)


def _checked(asked: Asked) -> Policy | None:
    """The policy that is asked for. Raises PolicyError for what makes no sense, before anything is done."""
    window_of(asked.window)
    given = read_policy(asked.policy) if asked.policy else None
    targeted(given or Policy.coding(), asked.target)
    if asked.out:
        check_out(asked.out, "--out")
    return given


def _told(asked: Asked, given: Policy | None, opened: Session) -> dict[str, str]:
    """What the session keeps of this compaction. There is one target for all that read it: that of the whole."""
    told = {"policy": given.to_json(), "target": ""} if given else {}
    return {**told, "target": str(asked.target)} if opened.key.is_whole and asked.target is not None else told


def _done(place: Place, opened: Session, asked: Asked, brought: Brought, form: Any) -> Compaction:
    """Compact, write the request, and tell what came of it."""
    made = _requested(opened, asked, form)
    payload = made.payload(model=asked.model or None)
    if asked.out:
        write_whole(asked.out, payload_bytes(payload))
    found = opened.explain()
    contract = _contract(place, opened, made, found, brought, asked)
    vain = made.report.outcome in ("not_due", "ineffective")
    aim = offered(opened, made.tokens.total, made.tokens.static, asked.window) if vain else None
    return Compaction(contract, opened, made, found, opened.next_compaction(), aim)


def _requested(opened: Session, asked: Asked, form: Any) -> Request:
    """The next request, compacted on its way when that is due. Where a request would not do that by itself (by force,
    up to a chosen event, or because the policy leaves it to somebody else) it is compacted first."""
    window, most = asked.window, asked.max_output
    if not (asked.upto or asked.force) and opened.policy.run == "inline":
        return opened.request(window=window, max_output=most, focus=asked.focus, wire=form, model=asked.model)
    report = opened.compact(force=asked.force, upto=asked.upto, focus=asked.focus, window=window, max_output=most)
    as_it_is = opened.policy.replace(run="manual")
    made = opened.request(window=window, max_output=most, policy=as_it_is, wire=form, model=asked.model)
    return made.with_report(joined(report, made.report))


def _contract(
    place: Place, opened: Session, made: Request, found: Sequence[Entry], brought: Brought, asked: Asked
) -> dict[str, Any]:
    report, target = made.report, asked.target
    log = opened.store.log(opened.key)
    inside = [entry for entry in found if entry.status in ("raw", "demoted", "kept")]
    left_out = [entry.ref for entry in found if entry.status == "left_out"]
    size = made.tokens.total
    ceiling = target if target is not None and size <= target else made.ceiling
    missed = target is not None and size > target and report.outcome not in ("not_due", "applied")
    return {
        "outcome": report.outcome,
        "session": opened.name,
        "scope": opened.key.scope,
        "sees": opened.key.sees,
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
            *idle(asked.upto, report.outcome, asked.force),
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


_UNASKED = (
    "No compaction was due, so the summary model was not asked; --target asks for a smaller request, --force for a "
    "compaction now."
)


def idle(upto: str, outcome: str, force: bool) -> list[str]:
    """What is said of an `--upto` that had no effect."""
    if not upto or force or outcome != "not_due":
        return []
    return [f"Nothing was due, so --upto {upto} has no effect; --force compacts up to there all the same."]


def due_target(size: int, static: int) -> int | None:
    """A target for which a request of this size is due: about half of what stands above the static prefix. None where
    there is next to nothing to make smaller."""
    above = size - static
    return (static + above // 2) // 100 * 100 if above >= _WORTH_TOKENS else None


def offered(opened: Session, size: int, static: int, window: int | None = None) -> int | None:
    """`due_target`, where a compaction to it would come about: it is planned first. A hold, a last attempt in vain or a
    past that is one round may stand against it."""
    target = due_target(size, static)
    if target is None:
        return None
    try:
        aimed_at = Session(
            opened.name, store=opened.store, policy=targeted(opened.policy, target), scope=opened.key.scope,
            sees=opened.key.sees,
        )  # fmt: skip
        return target if aimed_at.control.plan(window=window).outcome == "applied" else None
    except PolicyError:
        return None  # what the host adds leaves no room for it


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
