"""Hooks round append and read, over every store: change, hold back, veto, tag, show otherwise, withhold."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark import Policy, Session
from foldmark.errors import FoldmarkError, HookError, IdConflict, NotFound, Vetoed
from foldmark.events import Event, Image, Text, ToolResult, assistant, injected, result, user
from foldmark.hooked import EventHooks, Hold, Landed, as_recorded, hooked
from foldmark.memory import MemoryStore
from foldmark.sqlite import SQLiteStore
from foldmark.store import Frame, Key, ScopeState, Store
from foldmark.tokens import event_tokens
from foldmark.wire import anthropic, openai_chat
from foldmark.words import words
from making import call, long_session, tool_round
from waiting import LONG

MAIN = Key(session="main")
PIN = "1234 5678"


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "store.db")
    yield made
    made.close()


def on(store: Store, *hooks: EventHooks, **options: Any) -> Session:
    options.setdefault("policy", Policy.coding())
    return Session("main", store=hooked(store, *hooks), **options)


def replaced(event: Event, change: Callable[[str], str]) -> Event:
    """The event with every text of it changed."""
    parts = tuple(
        msgspec.structs.replace(part, text=change(part.text)) if isinstance(part, Text | ToolResult) else part
        for part in event.parts
    )
    return msgspec.structs.replace(event, parts=parts)


def masked(key: Key, events: tuple[Event, ...]) -> list[Event | Hold]:
    return [replaced(event, lambda text: text.replace(PIN, "[pin]")) for event in events]


def no_heartbeats(key: Key, events: tuple[Event, ...]) -> list[Event | Hold]:
    return [Hold("a heartbeat") if "heartbeat" in event.text else event for event in events]


MASK = EventHooks(on_append=masked, name="mask")
QUIET = EventHooks(on_append=no_heartbeats, name="quiet")


def log_of(session: Session) -> list[str]:
    return [event.text for event in session.store.log(session.key)]


# -- append: changed


def test_a_changed_event_is_what_everything_is_made_of(store: Store) -> None:
    session = on(store, MASK)
    session.record(user(f"My card is {PIN}, always say please", id="m1"))
    big = "\n".join(f"line {number} of the ledger holds {PIN} and more" for number in range(3_000))
    session.record(assistant("", call()), result("c1", big))
    log, plain = store.log(MAIN), Session("main", store=store)
    assert "[pin]" in log[0].text
    assert log[0].tokens == event_tokens(log[0])
    _, facts, units = store.covered(MAIN, 9, limit=999)
    body = store.artifacts.read("local", log[2].artifacts[0].sha256).decode()
    assert body == big.replace(PIN, "[pin]")
    for text in (*(event.text for event in log), *(fact.value for fact in facts), *(unit.text for unit in units), body):
        assert PIN not in text
    assert plain.search("ledger")
    assert all(PIN not in hit.snippet for hit in plain.search("1234 5678 card ledger"))
    assert store.open(MAIN).title == "My card is [pin], always say please"


def test_hooks_are_called_in_order_each_with_what_the_one_before_made(store: Store) -> None:
    seen: list[str] = []

    def add(letter: str) -> EventHooks:
        def hook(key: Key, events: tuple[Event, ...]) -> list[Event | Hold]:
            seen.extend(event.text for event in events)
            return [replaced(event, lambda text: text + letter) for event in events]

        return EventHooks(on_append=hook)

    session = on(store, add("a"), add("b"))
    session.record(user("x"))
    assert seen == ["x", "xa"]
    assert log_of(session) == ["xab"]


def test_an_event_made_anew_keeps_who_it_was(store: Store) -> None:
    session = on(store, EventHooks(on_append=lambda key, events: [user("other words") for _ in events]))
    session.record(user("words", id="m1"))
    found = store.event(MAIN, "m1")
    assert (found.text, found.id, found.seq) == ("other words", "m1", 1)


def test_the_same_event_twice_is_a_no_op_even_when_the_hook_never_answers_alike(store: Store) -> None:
    numbers = iter(range(100))
    session = on(
        store, EventHooks(on_append=lambda key, events: [replaced(e, lambda t: f"{t}{next(numbers)}") for e in events])
    )
    first = session.record(user("one", id="m1"))
    again = session.record(user("one", id="m1"))
    assert (again.ref, again.known) == (first.ref, 1)
    assert log_of(session) == ["one0"]
    with pytest.raises(IdConflict):
        session.record(user("two", id="m1"))


# -- append: held back, vetoed


def test_who_records_is_told_what_was_held_back_and_why(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    session = on(store, QUIET)
    with caplog.at_level(logging.INFO, "foldmark.hooked"):
        done = session.record(user("go", id="m1"), injected("heartbeat", id="m2"), assistant("yes", id="m3"))
    (held,) = done.held_back
    assert (held.id, held.place, held.reason, held.hook) == ("m2", 1, "a heartbeat", "quiet")
    assert done.refs == ("event:1", "event:2")
    assert log_of(session) == ["go", "yes"]
    assert "'main': m2 by quiet" in caplog.text
    with pytest.raises(NotFound):
        store.event(MAIN, "m2")
    assert session.search("heartbeat") == []


def test_a_batch_that_is_held_back_whole_records_nothing(store: Store) -> None:
    session = on(store, QUIET)
    done = session.record(injected("heartbeat"))
    assert (done.ref, done.seq, len(done.held_back)) == ("", 0, 1)
    assert log_of(session) == []


def test_the_results_of_a_held_call_are_held_back_with_it_now_and_later(store: Store) -> None:
    def no_calls(key: Key, events: tuple[Event, ...]) -> list[Event | Hold]:
        return [Hold("no tools") if any(c.id in ("c1", "c2") for c in event.calls) else event for event in events]

    session = on(store, EventHooks(on_append=no_calls))
    done = session.record(user("go"), assistant("", call(number=1)), result("c1", "one"), assistant("", call(number=3)))
    assert [held.place for held in done.held_back] == [1, 2]
    assert "its call 'c1' was held back: no tools" in done.held_back[1].reason
    assert session.record(assistant("", call(number=2))).held_back
    late = session.record(result("c2", "two"), result("c3", "three"))
    assert [held.place for held in late.held_back] == [0]
    assert log_of(session) == ["go", "", "three"]


def test_a_veto_records_nothing_of_the_batch(store: Store) -> None:
    def refuse(key: Key, events: tuple[Event, ...]) -> None:
        if any("forbidden" in event.text for event in events):
            raise Vetoed("the house rules")

    session = on(store, QUIET, EventHooks(on_append=refuse, name="rules"))
    session.record(user("start"))
    with pytest.raises(Vetoed, match=r"rules refused the events \(m1, m3\) offered to session 'main'") as caught:
        session.record(user("fine", id="m1"), injected("heartbeat", id="m2"), user("forbidden", id="m3"))
    assert (caught.value.reason, caught.value.ids, caught.value.hook) == ("the house rules", ("m1", "m3"), "rules")
    assert log_of(session) == ["start"]
    assert session.follow([user("start"), user("fine")]).new[0].text == "fine"  # nothing was remembered of the batch
    assert log_of(session) == ["start", "fine"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda key, events: 1 / 0, "failed on events offered to session 'main': ZeroDivisionError"),
        (lambda key, events: [], "returned 0 for 1"),
        (lambda key, events: ["text"], "returned str in place of an event"),
        (lambda key, events: [assistant("yes")], "turned role user into assistant"),
        (lambda key, events: [user("x").__class__(role="user", parts=(call(),))], "changed the ids of calls"),
    ],
)
def test_a_hook_that_fails_or_breaks_its_contract_records_nothing(store: Store, answer: Any, said: str) -> None:
    session = on(store, EventHooks(on_append=answer, name="broken"))
    with pytest.raises(HookError, match=f"The hook broken {said}.*othing was") as caught:
        session.record(user("words"))
    assert isinstance(caught.value, FoldmarkError)
    assert isinstance(caught.value.__cause__, ZeroDivisionError) == ("Zero" in said)
    assert log_of(session) == []


# -- append: tagged


def test_a_tagged_event_is_seen_by_its_scopes_and_raises_work_there(store: Store) -> None:
    def tag(key: Key, events: tuple[Event, ...]) -> list[Event | Hold]:
        return [msgspec.structs.replace(e, scope="billing", meta={**e.meta, "by": "hook"}) for e in events]

    session = on(store, EventHooks(on_append=tag), policy=Policy.coding(run="background"), clock=lambda: 1.0)
    billing, other = (msgspec.structs.replace(MAIN, scope=name, sees="subtree") for name in ("billing", "sales"))
    for key in (billing, other):
        store.sent(key, ScopeState(frame=Frame(window=9_000)), expected=store.view(key).mark)
    offered = (user("charge twice?"), assistant("No."))
    session.record(*offered)
    assert [event.text for event in store.log(billing)] == ["charge twice?", "No."]
    assert store.log(other) == []
    found = []
    while work := store.claim(10.0, 30.0):
        found.append((work.key.scope, work.wanted))
        store.settle(work)
    assert ("billing", 2) in found
    assert "sales" not in [scope for scope, _ in found]
    assert store.log(MAIN)[0].meta["by"] == "hook"
    assert session.follow(offered).new == ()


# -- append: lists that are sent again


def test_a_list_whose_events_were_changed_or_held_back_is_known_the_next_time(store: Store) -> None:
    session = on(store, QUIET, MASK)
    messages = [user(f"card {PIN}"), injected("heartbeat"), assistant("Noted."), injected("heartbeat")]
    session.follow(messages)
    assert log_of(session) == ["card [pin]", "Noted."]
    for more, told in ((user("next"), (1, 1)), (injected("heartbeat"), (0, 1)), (assistant("Done."), (1, 1))):
        messages.append(more)
        found = session.follow(messages)
        assert (found.forked_at, (len(found.new), len(found.held_back))) == (None, told)
        assert session.follow(messages).new == ()
    assert session.follow(messages).seqs == (1, 0, 2, 0, 3, 0, 4)
    again = session.follow(messages)
    assert (again.known, again.held_before, again.held_back) == (4, 3, ())
    assert session.follow([m for m in messages if "heartbeat" not in m.text]).new == ()  # the caller dropped them
    assert log_of(session) == ["card [pin]", "Noted.", "next", "Done."]
    assert [info.session for info in store.sessions("local", "local")] == ["main"]


def test_what_was_held_back_is_known_to_other_processes_and_in_forks(store: Store) -> None:
    session = on(store, QUIET, MASK)
    messages = [user(f"card {PIN}"), injected("heartbeat"), assistant("Noted."), user("next")]
    session.follow(messages)
    other = on(store, QUIET, MASK)  # another process: nothing is remembered but what is stored
    assert other.follow(messages).new == ()
    edited = [*messages[:3], user("another")]
    assert other.follow(edited).forked_at == 2
    for more in (assistant("Done."), injected("heartbeat"), user("on")):
        edited.append(more)
        assert other.follow(edited).forked_at is None
    assert log_of(other) == ["card [pin]", "Noted.", "another", "Done.", "on"]
    assert len(store.sessions("local", "local")) == 2


def test_hooks_round_a_hooked_store_come_first_at_append_and_last_at_read(store: Store) -> None:
    def adding(letter: str) -> EventHooks:
        def put(key: Key, events: tuple[Event, ...]) -> list[Event | Hold]:
            return [replaced(event, lambda text: text + letter) for event in events]

        return EventHooks(on_append=put, on_read=lambda key, event: replaced(event, lambda t: t.removesuffix(letter)))

    outer = hooked(hooked(store, adding("b")), adding("a"), QUIET)
    session = Session("main", store=outer, policy=Policy.coding())
    done = session.record(user("x"), injected("heartbeat"))
    assert len(done.held_back) == 1
    assert [event.text for event in store.log(MAIN)] == ["xab"]
    assert log_of(session) == ["x"]


def test_following_tells_what_was_held_back_and_counts_it_nowhere_else(store: Store) -> None:
    session = on(store, QUIET)
    found = session.follow([user("a"), injected("heartbeat"), assistant("b")])
    assert [event.text for event in found.new] == ["a", "b"]
    assert [(one.reason, one.hook) for one in found.held_back] == [("a heartbeat", "quiet")]
    assert found.known == 0
    again = session.follow([user("a"), injected("heartbeat"), assistant("b"), user("c")])
    assert (len(again.new), again.held_back, again.known, again.held_before) == (1, (), 2, 1)


class Gate:
    """A hook that holds back what asks for it while it is shut, and counts what it was asked about."""

    def __init__(self) -> None:
        self.shut, self.asked = True, list[str]()

    def __call__(self, key: Key, events: tuple[Event, ...]) -> list[Event | Hold]:
        self.asked += [event.text for event in events]
        return [Hold("shut") if self.shut and "ok" in event.text else event for event in events]


def test_what_a_list_ends_with_is_asked_about_again_and_recorded_once_the_hook_lets_it_pass(store: Store) -> None:
    gate = Gate()
    session = on(store, EventHooks(on_append=gate))
    messages = [user("do it"), assistant("Shall I?"), user("ok")]
    assert len(session.follow(messages).held_back) == 1
    assert len(session.follow(messages).held_back) == 1, "whoever comes with it is told again"
    gate.shut = False
    found = session.follow(messages)
    assert ([event.text for event in found.new], found.held_back, found.forked_at) == (["ok"], (), None)
    messages.append(assistant("done"))
    for _ in range(2):
        assert session.follow(messages).forked_at is None
    assert log_of(session) == ["do it", "Shall I?", "ok", "done"]
    assert session.follow(messages).seqs == (1, 2, 3, 4)


def test_what_was_held_back_stays_out_once_a_message_behind_it_is_recorded(store: Store) -> None:
    gate = Gate()
    session = on(store, EventHooks(on_append=gate))
    messages = [user("do it"), assistant("Shall I?"), user("ok"), assistant("done")]
    session.follow(messages)
    gate.shut = False
    gate.asked.clear()
    assert session.follow([*messages, user("on")]).forked_at is None
    assert gate.asked == ["on"]
    assert log_of(session) == ["do it", "Shall I?", "done", "on"]
    session.record(user("ok"))  # by itself it is asked about
    assert log_of(session)[-1] == "ok"


def test_an_older_copy_that_ends_with_what_was_held_back_is_no_new_turn(store: Store) -> None:
    session = on(store, EventHooks(on_append=Gate()))
    messages = [user("do it"), assistant("Shall I?"), user("ok"), assistant("done")]
    session.follow(messages)
    for count in range(1, 5):
        found = session.locate(messages[:count], retry=False)
        assert (found.new, found.forked_at, session.name) == ((), None, "main")
    for _ in range(2):  # as a retry it forks, once
        on(store, EventHooks(on_append=Gate())).follow(messages[:3])
        assert len(store.sessions("local", "local")) == 2


def test_what_was_recorded_by_itself_where_it_was_held_back_before_is_known_in_the_list(store: Store) -> None:
    gate = Gate()
    session = on(store, EventHooks(on_append=gate))
    messages = [user("do it"), assistant("Shall I?"), user("ok")]
    session.follow(messages)
    gate.shut = False
    session.record(user("ok"), assistant("done"))
    found = session.follow([*messages, assistant("done"), user("on")])
    assert (len(found.new), found.forked_at) == (1, None)
    assert session.follow([*messages, assistant("done"), user("on")][1:]).forked_at is None  # its front was cut off


def test_a_list_of_another_talk_loses_nothing_that_was_held_back_here(store: Store) -> None:
    gate = Gate()
    session = on(store, EventHooks(on_append=gate))
    session.follow([user("do it"), assistant("Shall I?"), user("ok"), assistant("done")])
    gate.shut = False
    session.follow([user("something else"), assistant("Shall I?"), user("ok"), assistant("well")])
    assert log_of(session) == ["something else", "Shall I?", "ok", "well"]


says = st.sampled_from(["ok", "ok", "yes", "no"])
turns = st.lists(st.tuples(st.lists(st.tuples(st.booleans(), says), max_size=3), st.booleans()), max_size=8)


@settings(max_examples=80)
@given(turns=turns, is_unique=st.booleans(), again=st.booleans())
def test_a_hook_that_changes_its_mind_loses_and_doubles_nothing(
    turns: list[tuple[list[tuple[bool, str]], bool]], is_unique: bool, again: bool
) -> None:
    """Against the plain oracle: whatever stands behind the last recorded message is offered, and recorded when the hook
    lets it pass; what stands in front of it stays as it was."""
    store, gate = MemoryStore(), Gate()
    messages: list[Event] = [user("Begin.")]
    recorded = [False]
    for number, (new, shut) in enumerate(turns):
        for at, (is_user, word) in enumerate(new):
            text = f"{word} {number} {at}" if is_unique or "ok" not in word else word
            messages.append(user(text) if is_user else assistant(text))
            recorded.append(False)
        gate.shut = shut
        session = on(store, EventHooks(on_append=gate))
        for _ in range(1 + again):
            found = session.follow(messages)
            last = max((at for at, there in enumerate(recorded) if there), default=-1)
            for at in range(last + 1, len(messages)):
                recorded[at] = not (shut and "ok" in messages[at].text)
            assert found.forked_at is None
            assert log_of(session) == [m.text for m, there in zip(messages, recorded, strict=True) if there]
            assert found.known + len(found.held_back) + found.held_before + len(found.new) == len(messages)


def test_what_was_held_back_in_one_place_may_be_said_in_another(store: Store) -> None:
    """A hook that looks at more than the words: nothing is taken for known that was never offered there."""

    def first_only(key: Key, events: tuple[Event, ...]) -> list[Event | Hold]:
        return [Hold("not now") if e.text == "yes" and e.meta.get("late") else e for e in events]

    session = on(store, EventHooks(on_append=first_only))
    messages = [user("a"), user("yes", meta={"late": "1"}), assistant("b"), user("yes")]
    assert session.follow(messages).forked_at is None
    assert log_of(session) == ["a", "b", "yes"]
    assert session.follow([*messages, assistant("c")]).forked_at is None
    assert log_of(session) == ["a", "b", "yes", "c"]


def test_a_fork_takes_the_changed_original_without_a_second_pass(store: Store) -> None:
    """A list of ours that goes on in a fork brings recorded originals: what was wrapped is not wrapped again."""

    def wrap(key: Key, events: tuple[Event, ...]) -> list[Event | Hold]:
        return [replaced(event, lambda text: f"<{text}>") for event in events]

    session = on(store, EventHooks(on_append=wrap))
    session.record(user("one"), assistant("two"), user("three"))
    shown = session.request(wire=openai_chat, window=32_000).payload()["messages"]
    edited = [{"role": "user", "content": "<another>"}, *shown[1:]]
    session.follow(edited, wire=openai_chat)
    assert session.name != "main"
    assert log_of(session) == ["<<another>>", "<two>", "<three>"]


def test_a_copied_or_made_up_seal_opens_no_way_past_the_hooks(store: Store) -> None:
    session = on(store, MASK)
    session.record(user(f"card {PIN}"))
    seal = store.log(MAIN)[0].meta
    session.record(user(f"again {PIN}", meta=dict(seal)), user(f"card {PIN}", meta=dict(seal)))
    session.record(user(f"third {PIN}", meta={"hooked": "x"}))
    assert PIN not in "".join(log_of(session))


texts = st.sampled_from(["heartbeat", f"card {PIN}", "yes", "no", "heartbeat two"])
moves = st.lists(st.tuples(st.sampled_from(["user", "agent", "system", "call"]), texts, st.booleans()), max_size=14)


@settings(max_examples=60)
@given(moves=moves, shape=st.sampled_from(["as sent", "as shown"]))
def test_following_a_growing_list_through_hooks_never_forks_and_records_each_event_once(
    moves: list[tuple[str, str, bool]], shape: str
) -> None:
    """Against the plain oracle: the log is the list, each event changed, those that are held back left out."""
    session = on(MemoryStore(), QUIET, MASK)
    messages: list[Event] = [user("Begin.")]
    for number, (who, text, follow) in enumerate(moves, 1):
        if who == "call":
            messages += tool_round(number, text, say=text)
        else:
            make = {"user": user, "agent": assistant, "system": injected}[who]
            messages.append(make(text))
        if follow:
            assert session.follow(messages).forked_at is None
            if shape == "as shown":
                session.request(wire=anthropic, window=32_000)
    assert session.follow(messages).forked_at is None
    again = session.follow(messages)
    held = {c.id for message in messages if "heartbeat" in message.text for c in message.calls}
    kept = [m for m in messages if "heartbeat" not in m.text and not (m.result and m.result.call_id in held)]
    assert again.new == ()
    assert again.known + again.held_before + len(again.held_back) == len(messages)
    assert log_of(session) == [message.text.replace(PIN, "[pin]") for message in kept]
    assert session.name == "main"


# -- after


def test_after_is_told_refs_and_stored_events_and_its_errors_undo_nothing(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[Landed] = []
    thread: list[int] = []

    def after(landed: Landed) -> None:
        told.append(landed)
        thread.append(threading.get_ident())

    broken = EventHooks(after=lambda landed: 1 / 0, name="broken")
    session = on(store, broken, EventHooks(after=after), MASK)
    session.record(user(f"card {PIN}"), assistant("Noted."))
    session.record(user("on"))
    session.store.drain(LONG)  # type: ignore[attr-defined]
    assert [landed.refs for landed in told] == [("event:1", "event:2"), ("event:3",)]
    assert told[0].events[0].text == "card [pin]"
    assert threading.get_ident() not in thread
    assert "The hook broken failed after an append to session 'main'" in caplog.text
    assert len(log_of(session)) == 3


def test_an_async_after_hook_is_not_passed_over_in_silence(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    async def after(landed: Landed) -> None: ...

    session = on(store, EventHooks(after=after, name="later"))
    session.record(user("one"))
    session.store.drain(LONG)  # type: ignore[attr-defined]
    assert "The hook later failed" in caplog.text
    assert "It is async" in caplog.text


def test_a_slow_after_hook_holds_nobody_up(store: Store) -> None:
    go = threading.Event()
    session = on(store, EventHooks(after=lambda landed: go.wait(LONG)))
    for number in range(3):
        session.record(user(f"{number}"))
    assert len(session.request(window=32_000).messages) == 3
    go.set()
    session.store.drain(LONG)  # type: ignore[attr-defined]


# -- read


def hide(key: Key, event: Event) -> Event | None:
    """Secrets are masked, what is private is not shown at all."""
    if "private" in event.text or any("private" in call.arguments for call in event.calls):
        return None
    return replaced(event, lambda text: text.replace(PIN, "[pin]"))


HIDE = EventHooks(on_read=hide, name="hide")


def two_readers(store: Store) -> tuple[Session, Session]:
    """(who sees everything, who does not) of one session with scopes of their own."""
    whole = Session("main", store=store, policy=Policy.coding())
    whole.record(
        user(f"Never lose card {PIN} in zebra.py"),
        assistant("", call(number=1, arguments='{"path":"private.py"}'), call(number=2)),
        result("c1", "the ledger of the giraffe"), result("c2", "the okapi walks"),
        assistant("", call(number=3, arguments='{"path":"ledger.py"}')),
        result("c3", f"the lion pays with {PIN}\nand the tiger does not"),
        assistant("private thoughts about the walrus"),
        user("What of the lion?"),
    )  # fmt: skip
    hidden = Session("main", store=hooked(store, HIDE), policy=Policy.coding(), scope="guest", sees="all")
    return whole, hidden


def test_a_withheld_event_is_nowhere_for_that_reader_and_everywhere_for_others(store: Store) -> None:
    whole, hidden = two_readers(store)
    assert [event.seq for event in hidden.store.log(hidden.key)] == [1, 5, 6, 8]
    view = hidden.store.view(hidden.key)
    assert [event.seq for event in view.events] == [1, 5, 6, 8]
    assert view.all_events == 4
    for name in ("giraffe", "okapi", "walrus"):
        assert whole.search(name)
        assert hidden.search(name) == []
    for ref in ("event:2", "event:3", "event:4", "event:7"):
        assert whole.load(ref)
        with pytest.raises(NotFound):
            hidden.load(ref)
    text = str(hidden.request(window=32_000).payload())
    assert "private" not in text
    assert "giraffe" not in text
    assert [event.seq for event in hidden.load("event:5", before=2, after=3).events] == [1, 5, 6, 8]


def test_a_changed_event_is_shown_changed_and_counted_anew(store: Store) -> None:
    whole, hidden = two_readers(store)
    shown = hidden.store.event(hidden.key, "6")
    assert "pays with [pin]" in shown.text
    assert shown.tokens == event_tokens(shown)
    assert shown.plain == store.event(MAIN, "6").plain
    assert PIN in store.event(MAIN, "6").text
    assert PIN not in str(hidden.request(window=32_000).payload())
    assert PIN in str(whole.request(window=32_000).payload())
    hit = hidden.search("lion pays")[0]
    assert "the lion pays with [pin]" in hit.snippet
    assert hidden.search("1234 5678") == []


def test_of_a_body_only_the_lines_that_are_shown_are_found(store: Store) -> None:
    rows = [f"row {number} of the ledger" for number in range(4_000)]
    rows[2_000] = "the giraffe is here"
    rows[0] += f" with {PIN}"
    whole = Session("main", store=store, policy=Policy.coding())
    whole.record(user("go"), assistant("", call()), result("c1", "\n".join(rows)))
    hidden = Session("main", store=hooked(store, HIDE), policy=Policy.coding(), scope="guest", sees="all")
    assert PIN in store.event(MAIN, "3").text
    assert whole.search("giraffe")
    for hit in hidden.search("giraffe") + hidden.search("ledger row"):
        assert hit.snippet.split("\n")[0] in hidden.store.event(hidden.key, "3").text
        assert hidden.load(hit.at).text


def test_what_was_derived_from_hidden_words_is_not_shown_either(store: Store) -> None:
    _, hidden = two_readers(store)
    state, facts, units = hidden.store.covered(hidden.key, 9, limit=999)
    told = str((state, facts, units, hidden.store.tally(hidden.key).names))
    for word in (PIN, "giraffe", "okapi", "walrus", "private"):
        assert word not in told
    assert "tiger" in str(units)
    assert "ledger.py" in told
    assert "zebra.py" in str(hidden.store.tally(hidden.key).names)
    assert "giraffe" in str(store.covered(MAIN, 9, limit=999))


def test_a_compaction_through_a_read_hook_tells_only_what_is_shown(store: Store) -> None:
    whole = Session("main", store=store, policy=Policy.coding())
    events = long_session(40)
    whole.record(*(replaced(e, lambda t: t.replace("row 7 of", "row 7 private of")) if e.result and n % 3 == 0 else e
                   for n, e in enumerate(events)))  # fmt: skip
    hidden = Session("main", store=hooked(store, HIDE), policy=Policy.coding(), scope="guest", sees="all")
    report = hidden.compact(force=True, window=32_000)
    assert report.outcome == "applied"
    (made,) = hidden.control.history()
    withheld = {e.seq for e in store.log(MAIN)} - {e.seq for e in hidden.store.log(hidden.key)}
    assert withheld
    assert withheld.isdisjoint(excerpt.seq for excerpt in made.excerpts)
    assert "private" not in made.text
    assert whole.control.history() == []  # the other reader's checkpoints are its own
    assert {e.seq for e in hidden.load("compaction:1", limit=10**9).events}.isdisjoint(withheld)


def test_a_checkpoint_written_without_the_hook_is_shown_as_it_was_written_so_readers_need_a_scope(store: Store) -> None:
    whole = Session("main", store=store, policy=Policy.coding())
    whole.record(user("Never touch the private giraffe."), *long_session(30)[1:])
    whole.compact(force=True, window=32_000)
    shared = Session("main", store=hooked(store, HIDE), policy=Policy.coding())
    guest = Session("main", store=hooked(store, HIDE), policy=Policy.coding(), scope="guest", sees="all")
    assert "giraffe" in str(shared.request(window=32_000).payload())
    assert "giraffe" not in str(guest.request(window=32_000).payload())


def test_the_body_of_a_changed_result_cannot_be_opened_through_it(store: Store) -> None:
    body = "\n".join(f"row {number} of the ledger, card {PIN}" for number in range(4_000))
    Session("main", store=store, policy=Policy.coding()).record(user("go"), assistant("", call()), result("c1", body))
    hidden = Session("main", store=hooked(store, HIDE), policy=Policy.coding(), scope="guest", sees="all")
    stored, shown = store.event(MAIN, "3"), hidden.store.event(hidden.key, "3")
    assert stored.artifacts
    assert PIN in stored.text
    assert not shown.artifacts
    assert "outcome" not in shown.meta
    assert PIN not in hidden.load("artifact:3").text


def test_the_prefix_stays_while_events_come_in(store: Store) -> None:
    _, hidden = two_readers(store)
    before = hidden.request(wire=openai_chat, window=32_000).payload()["messages"]
    for number in range(9, 14):
        other = hooked(store, HIDE)  # another process: nothing is remembered
        hidden.record(*tool_round(number, f"row {PIN} {'private' if number % 2 else ''}"))
        again = Session("main", store=other, policy=Policy.coding(), scope="guest", sees="all")
        for session in (hidden, again):
            messages = session.request(wire=openai_chat, window=32_000).payload()["messages"]
            assert messages[: len(before)] == before
        before = messages


def test_a_warm_read_asks_the_hook_only_about_what_is_new(store: Store) -> None:
    asked: list[int] = []

    def count(key: Key, event: Event) -> Event:
        asked.append(event.seq)
        return event

    session = on(store, EventHooks(on_read=count))
    session.record(user("one"), assistant("two"))
    session.request(window=32_000)
    session.record(user("three"))
    session.request(window=32_000)
    assert asked == [1, 2, 3]
    assert session.store.log(session.key)[0] is store.log(MAIN)[0]


def test_append_and_read_undo_each_other_in_the_right_order(store: Store) -> None:
    def wrapping(letter: str) -> EventHooks:
        def put(key: Key, events: tuple[Event, ...]) -> list[Event | Hold]:
            return [replaced(event, lambda text: f"{letter}({text})") for event in events]

        def take(key: Key, event: Event) -> Event:
            return replaced(event, lambda text: text.removeprefix(f"{letter}(").removesuffix(")"))

        return EventHooks(on_append=put, on_read=take)

    session = on(store, wrapping("a"), wrapping("b"))
    messages = [user("one"), assistant("two")]
    session.follow(messages)
    assert [event.text for event in store.log(MAIN)] == ["b(a(one))", "b(a(two))"]
    assert log_of(session) == ["one", "two"]
    back = session.request(wire=openai_chat, window=32_000).payload()["messages"]
    found = session.follow([*back, {"role": "user", "content": "three"}], wire=openai_chat)
    assert (found.forked_at, len(found.new)) == (None, 1)
    assert store.log(MAIN)[2].text == "b(a(three))"


def test_following_works_for_a_reader_who_does_not_see_everything(store: Store) -> None:
    session = on(store, HIDE)
    messages = [user("go"), user("private"), assistant("yes"), user(f"card {PIN}"), assistant("private too")]
    assert session.follow(messages).forked_at is None
    for more in (user("on"), assistant("private again")):
        messages.append(more)
        found = session.follow(messages)
        assert (found.forked_at, len(found.new), len(found.seqs)) == (None, 1, len(messages))
    assert session.follow(messages).seqs == tuple(range(1, 8))
    assert len(store.log(MAIN)) == 7
    assert log_of(session) == ["go", "yes", "card [pin]", "on"]


def test_a_read_hook_that_fails_shows_nothing(store: Store) -> None:
    Session("main", store=store).record(user("one"))
    session = on(store, EventHooks(on_read=lambda key, event: 1 / 0, name="broken"))  # type: ignore[arg-type, return-value]
    for read in (
        lambda: session.request(window=32_000),
        lambda: session.load("event:1"),
        lambda: session.search("one"),
    ):
        with pytest.raises(HookError, match="The hook broken failed on event:1 of session 'main'"):
            read()


def test_another_session_of_the_same_name_is_read_anew(store: Store) -> None:
    session = on(store, HIDE)
    session.record(user("private"), user("one"))
    assert log_of(session) == ["one"]
    store.delete(MAIN)
    Session("main", store=store).record(user("two"), user("private"), user("three"))
    assert log_of(session) == ["two", "three"]


def test_no_title_is_made_of_words_that_are_not_shown(store: Store) -> None:
    on(store, HIDE).record(user(f"card {PIN}"))
    store.open(Key(session="other"))
    Session("other", store=store).record(user("public words"))
    titles = {info.session: info.title for info in hooked(store, HIDE).sessions("local", "local")}
    assert titles == {"main": "", "other": "public words"}
    for reading in (hooked(store, HIDE), as_recorded(hooked(store, HIDE))):
        rows = (reading.info(MAIN), reading.open(MAIN), reading.describe(MAIN, {"a": "1"}))
        assert [row.title for row in rows] == ["", "", ""]
    assert store.open(MAIN).title == f"card {PIN}"
    session = on(store, HIDE)
    for last in ("b", "c", "b"):  # to a fork and back
        session.follow([user(f"card {PIN}"), user(last)])
        assert PIN not in session.info.title
    assert session.name == "main"


def test_matches_in_other_sessions_pass_the_hooks_too(store: Store) -> None:
    Session("other", store=store).record(user("the private giraffe"), user(f"the giraffe pays with {PIN} and runs"))
    session = on(store, HIDE)
    session.record(user("go"))
    (hit,) = session.search("giraffe", where="user")
    assert hit.snippet == "the giraffe pays with [pin] and runs"
    assert session.search("1234", where="user") == []
    assert session.search("go", where="user")


def test_a_search_gives_as_many_hits_as_asked_for_though_many_are_withheld(store: Store) -> None:
    whole = Session("main", store=store)
    for number in range(60):
        whole.record(user(f"private giraffe giraffe number {number}"))
    whole.record(*(user(f"a giraffe of the zoo {'x' * number}") for number in range(5)))
    hidden = hooked(store, HIDE)
    assert len(hidden.find(MAIN, words("giraffe"), limit=5).found) == 5
    assert len(hidden.covered(MAIN, 99, limit=5)[2]) == 5


def test_an_image_may_leave_on_the_way_in(store: Store) -> None:
    def no_images(key: Key, events: tuple[Event, ...]) -> list[Event | Hold]:
        return [
            msgspec.structs.replace(e, parts=tuple(Text("[image]") if isinstance(p, Image) else p for p in e.parts))
            for e in events
        ]

    session = on(store, EventHooks(on_append=no_images))
    picture = Event(role="user", origin="user", parts=(Text("look"), Image("image/png", "QUJD" * 9_000)))
    session.follow([picture])
    assert session.follow([picture, assistant("seen")]).forked_at is None
    assert log_of(session) == ["look\n[image]", "seen"]
    assert store.hashes("local") == set()
