"""Options of a summarizer: what is taken, what is refused, and by which name a model is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.asking import Ask, ModelInfo
from foldmark.errors import PolicyError
from foldmark.summarizer import Hooks, Limits, Prompt, Summarizer, as_summarizer, name_of, names_of


class Named:
    """A model of that name."""

    def __init__(self, name: str) -> None:
        self.info = ModelInfo(name=name)

    def __call__(self, ask: Ask) -> str:
        return "notes"


def model(ask: Ask) -> str:
    return "notes"


@pytest.mark.parametrize("given_models", [model, [model], (model,)])
def test_one_model_may_stand_for_a_chain_of_one(given_models: Any) -> None:
    assert Summarizer(models=given_models).models == (model,)
    assert as_summarizer(given_models).models == (model,)


def test_groups_may_be_mappings_of_what_changes() -> None:
    made = Summarizer(
        models=model, prompt={"words": 100}, hooks={"abort": True}, limits={"parts": 4, "timeout_seconds": 5}
    )  # type: ignore[arg-type]
    assert made == Summarizer(
        models=(model,), prompt=Prompt(words=100), hooks=Hooks(abort=True), limits=Limits(parts=4, timeout_seconds=5)
    )
    assert as_summarizer(made) is made


REFUSED: dict[str, Callable[[], Any]] = {
    "prompt.words is 'many'; it takes a whole number": lambda: Prompt(words="many"),
    "prompt.words is 19": lambda: Prompt(words=19),
    "prompt.words is True": lambda: Prompt(words=True),
    "prompt.words is nan": lambda: Prompt(words=float("nan")),
    "prompt.system is 5; it takes text": lambda: Prompt(system=5),
    "prompt.schema is 'yes'; it takes True, False or None": lambda: Prompt(schema="yes"),
    "prompt.style is 'poetic'; it takes coding, general or None": lambda: Prompt(style="poetic"),
    "limits.timeout_seconds is '5'; it takes a number from 0.001": lambda: Limits(timeout_seconds="5"),
    "limits.timeout_seconds is nan": lambda: Limits(timeout_seconds=float("nan")),
    "limits.cooldown_seconds is inf": lambda: Limits(cooldown_seconds=float("inf")),
    "limits.output_tokens is 1000000000000000000000000": lambda: Limits(output_tokens=10**24),
    "limits.parts is 2.5; it takes a whole number from 1": lambda: Limits(parts=2.5),
    "limits.output_tokens is None": lambda: Limits(output_tokens=None),
    "hooks.call_text is 5; it takes a function, a mapping": lambda: Hooks(call_text=5),
    "hooks.result_text is {'bash': 'x'}": lambda: Hooks(result_text={"bash": "x"}),
    "hooks.before is 'x'; it takes a function": lambda: Hooks(before="x"),
    "hooks.abort is 1; it takes True or False": lambda: Hooks(abort=1),
    "There is no option prompt.word. Did you mean prompt.words?": lambda: Summarizer(models=model, prompt={"word": 9}),
    "There is no option limits.part. Did you mean limits.parts?": lambda: Summarizer(models=model, limits={"part": 9}),
    "There is no option hooks.on_asks. Did you mean hooks.on_ask?": lambda: Summarizer(
        models=model, hooks={"on_asks": model}
    ),
    "limits.parts is '4'": lambda: Summarizer(models=model, limits={"parts": "4"}),
    "prompt is 7; it takes a Prompt, or a mapping": lambda: Summarizer(models=model, prompt=7),
    "limits is Prompt": lambda: Summarizer(models=model, limits=Prompt()),
    "fork is 'yes'; it takes True or False": lambda: Summarizer(models=model, fork="yes"),
    "require_model is None": lambda: Summarizer(models=model, require_model=None),
    "decorate is 3; it takes a function": lambda: Summarizer(models=model, decorate=3),
    "must be callable, and 'gpt-5-mini' is not": lambda: Summarizer(models="gpt-5-mini"),
    "must be callable, and 5 is not": lambda: Summarizer(models=[model, 5]),
    "A Summarizer needs at least one model": lambda: Summarizer(models=()),
    "needs at least one model; leave it out": lambda: Summarizer(models=None),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_makes_no_sense_is_refused_by_the_name_of_its_option(said: str) -> None:
    with pytest.raises(PolicyError) as caught:
        REFUSED[said]()
    assert said in str(caught.value)


@given(
    st.sampled_from(Limits.__struct_fields__),
    st.one_of(st.none(), st.text(max_size=4), st.floats(), st.integers(), st.booleans(), st.binary(max_size=3)),
)
def test_a_limit_is_a_finite_number_in_its_range_or_a_policy_error(field: str, value: Any) -> None:
    made = _limit(field, value)
    if isinstance(made, str):
        assert made.startswith(f"limits.{field} is ")
    else:
        assert type(made) in (int, float)
        assert 0 <= made <= 1e9


def _limit(field: str, value: Any) -> Any:
    """The limit as it was taken, or why it was not."""
    try:
        return getattr(Limits(**{field: value}), field)
    except PolicyError as error:
        return str(error)


def test_two_models_of_one_name_are_told_apart() -> None:
    chain = tuple(map(Named, ("mini", "mini#2", "mini", "large", "mini")))
    summarizer = Summarizer(models=chain)
    assert names_of(summarizer) == ("mini", "mini#2", "mini#3", "large", "mini#4")
    assert tuple(name_of(summarizer, one) for one in chain) == names_of(summarizer)
    assert name_of(summarizer, Named("other")) == "other"


@given(st.lists(st.sampled_from(["a", "b", "a#2", "a#2#2"]), min_size=1, max_size=8))
def test_the_names_of_a_chain_are_always_distinct_and_the_first_of_each_is_its_own(names: list[str]) -> None:
    found = names_of(Summarizer(models=tuple(map(Named, names))))
    assert len(set(found)) == len(names)
    assert found[0] == names[0]
    assert all(own.startswith(name) for own, name in zip(found, names, strict=True))
