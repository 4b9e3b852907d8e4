"""Puts labels in place of secrets, wherever they stand. Knows nothing of how secrets are found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from hashlib import blake2b

from foldmark.redact.elsewhere import NOTHING_NAMED, Named
from foldmark.redact.finding import find
from foldmark.redact.providers import Found
from foldmark.warm import Recent

Redactor = Callable[[str], str]
MOST_NAMED, MOST_NAMED_CHARACTERS = 20_000, 2_000_000
"""Secrets of one body that are remembered."""
_HUGE = range(1_000_000, 16_000_001)
"""Characters: texts of this size are remembered with their redacted form, the last two of them: a body is asked for by
its preview and by the notes, a long message by every page of it."""
_remembered: Recent[str] = Recent(2)


def redactor(secret: bytes, enabled: bool = True) -> Redactor:
    """A function that replaces secrets in a text by labels keyed with `secret` (32 bytes are good).

    Apply it to a whole text before cutting: half a key is not recognised. Applying it twice changes nothing
    more. Line breaks stay, so line numbers stay true. With `enabled=False` the text comes back as it is.
    """
    if not enabled:
        return lambda text: text
    return _Labelling(secret[:64])


def redact_part(redact: Redactor, before: str, text: str, after: str, named: Named = NOTHING_NAMED) -> str:
    """A text redacted as a part of what it was cut from: a secret that reaches over a border, or is named outside, is a
    label in it too. Never more than the text itself: what stands before and after it is only looked at. `named` are
    those that are named farther away (`named_in`)."""
    return redact.part(before, text, after, named) if isinstance(redact, _Labelling) else redact(text)


def is_labelling(redact: Redactor) -> bool:
    """Whether it is one that was made here and is enabled."""
    return isinstance(redact, _Labelling)


def named_in(redact: Redactor, texts: Iterable[str]) -> Named:
    """The secrets that the stretches of a body name and that may stand bare elsewhere in it, the first 20,000 of
    them (or two million characters); none for a redactor that is not `is_labelling`."""
    values: dict[str, str] = {}
    room = MOST_NAMED_CHARACTERS
    if not isinstance(redact, _Labelling):
        return NOTHING_NAMED
    for value, label in (pair for text in texts for pair in redact.named(text).items()):
        if value not in values:
            room -= len(value)
            if room < 0 or len(values) >= MOST_NAMED:
                break
            values[value] = label
    return Named(values)


class _Labelling:
    """A redactor with its key; equal to another with the same one."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Labelling) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __call__(self, text: str) -> str:
        if len(text) not in _HUGE:
            return self._redacted(text)
        known = _remembered.get((self._key, text))
        if known is None:
            known = self._redacted(text)
            _remembered.put((self._key, text), known)
        return known

    def part(self, before: str, text: str, after: str, named: Named) -> str:
        """The text redacted, given what stands before and after it and what is named elsewhere."""
        whole = before + text + after
        spans = self._spans(whole)
        spans = sorted([*spans, *named.places(whole, spans)])
        return _replace(whole, spans, len(before), len(before) + len(text)) if text and spans else text

    def named(self, text: str) -> dict[str, str]:
        """The secrets that a text names, with their labels, as far as no ordinary word could be one."""
        return self._labelled(text)[1]

    def _redacted(self, text: str) -> str:
        spans = self._spans(text)
        return _replace(text, spans) if spans else text

    def _label(self, value: str, kind: str) -> str:
        mark = blake2b(value.encode("utf-8", "surrogatepass"), key=self._key, digest_size=3).hexdigest()
        return f"[secret:{kind} {mark}]"

    def _spans(self, text: str) -> list[Found]:
        """(start, end, label) in order: what was found, and the same secrets where they are printed without a name."""
        spans, values = self._labelled(text)
        return sorted([*spans, *Named(values).places(text, spans)]) if values else spans

    def _labelled(self, text: str) -> tuple[list[Found], dict[str, str]]:
        """What was found, each with its label; and the named ones that may be printed again."""
        spans: list[Found] = []
        values: dict[str, str] = {}
        for start, end, kind in sorted(find(text), key=lambda span: span[0]):  # stable: special rules stay first
            if spans and start < spans[-1][1]:
                continue
            value = text[start:end]
            label = self._label(value, kind)
            spans.append((start, end, label))
            if kind == "value" and _is_telling(value):
                values[value] = label
        return spans, values


def _is_telling(value: str) -> bool:
    """Whether a secret can be told from an ordinary word, number or hash wherever it stands."""
    if len(value) < 8 or not re.search(r"\d", value) or not re.search(r"[^\W\d_]", value):
        return False
    return not re.fullmatch(r"[0-9a-fA-F-]+", value)


def _replace(text: str, spans: list[Found], first: int = 0, last: int | None = None) -> str:
    """The text from `first` to `last` with labels in place of spans; line breaks stay."""
    at, stop = first, len(text) if last is None else last
    out: list[str] = []
    for start, end, label in spans:
        if end <= at or start >= stop:
            continue
        out += [text[at:start], label, "\n" * text.count("\n", max(at, start), min(end, stop))]
        at = min(end, stop)
    return "".join([*out, text[at:stop]])
