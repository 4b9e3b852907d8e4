"""Every code of the doctor with how bad it is and what to do about it. Knows nothing of how problems are found."""

from __future__ import annotations

from foldmark.doctor.values import Severity
from foldmark.wire import WIRES

_COMPACT = "Run `foldmark compact FILE --target {target} --out next.json`"
_LOOK = (
    "`--repair OUT` writes it in the form that the API takes; read the change, since nobody can restore what was lost."
)

ADVICE: dict[str, tuple[Severity, str]] = {
    # the file
    "truncated": ("error", "`--repair OUT` leaves the broken end out and saves its bytes beside as OUT.rejected."),
    "bad_line": ("error", "`--repair OUT` leaves the line out and saves its bytes beside as OUT.rejected."),
    "too_deep": ("error", "`--repair OUT` leaves the record out and saves its bytes beside as OUT.rejected."),
    "nul_bytes": ("error", "`--repair OUT` leaves the bytes of value 0 out."),
    "control_characters": ("error", "`--repair OUT` writes them with the escapes that JSON wants."),
    "glued_lines": ("error", "`--repair OUT` puts each whole record on a line of its own."),
    "not_a_number": ("error", "`--repair OUT` writes null instead."),
    "invalid_utf8": ("error", "`--repair OUT` writes U+FFFD instead."),
    "encoding": ("error", "`--repair OUT` writes UTF-8."),
    "shape": ("error", _LOOK),
    # the tree of a Claude Code session
    "duplicate_record": ("error", "`--repair OUT` leaves the second out."),
    "duplicate_uuid": ("error", "`--repair OUT` gives the second record a uuid of its own."),
    "missing_uuid": ("error", "`--repair OUT` gives the record a uuid."),
    "parent_missing": (
        "error",
        "`--repair OUT` joins the lines; without it a resumed session has lost what is before.",
    ),
    "parent_loop": ("error", "`--repair OUT` cuts the circle; without it the session cannot be resumed."),
    "sidechain": ("error", "`--repair OUT` joins the main line again; the sub-agent's rows stay."),
    "row_order": ("warning", "`--repair OUT` moves the row behind it."),
    "result_before_call": ("error", "`--repair OUT` moves the result behind its call."),
    "boundary_parent": ("warning", "`--repair OUT` lets it follow the row before."),
    "api_error": (
        "warning",
        "Read what the provider said there; if the request was too long, `foldmark compact` helps; "
        "for `Invalid signature`, `--repair OUT --without-thinking`.",
    ),
    "session_meta": ("error", "`--repair OUT` puts it in front, a minimal one when the file has none."),
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
    "duplicate_call_id": (
        "error",
        "`--repair OUT` gives the later call (and its result) an id of its own; one that equals the first is left out.",
    ),
    "repeated_call_id": (
        "warning",
        "Harmless for the API itself; others refuse it. `--repair OUT` gives ids of their own.",
    ),
    "call_id": ("error", "`--repair OUT` gives call and result a valid id."),
    "result_order": ("error", "`--repair OUT` puts the results in front."),
    "arguments_json": ("error", '`--repair OUT` wraps the text as {"_raw": …}; the model cannot see the lost rest.'),
    "arguments_type": ("error", "`--repair OUT` writes them as JSON text."),
    "input_type": ("error", '`--repair OUT` reads it as the JSON object it holds, else wraps it as {"_raw": …}.'),
    "duplicate_item": ("error", "`--repair OUT` leaves an equal item out; another one loses its id."),
    "reasoning_last": ("error", "`--repair OUT` leaves the sealed reasoning out."),
    # thinking
    "signature": ("error", "`--repair OUT` leaves the block out whole; it can never be sent."),
    "thinking_edited": ("error", "`--repair OUT` leaves the blocks out whole; signed thinking must never be edited."),
    "thinking_suspect": (
        "warning",
        "An edited signature cannot be seen here. If the provider says `Invalid signature`: `--repair OUT "
        "--without-thinking` leaves all thinking out.",
    ),
    "thinking_first": ("error", "Send the step's own thinking block in front of its calls, or turn thinking off."),
    # text
    "unencodable": ("error", "`--repair OUT` writes U+FFFD instead; thinking is left out whole."),
    "nul": ("warning", "`--repair OUT` writes U+FFFD instead; thinking is left out whole."),
    "blank_text": ("error", "`--repair OUT` leaves it out."),
    "empty_content": ("error", "`--repair OUT` leaves the message out, or writes the empty form that the API takes."),
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

_ALSO_MENDED = {
    "tool_name": "writes a name that the API takes",
    "thinking_last": "leaves the block out whole",
    "error_content": "puts what is no text behind the results",
    "block_role": "leaves thinking out and quotes a call as text",
    "block_type": "writes the block in this API's form, else as text",
    "content_type": "writes the block in this API's form, else as text",
    "server_result": "quotes the call as text",
    "compaction_first": "writes it as text",
    "mark_place": "leaves the mark out",
    "mark_order": "leaves the marks out",
    "too_many_marks": "leaves the marks out",
    "image_type": "puts a note in its place",
    "image_size": "puts a note in its place",
    "image_role": "puts the images into a user message behind it",
    "media_type": "puts a note in its place",
    "base64": "leaves the head of a data: address out, else puts a note in its place",
    "system_placement": "moves the text into the top-level `system`, else into a message of the user",
    "unknown_field": "leaves the field out",
    "message_name": "writes a name that the API takes",
    "empty_calls": "leaves the empty list out",
    "empty_tools": "leaves the empty list out",
    "blank_content": "leaves the part out",
    "empty_part": "leaves the part out",
    "part_data": "gives each a part of its own",
    "part_role": "quotes it as text",
    "args_type": "puts them into an object",
    "response_type": "puts it into an object",
    "call_placement": "joins it to the turn before",
}
"""What a repair does about a problem that it has a mend for. The provider's rules find the same codes where it has none
(the name of a tool's definition); there they are for the writer of the message."""

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


def mend_of(code: str, change: str) -> str:
    """What the repair does about a problem whose mend makes this change; empty when it makes none, or when the advice
    on the code says it."""
    if not change or (code in ADVICE and code not in _ALSO_MENDED):
        return ""
    return f"`--repair OUT` {_ALSO_MENDED[code]}." if code in _ALSO_MENDED else f"`--repair OUT`: {change}."


def advice_of(code: str, severity: Severity, window: int | None = None) -> str:
    """What to do about a problem of this code, with the numbers for a window in tokens."""
    if code not in ADVICE:
        return _GENERAL[severity]
    target = max(1, (window or _WINDOW) // _TARGET_SHARE)
    return ADVICE[code][1].replace("{window}", str(window or _WINDOW)).replace("{target}", str(target))
