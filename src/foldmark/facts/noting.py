"""What code knows of a session, read from its events: the reducer of facts. Knows nothing of storage or
requests.

Facts come from whole, redacted readings, so nothing here has to redact. Only a real user's words make goals,
tasks, constraints and approvals; injected rows and tool results never do, whatever they claim. The newest
fact per (kind, key) is the state; superseded ones stay in the log of facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foldmark.checkpoint import Fact
from foldmark.events import Paste, Reading
from foldmark.exact import identifiers
from foldmark.facts import intent
from foldmark.facts.deeds import note_result
from foldmark.facts.ledger import Ledger
from foldmark.facts.plans import checkboxes, note_todos
from foldmark.profiles import Profile

USER_CHARACTERS = 32_000
"""A user's message is kept verbatim up to about 8,000 tokens."""
MOST_LIMITS = 60
"""Sentences of one message that may become constraints: a pasted specification is admitted, not memorised."""
MOST_DECISIONS = 3
_STATEMENT_HEAD, _STATEMENT_TAIL = 500, 700


def facts_of(
    readings: Sequence[Reading], state: Mapping[tuple[str, str], Fact], profiles: Sequence[Profile] = ()
) -> list[Fact]:
    """The facts of new events, in order, given the newest fact per (kind, key) before them."""
    ledger = Ledger(state)
    extra = tuple(profiles)
    for reading in readings:
        event = reading.event
        if event.role == "control":
            continue
        if event.is_user:
            _note_user(ledger, reading)
        elif event.role == "assistant":
            _note_assistant(ledger, reading)
        elif event.role == "tool":
            before = len(ledger.facts)
            note_result(ledger, reading, extra)
            if reading.call_key != event.key:  # made elsewhere: who does not see the call may not know its words
                ledger.rest_on(reading.call_seq, since=before)
    return ledger.facts


def _note_user(ledger: Ledger, reading: Reading) -> None:
    event, text = reading.event, reading.text.strip()
    if not text:
        return
    is_paste = any(isinstance(part, Paste) for part in event.parts)
    value = text[: 1_200 if is_paste else USER_CHARACTERS]
    agrees = intent.is_agreement(text)
    ledger.add(
        event.seq,
        "user",
        str(event.seq),
        value,
        scope=event.key,
        status="agrees" if agrees else "",
        meta={"paste": "yes" if is_paste else ""},
    )
    own = intent.own_words(value)
    said = list(intent.sentences(own))
    stopped = next((sentence for sentence in said[:4] if intent.is_stop(sentence)), "")
    _note_limits(ledger, reading, own)
    _note_tasks(ledger, reading, own or text, said, agrees=agrees, stopped=bool(stopped))
    if not agrees:
        _note_goal(ledger, reading, text, own or value)
    if agrees and intent.approves(text):
        _note_approval(ledger, reading, text)
    for found in identifiers(own[:8_000])[:24]:
        key = f"{found.kind}:{found.text}"
        if ledger.said("identifier", key, event.key) is None:
            ledger.add(event.seq, "identifier", key, found.text, status=found.kind, scope=event.key)


def _note_limits(ledger: Ledger, reading: Reading, own: str) -> None:
    """Constraints and corrections: a sentence each, byte-equal; a list under `Never:` is one for each of its
    items. One that only points ("Never exceed it.") takes the sentence before it along."""
    count, header = 0, ""
    for line_number, line in enumerate(own.split("\n")):
        is_item = bool(intent.BULLET.match(line))
        header = header if is_item or not line.strip() else ""
        before = ""
        for sentence in intent.sentences(line):
            kind = "constraint" if header and is_item else _limit_kind(sentence, is_first=line_number == 0)
            said, before = f"{before} {sentence}", sentence
            if kind and said in line and len(said) <= intent.SHORT_MESSAGE and intent.only_points(sentence, said):
                sentence = said  # noqa: PLW2901
            if not kind or count >= MOST_LIMITS or len(sentence) > intent.LONGEST_SENTENCE:
                continue
            if sentence.endswith((":", "：")):
                header = sentence
            count += 1
            _note_limit(ledger, reading, kind, sentence, count, header if is_item else "")


def _note_limit(ledger: Ledger, reading: Reading, kind: str, sentence: str, order: int, header: str) -> None:
    event = reading.event
    if intent.allows(sentence):
        for earlier in ledger.all("constraint"):
            if not earlier.status and earlier.seq < event.seq and intent.lifts(sentence, earlier.value):
                ledger.add(
                    event.seq,
                    "constraint",
                    earlier.key,
                    earlier.value,
                    status="superseded",
                    scope=event.key,
                    refs=(earlier.seq,),
                    meta=earlier.meta,
                )
    known = ledger.said("constraint", sentence, event.key) or ledger.said("correction", sentence, event.key)
    if known and not known.status:
        return  # said before: the first time counts
    meta = {"order": str(order), "under": header}
    status = "stop" if kind == "correction" and intent.is_stop(sentence) else ""
    ledger.add(
        event.seq,
        "correction" if kind == "correction" else "constraint",
        sentence,
        sentence,
        status=status,
        scope=event.key,
        meta=meta,
    )
    if intent.says_failed(sentence):
        ledger.add(event.seq, "rejected", sentence, f"the user: {sentence}", scope=event.key)


