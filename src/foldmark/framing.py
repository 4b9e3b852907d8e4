"""What a request is built for: who runs, by which policy, in which window, with which static prefix. Knows nothing of
stores, and of what is built.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from foldmark.budget import UNKNOWN_WINDOW
from foldmark.drafts import static_tokens
from foldmark.policy import Policy
from foldmark.profiles import profile_of
from foldmark.store import Frame, ScopeState
from foldmark.wire import by_name

ASSUMED = "The context window is unknown; 128,000 tokens are assumed. Pass window= (--window) or set policy.window."
"""Said once by a session that nobody told."""

Tools = Sequence[Mapping[str, Any]]


class Said(NamedTuple):
    """What is said for one request; what is not said holds from the last one. `window` and `max_output` are tokens,
    `wire` a module of `foldmark.wire`, `model` who will read it, `policy` what rules this once."""

    window: int | None = None
    max_output: int | None = None
    wire: Any = None
    model: str = ""
    policy: Policy | None = None


class Framing:
    """What a session remembers of whom it builds for. `model` is who runs, by the last frame or reply; `last` the
    frame of the last request or compaction."""

    def __init__(self, policy: Policy | None) -> None:
        self.model = ""
        self.last: Frame | None = None
        self.given = policy
        self._assumption_was_said = False
        self._static = ("", 0)  # the static prefix that was counted last: its hash and its tokens
        self._known = (Policy(), "", Policy())  # a policy, a model, and that policy for that model

    def policy(self, tools: Tools, given: Policy | None = None) -> Policy:
        """The policy for the model that runs: with its own settings, and its prices from the table. `given` rules in
        place of the session's own; without either it goes by the tools."""
        if given is not None:
            return given.for_model(self.model)
        plain = self.given or default_policy(tools)
        if self._known[:2] != (plain, self.model):
            self._known = (plain, self.model, plain.for_model(self.model))
        return self._known[2]

    def frame(
        self, state: ScopeState, system: str, tools: Tools, said: Said = Said(), *, is_told: bool = True
    ) -> Frame:
        """The frame of what is said now and, where nothing is said, of the last request (`state` knows that of earlier
        processes). The model becomes the one that runs; `last` stays: whoever only looks must not keep the frame, since
        it would change the next request. Unless the static prefix `is_told`, it is as large as that of the last
        request: whoever sent it says it again. Raises PolicyError for a wire that there is none of."""
        window, max_output, wire, model, policy = said
        if wire is not None:
            by_name(wire.NAME)
        last = self.last or state.frame
        self.model = model or (last.model if last else "") or state.model
        rules = self.policy(tools, policy)
        size = window or rules.window or (last.window if last and not last.assumed else None)
        digest, tokens = self._counted(system, tools)
        names = recalls_among(rules, tools)
        if not is_told and last and last.static_hash:
            digest, tokens, names = last.static_hash, last.static_tokens, last.recalls
        return Frame(
            window=size or UNKNOWN_WINDOW,
            assumed=not size,
            max_output=max_output if max_output is not None else (last.max_output if last else None),
            static_tokens=tokens,
            static_hash=digest,
            wire=wire.NAME if wire is not None else (last.wire if last else "openai-chat"),
            model=model or (last.model if last else ""),
            warnings=() if size or self._assumption_was_said else (ASSUMED,),
            recalls=names,
        )

    def sent(self, frame: Frame) -> None:
        """A request went out with the frame's warnings: what is said once was said."""
        self._assumption_was_said = self._assumption_was_said or bool(frame.warnings)

    def _counted(self, system: str, tools: Tools) -> tuple[str, int]:
        """(hash, tokens) of the static prefix. Hashed every time, because a caller may change a schema in place;
        counted when the hash is another one."""
        text = json.dumps([system, list(tools)], ensure_ascii=False, sort_keys=True)
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        if self._static[0] != digest:
            self._static = (digest, static_tokens(system, tools))
        return self._static


_CODING, _CHAT = Policy.coding(), Policy.chat()  # made once: every record asks for one of them


def default_policy(tools: Tools) -> Policy:
    """coding() when a tool runs or writes, else chat()."""
    does = any(profile_of(name_of(tool), "{}").role in ("runs", "writes") for tool in tools)
    return _CODING if does else _CHAT


def recalls_among(policy: Policy, tools: Tools) -> tuple[str, ...]:
    """The tools for recall that are among these tools, where something speaks of them: what a model does not have is
    not named to it."""
    recall = policy.recall
    if not (recall.overview_tokens or recall.preload_tokens):
        return ()
    names = {name_of(tool) for tool in tools}
    return tuple(name for name in (recall.search_tool, recall.load_tool) if name in names)


def name_of(tool: Mapping[str, Any]) -> str:
    """The name of a tool, by its schema; empty where it says none."""
    return str(tool.get("name") or tool.get("function", {}).get("name", ""))
