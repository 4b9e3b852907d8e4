"""Who writes the narrative and how it is asked: models, words, hooks, limits. Values only; knows nothing of the steps.

A `Summarizer` is given to a session (`summarizer=`, or `model=` for the plain case); a resolver in its place is
asked at run time. What makes no sense in it is refused when it is made, by a `PolicyError` that names the option.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from foldmark.asking import Ask, Reply, info_of
from foldmark.changing import check_name
from foldmark.checkpoint import Item
from foldmark.errors import PolicyError
from foldmark.events import Event, ToolCall
from foldmark.reports import Run
from foldmark.store import Frame, Key

PLACEHOLDERS = ("conversation_text", "previous_summary", "max_summary_words")
"""What a prompt may hold in braces; the first is required in `instructions`."""

CallText = Callable[[ToolCall], str]
ResultText = Callable[[Event], str]
Style = Literal["coding", "general"]


def names_of(summarizer: Summarizer) -> tuple[str, ...]:
    """The names of its models in their order, as notes of attempts have them. Each is another one: the second model
    of a name (the same model behind another address) is called `name#2`, so that one may rest while the other is
    asked."""
    names: list[str] = []
    for model in summarizer.models:
        name = info_of(model).name
        number, own = 2, name
        while own in names:
            own, number = f"{name}#{number}", number + 1
        names.append(own)
    return tuple(names)


def name_of(summarizer: Summarizer, model: Any) -> str:
    """The name of one model of its chain, as `names_of` has it; of any other model, its own."""
    for known, name in zip(summarizer.models, names_of(summarizer), strict=True):
        if known is model:
            return name
    return info_of(model).name


_Group = TypeVar("_Group", bound=msgspec.Struct)


def _need(option: str, value: Any, is_right: bool, takes: str) -> None:
    if not is_right:
        raise PolicyError(f"{option} is {value!r}; it takes {takes}.")


def _need_number(option: str, value: Any, low: float, high: float, *, whole: bool) -> None:
    takes = f"{'a whole number' if whole else 'a number'} from {low:g} to {high:,g}"
    kinds = (int,) if whole else (int, float)
    is_number = isinstance(value, kinds) and not isinstance(value, bool)
    _need(option, value, is_number and low <= value <= high, takes)


def _group(option: str, kind: type[_Group], given: Any) -> _Group:
    """A group of options, from one or from a mapping of those that change."""
    if isinstance(given, Mapping):
        for key in given:
            check_name(str(key), kind.__struct_fields__, f"{option}.")
        return kind(**given)
    if not isinstance(given, kind):
        raise PolicyError(f"{option} is {given!r}; it takes a {kind.__name__}, or a mapping of its options.")
    return given


def _check(option: str, text: str | None, *, needed: tuple[str, ...] = (), allowed: tuple[str, ...] = ()) -> None:
    if text is None:
        return
    _need(option, text, isinstance(text, str), "text, or None for the built-in words")
    for name in needed:
        if "{" + name + "}" not in text:
            raise PolicyError(f"{option} does not hold {{{name}}}, so the model would not see it.")
    for name in PLACEHOLDERS:
        if name not in allowed and "{" + name + "}" in text:
            raise PolicyError(f"{option} holds {{{name}}}, which stands elsewhere; allowed here: {', '.join(allowed)}.")


class Prompt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The words a model is asked with. `None` takes the built-in ones."""

    system: str | None = None
    """System text of a standalone request. May hold {max_summary_words}."""
    instructions: str | None = None
    """User text. Must hold {conversation_text}; may hold {previous_summary} and {max_summary_words}."""
    fork_instructions: str | None = None
    """What is appended to a forked request. May hold {max_summary_words}; the conversation stands before it already."""
    words: int = 350
    """What {max_summary_words} says. A wish to the model; the items are bounded by code."""
    schema: bool | None = None
    """Bind the answer to a JSON schema. None: where the model can."""
    style: Style | None = None
    """What of a record matters: `coding` (commands, errors, paths, diffs) or `general` (titles, snippets, sources).
    None: by the policy's preset."""

    def __post_init__(self) -> None:
        _need_number("prompt.words", self.words, 20, 100_000, whole=True)
        _need("prompt.schema", self.schema, self.schema is None or isinstance(self.schema, bool), "True, False or None")
        _need("prompt.style", self.style, self.style in (None, "coding", "general"), "coding, general or None")
        _check("prompt.instructions", self.instructions, needed=("conversation_text",), allowed=PLACEHOLDERS)
        _check("prompt.system", self.system, allowed=("max_summary_words",))
        _check("prompt.fork_instructions", self.fork_instructions, allowed=("max_summary_words",))


