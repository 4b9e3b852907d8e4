"""Reads a model's answer into items, or says why it is no summary. Knows nothing of the events it should tell of.

A narrative is kept for many rounds, so what a bad one does is not over with its round: an answer that is cut, refused,
looped, or goes on with the task is rejected as a whole; a lesser fault is repaired, and the repair is named.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from foldmark.asking import Reply
from foldmark.checkpoint import Item
from foldmark.errors import SummaryRejected
from foldmark.narrative import FIELDS, INSTRUCTION_LINES, MOST_CHARACTERS, MOST_ITEMS, MOST_REFS
from foldmark.render import TAG
from foldmark.story.cutting import clean, rounded
from foldmark.story.forms import Found, Statement, find_statements
from foldmark.words import words

MOST_TEXT = 120_000
"""Characters of an answer behind its reasoning: five times what six full fields can take."""

_MARKUP = re.compile(
    r"</?(?:antml:)?(?:tool_call|tool_use|tool_calls|function_calls?|invoke|parameter)\b[^>]{0,80}>?|<function=|<\|tool"
    r"|\[/?TOOL_(?:CALLS?|REQUEST)\]|<\|(?:plugin|python_tag|action_start|channel)|<[|｜]?\s?DSML|<[｜|]tool|antml:\w+",
    re.IGNORECASE,
)
_NESTED = re.compile(
    rf"<\s?/?{TAG}|<\s?/?(?:conversation|context|session|previous)[_ -]?summary\b|\[CONTEXT (?:COMPACTION|SUMMARY)"
    r"|\bThis session is being continued from a previous conversation",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"^\W{0,4}(?:(?:i['’]?m|i am)\s(?:very\s|so\s)?sorry|sorry|apologies|unfortunately|as an ai\b[^.]{0,40})?"
    r"[\s,.:;–-]{0,4}(?:but\s)?i(?:['’]m|\sam)?\s?(?:can(?:no|['’])?t|can not|unable to|not able to|won['’]?t|will not"
    r"|must decline|decline to)\s?(?:be able to\s)?(?:to\s)?(?:help|assist|comply|fulfil|provide|summari[sz]e"
    r"|do (?:that|this)|continue|create|process|share)|^\W{0,4}(?:抱歉|对不起|很抱歉|申し訳|죄송)",
    re.IGNORECASE,
)
_THINKING = ("think", "thinking", "reasoning", "thought")


class Answer(msgspec.Struct, frozen=True):
    """An answer that could be read: its items within bounds, and what was repaired in it, a sentence each."""

    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()


def read_answer(reply: Reply, *, instructions: Sequence[str] = INSTRUCTION_LINES, may_be_empty: bool = False) -> Answer:
    """The items of an answer and the repairs. `instructions` are lines of our prompt that it must not repeat. With
    `may_be_empty` our fields without a statement are an answer too: a part of a past that is told already may add none.

    Raises SummaryRejected for what is no summary: empty, refused, cut, a tool call, an echo, a loop, a nested summary,
    a form that cannot be read. It raises nothing else, whatever the text holds.
    """
    text = _without_thinking(clean(reply.text))
    if reasons := _why_not_read(reply, text):
        raise SummaryRejected(tuple(reasons))
    found = find_statements(text)
    echo = _grams_of(instructions)
    if reasons := _why_not_taken(found, text, echo):
        raise SummaryRejected(tuple(reasons))
    answer = _bounded(found, echo)
    if not answer.items and (found.statements or not may_be_empty):
        raise SummaryRejected(answer.notes or ("it holds no statement",))
    return answer


def _without_thinking(text: str) -> str:
    """The text behind a model's reasoning. Reasoning that never ends leaves nothing; its opening tag may be missing,
    since templates of some models put it into the prompt."""
    start = text.lstrip()
    if start.startswith("{"):
        return start
    for tag in _THINKING:
        before, closed, after = start.rpartition(f"</{tag}>")
        if closed and (before.startswith(f"<{tag}") or f"<{tag}" not in before):
            return after.strip()
        if start.startswith(f"<{tag}>"):
            return ""
    return start.rstrip()


def _why_not_read(reply: Reply, text: str) -> list[str]:
    """What speaks against an answer before its words are looked at."""
    reasons = []
    if reply.finish == "length":
        reasons.append("it was cut by the output limit")
    if reply.finish == "refusal" or (text and _REFUSAL.match(text[:400])):
        reasons.append("the model refused")
    if reply.finish == "tool_calls" or reply.calls:
        names = ", ".join(name[:60] for name in reply.calls[:5])
        reasons.append(f"it called a tool instead{f' ({names})' if names else ''}")
    if not text:
        spent = reply.reasoning_tokens > 0 or bool(reply.text.strip())
        reasons.append("the budget was spent on reasoning" if spent else "it is empty")
    if len(text) > MOST_TEXT:
        reasons.append(f"it has {len(text):,} characters, more than any narrative ({MOST_TEXT:,})")
    return reasons


def _why_not_taken(found: Found, text: str, echo: frozenset[str]) -> list[str]:
    """What speaks against the whole of a text. Markup inside a statement costs only that statement."""
    outside = found.rest if found.is_readable else text
    reasons = []
    if markup := _MARKUP.search(outside):
        reasons.append(f"it holds tool markup ({markup[0][:40]!r}): it went on with the task")
    if _NESTED.search(outside):
        reasons.append("it holds another summary as a whole")
    told = [statement.text for statement in found.statements]
    if _loops(told or [text]):
        reasons.append("it says the same again and again")
    echoed = sum(_echoes(said, echo) for said in told) if told else _echoes(text, echo, 0.3)
    if echoed and echoed * 2 >= len(told):
        reasons.append("it repeats its instructions")
    if not found.is_readable:
        reasons.append("it has no form that can be read: no JSON with our fields, no headings with their names")
    return reasons


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _loops(texts: Sequence[str]) -> bool:
    """Whether one or two statements, or runs of four words, come again and again: what small models fall into. Where
    three or more different statements are left, the repetitions are only left out."""
    plain = Counter(map(_plain, texts))
    if len(texts) - len(plain) >= 3 and len(plain) < 3:
        return True
    return _sameness(" ".join(plain), least=60) > 0.65


def _sameness(text: str, least: int) -> float:
    """Share of the runs of four words that stood before; 0 for a text with fewer than `least` runs."""
    tokens = text.split() if " " in text else words(text)
    runs = [tuple(tokens[at : at + 4]) for at in range(len(tokens) - 3)]
    return 1 - len(set(runs)) / len(runs) if len(runs) >= least else 0.0


_GRAM = 6  # words: shorter runs of a prompt stand in honest notes as well


def _grams(text: str) -> list[str]:
    tokens = _plain(text).split()
    return [" ".join(tokens[at : at + _GRAM]) for at in range(max(1, len(tokens) - _GRAM + 1))] if tokens else []


def _grams_of(lines: Iterable[str]) -> frozenset[str]:
    """The runs of six words of our prompt's lines, and shorter lines as a whole."""
    return frozenset(gram for line in lines for gram in _grams(line) if len(gram) >= 12)


