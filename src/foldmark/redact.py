"""Replaces secrets by labels in text that leaves the log. Knows nothing of events, stores or the text's way.

The same secret gets the same label (`[secret:aws-key 9f2c41]`, a hash keyed by the store), so a reader still
sees that two places hold the same one. Bare hex is never touched: commit hashes and digests are facts. Every
rule starts from a literal that `str.find` looks for, so ordinary text costs next to nothing.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

Redactor = Callable[[str], str]
_Found = tuple[int, int, str]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LABEL = re.compile(r"\[secret:[a-z][a-z0-9-]* [0-9a-f]{6}\]")

_PROVIDERS: tuple[tuple[str, str, str], ...] = (
    # literal, pattern that holds it, kind; the more special of two comes first
    ("AKIA", r"AKIA[0-9A-Z]{16}\b", "aws-key"),
    ("ASIA", r"ASIA[0-9A-Z]{16}\b", "aws-key"),
    ("github_pat_", r"github_pat_[0-9A-Za-z_]{22,}", "github-token"),
    ("gh", r"gh[pousr]_[0-9A-Za-z]{30,}", "github-token"),
    ("glpat-", r"glpat-[0-9A-Za-z_-]{18,}", "gitlab-token"),
    ("sk-", r"sk-ant-[0-9A-Za-z_-]{16,}", "anthropic-key"),
    ("sk-", r"sk-(?=[A-Za-z_-]{0,100}\d)[0-9A-Za-z_-]{20,}", "openai-key"),
    ("xox", r"xox[abeoprs]-[0-9A-Za-z-]{10,}", "slack-token"),
    ("xapp-", r"xapp-\d-[0-9A-Za-z-]{10,}", "slack-token"),
    ("hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows)/[0-9A-Za-z/_-]{20,}", "slack-webhook"),
    ("_live_", r"_live_[0-9A-Za-z]{10,}", "stripe-key"),
    ("_test_", r"_test_[0-9A-Za-z]{16,}", "stripe-key"),
    ("whsec_", r"whsec_[0-9A-Za-z+/=]{16,}", "stripe-key"),
    ("AIza", r"AIza[0-9A-Za-z_-]{35}", "google-key"),
    ("ya29.", r"ya29\.[0-9A-Za-z_-]{20,}", "google-token"),
    ("GOCSPX-", r"GOCSPX-[0-9A-Za-z_-]{20,}", "google-key"),
    ("npm_", r"npm_[0-9A-Za-z]{36}", "npm-token"),
    ("pypi-", r"pypi-AgE[0-9A-Za-z_-]{20,}", "pypi-token"),
    ("hf_", r"hf_[0-9A-Za-z]{30,}", "huggingface-token"),
    ("gsk_", r"gsk_[0-9A-Za-z]{30,}", "groq-key"),
    ("xai-", r"xai-[0-9A-Za-z]{40,}", "xai-key"),
    ("r8_", r"r8_[0-9A-Za-z]{30,}", "replicate-token"),
    ("SG.", r"SG\.[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{16,}", "sendgrid-key"),
    ("dop_v1_", r"dop_v1_[0-9a-f]{64}", "digitalocean-token"),
    ("shpat_", r"shpat_[0-9a-fA-F]{32}", "shopify-token"),
    ("dapi", r"dapi[0-9a-f]{32}", "databricks-token"),
    ("lin_api_", r"lin_api_[0-9A-Za-z]{30,}", "linear-key"),
    ("secret_", r"secret_[0-9A-Za-z]{40,}", "notion-key"),
    ("sq0", r"sq0(?:atp|csp)-[0-9A-Za-z_-]{22,}", "square-key"),
    ("AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}", "age-key"),
    # Its first part may begin anywhere in a long word: without a bound such a text takes the square of its length.
    (".eyJ", r"(?<![0-9A-Za-z_])eyJ[0-9A-Za-z_-]{8,2000}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{10,}", "jwt"),
    (":AA", r":AA[0-9A-Za-z_-]{33}", "telegram-token"),
    ("sig=", r"sig=[0-9A-Za-z%+/=]{30,}", "azure-signature"),
    ("X-Amz-Signature=", r"X-Amz-Signature=[0-9a-f]{64}", "aws-signature"),
)
_PROVIDER_RULES: dict[str, list[tuple[re.Pattern[str], str]]] = {}
for _literal, _pattern, _kind in _PROVIDERS:
    _PROVIDER_RULES.setdefault(_literal, []).append((re.compile(_pattern), _kind))

_URL = re.compile(r"://([^\s/:@'\"`<>]{0,80}):([^\s/@'\"`<>]{2,200})@")
_CURL_USER = re.compile(r"(?:\s-u|--user)[ =]['\"]?[^\s:'\"]{1,80}:([^\s'\"]{3,200})")
_URL_USER = re.compile(r"://((?=[^@]*\d)[0-9A-Za-z_.-]{20,200})@")
_KEY_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]{0,24}PRIVATE KEY(?: BLOCK)?)-----")
_KEY_REST = re.compile(r"(?:(?:\s|\\[nrt])*[A-Za-z0-9+/=]{16,}(?:\\[nr])*)+(?:\s*[A-Za-z0-9+/=]+\s*\Z)?")
_BEARER = re.compile(r"[ \t]+([0-9A-Za-z._~+/=-]{8,})")

_NEEDLES = ("passw", "pwd", "passphrase", "secret", "token", "credential", "authorization")
_WHOLE_WORDS = ("secret", "token")
_KEY = re.compile(r"key(?<=[a-z_-]key)")  # the key of something: a key of nobody is no secret
_LITERALS = (*_NEEDLES, "bearer", "basic", "://", "curl", "-----begin ")
_FOREIGN = ("密码", "密碼", "口令", "密钥", "パスワード", "contraseña", "mot de passe", "비밀번호")
_TO_VALUE = re.compile(r"[\w-]{0,40}\\{0,4}[\"'`\]]{0,2}[ \t]{0,8}(?P<sign>=>|:=|[:=：>])[ \t]{0,8}")
_TO_FLAG_VALUE = re.compile(r"[\w-]{0,40}(?P<sign>[ \t])[ \t]{0,8}")
_VALUE = re.compile(
    r"[bBrRuUfF]?(?P<open>\\{0,4}[\"'`])(?P<quoted>(?:\\(?P=open)|(?!(?P=open))[^\n]){1,4096})(?P=open)"
    r"|(?P<bare>[^\s\"'`,;<>&|]{2,4096})"
)
_SAID = re.compile(
    r"\b(?:password|passphrase|passwort|passwd|pwd)[ \t]+(?:(?:is|ist|to)[ \t]+)?[\"'`]?([^\s\"'`,;()<>{}]{8,200})",
    re.IGNORECASE,
)
"""A password said in prose: the word, then one that no language has (letters and digits, eight characters or more)."""
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
_REFERENCE = re.compile(
    r"^(?:\$|\{\{|%[({]|<|\*{3}|\.{3}|x{4,}$|[~.]?/|process\.env|os\.(?:environ|getenv)|secrets\.|vault:"
    r"|[\[(@])",
    re.IGNORECASE,
)
_IDENTIFIER_PATH = re.compile(r"^[A-Za-z_][\w]*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+$")


def redactor(secret: bytes, enabled: bool = True) -> Redactor:
    """A function that replaces secrets in a text by labels keyed with `secret` (32 bytes are good).

    Apply it to a whole text before cutting: half a key is not recognised. Applying it twice changes nothing
    more. Line breaks stay, so line numbers stay true. With `enabled=False` the text comes back as it is.
    """
    if not enabled:
        return lambda text: text
    return _Labelling(secret[:64])


def redact_part(redact: Redactor, before: str, text: str, after: str) -> str:
    """A text redacted as a part of what it was cut from: a secret that reaches over a border, or is named outside, is a
    label in it too. Never more than the text itself: what stands before and after it is only looked at."""
    return redact.part(before, text, after) if isinstance(redact, _Labelling) else redact(text)


class _Labelling:
    """A redactor with its key."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._last: tuple[str, str] | None = None  # a huge body is asked for by the preview and by the notes

    def __call__(self, text: str) -> str:
        if self._last and self._last[0] is text:
            return self._last[1]
        found = _find(text)
        redacted = _replace(text, self._spans(text, found)) if found else text
        if len(text) >= _HUGE:
            self._last = (text, redacted)
        return redacted

    def part(self, before: str, text: str, after: str) -> str:
        """The text redacted, given what stands before and after it."""
        whole = before + text + after
        if not text or not (found := _find(whole)):
            return text
        return _replace(whole, self._spans(whole, found), len(before), len(before) + len(text))

    def _label(self, value: str, kind: str) -> str:
        mark = blake2b(value.encode("utf-8", "surrogatepass"), key=self._key, digest_size=3).hexdigest()
        return f"[secret:{kind} {mark}]"

    def _spans(self, text: str, found: list[_Found]) -> list[_Found]:
        """(start, end, label) in order: what was found, and the same secrets where they are printed without a name."""
        spans: list[_Found] = []
        values: dict[str, str] = {}
        for start, end, kind in sorted(found, key=lambda span: span[0]):  # stable: special rules stay first
            if spans and start < spans[-1][1]:
                continue
            value = text[start:end]
            label = self._label(value, kind)
            spans.append((start, end, label))
            if kind == "value" and len(value) >= 8 and re.search(r"\d", value) and re.search(r"[^\W\d_]", value):
                values[value] = label
        for value, label in values.items():
            if not re.fullmatch(r"[0-9a-fA-F-]+", value):
                spans = sorted([*spans, *_elsewhere(spans, text, value, label)])
        return spans


