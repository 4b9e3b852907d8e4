"""Rows as a chain: every edit gives what the same edit of a list gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foldmark.doctor.rows import Row, Rows

edits = st.lists(st.tuples(st.sampled_from(["put", "remove", "append"]), st.integers(0, 9)), max_size=20)


def row(number: int) -> Row:
    return Row(f"line {number}", "{}", {})


@given(count=st.integers(0, 5), todo=edits)
def test_a_chain_is_edited_like_a_list(count: int, todo: list[tuple[str, int]]) -> None:
    held = [row(number) for number in range(count)]
    chain = Rows(held)
    for number, (edit, place) in enumerate(todo):
        new, at = row(100 + number), min(place, len(held))
        if edit == "append":
            chain.append(new)
            held.append(new)
        elif edit == "put":
            chain.put(new, held[at - 1] if at else None)
            held.insert(at, new)
        elif at < len(held):
            gone = held.pop(at)
            chain.remove(gone)
            chain.remove(gone)
            assert gone not in chain
        assert list(chain) == held
        assert len(chain) == len(held)
        assert chain.before(None) is (held[-1] if held else None)
        assert [chain.before(one) for one in held] == [None, *held][: len(held)]


def test_a_lone_carriage_return_ends_no_line() -> None:
    ends = []
    for end in ("", "\r", "\n", "\r\n"):
        one = Row("line 1", "{}", {}, end=end)
        one.end_line()
        ends.append(one.end)
    assert ends == ["\n", "\r\n", "\n", "\r\n"]