def _echoes(text: str, echo: frozenset[str], share: float = 0.5) -> bool:
    """Whether this share of a text's words, or more, stand in runs that the prompt has."""
    grams = _grams(text)
    covered = {at + step for at, gram in enumerate(grams) if gram in echo for step in range(gram.count(" ") + 1)}
    return bool(grams) and len(covered) >= share * (len(grams) + grams[0].count(" "))


def _bounded(found: Found, echo: frozenset[str]) -> Answer:
    """Items within their bounds, each once, and what was left out for which reason."""
    notes: Counter[str] = Counter(f"the field {name!r} is unknown and was left out" for name in found.unknown[:8])
    kept: dict[str, Item] = {}
    for statement in found.statements:
        if reason := _why_left_out(statement, echo):
            notes[reason] += 1
            continue
        item, key = _item(statement), _plain(statement.text) or statement.text
        if known := kept.get(key):
            notes["said twice"] += 1
            item = msgspec.structs.replace(
                known, refs=tuple(dict.fromkeys(known.refs + item.refs))[:MOST_REFS], why=known.why or item.why
            )
        if item.text != " ".join(statement.text.split()):
            notes[f"cut to {MOST_CHARACTERS} characters"] += 1
        kept[key] = item
    items: list[Item] = []
    for field in FIELDS:
        own = [item for item in kept.values() if item.field == field]
        items += own[:MOST_ITEMS]
        if len(own) > MOST_ITEMS:
            notes[f"more than {MOST_ITEMS} items in {field}"] += len(own) - MOST_ITEMS
    said = (f"{reason} ({times} times)" if times > 1 else reason for reason, times in notes.items())
    return Answer(tuple(items), tuple(said))


def _why_left_out(statement: Statement, echo: frozenset[str]) -> str:
    text = f"{statement.text} {statement.why}"
    if _MARKUP.search(text):
        return "an item holds tool markup"
    if _NESTED.search(text):
        return "an item holds another summary"
    if _REFUSAL.match(statement.text[:400]) and len(statement.text) < 160:
        return "an item refuses to answer"
    if _echoes(statement.text, echo):
        return "an item repeats the instructions"
    if _sameness(_plain(statement.text), least=10) > 0.5:
        return "an item says the same again and again"
    return "" if re.search(r"\w", statement.text) else "an item says nothing"


def _item(statement: Statement) -> Item:
    return Item(field=statement.field, text=rounded(statement.text), refs=statement.refs, why=rounded(statement.why))
