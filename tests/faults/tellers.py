"""Summary models for the fault tests, good and bad: functions of an Ask, and what must hold of every Ask.

Knows nothing of sessions. A good one says only what the records say; the bad ones do what users have reported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from scenes import EVERY_WIRE, fresh, text_of
from turns import errors

from foldmark import Policy, Session, Summarizer
from foldmark.asking import Ask, Reply, info_of
from foldmark.events import Usage
from foldmark.testing import ScriptedModel, items_json
from foldmark.tokens import count
from foldmark.wire import VARIANTS
from wire_pairs import broken_pairs

Teller = Callable[[Ask], Any]
SAID = re.compile(r"^\[event:(\d+) agent\] (\S.{5,180})$", re.MULTILINE)
"""A record of what the agent said: its event and its first line."""


def words_of(ask: Ask) -> str:
    """All that a model is given to read, whatever the mode."""
    return text_of(ask.body) if ask.body is not None else ask.prompt


def said(ask: Ask) -> list[tuple[str, tuple[int, ...]]]:
    """What the agent said in the records, each once: (words, its newest event)."""
    found = {text: (int(seq),) for seq, text in SAID.findall(words_of(ask))}
    return list(found.items())


def honest(ask: Ask) -> Reply:
    """Where the work stands, what was decided and what failed, in the agent's own words, with its events."""
    found = said(ask)
    return told(
        ask,
        current_work=found[-1:],
        decisions=[one for one in found if "decided" in one[0]][-6:],
        failed_approaches=[one for one in found if "failed" in one[0]][-6:],
    )


def told(ask: Ask, **fields: Any) -> Reply:
    """An answer of these items, with the usage that a provider would report."""
    text = items_json(**fields)
    return Reply(text=text, usage=Usage(input=ask.tokens, output=count(text)))


def adds(**fields: Any) -> Teller:
    """A model that says what is so, and these lines as well."""

    def tell(ask: Ask) -> Reply:
        own = json.loads(honest(ask).text)
        more = json.loads(items_json(**fields))
        return told_raw(ask, {name: own.get(name, []) + more.get(name, []) for name in {**own, **more}})

    return tell


def told_raw(ask: Ask, fields: dict[str, Any]) -> Reply:
    text = json.dumps(fields, ensure_ascii=False)
    return Reply(text=text, usage=Usage(input=ask.tokens, output=count(text)))


def shown(ask: Ask) -> tuple[str, str]:
    """(the notes so far, the records) that a request shows."""
    notes, _, rest = ask.prompt.partition("Notes so far:\n")[2].partition("<foldmark-records")
    return notes.strip(), rest.partition(">\n")[2].partition("</foldmark-records>")[0]


def quoting(ask: Ask) -> Reply:
    """Quotes its previous summary in full, and the records behind it, as notes of its own."""
    notes, records = shown(ask)
    words = f"Earlier: {notes} Now: {records}".split()
    lines = [" ".join(words[at : at + 30]) for at in range(0, len(words), 30)]
    return told(ask, decisions=[notes, *lines[:14]], current_work=lines[14:28], conflicts=[f"It was said: {notes}"])


def twice(ask: Ask) -> Reply:
    """An answer twice as long as what was asked, in the right form."""
    words = ask.prompt.split()
    lines = [" ".join(words[at : at + 30]) for at in range(0, len(words), 30)]
    return told(ask, current_work=lines, decisions=[f"{line} again" for line in lines])


def checked_ask(ask: Ask) -> str:
    """What must hold of every standalone request, checked without our validator as well; its text."""
    assert (ask.mode, ask.body) == ("standalone", None)
    text = ""
    for wire in (*EVERY_WIRE, *VARIANTS):
        payload = ask.payload(wire)
        name = wire.NAME.removesuffix("-strict")
        assert wire.validate(payload) == []
        assert errors(payload, name) == []
        assert broken_pairs(wire, payload) == []
        text = text_of(payload)
        assert "tools" not in payload
        assert not re.search(r"'(?:tool_use|tool_result|tool_calls|function_call|functionCall)'", repr(payload))
        json.dumps(payload, ensure_ascii=False).encode("utf-8")
    info = info_of(ask.model)
    assert ask.tokens * info.factor + ask.max_output <= info.window, "it does not fit the summary model"
    assert count(ask.prompt) <= ask.tokens, "it says less than it is"
    return text


def telling(
    *script: Any, policy: Policy | None = None, window: int = 32_000, schema: bool = True, store: Any = None,
    clock: Any = None, fork: bool = False, **options: Any,
) -> tuple[Session, ScriptedModel]:  # fmt: skip
    """A session whose model follows a script; further options are those of the Summarizer."""
    model = ScriptedModel(*script, window=window, schema=schema)
    more: dict[str, Any] = {"clock": clock} if clock else {}
    made = policy or Policy.coding(budget={"target_tokens": 5_000}, admission={"limit_tokens": 1_000_000})
    if clock:
        session = Session("s", store=store, policy=made, summarizer=_of(model, fork, options), **more)
    else:
        session = fresh(made, store, summarizer=_of(model, fork, options))
    return session, model


def _of(model: ScriptedModel, fork: bool, options: dict[str, Any]) -> Summarizer:
    return Summarizer(models=(model, *options.pop("others", ())), fork=fork, **options)
