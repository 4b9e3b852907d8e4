"""The triggers that a policy may name, and how they are put together. Knows nothing of what stands above them (the cap,
targets, pace).

    from foldmark import Policy, triggers
    Policy.coding(triggers=triggers.any_of(triggers.rent(), triggers.idle(1_800)))

Every number is reached *at* it: `events(40)` fires at 40 events, not at 39.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from foldmark.budget import Room
from foldmark.errors import PolicyError, words_of_error
from foldmark.policy import Policy
from foldmark.prices import Price
from foldmark.reports import Reason
from foldmark.store import View
from foldmark.triggers.measuring import Sizes
from foldmark.triggers.renting import BY_CODE, ComingCall, rent_reason


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """What a trigger is asked about: the scope's `view`, the `room` of its next request, its measured `sizes`, the
    `policy` (as it is for the running model), the time `now` in Unix seconds, the `context` that the caller gave, and
    the summary `call` that a compaction would make."""

    view: View
    room: Room
    sizes: Sizes
    policy: Policy
    now: float
    context: Mapping[str, Any] = {}
    call: ComingCall = BY_CODE

    @property
    def prices(self) -> Price | None:
        """Prices of the running model, where they are known."""
        return self.policy.prices

    @property
    def above(self) -> int:
        """Tokens of the next request above the static prefix."""
        return self.sizes.whole - self.room.static

    @property
    def events(self) -> int:
        """Events that the scope sees and that were recorded since the last compaction (control events do not count)."""
        head = self.view.checkpoint.head if self.view.checkpoint else 0
        return sum(event.seq > head and event.role != "control" for event in self.view.events)

    @property
    def pause(self) -> float:
        """Seconds since the last request; 0 before the first, and once a compaction has used the pause."""
        last, made = self.view.state.last_time, self.view.checkpoint
        used = made is not None and made.time >= last
        return 0.0 if not last or used else max(0.0, self.now - last)


Trigger = Callable[[Moment], Reason | None]
"""Why a compaction is due, or None."""

Level = Callable[[Room, int], int | None]
"""At which size of the whole request a trigger fires, given where the rent rule would; None: no size says it."""


class Rule(msgspec.Struct, frozen=True):
    """A trigger that can say what it is: its `name` with its numbers, the sizes it knows, the `parts` it is made of."""

    name: str
    ask: Trigger
    level: Level = lambda room, rent_at: None
    limit: Callable[[Room], int | None] = lambda room: None
    """The size that a static prefix alone should stay under; None: there is none."""
    parts: tuple[Rule, ...] = ()

    def __call__(self, moment: Moment) -> Reason | None:
        try:
            return self.ask(moment)
        except PolicyError:
            raise
        except Exception as error:
            said = words_of_error(error)
            raise PolicyError(f"The trigger {self.name} failed ({said}). Nothing was changed.") from error


def events(count: int) -> Rule:
    """So many events since the last compaction that the scope sees. The raw tail that it left does not count: else a
    small number would fire again at once."""
    _positive("events", count)
    return Rule(
        f"events({count:,})",
        lambda moment: _reached("events", moment.events, count, "events since the last compaction"),
    )


def tokens(count: int) -> Rule:
    """So many tokens of the next request above the static prefix."""
    _positive("tokens", count)
    return Rule(
        f"tokens({count:,})",
        lambda moment: _reached("tokens", moment.above, count, "tokens above the static prefix"),
        lambda room, rent_at: room.static + count,
        lambda room: count,
    )


def share(ratio: float, *, floor: int = 0) -> Rule:
    """The whole request reaches this share (above 0, up to 1) of the *running* model's window, as its provider counts,
    and at least `floor` tokens. The window is asked for at every request, so a switch of models counts at once. A
    static prefix that is as large by itself never fires (`static_warning` names it)."""
    if not 0 < ratio <= 1:
        raise PolicyError(f"triggers.share({ratio}) takes a share of the window above 0 and up to 1.")
    if floor < 0:
        raise PolicyError(f"triggers.share: floor is {floor}; it is a number of tokens, 0 or more.")

    def limit(room: Room) -> int:
        return max(room.correction.ours(ratio * room.window), floor)

    def ask(moment: Moment) -> Reason | None:
        most = limit(moment.room)
        text = f"tokens in all, {ratio:.0%} of a window of {moment.room.window:,}"
        return None if moment.room.static >= most else _reached("share", moment.sizes.whole, most, text)

    name = f"share({ratio:g}, floor={floor:,})" if floor else f"share({ratio:g})"
    return Rule(name, ask, lambda room, rent_at: limit(room) if room.static < limit(room) else None, limit)


def idle(seconds: float) -> Rule:
    """So many seconds since the last request, seen when the next one comes. A pause is used once, and a scope that has
    sent nothing yet has none. (The rent rule knows that a cold cache makes a compaction by code free.)"""
    _positive("idle", seconds)
    return Rule(
        f"idle({seconds:,g})", lambda moment: _reached("idle", moment.pause, seconds, "s since the last request")
    )


def size() -> Rule:
    """The policy's `budget.trigger_tokens` above the static prefix (or the cap, where that is smaller)."""
    return Rule("size()", _size, lambda room, rent_at: room.static + room.trigger, _size_limit)


