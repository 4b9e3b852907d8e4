"""Finds what a provider or an agent would refuse in a transcript and what will go wrong soon, and writes a working copy
in the same format. Knows nothing of stores or of the command line.

    diagnosis = examine(data, name="session.jsonl")
    mended = repair(data, name="session.jsonl")

`sheet` keeps a file as rows whose bytes stay when nothing is wrong with them. A `Talk` (one for each format) sees the
conversations in those rows and offers edits that keep them whole. Mends find a problem of structure and carry the way
out with them: `examine` lists what they found, `repair` applies them, so the two cannot disagree. The rules of the
providers come from `foldmark.wire`.
"""

from __future__ import annotations

from foldmark.doctor.advice import BY_HAND
from foldmark.doctor.examine import TALKS, examine, repair
from foldmark.doctor.values import Change, Diagnosis, Problem, Repair

__all__ = ["BY_HAND", "TALKS", "Change", "Diagnosis", "Problem", "Repair", "examine", "repair"]
