"""How results and pastes enter the log: a big one becomes a preview and a body outside. Knows nothing of
storage or requests.

Nothing is lost: the body keeps every character (lone surrogates and NULs too), the preview is made from
redacted text. What a user says in their own words stays verbatim; only what they pasted may leave.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from foldmark import tokens
from foldmark.events import Artifact, Body, Event, Image, Part, Paste, Text, ToolCall, ToolResult
from foldmark.evidence import RECALLED_CHARACTERS
from foldmark.kinds import ENCODED, count_lines, on_screen, outcome, recognise
from foldmark.pictures import size_of
from foldmark.policy import Policy
from foldmark.readings import is_recalled
from foldmark.recalls import recalls
from foldmark.redact import redact_json
from foldmark.store import Context
from foldmark.store.calls import answers

UNKNOWN_WINDOW = 128_000
SURELY_BIG = 16
"""Characters per token that no real text reaches on average: a longer text is over the limit without
counting."""

Redact = Callable[[str], str]


def admit(
    context: Context, policy: Policy, *, redact: Redact = lambda text: text
) -> tuple[tuple[Event, ...], tuple[Body, ...]]:
    """The new events as they enter the log, each with its `tokens`, and the bodies that stay outside.

    Same in, same out. Fingerprints and all other fields stay; `meta["outcome"]` of a shortened result is
    the one line that a later demotion shows.
    """
    meter = _meter()
    limit = limit_tokens(policy, context.window)
    events: list[Event] = []
    bodies: list[Body] = []
    for arrived, call in zip(context.new, answers(context.new, context.calls), strict=True):
        event, made = arrived, list[Body]()
        if arrived.result:
            event, made = _admit_result(arrived, call.call if call else None, limit, policy, redact, meter)
        elif arrived.role == "user":
            event, made = _admit_words(arrived, policy, redact, meter)
        event, pictures = _admit_images(event, policy.admission.inline_bytes, len(made))
        bodies += made + pictures
        events.append(msgspec.structs.replace(event, tokens=tokens.event_tokens(event, meter)))
    return tuple(events), tuple(bodies)


def limit_tokens(policy: Policy, window: int = 0) -> int:
    """The size from which a tool result is shortened: as the policy says, else 2% of the window, 1,000 to
    8,000."""
    if policy.admission.limit_tokens is not None:
        return policy.admission.limit_tokens
    return max(1_000, min(8_000, (window or policy.window or UNKNOWN_WINDOW) // 50))


def preview_tokens(policy: Policy, limit: int) -> int:
    """What a preview may cost: as the policy says, else a quarter of the limit, at least 500."""
    return policy.admission.preview_tokens or max(500, limit // 4)


def _meter() -> tokens.TokenCounter:
    """A counter that counts each text of one batch once."""
    known: dict[str, int] = {}

    def meter(text: str) -> int:
        size = known.get(text)
        if size is None:
            size = known[text] = tokens.count(text)
        return size

    return meter


def _is_big(text: str, limit: int, inline_bytes: int, meter: tokens.TokenCounter) -> bool:
    """Whether a text is over the limit, counting only when its length does not settle it (4 bytes per
    character and one byte per token are the extremes)."""
    if len(text) * 4 <= inline_bytes or (len(text) <= limit and text.isascii()):
        return False
    if len(text) <= inline_bytes and len(text.encode("utf-8", "surrogatepass")) <= inline_bytes:
        return False
    return len(text) > limit * SURELY_BIG or meter(text) > limit


def _admit_result(
    event: Event,
    call: ToolCall | None,
    limit: int,
    policy: Policy,
    redact: Redact,
    meter: tokens.TokenCounter,
) -> tuple[Event, list[Body]]:
    result = event.result
    if result is None or result.artifact or not _is_big(result.text, limit, policy.admission.inline_bytes, meter):
        return event, []
    if len(result.text) <= RECALLED_CHARACTERS and is_recalled(event, call, partial(recalls, policy=policy)):
        return event, []  # its whole is in the log, and its bound is its own
    shown = _shown(result.text, call, redact)
    if call:  # previews of commands name the command
        call = msgspec.structs.replace(call, arguments=redact_json(call.arguments, redact))
    kind = recognise(shown, call)
    # Once more: entities and tags of a page may have hidden a secret until they were read.
    preview = redact(kind.preview(shown, preview_tokens(policy, limit), meter))
    if len(preview) >= len(result.text):
        return event, []
    artifact, body = _outside(event.seq, 1, result.text, kind.name, limit, meter)
    part = ToolResult(result.call_id, preview, result.name, result.is_error, result.images, artifact)
    parts: tuple[Part, ...] = tuple(part if old is result else old for old in event.parts)
    meta = {**event.meta, "outcome": redact(outcome(shown, call))}
    return msgspec.structs.replace(event, parts=parts, meta=meta), [body]


def _shown(text: str, call: ToolCall | None, redact: Redact) -> str:
    """What a preview is made of: redacted, as a terminal shows it. The screen comes first: escape codes inside a secret
    would hide it. Bodies of bytes stay as they are, since every byte of them counts."""
    screen = on_screen(text)
    return redact(text if screen is text or recognise(text, call) is ENCODED else screen)


def _admit_images(event: Event, inline_bytes: int, before: int) -> tuple[Event, list[Body]]:
    """Images over `inline_bytes` leave the event, each as a body that is stored once however often it comes. Their
    sizes in pixels are read first: what an image costs depends on nothing else. `before` bodies of the event have
    numbers already."""
    bodies: list[Body] = []

    def outside(image: Image) -> Image:
        if len(image.data) <= inline_bytes or image.artifact:
            return image
        number = before + len(bodies) + 1
        width, height = size_of(image)
        sha256 = hashlib.sha256(image.data.encode("utf-8", "surrogatepass")).hexdigest()
        bodies.append(Body(event.seq, number, sha256, "image", image.data))
        artifact = Artifact(sha256, len(image.data), 1, "image", number)
        return msgspec.structs.replace(image, data="", width=width, height=height, artifact=artifact)

    parts: list[Part] = []
    for part in event.parts:
        if isinstance(part, Image):
            parts.append(outside(part))
        elif isinstance(part, ToolResult) and part.images:
            parts.append(msgspec.structs.replace(part, images=tuple(map(outside, part.images))))
        else:
            parts.append(part)
    return (msgspec.structs.replace(event, parts=tuple(parts)), bodies) if bodies else (event, [])


def _outside(
    seq: int, number: int, text: str, kind: str, limit: int, meter: tokens.TokenCounter
) -> tuple[Artifact, Body]:
    data = text.encode("utf-8", "surrogatepass")
    sha256 = hashlib.sha256(data).hexdigest()
    size = meter(text) if len(text) <= limit * SURELY_BIG else 0
    artifact = Artifact(sha256, len(data), count_lines(text), kind, number, size)
    return artifact, Body(seq, number, sha256, kind, text)


def _admit_words(event: Event, policy: Policy, redact: Redact, meter: tokens.TokenCounter) -> tuple[Event, list[Body]]:
    """A message over `user_words_tokens`: its pasted blocks leave, largest pieces only, the words around
    them stay."""
    limit, inline = policy.admission.user_words_tokens, policy.admission.inline_bytes
    whole = sum(len(part.text) for part in event.parts if isinstance(part, Text))
    if whole <= limit or not any(
        _is_big(part.text, limit, inline, meter) for part in event.parts if isinstance(part, Text)
    ):
        return event, []
    parts: list[Part] = []
    bodies: list[Body] = []
    for part in event.parts:
        if not isinstance(part, Text) or part.raw or not _is_big(part.text, limit, inline, meter):
            parts.append(part)
            continue
        for text, is_paste in split_words(part.text, limit, meter):
            if not is_paste:
                parts.append(Text(text))
                continue
            shown = _shown(text, None, redact)
            kind = recognise(shown, None)
            artifact, body = _outside(event.seq, len(bodies) + 1, text, kind.name, limit, meter)
            parts.append(Paste(redact(kind.preview(shown, preview_tokens(policy, limit), meter)), artifact))
            bodies.append(body)
    return msgspec.structs.replace(event, parts=tuple(parts)), bodies


_OPENING = re.compile(r"^[ \t]*(?:(?P<fence>`{3,}|~{3,})|<(?P<tag>[A-Za-z][\w-]*)(?: [^<>\n]*)?>)[^\n]*$", re.MULTILINE)
_CLOSING = re.compile(r"</([A-Za-z][\w-]*)>")
_BLOCK = 1_000
"""Characters: a shorter block saves less than its own preview and ref cost."""


def split_words(text: str, limit: int, meter: tokens.TokenCounter) -> list[tuple[str, bool]]:
    """(piece, is it pasted) pairs that join to the text again. Fenced and tagged blocks are pasted; when the
    words left are still over `limit`, the part between first and last paragraphs counts as pasted too."""
    pieces: list[tuple[str, bool]] = []
    at = 0
    for start, end in _blocks(text):
        if end - start >= _BLOCK:
            pieces += [(text[at:start], False), (text[start:end], True)]
            at = end
    pieces.append((text[at:], False))
    out: list[tuple[str, bool]] = []
    for piece, is_paste in pieces:
        if is_paste or (len(piece) <= limit * SURELY_BIG and meter(piece) <= limit):
            out.append((piece, is_paste))
        else:
            out += _around(piece, limit)
    return [(piece, is_paste) for piece, is_paste in out if piece]


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Insides of fenced and tagged blocks that begin a line, outermost only; an open fence never ends."""
    at = 0
    last = {closing[1]: closing.start() for closing in _CLOSING.finditer(text)}
    while opening := _OPENING.search(text, at):
        start = at = min(len(text), opening.end() + 1)
        if fence := opening["fence"]:
            closing = re.compile(rf"^[ \t]*{fence}[ \t]*$", re.MULTILINE).search(text, start)
            end, at = closing.span() if closing else (len(text), len(text))
        else:
            start = opening.end("tag") + 1
            if last.get(opening["tag"], -1) < start:
                continue
            tag = f"</{opening['tag']}>"
            end = text.find(tag, start)
            start = text.find(">", start - 1) + 1
            at = end + len(tag)
        yield start, end


