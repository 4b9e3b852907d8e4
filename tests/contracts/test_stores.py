"""What every store promises: one suite, run over each of them."""

from __future__ import annotations

import msgspec
import pytest

from foldmark.checkpoint import Checkpoint, Excerpt, Fact, Mark, Unit
from foldmark.errors import HasForks, HeadMoved, IdConflict, NotFound, StaleBoundary
from foldmark.events import Artifact, Event, ToolCall, ToolResult, assistant, control, injected, result, user
from foldmark.memory import MemoryStore
from foldmark.reports import Attempt
from foldmark.seeking import Piece, Sought
from foldmark.store import Frame, Key, ScopeState, SessionInfo, Store
from foldmark.words import words

MAIN = Key(session="main")


def add(store: Store, key: Key, *events: Event, now: float = 1.0, facts: tuple[Fact, ...] = ()) -> list[Event]:
    """Record events with a piece for each text; returns them numbered."""
    context = store.context(key, events)
    pieces = [Piece(event.seq, 0, event.text) for event in context.new if event.text]
    store.append(key, context.new, head=context.head, pieces=pieces, facts=facts, now=now)
    return list(context.new)


def fork(store: Store, name: str, at: int, parent: str = "main") -> Key:
    key = msgspec.structs.replace(MAIN, session=name)
    store.open(key, info=SessionInfo(session=name, kind="fork", parent=parent, parent_seq=at))
    return key


def child(store: Store, name: str, call: str, at: int = 0) -> Key:
    key = msgspec.structs.replace(MAIN, session=name)
    info = SessionInfo(session=name, kind="child", parent="main", parent_seq=at, parent_call=call)
    store.open(key, info=info)
    return key


def texts(events: object) -> list[str]:
    return [event.text for event in events]  # type: ignore[attr-defined]


def search(store: Store, key: Key, query: str, where: str = "session") -> list[str]:
    found = store.find(key, words(query), sought=Sought(where=where))  # type: ignore[arg-type]
    return [each.piece.text for each in found.found]


def checkpoint(version: int, boundary: int, mark: int = 0, kept: tuple[int, ...] = ()) -> Checkpoint:
    return Checkpoint(version=version, boundary=boundary, text=f"v{version}", tokens=1, mark=Mark(mark), kept=kept)


# Events


def test_events_come_back_in_order_with_the_numbers_and_fingerprints_they_were_given(store: Store) -> None:
    given = add(store, MAIN, user("one"), assistant("two"), user("three"))
    assert [event.seq for event in given] == [1, 2, 3]
    assert store.log(MAIN) == given
    assert all(event.session == "main" and event.id.startswith("e") and event.chain for event in given)


def test_log_gives_a_stretch_of_events_inclusive_at_both_ends(store: Store) -> None:
    add(store, MAIN, *(user(str(n)) for n in range(1, 8)))
    assert texts(store.log(MAIN, 3, 5)) == ["3", "4", "5"]
    assert texts(store.log(MAIN, 6)) == ["6", "7"]
    assert texts(store.log(MAIN, 9)) == []


def test_a_known_event_is_recognised_by_its_id_and_not_appended_again(store: Store) -> None:
    add(store, MAIN, user("hello", id="a"))
    context = store.context(MAIN, [user("hello", id="a"), user("more", id="b")])
    assert texts(context.known) == ["hello"]
    assert [(event.id, event.seq) for event in context.new] == [("b", 2)]


def test_an_event_twice_in_one_batch_is_recorded_once(store: Store) -> None:
    context = store.context(MAIN, [user("hello", id="a"), user("hello", id="a")])
    assert (len(context.new), len(context.known)) == (1, 1)


def test_the_same_id_with_other_content_is_a_conflict_that_carries_both(store: Store) -> None:
    add(store, MAIN, user("hello", id="a"))
    with pytest.raises(IdConflict) as caught:
        store.context(MAIN, [user("goodbye", id="a")])
    assert "hello" in caught.value.stored
    assert "goodbye" in caught.value.offered


def test_the_same_words_without_an_id_are_another_event(store: Store) -> None:
    first, second = add(store, MAIN, user("go on"), user("go on"))
    assert first.id != second.id


def test_two_control_events_with_equal_content_are_both_kept(store: Store) -> None:
    given = add(store, MAIN, control("note", {"a": 1}), control("note", {"a": 1}))
    assert len(store.log(MAIN)) == 2
    assert given[0].id != given[1].id


def test_a_client_id_that_looks_like_a_derived_one_does_not_swallow_an_event(store: Store) -> None:
    other = MemoryStore()
    stolen = other.context(MAIN, [user("a"), user("b")]).new[1].id
    add(store, MAIN, user("a"))
    add(store, MAIN, control("x", {}, id=stolen))
    add(store, MAIN, user("b"))
    assert len(store.log(MAIN)) == 3


