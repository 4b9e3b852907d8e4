"""The made-up message lists of `bench.rivals`, in OpenAI's chat form (one in Anthropic's). Knows no case."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from bench.methods import Message

List = list[Message]


def system(text: str) -> Message:
    return {"role": "system", "content": text}


def user(text: Any) -> Message:
    return {"role": "user", "content": text}


def said(text: str) -> Message:
    return {"role": "assistant", "content": text}


def calls(*ids: str, text: str | None = "On it.", name: str = "read", arguments: Any = None) -> Message:
    made = [
        {
            "id": one,
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments or {"path": f"src/{one}.py"})},
        }
        for one in ids
    ]
    return {"role": "assistant", "content": text, "tool_calls": made}


def result(call_id: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def rows(tokens: int, word: str = "row") -> str:
    """A text of made-up lines that costs about so many tokens."""
    return "\n".join(f"{word} {n} holds value_{n} of ledger" for n in range(max(1, tokens // 11)))


def step(number: int | str, tokens: int = 300, *, wordy: int = 0) -> List:
    text = f"Step {number}." + (rows(wordy, f"s{number}") if wordy else "")
    return [calls(f"c{number}", text=text), result(f"c{number}", rows(tokens, f"r{number}"))]


def steps(count: int, tokens: int = 300, start: int = 1, *, wordy: int = 0) -> List:
    return [message for number in range(start, start + count) for message in step(number, tokens, wordy=wordy)]


RULE = "Never touch the schema, and no library X."
QUESTION = "Which of the two retries charged the card twice?"
LONG = 20_000
"""A budget above every small list: nothing is due."""


# -- PAIR


BATCH = [f"p{n}" for n in range(1, 11)]
PARALLEL = [user("Read all ten."), calls(*BATCH, text=None), *(result(one, rows(300, one)) for one in BATCH), *steps(4)]
NOTE = [
    user("Begin."), calls("a", text=None), user("By the way, also look at b."), result("a", rows(2_000, "a")),
    said("Seen a."), user("Go on."), calls("b"), result("b", rows(1_500, "b")),
]  # fmt: skip

SHORT = [
    system("You are careful."), user("A. " + rows(1_200)), calls("k123"), result("k123", rows(2_400)),
    user("B. " + rows(400, "b")), said("Done."), user("And?"),
]  # fmt: skip

SMALL = [system("Be brief."), user("What is in a.py?"), *step(1, 200)]
TALK = [
    user("One."), *step(1, 900), said("Final."), user("Two."), *step(2, 900), said("Final two."), user("Three."),
    *steps(6, 700, start=10),
]  # fmt: skip

FETCHED = [user("Old talk."), *steps(40, 1_000), said("Done."), user("Now read the big one."), *step("big", 9_000)]
ASKED = [system("Rule. " * 66), user(QUESTION), *step(1, 6_000)]
CHAT = [message for n in range(6) for message in (user(f"Point {n}. {rows(600, f'u{n}')}"), said(f"Answer {n}."))]
DANGLING = [user("Go."), *steps(12), calls("z", name="bash"), user("Please continue."), *step("next", 60)]
FIRST, SECOND = "Delete the build folder.", "Now explain the config to me, line by line."
FINISHED = [
    user(FIRST), calls("d", name="bash", arguments={"command": "rm -rf build"}), result("d", "removed build"),
    said("The build folder is deleted."), *steps(20), said("All done."), user(SECOND),
]  # fmt: skip

RULED = [
    user("Fix the duplicate charges."), said("Looking."), user(f"One more thing. {RULE} Thanks."), said("Fine."),
    *(
        message for turn in range(4)
        for message in (*steps(14, start=turn * 20, wordy=150), user(f"Go on with part {turn}."), said("Ok."))
    ),
    user("And now?"),
]  # fmt: skip

WAITING = ["u8: also the refunds.", "u9: and skip May.", "u10: in EUR only."]
LEDGER = [m for n in range(8) for m in (user(f"c{n}"), *steps(3, start=n * 3), said(f"Read {n}."))] + [user("And?")]
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0KGgo" * 100_000}}
PICTURED = [user("Look at this."), said("Yes?"), user([{"type": "text", "text": "What is it?"}, IMAGE]), *steps(4)]
GIANT = [user(QUESTION), *steps(30), *step("giant", 30_000)]
TIGHT = [system(rows(400, "rule")), user(QUESTION), *step("last", 7_000)]
LOOP = [user(QUESTION), *steps(60)]
SILENT = [message | ({"content": None} if message["role"] == "assistant" else {}) for message in LOOP]
MANY = [m for n in range(60) for m in (user(f"Point {n}. {rows(120, f'u{n}')}"), said(rows(60, f"a{n}")))] + [
    user("So?")
]
PREFIXED = [system(rows(4_000, "rule")), user("Go."), *steps(19)]
WORKDAY = [user("Go.")] + [
    message
    for n in range(48)
    for message in (
        *step(n, 180),
        *((said(f"Found {n}. {rows(120, f's{n}')}"), user(f"Next, {n}.")) if n % 3 == 2 else ()),
    )
]


def thought(n: int) -> List:
    use = {"type": "tool_use", "id": f"t{n}", "name": "read", "input": {"path": f"f{n}.py"}}
    thinking = {"type": "thinking", "thinking": f"Thought {n}. " + "and so on " * 600, "signature": f"sig{n}=="}
    hidden = {"type": "redacted_thinking", "data": f"opaque{n}" * 20}
    answer = {"type": "tool_result", "tool_use_id": f"t{n}", "content": rows(300, f"t{n}")}
    return [
        {"role": "assistant", "content": [thinking, hidden, {"type": "text", "text": f"Step {n}."}, use]},
        {"role": "user", "content": [answer]},
    ]


THOUGHTS = [user("Question?"), *(message for n in range(16) for message in thought(n))]
RECORDS = [{"id": n, "name": f"record-{n}-end", "text": f"value {n} " * 400} for n in range(8)]
LISTED = [user("Go."), *steps(4), calls("j", name="api"), result("j", json.dumps(RECORDS)), *steps(6, start=20)]
WRITTEN = [
    user("Write them."),
    *(m for n in range(12) for m in (
        calls(f"w{n}", name="write", arguments={"path": f"src/{n}.py", "content": f'print({n}) # "äöü" \\\n' * 150}),
        result(f"w{n}", "ok"),
    )),
]  # fmt: skip

TINY = ["", " ", "\n\n", "x", "{}", "[]", "[null]", '{"a": ""}', '{"a": null, "b": []}', "0", "```"]
TINIES = [user("Go."), *(m for n, text in enumerate(TINY) for m in (calls(f"e{n}"), result(f"e{n}", text)))]
FAMILY, FLAG = "👨‍👩‍👧‍👦", "🇩🇪"
DIRTY = "a\ud800b\udfff\x00c\ufffe\u202e\x1b[31m\ufeffd " + rows(200)


def found_lines() -> str:
    random = Random(7)
    paths = [f"logs/2026-05-{day:02}/app.log" for day in range(1, 11)]
    paths += [rf"C:\src\pay\mod_{n}.py" for n in range(5)] + [f"src/a_{n}/x.ts" for n in range(5)]
    texts = ("12:30:01 charge", "total: 17", "a=1", "http://h:80/x")
    hits = sorted(random.choices(paths, k=400))
    return "\n".join(f"{path}:{random.randint(1, 900)}:{random.choice(texts)} {n}" for n, path in enumerate(hits))


SEARCHED = [
    user("Go."), calls("g", name="grep", arguments={"pattern": "x"}), result("g", found_lines()), *steps(6),
    calls("h", name="grep", arguments={"pattern": "y"}), result("h", found_lines()),
]  # fmt: skip


def emoji(at: int) -> List:
    body = "x" * at + FAMILY + FLAG + " and text" * 20 + "\n"
    return [
        user("Go."),
        *steps(6),
        calls("u", name="bash"),
        result("u", body * 14),
        *steps(2, start=30),
        user(body * 3),
    ]


LARGE = [
    m for n in range(100) for m in (user(f"Task {n}: {rows(40, f'q{n}')}"), *steps(9, 40, start=n * 10), said("Done."))
]
