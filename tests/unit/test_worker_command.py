"""How `foldmark work` hears signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

from foldmark.cli.worker_command import _Bell, _signals
from waiting import LONG


class Finalised:
    """A signal comes while this is finalised: what a handler raises there is swallowed by Python."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)


def test_a_signal_in_a_finaliser_is_heard() -> None:
    bell = _Bell()
    with _signals(bell):
        finalised = Finalised()
        del finalised
        assert bell.wait(LONG)


ELSEWHERE = """
import os, signal, threading, time
from foldmark.cli.worker_command import _Bell, _signals
bell = _Bell()
sends = lambda: (time.sleep(0.3), os.kill(os.getpid(), signal.SIGTERM))
with _signals(bell):
    threading.Thread(target=sends).start()  # it hears signals; from now on the main thread does not
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    print(bell.wait(None))
"""


def test_a_signal_that_another_thread_gets_is_heard() -> None:
    """Nothing wakes the waiting thread then: it has to look by itself."""
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, text=True, check=True, timeout=LONG)
    assert done.stdout == "True\n"


@pytest.fixture
def hangup() -> Iterator[None]:
    """Where the suite runs under nohup, SIGHUP is ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hangup")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_signal_rings_once_and_is_answered_as_before_afterwards(number: signal.Signals) -> None:
    bell, before = _Bell(), signal.getsignal(number)
    with _signals(bell):
        os.kill(os.getpid(), number)
        assert bell.wait(LONG)
        assert not bell.wait(0)
    assert signal.getsignal(number) is before


@pytest.mark.usefixtures("hangup")
def test_a_closed_terminal_that_is_ignored_stays_so() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    bell = _Bell()
    with _signals(bell):
        os.kill(os.getpid(), signal.SIGHUP)
        assert not bell.wait(0)


def test_a_signal_at_any_line_of_waiting_hangs_nothing() -> None:
    """The handler runs in the waiting thread itself, between any two of its steps: a lock that this thread holds just
    then would never come free."""
    bell, heard, lines = _Bell(), list[bool](), list[int]()

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if "_signals" not in frame.f_code.co_name and len(lines) < 50:
            lines.append(frame.f_lineno)
            sys.settrace(None)
            bell.ring()
            sys.settrace(trace)
        return trace

    def waits() -> None:
        sys.settrace(trace)
        try:
            heard.append(bell.wait(0.01))
        finally:
            sys.settrace(None)

    thread = threading.Thread(target=waits, daemon=True)
    thread.start()
    thread.join(LONG)
    assert heard == [True], "it waits for ever"
    assert lines
