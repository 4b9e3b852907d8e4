"""One hypothesis profile for the suite: no deadlines (timings belong in benchmarks), reproducible examples."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("foldmark", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("foldmark")
