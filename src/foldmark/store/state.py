"""What a scope keeps between requests, and how the next one sees it. Knows nothing of how a request is built."""

from __future__ import annotations

import msgspec

from foldmark.calibration import Correction, Sample, learned
from foldmark.checkpoint import Checkpoint, Mark
from foldmark.events import Event, Usage
from foldmark.reports import Attempt
from foldmark.store.keys import Key


class Frame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a request is built for. `static_tokens` and `static_hash` describe system text and tool
    schemas; `model` is who reads it, where the caller said so; `assumed` that nobody said how large the window is;
    `recalls` are those tools for recall among its tools that overview and preload speak of, where it has any."""

    window: int
    max_output: int | None = None
    static_tokens: int = 0
    static_hash: str = ""
    wire: str = "openai-chat"
    warnings: tuple[str, ...] = ()
    model: str = ""
    assumed: bool = False
    recalls: tuple[str, ...] = ()


def meter_name(wire: str, model: str) -> str:
    """The name under which a provider's usages are kept."""
    return f"{wire} {model}".strip()


class Awaited(msgspec.Struct, frozen=True, array_like=True):
    """What the provider's cache should hold of the last request: `tokens` (our count) of `size`, and the `cause` for
    which it may be gone all the same (empty: none is known)."""

    tokens: int = 0
    size: int = 0
    cause: str = ""


class Miss(msgspec.Struct, frozen=True, array_like=True):
    """Requests whose prefix was not read from the cache as it should have been, and the tokens that were paid in full
    instead (as the provider counts)."""

    count: int = 0
    tokens: int = 0


class ScopeState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a scope remembers between requests: the last one's `frame`, `last_size` as built (our tokens),
    `last_time`, checkpoint (`last_version`), reported usage, its stable prefix (`last_hash` over `last_count`
    messages); the calibration: `model` of the last reply and the newest `usages` of every (wire, model).
    `held` lifts all triggers but the cap until that many tokens were added (after an undo). `limits` are windows that
    refusals named, by meter, `overflowed` the head of the last one. `reported`
    is the version of a checkpoint and the input that the provider reported of the first request with it. `awaited` is
    what the cache should hold of the last request; `watched` counts by meter the requests whose reads were looked at,
    `misses` by cause those that missed."""

    frame: Frame | None = None
    mark: Mark = Mark()
    last_size: int = 0
    last_time: float = 0.0
    last_usage: Usage | None = None
    last_hash: str = ""
    last_count: int = 0
    held: int = 0
    model: str = ""
    usages: dict[str, tuple[Sample, ...]] = {}
    last_version: int = 0
    limits: dict[str, int] = {}
    overflowed: int = 0
    reported: tuple[int, int] = (0, 0)
    awaited: Awaited = Awaited()
    misses: dict[str, Miss] = {}
    watched: dict[str, int] = {}

    def correction(self, frame: Frame | None) -> Correction:
        """How the provider of that frame counts: its own samples, never another model's."""
        wire, model = (frame.wire, frame.model) if frame else ("", "")
        return learned(self.usages.get(meter_name(wire, model or self.model), ()))

    @property
    def factor(self) -> float:
        """The factor of the correction for the last frame."""
        return self.correction(self.frame).factor


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What a request is built from: the newest checkpoint of the scope, the kept events before its boundary,
    and every event after it that the scope sees, in order. `all_events` counts the scope's whole log. `pins` are the
    pinned seqs, `pinned` the events of those at or before the boundary, kept already or not. `secret` keys the labels
    of redacted secrets, as in `Context`. `first_request` is the seq of the first message of a real user (0: none)."""

    key: Key
    checkpoint: Checkpoint | None
    kept: tuple[Event, ...]
    events: tuple[Event, ...]
    state: ScopeState
    pins: frozenset[int] = frozenset()
    pinned: tuple[Event, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    all_events: int = 0
    head: int = 0
    secret: bytes = b""
    first_request: int = 0

    @property
    def mark(self) -> Mark:
        return self.state.mark
