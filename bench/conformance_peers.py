"""Other compactors behind the kit's interface: keep-last, LangChain's trim, chatcram, and the kit's own.

Knows nothing of foldmark. All get the same budget in characters; the system turn belongs to the harness and counts for
nobody. A text within its budget is returned as it is, which is what each of them does by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.conformance_ours import Compacted

Turns = Sequence[Any]
Make = Callable[[Turns, int], str]


class Peer:
    """A function from turns and a budget to text, as the kit calls it."""

    def __init__(self, name: str, make: Make) -> None:
        self.name, self._make = name, make

    def compact(self, turns: Turns, round_num: int = 1, budget_chars: int | None = None) -> Compacted:
        if len(turns) == 1 and budget_chars is not None and len(turns[0].text) <= budget_chars:
            return Compacted(turns[0].text, self.name, round_num)
        said = [turn for turn in turns if turn.role != "system"] or turns
        limit = budget_chars if budget_chars is not None else len(text_of(said))
        return Compacted(self._make(said, limit), self.name, round_num)


def text_of(turns: Turns) -> str:
    return "\n".join(f"[{turn.role}] {turn.text}" for turn in turns)


def keep_last(turns: Turns, budget_chars: int) -> str:
    """The newest whole turns that fit."""
    start = len(turns)
    while start and len(text_of(turns[start - 1 :])) <= budget_chars:
        start -= 1
    return text_of(turns[start:])


def langchain_trim() -> Make:
    """`trim_messages` to the budget, counted in the characters that the kit counts."""
    from langchain_core.messages import convert_to_messages, trim_messages

    roles = {"human": "user", "ai": "assistant"}

    def length(messages: Any) -> int:
        return sum(len(f"[{roles.get(one.type, one.type)}] {one.content}\n") for one in messages)

    def make(turns: Turns, budget_chars: int) -> str:
        messages = convert_to_messages([{"role": turn.role, "content": turn.text} for turn in turns])
        kept = trim_messages(messages, max_tokens=budget_chars, strategy="last", token_counter=length)
        return "\n".join(f"[{roles.get(one.type, one.type)}] {one.content}" for one in kept)

    return make


def chatcram() -> Make:
    """Half the budget newest turns, half a "summary". Without a model the summary is the head of what went."""
    from chatcram import CallableTokenizer, Compactor

    prefix = "Summary of earlier conversation:\n"

    def make(turns: Turns, budget_chars: int) -> str:
        half = budget_chars // 2
        room = budget_chars - half - len(prefix) - len("[system] \n")
        # A newline joins what it counts one by one, hence the two characters more: "[user] x\n" for "user: x".
        compactor = Compactor(
            budget_chars, lambda text: text[:room], keep_recent=half - 1, summary_prefix=prefix,
            tokenizer=CallableTokenizer(lambda text: len(text) + 2),
        )  # fmt: skip
        made = compactor.compact([{"role": turn.role, "content": turn.text} for turn in turns])
        return "\n".join(f"[{one['role']}] {one['content']}" for one in made.messages)

    return make


PEERS: Mapping[str, Callable[[], Make]] = {
    "keep-last": lambda: keep_last,
    "LangChain trim": langchain_trim,
    "chatcram (head as summary)": chatcram,
}

OWN = (
    "SemanticChecklistCompactor", "UpdateAwareChecklistCompactor", "ChecklistCompactor", "PinnedRulesCompactor",
    "SummaryTailCompactor", "LossyTruncationCompactor", "NaiveSummaryCompactor", "ProgressiveSummaryCompactor",
)  # fmt: skip
"""The kit's own compactors, by class; the best of them per column is the kit's best."""


def peers(say: Callable[[str], None] = print) -> dict[str, Callable[[], Any]]:
    """Factories of the peers that can be imported; `say` hears of those that cannot."""
    found: dict[str, Callable[[], Any]] = {}
    for name, load in PEERS.items():
        try:
            make = load()
        except ImportError as error:
            say(f"{name} is skipped: {error}")
            continue
        found[name] = lambda name=name, make=make: Peer(name, make)  # type: ignore[misc]
    return found


def kit_own() -> dict[str, Callable[[], Any]]:
    import compaction_kit

    return {f"kit: {getattr(compaction_kit, name).name}": getattr(compaction_kit, name) for name in OWN}
