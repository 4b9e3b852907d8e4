"""One hypothesis profile for the suite: nothing in it is timed (a slow machine is no fault), and it repeats itself."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile(
    "foldmark", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, max_examples=60
)
settings.load_profile("foldmark")
