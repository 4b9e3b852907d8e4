"""Signs that cannot be proven or mended: thinking that looks shortened, refusals in the log. Knows no format."""

from __future__ import annotations

import re
from collections.abc import Iterator

from foldmark.doctor.repeats import shortened
from foldmark.doctor.sizes import Found
from foldmark.doctor.talk import Talk, words

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*(={0,2})\Z")
_CUT = re.compile(
    r"(\[(…|\.\.\.)?\s*(truncated|trimmed|omitted|cut)\b[^\]]{0,60}\]|\((truncated|omitted)\))\s*\Z", re.I
)


def sign_problems(talk: Talk) -> Iterator[Found]:
    """Suspicions, each said once."""
    yield from _thinking(talk)
    yield from _refusals(talk)


def _thinking(talk: Talk) -> Iterator[Found]:
    """A signature does not show whether its text was changed, but an end that says so, or a text that is gone while
    others are there, does."""
    blocks = [
        unit
        for strand in talk.strands
        for unit in strand.units
        if unit.kind == "thinking" and isinstance(unit.value, dict) and unit.value.get("signature")
    ]
    has_text = any(str(unit.value.get("thinking") or "").strip() for unit in blocks)
    for unit in blocks:
        text = str(unit.value.get("thinking") or "")
        if isinstance(unit.value["signature"], str) and not _is_base64(unit.value["signature"]):
            said = "the signature of this thinking is no base64: it was edited or cut."
            yield talk.path(unit, ".signature"), "thinking_suspect", said
        elif has_text and not text.strip():
            yield talk.path(unit), "thinking_suspect", "signed thinking without its text: it may have been edited."
        elif _CUT.search(text):
            yield talk.path(unit), "thinking_suspect", "signed thinking that ends as if it had been shortened."


def _is_base64(text: str) -> bool:
    """In either alphabet, with its padding or without: what is padded fills groups of four."""
    found = _BASE64.match(text)
    return found is not None and (not found[1] or len(text) % 4 == 0)


def _refusals(talk: Talk) -> Iterator[Found]:
    found = [row for row in talk.records() if isinstance(row.value, dict) and row.value.get("isApiErrorMessage")]
    if found:
        message = found[-1].value.get("message")
        said = shortened(words(message.get("content")), 160) if isinstance(message, dict) else "''"
        times = f"{len(found)} time(s), the last" if len(found) > 1 else "once"
        yield found[-1].path, "api_error", f"the provider refused a request {times}: {said}."
