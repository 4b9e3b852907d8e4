"""What a request is built for: what is said now goes before what was said last."""

from __future__ import annotations

from typing import Any

import pytest

from foldmark import Policy, PolicyError
from foldmark.framing import ASSUMED, Framing, Said, default_policy
from foldmark.store import Frame, ScopeState
from foldmark.wire import anthropic

BASH = {"name": "bash", "description": "run", "parameters": {"type": "object"}}
LAST = Frame(window=50_000, max_output=900, wire="anthropic", model="old")


def test_what_is_not_said_holds_from_the_last_frame() -> None:
    framing = Framing(None)
    made = framing.frame(ScopeState(frame=LAST), "", ())
    assert (made.window, made.max_output, made.wire, made.model) == (50_000, 900, "anthropic", "old")
    said = framing.frame(ScopeState(frame=LAST), "", (), Said(9_000, 100, None, "new"))
    assert (said.window, said.max_output, said.wire, said.model) == (9_000, 100, "anthropic", "new")
    assert framing.frame(ScopeState(), "", (), Said(wire=anthropic)).wire == "anthropic"


def test_a_static_prefix_that_nobody_told_is_that_of_the_last_request() -> None:
    sent = Framing(None).frame(ScopeState(), "You help. " * 100, (BASH,))
    assert sent.static_tokens > 100
    framing = Framing(None)
    silent = framing.frame(ScopeState(frame=sent), "", (), is_told=False)
    assert (silent.static_tokens, silent.static_hash) == (sent.static_tokens, sent.static_hash)
    told = framing.frame(ScopeState(frame=sent), "", ())
    assert told.static_tokens < silent.static_tokens, "to say nothing is to say something"
    assert told.static_hash != sent.static_hash
    first = framing.frame(ScopeState(), "", (), is_told=False)
    assert (first.static_tokens, first.static_hash) == (told.static_tokens, told.static_hash)


def test_whoever_only_looks_leaves_the_last_frame() -> None:
    framing = Framing(None)
    framing.frame(ScopeState(), "", (), Said(window=9_000))
    assert framing.last is None
    assert framing.frame(ScopeState(), "", ()).assumed
    framing.last = LAST
    assert framing.frame(ScopeState(frame=Frame(window=1_000)), "", ()).window == 50_000, "the session's own goes first"


def test_an_assumed_window_is_told_until_a_request_went_out_and_is_never_taken_for_said() -> None:
    framing = Framing(None)
    first = framing.frame(ScopeState(), "", ())
    assert (first.window, first.assumed, first.warnings) == (128_000, True, (ASSUMED,))
    framing.last = first
    assert framing.frame(ScopeState(), "", ()).warnings == (ASSUMED,)
    framing.sent(first)
    again = framing.frame(ScopeState(), "", ())
    assert (again.assumed, again.warnings) == (True, ())


def test_the_window_of_the_policy_for_the_model_that_runs_goes_before_the_last_one() -> None:
    framing = Framing(Policy(models={"big": {"window": 400_000}}))
    assert framing.frame(ScopeState(frame=LAST), "", (), Said(model="big")).window == 400_000
    assert framing.policy(()).window == 400_000
    assert framing.frame(ScopeState(frame=LAST), "", (), Said(model="other")).window == 50_000
    once = Policy(window=30_000)
    assert framing.frame(ScopeState(frame=LAST), "", (), Said(policy=once)).window == 30_000


def test_who_runs_is_who_is_named_else_the_last_frames_else_who_replied() -> None:
    framing = Framing(None)
    framing.frame(ScopeState(model="replied"), "", ())
    assert framing.model == "replied"
    framing.frame(ScopeState(model="replied", frame=LAST), "", ())
    assert framing.model == "old"
    framing.frame(ScopeState(model="replied", frame=LAST), "", (), Said(model="named"))
    assert framing.model == "named"


def test_a_schema_that_is_changed_in_place_is_another_static_prefix() -> None:
    framing, tool = Framing(None), dict(BASH)
    first = framing.frame(ScopeState(), "You help.", (tool,))
    assert framing.frame(ScopeState(), "You help.", (tool,)) == first
    tool["description"] = "run a command in the shell of the project, and wait for it"
    changed = framing.frame(ScopeState(), "You help.", (tool,))
    assert changed.static_hash != first.static_hash
    assert changed.static_tokens > first.static_tokens


@pytest.mark.parametrize(
    ("tools", "name"),
    [((), "chat"), ((BASH,), "coding"), (({"type": "function", "function": BASH},), "coding")],
    ids=["none", "plain", "wrapped"],
)
def test_without_a_policy_the_tools_decide(tools: tuple[Any, ...], name: str) -> None:
    assert default_policy(tools).name == Framing(None).policy(tools).name == name


def test_a_wire_that_there_is_none_of_is_refused() -> None:
    class Odd:
        NAME = "odd"

    with pytest.raises(PolicyError, match="odd"):
        Framing(None).frame(ScopeState(), "", (), Said(wire=Odd))
