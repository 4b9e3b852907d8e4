"""Calls the user's hooks around a call; an error in one is a warning, or ends the attempt. Knows no models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from foldmark.asking import Ask, Reply
from foldmark.checkpoint import Item
from foldmark.errors import SummarizerFailed, words_of_error
from foldmark.redact import Redactor
from foldmark.summarizer import Hooks


class HookFailed(SummarizerFailed):
    """A hook failed, and `abort` is set: not to be taken for the failure of a model."""


class Hooked:
    """The hooks of one attempt, and what they did wrong so far."""

    def __init__(self, hooks: Hooks, redact: Redactor) -> None:
        self.hooks, self.redact = hooks, redact
        self.warnings: list[str] = []

    def on_ask(self, ask: Ask) -> Ask | Reply | str | None:
        """Another request, an answer in place of the model's, or None."""
        return self._call("on_ask", (Ask, Reply, str), self.hooks.on_ask, ask)  # type: ignore[no-any-return]

    def on_reply(self, ask: Ask, reply: Reply) -> Reply | None:
        """Another answer, or None."""
        return self._call("on_reply", (Reply,), self.hooks.on_reply, ask, reply)  # type: ignore[no-any-return]

    def after(self, items: tuple[Item, ...]) -> tuple[Item, ...] | None:
        """Other items, or None. What is no item is an error of the hook, not of the model."""
        hook = self.hooks.after

        def kept(given: tuple[Item, ...]) -> tuple[Item, ...] | None:
            found = hook(given) if hook else None
            return None if found is None else tuple(msgspec.convert(msgspec.to_builtins(one), Item) for one in found)

        return self._call("after", (tuple,), kept if hook else None, items)  # type: ignore[no-any-return]

    def _call(self, name: str, kinds: tuple[type, ...], hook: Callable[..., Any] | None, *arguments: Any) -> Any:
        """What a hook says. Raises HookFailed when it fails and `abort` is set."""
        if hook is None:
            return None
        try:
            said = hook(*arguments)
            if said is not None and not isinstance(said, kinds):
                raise TypeError(f"it returned {type(said).__name__}")
            return said
        except Exception as error:
            words = self.redact(words_of_error(error))[:200]
            if self.hooks.abort:
                raise HookFailed(f"The hook {name} failed: {words}. Nothing was changed.", retryable=False) from error
            self.warnings.append(f"The hook {name} failed and was passed over: {words}")
            return None
