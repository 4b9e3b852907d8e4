"""bench.rivals: its checks can fail, its converter is faithful, and its cells say what happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from bench.rivals import checks, lists
from bench.rivals.__main__ import cell, held
from bench.rivals.asking import Case, NotAsked, once, requests
from bench.rivals.checks import plain
from bench.rivals.growing import rewriting_pays
from bench.rivals.lists import calls, result, rows, said, step, steps, system, user
from bench.rivals.method import Answer, Rival, Setting, persistent, stateless
from bench.rivals.pydantic_messages import from_pydantic, to_pydantic

ROUND = [system("Rule."), user("Go."), *step(1, 40)]
THOUGHT = lists.thought(1)
BARE = [{"role": "assistant", "content": THOUGHT[0]["content"][1:]}, THOUGHT[1]]
CUT = [{"role": "assistant", "content": [THOUGHT[0]["content"][0] | {"thinking": "…"}, *THOUGHT[0]["content"][1:]]}]
GREP = [user("Go."), calls("g"), result("g", "logs/2026-05-01/app.log:10:a=1\nsrc/a.py:3:total: 17")]
RECORDS = [user("Go."), calls("j"), result("j", "[one-end, two-end, three-end]")]
NAMES = ["one-end", "two-end", "three-end"]
BOTH = [calls("a", "b"), result("a", "x"), result("b", "y")]
GRIN = "a👨‍👩‍👧‍👦b"

Lists = tuple[Any, Sequence[Any], Sequence[Any], Sequence[Any]]
TABLE: list[Lists] = [  # check, what went in, an answer that holds, one that does not
    (checks.pairs, ROUND, ROUND, ROUND[:-1]),
    (checks.halves, ROUND, ROUND, [ROUND[1], ROUND[3]]),
    (checks.opens, ROUND, ROUND, [ROUND[0], ROUND[3]]),
    (checks.conversation, ROUND, ROUND, ROUND[:1]),
    (checks.alternates, ROUND, ROUND, [user("a"), user("b")]),
    (checks.summary_is_no_assistant, ROUND, [user("Summary: x"), *ROUND[1:]], [said("Summary: x"), *ROUND[1:]]),
    (checks.summary_is_marked, ROUND, [user("Summary: x"), *ROUND[1:]], [user("I did x."), *ROUND[1:]]),
    (checks.summary_is_marked, ROUND, [user("Summary: x"), *ROUND[1:]], [*ROUND[1:], user("Summary: x")]),
    (checks.system_first, ROUND, ROUND, ROUND[1:]),
    (checks.fits, ROUND, ROUND, [user(rows(400))]),
    (checks.smaller, ROUND, ROUND, [*ROUND, user("More.")]),
    (checks.same, ROUND, ROUND, [*ROUND[:3], result("c1", "[cleared]")]),
    (checks.means_the_same, [result("a", '{"a": 1}')], [result("a", '{"a":1}')], [result("a", "{}")]),
    (checks.none_from_nothing, [], [], [user("Summary: nothing.")]),
    (checks.keeps("one", "two"), [], [user("one"), user("two")], [user("two"), user("one")]),
    (checks.says("Go."), ROUND, ROUND, [said("Go.")]),
    (checks.ends_with_user("Go."), ROUND, ROUND, [*ROUND, user("Summary: x")]),
    (checks.not_unanswered("Go.", ["Done."]), [], [user("Go."), said("Done.")], [user("Go."), user("Next.")]),
    (checks.result_stands("c1"), ROUND, ROUND, [*ROUND[:3], result("c1", "[cleared]")]),
    (checks.whole_batch(["a", "b"]), BOTH, BOTH, BOTH[:2]),
    (checks.ends_as_it_was, ROUND, ROUND, ROUND[:-1]),
    (checks.order_stands, ROUND, ROUND, [ROUND[1], ROUND[0]]),
    (checks.cut_is_one, steps(3, 20), steps(3, 20)[2:], [*steps(3, 20)[:2], *steps(3, 20)[4:]]),
    (checks.can_be_sent, [], [user("a")], [user("a\ud800")]),
    (checks.no_piece_of(lists.FAMILY), [], [user(GRIN)], [user(GRIN[:3])]),
    (checks.arguments_stand, ROUND, ROUND, [calls("c1", arguments={"path": "…"})]),
    (checks.hits_are_true, GREP, GREP, [*GREP[:2], result("g", "src/a.py:3:a=1")]),
    (checks.hits_are_true, GREP, GREP, [*GREP[:2], result("g", "logs/2026-05-01/other.log holds more")]),
    (checks.counts_records(NAMES), RECORDS, RECORDS, [*RECORDS[:2], result("j", "[one-end]")]),
    (checks.thinking_stands, THOUGHT, BARE, CUT),
    (checks.anthropic_pairs, THOUGHT, THOUGHT, THOUGHT[1:]),
]


@pytest.mark.parametrize(("check", "before", "good", "bad"), TABLE)
def test_every_check_tells_a_good_answer_from_a_broken_one(check: Any, before: Any, good: Any, bad: Any) -> None:
    assert check(before, good, 200) == []
    assert check(before, bad, 200)


def method(compact: Any, can: set[str] | None = None) -> Rival:
    return Rival("made up", lambda setting: stateless(compact), frozenset(can or {"target"}))


def test_a_cell_says_ok_broken_crash_or_that_it_was_not_asked() -> None:
    case = Case("X", "It fits.", once(ROUND, Setting(60), checks.fits), frozenset({"target"}))
    cells = [
        cell(case, method(lambda messages: messages[:2])),
        cell(case, method(lambda messages: messages)),
        cell(case, method(lambda messages: messages[9])),
        cell(case, method(lambda messages: messages, {"writes"})),
        cell(case, "a peer"),
    ]
    assert cells[0] == "ok"
    assert cells[1].startswith("broken: ")
    assert cells[2:] == ["crash: IndexError", "n/a", "not installed"]
    assert held(cells) == "**1 of 3**"


def test_only_a_documented_refusal_counts_as_held_and_only_where_it_may() -> None:
    def refuse(messages: Any) -> Any:
        raise ValueError("too large")

    rival = method(refuse)._replace(refusals=(ValueError,))
    assert once(ROUND, Setting(60, is_limit=True), checks.fits, may_refuse=True)(rival) == []
    assert cell(Case("X", "", once(ROUND, Setting(60), checks.fits)), rival) == "crash: ValueError"


def test_a_case_with_nothing_to_judge_is_not_counted() -> None:
    def nothing(rival: Rival) -> list[str]:
        raise NotAsked

    assert cell(Case("X", "", nothing), method(lambda messages: messages)) == "n/a"


def test_a_request_goes_out_behind_a_user_or_the_last_result() -> None:
    talk = [system("Rule."), user("Go."), calls("a", "b"), result("a", "x"), result("b", "y"), said("Done."), user("?")]
    assert [len(head) for head in requests(talk)] == [2, 5, 7]


def test_edits_of_a_persistent_method_stay() -> None:
    turn = persistent(lambda messages: messages[-2:])
    assert turn(ROUND).messages == ROUND[-2:]
    assert turn([*ROUND, user("Next.")]).messages == [ROUND[-1], user("Next.")]


def test_rewriting_the_head_every_turn_does_not_pay_and_growing_costs_nothing() -> None:
    def slides(setting: Setting) -> Any:
        return lambda messages: Answer(messages if len(messages) < 20 else messages[len(messages) - 19 :])

    assert rewriting_pays(Rival("slides", slides, frozenset({"target"})))
    assert rewriting_pays(method(lambda messages: messages)) == []


def test_messages_survive_the_way_to_pydantic_ai_and_back() -> None:
    pytest.importorskip("pydantic_ai")
    for name in dir(lists):
        talk = getattr(lists, name)
        if isinstance(talk, list) and talk and isinstance(talk[0], dict) and "role" in talk[0] and name != "THOUGHTS":
            assert list(map(plain, from_pydantic(to_pydantic(talk)))) == list(map(plain, talk)), name
