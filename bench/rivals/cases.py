"""The fault cases of `bench.rivals`: a list, what a method is asked for, and the checks that its answer must pass.

Ids are those of docs/explanation/faults.md. A case that needs something a method does not have (a target size, a text
of its own, Anthropic messages, pointers, a user's hook) is not asked of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from bench.rivals import checks
from bench.rivals.asking import Case, Crash, NotAsked, all_of, asked, grown, once
from bench.rivals.checks import content
from bench.rivals.growing import lands_low, rewriting_pays
from bench.rivals.lists import (
    ASKED,
    BATCH,
    CHAT,
    DANGLING,
    DIRTY,
    FAMILY,
    FETCHED,
    FINISHED,
    FIRST,
    FLAG,
    GIANT,
    LARGE,
    LEDGER,
    LISTED,
    LONG,
    LOOP,
    MANY,
    NOTE,
    PARALLEL,
    PICTURED,
    PREFIXED,
    QUESTION,
    RECORDS,
    RULE,
    RULED,
    SEARCHED,
    SECOND,
    SHORT,
    SILENT,
    SMALL,
    TALK,
    THOUGHTS,
    TIGHT,
    TINIES,
    WAITING,
    WRITTEN,
    calls,
    emoji,
    result,
    said,
    step,
    steps,
    system,
    user,
)
from bench.rivals.method import Rival, Setting, pointers
from bench.sizes import size

TARGET, WRITES = frozenset({"target"}), frozenset({"target", "writes"})


def heads_and_tails() -> Callable[[Rival], list[str]]:
    """Four combinations of what stands before and behind a cut."""
    plays = []
    for head in ([user("Go.")], [user("Go."), said("Yes.")]):
        for tail in ([said("Yes."), user("New.")], [said("Yes."), user("New."), *step("z", 120)]):
            middle = steps(20) if head[-1]["role"] == "user" else [user("On."), *steps(20)]
            wanted = (checks.pairs, checks.summary_is_no_assistant, checks.alternates)
            plays += [
                once([*head, *middle, *tail], Setting(budget, takes_turns=True), *wanted) for budget in (1_800, 3_000)
            ]
    return all_of(*plays)


def own_hook(rival: Rival) -> list[str]:
    messages = [user("Go."), *step(1, 60)]
    if rival.hook is None:
        raise NotAsked
    try:
        return checks.pairs(messages, rival.hook(messages), 0)
    except Exception as error:
        raise Crash(error) from error


PAIR = (
    Case(
        "PAIR-01", "A tail never starts inside a batch of tool results.",
        once(PARALLEL, Setting(3_000), checks.pairs, checks.whole_batch(BATCH)), TARGET,
    ),
    Case(
        "PAIR-02", "Removing from the middle leaves no half of a pair anywhere; the newest round stays.",
        once(NOTE, Setting(2_600), checks.halves, checks.result_stands("b"), checks.says("Go on.")), TARGET,
    ),
    Case(
        "PAIR-03", "Cutting to few messages keeps the system text first and opens with no tool message.",
        once(SHORT, Setting(2_500), checks.pairs, checks.system_first, checks.opens), TARGET,
    ),
    Case(
        "PAIR-05", "Under the threshold the list comes out as it went in.",
        once([*SMALL, said("It says x = 1."), user("And b.py?")], Setting(LONG), checks.same), TARGET,
    ),
    Case(
        "PAIR-06", "A trailing result stays in a list that fits; a little too large, pairs still hold.",
        all_of(
            once(SMALL, Setting(LONG), checks.same),
            once([*SMALL, *steps(8, 400, start=2)], Setting(3_300), checks.pairs, checks.result_stands("c9")),
        ), TARGET,
    ),
    Case(
        "PAIR-07", "After every single message pairs hold and the list opens with a user.",
        grown(TALK, Setting(3_000), checks.pairs, checks.opens), TARGET,
    ),
    Case(
        "PAIR-09", "What the running turn fetched outlives older messages.",
        once(
            FETCHED, Setting(10_000, is_limit=True), checks.pairs, checks.says("Now read the big one."),
            checks.result_stands("cbig"), may_refuse=True,
        ), TARGET,
    ),
    Case(
        "PAIR-11", "The user's own question stands to the letter in a tool loop.",
        once(ASKED, Setting(5_000, is_limit=True), checks.conversation, checks.says(QUESTION), may_refuse=True), TARGET,
    ),
    Case(
        "PAIR-16", "After a compaction there still is a conversation, not system text alone.",
        all_of(
            once([system("Rule."), *CHAT], Setting(2_500), checks.conversation),
            once([system("Rule."), user("Go."), *steps(12)], Setting(2_000), checks.conversation),
        ), TARGET,
    ),
    Case(
        "PAIR-17", "A summary never speaks as the assistant, and roles alternate around it.",
        heads_and_tails(), WRITES,
    ),
    Case(
        "PAIR-18", "Due at a tool result: no result is left without its call, the newest stays.",
        all_of(*(
            once([user("Go."), *steps(n)], Setting(2_400), checks.pairs, checks.result_stands(f"c{n}"))
            for n in range(10, 40, 6)
        )), TARGET,
    ),
    Case(
        "PAIR-19", "A call that never got a result leaves a list that can be sent.",
        once(DANGLING, Setting(3_000), checks.pairs, checks.says("Please continue.")), TARGET,
    ),
    Case("PAIR-21", "A user's own processor that keeps half a pair does no harm.", own_hook, frozenset({"hook"})),
    Case(
        "PAIR-22", "Empty, system-only and tiny lists raise nothing; nothing in, nothing out.",
        all_of(*(
            once(messages, Setting(LONG), checks.none_from_nothing)
            for messages in ([], [system("Rule.")], [system("Rule."), user("")], [user("hi")])
        )),
    ),
)  # fmt: skip

LOSS = (
    Case(
        "LOSS-01", "The pending request is the last; a finished one never stands as if it were open.",
        once(
            FINISHED, Setting(3_000), checks.ends_with_user(SECOND),
            checks.not_unanswered(FIRST, ("The build folder is deleted.", "removed build")),
        ),
    ),
    Case(
        "LOSS-04", "A constraint said once stands to the letter after several compactions.",
        grown(RULED, Setting(4_000, is_growing=True), lambda before, after, budget: (
            checks.keeps(RULE)(before, after, budget) if len(before) > 3 else []
        )), TARGET,
    ),
    Case(
        "LOSS-05", "What stands behind the cut stays as it is: no hole, no order lost.",
        once(LEDGER, Setting(3_000), checks.order_stands, checks.cut_is_one, checks.ends_as_it_was), TARGET,
    ),
    Case(
        "LOSS-08", "User messages that nobody answered yet stay to the letter, in order.",
        once([user("Go."), *steps(16), *map(user, WAITING)], Setting(3_000), checks.keeps(*WAITING)),
    ),
    Case(
        "LOSS-11", "A summary is marked as one and never the last message.",
        once([user("Go."), *steps(16), said("Done."), user(QUESTION)], Setting(3_000), checks.summary_is_marked,
             checks.says(QUESTION)), WRITES,
    ),
)  # fmt: skip

FIT = (
    Case(
        "FIT-03", "One giant result still gives a request that fits, and something of it is seen.",
        once(GIANT, Setting(15_000, is_limit=True), checks.fits, checks.pairs, checks.says(QUESTION),
             checks.result_stands("cgiant"), may_refuse=True), TARGET,
    ),
    Case(
        "FIT-04", "A history of nothing but tool traffic can be compacted.",
        once(SILENT, Setting(6_000), checks.fits, checks.pairs, checks.says(QUESTION)), TARGET,
    ),
    Case(
        "FIT-13", "In a small window the last result is shortened (or a typed error says why not).",
        once(TIGHT, Setting(4_096, is_limit=True), checks.fits, checks.pairs, checks.says(QUESTION),
             checks.result_stands("clast"), may_refuse=True), TARGET,
    ),
    Case(
        "LOOP-04", "What is due lands well under its trigger, not just under it.", lands_low, TARGET,
    ),
    Case(
        "LOOP-07", "What comes out is smaller than what went in, also when a summariser rambles.",
        once(MANY, Setting(6_000, rambles=True), checks.smaller), TARGET,
    ),
    Case(
        "LOOP-08", "A little over the limit is over the limit: the list is brought under it, chat too.",
        all_of(
            once(MANY, Setting(round(size(MANY) / 1.12), is_limit=True), checks.fits, checks.says("So?")),
            once(LOOP, Setting(round(size(LOOP) / 1.12), is_limit=True), checks.fits),
        ), TARGET,
    ),
    Case(
        "COUNT-01", "An image is not counted by its encoded length: nothing is compacted here.",
        once(PICTURED, Setting(LONG, own_counter=True), checks.same), TARGET,
    ),
    Case(
        "COUNT-14", "System text is counted once: a list that fits with it is left alone.",
        once(PREFIXED, Setting(round(size(PREFIXED) * 1.15), own_counter=True), checks.same), TARGET,
    ),
)  # fmt: skip


def pointers_open(rival: Rival) -> list[str]:
    """Whatever a text says can be fetched again can be, and holds what it stood for."""
    rows_of = [user("Go."), *steps(10, 1_500), *LISTED[-14:], *SEARCHED[1:]]
    answer = asked(rival.start(Setting(8_000)), rows_of)
    original = "\n".join(map(content, rows_of))
    found = pointers(rival, "\n".join(map(content, answer.messages)))
    if not found:
        raise NotAsked
    for pointer in found:
        try:
            text = answer.open(pointer)
        except KeyError:
            return [f"{pointer} opens nothing ({len(found)} pointers)"]
        if text.strip() and not any(line.strip() in original for line in text.splitlines() if line.strip()):
            return [f"{pointer} opens something else"]
    return []


LOSSY = (
    Case(
        "THINK-01", "Signed thinking is byte-equal or absent.",
        once(THOUGHTS, Setting(8_000, wire="anthropic"), checks.thinking_stands, checks.anthropic_pairs),
        frozenset({"anthropic"}),
    ),
    Case("LOSSY-01", "A pointer in a request can be opened.", pointers_open, frozenset({"pointers"})),
    Case(
        "LOSSY-02", "A list of records is whole, or says how many there are; equal bytes each time.",
        all_of(
            once(LISTED, Setting(5_000), checks.counts_records([row["name"] for row in RECORDS])),
            once(LISTED[:-12], Setting(5_000), checks.counts_records([row["name"] for row in RECORDS])),
        ),
    ),
    Case(
        "LOSSY-03", "Each path:line of a shortened search result stood there with that text.",
        once(SEARCHED, Setting(6_000), checks.hits_are_true),
    ),
    Case(
        "LOSSY-06", "Arguments of calls that stay are JSON, paths untouched.",
        once(WRITTEN, Setting(9_000), checks.arguments_stand, checks.pairs),
    ),
    Case("LOSSY-08", "Empty and tiny results come out unchanged.", once(TINIES, Setting(LONG), checks.means_the_same)),
    Case(
        "UNI-01", "No cut goes through an emoji or a flag.",
        all_of(*(
            once(emoji(at), Setting(3_000), checks.can_be_sent, checks.no_piece_of(FAMILY, FLAG))
            for at in range(180, 230, 9)
        )),
    ),
    Case(
        "UNI-02", "Broken characters of a tool never reach the request.",
        once([user("Go."), calls("d", name="bash"), result("d", DIRTY)], Setting(LONG), checks.can_be_sent),
    ),
)  # fmt: skip


def twice_the_same(rival: Rival) -> list[str]:
    setting = Setting(6_000)
    for messages in (LOOP, FINISHED, SEARCHED, LISTED):
        first, second = (asked(rival.start(setting), messages).messages for _ in range(2))
        if json.dumps(first) != json.dumps(second):
            return ["two answers to one list"]
    return []


def again_the_same(rival: Rival) -> list[str]:
    setting = Setting(6_000)
    first = asked(rival.start(setting), LOOP).messages
    if size(first) > setting.budget:
        return [f"the first pass leaves {size(first):,} tokens for 6,000"]
    return checks.same(first, asked(rival.start(setting), list(first)).messages, 0)


SENSE = (
    Case(
        "CACHE-01", "Between compactions a request only grows, or its rewriting pays (cached 0.1, written 1.25).",
        rewriting_pays,
    ),
    Case("same twice", "The same list gives the same bytes.", twice_the_same),
    Case("idempotent", "A list that was brought under its target is left alone the next time.", again_the_same, TARGET),
    Case(
        "2,000 messages", "A list of 2,000 messages comes out, valid.",
        once([*LARGE, user("So?")], Setting(10_000), checks.pairs, checks.says("So?")),
    ),
)  # fmt: skip

CASES: tuple[Case, ...] = (*PAIR, *LOSS, *FIT, *LOSSY, *SENSE)