class Hooks(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Your code around the call. An error in a hook is a warning, and its input goes on unchanged, unless `abort`."""

    call_text: CallText | Mapping[str, CallText] | None = None
    """How a tool call stands in the summary request (per tool name, or for all); empty text leaves it out."""
    result_text: ResultText | Mapping[str, ResultText] | None = None
    """How a tool result stands in it; empty text leaves it out. Redaction comes after it."""
    before: Callable[[str], str] | None = None
    """Gets the text of one part of the conversation before it is put into the prompt, returns another."""
    after: Callable[[tuple[Item, ...]], Sequence[Item]] | None = None
    """Gets the checked items, returns the ones to keep; what it returns is checked again."""
    on_ask: Callable[[Ask], Ask | Reply | str | None] | None = None
    """Gets each request before the call: None leaves it, an Ask replaces it, a Reply or text is taken as the answer."""
    on_reply: Callable[[Ask, Reply], Reply | None] | None = None
    """Gets each answer: None leaves it, a Reply replaces it."""
    abort: bool = False
    """An error in a hook stops the attempt; the session stays as it was."""

    def __post_init__(self) -> None:
        for field in ("before", "after", "on_ask", "on_reply"):
            hook = getattr(self, field)
            _need(f"hooks.{field}", hook, hook is None or callable(hook), "a function, or None")
        for field in ("call_text", "result_text"):
            hook = getattr(self, field)
            each = hook.values() if isinstance(hook, Mapping) else () if hook is None else (hook,)
            _need(
                f"hooks.{field}", hook, all(map(callable, each)), "a function, a mapping of them by tool name, or None"
            )
        _need("hooks.abort", self.abort, isinstance(self.abort, bool), "True or False")


class Limits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a narrative may cost."""

    timeout_seconds: float = 120.0
    """Of one call. `AsyncSession` stops waiting then; a plain `Session` cannot stop a function in its own thread, so it
    waits, and drops an answer that came more than a second (or a tenth) later. Models of `foldmark.models` keep it."""
    output_tokens: int = 2_000
    """Room for one answer. A reasoning model needs more."""
    input_share: float = 0.7
    """Share of the summary model's window that a request may fill at most, answer not counted."""
    parts: int = 16
    """A longer past is asked in parts; beyond so many the records are shortened harder instead."""
    cooldown_seconds: float = 60.0
    """After a model call no other one for so long; what is due meanwhile is made by code."""
    breaker_after: int = 3
    """So many failed or ineffective attempts in a row, and the model rests; one probe after `probe_seconds`."""
    probe_seconds: float = 300.0
    """How long it rests."""

    def __post_init__(self) -> None:
        for field, low, high, whole in (
            ("timeout_seconds", 0.001, 86_400, False),
            ("output_tokens", 64, 1_000_000, True),
            ("input_share", 0.05, 1.0, False),
            ("parts", 1, 10_000, True),
            ("cooldown_seconds", 0, 1e9, False),
            ("breaker_after", 1, 1_000_000, True),
            ("probe_seconds", 0, 1e9, False),
        ):
            _need_number(f"limits.{field}", getattr(self, field), low, high, whole=whole)


class Summarizer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A chain of models and how they are asked. `prompt`, `hooks` and `limits` may be given as mappings of what
    changes (`limits={"parts": 4}`)."""

    models: tuple[Any, ...]
    """Asked in this order: the next one when one fails. A single model may stand for itself."""
    prompt: Prompt = Prompt()
    hooks: Hooks = Hooks()
    limits: Limits = Limits()
    fork: bool = False
    """Ask by a clone of the parent request with one instruction behind it, so that the provider's cache is read. Only
    for the first model, which must be the one that runs."""
    decorate: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """What you do to every payload before you send it (cache marks, extra fields): done to a fork as well."""
    require_model: bool = False
    """Without a usable narrative the session stays as it was; else the checkpoint is made by code and reported as
    degraded."""

    def __post_init__(self) -> None:
        chain = tuple(self.models) if isinstance(self.models, list | tuple) else (self.models,)
        if not chain or chain == (None,):
            raise PolicyError("A Summarizer needs at least one model; leave it out to compact by code alone.")
        for model in chain:
            if not callable(model):
                raise PolicyError(f"A summary model must be callable, and {model!r} is not; see foldmark.models.")
        for option, value in (
            ("models", chain),
            ("prompt", _group("prompt", Prompt, self.prompt)),
            ("hooks", _group("hooks", Hooks, self.hooks)),
            ("limits", _group("limits", Limits, self.limits)),
        ):
            msgspec.structs.force_setattr(self, option, value)
        _need("fork", self.fork, isinstance(self.fork, bool), "True or False")
        _need("require_model", self.require_model, isinstance(self.require_model, bool), "True or False")
        _need("decorate", self.decorate, self.decorate is None or callable(self.decorate), "a function, or None")


class Occasion(msgspec.Struct, frozen=True, kw_only=True):
    """A compaction that is asked for, as a resolver is told of it: whose session, for which frame, and what was asked.
    `context` is what the caller passed to `compact(context=…)`, `why` names a forced one in its report, `run` says how
    it is run; `lease` is the token of the work that a worker holds, which the commit checks. `cap_only`: nothing but
    the cap is a reason, since whoever asks may not wait. `upto` is the last event (a seq) that may go, where somebody
    chose it."""

    key: Key
    frame: Frame
    force: bool = False
    focus: str = ""
    context: Mapping[str, Any] = {}
    why: str = "manual"
    run: Run = "caller"
    lease: int | None = None
    cap_only: bool = False
    upto: int | None = None


Resolver = Callable[[Occasion], "Summarizer | Any | None"]
"""Chooses a summarizer (or a plain model) at run time; None: none is at hand."""


def as_summarizer(value: Any) -> Summarizer:
    """A Summarizer, from one, from a model, or from a sequence of models (a chain). Raises PolicyError."""
    return value if isinstance(value, Summarizer) else Summarizer(models=value)
