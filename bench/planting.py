"""Plants facts and decisions in a history, in the session's own words. Imports nothing that recognises or selects.

A planted text has a *core*, the words that say it. It is kept when the core stands in the request, spaces aside.
Subjects are drawn from the words that are frequent in the host session, because made-up words are rare by
construction and flatter any method that likes rarity. Three in four facts go into tool results (a line of their
own, inside a line, or a JSON field), one in four into assistant text; decisions go into assistant text only.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bench.sizes import content_text, message_text

Message = dict[str, Any]
Random = random.Random


class Planted(NamedTuple):
    """`form` is what sort of fact, `place` how it stands in the message `at`."""

    form: str
    place: str
    at: int
    core: str


def _subject(rng: Random, words: Sequence[str]) -> str:
    return " ".join(rng.sample(list(words), 2))


def _hex(rng: Random, length: int) -> str:
    return "".join(rng.choice("0123456789abcdef") for _ in range(length))


Form = Callable[[Random, str, str], list[str]]


def _forms() -> dict[str, Form]:
    """form -> three wordings, given two words (`a`) and one more (`b`) of the session."""
    return {
        "config value": lambda r, a, b: [
            f"{_snake(a)}_{b} = {r.randrange(2, 900)}",
            f"the {a} setting is {r.randrange(2, 900)} in {b}",
            f"{_snake(a)}: {r.choice(('on', 'off', 'auto'))}{r.randrange(2, 90)}",
        ],
        "port": lambda r, a, b: [
            f"{a} listens on port {r.randrange(1024, 65000)}",
            f"port {r.randrange(1024, 65000)} belongs to {a}",
            f"{b} is reached at port {r.randrange(1024, 65000)} from {a}",
        ],
        "commit": lambda r, a, b: [
            f"commit {_hex(r, 9)} changed {a}",
            f"{a} came in with {_hex(r, 10)}",
            f"{_hex(r, 8)} {a} {b}",
        ],
        "price": lambda r, a, b: [
            f"{a} costs ${r.randrange(3, 900)}.{r.randrange(10, 99)}",
            f"the fee for {a} came to {r.randrange(3, 900)}.{r.randrange(10, 99)} USD",
            f"{b} {a} total {r.randrange(3, 900)}.{r.randrange(10, 99)} EUR",
        ],
        "date": lambda r, a, b: [
            f"{a} ends on 20{r.randrange(24, 29)}-{r.randrange(1, 13):02}-{r.randrange(1, 29):02}",
            f"from {r.randrange(1, 29)} {r.choice(('March', 'July', 'October'))} on, {a} is for {b}",
            f"{a} was last seen 20{r.randrange(20, 27)}-{r.randrange(1, 13):02}-{r.randrange(1, 29):02}",
        ],
        "failing test": lambda r, a, b: [
            f"FAILED test_{_snake(a)}_{b} - {r.randrange(2, 90)} != {r.randrange(2, 90)}",
            f"test_{_snake(a)} fails with {r.randrange(2, 90)} instead of {r.randrange(2, 90)}",
            f"not ok {r.randrange(2, 90)} - {a} with {b}",
        ],
        "negation": lambda r, a, b: [
            f"{a} must not touch {b}",
            f"do not use {a} with {b}",
            f"{b} never reads {a}",
        ],
        "id": lambda r, a, b: [
            f"{a} has id {r.choice('ABKQ')}{r.choice('RXZ')}-{r.randrange(100, 9999)}",
            f"ticket {r.choice('ABKQ')}{r.randrange(10000, 99999)} covers {a}",
            f"{b} of {a} is {_snake(a)[:6]}_{_hex(r, 6)}",
        ],
        "host": lambda r, a, b: [
            f"{a} runs on {b}-{r.randrange(2, 40)}.internal",
            f"{b} resolves to 10.{r.randrange(1, 250)}.{r.randrange(1, 250)}.{r.randrange(1, 250)} for {a}",
            f"the {a} host is {b}{r.randrange(2, 40)}.example.net",
        ],
        "stack line": lambda r, a, b: [
            f"at {b}.{_camel(a)} (src/{b}/{_camel(a)}.js:{r.randrange(10, 900)}:{r.randrange(2, 60)})",
            f'File "{b}/{_snake(a)}.py", line {r.randrange(10, 900)}, in {b}',
            f"{b}/{_snake(a)}.rs:{r.randrange(10, 900)} panicked in {b}",
        ],
        "count": lambda r, a, b: [
            f"{r.randrange(3, 5000)} {a} remain",
            f"{a} has {r.randrange(3, 5000)} {b}",
            f"found {r.randrange(3, 5000)} {a} without {b}",
        ],
    }  # fmt: skip


def _decisions(rng: Random, a: str, b: str) -> list[str]:
    """Decisions that hold no deciding word."""
    return [
        f"settled on {a} for {b}",
        f"{a} it is for {b}",
        f"leaving {a} as is around {b}",
        f"{a} goes first and {b} after that",
        f"we go with {a} for the {b} part",
        f"{a} stays, {b} moves",
    ]


def _snake(words: str) -> str:
    return words.replace(" ", "_").lower()


def _camel(words: str) -> str:
    first, *rest = words.lower().split()
    return first + "".join(word.capitalize() for word in rest)


def host_words(messages: Sequence[Message], most: int = 400) -> list[str]:
    """The session's own frequent words: in many messages, but not the hundred commonest."""
    counts: Counter[str] = Counter()
    for message in messages:
        if message["role"] != "system":
            counts.update(set(re.findall(r"(?<![\w/.-])[a-z]{4,12}(?![\w/.-])", message_text(message))))
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return ranked[100 : 100 + most]


