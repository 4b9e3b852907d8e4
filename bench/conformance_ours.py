"""foldmark as a compactor of compaction-conformance-kit: `compact(turns, round_num, budget_chars)`, chat preset.

Knows nothing of the kit's corpora or probes: rules for their phrases would make the measure worthless.

The budgets are 800 to 2,500 characters for the *whole* text, a sixth of what foldmark is made for (no landing
under 500 tokens). So the text is the checkpoint's lines without what explains and addresses them (opening, headings,
refs), then the raw rounds behind it. The largest target whose text fits is taken; below the smallest target that a
Policy takes, the checkpoint is written by the same rules (`write_checkpoint`) for a smaller landing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from foldmark.checkpoint import Checkpoint
from foldmark.compose import unit_limit, write_checkpoint
from foldmark.memory import MemoryStore
from foldmark.policy import Policy
from foldmark.session import Session
from foldmark.wire import openai_chat

WINDOW = 128_000
LEAST_TARGET = 500
"""The smallest landing that a Policy takes, in tokens; the corpora's system text adds about 20."""
LEAST_LANDING = 160
"""The smallest landing that is tried by hand: the frame, which is not printed, takes about 150 of it."""
STEP = 10  # tokens between the landings that are tried
HEADROOM = 1.6
"""Tokens of a target for each token of text: the frame, headings and refs are counted in the target."""
CHARS_PER_TOKEN = 4.0


class Compacted(NamedTuple):
    """What the kit reads of a compactor's answer."""

    text: str
    compactor_name: str
    round_num: int = 1
    structured: dict[str, list[str]] | None = None


class Foldmark:
    """The frozen rule set. A text within its budget is not compacted again: the outcome `not_due`."""

    name = "foldmark"

    def compact(self, turns: Sequence[Any], round_num: int = 1, budget_chars: int | None = None) -> Compacted:
        given = "\n".join(turn.text for turn in turns)
        if budget_chars is None or len(given) <= budget_chars:
            return Compacted(given, self.name, round_num)
        return Compacted(fitted(followed(turns), budget_chars), self.name, round_num)


def followed(turns: Sequence[Any]) -> Session:
    """A session that has followed the turns. The system turn is the harness's own and goes to the static prefix."""
    session = Session("kit", store=MemoryStore(), policy=Policy.chat())
    session.follow([{"role": turn.role, "content": turn.text} for turn in turns], wire=openai_chat)
    return session


def fitted(session: Session, budget_chars: int) -> str:
    """The text of the largest target that fits; of a smaller landing where no target does."""
    static = session.request(window=WINDOW, wire=openai_chat).tokens.static
    least = static + LEAST_TARGET
    most = max(least, round(static + budget_chars / CHARS_PER_TOKEN * HEADROOM + LEAST_TARGET))
    text = largest(lambda target: text_of(compacted(session, target)), least, most, budget_chars)
    if text is None:
        text = largest(lambda landing: smaller(session, least, landing), LEAST_LANDING, LEAST_TARGET, budget_chars)
    return text if text is not None else cut(smaller(session, least, LEAST_LANDING), budget_chars)


def largest(make: Callable[[int], str], least: int, most: int, budget_chars: int) -> str | None:
    """The longest text within the budget over all sizes from `least` to `most`; None when not even the least fits."""
    made = [text for size in range(least, most + 1, STEP) if len(text := make(size)) <= budget_chars]
    return max(made, key=len, default=None)


def compacted(session: Session, target_tokens: int) -> Session:
    """The same log, compacted to a target in a scope of its own."""
    policy = session.policy.replace(budget={"target_tokens": target_tokens})
    again = Session("kit", store=session.store, policy=policy, scope=f"at-{target_tokens}")
    again.describe(system=session.system)
    if not again.control.history():
        again.compact(force=True, window=WINDOW)
    return again


def text_of(session: Session) -> str:
    """Checkpoint and raw rounds of a session, bare."""
    made = session.control.history()
    tail = [event.text for event in session.store.view(session.key).events]
    return "\n".join([*(bare(made[-1]) if made else ()), *tail])


def smaller(session: Session, target_tokens: int, landing_tokens: int) -> str:
    """The text of a compaction to `target_tokens` whose checkpoint is written again for a smaller landing."""
    first = compacted(session, target_tokens)
    old, view = first.control.history()[-1], first.store.view(first.key)
    state, facts, units = first.store.covered(first.key, old.boundary, limit=unit_limit(landing_tokens))
    new = write_checkpoint(
        version=old.version, boundary=old.boundary, mark=old.mark, state=state, facts=facts, units=units, kept=old.kept,
        raw=[event.text for event in view.events], landing_tokens=landing_tokens, policy=first.policy, now=0.0,
        tally=first.store.tally(first.key),
    )  # fmt: skip
    return "\n".join([*bare(new), *(event.text for event in view.events)])


def bare(checkpoint: Checkpoint) -> list[str]:
    """What a checkpoint says, a line each, none twice: state with refs, excerpts, names; no pointers to the rest."""
    lines = [line.text for section in checkpoint.sections for line in section.lines if line.refs]
    lines += [unit for excerpt in checkpoint.excerpts for unit in excerpt.units]
    lines += [name.name for name in checkpoint.names]
    return list(dict.fromkeys(lines))


def cut(text: str, budget_chars: int) -> str:
    """Whole lines from the top while they fit."""
    kept, left = [], budget_chars
    for line in text.split("\n"):
        left -= len(line) + 1
        if left < -1:
            break
        kept.append(line)
    return "\n".join(kept)


def whole_request(session: Session, budget_chars: int) -> str:
    """The request as it goes out, without the system text, of the largest target that fits; else of the smallest."""
    static = session.request(window=WINDOW, wire=openai_chat).tokens.static
    least = static + LEAST_TARGET

    def request(target: int) -> str:
        events = compacted(session, target).request(window=WINDOW, wire=openai_chat)
        system = events.system.removeprefix(session.system).strip()
        return "\n".join(filter(None, [system, *(event.text for event in events.messages)]))

    most = max(least, round(static + budget_chars / CHARS_PER_TOKEN * HEADROOM))
    return largest(request, least, most, budget_chars) or request(least)


class WholeRequest(Foldmark):
    """foldmark's request as a model gets it: with its opening, headings and refs."""

    name = "foldmark, whole request"

    def compact(self, turns: Sequence[Any], round_num: int = 1, budget_chars: int | None = None) -> Compacted:
        if budget_chars is None or len(turns) == 1:
            return super().compact(turns, round_num, budget_chars)
        return Compacted(whole_request(followed(turns), budget_chars), self.name, round_num)


__all__ = ["Compacted", "Foldmark", "WholeRequest", "bare", "cut", "fitted", "followed"]
