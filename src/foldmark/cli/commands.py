"""How a command is declared, loaded and read: only the one that is called is loaded, options that several share come as
one value, an empty value is no default, and an error about a value begins with what is wrong. Knows nothing of any
command.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, TypeVar, cast, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command
from typer.models import ParameterInfo

_INNER = "Value error, "
"""How the library that reads options begins such a sentence: of use to programmers only."""
_FREE = {"focus", "model", "author", "query"}
"""Parameters whose empty text says that there is none; of any other it was meant to name something."""
_LISTED = {"session": " `foldmark sessions` lists sessions.", "scope": " `foldmark scopes` lists the scopes of one."}
_NAME_COLUMNS = 8
"""So wide is the longest name: the sentences of all sections begin below each other."""

Function = TypeVar("Function", bound=Callable[..., None])


class Later(NamedTuple):
    """A command that is loaded when it is called: where it is (`module:name` beside this one), and what the list of
    commands says of it."""

    home: str
    text: str


class Loaded(Mapping[str, Any]):
    """Name -> command, loaded when it is asked for and once: each needs other parts of the package, and to load all of
    them takes longer than most commands. Nowhere else does the command line load a module of its own by name."""

    def __init__(self, homes: Mapping[str, Later]) -> None:
        self._homes, self._known = homes, dict[str, Any]()

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            module, _, attribute = self._homes[name].home.partition(":")
            found = getattr(import_module(f"{__package__}.{module}"), attribute)
            self._known[name] = get_command(found if isinstance(found, typer.Typer) else _alone(name, found))
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


class Commands(TyperGroup):
    """Commands whose errors about a value begin with what is wrong; those of `sections` are loaded when they are
    called."""

    sections: ClassVar[Mapping[str, Mapping[str, Later]]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if self.sections:
            homes = {name: later for listed in self.sections.values() for name, later in listed.items()}
            self.commands = cast(Any, Loaded(homes))

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Whole sentences: the library that reads options would cut them."""
        texts = {title: {name: one.text for name, one in listed.items()} for title, listed in self.sections.items()}
        width = _NAME_COLUMNS if texts else 0
        for title, listed in (texts or {"Commands": {n: one.help or "" for n, one in self.commands.items()}}).items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", text) for name, text in listed.items()])

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


def _alone(name: str, function: Callable[..., None]) -> App:
    """Commands of which there is this one."""
    only = App(add_completion=False, rich_markup_mode=None)
    only.command(name)(function)
    return only


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
