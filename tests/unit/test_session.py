"""The session's verbs: recording is idempotent and safe from threads, frames are remembered, usage calibrates."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from foldmark import (
    IdConflict,
    MemoryStore,
    NotFound,
    Policy,
    Price,
    Session,
    SQLiteStore,
    SummaryRejected,
    ToolCall,
    Usage,
    assistant,
    drafting,
    prefix,
    result,
    user,
)
from foldmark.aio import AsyncSession
from foldmark.errors import PolicyError
from foldmark.joining import joined
from foldmark.prices import Money
from foldmark.reports import Call, Change, Report
from foldmark.seeking import Sought
from foldmark.testing import ScriptedModel
from foldmark.wire import anthropic, gemini, openai_chat
from making import long_session, tool_round

BASH = {"name": "bash", "description": "run", "parameters": {"type": "object"}}


def session(**options: object) -> Session:
    return Session("s", **{"clock": lambda: 1_000.0, **options})  # type: ignore[arg-type]


def test_recording_returns_the_refs() -> None:
    made = session()
    assert made.record(user("a"), assistant("b")).refs == ("event:1", "event:2")
    assert made.record(user("c")).ref == "event:3"


def test_the_same_event_twice_is_a_no_op_and_other_content_a_conflict() -> None:
    made = session()
    made.record(user("a", id="m1"))
    again = made.record(user("a", id="m1"))
    assert (again.ref, again.known) == ("event:1", 1)
    with pytest.raises(IdConflict, match="m1"):
        made.record(user("b", id="m1"))
    assert len(made.store.log(made.key)) == 1


def test_recording_nothing_is_nothing() -> None:
    assert session().record().refs == ()


def test_without_a_policy_tools_that_run_or_write_mean_coding_else_chat() -> None:
    made = session()
    assert made.policy.name == "chat"
    made.request(tools=[BASH], window=50_000)
    assert made.policy.name == "coding"
    made.request(tools=[{"type": "function", "function": {"name": "get_weather", "parameters": {}}}], window=50_000)
    assert made.policy.name == "chat"


def test_an_unknown_window_is_a_warned_default() -> None:
    made = session()
    made.record(user("hi"))
    request = made.request()
    assert "128,000" in request.report.warnings[0]
    assert made.request(window=64_000).report.warnings == ()
    assert made.request().report.warnings == (), "the last frame's window is remembered"


def test_the_static_prefix_is_counted_and_kept_with_the_session(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "a.db")
    made = session(store=store)
    made.record(user("hi"))
    first = made.request(system="You are careful.", tools=[BASH], window=50_000, wire=anthropic)
    assert first.tokens.static > 20
    again = Session("s", store=SQLiteStore(tmp_path / "a.db")).peek()
    assert (again.system, again.tools, again.wire.NAME) == ("You are careful.", (BASH,), "anthropic")


def test_a_changed_static_prefix_is_an_epoch_and_an_unchanged_one_is_none() -> None:
    made = session(policy=Policy.coding())
    made.record(user("hi"))
    assert made.request(system="A", window=50_000).report.epoch == ""
    assert made.request(system="A", window=50_000).report.epoch == ""
    assert made.request(system="B", window=50_000).report.epoch == "static prefix changed"


def test_request_compacts_first_when_due_and_not_when_run_is_manual() -> None:
    inline = session(policy=Policy.coding(budget={"target_tokens": 9_000}))
    inline.record(*long_session(60))
    made = inline.request(window=128_000)
    assert (made.report.outcome, made.report.epoch) == ("applied", "compaction")
    assert made.tokens.total <= 9_000
    keep = {"demote": False, "superseded": False, "duplicates": False}
    manual = session(policy=Policy.coding(budget={"target_tokens": 9_000}, run="manual", cleanup=keep))
    manual.record(*long_session(60))
    assert manual.request(window=128_000).tokens.checkpoint == 0
    assert manual.compact(window=128_000).outcome == "applied"


def test_peek_changes_nothing() -> None:
    made = session(policy=Policy.coding())
    made.record(*long_session(30))
    before = made.store.view(made.key)
    made.peek()
    made.explain()
    assert made.store.view(made.key) == before


def test_reported_usage_calibrates_totals_and_never_choices() -> None:
    made = session(policy=Policy.coding())
    made.record(*long_session(10))
    for _ in range(2):
        size = made.request(window=128_000).tokens.total
        made.record(assistant("ok", usage=Usage(input=round(size * 1.25), output=5)))
    state = made.store.view(made.key).state
    assert state.factor == pytest.approx(1.25, abs=0.01)
    assert made.request(window=128_000).ceiling == int((128_000 - 15_360 - 1_280) / state.factor)


def test_many_threads_record_without_loss(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "a.db")
    made = session(store=store)

    def write(name: str) -> None:
        for number in range(20):
            made.record(user(f"{name} says {number}", id=f"{name}{number}"))

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log = store.log(made.key)
    assert [event.seq for event in log] == list(range(1, 81))
    assert {event.id for event in log} == {f"{name}{number}" for name in "abcd" for number in range(20)}


def test_two_session_objects_over_one_file_see_each_other(tmp_path: Path) -> None:
    one = session(store=SQLiteStore(tmp_path / "a.db"))
    two = session(store=SQLiteStore(tmp_path / "a.db"))
    one.record(user("from one"))
    two.record(user("from two"))
    one.record(user("one again"))
    assert [event.text for event in two.store.log(two.key)] == ["from one", "from two", "one again"]


def test_search_and_load_find_what_a_compaction_covered() -> None:
    made = session(policy=Policy.coding(budget={"target_tokens": 9_000}))
    made.record(*long_session(60))
    made.request(window=128_000)
    hit = made.search("value_3_17")[0]
    loaded = made.load(hit.ref, before=1)
    assert "value_3_17 = charge(317)" in loaded.events[-1].text
    assert len(loaded.events) == 2


def test_a_compactions_ref_opens_all_it_covers_page_by_page() -> None:
    made = session(policy=Policy.coding(budget={"target_tokens": 9_000}))
    made.record(*long_session(60))
    boundary = made.compact(window=128_000).boundary
    ref, seqs = "compaction:1", []
    while ref:
        page = made.load(ref)
        seqs += [event.seq for event in page.events]
        ref = page.next
    assert seqs == list(range(1, boundary + 1))


@pytest.mark.parametrize("ref", ["event:99", "artifact:1.4", "compaction:7", "artifact:sha256:00", "event:1@elsewhere"])
def test_a_ref_to_nothing_is_not_found(ref: str) -> None:
    made = session()
    made.record(user("hi"))
    with pytest.raises(NotFound):
        made.load(ref)


def test_another_tenants_session_cannot_be_opened_by_ref() -> None:
    store = MemoryStore()
    session(store=store, tenant="theirs").record(user("secret plan"))
    mine = Session("mine", store=store, tenant="ours")
    mine.record(user("hi"))
    with pytest.raises(NotFound):
        mine.load("event:1@s")
    assert mine.search("secret plan", where="user") == []


def test_the_state_bar_is_an_ephemeral_suffix_of_what_changed() -> None:
    made = session(policy=Policy.coding(layout={"state_bar": True}))
    made.record(user("Fix it, never touch schema.sql"), *tool_round(1))
    request = made.request(window=50_000, wire=openai_chat)
    assert request.stable == len(request.messages) - 1
    assert "never touch schema.sql" in request.messages[-1].text
    assert request.messages[-1].text.startswith("[State since the checkpoint")
    assert not request.messages[-1].is_user


def test_pins_take_force_at_the_next_compaction_and_leave_with_the_one_after_unpinning() -> None:
    made = session(policy=Policy.coding(budget={"target_tokens": 9_000}))
    made.record(*long_session(60))
    assert made.control.pin("event:4") == "event:4"
    made.compact(window=128_000)
    assert [entry.ref for entry in made.explain() if entry.status == "kept"] == ["event:1", "event:4"]
    made.control.unpin("event:4")
    assert made.control.pins() == []
    made.record(*(event for number in range(100, 140) for event in tool_round(number, "x " * 900)))
    made.compact(window=128_000, force=True)
    assert [entry.ref for entry in made.explain() if entry.status == "kept"] == ["event:1"]


def test_deleting_erases_the_session_and_its_artifacts() -> None:
    made = session(policy=Policy.coding(admission={"limit_tokens": 100, "inline_bytes": 100}))
    made.record(user("hi"), *tool_round(1, "row of much output\n" * 400))
    assert made.control.delete() == 1
    assert made.store.sessions("local", "local") == []


def test_an_event_that_is_covered_already_can_be_pinned() -> None:
    made = session(policy=Policy.coding(budget={"target_tokens": 9_000}))
    made.record(*long_session(60))
    made.compact(window=128_000)
    made.control.pin("event:4")
    made.record(*(event for number in range(100, 130) for event in tool_round(number, "x " * 900)))
    made.compact(window=128_000, force=True)
    assert [entry.ref for entry in made.explain() if entry.status == "kept"] == ["event:1", "event:4"]


def test_every_break_of_the_stable_prefix_is_named() -> None:
    raw = {"demote": False, "superseded": False, "duplicates": False}
    made = session(policy=Policy.coding(run="manual", cleanup=raw))
    waiting = ToolCall("w", "bash", "{}")
    made.record(user("go"), *tool_round(1), assistant("and now", waiting))
    assert made.request(window=50_000).report.epoch == ""
    made.record(result("w", "late but in time"))
    assert made.request(window=50_000).report.epoch == "the shown past changed", "a marker gave way to the result"
    made.record(*(event for number in range(2, 8) for event in tool_round(number, "word " * 700)))
    assert made.request(window=50_000).report.epoch == ""
    assert made.request(window=4_000).report.epoch == "fit"
    assert made.request(window=50_000).report.epoch == "the shown past changed", "and back again"


def test_a_new_process_knows_the_last_prefix(tmp_path: Path) -> None:
    one = session(store=SQLiteStore(tmp_path / "a.db"), policy=Policy.coding())
    one.record(*long_session(5))
    one.request(window=50_000)
    prefix._memory = type(prefix._memory)()
    two = session(store=SQLiteStore(tmp_path / "a.db"), policy=Policy.coding())
    two.record(*tool_round(77))
    assert two.request(window=50_000).report.epoch == ""
    store = SQLiteStore(tmp_path / "a.db")
    state = store.view(two.key).state
    assert (state.last_count, len(state.last_hash)) == (13, 24)


def test_the_address_of_a_hit_opens_the_lines_that_matched() -> None:
    made = session(policy=Policy.coding(admission={"user_words_tokens": 300}))
    paste = "\n".join(f"row {number} of the pasted log" for number in range(900))
    arguments = '{"path": "src/a.py", "content": "first line\\nthe needle stands here\\nlast line"}'
    made.record(
        user(f"Please look at this:\n```\n{paste}\n```\nWhat is row 700?"),
        assistant("Writing\nthe file.", ToolCall("c1", "write", arguments)),
        result("c1", "ok"),
    )
    hit = made.search("needle stands here")[0]
    assert "the needle stands here" in made.load(hit.at).text
    hit = made.search("row 700 of the pasted log")[0]
    assert "row 700 of the pasted log" in made.load(hit.at).text


def test_a_pin_in_the_tail_is_neither_demoted_nor_left_out() -> None:
    made = session(policy=Policy.coding(run="manual"))
    made.record(*long_session(60))
    made.control.pin("event:91")
    made.request(window=1_000_000)
    entries = {entry.seq: entry.status for entry in made.explain()}
    assert (entries[91], entries[89]) == ("raw", "demoted")
    small = made.request(window=4_500)
    shown = {event.seq for event in small.messages}
    assert {90, 91} <= shown
    assert [change.seq for change in small.report.changes if change.status == "left_out"]
    assert small.payload()["messages"]


def test_with_prices_the_requests_before_a_compaction_pay_no_rent_after_it() -> None:
    prices = Price(read=0.1, write=1.25)
    clock = iter(range(1_000, 10**6, 10)).__next__
    made = session(policy=Policy.coding(prices=prices, cleanup={"demote": False}), clock=lambda: float(clock()))
    compacted: list[int] = []
    made.record(user("Begin."))
    for number in range(120):
        size = made.request(window=200_000).tokens.total
        step = tool_round(number, f"word_{number} " * 120)
        made.record(msgspec.structs.replace(step[0], usage=Usage(input=size, output=50)), step[1])
        if made.request(window=200_000).report.outcome == "applied":
            compacted.append(number)
    assert compacted
    gaps = [after - before for before, after in itertools.pairwise(compacted)]
    assert all(gap > 12 for gap in gaps), gaps
    checkpoint = made.control.history()[0]
    assert checkpoint.head > checkpoint.boundary
    assert checkpoint.compacted_size >= 16_000


def test_a_checkpoint_that_fails_validation_leaves_the_request_and_the_session_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise SummaryRejected(("it forgot the rule",))

    monkeypatch.setattr(drafting, "validate", refuse)
    made = session(policy=Policy.coding(budget={"target_tokens": 9_000}))
    made.record(*long_session(60))
    request = made.request(window=128_000)
    assert request.report.outcome == "failed"
    assert "it forgot the rule" in request.report.warnings[0]
    assert request.payload()["messages"]
    assert made.control.history() == []
    assert made.store.view(made.key).attempts[-1].outcome == "failed"


def test_what_is_below_the_target_is_left_alone_byte_for_byte() -> None:
    made = session(policy=Policy.coding(budget={"target_tokens": 90_000}))
    made.record(*long_session(60))
    request = made.request(window=1_000_000)
    assert (request.report.outcome, request.report.changes) == ("not_due", ())
    assert list(request.messages) == made.store.log(made.key)


def test_a_payload_is_the_callers_own_to_change() -> None:
    made = session(policy=Policy.coding())
    made.record(*long_session(3))
    request = made.request(window=50_000, wire=anthropic)
    spoiled = request.payload()
    spoiled["messages"][-1]["content"][0]["cache_control"] = {"type": "ephemeral"}
    spoiled["messages"].clear()
    for again in (request.payload(), made.request(window=50_000, wire=anthropic).payload()):
        assert len(again["messages"]) == 7
        assert "cache_control" not in str(again)


def test_an_event_that_shows_a_preview_leads_to_its_body() -> None:
    """Whoever follows the ref that a checkpoint prints must not end at the preview."""
    made = Session("s", store=MemoryStore(), policy=Policy.coding())
    body = json.dumps([{"id": number, "text": f"value {number} " * 400} for number in range(8)])
    made.record(user("Go."), assistant("", ToolCall("c1", "read", "{}")), result("c1", body), user("short"))
    loaded = made.load("event:3")
    assert loaded.next == "artifact:3"
    assert made.load(loaded.next, limit=10**6).text == body
    assert made.load("event:4").next == ""
    assert made.load("event:3", before=1, after=1).next == "artifact:3"


@pytest.mark.parametrize(
    "look",
    [lambda s: s.peek(), lambda s: s.peek(gemini), Session.explain, Session.next_compaction],
    ids=["peek", "peek for another wire", "explain", "next_compaction"],
)
@pytest.mark.parametrize("window", [None, 50_000])
def test_looking_at_the_next_request_changes_nothing_in_it(
    look: Callable[[Session], object], window: int | None
) -> None:
    """One who peeked for another wire, or before the window was said, decided what the next request was built for."""
    seen, plain = session(policy=Policy.coding(run="manual")), session(policy=Policy.coding(run="manual"))
    for made in (seen, plain):
        made.record(*long_session(5))
    look(seen)
    for wire in (anthropic, None):
        mine, other = (made.request(window=window, wire=wire) for made in (seen, plain))
        look(seen)
        assert (mine.wire.NAME, mine.ceiling, mine.report) == (other.wire.NAME, other.ceiling, other.report)
        assert mine.payload() == other.payload()
        assert seen.store.view(seen.key).state == plain.store.view(plain.key).state


# -- reports


def told_apart(side: str) -> Report:
    """A report in which every field is filled, and says by which side."""
    number = {"compaction": 1, "request": 2}[side]
    values: dict[str, object] = {
        "outcome": {"compaction": "applied", "request": "not_due"}[side],
        "changes": (Change(seq=number, status="raw", reason=side),),
        "calls": (Call(model=side),),
        "money": Money(price=Price(read=0.1, write=1.25), call=float(number), rewrite=1.0, saving=1.0),
        "coverage": number / 4,
        "resume": side == "compaction",
        "run": {"compaction": "intra_run", "request": "caller"}[side],
    }
    for field in msgspec.structs.fields(Report):
        kind = {str: side, int: number, float: float(number), tuple[str, ...]: (side,)}.get(field.type)
        assert kind is not None or field.name in values, f"say here what {field.name} holds"
        values.setdefault(field.name, kind)
    return Report(**values)  # type: ignore[arg-type]


def test_a_request_after_a_compaction_loses_no_field_of_either_report() -> None:
    """A field that is new in Report is the compaction's until somebody says that the request knows it better."""
    compaction, request = told_apart("compaction"), told_apart("request")
    both = joined(compaction, request)
    better = {"boundary", "version", "after", "changes", "epoch", "preloaded"}
    for name in Report.__struct_fields__:
        mine, other = getattr(compaction, name), getattr(request, name)
        expected = (*mine, *other) if name == "warnings" else other if name in better else mine
        assert getattr(both, name) == expected, name
    assert joined(compaction, msgspec.structs.replace(request, epoch="")).epoch == "compaction"


