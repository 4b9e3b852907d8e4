"""Whatever stands around a secret, it goes, the lines stay, and doing it twice changes nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foldmark.redact import redactor

redact = redactor(b"k" * 32)

_KEY = "ghp_" + "a1B2c3D4e5" * 4
_SECRETS = [
    _KEY,
    'password = "hunter2!"',
    "API_KEY=q1w2e3r4t5y6u7",
    "postgres://app:hunter2!@db/x",
    "Authorization: Bearer q1w2e3r4t5y6u7",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7xyz\n-----END RSA PRIVATE KEY-----",
]
_LEAKS = (_KEY, "hunter2!", "q1w2e3r4t5y6u7", "MIIEowIBAAKCAQEA7xyz")
_words = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r"), max_size=40)
_pieces = st.lists(
    st.one_of(_words, st.sampled_from(_SECRETS), st.sampled_from(["token", "key:", "--", "[secret:", '"'])),
    max_size=12,
)


@given(_pieces)
def test_redacting_twice_is_redacting_once(pieces: list[str]) -> None:
    once = redact("\n".join(pieces))
    assert redact(once) == once


@given(_pieces)
def test_lines_stay_where_they_are(pieces: list[str]) -> None:
    text = "\n".join(pieces)
    assert redact(text).count("\n") == text.count("\n")


@given(_words, st.sampled_from(_SECRETS), _words)
def test_a_planted_secret_never_comes_through(before: str, secret: str, after: str) -> None:
    shown = redact(f"{before}\n{secret}\n{after}")
    assert not any(leak in shown for leak in _LEAKS)


@given(st.text(alphabet="abcdef0123456789 \n-", max_size=400))
def test_bare_hex_is_never_touched(text: str) -> None:
    assert redact(text) == text
