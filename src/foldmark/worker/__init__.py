"""Compaction in the background: claims work rows of a store and does them, in threads or in the caller's own. Knows
nothing of what a compaction does, and of who raised the work.
"""

from foldmark.worker.running import Worker

__all__ = ["Worker"]
