"""Replaces secrets by labels in text that leaves the log. Knows nothing of events, stores or the text's way.

The same secret gets the same label (`[secret:aws-key 9f2c41]`, a hash keyed by the store), so a reader still
sees that two places hold the same one. Bare hex is never touched: commit hashes and digests are facts. Every
rule starts from a literal that `str.find` looks for, so ordinary text costs next to nothing, and no text costs
more than in proportion to its length.
"""

from foldmark.redact.documents import redact_json, redact_value
from foldmark.redact.elsewhere import NOTHING_NAMED, Named
from foldmark.redact.finding import LABEL
from foldmark.redact.labelling import Redactor, is_labelling, named_in, redact_part, redactor

__all__ = [
    "LABEL",
    "NOTHING_NAMED",
    "Named",
    "Redactor",
    "is_labelling",
    "named_in",
    "redact_json",
    "redact_part",
    "redact_value",
    "redactor",
]
