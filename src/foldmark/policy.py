"""Every choice a user can make, as one frozen value of small groups. Knows nothing of the steps that read it.

Numbers are tokens unless the name says otherwise. `None` means "derive it" (the sentence says from what).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

import msgspec

from foldmark.changing import changed, table
from foldmark.errors import PolicyError
from foldmark.options import RANGES as _RANGES
from foldmark.options import (
    TRIGGER_TOKENS,
    Admission,
    Background,
    Budget,
    Cleanup,
    Expected,
    Keep,
    Layout,
    Pace,
    Recall,
    Retention,
    Shape,
    Tail,
)
from foldmark.prices import Price, PriceTable, price_of

__all__ = [
    "PRESETS", "RUNS", "Admission", "Background", "Budget", "Cleanup", "Expected", "Keep", "Layout", "Pace", "Policy",
    "Recall", "Retention", "Run", "Shape", "Tail",
]  # fmt: skip

Run = Literal["inline", "intra_run", "background", "manual"]
RUNS = get_args(Run)


class Policy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All options. Presets: `coding()`, `chat()`, `research()`, `high_risk()`, `realtime()`."""

    name: str = "coding"
    """The preset's name, for reports."""
    window: int | None = None
    """The model's context window. None: 128,000 with a warning."""
    admission: Admission = Admission()
    cleanup: Cleanup = Cleanup()
    tail: Tail = Tail()
    budget: Budget = Budget()
    shape: Shape = Shape()
    layout: Layout = Layout()
    expected: Expected = Expected()
    pace: Pace = Pace()
    keep: Keep = Keep()
    background: Background = Background()
    recall: Recall = Recall()
    retention: Retention = Retention()
    prices: Price | None = None
    """Prices of the model. Given, the rent rule decides when; None takes those of `price_table` for the running model;
    where that knows none, `budget.trigger_tokens` decides."""
    price_table: PriceTable | None = None
    """Prices by model. None: the table that comes with the library; an empty one switches it off."""
    models: Mapping[str, Mapping[str, Any]] = {}
    """What differs for some models: the beginning of a name, or a pattern with `*`, and the options that change. The
    longest that fits counts."""
    run: Run = "inline"
    """`inline`: `Session.request` compacts first when due. `intra_run`: it does so only between two model calls of one
    run, and the end of the turn raises work for a `Worker`. `background`: every step raises work, and `request` waits
    for no model; only the cap is answered at once, by code. `manual`: only `compact` does anything."""
    redact: bool = True
    """Replace secrets by labels wherever text leaves the log."""
    profiles: tuple[Any, ...] = ()
    """Tool profiles put in front of the built-in ones (`foldmark.profiles.Profile`)."""
    triggers: Callable[..., Any] | None = None
    """`(Moment) -> Reason | None`, of `foldmark.triggers`. None: as `pace.rule` says. The cap always counts. What a
    function of yours raises reaches whoever asked for the request as a PolicyError, with the error as its cause."""

    def __post_init__(self) -> None:
        for field, kind in _KINDS.items():
            if not isinstance(value := getattr(self, field), kind):
                raise PolicyError(f"{field} is {value!r}; it takes {_NEEDED[field]}.")
        for field, kind in _GROUPS.items():
            _check_group(field, getattr(self, field), kind)
        if self.run not in RUNS:
            raise PolicyError(f"run is {self.run!r}; allowed are {', '.join(RUNS)}.")
        if self.triggers is not None and not callable(self.triggers):
            raise PolicyError("triggers takes a function (Moment) -> Reason | None; see foldmark.triggers.")
        for group, field, low, high in _RANGES:
            value = getattr(getattr(self, group), field)
            if value is not None and not low <= value <= high:
                raise PolicyError(f"{group}.{field} is {value}; allowed is {low} to {high}.")
        if self.window is not None and self.window < 1_000:
            raise PolicyError(f"window is {self.window}; a context window has at least 1,000 tokens.")
        if self.models:
            msgspec.structs.force_setattr(self, "models", _models(self))

    @staticmethod
    def coding(**changes: Any) -> Policy:
        """Agents that read, write and run: landing 16,000, a fifth of it raw."""
        return changed(Policy(name="coding"), changes)

    @staticmethod
    def chat(**changes: Any) -> Policy:
        """Conversations with a few tools: landing 8,000, checkpoint in the system text."""
        return changed(
            Policy(
                name="chat",
                tail=Tail(share=0.10),
                budget=Budget(landing_default=8_000),
                layout=Layout(checkpoint="system"),
            ),
            changes,
        )

    @staticmethod
    def research(**changes: Any) -> Policy:
        """Long reading: landing 32,000, checkpoint in the system text."""
        return changed(
            Policy(
                name="research",
                tail=Tail(share=0.10),
                budget=Budget(landing_default=32_000),
                layout=Layout(checkpoint="system"),
            ),
            changes,
        )

    @staticmethod
    def realtime(**changes: Any) -> Policy:
        """Voice and other low-latency uses: landing 8,000, small previews."""
        return changed(
            Policy(
                name="realtime",
                tail=Tail(share=0.10),
                budget=Budget(landing_default=8_000),
                admission=Admission(preview_tokens=200),
            ),
            changes,
        )

    @staticmethod
    def high_risk(**changes: Any) -> Policy:
        """Payments, approvals, production: nothing is demoted, the checkpoint never speaks as system."""
        return changed(Policy(name="high_risk", cleanup=Cleanup(demote=False)), changes)

    @staticmethod
    def preset(name: str) -> Policy:
        """A preset by name. Raises PolicyError that names the nearest one."""
        if name not in PRESETS:
            near = get_close_matches(name, PRESETS, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise PolicyError(f"There is no policy {name!r}; presets are {', '.join(PRESETS)}.{hint}")
        return PRESETS[name]()

    @staticmethod
    def from_toml(text: str) -> Policy:
        """Read `preset = "coding"` and `group.field = value` lines. An unknown key names the nearest known one."""
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise PolicyError(f"The policy file is not TOML: {error}.") from error
        return changed(Policy.preset(str(data.pop("preset", "coding"))), data)

    def to_json(self) -> str:
        """All options as JSON, to keep with a session. Functions and tool profiles are code and stay out."""
        tail, keep = (msgspec.structs.replace(group, choose=None) for group in (self.tail, self.keep))
        layout = msgspec.structs.replace(self.layout, format=None)
        plain = msgspec.structs.replace(
            self, tail=tail, keep=keep, layout=layout, triggers=None, profiles=(), price_table=None, models={}
        )
        data = msgspec.to_builtins(plain)
        if self.models:
            data["models"] = {
                name: {key: _without_code(value) for key, value in changes.items() if key not in _CODE}
                for name, changes in self.models.items()
            }
        if self.price_table is not None:
            data["price_table"] = {"as_of": self.price_table.as_of, "model": self.price_table.rows}
        return msgspec.json.encode(data).decode()

    @staticmethod
    def from_json(text: str) -> Policy:
        """Read `to_json` back. Raises PolicyError for options that this version does not know."""
        try:
            return msgspec.json.decode(text, type=_Stored).policy()
        except msgspec.DecodeError as error:
            raise PolicyError(f"The policy stored with the session cannot be read: {error}.") from error

    def replace(self, **changes: Any) -> Policy:
        """A copy with other values; groups may be given as mappings of the fields that change."""
        return changed(self, changes)

    def for_model(self, model: str) -> Policy:
        """The policy while this model runs: with what `models` says of it, and with its prices from the table where
        the policy gives none. An unknown or empty name changes nothing.

        Prices that only the table knows do not overrule a size that was set: a changed `budget.trigger_tokens` stays
        the rule, unless `pace.rule` says otherwise.
        """
        name = _fitting(self.models, model)
        merged = changed(self, self.models[name]) if name else self
        found = price_of(model, self.price_table) if model and merged.prices is None else None
        if found is None:
            return merged
        sized = merged.budget.trigger_tokens != TRIGGER_TOKENS
        pace = msgspec.structs.replace(merged.pace, rule=merged.pace.rule or ("size" if sized else None))
        return msgspec.structs.replace(merged, prices=found, pace=pace)


class _Stored(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of a Policy that JSON can carry."""

    name: str = "coding"
    window: int | None = None
    admission: Admission = Admission()
    cleanup: Cleanup = Cleanup()
    tail: Tail = Tail()
    budget: Budget = Budget()
    shape: Shape = Shape()
    layout: Layout = Layout()
    expected: Expected = Expected()
    pace: Pace = Pace()
    keep: Keep = Keep()
    background: Background = Background()
    recall: Recall = Recall()
    retention: Retention = Retention()
    prices: Price | None = None
    price_table: dict[str, Any] | None = None
    models: dict[str, dict[str, Any]] = {}
    run: Run = "inline"
    redact: bool = True

    def policy(self) -> Policy:
        fields = {field: getattr(self, field) for field in self.__struct_fields__}
        if self.price_table is not None:
            fields["price_table"] = table(self.price_table)
        return Policy(**fields)


PRESETS: dict[str, Callable[[], Policy]] = {
    "coding": Policy.coding,
    "chat": Policy.chat,
    "research": Policy.research,
    "high_risk": Policy.high_risk,
    "realtime": Policy.realtime,
}

_GROUPS = {
    "admission": Admission, "cleanup": Cleanup, "tail": Tail, "budget": Budget, "shape": Shape, "layout": Layout,
    "expected": Expected, "pace": Pace, "keep": Keep, "background": Background, "recall": Recall,
    "retention": Retention,
}  # fmt: skip
_CODE = ("triggers", "profiles")
"""Options that are code: they cannot stand in a file."""
_KINDS: dict[str, type | tuple[type, ...]] = {
    **_GROUPS,
    "name": str,
    "window": (int, type(None)),
    "prices": (Price, type(None)),
    "price_table": (PriceTable, type(None)),
    "models": Mapping,
    "redact": bool,
    "profiles": tuple,
}
_NEEDED = {
    **{name: f"a {kind.__name__} or a mapping of its fields" for name, kind in _GROUPS.items()},
    "name": "a text",
    "window": "a number of tokens or None",
    "prices": "a Price, a mapping of its fields, or None",
    "price_table": "a PriceTable, a mapping (as_of, and rows as model), or None",
    "models": "a mapping from model names to mappings of the options that change",
    "redact": "True or False",
    "profiles": "a tuple of tool profiles",
}


def _check_group(field: str, group: msgspec.Struct, kind: type) -> None:
    """Raises PolicyError for a field of another type than it says: a group may have been built directly, and a text in
    place of a list of texts would be read letter by letter."""
    try:
        msgspec.convert({name: getattr(group, name) for name in group.__struct_fields__}, kind)
    except msgspec.ValidationError as error:
        raise PolicyError(f"{field}: {error}.") from error


# -- what differs by model


def _models(policy: Policy) -> dict[str, dict[str, Any]]:
    """The changes by model as plain mappings. Raises PolicyError when one of them makes no sense in this policy."""
    base, out = msgspec.structs.replace(policy, models={}), {}
    for name, changes in policy.models.items():
        if not isinstance(name, str) or not name or not isinstance(changes, Mapping):
            raise PolicyError(f"models[{name!r}] is {changes!r}; it takes a model's name and a mapping of options.")
        try:
            out[name] = {key: _change(key, value) for key, value in changes.items()}
            changed(base, out[name])
        except PolicyError as error:
            raise PolicyError(f"models[{name!r}]: {error}") from error
    return out


def _without_code(value: Any) -> Any:
    """A change without the functions of its group (`layout.format`, `tail.choose`, `keep.choose`)."""
    if isinstance(value, Mapping):
        return {field: one for field, one in value.items() if not callable(one)}
    return value


def _change(key: str, value: Any) -> Any:
    if key in ("models", "price_table", "name"):
        raise PolicyError(f"{key} cannot differ by model; set it in the policy itself.")
    if isinstance(value, Price):
        return msgspec.to_builtins(value)
    if key in _GROUPS and not isinstance(value, Mapping):
        raise PolicyError(f"{key} takes a mapping of the fields that change here, so that all others stay.")
    return dict(value) if isinstance(value, Mapping) else value


def _fitting(models: Mapping[str, Any], model: str) -> str:
    """The longest name or pattern that fits a model, whoever serves it (`openai/gpt-6` is `gpt-6` too); else empty."""
    names = {model.lower(), model.lower().rpartition("/")[2]} - {""}
    return max((known for known in models if any(_fits(known.lower(), name) for name in names)), key=len, default="")


def _fits(known: str, name: str) -> bool:
    return fnmatchcase(name, known) if "*" in known else name.startswith(known)