_HUGE = 1_000_000
"""Characters: the last text of this size is remembered with its redacted form, for as long as the redactor lives."""


def _elsewhere(spans: list[_Found], text: str, value: str, label: str) -> Iterator[_Found]:
    """Where else a value stands."""
    for start in _places(text, value):
        end = start + len(value)
        at = bisect_left(spans, (start, end))
        if not any(one[0] < end and start < one[1] for one in spans[max(0, at - 1) : at + 1]):
            yield start, end, label


def _replace(text: str, spans: list[_Found], first: int = 0, last: int | None = None) -> str:
    """The text from `first` to `last` with labels in place of spans; line breaks stay."""
    at, stop = first, len(text) if last is None else last
    out: list[str] = []
    for start, end, label in spans:
        if end <= at or start >= stop:
            continue
        out += [text[at:start], label, "\n" * text.count("\n", max(at, start), min(end, stop))]
        at = min(end, stop)
    return "".join([*out, text[at:stop]])


def _find(text: str) -> list[_Found]:
    found: list[_Found] = []
    # Looking for literals in an ASCII string is several times faster; every offset stays the same.
    plain = text if text.isascii() else text.encode("ascii", "replace").decode("ascii")
    if "-----BEGIN " in plain:
        found += _key_blocks(text)
    for literal, rules in _PROVIDER_RULES.items():
        if literal in plain:
            for pattern, kind in rules:
                found += _provider(plain, pattern, kind)
    if "://" in plain and "@" in plain:
        found += [(*match.span(2), "value") for match in _URL.finditer(text) if _is_value(match[2], False)]
        found += [(*match.span(1), "value") for match in _URL_USER.finditer(text)]
    if "curl" in plain:
        found += [(*match.span(1), "value") for match in _CURL_USER.finditer(text) if _is_value(match[1], False)]
    if "passw" in (low := plain.lower()) or "passphrase" in low or "pwd" in low:
        said = ((match, match[1].rstrip(".:!?")) for match in _SAID.finditer(text))
        found += [
            (match.start(1), match.start(1) + len(value), "value") for match, value in said if _is_odd_word(value)
        ]
    labels = [(*match.span(), "") for match in LABEL.finditer(text)] if "[secret:" in plain else []
    taken = found + labels
    found += [named for named in _named(text, low) if not _overlaps(named, taken)]
    return found


