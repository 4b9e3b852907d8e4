"""Every code of the doctor with how bad it is and what to do about it. Knows nothing of how problems are found."""

from __future__ import annotations

from foldmark.doctor.values import Severity
from foldmark.wire import WIRES

_MEND = "`--repair OUT` mends it."
_COMPACT = "Run `foldmark compact FILE --target {target} --out next.json`"
_LOOK = "`--repair OUT` mends it; read the change, since nobody can restore what was not recorded."

ADVICE: dict[str, tuple[Severity, str]] = {
    # the file
    "truncated": ("error", "`--repair OUT` leaves the broken end out and saves its bytes beside as OUT.rejected."),
    "bad_line": ("error", "`--repair OUT` leaves the line out and saves its bytes beside as OUT.rejected."),
    "too_deep": ("error", "`--repair OUT` leaves the record out and saves its bytes beside as OUT.rejected."),
    "nul_bytes": ("error", _MEND),
    "control_characters": ("error", _MEND),
    "glued_lines": ("error", _MEND),
    "not_a_number": ("error", _MEND),
    "invalid_utf8": ("error", _MEND),
    "encoding": ("error", _MEND),
    "shape": ("error", _LOOK),
    # the tree of a Claude Code session
    "duplicate_record": ("error", _MEND),
    "duplicate_uuid": ("error", _MEND),
    "missing_uuid": ("error", _MEND),
    "parent_missing": (
        "error",
        "`--repair OUT` joins the lines; without it a resumed session has lost what is before.",
    ),
    "parent_loop": ("error", "`--repair OUT` cuts the circle; without it the session cannot be resumed."),
    "sidechain": ("error", "`--repair OUT` joins the main line again; the sub-agent's rows stay."),
    "row_order": ("warning", _MEND),
    "boundary_parent": ("warning", _MEND),
    "api_error": (
        "warning",
        "Read what the provider said there; if the request was too long, `foldmark compact` helps.",
    ),
    "session_meta": ("error", _MEND),
    "no_session_meta": (
        "error",
        "Codex cannot resume it. Take the session_meta line from another copy of the rollout, or go on from "
        "`foldmark compact FILE --out next.json`.",
    ),
    # calls and results
    "orphan_result": ("error", "`--repair OUT` keeps it as text that quotes the result and its id."),
    "missing_result": (
        "error",
        "If the run is still going on, wait. Else `--repair OUT` adds a result that says that none was recorded.",
    ),
    "split_result": ("error", "`--repair OUT` moves the result to the others of its step."),
    "duplicate_result": ("error", "`--repair OUT` keeps the first; one that differs stays as text."),
    "duplicate_call_id": ("error", "`--repair OUT` gives the later call and its result an id of their own."),
    "repeated_call_id": (
        "warning",
        "Harmless for the API itself; others refuse it. `--repair OUT` gives ids of their own.",
    ),
    "call_id": ("error", "`--repair OUT` gives call and result a valid id."),
    "result_order": ("error", _MEND),
    "arguments_json": ("error", '`--repair OUT` wraps the text as {"_raw": …}; the model cannot see the lost rest.'),
    "arguments_type": ("error", _MEND),
    "input_type": ("error", _MEND),
    "duplicate_item": ("error", _MEND),
    "reasoning_last": ("error", "`--repair OUT` leaves the sealed reasoning out."),
    # thinking
    "signature": ("error", "`--repair OUT` leaves the block out whole; it can never be sent."),
    "thinking_edited": ("error", "`--repair OUT` leaves the blocks out whole; signed thinking must never be edited."),
    "thinking_suspect": ("warning", "If something shortens thinking, stop it: leave a block whole or leave it out."),
    "thinking_first": ("error", "Send the step's own thinking block in front of its calls, or turn thinking off."),
    # text
    "unencodable": ("error", _MEND),
    "nul": ("warning", _MEND),
    "blank_text": ("error", _MEND),
    "empty_content": ("error", _MEND),
    "role": ("error", _LOOK),
    "first_user": ("error", _LOOK),
    # sizes
    "image_size": ("error", "Scale the image down, or take it out of the transcript."),
    "too_many_images": (
        "error",
        _COMPACT + ": old results with their images leave the request.",
    ),
    "string_size": (
        "error",
        _COMPACT + ": it keeps such bodies outside and puts a preview there.",
    ),
    "request_size": (
        "error",
        _COMPACT + ": the next request then fits.",
    ),
    "long_session": (
        "warning",
        "Sent whole it is refused. " + _COMPACT + ": the next request fits.",
    ),
    "too_many_messages": (
        "warning",
        _COMPACT + ": it makes a shorter one.",
    ),
    "too_many_calls": ("warning", "Let the model call fewer tools at once."),
    "oversize_item": (
        "warning",
        _COMPACT + ": a preview takes its place, the whole one stays outside.",
    ),
    "window": (
        "error",
        "Run `foldmark compact FILE --window {window} --target {target} --out next.json`: the next request then fits.",
    ),
    "window_near": (
        "warning",
        "Compact soon: `foldmark compact FILE --window {window} --target {target} --out next.json`.",
    ),
    # repeats
    "repeated_call": ("warning", "The agent goes round in a circle, or a poller runs: tell it, and compact."),
    "repeated_text": ("warning", "Something puts the same text in again and again: put it into the system text once."),
    "nested_summary": (
        "warning",
        "Summaries quote their predecessors and grow: give the summariser the events instead.",
    ),
    "unreadable": ("error", "No writer can put this right; see the message."),
}

_GENERAL: dict[Severity, str] = {
    "error": "Change it where the message is written; the provider refuses it.",
    "warning": "Some models and servers refuse it; change it if yours does.",
}


_ALWAYS = frozenset(["arguments_json", "duplicate_result", "duplicate_call_id"])
"""Refused by some servers only, but for good: a transcript outlives the server that took it, and a mend is there."""


BY_HAND = frozenset(
    ["request_size", "window", "string_size", "too_many_images", "no_session_meta", "no_messages", "unreadable"]
)
"""Errors that no repair can mend."""


def severity_of(code: str, wire: str) -> Severity:
    """How bad a problem is: what the wire's own rules say, else the table."""
    for known in WIRES if code not in _ALWAYS else ():
        if wire == known.NAME:
            for rule in known.RULES:
                if rule.code == code:
                    return "error" if rule.certainty == "known" else "warning"
    return ADVICE[code][0] if code in ADVICE else "error"


_WINDOW, _TARGET_SHARE = 128_000, 4
"""The window that is taken when none is named, and the share of it that a compaction aims at: one part of so many."""


def advice_of(code: str, severity: Severity, window: int | None = None) -> str:
    """What to do about a problem of this code, with the numbers for a window in tokens."""
    if code not in ADVICE:
        return _GENERAL[severity]
    target = max(1, (window or _WINDOW) // _TARGET_SHARE)
    return ADVICE[code][1].replace("{window}", str(window or _WINDOW)).replace("{target}", str(target))
