"""A person's hand on a session: see what a compaction would do, steer what is kept, take one back. Knows nothing of
frameworks and of screens."""

from foldmark.control.hand import Control
from foldmark.control.past import Compaction, Totals
from foldmark.control.plans import Asks, Listed, Plan, Preview
from foldmark.control.setting import Setting

__all__ = ["Asks", "Compaction", "Control", "Listed", "Plan", "Preview", "Setting", "Totals"]
