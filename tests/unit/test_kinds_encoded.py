"""Encoded and binary bodies, encoded runs in lines, and the places where text may be cut."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark import kinds
from foldmark.kinds.base import clip
from foldmark.kinds.cuts import shorten, without_controls, word_border
from foldmark.kinds.encoded import count_bad
from foldmark.kinds.runs import name_of, next_run, signature
from foldmark.tokens import count

HEADS = {
    "PNG image": b"\x89PNG\r\n\x1a\n",
    "JPEG image": b"\xff\xd8\xff\xe0",
    "gzip": b"\x1f\x8b\x08",
    "PDF": b"%PDF-1.7",
    "ELF program": b"\x7fELF\x02",
    "zip": b"PK\x03\x04",
}


def noise(size: int) -> bytes:
    return b"".join(hashlib.sha256(bytes([at % 256, at // 256])).digest() for at in range(size // 32))


def encoded(name: str, size: int = 3_000) -> str:
    return base64.b64encode(HEADS[name] + noise(size)).decode()


@pytest.mark.parametrize("name", HEADS)
def test_a_run_says_its_length_what_it_holds_and_its_hash(name: str) -> None:
    run = encoded(name)
    line = f'{{"id": 3, "data": "{run}", "ok": true}}'
    digest = hashlib.sha256(run.encode()).hexdigest()[:12]
    mark = f"… {len(run):,} characters of base64 ({name}) not shown, sha256 {digest} …"
    assert shorten(line) == f'{{"id": 3, "data": "{mark}", "ok": true}}'
    hexed = (HEADS[name] + noise(600)).hex()
    assert f"… {len(hexed):,} characters of hex ({name}) not shown" in shorten(f"dump {hexed} end")


def test_a_data_url_is_one_run_and_many_runs_of_a_line_are_many_marks() -> None:
    run = encoded("PNG image")
    shown = shorten(f'<img src="data:image/png;base64,{run}"> and <img src="data:image/png;base64,{run}">')
    assert (
        shown.count(f"… data:image/png;base64: {len(run):,} characters of base64 (PNG image) not shown, sha256 ") == 2
    )
    assert shown.startswith('<img src="… ')
    assert "> and <" in shown


@pytest.mark.parametrize(
    "line",
    ["see https://example.com/" + "a1B" * 300 + " end", "see https://example.com/x?token=" + "a1B" * 300, "a1B." * 300],
)
def test_a_piece_of_a_longer_word_is_no_run(line: str) -> None:
    assert next_run(line, 0, len(line)) is None
    assert "base64" not in shorten(line)


def test_a_short_run_stays() -> None:
    assert shorten("key " + "a1B2" * 100) == "key " + "a1B2" * 100


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_body_of_base64_is_named_and_counted(name: str, wrapped: bool) -> None:
    data = HEADS[name] + noise(6_000)
    text = base64.encodebytes(data).decode() if wrapped else base64.b64encode(data).decode()
    assert kinds.recognise(text).name == "encoded"
    lines = kinds.count_lines(text)
    said = f"base64 of {len(text):,} characters in {lines} line{'s' if lines > 1 else ''} ({name}), sha256 "
    assert kinds.outcome(text).startswith(said)
    shown = kinds.preview(text, None, 200, count)
    assert shown.startswith(said)
    assert f" of {lines} not shown …" in shown


def test_pem_blocks_and_hex_dumps_are_encoded_bodies() -> None:
    pem = f"-----BEGIN CERTIFICATE-----\n{base64.encodebytes(noise(3_000)).decode()}-----END CERTIFICATE-----\n"
    assert "(certificate)" in kinds.outcome(pem)
    data = HEADS["ELF program"] + noise(4_000)
    dump = "\n".join(
        f"{at:08x}: {' '.join(data[at + k : at + k + 2].hex() for k in range(0, 16, 2))}  ................"
        for at in range(0, len(data) - 16, 16)
    )
    assert kinds.recognise(dump).name == "encoded"
    assert kinds.outcome(dump).startswith(f"hex dump of {len(dump):,} characters in ")
    assert "(ELF program)" in kinds.outcome(dump)


@pytest.mark.parametrize("errors", ["replace", "surrogateescape"])
def test_a_binary_body_says_its_size_type_and_the_strings_inside(errors: str) -> None:
    text = (HEADS["PNG image"] + noise(4_000) + b"\x00Copyright Example Ltd\x00" + noise(2_000)).decode("utf-8", errors)
    assert kinds.recognise(text).name == "encoded"
    shown = kinds.preview(text, None, 300, count)
    shown.encode("utf-8")
    assert shown.startswith(f"binary of {len(text):,} characters in ")
    assert "(PNG image)" in shown.split("\n")[0]
    assert "Copyright Example Ltd" in shown.split("\n")


def test_wrapped_base64_between_words_gives_way_to_the_words() -> None:
    block = base64.encodebytes(noise(3_000)).decode()
    text = "one\ntwo\nthree\nfour\n" + block + "".join(f"said {n}\n" for n in range(60)) + block + "end\n"
    shown = kinds.preview(text, None, 300, count)
    assert {"said 5", "said 50"} <= set(shown.split("\n"))
    assert sum(line in block for line in shown.split("\n") if len(line) > 40) <= 3


def test_words_are_no_code_and_code_is_no_words() -> None:
    assert name_of("supercalifragilistic" * 40) == ""
    assert name_of("deadbeef" * 100) == "hex"
    assert signature(b"nothing known") == ""
    assert kinds.recognise("just\nwords\n" * 90).name != "encoded"
    assert (
        kinds.recognise("\n".join(f"src/Module{n}/a_long_enough_folder_name/File{n}" for n in range(90))).name
        == "listing"
    )


@pytest.mark.parametrize(
    ("text", "limit", "border"),
    [
        ("pay 12\u202f345\u202f678 now or never", 8, 4),
        ("pay 12 345 678 now or never", 12, 4),
        ("path /srv/My Documents/a.txt here", 16, 5),
        (r"path /srv/My\ Documents/a.txt here", 16, 5),
        ('run "C:\\Program Files\\x.exe" now', 14, 4),
        ("請看 https://例え.jp/路径文件名 然後", 20, 3),
        ("共有三百二十五個文件在這裏", 4, 2),
        ("one two", 5, 4),
        ("onetwo", 5, 0),
        ("a \u0301b", 2, 1),
    ],
)
def test_a_cut_falls_beside_what_belongs_together(text: str, limit: int, border: int) -> None:
    assert word_border(text, limit) == border


def test_a_clipped_line_never_ends_inside_a_word() -> None:
    assert clip("a" + " " * 636 + "12345 more") == "a …"
    assert clip("word " * 100, 21) == "word word word word …"
    assert clip("abc def", 7) == "abc def"
    assert clip("x" * 300) == "(300 characters)"
    assert clip("x" * 900) == "(900 characters)"


@pytest.mark.parametrize("sign", ["\u202e", "\u202a", "\u2066", "\u2069", "\x00", "\x9b", "\ud83d"])
def test_signs_that_turn_or_break_a_line_are_replaced(sign: str) -> None:
    assert without_controls(f"pay {sign}100") == "pay \ufffd100"


def giant(value: object, pad: int = 2_100_000) -> str:
    return json.dumps({"value": value, "pad": "x y " * (pad // 4)}, ensure_ascii=False)


def test_giant_json_is_outlined_with_exact_counts_and_both_ends() -> None:
    rows = [{"id": n, "name": f"näme {n}", "tags": ["a", n / 7]} for n in range(60_000)]
    text = json.dumps(rows, ensure_ascii=False)
    assert len(text) > 2_000_000
    said = f"JSON array of 60,000 objects, the first 50 with id, name, tags, {len(text):,} characters"
    assert kinds.outcome(text) == said
    shown = kinds.preview(text, None, 300, count)
    assert count(shown) <= 300
    lines = shown.split("\n")
    assert lines[0] == f"{said}:"
    assert lines[1] == f"item 1: {json.dumps(rows[0], ensure_ascii=False)}"
    assert lines[-1] == f"item 60,000: {json.dumps(rows[-1], ensure_ascii=False)}"
    assert sum(line.endswith(" of 60,000 not shown …") for line in lines) == 1


def test_giant_objects_are_opened_level_by_level() -> None:
    shown = kinds.preview(giant({"rows": [{"n": n} for n in range(900)], "price": 1.50, "ok": None}), None, 300, count)
    assert shown.startswith("JSON object with 2 keys, ")
    assert '\n"value": object with 3 keys, ' in shown
    assert '\n  "rows": array of 900 objects, the first 50 with n, ' in shown
    assert '\n    item 900: {"n": 899}' in shown
    assert '\n  "price": 1.5\n' in shown
    assert '\n"pad": text, 2,100,002 characters not shown' in shown


def test_a_giant_object_names_keys_of_both_ends() -> None:
    text = json.dumps({f"key {n}": {"a": n, "b": "x" * 40} for n in range(60_000)})
    shown = kinds.preview(text, None, 300, count)
    assert '"key 0": ' in shown
    assert '"key 59999": ' in shown
    assert " of 60,000 not shown …" in shown


def test_a_level_too_crowded_to_hold_says_how_far_it_looked() -> None:
    text = json.dumps(["a"] * 2_000_000)
    shown = kinds.preview(text, None, 200, count)
    assert shown.startswith("JSON array of the first 100,000 items, ")
    assert "(the first 100,000 were counted, there are more)" in shown
    numbers = json.dumps(list(range(2_000_000)))
    assert "item 2,000,000: 1999999" in kinds.preview(numbers, None, 200, count)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 1_100_000 + "]" * 1_100_000,
        '{"a": [1, 2' + " x" * 1_100_000 + "}",
        '["' + "\ud800 x" * 700_000 + '"]',
        "[2026-05-01 10:00] a line of a log\n" * 70_000 + "]",
    ],
)
def test_what_only_begins_like_giant_json_is_shown_as_text(text: str) -> None:
    shown = kinds.preview(text, None, 300, count)
    assert count(shown) <= 300
    shown.encode("utf-8")
    assert "\n" not in kinds.outcome(text)


@pytest.mark.parametrize("size", [300, 5_000, 90_000])
def test_a_key_too_long_to_show_is_named_by_its_length(size: int) -> None:
    key = "some words " * (size // 11)
    text = json.dumps([{key: n, "id": n, "text": "x " * 200} for n in range(max(2, 60_000 // size))])
    for shown in (kinds.preview(text, None, 200, count), kinds.outcome(text)):
        assert count(shown) <= 200
        assert f"key of {len(key):,} characters" in shown
        assert "some words" not in shown


@given(st.text(st.characters(max_codepoint=127), max_size=200))
def test_characters_that_are_no_text_are_counted_alike_in_ascii_and_outside_it(text: str) -> None:
    assert count_bad(text) == count_bad(f"{text}é")
