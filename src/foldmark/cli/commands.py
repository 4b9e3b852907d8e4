"""How a command is declared and read: options that several share come as one value, an empty value is no default, and
an error about a value begins with what is wrong. Knows nothing of any command.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import ParameterInfo

_INNER = "Value error, "
"""How the library that reads options begins such a sentence: of use to programmers only."""
_FREE = {"focus", "model", "author", "query"}
"""Parameters whose empty text says that there is none; of any other it was meant to name something."""
_LISTED = {"session": " `foldmark sessions` lists sessions.", "scope": " `foldmark scopes` lists the scopes of one."}

Function = TypeVar("Function", bound=Callable[..., None])


class Commands(TyperGroup):
    """Commands whose errors about a value begin with what is wrong."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix(_INNER)
            raise


class Command(TyperCommand):
    """A command that takes no empty value: what was meant to be named must not become the newest, the last or all."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        for parameter in self.params:
            value = given.get(parameter.name)
            if parameter.name not in _FREE and (value == "" or (isinstance(value, list | tuple) and "" in value)):
                said = f"it is empty (an unset variable of the shell?).{_LISTED.get(parameter.name or '', '')}"
                raise typer.BadParameter(said, ctx=ctx, param=cast(Any, parameter))
        return super().parse_args(ctx, args)


class App(typer.Typer):
    """Commands, declared as functions. A parameter whose type is a dataclass stands for the options that are its
    fields: that is how several commands offer the same ones."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Function], Function]:
        register = super().command(name, cls=Command, **settings)

        def declare(function: Function) -> Function:
            register(spread(function))
            return function

        return declare


def spread(function: Callable[..., None]) -> Callable[..., None]:
    """The function as the command line calls it: with an option for each field of its dataclasses."""
    own = inspect.signature(function, eval_str=True).parameters.values()
    groups = {one.name: _options(one.annotation) for one in own if dataclasses.is_dataclass(one.annotation)}
    kinds = {one.name: one.annotation for one in own}
    flat: list[inspect.Parameter] = []
    for one in own:
        flat += groups.get(one.name, {}).values() or [one.replace(kind=inspect.Parameter.KEYWORD_ONLY)]

    @wraps(function)
    def command(**values: Any) -> None:
        made = {name: kinds[name](**{each: values.pop(each) for each in fields}) for name, fields in groups.items()}
        function(**values, **made)

    command.__annotations__ = {one.name: one.annotation for one in flat}
    command.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    return command


def _options(group: Any) -> Mapping[str, inspect.Parameter]:
    """The options that are fields of a dataclass; its other fields are of no matter to the command line."""
    hints = get_type_hints(group, include_extras=True)
    return {
        field.name: inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, annotation=hints[field.name],
            default=inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default,
        )
        for field in dataclasses.fields(group)
        if any(isinstance(one, ParameterInfo) for one in get_args(hints[field.name]))
    }  # fmt: skip
