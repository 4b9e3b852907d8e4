"""Records that name their parent, as a main line and forks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foldmark.importers.tree import Line, Node, main_line


def node(key: str, parent: str, order: int, is_message: bool = True) -> Node:
    return Node(key, parent, order, is_message)


def keys(line: Line) -> list[str]:
    return [held.key for held in line.nodes]


def every_line(line: Line) -> list[Line]:
    return [line, *(below for fork in line.forks for below in every_line(fork))]


def test_a_chain_is_one_line() -> None:
    line = main_line([node("a", "", 1), node("b", "a", 2), node("c", "b", 3)])
    assert keys(line) == ["a", "b", "c"]
    assert line.forks == []


def test_the_newest_message_ends_the_main_line_and_older_leaves_are_forks() -> None:
    line = main_line([node("a", "", 1), node("b", "a", 2), node("c", "a", 3), node("d", "b", 4), node("e", "c", 5)])
    assert keys(line) == ["a", "c", "e"]
    assert [(fork.after, keys(fork)) for fork in line.forks] == [("a", ["b", "d"])]


def test_a_fork_may_fork_again() -> None:
    line = main_line([node("a", "", 1), node("b", "a", 2), node("x", "b", 3), node("y", "b", 4), node("c", "a", 5)])
    (fork,) = line.forks
    assert keys(fork) == ["b", "y"]
    assert [(below.after, keys(below)) for below in fork.forks] == [("b", ["x"])]


def test_records_that_are_no_message_stay_with_their_parent() -> None:
    line = main_line([node("a", "", 1), node("b", "a", 2), node("note", "b", 3, False), node("loose", "", 4, False)])
    assert keys(line) == ["a", "b", "note", "loose"]


def test_a_second_root_shares_nothing() -> None:
    line = main_line([node("a", "", 1), node("b", "", 2)])
    assert keys(line) == ["b"]
    assert [(fork.after, keys(fork)) for fork in line.forks] == [("", ["a"])]


def test_a_parent_that_is_not_in_the_file_is_a_root() -> None:
    assert keys(main_line([node("b", "gone", 1), node("c", "b", 2)])) == ["b", "c"]


def test_parents_in_a_circle_do_not_hang() -> None:
    line = main_line([node("a", "b", 1), node("b", "a", 2)])
    assert keys(line) == ["a", "b"]


@given(parents=st.lists(st.tuples(st.integers(-1, 30), st.booleans()), min_size=1, max_size=30))
def test_every_record_is_in_exactly_one_line_and_forks_start_behind_the_line_above(
    parents: list[tuple[int, bool]],
) -> None:
    nodes = [
        node(f"n{at}", "" if parent < 0 else f"n{parent}", at, is_message)
        for at, (parent, is_message) in enumerate(parents)
    ]
    line = main_line(nodes)
    found = [key for each in every_line(line) for key in keys(each)]
    assert sorted(found) == sorted(held.key for held in nodes)
    for each in every_line(line):
        assert [held.order for held in each.nodes] == sorted(held.order for held in each.nodes)
        for fork in each.forks:
            assert fork.after == "" or fork.after in keys(each)


def test_a_file_in_reverse_order_with_thousands_of_forks_is_read() -> None:
    rows = [Node(f"k{number}", f"k{number - 1}" if number else "", 1_200 - number, True) for number in range(1_200)]
    line = main_line(rows)
    seen, waiting = 0, [line]
    while waiting:
        one = waiting.pop()
        seen += len(one.nodes)
        waiting += one.forks
    assert seen == 1_200