def test_system_and_control_events_take_no_part_in_the_chain(store: Store) -> None:
    plain = add(store, MAIN, user("one"), assistant("two"))
    mixed = add(
        store,
        Key(session="mixed"),
        control("a", {}),
        user("one"),
        Event(role="system", parts=()),
        assistant("two"),
    )
    assert [event.chain for event in mixed if event.chain] == [event.chain for event in plain]


def test_an_append_against_a_moved_head_writes_nothing(store: Store) -> None:
    stale = store.context(MAIN, [user("late")])
    add(store, MAIN, user("first"))
    with pytest.raises(HeadMoved):
        store.append(MAIN, stale.new, head=stale.head, facts=[Fact(seq=1, kind="goal", key="g", value="x")], now=1.0)
    assert texts(store.log(MAIN)) == ["first"]
    assert store.covered(MAIN, 9, limit=9)[1] == []


def test_an_event_is_found_by_number_and_by_client_id(store: Store) -> None:
    add(store, MAIN, user("hello", id="msg_a"), user("there"))
    assert store.event(MAIN, "2").text == "there"
    assert store.event(MAIN, "msg_a").seq == 1
    for name in ("3", "0", "nobody", "9" * 40):
        with pytest.raises(NotFound):
            store.event(MAIN, name)


def test_a_session_that_was_never_opened_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound):
        store.view(Key(session="nobody"))
    with pytest.raises(NotFound):
        store.log(Key(session="nobody"))


@pytest.mark.parametrize("text", ["nul \x00 inside", "lone \ud800 surrogate", "e\u0301 é 東京 🙂", "\r\n\x1b[31m"])
def test_every_string_survives(store: Store, text: str) -> None:
    key = Key(session=f"s {text}", tenant=text, user=text)
    call = ToolCall(id=text or "c", name="run", arguments=text)
    given = add(store, key, user(text, id=text, meta={"k": text}), assistant(text, call), result(call.id, text))
    fact = Fact(seq=1, kind="goal", key=text, value=text)
    store.facts(key, [fact])
    unit = Unit(1, 0, text, 1.0, 1)
    more = store.context(key, [user("x")])
    store.append(key, more.new, head=3, units=[unit], pieces=[Piece(4, 0, text + " needle", head=text)], now=1.0)
    assert store.log(key)[:3] == given
    assert store.covered(key, 9, limit=9)[1:] == ([fact], [unit])
    assert store.sessions(text, text)[0].session == key.session
    assert text + " needle" in search(store, key, "needle")


def test_a_large_event_comes_back_whole(store: Store) -> None:
    text = "".join(f"line {n} of a long result\n" for n in range(3_000))
    add(store, MAIN, user(text))
    assert store.log(MAIN)[0].text == text


def test_context_gives_calls_with_their_answers_and_the_newest_facts(store: Store) -> None:
    call = ToolCall("c1", "bash", '{"command": "ls"}')
    goals = tuple(Fact(seq=n, kind="goal", key="g", value=str(n)) for n in (1, 2))
    add(store, MAIN, user("go"), assistant("", call), facts=goals)
    context = store.context(MAIN, [])
    assert (context.calls["c1"].seq, context.calls["c1"].call, context.calls["c1"].answered) == (2, call, 0)
    assert context.state["goal", "g"].value == "2"
    add(store, MAIN, result("c1", "files"))
    assert store.context(MAIN, []).calls["c1"].answered == 3


def test_the_secret_is_the_same_at_every_call(store: Store) -> None:
    first = store.context(MAIN, []).secret
    assert len(first) == 32
    assert store.context(Key(session="other", tenant="t2"), []).secret == first


def test_context_knows_the_window_of_the_last_request(store: Store) -> None:
    add(store, MAIN, user("hi"))
    store.sent(MAIN, ScopeState(frame=Frame(window=64_000)), expected=Mark())
    assert store.context(MAIN, []).window == 64_000


def test_counts_follow_the_pieces_of_the_log(store: Store) -> None:
    add(store, MAIN, user("alpha beta"), user("alpha"))
    tally = store.tally(MAIN)
    assert tally.events == 2
    assert (tally.words["alpha"], tally.words["beta"]) == (2, 1)
    add(store, MAIN, user("alpha"))
    assert store.context(MAIN, []).tally.words["alpha"] == 3


def test_counts_come_from_redacted_pieces_and_never_from_the_raw_event(store: Store) -> None:
    context = store.context(MAIN, [user("password hunter")])
    store.append(MAIN, context.new, head=0, pieces=[Piece(1, 0, "password hidden")], now=1.0)
    assert "hunter" not in store.tally(MAIN).words
    assert store.tally(MAIN).words["hidden"] == 1


# Scopes and views


