"""A made-up coding history of any length, with rules, decisions and tool facts that are known beforehand.

Some two thousand messages come to about 400,000 tokens. It is easier than a real session, since a generator has
few templates: it checks that nothing obvious is lost and gives speed a fixed ground, it does not replace the rest.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from bench.planting import Planted

Message = dict[str, Any]
Random = random.Random

_NOUNS = re.findall(
    r"\w+",
    "ledger invoice courier basket tariff voucher shelf parcel session gateway quota beacon roster digest "
    "cursor replica backlog receipt outbox counter snapshot window pricing catalog mailbox journal worker "
    "bucket lease",
)
_VERBS = re.findall(
    r"\w+",
    "load store merge rotate expire reserve settle refresh replay resolve publish encode verify split",
)
_AREAS = re.findall(
    r"\w+",
    "billing search delivery accounts reports imports mail storage",
)


class Generated(NamedTuple):
    messages: list[Message]
    planted: list[Planted]


def generate(seed: int, messages: int = 2_000) -> Generated:
    """A history of about so many messages. `form` of what is planted begins with rule, decision or fact."""
    return _Story(Random(seed), messages).tell()


class _Story:
    def __init__(self, rng: Random, most: int) -> None:
        self.rng, self.most = rng, most
        self.out: list[Message] = []
        self.planted: list[Planted] = []
        self.files = [self._path() for _ in range(60)]
        self.sources = {path: self._source(path, rng.randrange(60, 260)) for path in self.files}
        self.calls = 0

    def tell(self) -> Generated:
        self.out.append({"role": "system", "content": "You are a coding agent in a repository. Work step by step."})
        while len(self.out) < self.most:
            if len(self.out) == 1 or self.rng.random() < 0.05:
                self._user()
            self._step()
        self.out.append({"role": "assistant", "content": "That part is done; the tests of this area pass."})
        return Generated(self.out, self.planted)

    # -- what people say

    def _user(self) -> None:
        area, noun = self.rng.choice(_AREAS), self.rng.choice(_NOUNS)
        text = f"Next, please look at the {area} part: the {noun} is wrong when two requests come at once."
        if self.rng.random() < 0.5:
            rule = self.rng.choice(
                (
                    f"Do not change the schema of {self._name()}.",
                    f"Never call {self._name()} from {self._name()}.",
                    f"Every {noun} must be written before {self._name()} runs.",
                    f"Keep {self._name()} under {self.rng.randrange(20, 900)} ms.",
                )
            )
            text = f"{text} {rule}"
            self._plant("rule", "user", rule)
        self.out.append({"role": "user", "content": text})

    # -- what the agent does

    def _step(self) -> None:
        kinds: tuple[tuple[Callable[[], tuple[str, dict[str, Any], str]], int], ...] = (
            (self._read, 30), (self._search, 15), (self._tests, 15),
            (self._log, 12), (self._query, 13), (self._edit, 15),
        )  # fmt: skip
        makers = self.rng.choices(
            [kind for kind, _ in kinds], [weight for _, weight in kinds], k=1 + (self.rng.random() < 0.12)
        )
        text = self._prose()
        made = [maker() for maker in makers]
        calls, results = [], []
        for name, arguments, body in made:
            self.calls += 1
            call_id = f"call_{self.calls}"
            function = {"name": name, "arguments": json.dumps(arguments)}
            calls.append({"id": call_id, "type": "function", "function": function})
            results.append({"role": "tool", "tool_call_id": call_id, "content": body})
        self.out.append({"role": "assistant", "content": text, "tool_calls": calls})
        self.out += results
        for planted in self.planted:
            if planted.at == -1:
                self.planted[self.planted.index(planted)] = planted._replace(at=len(self.out) - 1)

    def _prose(self) -> str:
        text = f"Let me look at how {self._name()} is used in {self.rng.choice(self.files)}."
        if self.rng.random() < 0.10:
            first, second = self._name(), self._name()
            decision = self.rng.choice(
                (
                    f"Decision: {first} stays the only writer, because {second} runs twice after a restart.",
                    f"I decided to build {first} on {second} and to drop the older path.",
                    f"We go with {first} for {self.rng.choice(_AREAS)}; {second} was too slow under load.",
                    f"{first} it is; {second} loses the order of rows.",
                )
            )
            text = f"{text} {decision}"
            self._plant("decision", "prose", decision)
        return text

    def _read(self) -> tuple[str, dict[str, Any], str]:
        path = self.rng.choice(self.files)
        lines = self.sources[path]
        start = self.rng.randrange(max(1, len(lines) - 70))
        shown = lines[start : start + 70]
        if self.rng.random() < 0.12:
            fact = f"{self._constant()} = {self.rng.randrange(11, 99_000)}"
            shown.insert(self.rng.randrange(len(shown)), fact)
            self._plant("fact constant", "file", fact)
        body = "\n".join(f"{number:>5}\t{line}" for number, line in enumerate(shown, start + 1))
        return "read_file", {"path": path}, body

    def _search(self) -> tuple[str, dict[str, Any], str]:
        word = self._name()
        hits = [
            f"{self.rng.choice(self.files)}:{self.rng.randrange(4, 400)}:    {word}({self.rng.choice(_NOUNS)}, key)"
            for _ in range(self.rng.randrange(3, 18))
        ]
        return "search", {"pattern": word}, "\n".join(hits)

    def _tests(self) -> tuple[str, dict[str, Any], str]:
        area = self.rng.choice(_AREAS)
        lines = [f"tests/{area}/test_{self.rng.choice(_NOUNS)}.py::test_{self._name()} PASSED" for _ in range(16)]
        failed = self.rng.random() < 0.35
        if failed:
            name = f"test_{self._name()}_{self.rng.choice(_NOUNS)}"
            fact = f"FAILED tests/{area}/{name} - AssertionError: {self.rng.randrange(99)} != {self.rng.randrange(99)}"
            lines.insert(self.rng.randrange(len(lines)), fact)
            self._plant("fact test", "tests", fact)
        lines.append(f"{int(failed)} failed, {len(lines) - failed} passed in {self.rng.random() * 9:.2f}s")
        return "run", {"command": f"pytest tests/{area}"}, "\n".join(lines)

    def _log(self) -> tuple[str, dict[str, Any], str]:
        lines = [
            f"2026-03-{self.rng.randrange(1, 29):02} 10:{self.rng.randrange(60):02}:{self.rng.randrange(60):02} INFO "
            f"{self.rng.choice(_AREAS)} {self.rng.choice(_VERBS)} {self.rng.choice(_NOUNS)} "
            f"took {self.rng.randrange(900)} ms"
            for _ in range(self.rng.randrange(8, 32))
        ]
        if self.rng.random() < 0.4:
            host = f"{self.rng.choice(_NOUNS)}-{self.rng.randrange(2, 90)}.internal"
            fact = f"ERROR {self.rng.choice(_AREAS)} lost connection to {host}:{self.rng.randrange(1025, 65_000)}"
            lines.insert(self.rng.randrange(len(lines)), f"2026-03-04 10:00:00 {fact}")
            self._plant("fact log", "log", fact)
        return "run", {"command": "tail -n 80 service.log"}, "\n".join(lines)

    def _query(self) -> tuple[str, dict[str, Any], str]:
        rows: list[dict[str, Any]] = [
            {
                "id": self.rng.randrange(10**6),
                "kind": self.rng.choice(_NOUNS),
                "amount": self.rng.randrange(9_000) / 100,
            }
            for _ in range(self.rng.randrange(4, 22))
        ]
        if self.rng.random() < 0.25:
            fact = f"held by {self._name()} until 2026-0{self.rng.randrange(1, 10)}-{self.rng.randrange(10, 28)}"
            self.rng.choice(rows)["note"] = fact
            self._plant("fact row", "json", fact)
        return "query", {"sql": f"select * from {self.rng.choice(_NOUNS)}"}, json.dumps(rows)

    def _edit(self) -> tuple[str, dict[str, Any], str]:
        path = self.rng.choice(self.files)
        old = self.rng.choice(self.sources[path])
        arguments = {"path": path, "old": old, "new": f"{old}  # {self.rng.choice(_VERBS)} first"}
        return "edit_file", arguments, f"Replaced 1 line in {path}."

    # -- words

    def _plant(self, form: str, place: str, core: str) -> None:
        at = len(self.out) if form == "rule" else -1
        self.planted.append(Planted(form, place, at, core))

    def _name(self) -> str:
        return f"{self.rng.choice(_VERBS)}_{self.rng.choice(_NOUNS)}"

    def _constant(self) -> str:
        words = self.rng.choice(_AREAS), self.rng.choice(_NOUNS), self.rng.choice(("limit", "seconds", "size"))
        return "_".join(words).upper()

    def _path(self) -> str:
        return f"src/{self.rng.choice(_AREAS)}/{self.rng.choice(_NOUNS)}_{self.rng.choice(_NOUNS)}.py"

    def _source(self, path: str, lines: int) -> list[str]:
        out = [
            f'"""The {path.rsplit("/", 1)[-1][:-3].replace("_", " ")}."""',
            "",
            "from __future__ import annotations",
            "",
        ]
        while len(out) < lines:
            name, noun = self._name(), self.rng.choice(_NOUNS)
            out += [
                f"def {name}({noun}: dict[str, int], key: str) -> int:",
                f'    """{name.replace("_", " ").capitalize()} for one key."""',
                f"    value = {noun}.get(key, {self.rng.randrange(9)})",
                f"    if value > {self.rng.randrange(20)}:",
                f"        return {self._name()}({noun}, key)",
                "    return value",
                "",
            ]
        return out
