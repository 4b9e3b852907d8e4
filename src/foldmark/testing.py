"""Fakes that are shipped: a model that follows a script, a clock that stands still. Knows nothing of frameworks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from foldmark.asking import Ask, ModelInfo, Reply

Answer = Reply | str | BaseException | Callable[[Ask], Any]


class ScriptedModel:
    """A summary model that answers by a script: texts, replies, errors to raise, or functions of the Ask. After the
    last line it goes on with the last. `asks` are all it was asked."""

    def __init__(self, *script: Answer, name: str = "scripted", window: int = 32_000, schema: bool = True) -> None:
        self.script: list[Answer] = list(script) or [""]
        self.info = ModelInfo(name=name, window=window, schema=schema, factor=1.0)
        self.asks: list[Ask] = []

    def __call__(self, ask: Ask) -> Any:
        answer = self.script[min(len(self.asks), len(self.script) - 1)]
        self.asks.append(ask)
        if isinstance(answer, BaseException):
            raise answer
        return answer(ask) if callable(answer) else answer


class AsyncScriptedModel(ScriptedModel):
    """The same, awaited."""

    async def __call__(self, ask: Ask) -> Any:
        return ScriptedModel.__call__(self, ask)


class FixedClock:
    """A clock that moves only when told to. Seconds since 1970."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> float:
        """Let time pass; returns the new time."""
        self.now += seconds
        return self.now


def items_json(**fields: Iterable[Any]) -> str:
    """An answer as a schema-bound model gives it: `items_json(decisions=[("keep the schema", [2])])`."""
    return json.dumps(
        {
            field: [{"text": text, "refs": list(refs)} for text, refs in (_pair(item) for item in items)]
            for field, items in fields.items()
        },
        ensure_ascii=False,
    )


def _pair(item: Any) -> tuple[str, Iterable[int]]:
    return (item, ()) if isinstance(item, str) else (item[0], item[1])
