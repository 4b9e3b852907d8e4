"""Asks: the words of a summary request and the room they leave for records. Knows nothing of events or of answers.

A standalone request is one system text and one user message of plain text: no tool blocks, so no provider has pairs to
miss, and every text in it that somebody else wrote is quoted and redacted. It always fits the summary model's own
window: room is measured with the words around the records, and what is too long around them is shortened first.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from foldmark import tokens
from foldmark.asking import Ask, ModelInfo, info_of
from foldmark.checkpoint import Item
from foldmark.errors import SummarizerFailed, words_of_error
from foldmark.events import injected
from foldmark.kinds import clean_text
from foldmark.narrative import (
    FORK,
    FORK_SHAPE,
    INSTRUCTIONS,
    JSON_SHAPE,
    MATTERS,
    MEANINGS,
    PLAIN_SHAPE,
    RECORDS_TAG,
    SYSTEM,
    Record,
    as_text,
    schema_of,
)
from foldmark.parting import beginning, both_ends, joined, parts_of
from foldmark.redact import Redactor
from foldmark.render import escape
from foldmark.summarizer import Hooks, Prompt, Style, Summarizer
from foldmark.tokens import TokenCounter

__all__ = ["SCHEMA", "fork_words", "output_room", "parts_of", "room_for_records", "standalone", "style_of"]

SCHEMA: dict[str, Any] = schema_of()
"""What an answer of a model that can be bound to a schema looks like."""

LITTLE_ROOM = 200
"""Tokens for records under which the earlier notes and what code knows are shortened first."""
_MESSAGES = 24
"""Tokens of the two messages around the words, on any wire, and a few for seams between joined texts."""
_FOCUS_TOKENS = 160
_HEADINGS = 40
_GENERAL = ("chat", "research", "realtime")


class Around(msgspec.Struct, frozen=True, kw_only=True):
    """The words of a request without its records, and the tokens (ours) left for those."""

    system: str
    instructions: str
    known: str
    previous: str
    focus: str
    shape: str
    schema: dict[str, Any] | None
    room: int


def style_of(prompt: Prompt, policy_name: str) -> Style:
    """What matters in a record: as the prompt says, else `general` for presets that talk and read, else `coding`."""
    return prompt.style or ("general" if policy_name in _GENERAL else "coding")


def output_room(info: ModelInfo, summarizer: Summarizer) -> int:
    """Tokens of an answer: as the limits say, and no more than a third of the model's window, or than it gives."""
    return max(1, min(summarizer.limits.output_tokens, info.window // 3, info.output or info.window))


def room_for_records(
    info: ModelInfo,
    summarizer: Summarizer,
    *,
    known: str = "",
    previous: str = "",
    focus: str = "",
    style: Style = "coding",
    count: TokenCounter = tokens.count,
) -> int:
    """How many tokens (o200k) of records one request to this model can hold beside its words; never negative."""
    words = _Words(summarizer, style, known, previous, focus, count)
    return min(words.around(info, plain=plain).room for plain in (False, True))


def standalone(
    model: Any,
    summarizer: Summarizer,
    told: Sequence[Record],
    *,
    known: str = "",
    previous: Sequence[Item] = (),
    focus: str = "",
    part: int = 1,
    parts: int = 1,
    plain: bool = False,
    style: Style = "coding",
    redact: Redactor,
    warn: Callable[[str], None] = lambda text: None,
    info: ModelInfo | None = None,
    count: TokenCounter = tokens.count,
) -> Ask:
    """The request that has a model revise the narrative by the records of one part.

    `known` is what code has recorded already, `plain` asks for text even where the model could be bound to the schema.
    `info` describes the model better than it does itself (a window learned from a refusal). `warn` is told of a hook
    that failed or wrote more than fits. Raises SummarizerFailed when `hooks.before` fails and `hooks.abort` is set.
    """
    info = info or info_of(model)
    notes = clean_text(redact(as_text(previous)))
    words = _Words(summarizer, style, clean_text(redact(known)), notes, redact(focus), count)
    around = words.around(info, plain=plain)
    text = _conversation(clean_text(joined(told)), summarizer.hooks, redact, warn)
    room = max(around.room, 1)
    message = words.message(around, text, part, parts)
    if (spare := room - count(text)) < 0:
        warn(f"The text of part {part} had {-spare:,} tokens more than fit {info.name}; its middle was left out.")
        message = words.message(around, both_ends(text, room, "the events named", count), part, parts)
    return Ask(
        model=model,
        system=around.system,
        messages=(injected(message),),
        schema=copy.deepcopy(around.schema),  # an adapter may change its own
        max_output=output_room(info, summarizer),
        timeout_seconds=summarizer.limits.timeout_seconds,
        tokens=count(around.system) + count(message) + _schema_tokens(around.schema, count) + _MESSAGES,
        part=part,
        parts=parts,
    )


def fork_words(
    summarizer: Summarizer,
    boundary: int,
    previous: Sequence[Item] = (),
    *,
    focus: str = "",
    style: Style = "coding",
    redact: Redactor = lambda text: text,
) -> str:
    """The instruction behind a clone of the parent request. The conversation stands in front of it without event
    numbers (up to the event `boundary` and what follows it), so items are asked for without refs: code finds what
    proves them by their words. `redact` goes over the earlier notes and the focus."""
    prompt = summarizer.prompt
    template = FORK if prompt.fork_instructions is None else prompt.fork_instructions
    words = _fill(_template(template), {"max_summary_words": str(prompt.words)})
    notes = clean_text(redact(as_text(msgspec.structs.replace(item, refs=()) for item in previous)))
    blocks = [
        words,
        f"The conversation above is the session up to event {boundary} and what followed.",
        f"Earlier notes; keep of them what still holds:\n{notes}" if notes else "",
        "" if _names_fields(template) else f"{MATTERS[style]}\n{MEANINGS}\n\n{FORK_SHAPE}",
        _focus_block(redact(focus), tokens.count),
    ]
    return "\n\n".join(block for block in blocks if block)


class _Words:
    """The texts of one request before they are made to fit a model."""

    def __init__(
        self, summarizer: Summarizer, style: Style, known: str, previous: str, focus: str, count: TokenCounter
    ) -> None:
        self.summarizer, self.style, self.count = summarizer, style, count
        self.prompt = summarizer.prompt
        self.known, self.previous = escape(known.strip()), previous.strip()
        self.focus = _focus_block(focus, count)

    def around(self, info: ModelInfo, *, plain: bool) -> Around:
        """The words for one model. When they leave little room, the earlier notes are cut to a third of what there is
        and what code knows to a sixth."""
        prompt = self.prompt
        bound = info.schema if prompt.schema is None else prompt.schema
        schema = SCHEMA if bound and not plain else None
        own = SYSTEM if prompt.system is None else _template(prompt.system)
        system = _fill(own, {"max_summary_words": str(prompt.words)})
        instructions = INSTRUCTIONS if prompt.instructions is None else _template(prompt.instructions)
        shape = f"{MATTERS[self.style]}\n{MEANINGS}\n\n{JSON_SHAPE if schema else PLAIN_SHAPE}"
        if _names_fields(instructions) or _names_fields(system if prompt.system is not None else ""):
            shape = ""
        fixed = sum(map(self.count, (system, instructions, shape, self.focus))) + _HEADINGS + _MESSAGES
        whole = _input_room(info, self.summarizer) - fixed - _schema_tokens(schema, self.count)
        times = max(1, instructions.count("{previous_summary}"))
        known, previous = self.known, self.previous
        if whole - self.count(known) - times * self.count(previous) < LITTLE_ROOM:
            known = beginning(known, max(0, whole // 6), self.count)
            previous = beginning(previous, max(0, whole // (3 * times)), self.count)
        left = whole - self.count(known) - times * self.count(previous)
        return Around(
            system=system, instructions=instructions, known=known, previous=previous, focus=self.focus, shape=shape,
            schema=schema, room=max(0, left // instructions.count("{conversation_text}")),
        )  # fmt: skip

    def message(self, around: Around, text: str, part: int, parts: int) -> str:
        """The user text: what code knows, the instructions with notes and records in their places, the form of the
        answer, the focus."""
        title = f' part="{part} of {parts}"' if parts > 1 else ""
        records = f"<{RECORDS_TAG}{title}>\n{text}\n</{RECORDS_TAG}>"
        if "{previous_summary}" not in around.instructions and around.previous:
            records = f"Notes so far:\n{around.previous}\n\n{records}"
        values = {
            "conversation_text": records,
            "previous_summary": around.previous or "(none)",
            "max_summary_words": str(self.prompt.words),
        }
        known = f"Already recorded by code; do not repeat it:\n{around.known}" if around.known else ""
        blocks = (known, _fill(around.instructions, values), around.shape, around.focus)
        return "\n\n".join(block for block in blocks if block)


def _input_room(info: ModelInfo, summarizer: Summarizer) -> int:
    """Tokens (ours) that a whole request may have: the share of the window, and never the room of the answer."""
    most = min(int(summarizer.limits.input_share * info.window), info.window - output_room(info, summarizer))
    return int(most / max(info.factor, 0.1))


def _schema_tokens(schema: Mapping[str, Any] | None, count: TokenCounter) -> int:
    """A schema may be written into the prompt by the server: it is counted as compact JSON."""
    return count(json.dumps(schema, separators=(",", ":"))) if schema else 0


def _conversation(text: str, hooks: Hooks, redact: Redactor, warn: Callable[[str], None]) -> str:
    """The records as `hooks.before` leaves them, redacted after it."""
    if hooks.before is None:
        return text
    try:
        changed = hooks.before(text)
        if not isinstance(changed, str):
            raise TypeError(f"it returned {type(changed).__name__}, not text")
    except Exception as error:
        reason = redact(words_of_error(error))[:200]
        if hooks.abort:
            raise SummarizerFailed(f"hooks.before failed ({reason}). Nothing was changed.", retryable=False) from error
        warn(f"hooks.before failed ({reason}); its text went on unchanged.")
        return text
    return escape(clean_text(redact(changed)))


def _focus_block(focus: str, count: TokenCounter) -> str:
    words = beginning(escape(" ".join(clean_text(focus).split())), _FOCUS_TOKENS, count)
    return f"Give most of the notes to what belongs to this, and to the rest only a little: {words}" if words else ""


def _names_fields(template: str) -> bool:
    """Whether custom words describe the answer themselves: they name its first and its last field."""
    return "current_work" in template and "conflicts" in template


def _template(words: str) -> str:
    """Custom words that may stand in a request. They are no terminal's output: an escape in them takes no placeholder
    with it."""
    return clean_text(_CONTROLS.sub("\ufffd", words.replace("\r\n", "\n").replace("\r", "\n")))


_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_HOLE = re.compile(r"\{(conversation_text|previous_summary|max_summary_words)\}")


def _fill(template: str, values: Mapping[str, str]) -> str:
    """A template with its placeholders filled in one pass: what is filled in may itself hold braces."""
    return _HOLE.sub(lambda hole: values.get(hole[1], hole[0]), template)
