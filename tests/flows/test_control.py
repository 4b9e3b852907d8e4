"""A person takes compactions back, edits them, brings one in: nothing is lost, nothing is mixed, and the prompt of then
comes back byte for byte. On both stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldmark import MemoryStore, Policy, Session, SQLiteStore, triggers, wire
from foldmark.checkpoint import Checkpoint, Mark
from foldmark.drafts import payload_bytes
from foldmark.driving import advance, drive
from foldmark.errors import NotFound, PolicyError, StaleBoundary
from foldmark.events import Event, assistant, user
from foldmark.log import committed
from foldmark.options import Layout
from foldmark.prices import Price
from foldmark.store import ScopeState, SessionInfo, View
from foldmark.testing import FixedClock, ScriptedModel, items_json
from foldmark.tools import compact_tool
from foldmark.warm import Recent
from foldmark.wire import openai_chat
from making import call, long_session, tool_round
from pairs import pair_errors
from telltale import STEERED, steered, talk

TOLD = items_json(decisions=[("Invoice 6 is compared with ledger_6.csv", [14])])


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    made = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "agent.db")
    yield made
    made.close()


def prompt(session: Session, of: Any = openai_chat) -> bytes:
    return payload_bytes(session.peek(wire=of).payload())


def prompts(session: Session) -> list[bytes]:
    return [prompt(session, of) for of in wire.WIRES]


def classes(session: Session) -> dict[int, str]:
    return {entry.seq: entry.status for entry in session.explain()}


def lines_of(number: int) -> str:
    return "\n".join(
        f"value_{number}_{line} = charge({line})  # ledger row {line} of file {number}" for line in range(60)
    )


def seqs(session: Session) -> list[int]:
    return [event.seq for event in session.store.log(session.key)]


# -- undo


def test_undo_brings_the_very_prompt_back_on_every_wire(store: Any) -> None:
    session = steered(store)
    session.record(*talk(1, 40))
    session.request(window=64_000)
    before = prompts(session)
    session.compact(force=True)
    assert prompts(session) != before
    report = session.control.undo()
    assert prompts(session) == before
    assert (report.outcome, report.trigger, report.epoch, report.boundary, report.version) == (
        "applied", "undo", "undo", 0, 2,
    )  # fmt: skip
    assert session.peek().report.epoch == "undo", "the report names why the prefix broke"


def test_what_was_recorded_since_stands_behind_it(store: Any) -> None:
    session, twin = steered(store), steered(MemoryStore())
    for one in (session, twin):
        one.record(*talk(1, 40))
        one.request(window=64_000)
    session.compact(force=True)
    for one in (session, twin):
        one.record(*talk(41, 44))
    session.control.undo()
    assert prompts(session) == prompts(twin)


def test_every_older_record_comes_back_byte_for_byte(store: Any) -> None:
    """S-DUR-06, nested compactions: whichever version is restored, its prompt is the one of then."""
    session = steered(store)
    then: list[bytes] = []
    for turn in range(4):
        session.record(*talk(20 * turn + 1, 20 * turn + 20))
        session.request(window=64_000)
        then.append(prompt(session))
        session.compact(force=True)
    log = session.store.log(session.key)
    for version in (3, 1, 0, 2):
        session.control.undo(version)
        view = session.store.view(session.key)
        boundary = session.control.history()[version - 1].boundary if version else 0
        assert (view.checkpoint and view.checkpoint.boundary) == boundary
        assert [event.seq for event in view.events] == [event.seq for event in log if event.seq > boundary]
        old = then[version].removesuffix(b"]}").split(b'"messages":[')[1]
        assert old in prompt(session), "the prompt before the next compaction is the beginning of this one"
    assert [one.version for one in session.control.history()] == list(range(1, 9))


def test_an_undo_of_an_undo_brings_the_compaction_back(store: Any) -> None:
    session = steered(store)
    session.record(*talk(1, 40))
    session.request(window=64_000)
    session.compact(force=True)
    compacted = prompts(session)
    session.control.undo()
    raw = prompts(session)
    session.control.undo()
    assert prompts(session) == compacted
    session.control.undo()
    assert prompts(session) == raw
    assert [one.kind for one in session.control.history()] == ["compaction", "undo", "undo", "undo"]
    assert [one.source for one in session.control.history()] == [0, 0, 1, 2]


def test_the_version_only_rises_and_what_was_undone_can_still_be_opened(store: Any) -> None:
    session = steered(store)
    session.record(*talk(1, 40))
    session.compact(force=True)
    session.record(*talk(41, 80))
    session.compact(force=True)
    first, second = session.control.history()
    session.control.undo()
    made = session.control.history()
    assert [one.version for one in made] == [1, 2, 3]
    assert (made[2].boundary, made[2].text, made[2].kept) == (first.boundary, first.text, first.kept)
    for version, boundary in ((1, first.boundary), (2, second.boundary), (3, first.boundary)):
        opened: list[int] = []
        ref = f"compaction:{version}"
        while ref:
            page = session.load(ref)
            opened += [event.seq for event in page.events]
            ref = page.next
        assert opened == list(range(1, boundary + 1)), "all that it covers, page by page"
    session.control.undo(0)
    with pytest.raises(NotFound):
        session.load("compaction:4")


def test_an_undo_holds_every_trigger_but_the_cap_until_one_landing_was_added(store: Any) -> None:
    session = steered(store, Policy.coding(budget={"landing_tokens": 4_000, "trigger_tokens": 10_000}, window=64_000))
    session.record(*talk(1, 40))
    assert session.request(window=64_000).report.outcome == "applied"
    report = session.control.undo()
    held = session.store.view(session.key).state.held
    assert held == report.after + 4_000
    assert session.next_compaction() == (held, "an undo holds it until then")
    assert f"held by an undo up to {held:,}" in session.control.plan().text
    added, number = 0, 41
    while True:
        before = session.peek().tokens.total
        made = session.request(window=64_000)
        if made.report.outcome == "applied":
            break
        assert before < held, "past one landing the triggers are free again"
        session.record(*talk(number, number))
        number, added = number + 1, added + 1
    assert added > 5
    assert before >= held


TOLL = Price(read=0.1, write=1.25)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"prices": TOLL},
        {"pace": {"rule": "size"}},
        {"triggers": triggers.tokens(2_000)},
        {"triggers": triggers.events(10)},
        {"triggers": triggers.custom(lambda moment: True)},
        {"budget": {"target_tokens": 5_000}},
    ],
    ids=["plain", "rent", "size", "tokens", "events", "a function", "target"],
)
@pytest.mark.parametrize("run", ["inline", "intra_run", "background"])
def test_nothing_that_asks_by_itself_compacts_what_was_just_unpacked(options: dict[str, Any], run: Any) -> None:
    """Every asker: the request, `compact`, the agent by its tool, a worker for work that is due, and idle."""
    clock = FixedClock()
    base = {"landing_tokens": 4_000, "trigger_tokens": 6_000, "nothing_below": 500}
    policy = Policy.coding(
        **{"run": run, "window": 128_000, **options, "budget": {**base, **options.get("budget", {})}}
    )
    session = Session("s", store=MemoryStore(), policy=policy, clock=clock)
    session.record(*talk(1, 60))
    assert session.compact(force=True).outcome == "applied"
    session.control.undo(0)
    raw = prompt(session)
    askers: dict[str, Callable[[], object]] = {
        "request": lambda: session.request(window=128_000),
        "compact": session.compact,
        "tool": lambda: compact_tool(session)({}),
        "worker": lambda: drive(session.compact_steps(run="background"), session.lock),
        "idle": lambda: drive(session.compact_steps(run="idle"), session.lock),
    }
    for name, ask in askers.items():
        clock.advance(1)
        ask()
        assert [one.kind for one in session.control.history()] == ["compaction", "undo"], name
        assert prompt(session) == raw, name
    session.record(*talk(61, 100))
    assert "Compacted" in compact_tool(session)({}), "past the hold the agent is obeyed again"


def test_the_cap_does_not_wait_and_the_undo_says_so(store: Any) -> None:
    session = steered(store, Policy.coding(budget={"landing_tokens": 4_000}, window=64_000))
    session.record(*talk(1, 40))
    session.compact(force=True)
    assert session.control.undo(window=64_000).warnings == ()
    session.control.undo(window=64_000)
    assert "again at once" in session.control.undo(window=16_000).warnings[0]
    made = session.request(window=16_000)
    assert (made.report.outcome, made.report.trigger) == ("applied", "cap")


def test_no_cleanup_takes_away_what_an_undo_brought_back(store: Any) -> None:
    clock = [1_000.0]
    quiet = Policy.coding(run="manual", budget={"landing_tokens": 4_000, "trigger_tokens": 20_000})
    session = Session("s", store=store, policy=quiet, clock=lambda: clock[0])
    session.record(*long_session(12, 60))
    session.request(window=64_000)
    session.record(*(event for number in range(13, 21) for event in tool_round(number, lines_of(number))))
    before = payload_bytes(session.request(window=64_000).payload())
    session.compact(force=True)
    session.control.undo()
    clock[0] += 4_000  # the cache is cold: else a free moment for an epoch
    assert prompt(session) == before
    state = session.store.view(session.key).state
    session.store.sent(session.key, msgspec.structs.replace(state, held=0), expected=state.mark)
    assert prompt(session) != before, "without the hold it would"


def test_whoever_listens_hears_of_what_people_do(store: Any) -> None:
    heard: list[Any] = []

    def listen(report: Any) -> None:
        heard.append(report)
        raise ValueError("a listener never changes what happens")

    session = steered(store, on_report=listen)
    session.record(*talk(1, 40))
    session.compact(force=True)
    done = [session.control.edit({"next_steps": ["Ask the bank"]}), session.control.undo(), session.control.undo(0)]
    assert heard[1:] == done
    assert [one.trigger for one in done] == ["edit", "undo", "undo"]
    session.control.plan(force=True)
    assert len(heard) == 4, "a plan is no attempt"


def test_a_stale_look_changes_nothing(store: Any) -> None:
    session = steered(store)
    session.record(*talk(1, 40))
    session.compact(force=True)
    session.control.edit({"next_steps": ["Ask the bank"]}, author="Ann")
    before = session.store.view(session.key)
    for change in (
        lambda: session.control.undo(expected=1),
        lambda: session.control.edit({"next_steps": []}, expected=1),
        lambda: session.control.adopt("All is well.", cutoff=9e9, expected=1),
    ):
        with pytest.raises(StaleBoundary):
            change()
    assert session.store.view(session.key) == before
    session.control.undo(expected=2)


class Racing:
    """A store in which somebody else commits right behind the look that another one decides by."""

    def __init__(self, store: Any, meanwhile: Any) -> None:
        self.store, self.meanwhile = store, meanwhile

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def view(self, key: Any) -> View:
        view = self.store.view(key)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile:
            meanwhile()
        return view


@pytest.mark.parametrize(
    "change",
    [
        lambda hand: hand.undo(),
        lambda hand: hand.edit({"decisions": ["Wait"]}, pin=["event:3"]),
        lambda hand: hand.adopt("All is well.", event_id="e90"),
    ],
    ids=["undo", "edit", "adopt"],
)
def test_a_person_and_a_worker_at_once_one_wins_and_nothing_is_mixed(store: Any, change: Any) -> None:
    session = steered(store)
    session.record(*talk(1, 40))
    session.compact(force=True)
    session.record(*(msgspec.structs.replace(event, id=f"e{at}") for at, event in enumerate(talk(41, 80), 41)))
    racing = steered(Racing(store, lambda: session.compact(force=True)))
    with pytest.raises(StaleBoundary):
        change(racing.control)
    history = session.control.history()
    assert [(one.version, one.kind) for one in history] == [(1, "compaction"), (2, "compaction")]
    assert session.control.pins() == []
    session.request()


def test_a_worker_that_was_overtaken_by_an_undo_loses(store: Any) -> None:
    session = steered(store, model=ScriptedModel(TOLD))
    session.record(*talk(1, 40))
    session.compact(force=True, by_code=True)
    session.record(*talk(41, 80))
    steps = session.compact_steps(force=True)
    next(steps)  # the model is being asked
    session.control.undo(0)
    raw = prompt(session)
    done, value = advance(steps, TOLD)
    while not done:
        done, value = advance(steps, value.run())
    assert value.outcome == "deferred"
    assert prompt(session) == raw
    assert [one.kind for one in session.control.history()] == ["compaction", "undo"]


def test_a_request_that_was_built_before_an_undo_does_not_write_over_it(store: Any) -> None:
    session = steered(store)
    session.record(*talk(1, 40))
    session.compact(force=True)
    session.request(window=64_000)
    old = session.store.view(session.key).state
    for _ in range(2):
        session.control.undo()
        state = session.store.view(session.key).state
        session.store.sent(session.key, msgspec.structs.replace(old, last_size=1), expected=old.mark)
        assert session.store.view(session.key).state == state, "its mark is another one"
        assert state.held


def test_undo_in_a_fork_leaves_its_parent_alone(store: Any) -> None:
    session = steered(store)
    session.record(*talk(1, 40))
    session.request(window=64_000)
    raw = prompt(session)
    session.compact(force=True)
    parent, kept = prompt(session), seqs(session)
    fork = steered(store)
    events = session.store.log(session.key)
    fork.follow([*events[:-1], assistant("Invoice 40 is open.")])
    assert fork.name != session.name
    assert [one.version for one in fork.control.history()] == [1], "inherited"
    report = fork.control.undo()
    assert (report.version, report.boundary) == (2, 0)
    assert b"Invoice 40 is open." in prompt(fork)
    shared = raw.partition(b"Invoice 40 is settled.")[0].split(b'"messages":[')[1]
    assert shared[:-60] in prompt(fork)
    assert prompt(session) == parent
    assert [one.version for one in session.control.history()] == [1]
    fork.control.undo()
    assert fork.control.history()[-1].text == session.control.history()[-1].text
    assert seqs(session) == kept


def test_a_fork_of_an_undone_session_inherits_the_undo(store: Any) -> None:
    session = steered(store)
    session.record(*talk(1, 40))
    session.compact(force=True)
    session.control.undo()
    events = session.store.log(session.key)
    fork = steered(store)
    fork.follow([*events[:-1], assistant("Invoice 40 is open.")])
    view = fork.store.view(fork.key)
    assert view.checkpoint is not None
    assert (view.checkpoint.kind, view.checkpoint.boundary, len(view.events)) == ("undo", 0, len(events))


def test_a_fork_between_the_boundary_and_the_mark_cleans_nothing_that_is_not_there_yet(store: Any) -> None:
    session = steered(store, Policy.coding(run="manual", budget={"landing_tokens": 8_000}, tail={"share": 0.6}))
    session.record(*talk(1, 60))
    session.compact(force=True)
    made = session.control.history()[-1]
    assert made.mark.seq > made.reach, "else this says nothing"
    info = SessionInfo(session="fork", kind="fork", parent="s", parent_seq=made.reach)
    key = msgspec.structs.replace(session.key, session="fork")
    store.open(key, info=info)
    view = store.view(key)
    assert view.checkpoint == made
    assert view.mark.seq == made.reach


def test_undo_says_what_there_is_when_it_cannot() -> None:
    session = steered()
    session.record(*talk(1, 40))
    with pytest.raises(NotFound, match="nothing to undo"):
        session.control.undo()
    session.compact(force=True)
    with pytest.raises(NotFound, match="this scope has: compaction:1"):
        session.control.undo("compaction:7")
    for wrong in (-1, True, "event:3", "compaction:1@elsewhere", 1.5):
        with pytest.raises((PolicyError, NotFound)):
            session.control.undo(wrong)  # type: ignore[arg-type]
    same = session.control.undo(1)
    assert (same.outcome, same.version) == ("not_due", 1)
    assert len(session.control.history()) == 1
    assert session.control.undo("compaction:1").outcome == "not_due"


def test_a_session_goes_on_after_an_undo_of_everything(store: Any) -> None:
    """The next compaction covers from the first event on, and every event stays in one class."""
    session = steered(store)
    session.record(*talk(1, 40))
    session.compact(force=True)
    session.control.undo(0)
    assert set(classes(session).values()) == {"raw"}
    session.record(*talk(41, 50))
    report = session.compact(force=True)
    assert (report.outcome, report.version) == ("applied", 3)
    made = session.request(window=64_000)
    assert pair_errors(made.payload()) == []
    assert sorted(classes(session)) == seqs(session)
    assert session.store.view(session.key).state.held == 0


def test_a_conversation_that_begins_with_the_agent_comes_back_as_it_was() -> None:
    session = steered()
    session.record(assistant("Hello."), *talk(1, 40))
    before = prompts(session)
    session.compact(force=True)
    session.control.undo()
    assert prompts(session) == before


@pytest.mark.parametrize("layout", [{"checkpoint": "system"}, {"checkpoint": "user"}])
def test_an_undo_of_everything_leaves_no_trace_in_system_or_messages(layout: dict[str, Any]) -> None:
    framed = {**layout, "format": lambda text: f"FRAME\n{text}"}
    for shown in (layout, framed):
        session = steered(policy=Policy.coding(run="manual", budget={"landing_tokens": 4_000}, layout=shown))
        session.record(*talk(1, 40))
        session.describe(system="You mend ledgers.")
        before = prompts(session)
        session.compact(force=True)
        session.control.undo()
        assert prompts(session) == before
        assert session.peek().tokens.checkpoint == 0


steps = st.lists(
    st.sampled_from(["talk", "talk", "compact", "undo", "undo", "before", "edit", "pin", "request"]),
    min_size=3,
    max_size=12,
)


@given(steps, st.randoms(use_true_random=False))
def test_whatever_people_do_nothing_is_lost_and_the_version_only_rises(done: list[str], chance: Any) -> None:
    session, number = steered(), 1
    session.record(*talk(1, 12))
    last: tuple[Any, ...] = ()
    for step in done:
        versions = [one.version for one in session.control.history()]
        if step == "talk":
            number += 12
            session.record(*talk(number, number + 11))
        elif step == "compact":
            session.compact(force=True)
        elif step == "request":
            sent = session.request(window=64_000)
            breaks = last and sent.messages[: len(last)] != last
            assert not breaks or sent.report.epoch in ("compaction", "undo", "edit"), "a break is named"
            last = sent.messages[: sent.stable]
        elif step == "pin":
            session.control.pin(f"event:{chance.choice(seqs(session))}")
        elif versions and step == "edit" and session.store.view(session.key).checkpoint.boundary:  # type: ignore[union-attr]
            session.control.edit({"next_steps": [f"Step {number}"]}, pin=[f"event:{chance.choice(seqs(session))}"])
        elif versions and step == "undo":
            session.control.undo(chance.choice([0, *versions]))
        elif versions and step == "before":
            session.control.undo()
        now = [one.version for one in session.control.history()]
        assert now == list(range(1, len(now) + 1))
        assert now[: len(versions)] == versions
        assert sorted(classes(session)) == seqs(session)
        made = session.peek()
        assert pair_errors(made.payload()) == []
        shown = [event.seq for event in made.messages if event.seq]
        view = session.store.view(session.key)
        boundary = view.checkpoint.boundary if view.checkpoint else 0
        assert [seq for seq in shown if seq > boundary] == [seq for seq in seqs(session) if seq > boundary]
        assert {event.seq for event in view.kept} <= set(range(1, boundary + 1))


def test_people_and_workers_in_threads_never_mix_two_records(tmp_path: Path) -> None:
    """Whoever commits, the versions rise one by one; an undo shows exactly its source, a compaction goes on from the
    version that it saw."""
    path = tmp_path / "agent.db"
    stores = [SQLiteStore(path) for _ in range(3)]
    writer, worker, hand = (steered(one) for one in stores)
    writer.record(*talk(1, 20))
    writer.compact(force=True)
    lost: list[BaseException] = []
    over = Flag()

    def compacting() -> None:
        try:
            for _ in range(8):
                worker.compact(force=True)
        finally:
            over.set()

    def undoing() -> None:
        while not over.is_set():
            with suppress(StaleBoundary):
                hand.control.undo()

    def recording() -> None:
        for number in range(21, 39, 3):
            writer.record(*talk(number, number + 2))

    def noted(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            lost.append(error)

    threads = [Thread(target=noted, args=(work,)) for work in (compacting, undoing, recording)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lost == []
    made = {one.version: one for one in hand.control.history()}
    assert list(made) == list(range(1, len(made) + 1))
    assert {one.kind for one in made.values()} == {"compaction", "undo"}
    for one in made.values():
        source = made.get(one.source)
        if one.kind == "undo":
            assert (one.text, one.boundary, one.kept) == (
                (source.text, source.boundary, source.kept) if source else ("", 0, ())
            )
        else:
            assert one.source == one.version - 1
            assert one.boundary >= (source.boundary if source else 0)
            assert one.text.startswith(f'<foldmark-checkpoint ref="compaction:{one.version}"')
    assert sorted(classes(writer)) == seqs(writer)
    for store in stores:
        store.close()


# -- whoever comes in between


CHANGES = {
    "undo": lambda hand: hand.undo(1),
    "edit": lambda hand: hand.edit({"decisions": ["Wait"]}, pin=["event:3"]),
    "adopt": lambda hand: hand.adopt("All is well.", event_id="event:80"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_person_decided_about_one_log_is_never_written_on_another(store: Any, change: str) -> None:
    """The session is erased and begun anew behind the look, with as many versions and events: the numbers fit, the log
    does not."""
    session = steered(store)
    session.record(*talk(1, 40))
    session.compact(force=True, upto="event:60")
    session.control.edit({"decisions": ["Mine"]})

    def anew() -> None:
        session.control.delete()
        other = steered(store)
        other.record(*talk(101, 140))
        other.compact(force=True, upto="event:60")
        other.control.edit({"decisions": ["Theirs"]})

    racing = steered(Racing(store, anew))
    with pytest.raises((NotFound, StaleBoundary)) as raised:
        CHANGES[change](racing.control)
    assert isinstance(raised.value, NotFound), "the version is the very number that was expected"
    assert ["invoice 101" in one.text for one in session.control.history()] == [True, True]
    assert session.control.pins() == []


class Late(Racing):
    """A store in which somebody else does something right before the commit, behind every look at it."""

    def view(self, key: Any) -> View:
        found: View = self.store.view(key)
        return found

    def commit(self, key: Any, made: Checkpoint, **options: Any) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile:
            meanwhile()
        self.store.commit(key, made, **options)


@pytest.mark.parametrize("change", CHANGES)
def test_the_commit_itself_is_held_to_the_log_that_was_decided_about(store: Any, change: str) -> None:
    session = steered(store)
    session.record(*talk(1, 40))
    session.compact(force=True, upto="event:60")
    session.control.edit({"decisions": ["Mine"]})

    def anew() -> None:
        session.control.delete()
        other = steered(store)
        other.record(*talk(101, 140))
        other.compact(force=True, upto="event:60")
        other.control.edit({"decisions": ["Theirs"]})

    with pytest.raises(NotFound):
        CHANGES[change](steered(Late(store, anew)).control)
    assert ["invoice 101" in one.text for one in session.control.history()] == [True, True]


@pytest.mark.parametrize("kind", ["compaction", "undo", "edit", "adopted"])
def test_only_an_undo_takes_a_further_mark_back(kind: Any) -> None:
    further = Mark(seq=90, options="o", time=500.0)
    own = Mark(seq=10, options="o", time=100.0)
    made = Checkpoint(version=2, boundary=5, text="", tokens=0, mark=own, time=100.0, kind=kind)
    found = committed(ScopeState(mark=further), made)
    assert found.mark == (own if kind == "undo" else further)


def test_an_undo_brings_the_prompt_back_under_a_clock_that_was_set_back(store: Any) -> None:
    clock = [50_000.0]
    session = Session("s", store=store, policy=STEERED, clock=lambda: clock[0])
    session.record(*long_session(12, 60))
    session.request(window=64_000)
    session.record(*(event for number in range(13, 40) for event in tool_round(number, lines_of(number))))
    before = payload_bytes(session.request(window=64_000).payload())
    clock[0] += 1
    session.compact(force=True)
    session.request(window=64_000)
    clock[0] -= 20_000  # another machine, or the time was mended
    session.control.undo()
    assert prompt(session) == before


# -- sizes


def framed(text: str) -> str:
    return f"IN SHORT\n{text}\nEND OF IT"


def blank(text: str) -> str:
    return " "


LAYOUTS = st.fixed_dictionaries({
    "checkpoint": st.sampled_from(["user", "system"]),
    "merge": st.booleans(),
    "format": st.sampled_from([None, framed, blank]),
})  # fmt: skip


@settings(max_examples=30)
@given(
    layout=LAYOUTS, last=st.sampled_from([14, 15, 16, 31]), pins=st.sets(st.integers(1, 40), max_size=3),
    opens=st.sampled_from(["user", "assistant", "blank"]), told=st.booleans(), system=st.booleans(),
    more=st.lists(st.sampled_from(["compact", "edit", "undo", "adopt"]), max_size=3), waits=st.booleans(),
)  # fmt: skip
def test_a_report_says_the_size_of_the_request_that_then_goes_out(
    layout: dict[str, Any], last: int, pins: set[int], opens: str, told: bool, system: bool, more: list[str],
    waits: bool,
) -> None:  # fmt: skip
    policy = Policy.coding(run="manual", budget={"landing_tokens": 4_000}, window=64_000, layout=layout)
    session = steered(policy=policy, model=ScriptedModel(TOLD) if told else None)
    first = {"user": [], "assistant": [assistant("Hello.")], "blank": [user(" ")]}[opens]
    big = "\n".join(f"ledger row {row} is charged by retry_{row % 7} of file_{row}.csv" for row in range(900))
    session.record(*first, *talk(1, last), *tool_round(90, big), *talk(91, 92))
    if waits:
        session.record(*talk(93, 94)[:-1], assistant("Look.", call("read", 95)))
    if system:
        session.describe(system="You mend ledgers.")
    for seq in pins:
        session.control.pin(f"event:{seq}")
    big_seq = next(event.seq for event in session.store.log(session.key) if event.artifacts)
    if len(pins) == 2:
        session.control.pin(f"event:{big_seq}")  # what is kept has a preview
    report = session.compact(force=True)
    for step in more:
        assert report.after == session.peek().tokens.total, step
        if step == "compact":
            session.record(*talk(40, 52))
            report = session.compact(force=True, by_code=True)
        elif session.store.view(session.key).checkpoint is None:
            continue
        elif step == "undo":
            report = session.control.undo()
        elif step == "edit" and session.store.view(session.key).checkpoint.boundary:  # type: ignore[union-attr]
            report = session.control.edit({"next_steps": ["Ask the bank"]}, pin=[f"event:{big_seq}"])
        elif step == "adopt":
            with suppress(PolicyError):
                report = session.control.adopt("All is well.", event_id=f"event:{big_seq + 1}")
    assert report.after == session.request(window=64_000).tokens.total


@pytest.mark.parametrize("place", ["user", "system"])
def test_a_kept_result_is_shown_the_same_by_whoever_wrote_the_record_and_by_another_process(
    store: Any, place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = steered(store, msgspec.structs.replace(STEERED, layout=Layout(checkpoint=place)))
    big = "\n".join(f"ledger row {row} is charged by retry_{row % 7} of file_{row}.csv" for row in range(900))
    session.record(*talk(1, 6), *tool_round(90, big), *talk(7, 40))
    seq = next(event.seq for event in session.store.log(session.key) if event.artifacts)
    session.control.pin(f"event:{seq}")
    session.compact(force=True)
    made = prompt(session)
    assert made.count(b"[Preview. The whole") == 1
    monkeypatch.setattr("foldmark.assembly._memory", Recent(128))  # another process remembers nothing
    assert prompt(session) == made


# -- pins


def test_pins_outlive_undo_edit_and_fork(store: Any) -> None:
    session = steered(store)
    session.record(*talk(1, 40))
    session.control.pin("event:4")
    session.compact(force=True)
    session.control.undo()
    session.compact(force=True)
    session.control.edit({"next_steps": ["Ask the bank"]})
    assert [event.seq for event in session.store.view(session.key).kept if event.seq == 4] == [4]
    fork = steered(store)
    fork.follow([*session.store.log(session.key)[:-1], assistant("Invoice 40 is open.")])
    assert fork.control.pins() == [4]
    fork.record(*talk(41, 60))
    fork.compact(force=True)
    assert 4 in [event.seq for event in fork.store.view(fork.key).kept]


def test_a_pinned_event_is_kept_whatever_a_model_says(store: Any) -> None:
    said = items_json(next_steps=["Drop event 4 from the record; nobody needs it"], decisions=[("Unpin event:4", [4])])
    session = steered(store, model=ScriptedModel(said))
    session.record(*talk(1, 40))
    session.control.pin("event:4")
    words: Event = session.store.event(session.key, "4")
    session.compact(force=True)
    assert session.control.pins() == [4]
    made = session.request(window=64_000)
    assert words.text.split("\n")[0][:80].encode() in payload_bytes(made.payload())
    assert classes(session)[4] == "kept"
