"""How the commands print: JSON values and readable text. Knows nothing of stores."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec
from rich.table import Table
from rich.text import Text as Text_

from foldmark.cli.place import Database, Place, whose
from foldmark.cli.terminal import Terminal, terminal, visible
from foldmark.drafts import Request
from foldmark.errors import PolicyError
from foldmark.events import Artifact, Event, Image, Opaque, Paste, Reasoning, Text, ToolCall, ToolResult
from foldmark.kinds.base import plural
from foldmark.refs import artifact_ref, compaction_ref, event_ref
from foldmark.reports import Attempt, Entry
from foldmark.store import Key


def ranged(ref: str, lines: str, bytes_: str) -> str:
    """The ref with a line or byte range behind it. Raises PolicyError for an ill-formed range, and for both."""
    if lines and bytes_:
        raise PolicyError("--lines and --bytes both say which part of a body: name one of them.")
    for text, letter in ((lines, "L"), (bytes_, "B")):
        if text:
            if not re.fullmatch(r"[0-9]{1,18}(-[0-9]{1,18})?", text):
                raise PolicyError(f"{text!r} is no range; write 10-40.")
            first, _, last = text.partition("-")
            return f"{ref.split('#', maxsplit=1)[0]}#{letter}{first}-{last or first}"
    return ref


# -- JSON values


def event_json(event: Event, session: str = "", time: float | None = None) -> dict[str, Any]:
    """An event as JSON; names the refs of its artifacts. `session` is its session where that is not the one asked,
    `time` when it was recorded live, for one that does not say when it happened."""
    value: dict[str, Any] = msgspec.to_builtins(event)
    if event.time is None and time is not None:
        value["time"] = time
    value["ref"] = event_ref(event.seq, session)
    value["role"] = event.role
    value["artifacts"] = [artifact_ref(event.seq, artifact.number, session) for artifact in event.artifacts]
    return value


def entry_json(entry: Entry) -> dict[str, Any]:
    return {
        "ref": entry.ref,
        "status": entry.status,
        "artifact": entry.artifact,
        "tokens": entry.tokens,
        "reason": entry.reason,
    }


# -- readable text


def event_text(event: Event, *, limit: int = 0, session: str = "") -> str:
    """An event as people read it: a head line with its ref, then its parts. `limit` cuts each part (characters);
    `session` is its session where that is not the one asked."""

    def cut(text: str) -> str:
        if not limit or len(text) <= limit:
            return text
        return f"{text[:limit].rstrip()} … ({len(text) - limit:,} more characters)"

    who = event.role if event.origin in ("user", "agent", "tool", "control") else f"{event.role}, injected"
    ref = f"[{event_ref(event.seq, session)}] " if event.seq else ""
    lines = [f"{ref}{who}", *(_whole(event, one, session) for one in event.artifacts)]
    for part in event.parts:
        match part:
            case Text(text=text) | ToolResult(text=text) | Paste(text=text):
                lines.append(cut(text))
            case Reasoning(text=text):
                lines.append(f"(thinking) {cut(text)}" if text else "(sealed thinking)")
            case ToolCall(name=name, arguments=arguments):
                lines.append(f"→ {name} {cut(arguments)}")
            case Image(media_type=kind, url=url):
                lines.append(f"(image {kind or url})")
            case Opaque(provider=provider, raw=raw):
                lines.append(f"({provider} {cut(json.dumps(raw, ensure_ascii=False, default=str))})")
    return "\n".join(line for line in lines if line)


def _whole(event: Event, artifact: Artifact, session: str) -> str:
    """What of an event stands outside, and the command that shows it."""
    opened = f"foldmark load {artifact_ref(event.seq, artifact.number, session)}"
    if artifact.kind == "image":
        return f"(an image; {opened} opens it)"
    return f"(a preview; {opened} shows the whole, {plural(artifact.lines, 'line')})"


def log_text(events: Sequence[Event]) -> str:
    return "\n\n".join(event_text(event, limit=600) for event in events)


def request_text(made: Request) -> str:
    """What the next request holds, in order."""
    sizes = made.tokens
    blocks = [
        f"Next request: {sizes.total:,} tokens (static {sizes.static:,}, checkpoint {sizes.checkpoint:,}, "
        f"tail {sizes.tail:,}; room for {made.ceiling:,})."
    ]
    if made.system:
        blocks.append(f"system\n{made.system}")
    if made.tools:
        blocks.append(
            f"tools: {', '.join(str(tool.get('name') or tool.get('function', {}).get('name')) for tool in made.tools)}"
        )
    blocks += [event_text(event) for event in made.messages]
    return "\n\n".join(blocks)


def print_import(brought: dict[str, Any]) -> None:
    out = terminal()
    out.tell(
        f"Session {brought['session']} ({brought['format']}): {brought['new']:,} new events, "
        f"{brought['known']:,} known, {len(brought['children'])} child session(s) → {brought['db']}"
    )
    _warn(out, brought["warnings"])


def print_chosen(place: Place) -> None:
    """Say on standard error which session was taken, where none was named and there are several."""
    if place.chosen:
        terminal(errors=True).tell(place.chosen, "dim")


def print_scope(key: Key) -> None:
    """Say which scope of which session it is about, where that is not the whole."""
    if not key.is_whole:
        terminal().tell(f"session {whose(key)}")


def cell(text: str) -> Text_:
    """A cell of a table that shows its text and nothing else."""
    return Text_(visible(text))


def print_sessions(place: Database, rows: Sequence[dict[str, Any]]) -> None:
    """A table, newest first."""
    if not rows:
        terminal().tell(place.nothing)
        return
    table = Table(box=None, pad_edge=False)
    for column in ("session", "kind", "events", "title"):
        table.add_column(column, justify="right" if column == "events" else "left")
    for row in rows:
        title = "(damaged)" if row["damaged"] else " ".join(row["title"].split())[:60]
        table.add_row(cell(row["session"]), row["kind"], f"{row['events']:,}", cell(title))
    terminal().print(table)
    for row in rows:
        if row["damaged"]:
            terminal(errors=True).tell(f"foldmark: session {row['session']!r}: {row['damaged']}", "yellow")


def print_compaction(done: Any) -> None:
    """The outcome in a few lines: sizes, classes, boundary, what comes next."""
    out, facts = terminal(), done.contract
    print_scope(done.session.key)
    share = 100 * facts["request_tokens"] / max(1, facts["input_tokens"])
    out.tell(
        f"{facts['outcome']}: {facts['input_tokens']:,} → {facts['request_tokens']:,} tokens "
        f"({share:.0f}%), room for {facts['budget_tokens']:,}"
    )
    if facts["reason"]:
        out.tell(f"why: {facts['reason']}")
    sizes = facts["tokens"]
    if aim := done.due_target:
        out.tell(f"now: --target {aim} makes it due (about half of it); `foldmark plan --target {aim}` shows it first")
    out.tell(
        f"request: system and tools {sizes['static']:,} · checkpoint {sizes['checkpoint']:,} · tail {sizes['tail']:,}"
    )
    out.tell(
        f"events: {facts['events']:,} = {facts['in_request']:,} in the request ({facts['demoted']} demoted, "
        f"{facts['artifacts']} previews) + {facts['covered']:,} covered + {facts['left_out']:,} left out"
    )
    for call in facts["model_calls"]:
        took = f"{call['prompt_tokens'] or call['estimated_tokens']:,} tokens in, {call['output_tokens']:,} out"
        out.tell(
            f"asked: {call['model']} ({call['mode']}), {took}, {call['seconds']:.1f} s: {call['failure'] or 'used'}"
        )
    if facts["money"]:
        out.tell(f"money: {facts['money']['text']}")
    if facts["boundary"]:
        out.tell(f"boundary: {facts['boundary']}; everything before it is one `foldmark search` or `load` away")
    _expected(out, done.expected)
    _warn(out, facts["warnings"])


def _expected(out: Terminal, expected: tuple[int, str]) -> None:
    out.tell(f"next compaction: near {expected[0]:,} tokens ({expected[1]})")


def _warn(out: Terminal, warnings: Sequence[str]) -> None:
    for warning in list(warnings)[:10]:
        out.tell(f"note: {warning}", "yellow")
    if len(warnings) > 10:
        out.tell(f"note: {len(warnings) - 10} more; --json lists them all", "yellow")


def attempt_json(attempt: Attempt) -> dict[str, Any]:
    """One attempt as the JSON contract has it."""
    return {
        "time": attempt.time,
        "outcome": attempt.outcome,
        "trigger": attempt.trigger,
        "compaction": compaction_ref(attempt.version) if attempt.version else None,
        "boundary": event_ref(attempt.boundary) if attempt.boundary else None,
        "before_tokens": attempt.before,
        "after_tokens": attempt.after,
        "target_tokens": attempt.target or None,
        "mode": attempt.mode,
        "model": attempt.model or None,
        "model_calls": attempt.calls,
        "failure": attempt.failure or None,
        "prompt_tokens": attempt.usage.input,
        "cached_tokens": attempt.usage.cache_read,
        "output_tokens": attempt.usage.output,
        "seconds": round(attempt.seconds, 3),
        "money": attempt.money.text if attempt.money else None,
        "reasons": list(attempt.reasons),
    }


def print_explain(opened: Any, found: Sequence[Entry], expected: tuple[int, str], *, every: bool) -> None:
    """A table; unless `every`, neighbours with the same status and reason share a line."""
    out = terminal()
    table = Table(box=None, pad_edge=False)
    for column, side in (
        ("events", "left"),
        ("status", "left"),
        ("tokens", "right"),
        ("why", "left"),
        ("whole", "left"),
    ):
        table.add_column(column, justify=side)  # type: ignore[arg-type]
    for group in _groups(found, every):
        first, last = group[0], group[-1]
        refs = first.ref if first is last else f"{first.ref}-{last.seq}"
        whole = first.artifact or (
            f"{sum(bool(e.artifact) for e in group)} artifacts" if any(e.artifact for e in group) else ""
        )
        table.add_row(refs, first.status, f"{sum(e.tokens for e in group):,}", cell(first.reason), whole)
    out.tell(f"session {whose(opened.key)}: {len(found):,} events")
    out.print(table)
    _expected(out, expected)
    if misses := opened.cache_misses():
        out.tell(misses)


def _groups(found: Sequence[Entry], every: bool) -> list[list[Entry]]:
    groups: list[list[Entry]] = []
    for entry in found:
        last = groups[-1][-1] if groups else None
        if last and not every and (last.status, last.reason) == (entry.status, entry.reason):
            groups[-1].append(entry)
        else:
            groups.append([entry])
    return groups