def plant(
    messages: Sequence[Message], seed: int, facts: int = 88, decisions: int = 24
) -> tuple[list[Message], list[Planted]]:
    """A copy of the history with planted texts, and what was planted."""
    rng = Random(seed)
    out = copy.deepcopy(list(messages))
    words = host_words(messages)
    forms = _forms()
    results = [at for at, m in enumerate(out) if m["role"] == "tool" and len(content_text(m)) > 80]
    prose = [at for at, m in enumerate(out) if m["role"] == "assistant" and content_text(m)]
    planted: list[Planted] = []
    for number in range(facts):
        form = list(forms)[number % len(forms)]
        core = rng.choice(forms[form](rng, _subject(rng, words), rng.choice(words)))
        at = rng.choice(results if rng.random() < 0.75 else prose)
        planted.append(_put(rng, out, at, form, core))
    for _ in range(decisions):
        core = rng.choice(_decisions(rng, _subject(rng, words), rng.choice(words)))
        planted.append(_put(rng, out, rng.choice(prose), "decision", core))
    return out, planted


def _put(rng: Random, out: list[Message], at: int, form: str, core: str) -> Planted:
    message = out[at]
    text = content_text(message)
    if message["role"] == "assistant":
        message["content"], place = _into_prose(rng, text, core), "prose"
    elif text[:1] in "{[" and (changed := _into_json(rng, text, core)):
        message["content"], place = changed, "json"
    elif rng.random() < 0.25:
        message["content"], place = _into_line(rng, text, core), "inside a line"
    else:
        lines = text.split("\n")
        lines.insert(rng.randrange(len(lines) + 1), core)
        message["content"], place = "\n".join(lines), "own line"
    return Planted(form, place, at, core)


def _into_prose(rng: Random, text: str, core: str) -> str:
    sentence = core[0].upper() + core[1:] + "."
    ends = [match.end() for match in re.finditer(r"[.!?:](?=\s|$)", text)] or [len(text)]
    at = rng.choice(ends)
    return f"{text[:at]} {sentence}{text[at:]}"


def _into_line(rng: Random, text: str, core: str) -> str:
    lines = text.split("\n")
    number = rng.choice([at for at, line in enumerate(lines) if line.strip()] or [0])
    words = lines[number].split(" ")
    words.insert(rng.randrange(len(words) + 1), f"({core})")
    lines[number] = " ".join(words)
    return "\n".join(lines)


def _into_json(rng: Random, text: str, core: str) -> str:
    """The text with one more field in some object; empty when it is no JSON."""
    try:
        value = json.loads(text)
    except ValueError:
        return ""
    objects: list[dict[str, Any]] = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            objects.append(item)
            stack += item.values()
        elif isinstance(item, list):
            stack += item
    if not objects:
        return ""
    chosen = rng.choice(objects)
    key = rng.choice(("note", "remark", "detail"))
    chosen[key if key not in chosen else f"{key}_{len(chosen)}"] = core
    return json.dumps(value, ensure_ascii=False)


_FOLD = re.compile(r"[\s\"\\]+")


def fold(text: str) -> str:
    """Text as cores are looked for: quotes, backslashes and runs of spaces are one space; lower case."""
    return _FOLD.sub(" ", text).lower()


def kept(planted: Sequence[Planted], request: Sequence[Message]) -> list[bool]:
    """Which planted texts the request still holds."""
    text = fold("\n".join(message_text(message) for message in request))
    return [fold(item.core) in text for item in planted]