def _may_hold(text: str) -> bool:
    """Whether a literal that some rule starts from stands in a text: a quick look that spares most texts the rules."""
    low = text.lower()
    return (
        not text.isascii()
        or any(map(text.__contains__, _PROVIDER_RULES))
        or any(map(low.__contains__, _LITERALS))
        or ("key" in low and _KEY.search(low) is not None)
    )


def _overlaps(span: _Found, taken: list[_Found]) -> bool:
    return any(start < span[1] and span[0] < end for start, end, _ in taken)


def _provider(text: str, pattern: re.Pattern[str], kind: str) -> Iterator[_Found]:
    for match in pattern.finditer(text):
        start = match.start()
        if kind == "stripe-key":
            if text[start] == "_" and text[max(0, start - 2) : start] not in ("sk", "rk", "pk"):
                continue
            start -= 2 if text[start] == "_" else 0
        before = text[start - 1 : start]
        if kind == "telegram-token" or not (before.isalnum() or before == "_"):
            yield start, match.end(), kind


def _key_blocks(text: str) -> Iterator[_Found]:
    """Private key blocks whole; of one that was cut before its end, the base64 lines that follow its head."""
    for head in _KEY_BLOCK.finditer(text):
        foot = f"-----END {head[1]}-----"
        end = text.find(foot, head.end(), head.end() + 20_000)
        if end >= 0:
            yield head.start(), end + len(foot), "private-key"
        elif rest := _KEY_REST.match(text, head.end()):
            yield head.start(), rest.end(), "private-key"


def _named(text: str, low: str) -> Iterator[_Found]:
    """Values behind a secret's name: `name = value`, JSON, YAML, env, headers and `--name value`."""
    for needle in _NEEDLES:
        for at in _places(low, needle) if needle in low else ():
            end = at + len(needle)
            if needle in _WHOLE_WORDS and text[end : end + 1].islower():
                continue  # tokens, keyboard, secretary: no value of a secret follows
            if found := _assignment(text, at, end, needle):
                yield found
    for key in _KEY.finditer(low) if "key" in low else ():
        if not text[key.end() : key.end() + 1].islower() and (found := _assignment(text, *key.span(), "key")):
            yield found
    if not text.isascii():
        for needle in _FOREIGN:
            for at in _places(text, needle):
                if found := _assignment(text, at, at + len(needle), needle):
                    yield found
    for scheme in ("bearer", "basic"):
        for at in _places(low, scheme) if scheme in low else ():
            match = _BEARER.match(text, at + len(scheme))
            if match and _is_value(match[1], strict=True):
                yield (*match.span(1), "value")


