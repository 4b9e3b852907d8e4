"""Other people's methods, each called as its documentation says. Knows nothing of the cases.

Each function imports its peer and raises ImportError where it is not installed.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
from collections.abc import Callable, Sequence
from typing import Any

from bench.methods import Message
from bench.peers import _langchain_tokens as langchain_tokens
from bench.peers import widest
from bench.rivals.method import MODEL, SUMMARY, Answer, Rival, Setting, Turn, dialled, persistent, rambling, stateless
from bench.rivals.ours import foldmark
from bench.rivals.pydantic_messages import from_pydantic, to_pydantic
from bench.sizes import size, text_tokens

# -- LangChain


def langchain_trim() -> Rival:
    """`trim_messages` with the options of its documentation: last, start on human, end on human or tool, system."""
    from langchain_core.messages import convert_to_messages, convert_to_openai_messages, trim_messages
    from langchain_core.messages.utils import count_tokens_approximately

    def start(setting: Setting) -> Turn:
        def compact(messages: list[Message]) -> list[Message]:
            kept = trim_messages(
                convert_to_messages(messages), max_tokens=setting.budget, strategy="last", include_system=True,
                token_counter=count_tokens_approximately if setting.own_counter else langchain_tokens,
                start_on="human", end_on=("human", "tool"),
            )  # fmt: skip
            return list(convert_to_openai_messages(kept))

        return stateless(compact)

    return Rival("LangChain trim_messages", start, frozenset({"target"}))


def langchain_summary() -> Rival:
    """`SummarizationMiddleware`, the tokens trigger, as `create_agent` calls it before a model call."""
    from langchain.agents.middleware.summarization import SummarizationMiddleware
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.messages import RemoveMessage, convert_to_messages, convert_to_openai_messages

    def start(setting: Setting) -> Turn:
        counter = {} if setting.own_counter else {"token_counter": langchain_tokens}

        def compact(messages: list[Message]) -> list[Message]:
            said = rambling(messages) if setting.rambles else SUMMARY
            rules, talk = without_system(messages)

            def make(keep: int) -> list[Message]:
                middleware: Any = SummarizationMiddleware(
                    FakeListChatModel(responses=[said]), trigger=("tokens", setting.budget + 1 - size(rules)),
                    keep=("messages", keep), **counter,
                )  # fmt: skip
                held = convert_to_messages(copy.deepcopy(talk))
                found = middleware.before_model({"messages": held}, None)
                if found is None:
                    return messages
                made = [message for message in found["messages"] if type(message) is not RemoveMessage]
                return [*rules, *convert_to_openai_messages(made)]

            return dialled(make, messages, setting, 20)

        return persistent(compact)

    return Rival("LangChain Summarization", start, frozenset({"target", "writes"}))


def langchain_editing() -> Rival:
    """`ContextEditingMiddleware`'s edit: clear old tool results, newest kept."""
    from langchain.agents.middleware.context_editing import ClearToolUsesEdit
    from langchain_core.messages import convert_to_messages, convert_to_openai_messages
    from langchain_core.messages.utils import count_tokens_approximately

    def start(setting: Setting) -> Turn:
        counter = count_tokens_approximately if setting.own_counter else langchain_tokens

        def compact(messages: list[Message]) -> list[Message]:
            def make(keep: int) -> list[Message]:
                held = convert_to_messages(copy.deepcopy(messages))
                ClearToolUsesEdit(trigger=setting.budget, keep=keep).apply(held, count_tokens=counter)
                return list(convert_to_openai_messages(held))

            return dialled(make, messages, setting, 3)

        return stateless(compact)

    return Rival("LangChain ContextEditing", start, frozenset({"target"}))


def without_system(messages: list[Message]) -> tuple[list[Message], list[Message]]:
    """`create_agent` keeps the system prompt apart from the messages of its state."""
    count = next((at for at, message in enumerate(messages) if message["role"] != "system"), len(messages))
    return messages[:count], messages[count:]


# -- pydantic-ai-harness


