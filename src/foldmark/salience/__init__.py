"""Which lines are worth keeping: units, scores, word and name counts. Knows nothing of storage or budgets."""

from foldmark.salience.names import Tally
from foldmark.salience.ranking import choose, fill, in_order, rank, rank_names
from foldmark.salience.scoring import best_units, price_of

__all__ = ["Tally", "best_units", "choose", "fill", "in_order", "price_of", "rank", "rank_names"]