def test_a_view_without_a_checkpoint_shows_every_event_that_the_scope_sees(store: Store) -> None:
    add(store, MAIN, user("all"), assistant("a", branch="x/a"), assistant("b", branch="x/b"), control("c", {}))
    view = store.view(MAIN)
    assert (len(view.events), view.head, view.all_events, view.checkpoint) == (4, 4, 4, None)
    for scope, sees, shown in (
        ("x/a", "exact", ["a"]),
        ("x/a", "lineage", ["all", "a", ""]),
        ("x", "subtree", ["a", "b"]),
        ("x", "lineage", ["all", "a", "b", ""]),
    ):
        key = msgspec.structs.replace(MAIN, scope=scope, sees=sees)
        assert texts(store.view(key).events) == shown
        assert store.view(key).all_events == len(shown)
        assert texts(store.log(key)) == shown


def test_a_scope_that_exists_sees_what_comes_later(store: Store) -> None:
    key = msgspec.structs.replace(MAIN, scope="a", sees="exact")
    add(store, MAIN, assistant("one", scope="a"))
    assert texts(store.view(key).events) == ["one"]
    add(store, MAIN, assistant("other", scope="b"), assistant("two", scope="a"))
    assert texts(store.view(key).events) == ["one", "two"]


def test_facts_and_units_are_those_of_the_scope_up_to_the_asked_event(store: Store) -> None:
    context = store.context(MAIN, [assistant("a", scope="a"), assistant("b", scope="b"), assistant("c", scope="a")])
    facts = [Fact(seq=n, kind="file", key="f", value=f"{n}", scope=s) for n, s in ((1, "a"), (2, "b"), (3, "a"))]
    units = [Unit(n, 0, f"unit {n}", float(n), 5) for n in (1, 2, 3)]
    store.append(MAIN, context.new, head=0, facts=facts, units=units, now=1.0)
    newest, every, best = store.covered(MAIN, 3, limit=2)
    assert newest == {("file", "f"): facts[2]}
    assert every == facts
    assert best == [units[2], units[1]]
    mine = msgspec.structs.replace(MAIN, scope="a", sees="exact")
    assert store.covered(mine, 2, limit=9) == ({("file", "f"): facts[0]}, [facts[0]], [units[0]])
    assert store.context(mine, []).state == {("file", "f"): facts[2]}


def test_the_newer_fact_wins_and_among_facts_of_one_event_the_later(store: Store) -> None:
    add(store, MAIN, user("x"), user("y"))
    for seq, value in ((2, "new"), (1, "old"), (2, "newest")):
        store.facts(MAIN, [Fact(seq=seq, kind="goal", key="g", value=value)])
    assert store.context(MAIN, []).state["goal", "g"].value == "newest"
    assert store.covered(MAIN, 1, limit=0)[0]["goal", "g"].value == "old"


def test_pins_are_shown_until_they_are_withdrawn(store: Store) -> None:
    add(store, MAIN, user("x"), user("y"))
    store.facts(MAIN, [Fact(seq=2, kind="pin", key="1", value="")])
    assert store.view(MAIN).pins == {1}
    store.facts(MAIN, [Fact(seq=2, kind="pin", key="1", value="", status="gone")])
    assert store.view(MAIN).pins == frozenset()


def test_state_is_stored_unless_the_mark_moved_meanwhile(store: Store) -> None:
    add(store, MAIN, user("x"))
    store.sent(MAIN, ScopeState(mark=Mark(1), last_size=10), expected=Mark())
    assert store.view(MAIN).mark == Mark(1)
    store.sent(MAIN, ScopeState(mark=Mark(0), last_size=99), expected=Mark())
    assert (store.view(MAIN).mark, store.view(MAIN).state.last_size) == (Mark(1), 10)


# Checkpoints


def test_a_commit_moves_checkpoint_boundary_and_mark_together(store: Store) -> None:
    add(store, MAIN, *(user(str(n)) for n in range(1, 6)))
    store.sent(MAIN, ScopeState(held=5, last_size=7), expected=Mark())
    attempt = Attempt(time=1.0, outcome="applied", version=1)
    store.commit(MAIN, checkpoint(1, 3, mark=2, kept=(1,)), expected=0, attempt=attempt)
    view = store.view(MAIN)
    assert view.checkpoint == checkpoint(1, 3, mark=2, kept=(1,))
    assert (texts(view.kept), texts(view.events)) == (["1"], ["4", "5"])
    assert view.state == ScopeState(mark=Mark(2), last_size=7)
    assert view.attempts == (attempt,)


def test_of_two_compactions_of_one_boundary_one_wins_and_the_other_changes_nothing(store: Store) -> None:
    add(store, MAIN, *(user(str(n)) for n in range(1, 6)))
    store.commit(MAIN, checkpoint(1, 3), expected=0)
    with pytest.raises(StaleBoundary):
        store.commit(MAIN, checkpoint(1, 4), expected=0, attempt=Attempt(time=2.0, outcome="applied"))
    assert [each.boundary for each in store.checkpoints(MAIN)] == [3]
    assert store.view(MAIN).attempts == ()


