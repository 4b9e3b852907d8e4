"""Secrets leave as labels; configuration, hashes and code stay."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.redact import Named, redact_json, redactor

redact = redactor(b"k" * 32)

# Put together here, so that no scanner takes this file for a leak.
TAIL = "abcDEF123456ghiJKL7890mnoPQR34stuVWX"
PROVIDER_KEYS = {
    "aws-key": "AKIA" + "ABCDEFGH12345678",
    "github-token": "ghp_" + TAIL,
    "gitlab-token": "glpat-" + TAIL[:20],
    "anthropic-key": "sk-ant-" + TAIL,
    "openai-key": "sk-" + TAIL,
    "slack-token": "xoxb-" + "1234567890-" + TAIL[:12],
    "stripe-key": "sk_live_" + TAIL[:24],
    "google-key": "AIza" + TAIL[:35],
    "npm-token": "npm_" + TAIL[:36],
    "pypi-token": "pypi-" + "AgEIcHlwaS5vcmc" + TAIL,
    "huggingface-token": "hf_" + TAIL,
    "jwt": "eyJ" + TAIL[:12] + ".eyJ" + TAIL[:16] + "." + TAIL[:20],
    "sendgrid-key": "SG." + TAIL[:22] + "." + TAIL,
}


@pytest.mark.parametrize(("kind", "key"), PROVIDER_KEYS.items())
def test_a_providers_key_is_replaced_by_a_label_of_its_kind(kind: str, key: str) -> None:
    shown = redact(f"found {key} in the log")
    assert re.fullmatch(rf"found \[secret:{kind} [0-9a-f]{{6}}\] in the log", shown)


@pytest.mark.parametrize(
    "text",
    [
        'password = "hunter2"',
        "password: hunter2",
        "DB_PASSWORD=hunter2",
        "export DB_PASSWORD=hunter2",
        '{"password": "hunter2", "user": "app"}',
        '{\\"password\\": \\"hunter2\\"}',
        "postgres://app:hunter2@db.internal:5432/orders",
        "login --user app --password hunter2",
        "connect(password=hunter2)",
        "passwd = 'hunter2'",
        "密码：hunter2",
        "<password>hunter2</password>",
        "curl -u app:hunter2 https://ex.com",
        "POSTGRES_PASSWORD: hunter2",
        "MYSQL_PWD=hunter2 mysqldump",
        "  password: hunter2  # local only",
    ],
)
def test_a_value_behind_a_secrets_name_goes_and_everything_else_stays(text: str) -> None:
    shown = redact(text)
    assert "hunter2" not in shown
    head, tail = text.split("hunter2")
    assert shown.startswith(head)
    assert shown.endswith(tail)


@pytest.mark.parametrize(
    "text",
    [
        "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCY01",
        "Authorization: Bearer q1w2e3r4t5y6u7i8",
        'curl -H "x-api-key: q1w2e3r4t5y6u7i8"',
        "client_secret: q1w2e3r4t5y6u7i8",
        'const apiToken = "q1w2e3r4t5y6u7i8";',
        "https://ex.com/cb?access_token=q1w2e3r4t5y6u7i8&page=2",
        "signing-key = q1w2e3r4t5y6u7i8",
        "//registry.npmjs.org/:_authToken=q1w2e3r4t5y6u7i8",
        "DefaultEndpointsProtocol=https;AccountKey=q1w2e3r4t5y6u7i8==;",
        "JWT_SECRET=q1w2e3r4t5y6u7i8",
        'headers["Authorization"] = "Bearer q1w2e3r4t5y6u7i8"',
        'PRIVATE_KEY="q1w2e3r4t5y6u7i8"',
    ],
)
def test_tokens_and_keys_behind_their_names_go(text: str) -> None:
    shown = redact(text)
    assert "[secret:value " in shown
    assert "q1w2e3r4" not in shown
    assert "wJalrXUt" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens = 4096",
        "token_count: 12",
        '"input_tokens": 1234, "output_tokens": 88',
        "password_min_length = 8",
        "secretName: db-creds",
        "threshold_tokens: 150000",
        "tokenizer: o200k_base",
        "AUTH_TIMEOUT = 30",
        "commit 9f2c41aa9f2c41aa9f2c41aa9f2c41aa9f2c41aa",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "123e4567-e89b-12d3-a456-426614174000",
        "token = parser.next_token()",
        "const token = await getToken()",
        "password: str",
        "password: string;",
        'api_key = os.environ["API_KEY"]',
        "api_key: YOUR_API_KEY",
        "secret: ${DB_SECRET}",
        'password = request.form["password"]',
        '"eos_token": "</s>"',
        "private_key_path = /etc/ssl/server.pem",
        "http://localhost:8080/?code=404&key=region",
        "the password is wrong: try again",
        "primary_key = True",
        "if token > limit2: raise",
        "passwordHash: sha256$9f2c41aa",
        "the secret: never give up 100%",
        "const keyboardLayout = 'qwerty123'",
        "tokens=[1, 2, 3]; token_ids: abc12345",
        "git@github.com:acme/shop.git",
        "risk-based task-oriented disk-backed",
        "",
    ],
)
def test_configuration_hashes_and_code_survive(text: str) -> None:
    assert redact(text) == text


def test_the_same_secret_has_the_same_label_and_another_store_another() -> None:
    text = 'password = "correct-horse-7"\nPGPASSWORD=correct-horse-7'
    labels = set(re.findall(r"\[secret:[^]]+\]", redact(text)))
    assert len(labels) == 1
    assert labels.isdisjoint(re.findall(r"\[secret:[^]]+\]", redactor(b"another")(text)))


def test_a_named_secret_that_is_printed_again_without_its_name_goes_too() -> None:
    shown = redact('token = "q1w2e3r4t5y6"\nsent q1w2e3r4t5y6 to the server')
    assert "q1w2e3r4t5y6" not in shown


def test_a_key_block_becomes_one_label_and_keeps_its_lines() -> None:
    body = "MIIEowIBAAKCAQEA7x" * 3
    text = f"a\n-----BEGIN OPENSSH PRIVATE KEY-----\n{body}\n{body}\n-----END OPENSSH PRIVATE KEY-----\nline six"
    shown = redact(text)
    assert "MIIEow" not in shown
    assert shown.split("\n")[5] == "line six"
    assert shown.count("\n") == text.count("\n")


def test_a_key_block_that_was_cut_short_is_hidden_to_its_end() -> None:
    shown = redact("-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA7x\n" * 3 + "MIIEow")
    assert "MIIEow" not in shown


def test_a_key_block_inside_json_is_hidden() -> None:
    text = json.dumps(
        {"key": "-----BEGIN PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA7x\n" * 3 + "-----END PRIVATE KEY-----\n"}
    )
    assert "MIIEow" not in redact(text)


def test_redacting_twice_changes_nothing_more() -> None:
    text = "\n".join(
        [
            *PROVIDER_KEYS.values(),
            "password = hunter2",
            "db://u:hunter2@h",
            "Authorization: Bearer q1w2e3r4t5y6",
        ]
    )
    once = redact(text)
    assert redact(once) == once


def test_switched_off_it_leaves_the_text_alone() -> None:
    assert redactor(b"k", enabled=False)("password = hunter2") == "password = hunter2"


def test_letters_that_grow_when_made_small_do_not_shift_the_cut() -> None:
    assert redact("İİİ password = hunter2 İ") == redact("İİİ password = hunter2") + " İ"
    assert "hunter2" not in redact("İİİ password = hunter2 İ")


@pytest.mark.parametrize(
    "text",
    [
        "You must use the password hunter2-Tr0ub4dor.",
        "the password is hunter2-Tr0ub4dor",
        'Passwort ist "hunter2-Tr0ub4dor"',
    ],
)
def test_a_password_said_in_prose_is_replaced(text: str) -> None:
    assert "hunter2-Tr0ub4dor" not in redactor(b"k" * 32)(text)


@pytest.mark.parametrize(
    "text",
    [
        "the password field is required",
        "password min 8 chars",
        "password src/auth/login2.py",
        "set the pwd to /tmp/a1b2c3d4",
    ],
)
def test_prose_about_passwords_stays(text: str) -> None:
    assert redactor(b"k" * 32)(text) == text


def test_a_quoted_secret_with_an_escaped_quote_in_it_goes_whole() -> None:
    assert "cdefghij" not in redactor(b"k" * 32)(r'{"password": "ab\"cdefghij", "port": 8443}')
    assert "8443" in redactor(b"k" * 32)(r'{"password": "ab\"cdefghij", "port": 8443}')


@pytest.mark.parametrize("levels", [600, 5_000])
def test_json_that_is_too_deep_to_go_through_is_redacted_as_text(levels: int) -> None:
    deep = '{"password": "hunter2-Tr0ub4dor", "a": ' + "[" * levels + "]" * levels + "}"
    assert "hunter2" not in redact_json(deep, redactor(b"k" * 32))


def test_the_beginning_of_a_key_a_thousand_times_is_looked_at_once_each() -> None:
    """A look for the digit of a key that goes on to the end of the text would take minutes here."""
    text = "sk-" * 200_000
    assert redactor(b"k" * 32)(text) == text


@given(
    st.lists(st.text("ab1", min_size=8, max_size=14), min_size=1, max_size=12),
    st.text("ab1", max_size=80),
    st.lists(st.integers(0, 80), max_size=6),
)
def test_many_secrets_are_found_where_few_are(values: list[str], text: str, borders: list[int]) -> None:
    """They are looked for in another way."""
    few = {value: f"[{value}]" for value in values}
    many = {**few, **{f"zz{n:06}": "" for n in range(20)}}
    cuts = sorted(border for border in borders if border <= len(text))
    spans = [(start, stop, "taken") for start, stop in zip(cuts[::2], cuts[1::2], strict=False)]
    assert list(Named(few).places(text, spans)) == list(Named(many).places(text, spans))


def test_a_thousand_secrets_are_hidden_where_they_stand_bare() -> None:
    values = [f"{'x' * (n % 7)}wxyz{n:06}" for n in range(1_000)]
    shown = redact("\n".join([*(f"token: {value}" for value in values), *(f"sent {value}." for value in values)]))
    assert not [value for value in values if value in shown]
    assert shown.count("sent [secret:value ") == 1_000


def test_a_token_may_begin_in_what_could_be_the_second_part_of_another() -> None:
    first, second, third = "eyJaaaaaaaa", "eyJbbbbbbbb", "c" * 12
    assert re.fullmatch(r"a \.\[secret:jwt [0-9a-f]{6}\] b", redact(f"a .{first}.{second}.{third} b"))


@pytest.mark.parametrize("indent", [0, 40])
def test_a_password_that_is_a_whole_line_needs_no_digit(indent: int) -> None:
    assert "hunter" not in redact(f"a\n{' ' * indent}password: hunter\nb")
    assert "hunter" in redact("a\nthe password: hunter\nb")
