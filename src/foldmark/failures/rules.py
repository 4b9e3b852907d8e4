"""The kinds of failure of a model call and the rule for each, with reasons. Knows nothing of exceptions of SDKs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import msgspec

FailureKind = Literal[
    "timeout",
    "rate_limited",
    "quota",
    "auth",
    "network",
    "overloaded",
    "too_long",
    "empty",
    "cut",
    "refused",
    "rejected",
    "missing_model",
    "error",
]

MESSAGE_LIMIT = 200
"""Characters of a failure's message: it stands in one line of a report and of a log."""


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """One failed call. `message` is one short line without text of the request and without secrets. `retry_after` are
    the seconds that the provider asks to wait; `limit` is the number of tokens that it said it takes at most. None:
    it did not say."""

    kind: FailureKind
    message: str = ""
    retry_after: float | None = None
    limit: int | None = None


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """What is done about a failure, in this order: the same model once more with less (`smaller`), or once more for
    plain text without a schema (`plain`), then the next model of the chain. `rest_seconds` is how long this model is
    not asked again, at least; what the provider said counts when it is longer."""

    smaller: bool = False
    plain: bool = False
    next_model: bool = True
    rest_seconds: float = 0.0
    sentence: str


class ModelFailed(Exception):
    """A call that failed in a way that is known already, for models that see it themselves (an error inside an answer
    with status 200, a local server that answers with an error)."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.kind}: {failure.message}" if failure.message else failure.kind)
        self.failure = failure


# The same model is asked again only where asking differently can help: less text, or no schema. Waiting inside an
# attempt helps nobody (a compaction stands in the way of a turn), so what needs time goes to the next model, and the
# rest keeps the following attempts from paying for the same failure.
_MINUTE, _PERSON = 60.0, 3_600.0

RULES: Mapping[FailureKind, Rule] = MappingProxyType(
    {
        # -- needs less text
        "too_long": Rule(smaller=True, sentence="too long for the model: once with half of it, then the next model"),
        # An empty answer is most often a window that was full without an error: asking for half of it has helped.
        "empty": Rule(smaller=True, sentence="no words came: once with half of the text, then the next model"),
        # Includes a reasoning model that thought until its output was used up: half the text needs less thought.
        "cut": Rule(smaller=True, sentence="cut by the output limit: once with half of the text, then the next model"),
        # -- needs another form
        # Also a server that refuses the schema itself.
        "rejected": Rule(plain=True, sentence="could not be used: once as plain text, then the next model"),
        # -- needs another model
        "refused": Rule(sentence="the model would not: the next model"),
        # Not the same model again: what it could not do in the time it was given, it could not do twice.
        "timeout": Rule(rest_seconds=_MINUTE, sentence="no answer in time: the next model; rests a minute"),
        # Half a minute: a broken line is usually back by then, or gone for long.
        "network": Rule(rest_seconds=30.0, sentence="the line broke: the next model; rests half a minute"),
        "overloaded": Rule(rest_seconds=_MINUTE, sentence="the server is busy: the next model; rests a minute"),
        # Limits are counted per minute, so nothing below one can help; the provider's own word counts when longer.
        "rate_limited": Rule(
            rest_seconds=_MINUTE, sentence="too many calls: the next model; rests as long as the provider says"
        ),
        # -- needs a person: the key, the bill, the name. An hour, so that a mended one is found the same day.
        "quota": Rule(rest_seconds=_PERSON, sentence="the credit is used up: the next model; rests an hour"),
        "auth": Rule(rest_seconds=_PERSON, sentence="the key is not accepted: the next model; rests an hour"),
        "missing_model": Rule(rest_seconds=_PERSON, sentence="the model is not there: the next model; rests an hour"),
        # -- nobody knows
        "error": Rule(rest_seconds=_MINUTE, sentence="an unknown error: the next model; rests a minute"),
    }
)
"""The rule of every kind of failure."""
