"""Finds keys that their very form gives away: those of providers, and private key blocks. Knows nothing of names."""

from __future__ import annotations

import re
from collections.abc import Iterator

Found = tuple[int, int, str]
"""Where a secret begins and ends, and its kind."""

PROVIDERS: tuple[tuple[str, str, str], ...] = (
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
    (":AA", r":AA[0-9A-Za-z_-]{33}", "telegram-token"),
    ("sig=", r"sig=[0-9A-Za-z%+/=]{30,}", "azure-signature"),
    ("X-Amz-Signature=", r"X-Amz-Signature=[0-9a-f]{64}", "aws-signature"),
)
PROVIDER_RULES: dict[str, list[tuple[re.Pattern[str], str]]] = {}
for _literal, _pattern, _kind in PROVIDERS:
    PROVIDER_RULES.setdefault(_literal, []).append((re.compile(_pattern), _kind))


_JWT = re.compile(r"\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{10,}")
"""What follows the first part of a token, which is looked for backwards: forwards it might begin at every letter."""
_JWT_BACKWARDS = re.compile(r"[0-9A-Za-z_-]{11,}")
_LONGEST_PART = 4_096
_JWT_BEGINS = re.compile(r"(?<![0-9A-Za-z_])eyJ")
_KEY_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]{0,24}PRIVATE KEY(?: BLOCK)?)-----")
_KEY_REST = re.compile(r"(?:(?:\s|\\[nrt])*[A-Za-z0-9+/=]{16,}(?:\\[nr])*)+(?:\s*[A-Za-z0-9+/=]+\s*\Z)?")
LONGEST_KEY = 20_000
"""Characters of a private key block."""


def keys_of(text: str, plain: str) -> Iterator[Found]:
    """Private key blocks and providers' keys; `plain` is the text with `?` for what is not ASCII."""
    if "-----BEGIN " in plain:
        yield from _key_blocks(text)
    for literal, rules in PROVIDER_RULES.items():
        if literal in plain:
            for pattern, kind in rules:
                yield from _provider(plain, pattern, kind)
    if ".eyJ" in plain:
        yield from _tokens(plain)


def _provider(text: str, pattern: re.Pattern[str], kind: str) -> Iterator[Found]:
    for match in pattern.finditer(text):
        start = match.start()
        if kind == "stripe-key":
            if text[start] == "_" and text[max(0, start - 2) : start] not in ("sk", "rk", "pk"):
                continue
            start -= 2 if text[start] == "_" else 0
        before = text[start - 1 : start]
        if kind == "telegram-token" or not (before.isalnum() or before == "_"):
            yield start, match.end(), kind


def _tokens(text: str) -> Iterator[Found]:
    """JSON web tokens: three parts with a dot between them."""
    match = _JWT.search(text)
    while match:
        begins = _beginning(text, match.start())
        if begins >= 0:
            yield begins, match.end(), "jwt"
        # Without a first part, what was taken for the second may be one.
        match = _JWT.search(text, match.end() if begins >= 0 else match.start() + 1)


def _beginning(text: str, dot: int) -> int:
    """Where the first part of a token begins that ends at a dot; -1 where none does."""
    back = _JWT_BACKWARDS.match(text[max(0, dot - _LONGEST_PART) : dot][::-1])
    begins = _JWT_BEGINS.search(text, dot - back.end(), dot) if back else None
    return begins.start() if begins and dot - begins.end() >= 8 else -1


def _key_blocks(text: str) -> Iterator[Found]:
    """Private key blocks whole; of one that was cut before its end, the base64 lines that follow its head."""
    for head in _KEY_BLOCK.finditer(text):
        foot = f"-----END {head[1]}-----"
        end = text.find(foot, head.end(), head.end() + LONGEST_KEY)
        if end >= 0:
            yield head.start(), end + len(foot), "private-key"
        elif rest := _KEY_REST.match(text, head.end()):
            yield head.start(), rest.end(), "private-key"
