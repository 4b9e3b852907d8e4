"""Reads command lines well enough to say what they do to files. Knows nothing of tools, results or
profiles.

This is no shell parser: quoted text and here-documents are set aside, the rest is split at `&&`, `||`,
`;`, `|` and line ends, and the program of every piece is looked up. The strongest effect wins: once >
writes > runs > searches > reads.
"""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from typing import Literal

import msgspec


class Command(msgspec.Struct, frozen=True):
    """What a command line does. `paths` are the files it reads or changes, `part` the range it prints
    (comparable text, "" for whole files), `one_shot` marks effects outside the machine that cannot be
    had again."""

    role: Literal["reads", "writes", "runs", "searches"] = "runs"
    refetchable: bool = False
    one_shot: bool = False
    paths: tuple[str, ...] = ()
    part: str = ""


def _programs(names: str) -> frozenset[str]:
    return frozenset(names.split())


_READS = _programs(
    "cat head tail less more sed nl bat jq wc stat file md5sum sha256sum xxd od strings diff cmp open goto"
)
_SEARCHES = _programs(
    "grep rg ag ack find fd ls tree which whereis type pwd du df env printenv whoami date ps uname id"
)
_WRITES = _programs("rm mv cp mkdir touch chmod chown ln tee patch rmdir unlink truncate dd install unzip tar")
_FILTERS = _programs("sort uniq head tail wc cut tr grep awk sed cat less column xargs jq nl")
_QUIET = _programs("cd echo printf true export set source . sleep : clear pushd popd")
_PREFIXES = _programs("sudo time nohup env command exec nice npx uv poetry pipx bunx run")
_GIT_READS = _programs("status log diff show branch blame ls-files grep rev-parse remote describe shortlog reflog")
_ONCE = re.compile(
    r"\bgit\s+push\b|\b(?:npm|yarn|pnpm|cargo|twine|poetry|uv)\s+(?:publish|upload)\b|\bdocker\s+push\b"
    r"|\bcurl\b.*?(?:\s-X\s*(?:POST|PUT|DELETE|PATCH)|\s--request\s+(?:POST|PUT|DELETE|PATCH)|\s(?:-d|--data\S*|-F|--form)\s)"
    r"|\b(?:kubectl|terraform|helm|pulumi)\s+(?:apply|delete|create|destroy|install|upgrade|up)\b"
    r"|\bgh\s+\w+\s+(?:create|merge|close|comment|edit|delete)\b|\b(?:ssh|mail|sendmail|stripe)\s",
    re.DOTALL,
)
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?(?:\n\2[ \t]*(?=\n|$)|$)", re.DOTALL)
_REDIRECT = re.compile(r"(?<![0-9&>])>{1,2}\s*([^\s&|;<>]+)")
_SPLIT = re.compile(r"&&|\|\||[;\n]|\|&?|(?<!>)&(?!>)")
_ASIDE = re.compile("\x00(\\d+)\x00")
_ASSIGNMENT = re.compile(r"^\w+=\S*$")


@lru_cache(maxsize=4096)
def read_command(line: str) -> Command:
    """Say what a command line does. An unknown program counts as a run: its outcome matters, its text
    less."""
    texts: list[str] = []

    def set_aside(match: re.Match[str]) -> str:
        texts.append(match[0][1:-1])
        return f"\x00{len(texts) - 1}\x00"

    bare = _QUOTED.sub(set_aside, _HEREDOC.sub(_keep_first_line, line[:20_000].replace("\x00", "")))
    where, roles, paths, parts = "", [], [], []
    for number, piece in enumerate(_SPLIT.split(bare)):
        words = [_back(word, texts) for word in piece.split()]
        while words and (_ASSIGNMENT.match(words[0]) or words[0] in _PREFIXES or words[0] == "timeout"):
            words = words[2:] if words[0] == "timeout" else words[1:]
        for target in _REDIRECT.findall(piece):
            if not target.startswith(("/dev/", "&")):
                roles.append("writes")
                paths.append(posixpath.join(where, _back(target, texts)))
        if not words:
            continue
        if words[0] == "cd" and len(words) > 1:
            where = posixpath.normpath(posixpath.join(where, words[1]))
        role, named, part = _effect(words, is_first=number == 0 or not roles)
        if role:
            roles.append(role)
        paths += [posixpath.normpath(posixpath.join(where, name)) for name in named]
        parts += [part] if part else []
    once = bool(_ONCE.search(bare[:4_000]))
    order = ("writes", "runs", "searches", "reads")
    role = "writes" if once else next((role for role in order if role in roles), "runs")
    refetchable = role in ("reads", "searches")
    return Command(role, refetchable, once, tuple(dict.fromkeys(paths)), " ".join(parts))  # type: ignore[arg-type]


def _keep_first_line(match: re.Match[str]) -> str:
    return f" {match[3]}"


def _back(word: str, texts: list[str]) -> str:
    return _ASIDE.sub(lambda match: texts[int(match[1])], word) if "\x00" in word else word


def _effect(words: list[str], *, is_first: bool) -> tuple[str, list[str], str]:
    """(role, files, range) of one program with its words; role "" for pieces that only set the scene."""
    program, rest = posixpath.basename(words[0]), words[1:]
    named = [word for word in rest if not word.startswith(("-", "<", ">", "2>")) and word != "{}"]
    if program in _QUIET:
        return "", [], ""
    if not is_first and program in _FILTERS:
        return "", [], " ".join(words)
    if program == "sed":
        if any(word.startswith(("-i", "--in-place")) for word in rest):
            return "writes", named[1:], ""
        return "reads", named[1:], named[0] if named else ""
    if program == "git":
        verb = next((word for word in rest if not word.startswith("-")), "")
        return ("searches" if verb in _GIT_READS else "writes"), [], ""
    if program in _WRITES:
        return "writes", named, ""
    if program in _READS:
        part = " ".join(words) if program not in ("cat", "less", "more", "bat", "open", "nl") or len(named) > 1 else ""
        return "reads", [name for name in named if not name.isdigit()], part
    if program in _SEARCHES:
        return "searches", [], ""
    return "runs", [], ""
