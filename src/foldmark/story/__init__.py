"""What a model told: read, checked against the log, merged with what was told before. Knows nothing of how it was
asked, or of the checkpoint it goes into."""

from foldmark.story.checking import Checked, checked
from foldmark.story.evidence import Sources
from foldmark.story.merging import given_up, merged, phrase_of
from foldmark.story.reading import Answer, read_answer

__all__ = ["Answer", "Checked", "Sources", "checked", "given_up", "merged", "phrase_of", "read_answer"]
