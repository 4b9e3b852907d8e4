"""Who is asked: one value out of what a session was given, or the answer of a function that chooses at run time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from foldmark import PolicyError, Session, Summarizer, SummarizerFailed
from foldmark.aio import AsyncSession
from foldmark.resolving import chosen, resolved
from foldmark.store import Frame, Key
from foldmark.summarizer import Occasion
from foldmark.testing import AsyncScriptedModel, ScriptedModel

MODEL, LATER = ScriptedModel("a"), AsyncScriptedModel("a", name="later")


def occasion(*, force: bool = False) -> Occasion:
    return Occasion(key=Key(session="s", tenant="acme"), frame=Frame(window=1_000), force=force)


# -- what a session is given


def test_a_model_and_a_chain_become_a_summarizer_and_nothing_stays_nothing() -> None:
    one, chain = chosen(MODEL, None, sync=True), chosen([MODEL, MODEL], None, sync=True)
    assert isinstance(one, Summarizer)
    assert isinstance(chain, Summarizer)
    assert (len(one.models), len(chain.models)) == (1, 2)
    assert chosen(None, None, sync=True) is None
    assert chosen(None, one, sync=True) is one


async def choose(occasion: Occasion) -> Any:
    return MODEL


class Choosing:
    async def __call__(self, occasion: Occasion) -> Any:
        return MODEL


@pytest.mark.parametrize("made", [Session, AsyncSession], ids=lambda one: one.__name__)
@pytest.mark.parametrize(
    "resolver", [choose, partial(choose), Choosing()], ids=["a function", "a partial", "a callable object"]
)
def test_an_async_function_that_chooses_is_refused_by_both_sessions_at_once(
    made: Callable[..., Any], resolver: Any
) -> None:
    with pytest.raises(PolicyError, match=r"chooses the summarizer is async.*context="):
        made("s", summarizer=resolver)


@pytest.mark.parametrize("made", [Session, AsyncSession], ids=lambda one: one.__name__)
def test_what_is_no_summarizer_and_no_function_is_refused(made: Callable[..., Any]) -> None:
    with pytest.raises(PolicyError, match="takes a Summarizer or a function"):
        made("s", summarizer=5)
    with pytest.raises(PolicyError, match="not both"):
        made("s", model=MODEL, summarizer=Summarizer(models=(MODEL,)))
    with pytest.raises(PolicyError, match="callable"):
        made("s", model=5)


def test_async_models_are_for_the_async_session() -> None:
    for chain in (LATER, [MODEL, LATER]):
        with pytest.raises(PolicyError, match=r"later is async.*AsyncSession"):
            Session("s", model=chain)
        assert isinstance(AsyncSession("s", model=chain).session.summarizer, Summarizer)


# -- what a function chooses


@pytest.mark.parametrize("found", [MODEL, [MODEL, MODEL], Summarizer(models=(MODEL,))], ids=["model", "chain", "whole"])
def test_a_function_may_return_a_model_a_chain_or_a_summarizer(found: Any) -> None:
    seen = []
    summarizer, said = resolved(lambda asked: seen.append(asked) or found, occasion(), sync=True)
    assert isinstance(summarizer, Summarizer)
    assert (summarizer.models[0], said) == (MODEL, "")
    assert seen == [occasion()]


def test_none_is_no_word_in_an_automatic_compaction_and_an_error_by_force() -> None:
    assert resolved(lambda asked: None, occasion(), sync=True) == (None, "")
    with pytest.raises(SummarizerFailed, match="No summarizer is at hand for session 's'") as caught:
        resolved(lambda asked: None, occasion(force=True), sync=True)
    assert not caught.value.retryable


def test_a_failure_is_said_in_an_automatic_compaction_and_an_error_by_force() -> None:
    def broken(asked: Occasion) -> Any:
        raise KeyError("no such tenant")

    summarizer, said = resolved(broken, occasion(), sync=True)
    assert summarizer is None
    assert "no such tenant" in said
    with pytest.raises(SummarizerFailed, match="no such tenant") as caught:
        resolved(broken, occasion(force=True), sync=True)
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("found", [5, "gpt", [5], [], object()], ids=repr)
def test_an_answer_that_is_no_summarizer_is_the_callers_mistake(found: Any, sync: bool, force: bool) -> None:
    with pytest.raises(PolicyError, match="returned"):
        resolved(lambda asked: found, occasion(force=force), sync=sync)


@pytest.mark.parametrize("found", [LATER, [MODEL, LATER], Summarizer(models=(LATER,))], ids=["model", "chain", "whole"])
def test_an_async_model_is_refused_where_it_cannot_be_awaited(found: Any) -> None:
    with pytest.raises(PolicyError, match=r"later is async.*AsyncSession"):
        resolved(lambda asked: found, occasion(), sync=True)
    assert resolved(lambda asked: found, occasion(), sync=False)[0]


def test_an_answer_that_would_have_to_be_awaited_is_refused_and_not_left_open() -> None:
    made = choose(occasion())
    with pytest.raises(PolicyError, match="is async"):
        resolved(lambda asked: made, occasion(), sync=False)
    assert made.cr_frame is None
