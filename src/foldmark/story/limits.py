"""A limit that the user set, and a statement that undoes it: a conflict that shows both sides. Knows nothing of evidence.

Compared are words: the same sort of verb and the things of a prohibition, the words and the number of an obligation.
Where it is not sure, the statement stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from foldmark.checkpoint import Fact, Item
from foldmark.render import escape
from foldmark.story.cutting import clipped
from foldmark.story.figures import NUMBER_WORDS, folded, value_of
from foldmark.words import STOP, words

State = Mapping[tuple[str, str], Fact]