def test_the_version_only_rises_also_when_an_older_boundary_is_restored(store: Store) -> None:
    add(store, MAIN, *(user(str(n)) for n in range(1, 6)))
    store.commit(MAIN, checkpoint(1, 2, mark=1), expected=0)
    store.commit(MAIN, checkpoint(2, 4, mark=3), expected=1)
    with pytest.raises(StaleBoundary):
        store.commit(MAIN, checkpoint(2, 2), expected=2)
    store.commit(MAIN, checkpoint(3, 2, mark=1), expected=2)
    view = store.view(MAIN)
    assert (view.checkpoint and view.checkpoint.version, view.mark) == (3, Mark(1))
    assert texts(view.events) == ["3", "4", "5"]


def test_scopes_have_checkpoints_of_their_own(store: Store) -> None:
    add(store, MAIN, assistant("a", scope="a"), assistant("b", scope="b"))
    mine = msgspec.structs.replace(MAIN, scope="a", sees="exact")
    store.commit(mine, checkpoint(1, 1), expected=0)
    assert store.view(MAIN).checkpoint is None
    assert store.view(mine).events == ()


def test_notes_of_attempts_are_kept_oldest_first(store: Store) -> None:
    add(store, MAIN, user("x"))
    for time in (1.0, 2.0):
        store.note(MAIN, Attempt(time=time, outcome="ineffective"))
    assert [attempt.time for attempt in store.view(MAIN).attempts] == [1.0, 2.0]


# Forks and children


def test_whoever_asks_for_a_sessions_row_makes_none(store: Store) -> None:
    for key in (MAIN, msgspec.structs.replace(MAIN, user="else")):
        with pytest.raises(NotFound):
            store.info(key)
    assert store.sessions(MAIN.tenant, MAIN.user) == []
    add(store, MAIN, user("one"))
    store.describe(MAIN, {"wire": "gemini"})
    assert store.info(MAIN) == store.open(MAIN)
    assert (store.info(MAIN).head, store.info(MAIN).meta) == (1, {"wire": "gemini"})
    store.delete(MAIN)
    with pytest.raises(NotFound):
        store.info(MAIN)
    assert store.sessions(MAIN.tenant, MAIN.user) == []


def test_a_fork_inherits_the_log_up_to_its_point_and_goes_on_from_there(store: Store) -> None:
    add(store, MAIN, user("one"), assistant("two"), user("three"))
    key = fork(store, "other", 2)
    assert store.open(key).head == 2
    (new,) = add(store, key, user("instead"))
    assert (new.seq, new.session) == (3, "other")
    add(store, MAIN, assistant("four"))
    assert texts(store.log(key)) == ["one", "two", "instead"]
    assert texts(store.log(MAIN)) == ["one", "two", "three", "four"]
    assert store.event(key, "1").session == "main"


def test_a_fork_of_a_fork_sees_no_more_than_what_it_was_forked_from(store: Store) -> None:
    add(store, MAIN, user("1"), user("2"), user("3"))
    first = fork(store, "first", 2)
    add(store, first, user("3b"), user("4b"))
    second = fork(store, "second", 1, parent="first")
    add(store, second, user("2c"))
    third = fork(store, "third", 3, parent="first")
    assert texts(store.log(second)) == ["1", "2c"]
    assert texts(store.log(third)) == ["1", "2", "3b"]
    assert search(store, second, "2") == ["2c"]
    assert search(store, third, "3") == ["3b"]


def test_a_fork_of_nothing_begins_at_one(store: Store) -> None:
    add(store, MAIN, user("1"))
    key = fork(store, "fresh", 0)
    assert [event.seq for event in add(store, key, user("other"))] == [1]


def test_a_fork_inherits_facts_units_checkpoint_and_counts_as_they_were(store: Store) -> None:
    context = store.context(MAIN, [user("alpha"), user("beta"), user("gamma"), user("delta")])
    facts = [Fact(seq=n, kind="goal", key="g", value=str(n)) for n in (1, 2, 3)]
    units = [Unit(n, 0, str(n), 1.0, 1) for n in (1, 3)]
    pieces = [Piece(event.seq, 0, event.text) for event in context.new]
    store.append(MAIN, context.new, head=0, facts=facts, units=units, pieces=pieces, now=1.0)
    store.commit(MAIN, checkpoint(1, 1, mark=1), expected=0)
    store.commit(MAIN, checkpoint(2, 3, mark=2), expected=1)
    key = fork(store, "other", 2)
    store.facts(MAIN, [Fact(seq=1, kind="goal", key="late", value="not inherited")])
    store.commit(MAIN, checkpoint(3, 1), expected=2)
    assert store.covered(key, 9, limit=9) == ({("goal", "g"): facts[1]}, facts[:2], units[:1])
    assert [each.version for each in store.checkpoints(key)] == [1]
    assert store.context(key, []).state == {("goal", "g"): facts[1]}
    assert (store.tally(key).events, "gamma" in store.tally(key).words) == (2, False)
    store.commit(key, checkpoint(2, 2), expected=1)
    assert [(each.version, each.boundary) for each in store.checkpoints(key)] == [(1, 1), (2, 2)]


