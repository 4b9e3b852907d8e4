"""`foldmark history`: every version of a record, the attempts between them, what all summary calls took, and what the
whole cost and saved. Knows nothing of how any of it came about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.table import Table

from foldmark.checkpoint import Mark
from foldmark.cli.endings import told
from foldmark.cli.options import AsJson
from foldmark.cli.output import attempt_json, cell
from foldmark.cli.place import ScopedPlace, whose
from foldmark.cli.terminal import say_json, terminal
from foldmark.control import Compaction
from foldmark.control.past import Totals, totals
from foldmark.kinds.base import plural
from foldmark.prices.saved import Saved
from foldmark.refs import compaction_ref, event_ref
from foldmark.reports import Attempt, summed
from foldmark.session import Session


def history(*, place: ScopedPlace, as_json: AsJson = False) -> None:
    """Every compaction of a session and every attempt at one: why, how large, by whom, at what cost."""
    with told(as_json):
        opened = place.open()
        attempts = opened.control.attempts()
        found = opened.control.compactions()
        total = of_all_scopes(opened)
        misses = opened.cache_misses()
        against = opened.saved()
        is_ours = _is_ours(opened)
    if as_json:
        say_json(
            {
                "session": opened.name,
                "scope": opened.key.scope,
                "sees": opened.key.sees,
                "attempts": [attempt_json(attempt) for attempt in attempts],
                "cache_misses": misses or None,
                "compactions": [entry_json(entry) for entry in found],
                "saved": saved_json(against) if against.requests and is_ours else None,
                "totals": totals_json(total),
            }
        )
    else:
        _print(whose(opened.key), found, attempts, total, misses, _compared(against, is_ours))


def _is_ours(opened: Session) -> bool:
    """Whether requests of this session may have been smaller by what was done here: not where all of them were answered
    before the session was brought in, nor where nothing was cleaned before the first compaction and no reply came after
    it. What their sizes say is then the doing of whoever sent them."""
    replies = [event for event in opened.store.log(opened.key) if event.role == "assistant" and event.usage]
    begun, versions = opened.info.created, opened.store.checkpoints(opened.key)
    if replies and all(event.time is not None and event.time < begun for event in replies):
        return False
    if not versions or versions[0].replaced != Mark():
        return True
    return any(event.seq > versions[0].head for event in replies)


def _compared(against: Saved, is_ours: bool) -> str:
    """What was saved, in words; empty where no reply reported its usage."""
    if not against.requests or is_ours:
        return str(against) if against.requests else ""
    return (
        f"{plural(against.requests, 'request')} took {against.sent.input:,} prompt tokens before anything was "
        "compacted here; nothing was saved in them."
    )


def of_all_scopes(opened: Session) -> Totals:
    """What the compactions of every scope of the session took, used or not. What a fork inherits was paid by its parent
    and is not in it."""
    each = [totals(opened.store, key) for key in {opened.key, *opened.store.scopes(opened.key)}]
    paid = [one.dollars for one in each if one.dollars is not None]
    return Totals(
        attempts=sum(one.attempts for one in each),
        moved=sum(one.moved for one in each),
        calls=sum(one.calls for one in each),
        usage=summed(one.usage for one in each),
        seconds=sum(one.seconds for one in each),
        dollars=sum(paid) or None,  # a call whose price is not known is in no sum
    )


# -- JSON values


def entry_json(entry: Compaction) -> dict[str, Any]:
    """One entry as the JSON contract has it."""
    return {
        "compaction": entry.ref or None,
        "kind": entry.kind,
        "outcome": entry.outcome,
        "time": entry.time,
        "author": entry.author or None,
        "inherited": entry.inherited or None,
        "source": compaction_ref(entry.source) if entry.source else None,
        "boundary": event_ref(entry.boundary) if entry.boundary else None,
        "checkpoint_tokens": entry.tokens,
        "noted": entry.noted,
        "trigger": entry.trigger or None,
        "run": entry.run,
        "mode": entry.mode,
        "before_tokens": entry.before,
        "after_tokens": entry.after,
        "target_tokens": entry.target or None,
        "model": entry.model or None,
        "model_calls": entry.calls,
        "prompt_tokens": entry.usage.input,
        "cached_tokens": entry.usage.cache_read,
        "output_tokens": entry.usage.output,
        "seconds": round(entry.seconds, 3),
        "money": entry.money.text if entry.money else None,
        "reasons": list(entry.reasons),
        "warnings": list(entry.warnings),
    }


def totals_json(total: Totals) -> dict[str, Any]:
    """The totals as the JSON contract has them."""
    return {
        "purpose": "compaction",
        "attempts": total.attempts,
        "moved": total.moved,
        "model_calls": total.calls,
        "prompt_tokens": total.usage.input,
        "cached_tokens": total.usage.cache_read,
        "output_tokens": total.usage.output,
        "seconds": round(total.seconds, 3),
        "dollars": total.dollars,
    }


def saved_json(against: Saved) -> dict[str, Any]:
    """The two bills as the JSON contract has them."""
    sent, whole, called = against.sent, against.original, against.called
    return {
        "requests": against.requests,
        "uncounted": against.uncounted,
        "prompt_tokens": sent.input,
        "cached_tokens": sent.cache_read,
        "written_tokens": sent.cache_write,
        "output_tokens": sent.output,
        "whole_prompt_tokens": whole.input,
        "whole_cached_tokens": whole.cache_read,
        "whole_written_tokens": whole.cache_write,
        "not_sent_tokens": against.not_sent,
        "outside_tokens": against.outside,
        "unread_requests": against.unread,
        "unpriced_calls": called.unpriced,
        "summaries_units": called.units if against.price else None,
        "billed_units": against.billed,
        "whole_units": against.would,
        "saved_units": against.saving,
        "saved_dollars": against.dollars,
        "beyond": event_ref(against.beyond) if against.beyond else None,
        "text": str(against),
    }


# -- readable text


def _print(
    session: str, found: Sequence[Compaction], attempts: Sequence[Attempt], total: Totals, misses: str, compared: str
) -> None:  # fmt: skip
    """A table, oldest first; then what all calls took, what the cache missed, and what was saved."""
    out = terminal()
    if not found:
        out.tell(f"session {session}: nothing was compacted yet")
    else:
        made = sum(bool(entry.version) for entry in found)
        out.tell(f"session {session}: {made} version(s), {len(found) - made} attempt(s) that came to nothing")
        out.print(_table(found, attempts))
    if total.calls:
        out.tell(_said(total))
    if misses:
        out.tell(misses)
    if compared:
        out.tell(compared)


def _table(found: Iterable[Compaction], attempts: Iterable[Attempt]) -> Table:
    failures = {(one.time, one.outcome): one.failure for one in attempts}
    columns = ("when", "what", "compaction", "from", "up to", "tokens", "why", "run", "by", "cost")
    rows = [
        (
            f"{datetime.fromtimestamp(entry.time, UTC):%Y-%m-%d %H:%M}", _what(entry), entry.ref, _from(entry),
            event_ref(entry.boundary) if entry.boundary else "", f"{entry.before:,} → {entry.after:,}", entry.trigger,
            "" if entry.run == "caller" else entry.run.replace("_", " "),
            _by(entry, failures.get((entry.time, entry.outcome), "") if entry.noted else ""),
            entry.money.text if entry.money else "",
        )
        for entry in found
    ]  # fmt: skip
    table = Table(box=None, pad_edge=False)
    used = [at for at in range(len(columns)) if any(row[at] for row in rows)]  # an empty column takes room from others
    for at in used:
        table.add_column(columns[at], justify="right" if columns[at] == "tokens" else "left")
    for row in rows:
        table.add_row(*(cell(row[at]) for at in used))
    return table


def _what(entry: Compaction) -> str:
    if not entry.version:
        return entry.outcome
    return entry.kind if entry.outcome == "applied" else f"{entry.kind}, {entry.outcome}"


def _from(entry: Compaction) -> str:
    """`compaction:2`, and the session that a fork has it from."""
    source = compaction_ref(entry.source) if entry.source else ""
    return ", ".join(filter(None, (source, f"inherited from {entry.inherited}" if entry.inherited else "")))


def _by(entry: Compaction, failure: str) -> str:
    asked = f"{entry.mode} {entry.model}".strip() if entry.model else ""
    who = entry.author or asked or entry.mode
    also = [asked] if asked and entry.author and entry.model not in entry.author else []
    return f"{who}{''.join(f' ({one})' for one in (*also, failure) if one)}"


def _said(total: Totals) -> str:
    """What the summary calls took, in a sentence."""
    usage = total.usage
    calls = f"{total.calls:,} call{'' if total.calls == 1 else 's'} of summary models"
    took = f"{usage.input:,} prompt tokens ({usage.cache_read:,} cached), {usage.output:,} completion tokens"
    paid = f", ${total.dollars:,.4f}" if total.dollars is not None else ""
    return f"compaction in all: {calls}, {took}, {total.seconds:.1f} s{paid}"
