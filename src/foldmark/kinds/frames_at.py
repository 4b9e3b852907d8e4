"""Stack traces of JavaScript, Java, Kotlin and C#, whose frames are `at …` lines. Knows nothing of other languages."""

from __future__ import annotations

import re

from foldmark.kinds.frames import (
    KEPT_FRAMES,
    Found,
    error_name,
    error_words,
    is_library,
    line_before,
    lines_from,
    place_at_end,
)

_AT = re.compile(r"(?:^|\s)at (\S.*)$")
_CAUSE = re.compile(r"(?:Caused by: |\[cause\]: |---> )(\S.*)$")
_INNER_ENDS = "--- End of inner"
_BETWEEN = re.compile(
    r"^\W*(?:\.\.\. \d+ (?:more|lines matching)|Suppressed: |--- End of|[{}\]]|\[?errors?\]?: \[)|^\s+\w+: \S+,?$"
)
_JAVA_FRAME = re.compile(r"^([\w$.<>/@ -]+)\(([\w$.-]+\.(?:java|kts?|scala|groovy)):(\d+)\)")


def _at_frame(words: str) -> tuple[str, str]:
    """(language, `file:line`) of what follows `at`; the place of a library frame names its package."""
    if match := _JAVA_FRAME.match(words):
        package = match[1].rpartition("/")[2]
        return "java", f"{package} {match[2]}:{match[3]}" if is_library(package) else f"{match[2]}:{match[3]}"
    head, sign, number = words.rpartition(":line ")
    if sign and number.isdecimal():
        return "csharp", f"{head.rpartition(' in ')[2]}:{number}"
    if place := place_at_end(words):
        return "javascript", place
    if "(" not in words:
        return "", ""
    return ("java", "") if "(Native Method)" in words or "(Unknown Source)" in words else ("csharp", "")


def read_at(text: str, at: int) -> Found:
    """JavaScript, Java, Kotlin and C#: an error, then `at …` lines, innermost first. Java and JavaScript put causes
    behind the frames of what they caused, C# above, and there the innermost stack comes first."""
    begin, error = _at_header(text, text.rfind("\n", 0, at) + 1)
    if not error:
        return Found("", at, at)
    languages: list[str] = []
    stacks: list[list[tuple[str, int]]] = [[]]
    causes: list[tuple[str, int]] = []
    end = at
    for number, (place, line) in enumerate(lines_from(text, begin)):
        if match := _AT.search(line) if number else None:
            language, frame = _at_frame(match[1].rstrip())
            languages += [language] if language else []
            stacks[-1] += [(frame, place)] if frame and len(stacks[-1]) < KEPT_FRAMES else []
        elif number and (match := _CAUSE.search(line)):
            causes.append((error_words(match[1].removesuffix(" {")), place))
            stacks += [[]] if languages else []
        elif _INNER_ENDS in line:
            stacks.append([])
        elif (languages or number > 8) and not _BETWEEN.match(line):
            break
        end = place + len(line)
    if not languages:
        return Found("", begin, max(end, at) + 1)
    if languages[0] == "csharp":
        stacks.reverse()
    said = tuple((_caused(cause, stack), place) for (cause, place), stack in zip(causes, stacks[1:], strict=False))
    return Found(languages[0], begin, end, error, begin, said[:8], tuple(stacks[0]))


def _caused(cause: str, stack: list[tuple[str, int]]) -> str:
    where = next((frame for frame, _ in stack if not is_library(frame)), "")
    return f"{cause} at {where}" if where else cause


def _at_header(text: str, start: int) -> tuple[int, str]:
    """(position, error) of the line above the first frame that names one. A message may have several lines; C# puts
    its inner errors there."""
    place = start
    for _ in range(6):
        place, line = line_before(text, place)
        if place < 0 or _AT.search(line) or not line.strip():
            break
        if "---> " not in line and (error := error_name(line)):
            return place, error_words(error)
    return start, ""