def test_a_fork_does_not_inherit_a_checkpoint_that_quotes_a_result_behind_it(store: Store) -> None:
    add(store, MAIN, *(user(str(n)) for n in range(1, 9)))
    quoting = msgspec.structs.replace(checkpoint(1, 2, mark=5), excerpts=(Excerpt(6, "read a.py", ("x",)),))
    store.commit(MAIN, quoting, expected=0)
    early, late = fork(store, "early", 5), fork(store, "late", 6)
    assert (store.view(early).checkpoint, store.view(late).checkpoint) == (None, quoting)


def test_a_fork_behind_the_mark_starts_with_the_mark_of_the_checkpoint_it_inherits(store: Store) -> None:
    add(store, MAIN, *(user(str(n)) for n in range(1, 9)))
    store.commit(MAIN, checkpoint(1, 2, mark=2), expected=0)
    store.sent(MAIN, ScopeState(mark=Mark(6), last_hash="h"), expected=Mark(2))
    early, late = fork(store, "early", 4), fork(store, "late", 7)
    assert (store.view(early).mark, store.view(early).state.last_hash) == (Mark(2), "")
    assert (store.view(late).mark, store.view(late).state.last_hash) == (Mark(6), "h")


def test_a_fork_behind_the_end_of_its_parent_is_refused(store: Store) -> None:
    add(store, MAIN, user("1"))
    with pytest.raises(NotFound):
        fork(store, "other", 2)
    with pytest.raises(NotFound):
        fork(store, "other", 0, parent="nobody")


def test_a_known_id_is_recognised_through_the_lineage(store: Store) -> None:
    add(store, MAIN, user("1", id="a"), user("2", id="b"))
    key = fork(store, "other", 1)
    context = store.context(key, [user("1", id="a"), user("2", id="b")])
    assert (texts(context.known), texts(context.new)) == (["1"], ["2"])


def test_a_child_session_has_a_log_of_its_own(store: Store) -> None:
    add(store, MAIN, user("go"), assistant("", ToolCall("task1", "task")))
    key = child(store, "sub", "task1", at=2)
    add(store, key, injected("look for the zebra"))
    assert [event.seq for event in store.log(key)] == [1]
    assert store.open(key).parent_call == "task1"
    assert search(store, MAIN, "zebra") == []
    found = store.find(MAIN, words("zebra"), sought=Sought(where="children")).found
    assert [(each.session, each.piece.seq) for each in found] == [("sub", 1)]


# Sessions


def test_sessions_are_listed_newest_update_first_with_titles_from_the_first_user_words(store: Store) -> None:
    add(store, MAIN, injected("reminder"), user("Fix   the\nduplicate charges"), user("later words"), now=5.0)
    add(store, Key(session="second"), user("x" * 200), now=9.0)
    add(store, Key(session="foreign", user="somebody"), user("hi"), now=10.0)
    second, first = store.sessions("local", "local")
    assert (first.session, first.title, first.head, first.updated) == (
        "main",
        "Fix the duplicate charges",
        3,
        5.0,
    )
    assert (second.session, len(second.title), second.created) == ("second", 80, 9.0)


def test_a_title_is_made_of_redacted_words(store: Store) -> None:
    context = store.context(MAIN, [user("use sk-12345")])
    store.append(MAIN, context.new, head=0, pieces=[Piece(1, 0, "use [secret]")], now=1.0)
    assert store.sessions("local", "local")[0].title == "use [secret]"


def test_opening_again_changes_nothing_and_settings_are_kept(store: Store) -> None:
    store.open(MAIN, info=SessionInfo(session="main", title="mine", created=3.0, meta={"a": "1"}))
    assert store.describe(MAIN, {"b": "2", "c": "3"}).meta == {"a": "1", "b": "2", "c": "3"}
    store.describe(MAIN, {"a": "", "b": "4"})
    again = store.open(MAIN, info=SessionInfo(session="main", title="other"))
    assert (again.title, again.created, again.meta) == ("mine", 3.0, {"b": "4", "c": "3"})


def test_the_same_session_name_of_another_user_or_tenant_is_another_session(store: Store) -> None:
    for tenant, person in (("t1", "u1"), ("t1", "u2"), ("t2", "u1")):
        add(store, Key(session="s", tenant=tenant, user=person), user(f"{tenant} {person}"))
    assert texts(store.log(Key(session="s", tenant="t1", user="u2"))) == ["t1 u2"]


# Following


def test_messages_that_we_wrote_are_remembered_in_the_session_its_forks_and_its_origin(store: Store) -> None:
    add(store, MAIN, user("x"))
    key = fork(store, "other", 1)
    store.wrote(MAIN, {"h1": "plain", "h2": ""})
    store.wrote(key, {"h3": ""})
    store.wrote(MAIN, {"h1": "plain"})
    assert store.written(key, ["h1", "h3", "h4"]) == {"h1": "plain", "h3": ""}
    assert store.written(MAIN, ["h2", "h3"]) == {"h2": "", "h3": ""}
    assert store.written(store_other(store), ["h1"]) == {}