def _limit_kind(sentence: str, is_first: bool) -> str:
    is_stop = is_first and intent.is_stop(sentence)
    if is_stop or intent.is_correction(sentence) or intent.says_failed(sentence) or intent.allows(sentence):
        return "correction"
    return "constraint" if intent.is_limit(sentence) else ""


def _note_tasks(
    ledger: Ledger, reading: Reading, text: str, said: Sequence[str], *, agrees: bool, stopped: bool
) -> None:
    """A message opens a task; a stop cancels the open ones, "never mind" the newest; an agreement takes up the last
    one again."""
    event = reading.event
    if agrees:
        last = ledger.newest("task")
        if last and last.status == "done":
            _set_task(ledger, reading, last, "active")
        return
    if stopped:
        newest = sorted(ledger.all("task"), key=lambda fact: int(fact.key))[-1:]
        # "Never mind X" takes back what was asked last; a stop ends everything that is open.
        never_mind = "never mind" in text.lower()
        for fact in newest if never_mind else ledger.open("task") or newest:
            _set_task(ledger, reading, fact, "cancelled")
        if len(text.split()) < 5:
            return
    elif intent.sets_target(text):
        for fact in ledger.open("task"):
            _set_task(ledger, reading, fact, "superseded")
    ledger.add(event.seq, "task", str(event.seq), _first_words(text, 400), status="active", scope=event.key)


def _set_task(ledger: Ledger, reading: Reading, fact: Fact, status: str) -> None:
    opened = int(fact.key)
    ledger.add(
        reading.event.seq,
        "task",
        fact.key,
        fact.value,
        status=status,
        scope=reading.event.key,
        refs=(opened,),
    )


def _note_goal(ledger: Ledger, reading: Reading, text: str, value: str) -> None:
    known = ledger.get("goal", "goal")
    is_plain = text.startswith("/") or (len(text.split()) < 3 and len(text) < 16)
    if known is None and not is_plain:
        ledger.add(reading.event.seq, "goal", "goal", _first_words(value, 1_600), scope=reading.event.key)
    elif known is not None and len(text) > 40 and intent.sets_target(text):
        is_ours = known.scope == reading.event.key  # a goal of somebody else is no earlier one of this
        ledger.add(
            reading.event.seq,
            "goal",
            "goal",
            _first_words(value, 1_600),
            scope=reading.event.key,
            refs=(known.seq,) if is_ours else (),
            meta={"before": _first_words(known.value, 200)} if is_ours else None,
        )


def _note_approval(ledger: Ledger, reading: Reading, text: str) -> None:
    proposed = ledger.get("statement", "statement")
    about = " ".join(_last_words(proposed.value, 200).split()) if proposed else ""
    value = f"the user: {text}" + (f" (to: {about})" if about else "")
    ledger.add(
        reading.event.seq,
        "approval",
        str(reading.event.seq),
        value,
        status="granted",
        scope=reading.event.key,
        refs=(proposed.seq,) if proposed else (),
    )


def _note_assistant(ledger: Ledger, reading: Reading) -> None:
    event, text = reading.event, reading.text.strip()
    if not text:
        return
    if "[ ]" in text or "[x]" in text:
        note_todos(ledger, reading, list(checkboxes(text)), source="text")
    shown = text
    if len(text) > _STATEMENT_HEAD + _STATEMENT_TAIL:
        shown = _first_words(text, _STATEMENT_HEAD) + "\n" + _last_words(text, _STATEMENT_TAIL)
    ledger.add(event.seq, "statement", "statement", shown, status="" if event.calls else "final", scope=event.key)
    _note_decisions(ledger, reading, text)
    if not event.calls and not text.endswith(("?", "？")):
        for fact in ledger.open("task"):
            _set_task(ledger, reading, fact, "done")


def _note_decisions(ledger: Ledger, reading: Reading, text: str) -> None:
    event, count = reading.event, 0
    for sentence in intent.sentences(text[:12_000]):
        if not 20 <= len(sentence) <= 400 or sentence.endswith(("?", ":")) or sentence.startswith("#"):
            continue
        if intent.says_failed(sentence):
            ledger.add(event.seq, "rejected", sentence, sentence, scope=event.key)
        elif count < MOST_DECISIONS and intent.is_decision(sentence):
            count += 1
            if ledger.said("decision", sentence, event.key) is None:
                ledger.add(event.seq, "decision", sentence, sentence, scope=event.key)


def _first_words(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return (text[:limit].rpartition(" ")[0] or text[:limit]) + " …"


def _last_words(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return "… " + (text[-limit:].partition(" ")[2] or text[-limit:])
