"""No text costs the redactor more than in proportion to its length. Work is counted, no clock is looked at."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from foldmark.redact import elsewhere, finding, judging, naming, providers, redactor
from stepping import Stepping

MODULES: list[ModuleType] = [finding, judging, naming, providers]
UNITS = [
    *(
        "密码:",
        "密码:a1",
        "token:",
        "token: ",
        "token=",
        "TOKEN=",
        "token:a1",
        "token:))",
        "token:token:)",
        "password:1",
    ),
    *("password:", "password ", "password is ", "password   ", "pwd to ", "passphrase = a", "token='", 'token="'),
    *('token:\\"', 'token:\\\\"', "token->", "<token>", "<token>a1b2c3d4</token>", "--token ", "--token", "key"),
    *("api_key=", "secret:b'", "token:p.a::", "token:a1$", "credential:xxxx", "bearer ", "bearer", "basic a1b2c3d4 "),
    *("eyJ", "-eyJ", "eyJaaaaaaaa.eyJ", "-eyJaaaaaaaa.eyJ-eyJ", ".eyJaaaaaaaa", "sk-", "sk-a", "sk-ant-", "://a:"),
    *("://", "://a", "://aaaa-", "://a1", "curl -u a", "--user=", "--user a", "SG.", "SG.a-", "SG.aaaaaaaaaaaaaaaa"),
    *("-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\\n", "-----BEGIN PRIVATE KEY-----\n", "[secret:"),
    *("-----BEGIN PRIVATE KEY-----AAAAAAAAAAAAAAAA", "-----BEGIN PRIVATE KEY-----AAAAAAAAAAAAAAAA \\r", "[secret:a "),
    *(f"{literal}{more}" for literal in providers.PROVIDER_RULES for more in ("", "a", "1", "-", "_", "A0", " ")),
]
TAIL = " .eyJ @ curl password "
"""What some rules want to see before they begin."""


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every pattern of the redactor counts its steps."""
    for module in MODULES:
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                monkeypatch.setattr(module, name, Stepping(value))
    rules = {
        literal: [(Stepping(one), kind) for one, kind in each] for literal, each in providers.PROVIDER_RULES.items()
    }
    monkeypatch.setattr(providers, "PROVIDER_RULES", rules)
    deep = sys.getrecursionlimit()
    sys.setrecursionlimit(200_000)
    yield
    sys.setrecursionlimit(deep)


def work(text: str) -> int:
    Stepping.steps = 0
    redactor(b"k" * 32)(text)
    return Stepping.steps


@pytest.mark.parametrize("unit", UNITS)
def test_twice_the_text_takes_twice_the_work(unit: str) -> None:
    short, long = (work(unit * (size // len(unit)) + TAIL) for size in (800, 1_600))
    assert long <= 2.3 * short + 1_000


@pytest.mark.parametrize("unit", ["密码:", "token:a1", "-eyJ", "://a"])
def test_no_character_is_looked_at_hundreds_of_times(unit: str) -> None:
    assert work(unit * (9_000 // len(unit)) + TAIL) < 150 * 9_000


def test_every_pattern_of_the_redactor_is_counted() -> None:
    written = [name for module in MODULES for name, one in vars(module).items() if isinstance(one, Stepping)]
    assert {"_URL", "_URL_USER", "_SAID", "_QUOTED", "_TO_VALUE", "_KEY_REST", "_JWT"} <= set(written)
    assert not [name for name, one in vars(elsewhere).items() if isinstance(one, re.Pattern)]


def test_a_pattern_that_looks_again_from_every_place_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The count itself: this one read to the end of the text behind every address."""
    monkeypatch.setattr(finding, "_URL_USER", Stepping(re.compile(r"://((?=[^@]*\d)[0-9A-Za-z_.-]{20,200})@")))
    short, long = (work("://a" * size + TAIL) for size in (120, 240))
    assert long > 2.6 * short