def store_other(store: Store) -> Key:
    key = Key(session="unrelated")
    store.open(key)
    return key


def chains(*events: Event) -> list[str]:
    return [event.chain for event in MemoryStore().context(MAIN, events).new]


def test_the_longest_chained_match_is_found_in_the_session(store: Store) -> None:
    add(store, MAIN, user("1"), control("c", {}), user("2"), user("3"))
    found = store.match(MAIN, chains(user("1"), user("2"), user("new")))
    assert found is not None
    assert (found.session, found.seq, found.count) == ("main", 3, 2)
    assert store.match(MAIN, chains(user("other"))) is None
    assert store.match(MAIN, []) is None


def test_a_longer_match_in_a_fork_beats_the_session_and_the_session_wins_a_tie(store: Store) -> None:
    add(store, MAIN, user("1"), user("2"))
    key = fork(store, "other", 1)
    add(store, key, user("2"), user("3"))
    longer = store.match(MAIN, chains(user("1"), user("2"), user("3")))
    tie = store.match(MAIN, chains(user("1"), user("2"), user("4")))
    assert longer is not None
    assert tie is not None
    assert (longer.session, longer.seq, longer.count) == ("other", 3, 3)
    assert (tie.session, tie.count) == ("main", 2)


def test_a_match_through_an_inherited_event_belongs_to_the_fork_that_was_asked(store: Store) -> None:
    add(store, MAIN, user("1"), user("2"))
    key = fork(store, "other", 1)
    found = store.match(key, chains(user("1"), user("2")))
    assert found is not None
    assert (found.session, found.seq, found.count) == ("other", 1, 1)


def test_a_match_is_found_in_a_long_list(store: Store) -> None:
    events = [user(str(n)) for n in range(900)]
    add(store, MAIN, *events[:700])
    found = store.match(MAIN, chains(*events))
    assert found is not None
    assert found.count == 700
    add(store, MAIN, *events[700:899])
    found = store.match(MAIN, chains(*events))
    assert found is not None
    assert found.count == 899


def test_a_list_that_lost_its_front_is_found_by_the_head_that_ends_the_log(store: Store) -> None:
    given = add(store, MAIN, user("1"), user("2"), control("c", {}), assistant("3"))
    plains = [given[1].plain, given[3].plain, "new"]
    found = store.ends(MAIN, plains)
    assert found is not None
    assert (found.session, found.seq, found.count) == ("main", 4, 2)


def test_one_plain_message_is_too_little_to_recognise_a_trimmed_list_but_one_with_a_call_is_enough(
    store: Store,
) -> None:
    given = add(store, MAIN, user("1"), user("ok"))
    assert store.ends(MAIN, [given[1].plain, "new"]) is None
    (call,) = add(store, MAIN, assistant("", ToolCall("c1", "bash")))
    found = store.ends(MAIN, [call.plain, "new"])
    assert found is not None
    assert (found.seq, found.count) == (3, 1)


# Search


def test_search_finds_pieces_by_any_term_and_says_how_rare_each_is(store: Store) -> None:
    add(store, MAIN, user("the walrus sleeps"), user("the walrus eats"), user("a zebra eats"))
    found = store.find(MAIN, words("walrus zebra unicorn"))
    assert {each.piece.text for each in found.found} == {
        "the walrus sleeps",
        "the walrus eats",
        "a zebra eats",
    }
    assert found.found[0].piece.text == "a zebra eats"
    assert (found.pieces, found.frequencies) == (3, {"walrus": 2, "zebra": 1, "unicorn": 0})


def test_search_sees_the_head_of_a_piece_and_gives_it_back(store: Store) -> None:
    context = store.context(MAIN, [user("x")])
    piece = Piece(1, 0, "two failed", line=7, end_line=8, number=1, head="pytest tests/unit")
    store.append(MAIN, context.new, head=0, pieces=[piece], now=1.0)
    assert [each.piece for each in store.find(MAIN, words("pytest")).found] == [piece]


def test_search_is_bounded_and_keeps_the_rare_terms(store: Store) -> None:
    add(store, MAIN, *(user(f"common {n}") for n in range(40)), user("common needle"))
    found = store.find(MAIN, words("common needle"), limit=5).found
    assert len(found) == 5
    assert found[0].piece.text == "common needle"


def test_search_stays_inside_the_scope(store: Store) -> None:
    add(store, MAIN, assistant("walrus here", scope="a"), assistant("walrus there", scope="b"))
    key = msgspec.structs.replace(MAIN, scope="a", sees="exact")
    assert search(store, key, "walrus") == ["walrus here"]