def _around(text: str, limit: int) -> list[tuple[str, bool]]:
    """First and last paragraphs of words, and what stands between them as a paste."""
    head = _words_end(text, limit)
    tail = max(head, len(text) - _words_end(text[::-1], limit, backwards=True))
    return [(text[:head], False), (text[head:tail], True), (text[tail:], False)]


_PROSE = re.compile(r"[^\W\d_]{2,}")


def _is_prose(paragraph: str) -> bool:
    """Few lines, mostly words: something said rather than copied."""
    lines = [line for line in paragraph.split("\n") if line.strip()]
    letters = sum(map(len, _PROSE.findall(paragraph)))
    symbols = sum(paragraph.count(sign) for sign in "{}[]<>;=|\\")
    return len(lines) <= 12 and letters * 2 > len(paragraph.strip()) and symbols * 20 < len(paragraph)


def _words_end(text: str, limit: int, *, backwards: bool = False) -> int:
    """Characters at the front (of the reversed text: at the end) that are the user's own words, at most a
    quarter of `limit` in tokens (about as many characters as `limit`)."""
    end = 0
    for match in re.finditer(r"(?:[^\n]|\n(?![ \t]*\n))+\n*", text[: limit * 2]):
        paragraph = match[0][::-1] if backwards else match[0]
        is_cut = match.end() == limit * 2 < len(text)
        if is_cut or match.end() > limit or not _is_prose(paragraph):
            break
        end = match.end()
    if end:
        return end
    first = text[: min(limit, 1_200)]
    if backwards:
        return max((match.start() for match in re.finditer(r"\s[.!?…。！？]", first)), default=0)
    if not _is_prose(first):
        return 0
    return max((match.end() for match in re.finditer(r"[.!?…。！？]\s", first)), default=0)