def _places(text: str, needle: str) -> Iterator[int]:
    at = text.find(needle)
    while at >= 0:
        yield at
        at = text.find(needle, at + len(needle))


def _assignment(text: str, start: int, end: int, needle: str) -> _Found | None:
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
    kind = "password" if needle in _FOREIGN else _kind_of_name(name)
    value = _VALUE.match(text, sign.end()) if kind else None
    if not value:
        return None
    quoted = value["quoted"]
    if quoted is not None:
        return (*value.span("quoted"), "value") if _is_quoted_secret(quoted, kind) else None
    bare, span = _trim_bare(value["bare"]), value.start("bare")
    is_setting = sign["sign"] in ("=", ":", "：") and _is_whole_line(text, start, span + len(value["bare"]))
    is_env = sign["sign"] == "=" and name.isupper() and text[sign.end() - 1 : sign.end()] == "="
    if _is_bare_secret(bare, kind, is_env or (is_setting and sign["sign"] != "=" and kind == "password")):
        return span, span + len(bare), "value"
    return None


def _is_odd_word(value: str) -> bool:
    kinds = (any(map(str.isdigit, value)), any(map(str.isalpha, value)))
    return all(kinds) and len(value) >= 8 and "/" not in value and not value.startswith("[secret:")


def _trim_bare(value: str) -> str:
    for closing, opening in (")(", "}{", "]["):
        while value.endswith(closing) and value.count(closing) > value.count(opening):
            value = value[:-1]
    return value.rstrip(".\\") if len(value) > 3 else value


def _is_whole_line(text: str, start: int, end: int) -> bool:
    before = text[text.rfind("\n", 0, start) + 1 : start].strip().strip("\"'-")
    return before in ("", "export") and text[end : end + 1] in ("", "\n", "\r")


def _kind_of_name(name: str) -> str:
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


def _is_value(value: str, strict: bool) -> bool:
    """Whether a text can be a secret: no reference to a variable, no placeholder, no plain word."""
    if _REFERENCE.match(value) or value.lower() in _PLAIN_WORDS:
        return False
    return not strict or (any(map(str.isdigit, value)) and any(map(str.isalpha, value)))


def _is_quoted_secret(value: str, kind: str) -> bool:
    if not _is_value(value, strict=False) or "${" in value or "{{" in value:
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


def _is_bare_secret(value: str, kind: str, is_setting: bool) -> bool:
    if not _is_value(value, strict=False) or "(" in value or "[" in value or "{" in value:
        return False
    if _IDENTIFIER_PATH.match(value):
        return False
    has_digit, has_letter = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    if kind == "password":
        if value.isdigit():
            return len(value) >= 4
        return len(value) >= 4 and (is_setting or has_digit) and has_letter
    return len(value) >= 8 and has_letter and (has_digit or is_setting)


def redact_value(value: Any, redact: Redactor) -> Any:
    """A decoded JSON value with every string in it redacted. JSON *text* must not be redacted as it stands: its line
    breaks are two characters there, and no line begins where one does. A secret's name may be the key of its value."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [redact_value(item, redact) for item in value]
    if isinstance(value, dict):
        return {key: _member(key, item, redact) for key, item in value.items()}
    return value


def _member(key: str, item: Any, redact: Redactor) -> Any:
    if not isinstance(item, str):
        return redact_value(item, redact)
    plain = redact(item)
    if plain != item or "\n" in item:
        return plain
    head = json.dumps(key, ensure_ascii=False) + ": "
    pair = redact(head + json.dumps(item, ensure_ascii=False))
    inner = LABEL.search(pair, len(head))
    return inner[0] if inner and pair[len(head) :] == f'"{inner[0]}"' else plain


def redact_json(text: str, redact: Redactor) -> str:
    """JSON text with every string in it redacted; unchanged byte for byte when there is no secret in it, and
    redacted as plain text when it is no JSON."""
    if "\\u" not in text and "\\/" not in text and not _may_hold(text):  # these escapes could hide a literal
        return text
    try:
        value = json.loads(text)
        clean = redact_value(value, redact)
    except (ValueError, RecursionError):  # no JSON, or deeper than anybody reads
        return redact(text)
    return text if clean == value else json.dumps(clean, ensure_ascii=False)
