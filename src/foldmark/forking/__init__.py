"""The cache-safe fork: a clone of the parent request that asks for a summary, and what became of the cache. Knows
nothing of sessions or of how a call is made."""

from foldmark.forking.cloning import fork_of
from foldmark.forking.prints import Prints, prints_of, what_changed
from foldmark.forking.reading import CacheReport, cache_report, causes

__all__ = ["CacheReport", "Prints", "cache_report", "causes", "fork_of", "prints_of", "what_changed"]
