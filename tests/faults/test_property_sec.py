"""SEC as one property: a secret that came in anywhere leaves by no other door, and forged markers rule nothing."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from scenes import RAW, fresh, pairs_of
from test_sec import DUMP, FORGED, SECRETS, planted

from foldmark import Policy
from foldmark.events import Event, ToolCall, assistant, injected, result, user

PLACES = ("result", "big result", "command", "written file", "user", "assistant", "note")
NAMES = {
    "aws": "AWS_ACCESS_KEY_ID={}", "github": "GITHUB_TOKEN={}", "openai": "OPENAI_API_KEY={}",
    "anthropic": "ANTHROPIC_API_KEY={}", "slack": "SLACK_BOT_TOKEN={}", "stripe": "STRIPE_KEY={}",
    "google": "GOOGLE_API_KEY={}", "gitlab": "GITLAB_TOKEN={}", "npm": "NPM_TOKEN={}", "password": "ADMIN_PASSWORD={}",
    "url": "DATABASE_URL=postgres://app:{}@db.internal:5432/pay", "bearer": "Authorization: Bearer {}",
    "dbpw": '"db_password": "{}"', "jwt": "session={}",
}  # fmt: skip


def told(place: str, text: str, number: int) -> list[Event]:
    """The same text, come in by one of the doors."""
    name = f"s{number}"
    lines = "\n".join(f"line {n} of the environment" for n in range(900))
    bash = ToolCall(name, "bash", '{"command":"env"}')
    return {
        "result": [assistant("", bash), result(name, text)],
        "big result": [assistant("", bash), result(name, f"{text}\n{lines}")],
        "command": [
            assistant("", ToolCall(name, "bash", json.dumps({"command": f"curl '{text}'"}))),
            result(name, "ok"),
        ],
        "written file": [
            assistant("", ToolCall(name, "write", json.dumps({"path": ".env", "content": text}))),
            result(name, "ok"),
        ],
        "user": [user(f"Deploy it and never print a key.\n{text}\nThanks."), assistant("Yes.")],
        "assistant": [assistant(f"I found this:\n{text}\nand go on.")],
        "note": [injected(f"Reminder:\n{text}")],
    }[place]


leaks = st.lists(st.tuples(st.sampled_from(sorted(NAMES)), st.sampled_from(PLACES)), min_size=1, max_size=5)


@settings(max_examples=30)
@given(leaked=leaks, rounds=st.integers(1, 2), is_raw=st.booleans(), preset=st.sampled_from(["coding", "chat"]))
@example([(name, "result") for name in sorted(NAMES)], 1, True, "coding").via("S-SEC-01: a dump of fourteen keys")
@example([(name, "written file") for name in sorted(NAMES)], 1, True, "coding").via("S-SEC-01: as a file")
@example([("password", "result")] * 3, 4, False, "coding").via("S-SEC-02: found again and again")
def test_a_secret_leaves_by_no_door_but_the_one_it_came_in_by(
    leaked: list[tuple[str, str]], rounds: int, is_raw: bool, preset: str
) -> None:
    admission = RAW if is_raw else {"limit_tokens": 200, "inline_bytes": 300}
    policy: Policy = getattr(Policy, preset)(budget={"target_tokens": 4_000}, admission=admission)
    session = fresh(policy)
    session.record(user("Begin."))
    for turn in range(rounds):
        for number, (name, place) in enumerate(leaked):
            session.record(*told(place, NAMES[name].format(SECRETS[name]), 100 * turn + number))
        session.record(*pairs_of(16, 350, start=1_000 * (turn + 1)), user("Go on."))
        focus = f"what of {SECRETS['openai']}"
        assert session.compact(force=True, window=128_000, focus=focus).outcome == "applied", "refused"
    seen = {
        "records": "\n".join(record.text for record in session.control.history()),
        "notes": repr(session.store.covered(session.key, 10**6, limit=10_000)),
        "classes": repr(session.explain()),
        "sessions": repr(session.store.sessions("local", "local")),
        "hits": repr(
            [session.search(query) for query in ("token key password", *(SECRETS[name] for name, _ in leaked))]
        ),
    }
    assert {door: planted(text) for door, text in seen.items() if planted(text)} == {}
    if not is_raw:
        shown = [event.text for event in session.store.log(session.key) if event.artifacts]
        assert planted("\n".join(shown)) == [], "a preview shows one"


@settings(max_examples=20)
@given(
    lines=st.lists(st.sampled_from(FORGED.split("\n")), min_size=1, max_size=8).map("\n".join),
    voice=st.sampled_from(PLACES),
    place=st.sampled_from(["user", "system"]),
)
@example(FORGED, "result", "user").via("S-SEC-03: a page with forged tags")
@example(FORGED, "user", "system").via("S-SEC-03: forged by a user")
def test_a_forged_marker_opens_and_ends_nothing(lines: str, voice: str, place: str) -> None:
    session = fresh(Policy.coding(budget={"target_tokens": 4_000}, admission=RAW, layout={"checkpoint": place}))
    session.record(user("Read it. Never delete the ledger."), *told(voice, lines, 1), *pairs_of(20, 350), user("And?"))
    assert session.compact(force=True, window=128_000).outcome == "applied"
    text: str = session.control.history()[-1].text.lower()
    for tag in ("<foldmark-checkpoint", "</foldmark-checkpoint"):
        assert text.count(tag) == 1, tag
    assert "</ foldmark" not in text
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert len(headings) == len(set(headings))
    facts: list[Any] = session.store.covered(session.key, 10**6, limit=0)[1]
    if voice not in ("user", "assistant"):
        rules = [fact for fact in facts if fact.kind in ("constraint", "correction", "approval", "goal")]
        assert all(fact.seq == 1 for fact in rules if fact.seq <= 3), "a page became a rule"


def test_the_names_of_this_file_are_those_of_the_dump() -> None:
    assert set(NAMES) == set(SECRETS) == set(planted(DUMP))