def test_the_request_reports_all_that_the_same_compaction_reports() -> None:
    policy = Policy.coding(prices=Price(read=0.1, write=1.25), cleanup={"keep_results": 1_000})
    twins = [session(policy=policy, model=ScriptedModel("## decisions\n- None")) for _ in range(2)]
    for made in twins:
        made.record(*long_session(60))
    alone, within = twins[0].compact(window=128_000), twins[1].request(window=128_000).report
    assert alone.outcome != "not_due"
    for name in set(Report.__struct_fields__) - {"after", "changes", "warnings", "calls", "run"}:
        assert getattr(within, name) == getattr(alone, name), name
    assert set(within.warnings) >= set(alone.warnings)
    assert [call.failure for call in within.calls] == [call.failure for call in alone.calls]


# -- one policy for one request


def test_a_policy_may_be_given_for_one_request_or_compaction_alone() -> None:
    raw = {"demote": False, "superseded": False, "duplicates": False}
    made = session(policy=Policy.coding(run="manual", cleanup=raw))
    made.record(*long_session(60))
    small = Policy.coding(budget={"target_tokens": 9_000}, cleanup=raw)
    assert made.request(window=128_000).report.outcome == "not_due"
    done = made.request(window=128_000, policy=small)
    assert (done.report.outcome, done.report.target) == ("applied", 9_000)
    assert done.tokens.total <= 9_000
    assert made.policy.budget == Policy.coding().budget, "the session's own is as it was"
    other = session(policy=Policy.coding(run="manual"))
    other.record(*long_session(60))
    assert other.compact(window=128_000, policy=small).target == 9_000
    assert other.compact(policy=small.replace(window=64_000), force=True).outcome in ("applied", "ineffective")


