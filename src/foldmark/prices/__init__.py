"""What tokens cost: the prices of a model, a dated table of them, and bills. Knows nothing of sessions.

No constant of the library holds a vendor's price: a `Price` is given in the policy, or looked up by the model's name
in a `PriceTable` that has a date and a source for every row (`prices.toml` beside this file, yours over it).
"""

from foldmark.prices.money import Money, money
from foldmark.prices.price import Price, bill, dollars, prompt_cost, swing
from foldmark.prices.table import TABLE, PriceTable, Row, price_of

__all__ = [
    "TABLE",
    "Money",
    "Price",
    "PriceTable",
    "Row",
    "bill",
    "dollars",
    "money",
    "price_of",
    "prompt_cost",
    "swing",
]
