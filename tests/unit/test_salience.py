"""Units are cut so that they still say something, scored by what the session has seen, and ordered by worth."""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from pathlib import Path

import msgspec
import pytest

from foldmark import Session, SQLiteStore
from foldmark.checkpoint import Unit
from foldmark.events import Event, Reading, ToolCall, assistant, control, result, user
from foldmark.salience import Tally, choose, fill, in_order, rank, rank_names
from foldmark.salience.names import find_name, names_in, shorten, split_subwords, split_tokens
from foldmark.salience.units import cut, cut_line, strip_number
from talk import best_units


def reading(event: Event, text: str | None = None) -> Reading:
    return Reading(event, event.text if text is None else text, event.calls)


def unit(seq: int, text: str, score: float = 3.0, order: int = 0) -> Unit:
    return Unit(seq, order, text, score, len(text) // 4 + 1, 1)


# -- names and subwords


def test_digits_and_hex_are_masked_and_names_split_into_their_subwords() -> None:
    assert split_subwords("parseHTTPResponse_v2") == ("parse", "http", "response", "v", "0")
    assert split_subwords("9f2c41ab") == ("#",)
    assert split_subwords("facade") == ("facade",)
    assert split_subwords("支付系统") == ("支付", "付系", "系统")


@pytest.mark.parametrize(
    ("token", "subwords"),
    [
        ("Kündigung", ["kündigung"]), ("Wareneingangsprüfung", ["wareneingangsprüfung"]), ("größe", ["größe"]),
        ("ÜBERSICHT", ["übersicht"]), ("Ärzte-Straße", ["ärzte", "straße"]), ("MAXGröße", ["max", "größe"]),
        ("größeÄndern_v2", ["größe", "ändern", "v", "0"]), ("propriétaire", ["propriétaire"]), ("Łódź", ["łódź"]),
        ("Sydänsairaala", ["sydänsairaala"]), ("måneskin", ["måneskin"]), ("œuvre", ["œuvre"]),
        ("Dvořák/Čapek", ["dvořák", "čapek"]), ("Nguyễn", ["nguyễn"]), ("İstanbul", ["i\u0307stanbul"]),
        ("λογαριασμός", ["λογαριασμός"]), ("Ἀθῆναι", ["ἀθῆναι"]), ("йогурт", ["йогурт"]), ("Київ", ["київ"]),
        ("Kün\u00addigungs\u00adfrist", ["kündigungsfrist"]),
        ("за́мок", ["замок"]),  # an accent that no letter has of itself is a mark for the reader
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_letters_with_accents_stay_in_their_word(token: str, subwords: list[str], form: str) -> None:
    assert list(split_subwords(unicodedata.normalize(form, token))) == subwords  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("token", "subwords"),
    [
        ("支付システム", ["支付", "付シ", "シス", "ステ", "テム"]), ("결제시스템", ["결제", "제시", "시스", "스템"]),
        ("ระบบชำระเงิน", ["ระบบชำระเง", "น"]), ("नमस्ते", ["नमस", "त"]), ("Wi-Fiроутер", ["wi", "fi", "роутер"]),
        ("ДомНомер", ["домномер"]), ("支付Größe系统", ["支付", "größe", "系统"]),
    ],
)  # fmt: skip
def test_other_scripts_are_cut_as_they_are(token: str, subwords: list[str]) -> None:
    assert list(split_subwords(token)) == subwords


def test_paths_symbols_ids_hashes_urls_and_long_numbers_are_names_and_plain_words_are_not() -> None:
    text = (
        "See `src/pay/charge.py`, charge_card(), PaymentError; order A-1042 (9f2c41ab) at "
        "https://pay.example.net/x: 4711 rows in 12 s."
    )
    assert names_in(text) == {
        "src/pay/charge.py", "charge_card", "PaymentError", "A-1042", "9f2c41ab", "https://pay.example.net/x", "4711",
    }  # fmt: skip
    assert find_name("hello") == ""
    assert find_name("x" * 500 + "/y") == ""


def test_a_body_over_a_mebibyte_keeps_head_tail_and_trouble_lines() -> None:
    lines = [f"row {number} is fine" for number in range(100_000)]
    lines[50_000] = "row 50000 FAILED to load"
    short = shorten("\n".join(lines))
    assert short.startswith("row 0 is fine")
    assert short.endswith("row 99999 is fine")
    assert "row 50000 FAILED to load" in short
    assert len(short) < 1_200_000


# -- units


def test_lines_that_say_enough_are_units_of_their_own() -> None:
    text = "The port of the payment service is 8443\nNever restart the ledger while rows are open\n"
    assert list(cut(text)) == [
        (1, "The port of the payment service is 8443"),
        (2, "Never restart the ledger while rows are open"),
    ]


def test_lines_poor_in_words_are_glued_to_the_next_ones() -> None:
    assert list(cut("if (x) {\n\n  y();\n}")) == [(1, "if (x) { y(); }")]


def test_a_label_is_glued_to_its_value() -> None:
    assert list(cut("The customer id is this one here:\nA-1042")) == [(1, "The customer id is this one here: A-1042")]


def test_an_assignment_and_a_failure_stand_alone_among_poor_lines() -> None:
    text = "x()\nPAGE_LIMIT = 250\ny()\nFAILED tests/test_pay.py\nz()"
    assert [piece for _, piece in cut(text)] == ["x()", "PAGE_LIMIT = 250", "y()", "FAILED tests/test_pay.py", "z()"]


def test_line_numbers_of_file_views_are_left_out_and_duplicates_are_known_without_them() -> None:
    assert list(cut("    12→RETRY_LIMIT = 40\n")) == [(1, "RETRY_LIMIT = 40")]
    assert strip_number("  118: value = ledger.get(key)") == strip_number("7\tvalue = ledger.get(key)")
    assert strip_number("404 not found") == "404 not found"


def test_a_long_line_is_cut_at_sentences_objects_or_spaces_and_never_inside_a_path_or_number() -> None:
    rows = json.dumps([{"id": 1_000_000 + n, "path": f"src/area{n}/file{n}.py"} for n in range(60)])
    for line in (rows, " ".join(f"word{n} src/area/file{n}.py 12,345.{n:02}" for n in range(40)), "One. " * 100):
        pieces = list(cut_line(line))
        assert "".join("".join(pieces).split()).replace(",", "") == "".join(line.split()).replace(",", "")
        assert all(len(piece) <= 240 for piece in pieces)
        whole = set(line.replace(",", " ").replace('"', " ").split())
        assert all(part in whole for piece in pieces for part in piece.replace(",", " ").replace('"', " ").split())


# -- counts


def test_counts_are_by_event_and_say_who_used_a_name_and_when() -> None:
    tally = Tally()
    tally.add(result("c1", "src/pay.py src/pay.py failed", seq=2))
    tally.add(assistant("I read src/pay.py again", ToolCall("c2", "read", '{"path": "src/pay.py"}'), seq=3))
    assert tally.events == 2
    assert tally.words["pay"] == 2
    assert tally.words["failed"] == 1
    assert tally.names["src/pay.py"] == [2, 3, 1]


def test_control_records_are_not_counted() -> None:
    tally = Tally()
    tally.add(control("model_change", {"to": "gpt"}, seq=1))
    assert (tally.events, dict(tally.words)) == (0, {})


def test_counts_survive_bytes_and_a_copy_lives_alone() -> None:
    tally = Tally()
    tally.add(assistant("Set MAX_ROWS to 500 in src/pay.py", seq=4))
    again = Tally.from_bytes(tally.to_bytes())
    assert (again.events, again.words, again.names) == (tally.events, tally.words, tally.names)
    assert (again.characters, again.said) == (tally.characters, tally.said)
    copy = tally.copy()
    copy.add(assistant("Set MAX_ROWS to 900", seq=5))
    assert tally.names["MAX_ROWS"] == [1, 4, 1]
    assert copy.names["MAX_ROWS"] == [2, 5, 2]


def test_counts_of_another_version_are_none() -> None:
    version, *counts = msgspec.msgpack.decode(Tally().to_bytes())
    with pytest.raises(ValueError, match="version"):
        Tally.from_bytes(msgspec.msgpack.encode((version - 1, *counts)))


def test_counts_that_an_older_version_wrote_down_are_counted_anew(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    session = Session("s", store=SQLiteStore(path), clock=lambda: 1.0)
    session.record(*(assistant(f"Die Kündigung {number} liegt vor") for number in range(300)))
    session.record(assistant("Noch eine Kündigung"))  # what was counted is written down with the next event
    counted = session.store.tally(session.key)
    assert (counted.events, counted.words["kündigung"]) == (301, 301)
    with sqlite3.connect(path) as db:
        ((seq, body),) = db.execute("SELECT seq, body FROM tally").fetchall()
        version, *counts = msgspec.msgpack.decode(body)
        old = msgspec.msgpack.encode((version - 1, *counts[:3], {"k": seq, "ndigung": seq}, {}))
        db.execute("UPDATE tally SET body = ?", (old,))
    again = SQLiteStore(path).tally(session.key)
    assert (again.events, again.words, again.names) == (counted.events, counted.words, counted.names)


# -- scores


def busy() -> Tally:
    tally = Tally()
    for seq in range(1, 40):
        tally.add(result("c", "INFO worker polled queue and found nothing to do for ledger", seq=seq))
    return tally


def test_a_rare_line_with_a_value_scores_above_lines_the_session_knows() -> None:
    text = "INFO worker polled queue and found nothing to do\nThe refund window closes after 45 days for gold members"
    units = best_units([reading(result("c", text, seq=41))], busy())
    scores = {unit.text.split()[0]: unit.score for unit in units}
    assert scores["The"] > 2 * scores["INFO"]


def test_units_carry_their_seq_line_order_and_an_estimated_price() -> None:
    text = "First line that says a thing or two\n\nSecond line with port 8443 of the service in it"
    units = best_units([reading(result("c", text, seq=7))], Tally())
    assert [(unit.seq, unit.line, unit.order) for unit in units] == [(7, 1, 0), (7, 3, 1)]
    assert all(5 <= unit.tokens <= 40 for unit in units)


def test_arguments_of_calls_are_units_without_a_line() -> None:
    call = ToolCall(
        "c1", "write", json.dumps({"path": "src/pay.py", "content": "PAGE_LIMIT = 250\nprint('started')\n"})
    )
    texts = {unit.text: unit.line for unit in best_units([reading(assistant("", call, seq=2))], Tally())}
    assert texts["write path: src/pay.py"] == 0
    assert texts["PAGE_LIMIT = 250"] == 0


def test_arguments_that_are_no_json_are_read_as_text() -> None:
    call = ToolCall("c1", "run", "pytest tests/test_pay.py -k refund")
    assert [unit.text for unit in best_units([reading(assistant("", call, seq=2))], Tally())] == [
        "run pytest tests/test_pay.py -k refund"
    ]


def test_a_large_event_stores_twelve_units_and_six_more_per_eight_kibibytes() -> None:
    text = "\n".join(f"The price of item {n} in the shop of town {n * 7} is {n * 13} coins" for n in range(1_000))
    units = best_units([reading(result("c", text, seq=1))], Tally())
    size = sum(len(line) for line in text.split("\n"))
    assert len(units) == 12 + 6 * (size // 8_192)


def test_a_batch_scores_each_event_with_the_counts_before_it() -> None:
    events = [result("c", "The depot code for Lyon is 4411 since the winter sale", seq=n) for n in (1, 2, 3)]
    tally = Tally()
    batch = best_units([reading(event) for event in events], tally)
    one_by_one = []
    for event in events:
        one_by_one += best_units([reading(event)], tally)
        tally.add(event)
    assert [(unit.seq, unit.score) for unit in batch] == [(unit.seq, unit.score) for unit in one_by_one]
    assert batch[0].score > batch[2].score


def test_a_batch_leaves_the_given_counts_alone() -> None:
    tally = Tally()
    best_units([reading(user("Hello there", seq=1)), reading(user("Hello again", seq=2))], tally)
    assert tally.events == 0


# -- order


def test_rank_shows_each_line_once_and_not_what_stands_elsewhere() -> None:
    units = [
        unit(1, "12: the cache holds 40 rows"),
        unit(2, "the cache holds 40 rows"),
        unit(3, "the queue holds 9 rows"),
    ]
    assert [found.seq for found in rank(units, shown=["the queue holds 9 rows"])] == [2]


def test_further_units_of_one_event_are_worth_a_little_less() -> None:
    units = [unit(1, f"alpha fact number {n} stands here", 3.0, n) for n in range(3)]
    units.append(unit(2, "bravo fact number 4 stands here", 2.95))
    assert [found.seq for found in rank(units)] == [1, 2, 1, 1]


def test_lines_of_one_template_make_room_for_another() -> None:
    alike = [unit(seq, f"polled the queue and found {seq * 111} jobs waiting", 3.0) for seq in range(1, 30)]
    other = unit(40, "the depot moved to another street in May", 2.0)
    assert rank([*alike, other]).index(other) < 8


def test_failures_of_one_kind_do_not_push_each_other_out() -> None:
    failures = [unit(seq, f"FAILED tests/test_pay.py::test_case_{seq} - boom in the till", 3.0) for seq in range(1, 30)]
    other = unit(40, "the depot moved to another street in May", 2.0)
    assert rank([*failures, other])[-1] == other


def test_a_name_that_the_agent_uses_lifts_the_best_unit_that_carries_it() -> None:
    tally = Tally()
    for seq in range(1, 9):
        tally.add(assistant("reading src/pay/charge.py", seq=seq))
    plain = unit(1, "a line about nothing in particular today", 3.0)
    carrier = unit(2, "the charge moved to src/pay/charge.py last week", 2.8)
    assert rank([plain, carrier])[0] == plain
    assert rank([plain, carrier], tally=tally, upto=8)[0] == carrier


def test_choose_and_fill_keep_to_the_budget_and_give_the_order_of_the_log() -> None:
    ranked = [unit(seq, f"a fact of forty characters, number {seq:04}", 3.0) for seq in (5, 2, 9, 1)]
    chosen = choose(ranked, 2 * ranked[0].tokens)
    assert [found.seq for found in chosen] == [2, 5]
    filled = fill(ranked, 100, lambda units: sum(len(found.text) for found in units))
    assert [found.seq for found in filled] == [2, 5]
    assert fill(ranked, 3, lambda units: 10 * len(units)) == []
    assert in_order(ranked)[0].seq == 1


def test_working_names_are_those_the_agent_used_often_and_lately() -> None:
    tally = Tally()
    tally.add(result("c", "src/seen_only.py", seq=1))
    tally.add(assistant("src/old.py", seq=2))
    for seq in (80, 90):
        tally.add(assistant("src/new.py", seq=seq))
    names = rank_names(tally, 90, 10)
    assert [name.name for name in names] == ["src/new.py", "src/old.py"]
    assert (names[0].uses, names[0].where) == (2, 90)
    assert rank_names(tally, 90, 1) == names[:1]


def test_tokens_come_apart_at_quotes_brackets_commas_and_equals_signs() -> None:
    assert split_tokens('{"port":8443,"path":"a/b.py"} x=y') == ["port", ":8443", "path", ":", "a/b.py", "x", "y"]