# -- the same, awaited


def test_the_awaited_session_has_every_verb_with_the_same_options() -> None:
    own = {"store", "artifacts", "key", "lock", "summarizer", "info", "awaits", "request_steps", "compact_steps"}
    for name, plain in vars(Session).items():
        if name.startswith("_") or name in own:
            continue
        awaited = vars(AsyncSession).get(name)
        assert awaited is not None, f"AsyncSession has no {name}"
        assert inspect.getdoc(awaited), f"AsyncSession.{name} is not explained"
        if inspect.isfunction(plain):
            assert inspect.iscoroutinefunction(awaited), name
            mine, other = (list(inspect.signature(one).parameters.values()) for one in (plain, awaited))
            assert [(p.name, p.kind, p.annotation) for p in mine] == [(p.name, p.kind, p.annotation) for p in other], (
                name
            )
        else:
            assert isinstance(awaited, property), name


@pytest.mark.parametrize("kind", [Session, AsyncSession], ids=lambda one: one.__name__)
def test_every_public_name_of_a_session_is_explained(kind: type) -> None:
    public = {name: thing for name, thing in vars(kind).items() if not name.startswith("_") and name != "awaits"}
    assert [name for name, thing in public.items() if not inspect.getdoc(thing)] == []


def test_the_awaited_verbs_do_what_the_plain_ones_do() -> None:
    async def drill() -> None:
        made = AsyncSession("s", policy=Policy.coding(), clock=lambda: 1_000.0)
        await made.describe(system="You fix billing.", tools=[BASH])
        await made.remember({"wire": "anthropic"})
        assert (made.system, made.tools) == ("You fix billing.", (BASH,))
        assert made.session.info.meta["wire"] == "anthropic"
        events = long_session(3)
        steps: list[tuple[int, int]] = []
        assert (await made.follow(events, progress=lambda *done: steps.append(done))).known == 0
        assert steps[-1] == (7, 7)
        assert len((await made.locate([*events, user("more")])).new) == 1
        assert await made.cache_misses() == made.session.cache_misses() == ""
        assert (await made.request(window=50_000)).system == "You fix billing."

    asyncio.run(drill())


def test_a_compaction_without_a_window_is_for_that_of_the_last_request() -> None:
    targets = set()
    for ask in (lambda made: made.compact(force=True), lambda made: made.compact(force=True, window=60_000)):
        made = session(policy=Policy.coding(window=200_000, run="manual"))
        made.record(*long_session(60))
        made.request(window=60_000)
        targets.add(ask(made).target)
    assert len(targets) == 1


def test_a_search_takes_every_limit_that_a_store_knows_and_never_a_boundary_of_the_callers() -> None:
    """How far a compaction covers is the session's to say; a limit that only the store knew would be out of reach."""
    limits = set(Sought.__struct_fields__) - {"upto"}
    assert set(inspect.signature(Session.search).parameters) == {"self", "query", "limit", *limits}
    made = session()
    made.record(user("Rent the van."), assistant("The van is rented."))
    assert [hit.ref for hit in made.search("van", roles=("assistant",))] == ["event:2"]
    assert [hit.ref for hit in made.search("van", without=frozenset({2}))] == ["event:1"]
    with pytest.raises(TypeError, match="role"):
        made.search("van", role="user")  # type: ignore[call-arg]
    with pytest.raises(PolicyError, match="several"):
        made.search("van", roles="user")  # type: ignore[arg-type]
