"""Waiting for what another thread or process does. Knows nothing of what it is.

Nothing waits as long as this where all is well: a slow machine is not a fault.
"""

from __future__ import annotations

import time
from collections.abc import Callable

LONG = 60.0
"""Seconds after which a test gives up what must come."""


def until(true: Callable[[], object]) -> None:
    """Waits until something is true. Raises TimeoutError where it never is."""
    end = time.monotonic() + LONG
    while not true():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.001)
