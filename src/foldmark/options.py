"""The groups of options that a `Policy` is made of, and what they may be. Knows nothing of the steps that read them.

Numbers are tokens unless the name says otherwise. `None` means "derive it" (the sentence says from what).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from foldmark.errors import PolicyError

TRIGGER_TOKENS = 48_000
"""Within 0 to 5 points of the best fixed size where cached reads cost a tenth or less, 8 to 9 points from it where they
cost a quarter or more (docs/explanation/when.md)."""


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
    minimum_events: int = 0
    """Newest events that stay raw, at least; the round of the oldest of them stays whole."""
    minimum_tokens: int = 0
    """Newest tokens that stay raw, at least, in whole rounds."""
    minimum_seconds: float = 0.0
    """What was recorded in the last so many seconds stays raw (by the events' own times)."""
    choose: Any = None
    """Your own rule: gets the events after the boundary, oldest first, and returns how many of the newest stay raw.
    What it raises reaches the caller as a PolicyError, with the error as its cause."""


class Budget(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a request may cost and what a compaction aims at. `landing` and `trigger` are above the static prefix."""

    landing_tokens: int | None = None
    """Size a compaction aims at. None: min(landing_default, window / 4, 0.6 x cap)."""
    landing_default: int = 16_000
    """16,000 coding, 8,000 chat and realtime, 32,000 research."""
    target_tokens: int | None = None
    """`--target`: size of the whole request after a compaction, static prefix included."""
    trigger_tokens: int = TRIGGER_TOKENS
    """Size above the static prefix that starts a compaction when no prices are known (see `pace.rule`)."""
    cap_share: float = 0.85
    """The cap is this share of the room for input, minus the static prefix (see `expected.burst_tokens`)."""
    output_reserve: int | None = None
    """Room for the answer. None: what the caller asks for, else min(16,000, 12% of the window)."""
    nothing_below: int = 15_000
    """Below this size above the static prefix (or below 1.25 landings, if that is less) only the cap, force or a target
    acts."""


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
    merge: bool = False
    """Make one message of a checkpoint in role user and the first message of the tail, where that is a user's: the
    checkpoint first, then the user's own words as they are. Wires on which roles must alternate do so anyway."""
    format: Any = None
    """Your own framing: gets the checkpoint's text without its head and foot, returns what stands between them. Must
    be pure: the same text gives the same result. An empty result shows no checkpoint; what is kept stays. What it
    raises reaches the caller as a PolicyError, with the error as its cause. None: the text as it is."""

    def __post_init__(self) -> None:
        if self.checkpoint not in ("user", "system"):
            raise PolicyError(f"layout.checkpoint is {self.checkpoint!r}; allowed are user and system.")
        if self.format is not None and not callable(self.format):
            raise PolicyError(f"layout.format is {self.format!r}; it takes a function (text) -> text, set in code.")


class Expected(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What you know of what comes. Nothing of it is needed; each makes the arithmetic truer."""

    burst_tokens: int | None = None
    """What the tools of one step may bring at most. Given, the cap is what is left of the window beside the answer,
    this burst, the static prefix, images and the margin; None: `budget.cap_share` says it."""
    reinjected_tokens: int = 0
    """What your host adds again after every compaction (rules, a board). It counts in the landing, so that it does not
    start the next one."""
    requests_left: int | None = None
    """How many requests still follow, where that is known (a batch): the rent rule does not compact what they cannot
    pay back. None: unknown."""
    pause_chance: float = 0.0
    """Chance that a pause longer than the cache lives follows this turn: the rent rule compacts sooner, while the cache
    is warm."""


class Pace(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How often a compaction may come. The cap, and one asked for by force, go over all of it."""

    rule: Literal["rent", "size"] | None = None
    """What decides when no `triggers` are given: `rent` (prices) or `size` (`budget.trigger_tokens`). None: rent where
    prices are known, but size when `trigger_tokens` was changed and the prices are only those of the table."""
    most_per_task: int | None = None
    """Compactions since the newest message of a real user, at most (20 attempts are remembered). None: no limit."""
    minimum_reclaim: float | None = None
    """Share of the landing that must go. None: a quarter for the rent rule, anything for the others."""


class Background(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which work an append raises for workers, where `run` is `background` or `intra_run`."""

    idle_seconds: float | None = None
    """Only after so long a pause without a new event. None: at once."""
    scopes: tuple[str, ...] | None = None
    """Keys whose scopes get checkpoints, each with all below it; empty: none. None: every scope that exists (it was
    requested, recorded for itself, or was enlisted with `control.enlist`)."""
    whole_session: bool | None = None
    """Whether the scope that sees the whole session is refreshed beside a branch's own. None: when it exists."""


class Keep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What stays verbatim when it is covered, besides pins and the request that is being worked on."""

    tools: tuple[str, ...] = ()
    """Results of these tools, by name or pattern with `*`."""
    meta: tuple[str, ...] = ()
    """Events whose `meta` has one of these keys."""
    first_request: bool = False
    """The first message of a real user."""
    choose: Any = None
    """Your own rule: gets an event, returns whether it stays. What it raises reaches the caller as a PolicyError."""
    share: float = 0.25
    """Of the landing, at most; the newest first. What does not fit is covered, and the report names it. Pins always
    stay."""


class Recall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a request says by itself of what it does not show. Nothing, unless a number is given."""

    overview_tokens: int = 0
    """At the end of the checkpoint, what can be recalled, in at most so many tokens: how many events and since when
    (from 20 on), with stretches, files and names (from 150 on). It changes only with the checkpoint. 0: off."""
    preload_tokens: int = 0
    """Behind the newest event, as an ephemeral suffix: what a search with the newest message of a real user finds, in
    at most so many tokens. The same for every request of a turn, never recorded, and the first thing that `fit` drops.
    0: off."""
    preload_where: Literal["covered", "children", "others", "user"] = "covered"
    """Where that search looks: in what a compaction covers (`children`: and in sub-agents' sessions), in the user's
    other sessions, or in all of them. What the request shows raw is never brought."""
    search_tool: str = "session_search"
    """Name of the tool that searches, where it has another one: `recall_tools` gives it, what it answers is known by
    it, and overview and preload name it where it is among the tools of the request."""
    load_tool: str = "session_load"
    """Name of the tool that opens a ref, likewise."""

    def __post_init__(self) -> None:
        if not self.search_tool or not self.load_tool or self.search_tool == self.load_tool:
            raise PolicyError(
                f"recall.search_tool is {self.search_tool!r} and recall.load_tool {self.load_tool!r}; they take two "
                "names, of two tools."
            )


class Retention(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How long things are kept. Nothing is erased but by `foldmark gc` (or `foldmark.retention`)."""

    session_days: float | None = None
    """A session without a new event for so long goes as a whole, unless another one inherits from it. None: never."""


RANGES: tuple[tuple[str, str, float, float], ...] = (
    ("admission", "limit_tokens", 50, 1_000_000),
    ("admission", "preview_tokens", 50, 100_000),
    ("admission", "user_words_tokens", 100, 1_000_000),
    ("cleanup", "keep_results", 0, 1_000),
    ("cleanup", "keep_rounds", 1, 1_000),
    ("cleanup", "minimum_share", 0.0, 1.0),
    ("tail", "share", 0.0, 0.9),
    ("tail", "minimum_rounds", 1, 1_000),
    ("tail", "minimum_events", 0, 10_000_000),
    ("tail", "minimum_tokens", 0, 10_000_000),
    ("tail", "minimum_seconds", 0, 1e12),
    ("budget", "landing_tokens", 500, 10_000_000),
    ("budget", "target_tokens", 500, 10_000_000),
    ("budget", "trigger_tokens", 500, 10_000_000),
    ("budget", "cap_share", 0.1, 1.0),
    ("budget", "output_reserve", 0, 10_000_000),
    ("shape", "facts_share", 0.0, 1.0),
    ("shape", "user_share", 0.0, 1.0),
    ("shape", "names_share", 0.0, 0.5),
    ("expected", "burst_tokens", 0, 10_000_000),
    ("expected", "reinjected_tokens", 0, 10_000_000),
    ("expected", "requests_left", 0, 1_000_000_000),
    ("expected", "pause_chance", 0.0, 1.0),
    ("pace", "most_per_task", 0, 20),
    ("pace", "minimum_reclaim", 0.0, 100.0),
    ("keep", "share", 0.0, 1.0),
    ("background", "idle_seconds", 0.0, 1e9),
    ("recall", "overview_tokens", 0, 10_000),
    ("recall", "preload_tokens", 0, 100_000),
    ("retention", "session_days", 0.0, 1e6),
)
"""(group, field, least, most): what a number may be."""
