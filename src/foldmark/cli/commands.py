"""How the command line tells a value that an option does not take. Knows nothing of any command."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

_INNER = "Value error, "
"""How the library that reads options begins such a sentence: of use to programmers only."""


class Commands(TyperGroup):
    """Commands whose errors about a value begin with what is wrong."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix(_INNER)
            raise
