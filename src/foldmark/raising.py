"""Which background work an append raises, as the policy says. Knows nothing of workers and of stores."""

from __future__ import annotations

from foldmark.policy import Policy
from foldmark.store import Raising

NOTHING = Raising(after="nothing")
"""No work: whoever asks for a request compacts on the way, or a person does."""


RAISING = ("background", "intra_run")
"""Ways to run in which appends raise work."""


def raising(policy: Policy, now: float) -> Raising:
    """What an append at the time `now` raises: after every step where a worker does all, at the end of a turn where the
    steps in between are compacted on the way (`intra_run`), else nothing."""
    if policy.run not in RAISING:
        return NOTHING
    chosen = policy.background
    return Raising(
        enlist=True,
        after="steps" if policy.run == "background" else "turns",
        not_before=now + chosen.idle_seconds if chosen.idle_seconds else 0.0,
        scopes=chosen.scopes,
        whole_session=chosen.whole_session,
    )
