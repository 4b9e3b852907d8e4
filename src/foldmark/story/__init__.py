"""What a model told: read, checked against the log, merged with what was told before. Knows nothing of how it was
asked, or of the checkpoint it goes into."""

from foldmark.story.checking import Checked, checked
from foldmark.story.evidence import Sources
from foldmark.story.merging import merged
from foldmark.story.reading import Told, read_story, tell

__all__ = ["Checked", "Sources", "Told", "checked", "merged", "read_story", "tell"]
