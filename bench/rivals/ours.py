"""foldmark as a method of `bench.rivals`, called as its how-to pages say."""

from __future__ import annotations

from collections.abc import Sequence

from bench.methods import WINDOW, Message
from bench.rivals.method import Answer, Rival, Setting, Turn
from bench.sizes import size
from foldmark.errors import BudgetExceeded, NotFound
from foldmark.policy import Policy
from foldmark.session import Session
from foldmark.wire import anthropic, openai_chat, openai_strict


def foldmark() -> Rival:
    """`follow`, `compact` to the target, `request`: docs/how-to/follow-a-message-list.md and use-in-your-loop.md.

    Over a growing list it has the proportions of its defaults (a trigger of 48,000 lands at 16,000)."""

    def start(setting: Setting) -> Turn:
        scaled = {"trigger_tokens": setting.budget, "landing_tokens": setting.budget // 3, "nothing_below": 0}
        window = _window_of(setting.budget) if setting.is_limit else WINDOW
        chat = openai_strict if setting.takes_turns else openai_chat
        wire = anthropic if setting.wire == "anthropic" else chat
        budget = scaled if setting.is_growing else {"target_tokens": setting.budget}
        policy = Policy.coding(budget=budget, window=window)
        session = Session("rivals", policy=policy, clock=lambda: 1_000.0, new_id=lambda: "fork")

        def turn(messages: Sequence[Message]) -> Answer:
            session.follow(list(messages), wire=wire)
            if not setting.is_growing:
                session.compact(force=size(messages) > setting.budget, max_output=1_000)
            request = session.request(max_output=1_000, wire=wire)
            # A session without a message has nothing to send, and `payload` would say so.
            shown = request.payload()["messages"] if request.messages else []
            return Answer(list(shown), lambda ref: _opened(session, ref))

        return turn

    can = frozenset({"target", "writes", "anthropic", "hook"})
    pointer = r"\b(?:event|artifact|compaction):\d+(?:\.\d+)?(?:#L\d+-\d+)?"
    return Rival("foldmark", start, can, pointer, (BudgetExceeded,), _foldmark_hook)


def _window_of(ceiling: int) -> int:
    """The window whose room for input, beside an answer of 1,000 and the safety margin, is the ceiling."""
    return max(ceiling + 1_000 + 512, round((ceiling + 1_000) / 0.97))


def _opened(session: Session, ref: str) -> str:
    """As `recall` in docs/how-to/use-in-your-loop.md does it, and the `next` that it names, opened too."""
    try:
        loaded = session.load(ref, limit=1_000_000)
    except NotFound as error:
        raise KeyError(ref) from error
    shown = loaded.text or "\n\n".join(event.text for event in loaded.events)
    return f"{shown}\n{_opened(session, loaded.next)}" if loaded.events and loaded.next else shown


def _foldmark_hook(messages: Sequence[Message]) -> list[Message]:
    return foldmark().start(Setting(100_000))(messages[-1:]).messages
