"""Which lines are worth keeping: units, scores, word and name counts. Knows nothing of storage or budgets."""

from foldmark.salience.names import Tally, plain_arguments
from foldmark.salience.ranking import choose, fill, in_order, rank, rank_names
from foldmark.salience.scoring import price_of, units_and_counts

__all__ = [
    "Tally",
    "choose",
    "fill",
    "in_order",
    "plain_arguments",
    "price_of",
    "rank",
    "rank_names",
    "units_and_counts",
]
