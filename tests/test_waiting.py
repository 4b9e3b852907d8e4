"""No test depends on how fast the machine is: what must come is waited for long, and nothing is timed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent
SHORT = re.compile(r"\.(?:wait|join|result|drain)\((?:timeout=)?(?:[1-9]|[1-5]\d)(?:\.\d+)?\)")
"""A wait of 1 to 59 seconds: too long for what must not come, too short for what must."""
HEALTH = re.compile(r"suppress_health_check=\[(?!.*too_slow).*\]")


def found(pattern: re.Pattern[str], text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if pattern.search(line)]


@pytest.mark.parametrize("pattern", [SHORT, HEALTH], ids=["short waits", "health checks"])
def test_no_test_waits_for_less_than_a_slow_machine_needs(pattern: re.Pattern[str]) -> None:
    files = (path for path in TESTS.rglob("*.py") if path != Path(__file__))
    assert {path.name: lines for path in files if (lines := found(pattern, path.read_text("utf-8")))} == {}


def test_hypothesis_times_nothing() -> None:
    assert settings().deadline is None
    assert HealthCheck.too_slow in settings().suppress_health_check


def test_the_check_itself_sees_a_short_wait() -> None:
    assert found(SHORT, "assert begun.wait(10)\nthread.join(timeout=5.0)\ndone.wait(0.3)\nthread.join(LONG)") == [
        "assert begun.wait(10)",
        "thread.join(timeout=5.0)",
    ]
    assert found(HEALTH, "@settings(suppress_health_check=[HealthCheck.data_too_large])")
    assert not found(HEALTH, "@settings(suppress_health_check=[HealthCheck.data_too_large, HealthCheck.too_slow])")
