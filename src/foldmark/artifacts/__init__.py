"""Where full bodies live: content-addressed, compressed, readable by line range. Knows nothing of events."""

from foldmark.artifacts.files import FileArtifacts
from foldmark.artifacts.memory import MemoryArtifacts
from foldmark.artifacts.place import Artifacts

__all__ = ["Artifacts", "FileArtifacts", "MemoryArtifacts"]
