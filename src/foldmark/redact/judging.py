"""Judges whether a name is that of a secret, and whether a value can be one. Knows nothing of texts round them."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET_WORDS = _words(
    "password passwd pwd passphrase passwort secret token credential credentials apikey accesskey privatekey "
    "secretkey authtoken accesstoken authorization"
)
_KEY_OWNERS = _words(
    "api access secret private signing encryption account auth master service shared storage subscription "
    "functions client admin session deploy license"
)
_AFTERTHOUGHTS = _words("value base base64 b64 prod dev test staging live old new current raw plain")
_HARMLESS_TOKENS = _words(
    "eos bos pad unk mask cls sep special max min next page num per total stop start end first last current "
    "new prev previous input output prompt image lookahead keyword cancellation cancel"
)
_PLAIN_WORDS = _words(
    "str string text bool boolean int integer number float bytes object any unknown none null nil true false "
    "undefined required optional hidden prompt password passwd secret token value example placeholder yes no "
    "type varchar char field input never default missing invalid expired empty set unset basic bearer"
)
_LONGEST_WORD = max(map(len, _PLAIN_WORDS))
_REFERENCE = re.compile(
    r"^(?:\$|\{\{|%[({]|<|\*{3}|\.{3}|x{4,}$|[~.]?/|process\.env|os\.(?:environ|getenv)|secrets\.|vault:"
    r"|[\[(@])",
    re.IGNORECASE,
)
_IDENTIFIER_PATH = re.compile(r"^[A-Za-z_][\w]*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+$")
_LONGEST_PATH = 200
"""Characters of a path of identifiers in code."""


def trim_bare(value: str) -> str:
    """A value without the brackets and stops behind it that belong to the text."""
    for closing, opening in (")(", "}{", "]["):
        if value.endswith(closing):
            behind = len(value) - len(value.rstrip(closing))
            more = value.count(closing) - value.count(opening)
            value = value[: len(value) - max(0, min(behind, more))]
    return value.rstrip(".\\") if len(value) > 3 else value


def is_odd_word(value: str) -> bool:
    """Whether it is a word that no language has: letters and digits, eight characters or more."""
    kinds = (any(map(str.isdigit, value)), any(map(str.isalpha, value)))
    return all(kinds) and len(value) >= 8 and "/" not in value and not value.startswith("[secret:")


def kind_of_name(name: str) -> str:
    """password, token, key or secret when the name ends like a secret's; else empty."""
    words = [word.lower() for word in _WORD.findall(name.replace("-", "_"))]
    while words and (words[-1] in _AFTERTHOUGHTS or words[-1].isdigit()):
        words.pop()
    if not words:
        return ""
    last, owner = words[-1], words[-2] if len(words) > 1 else ""
    if last == "key":
        return "key" if owner in _KEY_OWNERS else ""
    if last not in _SECRET_WORDS or (last == "token" and owner in _HARMLESS_TOKENS):
        return ""
    if last.startswith("pass") or last == "pwd":
        return "password"
    return last if last in ("token", "secret") else "key"


def is_value(value: str, strict: bool) -> bool:
    """Whether a text can be a secret: no reference to a variable, no placeholder, no plain word."""
    if _REFERENCE.match(value) or (len(value) <= _LONGEST_WORD and value.lower() in _PLAIN_WORDS):
        return False
    return not strict or (any(map(str.isdigit, value)) and any(map(str.isalpha, value)))


def is_quoted_secret(value: str, kind: str) -> bool:
    """Whether a value in quotes behind a name of this kind is a secret."""
    if not is_value(value, strict=False) or "${" in value or "{{" in value:
        return False
    has_digit = any(map(str.isdigit, value))
    if " " in value.strip():
        return kind == "password" and has_digit and value.count(" ") < 5
    if kind == "password":
        return len(value) >= 3
    has_letter = any(map(str.isalpha, value))
    if kind == "secret":
        return len(value) >= 6 and (has_digit or len(value) >= 12) and has_letter
    return len(value) >= 8 and has_digit and has_letter


def is_bare_secret(value: str, kind: str, *, has_digit: bool, has_letter: bool, is_setting: bool) -> bool:
    """Whether a value without quotes is one; in a setting (`NAME=value`) it needs less to be. Whether it has digits and
    letters is told by whoever asks: values are long and many."""
    if not _may_be(len(value), kind, has_digit=has_digit, has_letter=has_letter, is_setting=is_setting):
        return False
    if not is_value(value, strict=False) or (len(value) <= _LONGEST_PATH and _IDENTIFIER_PATH.match(value)):
        return False
    return has_letter or value.isdigit()


def _may_be(size: int, kind: str, *, has_digit: bool, has_letter: bool, is_setting: bool) -> bool:
    if kind == "password":
        return size >= 4 and (has_digit or (has_letter and is_setting))
    return size >= 8 and has_letter and (has_digit or is_setting)