def test_search_takes_the_lineage_and_nothing_beside_it(store: Store) -> None:
    add(store, MAIN, user("walrus one"), user("walrus two"))
    key = fork(store, "other", 1)
    add(store, key, user("walrus three"))
    assert sorted(search(store, key, "walrus")) == ["walrus one", "walrus three"]
    assert sorted(search(store, MAIN, "walrus")) == ["walrus one", "walrus two"]


def test_a_users_search_covers_all_their_sessions_and_nobody_elses(store: Store) -> None:
    add(store, MAIN, user("walrus mine"))
    add(store, Key(session="second"), user("walrus also mine"))
    add(store, Key(session="third", user="somebody"), user("walrus theirs"))
    found = store.find(MAIN, words("walrus"), sought=Sought(where="user")).found
    assert {(each.session, each.piece.text) for each in found} == {
        ("", "walrus mine"),
        ("second", "walrus also mine"),
    }


def test_what_a_fork_does_not_inherit_is_found_under_the_name_of_its_own_session(store: Store) -> None:
    add(store, MAIN, user("walrus one"), user("walrus two"))
    key = fork(store, "other", 1)
    add(store, key, user("walrus three"), user("walrus four"))
    found = store.find(key, words("walrus"), sought=Sought(where="user")).found
    assert {(each.session, each.piece.seq, each.event.text) for each in found} == {
        ("", 1, "walrus one"), ("main", 2, "walrus two"), ("", 2, "walrus three"), ("", 3, "walrus four")
    }  # fmt: skip


LOOKALIKES = [
    "walking", "walked", "École", "ecole", "ECOLE", 'a"b', "a'b", "x OR y", "x", "t1", "s1", "u1", "1", "*",
    "a*", "scope", "NEAR(a b)", "-a", "a:b", "(a", "", " ", "a b", "%", "_", "\ud800", "nul\x00",
    "ﬁ", "fi", "ß", "ss", "İ", "i",
]  # fmt: skip


def test_tenants_whose_ids_stem_fold_and_quote_alike_never_see_each_other(store: Store) -> None:
    keys = [Key(session=name, tenant=name, user=name) for name in LOOKALIKES]
    keys += [Key(session="shared", tenant="one", user=name) for name in LOOKALIKES]
    for number, key in enumerate(keys):
        add(store, key, user(f"walrus number {number}"))
    for number, key in enumerate(keys):
        for where in ("session", "children", "user"):
            assert search(store, key, "walrus", where) == [f"walrus number {number}"]
        assert texts(store.log(key)) == [f"walrus number {number}"]


@pytest.mark.parametrize(
    "query",
    ['"', "'", "a*", "walrus OR scope:s1",
     '" OR scope:"s2', "NEAR(walrus x)", "walrus\x00", "(", "-walrus", "^walrus",
     "\ud800",
     "s1", "t1 u1", "scope", "body : walrus", "x " * 50_000, "é" * 100_000],
)  # fmt: skip
def test_no_query_breaks_search_or_leaves_the_session(store: Store, query: str) -> None:
    add(store, Key(session="foreign", user="somebody"), user("walrus s1 t1 u1 scope body"))
    add(store, MAIN, user("walrus mine"))
    assert search(store, MAIN, query) in ([], ["walrus mine"])


@pytest.mark.parametrize("term", ['a" OR "b', "WALRUS", "", "a b", "*", "\x00", "x_\ud800"])
def test_terms_that_no_analyser_made_find_nothing(store: Store, term: str) -> None:
    add(store, MAIN, user("walrus a b"))
    assert store.find(MAIN, [term]).found == ()


# Work


def test_an_append_raises_work_for_every_scope_that_exists_and_sees_the_end_of_a_step(store: Store) -> None:
    mine = msgspec.structs.replace(MAIN, scope="a", sees="exact")
    add(store, MAIN, user("go"), assistant("done"))
    assert store.claim(10.0, 5.0) is None
    store.sent(MAIN, ScopeState(), expected=Mark())
    store.sent(mine, ScopeState(), expected=Mark())
    add(store, MAIN, user("go on"), now=2.0)
    assert store.claim(10.0, 5.0) is None
    add(store, MAIN, assistant("done", scope="b"), now=3.0)
    work = store.claim(10.0, 5.0)
    assert work is not None
    assert (work.key, work.wanted, work.done) == (MAIN, 4, 0)
    assert store.claim(10.0, 5.0) is None


def test_a_tool_round_raises_work_when_its_last_result_is_in(store: Store) -> None:
    add(store, MAIN, user("go"))
    store.sent(MAIN, ScopeState(), expected=Mark())
    add(store, MAIN, assistant("", ToolCall("a", "x"), ToolCall("b", "x")))
    add(store, MAIN, result("a", "1"))
    assert store.claim(10.0, 5.0) is None
    add(store, MAIN, result("b", "2"))
    assert store.claim(10.0, 5.0) is not None