def harness_tiered() -> Rival:
    """`TieredCompaction` of the README: clear old tool results, then summarise. Over a growing list the summary keeps a
    third of the messages, the proportion of its example (60 and 20)."""
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai_harness.compaction import ClearToolResults, SummarizingCompaction, TieredCompaction

    def start(setting: Setting) -> Turn:
        tokenizer = None if setting.own_counter else text_tokens

        def compact(messages: list[Message]) -> list[Message]:
            said = rambling(messages) if setting.rambles else SUMMARY
            writer = FunctionModel(lambda asked, info: ModelResponse(parts=[TextPart(said)]))

            def make(keep: int) -> list[Message]:
                tiers: Any = [
                    ClearToolResults(max_tokens=1, tokenizer=tokenizer),
                    SummarizingCompaction(model=writer, max_messages=1, keep_messages=keep, tokenizer=tokenizer),
                ]
                tiered = TieredCompaction(tiers=tiers, target_tokens=setting.budget, tokenizer=tokenizer)
                return _harness(tiered, messages, writer)

            return dialled(make, messages, setting, len(messages) // 3)

        return persistent(compact)

    return Rival("harness Tiered", start, frozenset({"target", "writes", "hook"}), hook=_pydantic_hook)


def harness_sliding() -> Rival:
    """`SlidingWindowCompaction`, token trigger; over a growing list it keeps half, as in its example (80, 40)."""
    from pydantic_ai.models.test import TestModel
    from pydantic_ai_harness.compaction import SlidingWindowCompaction, estimate_token_count

    def start(setting: Setting) -> Turn:
        tokenizer = None if setting.own_counter else text_tokens

        def compact(messages: list[Message]) -> list[Message]:
            is_due = estimate_token_count(to_pydantic(messages), tokenizer) > setting.budget

            def make(keep: int) -> list[Message]:
                sliding: Any = SlidingWindowCompaction(
                    max_tokens=setting.budget, keep_messages=keep, tokenizer=tokenizer
                )
                return _harness(sliding, messages, TestModel()) if is_due else messages

            return dialled(make, messages, setting, len(messages) // 2)

        return persistent(compact)

    return Rival("harness Sliding", start, frozenset({"target", "hook"}), hook=_pydantic_hook)


def _harness(strategy: Any, messages: list[Message], model: Any) -> list[Message]:
    """A strategy outside a run, then the repair that pydantic-ai runs before every model request."""
    from pydantic_ai.messages import repair_messages
    from pydantic_ai_harness.compaction import compact_now

    held = to_pydantic(messages)
    return from_pydantic(repair_messages(asyncio.run(compact_now(strategy, held, model=model)))) if held else []


def _pydantic_hook(messages: Sequence[Message]) -> list[Message]:
    """What a model sees when a `ProcessHistory` keeps only the newest message."""
    from pydantic_ai import Agent
    from pydantic_ai.capabilities import ProcessHistory
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    seen: list[Any] = []

    def model(asked: Any, info: Any) -> ModelResponse:
        seen.append(asked)
        return ModelResponse(parts=[TextPart("Done.")])

    newest: Any = ProcessHistory(lambda held: held[-1:])
    Agent(FunctionModel(model), capabilities=[newest]).run_sync(message_history=to_pydantic(messages))
    return from_pydantic(seen[-1])


# -- LiteLLM


def litellm_trim() -> Rival:
    from litellm.utils import trim_messages

    def start(setting: Setting) -> Turn:
        return stateless(lambda messages: list(trim_messages(messages, model=MODEL, max_tokens=setting.budget)))

    return Rival("LiteLLM trim_messages", start, frozenset({"target"}))


def litellm_compress() -> Rival:
    """`litellm.compression.compress`; its retrieval tool opens what it stored for this call."""
    from litellm.compression import compress

    def start(setting: Setting) -> Turn:
        kind = "anthropic_messages" if setting.wire == "anthropic" else "completion"
        target = {} if setting.is_growing else {"compression_target": setting.budget}

        def turn(messages: Sequence[Message]) -> Answer:
            held = copy.deepcopy(list(messages))
            found = compress(held, MODEL, call_type=kind, compression_trigger=setting.budget, **target)
            return Answer(list(found["messages"]), lambda key: found["cache"][key])

        return turn

    return Rival("LiteLLM compress", start, frozenset({"target", "anthropic"}), r"(?<=\[Compressed: )\S+(?= —)")


# -- proxies and payload shrinkers


def cliff() -> Rival:
    """CliffCompaction: its proxy's engine over many turns, its pure function where a size is asked for once."""
    from cliffcompaction.cliff import compact as cliff_compact
    from cliffcompaction.config import Config
    from cliffcompaction.dialects import detect
    from cliffcompaction.engine import Engine, estimate_tokens

    def start(setting: Setting) -> Turn:
        dialect: Any = detect("/v1/messages" if setting.wire == "anthropic" else "/v1/chat/completions")
        engine = Engine(Config(threshold_tokens=setting.budget))

        def once(messages: list[Message]) -> list[Message]:
            def make(keep: int) -> list[Message]:
                found = cliff_compact(messages, dialect, Config(keep_recent=keep))
                return found.messages if found else messages

            return messages if size(messages) <= setting.budget else widest(make, len(messages), setting.budget)

        def through(messages: list[Message]) -> list[Message]:
            if not setting.own_counter:  # it counts characters / 4: the trigger is the same size by its own counter
                estimate = estimate_tokens({"model": MODEL, "messages": messages})
                engine.cfg.threshold_tokens = round(setting.budget * estimate / size(messages))
            return list(engine.prepare({"model": MODEL, "messages": messages}, dialect).outgoing_body()["messages"])

        return stateless(through if setting.is_growing or setting.own_counter else once)

    return Rival("CliffCompaction", start, frozenset({"target", "writes", "anthropic"}))


def headroom() -> Rival:
    """`compress` with its defaults; in a loop it goes on from its own output with `frozen_message_count`."""
    from headroom import compress
    from headroom.cache.compression_store import get_compression_store

    def start(setting: Setting) -> Turn:
        sent = 0

        def compact(messages: list[Message]) -> list[Message]:
            nonlocal sent
            made = list(compress(messages, model=MODEL, frozen_message_count=sent).messages)
            sent = len(made)
            return made

        turn = persistent(compact)
        return lambda messages: Answer(turn(messages).messages, _headroom_original)

    def _headroom_original(key: str) -> str:
        found = get_compression_store().retrieve(key)
        if found is None:
            raise KeyError(key)
        return str(found.original_content)

    return Rival("headroom-ai", start, frozenset({"anthropic"}), r"(?<=hash=)[0-9a-f]+|(?<=<<ccr:)[0-9a-f]+")


def distil() -> Rival:
    from distil import compress_messages, expand_handle

    def original(handle: str) -> str:
        found = expand_handle(handle)
        if found is None:
            raise KeyError(handle)
        return found

    def start(setting: Setting) -> Turn:
        return lambda messages: Answer(list(compress_messages(copy.deepcopy(list(messages))).messages), original)

    return Rival("distil-llm", start, frozenset({"anthropic"}), r"(?<=handle=)[0-9a-f]{8}")


RIVALS: tuple[tuple[str, Callable[[], Rival]], ...] = (
    ("foldmark", foldmark),
    ("LangChain trim_messages", langchain_trim),
    ("LangChain Summarization", langchain_summary),
    ("LangChain ContextEditing", langchain_editing),
    ("harness Tiered", harness_tiered),
    ("harness Sliding", harness_sliding),
    ("LiteLLM trim_messages", litellm_trim),
    ("LiteLLM compress", litellm_compress),
    ("CliffCompaction", cliff),
    ("headroom-ai", headroom),
    ("distil-llm", distil),
)


def rivals() -> list[Rival | str]:
    """All methods; the name alone of one that is not installed."""
    logging.disable(logging.CRITICAL)  # peers log their refusals; the table says what matters
    found: list[Rival | str] = []
    for name, make in RIVALS:
        rival: Rival | None = None
        with contextlib.suppress(ImportError):
            rival = make()
        found.append(rival or name)
    return found
