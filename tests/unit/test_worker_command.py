"""How `foldmark work` hears signals."""

from __future__ import annotations

import os
import signal
import time

import pytest

from foldmark.cli import worker_command


class Lost:
    """A signal that comes while this is finalised is swallowed by Python."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_that_got_lost_in_a_finaliser_is_heard_a_moment_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_command, "AGAIN_SECONDS", 0.2)
    heard = False
    with worker_command._signals(worker_command._interrupt), worker_command._heard_again():
        try:
            lost = Lost()
            del lost
            time.sleep(5)
        except KeyboardInterrupt:
            heard = True
    assert heard
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
