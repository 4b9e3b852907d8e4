"""How one model is called by vendors, gateways and clouds. Knows nothing of prices."""

from __future__ import annotations

import re

HOSTS = frozenset({
    *("anthropic", "openai", "google", "gemini", "deepseek", "models", "publishers"),
    *("bedrock", "vertex", "vertex_ai", "vertex-ai", "azure", "openrouter", "litellm", "vercel", "github"),
})  # fmt: skip
"""Names before a slash that say who serves a model at the vendor's own prices (or so near that the ratios hold)."""
BEDROCK = re.compile(r"(?:(?:us|eu|apac|jp|au|global|us-gov)\.)?(?:anthropic|openai|deepseek|google)\.")
SAME = re.compile(
    r"(?:-latest|-preview|-exp|@\d{8}|@default|-\d{8}|-\d{4}(?:-\d{2}-\d{2})?|-\d{2}-\d{2}(?:\d{2})?|-\d{2}-\d{4}"
    r"|-00\d|-v\d+(?::\d+)?|:thinking|:beta|\[1m\])*"
)
"""What may stand behind a model's name without making it another one. A size (`-mini`), a version (`-5`, `.1`) or an
unknown word (`-fast`, `:free`) does."""


def plain(name: str) -> str:
    """A name to compare by: lower case, and a dash where some write a dot (`claude-opus-4.5`)."""
    return name.strip().lower().replace(".", "-")


def served(model: str) -> str:
    """The plain name of a model without who serves it; empty when an unknown host does, whose prices are its own."""
    *hosts, name = model.strip().lower().split("/")
    if any(host not in HOSTS for host in hosts):
        return ""
    return plain(BEDROCK.sub("", name, count=1) if BEDROCK.match(name) else name)


def same(name: str, known: str) -> bool:
    """Whether a plain name is that of a known model, with at most a date, a release or a mode behind it."""
    return name.startswith(known) and SAME.fullmatch(name, len(known)) is not None
