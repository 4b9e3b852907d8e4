"""Every choice a user can make, as one frozen value of small groups. Knows nothing of the steps that read it.

Numbers are tokens unless the name says otherwise. `None` means "derive it" (the sentence says from what).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, Literal, TypeVar

import msgspec

from foldmark.errors import PolicyError
from foldmark.prices import Price


class Admission(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a tool result or giant paste enters the log."""

    limit_tokens: int | None = None
    """A larger result becomes preview + artifact. None: 2% of the window, between 1,000 and 8,000."""
    preview_tokens: int | None = None
    """What a preview may cost at most. None: a quarter of the limit, at least 500."""
    user_words_tokens: int = 8_000
    """A longer user message is admitted as a paste; ordinary words always stay verbatim."""
    inline_bytes: int = 4_096
    """Bodies up to this size never leave the event, whatever they cost."""


class Cleanup(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Deterministic shrinking behind the mark. Part of the fingerprint: changing it is an epoch."""

    keep_results: int = 3
    """The newest results that stay as they are."""
    keep_rounds: int = 2
    """The newest rounds that the mark never enters."""
    duplicates: bool = True
    """Replace repeated results (also near-equal ones) by a pointer to the newest."""
    superseded: bool = True
    """Replace reads of files that were read again or changed since."""
    demote: bool = True
    """Replace old refetchable results by their outcome line."""
    minimum_tokens: int = 80
    """Smaller results are left alone: their outcome line would save nothing."""
    bound_thinking: bool = False
    """The provider refuses signed thinking when anything in front of it changed: with each epoch, compaction or drop,
    all thinking from before it leaves whole, and a run that thinks is left alone until its end or the cap."""
    minimum_share: float = 0.10
    """An epoch without a compaction must shed at least this share of the request."""


class Tail(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How much of the newest past stays raw at a compaction."""

    share: float = 0.20
    """Share of the landing; at least the newest whole round."""
    minimum_rounds: int = 1
    """Whole rounds that stay whatever they cost, unless they alone pass the landing."""


class Budget(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a request may cost and what a compaction aims at. `landing` and `trigger` are above the static prefix."""

    landing_tokens: int | None = None
    """Size a compaction aims at. None: min(landing_default, window / 4, 0.6 x cap)."""
    landing_default: int = 16_000
    """16,000 coding, 8,000 chat and realtime, 32,000 research."""
    target_tokens: int | None = None
    """`--target`: size of the whole request after a compaction, static prefix included."""
    trigger_tokens: int = 48_000
    """Size above the static prefix that starts a compaction when no prices are known."""
    cap_share: float = 0.85
    """The cap is this share of the room for input, minus the static prefix."""
    output_reserve: int | None = None
    """Room for the answer. None: what the caller asks for, else min(16,000, 12% of the window)."""
    nothing_below: int = 15_000
    """Below this size above the static prefix only the cap, force or a target acts."""


class Shape(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a checkpoint is filled with, as shares of the landing that is left after the tail."""

    facts_share: float = 0.15
    """State sections, at most."""
    user_share: float = 0.12
    """Verbatim user messages, at most; sentences with a constraint never fall out."""
    names_share: float = 0.03
    """Working names, at most; the rest is excerpts."""


class Layout(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The order of a request."""

    checkpoint: Literal["user", "system"] = "user"
    """Where the checkpoint stands: as reference text in role user, or at the end of the system text."""
    state_bar: bool = False
    """Append what changed in state since the boundary as an ephemeral suffix."""


Run = Literal["inline", "manual"]


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
    prices: Price | None = None
    """Prices of the model. Given, the rent rule decides when; None, `trigger_tokens` does."""
    run: Run = "inline"
    """`inline`: `Session.request` compacts first when due. `manual`: only `compact` does."""
    redact: bool = True
    """Replace secrets by labels wherever text leaves the log."""
    profiles: tuple[Any, ...] = ()
    """Tool profiles put in front of the built-in ones (`foldmark.profiles.Profile`)."""
    triggers: Callable[..., Any] | None = None
    """`(view, now) -> Reason | None`. None: the rent rule or `trigger_tokens`, and the cap."""

    def __post_init__(self) -> None:
        for field, kind in _KINDS.items():
            if not isinstance(value := getattr(self, field), kind):
                raise PolicyError(f"{field} is {value!r}; it takes {_NEEDED[field]}.")
        if self.run not in ("inline", "manual"):
            raise PolicyError(f"run is {self.run!r}; allowed are inline and manual.")
        if self.triggers is not None and not callable(self.triggers):
            raise PolicyError("triggers takes a function (view, now) -> Reason | None.")
        for group, field, low, high in _RANGES:
            value = getattr(getattr(self, group), field)
            if value is not None and not low <= value <= high:
                raise PolicyError(f"{group}.{field} is {value}; allowed is {low} to {high}.")
        if self.window is not None and self.window < 1_000:
            raise PolicyError(f"window is {self.window}; a context window has at least 1,000 tokens.")

    @staticmethod
    def coding(**changes: Any) -> Policy:
        """Agents that read, write and run: landing 16,000, a fifth of it raw."""
        return _with(Policy(name="coding"), changes)

    @staticmethod
    def chat(**changes: Any) -> Policy:
        """Conversations with a few tools: landing 8,000, checkpoint in the system text."""
        return _with(
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
        return _with(
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
        return _with(
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
        return _with(Policy(name="high_risk", cleanup=Cleanup(demote=False)), changes)

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
        return _with(Policy.preset(str(data.pop("preset", "coding"))), data)

    def to_json(self) -> str:
        """All options as JSON, to keep with a session. Functions and tool profiles are code and stay out."""
        return msgspec.json.encode(msgspec.structs.replace(self, triggers=None, profiles=())).decode()

    @staticmethod
    def from_json(text: str) -> Policy:
        """Read `to_json` back. Raises PolicyError for options that this version does not know."""
        try:
            return msgspec.json.decode(text, type=_Stored).policy()
        except msgspec.DecodeError as error:
            raise PolicyError(f"The policy stored with the session cannot be read: {error}.") from error

    def replace(self, **changes: Any) -> Policy:
        """A copy with other values; groups may be given as mappings of the fields that change."""
        return _with(self, changes)


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
    prices: Price | None = None
    run: Run = "inline"
    redact: bool = True

    def policy(self) -> Policy:
        return Policy(**{field: getattr(self, field) for field in self.__struct_fields__})


PRESETS: dict[str, Callable[[], Policy]] = {
    "coding": Policy.coding,
    "chat": Policy.chat,
    "research": Policy.research,
    "high_risk": Policy.high_risk,
    "realtime": Policy.realtime,
}

_GROUPS = {
    "admission": Admission, "cleanup": Cleanup, "tail": Tail, "budget": Budget, "shape": Shape, "layout": Layout,
}  # fmt: skip
_KINDS: dict[str, type | tuple[type, ...]] = {
    **_GROUPS,
    "name": str,
    "window": (int, type(None)),
    "prices": (Price, type(None)),
    "redact": bool,
    "profiles": tuple,
}
_NEEDED = {
    **{name: f"a {kind.__name__} or a mapping of its fields" for name, kind in _GROUPS.items()},
    "name": "a text",
    "window": "a number of tokens or None",
    "prices": "a Price, a mapping of its fields, or None",
    "redact": "True or False",
    "profiles": "a tuple of tool profiles",
}

_RANGES: tuple[tuple[str, str, float, float], ...] = (
    ("admission", "limit_tokens", 50, 1_000_000),
    ("admission", "preview_tokens", 50, 100_000),
    ("admission", "user_words_tokens", 100, 1_000_000),
    ("cleanup", "keep_results", 0, 1_000),
    ("cleanup", "keep_rounds", 1, 1_000),
    ("cleanup", "minimum_share", 0.0, 1.0),
    ("tail", "share", 0.0, 0.9),
    ("tail", "minimum_rounds", 1, 1_000),
    ("budget", "landing_tokens", 500, 10_000_000),
    ("budget", "target_tokens", 500, 10_000_000),
    ("budget", "trigger_tokens", 500, 10_000_000),
    ("budget", "cap_share", 0.1, 1.0),
    ("budget", "output_reserve", 0, 10_000_000),
    ("shape", "facts_share", 0.0, 1.0),
    ("shape", "user_share", 0.0, 1.0),
    ("shape", "names_share", 0.0, 0.5),
)


_Group = TypeVar("_Group", bound=msgspec.Struct)


def _with(value: _Group, changes: Mapping[str, Any], path: str = "") -> _Group:
    known = value.__struct_fields__
    fields: dict[str, Any] = {}
    for key, new in changes.items():
        if key not in known:
            near = get_close_matches(key, known, 1)
            hint = f" Did you mean {path}{near[0]}?" if near else f" Known are {', '.join(known)}."
            raise PolicyError(f"There is no option {path}{key}.{hint}")
        old = getattr(value, key)
        if isinstance(new, Mapping) and key == "prices":
            fields[key] = _price(new)
        elif isinstance(new, Mapping) and isinstance(old, msgspec.Struct):
            fields[key] = _with(old, new, f"{path}{key}.")
        else:
            fields[key] = new
    try:
        out = msgspec.structs.replace(value, **fields)
        plain = {f: getattr(out, f) for f in known if not callable(getattr(out, f))}
        if path:
            msgspec.convert(plain, type(value))
        return out
    except msgspec.ValidationError as error:
        raise PolicyError(f"{path.rstrip('.') or 'policy'}: {error}.") from error


def _price(given: Mapping[str, Any]) -> Price:
    try:
        return msgspec.convert(given, Price)
    except msgspec.ValidationError as error:
        raise PolicyError(f"prices: {error}. At least prices.read is needed, as a share of the input price.") from error
