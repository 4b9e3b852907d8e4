"""Finds values that a name gives away: `name = value`, JSON, YAML, env, headers, `--name value`. Knows no provider."""

from __future__ import annotations

import re
from collections.abc import Iterator

from foldmark.redact.ahead import Ahead
from foldmark.redact.judging import is_bare_secret, is_quoted_secret, kind_of_name, trim_bare
from foldmark.redact.providers import Found

NEEDLES = ("passw", "pwd", "passphrase", "secret", "token", "credential", "authorization")
_WHOLE_WORDS = ("secret", "token")
KEY = re.compile(r"key(?<=[a-z_-]key)")  # the key of something: a key of nobody is no secret
_FOREIGN = ("密码", "密碼", "口令", "密钥", "パスワード", "contraseña", "mot de passe", "비밀번호")
_TO_VALUE = re.compile(r"[\w-]{0,40}\\{0,4}[\"'`\]]{0,2}[ \t]{0,8}(?P<sign>=>|:=|[:=：>])[ \t]{0,8}")
_TO_FLAG_VALUE = re.compile(r"[\w-]{0,40}(?P<sign>[ \t])[ \t]{0,8}")
_QUOTED = re.compile(
    r"[bBrRuUfF]?(?P<open>\\{0,4}[\"'`])(?P<quoted>(?:\\(?P=open)|(?!(?P=open))[^\n]){1,4096})(?P=open)"
)
_LONGEST_BARE = 4_096
_LONGEST_INDENT = 200
_BARE_ENDS, _DIGIT, _LETTER, _OPENS = map(re.compile, (r"[\s\"'`,;<>&|]", r"\d", r"[^\W\d_]", r"[(\[{]"))


def named_values(text: str, low: str) -> Iterator[Found]:
    """Values behind the name of a secret; `low` is the text in small letters, `?` for what is not ASCII."""
    bare = _Bare(text)
    for needle in NEEDLES:
        for at in places(low, needle):
            end = at + len(needle)
            if needle in _WHOLE_WORDS and text[end : end + 1].islower():
                continue  # tokens, keyboard, secretary: no value of a secret follows
            if found := _assignment(text, at, end, needle, bare):
                yield found
    for key in KEY.finditer(low) if "key" in low else ():
        if not text[key.end() : key.end() + 1].islower() and (found := _assignment(text, *key.span(), "key", bare)):
            yield found
    for needle in () if text.isascii() else _FOREIGN:
        for at in places(text, needle):
            if found := _assignment(text, at, at + len(needle), needle, bare):
                yield found


def places(text: str, needle: str) -> Iterator[int]:
    """Where a needle stands in a text."""
    at = text.find(needle)
    while at >= 0:
        yield at
        at = text.find(needle, at + len(needle))


def _assignment(text: str, start: int, end: int, needle: str, bare: _Bare) -> Found | None:
    """The value behind the needle of a name, where it is a secret."""
    sign = _TO_VALUE.match(text, end)
    if not sign and "--" in text[max(0, start - 40) : start]:
        sign = _TO_FLAG_VALUE.match(text, end)
    if not sign:
        return None
    while start and (text[start - 1].isalnum() or text[start - 1] in "_-.") and end - start < 80:
        start -= 1
    name = text[start : end + len(re.match(r"[\w-]*", text[end : sign.end()])[0])]  # type: ignore[index]
    if sign["sign"].isspace() and not name.startswith("--"):
        return None
    if sign["sign"] == ">" and text[start - 1 : start] != "<":
        return None  # a comparison, no XML element
    kind = "password" if needle in _FOREIGN else kind_of_name(name)
    if not kind:
        return None
    if quoted := _QUOTED.match(text, sign.end()):
        return (*quoted.span("quoted"), "value") if is_quoted_secret(quoted["quoted"], kind) else None
    return bare.value(start, name, sign, kind)


class _Bare:
    """Values without quotes in a text. A name may stand inside the value of another, thousands of times: what a value
    holds is looked up, not looked through again for each."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends, self._digit, self._letter, self._opens = (
            Ahead(pattern, text) for pattern in (_BARE_ENDS, _DIGIT, _LETTER, _OPENS)
        )

    def value(self, start: int, name: str, sign: re.Match[str], kind: str) -> Found | None:
        """The value behind a sign, where it is a secret; the name begins at `start`."""
        text, first = self._text, sign.end()
        end = self._ends.within(first, min(len(text), first + _LONGEST_BARE))
        if end - first < 2 or self._opens.stands_within(first, end):
            return None
        is_env = sign["sign"] == "=" and name.isupper() and text[first - 1] == "="
        is_setting = is_env or (kind == "password" and sign["sign"] in ":：" and _is_whole_line(text, start, end))
        value = trim_bare(text[first:end])
        is_secret = is_bare_secret(
            value, kind, has_digit=self._digit.stands_within(first, end),
            has_letter=self._letter.stands_within(first, end), is_setting=is_setting,
        )  # fmt: skip
        return (first, first + len(value), "value") if is_secret else None


def _is_whole_line(text: str, start: int, end: int) -> bool:
    """Whether a setting is all that stands in its line."""
    if text[end : end + 1] not in ("", "\n", "\r"):
        return False
    low = max(0, start - _LONGEST_INDENT)
    line = text.rfind("\n", low, start)
    before = text[max(line + 1, low) : start].strip().strip("\"'-")
    return before in ("", "export") and (line >= 0 or low == 0)
