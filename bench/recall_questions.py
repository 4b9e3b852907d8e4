"""Questions about planted facts, none of which holds the answer, and the keys that name a fact outright.

Reads the sentences of `bench.planting` back with patterns of its own. Imports nothing that recognises or ranks.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from bench.planting import Planted, fold


class Asked(NamedTuple):
    """A question in ordinary words; a `vague` one that shares the two words of the subject with the fact and nothing
    else; the `key` that finds the fact by name; and the answer, which neither question holds."""

    natural: str
    vague: str
    key: str
    answer: str


_A = r"(?P<a>[a-z]+ [a-z]+)"
_B = r"(?P<b>[a-z]+)"
_SNAKE = r"(?P<a>[a-z]+_[a-z]+)"
_CAMEL = r"(?P<a>[a-z]+[A-Z][a-z]+)"
_DAY = r"(?P<answer>\d{4}-\d\d-\d\d)"

# pattern of a core, question, key ("" = the core itself)
_READ: tuple[tuple[str, str, str], ...] = (
    (rf"(?P<key>{_SNAKE}_{_B}) = (?P<answer>\d+)", "What value was given to {a} {b}?", "{key}"),
    (rf"the {_A} setting is (?P<answer>\d+) in {_B}", "Which number is {a} set to in {b}?", ""),
    (rf"(?P<key>{_SNAKE}): (?P<answer>(?:on|off|auto)\d+)", "What is {a} switched to?", "{key}"),
    (rf"{_A} listens on port (?P<answer>\d+)", "Where does {a} listen?", "port {answer}"),
    (rf"port (?P<answer>\d+) belongs to {_A}", "Which port did {a} get?", "port {answer}"),
    (rf"{_B} is reached at port (?P<answer>\d+) from {_A}", "At what port does {a} reach {b}?", "port {answer}"),
    (rf"commit (?P<answer>[0-9a-f]{{9}}) changed {_A}", "Which commit made the change to {a}?", "{answer}"),
    (rf"{_A} came in with (?P<answer>[0-9a-f]{{10}})", "With which commit did {a} come in?", "{answer}"),
    (rf"(?P<answer>[0-9a-f]{{8}}) {_A} {_B}", "What is the hash for {a} {b}?", "{answer}"),
    (rf"{_A} costs \$(?P<answer>[\d.]+)", "How much does {a} cost?", ""),
    (rf"the fee for {_A} came to (?P<answer>[\d.]+) USD", "What fee was paid for {a}?", ""),
    (rf"{_B} {_A} total (?P<answer>[\d.]+) EUR", "What was the total of {b} {a}?", ""),
    (rf"{_A} ends on {_DAY}", "When does {a} end?", ""),
    (rf"from (?P<answer>\d+ [A-Z][a-z]+) on, {_A} is for {_B}", "From what day on is {a} for {b}?", ""),
    (rf"{_A} was last seen {_DAY}", "When was {a} last seen?", ""),
    (rf"FAILED (?P<key>test_{_SNAKE}_{_B}) - (?P<answer>\d+ != \d+)", "How did the test of {a} {b} fail?", "{key}"),
    (rf"(?P<key>test_{_SNAKE}) fails with (?P<answer>\d+) instead of \d+", "What does the test of {a} give?", "{key}"),
    (rf"not ok (?P<answer>\d+) - {_A} with {_B}", "Which number has the failing check of {a} with {b}?", ""),
    (rf"{_A} must not touch (?P<answer>[a-z]+)", "What must {a} not touch?", ""),
    (rf"do not use {_A} with (?P<answer>[a-z]+)", "What should {a} not be used with?", ""),
    (rf"(?P<answer>[a-z]+) never reads {_A}", "Who never reads {a}?", ""),
    (rf"{_A} has id (?P<answer>[A-Z]+-\d+)", "What id does {a} have?", "{answer}"),
    (rf"ticket (?P<answer>[A-Z]\d+) covers {_A}", "Which ticket is about {a}?", "{answer}"),
    (rf"{_B} of {_A} is (?P<answer>\w+_[0-9a-f]{{6}})", "What is the {b} of {a}?", "{answer}"),
    (rf"{_A} runs on (?P<answer>[a-z]+-\d+\.internal)", "Where does {a} run?", "{answer}"),
    (rf"{_B} resolves to (?P<answer>[\d.]+) for {_A}", "To which address does {b} resolve for {a}?", "{answer}"),
    (rf"the {_A} host is (?P<answer>[\w.]+)", "Which host has {a}?", "{answer}"),
    (rf"at {_B}\.{_CAMEL} \((?P<key>src/\S+\.js):(?P<answer>\d+:\d+)\)", "Which line of {a} in {b} is it?", "{key}"),
    (rf'File "(?P<key>[a-z]+/{_SNAKE}\.py)", line (?P<answer>\d+), in {_B}', "At what line is {a} in {b}?", "{key}"),
    (rf"(?P<key>[a-z]+/{_SNAKE}\.rs):(?P<answer>\d+) panicked in {_B}", "Where did {a} panic in {b}?", "{key}"),
    (rf"(?P<answer>\d+) {_A} remain", "How many {a} are left?", ""),
    (rf"{_A} has (?P<answer>\d+) {_B}", "How many {b} does {a} have?", ""),
    (rf"found (?P<answer>\d+) {_A} without {_B}", "How many {a} were found without {b}?", ""),
)  # fmt: skip
_NOUNS = {
    "config value": "option", "port": "socket number", "commit": "revision", "price": "amount of money",
    "date": "calendar day", "failing test": "broken check", "negation": "restriction", "id": "reference",
    "host": "machine", "stack line": "position of the crash", "count": "quantity",
}  # fmt: skip
_PATTERNS = tuple((re.compile(pattern), natural, key) for pattern, natural, key in _READ)


def ask(fact: Planted) -> Asked:
    """The question about a planted fact. Raises ValueError for a sentence that no pattern reads."""
    for pattern, natural, key in _PATTERNS:
        if read := pattern.fullmatch(fact.core):
            named = read.groupdict()
            named["a"] = re.sub(r"(?<=[a-z])([A-Z])", r" \1", named["a"]).replace("_", " ").lower()
            vague = f"Do we know the {_NOUNS[fact.form]} that goes with {named['a']}?"
            return Asked(natural.format(**named), vague, key.format(**named) or fact.core, named["answer"])
    raise ValueError(f"bench.recall_questions reads no fact in {fact.core!r}: add its pattern")


def states(text: str, fact: Planted, asked: Asked) -> bool:
    """Whether a folded text says the fact: in its own words, or the key and the answer."""
    if fold(fact.core) in text:
        return True
    return asked.key != fact.core and fold(asked.key) in text and fold(asked.answer) in text
