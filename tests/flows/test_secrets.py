"""A planted secret stands in the log and nowhere else; configuration values and hashes survive everywhere."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from foldmark import MemoryStore, Policy, Session, SQLiteStore, ToolCall, assistant, result, user
from foldmark.cli.work import export_session
from making import long_session

SECRETS = {
    "aws": "AKIA" + "QK4XW7ZN2HVT5RYD",
    "github": "ghp_" + "a8Kf3LqZx9Wm2Rt7Vb5Ny1Cd4Eg6Hj0PsUoI",
    "password": "correct-horse-battery-9",
    "url": "s3cr3tpass77",
}
HARMLESS = [
    "max_tokens = 4096",
    "9f2c41ab7de05c6f1a2b3c4d5e6f708192a3b4c5",
    "port = 8443",
    "5f0c7127-5f0e-4d43-b2a7-0f3f0a4f7b1e",
]


def env_dump() -> str:
    rows = [f"setting_{number} = value of setting {number}" for number in range(400)]
    rows[20] = f"AWS_ACCESS_KEY_ID={SECRETS['aws']}"
    rows[140] = f"remote = https://x:{SECRETS['github']}@github.example/repo.git"
    rows[390] = f'"db_password": "{SECRETS["password"]}"'
    rows[210] = f"DATABASE_URL=postgres://app:{SECRETS['url']}@db.internal:5432/app"
    return "\n".join([*rows[:395], *HARMLESS, *rows[395:]])


@pytest.fixture
def made(tmp_path: Path) -> Session:
    policy = Policy.coding(budget={"target_tokens": 9_000})
    session = Session("s", store=SQLiteStore(tmp_path / "a.db"), policy=policy, clock=lambda: 1.0)
    session.record(
        user(f"Deploy it. The password is db_password={SECRETS['password']}, never print it."),
        assistant(
            "Reading the environment.",
            ToolCall("c0", "bash", json.dumps({"command": f"export TOKEN={SECRETS['github']}; env"})),
        ),
        result("c0", env_dump(), name="bash"),
    )
    session.record(*long_session(60)[1:])
    return session


def leaks(text: str) -> list[str]:
    return [name for name, secret in SECRETS.items() if secret in text]


def test_the_log_keeps_what_happened(made: Session) -> None:
    body = made.load("artifact:3#B0-99999", limit=99_999).text
    assert all(secret in body for secret in SECRETS.values())


def test_no_secret_reaches_a_checkpoint_or_a_preview(made: Session) -> None:
    assert leaks(made.peek().messages[2].text) == []
    assert made.compact(window=128_000).outcome == "applied"
    checkpoint = made.control.history()[0]
    assert leaks(checkpoint.text) == []
    assert "never print it" in checkpoint.text


def test_no_secret_is_found_by_search_or_shown_in_a_snippet(made: Session) -> None:
    for query in (*SECRETS.values(), "AWS_ACCESS_KEY_ID", "db_password", "postgres app db.internal"):
        assert leaks(" ".join(hit.snippet for hit in made.search(query))) == []


def test_no_secret_stands_in_units_facts_pieces_or_checkpoints_on_disk(made: Session, tmp_path: Path) -> None:
    made.compact(window=128_000)
    with sqlite3.connect(tmp_path / "a.db") as connection:
        for table in ("fact", "unit", "piece", "checkpoint", "attempt"):
            rows = connection.execute(f"SELECT * FROM {table}").fetchall()
            assert leaks(repr(rows)) == [], table


def test_an_export_hides_secrets_unless_it_is_asked_for_raw(made: Session) -> None:
    assert leaks(export_session(made, "events", raw=False)[0]) == []
    assert leaks(export_session(made, "openai-chat", raw=False)[0]) == []
    assert len(leaks(export_session(made, "events", raw=True)[0])) == len(SECRETS)


def test_the_same_secret_has_the_same_label(made: Session) -> None:
    text = export_session(made, "events", raw=False)[0]
    labels = {part.split("]")[0] for part in text.split("[secret:")[1:]}
    assert len([label for label in labels if label.startswith("github")]) == 1


@pytest.mark.parametrize("harmless", HARMLESS)
def test_configuration_values_and_hashes_survive(made: Session, harmless: str) -> None:
    assert harmless in export_session(made, "events", raw=False)[0]
    assert any(harmless in hit.snippet for hit in made.search(harmless))


def coloured(text: str) -> str:
    """The text with a colour change behind every fourth character."""
    return "".join(f"{text[at : at + 4]}\x1b[3{at % 8}m" for at in range(0, len(text), 4))


DISGUISES = {
    "escape codes": coloured,
    "entities": lambda text: "".join(f"&#{ord(sign)};" for sign in text),
    "tags": "<b></b>".join,
    "overwritten": lambda text: f"................................................\r{text}",
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_secret_that_only_shows_on_a_screen_or_a_page_is_found_there(tmp_path: Path, disguise: str) -> None:
    change = DISGUISES[disguise]
    rows = [f"<p>setting {number} of the page, with some words around it</p>" for number in range(600)]
    for at, secret in ((3, SECRETS["aws"]), (300, SECRETS["github"]), (597, SECRETS["aws"])):
        rows[at] = f"<p>the key is {change(secret)} here</p>"
    page = "<html><head><title>Settings</title></head><body>\n" + "\n".join(rows) + "\n</body></html>"
    if disguise in ("escape codes", "overwritten"):
        page = "\n".join(row.removeprefix("<p>").removesuffix("</p>") for row in rows)
    session = Session("s", store=SQLiteStore(tmp_path / "a.db"), policy=Policy.coding(), clock=lambda: 1.0)
    session.record(
        user("Look."), assistant("", ToolCall("c", "fetch", '{"url":"http://x"}')), result("c", page, name="fetch")
    )
    session.record(*long_session(60)[1:])
    session.compact(force=True, window=128_000)
    shown = [str(session.request(window=128_000).payload()), session.control.history()[0].text]
    shown += [hit.snippet for hit in session.search("the key is here")]
    found = "\n".join(shown)
    assert SECRETS["aws"] not in found
    assert SECRETS["github"] not in found
    assert SECRETS["aws"][:12] not in found


def labels(text: str) -> set[str]:
    return set(re.findall(r"\[secret:[^\]]*\]", text))


@pytest.mark.parametrize("kind", [MemoryStore, SQLiteStore])
def test_a_secret_has_one_label_in_demoted_lines_previews_search_and_checkpoints(
    tmp_path: Path, kind: type[MemoryStore] | type[SQLiteStore]
) -> None:
    """Lines that cleaning wrote had a label of their own, made with a key that anybody can read in the source."""
    secret, found = SECRETS["aws"], list[str]()
    policy = Policy.coding(run="manual", budget={"target_tokens": 4_000})
    for name in ("a", "b"):
        store = SQLiteStore(tmp_path / f"{name}.db") if kind is SQLiteStore else MemoryStore()
        session = Session("s", store=store, policy=policy, clock=lambda: 1.0)
        small = f"error: the key {secret} is refused\n" + "a line of the answer with some words\n" * 40
        loud = f"echo {'x' * 70} {secret}"  # cut inside the secret where the line is cut first
        session.record(
            user("Deploy it."),
            *(
                assistant("", ToolCall("key0", "bash", json.dumps({"command": loud}))),
                result("key0", small, name="bash"),
            ),
            *(assistant("", ToolCall("key1", "bash", "{}")), result("key1", small * 40, name="bash")),
        )
        session.record(*long_session(80)[1:])
        made = session.request(window=128_000)
        [line] = [event.text for event in made.messages if event.seq == 3]
        [shown] = [event.text for event in session.store.log(session.key) if event.seq == 5]
        hits = " ".join(hit.snippet for hit in session.search("the key is refused"))
        assert session.compact(force=True, window=128_000).outcome == "applied"
        checkpoint = session.control.history()[0].text
        assert len(line) < 400
        for text in (line, shown, hits, checkpoint):
            assert secret[:8] not in text
        assert [len(labels(text)) for text in (line, shown, hits)] == [1, 1, 1], (line, shown, hits)
        assert labels(line) == labels(shown) == labels(hits) >= labels(checkpoint)
        found += labels(line)
    assert found[0] != found[1], "each store has a key of its own"


def test_without_redaction_demoted_lines_say_what_they_stand_for() -> None:
    session = Session("s", policy=Policy.coding(run="manual", redact=False), clock=lambda: 1.0)
    body = f"error: the key {SECRETS['aws']} is refused\n" + "a line of the answer with some words\n" * 40
    session.record(user("Go."), assistant("", ToolCall("c0", "bash", "{}")), result("c0", body, name="bash"))
    session.record(*long_session(80)[1:])
    [line] = [event.text for event in session.request(window=128_000).messages if event.seq == 3]
    assert len(line) < 400
    assert SECRETS["aws"] in line


@pytest.mark.parametrize("disguise", [str, coloured])
@pytest.mark.parametrize("window", [20_000, 9_000, 6_500])
def test_what_fit_shortens_shows_no_secret(disguise: Callable[[str], str], window: int) -> None:
    """The last resort wrote outcome lines and previews of raw results."""
    secret = SECRETS["aws"]
    session = Session("s", policy=Policy.coding(run="manual", admission={"limit_tokens": 100_000}), clock=lambda: 1.0)
    session.record(user("Build it."))
    for number in range(3):
        body = f"run {number}\n" + "line of words that is here\n" * 900 + f"error: key {disguise(secret)} is refused\n"
        call = ToolCall(f"c{number}", "bash", json.dumps({"command": f"make {number}"}))
        session.record(assistant("", call), result(f"c{number}", body, name="bash", is_error=True))
    made = session.request(window=window, max_output=2_000)
    short = {change.seq for change in made.report.changes if change.status == "demoted"}
    texts = [event.text for event in made.messages if event.seq in short]
    assert texts
    assert secret[:8] not in " ".join(texts)
    snippets = " ".join(hit.snippet for hit in session.search("error key is refused"))
    assert labels(" ".join(texts)) == labels(snippets)