def test_a_lease_that_ran_out_is_given_to_another_and_fences_the_first(store: Store) -> None:
    add(store, MAIN, user("go"))
    store.sent(MAIN, ScopeState(), expected=Mark())
    add(store, MAIN, assistant("done"))
    first = store.claim(10.0, 5.0)
    assert first is not None
    assert store.claim(14.0, 5.0) is None
    second = store.claim(16.0, 5.0)
    assert second is not None
    assert second.token > first.token
    with pytest.raises(StaleBoundary):
        store.commit(MAIN, checkpoint(1, 1), expected=0, token=first.token)
    assert store.settle(first) is False
    store.commit(MAIN, checkpoint(1, 1), expected=0, token=second.token)
    assert store.claim(99.0, 5.0) is None


def test_work_that_arrives_while_the_lease_is_held_is_not_lost(store: Store) -> None:
    add(store, MAIN, user("go"))
    store.sent(MAIN, ScopeState(), expected=Mark())
    add(store, MAIN, assistant("done"))
    work = store.claim(10.0, 5.0)
    assert work is not None
    add(store, MAIN, user("more"), assistant("done"))
    assert store.settle(work) is True
    again = store.claim(11.0, 5.0)
    assert again is not None
    assert (again.done, again.wanted) == (2, 4)


def test_the_scope_that_waits_longest_is_claimed_first(store: Store) -> None:
    second = Key(session="second")
    for key in (MAIN, second):
        add(store, key, user("go"))
        store.sent(key, ScopeState(), expected=Mark())
    add(store, second, assistant("done"), now=5.0)
    add(store, MAIN, assistant("done"), now=6.0)
    add(store, second, assistant("again"), now=7.0)
    claimed = [store.claim(10.0, 5.0), store.claim(10.0, 5.0)]
    assert [work and work.key.session for work in claimed] == ["second", "main"]


# Erasing


def held(name: str, sha: str) -> Event:
    return Event(role="tool", origin="tool", parts=(ToolResult(name, "preview", artifact=Artifact(sha, 9, 1, "log")),))


def test_deleting_a_session_erases_all_that_hangs_on_it_and_names_the_bodies_nobody_else_has(
    store: Store,
) -> None:
    add(
        store,
        MAIN,
        user("walrus"),
        held("a", "own"),
        held("b", "shared"),
        facts=(Fact(seq=1, kind="goal", key="g", value="x"),),
    )
    add(store, Key(session="second"), held("b", "shared"))
    add(store, Key(session="second", tenant="elsewhere"), held("a", "own"))
    assert store.hashes("local") == {"own", "shared"}
    assert store.delete(MAIN) == ("own",)
    assert store.hashes("local") == {"shared"}
    with pytest.raises(NotFound):
        store.view(MAIN)
    assert [info.session for info in store.sessions("local", "local")] == ["second"]
    assert search(store, Key(session="second"), "walrus", "user") == []
    add(store, MAIN, user("fresh"))
    assert texts(store.log(MAIN)) == ["fresh"]
    assert store.context(MAIN, []).state == {}
    assert store.tally(MAIN).events == 1


def test_a_session_with_forks_is_deleted_only_with_its_descendants(store: Store) -> None:
    add(store, MAIN, user("1"), assistant("", ToolCall("c", "task")))
    other = fork(store, "other", 1)
    fork(store, "deeper", 1, parent="other")
    child(store, "sub", "c")
    with pytest.raises(HasForks) as caught:
        store.delete(MAIN)
    assert set(caught.value.forks) == {"other", "deeper"}
    assert texts(store.log(other)) == ["1"]
    store.delete(MAIN, descendants=True)
    assert store.sessions("local", "local") == []


def test_a_child_session_goes_with_the_session_whose_call_started_it(store: Store) -> None:
    add(store, MAIN, user("1"))
    child(store, "sub", "c")
    store.delete(MAIN)
    assert store.sessions("local", "local") == []


def test_a_session_that_somebody_looked_at_is_deleted_only_as_it_was_seen(store: Store) -> None:
    add(store, MAIN, user("1"), assistant("", ToolCall("c", "task")))
    with pytest.raises(HeadMoved) as moved:
        store.delete(MAIN, heads={"main": 1})
    assert (moved.value.session, moved.value.expected, moved.value.found) == ("main", 1, 2)
    child(store, "sub", "c")
    with pytest.raises(HasForks) as unseen:
        store.delete(MAIN, heads={"main": 2})
    assert unseen.value.forks == ("sub",)
    add(store, Key(session="sub"), user("2"))
    with pytest.raises(HeadMoved):
        store.delete(MAIN, heads={"main": 2, "sub": 0})
    assert texts(store.log(MAIN))[0] == "1"
    store.delete(MAIN, heads={"main": 2, "sub": 1})
    assert store.sessions("local", "local") == []


def test_deleting_what_is_not_there_says_so(store: Store) -> None:
    with pytest.raises(NotFound):
        store.delete(Key(session="nobody"))


def test_a_store_has_a_place_for_bodies(store: Store) -> None:
    sha256 = store.artifacts.put("local", b"body")
    assert store.artifacts.read("local", sha256) == b"body"
