"""What to write in place of a JMESPath query that cannot be read, fails or finds nothing: people and models write it as
they know it from other languages. Knows nothing of documents."""

from __future__ import annotations

import re
from collections.abc import Callable

import jmespath  # type: ignore[import-untyped]
from jmespath.exceptions import JMESPathError  # type: ignore[import-untyped]
from jmespath.functions import Functions  # type: ignore[import-untyped]

_QUOTED = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)""")
_SIGN = r"(?:==|!=|<=|>=|<|>)"
_WORDS = {"and": "&&", "or": "||"}

# (what is wrong, how it is spelled, what stands there instead), outside of quotes
_MENDS: tuple[tuple[str, re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    ("there is no `$`", re.compile(r"\$(\.?)"), lambda found: "" if found[1] else "@"),
    ("`=` is written `==`", re.compile(r"(?<![=<>!])=(?!=)"), "=="),
    (
        "`and` and `or` are written `&&` and `||`",
        re.compile(r"(?<=\s)(and|or)(?=\s)"),
        lambda found: _WORDS[found[1]],
    ),
    (
        "numbers, true, false and null stand in backticks",
        re.compile(rf"({_SIGN}\s*)(-?\d+(?:\.\d+)?|true|false|null)(?![\w.])"),
        r"\1`\2`",
    ),
    ("nothing begins with a dot", re.compile(r"\A\s*\.+(?=[\w\[])"), ""),
)
_QUOTED_NUMBER = re.compile(rf"""({_SIGN}\s*)['"](-?\d+(?:\.\d+)?)['"]""")
_QUOTED_FIELD = re.compile(rf"""({_SIGN}\s*)"([^"'`\\]*)\"""")
_BARE_WORD = re.compile(r"(==\s*|!=\s*)(true|false|null)\b")


def mended(expression: str) -> str:
    """What to write in place of an expression that cannot be read, as a sentence; empty when nobody knows."""
    parts, reasons = _QUOTED.split(expression), []
    for reason, pattern, instead in _MENDS:
        made = [part if at % 2 else pattern.sub(instead, part) for at, part in enumerate(parts)]
        if made != parts:
            reasons.append(reason)
            parts = made
    better = "".join(parts)
    if reasons and better != expression and _is_query(better):
        return f" In JMESPath {'; '.join(reasons)}: write {better}"
    return _unclosed(_QUOTED.sub("", expression))


def unfit(expression: str, reason: str) -> str:
    """What to write in place of an expression that fails on a document, as a sentence; empty when nobody knows."""
    if "not supported between" in reason:
        better = _QUOTED_NUMBER.sub(r"\1`\2`", expression)
        shown = better if better != expression and _is_query(better) else "[?year > `1990`]"
        return f" Only numbers are more or less than each other, and they stand in backticks: {shown}"
    if "Unknown function" in reason:
        return f" The functions are {', '.join(sorted(Functions.FUNCTION_TABLE))}."
    return ""


def doubtful(expression: str) -> str:
    """What an expression may mean that finds nothing, as a sentence: a text in double quotes is the name of a field."""
    better = _BARE_WORD.sub(r"\1`\2`", _QUOTED_FIELD.sub(r"\1'\2'", expression))
    if better == expression or not _is_query(better):
        return ""
    return (
        f"In JMESPath a text stands in single quotes, and true, false and null in backticks; without them it is the "
        f"name of a field: write {better}"
    )


def _unclosed(bare: str) -> str:
    """Which bracket is open at the end."""
    pairs = {"[": "]", "(": ")", "{": "}"}
    waiting = [one for one in bare if one in pairs]
    for one in bare:
        opener = next((left for left, right in pairs.items() if right == one), "")
        if opener in waiting:
            waiting.remove(opener)
    return f" A {waiting[-1]} is not closed." if waiting else ""


def _is_query(expression: str) -> bool:
    try:
        jmespath.compile(expression)
    except (JMESPathError, ValueError, RecursionError, OverflowError):
        return False
    return True