def rent() -> Rule:
    """The rent rule where the running model's prices are known, else `size()`. What a policy without triggers does."""
    return Rule("rent()", _rent, lambda room, rent_at: rent_at)


def custom(function: Callable[[Moment], Reason | str | bool | None], name: str = "") -> Rule:
    """Your function: it gets the Moment (with the caller's `context`) and returns a Reason, the reason as text, True,
    or nothing. An error in it goes to whoever asked for the request, as the cause of a PolicyError that names it."""
    if not callable(function):
        raise PolicyError(f"triggers.custom takes a function of a Moment, and {function!r} is none.")
    said = name or str(getattr(function, "__name__", type(function).__name__))

    def ask(moment: Moment) -> Reason | None:
        found = function(moment)
        if isinstance(found, Reason):
            return found
        if found and isinstance(found, str | bool):
            return Reason(said, text=found if isinstance(found, str) else f"{said} asked for it")
        if found:
            raise PolicyError(f"The trigger {said} returned {found!r}; return a Reason, a text, True or None.")
        return None

    return Rule(f"custom({said})", ask)


def any_of(*parts: Trigger) -> Rule:
    """Fires when one of them does; the reason names every one that does."""
    rules = _rules("any_of", parts)

    def ask(moment: Moment) -> Reason | None:
        return _joined([found for rule in rules if (found := rule(moment))], ", ")

    def level(room: Room, rent_at: int) -> int | None:
        return min((size for rule in rules if (size := rule.level(room, rent_at)) is not None), default=None)

    return Rule(f"any_of({', '.join(rule.name for rule in rules)})", ask, level, parts=rules)


def all_of(*parts: Trigger) -> Rule:
    """Fires when all of them do; the reason names them all. The first that does not ends the asking."""
    rules = _rules("all_of", parts)

    def ask(moment: Moment) -> Reason | None:
        reasons = []
        for rule in rules:
            if not (found := rule(moment)):
                return None
            reasons.append(found)
        return _joined(reasons, " and ")

    def level(room: Room, rent_at: int) -> int | None:
        sizes = [size for rule in rules if (size := rule.level(room, rent_at)) is not None]
        return max(sizes) if len(sizes) == len(rules) else None

    return Rule(f"all_of({', '.join(rule.name for rule in rules)})", ask, level, parts=rules)


def rule_of(trigger: Trigger) -> Rule:
    """The trigger as a Rule; a plain function is one of your own."""
    return trigger if isinstance(trigger, Rule) else custom(trigger)


def leaves(rule: Rule) -> tuple[Rule, ...]:
    """The simple triggers that it is made of."""
    return tuple(leaf for part in rule.parts for leaf in leaves(part)) if rule.parts else (rule,)


def _rules(name: str, parts: tuple[Trigger, ...]) -> tuple[Rule, ...]:
    if not parts:
        raise PolicyError(f"triggers.{name} takes at least one trigger.")
    return tuple(rule_of(part) for part in parts)


def _joined(reasons: list[Reason], word: str) -> Reason | None:
    if len(reasons) < 2:
        return reasons[0] if reasons else None
    first = reasons[0]
    names, texts = (word.join(part) for part in zip(*((one.trigger, one.text) for one in reasons), strict=True))
    return Reason(names, first.value, first.threshold, texts)


def _size(moment: Moment) -> Reason | None:
    limit = moment.room.trigger
    if moment.above < limit:
        return None
    without = "" if moment.prices else "without prices "
    text = f"{moment.above:,} tokens above the static prefix; {without}{limit:,} is the limit"
    return Reason("size", moment.above, limit, text)


def _size_limit(room: Room) -> int | None:
    return room.trigger if room.trigger < room.cap else None  # a small window: the cap rules


def _rent(moment: Moment) -> Reason | None:
    if moment.prices is None:
        return _size(moment)
    return rent_reason(moment.prices, moment.policy, moment.room, moment.sizes, moment.call)


def _reached(trigger: str, value: float, threshold: float, of: str) -> Reason | None:
    if value < threshold:
        return None
    return Reason(trigger, value, threshold, f"{value:,.0f} {of}, {threshold:,.0f} is the limit")


def _positive(name: str, number: float) -> None:
    if not number > 0:
        raise PolicyError(f"triggers.{name}({number}) takes a number above 0.")
