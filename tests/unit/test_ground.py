"""Where a search looks: the one rule of all stores, on a family of sessions that are only names: a root, and two that
were forked from it, `fork` at 4 (it asks) and `twin`."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from foldmark.events import ToolCall
from foldmark.seeking import Sought
from foldmark.store import Key, OpenCall
from foldmark.store.ground import EVERYTHING, Child, Ground, ground

END = EVERYTHING[1]
WHOLE = Key(session="fork")
LEFT, RIGHT = (Key(session="fork", scope=one, sees="exact") for one in ("left", "right"))


class Calls:
    """A lineage: calls under left at 2, under right at 3, and one behind the forks, under another key in each."""

    def __init__(self, session: str) -> None:
        self.keys = {2: "left", 3: "right", 5: {"root": "left", "fork": "left", "twin": "right"}[session]}

    def key_at(self, seq: int) -> str | None:
        return self.keys.get(seq)

    @property
    def calls(self) -> dict[str, OpenCall]:
        return {f"c{seq}": OpenCall(seq, ToolCall(f"c{seq}", "task")) for seq in self.keys}


STARTED = {
    "root": [Child("one", "c2", 2), Child("two", "c3", 3), Child("late", "c5", 5), Child("loose", "nobody", 0)],
    "fork": [Child("mine", "c5", 5), Child("told", "nobody", 0)],
    "twin": [Child("theirs", "c5", 5), Child("known", "c2", 0), Child("hers", "nobody", 0)],
    "one": [Child("deep", "c2", 2)],
}


class Kin:
    """Of the fork, or of the root."""

    def __init__(self, who: str = "fork") -> None:
        self.who = who

    @property
    def lineage(self) -> Sequence[tuple[str, int]]:
        return [("root", 4), ("fork", END)] if self.who == "fork" else [("root", END)]

    def family(self) -> list[str]:
        return ["root", "fork", "twin"]

    def children(self, session: str) -> list[Child[str]]:
        return STARTED.get(session, [])

    def calls(self, session: str) -> Calls:
        return Calls(session)

    def below(self, session: str) -> list[str]:
        return [each for child in self.children(session) for each in (child.session, *self.below(child.session))]


def looks(key: Key, where: str, *, upto: int = 0, who: str = "fork") -> Ground[str]:
    return ground(key, Calls(who), Kin(who), Sought(where=where, upto=upto))  # type: ignore[arg-type]


LINEAGE = {"root": (0, 4), "fork": EVERYTHING}


@pytest.mark.parametrize("key", [WHOLE, LEFT, RIGHT])
def test_a_session_is_its_lineage_and_what_is_covered_of_it_ends_at_the_boundary(key: Key) -> None:
    assert looks(key, "session") == Ground(LINEAGE)
    assert looks(key, "covered", upto=6) == Ground({"root": (0, 4), "fork": (0, 6)})
    assert looks(key, "covered", upto=3) == Ground({"root": (0, 3), "fork": (0, 3)})


@pytest.mark.parametrize(
    ("key", "seen"),
    [(WHOLE, {"one", "deep", "two", "mine", "told"}), (LEFT, {"one", "deep", "mine"}), (RIGHT, {"two"})],
)
def test_children_are_those_of_calls_that_are_seen_with_all_below_them(key: Key, seen: set[str]) -> None:
    """`late` was started behind the fork; `loose` belongs to the root itself."""
    found = looks(key, "children")
    assert found == Ground(LINEAGE | dict.fromkeys(seen, EVERYTHING))


def test_what_inherits_nothing_and_is_seen_as_a_whole_has_all_that_it_started_and_asks_about_no_call() -> None:
    found = ground(Key(session="root"), None, Kin("root"), Sought(where="children"))  # type: ignore[arg-type]
    assert set(found.spans) == {"root", "one", "deep", "two", "late", "loose"}


@pytest.mark.parametrize("key", [WHOLE, Key(session="fork", scope="left", sees="all")])
def test_who_sees_all_has_every_other_session_and_of_what_was_inherited_what_came_after(key: Key) -> None:
    assert looks(key, "others") == Ground({"root": (4, END)}, others=True)
    assert looks(key, "user") == Ground({"root": EVERYTHING, "fork": EVERYTHING}, others=True)


@pytest.mark.parametrize(
    ("key", "apart"),
    [
        (LEFT, {"two", "loose", "told", "theirs", "hers"}),
        (RIGHT, {"one", "deep", "late", "loose", "mine", "told", "known", "hers"}),
    ],
)
def test_a_scope_sees_its_family_as_itself_and_of_what_was_started_there_what_its_calls_did(
    key: Key, apart: set[str]
) -> None:
    """`theirs` was started in the twin under right, `late` behind the fork under left: each by a call that one sees."""
    others = looks(key, "others")
    assert others.spans == {"root": (4, END), "twin": EVERYTHING}
    assert others.scoped == {"root", "twin"}
    assert (others.others, others.apart) == (True, apart)
    user = looks(key, "user")
    assert user.spans == {"root": EVERYTHING, "twin": EVERYTHING, "fork": EVERYTHING}
    assert user.scoped == {"root", "twin", "fork"}
    assert (user.others, user.apart) == (True, apart)
